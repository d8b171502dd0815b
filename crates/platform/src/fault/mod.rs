//! The one family of errors, below all rooms.
//!
//! A [`Refusal`] comes before anything was changed, a [`Failure`] after something had begun. A [`Fault`] is
//! what ends a command: either of them, with the typed arguments. A room may have error types of its own,
//! which convert into the family. The exit code follows from the kind, in [`ExitCode::of`] and nowhere else.
//! Nothing here prints.
//!
//! ```
//! use truespd_platform::fault::{Fault, Refusal};
//!
//! let refusal = Refusal::command_line("-t0: a target needs a thread").hint("-t1 or more");
//! let fault = Fault::from(refusal);
//! assert_eq!(fault.exit_code() as u8, 3);
//! assert!(fault.sentences()[0].starts_with("-t0: a target needs a thread"));
//! ```

use std::fmt;
use std::ops::{Deref, DerefMut, Range};

use serde::{Deserialize, Serialize};

mod lines;

/// What ends a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Nothing was changed.
    Refused(Refusals),
    /// A later step was refused: something was done before it, which the exit code of a refusal would deny.
    RefusedLater(Refusals),
    /// It had begun. At least one.
    Failed(Vec<Failure>),
}

impl Fault {
    /// How the command ends for it.
    pub fn outcome(&self) -> Outcome {
        match self {
            Fault::Refused(refusals) => Outcome::Refused(refusals.kind()),
            Fault::RefusedLater(_) => Outcome::Failed(FailureKind::Refused),
            Fault::Failed(failures) => {
                Outcome::Failed(failures.first().map_or(FailureKind::Refused, |first| first.kind))
            }
        }
    }

    /// What is wrong, a sentence each, without a mark and without what leads a line.
    pub fn sentences(&self) -> Vec<String> {
        match self {
            Fault::Refused(refusals) | Fault::RefusedLater(refusals) => {
                refusals.all.iter().map(ToString::to_string).collect()
            }
            Fault::Failed(failures) => failures.iter().map(ToString::to_string).collect(),
        }
    }

    /// The exit code for it.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::of(self.outcome())
    }

    /// The same after something was done.
    pub fn later(self) -> Self {
        match self {
            Fault::Refused(refusals) => Fault::RefusedLater(refusals),
            other => other,
        }
    }
}

impl std::error::Error for Fault {}

impl From<Refusals> for Fault {
    fn from(refusals: Refusals) -> Self {
        Fault::Refused(refusals)
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Fault::Refused(refusal.into())
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Fault::Failed(vec![failure])
    }
}

impl From<Vec<Failure>> for Fault {
    fn from(failures: Vec<Failure>) -> Self {
        Fault::Failed(failures)
    }
}

/// Exit codes, a documented contract (`docs/exit-codes.md`).
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    Done = 0,
    /// The run failed, or its target cannot be opened.
    Failed = 1,
    /// Command line, profile or machine check refused.
    Refused = 3,
    Guarded = 4,
    /// The verdict is worse than `--require` asks for.
    NotTrusted = 5,
    /// Nobody reads standard output any more: what a shell shows for a program that SIGPIPE ended (128 + 13).
    Unread = 141,
}

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All of it was done.
    Done,
    /// It was refused, and nothing was changed.
    Refused(RefusalKind),
    /// It had begun and failed.
    Failed(FailureKind),
    /// It is done, and its answer is not what `--require` asks for.
    Unmet,
    /// It is done, and the reader of its standard output has left (`| head`).
    Unread,
}

impl ExitCode {
    /// All of them, in the order of their numbers.
    pub const ALL: [ExitCode; 6] = [
        ExitCode::Done,
        ExitCode::Failed,
        ExitCode::Refused,
        ExitCode::Guarded,
        ExitCode::NotTrusted,
        ExitCode::Unread,
    ];

    /// The exit code with this number; none when no end of a command has it.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|code| *code as u8 == number)
    }

    /// What it says of a run (`diskspd`, `truespd run`), for help and manual.
    pub fn of_run(self) -> &'static str {
        match self {
            ExitCode::Done => {
                "done, also when stopped by Ctrl+C, and after -Rp, -Rs, -ye and help that was asked for"
            }
            ExitCode::Failed => {
                "a target cannot be opened or is too small, or the run was stopped before anything was measured: \
                 nothing \
                 on standard output; or the run failed (an I/O, a thread): the result so far is still printed. The \
                 reason \
                 is on standard error"
            }
            ExitCode::Refused => {
                "the command line, the profile, the configuration file or a check of the machine was refused; \
                 nothing on \
                 standard output, nothing was changed"
            }
            ExitCode::Guarded => {
                "write guard: the target is in use or holds data that TrueSpd did not make; nothing on standard \
                 output, \
                 nothing was changed"
            }
            ExitCode::NotTrusted => "--require: the run is done, and its verdict is worse than required",
            ExitCode::Unread => "nobody reads standard output any more (| head)",
        }
    }

    /// What it says of any other command of `truespd`, for the manual.
    pub fn of_command(self) -> &'static str {
        match self {
            ExitCode::Done => {
                "done, also when a series of runs was stopped by Ctrl+C and could show what it had measured"
            }
            ExitCode::Failed => {
                "it had begun and failed, measured nothing, or could not write its result; what was measured until \
                 then is \
                 still printed. The reason is on standard error"
            }
            ExitCode::Refused => {
                "the command line, a file that it should read, or a check of the machine was refused; nothing was \
                 changed"
            }
            ExitCode::Guarded => {
                "write guard: a target is in use or holds data that TrueSpd did not make; nothing was changed"
            }
            ExitCode::NotTrusted => {
                "it is done, and its answer is worse than an option asks for (--require, --fail-if, --strict)"
            }
            ExitCode::Unread => "nobody reads standard output any more (| head)",
        }
    }

    /// The one way from a kind to an exit code.
    pub fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => ExitCode::Done,
            Outcome::Refused(RefusalKind::Guard) => ExitCode::Guarded,
            // DiskSpd's exit code of a target that cannot be opened.
            Outcome::Refused(RefusalKind::Open) => ExitCode::Failed,
            Outcome::Refused(_) => ExitCode::Refused,
            Outcome::Failed(_) => ExitCode::Failed,
            Outcome::Unmet => ExitCode::NotTrusted,
            Outcome::Unread => ExitCode::Unread,
        }
    }
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// A target cannot be opened, or does not fit what is to be done with it.
    Open,
    /// A file cannot be created or filled.
    Create,
    /// Another program took a target, or its path leads to something else now.
    Lost,
    /// A read, write or flush failed.
    Io,
    /// A thread cannot be started or prepared.
    Thread,
    /// No memory, or no descriptor.
    Resource,
    /// A named event.
    Event,
    /// A fact about this machine is not available.
    Machine,
    /// A result, a document or a note cannot be written.
    Output,
    /// It was stopped before there was anything to show.
    Interrupted,
    /// There is no figure: nothing was measured, or the measurement does not give one.
    Figure,
    /// It was refused after something had been done.
    Refused,
}

/// Why something that had begun failed.
#[allow(missing_docs)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailureKind,
    /// Path of the target or file that it is about, as typed.
    pub subject: Option<String>,
    pub message: String,
    /// Why: the system's error, or that of a room below.
    pub cause: Option<String>,
    pub hints: Vec<String>,
}

impl std::error::Error for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.cause.iter().try_for_each(|cause| write!(f, ": {cause}"))?;
        self.hints.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl From<Refusal> for Failure {
    /// A refusal that comes after the beginning.
    fn from(refusal: Refusal) -> Self {
        let message = refusal.without_hints();
        let (subject, hints) = (refusal.subject.clone(), refusal.all_hints().cloned().collect());
        Failure { kind: FailureKind::Refused, subject, message, cause: None, hints }
    }
}

impl Failure {
    /// A failure; `message` says what failed and, where [`Failure::because`] does not, why.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Failure { kind, subject: None, message: message.into(), cause: None, hints: Vec::new() }
    }

    /// The same about a target or file.
    pub fn on(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// The same with its cause, which follows the message behind a colon.
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// The same with one more thing that can be done.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

/// What kind of refusal it is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The command line: an unknown option, an illegal value, options that exclude each other.
    CommandLine,
    /// A profile, a preset or a document that cannot be used.
    Input,
    /// The options do not fit this machine.
    Machine,
    /// A target or place does not exist, or is not suitable.
    Target,
    /// A target of a run cannot be opened, or is too small for it: DiskSpd finds that when it runs.
    Open,
    /// A result or document cannot be written where it should be.
    Output,
    /// The target may hold data that TrueSpd did not make.
    Guard,
}

/// Characters of a typed word that are marked below the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caret {
    /// Index into the arguments (without the program name).
    pub word: usize,
    /// Characters of the word, not bytes; an empty range marks the place where something is missing.
    pub chars: Range<usize>,
    /// The wrong word itself (`^`) or another one that it conflicts with (`~`).
    pub main: bool,
}

/// A reason not to run, found before anything was changed.
///
/// Boxed, because most results that could hold it hold something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(Box<Details>);

/// What a [`Refusal`] says.
#[allow(missing_docs)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    pub kind: RefusalKind,
    /// The options that it is about, for pointing at the typed words.
    pub switches: Vec<&'static str>,
    /// The words that it is about, when the parser itself refuses.
    pub marks: Vec<Caret>,
    /// Path of the target or file concerned, as typed.
    pub subject: Option<String>,
    /// A line of DiskSpd above the message, for programs that search for it.
    pub headline: Option<String>,
    pub message: String,
    /// The facts behind it, one each; may be empty.
    pub reasons: Vec<String>,
    pub legal: Vec<String>,
    pub hints: Vec<String>,
    /// The same in options of DiskSpd's command line, which not every command has.
    pub switch_hints: Vec<String>,
}

impl Deref for Refusal {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl DerefMut for Refusal {
    fn deref_mut(&mut self) -> &mut Details {
        &mut self.0
    }
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    /// Everything but what would be legal, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.without_hints())?;
        self.all_hints().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl Refusal {
    /// A refusal; `message` says what is wrong.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Refusal(Box::new(Details {
            kind,
            switches: Vec::new(),
            marks: Vec::new(),
            subject: None,
            headline: None,
            message: message.into(),
            reasons: Vec::new(),
            legal: Vec::new(),
            hints: Vec::new(),
            switch_hints: Vec::new(),
        }))
    }

    /// A refusal of the command line.
    pub fn command_line(message: impl Into<String>) -> Self {
        Self::new(RefusalKind::CommandLine, message)
    }

    /// A refusal because options and machine do not fit.
    pub fn machine(switches: &[&'static str], target: Option<&str>, message: String) -> Self {
        let mut refusal = Self::new(RefusalKind::Machine, message).about(switches);
        refusal.subject = target.map(str::to_string);
        refusal
    }

    /// A refusal to write.
    pub fn guard(target: &str, message: String) -> Self {
        Self::new(RefusalKind::Guard, message).about(&["-w"]).on(target)
    }

    /// Message and reasons in one line.
    pub fn without_hints(&self) -> String {
        let mut words = self.message.clone();
        for (i, reason) in self.reasons.iter().enumerate() {
            words.push_str(if i == 0 { ": " } else { "; " });
            words.push_str(reason);
        }
        words
    }

    /// What to do next, also in options that not every command has.
    pub fn all_hints(&self) -> impl Iterator<Item = &String> {
        self.hints.iter().chain(&self.switch_hints)
    }

    /// The same behind what it is about: `--a: these options run nothing`.
    pub fn behind(mut self, subject: impl fmt::Display) -> Self {
        self.message = format!("{subject}: {}", self.message);
        self
    }

    /// The same about these options instead.
    pub fn about(mut self, switches: &[&'static str]) -> Self {
        self.switches = switches.to_vec();
        self
    }

    /// The same about a target or file.
    pub fn on(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// The same about these words.
    pub fn at(mut self, marks: impl IntoIterator<Item = Caret>) -> Self {
        self.marks.extend(marks);
        self
    }

    /// The same with what would be legal.
    pub fn legal(mut self, legal: impl Into<String>) -> Self {
        self.legal.push(legal.into());
        self
    }

    /// The same with more things that can be done.
    pub fn with_hints(mut self, hints: impl IntoIterator<Item = String>) -> Self {
        self.hints.extend(hints);
        self
    }

    /// The same with one more thing that can be done.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The same with one more thing that can be done by options of DiskSpd's command line.
    pub fn switch_hint(mut self, hint: impl Into<String>) -> Self {
        self.switch_hints.push(hint.into());
        self
    }
}

/// A command line as it was typed.
#[allow(missing_docs)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    pub program: String,
    pub arguments: Vec<String>,
}

/// Everything that is wrong with what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusals {
    /// The words, when they are shown with a mark under the culprit.
    pub typed: Option<Typed>,
    /// What is wrong, at least one.
    pub all: Vec<Refusal>,
    /// Warnings found along the way.
    pub warnings: Vec<String>,
}

impl Refusals {
    /// The same with the words as typed.
    pub fn of(mut self, program: &str, arguments: &[String]) -> Self {
        self.typed = Some(Typed { program: program.to_string(), arguments: arguments.to_vec() });
        self
    }

    /// The same, each behind what it is about.
    pub fn behind(mut self, subject: impl fmt::Display) -> Self {
        self.all = self.all.into_iter().map(|one| one.behind(&subject)).collect();
        self
    }

    /// The kind of all together: the write guard comes before everything else.
    pub fn kind(&self) -> RefusalKind {
        if self.all.iter().any(|refusal| refusal.kind == RefusalKind::Guard) {
            return RefusalKind::Guard;
        }
        self.all.first().map_or(RefusalKind::CommandLine, |first| first.kind)
    }
}

impl std::error::Error for Refusals {}

impl From<Vec<Refusal>> for Refusals {
    fn from(all: Vec<Refusal>) -> Self {
        Refusals { typed: None, all, warnings: Vec::new() }
    }
}

impl From<Refusal> for Refusals {
    fn from(refusal: Refusal) -> Self {
        vec![refusal].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_follows_from_the_kind() {
        let machine = Refusal::machine(&["-b"], Some("f"), "the block is too large".into());
        let guard = Refusal::guard("f", "'f' is in use".into());
        let both = Refusals::from(vec![machine.clone(), guard.clone()]);
        assert_eq!(Fault::from(machine).exit_code(), ExitCode::Refused);
        assert_eq!(Fault::from(guard.clone()).exit_code(), ExitCode::Guarded);
        assert_eq!(Fault::from(both).exit_code(), ExitCode::Guarded, "one target that is guarded is enough");
        assert_eq!(
            Fault::from(guard).later().exit_code(),
            ExitCode::Failed,
            "3 and 4 say that nothing was touched"
        );
        assert_eq!(Fault::from(Failure::new(FailureKind::Io, "no")).later().exit_code(), ExitCode::Failed);
    }
}

#[cfg(test)]
mod tests_failure {
    use super::*;

    #[test]
    fn a_failure_is_a_sentence() {
        let failure = Failure::new(FailureKind::Thread, "could not start the threads");
        assert_eq!(failure.to_string(), "could not start the threads");
        let failure = failure.because("no room").hint("use fewer threads (-t)").on("f");
        assert_eq!(failure.to_string(), "could not start the threads: no room; use fewer threads (-t)");
    }
}
