//! Questions, each in a folder of its own: its options, what it runs, how it decides, and what it says.
//!
//! A question says which lines of DiskSpd's command line run in which order, and what their documents mean together.
//! How a line is run, kept and stopped is the business of [`crate::runner`]; [`table`] has a row for each question.

pub mod ab;
pub mod assess;
pub mod beside;
pub(crate) mod command;
mod common;
pub mod find_max;
pub(crate) mod keeping;
pub mod mark;
mod of_target;
mod own_line;
pub mod pts;
pub mod study;
pub mod sustain;
pub mod sweep;
pub(crate) mod table;
pub(crate) mod values;
pub mod workload;

use crate::answer::{Answer, SeriesVerdict, Shown};
pub use common::{Common, RanOn, SeriesEnd, is_one, models, one_rank};
use truespd_core::result::{Document, Finding, FindingGrade, Grade, Part};
use truespd_front::show::Style;
use truespd_platform::text::{duration_ns, printable};

/// What a suite leaves: a versioned document.
pub trait SuiteDocument {
    fn has_figures(&self) -> bool;

    /// What it is, and where it ran: `CrystalDiskMark tests on HOST: /mnt/data (Samsung 990 PRO)`.
    fn title(&self) -> String;

    /// The verdicts of its runs, each with the title of its part, which is empty where there is only one.
    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)>;

    /// What it has in common with the documents of all suites.
    fn common(&self) -> &Common;

    fn common_mut(&mut self) -> &mut Common;

    /// The figures of its tests.
    fn parts(&self) -> Vec<Part>;

    /// The figures as the history keeps and counts them. A test that several ranks made together has a name of its own.
    fn kept_parts(&self) -> Vec<Part> {
        let (mut kept, ranks) = (Vec::new(), self.common().ran_on.ranks);
        for Part { mut name, profile, command, figures, .. } in self.parts() {
            if figures.is_empty() {
                continue;
            }
            if ranks > 1 {
                name.push_str(&format!(" ({ranks} ranks)"));
            }
            kept.push(Part { name, profile, command, figures, ..Part::default() });
        }
        kept
    }

    /// What it says, for all that draws it.
    fn answer(&self) -> Answer;

    /// What standard output shows of it.
    fn text(&self, shown: Shown) -> String {
        self.answer().text(shown)
    }

    /// Its table as comma-separated values; empty where the suite writes none.
    fn csv(&self) -> String {
        self.answer().csv()
    }

    /// The worst verdict of its runs; none when no run was judged.
    fn grade(&self) -> Option<Grade> {
        self.verdicts().iter().filter_map(|(_, verdict)| verdict.grade).max()
    }

    /// The verdicts of its runs as people read them.
    fn verdict_text(&self, style: Style) -> String {
        let mut out = String::new();
        for (title, verdict) in self.verdicts() {
            if !title.is_empty() {
                out.push_str(&format!("== {}\n", printable(title)));
            }
            out.push_str(&verdict.text(style));
        }
        out
    }
}

/// Stands under a table with response times, which have a star there.
pub const OF_RESPONSES: &str = "* response time: begins when the rate (-g) scheduled the I/O";

/// Shows a latency; a response time with the star that [`OF_RESPONSES`] explains.
pub fn show_latency(is_response: bool) -> fn(f64) -> String {
    if is_response { |ns| duration_ns(ns) + "*" } else { duration_ns }
}

/// What the schema says of the version of documents that may get more members.
pub const MEMBERS_ARE_ADDED: &str =
    "Version of this layout: 1. Within a version members are only added, and each of those may be missing.";

/// What the range of a point means where points have several runs.
pub const OF_RUNS: &str = "The range of a point is its 95 % interval; with fewer than three runs, from the \
    smallest to the largest.";

/// What to do about a small working set, in suites whose test files have `--size`.
pub const LARGER_TARGET: &str = "test a target that is much larger than the caches, or give --size 20G";

/// Middle, smallest and largest of some figures.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Spread {
    /// Half of the figures are above and half below.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// How many there are.
    pub count: usize,
}

impl Spread {
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (lower, upper) = ((sorted.len() - 1) / 2, sorted.len() / 2);
        Some(Spread { median: (sorted[lower] + sorted[upper]) / 2.0, min, max, count: sorted.len() })
    }

    /// Half the distance between the extremes, in percent of the median; 0 when the median is.
    pub fn percent(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.max - self.min) / 2.0 / self.median * 100.0 }
    }
}

/// The worst grade of a run, and its findings, leaving out those that `is_beside_the_point`. A document without a
/// verdict has no grade.
pub fn judged(
    document: &Document,
    is_beside_the_point: impl Fn(&Finding) -> bool,
) -> (Option<Grade>, Vec<&Finding>) {
    let Some(verdict) = &document.verdict else { return (None, Vec::new()) };
    let findings: Vec<&Finding> = verdict.findings.iter().filter(|f| !is_beside_the_point(f)).collect();
    (Some(Grade::of(findings.iter().copied())), findings)
}

/// The rule about writes that a cache of the drive acknowledges.
const VOLATILE_CACHE: &str = "volatile-cache";

/// The findings of a run for a suite whose method counts such writes, as CrystalDiskMark's and winsat's do: that they
/// are not durable yet is a remark, and says nothing against the figure.
pub fn counting_cached_writes(document: &Document) -> Vec<Finding> {
    let mut findings = document.verdict.clone().unwrap_or_default().findings;
    for finding in &mut findings {
        if finding.rule == VOLATILE_CACHE {
            finding.grade = FindingGrade::Remark;
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::Verdict;

    #[test]
    fn middle_and_extremes() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([3.0]), Some(Spread { median: 3.0, min: 3.0, max: 3.0, count: 1 }));
        assert_eq!(Spread::of([9.0, 1.0, 2.0]).map(|s| s.median), Some(2.0));
        let even = Spread::of([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((even.median, even.min, even.max, even.count), (2.5, 1.0, 4.0, 4));
        assert_eq!(even.percent(), 60.0);
        assert_eq!(Spread::of([0.0, 0.0]).map(|s| s.percent()), Some(0.0));
    }

    #[test]
    fn what_is_beside_the_point_does_not_count() {
        let finding = |rule: &str, grade| Finding { rule: rule.into(), grade, ..Finding::default() };
        let findings = vec![finding("a", FindingGrade::Suspect), finding("b", FindingGrade::Remark)];
        let verdict = Verdict { grade: Grade::Suspect, findings, ..Verdict::default() };
        let document = Document { verdict: Some(verdict), ..Document::default() };
        let (grade, found) = judged(&document, |_| false);
        assert_eq!((grade, found.len()), (Some(Grade::Suspect), 2));
        assert_eq!(judged(&document, |f| f.rule == "a").0, Some(Grade::Certified));
        assert_eq!(judged(&Document::default(), |_| false).0, None);
    }
}
