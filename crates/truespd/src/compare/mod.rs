//! Two groups of documents beside each other: every metric with its difference and how sure it is, what else
//! differs, and gates for programs.
//!
//! Pure: documents in, one [`Comparison`] out. `metrics` says how sure a difference is, `facts` what else differs.

mod facts;
mod forms;
mod metrics;
mod question;
#[cfg(test)]
mod tests;

use truespd_core::result::metrics::Metric;
use truespd_core::result::{Grade, Theme, Verdict, json};
use truespd_platform::fault::{Refusal, RefusalKind};
use truespd_verdict::judge;

pub use forms::{Cells, is_too_wide, junit, legend, markdown, text};
pub use question::{
    Area, Comparison, Difference, Effect, GateResult, Held, Kind, MetricRow, Outcome, Run, Side,
};
pub use question::{Gate, Named, Question};

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
    let disturbed = disturbed_side(&verdicts);
    let [a, b] = [0, 1].map(|group| side(&sides[group], &verdicts[group]));
    let kind = match sides.each_ref().map(Vec::len) {
        [1, 1] => Kind::OneRunEach,
        [1, _] | [_, 1] => Kind::OneRunAndSeveral,
        _ => Kind::SeveralRuns,
    };
    let metrics = metrics::rows(question, &sides, disturbed.is_some());
    Ok(Comparison {
        tool_version: env!("CARGO_PKG_VERSION").to_string(),
        kind,
        margin_percent: question.margin_percent,
        headline: metrics::headline(question),
        differences,
        gates: question.gates.iter().map(|gate| gate.result(&metrics, question.is_strict)).collect(),
        metrics,
        is_strict: question.is_strict,
        remarks: remarks(question, kind, [&a, &b], disturbed),
        a,
        b,
    })
}

/// A group as the document has it.
fn side(named: &[Named], verdicts: &[Verdict]) -> Side {
    let mut side = Side { runs: Vec::new(), grade: Grade::default() };
    for (Named { name, document }, verdict) in named.iter().zip(verdicts) {
        let reasons = verdict.findings.iter().filter(|finding| !finding.grade.is_remark());
        let mut findings: Vec<String> = reasons.map(|finding| finding.rule.clone()).collect();
        findings.dedup();
        side.grade = side.grade.max(verdict.grade);
        side.runs.push(Run {
            name: name.clone(),
            computer_name: document.host_words(),
            start_unix_s: document.system.start_unix_s,
            grade: verdict.grade,
            findings,
        });
    }
    side
}

/// Leaves the time span to compare, from 1.
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
    let (mut in_profile, mut in_target, mut reasons) = (false, false, Vec::new());
    for difference in differences {
        match difference.area {
            Area::Profile if !question.may_differ_in_profile => in_profile = true,
            Area::Target if !question.may_differ_in_target => in_target = true,
            _ => continue,
        }
        reasons.push(difference.sentence());
    }
    let (what, word) = match (in_profile, in_target) {
        (false, false) => return Ok(()),
        (false, true) => ("used different targets", "targets"),
        (true, false) => ("ran different profiles", "profile"),
        (true, true) => ("ran different profiles on different targets", "all"),
    };
    let mut refusal = Refusal::new(RefusalKind::Input, format!("A and B {what}"));
    refusal.reasons = reasons;
    Err(refusal.hint(format!("compare them nevertheless, with the option --unlike={word}")))
}

/// One run on each side, and one of them was disturbed by other programs: its side.
fn disturbed_side(verdicts: &[Vec<Verdict>; 2]) -> Option<&'static str> {
    let [[a], [b]] = verdicts.each_ref().map(Vec::as_slice) else { return None };
    for (side, verdict) in [("A", a), ("B", b)] {
        if verdict.findings.iter().any(|of| of.cause == Theme::Neighbours && !of.grade.is_remark()) {
            return Some(side);
        }
    }
    None
}

/// What the person has to know beside the figures.
fn remarks(question: &Question, kind: Kind, [a, b]: [&Side; 2], disturbed: Option<&str>) -> Vec<String> {
    let mut remarks = Vec::new();
    match kind {
        Kind::OneRunEach => remarks.push(format!(
            "one run on each side cannot show how equal runs differ; {} % are allowed for that (--between-runs). \
             Give several runs of each side to measure it",
            question.between_runs_percent
        )),
        Kind::OneRunAndSeveral => remarks.push(
            "one side has one run; how much it may differ by chance is taken from the runs of the other side".into(),
        ),
        Kind::SeveralRuns => {}
    }
    if let Some(side) = disturbed {
        remarks.push(format!(
            "other programs disturbed the run of {side}: their effect cannot be told from a difference, so nothing is \
             called better or worse. Repeat it on a quiet machine, or give several runs of each side"
        ));
    }
    for (name, side) in [("A", a), ("B", b)] {
        let invalid = side.runs.iter().filter(|run| run.grade == Grade::Invalid).count();
        match (invalid, side.runs.len()) {
            (0, _) => {}
            (_, 1) => {
                remarks.push(format!("the run of {name} is invalid: its figures do not describe the storage"))
            }
            (_, all) => remarks.push(format!(
                "{invalid} of {all} runs of {name} are invalid: their figures do not describe the storage"
            )),
        }
    }
    remarks
}
