//! Two groups of documents beside each other: every metric with its difference and how sure it is, what else
//! differs, and gates for programs.
//!
//! Pure: documents in, one [`Comparison`] out. `effect` says how sure a difference is, `facts` what else differs.

mod effect;
mod facts;
mod gate;
mod junit;
mod markdown;
mod question;
mod report;
mod rows;
#[cfg(test)]
mod tests;
mod text;
mod words;

use truespd_core::fault::{Refusal, RefusalKind};
use truespd_core::result::metrics::Metric;
use truespd_core::result::{FindingGrade, Theme, Verdict, json};
use truespd_core::verdict::judge;

pub use gate::{BadGate, Gate};
pub use junit::junit;
pub use markdown::markdown;
pub use question::{Named, Question};
pub use report::{
    Area, Comparison, Difference, Effect, GateResult, Held, Kind, MetricRow, Outcome, Run, Side,
};
pub use text::text;
pub use words::{Cells, is_too_wide, legend};

/// Compares two groups, which both have a document at least.
///
/// # Errors
/// A run that has nothing to compare, or is there twice; groups that are not alike, with what differs.
pub fn compare(question: &Question, mut sides: [Vec<Named>; 2]) -> Result<Comparison, Refusal> {
    for named in sides.iter_mut().flatten() {
        narrow(named, question.time_span)?;
        check(named)?;
    }
    refuse_twice(&sides)?;
    let differences = facts::differences([&sides[0], &sides[1]]);
    refuse_unlike(question, &differences)?;
    let verdicts =
        sides.each_ref().map(|side| side.iter().map(|named| judge(&named.document)).collect::<Vec<_>>());
    let disturbed = disturbed(&verdicts);
    let runs =
        |side: usize| sides[side].iter().zip(&verdicts[side]).map(|(named, verdict)| run(named, verdict));
    let [a, b] = [0, 1].map(|side| runs(side).collect::<Vec<Run>>());
    let rows::Rows { kind, headline, metrics } = rows::rows(question, &sides, disturbed.is_some());
    let gates = question.gates.iter().map(|gate| gate.held(&metrics, question.is_strict)).collect();
    let remarks = remarks(question, kind, [&a, &b], disturbed);
    Ok(Comparison {
        tool_version: env!("CARGO_PKG_VERSION").to_string(),
        a: Side::of(a),
        b: Side::of(b),
        kind,
        margin_percent: question.margin_percent,
        headline,
        metrics,
        differences,
        gates,
        is_strict: question.is_strict,
        remarks,
    })
}

/// Leaves one time span.
fn narrow(named: &mut Named, time_span: Option<usize>) -> Result<(), Refusal> {
    let document = &mut named.document;
    let count = document.time_spans.len();
    let Some(wanted) = time_span else {
        if count < 2 {
            return Ok(());
        }
        let refusal =
            unusable(&named.name, &format!("has {count} time spans, and one can be compared at a time"));
        return Err(refusal.hint(format!("choose one: --time-span 1 to --time-span {count}")));
    };
    if wanted > count {
        let refusal = unusable(&named.name, &format!("has no time span {wanted}"));
        return Err(refusal.hint(format!("the last one is {count}")));
    }
    let at = wanted - 1;
    document.time_spans = vec![document.time_spans.swap_remove(at)];
    document.profile.time_spans = vec![document.profile.time_spans.swap_remove(at)];
    for source in &mut document.sources {
        source.time_spans = source.time_spans.get(at).cloned().into_iter().collect();
    }
    Ok(())
}

/// Refuses a run without figures.
fn check(named: &Named) -> Result<(), Refusal> {
    match Metric::IOPS.of(&named.document) {
        Ok(_) => Ok(()),
        Err(why) => {
            let mut refusal = unusable(&named.name, "cannot be compared");
            refusal.reasons.push(why.to_string());
            Err(refusal)
        }
    }
}

fn unusable(name: &str, why: &str) -> Refusal {
    Refusal::new(RefusalKind::Input, format!("'{name}' {why}")).on(name)
}

/// Refuses a run that is there more than once: it would seem to scatter less, or to equal itself.
fn refuse_twice(sides: &[Vec<Named>; 2]) -> Result<(), Refusal> {
    let mut seen: Vec<(String, &str)> = Vec::new();
    for named in sides.iter().flatten() {
        let text = json::write(&named.document);
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == text) {
            let why = format!("is the same run as '{first}'");
            return Err(unusable(&named.name, &why).hint("name every run once"));
        }
        seen.push((text, &named.name));
    }
    Ok(())
}

/// Refuses groups that did not do the same, unless that is wanted.
fn refuse_unlike(question: &Question, differences: &[Difference]) -> Result<(), Refusal> {
    let is_refused = |difference: &&Difference| match difference.area {
        Area::Profile => !question.may_differ_in_profile,
        Area::Target => !question.may_differ_in_target,
        _ => false,
    };
    let refused: Vec<&Difference> = differences.iter().filter(is_refused).collect();
    let Some(first) = refused.first() else { return Ok(()) };
    let all_in = |area| refused.iter().all(|difference| difference.area == area);
    let (what, word) = match first.area {
        _ if all_in(Area::Target) => ("used different targets", "targets"),
        _ if all_in(Area::Profile) => ("ran different profiles", "profile"),
        _ => ("ran different profiles on different targets", "all"),
    };
    let mut refusal = Refusal::new(RefusalKind::Input, format!("A and B {what}"));
    refusal.reasons = refused.iter().map(|difference| difference.sentence()).collect();
    Err(refusal.hint(format!("compare them nevertheless, with the option --unlike={word}")))
}

fn run(named: &Named, verdict: &Verdict) -> Run {
    let leads = verdict.findings.iter().filter(|finding| finding.grade != FindingGrade::Remark);
    let mut findings: Vec<String> = leads.map(|finding| finding.rule.clone()).collect();
    findings.dedup();
    Run {
        name: named.name.clone(),
        computer_name: named.document.host_words(),
        start_unix_s: named.document.system.start_unix_s,
        grade: verdict.grade,
        findings,
    }
}

/// One run on each side, and one of them was disturbed by other programs: its side.
fn disturbed(verdicts: &[Vec<Verdict>; 2]) -> Option<&'static str> {
    let [[a], [b]] = verdicts.each_ref().map(Vec::as_slice) else { return None };
    let is_disturbed = |verdict: &Verdict| {
        verdict.findings.iter().any(|of| of.cause == Theme::Neighbours && of.grade != FindingGrade::Remark)
    };
    [("A", a), ("B", b)].into_iter().find(|(_, verdict)| is_disturbed(verdict)).map(|(side, _)| side)
}

/// What the person has to know beside the figures.
fn remarks(question: &Question, kind: Kind, [a, b]: [&[Run]; 2], disturbed: Option<&str>) -> Vec<String> {
    let mut remarks = Vec::new();
    match kind {
        Kind::OneRunEach => remarks.push(format!(
            "one run on each side cannot show how equal runs differ; {} % are allowed for that (--between-runs). Give several \
             runs of each side to measure it",
            question.between_runs_percent
        )),
        Kind::OneRunAndSeveral => remarks.push(
            "one side has one run; how much it may differ by chance is taken from the runs of the other side".into(),
        ),
        Kind::SeveralRuns => {}
    }
    if let Some(side) = disturbed {
        remarks.push(format!(
            "other programs disturbed the run of {side}: their effect cannot be told from a difference, so nothing is called \
             better or worse. Repeat it on a quiet machine, or give several runs of each side"
        ));
    }
    for (side, runs) in [("A", a), ("B", b)] {
        let invalid = runs.iter().filter(|run| run.grade == truespd_core::result::Grade::Invalid).count();
        match (invalid, runs.len()) {
            (0, _) => {}
            (_, 1) => {
                remarks.push(format!("the run of {side} is invalid: its figures do not describe the storage"))
            }
            (_, all) => remarks.push(format!(
                "{invalid} of {all} runs of {side} are invalid: their figures do not describe the storage"
            )),
        }
    }
    remarks
}
