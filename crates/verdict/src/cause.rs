//! A row of the catalogue: one thing that spoils a number, what tells of it before a run, and what finds it in a
//! result.

use super::doctor::Check;
pub(crate) use super::view::{Case, Missing, TargetView};
pub(super) use super::view::{part_of_time, ratio};
use truespd_core::result::{
    Document, Finding, FindingGrade, Layer, Limit, MachineNow, Meaning, TargetFacts, Theme,
};
use truespd_platform::text::printable;

/// Sentences and checks that one row holds, at most.
const ROW_MAX: usize = 3;

/// One thing that spoils a number.
#[derive(Debug, Clone, Copy)]
pub struct Cause {
    /// In documents and messages; words joined by hyphens.
    pub name: &'static str,
    /// Decides where findings stand among those that mean the same.
    pub theme: Theme,
    sentences: [Option<Sentence>; ROW_MAX],
    checks: [Option<Check>; ROW_MAX],
    /// What finds it in a result.
    pub rule: Option<Rule>,
    /// For `docs/verdict-rules.md`: what the rule looks for, with its thresholds in words.
    pub about: &'static str,
    /// What to do about it, in one line; a finding that has no advice of its own carries this.
    pub advice: &'static str,
}

impl Cause {
    pub(super) const fn new(name: &'static str, theme: Theme) -> Self {
        let (sentences, checks) = ([None; ROW_MAX], [None; ROW_MAX]);
        Cause { name, theme, sentences, checks, rule: None, about: "", advice: "" }
    }

    /// With what `truespd inspect` says before a run.
    pub(super) const fn inspected(mut self, sentence: Sentence) -> Self {
        let mut place = 0;
        while self.sentences[place].is_some() {
            place += 1;
        }
        self.sentences[place] = Some(sentence);
        self
    }

    /// With what `truespd doctor` looks at: see the members of [`Check`].
    pub(super) const fn checked(
        mut self,
        check: Check,
        about: &'static str,
        complains: &'static str,
        difference: &'static str,
        source: &'static str,
    ) -> Self {
        let mut place = 0;
        while self.checks[place].is_some() {
            place += 1;
        }
        self.checks[place] = Some(Check { about, complains, difference, source, ..check });
        self
    }

    /// With the rule that finds it in results, what that looks for, and the advice.
    pub(super) const fn judged(self, rule: Rule, about: &'static str, advice: &'static str) -> Self {
        Cause { rule: Some(rule), about, advice, ..self }
    }

    pub(super) fn sentences(&self) -> impl Iterator<Item = Sentence> {
        self.sentences.iter().flatten().copied()
    }

    /// What `truespd doctor` looks at, and the commands that set it and set it back.
    pub fn checks(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().flatten()
    }

    /// Its name where a rule finds it in results.
    pub fn rule_name(&self) -> Option<&'static str> {
        self.rule.map(|_| self.name)
    }
}

/// A sentence before a run. The number is its place among all sentences, the first one first.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sentence {
    /// About a target as it is.
    Facts(u16, fn(&TargetFacts) -> Option<String>),
    /// About each layer below a target.
    Layer(u16, fn(&Layer) -> Option<String>),
    /// About a target on this machine.
    Target(u16, fn(&TargetNow<'_>) -> Option<String>),
    /// About each limit on a disk of a target.
    Limit(u16, fn(&Limit) -> Option<String>),
    Machine(u16, fn(&MachineNow, &[Limit]) -> Option<String>),
}

/// A target before a run, and the machine that it is on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TargetNow<'a> {
    /// As a run's evidence would hold them.
    pub facts: &'a TargetFacts,
    pub machine: &'a MachineNow,
    /// Of control groups, on this process.
    pub limits: &'a [Limit],
    /// Why no new file can be made beside it for a test.
    pub no_new_file: Option<&'a str>,
}

/// How a cause is found in a result.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Place in the list of rules, the first one first.
    pub(crate) order: u16,
    /// The worst it can do to a result; [`FindingGrade::Remark`] for a rule that has only remarks.
    pub worst: FindingGrade,
    /// What its findings mean for the number: within a grade, that decides where they stand.
    pub meaning: Meaning,
    pub(crate) look: RuleFn,
}

pub(super) const fn rule(order: u16, worst: FindingGrade, meaning: Meaning, look: RuleFn) -> Rule {
    Rule { order, worst, meaning, look }
}

/// The function of a rule, by what it looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RuleFn {
    /// The document as a whole; its findings name their time span.
    Document(fn(&Document) -> RuleResult),
    Span(fn(&Case<'_>) -> RuleResult),
    /// Every measured time span of one run: not of sums, which have no evidence of their own.
    RunSpan(fn(&Case<'_>) -> RuleResult),
    /// Every measured time span of one run whose I/O reached the targets: not simulated ones.
    RealSpan(fn(&Case<'_>) -> RuleResult),
    /// Every target of such time spans, which its findings name.
    RealTarget(fn(&Case<'_>, &TargetView<'_>) -> OneResult),
    /// A sum of results as a whole; its findings name their time span.
    Sum(fn(&Document) -> RuleResult),
}

impl RuleFn {
    /// Whether it looks at such a document.
    pub(super) fn takes(self, document: &Document) -> bool {
        match self {
            RuleFn::Document(_) | RuleFn::Span(_) => true,
            RuleFn::RunSpan(_) | RuleFn::RealSpan(_) | RuleFn::RealTarget(_) => !document.is_sum(),
            RuleFn::Sum(_) => document.is_sum(),
        }
    }
}

/// What a rule found (nothing: all is well), or which evidence it lacks.
pub(crate) type RuleResult = Result<Vec<Finding>, Missing>;

/// The same of a rule that finds one thing at most.
pub(crate) type OneResult = Result<Option<Finding>, Missing>;

pub(super) fn remark(says: String) -> Finding {
    found(FindingGrade::Remark, says)
}

pub(super) fn suspect(says: String) -> Finding {
    found(FindingGrade::Suspect, says)
}

pub(super) fn invalid(says: String) -> Finding {
    found(FindingGrade::Invalid, says)
}

/// A finding about the run as a whole, with what is so. [`super::judge`] fills in the rest. Words of a stored
/// document may be anybody's.
pub(super) fn found(grade: FindingGrade, says: String) -> Finding {
    Finding { grade, says: printable(&says), ..Finding::default() }
}

/// The findings, unless there are none and evidence is missing for one target at least.
pub(super) fn unless_missing(findings: Vec<Finding>, missing: Option<Missing>) -> RuleResult {
    match missing {
        Some(missing) if findings.is_empty() => Err(missing),
        _ => Ok(findings),
    }
}

/// What a rule says of several things: all that it found; when that is nothing, the first evidence that it lacked.
pub(super) fn of_each<T>(
    things: impl IntoIterator<Item = T>,
    mut look: impl FnMut(T) -> RuleResult,
) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    for thing in things {
        match look(thing) {
            Ok(found) => findings.extend(found),
            Err(lacks) => missing = missing.or(Some(lacks)),
        }
    }
    unless_missing(findings, missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_finite() {
        let finding = found(FindingGrade::Suspect, String::new()).figure("a", f64::NAN).figure("b", 1.0);
        assert_eq!(finding.figures.len(), 1);
        assert_eq!((ratio(1.0, 0.0), ratio(f64::NAN, 1.0), ratio(1.0, 4.0)), (0.0, 0.0, 0.25));
    }
}
