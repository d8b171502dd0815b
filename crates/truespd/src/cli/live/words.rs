//! Words that the screen and the lines share.

use super::model::Weight;
use diskspd::show::live::phase_words;
use diskspd::telemetry::lines::At;
use truespd_core::text::{clock, duration_ns, printable, size};

const NS_PER_S: f64 = 1e9;

/// A time in seconds.
pub(super) fn seconds(value: f64) -> String {
    duration_ns(value * NS_PER_S)
}

/// A file that is being written, and which part of it is.
pub(super) fn filling(path: &str, done_bytes: u64, total_bytes: u64) -> (String, f64) {
    let words = format!("writing '{}', {} of {}", printable(path), size(done_bytes), size(total_bytes));
    (words, done_bytes as f64 / total_bytes.max(1) as f64)
}

/// Where a run is: `time span 2 of 3, measuring, 0:12 passed, 0:28 left`.
pub(super) fn place(at: &At) -> String {
    let span = match at.time_spans {
        ..=1 => String::new(),
        spans => format!("time span {} of {spans}, ", at.time_span),
    };
    let phase = phase_words(at.phase);
    format!("{span}{phase}, {} passed, {} left", clock(at.elapsed_s), clock(at.left_s))
}

/// What stands before a message.
pub(super) fn lead(weight: Weight) -> &'static str {
    match weight {
        Weight::Note => "note: ",
        Weight::Warning => "WARNING: ",
        Weight::Bad => "ERROR: ",
    }
}
