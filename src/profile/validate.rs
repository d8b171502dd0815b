//! The rules a profile must obey before anything is opened (`command-line.md` §9).

use super::Profile;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The run goes on.
    Warning,
    /// The profile is refused.
    Error,
}

/// A rule of `command-line.md` §9 by its number; rules beyond 36 are TrueSpd's own (Strict).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule(
    /// Number in the table.
    pub u8,
);

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which rule.
    pub rule: Rule,
    /// Warning or refusal.
    pub severity: Severity,
    /// Index of the time span, from 0.
    pub time_span: Option<usize>,
    /// Index of the target within the time span, from 0.
    pub target: Option<usize>,
    /// The switches involved, e.g. `["-r", "-T"]`, for pointing at the typed words.
    pub switches: Vec<&'static str>,
    /// What is wrong and what would be legal, in words.
    pub message: String,
}

/// Checks every rule that needs no machine. `will_run` is false with `-Rp`.
pub fn validate(profile: &Profile, will_run: bool) -> Vec<Finding> {
    let _ = (profile, will_run);
    Vec::new()
}
