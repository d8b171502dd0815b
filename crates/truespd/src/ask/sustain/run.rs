//! Writes on and on until the rate has fallen and is steady, and again after rests.

use super::report::{End, Phase, RoomBefore, Run, SustainReport};
use crate::answer::{Advice, SeriesVerdict};
use crate::ask::{Common, LARGER_TARGET, counting_cached_writes};
use crate::runner::rounds::AROUND_S;
use crate::runner::sequence::Sequence;
use crate::runner::{Ahead, Draft, Ended, Known, Length, Runner};
use std::time::Duration;
use truespd_core::profile::{self, SteadyRule};
use truespd_core::result::{Document, Finding, FindingGrade, Grade, Operations, Summary};
use truespd_platform::text::bytes;

/// How the range is written.
const WRITES: [&str; 4] = ["-b1M", "-s", "-w100", "-t1"];
const BLOCK_BYTES: f64 = (1 << 20) as f64;
/// So many slices has a run.
const SLICES: u32 = 20;
/// After a rest, so much of the fast area is written at most.
const WRITTEN_AFTER_REST: f64 = 1.25;
/// What the course itself tells: that the rate moves or falls within a run, and that a run is short.
const TOLD_BY_COURSE: [&str; 3] = ["not-steady", "step-down", "too-short"];
/// A file in free space is written for the first time, as a copy of new files is.
const FIRST_WRITES: &str = "first-writes";
const ADVICE: Advice = &[
    (&["working-set"], LARGER_TARGET),
    (&[FIRST_WRITES], "with --passes 2 the range is written again, when every block has its place"),
    (&["generator-bound"], "keep more writes outstanding (--outstanding), or stop other programs"),
];

/// Sustained writes of a target.
#[derive(Debug, Clone)]
pub struct Sustain {
    /// The file or device, as a word of a line.
    pub target: String,
    pub range_bytes: u64,
    /// The file system in which the target was made; none where it was there.
    pub room: Option<RoomBefore>,
    pub passes: u32,
    pub minutes: u32,
    /// Length of a run in seconds.
    pub run_s: u32,
    pub outstanding: u32,
    /// Rests in seconds, in their order.
    pub rests: Vec<u32>,
    /// The words that choose the engine; none for the usual one.
    pub engine: Vec<String>,
    pub rule: SteadyRule,
}

impl Sustain {
    /// The line of a run that begins at `from_bytes`.
    pub fn line(&self, from_bytes: u64) -> Vec<String> {
        let mut words = WRITES.map(str::to_string).to_vec();
        words.push(format!("-o{}", self.outstanding));
        if from_bytes > 0 {
            words.push(format!("-B{from_bytes}"));
        }
        words.extend(["-L", "-Z64M", "-Su", "-W0"].map(str::to_string));
        words.extend([format!("-d{}", self.run_s), format!("-D{}", self.run_s * 1000 / SLICES)]);
        words.extend(self.engine.iter().cloned());
        words.push(self.target.clone());
        words
    }

    /// Bytes with which the range is full.
    pub fn full_bytes(&self) -> u64 {
        self.range_bytes.saturating_mul(u64::from(self.passes))
    }

    fn one(&self) -> Length {
        Length::exactly(f64::from(self.run_s) + AROUND_S)
    }

    /// Runs before the first rest: as many as the rule needs, and as many as the time has.
    fn runs(&self) -> [u32; 2] {
        let most = (self.minutes * 60).div_ceil(self.run_s);
        [self.rule.window.min(most), most]
    }

    /// Rests, with a run behind each: it can be more.
    fn ahead_of_rests(&self, rests: &[u32]) -> Ahead {
        let seconds: u32 = rests.iter().sum();
        let length = self.one().times(rests.len() as f64).and(f64::from(seconds));
        Ahead { steps: rests.len(), length, known: Known::Usually }
    }

    /// What is still to come before the first rest, of so many runs at most, and behind it.
    fn ahead_of(&self, done: u32, most: u32) -> Ahead {
        let [least, most] = [self.runs()[0].saturating_sub(done), most].map(f64::from);
        let later = self.ahead_of_rests(&self.rests);
        let length = Length {
            least_s: self.one().least_s * least,
            most_s: self.one().most_s * most + later.length.most_s,
            round_s: 0.0,
        };
        Ahead { steps: most as usize + later.steps, length, known: Known::Usually }
    }

    /// What it does and takes, a sentence each.
    pub fn plan_lines(&self) -> Vec<String> {
        let times = if self.passes == 1 { "once".to_string() } else { format!("{} times", self.passes) };
        let mut lines = vec![format!(
            "writes {} sequentially until the rate has fallen and is steady, the range is full {times}, or {} min are \
             over; a run takes {} s",
            bytes(self.range_bytes as f64),
            self.minutes,
            self.run_s
        )];
        if let Some(room) = self.room {
            lines.push(format!(
                "the range is a file in the free space ({} of {} are free), which is removed at the end",
                bytes(room.free_bytes as f64),
                bytes(room.size_bytes as f64)
            ));
        }
        if !self.rests.is_empty() {
            let rests: Vec<String> = self.rests.iter().map(u32::to_string).collect();
            lines.push(format!(
                "then rests of {} s, and writes after each until the rate has fallen again",
                rests.join(", ")
            ));
        }
        lines
    }

    fn begin(&self) -> SustainReport {
        SustainReport {
            common: Common::default(),
            line: Vec::new(),
            profile: None,
            range_bytes: self.range_bytes,
            passes: self.passes,
            minutes: self.minutes,
            room: self.room,
            run_s: self.run_s,
            slice_s: f64::from(self.run_s) / f64::from(SLICES),
            rule: self.rule,
            ended: None,
            phases: Vec::new(),
            verdict: SeriesVerdict::default(),
        }
    }

    /// Runs all of it. What is done when it ends early is in the document.
    pub fn run(&self, runner: &mut dyn Runner) -> (SustainReport, Result<(), Ended>) {
        let mut report = self.begin();
        let result = self.all_phases(&mut report, runner);
        (report, result)
    }

    fn all_phases(&self, report: &mut SustainReport, runner: &mut dyn Runner) -> Result<(), Ended> {
        let mut sequence = Sequence::default();
        self.write_until_slow(report, &mut sequence, runner)?;
        let Some((area_bytes, _)) = report.fast_area_bytes() else {
            if !self.rests.is_empty() {
                runner.tell("the rate did not fall, so no rest follows");
            }
            return Ok(());
        };
        for (place, &rest_s) in self.rests.iter().enumerate() {
            runner.ahead(self.ahead_of_rests(&self.rests[place..]));
            runner.pause(Duration::from_secs(rest_s.into()))?;
            report.phases.push(Phase { rest_s, runs: Vec::new() });
            let later = self.ahead_of_rests(&self.rests[place + 1..]);
            self.write_after_rest(report, &mut sequence, (rest_s, area_bytes), later, runner)?;
        }
        Ok(())
    }

    /// Writes before the first rest, and notes why they ended.
    fn write_until_slow(
        &self,
        report: &mut SustainReport,
        sequence: &mut Sequence,
        runner: &mut dyn Runner,
    ) -> Result<(), Ended> {
        report.phases.push(Phase { rest_s: 0, runs: Vec::new() });
        let [_, most] = self.runs();
        for run in 0..most {
            let written = report.written_bytes();
            let mut left = most - run - 1;
            if run > 0 {
                // At the mean rate so far.
                let runs = (self.full_bytes() - written) / (written / u64::from(run)).max(1);
                left = left.min(u32::try_from(runs).unwrap_or(u32::MAX));
            }
            runner.ahead(self.ahead_of(run + 1, left));
            runner.at(&format!("{} of {} written", bytes(written as f64), bytes(self.full_bytes() as f64)));
            self.one_run(report, sequence, &format!("run {}", run + 1), runner)?;
            let written = report.written_bytes();
            // A target that takes nothing is never full.
            if written >= self.full_bytes() {
                report.ended = Some(End::Full);
            } else if report.fall().is_some() && report.is_steady() == Some(true) {
                report.ended = Some(End::Steady);
            }
            if report.ended.is_some() {
                return Ok(());
            }
        }
        report.ended = Some(End::Time);
        Ok(())
    }

    fn write_after_rest(
        &self,
        report: &mut SustainReport,
        sequence: &mut Sequence,
        (rest_s, area_bytes): (u32, f64),
        later: Ahead,
        runner: &mut dyn Runner,
    ) -> Result<(), Ended> {
        for run in 1.. {
            runner.ahead(later);
            runner.at(&format!("after a rest of {rest_s} s"));
            self.one_run(report, sequence, &format!("after a rest of {rest_s} s, run {run}"), runner)?;
            let (Some(phase), Some(fall)) = (report.phases.last(), report.fall()) else { return Ok(()) };
            let written = phase.written_bytes();
            if written == 0
                || report.is_slow_again(phase, &fall)
                || written as f64 >= area_bytes * WRITTEN_AFTER_REST
            {
                return Ok(());
            }
        }
        Ok(())
    }

    fn one_run(
        &self,
        report: &mut SustainReport,
        sequence: &mut Sequence,
        name: &str,
        runner: &mut dyn Runner,
    ) -> Result<(), Ended> {
        let from_bytes = sequence.from_bytes;
        let draft = Draft {
            name: name.to_string(),
            words: self.line(from_bytes),
            length: self.one(),
            ..Draft::default()
        };
        let step = draft.read(runner)?;
        let document = runner.run(&step)?;
        if report.line.is_empty() {
            report.line = step.line.words().to_vec();
            report.profile = Some(profile::hash(&document.profile));
        }
        let findings = findings_of(&document);
        let grade = document.verdict.as_ref().map(|_| Grade::of(findings.iter()));
        report.verdict.take("writes", grade, &findings);
        report.verdict.advise(ADVICE);
        let run = run_of(&document, from_bytes, grade);
        sequence.go_on(run.written_bytes, self.range_bytes);
        if let Some(phase) = report.phases.last_mut() {
            phase.runs.push(run);
        }
        Ok(())
    }
}

/// What says something against a rate. A write cache of the drive is a part of what is looked for here.
fn findings_of(document: &Document) -> Vec<Finding> {
    let mut findings = counting_cached_writes(document);
    findings.retain(|finding| !TOLD_BY_COURSE.contains(&finding.rule.as_str()));
    for finding in findings.iter_mut().filter(|finding| finding.rule == FIRST_WRITES) {
        finding.grade = FindingGrade::Remark;
    }
    findings
}

fn run_of(document: &Document, from_bytes: u64, grade: Option<Grade>) -> Run {
    let mut run = Run {
        from_bytes,
        written_bytes: 0,
        measured_s: 0.0,
        bytes_per_s: Vec::new(),
        longest_ns: None,
        temperature_c: None,
        grade,
    };
    let Some(measured) = document.measured().next() else { return run };
    let summary = Summary::of(measured);
    run.written_bytes = summary.write.bytes;
    run.measured_s = measured.test_time_s;
    run.longest_ns = summary.write.latency.as_ref().map(|latency| latency.max_ns as f64);
    if let Some(intervals) = measured.sum(Operations::Writes, |_| true).intervals {
        let slice_s = intervals.interval_ns() as f64 / 1e9;
        for interval in intervals.series() {
            run.bytes_per_s.push(interval.count as f64 * BLOCK_BYTES / slice_s);
        }
    }
    let drives = measured.evidence.drives.iter().flatten();
    run.temperature_c = drives.filter_map(|drive| drive.after.as_ref()?.temperature_c).max();
    run
}
