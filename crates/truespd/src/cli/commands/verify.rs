//! `truespd verify`: reads back what a verified run wrote.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::cli::show::verify as show;
use diskspd::run::stop_on_signals;
use truespd_core::load::readback::{check_target, read_back};
use truespd_core::load::verified::usual_map;
use truespd_core::load::verify_log::LogPlace;
use truespd_core::result::{ReadBack, envelope};
use truespd_core::verify::{BlockMap, MapError};
use truespd_front::console::{end, say_line, tell};
use truespd_front::program::print;
use truespd_platform::fault::{ExitCode, FailureKind, Fault, Outcome, Refusal, RefusalKind};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::resolve;
use truespd_platform::text::bytes;

/// Read back what a test with `--verify` wrote, and say what is missing
///
/// Reads every block that the test wrote, past the page cache where that is possible, and changes nothing. Exit code 1
/// when a block is not what it must be.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The file or block device that the test wrote
    #[arg(value_name = "TARGET")]
    target: String,
    /// The map of the test, when it was given a file by --verify-map
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// The log of the test, when it was given one by --verify-log: a file, or HOST:FILE, which ssh reads there
    #[arg(long, value_name = "FILE or HOST:FILE", conflicts_with = "map")]
    log: Option<String>,
    /// Print the answer as JSON (`truespd schema verify`)
    #[arg(long)]
    json: bool,
}

/// How often the progress is told.
const TOLD_EVERY: Duration = Duration::from_secs(5);

/// Reads the target back, and prints what is there.
pub(crate) fn run(arguments: &VerifyArguments) -> ExitCode {
    match answer(arguments) {
        Ok(found) => {
            let text =
                if arguments.json { envelope::write(&found) } else { envelope::shown(&found, show::text) };
            let is_whole = found.wrong_blocks() == 0;
            print(
                &text,
                ExitCode::of(if is_whole { Outcome::Done } else { Outcome::Failed(FailureKind::Io) }),
            )
        }
        Err(fault) => tell(fault),
    }
}

fn answer(arguments: &VerifyArguments) -> Result<ReadBack, Fault> {
    let typed = &arguments.target;
    let path = resolve(typed, &Roots::default()).map_err(|error| error.refusal(RefusalKind::Machine))?.path;
    let stop = stop_on_signals(|| {}, end)?;
    let map = match (&arguments.log, &arguments.map) {
        (Some(log), _) => {
            let read = LogPlace::of(log).read(&|header| check_target(typed, header, Path::new(log)));
            read.map_err(|error| no_log(log, error))?
        }
        (None, Some(map)) => map_of(typed, map)?,
        (None, None) => {
            let map = usual_map(&path).ok_or_else(|| {
                let words = "no place where a map of --verify could be: HOME is not set";
                Refusal::machine(&["--map"], Some(typed), words.to_string())
            })?;
            map_of(typed, &map)?
        }
    };
    read_back(typed, &map, TOLD_EVERY, &tell_progress, &stop)
}

fn map_of(typed: &str, map: &Path) -> Result<BlockMap, Refusal> {
    BlockMap::open(map, &|header| check_target(typed, header, map)).map_err(|error| no_map(typed, error))
}

fn tell_progress(done: u64, all: u64) {
    say_line(format_args!("read back {} of {}", bytes(done as f64), bytes(all as f64)));
}

fn no_log(log: &str, error: MapError) -> Refusal {
    let refusal = match &error {
        MapError::Unlike(refusal) => return refusal.clone(),
        error => Refusal::machine(&["--log"], Some(log), error.to_string()),
    };
    if let Some(hint) = hint(&error) {
        return refusal.hint(hint);
    }
    refusal.hint("a test writes one: diskspd --verify --verify-log FILE -Sh -w100 ...")
}

/// What to do where a map and a log are told the same way.
fn hint(error: &MapError) -> Option<&'static str> {
    match error {
        MapError::NoFile { .. } => Some("give the file that the test wrote"),
        MapError::Newer { .. } => Some("read back with the release of TrueSpd that ran the test"),
        MapError::InUse { .. } => {
            Some("wait for its end: while it writes, nothing can be said of what must be there")
        }
        _ => None,
    }
}

fn no_map(typed: &str, error: MapError) -> Refusal {
    let refusal = match &error {
        MapError::Unlike(refusal) => return refusal.clone(),
        error => Refusal::machine(&["--map"], Some(typed), error.to_string()),
    };
    if let Some(hint) = hint(&error) {
        return refusal.hint(hint);
    }
    match error {
        MapError::System { .. } => refusal.hint(format!(
            "a test makes it: diskspd --verify -w100 ... {typed}; one with --verify-map FILE needs --map FILE here"
        )),
        _ => refusal.hint("without its map, a test cannot be checked: run it again with --verify"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/verify-v1.json");
        let published = std::fs::read_to_string(path).expect("it is published");
        assert!(
            published == truespd_core::result::schema::of_kind::<ReadBack>(),
            "renew it: truespd schema verify > schema/verify-v1.json"
        );
    }
}
