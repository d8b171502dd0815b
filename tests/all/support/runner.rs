//! Runs a command line through `load::run` in this process, on a small file of its own.

use std::sync::atomic::{AtomicU32, Ordering};

use super::needs::{Need, not_run};
use diskspd::grammar::parse::{Invocation, parse};
use tempfile::TempDir;
use truespd_core::engine::{self, EngineRow};
use truespd_core::load::{self, Event, FinishedRun, Options};
use truespd_core::profile::Profile;
use truespd_core::result::{Measured, TargetResult, TimeSpanResult};
use truespd_platform::sys::events::Latch;

/// A directory with sparse files, gone when dropped. `FILE` in a command line is the first of them.
pub struct Place {
    dir: TempDir,
}

impl Place {
    pub fn new(size_bytes: u64) -> Self {
        let place = Place { dir: tempfile::tempdir().expect("a directory") };
        place.file("file", size_bytes);
        place
    }

    /// Path of a file of that size.
    pub fn file(&self, name: &str, size_bytes: u64) -> String {
        let path = self.dir.path().join(name);
        std::fs::File::create(&path).and_then(|f| f.set_len(size_bytes)).expect("a file");
        path.to_str().expect("UTF-8").to_string()
    }

    pub fn path(&self) -> String {
        self.dir.path().join("file").to_str().expect("UTF-8").to_string()
    }

    /// The profile of a command line in which FILE stands for the file.
    pub fn profile(&self, words: &str) -> Profile {
        let args: Vec<String> = words.split(' ').map(|w| w.replace("FILE", &self.path())).collect();
        match parse(&args, "diskspd", &|| 0) {
            Ok(Invocation::Run(request)) => request.profile,
            other => panic!("{words}: {other:?}"),
        }
    }

    /// Runs a command line with a simulated device.
    pub fn sim(&self, parameters: &str, words: &str) -> Outcome {
        let sim = engine::find("sim").expect("in the table");
        run(&self.profile(words), sim, parameters, &no_stop())
    }
}

/// Whether an engine can be had here. If not, the test is counted as not run in full.
pub fn has_engine(name: &'static str) -> bool {
    let is_here = engine::find(name).is_some_and(|row| (row.probe)().is_ok());
    if !is_here {
        not_run(Need::Engine(name));
    }
    is_here
}

pub fn no_stop() -> Latch {
    Latch::new().expect("a descriptor")
}

/// A report, and how many dots there were.
pub struct Outcome {
    pub report: FinishedRun,
    pub dots: u32,
}

/// Runs a profile with an engine.
pub fn run(profile: &Profile, row: &'static EngineRow, parameters: &str, stop: &Latch) -> Outcome {
    run_watched(profile, row, parameters, stop, &|_| {})
}

/// The same, with somebody who is told what goes on.
pub fn run_watched(
    profile: &Profile,
    row: &'static EngineRow,
    parameters: &str,
    stop: &Latch,
    watcher: &(dyn Fn(&Event) + Sync),
) -> Outcome {
    let dots = AtomicU32::new(0);
    let own: Vec<_> = profile.time_spans.iter().flat_map(|s| &s.targets).map(|t| t.path.clone()).collect();
    let options = Options {
        command_line: vec!["diskspd".into()],
        engine: Some((row, parameters.to_string())),
        // The files are the tests' own.
        overwrite: own.clone(),
        unchecked: own,
        ..Options::default()
    };
    let on_event = |event: Event| {
        watcher(&event);
        if event == Event::Dot {
            dots.fetch_add(1, Ordering::Relaxed);
        }
    };
    let report = load::run(profile, &options, &on_event, stop).expect("not refused");
    Outcome { report, dots: dots.into_inner() }
}

impl Outcome {
    /// The numbers of the only time span, which did not fail.
    pub fn measured(&self) -> &Measured {
        assert!(self.report.failures.is_empty(), "{:?}", self.report.failures);
        match &self.report.document.time_spans[..] {
            [TimeSpanResult::Measured(measured)] => measured,
            other => panic!("one measured time span: {other:?}"),
        }
    }

    /// The numbers of the only thread on the only target.
    pub fn target(&self) -> &TargetResult {
        match &self.measured().threads[..] {
            [thread] if thread.targets.len() == 1 => &thread.targets[0],
            other => panic!("one thread with one target: {other:?}"),
        }
    }

    /// Every thread's numbers on every target.
    pub fn targets(&self) -> Vec<&TargetResult> {
        self.measured().threads.iter().flat_map(|t| &t.targets).collect()
    }

    /// I/Os of all threads and targets.
    pub fn ios(&self) -> u64 {
        self.targets().iter().map(|t| t.read.ios + t.write.ios).sum()
    }

    /// Failures in words, of which there are some.
    pub fn failures(&self) -> &[String] {
        let words = &self.report.document.failures;
        assert!(!words.is_empty(), "it did not fail");
        assert_eq!(words.len(), self.report.failures.len(), "the document tells all of them");
        words
    }
}
