//! The catalogue of what spoils a number, and what is said by it: before a run by [`doctor`] and [`inspect`], of a
//! result by [`judge`].
//!
//! A row of the catalogue is a [`Cause`] with its thresholds; the rows of a theme stand in one file of `causes`. What
//! looks at a document asks no machine, so documents of earlier runs can be judged again.
//!
//! ```
//! use truespd_core::result::{Document, Grade};
//! use truespd_verdict::{judge, rules};
//!
//! // Nothing was measured, so nothing can be trusted.
//! let verdict = judge(&Document::default());
//! assert_ne!(verdict.grade, Grade::Certified);
//! // The catalogue names every rule, and what it says.
//! assert!(rules().iter().any(|(cause, _)| cause.name == "served-from-cache"));
//! ```

#![warn(missing_docs)]

mod cause;
mod causes;
pub mod doctor;
pub mod inspect;
#[cfg(test)]
#[path = "../../platform/src/sys/linux/made.rs"]
#[allow(dead_code, reason = "each crate needs some of it")]
mod made;
#[cfg(test)]
#[path = "../../../tests/all/support/place.rs"]
mod place;
pub mod ranks;
mod roles;
mod room;
mod view;

use truespd_core::result::{Document, Finding, Grade, Proof, Served, TimeSpanResult, Unchecked, Verdict};

use cause::of_each;
pub(crate) use cause::{Case, Missing, RuleFn, RuleResult, Sentence, TargetNow};
pub use cause::{Cause, Rule};
use causes::{ServerGroup, server_groups};
pub use causes::{causes, rules};
use view::{Direction, DiskGroup, Flow, TargetView};

/// Judges a document by every rule that looks at such documents: results of one run, or sums of several.
pub fn judge(document: &Document) -> Verdict {
    let mut verdict = Verdict::default();
    let cases = cases(document);
    for (cause, rule) in rules() {
        if !rule.look.takes(document) {
            continue;
        }
        verdict.rules.push(cause.name.to_string());
        match rule.look {
            RuleFn::Document(look) | RuleFn::Sum(look) => {
                add(&mut verdict, cause, rule, None, look(document))
            }
            RuleFn::RealTarget(look) => {
                for (number, case) in cases.iter().filter(|(_, case)| !case.is_simulated()) {
                    let result = of_each(case.views(), |target| {
                        let finding = look(case, &target)?;
                        Ok(finding.into_iter().map(|finding| finding.target(Some(target.path()))).collect())
                    });
                    add(&mut verdict, cause, rule, Some(*number), result);
                }
            }
            RuleFn::Span(look) | RuleFn::RunSpan(look) | RuleFn::RealSpan(look) => {
                let only_real = matches!(rule.look, RuleFn::RealSpan(_));
                for (number, case) in &cases {
                    if !only_real || !case.is_simulated() {
                        add(&mut verdict, cause, rule, Some(*number), look(case));
                    }
                }
            }
        }
    }
    for (number, case) in &cases {
        if !case.is_simulated() {
            verdict.proofs.extend(proofs(case, *number));
        }
    }
    // Stable: within a theme the order of the rules, within a rule that of the time spans.
    verdict.findings.sort_by_key(Finding::standing);
    verdict.grade = Grade::of(&verdict.findings);
    verdict
}

/// The measured time spans with their numbers, from 1.
fn cases(document: &Document) -> Vec<(u32, Case<'_>)> {
    let mut cases = Vec::new();
    let spans = document.profile.time_spans.iter().zip(&document.time_spans);
    for (number, (span, result)) in (1u32..).zip(spans) {
        if let TimeSpanResult::Measured(measured) = result {
            cases.push((number, Case { document, span, measured }));
        }
    }
    cases
}

/// Adds what a rule found, or that it could not look.
fn add(verdict: &mut Verdict, cause: &Cause, rule: &Rule, time_span: Option<u32>, result: RuleResult) {
    let found = match result {
        Ok(found) => found,
        Err(Missing(why)) => {
            let time_span = time_span.unwrap_or_default();
            verdict.unchecked.push(Unchecked { rule: cause.name.to_string(), time_span, why });
            return;
        }
    };
    for mut finding in found {
        debug_assert!(finding.grade <= rule.worst, "{} promises no {:?}", cause.name, finding.grade);
        finding.rule = cause.name.to_string();
        finding.meaning = rule.meaning;
        finding.cause = cause.theme;
        finding.time_span = time_span.unwrap_or(finding.time_span);
        if finding.advice.is_empty() {
            finding.advice = cause.advice.to_string();
        }
        verdict.findings.push(finding);
    }
}

/// What shows that the storage did the work, for each group of targets that share disks and for each mount whose
/// server is counted; none where nothing is seen to do the work.
fn proofs(case: &Case<'_>, time_span: u32) -> Vec<Proof> {
    let mut proofs: Vec<Proof> = case.groups().unwrap_or_default().iter().map(proof_of_disks).collect();
    proofs.extend(server_groups(case).iter().map(proof_of_server));
    proofs.retain(|proof| !proof.is_empty());
    for proof in &mut proofs {
        proof.time_span = time_span;
    }
    proofs
}

fn proof_of_disks(group: &DiskGroup<'_>) -> Proof {
    let [reads, writes] = Direction::BOTH.map(|way| served(group.done(way), group.moved(way)));
    Proof {
        targets: paths(&group.targets),
        disks: group.disks.iter().map(|disk| disk.name.clone()).collect(),
        reads,
        writes,
        flushes_per_s: group.flushes(),
        ..Proof::default()
    }
}

fn proof_of_server(group: &ServerGroup<'_>) -> Proof {
    let [reads, writes] = Direction::BOTH.map(|way| served(group.done(way), group.requested(way)));
    Proof {
        targets: paths(&group.targets),
        server: Some(group.file_server()),
        reads,
        flushes_per_s: writes.map(|_| group.commits_per_s()),
        writes,
        ..Proof::default()
    }
}

fn paths(targets: &[TargetView<'_>]) -> Vec<String> {
    targets.iter().map(|target| target.path().to_string()).collect()
}

fn served(done: Flow, moved: Flow) -> Option<Served> {
    (done.ios > 0.0).then(|| Served {
        completed_per_s: done.ios,
        completed_bytes_per_s: done.bytes,
        moved_per_s: moved.ios,
        moved_bytes_per_s: moved.bytes,
        share: cause::ratio(moved.bytes, done.bytes),
    })
}
