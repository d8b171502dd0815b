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
        "IOPS over time",
        "Throughput over time",
        "Latency over time",
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

#[test]
fn several_documents_share_charts_and_are_told_apart() {
    let lab = Lab::new();
    for (name, seconds) in [("a", 20), ("b", 30)] {
        run(&lab, &format!("run --json {name}.json {SIMULATED} -W0 -d{seconds} x.dat")).expect_code(0);
    }
    run(&lab, "report a.json b.json -o both.html").expect_code(0);
    let page = String::from_utf8(lab.read("both.html")).expect("text");
    assert_eq!(page.matches("<h3>IOPS over time</h3>").count(), 1);
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
    lab.write("old.html", b"old");
    lab.write("broken.json", b"{\"format\": \"truespd-result\"");
    run(&lab, "report missing.json -o old.html").refused(3, &["'missing.json' cannot be read: "]);
    run(&lab, "report broken.json -o old.html")
        .refused(3, &["'broken.json' is not a TrueSpd result, or is incomplete"]);
    run(&lab, "report broken.json -o broken.json").refused(3, &["this file is also 'broken.json'"]);
    run(&lab, "report broken.json -o none/page.html").refused(3, &["none"]);
    run(&lab, "report - - -o old.html").refused(3, &["standard input (-) can be read only once"]);
    assert_eq!(lab.read("old.html"), b"old");
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
    run(&lab, "workload oltp . --size 16M -d 1 -W 0 --limit 60000 --of mean --json rate.json").expect_code(0);
    run(&lab, "report rate.json -o rate.html").expect_code(0);
    let page = String::from_utf8(lab.read("rate.html")).expect("text");
    for part in [
        "Response times against the rate",
        "Rate reached against the rate offered",
        "limit: mean response time",
        "verdict: ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let back = run(&lab, "render -Rjson rate.html").expect_code(0);
    assert!(back.stdout.as_bytes() == lab.read("rate.json"));
}
