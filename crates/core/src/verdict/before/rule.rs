//! A rule before a run.

/// One thing that can be worth knowing before a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule<L> {
    /// Name: that of the rule which would judge a run by the same, if there is one.
    pub(super) name: &'static str,
    /// How it looks.
    pub(super) look: L,
}

/// What a rule has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Name of the rule.
    pub rule: &'static str,
    /// A whole sentence, or some.
    pub says: String,
}

pub(super) const fn rule<L: Copy>(name: &'static str, look: L) -> Rule<L> {
    Rule { name, look }
}
