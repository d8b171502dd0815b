//! Sums of results: is each of them worth adding up, are all of them there, did they run together, and are they
//! alike?

use crate::cause::RuleFn::Sum;
use crate::cause::{Cause, Missing, RuleResult, found, ratio, rule, suspect};
use crate::view::IOS_MIN;
use std::collections::BTreeMap;
use truespd_core::result::FindingGrade::{Invalid, Suspect};
use truespd_core::result::Meaning::{Seen, WrongNumber};
use truespd_core::result::hosts::{HostFigure, HostRow, Outlier, names, outliers, rows};
use truespd_core::result::{
    CommonStart, Document, Finding, FindingGrade, Grade, MissingRank, SourceSpan, SourceVerdict, Theme,
    Window,
};
use truespd_platform::text::{duration_ns, number, percent};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("host-not-certified", Theme::Run).judged(
        rule(30, Invalid, WrongNumber, Sum(not_certified)),
        "A result that was added up is suspect or invalid, or was not judged: the sum is suspect then, and \
         invalid when all of its results are. One host whose cache answered raises the sum as much as fast \
         storage would.",
        "judge the results of these hosts (truespd judge), mend what the findings name, and repeat; or add \
         up the others without them",
    ),
    Cause::new("host-missing", Theme::Run).judged(
        rule(40, Suspect, WrongNumber, Sum(missing)),
        "Ranks of a cluster run left no result, or theirs was not given: the sum is that of a part of the \
         run. Once a rank was lost, the others ran with fewer than were asked for.",
        "look at the named hosts (is the host up, does the network hold, what did its own output say), and \
         repeat; results that a lost rank left behind can be added (truespd merge)",
    ),
    Cause::new("hosts-not-together", Theme::Run).judged(
        rule(50, Suspect, WrongNumber, Sum(not_together)),
        "The hosts measured together for less of the time than the longest of them: by 2 % of it or more \
         that is a remark, by 5 % or more the sum is suspect. What is not known of their clocks counts as \
         time apart. Clocks are compared by truespd cluster run; otherwise those of the hosts are taken as \
         they are.",
        "start the hosts together (truespd cluster run does), keep their clocks the same (chrony, ntpd), \
         or measure longer (-d), so that the ends matter less",
    ),
    Cause::new("host-clock", Theme::Machine).judged(
        rule(440, Suspect, WrongNumber, Sum(clocks)),
        "The clock of a host moved against that of rank 0 during the measured time, beyond what the \
         comparison leaves open and by 1 ms or more: above 1,000 parts per million the sum is suspect, \
         above 100 it is a remark. It was set, or it drifts, so when the host measured is not known well.",
        "let the clock settle before a run (chronyc tracking, ntpq -p), and set no clock during one",
    ),
    Cause::new("host-apart", Theme::Symptom).judged(
        rule(450, Suspect, Seen, Sum(apart)),
        "A host's rate or mean latency is far from that of the others: by more than five standard \
         deviations, which are estimated from the median deviation, and by 10 % of the median. At twice \
         the median or more, or at half of it or less, the sum is suspect, otherwise it is a remark. It \
         takes three hosts.",
        "compare this host with the others (truespd compare, truespd inspect): disks, firmware, links, \
         other load; the sum hides how far apart they are",
    ),
];

/// Hosts that a sentence names.
const NAMED_MAX: usize = 8;

/// Time that is not common to all, as a part of the longest.
const APART_REMARK: f64 = 0.02;

/// From this on the rates are not those of hosts that ran together.
const APART_SUSPECT: f64 = 0.05;

/// Movements of clocks below this are none, whatever part of the time they are.
const CLOCK_LEAST_NS: f64 = 1e6;

/// Parts of the measured time, as for the clock that times the I/Os (`unstable-clock`).
const CLOCK_REMARK: f64 = 100e-6;

const CLOCK_SUSPECT: f64 = 1000e-6;

/// A host that does so many times what the others do, or they what it does, is no variation of theirs.
const FACTOR_SUSPECT: f64 = 2.0;

/// `a, b, c and 9 more`.
fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED_MAX).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(NAMED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Why a result is not certified: those of one kind are told together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Why<'d> {
    Invalid(&'d str),
    Suspect(&'d str),
    NotJudged,
}

fn why(verdict: Option<&SourceVerdict>) -> Option<Why<'_>> {
    let Some(verdict) = verdict else { return Some(Why::NotJudged) };
    let rule = verdict.findings.first().map_or("", |finding| finding.rule.as_str());
    match verdict.grade {
        Grade::Certified => None,
        Grade::Suspect => Some(Why::Suspect(rule)),
        Grade::Invalid => Some(Why::Invalid(rule)),
    }
}

/// Results that are not certified: one is enough to make the sum suspect.
fn not_certified(document: &Document) -> RuleResult {
    let names = names(&document.sources);
    let mut kinds: BTreeMap<Why<'_>, Vec<usize>> = BTreeMap::new();
    for (place, source) in document.sources.iter().enumerate() {
        if let Some(why) = why(source.verdict.as_ref()) {
            kinds.entry(why).or_default().push(place);
        }
    }
    let are_all_invalid = kinds
        .iter()
        .map(|(why, places)| match why {
            Why::Invalid(_) => places.len(),
            _ => 0,
        })
        .sum::<usize>()
        == document.sources.len();
    Ok(kinds
        .into_iter()
        .map(|(why, places)| {
            let what = match why {
                Why::Invalid(_) => "invalid",
                Why::Suspect(_) => "suspect",
                Why::NotJudged => "not judged",
            };
            let first = document.sources[places[0]].verdict.as_ref();
            let reason = first.map(|verdict| reason(verdict, places.len() == 1));
            let hosts: Vec<&String> = places.iter().map(|&place| &names[place]).collect();
            let says = match (hosts.as_slice(), reason) {
                ([host], None) => format!("The result of host {host} is {what}, so nothing proves it."),
                ([host], Some(reason)) => format!("The result of host {host} is {what}: {reason}"),
                (hosts, reason) => format!(
                    "The results of {} of {} hosts are {what}: {}.{}",
                    hosts.len(),
                    names.len(),
                    listed(hosts),
                    reason.map_or(String::new(), |reason| format!(" Of {}: {reason}", hosts[0]))
                ),
            };
            let grade = if are_all_invalid { FindingGrade::Invalid } else { FindingGrade::Suspect };
            let mut finding = found(grade, says)
                .figure("results", places.len() as f64)
                .figure("sources", document.sources.len() as f64);
            let cause = first.and_then(|verdict| verdict.findings.first());
            finding.time_span = cause.map_or(0, |cause| cause.time_span);
            match cause.filter(|cause| !cause.advice.is_empty()) {
                Some(cause) => finding.advise(&cause.advice),
                None => finding,
            }
        })
        .collect())
}

/// What the rules said of a result: the worst, and how much there is besides.
fn reason(verdict: &SourceVerdict, is_alone: bool) -> String {
    let Some(worst) = verdict.findings.first() else { return "its verdict does not tell why.".to_string() };
    let of = worst.target.as_ref().map_or(String::new(), |target| format!(" of '{target}'"));
    let more = match verdict.findings.len() - 1 + verdict.more as usize {
        more @ 1.. if is_alone => format!(" (and {more} more)"),
        _ => String::new(),
    };
    format!("{}{of}: {}{more}", worst.rule, worst.says)
}

/// Ranks of the run without a result.
fn missing(document: &Document) -> RuleResult {
    let missing = &document.missing;
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let all = document.sources.len() + missing.len();
    let words: Vec<String> = missing.iter().map(MissingRank::words).collect();
    let says = format!(
        "The sum is partial: {} of {all} results {} missing: {}.",
        missing.len(),
        if missing.len() == 1 { "is" } else { "are" },
        listed(&words)
    );
    let lost = missing.iter().filter(|rank| rank.lost.is_some()).count();
    let finding = suspect(says)
        .figure("missing", missing.len() as f64)
        .figure("lost", lost as f64)
        .figure("sources", document.sources.len() as f64);
    Ok(vec![finding])
}

/// The sources that measured a time span, from 0, with their names.
fn spans(document: &Document, time_span: usize) -> Vec<(String, &SourceSpan)> {
    let spans = document.sources.iter().map(|source| source.time_spans.get(time_span)?.as_ref());
    names(&document.sources).into_iter().zip(spans).filter_map(|(name, span)| Some((name, span?))).collect()
}

/// What a rule says of each time span.
fn of_spans(document: &Document, look: impl Fn(usize) -> RuleResult) -> RuleResult {
    let mut all = Vec::new();
    for place in 0..document.time_spans.len() {
        let findings = look(place)?;
        all.extend(findings.into_iter().map(|finding| Finding { time_span: place as u32 + 1, ..finding }));
    }
    Ok(all)
}

/// The time that all measured is less than that of the longest, or it is not known whether it is.
fn not_together(document: &Document) -> RuleResult {
    of_spans(document, |place| {
        let spans = spans(document, place);
        let windows: Vec<(&str, Window)> =
            spans.iter().filter_map(|(name, span)| Some((name.as_str(), span.common_window()?))).collect();
        if spans.len() < 2 {
            return Ok(Vec::new());
        }
        if windows.len() < spans.len() {
            return Err(Missing::new("when each of the results was measured"));
        }
        Ok(apart_in_time(&spans, &windows).into_iter().collect())
    })
}

fn apart_in_time(spans: &[(String, &SourceSpan)], windows: &[(&str, Window)]) -> Option<Finding> {
    let all = windows.iter().map(|(_, window)| *window);
    let longest_ns = all.clone().map(|window| window.length_ns()).max()? as f64;
    let common = all.map(Some).reduce(|a, b| a?.common(b?)).flatten();
    let common_ns = common.map_or(0, |window| window.length_ns()) as f64;
    let starts = spans.iter().filter_map(|(_, span)| span.common_start);
    let doubt_ns = starts.clone().map(|start| doubt_ns(&start)).max().unwrap_or(0) as f64;
    let apart = ratio(longest_ns - common_ns + doubt_ns, longest_ns);
    let grade = match apart {
        apart if apart >= APART_SUSPECT => FindingGrade::Suspect,
        apart if apart >= APART_REMARK => FindingGrade::Remark,
        _ => return None,
    };
    let (early, first) = windows.iter().min_by_key(|(_, window)| window.start_unix_ns)?;
    let (late, last) = windows.iter().max_by_key(|(_, window)| window.start_unix_ns)?;
    let spread_ns = (last.start_unix_ns - first.start_unix_ns) as f64;
    let clocks = match doubt_ns {
        0.0 => String::new(),
        ns => format!(" How their clocks differ is known to {}.", duration_ns(ns)),
    };
    let says = format!(
        "The hosts measured together for {} s, the longest of them for {} s: {} of its time they may have been apart. \
         {late} began {} after {early}.{clocks}",
        number(common_ns / 1e9),
        number(longest_ns / 1e9),
        percent(apart.min(1.0)),
        duration_ns(spread_ns),
    );
    let late_ns = starts.map(|start| start.late_ns).max();
    let finding = found(grade, says)
        .figure("common_s", common_ns / 1e9)
        .figure("longest_s", longest_ns / 1e9)
        .figure("start_spread_s", spread_ns / 1e9)
        .figure("clock_uncertainty_s", doubt_ns / 1e9);
    Some(late_ns.into_iter().fold(finding, |finding, ns| finding.figure("late_s_max", ns as f64 / 1e9)))
}

/// What is not known of how a clock differs from that of rank 0.
fn doubt_ns(start: &CommonStart) -> u64 {
    let after = start.clock_after.map_or(0, |clock| clock.uncertainty_ns);
    start.clock_before.uncertainty_ns.max(after)
}

/// A clock that moved against that of rank 0.
struct Moved {
    name: String,
    moved_ns: f64,
    part: f64,
}

/// By how much the clocks of the hosts moved against that of rank 0.
fn clocks(document: &Document) -> RuleResult {
    of_spans(document, |place| {
        let (mut remarks, mut suspects, mut open) = (Vec::new(), Vec::new(), Vec::new());
        for (name, span) in spans(document, place) {
            let Some(start) = span.common_start else { continue };
            let Some(after) = start.clock_after else {
                open.push(name);
                continue;
            };
            let before = start.clock_before;
            let moved_ns = (after.ahead_ns as f64) - (before.ahead_ns as f64);
            let doubt_ns = before.uncertainty_ns as f64 + after.uncertainty_ns as f64;
            let sure_ns = moved_ns.abs() - doubt_ns;
            let part = ratio(sure_ns, after.at_unix_ns.saturating_sub(before.at_unix_ns) as f64);
            match part {
                _ if sure_ns < CLOCK_LEAST_NS => {}
                part if part >= CLOCK_SUSPECT => suspects.push(Moved { name, moved_ns, part }),
                part if part >= CLOCK_REMARK => remarks.push(Moved { name, moved_ns, part }),
                _ => {}
            }
        }
        let told: Vec<Finding> = [(FindingGrade::Suspect, suspects), (FindingGrade::Remark, remarks)]
            .into_iter()
            .filter_map(|(grade, moved)| moved_clocks(grade, moved))
            .collect();
        if told.is_empty() && !open.is_empty() {
            Err(Missing(format!("whether these clocks moved: {}", listed(&open))))
        } else {
            Ok(told)
        }
    })
}

fn moved_clocks(grade: FindingGrade, mut moved: Vec<Moved>) -> Option<Finding> {
    moved.sort_by(|a, b| b.part.total_cmp(&a.part));
    let (worst, others) = moved.split_first()?;
    let more = match others {
        [] => String::new(),
        others => {
            let names: Vec<&str> = others.iter().map(|one| one.name.as_str()).collect();
            format!(" So did those of {}, by less.", listed(&names))
        }
    };
    let says = format!(
        "The clock of host {} moved by {} against that of rank 0 during the run ({} parts per million).{more}",
        worst.name,
        duration_ns(worst.moved_ns.abs()),
        number(worst.part * 1e6)
    );
    Some(
        found(grade, says)
            .figure("moved_s", worst.moved_ns / 1e9)
            .figure("parts_per_million", worst.part * 1e6)
            .figure("hosts", moved.len() as f64),
    )
}

/// Hosts whose figures are far from those of the others.
fn apart(document: &Document) -> RuleResult {
    of_spans(document, |place| {
        let rows = rows(document, place);
        let mut counts: Vec<u64> = rows.iter().map(|row| row.ios).collect();
        counts.sort_unstable();
        let usual = counts.get(counts.len() / 2).copied().unwrap_or(0) as f64;
        if counts.len() > 2 && usual < IOS_MIN {
            return Err(Missing::too_few(&format!("{} on a host", number(usual)), IOS_MIN));
        }
        // The furthest figure of each host.
        let mut found: Vec<Outlier> = outliers(&rows);
        let mut seen = std::collections::BTreeSet::new();
        found.retain(|outlier| seen.insert(outlier.row));
        let (suspects, remarks): (Vec<Outlier>, Vec<Outlier>) =
            found.into_iter().partition(|outlier| outlier.factor() >= FACTOR_SUSPECT);
        let told = [(FindingGrade::Suspect, suspects), (FindingGrade::Remark, remarks)].into_iter();
        Ok(told.filter_map(|(grade, outliers)| standing_off(grade, &outliers, &rows)).collect())
    })
}

fn standing_off(grade: FindingGrade, outliers: &[Outlier], rows: &[HostRow]) -> Option<Finding> {
    let furthest = outliers.first()?;
    let words = outliers.iter().map(|outlier| {
        let percent = ratio(outlier.value, outlier.median) * 100.0;
        let (value, what) = match outlier.figure {
            HostFigure::Iops => (format!("{} IOPS", number(outlier.value)), "the median"),
            HostFigure::Latency => (duration_ns(outlier.value), "the median of the mean latencies"),
        };
        format!("{} ({value}, {} % of {what})", rows[outlier.row].name, number(percent))
    });
    let words: Vec<String> = words.collect();
    let hosts = rows.len();
    let says = format!(
        "{} of {hosts} hosts {} far from the others: {}.",
        outliers.len(),
        if outliers.len() == 1 { "is" } else { "are" },
        listed(&words)
    );
    let (value, median) = match furthest.figure {
        HostFigure::Iops => ("iops", "iops_median"),
        HostFigure::Latency => ("latency_mean_ns", "latency_mean_ns_median"),
    };
    Some(
        found(grade, says)
            .figure("hosts_apart", outliers.len() as f64)
            .figure("hosts", hosts as f64)
            .figure(value, furthest.value)
            .figure(median, furthest.median),
    )
}
