//! `truespd report`: pages of real and simulated runs, hostile names, refusals, and that documents come back.

use std::fs;

use crate::support::killed::run;
use crate::support::program::Lab;

/// What an hour's page may take.
const PAGE_BYTES_MAX: u64 = 1 << 20;
/// Two threads, reads and writes, latencies in each interval.
const SIMULATED: &str = "--engine sim:latency=2ms,jitter=exp -c64M -b4K -o1 -t2 -L -D1000 -r -w30";

#[test]
fn an_hours_page_is_small_and_gives_its_document_back() {
    let lab = Lab::new();
    run(&lab, &format!("run --json hour.json {SIMULATED} -W60 -C10 -d3600 hour.dat")).expect_code(0);
    let made = run(&lab, "report hour.json -o hour.html").expect_code(0);
    assert!(made.stdout.is_empty() && made.stderr.is_empty(), "{made}");
    let size = fs::metadata(lab.path("hour.html")).expect("the page").len();
    assert!(size < PAGE_BYTES_MAX, "{size} bytes");
    let back = run(&lab, "render -Rjson hour.html").expect_code(0);
    assert!(back.stdout.as_bytes() == lab.read("hour.json"), "byte for byte");
    let page = String::from_utf8(lab.read("hour.html")).expect("text");
    for part in [
        "IOPS and throughput over time",
        "Latency over time: reads",
        "Latency over time: writes",
        "Latency heat map: reads",
        "Latency heat map: writes",
        "Latency percentiles",
        "warm-up",
        "cool-down",
        "Little",
        "To repeat it",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(
        !page.contains("http://") && !page.contains("https://") && !page.contains(" src="),
        "it needs no network"
    );
}

/// Each figure that the rule follows has its chart, whether its rounds became steady or not.
#[test]
fn rounds_are_drawn_as_they_become_steady() {
    let lab = Lab::new();
    for (words, name, window) in [
        ("--until-steady", "steady", "window: steady"),
        ("--until-steady --steady-rule rounds=6,range=1,slope=1", "never", "window: not steady"),
        ("", "usual", ""),
    ] {
        run(&lab, &format!("run --json {name}.json {SIMULATED} -W0 -d2 {words} x.dat")).expect_code(0);
        run(&lab, &format!("report {name}.json -o {name}.html")).expect_code(0);
        let page = String::from_utf8(lab.read(&format!("{name}.html"))).expect("text");
        for figure in ["Read IOPS", "Write IOPS", "Mean latency"] {
            let title = format!("<h3>{figure} of each round</h3>");
            assert_eq!(page.contains(&title), !window.is_empty(), "{name}: {figure}");
        }
        assert!(page.contains(window), "{name}");
        assert!(name != "steady" || page.contains("mean of the window \u{b1} 10 %"), "{name}");
    }
}

#[test]
fn several_documents_share_charts_and_are_told_apart() {
    let lab = Lab::new();
    for (name, seconds) in [("a", 20), ("b", 30)] {
        run(&lab, &format!("run --json {name}.json {SIMULATED} -W0 -d{seconds} x.dat")).expect_code(0);
    }
    run(&lab, "report a.json b.json -o both.html").expect_code(0);
    let page = String::from_utf8(lab.read("both.html")).expect("text");
    assert_eq!(page.matches("<h3>IOPS and throughput over time</h3>").count(), 1);
    assert!(page.contains("Side by side"));
    // The shorter run ends at two thirds of the time, on its heat map as on all charts.
    let ends: Vec<&str> =
        page.split("data-places=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(ends.len() == 2 && ends[0].ends_with("|0.6667") && ends[1].ends_with("|1.0000"), "{ends:?}");
    run(&lab, "render both.html")
        .refused(3, &["'both.html' is a report of 2 documents", "'both.html#1' to 'both.html#2'"]);
    run(&lab, "render both.html#3").refused(3, &["is a report of 2 documents"]);
    let second = run(&lab, "render -Rjson both.html#2").expect_code(0);
    assert!(second.stdout.as_bytes() == lab.read("b.json"));
    // A page of pages holds the documents, and not the pages.
    run(&lab, "report both.html#1 b.json -o again.html").expect_code(0);
    let first = run(&lab, "render -Rjson again.html#1").expect_code(0);
    assert!(first.stdout.as_bytes() == lab.read("a.json"));
}

#[test]
fn hostile_names_stay_text() {
    let lab = Lab::new();
    let name = "</script><script>document.title='stolen'</script><img_onerror='x'_\"&";
    run(&lab, &format!("run --json a.json {SIMULATED} -W0 -d2 plain.dat")).expect_code(0);
    let stored = String::from_utf8(lab.read("a.json")).expect("text");
    let quoted = serde_json::to_string(name).expect("a string");
    let hostile = stored.replace("plain.dat", &quoted[1..quoted.len() - 1]);
    lab.write("<b>&'\".json", hostile.as_bytes());
    run(&lab, "report <b>&'\".json -o page.html").expect_code(0);
    let page = String::from_utf8(lab.read("page.html")).expect("text");
    assert!(
        !page.contains("<script>document.title") && !page.contains("<img") && !page.contains("<b>"),
        "markup of a name"
    );
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;document.title"), "the name is shown");
    assert_eq!(page.matches("<script").count(), 2, "the document and the page's own");
    let back = run(&lab, "render -Rjson page.html").expect_code(0);
    assert!(back.stdout == hostile, "byte for byte");
}

#[test]
fn refusals_lose_nothing() {
    let lab = Lab::new();
    const OLD: &[u8] = b"<!doctype html><!-- TrueSpd report -->";
    lab.write("old.html", OLD);
    lab.write("broken.json", b"{\"format\": \"truespd-result\"");
    run(&lab, "report missing.json -o old.html").refused(3, &["'missing.json' cannot be read: "]);
    run(&lab, "report broken.json -o old.html")
        .refused(3, &["'broken.json' is not a TrueSpd result, or is incomplete"]);
    run(&lab, "report broken.json -o broken.json").refused(3, &["this file is also 'broken.json'"]);
    run(&lab, "report broken.json -o none/page.html").refused(3, &["none"]);
    run(&lab, "report - - -o old.html").refused(3, &["standard input (-) can be read only once"]);
    assert_eq!(lab.read("old.html"), OLD);
    assert_eq!(lab.names(), ["broken.json", "old.html"]);
    run(&lab, &format!("run --json a.json {SIMULATED} -W0 -d2 x.dat")).expect_code(0);
    run(&lab, "report a.json -o old.html").expect_code(0);
    let page = lab.read("old.html");
    assert!(page.starts_with(b"<!doctype html>") && page.ends_with(b"</html>\n"));
    let on_stdout = run(&lab, "report a.json -o -").expect_code(0);
    assert!(on_stdout.stdout.as_bytes() == page, "the same page twice");
    // A page that was cut off.
    lab.write("cut.html", &page[..page.len() / 2]);
    run(&lab, "render cut.html").refused(3, &["'cut.html' is a report, but document 1 in it is damaged"]);
}

/// Latencies over time are newer than the first documents.
#[test]
fn a_result_without_latencies_over_time_says_what_is_missing() {
    let lab = Lab::new();
    run(&lab, &format!("run --json a.json {SIMULATED} -W0 -d5 x.dat")).expect_code(0);
    run(&lab, "report a.json -o new.html").expect_code(0);
    let mut document: serde_json::Value = serde_json::from_slice(&lab.read("a.json")).expect("JSON");
    let measured = &mut document["result"]["time_spans"][0]["measured"];
    let slices = measured.as_object_mut().expect("measured").remove("latency_over_time").expect("with -L");
    assert_eq!(slices["slice_ns"], 50_000_000);
    lab.write("old.json", document.to_string().as_bytes());
    run(&lab, "report old.json -o old.html").expect_code(0);
    run(&lab, &format!("run --json b.json {} -W0 -d5 x.dat", SIMULATED.replace("-L -D1000 ", "")))
        .expect_code(0);
    run(&lab, "report b.json -o none.html").expect_code(0);
    let text = |name: &str| String::from_utf8(lab.read(name)).expect("text");
    let heading = "<h3>Latency heat map: reads</h3>";
    assert!(text("new.html").contains(heading) && !text("new.html").contains("There is no latency"), "new");
    assert!(!text("old.html").contains(heading), "old");
    assert!(
        text("old.html").contains("There is no latency heat map. ")
            && text("old.html").contains("earlier version")
    );
    assert!(
        text("none.html").contains("There is no latency over time. ")
            && text("none.html").contains("Run with -L")
    );
}

#[test]
fn a_suites_page_has_its_tables_and_its_chart() {
    let lab = Lab::new();
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/documents/suites/workload.json");
    let kept = run(&lab, &format!("render -Rjson {kept}")).expect_code(0);
    lab.write("rate.json", kept.stdout.as_bytes());
    run(&lab, "report rate.json -o rate.html").expect_code(0);
    let page = String::from_utf8(lab.read("rate.html")).expect("text");
    for part in [
        "Response times against the rate",
        "Rate reached against the rate offered",
        "limit of the p99 response time",
        "worst verdict of 9 runs: ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let back = run(&lab, "render -Rjson rate.html").expect_code(0);
    assert!(back.stdout.as_bytes() == lab.read("rate.json"));
}

/// The title says what was measured and where; a label of a person stands in its place.
#[test]
fn a_title_says_what_it_is() {
    let lab = Lab::new();
    run(&lab, &format!("run --json a.json {SIMULATED} -W0 -d2 x.dat")).expect_code(0);
    run(&lab, "report a.json -o a.html").expect_code(0);
    let text = |name: &str| String::from_utf8(lab.read(name)).expect("text");
    let title = |page: &str| {
        let page = text(page);
        let between = |open: &str, close: &str| {
            page.split_once(open).and_then(|(_, rest)| rest.split_once(close)).expect(open).0.to_string()
        };
        (between("<title>", " - TrueSpd</title>"), between("<h1>", "</h1>"))
    };
    let (tab, heading) = title("a.html");
    assert_eq!(tab, heading);
    assert!(
        heading.starts_with("4 KiB random, 30 % writes on ") && heading.ends_with(": x.dat"),
        "{heading}"
    );
    run(&lab, &format!("run --label after-the-firmware {SIMULATED} -W0 -d2 x.dat")).expect_code(0);
    run(&lab, "report after-the-firmware -o label.html").expect_code(0);
    assert_eq!(title("label.html").1, "after-the-firmware");
    assert!(text("label.html").contains("<p class=\"subtitle\">4 KiB random, 30 % writes on "), "what it is");
    let mark = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/documents/suites/mark.json");
    run(&lab, &format!("report {mark} -o mark.html")).expect_code(0);
    assert!(title("mark.html").1.starts_with("CrystalDiskMark tests on "), "{:?}", title("mark.html"));
}

/// Without -o the page has the document's name; what is no page of ours stays.
#[test]
fn a_page_has_a_usual_name() {
    let lab = Lab::new();
    run(&lab, &format!("run --json a.json {SIMULATED} -W0 -d2 x.dat")).expect_code(0);
    let made = run(&lab, "report a.json").expect_code(0);
    assert!(made.stderr.contains("written: a.html") && made.stdout.is_empty(), "{made}");
    run(&lab, "report a.json").expect_code(0);
    lab.write("report.html", b"mine");
    run(&lab, "report a.json a.html").refused(
        3,
        &["--output report.html: this file does not hold a page of TrueSpd", "give another name"],
    );
    assert_eq!(lab.read("report.html"), b"mine");
    run(&lab, "report a.html#1").refused(3, &["this file is also 'a.html'"]);
}

/// Pictures for chats: of a run, of a suite, and a refusal where there is nothing to draw.
#[test]
fn the_main_chart_is_a_picture() {
    let lab = Lab::new();
    run(&lab, &format!("run --json a.json {SIMULATED} -W0 -d4 x.dat")).expect_code(0);
    run(&lab, "report a.json --svg a.svg --png a.png").expect_code(0);
    assert!(!lab.names().contains(&"a.html".to_string()), "no page that nobody asked for");
    let svg = String::from_utf8(lab.read("a.svg")).expect("text");
    for part in [
        "<svg xmlns=",
        "4 KiB random, 30 % writes on ",
        "verdict: ",
        "IOPS and throughput over time",
        ">reads<",
    ] {
        assert!(svg.contains(part), "{part}: {svg}");
    }
    assert!(lab.read("a.png").starts_with(b"\x89PNG"));
    assert_eq!(run(&lab, "report a.json --svg -").expect_code(0).stdout, svg);
    let suite =
        |name: &str| format!("{}/../../tests/data/documents/suites/{name}.json", env!("CARGO_MANIFEST_DIR"));
    run(&lab, &format!("report {} --svg mark.svg -o mark.html", suite("mark"))).expect_code(0);
    let mark = String::from_utf8(lab.read("mark.svg")).expect("text");
    assert!(mark.contains(">READ<") && mark.contains(">WRITE<"), "{mark}");
    run(&lab, &format!("report {} --png none.png", suite("self-cost")))
        .refused(3, &["has no chart", "-o FILE"]);
    run(&lab, "report a.json --png -").refused(3, &["--png needs a file"]);
    run(&lab, "report a.json --svg - -o -").refused(3, &["standard output (-) can take one result only"]);
    assert!(!lab.names().contains(&"none.png".to_string()));
}
