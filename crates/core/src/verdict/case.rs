//! What a rule is, what it looks at, and what it finds.

use crate::profile::TimeSpan;
use crate::result::{Cause, Document, Finding, FindingGrade, Meaning, Measured};

/// One thing that can be wrong with a result.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Name in documents and messages, words joined by hyphens.
    pub name: &'static str,
    /// The worst it can do to a result; [`FindingGrade::Remark`] for a rule that has only remarks.
    pub worst: FindingGrade,
    /// What its findings mean for the number: within a grade, that decides where they stand.
    pub meaning: Meaning,
    /// What it is about: that decides where they stand among findings that mean the same.
    pub cause: Cause,
    /// What it looks for.
    pub about: &'static str,
    /// What to do about it, in one line; a finding that has no advice of its own carries this.
    pub advice: &'static str,
    /// How it looks.
    pub look: Looks,
}

/// How a rule looks.
#[derive(Debug, Clone, Copy)]
pub enum Looks {
    /// At the document as a whole; its findings name their time span.
    Document(fn(&Document) -> Look),
    /// At every measured time span.
    Span(fn(&Case<'_>) -> Look),
    /// At every measured time span of one run: not at sums, which have no evidence of their own.
    RunSpan(fn(&Case<'_>) -> Look),
    /// At every measured time span of one run whose I/O reached the targets: not at simulated ones.
    RealSpan(fn(&Case<'_>) -> Look),
    /// At a sum of results as a whole; its findings name their time span.
    Sum(fn(&Document) -> Look),
}

impl Looks {
    /// Whether it looks at such a document.
    pub fn takes(self, document: &Document) -> bool {
        match self {
            Looks::Document(_) | Looks::Span(_) => true,
            Looks::RunSpan(_) | Looks::RealSpan(_) => !document.is_sum(),
            Looks::Sum(_) => document.is_sum(),
        }
    }
}

/// What a rule looks at.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// All of the document.
    pub document: &'a Document,
    /// What was asked for in this time span.
    pub span: &'a TimeSpan,
    /// What came of it.
    pub measured: &'a Measured,
}

/// What a rule found (nothing: all is well), or which evidence it lacks. [`super::judge`] fills in rule and time span.
pub type Look = Result<Vec<Finding>, Missing>;

/// What a document does not show, as the object of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing(pub String);

impl Missing {
    /// In fixed words.
    pub fn of(what: &str) -> Self {
        Missing(what.to_string())
    }
}

impl Case<'_> {
    /// Whether the I/O reached no target (`--engine null`, `--engine sim`).
    pub fn is_simulated(&self) -> bool {
        self.measured.engine_traits.is_some_and(|engine| engine.touches_no_storage)
    }
}
