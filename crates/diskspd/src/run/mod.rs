//! One judged run, what stops it, and what is required of its answer.
//!
//! [`Ready`] runs a request: it checks that its engine is available, runs it, and judges the document.
//! `diskspd` and every step of a series use it. [`outputs`] are the files for results (those that are not
//! complete: [`unfinished`]), [`Required`] is `--require`, and signals stop a run ([`stop_on_signals`]). Nothing here
//! prints or parses a command line.

mod kind;
pub mod outputs;
pub mod unfinished;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::request::{EngineChoice, Request};
use truespd_core::engine::EngineError;
use truespd_core::load::ranks::Ranks;
use truespd_core::load::{FinishedRun, OnEvent};
use truespd_core::result::Grade;
use truespd_core::{engine, load};
use truespd_platform::fault::{Refusal, RefusalKind};
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::signals::{EndWish, EndWishes};
use truespd_verdict::judge;

/// A request whose engine is available on this machine.
#[derive(Debug)]
pub struct Ready<'a> {
    request: &'a Request,
    options: load::Options,
}

impl<'a> Ready<'a> {
    /// `command_line` goes into the document, program first. The profile of the request must have been read.
    ///
    /// # Errors
    /// Why the engine of `--engine` is not available here.
    pub fn of(request: &'a Request, command_line: Vec<String>) -> Result<Self, EngineError> {
        let options = &request.options;
        let options = load::Options {
            command_line,
            engine: options.engine.as_ref().map(available).transpose()?,
            overwrite: options.overwrite.clone(),
            unchecked: options.unchecked.clone(),
            exclusive: options.exclusive,
            quick_check: options.quick_check,
            recreate: options.recreate,
            precondition: options.precondition,
            verify_map: options.verify_map.clone(),
            verify_log: options.verify_log.clone(),
            verify_log_lost: options.verify_log_lost,
            until_bytes: Vec::new(),
            events: request.events.clone(),
            progress_every: None,
            patience: None,
            ranks: None,
            known: Vec::new(),
            held: load::HeldDevices::default(),
        };
        Ok(Ready { request, options })
    }

    /// Lets the run overwrite these targets. The caller made them in a folder of its own, and will remove them.
    pub fn owning(mut self, paths: impl IntoIterator<Item = String>) -> Self {
        self.options.overwrite.extend(paths);
        self
    }

    /// The same, and its run reports its progress this often.
    pub fn telling(mut self, progress_every: Option<Duration>) -> Self {
        self.options.progress_every = progress_every;
        self
    }

    /// The same, as a run of a series: the targets that it has looked at before, and the devices that it holds.
    pub fn in_series(mut self, known: Vec<load::KnownTarget>, held: load::HeldDevices) -> Self {
        (self.options.known, self.options.held) = (known, held);
        self
    }

    /// The same, together with other processes.
    pub fn with_ranks(mut self, ranks: Arc<dyn Ranks>) -> Self {
        self.options.ranks = Some(ranks);
        self
    }

    /// Runs it until it is done or `stop` is set. The document has its verdict, also when the run failed.
    ///
    /// # Errors
    /// Why it is refused; nothing was changed.
    pub fn run(&self, on_event: OnEvent<'_>, stop: &Latch) -> Result<FinishedRun, Vec<Refusal>> {
        let mut report = load::run(&self.request.profile, &self.options, on_event, stop)?;
        report.document.verdict = Some(judge(&report.document));
        Ok(report)
    }
}

/// The engine of `--engine`, when this machine can open it.
fn available(choice: &EngineChoice) -> Result<(&'static engine::EngineRow, String), EngineError> {
    // The words were checked when they were read.
    let row = engine::find(&choice.name).expect("reading refuses unknown engines");
    (row.probe)()?;
    Ok((row, choice.parameters.clone()))
}

/// Signals that come this soon after the first one mean the same.
const SAME_WISH: Duration = Duration::from_millis(500);

/// A latch that is set at the first SIGINT, SIGTERM or SIGHUP, after `notice`; a second SIGINT or SIGTERM
/// ends the process by `end`.
///
/// # Errors
/// The system's reason, with what to do.
pub fn stop_on_signals(notice: impl Fn() + Send + 'static, end: fn(i32) -> !) -> Result<Latch, Refusal> {
    let latch = Latch::new().map_err(|error| refusal(&error))?;
    let mut wishes = EndWishes::receive().map_err(|error| refusal(&error))?;
    let stop = latch.clone();
    let started = std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut wished = Wished::default();
        for wish in wishes.forever() {
            match wished.takes(wish, Instant::now()) {
                Reaction::Stop => {
                    notice();
                    stop.set();
                }
                Reaction::Nothing => {}
                Reaction::EndNow(exit_code) => end(exit_code),
            }
        }
    });
    started.map(|_| latch).map_err(|error| refusal(&error))
}

fn refusal(error: &io::Error) -> Refusal {
    let message = format!("could not prepare for Ctrl+C: {}", system_text(error));
    let refusal = Refusal::new(RefusalKind::Machine, message);
    match Code::of(error) {
        Some(Code::TOO_MANY_FILES) => refusal.hint("raise the limit of open files (ulimit -n)"),
        Some(Code::AGAIN) => {
            refusal.hint("raise the limit of processes (ulimit -u) or of address space (ulimit -v)")
        }
        _ => refusal,
    }
}

/// What was wished so far.
#[derive(Debug, Default)]
struct Wished {
    first: Option<Instant>,
}

#[derive(Debug, PartialEq, Eq)]
enum Reaction {
    Stop,
    Nothing,
    EndNow(i32),
}

impl Wished {
    fn takes(&mut self, wish: EndWish, now: Instant) -> Reaction {
        let Some(first) = self.first else {
            self.first = Some(now);
            return Reaction::Stop;
        };
        // `timeout` signals the process and then its group, which means one request to stop. When a terminal goes away,
        // the kernel and the shell tell it, and nobody is there who could have wished a second time.
        if wish.is_hangup || now.saturating_duration_since(first) < SAME_WISH {
            Reaction::Nothing
        } else {
            Reaction::EndNow(wish.exit_code)
        }
    }
}

/// One thing that is required of a suite's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Required {
    /// The verdict of every run is this or better.
    Grade(Grade),
    /// Every figure is valid and within its limit (`assess`).
    Pass,
    /// B is shown to be better than A, or not to differ from it by more than the margin (`ab`).
    NotWorse,
    /// B is shown to be better than A (`ab`).
    Better,
    /// All rounds became steady (`pts`).
    Steady,
}

impl Required {
    pub fn word(self) -> &'static str {
        match self {
            Required::Grade(grade) => grade.word(),
            Required::Pass => "pass",
            Required::NotWorse => "not-worse",
            Required::Better => "better",
            Required::Steady => STEADY,
        }
    }
}

/// A word that is not legal after `--require`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("legal: {}", legal.join(", "))]
pub struct UnknownWord {
    pub legal: Vec<&'static str>,
}

/// The word of `--require` for rounds that became steady (`--until-steady`).
pub const STEADY: &str = "steady";

/// The grades that can be required.
const GRADES: [Grade; 2] = [Grade::Certified, Grade::Suspect];

/// A grade that can be required.
///
/// # Errors
/// [`UnknownWord`].
pub fn grade(text: &str) -> Result<Grade, UnknownWord> {
    let found = GRADES.into_iter().find(|grade| grade.word() == text);
    found.ok_or_else(|| UnknownWord { legal: GRADES.map(Grade::word).to_vec() })
}

/// A word of `--require` for a suite that knows `own` beside the grades.
///
/// # Errors
/// [`UnknownWord`].
pub fn required(text: &str, own: &[Required]) -> Result<Required, UnknownWord> {
    let found = own.iter().copied().find(|required| required.word() == text);
    found.map_or_else(|| grade(text).map(Required::Grade), Ok).map_err(|mut unknown| {
        unknown.legal.extend(own.iter().map(|required| required.word()));
        unknown
    })
}

/// The same for a suite without words of its own.
///
/// # Errors
/// [`UnknownWord`].
pub fn required_grade(text: &str) -> Result<Required, UnknownWord> {
    required(text, &[])
}

/// The answer of a suite to `--require`.
pub struct Answer<'a> {
    /// It ran to its end.
    pub is_complete: bool,
    /// The worst verdict of its runs; none when none was judged.
    pub grade: Option<Grade>,
    /// Why a requirement that only this suite has is not met; none when it is.
    pub lacks: &'a dyn Fn(Required) -> Option<String>,
}

impl Answer<'_> {
    fn lack(&self, required: Required) -> Option<String> {
        match (required, self.grade) {
            _ if !self.is_complete => Some("the series did not run to its end".to_string()),
            (Required::Grade(_), None) => Some("no run was judged".to_string()),
            (Required::Grade(least), Some(grade)) if grade > least => {
                Some(format!("the verdict is {}", grade.word()))
            }
            (Required::Grade(_), Some(_)) => None,
            (own, _) => (self.lacks)(own),
        }
    }

    /// The requirements that are not met, each with the reason.
    pub fn lacking(&self, required: &[Required]) -> Vec<(Required, String)> {
        required.iter().filter_map(|&one| Some((one, self.lack(one)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_later_signal_of_a_person_ends_the_process_at_once() {
        let (interrupt, hangup) =
            (EndWish { exit_code: 130, is_hangup: false }, EndWish { exit_code: 129, is_hangup: true });
        let start = Instant::now();
        let later = start + 2 * SAME_WISH;
        for first in [interrupt, hangup] {
            let mut wished = Wished::default();
            assert_eq!(wished.takes(first, start), Reaction::Stop);
            assert_eq!(wished.takes(interrupt, start + SAME_WISH / 2), Reaction::Nothing, "the same wish");
            assert_eq!(wished.takes(hangup, later), Reaction::Nothing, "the shell's, after the kernel's");
            assert_eq!(wished.takes(interrupt, later), Reaction::EndNow(130));
        }
    }
}

#[cfg(test)]
mod tests_of_required {
    use super::*;

    const SUSPECT: Required = Required::Grade(Grade::Suspect);

    #[test]
    fn each_suite_knows_its_own_words() {
        assert_eq!(required_grade("suspect"), Ok(SUSPECT));
        assert_eq!(required("pass", &[Required::Pass]), Ok(Required::Pass));
        assert_eq!(required_grade("pass").unwrap_err().to_string(), "legal: certified, suspect");
        assert_eq!(grade("invalid").unwrap_err().to_string(), "legal: certified, suspect");
        let own = [Required::NotWorse, Required::Better];
        assert_eq!(
            required("invalid", &own).unwrap_err().to_string(),
            "legal: certified, suspect, not-worse, better"
        );
    }

    #[test]
    fn what_is_required_and_not_so_is_told() {
        let lacks = |required| (required == Required::Better).then(|| "it is not".to_string());
        let answer = |is_complete, grade| Answer { is_complete, grade, lacks: &lacks };
        let lacks_some = |answer: &Answer<'_>, required: &[Required]| !answer.lacking(required).is_empty();
        let suspect = answer(true, Some(Grade::Suspect));
        for (required, is_lacking) in [
            (vec![], false),
            (vec![SUSPECT], false),
            (vec![Required::Grade(Grade::Certified)], true),
            (vec![Required::NotWorse], false),
            (vec![SUSPECT, Required::Better], true),
        ] {
            assert_eq!(lacks_some(&suspect, &required), is_lacking, "{required:?}");
        }
        assert!(lacks_some(&answer(true, Some(Grade::Invalid)), &[SUSPECT]));
        assert!(lacks_some(&answer(true, None), &[SUSPECT]));
        assert!(!lacks_some(&answer(true, None), &[]));
        assert!(lacks_some(&answer(false, Some(Grade::Certified)), &[SUSPECT]));
        assert_eq!(suspect.lacking(&[Required::Better]), [(Required::Better, "it is not".to_string())]);
    }
}
