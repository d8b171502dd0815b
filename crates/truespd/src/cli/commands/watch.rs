//! `truespd watch`: a run of another terminal or of yesterday, on a full screen.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::live::watcher::{Events, WatchError, view, watch};
use truespd_front::console::tell;
use truespd_front::program::ExitCode;
use truespd_front::viewer::VIEW_OF;
use truespd_platform::fault::{Failure, FailureKind, Fault, Refusal, RefusalKind};
use truespd_platform::sys::error::system_text;

/// Watch a run or a suite from its `--events` file: IOPS, latency, disks and findings as they come
///
/// A file is followed while it grows, so a run of another terminal can be watched: `truespd run --events FILE
/// ...` there, `truespd watch FILE` here. Of a file of several runs the last one is shown. On a terminal it
/// fills the screen; elsewhere it prints a line for what happens, and one for the progress every 10 seconds.
/// The run itself shows the same with `--live`.
#[derive(Debug, Args)]
pub(crate) struct WatchArguments {
    /// File written with --events, or a pipe; - for standard input
    events: PathBuf,

    /// Draw the view of the run of this process (started by --live)
    #[arg(long = VIEW_OF, value_name = "PID", hide = true)]
    view_of: Option<u32>,
}

pub(crate) fn run(arguments: &WatchArguments) -> ExitCode {
    let path = &arguments.events;
    let watched = match arguments.view_of {
        Some(owner) => view(owner),
        None => match Events::open(path) {
            Ok(events) => watch(events),
            Err(error) => return tell(unreadable(path, &system_text(&error))),
        },
    };
    match watched {
        Ok(()) => ExitCode::Done,
        Err(error) => tell(fault(path, error)),
    }
}

fn unreadable(path: &Path, reason: &str) -> Refusal {
    let name = path.display().to_string();
    Refusal::new(RefusalKind::Input, format!("'{name}' cannot be read: {reason}"))
        .hint("name a file that a run writes with --events")
        .on(name)
}

fn fault(path: &Path, error: WatchError) -> Fault {
    let name = path.display().to_string();
    match error {
        WatchError::Read(error) => unreadable(path, &system_text(&error)).into(),
        WatchError::Foreign { line, reason } => {
            let words = format!("'{name}': line {line} is not one that --events writes: {reason}");
            let hint = "name a file that a run wrote with --events; to see a result: truespd show FILE";
            Refusal::new(RefusalKind::Input, words).hint(hint).on(name).into()
        }
        WatchError::Nothing => {
            let words = format!("'{name}' holds nothing");
            Refusal::new(RefusalKind::Input, words)
                .hint("name a file that a run writes with --events")
                .on(name)
                .into()
        }
        WatchError::CutOff => {
            let words =
                format!("'{name}': the run that wrote it has gone without its last event: it was killed");
            Failure::new(FailureKind::Lost, words).on(name).into()
        }
        WatchError::System(error) => Failure::new(FailureKind::Machine, "the screen could not be drawn")
            .because(system_text(&error))
            .into(),
    }
}
