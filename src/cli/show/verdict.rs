//! The verdict as people see it: one line after a run, or all of it.

use std::io::IsTerminal;

use crate::cli::config;
use crate::result::{Finding, Grade, Verdict};
use crate::suite::findings::{SeriesVerdict, word};
use crate::sys::terminal;
use crate::text::{COLOURS, columns_of, folded, hanging, printable, wrap};
use crate::verdict::RULES;

/// Width where there is no terminal.
const COLUMNS: usize = 80;
/// Narrower lines make sentences hard to read, wider ones make the next line hard to find.
const COLUMNS_LEGAL: std::ops::RangeInclusive<usize> = 40..=120;
/// Column at which findings start.
const INDENT: usize = 10;

/// How text is written to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Width in columns.
    pub columns: usize,
    /// Grades in colour.
    pub has_colour: bool,
}

impl Style {
    /// Of standard error.
    pub fn of_stderr() -> Self {
        let stream = std::io::stderr();
        Self::of(terminal::columns(&stream), stream.is_terminal())
    }

    /// Of standard output.
    pub fn of_stdout() -> Self {
        let stream = std::io::stdout();
        Self::of(terminal::columns(&stream), stream.is_terminal())
    }

    fn of(columns: Option<usize>, is_terminal: bool) -> Self {
        let columns = readable(columns.unwrap_or(COLUMNS));
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Style { columns, has_colour: has_colour(config::in_force().colour(), is_terminal && !is_dumb) }
    }

    /// The text in the grade's colour, where there are colours.
    pub fn paint(self, grade: Grade, text: &str) -> String {
        let [red, green, yellow, end] = COLOURS;
        let colour = match grade {
            Grade::Certified => green,
            Grade::Suspect => yellow,
            Grade::Invalid => red,
        };
        if self.has_colour { format!("{colour}{text}{end}") } else { text.to_string() }
    }
}

/// The width of text on a terminal of so many columns.
pub(crate) fn readable(columns: usize) -> usize {
    columns.clamp(*COLUMNS_LEGAL.start(), *COLUMNS_LEGAL.end())
}

/// Text for standard output with tables and sentences: on a terminal, lines that are too wide for it are broken at blanks.
pub(crate) fn fitting_stdout(text: String) -> String {
    match terminal::columns(std::io::stdout()) {
        Some(columns) => folded(&text, columns.max(*COLUMNS_LEGAL.start())),
        None => text,
    }
}

/// Whether there are colours, by the word of the configuration, on a stream that takes them or does not.
fn has_colour(wanted: &str, takes_colour: bool) -> bool {
    match wanted {
        config::ALWAYS => true,
        config::NEVER => false,
        _ => takes_colour,
    }
}

pub(crate) fn plural(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// `verdict: suspect: served-from-cache: ... (and 2 more; --verdict shows all)`, without a line end.
pub(crate) fn line(verdict: &Verdict, style: Style) -> String {
    let mut counts = Vec::new();
    let said = match verdict.findings.first() {
        Some(worst) if verdict.grade != Grade::Certified => {
            let more = verdict.findings.len() - 1;
            if more > 0 {
                counts.push(format!("and {more} more"));
            }
            format!(": {}: {}", worst.rule, printable(&subject(worst)))
        }
        _ => {
            if !verdict.findings.is_empty() {
                counts.push(plural(verdict.findings.len(), "remark"));
            }
            proofs(verdict)
        }
    };
    if !verdict.unchecked.is_empty() && verdict.grade == Grade::Certified {
        counts.push(format!("{} without evidence", plural(verdict.unchecked.len(), "rule")));
    }
    let (said, counts) = match counts.is_empty() {
        true => (said.as_str(), String::new()),
        // The bracket belongs to the sentence.
        false => (said.trim_end_matches('.'), format!(" ({}; --verdict shows all)", counts.join(", "))),
    };
    format!("verdict: {}{said}{counts}", style.paint(verdict.grade, verdict.grade.word()))
}

/// `: vda served ...`: the first proof, and how many there are besides. Nothing without one.
fn proofs(verdict: &Verdict) -> String {
    let Some((first, others)) = verdict.proofs.split_first() else { return String::new() };
    let more = if others.is_empty() { String::new() } else { format!("; and {} more", others.len()) };
    format!(": {}{more}", printable(&first.words()))
}

/// The sentence with the target in front.
fn subject(finding: &Finding) -> String {
    match &finding.target {
        Some(target) => format!("'{target}': {}", finding.says),
        None => finding.says.clone(),
    }
}

/// How much of a verdict is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The findings.
    Findings,
    /// The rules that lacked evidence, too.
    All,
}

/// The whole verdict; ends with a line end. `of` names what was judged in the first line.
pub(crate) fn text(verdict: &Verdict, of: &str, extent: Extent, style: Style) -> String {
    let mut out = format!("{}: {}\n", printable(of), style.paint(verdict.grade, verdict.grade.word()));
    let has_spans = verdict.findings.iter().any(|finding| finding.time_span > 1)
        || verdict.proofs.iter().any(|proof| proof.time_span > 1)
        || verdict.unchecked.iter().any(|unchecked| unchecked.time_span > 1);
    let span = |number: u32| match has_spans && number > 0 {
        true => format!(", time span {number}"),
        false => String::new(),
    };
    let columns = style.columns - INDENT;
    for finding in &verdict.findings {
        let grade = finding.grade.word();
        let gap = " ".repeat(INDENT.saturating_sub(2 + columns_of(grade)));
        let grade = style.paint(finding.grade.of_result(), grade);
        out.push_str(&format!("  {grade}{gap}{}{}\n", finding.rule, span(finding.time_span)));
        push_wrapped(&mut out, &subject(finding), columns, "");
        push_wrapped(&mut out, &finding.advice, columns, "-> ");
    }
    if extent == Extent::All {
        for proof in &verdict.proofs {
            let targets = printable(&proof.targets.join(", "));
            out.push_str(&format!("  proof   {targets}{}\n", span(proof.time_span)));
            push_wrapped(&mut out, &proof.words(), columns, "");
        }
    }
    if extent == Extent::All && !verdict.unchecked.is_empty() {
        out.push_str("  without evidence:\n");
        for unchecked in &verdict.unchecked {
            let lead = format!("{}{}: not known: ", unchecked.rule, span(unchecked.time_span));
            push_wrapped(&mut out, &format!("{lead}{}", unchecked.why), columns, "");
        }
    }
    if extent == Extent::All {
        let rules = verdict.rules.len();
        out.push_str(&format!("  {} checked\n", plural(rules, "rule")));
    }
    out
}

/// The verdict of a series of runs, one paragraph for each finding: rule, its runs, what was found, what to do. Remarks
/// have no advice. Ends with a line end.
pub(crate) fn series(verdict: &SeriesVerdict, style: Style) -> String {
    let words = word(verdict.grade);
    let grade = verdict.grade.map_or(words.to_string(), |grade| style.paint(grade, words));
    let mut out = format!("verdict: {grade}\n");
    for one in &verdict.findings {
        let grade = one.grade.word();
        let gap = " ".repeat(INDENT.saturating_sub(2 + columns_of(grade)));
        let mut words = format!("{} ({}): {}", one.rule, one.runs_words(verdict.runs), one.says);
        if !one.grade.is_remark() {
            words.push_str(&format!(" -> {}", one.advice));
        }
        let mut paragraph = String::new();
        push_wrapped(&mut paragraph, &words, style.columns - INDENT, "");
        // The grade fills the indentation of the first line.
        out.push_str(&format!(
            "  {}{gap}{}",
            style.paint(one.grade.of_result(), grade),
            &paragraph[INDENT..]
        ));
    }
    out
}

/// The first line begins with `mark`, the others below what follows it.
fn push_wrapped(out: &mut String, words: &str, columns: usize, mark: &str) {
    out.push_str(&hanging(&format!("{:INDENT$}{mark}", ""), &printable(words), INDENT + columns));
}

/// What stands above the rules: paragraphs, and items of lists behind their mark.
const INTRODUCTION: &[(&str, &str)] = &[
    (
        "",
        "This page is what `truespd judge --rules` prints. The grade of a result is the worst grade that a rule gives it:",
    ),
    ("* ", "`certified`: the rules had the evidence they need and found nothing."),
    ("* ", "`suspect`: the numbers are right for what ran, but may not mean what you think."),
    ("* ", "`invalid`: the numbers do not describe the target."),
    (
        "",
        "A rule may also add a remark, which does not change the grade. A rule that lacks evidence says which evidence it lacks.",
    ),
    (
        "",
        "The brackets of each heading name the worst grade, what a finding means for the number, and the cause. Findings of one grade \
         stand in the order of what they mean, and the first one is what the verdict's line tells:",
    ),
    ("* ", "`another number`: it is the number of something else, such as a cache, or of a part of the run."),
    ("* ", "`other load`: something else used, or changed, what was measured meanwhile."),
    (
        "* ",
        "`held back`: it is right for what ran, and the test itself, the machine's settings or a limit held it back.",
    ),
    ("* ", "`seen`: it is seen in the numbers, or worth knowing beside them."),
    (
        "",
        "Findings that mean the same stand in the order of their causes: the run itself, processor, neighbours, machine, limit, target, \
         cache, content, and symptoms last, because any of the others may explain them.",
    ),
    (
        "",
        "With fewer than 100 I/Os, rules about rates, shares and means do not speak, because the I/Os in flight at the start and the end \
         would decide. Ten large I/Os of 64 MiB together are enough to compare them with the counters of disks and servers.",
    ),
];

/// All rules as Markdown, which is what `docs/verdict-rules.md` holds.
pub(crate) fn rules() -> String {
    const WIDTH: usize = 110;
    let mut out = String::from("# Rules of the verdict\n");
    let mut before = "none";
    for (lead, words) in INTRODUCTION {
        // Items of a list follow each other.
        if lead.is_empty() || *lead != before {
            out.push('\n');
        }
        out.push_str(&hanging(lead, words, WIDTH));
        before = lead;
    }
    // Markdown takes `<size>` for a tag.
    let escaped = |text: &str| text.replace('<', "\\<");
    for rule in RULES {
        let brackets = [rule.worst.word(), rule.meaning.words(), rule.cause.word()].join(", ");
        out.push_str(&format!("\n## {} ({brackets})\n\n", rule.name));
        out.push_str(&wrap(&escaped(rule.about), WIDTH).join("\n"));
        let advice = format!("\n\nAdvice: {}.\n", escaped(rule.advice.trim_end_matches('.')));
        out.push_str(&wrap(&advice, WIDTH).join("\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{Cause, FileServer, FindingGrade, Meaning, Proof, Served, Unchecked};
    use crate::suite::findings::{Of, Told};

    const PLAIN: Style = Style { columns: 60, has_colour: false };

    fn verdict() -> Verdict {
        let finding = |grade, rule: &str, target: Option<&str>, says: &str| Finding {
            rule: rule.to_string(),
            grade,
            time_span: 1,
            target: target.map(str::to_string),
            says: says.to_string(),
            advice: "bypass the page cache with -Su or -Sh, and look for other caches".to_string(),
            ..Finding::default()
        };
        Verdict {
            grade: Grade::Invalid,
            findings: vec![
                finding(
                    FindingGrade::Invalid,
                    "served-from-cache",
                    Some("a\u{1b}[2Jb"),
                    "215,000/s reads of 8 KiB completed; vda saw 0: the page cache answered",
                ),
                finding(
                    FindingGrade::Remark,
                    "percentiles",
                    None,
                    "from 5-nines on the value is a single I/O",
                ),
            ],
            unchecked: vec![Unchecked { rule: "steal".into(), time_span: 1, why: "times of others".into() }],
            proofs: vec![proof()],
            rules: vec!["served-from-cache".into(), "percentiles".into(), "steal".into()],
        }
    }

    fn proof() -> Proof {
        let all = Served {
            completed_per_s: 2000.0,
            completed_bytes_per_s: 8_192_000.0,
            moved_per_s: 2000.0,
            moved_bytes_per_s: 8_192_000.0,
            share: 1.0,
        };
        Proof {
            time_span: 1,
            targets: vec!["a\u{1b}b".into()],
            disks: vec!["vda".into()],
            reads: Some(all),
            ..Proof::default()
        }
    }

    #[test]
    fn a_certified_result_shows_its_proof() {
        let mut good = Verdict { proofs: vec![proof()], ..Verdict::default() };
        let served = "vda served 2,000 reads/s of 4 KiB, 100.0 % of the 2,000/s completed";
        assert_eq!(line(&good, PLAIN), format!("verdict: certified: {served}"));
        good.findings = verdict().findings[1..].to_vec();
        assert_eq!(
            line(&good, PLAIN),
            format!("verdict: certified: {served} (1 remark; --verdict shows all)")
        );
        good.proofs[0].server = Some(FileServer { name: "a\u{1b}b".into(), ..FileServer::default() });
        assert_eq!(
            line(&good, PLAIN),
            "verdict: certified: a\\u{1b}b served 2,000 READ/s over an unknown protocol, 100 % of the bytes read; what the \
             server did is not seen (1 remark; --verdict shows all)"
        );
        good.proofs = vec![proof()];
        good.proofs.push(proof());
        assert!(line(&good, PLAIN).contains("completed; and 1 more (1 remark"));
    }

    #[test]
    fn one_line_tells_the_worst() {
        assert_eq!(
            line(&verdict(), PLAIN),
            "verdict: invalid: served-from-cache: 'a\\u{1b}[2Jb': 215,000/s reads of 8 KiB completed; vda saw 0: the \
             page cache answered (and 1 more; --verdict shows all)"
        );
        let mut whole = verdict();
        whole.findings[0].says.push('.');
        assert_eq!(line(&whole, PLAIN), line(&verdict(), PLAIN), "no full stop before the bracket");
        let mut good = Verdict { findings: verdict().findings[1..].to_vec(), ..Verdict::default() };
        assert_eq!(line(&good, PLAIN), "verdict: certified (1 remark; --verdict shows all)");
        good.unchecked = verdict().unchecked;
        assert_eq!(
            line(&good, PLAIN),
            "verdict: certified (1 remark, 1 rule without evidence; --verdict shows all)"
        );
        assert_eq!(line(&Verdict::default(), PLAIN), "verdict: certified");
    }

    #[test]
    fn all_of_it_is_aligned_and_wrapped() {
        assert_eq!(
            text(&verdict(), "verdict", Extent::All, PLAIN),
            "verdict: invalid\n\
             \x20 invalid served-from-cache\n\
             \x20         'a\\u{1b}[2Jb': 215,000/s reads of 8 KiB completed;\n\
             \x20         vda saw 0: the page cache answered\n\
             \x20         -> bypass the page cache with -Su or -Sh, and look\n\
             \x20            for other caches\n\
             \x20 remark  percentiles\n\
             \x20         from 5-nines on the value is a single I/O\n\
             \x20         -> bypass the page cache with -Su or -Sh, and look\n\
             \x20            for other caches\n\
             \x20 proof   a\\u{1b}b\n\
             \x20         vda served 2,000 reads/s of 4 KiB, 100.0 % of the\n\
             \x20         2,000/s completed\n\
             \x20 without evidence:\n\
             \x20         steal: not known: times of others\n\
             \x20 3 rules checked\n"
        );
        assert!(!text(&verdict(), "verdict", Extent::Findings, PLAIN).contains("steal"));
    }

    #[test]
    fn findings_of_a_series_name_their_runs() {
        let told_of = |grade, of: &[&str]| Told {
            rule: "volatile-cache".into(),
            grade,
            meaning: Meaning::WrongNumber,
            cause: Cause::Cache,
            says: "vda keeps writes in a cache that a loss of power empties".into(),
            advice: "-Sh counts a write when it is durable".into(),
            runs: 12,
            of: of.iter().map(|what| Of { what: what.to_string(), runs: 12 / of.len() }).collect(),
        };
        let findings = vec![
            told_of(FindingGrade::Suspect, &["a", "b", "c", "d"]),
            told_of(FindingGrade::Remark, &["a"]),
        ];
        let mut verdict = SeriesVerdict { grade: Some(Grade::Suspect), runs: 24, findings };
        assert_eq!(
            series(&verdict, PLAIN),
            "verdict: suspect\n\
             \x20 suspect volatile-cache (12 of 24 runs: a x3, b x3 and 2\n\
             \x20         more): vda keeps writes in a cache that a loss of\n\
             \x20         power empties -> -Sh counts a write when it is\n\
             \x20         durable\n\
             \x20 remark  volatile-cache (12 of 24 runs: a): vda keeps\n\
             \x20         writes in a cache that a loss of power empties\n"
        );
        verdict.runs = 12;
        assert!(series(&verdict, PLAIN).contains("\n  suspect volatile-cache (all 12 runs): vda"));
        verdict.runs = 1;
        verdict.findings[0].runs = 1;
        assert!(series(&verdict, PLAIN).contains("\n  suspect volatile-cache (the only run): vda"));
        assert_eq!(series(&SeriesVerdict::default(), PLAIN), "verdict: not judged\n");
    }

    #[test]
    fn colour_is_for_the_grade_only() {
        let style = Style { has_colour: true, ..PLAIN };
        assert_eq!(line(&Verdict::default(), style), "verdict: \u{1b}[32mcertified\u{1b}[0m");
        let plain = text(&verdict(), "verdict", Extent::All, style).replace("\u{1b}[31m", "");
        let plain = plain.replace("\u{1b}[32m", "").replace("\u{1b}[0m", "");
        assert_eq!(plain, text(&verdict(), "verdict", Extent::All, PLAIN));
    }

    #[test]
    fn colours_are_where_they_are_wanted() {
        assert!(has_colour("auto", true) && !has_colour("auto", false));
        assert!(has_colour("always", true) && has_colour("always", false));
        assert!(!has_colour("never", true) && !has_colour("never", false));
    }

    #[test]
    fn widths_are_kept_within_reason() {
        assert_eq!(Style::of(None, false), Style { columns: 80, has_colour: false });
        assert_eq!(Style::of(Some(10), false).columns, 40);
        assert_eq!(Style::of(Some(400), false).columns, 120);
    }

    #[test]
    fn the_page_of_rules_is_the_table() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/verdict-rules.md"));
        let page = page.expect("the page is there");
        assert!(page == rules(), "renew it: truespd judge --rules > docs/verdict-rules.md");
    }
}
