//! The pages of suites: what a report shows of each kind of document.

use crate::answer::bars::{Bar, Bars};
use crate::answer::findings::of_series;
use crate::answer::html::{first_large, note, paragraph};
use crate::answer::picture::Picture;
use crate::answer::table::{Cell, Table};
use crate::suite::SuiteDocument;
use crate::suite::ab::Comparison;
use crate::suite::assess::{Assessment, Check, Figure, Requirement, SOURCE};
use crate::suite::beside::BesideReport;
use crate::suite::find_max::HighestRate;
use crate::suite::mark::MarkReport;
use crate::suite::pts::PtsReport;
use crate::suite::study::StudyReport;
use crate::suite::sustain::SustainReport;
use crate::suite::sweep::SweepReport;
use crate::suite::workload::Outcome;

/// Tests of a picture, at most: a document may have any number, and its table has them all.
const TESTS_MAX: usize = 40;
const EMPTY: &str = "-";

/// A document that has a page.
pub trait Page: SuiteDocument {
    /// What its page shows, as HTML.
    fn html(&self) -> String {
        self.answer().html()
    }

    /// The picture that says most of it, and a line about it; none where its tables say all.
    fn picture(&self) -> Option<(Picture, String)> {
        self.answer().picture()
    }
}

impl Page for MarkReport {}
impl Page for PtsReport {}
impl Page for SweepReport {}
impl Page for SustainReport {}
impl Page for BesideReport {}
impl Page for HighestRate {}
impl Page for Outcome {}
impl Page for Comparison {}
impl Page for StudyReport {}

fn texts<const N: usize>(texts: [String; N]) -> Vec<Cell> {
    texts.map(Cell::Text).into()
}

fn answer(words: &str) -> String {
    paragraph("answer", words)
}

/// Whether the disk passes, every figure with its limit, the verdict, and what winsat does not tell.
impl Page for Assessment {
    fn html(&self) -> String {
        let mut table =
            Table::new("Figures and limits", ["figure", "measured", "limit", "result", "verdict"]);
        for figure in &self.figures {
            let mut cells = texts([figure.shown(), figure.limit_shown(), figure.check().word().to_string()]);
            cells.push(figure.value.map_or(Cell::Text(EMPTY.into()), |_| Cell::Grade(figure.grade)));
            table.push(label(figure), cells);
        }
        let limits = format!("Limits: {SOURCE}. Numbers in the names of figures are block sizes in KiB.");
        let approximate = note(&first_large(&self.approximate()));
        let picture = figures_and_limits(self).html();
        [answer(&self.answer()), of_series(&self.verdict), picture, table.html(), note(&limits), approximate]
            .concat()
    }

    fn picture(&self) -> Option<(Picture, String)> {
        Some((figures_and_limits(self).into(), self.answer()))
    }
}

/// How near each figure is to its limit. Those without one are in the table only.
fn figures_and_limits(assessment: &Assessment) -> Bars {
    let mut bars = Bars {
        title: "Figures against their limits".into(),
        about: "A full bar means the limit; shorter is better. For latencies the bar is the measured value as a share \
                of the limit, for throughput it is the limit as a share of the measured value."
            .into(),
        heads: vec![String::new()],
        is_of_pages: true,
        full: Some(1.0),
        rows: Vec::new(),
    };
    for figure in assessment.figures.iter().take(TESTS_MAX) {
        let (Some(limit), Some(value)) = (figure.limit, figure.value) else { continue };
        let share = match limit {
            Requirement::Above(limit) => limit / value,
            Requirement::Below(limit) => value / limit,
        };
        let passes = figure.check() == Check::Pass;
        let bar = Bar {
            value: share,
            range: [share, share],
            colour: usize::from(!passes),
            words: figure.shown(),
            more: format!("limit {} · {}", figure.limit_shown(), figure.check().word()),
            grade: figure.grade,
        };
        bars.rows.push((label(figure), vec![Some(bar)]));
    }
    bars
}

/// winsat's label, without the blanks that make its columns.
fn label(figure: &Figure) -> String {
    figure.label.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_bar_is_the_limit() {
        let stored = include_bytes!("../../../../tests/data/documents/suites/assess.json");
        let mut assessment: Assessment = truespd_core::result::envelope::read(stored).expect("a document");
        let figure = &mut assessment.figures[0];
        (figure.value, figure.limit) = (Some(50.0), Some(Requirement::Above(100.0)));
        let bars = figures_and_limits(&assessment);
        let with_limit = assessment.figures.iter().filter(|figure| figure.limit.is_some()).count();
        assert_eq!((bars.rows.len(), bars.full), (with_limit, Some(1.0)));
        let bar = bars.rows[0].1[0].as_ref().expect("it was measured");
        assert_eq!((bar.value, bar.colour), (2.0, 1), "beyond its limit, in another colour");
        assert!(bar.more.contains("> 100 ") && bar.more.contains("FAIL"), "{}", bar.more);
    }
}
