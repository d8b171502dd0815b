//! Errors that are found before anything was changed.

use std::fmt;
use std::ops::{Deref, DerefMut, Range};

use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    /// Decides the exit code.
    pub kind: RefusalKind,
    /// The options that it is about, for pointing at the typed words.
    pub switches: Vec<&'static str>,
    /// The words that it is about, when the parser itself refuses.
    pub marks: Vec<Caret>,
    /// Path of the target or file concerned, as typed.
    pub subject: Option<String>,
    /// A line of DiskSpd above the message, for programs that search for it.
    pub headline: Option<String>,
    /// What is wrong.
    pub message: String,
    /// The facts behind it, one each; may be empty.
    pub reasons: Vec<String>,
    /// What would be legal.
    pub legal: Vec<String>,
    /// What to do next.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// Program name as given.
    pub program: String,
    /// The arguments.
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
        let is_guard = self.all.iter().any(|refusal| refusal.kind == RefusalKind::Guard);
        let first = || self.all.first().map_or(RefusalKind::CommandLine, |first| first.kind);
        if is_guard { RefusalKind::Guard } else { first() }
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
