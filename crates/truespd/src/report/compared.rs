//! Results beside each other: what `compare` says of them, or why it says nothing.

use super::course::Run;
use super::html::{escaped, table};
use super::table::{Cell, Gap, Table};
use super::verdicts::{badge, grade_word};
use super::words::{first_large, listed};
use crate::compare::{
    Cells, Comparison, MetricRow, Named, Outcome, Question, Side, compare, is_too_wide, legend,
};
use truespd_core::result::metrics::{Better, Metric};

/// With more pairs than this, their tables are folded up.
const OPEN_MAX: usize = 3;
/// Metrics of the table of many pairs.
const OVERVIEW: [Metric; 4] = [Metric::IOPS, Metric::BYTES, Metric::MEAN, Metric::P99];
/// Axes of differences reach as far as this, in percent, at most: an interval that reaches further tells little.
const AXIS_MAX: f64 = 100.0;

/// Runs of one side.
pub(super) struct Group<'d> {
    /// What they are called together.
    pub name: String,
    /// One at least.
    pub runs: Vec<Run<'d>>,
}

/// A pair that was asked for: the time span where there are several, what B is called, and the comparison.
struct Pair<'g> {
    time_span: Option<usize>,
    a: &'g Group<'g>,
    b: &'g Group<'g>,
    compared: Result<Comparison, Unlike>,
}

/// Why nothing is compared.
struct Unlike {
    message: String,
    reasons: Vec<String>,
    hints: Vec<String>,
}

/// The first group against each of the others; nothing with less than two.
pub(super) fn compared(groups: &[Group], question: &Question) -> String {
    let Some((first, others)) = groups.split_first() else { return String::new() };
    let pairs: Vec<Pair> = others.iter().flat_map(|other| pairs(first, other, question)).collect();
    if pairs.is_empty() {
        return String::new();
    }
    let mut out = String::new();
    if pairs.len() > 1 {
        out.push_str(&overview(&pairs));
    }
    let is_open = pairs.len() <= OPEN_MAX;
    for pair in &pairs {
        let (heading, inside) = (escaped(&pair.heading()), pair.html());
        match (pairs.len(), is_open) {
            (1, _) => out.push_str(&inside),
            (_, true) => out.push_str(&format!("<h3>{heading}</h3>\n{inside}")),
            (_, false) => out.push_str(&format!(
                "<details class=\"pair\"><summary>{heading}</summary>{inside}</details>\n"
            )),
        }
    }
    out
}

/// The heading of the section.
pub(super) fn title(groups: &[Group]) -> String {
    match groups {
        [a, b] => format!("{} (B) against {} (A)", b.name, a.name),
        [first, ..] => format!("Compared with {}", first.name),
        [] => String::new(),
    }
}

/// Every time span of both, where they have several.
fn pairs<'g>(a: &'g Group<'g>, b: &'g Group<'g>, question: &Question) -> Vec<Pair<'g>> {
    let count = |group: &Group| group.runs.iter().map(|(_, document)| document.time_spans.len()).max();
    let spans = count(a).max(count(b)).unwrap_or(0);
    let numbers: Vec<Option<usize>> = if spans > 1 { (1..=spans).map(Some).collect() } else { vec![None] };
    let named = |group: &Group| -> Vec<Named> {
        let named =
            |(name, document): &Run| Named { name: (*name).to_string(), document: (*document).clone() };
        group.runs.iter().map(named).collect()
    };
    let pair = |time_span| {
        let question = Question { time_span, ..question.clone() };
        let compared = compare(&question, [named(a), named(b)]).map_err(|refusal| Unlike {
            message: refusal.message.clone(),
            reasons: refusal.reasons.clone(),
            hints: refusal.hints.clone(),
        });
        Pair { time_span, a, b, compared }
    };
    numbers.into_iter().map(pair).collect()
}

impl Pair<'_> {
    fn heading(&self) -> String {
        let span = self.time_span.map_or(String::new(), |number| format!(", time span {number}"));
        format!("{} (B) against {} (A){span}", self.b.name, self.a.name)
    }

    fn html(&self) -> String {
        match &self.compared {
            Ok(comparison) => self.tables(comparison),
            Err(unlike) => unlike.html(),
        }
    }

    fn tables(&self, comparison: &Comparison) -> String {
        let mut out = format!(
            "<p class=\"sides\"><span>A: {} {}</span> <span>B: {} {}</span></p>\n",
            escaped(&self.a.name),
            side(&comparison.a, self.a),
            escaped(&self.b.name),
            side(&comparison.b, self.b)
        );
        let axis = axis_percent(&comparison.metrics, comparison.margin_percent);
        let mut metrics = Table::new(
            "How B differs from A",
            ["figure", "A", "B", "B - A", "", "95 % interval", "p", "B is"],
        );
        for row in &comparison.metrics {
            let cells = Cells::from(row);
            let word = cells.word.clone();
            let texts = [cells.a, cells.b, cells.percent].map(Cell::Text);
            let mut all: Vec<Cell> = texts.into();
            all.push(gap(row, axis, comparison.margin_percent));
            all.extend([cells.interval, cells.p, word].map(Cell::Text));
            metrics.push(first_large(&row.metric.heading(row.is_response)), all);
        }
        out.push_str(&metrics.html());
        out.push_str(&notes(&self.legend(comparison, axis)));
        if !comparison.differences.is_empty() {
            let mut facts = Table::new("What else differs, likely causes first", ["what", "of", "A", "B"]);
            for one in &comparison.differences {
                let texts = [one.area.word().to_string(), one.a.join(", "), one.b.join(", ")];
                facts.push(one.name.clone(), texts.map(Cell::Text).into());
            }
            out.push_str(&facts.html().replace("class=\"scroll cards\"", "class=\"scroll cards words\""));
        } else {
            out.push_str("<p>Nothing else differs, as far as the results tell.</p>\n");
        }
        out.push_str(&notes(
            &comparison.remarks.iter().map(|remark| format!("{}.", first_large(remark))).collect::<Vec<_>>(),
        ));
        out
    }

    fn legend(&self, comparison: &Comparison, axis: f64) -> Vec<String> {
        let mut words = legend(comparison, Metric::words);
        let mut effects = comparison.metrics.iter().filter_map(|row| row.effect.as_ref()).peekable();
        if effects.peek().is_some() {
            let is_cut = effects.any(|of| of.percent_low.abs().max(of.percent_high.abs()) > axis);
            let cut = if is_cut { " A line that ends at the edge goes on." } else { "" };
            words.push(format!(
                "The pictures reach from -{axis} % to +{axis} %. The line is the interval, the point the difference, and the grey \
                 strip what does not matter.{cut}"
            ));
        }
        words.iter().map(|words| first_large(words)).collect()
    }
}

impl Unlike {
    fn html(&self) -> String {
        let reasons: String =
            self.reasons.iter().map(|reason| format!("<li>{}</li>", escaped(reason))).collect();
        let reasons = if reasons.is_empty() { reasons } else { format!("<ul>{reasons}</ul>") };
        let hints = match self.hints.as_slice() {
            [] => String::new(),
            hints => format!("<p><em>What to do:</em> {}</p>", escaped(&hints.join("; "))),
        };
        format!("<p>There is no table of differences: {}.</p>{reasons}{hints}\n", escaped(&self.message))
    }
}

/// The verdict of a side, by the rules of today.
fn side(side: &Side, group: &Group) -> String {
    let stored =
        group.runs.iter().map(|(_, document)| document.verdict.as_ref().map(|verdict| verdict.grade));
    let is_other = stored.zip(&side.runs).any(|(stored, run)| stored.is_some_and(|grade| grade != run.grade));
    let by = if is_other { " <span class=\"kind\">by the rules of this version</span>" } else { "" };
    match side.runs.len() {
        1 => format!("{}{by}", badge(side.grade)),
        runs => format!("({runs} runs, at worst {}{by})", grade_word(side.grade)),
    }
}

/// All pairs at a glance.
fn overview(pairs: &[Pair]) -> String {
    let mut table = Table::new(
        "Differences at a glance",
        ["result (B)", "IOPS", "throughput", "mean latency", "latency p99", "verdict"],
    );
    for pair in pairs {
        let cells = match &pair.compared {
            Ok(comparison) => {
                let cell = |metric: &Metric| {
                    let row = comparison.metrics.iter().find(|row| row.metric == *metric);
                    Cell::Text(row.map_or("-".to_string(), short))
                };
                OVERVIEW.iter().map(cell).chain([Cell::Grade(Some(comparison.b.grade))]).collect()
            }
            Err(_) => {
                let none = OVERVIEW.map(|_| Cell::Text("-".into()));
                [Cell::Text("not compared".into())].into_iter().chain(none).collect()
            }
        };
        let span = pair.time_span.map_or(String::new(), |number| format!(", time span {number}"));
        table.push(format!("{}{span}", pair.b.name), cells);
    }
    let mut names: Vec<&str> = pairs.iter().map(|pair| pair.b.name.as_str()).collect();
    names.dedup();
    let each = match names.as_slice() {
        [_] => String::new(),
        several => format!(
            "<p class=\"note\">A is {}, and B is each of {}. The intervals and p values of a table hold for that table: of many \
             tables, more than 5 % may hold an error.</p>\n",
            escaped(&pairs[0].a.name),
            escaped(&listed(several))
        ),
    };
    table.html() + &each
}

/// `+5.4 %, better`
fn short(row: &MetricRow) -> String {
    let Cells { percent, word, .. } = Cells::from(row);
    match row.outcome {
        Outcome::NotTested => format!("{percent} (not tested)"),
        _ => format!("{percent}, {word}"),
    }
}

/// The round number of percent that holds the intervals that tell something.
fn axis_percent(rows: &[MetricRow], margin: f64) -> f64 {
    let ends = rows.iter().filter_map(|row| row.effect.as_ref());
    let ends = ends.filter(|of| !is_too_wide(of.percent_low, of.percent_high));
    let most = ends.flat_map(|of| [of.percent_low.abs(), of.percent_high.abs()]).fold(2.0 * margin, f64::max);
    let rounds = [1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 50.0];
    rounds.into_iter().find(|round| *round >= most).unwrap_or(AXIS_MAX)
}

/// The picture of a difference; none where it is not tested.
fn gap(row: &MetricRow, axis: f64, margin: f64) -> Cell {
    let (Some(effect), Some(percent)) = (&row.effect, row.percent) else { return Cell::Text(String::new()) };
    let class = match (row.outcome, row.better) {
        (Outcome::Better, _) => "better",
        (Outcome::Worse, Better::Higher | Better::Lower) => "worse",
        _ => "even",
    };
    Cell::Gap(Gap {
        at: percent / axis,
        ends: [effect.percent_low / axis, effect.percent_high / axis],
        margin: margin / axis,
        class,
    })
}

/// Paragraphs in small letters.
fn notes(all: &[String]) -> String {
    all.iter().map(|words| format!("<p class=\"note\">{}</p>\n", escaped(words))).collect()
}

/// Facts of all runs: those that are the same once, then those that differ, of each run.
pub(super) fn facts(caption: &str, runs: &[(String, Vec<[String; 2]>)]) -> String {
    let [(_, first), others @ ..] = runs else { return String::new() };
    let is_same = |row: &[String; 2]| others.iter().all(|(_, rows)| rows.contains(row));
    let cells =
        |rows: Vec<&[String; 2]>| -> Vec<Vec<String>> { rows.iter().map(|row| row.to_vec()).collect() };
    let same = cells(first.iter().filter(|row| is_same(row)).collect());
    let lead = if others.is_empty() { String::new() } else { " of all".to_string() };
    let mut out =
        if same.is_empty() { String::new() } else { table(&format!("{caption}{lead}"), &[], &same) };
    for (name, rows) in runs.iter().filter(|_| !others.is_empty()) {
        let own = cells(rows.iter().filter(|row| !is_same(row) || !first.contains(row)).collect());
        if !own.is_empty() {
            out.push_str(&table(&format!("{name}: {caption}"), &[], &own));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::profile::{Profile, Target, TimeSpan};
    use truespd_core::result::{Direction, Document, Measured, TargetResult, ThreadResult, TimeSpanResult};

    /// A run of two seconds that completed so many I/Os.
    fn document(ios: u64) -> Document {
        let target = TargetResult {
            path: "x".into(),
            size_bytes: 1 << 30,
            read: Direction { bytes: ios * 4096, ios, ..Direction::default() },
            write: Direction::default(),
            distribution: None,
            short_transfers: 0,
        };
        let threads =
            vec![ThreadResult { id: 0, source: None, targets: vec![target], waits: Default::default() }];
        let measured = Measured { test_time_s: 2.0, threads, ..Measured::default() };
        let span = TimeSpan { targets: vec![Target::default()], ..TimeSpan::default() };
        Document {
            profile: Profile { time_spans: vec![span], ..Profile::default() },
            time_spans: vec![TimeSpanResult::Measured(Box::new(measured))],
            ..Document::default()
        }
    }

    fn group<'d>(name: &str, documents: &[(&'d str, &'d Document)]) -> Group<'d> {
        Group { name: name.into(), runs: documents.to_vec() }
    }

    #[test]
    fn groups_of_runs_are_compared_as_groups() {
        let all: Vec<Document> = [1000, 1010, 990, 1300, 1310, 1290].map(document).into();
        let a = group("before", &[("a1", &all[0]), ("a2", &all[1]), ("a3", &all[2])]);
        let b = group("after", &[("b1", &all[3]), ("b2", &all[4]), ("b3", &all[5])]);
        let html = compared(&[a, b], &Question::default());
        assert!(html.contains(">+30.0&nbsp;%</td>") && html.contains(">better</td>"), "{html}");
        assert!(html.contains("svg class=\"gap better\""), "{html}");
        assert!(html.contains("Nothing else differs"), "{html}");
        assert!(!html.contains("one run on each side"), "{html}");
    }

    #[test]
    fn a_verdict_of_other_rules_is_told_as_such() {
        let (a, mut b) = (document(1000), document(2000));
        b.verdict = Some(truespd_core::verdict::judge(&b));
        let groups = |b| [group("a", &[("a", &a)]), group("b", &[("b", b)])];
        let other = "by the rules of this version";
        assert!(!compared(&groups(&b), &Question::default()).contains(other));
        let mut old = b.clone();
        let grades = truespd_core::result::Grade::ALL.into_iter();
        let verdict = old.verdict.as_mut().expect("was judged");
        verdict.grade = grades.rev().find(|grade| *grade != verdict.grade).expect("another");
        assert!(compared(&groups(&old), &Question::default()).contains(other));
    }

    #[test]
    fn unlike_runs_are_not_compared_and_the_page_says_why() {
        let (a, mut b) = (document(1000), document(2000));
        b.profile.time_spans[0].targets[0].block_bytes = 8192;
        let groups = [group("a", &[("a", &a)]), group("b", &[("b", &b)])];
        let html = compared(&groups, &Question::default());
        assert!(html.contains("There is no table of differences: A and B ran different profiles."), "{html}");
        assert!(html.contains("--unlike=profile") && html.contains("<li>"), "{html}");
        let nevertheless = Question { may_differ_in_profile: true, ..Question::default() };
        assert!(compared(&groups, &nevertheless).contains("What else differs"));
    }

    #[test]
    fn many_results_are_compared_with_the_first() {
        let all: Vec<Document> = [1000, 1100, 1200].map(document).into();
        let groups =
            ["a", "b", "c"].iter().zip(&all).map(|(name, document)| group(name, &[(name, document)]));
        let html = compared(&groups.collect::<Vec<_>>(), &Question::default());
        assert!(
            html.contains("Differences at a glance") && html.contains("+20.0&nbsp;% (not tested)"),
            "{html}"
        );
        assert!(
            html.contains("<h3>b (B) against a (A)</h3>") && html.contains("<h3>c (B) against a (A)</h3>")
        );
    }

    #[test]
    fn facts_of_all_stand_once() {
        let row = |name: &str, value: &str| [name.to_string(), value.to_string()];
        let a = ("a".to_string(), vec![row("kernel", "6.1"), row("engine", "io_uring")]);
        let b = ("b".to_string(), vec![row("kernel", "6.1"), row("engine", "libaio")]);
        let html = facts("settings", &[a.clone(), b]);
        assert_eq!(html.matches("6.1").count(), 1, "{html}");
        assert!(html.contains("settings of all") && html.contains("b: settings"), "{html}");
        assert!(!facts("settings", &[a]).contains("of all"));
    }
}
