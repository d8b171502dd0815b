//! What is known of a run, or of a series of runs, at a moment.

use truespd_core::load::live::{Counted, Progress};
use truespd_core::machine::host::unix_time_s;
use truespd_core::result::{Document, Grade, Measured, Summary, TimeSpanResult};

#[derive(Debug, Default)]
pub struct Status {
    command_line: Vec<String>,
    /// Steps of a series that have begun, and the name of the last one.
    pub step: Option<(u64, String)>,
    pub runs: u64,
    /// Whether it still goes on.
    pub is_running: bool,
    /// The last progress of the present time span.
    pub progress: Option<Progress>,
    /// I/Os of all time spans that are over.
    before: Counted,
    /// The last run that has ended.
    pub result: Option<Ended>,
}

#[derive(Debug)]
pub struct Ended {
    /// When it began, in seconds since 1970 UTC.
    pub unix_s: Option<i64>,
    pub targets: Vec<String>,
    /// Its grade; none when it was not judged.
    pub grade: Option<Grade>,
    /// The figures of its last time span; none when nothing was measured.
    pub summary: Option<Summary>,
}

impl Status {
    /// Of a program with this command line, at its beginning.
    pub fn new(command_line: &[String]) -> Self {
        Status { command_line: command_line.to_vec(), is_running: true, ..Status::default() }
    }

    /// As typed, the program first.
    pub fn command_line(&self) -> &[String] {
        &self.command_line
    }

    /// I/Os so far, of all time spans and runs.
    pub fn counted(&self) -> Counted {
        self.before.plus(self.progress.as_ref().map_or(Counted::default(), |progress| progress.counted))
    }

    /// The run tells where it is.
    pub fn progress(&mut self, now: Progress) {
        self.progress = Some(now);
    }

    /// A time span is over, with so many I/Os.
    pub fn span_is_over(&mut self, counted: Counted) {
        self.before = self.before.plus(counted);
        self.progress = None;
    }

    pub fn step(&mut self, name: &str) {
        let count = self.step.as_ref().map_or(0, |(count, _)| *count);
        self.step = Some((count + 1, name.to_string()));
    }

    pub fn result(&mut self, document: &Document) {
        self.runs += 1;
        let targets = document.profile.time_spans.iter().flat_map(|span| &span.targets);
        let mut targets: Vec<String> = targets.map(|target| target.path.clone()).collect();
        targets.dedup();
        self.result = Some(Ended {
            unix_s: document.system.start_unix_s,
            targets,
            grade: document.verdict.as_ref().map(|verdict| verdict.grade),
            summary: last_measured(document).map(Summary::of),
        });
    }

    pub fn end(&mut self) {
        self.is_running = false;
    }

    pub fn now_unix_s() -> i64 {
        unix_time_s().unwrap_or(0)
    }
}

fn last_measured(document: &Document) -> Option<&Measured> {
    document.time_spans.iter().rev().find_map(|span| match span {
        TimeSpanResult::Measured(measured) => Some(&**measured),
        _ => None,
    })
}
