//! DiskSpd 2.2's XML result (`xml.md`).
//!
//! Element order, counts and number formats are the contract. Sums are merged, never averaged; no figure
//! is NaN, infinite or negative. Latencies are milliseconds, sizes bytes, rates per second.

mod cpu;
mod figure;
mod iops;
mod latency;
mod system;
mod thread;

use super::tally::measured;
use figure::{Fixed, milliseconds};
use truespd_core::profile::TimeSpan;
use truespd_core::profile::xml::{Writer, write};
use truespd_core::result::hosts::names;
use truespd_core::result::{Document, Measured, System};

/// The whole document as DiskSpd 2.2 XML. As there, no line end follows `</Results>`.
pub fn results(document: &Document) -> String {
    let mut out = Writer::new(0);
    out.open("Results", &[]);
    let system = System { computer_name: document.host_words(), ..document.system.clone() };
    system::system(&mut out, &system);
    out.lines(&write(&document.profile, 1));
    for (index, span) in document.profile.time_spans.iter().enumerate() {
        time_span(&mut out, document, index, span);
    }
    out.close("Results");
    let mut text = out.finish();
    text.truncate(text.trim_end().len());
    text
}

/// The `System` element alone, as `-Rsxml` prints it.
pub fn system(system: &System) -> String {
    let mut out = Writer::new(0);
    system::system(&mut out, system);
    out.finish()
}

fn time_span(out: &mut Writer, document: &Document, index: usize, span: &TimeSpan) {
    out.open("TimeSpan", &[]);
    match document.time_spans.get(index).and_then(measured) {
        None => {
            out.leaf(
                "Error",
                "The test was interrupted before the measurements began. No results are displayed.",
            );
        }
        Some(measured) => numbers(out, document, index, span, measured),
    }
    out.close("TimeSpan");
}

fn numbers(out: &mut Writer, document: &Document, index: usize, span: &TimeSpan, measured: &Measured) {
    let processors = &document.system.topology.processors;
    out.leaf("TestTimeSeconds", Fixed(measured.test_time_s, 2));
    out.leaf("ThreadCount", document.threads_of(index));
    out.leaf("RequestCount", span.request_count);
    out.leaf("ProcCount", processors.len());
    cpu::utilization(out, &document.system, &measured.cpu);
    if span.measure_latency {
        latency::summary(out, measured);
    }
    if span.calculate_iops_std_dev {
        iops::of_time_span(out, measured);
    }
    let names = if document.sources.len() > 1 { names(&document.sources) } else { Vec::new() };
    for thread in &measured.threads {
        let host = thread.source.and_then(|source| names.get(source as usize));
        thread::thread(out, span, thread, host, document.profile.verbose_stats);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_numbers() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, -1.0] {
            assert_eq!(Fixed(bad, 3).to_string(), "0.000");
        }
        assert_eq!(Fixed(2.0 / 3.0, 2).to_string(), "0.67");
        assert_eq!(Fixed(1754.4, 0).to_string(), "1754");
        assert_eq!(milliseconds(1_234_567.0).to_string(), "1.235");
    }
}
