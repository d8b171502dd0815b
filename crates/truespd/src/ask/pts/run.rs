//! Runs a test of SNIA's PTS: preconditioning, rounds until all tracking variables are steady, and what follows.

use super::report::{
    Bar, CellReport, Figures, Head, PartReport, PtsReport, ResponseTimes, StageReport, TrackedCell,
};
use super::table::{Block, Cell, Class, End, Figure, Part, Pattern, Stage, Test};
use crate::answer::SeriesVerdict;
use crate::ask::{Common, counting_cached_writes, judged};
use crate::runner::rounds::AROUND_S;
use crate::runner::sequence::Sequence;
use crate::runner::{Ahead, Draft, Ended, Known, Length, Runner};
use std::time::Duration;
use truespd_core::engine;
use truespd_core::profile::{self, SteadyRule};
use truespd_core::result::rounds::{Tracked, words};
use truespd_core::result::{Document, Grade, LatencySummary, Operations, Preconditioned, Summary};
use truespd_platform::machine::device::BlockDevice;
use truespd_platform::machine::roots::Roots;
use truespd_platform::text::{bytes, duration_ns, number, part_percent, rate};

/// Passes and size of the preconditioning, of which PTS 2.0.2 p. 17 is quoted.
pub const PASSES: u32 = 2;
/// How the drive is written before the rounds.
const SEQUENTIAL_WRITES: [&str; 5] = ["-b128K", "-s", "-w100", "-t1", "-o32"];
/// Seconds of a cell that the specification calls a minute.
pub const MINUTE_S: u32 = 60;
/// A drive must have been written so often before its saturation counts as steady.
const WRITTEN_BEFORE_STEADY: u64 = 2;
/// Steps of the histogram in a doubling.
const STEPS: f64 = 4.0;

/// A test on a target.
#[derive(Debug, Clone)]
pub struct Pts {
    pub test: &'static Test,
    pub parts: Vec<&'static Part>,
    pub class: Class,
    pub threads: u32,
    pub outstanding: u32,
    /// Length of a cell of a minute; all other times change with it.
    pub seconds: u32,
    pub rule: SteadyRule,
    /// Rounds of a stage at most, where the person wants fewer than the test.
    pub rounds_max: Option<u32>,
    /// The file or device, as a word of a line.
    pub target: String,
    pub engine: Vec<String>,
    pub head: Head,
    /// Smallest I/O that the target takes.
    pub sector_bytes: u64,
    pub deviations: Vec<String>,
}

/// A stage as it runs here.
struct Planned {
    stage: &'static Stage,
    cells: Vec<Cell>,
}

impl Pts {
    /// A time of the specification as it is here, in seconds.
    fn scaled_s(&self, seconds: u32) -> f64 {
        f64::from(seconds) * f64::from(self.seconds) / f64::from(MINUTE_S)
    }

    fn cell_s(&self, cell: &Cell) -> u32 {
        (self.scaled_s(cell.seconds).round() as u32).max(1)
    }

    /// The cells of a stage that the target takes.
    pub fn cells(&self, stage: &Stage) -> Vec<Cell> {
        let mut cells = stage.in_order((self.threads, self.outstanding));
        cells.retain(|cell| cell.block.least_bytes() >= self.sector_bytes);
        cells
    }

    /// Cells that the target does not take, by name.
    pub fn left_out(&self) -> Vec<String> {
        let mut blocks = Vec::new();
        for stage in self.parts.iter().flat_map(|part| part.stages) {
            for cell in stage.in_order((self.threads, self.outstanding)) {
                let name = cell.block.name();
                if cell.block.least_bytes() < self.sector_bytes && !blocks.contains(&name) {
                    blocks.push(name);
                }
            }
        }
        blocks
    }

    /// How long a round of a stage takes.
    fn round(&self, stage: &Stage) -> Length {
        let mut seconds = self.scaled_s(stage.wait_s);
        for cell in self.cells(stage) {
            seconds += f64::from(self.cell_s(&cell)) + AROUND_S;
        }
        Length::exactly(seconds)
    }

    /// Fewest and most rounds of a stage.
    pub fn rounds(&self, stage: &Stage) -> (u32, u32) {
        let own = stage.end.rounds_max();
        let most = self.rounds_max.map_or(own, |rounds| rounds.min(own));
        match stage.end {
            End::Steady(_) => (self.rule.window, most),
            End::Times(_) => (most, most),
            End::Written { .. } => (1, most),
        }
    }

    pub fn stage_length(&self, stage: &Stage) -> Length {
        let (least, most) = self.rounds(stage);
        let round = self.round(stage);
        Length { most_s: round.times(f64::from(most)).most_s, ..round.times(f64::from(least)) }
    }

    /// Whether a cell is so short that it runs for a second all the same.
    pub fn has_rounded_up(&self) -> bool {
        let mut cells = self.parts.iter().flat_map(|part| part.stages).flat_map(|stage| self.cells(stage));
        cells.any(|cell| self.scaled_s(cell.seconds) < 1.0)
    }

    /// How long all rounds take; preconditioning comes on top.
    pub fn length(&self) -> Length {
        self.parts.iter().flat_map(|part| part.stages).map(|stage| self.stage_length(stage)).sum()
    }

    /// What is still to come, but for preconditioning, of which nobody knows the rate.
    pub fn ahead(&self) -> Ahead {
        let mut steps = 0;
        for stage in self.parts.iter().flat_map(|part| part.stages) {
            steps += self.cells(stage).len() * self.rounds(stage).1 as usize;
        }
        Ahead { steps, length: self.length(), known: Known::AtMost }
    }

    /// Seconds in which the rounds write, fewest and most: of a mixed cell its share of writes.
    pub fn writing_s(&self) -> [f64; 2] {
        let mut all = [0.0; 2];
        for stage in self.parts.iter().flat_map(|part| part.stages) {
            let mut once = 0.0;
            for cell in self.cells(stage) {
                once += f64::from(self.cell_s(&cell)) * f64::from(100 - cell.read_percent) / 100.0;
            }
            let (least, most) = self.rounds(stage);
            all[0] += once * f64::from(least);
            all[1] += once * f64::from(most);
        }
        all
    }

    pub fn preconditioning_bytes(&self) -> u64 {
        if !self.test.is_preconditioned {
            return 0;
        }
        (self.head.capacity_bytes * u64::from(PASSES)).saturating_mul(self.parts.len() as u64)
    }

    /// Whether the engine only imitates a drive.
    pub fn is_simulated(&self) -> bool {
        let name = self.head.engine.as_deref().and_then(|engine| engine.split(':').next());
        name.and_then(engine::find).is_some_and(|row| !row.moves_data)
    }

    /// Words that all lines have, behind those of a cell.
    fn common(&self, seconds: u32) -> Vec<String> {
        let mut words: Vec<String> = ["-L", "-Su", "-W0"].map(str::to_string).to_vec();
        // A simulated drive takes no data, and filling a buffer takes longer than its runs.
        if !self.is_simulated() {
            words.push("-Z64M".to_string());
        }
        words.push(format!("-d{seconds}"));
        words.extend(self.engine.iter().cloned());
        words.push(self.target.clone());
        words
    }

    /// The line that writes all of the drive before the rounds. What it runs behind that has no part in the result.
    pub fn preconditioning(&self) -> Vec<String> {
        let mut words = vec![format!("--precondition={PASSES}x")];
        words.extend(SEQUENTIAL_WRITES.map(str::to_string));
        words.extend(self.common(1));
        words
    }

    /// The line of a cell; a sequential one begins at `from_bytes`.
    pub fn line(&self, cell: &Cell, from_bytes: u64) -> Vec<String> {
        let mut words = cell.block.words();
        match cell.pattern {
            // The places of a distribution are random without a word.
            Pattern::Random if cell.block == Block::Composite => words.push("-r512".into()),
            Pattern::Random => words.push("-r".into()),
            Pattern::Sequential if cell.threads > 1 => words.push("-si".into()),
            Pattern::Sequential => words.push("-s".into()),
        }
        words.push(format!("-w{}", 100 - cell.read_percent));
        words.push(format!("-t{}", cell.threads));
        words.push(format!("-o{}", cell.outstanding));
        if from_bytes > 0 {
            words.push(format!("-B{from_bytes}"));
        }
        if self.head.active_range_bytes < self.head.capacity_bytes {
            words.push(format!("-f{}", self.head.active_range_bytes));
        }
        words.extend(self.common(self.cell_s(cell)));
        words
    }

    fn begin(&self) -> PtsReport {
        let mut parts = Vec::new();
        for part in &self.parts {
            let stages = part.stages.iter().map(|stage| self.stage_report(stage)).collect();
            parts.push(PartReport {
                name: part.name.to_string(),
                preconditioned: None,
                preconditioned_until_unix_s: None,
                stages,
            });
        }
        PtsReport {
            common: Common::default(),
            test: self.test.name.to_string(),
            title: self.test.title.to_string(),
            class: self.class,
            source: self.test.source.to_string(),
            head: self.head.clone(),
            deviations: self.deviations.clone(),
            rule: self.rule,
            parts,
            verdict: SeriesVerdict::default(),
        }
    }

    fn stage_report(&self, stage: &Stage) -> StageReport {
        let planned = self.cells(stage);
        let mut cells = Vec::new();
        for cell in &planned {
            cells.push(CellReport {
                name: cell.name(),
                pattern: cell.pattern,
                read_percent: cell.read_percent,
                block: cell.block.name(),
                threads: cell.threads,
                outstanding: cell.outstanding,
                seconds: self.cell_s(cell),
                is_prewrite: cell.is_prewrite,
                line: Vec::new(),
                profile: None,
            });
        }
        let mut tracked = Vec::new();
        for one in stage.end.tracked() {
            let cell = planned.iter().position(|cell| {
                !cell.is_prewrite && cell.read_percent == one.read_percent && cell.block == one.block
            });
            tracked.extend(cell.map(|cell| TrackedCell {
                name: one.name.to_string(),
                cell,
                figure: one.figure,
            }));
        }
        StageReport {
            name: stage.name.to_string(),
            cells,
            tracked,
            every: stage.end.every(),
            wait_s: self.scaled_s(stage.wait_s),
            rounds: Vec::new(),
            response_times: Vec::new(),
        }
    }

    /// Runs all of it. What is done when it ends early is in the document.
    pub fn run(&self, runner: &mut dyn Runner) -> (PtsReport, Result<(), Ended>) {
        let mut report = self.begin();
        let result = self.all_parts(&mut report, runner);
        report.parts.iter_mut().flat_map(|part| &mut part.stages).for_each(StageReport::keep_three);
        let pauses = report.pauses();
        report.deviations.extend(pauses);
        (report, result)
    }

    fn all_parts(&self, report: &mut PtsReport, runner: &mut dyn Runner) -> Result<(), Ended> {
        let mut left = self.ahead();
        for (at, part) in self.parts.iter().enumerate() {
            if self.test.is_preconditioned {
                self.precondition(report, at, left, runner)?;
            }
            for (place, stage) in part.stages.iter().enumerate() {
                let of_stage = self.stage_length(stage);
                left.length.least_s -= of_stage.least_s;
                left.length.most_s -= of_stage.most_s;
                left.steps -= self.cells(stage).len() * self.rounds(stage).1 as usize;
                let planned = Planned { stage, cells: self.cells(stage) };
                self.stage(report, (at, place), &planned, left, runner)?;
            }
        }
        Ok(())
    }

    fn precondition(
        &self,
        report: &mut PtsReport,
        part: usize,
        left: Ahead,
        runner: &mut dyn Runner,
    ) -> Result<(), Ended> {
        runner.ahead(left);
        runner.at("preconditioning");
        if self.is_simulated() {
            return self.precondition_simulated(report, part, runner);
        }
        let name = self.parts[part].titled("preconditioning");
        let draft =
            Draft { name, words: self.preconditioning(), length: Length::exactly(1.0), ..Draft::default() };
        let step = draft.read(runner)?;
        let document = runner.run(&step)?;
        note_host(&mut report.head, &document);
        report.parts[part].preconditioned = document.preconditioned.first().cloned();
        if let (Some(start_unix_s), Some(before)) =
            (document.system.start_unix_s, &report.parts[part].preconditioned)
        {
            let ran_s = before.elapsed_s + document.measured().map(|it| it.test_time_s).sum::<f64>();
            report.parts[part].preconditioned_until_unix_s = Some(start_unix_s + ran_s as i64);
        }
        Ok(())
    }

    /// `--precondition` writes to storage only: a simulated drive is written by runs, until it has been written twice.
    fn precondition_simulated(
        &self,
        report: &mut PtsReport,
        part: usize,
        runner: &mut dyn Runner,
    ) -> Result<(), Ended> {
        let capacity_bytes = self.head.capacity_bytes;
        let mut written_bytes = 0;
        let mut elapsed_s = 0.0;
        let mut sequence = Sequence::default();
        for run in 1.. {
            let mut words = SEQUENTIAL_WRITES.map(str::to_string).to_vec();
            if sequence.from_bytes > 0 {
                words.push(format!("-B{}", sequence.from_bytes));
            }
            words.extend(self.common(self.seconds));
            let length = Length::exactly(f64::from(self.seconds));
            let name = self.parts[part].titled(&format!("preconditioning {run}"));
            let step = Draft { name, words, length, ..Draft::default() }.read(runner)?;
            let (figures, moved) = figures_of(&runner.run(&step)?, None);
            written_bytes += moved;
            elapsed_s += figures.measured_s;
            sequence.go_on(moved, capacity_bytes);
            if moved == 0 || written_bytes >= capacity_bytes * u64::from(PASSES) {
                break;
            }
        }
        report.parts[part].preconditioned = Some(Preconditioned {
            path: self.target.clone(),
            range_bytes: capacity_bytes,
            passes: PASSES,
            written_bytes,
            earlier_bytes: 0,
            elapsed_s,
            disk_bytes: None,
        });
        Ok(())
    }

    fn stage(
        &self,
        report: &mut PtsReport,
        at: (usize, usize),
        planned: &Planned,
        later: Ahead,
        runner: &mut dyn Runner,
    ) -> Result<(), Ended> {
        let stage = planned.stage;
        let (least, most) = self.rounds(stage);
        let mut sequence = Sequence::default();
        for round in 0..most {
            report.parts[at.0].stages[at.1].rounds.push(Vec::new());
            for place in 0..planned.cells.len() {
                let (fewest, longest) = (least.saturating_sub(round + 1), most - round - 1);
                let one = self.round(stage);
                let rest: f64 = planned.cells[place + 1..]
                    .iter()
                    .map(|cell| f64::from(self.cell_s(cell)) + AROUND_S)
                    .sum();
                runner.ahead(Ahead {
                    steps: later.steps + planned.cells.len() - place - 1
                        + planned.cells.len() * longest as usize,
                    length: Length {
                        least_s: later.length.least_s + rest + one.least_s * f64::from(fewest),
                        most_s: later.length.most_s + rest + one.most_s * f64::from(longest),
                        round_s: 0.0,
                    },
                    known: if fewest == longest { later.known } else { Known::AtMost },
                });
                runner.at(&self.at_words(report, at, (round, most), place));
                self.cell(report, at, (round, place), planned, &mut sequence, runner)?;
            }
            if let Some(told) = self.round_words(&report.parts[at.0].stages[at.1], stage) {
                runner.tell(&told);
            }
            if self.is_over(&report.parts[at.0].stages[at.1], stage) {
                break;
            }
            // No time passes for a simulated drive between its runs.
            if stage.wait_s > 0 && !self.is_simulated() {
                runner.pause(Duration::from_secs_f64(self.scaled_s(stage.wait_s)))?;
            }
        }
        Ok(())
    }

    /// Whether a stage may end before its last round.
    fn is_over(&self, report: &StageReport, stage: &Stage) -> bool {
        match stage.end {
            End::Times(_) => false,
            End::Steady(_) => report.is_steady(&self.rule) == Some(true),
            End::Written { capacities, .. } => {
                let capacity = self.head.capacity_bytes;
                let written = report.written_bytes();
                written >= capacity.saturating_mul(capacities)
                    || (written >= capacity.saturating_mul(WRITTEN_BEFORE_STEADY)
                        && report.is_steady(&self.rule) == Some(true))
            }
        }
    }

    fn at_words(
        &self,
        report: &PtsReport,
        at: (usize, usize),
        (round, most): (u32, u32),
        place: usize,
    ) -> String {
        let stage = &report.parts[at.0].stages[at.1];
        let mut words = format!("{}: round {} of {most} at most", stage.name, round + 1);
        if stage.cells.len() > 1 {
            words.push_str(&format!(", cell {} of {}", place + 1, stage.cells.len()));
        }
        let written = report.written_bytes();
        if written > 0 {
            words.push_str(&format!("; {} written", bytes(written as f64)));
            if let Some(endurance) = self.head.endurance_bytes {
                let share = part_percent(written as f64 / endurance as f64);
                words.push_str(&format!(", {share} of the rated endurance"));
            }
        }
        words
    }

    /// What is told of the last round of a stage whose rounds are judged.
    fn round_words(&self, report: &StageReport, stage: &Stage) -> Option<String> {
        let rounds = report.whole().count();
        if !rounds.is_multiple_of(report.every.max(1) as usize) {
            return None;
        }
        let (mut told, mut all) = (Vec::new(), Vec::new());
        for (course, tracked) in report.courses(&self.rule).iter().zip(stage.end.tracked()) {
            let value = course.values.last().copied().unwrap_or_default();
            told.push(format!("{} {}", tracked.name, figure_words(course.tracked.figure, value)));
            all.extend(course.excursions.map(|excursions| Tracked { name: tracked.name, excursions }));
        }
        if told.is_empty() {
            return None;
        }
        let mut words_of_round = format!("round {rounds}: {}", told.join(", "));
        if let Some(is_steady) = report.is_steady(&self.rule) {
            let what = if is_steady { "steady" } else { "not steady" };
            words_of_round.push_str(&format!("; the last {} are {what}: {}", self.rule.window, words(&all)));
        }
        Some(words_of_round)
    }

    fn cell(
        &self,
        report: &mut PtsReport,
        at: (usize, usize),
        (round, place): (u32, usize),
        planned: &Planned,
        sequence: &mut Sequence,
        runner: &mut dyn Runner,
    ) -> Result<(), Ended> {
        let cell = &planned.cells[place];
        let from_bytes = if cell.pattern == Pattern::Sequential { sequence.from_bytes } else { 0 };
        let part = self.parts[at.0];
        let load = if cell.has_own_load {
            format!(" T{} Q{}", cell.threads, cell.outstanding)
        } else {
            String::new()
        };
        let name = format!("{}{load}, {}, round {}", cell.name(), planned.stage.name, round + 1);
        let draft = Draft {
            name: part.titled(&name),
            words: self.line(cell, from_bytes),
            length: Length::exactly(f64::from(self.cell_s(cell))),
            ..Draft::default()
        };
        let step = draft.read(runner)?;
        let document = runner.run(&step)?;
        note_host(&mut report.head, &document);
        let what = part.titled(&cell.name());
        let grade = self.judge(&mut report.verdict, &what, &document);
        let stage = &mut report.parts[at.0].stages[at.1];
        if stage.cells[place].line.is_empty() {
            stage.cells[place].line = step.line.words().to_vec();
            stage.cells[place].profile = Some(profile::hash(&document.profile));
        }
        let (figures, moved) = figures_of(&document, grade);
        if cell.pattern == Pattern::Sequential {
            sequence.go_on(moved, self.head.active_range_bytes);
        }
        if planned.stage.has_histogram && !cell.is_prewrite {
            stage.response_times.retain(|times| times.round == round + 1);
            stage.response_times.extend(response_times(&document, place, round + 1));
        }
        if let Some(last) = stage.rounds.last_mut() {
            last.push(figures);
        }
        Ok(())
    }

    /// The verdict of a run. PTS-C has the write cache on: that its writes are not durable yet says nothing against it.
    fn judge(&self, verdict: &mut SeriesVerdict, what: &str, document: &Document) -> Option<Grade> {
        match self.class {
            Class::Enterprise => {
                let (grade, findings) = judged(document, |_| false);
                verdict.take(what, grade, findings);
                grade
            }
            Class::Client => {
                let findings = counting_cached_writes(document);
                let grade = document.verdict.as_ref().map(|_| Grade::of(findings.iter()));
                verdict.take(what, grade, &findings);
                grade
            }
        }
    }
}

pub fn figure_words(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Iops => number(value),
        Figure::Throughput => rate(value),
        Figure::MeanLatency => duration_ns(value),
    }
}

/// What a run did, and the bytes that it read and wrote.
fn figures_of(document: &Document, grade: Option<Grade>) -> (Figures, u64) {
    let Some(measured) = document.measured().next() else { return (Figures::default(), 0) };
    let summary = Summary::of(measured);
    let latency = summary.total.latency.as_ref();
    let figures = Figures {
        start_unix_s: document.system.start_unix_s,
        iops: summary.total.iops,
        bytes_per_s: summary.total.bytes_per_s,
        written_bytes: summary.write.bytes,
        measured_s: measured.test_time_s,
        mean_ns: latency.map(|it| it.mean_ns),
        p99_999_ns: latency.map(|it| it.p99_999_ns as f64),
        max_ns: latency.map(|it| it.max_ns as f64),
        grade,
    };
    (figures, summary.total.bytes)
}

fn response_times(document: &Document, cell: usize, round: u32) -> Option<ResponseTimes> {
    let all = document.measured().next()?.sum(Operations::All, |_| true);
    let histogram = all.latency.as_deref()?;
    let summary = LatencySummary::of(histogram)?;
    let mut bars: Vec<Bar> = Vec::new();
    for bucket in histogram.buckets() {
        let step = ((bucket.high_ns.max(1) as f64).log2() * STEPS).floor();
        let up_to_ns = ((step + 1.0) / STEPS).exp2().round();
        match bars.last_mut() {
            Some(bar) if bar.up_to_ns == up_to_ns => bar.ios += bucket.count,
            _ => bars.push(Bar { up_to_ns, ios: bucket.count }),
        }
    }
    Some(ResponseTimes { cell, round, summary, bars })
}

/// What the first run tells of the drive and the host.
fn note_host(head: &mut Head, document: &Document) {
    if head.kernel.is_some() {
        return;
    }
    let system = &document.system;
    head.kernel = Some(system.kernel_release.clone());
    head.processor = told(&system.processor_name);
    head.machine = told(&system.machine_model);
    head.memory_bytes = system.memory_bytes;
    let disk =
        document.measured().flat_map(|it| &it.evidence.targets).flat_map(|target| target.lowest()).next();
    if let Some(disk) = disk {
        head.serial = BlockDevice::named(&disk.name, &Roots::default()).and_then(|device| device.serial());
        head.model.clone_from(&disk.model);
        head.firmware.clone_from(&disk.firmware);
        head.interface.clone_from(&disk.transport);
    }
}

fn told(words: &str) -> Option<String> {
    if words.is_empty() { None } else { Some(words.to_string()) }
}
