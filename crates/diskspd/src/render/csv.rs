//! The result as comma-separated values: one row per time span, thread, target and direction, no totals.
//!
//! Units are in the header. Numbers have a point and no separators; text is quoted as RFC 4180 says, and text that
//! a spreadsheet would run as a formula begins with an apostrophe.
//! Latencies are empty where none was measured.

use std::fmt::Write;

use truespd_core::result::{Direction, DirectionSummary, Document, LatencySummary, TimeSpanResult};
use truespd_core::text::printable;

const HEADER: &str = "time_span,thread,target,direction,test_time_s,bytes,ios,bytes_per_s,iops,\
latency_mean_ns,latency_std_dev_ns,latency_min_ns,latency_p50_ns,latency_p90_ns,latency_p95_ns,\
latency_p99_ns,latency_p99_9_ns,latency_p99_99_ns,latency_p99_999_ns,latency_max_ns\n";

/// The whole document; time spans without measurement have no rows.
pub fn csv(document: &Document) -> String {
    let mut out = HEADER.to_string();
    for (i, span) in document.time_spans.iter().enumerate() {
        let TimeSpanResult::Measured(measured) = span else { continue };
        for thread in &measured.threads {
            for target in &thread.targets {
                for (name, direction) in [("read", &target.read), ("write", &target.write)] {
                    let path = quoted(&target.path);
                    let _ = write!(out, "{},{},{path},{name},", i + 1, thread.id);
                    numbers(&mut out, direction, measured.test_time_s);
                }
            }
        }
    }
    out
}

fn numbers(out: &mut String, direction: &Direction, test_time_s: f64) {
    let sum = DirectionSummary::of(direction, test_time_s);
    // Writing to a string cannot fail.
    let _ = write!(out, "{test_time_s:.6},{},{},{:.3},{:.3}", sum.bytes, sum.ios, sum.bytes_per_s, sum.iops);
    match sum.latency {
        Some(latency) => latencies(out, &latency),
        None => out.push_str(&",".repeat(11)),
    }
    out.push('\n');
}

fn latencies(out: &mut String, l: &LatencySummary) {
    let _ = write!(out, ",{:.1},{:.1}", l.mean_ns, l.std_dev_ns);
    for ns in
        [l.min_ns, l.p50_ns, l.p90_ns, l.p95_ns, l.p99_ns, l.p99_9_ns, l.p99_99_ns, l.p99_999_ns, l.max_ns]
    {
        let _ = write!(out, ",{ns}");
    }
}

/// A text as a cell. Spreadsheets run what begins like a formula, so that gets an apostrophe in front, which
/// they take for "this is text"; control characters are escaped.
pub(super) fn quoted(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = format!("{}{}", if is_formula { "'" } else { "" }, printable(text));
    if text.contains([',', '"', ';']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_where_it_must_be() {
        assert_eq!(quoted("/mnt/a b"), "/mnt/a b");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        // Where a comma is the decimal point, spreadsheets cut at semicolons.
        assert_eq!(quoted("a;b"), "\"a;b\"");
    }

    #[test]
    fn no_text_is_a_formula_or_acts_on_a_terminal() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "=HYPERLINK(\"x\",\"y\")"] {
            assert!(quoted(text).trim_start_matches('"').starts_with('\''), "{}", quoted(text));
        }
        assert_eq!(quoted("\t=1"), "'\\t=1");
        assert_eq!(quoted("a\u{1b}[2J\n\u{202e}b"), "a\\u{1b}[2J\\n\\u{202e}b");
    }
}
