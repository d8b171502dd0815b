//! CrystalDiskMark's text, number for number, so that what reads its results reads these.

use super::{MarkReport, Operation, Profile, Row};
use truespd_core::text::printable;

/// Of its header.
const COLUMNS: usize = 78;
const MB: f64 = 1e6;

/// Who reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader<'a> {
    /// Programs that read CrystalDiskMark's files: what was not measured is 0 as in those, lines end as in those.
    Program {
        /// CrystalDiskMark's line `Comment:`.
        comment: Option<&'a str>,
    },
    /// A person: only what was asked for, gaps where nothing was measured, and a mark after each line whose
    /// figures may not mean what they seem to mean.
    Person,
}

/// All of it.
pub fn text(report: &MarkReport, reader: Reader<'_>) -> String {
    let rule = "-".repeat(COLUMNS);
    let product = format!(
        "TrueSpd {} {} (tests and format of CrystalDiskMark)",
        report.tool_version,
        architecture(&report.host.architecture)
    );
    let origin = "CrystalDiskMark: https://crystalmark.info/";
    let mut out = format!("{rule}\n{product}\n{origin:>COLUMNS$}\n{rule}\n");
    out.push_str("* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]\n");
    out.push_str("* KB = 1000 bytes, KiB = 1024 bytes\n\n");
    for part in parts(report, reader) {
        out.push_str(&title(part, report.settings.mix_read_percent));
        for row in rows(report, part) {
            out.push_str(&line(&row, reader));
        }
        out.push('\n');
    }
    out.push_str(&about(report, reader));
    match reader {
        Reader::Program { .. } => out.replace('\n', "\r\n"),
        Reader::Person => out,
    }
}

/// CrystalDiskMark always has reads and writes.
fn parts(report: &MarkReport, reader: Reader<'_>) -> Vec<Operation> {
    let is_asked = |part| report.settings.parts.contains(&part);
    let is_there = |&part: &Operation| is_asked(part) || (reader != Reader::Person && part != Operation::Mix);
    [Operation::Read, Operation::Write, Operation::Mix].into_iter().filter(is_there).collect()
}

fn title(part: Operation, mix_read_percent: u32) -> String {
    match part {
        Operation::Read => "[Read]\n".into(),
        Operation::Write => "[Write]\n".into(),
        Operation::Mix => format!("[Mix] Read {mix_read_percent}%/Write {}%\n", 100 - mix_read_percent),
    }
}

/// The rows of a part; of a part that was not asked for, the tests without results.
fn rows(report: &MarkReport, part: Operation) -> Vec<Row> {
    let asked: Vec<Row> = report.rows.iter().filter(|row| row.part == part).cloned().collect();
    if !asked.is_empty() {
        return asked;
    }
    let empty = |&test| Row {
        test,
        part,
        words: Vec::new(),
        profile: None,
        discarded: None,
        loops: Vec::new(),
        outcome: None,
    };
    report.settings.tests.iter().map(empty).collect()
}

fn line(row: &Row, reader: Reader<'_>) -> String {
    let (block, unit) = row.test.block();
    let name =
        format!("{} {block:4}{unit}iB (Q={:3}, T={:2}):", row.test.kind(), row.test.queues, row.test.threads);
    let is_person = reader == Reader::Person;
    let (mb_per_s, iops, us) = match &row.outcome {
        Some(best) => (best.best_bytes_per_s / MB, best.best_iops, best.best_latency_mean_ns / 1e3),
        None if is_person => return format!("  {name}   not measured\n"),
        None => (0.0, 0.0, 0.0),
    };
    // At the end, so that figures stand where scripts expect them.
    let marked = row.outcome.as_ref().filter(|_| is_person).and_then(|outcome| mark(outcome.grade));
    let end = marked.map(|mark| format!(" {mark}")).unwrap_or_default();
    format!("  {name} {mb_per_s:9.3} MB/s [{iops:9.1} IOPS] <{us:9.2} us>{end}\n")
}

/// What stands behind a line for people; nothing behind a certified one.
pub fn mark(grade: truespd_core::result::Grade) -> Option<char> {
    use truespd_core::result::Grade;
    match grade {
        Grade::Certified => None,
        Grade::Suspect => Some('?'),
        Grade::Invalid => Some('!'),
    }
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
    let units = |bytes: u64| bytes as f64 / unit_bytes as f64;
    match place.used_bytes {
        Some(used_bytes) => format!(
            " [{path}: {:.0}% ({:.0}/{:.0}{unit})]",
            used_bytes as f64 / size_bytes as f64 * 100.0,
            units(used_bytes),
            units(size_bytes)
        ),
        None => format!(" [{path}: {:.0}{unit}]", units(size_bytes)),
    }
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

/// As CrystalDiskMark calls it.
fn architecture(name: &str) -> &str {
    match name {
        "x86_64" => "x64",
        "aarch64" => "ARM64",
        "x86" => "x86",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_crystaldiskmark_writes_them() {
        assert_eq!(date("2026-11-01T09:05:00"), "2026/11/01 9:05:00");
        assert_eq!(date("2026-11-01T19:05:00"), "2026/11/01 19:05:00");
        assert_eq!(date("2026-11-01T00:05:00"), "2026/11/01 0:05:00");
    }
}
