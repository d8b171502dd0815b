//! What the line says that changes on standard error while a run goes on.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use truespd_core::load::live::{HostRate, HostRates, Phase, Progress};
use truespd_core::text::{clock, columns_of, duration_ns, number, printable, rate, size};

/// A path keeps so many columns at least.
const PATH_COLUMNS: usize = 12;
/// Columns for what follows a path.
const BEHIND_PATH: usize = 44;

/// Whether standard error is a terminal on which a line can be drawn over itself.
pub fn can_draw() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
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

/// The text, or as much of its end as fits.
fn end_of(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        return text.to_string();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut left = columns.saturating_sub(1);
    for c in text.chars().rev() {
        let width = columns_of(c.encode_utf8(&mut [0; 4]));
        if width > left {
            break;
        }
        left -= width;
        kept.push(c);
    }
    std::iter::once('\u{2026}').chain(kept.into_iter().rev()).collect()
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
    let mut words = words.and(format!("{} IOPS", number(rates.iops))).and(throughput(rates.bytes_per_s));
    if let Some(ns) = rates.latency_mean_ns {
        words = words.and(format!("mean latency {}", duration_ns(ns)));
    }
    words.parts.extend(progress.hosts.iter().flat_map(|of| hosts(of).parts));
    words
}

/// The hosts of a cluster run: how many, which is the slowest and which the fastest.
pub fn hosts(of: &HostRates) -> Words {
    let words = match of.hosts - of.told.min(of.hosts) {
        0 => Words::new(format!("{} hosts", of.hosts)),
        _ => Words::new(format!("{} of {} hosts", of.told, of.hosts)),
    };
    let rate = |of: &HostRate| format!("{} {}", printable(&of.host), number(of.iops));
    match of.told {
        ..=1 => words,
        _ => words.and(format!("slowest {} IOPS, fastest {}", rate(&of.slowest), rate(&of.fastest))),
    }
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
    use std::sync::Arc;

    use super::*;
    use truespd_core::load::live::{Counted, Rates};

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
        Some(Rates { iops, bytes_per_s: iops * 4096.0, latency_mean_ns: (iops > 0.0).then_some(388_800.0) })
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

    #[test]
    fn wide_characters_take_their_columns() {
        assert_eq!(end_of("\u{6f22}\u{5b57}", 3), "\u{2026}\u{5b57}");
        assert_eq!(end_of("\u{6f22}\u{5b57}", 4), "\u{6f22}\u{5b57}");
        assert_eq!(end_of("\u{6f22}\u{5b57}", 2), "\u{2026}");
    }
}
