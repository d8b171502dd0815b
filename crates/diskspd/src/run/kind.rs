//! What a file holds, by how it begins: an output replaces only a file of its own kind.

/// How a result as text begins.
const COMMAND_LINE: &str = "Command Line: ";
const INPUT: &str = "Input parameters:";
/// How scripts of completions begin, those of zsh after a line for zsh.
const COMPLETION: &str = "# Completion of diskspd and truespd";
const COMPDEF: &str = "#compdef ";
/// How much of a file is looked at.
pub const HEAD_BYTES: usize = 4096;

/// What an output of one format writes, and how it is known.
#[derive(Debug)]
pub struct Kind {
    /// Name of the format, as [`crate::request::Output`] has it.
    format: &'static str,
    /// What such a file holds, as a refusal says it.
    pub what: &'static str,
    /// Whether a file that begins so is one.
    pub begins: fn(&[u8]) -> bool,
}

/// The kinds of all formats, including those of suites and reports.
static KINDS: [Kind; 15] = [
    kind("json", "a result in JSON", |head| is_json(head, "truespd-")),
    kind("xml", "a result in XML", |head| is_markup(head, &["<Results"])),
    kind("text", "a result as text", is_text),
    kind("csv", "a table of a result", is_table),
    kind("intervals", "a table of a result", is_table),
    kind("metrics", "metrics of a run", |head| head.starts_with(b"# HELP truespd_")),
    kind("events", "events of runs", |head| head.starts_with(b"{\"time\":") && has(head, "\"event\":")),
    kind("page", "a page of TrueSpd", |head| is_markup(head, &["<!doctype html>", "<!-- TrueSpd "])),
    kind("svg", "a picture of TrueSpd", |head| is_markup(head, &["<svg ", "<!-- TrueSpd -->"])),
    kind("png", "a picture of TrueSpd", |head| head.starts_with(b"\x89PNG\r\n") && has(head, "TrueSpd")),
    kind("junit", "gates as JUnit XML", |head| is_markup(head, &["<testsuites", "truespd compare"])),
    kind("save", "results of CrystalDiskMark's tests", |head| {
        head.starts_with(b"-----")
            && has(first_lines::<2>(head)[1].as_bytes(), "(tests and format of CrystalDiskMark)")
    }),
    kind("profile", "a profile", |head| is_markup(head, &["<Profile"])),
    kind("kept", "exported results", |head| is_json(head, "truespd-history")),
    kind("folder", "a page or script of this program", is_generated),
];

const fn kind(format: &'static str, what: &'static str, begins: fn(&[u8]) -> bool) -> Kind {
    Kind { format, what, begins }
}

/// The kind of a format that [`crate::request::Output`] names.
pub fn of(format: &str) -> &'static Kind {
    KINDS.iter().find(|kind| kind.format == format).expect("every format of an output is in the table")
}

fn has(head: &[u8], words: &str) -> bool {
    String::from_utf8_lossy(head).contains(words)
}

/// A document whose first member is a format that begins so.
fn is_json(head: &[u8], format: &str) -> bool {
    let packed: Vec<u8> = head.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    packed.starts_with(format!("{{\"format\":\"{format}").as_bytes())
}

/// The first of the parts is the first element, behind a declaration; the others come later.
fn is_markup(head: &[u8], parts: &[&str]) -> bool {
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let text = match text.split_once("?>") {
        Some((declaration, rest)) if declaration.starts_with("<?xml") => rest.trim_start(),
        _ => text,
    };
    text.starts_with(parts[0]) && parts.iter().all(|part| text.contains(part))
}

/// The first lines that are not empty; as many as there are, and empty ones for the others.
fn first_lines<const N: usize>(head: &[u8]) -> [String; N] {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().filter(|line| !line.is_empty());
    std::array::from_fn(|_| lines.next().unwrap_or_default().to_string())
}

/// A result as text begins with the command line and goes on with what that asks for, which a long line hides.
fn is_text(head: &[u8]) -> bool {
    let [first, second] = first_lines(head);
    first.starts_with(COMMAND_LINE) && (second.is_empty() || second == INPUT)
}

/// A manual page or a script of completions.
fn is_generated(head: &[u8]) -> bool {
    let [first, second] = first_lines(head);
    let script = if first.starts_with(COMPDEF) { &second } else { &first };
    (first.starts_with(".TH") && has(first.as_bytes(), "\"TrueSpd Manual\""))
        || script.starts_with(COMPLETION)
}

/// The names of columns, of which one is a rate. A sweep has columns for the switches that it varies: `-o`, `--zipf`.
fn is_table(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let names = text.lines().next().unwrap_or_default();
    names.split(',').all(is_column)
        && names.contains(",")
        && (names.contains("bytes_per_s") || names.contains("read_iops"))
}

fn is_column(name: &str) -> bool {
    let is_switch = name.starts_with('-');
    name.chars().all(|c| match c {
        '-' | 'A'..='Z' => is_switch,
        c => c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_',
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_a_sweep_is_known_by_its_switches() {
        assert!(is_table(b"-o,-F,--zipf,outstanding,threads,iops,bytes_per_s\n1,"));
        assert!(!is_table(b"O,outstanding,bytes_per_s\n"));
    }

    #[test]
    fn only_the_own_kind_is_known() {
        let heads: [(&str, &[u8]); 11] = [
            ("json", b"{\n  \"format\": \"truespd-sweep\",\n"),
            ("xml", b"<Results>\n  <System>\n"),
            ("text", b"\nCommand Line: diskspd f\n"),
            ("csv", b"outstanding,threads,iops,iops_low,iops_high,bytes_per_s,latency_mean_ns\n"),
            ("metrics", b"# HELP truespd_build_info Always 1\n"),
            ("events", b"{\"time\":\"2026-11-28T21:17:08.293Z\",\"event\":\"begin\"}\n"),
            ("page", b"<!doctype html><!-- TrueSpd report, version 1 -->\n"),
            ("junit", b"<?xml version=\"1.0\"?>\n<testsuites>\n<testsuite name=\"truespd compare\">"),
            ("save", b"-----\nTrueSpd 0.1.0 x64 (tests and format of CrystalDiskMark)\n"),
            (
                "folder",
                b"#compdef truespd\n\n# Completion of diskspd and truespd, made by truespd completions.\n",
            ),
            ("profile", b"\xef\xbb\xbf<Profile>\n"),
        ];
        for (format, _) in heads {
            for (other, head) in heads {
                assert_eq!((of(format).begins)(head), format == other, "{other} as {format}");
            }
        }
        let others: [&[u8]; 11] = [
            b"notes",
            b"My notes\n\nCommand Line: diskspd f\n",
            b"Command Line: diskspd f\nwas slow\n",
            b"notes\n(tests and format of CrystalDiskMark)",
            b"#!/bin/sh\n# runs diskspd every night\n",
            b".TH FIO 1\n",
            b"{\"format\":\"other\"}",
            b"<html>",
            b"name,bytes_per_s, \n",
            b"\x89PNG\r\n\x1a\n",
            b"<svg >",
        ];
        for head in others {
            assert!(KINDS.iter().all(|kind| !(kind.begins)(head)), "{}", String::from_utf8_lossy(head));
        }
    }
}
