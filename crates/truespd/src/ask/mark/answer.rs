//! What a mark says.

use super::report::{MarkReport, Outcome};
use super::saved::{self, Reader};
use super::test::Operation;
use crate::answer::bars::{Bar, Bars};
use crate::answer::table::{Cell, Table};
use crate::answer::{Answer, Block, Commands};
use crate::ask::{Spread, SuiteDocument, VOLATILE_CACHE};
use truespd_platform::text::{bytes, duration_ns, number, percent, size};

pub(super) fn of(report: &MarkReport) -> Answer {
    let mut answer = Answer::default();
    answer.title(report.title());
    answer.about(format!("{}\n{}", method(report), storage(report)));
    answer.push(report.verdict.clone());
    answer.push(bars(report));
    let loops = report.settings.loops;
    for (label, empty) in report.rows_with_empty_runs() {
        answer.remark(format!("{label}: {empty} of {loops} runs completed no I/O; use --measure 60"));
    }
    if !report.is_complete {
        answer.remark("The series was stopped before its end.");
    }
    if report.verdict.findings.iter().any(|finding| finding.rule == VOLATILE_CACHE) {
        answer.note(
            "Writes count when the drive's write cache has them, as CrystalDiskMark counts them. --durable counts \
             them when they are durable.",
        );
    }
    answer.push(table(report).on_pages());
    let rows = report.rows.iter().filter(|row| !row.words.is_empty());
    let lines = rows.map(|row| (row.label(), row.words.clone())).collect();
    answer.push(Commands::to_repeat(lines));
    answer.push(Block::Original(saved::text(report, Reader::Person)));
    answer
}

/// When and how it was measured.
fn method(report: &MarkReport) -> String {
    let minutes = report.host.local_time.rsplit_once(':').map_or("", |(minutes, _)| minutes);
    let settings = &report.settings;
    let runs = match settings.loops {
        1 => format!("one run of {} s", settings.measure_s),
        loops => format!("best of {loops} runs of {} s", settings.measure_s),
    };
    let data = if settings.zero_data { "zeros" } else { "random data" };
    let durable = if settings.is_durable { ", durable writes" } else { "" };
    let spread = if settings.loops > 1 { "; \u{b1} half of their range" } else { "" };
    let when = minutes.replace('T', " ");
    format!("{when}: {runs}, {} of {data}{durable}{spread}", size(settings.size_bytes))
}

/// How full it was, and the system.
fn storage(report: &MarkReport) -> String {
    let (host, place) = (&report.host, &report.place);
    let room = match (place.used_bytes, place.size_bytes) {
        (Some(used), Some(all)) if all > 0 => {
            format!("{} of {} in use, ", percent(used as f64 / all as f64), bytes(all as f64))
        }
        (_, Some(all)) => format!("{}, ", bytes(all as f64)),
        (_, None) => String::new(),
    };
    format!("{room}{}, Linux {}", host.system, host.kernel_release)
}

/// The rates of each test: reads, writes and mixed beside each other.
fn bars(report: &MarkReport) -> Bars {
    let settings = &report.settings;
    let mut bars = Bars {
        title: "Reads and writes".into(),
        about: "1 MB is 1,000,000 bytes. A name tells the pattern (SEQ: sequential, RND: random), the block size, the \
                I/Os outstanding per thread (Q) and the threads (T). The rate and its IOPS are those of the best run, \
                the latency is the smallest mean, as in CrystalDiskMark."
            .into(),
        heads: settings.parts.iter().map(|part| head(*part, settings.mix_read_percent)).collect(),
        is_of_pages: false,
        full: None,
        rows: Vec::new(),
    };
    if settings.loops > 1 {
        bars.about +=
            " The line on a bar reaches from the slowest run to the fastest; \u{b1} is half of that range.";
    }
    for test in &settings.tests {
        let mut row = Vec::new();
        for (colour, part) in settings.parts.iter().enumerate() {
            let found = report.rows.iter().find(|row| row.part == *part && row.test == *test);
            row.push(found.and_then(|row| row.outcome.as_ref()).map(|outcome| bar(outcome, colour)));
        }
        bars.rows.push((test.to_string(), row));
    }
    bars
}

fn head(part: Operation, mix_read_percent: u32) -> String {
    match part {
        Operation::Read => "READ".into(),
        Operation::Write => "WRITE".into(),
        Operation::Mix => format!("MIX ({mix_read_percent} % reads)"),
    }
}

fn bar(of: &Outcome, colour: usize) -> Bar {
    let (iops, latency) = (number(of.best_iops), duration_ns(of.best_latency_mean_ns));
    Bar {
        value: of.best_bytes_per_s,
        range: [of.bytes_per_s.min, of.bytes_per_s.max],
        colour,
        words: mb_per_s(of.best_bytes_per_s),
        more: format!("{iops} IOPS, {latency}{}", half_range(of.bytes_per_s)),
        grade: Some(of.grade),
    }
}

/// Everything of each test in a row.
fn table(report: &MarkReport) -> Table {
    let head = ["test", "rate", "IOPS", "mean latency", "median rate", "median latency", "verdict"];
    let mut table = Table::new("Figures", head);
    for row in &report.rows {
        let Some(of) = &row.outcome else {
            table.push(row.label(), vec![Cell::Text("not measured".into())]);
            continue;
        };
        let [rate, latency] = [of.bytes_per_s, of.latency_mean_ns];
        table.push(
            row.label(),
            vec![
                Cell::Text(mb_per_s(of.best_bytes_per_s)),
                Cell::Figure(of.best_iops, number),
                Cell::Figure(of.best_latency_mean_ns, duration_ns),
                Cell::Text(mb_per_s(rate.median) + &half_range(rate)),
                Cell::Text(duration_ns(latency.median) + &half_range(latency)),
                Cell::Grade(Some(of.grade)),
            ],
        );
    }
    table
}

/// The unit of CrystalDiskMark at any rate.
fn mb_per_s(bytes_per_s: f64) -> String {
    format!("{} MB/s", number(bytes_per_s / 1e6))
}

/// ` ±7.4 %`; a single run has no range.
fn half_range(spread: Spread) -> String {
    if spread.count == 1 { String::new() } else { format!(" \u{b1}{:.1} %", spread.percent()) }
}
