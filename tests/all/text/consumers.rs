//! Readers of DiskSpd's text as found in the wild (`text-output.md` §14), each re-created by its habits: if one
//! of these breaks, scripts of users break. Each reads the text alone, and with all that stands below it where both
//! streams of the program are one (`2>&1`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::support::documents::{Machine, Ranges, Recipe, document};
use crate::support::program::{Lab, Running};
use diskspd::render::text;
use truespd_core::result::{Document, Measured, TimeSpanResult};

const RECIPE: Recipe = Recipe { latency: true, iops: true, targets: 2, threads: 2, ..Recipe::PLAIN };

/// What a run says below its text where both streams are one: notes, warnings, and all of the verdict.
static BELOW: LazyLock<String> = LazyLock::new(|| {
    let lab = Lab::new();
    let line =
        "exec \"$0\" -c1M -b4K -t2 -g409.6 -d1 -W0 --engine sim:latency=1ms --verdict --text r.txt f 2>&1";
    let mut shell = lab.command_behind(&["sh", "-c", line], "");
    shell.env_remove("TRUESPD_QUIET");
    let ran = Running::new(shell, line).finish().expect_code(0);
    let result = String::from_utf8(lab.read("r.txt")).expect("text");
    let below = ran.stdout.strip_prefix(&result).unwrap_or_else(|| panic!("the result comes first\n{ran}"));
    for words in ["\nnote: ", "\nWARNING: ", "\nverdict: ", " checked\n"] {
        assert!(below.contains(words), "{words}\n{ran}");
    }
    below.trim_start_matches('\n').to_string()
});

/// The text of a document, alone and with what stands below it.
fn texts(document: &Document) -> [String; 2] {
    let text = text(document);
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    let merged = format!("{text}{line_end}\n{}", *BELOW);
    [text, merged]
}

fn measured(document: &Document) -> &Measured {
    match &document.time_spans[0] {
        TimeSpanResult::Measured(measured) => measured,
        TimeSpanResult::NotMeasured => panic!("the recipe measures"),
    }
}

/// Bytes and I/Os of reads and of writes.
fn counts(document: &Document) -> [(u64, u64); 2] {
    let targets = || measured(document).threads.iter().flat_map(|thread| &thread.targets);
    let read = targets().fold((0, 0), |sum, target| (sum.0 + target.read.bytes, sum.1 + target.read.ios));
    let write = targets().fold((0, 0), |sum, target| (sum.0 + target.write.bytes, sum.1 + target.write.ios));
    [read, write]
}

fn close(text: &str, value: f64, decimals: i32) {
    let figure: f64 = text.trim().parse().unwrap_or_else(|_| panic!("{text:?} is a number"));
    assert!((figure - value).abs() <= 0.5001 * 10f64.powi(-decimals), "{figure} for {value}");
}

/// `($out | ? {$_ -like 'total:*'} | select -First 1).Split('|')`
#[test]
fn powershell_splits_the_first_total_line() {
    for (latency, iops) in [(false, false), (true, false), (false, true), (true, true)] {
        let document = document(&Recipe { latency, iops, ..RECIPE }, 21);
        for text in texts(&document) {
            splits_the_first_total_line(&text, &document, (latency, iops));
        }
    }
}

fn splits_the_first_total_line(text: &str, document: &Document, (latency, iops): (bool, bool)) {
    let line = text.lines().find(|line| line.starts_with("total:")).expect("a total line");
    let fields: Vec<&str> = line.split('|').collect();
    let [read, write] = counts(document);
    let time_s = measured(document).test_time_s;
    assert_eq!(fields[0].trim_start_matches("total:").trim(), (read.0 + write.0).to_string());
    assert_eq!(fields[1].trim(), (read.1 + write.1).to_string());
    close(fields[2], (read.0 + write.0) as f64 / 1_048_576.0 / time_s, 2);
    close(fields[3], (read.1 + write.1) as f64 / time_s, 2);
    assert_eq!(fields.len(), 4 + 2 * usize::from(latency) + usize::from(iops));
    if latency || iops {
        // AvgLat has three decimals, IopsStdDev, which stands here without -L, has two.
        let decimals = fields[4].trim().split('.').nth(1).expect("decimals").len();
        assert_eq!(decimals, if latency { 3 } else { 2 });
    }
}

/// `($out | ? {$_ -like 'avg.*'}).Split('|')[1]`: works where no lead column indents the line, as in 2.2.
#[test]
fn powershell_splits_the_average_line() {
    let avg = |text: &str| text.lines().find(|line| line.starts_with("avg.")).map(str::to_string);
    let plain = document(&Recipe { machine: Machine::Plain, ..RECIPE }, 22);
    let cpu = &measured(&plain).cpu;
    let usage = cpu.iter().map(|cpu| cpu.usage()).sum::<f64>() / cpu.len() as f64;
    for text in texts(&plain) {
        let line = avg(&text).expect("an average line");
        let field = line.split('|').nth(1).expect("a field").trim();
        close(field.strip_suffix('%').expect("percent"), usage, 2);
    }
    for text in texts(&document(&Recipe { machine: Machine::Smt, ..RECIPE }, 22)) {
        assert!(avg(&text).is_none(), "2.2 indents it on machines with hyperthreads");
    }
}

/// `^(\w+)\s*IO`
fn table_start(line: &str) -> Option<&str> {
    let word_end = line.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (word_end > 0 && line[word_end..].trim_start().starts_with("IO")).then_some(&line[..word_end])
}

/// `^\s*\d+ \|`
fn is_row(line: &str) -> bool {
    let body = line.trim_start();
    let tail = body.trim_start_matches(|c: char| c.is_ascii_digit());
    tail.len() < body.len() && tail.starts_with(" |")
}

/// `^total:\s+(\d+)\s\|\s+(\d+)\s\|\s+([\d.]+)\s\|\s+([\d.]+)`
fn total_row(line: &str) -> Option<[f64; 4]> {
    let mut fields = line.strip_prefix("total:")?.split('|').map(|field| field.trim().parse());
    Some([(); 4].map(|()| fields.next().and_then(Result::ok).expect("a number")))
}

#[test]
fn regex_table_readers() {
    let document = document(&Recipe { ranges: Ranges::Percent, machine: Machine::Plain, ..RECIPE }, 23);
    for text in texts(&document) {
        reads_tables_by_regex(&text, &document);
    }
}

fn reads_tables_by_regex(text: &str, document: &Document) {
    let mut table = None;
    let mut headers = 0;
    let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
    let mut totals = BTreeMap::new();
    let (mut in_cpu, mut cpus) = (false, 0);
    for line in text.lines() {
        if let Some(name) = table_start(line) {
            table = Some(name);
            in_cpu = false;
        } else if line.starts_with("thread |") {
            headers += 1;
        } else if line.starts_with("CPU |") {
            in_cpu = true;
        } else if let Some(name) = table.filter(|_| is_row(line)) {
            *rows.entry(name).or_insert(0) += 1;
        } else if let Some(total) = total_row(line) {
            totals.insert(table.expect("inside a table"), total);
        } else if in_cpu && line.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            // ^\s*\d+\|\s+([\d.]+)%\|
            let figure = line.split("| ").nth(1).expect("a cell").trim();
            figure.trim_end_matches("%|").trim_end_matches('%').parse::<f64>().expect("usage");
            cpus += 1;
        }
    }
    assert_eq!(headers, 3);
    assert_eq!(cpus, 2);
    assert_eq!(rows, BTreeMap::from([("Read", 4), ("Total", 4), ("Write", 4)]));
    let [read, write] = counts(document);
    assert_eq!((totals["Read"][0], totals["Read"][1]), (read.0 as f64, read.1 as f64));
    assert_eq!((totals["Write"][0], totals["Write"][1]), (write.0 as f64, write.1 as f64));
    assert_eq!(totals["Total"][1], (read.1 + write.1) as f64);
}

/// The line with the title, two lines skipped, then cells until an empty line.
#[test]
fn percentile_readers() {
    let document = document(&Recipe { waits: true, ..RECIPE }, 24);
    for text in texts(&document) {
        reads_percentiles(&text, &document);
    }
}

fn reads_percentiles(text: &str, document: &Document) {
    let mut lines = text.lines().skip_while(|line| !line.contains("Total latency distribution:")).skip(3);
    let mut chart = BTreeMap::new();
    for line in lines.by_ref().take_while(|line| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        chart.insert(
            cells[0],
            cells[1..].iter().map(|cell| cell.parse::<f64>().expect("ms")).collect::<Vec<_>>(),
        );
    }
    let labels = [
        "25th", "3-nines", "4-nines", "5-nines", "50th", "6-nines", "7-nines", "75th", "8-nines", "9-nines",
        "90th", "95th", "99th", "max", "min",
    ];
    assert_eq!(chart.keys().copied().collect::<Vec<_>>(), labels);
    assert!(chart.values().all(|cells| cells.len() == 3));
    let targets = measured(document).threads.iter().flat_map(|thread| &thread.targets);
    let max =
        targets.filter_map(|target| target.write.latency.as_ref()).map(|latency| latency.max_ns()).max();
    assert!((chart["max"][1] - max.expect("writes") as f64 / 1e6).abs() < 0.00051);
    // One pattern per label, the first hit in the document being that of the first chart.
    for label in labels {
        assert!(text.lines().any(|line| line.trim_start().starts_with(&format!("{label} |"))), "{label}");
    }
}

/// Blocks between empty lines, titled by their first line, columns found by header name.
#[test]
fn section_readers() {
    let document = document(&RECIPE, 25);
    for text in texts(&document) {
        reads_sections(&text, &document);
    }
}

fn reads_sections(text: &str, document: &Document) {
    let blocks = text.split("\n\n").filter_map(|block| {
        let mut lines = block.lines().filter(|line| !line.starts_with("---"));
        Some((lines.next()?.trim(), lines.collect::<Vec<_>>()))
    });
    let blocks: BTreeMap<&str, Vec<&str>> = blocks.collect();
    let [read, write] = counts(document);
    for (title, ios) in [("Total IO", read.1 + write.1), ("Read IO", read.1), ("Write IO", write.1)] {
        let block = &blocks[title];
        let header: Vec<&str> = block[0].split('|').map(str::trim).collect();
        for name in ["bytes", "I/Os", "MiB/s", "I/O per s", "AvgLat", "IopsStdDev", "LatStdDev", "file"] {
            assert!(header.contains(&name), "{name} in {header:?}");
        }
        let column = header.iter().position(|name| *name == "I/Os").expect("I/Os");
        let file = header.iter().position(|name| *name == "file").expect("file");
        let rows: Vec<Vec<&str>> =
            block[1..].iter().map(|row| row.split('|').map(str::trim).collect()).collect();
        let (total, rows) = rows.split_last().expect("rows");
        let sum: u64 = rows.iter().map(|row| row[column].parse::<u64>().expect("I/Os")).sum();
        assert_eq!(sum, ios);
        assert!(rows.iter().all(|row| row[file].ends_with(')')));
        // The total row has its label in the cell of the bytes.
        assert_eq!(total[column - 1], ios.to_string());
    }
}

#[test]
fn parameter_readers() {
    let document = document(&Recipe { targets: 1, ..RECIPE }, 26);
    for text in texts(&document) {
        reads_parameters(&text);
    }
}

fn reads_parameters(text: &str) {
    let value = |name: &str| {
        let hits: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix(name)).collect();
        assert_eq!(hits.len(), 1, "{name}");
        hits[0].to_string()
    };
    assert_eq!(value("Command Line: "), "diskspd -b4K -r a b.dat");
    assert_eq!(value("path: "), "'data1.bin'");
    assert_eq!(value("block size: "), "4KiB");
    assert_eq!(value("number of outstanding I/O operations per thread: "), "1");
    assert_eq!(value("threads per file: "), "2");
    assert_eq!(value("performing "), "mix test (read/write ratio: 70/30)");
    assert_eq!(value("duration: "), "2s");
    assert_eq!(value("warm up time: "), "5s");
    assert!(text.contains("(stride: 4KiB)"));
}

/// What the habits above take for granted, over every shape of document.
#[test]
fn labels_stand_where_readers_look_for_them_only() {
    for machine in [Machine::Plain, Machine::Smt, Machine::Everything] {
        for spans in [&[true][..], &[true, true], &[false, true]] {
            let recipe = Recipe { machine, spans, waits: true, ranges: Ranges::Clipped, ..RECIPE };
            let measured = spans.iter().filter(|was_measured| **was_measured).count();
            for text in texts(&document(&recipe, 27)) {
                assert_eq!(text.lines().filter(|line| line.starts_with("total:")).count(), 3 * measured);
                let averages = text.lines().filter(|line| line.trim_start().starts_with("avg.")).count();
                assert_eq!(averages, measured);
                let titles = ["Total IO\n", "Read IO\n", "Write IO\n"];
                assert!(titles.map(|title| text.find(title).expect("a table")).is_sorted());
            }
        }
    }
}
