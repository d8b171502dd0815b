//! DiskSpd 2.2's text result (`text-output.md`).
//!
//! One file per section. Lines end with LF; nothing is localised. Names that stand in a line of their own
//! format (paths, words, the host's name) cannot break it: see [`OneLine`].

/// Adds one line to a text.
macro_rules! line {
    ($out:expr) => { $out.push('\n') };
    ($out:expr, $($argument:tt)*) => {{
        use std::fmt::Write as _;
        // Writing to a `String` cannot fail.
        let _ = writeln!($out, $($argument)*);
    }};
}

mod cpu;
mod distribution;
mod figure;
mod hosts;
mod latency;
mod parameters;
mod system;
mod tables;
mod totals;
mod waits;

use super::tally::measured;
use figure::{OneLine, shown};
use truespd_core::profile::{Profile, TimeSpan};
use truespd_core::result::{Document, Measured, System, TimeSpanResult};

/// The whole document as DiskSpd 2.2 text, from the first empty line to the end of the last line. A sum of
/// several results has a section of TrueSpd's behind it.
pub fn text(document: &Document) -> String {
    let mut out = profile_text(&document.command_line, &document.profile);
    let system = System { computer_name: document.host_words(), ..document.system.clone() };
    out.push_str(&system_text(&system));
    for (index, (result, span)) in document.time_spans.iter().zip(&document.profile.time_spans).enumerate() {
        results(&mut out, document, index + 1, span, result);
    }
    if document.time_spans.len() > 1 {
        totals::totals(&mut out, &document.time_spans);
    }
    if document.sources.len() > 1 || !document.missing.is_empty() {
        hosts::hosts(&mut out, document);
    }
    out
}

/// What `-Rp` prints: command line and input parameters, up to the empty line after the last time span.
///
/// `command_line` is the words as typed, program name first.
pub fn profile_text(command_line: &[String], profile: &Profile) -> String {
    let mut out = String::new();
    parameters::profile(&mut out, command_line, profile);
    out
}

/// The system information block, as `-Rs` prints it.
pub fn system_text(system: &System) -> String {
    let mut out = String::new();
    system::system(&mut out, system);
    out
}

/// One results block (`text-output.md` §6).
fn results(out: &mut String, document: &Document, number: usize, span: &TimeSpan, result: &TimeSpanResult) {
    line!(out);
    line!(out, "Results for timespan {number}:");
    line!(out, "{:*<79}", "");
    match measured(result) {
        None => {
            line!(out, "The test was interrupted before the measurements began. No results are displayed.");
        }
        Some(measured) => numbers(out, document, number, span, measured),
    }
}

/// The sections of a time span that was measured.
fn numbers(out: &mut String, document: &Document, number: usize, span: &TimeSpan, measured: &Measured) {
    line!(out);
    line!(out, "actual test time:\t{:.2}s", measured.test_time_s);
    line!(out, "thread count:\t\t{}", document.threads_of(number - 1));
    if span.is_pool() {
        line!(out, "request count:\t\t{}", span.request_count);
    }
    cpu::table(out, &document.system, &measured.cpu);
    distribution::effective(out, &measured.threads);
    tables::tables(out, document, span, measured);
    if span.measure_latency {
        latency::charts(out, measured);
    }
    if document.profile.verbose_stats {
        waits::table(out, &measured.threads, hosts::is_folded(document));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_on_their_line() {
        assert_eq!(OneLine("/dev/nvme0n1 (x) é").to_string(), "/dev/nvme0n1 (x) é");
        assert_eq!(OneLine("a\ntotal:\t1\u{85}").to_string(), "a\\ntotal:\\t1\\u{85}");
        assert_eq!(OneLine("").to_string(), "");
    }

    #[test]
    fn figures_are_numbers() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, -1e-9] {
            assert_eq!(format!("{:.2}", shown(bad)), "0.00");
        }
        assert_eq!(shown(1.5), 1.5);
    }
}
