//! Results beside each other: what `compare` says of them, or why it says nothing.

use super::course::Run;
use crate::answer::html::{badge, escaped, first_large, folded, grade_word, listed, note, table};
use crate::answer::table::{Cell, Gap, Table};
use crate::compare::{
    Cells, Comparison, MetricRow, Named, Outcome, Question, Side, compare, is_too_wide, legend,
};
use truespd_core::result::metrics::{Better, Metric};
use truespd_platform::fault::Refusal;

/// With more pairs than this, their tables are folded up.
const OPEN_MAX: usize = 3;
/// Metrics of the table of many pairs.
const OVERVIEW: [Metric; 4] = [Metric::IOPS, Metric::BYTES, Metric::MEAN, Metric::P99];
/// Axes of differences reach as far as this, in percent, at most: an interval that reaches further tells little.
const AXIS_MAX: f64 = 100.0;

pub(super) struct Group<'d> {
    /// What they are called together.
    pub name: String,
    pub runs: Vec<Run<'d>>,
}

/// A pair that was asked for: the time span where there are several, and the comparison, or why there is none.
struct Pair<'g> {
    time_span: Option<usize>,
    a: &'g Group<'g>,
    b: &'g Group<'g>,
    compared: Result<Comparison, Refusal>,
}

/// The first group against each of the others; nothing with less than two.
pub(super) fn compared(groups: &[Group], question: &Question) -> String {
    let Some((first, others)) = groups.split_first() else { return String::new() };
    let mut pairs = Vec::new();
    for other in others {
        push_pairs(&mut pairs, first, other, question);
    }
    let mut out = if pairs.len() > 1 { overview(&pairs) } else { String::new() };
    for pair in &pairs {
        let heading = format!("{} (B) against {} (A){}", pair.b.name, pair.a.name, pair.span_words());
        let inside = match &pair.compared {
            Ok(comparison) => pair.tables(comparison),
            Err(refusal) => refusal_html(refusal),
        };
        out += &match pairs.len() {
            1 => inside,
            ..=OPEN_MAX => format!("<h3>{}</h3>\n{inside}", escaped(&heading)),
            _ => folded(&heading, &inside),
        };
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

/// Adds every time span of both, where they have several.
fn push_pairs<'g>(pairs: &mut Vec<Pair<'g>>, a: &'g Group<'g>, b: &'g Group<'g>, question: &Question) {
    let runs = a.runs.iter().chain(&b.runs);
    let spans = runs.map(|(_, document)| document.time_spans.len()).max().unwrap_or(0);
    let numbers = if spans > 1 { (1..=spans).map(Some).collect() } else { vec![None] };
    for time_span in numbers {
        let question = Question { time_span, ..question.clone() };
        pairs.push(Pair { time_span, a, b, compared: compare(&question, [a.named(), b.named()]) });
    }
}

impl Group<'_> {
    fn named(&self) -> Vec<Named> {
        let mut all = Vec::new();
        for (name, document) in &self.runs {
            all.push(Named { name: name.to_string(), document: (*document).clone() });
        }
        all
    }
}

impl Pair<'_> {
    fn span_words(&self) -> String {
        self.time_span.map_or(String::new(), |number| format!(", time span {number}"))
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
            let Cells { a, b, percent, interval, p, word, .. } = Cells::from(row);
            let mut cells = [a, b, percent].map(Cell::Text).to_vec();
            cells.push(gap(row, axis, comparison.margin_percent));
            cells.extend([interval, p, word].map(Cell::Text));
            metrics.push(first_large(&row.metric.heading(row.is_response)), cells);
        }
        out += &metrics.html();
        for words in explained(comparison, axis) {
            out += &note(&first_large(&words));
        }
        if comparison.differences.is_empty() {
            out += "<p>Nothing else differs, as far as the results tell.</p>\n";
        } else {
            let mut facts = Table::new("What else differs, likely causes first", ["what", "of", "A", "B"]);
            for one in &comparison.differences {
                let texts = [one.area.word().to_string(), one.a.join(", "), one.b.join(", ")];
                facts.push(one.name.clone(), texts.map(Cell::Text).into());
            }
            out += &facts.html().replace("class=\"scroll cards\"", "class=\"scroll cards words\"");
        }
        for remark in &comparison.remarks {
            out += &note(&format!("{}.", first_large(remark)));
        }
        out
    }
}

/// What the words, the intervals and the pictures mean.
fn explained(comparison: &Comparison, axis: f64) -> Vec<String> {
    let mut words = legend(comparison, Metric::words);
    let (mut has_effect, mut cut) = (false, "");
    for effect in comparison.metrics.iter().filter_map(|row| row.effect.as_ref()) {
        has_effect = true;
        if effect.percent_low.abs().max(effect.percent_high.abs()) > axis {
            cut = " A line that ends at the edge goes on.";
        }
    }
    if has_effect {
        words.push(format!(
            "The pictures reach from -{axis} % to +{axis} %. The line is the interval, the point the difference, and \
             the grey strip what does not matter.{cut}"
        ));
    }
    words
}

fn refusal_html(refusal: &Refusal) -> String {
    let mut out = format!("<p>There is no table of differences: {}.</p>", escaped(&refusal.message));
    if !refusal.reasons.is_empty() {
        let reasons: String =
            refusal.reasons.iter().map(|reason| format!("<li>{}</li>", escaped(reason))).collect();
        out += &format!("<ul>{reasons}</ul>");
    }
    if !refusal.hints.is_empty() {
        out += &format!("<p><em>What to do:</em> {}</p>", escaped(&refusal.hints.join("; ")));
    }
    out + "\n"
}

/// The verdict of a side, by the rules of today.
fn side(side: &Side, group: &Group) -> String {
    let mut by = "";
    for ((_, document), run) in group.runs.iter().zip(&side.runs) {
        if document.verdict.as_ref().is_some_and(|stored| stored.grade != run.grade) {
            by = " <span class=\"kind\">by the rules of this version</span>";
        }
    }
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
        let mut cells = Vec::new();
        if let Ok(comparison) = &pair.compared {
            for metric in OVERVIEW {
                let row = comparison.metrics.iter().find(|row| row.metric == metric);
                cells.push(Cell::Text(row.map_or("-".to_string(), short)));
            }
            cells.push(Cell::Grade(Some(comparison.b.grade)));
        } else {
            cells.push(Cell::Text("not compared".into()));
            cells.extend(OVERVIEW.map(|_| Cell::Text("-".into())));
        }
        table.push(format!("{}{}", pair.b.name, pair.span_words()), cells);
    }
    let mut names: Vec<&str> = pairs.iter().map(|pair| pair.b.name.as_str()).collect();
    names.dedup();
    let mut out = table.html();
    if names.len() > 1 {
        out += &note(&format!(
            "A is {}, and B is each of {}. The intervals and p values of a table hold for that table: of many tables, \
             more than 5 % may hold an error.",
            pairs[0].a.name,
            listed(&names)
        ));
    }
    out
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
    let mut most = 2.0 * margin;
    for effect in rows.iter().filter_map(|row| row.effect.as_ref()) {
        if !is_too_wide(effect.percent_low, effect.percent_high) {
            most = most.max(effect.percent_low.abs()).max(effect.percent_high.abs());
        }
    }
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

/// Facts of all runs: those that are the same once, then those that differ, of each run.
pub(super) fn facts(caption: &str, runs: &[(String, Vec<[String; 2]>)]) -> String {
    let [(_, first), others @ ..] = runs else { return String::new() };
    let (mut same, mut out) = (Vec::new(), String::new());
    for row in first {
        if others.iter().all(|(_, rows)| rows.contains(row)) {
            same.push(row.to_vec());
        }
    }
    if !same.is_empty() {
        let of = if others.is_empty() { "" } else { " of all" };
        out += &table(&format!("{caption}{of}"), &[], &same);
    }
    if others.is_empty() {
        return out;
    }
    for (name, rows) in runs {
        let mut own: Vec<Vec<String>> = rows.iter().map(|row| row.to_vec()).collect();
        own.retain(|row| !same.contains(row));
        if !own.is_empty() {
            out += &table(&format!("{name}: {caption}"), &[], &own);
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
            ..TargetResult::default()
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
        b.verdict = Some(truespd_verdict::judge(&b));
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
