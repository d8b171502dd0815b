//! The verdict as people see it: one line after a run, or all of it.

use std::io::IsTerminal;

use crate::config;
use truespd_core::result::{Finding, Grade, Verdict};
use truespd_core::sys::program;
use truespd_core::text::{COLOURS, columns_of, folded, hanging, printable};

/// Width where there is no terminal.
const COLUMNS: usize = 80;
/// Narrower lines make sentences hard to read, wider ones make the next line hard to find.
const COLUMNS_LEGAL: std::ops::RangeInclusive<usize> = 40..=120;
/// Column at which findings start.
pub const INDENT: usize = 10;

/// How text is written to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub columns: usize,
    pub has_colour: bool,
}

impl Style {
    pub fn of_stderr() -> Self {
        let stream = std::io::stderr();
        Self::of(program::terminal_columns(&stream), stream.is_terminal())
    }

    pub fn of_stdout() -> Self {
        let stream = std::io::stdout();
        Self::of(program::terminal_columns(&stream), stream.is_terminal())
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
pub fn readable(columns: usize) -> usize {
    columns.clamp(*COLUMNS_LEGAL.start(), *COLUMNS_LEGAL.end())
}

/// Text for standard output with tables and sentences: on a terminal, lines that are too wide for it are
/// broken at blanks.
pub fn fitting_stdout(text: String) -> String {
    match program::terminal_columns(std::io::stdout()) {
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

pub fn plural(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// `verdict: suspect: served-from-cache: ... (and 2 more; --verdict shows all)`, without a line end.
pub fn line(verdict: &Verdict, style: Style) -> String {
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
    let (said, counts) = if counts.is_empty() {
        (said.as_str(), String::new())
    } else {
        (said.trim_end_matches('.'), format!(" ({}; --verdict shows all)", counts.join(", ")))
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
pub enum Extent {
    Findings,
    /// The rules that lacked evidence, too.
    All,
}

/// The whole verdict; ends with a line end. `of` names what was judged in the first line.
pub fn text(verdict: &Verdict, of: &str, extent: Extent, style: Style) -> String {
    let mut out = format!("{}: {}\n", printable(of), style.paint(verdict.grade, verdict.grade.word()));
    let has_spans = verdict.findings.iter().any(|finding| finding.time_span > 1)
        || verdict.proofs.iter().any(|proof| proof.time_span > 1)
        || verdict.unchecked.iter().any(|unchecked| unchecked.time_span > 1);
    let span =
        |number: u32| if has_spans && number > 0 { format!(", time span {number}") } else { String::new() };
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

/// The first line begins with `mark`, the others below what follows it.
pub fn push_wrapped(out: &mut String, words: &str, columns: usize, mark: &str) {
    out.push_str(&hanging(&format!("{:INDENT$}{mark}", ""), &printable(words), INDENT + columns));
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::{FileServer, FindingGrade, Proof, Served, Unchecked};

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
            "verdict: certified: a\\u{1b}b served 2,000 READ/s over an unknown protocol, 100 % of the \
             bytes read; what the server did is not seen (1 remark; --verdict shows all)"
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
}
