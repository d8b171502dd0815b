//! What each host of a sum did, as every format shows it.

use crate::support::documents::{Recipe, document};
use crate::support::killed::run;
use crate::support::program::Lab;
use diskspd::render::{text, xml};
use truespd_core::result::merge::Merger;
use truespd_core::result::{Document, Grade, Rank, Source, TimeSpanResult, Verdict, Window, json};

const RECIPE: Recipe = Recipe { latency: true, threads: 2, ..Recipe::PLAIN };

fn host(name: &str, number: u64) -> Document {
    let mut result = document(&RECIPE, number);
    result.system.computer_name = name.to_string();
    result.verdict = Some(Verdict { grade: Grade::Certified, ..Verdict::default() });
    let TimeSpanResult::Measured(measured) = &mut result.time_spans[0] else { panic!("measured") };
    measured.test_time_s = 10.0;
    let start_unix_ns = 1_700_000_000_000_000_000 + number * 1_000_000;
    measured.evidence.window = Some(Window { start_unix_ns, end_unix_ns: start_unix_ns + 10_000_000_000 });
    // Rates that are alike.
    for target in measured.threads.iter_mut().flat_map(|thread| &mut thread.targets) {
        (target.read.ios, target.read.bytes) = (50_000 + number, (50_000 + number) << 12);
        (target.write.ios, target.write.bytes) = (0, 0);
    }
    result
}

fn sum(hosts: impl IntoIterator<Item = Document>) -> Document {
    let mut merger = Merger::new(false);
    hosts.into_iter().for_each(|host| merger.add("it", host).expect("the same test"));
    merger.finish().expect("a sum").document
}

/// The sum of so many hosts, the third of which is slow.
fn of(count: u64) -> Document {
    sum((0..count).map(|number| {
        let mut host = host(&format!("host-{number:02}"), number);
        if number == 2 {
            let TimeSpanResult::Measured(measured) = &mut host.time_spans[0] else { panic!("measured") };
            measured.threads[0].targets[0].read.ios = 1_000;
        }
        host
    }))
}

fn computer_names(document: &Document) -> (String, String) {
    let text = text(document);
    let of_text = text.lines().find_map(|line| line.trim().strip_prefix("computer name: ")).expect("a name");
    let xml = xml::results(document);
    let (_, rest) = xml.split_once("<ComputerName>").expect("a name");
    (of_text.to_string(), rest.split_once('<').expect("an end").0.to_string())
}

#[test]
fn several_hosts_are_told_by_their_number() {
    let both = |words: &str| (words.to_string(), words.to_string());
    assert_eq!(computer_names(&host("a", 0)), both("a"));
    assert_eq!(computer_names(&sum([host("a", 0), host("a", 1)])), both("a"));
    assert_eq!(computer_names(&sum([host("a", 0), host("b", 1), host("b", 2)])), both("2 hosts"));
    let mut odd = host("<&>", 0);
    assert!(computer_names(&odd).1.contains("&lt;&amp;"), "names stay names");
    odd.sources = vec![Source::default()];
    assert_eq!(computer_names(&odd).0, "<&>", "one source is one host");
}

/// What DiskSpd prints comes first and is what it would be; then hosts, slowest and fastest where they are many.
#[test]
fn the_hosts_of_a_sum_stand_behind_its_text() {
    let one = text(&host("a", 0));
    assert!(!one.contains("TrueSpd"), "{one}");
    let few = text(&of(4));
    let (own, ours) = few.split_once("\n\nHosts of timespan 1 (TrueSpd):\n").expect("a section");
    assert!(own.contains("Total IO") && own.contains("max |"), "{own}");
    assert_eq!(own.matches(" on host-03\n").count(), 6, "two threads in three tables: {own}");
    let rows: Vec<&str> = ours.lines().filter(|line| line.starts_with("host-")).collect();
    assert_eq!(rows.len(), 4, "{ours}");
    let cells: Vec<&str> = rows[1].split('|').map(str::trim).collect();
    // Two threads on one target with a little more than 50,000 I/Os of 4 KiB each, in 10 s.
    assert_eq!(cells[..5], ["host-01", "409608192", "100002", "39.06", "10000.20"]);
    assert_eq!(cells[8], "1.000", "late by a millisecond");
    assert!(ours.contains("I/O per s of 4 results: smallest 5100.20, median"), "{ours}");
    assert!(ours.contains("far from the others: host-02 with 5100.20 I/O per s"), "{ours}");

    let many = text(&of(40));
    let (own, ours) = many.split_once("\n\nHosts of timespan 1 (TrueSpd):\n").expect("a section");
    assert!(!own.contains(" on host-") && own.matches("   all | ").count() == 3, "{own}");
    let shown: Vec<&str> =
        ours.lines().filter_map(|line| line.get(..7).filter(|name| name.starts_with("host-"))).collect();
    assert_eq!(shown[..6], ["host-02", "host-00", "host-01", "host-03", "host-04", "host-35"]);
    assert_eq!(shown[shown.len() - 1], "host-39");
    assert!(ours.contains("... 30 more hosts between 10001.00 and 10006.80 I/O per s"), "{ours}");
    // The sum is the same, however its rows are folded.
    let total = |text: &str| {
        text.lines().find(|line| line.starts_with("total:")).map(|line| line[9..24].trim().to_string())
    };
    let bytes = |count: u64| (0..count).map(|n| 2 * ((50_000 + n) << 12)).sum::<u64>();
    assert_eq!((total(&few), total(&many)), (Some(bytes(4).to_string()), Some(bytes(40).to_string())));
}

#[test]
fn threads_in_xml_name_their_host() {
    assert!(!xml::results(&host("a", 0)).contains("TrueSpd"));
    let document = xml::results(&sum([host("a", 0), host("b", 1)]));
    let read = roxmltree::Document::parse(&document).expect("well-formed");
    let threads: Vec<(String, String)> = read
        .descendants()
        .filter(|node| node.has_tag_name("Thread") && node.children().any(|child| child.has_tag_name("Id")))
        .map(|thread| {
            let of = |name| {
                thread.children().find(|child| child.has_tag_name(name)).and_then(|child| child.text())
            };
            (of("Id").unwrap_or_default().to_string(), of("TrueSpdHost").unwrap_or_default().to_string())
        })
        .collect();
    let expected = [("0", "a"), ("1", "a"), ("2", "b"), ("3", "b")];
    assert_eq!(threads, expected.map(|(id, host)| (id.to_string(), host.to_string())));
}

#[test]
fn commands_show_the_hosts_of_a_sum() {
    let lab = Lab::new();
    for number in 0..4 {
        let mut host = host(&format!("node-{number}"), number);
        host.rank = Some(Rank { run: "r".into(), rank: number as u32, ranks: 5, ..Rank::default() });
        lab.write(&format!("{number}.json"), json::write(&host).as_bytes());
    }
    let merged = run(&lab, "merge 0.json 1.json 2.json 3.json --json sum.json").expect_code(0);
    for words in
        ["1 rank is missing in this sum of 4 of 5 results: rank 4", "verdict: suspect: host-missing: "]
    {
        assert!(merged.stderr.contains(words), "{words}\n{}", merged.stderr);
    }
    let all = run(&lab, "merge 0.json 1.json 2.json 3.json --json sum.json --verdict").expect_code(0);
    assert!(all.stderr.contains("-> look at the named hosts"), "{}", all.stderr);
    let shown = run(&lab, "show sum.json").expect_code(0).stdout;
    for words in [
        " on 4 hosts\n",
        "hosts      10,000 to 10,001 IOPS",
        "\nnode-3 ",
        "\nmissing    rank 4 (no result was given)\n",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    // What was judged is in the document.
    let judged = run(&lab, "judge sum.json --require certified").expect_code(5).stdout;
    assert!(judged.contains("host-missing"), "{judged}");
    // Also where only one rank is left.
    run(&lab, "merge 0.json --json one.json").expect_code(0);
    let one = run(&lab, "show one.json").expect_code(0).stdout;
    assert!(
        one.contains(" on node-0\n") && one.contains("\nmissing    rank 1 (no result was given); rank 2"),
        "{one}"
    );
    let one = run(&lab, "render one.json").expect_code(0).stdout;
    assert!(one.contains("\nmissing: rank 1 (no result was given)\n"), "{one}");
    run(&lab, "report sum.json -o page.html").expect_code(0);
    let page = String::from_utf8(lab.read("page.html")).expect("text");
    for words in [
        "<h2>Hosts</h2>",
        "4 results of 4 hosts, from 10,000 to 10,001 IOPS",
        ">node-3</th>",
        "Missing: rank 4 (no result was given).",
        "thread 7 on node-3",
    ] {
        assert!(page.contains(words), "{words}");
    }
}
