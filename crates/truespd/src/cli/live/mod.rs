//! A run on a full screen: `--live` and `truespd watch`.
//!
//! A process of its own draws it ([`watcher`], started by [`truespd_front::viewer`]): whatever happens to the run,
//! even `kill -9`, the pipe between them closes and the terminal is given back. [`Model`] is what is known
//! from the events, [`draw`] makes the picture, and [`plain`] the lines where there is no screen.

mod draw;
pub(crate) mod plain;
#[cfg(test)]
mod tests;
pub(crate) mod watcher;

use std::collections::VecDeque;

use jiff::Timestamp;

use crate::ask::table::Row;
use crate::runner::view::Throughput;
use truespd_core::load::live::Phase;
use truespd_core::result::FindingGrade;
use truespd_front::show::phase_words;
use truespd_front::telemetry::{At, Brought, Happened, Heard, Span, Sum};
use truespd_platform::text::{clock, duration_ns, printable, rate, size};

/// Seconds of the course that are kept.
const COURSE_MAX: usize = 600;
const MESSAGES_MAX: usize = 200;
const RESULTS_MAX: usize = 1000;

/// What is known of a run, or of a series of runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    /// As typed, the program first.
    pub command_line: Vec<String>,
    /// When the last event came.
    pub now: Option<Timestamp>,
    pub doing: Doing,
    /// Where the present run is.
    pub at: Option<At>,
    /// The present run's course, oldest first: one for each progress with rates.
    pub course: VecDeque<At>,
    /// The present step of a series.
    pub step: Option<Step>,
    /// Runs that have ended, oldest first.
    pub results: Vec<Outcome>,
    /// Notes, warnings and findings, oldest first.
    pub messages: VecDeque<Message>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Doing {
    /// Nothing was told yet, or threads are being prepared.
    #[default]
    Preparing,
    Filling {
        path: String,
        done_bytes: u64,
        total_bytes: u64,
    },
    Running,
    /// A run is over, and the next has not begun.
    Between,
    Over,
}

/// A step of a series.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub name: String,
    pub planned_s: f64,
    pub runs_ahead: usize,
    pub ahead_s: f64,
    pub longer_s: f64,
    pub since: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// Name of its step; none for a run by itself.
    pub name: Option<String>,
    pub result: Brought,
}

/// Words with the time they came at.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub at: Timestamp,
    pub weight: Weight,
    /// The rule of the verdict whose finding it is.
    pub rule: Option<String>,
    pub says: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Note,
    Warning,
    /// The result is wrong, or there is none.
    Bad,
}

impl Model {
    /// How bytes per second are written: as in the tables of the suite that runs.
    pub fn throughput(&self) -> Throughput {
        self.command_line.get(1).and_then(|word| Row::named(word)).map_or(rate, |row| row.throughput)
    }

    pub fn take(&mut self, heard: Heard) {
        let at = heard.time;
        self.now = Some(at);
        match heard.happened {
            // A file of many runs: only the last one counts.
            Happened::Begin { command_line } => {
                *self = Model { command_line, now: self.now, ..Model::default() };
            }
            Happened::Step { name, planned_s, runs_ahead, ahead_s, longer_s } => {
                self.step = Some(Step { name, planned_s, runs_ahead, ahead_s, longer_s, since: at });
                self.clear_run();
                self.doing = Doing::Preparing;
            }
            Happened::Fill { path, done_bytes, total_bytes } => {
                self.doing = Doing::Filling { path, done_bytes, total_bytes };
            }
            Happened::Remove { path, .. } => {
                self.say(at, Weight::Note, format!("removing the unfinished file '{path}'"));
            }
            Happened::Reuse { path } => self.say(at, Weight::Note, format!("'{path}' is used as it is")),
            Happened::Note { says } => self.say(at, Weight::Note, says),
            Happened::Warning { says } => self.say(at, Weight::Warning, says),
            Happened::GivenUp { says } => self.say(at, Weight::Bad, says),
            Happened::Progress(progress) => self.progress(*progress),
            Happened::Result(result) => self.result(at, result),
            Happened::End => self.doing = Doing::Over,
        }
    }

    fn progress(&mut self, progress: At) {
        if self.at.as_ref().is_some_and(|before| before.time_span != progress.time_span) {
            self.course.clear();
        }
        self.doing = match progress.phase {
            Phase::Start => Doing::Preparing,
            _ => Doing::Running,
        };
        if progress.iops.is_some() {
            if self.course.len() == COURSE_MAX {
                self.course.pop_front();
            }
            self.course.push_back(progress.clone());
        }
        self.at = Some(progress);
    }

    fn result(&mut self, at: Timestamp, result: Brought) {
        let name = self.step.as_ref().map(|step| step.name.clone());
        for found in result.findings.iter().filter(|found| !found.grade.is_remark()) {
            let weight = if found.grade == FindingGrade::Invalid { Weight::Bad } else { Weight::Warning };
            let says = format!("{}: {}", found.rule, found.says);
            // A suite finds the same in many runs, with other figures: the last of them is enough.
            self.messages.retain(|message| message.rule.as_ref() != Some(&found.rule));
            self.push(Message { at, weight, rule: Some(found.rule.clone()), says });
        }
        if self.results.len() == RESULTS_MAX {
            self.results.remove(0);
        }
        self.results.push(Outcome { name, result });
        self.doing = Doing::Between;
    }

    fn clear_run(&mut self) {
        self.at = None;
        self.course.clear();
    }

    fn say(&mut self, at: Timestamp, weight: Weight, says: String) {
        self.push(Message { at, weight, rule: None, says });
    }

    fn push(&mut self, message: Message) {
        if self.messages.len() == MESSAGES_MAX {
            self.messages.pop_front();
        }
        self.messages.push_back(message);
    }

    /// The rates of the measured time so far; before it began, of all.
    pub fn measured(&self) -> impl Iterator<Item = &At> + Clone {
        let has_measured = self.course.iter().any(|at| at.phase == Phase::Measurement);
        self.course.iter().filter(move |at| !has_measured || at.phase == Phase::Measurement)
    }

    /// The part of the bytes of the test that the disks moved, over the last second with both; none where that is not
    /// told, or where almost nothing was moved. In a run on several hosts, the disks of the others are not known.
    pub fn share_of_disks(&self) -> Option<f64> {
        let last = self.course.back().filter(|last| last.hosts.is_none())?;
        let moved = last.bytes_per_s.filter(|bytes| *bytes > 0.0)?;
        let by_disks = last.disks.iter().map(|disk| disk.read_bytes_per_s + disk.write_bytes_per_s);
        (!last.disks.is_empty()).then(|| by_disks.sum::<f64>() / moved)
    }
}

/// Lowest, mean and highest of some values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub least: f64,
    pub mean: f64,
    pub most: f64,
}

impl Spread {
    /// Of at least one value.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let (mut count, mut sum, mut least, mut most) = (0u32, 0.0, f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            (count, sum) = (count + 1, sum + value);
            (least, most) = (least.min(value), most.max(value));
        }
        (count > 0).then(|| Spread { least, mean: sum / f64::from(count), most })
    }
}

const NS_PER_S: f64 = 1e9;

pub(super) fn seconds(value: f64) -> String {
    duration_ns(value * NS_PER_S)
}

/// Whether a run only trims so far: then it has no IOPS to tell.
pub(super) fn trims_only(at: &At) -> bool {
    at.ios == 0 && at.trim.is_some()
}

/// What a time span did, by name: reads, writes and trims, of which there were some.
pub(super) fn sums(span: &Span) -> Vec<(&'static str, &Sum)> {
    let trims = span.trim.as_ref().map(|trims| ("trims", trims));
    let mut sums = vec![("reads", &span.read), ("writes", &span.write)];
    sums.extend(trims);
    sums.retain(|(_, sum)| sum.ios > 0);
    sums
}

/// A file that is being written, and which part of it is.
pub(super) fn filling(path: &str, done_bytes: u64, total_bytes: u64) -> (String, f64) {
    let words = format!("writing '{}', {} of {}", printable(path), size(done_bytes), size(total_bytes));
    (words, done_bytes as f64 / total_bytes.max(1) as f64)
}

/// Where a run is: `time span 2 of 3, measuring, 0:12 passed, 0:28 left`.
pub(super) fn place(at: &At) -> String {
    let span = match at.time_spans {
        ..=1 => String::new(),
        spans => format!("time span {} of {spans}, ", at.time_span),
    };
    let phase = phase_words(at.phase);
    format!("{span}{phase}, {} passed, {} left", clock(at.elapsed_s), clock(at.left_s))
}

/// What stands before a message.
pub(super) fn message_lead(weight: Weight) -> &'static str {
    match weight {
        Weight::Note => "note: ",
        Weight::Warning => "WARNING: ",
        Weight::Bad => "ERROR: ",
    }
}

#[cfg(test)]
mod tests_model {
    use super::*;

    fn take_all(model: &mut Model, lines: &[&str]) {
        for line in lines {
            let line = format!(r#"{{"time":"2026-11-23T12:00:00.000Z",{line}}}"#);
            model.take(Heard::read(&line).unwrap_or_else(|error| panic!("{line}: {error}")));
        }
    }

    fn progress(phase: &str, elapsed_s: u32, iops: u32) -> String {
        format!(
            r#""event":"progress","phase":"{phase}","time_span":1,"time_spans":1,"elapsed_s":{elapsed_s},"left_s":9,"ios":1,"bytes":1,"iops":{iops},"bytes_per_s":{}"#,
            iops * 4096
        )
    }

    #[test]
    fn figures_are_of_the_measured_time() {
        let mut model = Model::default();
        take_all(&mut model, &[&progress("warm-up", 1, 500), &progress("warm-up", 2, 700)]);
        let mean =
            |model: &Model| Spread::of(model.measured().filter_map(|at| at.iops)).map(|spread| spread.mean);
        assert_eq!(mean(&model), Some(600.0), "until it begins, of the warm-up");
        take_all(&mut model, &[&progress("measurement", 3, 100), &progress("measurement", 4, 300)]);
        assert_eq!(mean(&model), Some(200.0));
        assert_eq!(model.doing, Doing::Running);
    }

    #[test]
    fn the_last_run_of_a_file_counts() {
        let mut model = Model::default();
        let begin = r#""event":"begin","command_line":["truespd run","-d1","f"]"#;
        let note = r#""event":"note","says":"a note""#;
        take_all(&mut model, &[begin, note, &progress("measurement", 1, 5), r#""event":"end""#]);
        assert_eq!((model.doing.clone(), model.messages.len(), model.course.len()), (Doing::Over, 1, 1));
        take_all(&mut model, &[begin]);
        assert_eq!((model.doing.clone(), model.messages.len(), model.course.len()), (Doing::Preparing, 0, 0));
    }

    #[test]
    fn a_finding_that_comes_again_replaces_the_one_before() {
        let found = |grade: &str, says: &str| {
            format!(
                r#""event":"result","verdict":"suspect","time_spans":[],"findings":[{{"rule":"steal","grade":"{grade}","says":"{says}"}}]"#
            )
        };
        let mut model = Model::default();
        take_all(
            &mut model,
            &[&found("suspect", "took 3 %"), &found("remark", "took 1 %"), &found("invalid", "took 9 %")],
        );
        let says: Vec<&str> = model.messages.iter().map(|message| message.says.as_str()).collect();
        assert_eq!(says, ["steal: took 9 %"]);
        assert_eq!(model.messages[0].weight, Weight::Bad);
        assert_eq!(model.results.len(), 3);
    }

    #[test]
    fn memory_has_a_bound() {
        let mut model = Model::default();
        for second in 0..2 * COURSE_MAX as u32 {
            take_all(&mut model, &[&progress("measurement", second, second), r#""event":"note","says":"x""#]);
        }
        assert_eq!((model.course.len(), model.messages.len()), (COURSE_MAX, MESSAGES_MAX));
        assert_eq!(model.course.back().and_then(|at| at.iops), Some(2.0 * COURSE_MAX as f64 - 1.0));
    }

    #[test]
    fn the_part_that_the_disks_moved() {
        let mut model = Model::default();
        assert_eq!(model.share_of_disks(), None);
        let disk = r#"{"name":"vda","reads_per_s":10,"read_bytes_per_s":40960,"writes_per_s":0,"write_bytes_per_s":0,"in_flight_mean":1}"#;
        take_all(&mut model, &[&format!(r#"{},"disks":[{disk},{disk}]"#, progress("measurement", 1, 80))]);
        assert_eq!(model.share_of_disks(), Some(0.25));
        take_all(&mut model, &[&progress("measurement", 2, 80)]);
        assert_eq!(model.share_of_disks(), None, "no counters");
        let hosts = r#""hosts":{"hosts":2,"told":1,"slowest":{"host":"a","iops":80},"fastest":{"host":"a","iops":80}}"#;
        take_all(
            &mut model,
            &[&format!(r#"{},"disks":[{disk},{disk}],{hosts}"#, progress("measurement", 3, 80))],
        );
        assert_eq!(model.share_of_disks(), None, "the bytes are those of two hosts, the disks those of one");
    }
}
