//! CrystalDiskMark's text form: what its `Save` writes, and programs read.

use super::report::{MarkReport, Outcome, Row};
use super::test::{Operation, Profile, Test};
use crate::answer::doubt;
use truespd_platform::text::printable;

const COLUMNS: usize = 78;
const MB: f64 = 1e6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader<'a> {
    /// Programs that read CrystalDiskMark's files: what was not measured is 0 as in those, lines end as in those.
    Program { comment: Option<&'a str> },
    /// A person: only what was asked for, gaps where nothing was measured, and a mark after each line whose
    /// figures may not mean what they seem to mean.
    Person,
}

pub fn text(report: &MarkReport, reader: Reader<'_>) -> String {
    let rule = "-".repeat(COLUMNS);
    let product = format!(
        "TrueSpd {} {} (tests and format of CrystalDiskMark)",
        report.common.tool_version,
        architecture(&report.host.architecture)
    );
    let origin = "CrystalDiskMark: https://crystalmark.info/";
    let mut out = format!("{rule}\n{product}\n{origin:>COLUMNS$}\n{rule}\n");
    out.push_str("* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]\n");
    out.push_str("* KB = 1000 bytes, KiB = 1024 bytes\n\n");
    let mix = report.settings.mix_read_percent;
    for (part, title) in [
        (Operation::Read, "[Read]\n".to_string()),
        (Operation::Write, "[Write]\n".to_string()),
        (Operation::Mix, format!("[Mix] Read {mix}%/Write {}%\n", 100 - mix)),
    ] {
        // CrystalDiskMark always has reads and writes.
        let is_always = reader != Reader::Person && part != Operation::Mix;
        if !is_always && !report.settings.parts.contains(&part) {
            continue;
        }
        out.push_str(&title);
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.part == part).collect();
        for row in &rows {
            out.push_str(&line(&row.test, row.outcome.as_ref(), reader));
        }
        if rows.is_empty() {
            for test in &report.settings.tests {
                out.push_str(&line(test, None, reader));
            }
        }
        out.push('\n');
    }
    out.push_str(&about(report, reader));
    match reader {
        Reader::Program { .. } => out.replace('\n', "\r\n"),
        Reader::Person => out,
    }
}

fn line(test: &Test, outcome: Option<&Outcome>, reader: Reader<'_>) -> String {
    let (block, unit) = test.block();
    let name = format!("{} {block:4}{unit}iB (Q={:3}, T={:2}):", test.kind(), test.queues, test.threads);
    let is_person = reader == Reader::Person;
    let (mb_per_s, iops, us) = match outcome {
        Some(best) => (best.best_bytes_per_s / MB, best.best_iops, best.best_latency_mean_ns / 1e3),
        None if is_person => return format!("  {name}   not measured\n"),
        None => (0.0, 0.0, 0.0),
    };
    // At the end, so that figures stand where scripts expect them.
    let end = match outcome.map_or("", |outcome| doubt(outcome.grade)) {
        mark if is_person && !mark.is_empty() => format!(" {mark}"),
        _ => String::new(),
    };
    format!("  {name} {mb_per_s:9.3} MB/s [{iops:9.1} IOPS] <{us:9.2} us>{end}\n")
}

fn about(report: &MarkReport, reader: Reader<'_>) -> String {
    let settings = &report.settings;
    let profile = match settings.profile {
        Profile::Default => "Default",
        Profile::Peak => "Peak",
        Profile::Real => "Real",
        Profile::Demo => "Demo",
    };
    let size = match settings.size_bytes {
        bytes if bytes.is_multiple_of(1 << 30) => format!("{} GiB", bytes >> 30),
        bytes => format!("{} MiB", bytes >> 20),
    };
    let mut mode = String::new();
    if report.host.is_root {
        mode.push_str(" [Admin]");
    }
    if settings.zero_data {
        mode.push_str(" <0Fill>");
    }
    let host = &report.host;
    let system = format!("{} [{}] ({})", host.system, host.kernel_release, architecture(&host.architecture));
    let comment = match reader {
        Reader::Program { comment: Some(comment) } => {
            // A line end would be the end of the comment, and of the format.
            format!("Comment: {}\n", printable(&comment.split_whitespace().collect::<Vec<_>>().join(" ")))
        }
        _ => String::new(),
    };
    let (measure_s, interval_s) = (settings.measure_s, settings.interval_s);
    // CrystalDiskMark has the blank, too.
    let end = if reader == Reader::Person { "" } else { " " };
    format!(
        "Profile: {profile}\n   Test: {size} (x{}){}\n   Mode:{mode}\n   Time: Measure {measure_s} sec / Interval \
         {interval_s} sec{end}\n   Date: {}\n     OS: {system}\n{comment}",
        settings.loops,
        capacity(report),
        date(&host.local_time)
    )
}

/// ` [/mnt: 45% (214/476GiB)]`, for a device ` [/dev/sdb: 477GiB]`; MiB below 8 GiB.
fn capacity(report: &MarkReport) -> String {
    let place = &report.place;
    let Some(size_bytes) = place.size_bytes.filter(|&bytes| bytes > 0) else { return String::new() };
    let path = printable(&place.path);
    // As CrystalDiskMark writes it.
    let (unit_bytes, unit) = if size_bytes < 8 << 30 { (1u64 << 20, "MiB") } else { (1 << 30, "GiB") };
    let size = size_bytes as f64 / unit_bytes as f64;
    let Some(used_bytes) = place.used_bytes else { return format!(" [{path}: {size:.0}{unit}]") };
    let used = used_bytes as f64 / unit_bytes as f64;
    let percent = used_bytes as f64 / size_bytes as f64 * 100.0;
    format!(" [{path}: {percent:.0}% ({used:.0}/{size:.0}{unit})]")
}

/// CrystalDiskMark's `yyyy/mm/dd h:mm:ss` of `yyyy-mm-ddThh:mm:ss`.
fn date(local_time: &str) -> String {
    let Some((day, time)) = local_time.split_once('T') else { return local_time.to_string() };
    let time = match time.strip_prefix('0') {
        Some(rest) if !rest.starts_with(':') => rest,
        _ => time,
    };
    format!("{} {time}", day.replace('-', "/"))
}

fn architecture(name: &str) -> &str {
    match name {
        "x86_64" => "x64",
        "aarch64" => "ARM64",
        "x86" => "x86",
        other => other,
    }
}

#[cfg(test)]
mod tests_of_dates {
    use super::*;

    #[test]
    fn dates_are_written_as_crystaldiskmark_writes_them() {
        assert_eq!(date("2026-11-01T09:05:00"), "2026/11/01 9:05:00");
        assert_eq!(date("2026-11-01T19:05:00"), "2026/11/01 19:05:00");
        assert_eq!(date("2026-11-01T00:05:00"), "2026/11/01 0:05:00");
    }
}
