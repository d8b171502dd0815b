//! What people see of a run: its verdict, in one line or whole, and the line of its progress.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use crate::config;
use truespd_core::load::live::{HostRates, Phase, Progress};
use truespd_core::result::{Document, Finding, Grade, Meaning, Verdict};
use truespd_platform::sys::program;
use truespd_platform::text::{
    COLOURS, as_ascii, clock, columns_of, duration_ns, end_of, folded, hanging, number, printable, rate,
    size, with_micro,
};

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
        let stream = io::stderr();
        Self::of(program::terminal_columns(&stream), stream.is_terminal())
    }

    pub fn of_stdout() -> Self {
        let stream = io::stdout();
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
/// broken at blanks, and signs are those that it can show.
pub fn fitting_stdout(text: String) -> String {
    match program::terminal_columns(io::stdout()) {
        Some(columns) => on_terminal(&folded(&text, columns.max(*COLUMNS_LEGAL.start()))),
        None => text,
    }
}

/// The text with the signs of a terminal: that of microseconds, or only ASCII where it has no more.
pub fn on_terminal(text: &str) -> String {
    if is_ascii_only() { as_ascii(text) } else { with_micro(text) }
}

/// Whether the person's locale says that the terminal knows no other characters than ASCII: the first of the three
/// that is set and not empty decides (setlocale(3)).
pub fn is_ascii_only() -> bool {
    let mut locales = ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(std::env::var_os);
    locales.find(|value| !value.is_empty()).is_some_and(|locale| knows_ascii_only(&locale.to_string_lossy()))
}

fn knows_ascii_only(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    !(locale.contains("utf-8") || locale.contains("utf8"))
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

/// `: vda itself counted ...`: the first proof, and how many there are besides. Without one what is known in its place,
/// if a remark says that.
fn proofs(verdict: &Verdict) -> String {
    let Some((first, others)) = verdict.proofs.split_first() else {
        let known = verdict.findings.first().filter(|remark| remark.meaning == Meaning::WrongNumber);
        return known.map(|remark| format!(": {}", printable(&subject(remark)))).unwrap_or_default();
    };
    let more = if others.is_empty() { String::new() } else { format!("; and {} more", others.len()) };
    format!(": {}{more}", printable(&first.shares()))
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

/// What the drives under the targets said of themselves around the run; empty where they say nothing.
pub fn drives(document: &Document, style: Style) -> String {
    let mut out = String::new();
    for drive in document.measured().flat_map(|measured| measured.evidence.drives.iter().flatten()) {
        if let Some(words) = drive.words() {
            out.push_str(&hanging("  drive   ", &printable(&words), style.columns));
        }
    }
    out
}

/// The first line begins with `mark`, the others below what follows it.
pub fn push_wrapped(out: &mut String, words: &str, columns: usize, mark: &str) {
    out.push_str(&hanging(&format!("{:INDENT$}{mark}", ""), &printable(words), INDENT + columns));
}

/// A path keeps so many columns at least.
const PATH_COLUMNS: usize = 12;
/// Columns for what follows a path.
const BEHIND_PATH: usize = 44;

/// Whether standard error is a terminal on which a line can be drawn over itself.
pub fn can_draw() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// What a line says: parts in the order of their importance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Words {
    parts: Vec<String>,
}

impl Words {
    /// The first part, which is always there.
    pub fn new(first: impl Into<String>) -> Self {
        Words { parts: vec![first.into()] }
    }

    fn and(mut self, part: impl Into<String>) -> Self {
        self.parts.push(part.into());
        self
    }

    pub fn whole(&self) -> String {
        self.parts.join(", ")
    }

    /// As many of the parts, from the first on, as fit into so many columns.
    pub fn fitting(&self, columns: usize) -> String {
        let mut parts = self.parts.iter();
        let mut line = parts.next().map_or(String::new(), |first| end_of(first, columns));
        for part in parts {
            if columns_of(&line) + 2 + columns_of(part) > columns {
                break;
            }
            line.push_str(&format!(", {part}"));
        }
        line
    }
}

/// What a run does in a phase.
pub fn phase_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Start => "preparing",
        Phase::WarmUp => "warm-up",
        Phase::Measurement => "measuring",
        Phase::CoolDown => "cool-down",
        Phase::End => "waiting for the last I/Os",
    }
}

/// Where a run is and what it does.
pub fn progress(progress: &Progress) -> Words {
    let phase = phase_words(progress.phase);
    let mut words = match progress.spans {
        ..=1 => Words::new(phase),
        spans => Words::new(format!("time span {} of {spans}", progress.span)).and(phase),
    };
    if progress.left_ns > 0 {
        words = words.and(format!("{} left", clock(progress.left_ns as f64 / 1e9)));
    }
    with_rates(words, progress, rate)
}

/// The words with the rates of the last while behind them; `throughput` writes bytes per second.
pub fn with_rates(words: Words, progress: &Progress, throughput: fn(f64) -> String) -> Words {
    let Some(rates) = &progress.rates else { return words };
    let mut words = words;
    if !progress.counted.are_trims_only() {
        words = words.and(format!("{} IOPS", number(rates.iops))).and(throughput(rates.bytes_per_s));
    }
    if progress.counted.trims > 0 {
        words = words.and(trims(rates.trims_per_s)).and(trimmed(rates.trimmed_bytes_per_s, throughput));
    }
    if let Some(ns) = rates.latency_mean_ns {
        words = words.and(format!("mean latency {}", duration_ns(ns)));
    }
    words.parts.extend(progress.hosts.iter().flat_map(|of| hosts(of).parts));
    words
}

/// How many trims a second.
pub fn trims(per_s: f64) -> String {
    format!("{} trims/s", number(per_s))
}

/// How many bytes a second they cover.
pub fn trimmed(bytes_per_s: f64, throughput: fn(f64) -> String) -> String {
    format!("{} trimmed", throughput(bytes_per_s))
}

/// The hosts of a cluster run: how many, which is the slowest and which the fastest.
pub fn hosts(of: &HostRates) -> Words {
    let words = match of.hosts - of.told.min(of.hosts) {
        0 => Words::new(format!("{} hosts", of.hosts)),
        _ => Words::new(format!("{} of {} hosts", of.told, of.hosts)),
    };
    if of.told <= 1 {
        return words;
    }
    let [slowest, fastest] =
        [&of.slowest, &of.fastest].map(|rate| format!("{} {}", printable(&rate.host), number(rate.iops)));
    words.and(format!("slowest {slowest} IOPS, fastest {fastest}"))
}

/// A file that is being written.
#[derive(Debug)]
pub struct Filling {
    path: String,
    since: Instant,
}

impl Filling {
    pub fn of(path: &str) -> Self {
        Filling { path: path.to_string(), since: Instant::now() }
    }

    /// Whether it is this file.
    pub fn is_of(&self, path: &str) -> bool {
        self.path == path
    }

    /// How far it is, for a line of so many columns.
    pub fn words(&self, done_bytes: u64, total_bytes: u64, columns: Option<usize>) -> Words {
        let path = printable(&self.path);
        let room =
            columns.map_or(usize::MAX, |columns| columns.saturating_sub(BEHIND_PATH).max(PATH_COLUMNS));
        filled(&end_of(&path, room), done_bytes, total_bytes, self.since.elapsed())
    }
}

fn filled(path: &str, done_bytes: u64, total_bytes: u64, passed: Duration) -> Words {
    let percent = u128::from(done_bytes) * 100 / u128::from(total_bytes.max(1));
    let words = Words::new(format!("writing '{path}'")).and(format!("{percent} %"));
    let per_s = done_bytes as f64 / passed.as_secs_f64().max(1e-9);
    // The first rates are those of caches.
    if passed < Duration::from_secs(1) || done_bytes == 0 {
        return words.and(format!("{} of {}", size(done_bytes), size(total_bytes)));
    }
    let left_s = total_bytes.saturating_sub(done_bytes) as f64 / per_s;
    words.and(format!("{} left", clock(left_s))).and(rate(per_s)).and(format!(
        "{} of {}",
        size(done_bytes),
        size(total_bytes)
    ))
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
        let served = "vda itself counted 100 % of the reads";
        assert_eq!(line(&good, PLAIN), format!("verdict: certified: {served}"));
        good.findings = verdict().findings[1..].to_vec();
        assert_eq!(
            line(&good, PLAIN),
            format!("verdict: certified: {served} (1 remark; --verdict shows all)")
        );
        good.proofs[0].server = Some(FileServer { name: "a\u{1b}b".into(), ..FileServer::default() });
        assert_eq!(
            line(&good, PLAIN),
            "verdict: certified: a\\u{1b}b sent 100 % of the bytes read over an unknown protocol (1 remark; \
             --verdict shows all)"
        );
        good.proofs = vec![proof()];
        good.proofs.push(proof());
        assert!(line(&good, PLAIN).contains("of the reads; and 1 more (1 remark"));
        // Where nothing is counted, what is known in its place.
        good.proofs.clear();
        good.findings[0].meaning = Meaning::Seen;
        assert_eq!(line(&good, PLAIN), "verdict: certified (1 remark; --verdict shows all)");
        good.findings[0].meaning = Meaning::WrongNumber;
        assert_eq!(
            line(&good, PLAIN),
            "verdict: certified: from 5-nines on the value is a single I/O (1 remark; --verdict shows all)"
        );
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
    fn the_locale_says_what_a_terminal_knows() {
        for (locale, is_ascii) in
            [("en_GB.UTF-8", false), ("de_DE.utf8", false), ("C", true), ("ja_JP.eucJP", true)]
        {
            assert_eq!(knows_ascii_only(locale), is_ascii, "{locale}");
        }
    }

    #[test]
    fn widths_are_kept_within_reason() {
        assert_eq!(Style::of(None, false), Style { columns: 80, has_colour: false });
        assert_eq!(Style::of(Some(10), false).columns, 40);
        assert_eq!(Style::of(Some(400), false).columns, 120);
    }
}

#[cfg(test)]
mod tests_of_live {
    use std::sync::Arc;

    use super::*;
    use truespd_core::load::live::{Counted, HostRate, Rates};

    const S: u64 = 1_000_000_000;

    fn at(phase: Phase, rates: Option<Rates>) -> Progress {
        let counted = Counted::default();
        Progress {
            phase,
            span: 1,
            spans: 1,
            elapsed_ns: 0,
            planned_ns: 60 * S,
            left_ns: 42 * S,
            counted,
            rates,
            machine: None,
            hosts: None,
        }
    }

    fn rates(iops: f64) -> Option<Rates> {
        let latency_mean_ns = (iops > 0.0).then_some(388_800.0);
        Some(Rates { iops, bytes_per_s: iops * 4096.0, latency_mean_ns, ..Rates::default() })
    }

    #[test]
    fn a_run_is_told_in_one_line() {
        let measuring = progress(&at(Phase::Measurement, rates(82_310.4)));
        assert_eq!(measuring.whole(), "measuring, 0:42 left, 82,310 IOPS, 322 MiB/s, mean latency 389 us");
        assert_eq!(progress(&at(Phase::WarmUp, None)).whole(), "warm-up, 0:42 left");
        let stalled = progress(&at(Phase::Measurement, rates(0.0)));
        assert_eq!(stalled.whole(), "measuring, 0:42 left, 0 IOPS, 0 KiB/s", "a stall is seen");
        let end = Progress { left_ns: 0, ..at(Phase::End, None) };
        assert_eq!(progress(&end).whole(), "waiting for the last I/Os");
        let second = Progress { span: 2, spans: 3, ..at(Phase::CoolDown, None) };
        assert_eq!(progress(&second).whole(), "time span 2 of 3, cool-down, 0:42 left");
    }

    #[test]
    fn trims_are_told_where_there_are_some_and_alone_where_there_is_nothing_else() {
        let told = |ios, iops| {
            let trims =
                Rates { trims_per_s: 1234.4, trimmed_bytes_per_s: 1234.4 * 65_536.0, ..Rates::default() };
            let counted = Counted { ios, trims: 9, ..Counted::default() };
            let rates = rates(iops).map(|rates| Rates {
                latency_mean_ns: Some(1e6),
                iops,
                bytes_per_s: rates.bytes_per_s,
                ..trims
            });
            progress(&Progress { counted, ..at(Phase::Measurement, rates) }).whole()
        };
        let trims = "1,234 trims/s, 77.2 MiB/s trimmed, mean latency 1 ms";
        assert_eq!(told(0, 0.0), format!("measuring, 0:42 left, {trims}"));
        assert_eq!(told(5, 82_310.4), format!("measuring, 0:42 left, 82,310 IOPS, 322 MiB/s, {trims}"));
        assert_eq!(
            told(5, 0.0),
            format!("measuring, 0:42 left, 0 IOPS, 0 KiB/s, {trims}"),
            "the others stand"
        );
    }

    #[test]
    fn what_does_not_fit_is_left_out_whole() {
        let words = progress(&at(Phase::Measurement, rates(82_310.4)));
        assert_eq!(words.fitting(79), words.whole());
        assert_eq!(words.fitting(39), "measuring, 0:42 left, 82,310 IOPS");
        assert_eq!(words.fitting(12), "measuring");
        assert_eq!(words.fitting(5), "\u{2026}ring");
        assert_eq!(words.fitting(0), "\u{2026}");
    }

    #[test]
    fn hosts_are_told_behind_the_sums() {
        let host = |host: &str, iops| HostRate { host: host.into(), iops };
        let rates_of = |hosts, told| HostRates {
            hosts,
            told,
            slowest: host("b", 1_234.4),
            fastest: host("a\u{1b}[2J", 5_678.0),
        };
        let told = |of: HostRates| {
            let hosts = Some(Arc::new(of));
            progress(&Progress { hosts, ..at(Phase::Measurement, rates(8_231.4)) })
        };
        let words = told(rates_of(3, 3));
        let sums = "measuring, 0:42 left, 8,231 IOPS, 32.2 MiB/s, mean latency 389 us";
        let hosts = "3 hosts, slowest b 1,234 IOPS, fastest a\\u{1b}[2J 5,678";
        assert_eq!(words.whole(), format!("{sums}, {hosts}"));
        assert_eq!(words.fitting(words.whole().len() - 1), format!("{sums}, 3 hosts"), "left out whole");
        assert_eq!(words.fitting(sums.len() + 8), sums);
        let missing = told(rates_of(3, 2)).whole();
        assert!(missing.contains(", 2 of 3 hosts, slowest b 1,234 IOPS, fastest a"), "{missing}");
        assert_eq!(told(rates_of(3, 1)).whole(), format!("{sums}, 1 of 3 hosts"), "nothing to compare");
        let stalled = Progress { hosts: None, ..at(Phase::End, None) };
        assert!(!progress(&stalled).whole().contains("hosts"));
    }

    #[test]
    fn a_file_is_told_in_one_line_also_with_a_long_path() {
        let passed = Duration::from_secs(20);
        let words = filled("t.dat", 5 << 30, 10 << 30, passed);
        assert_eq!(words.whole(), "writing 't.dat', 50 %, 0:20 left, 256 MiB/s, 5 GiB of 10 GiB");
        assert_eq!(words.fitting(39), "writing 't.dat', 50 %, 0:20 left");
        let fresh = filled("t.dat", 1 << 20, 10 << 30, Duration::from_millis(20));
        assert_eq!(fresh.whole(), "writing 't.dat', 0 %, 1 MiB of 10 GiB", "no rate yet");
        let path = format!("/mnt/{}/t.dat", "long".repeat(30));
        let filling = Filling { path, since: Instant::now() };
        for columns in [40, 80, 200] {
            let line = filling.words(5 << 30, 10 << 30, Some(columns)).fitting(columns - 1);
            assert!(line.contains("/t.dat', 50 %") && columns_of(&line) < columns, "{line}");
        }
        assert!(filling.words(1, 2, None).whole().contains(&filling.path), "a log has room for all of it");
    }
}
