//! Why something is not done: the one family of errors, below all rooms.

use std::fmt;

/// What kind of refusal it is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The options do not fit this machine or target (exit code 3).
    Machine,
    /// The target may hold data that TrueSpd did not make (exit code 4).
    Guard,
}

/// A reason not to run, found before anything was touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Decides the exit code.
    pub kind: RefusalKind,
    /// The switches involved, for pointing at the typed words.
    pub switches: Vec<&'static str>,
    /// Path of the target concerned, as typed.
    pub target: Option<String>,
    /// What is wrong, and what would be legal.
    pub message: String,
    /// The facts behind it, one each; may be empty.
    pub reasons: Box<[String]>,
    /// What to do next.
    pub hints: Vec<String>,
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    /// All of it in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let between = |i: usize| if i == 0 { ": " } else { "; " };
        self.reasons.iter().enumerate().try_for_each(|(i, reason)| write!(f, "{}{reason}", between(i)))?;
        self.hints.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl Refusal {
    /// A refusal because options and machine do not fit.
    pub fn machine(switches: &[&'static str], target: Option<&str>, message: String) -> Self {
        Refusal {
            kind: RefusalKind::Machine,
            switches: switches.to_vec(),
            target: target.map(str::to_string),
            message,
            reasons: Box::default(),
            hints: Vec::new(),
        }
    }

    /// A refusal to write.
    pub fn guard(target: &str, message: String) -> Self {
        Refusal {
            kind: RefusalKind::Guard,
            switches: vec!["-w"],
            target: Some(target.to_string()),
            message,
            reasons: Box::default(),
            hints: Vec::new(),
        }
    }

    /// The same with one more thing that can be done.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}
