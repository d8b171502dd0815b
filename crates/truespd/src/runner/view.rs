//! What people see of a series, on standard error: three lines that change on a terminal, one line per run elsewhere.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::answer::word;
use crate::runner::undo::{Fate, Undone};
use crate::runner::watch::{Event, Watch};
use crate::runner::{Ahead, Known, Length, Step};
use truespd_core::load;
use truespd_core::profile::Target;
use truespd_core::result::metrics::{Metric, Since};
use truespd_core::result::{DirectionSummary, Document, Summary};
use truespd_front::console::{self, PlainPace, say, say_line};
use truespd_front::show::{Words, on_terminal, phase_words, with_rates};
use truespd_front::viewer;
use truespd_platform::fault::Fault;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::program;
use truespd_platform::text::shell_line;
use truespd_platform::text::{duration_ns, number, printable, size};

/// How often the line of the present run changes.
const EVERY: Duration = Duration::from_millis(250);
/// Columns before the words of the present run, and the last one.
const RUN_LEAD: usize = 7;
/// Narrower terminals have no room for a bar beside the numbers.
const BAR_FROM: usize = 72;

/// The view. Shared with the thread that a run is watched from.
pub struct View {
    bars: Option<Bars>,
    /// The live view shows runs and their results: here come only notes, warnings and faults, when it has ended.
    is_beside_screen: bool,
    throughput: Throughput,
    state: Mutex<State>,
}

/// Writes bytes per second. One screen has one family of units: that of its tables.
pub type Throughput = fn(f64) -> String;

struct Bars {
    all: MultiProgress,
    last: ProgressBar,
    series: ProgressBar,
    /// Hidden as long as nothing is told there.
    at: ProgressBar,
    run: ProgressBar,
}

#[derive(Default)]
struct State {
    done: usize,
    ahead: Ahead,
    name: String,
    /// Where the series is, in its own words.
    at: String,
    pace: PlainPace,
    now: Option<Now>,
}

/// The present run or pause.
struct Now {
    planned: Length,
    since: Instant,
    is_run: bool,
}

impl State {
    /// Runs done, runs in all, time left.
    fn series(&self) -> (usize, usize, Length) {
        let (mut left, mut here) = (self.ahead.length, 0);
        if let Some(now) = &self.now {
            let passed_s = now.since.elapsed().as_secs_f64();
            left.least_s += (now.planned.least_s - passed_s).max(0.0);
            left.most_s += (now.planned.most_s - passed_s).max(0.0);
            here = usize::from(now.is_run);
        }
        (self.done, self.done + here + self.ahead.steps, left)
    }

    /// The time left with how well it is known: `24:10 left usually`
    fn left_words(&self) -> String {
        format!("{} left{}", self.series().2.clock(), behind(self.ahead.known))
    }
}

impl View {
    /// On standard error, with throughput in the unit of the suite's tables.
    pub fn new(throughput: Throughput, is_beside_screen: bool) -> Self {
        let has_bars = !is_beside_screen && std::io::stderr().is_terminal();
        let bars = if has_bars { Some(Bars::new()) } else { None };
        View { bars, is_beside_screen, throughput, state: Mutex::new(State::default()) }
    }

    fn begin(&self, step: &Step) {
        self.with(|state| {
            state.name.clone_from(&step.name);
            // A step that makes a file does not count as a run.
            let is_run = step.kind.is_run();
            state.now = Some(Now { planned: step.length, since: Instant::now(), is_run });
        });
        self.show_at();
        self.show_run(0, &format!("{}: preparing", step.name));
    }

    fn pause(&self, length: Duration) {
        let now =
            Now { planned: Length::exactly(length.as_secs_f64()), since: Instant::now(), is_run: false };
        self.with(|state| state.now = Some(now));
        self.show_run(0, "pause");
    }

    /// A file is being written.
    fn fill(&self, done_bytes: u64, total_bytes: u64) {
        let percent = done_bytes * 100 / total_bytes.max(1);
        let words = format!("writing the test file: {} of {}", size(done_bytes), size(total_bytes));
        match self.bars {
            None if !self.is_beside_screen && self.with(|state| state.pace.is_due()) => {
                say_line(format_args!("{words}"))
            }
            _ => self.show_run(percent, &words),
        }
    }

    /// Something of the present run.
    fn run(&self, event: load::Event) {
        match event {
            load::Event::Progress(progress) => {
                let planned_ns = u128::from(progress.planned_ns.max(1));
                let percent = (progress.elapsed_ns as u128 * 100 / planned_ns).min(100) as u64;
                let name = self.with(|state| state.name.clone());
                let words = Words::new(format!("{name}: {}", phase_words(progress.phase)));
                let words = with_rates(words, &progress, self.throughput);
                self.show_run(percent, &words.fitting(columns().saturating_sub(RUN_LEAD)));
            }
            load::Event::Fill { done_bytes, total_bytes, .. } => self.fill(done_bytes, total_bytes),
            load::Event::Warning(words) => self.line(&format!("WARNING: {words}")),
            load::Event::Note(words) | load::Event::Reused { words, .. } => {
                self.line(&format!("note: {words}"));
            }
            load::Event::Removing { bytes, .. } => {
                self.line(&format!("note: removing the unfinished test file ({})", size(bytes)));
            }
            load::Event::GivenUp(failure) => {
                self.clear();
                console::end_without_result(failure);
            }
            load::Event::Dot | load::Event::Verbose(_) | load::Event::Counted(_) => {}
        }
    }

    fn end(&self, step: &Step, document: &Document, is_kept: bool) {
        let is_run = step.kind.is_run();
        let (done, ahead) = self.with(|state| {
            state.done += usize::from(is_run);
            state.now = None;
            (state.done, state.ahead)
        });
        self.show_series();
        let from = if is_kept { " (kept from before)" } else { "" };
        let outcome = if is_run { outcome(document, self.throughput) } else { "done".into() };
        let words = format!("{}: {outcome}{from}", step.name);
        match &self.bars {
            Some(bars) => bars.last.set_message(on_terminal(&printable(&words))),
            None if self.is_beside_screen => {}
            None if is_run => {
                let behind = behind(ahead.known);
                say_line(format_args!("[{done}/{}{behind}] {words}", done + ahead.steps));
            }
            None => say_line(format_args!("{words}")),
        }
    }

    /// A line above those that change.
    fn line(&self, words: &str) {
        // `suspend` of the crate panics when the terminal has gone away. The bars are drawn again with their
        // next change.
        self.clear();
        say_line(format_args!("{}", printable(words)));
    }

    /// Clears the lines that change.
    fn clear(&self) {
        if let Some(bars) = &self.bars {
            // If the terminal is gone, there is nothing to clear.
            let _ = bars.all.clear();
        }
    }

    fn with<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        change(&mut self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn show_run(&self, percent: u64, words: &str) {
        if let Some(bars) = &self.bars {
            bars.run.set_position(percent);
            bars.run.set_message(on_terminal(&printable(words)));
            self.show_series();
        }
    }

    /// Where the series is, as a line that changes on a terminal, and elsewhere as a line for each step.
    fn show_at(&self) {
        let (at, left) = self.with(|state| (state.at.clone(), state.left_words()));
        if at.is_empty() {
            return;
        }
        match &self.bars {
            Some(bars) => {
                // Suites that do not tell it have no line for it.
                if bars.at.is_hidden() {
                    bars.all.insert_before(&bars.run, bars.at.clone());
                }
                bars.at.set_message(on_terminal(&printable(&at)));
            }
            None if self.is_beside_screen => {}
            None => say_line(format_args!("{}, {left}", printable(&at))),
        }
    }

    fn show_series(&self) {
        let Some(bars) = &self.bars else { return };
        let ((done, steps, _), left) = self.with(|state| (state.series(), state.left_words()));
        bars.series.set_length(steps as u64);
        bars.series.set_position(done as u64);
        bars.series.set_message(left);
    }
}

impl Watch for View {
    fn progress_every(&self) -> Option<Duration> {
        self.bars.as_ref().map(|_| EVERY)
    }

    fn see(&self, event: Event<'_>) {
        match event {
            // Shown when that has begun: until then it is in neither count.
            Event::Ahead(ahead) => self.with(|state| state.ahead = ahead),
            Event::Begins(step) => self.begin(step),
            Event::Repeats(step) => {
                self.line(&format!("{}: repeated for the runs that are still to be made", step.name));
            }
            Event::Pause(length) => self.pause(length),
            Event::Run(event) => self.run(event),
            Event::Done { step, document, is_kept } => self.end(step, document, is_kept),
            Event::At(words) => self.with(|state| words.clone_into(&mut state.at)),
            Event::Note(words) => self.line(words),
            Event::Stopping => {
                viewer::leave();
                self.clear();
                say_line(format_args!("stopping; press Ctrl+C again to stop at once"));
            }
            Event::Undoing => self.line("removing the test files"),
            Event::Over => {
                viewer::leave();
                self.clear();
            }
            Event::Fault { fault, line } => say(&with_line(fault, line)),
            Event::Left(undone) => tell_left(undone),
            Event::NotUndone(undone) => {
                let hint = if undone.fate != Fate::Stuck { "" } else { "; truespd clean settles it later" };
                say_line(format_args!("WARNING: {}{hint}", undone.words));
            }
            Event::NoCaretaker(error) => say_line(format_args!(
                "note: the process that cleans up after a killed suite could not be started ({}); if this suite is \
                 killed, the next one cleans up",
                system_text(error)
            )),
        }
    }
}

/// Shows what a killed series had left, and whether it was undone.
pub(crate) fn tell_left(undone: &Undone) {
    let kind = if undone.fate == Fate::Undone { "note" } else { "WARNING" };
    let hint =
        if undone.fate != Fate::Stuck { "" } else { "; truespd clean shows what is left and settles it" };
    say_line(format_args!("{kind}: left by a series that was killed: {}{hint}", undone.words));
}

/// A fault as it is shown; with its command line when it may name options that the suite itself does not have.
fn with_line(fault: &Fault, line: Option<&[String]>) -> String {
    let names_options = match fault {
        Fault::Failed(_) => true,
        Fault::Refused(refusals) | Fault::RefusedLater(refusals) => {
            refusals.all.iter().any(|refusal| !(refusal.switches.is_empty() && refusal.marks.is_empty()))
        }
    };
    let fault_lines = fault.shown(console::columns());
    let (Some(words), true) = (line, names_options) else { return fault_lines };
    let line = printable(&shell_line(words));
    format!(
        "{fault_lines}note: options of one letter are those of diskspd; this was the line: diskspd {line}\n"
    )
}

fn columns() -> usize {
    program::terminal_columns(std::io::stderr()).unwrap_or(80)
}

impl Bars {
    fn new() -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let series = if columns() < BAR_FROM {
            "{pos} of {len} runs done, {msg}"
        } else {
            "{bar:24} {pos} of {len} runs done, {msg}"
        };
        let rows = [(1, "{wide_msg}"), (1, series), (100, "{pos:>3} % {wide_msg}")];
        let [last, series, run] = rows.map(|(length, template)| {
            let bar = all.add(ProgressBar::new(length));
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        let at = ProgressBar::hidden();
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            at.set_style(style);
        }
        Bars { all, last, series, at, run }
    }
}

/// What follows a number of runs that may still change.
fn behind(known: Known) -> &'static str {
    match known {
        Known::Exactly => "",
        Known::AtMost => " at most",
        Known::Usually => " usually",
    }
}

/// A run in a line.
fn outcome(document: &Document, throughput: Throughput) -> String {
    let mut targets = document.profile.targets();
    // With a rate on some targets only, there would be response times of some I/Os only.
    let are_paced = targets.all(Target::is_rate_limited);
    let mut spans = Vec::new();
    for measured in document.measured() {
        spans.push(figures(&Summary::of(measured).total, are_paced, throughput));
    }
    let grade = document.verdict.as_ref().map(|verdict| verdict.grade);
    format!("{}, {}", spans.join("; "), word(grade))
}

/// Under a rate, times begin when the rate (-g) scheduled the I/O, as in the tables of the suites.
fn figures(total: &DirectionSummary, are_paced: bool, throughput: Throughput) -> String {
    let [iops, bytes] =
        [Metric::IOPS, Metric::BYTES].map(|metric| metric.of_sum(total, Since::Issued).unwrap_or_default());
    let response = if are_paced { Metric::MEAN.of_sum(total, Since::Wanted) } else { None };
    let latency = match (response, Metric::MEAN.of_sum(total, Since::Issued)) {
        (Some(ns), _) => format!(", response time {}", duration_ns(ns)),
        (None, Some(ns)) => format!(", {}", duration_ns(ns)),
        (None, None) => String::new(),
    };
    format!("{} IOPS, {}{latency}", number(iops), throughput(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::Kind;
    use diskspd::request::Line;
    use truespd_platform::fault::{Failure, FailureKind, Refusal, RefusalKind};
    use truespd_platform::text::clock;

    #[test]
    fn what_a_line_of_a_suite_is_refused_for_comes_with_the_line() {
        let words = ["-b512", "-c1G", "/mnt/a b"].map(String::from);
        let about_size = Refusal::machine(&["-b"], None, "the block size (-b) is 512".into());
        let said = with_line(&about_size.into(), Some(&words));
        assert!(said.starts_with("ERROR: the block size"), "{said}");
        assert!(said.ends_with("this was the line: diskspd -b512 -c1G '/mnt/a b'\n"), "{said}");
        let full = Failure::new(FailureKind::Create, "no room").hint("ask for a smaller file (-c)");
        assert!(with_line(&full.into(), Some(&words)).contains("(-c)\nnote: "));
        let gone = Refusal::new(RefusalKind::Target, "'a-b' is gone").hint("name it again: --overwrite a-b");
        let plain = "ERROR: 'a-b' is gone; name it again: --overwrite a-b\n";
        assert_eq!(with_line(&gone.into(), Some(&words)), plain);
    }

    /// A series of two runs with a pause between them.
    #[test]
    fn runs_and_time_left_add_up_at_every_moment() {
        let view = View {
            bars: None,
            is_beside_screen: false,
            throughput: truespd_platform::text::rate,
            state: Mutex::default(),
        };
        let ahead = |steps, seconds| Ahead { steps, length: Length::exactly(seconds), known: Known::Exactly };
        let step = Step {
            name: "run".into(),
            line: Line::default(),
            length: Length::exactly(100.0),
            kind: Kind::Counts,
        };
        let shown = || view.with(|state| state.series());
        let is = |done, steps, left_s: f64| {
            let (is_done, is_steps, is_left) = shown();
            assert_eq!((is_done, is_steps), (done, steps));
            assert!((is_left.least_s - left_s).abs() < 20.0, "{is_left:?}");
        };
        view.see(Event::Ahead(ahead(1, 150.0)));
        view.begin(&step);
        is(0, 2, 250.0);
        view.end(&step, &Document::default(), false);
        is(1, 2, 150.0);
        view.see(Event::Ahead(ahead(1, 100.0)));
        view.pause(Duration::from_secs(50));
        is(1, 2, 150.0);
        view.see(Event::Ahead(ahead(0, 0.0)));
        view.begin(&step);
        is(1, 2, 100.0);
        view.end(&step, &Document::default(), false);
        is(2, 2, 0.0);
    }

    #[test]
    fn under_a_rate_times_are_response_times() {
        let histogram = |ns| {
            let mut histogram = truespd_core::measure::Histogram::default();
            histogram.record(ns);
            Some(histogram)
        };
        let mut direction = truespd_core::result::Direction {
            ios: 1000,
            latency: histogram(100_000).map(Box::new),
            response: histogram(20_000_000).map(Box::new),
            ..Default::default()
        };
        let shown = |direction: &truespd_core::result::Direction, are_paced| {
            figures(&DirectionSummary::of(direction, 1.0), are_paced, truespd_platform::text::rate)
        };
        assert_eq!(shown(&direction, true), "1,000 IOPS, 0 KiB/s, response time 20 ms");
        assert_eq!(shown(&direction, false), "1,000 IOPS, 0 KiB/s, 100 us");
        direction.response = None;
        assert_eq!(shown(&direction, true), "1,000 IOPS, 0 KiB/s, 100 us");
    }

    #[test]
    fn times_and_figures_read_well() {
        assert_eq!(
            [0.0, 59.2, 61.0, 3599.5, 7325.0].map(clock),
            ["0:00", "1:00", "1:01", "1:00:00", "2:02:05"]
        );
    }
}
