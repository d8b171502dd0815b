//! `truespd report` of sums: a line for each host over time.

use crate::support::killed::run;
use crate::support::program::Lab;

const TITLE: &str = "<h3>IOPS over time by host</h3>";

/// Writes `sum.json`, the sum of so many hosts. Each is slower than the one before it.
pub fn sum_of(lab: &Lab, hosts: u32) {
    let mut names = Vec::new();
    for number in 1..=hosts {
        let line = format!("--engine sim:latency={number}ms,jitter=exp -c4M -b4K -o1 -L -r -w30 -W1 -d65");
        run(lab, &format!("run --json run.json {line} x.dat")).expect_code(0);
        let mut document: serde_json::Value = serde_json::from_slice(&lab.read("run.json")).expect("JSON");
        document["result"]["system"]["computer_name"] = format!("node-{number:02}").into();
        names.push(format!("node-{number:02}.json"));
        lab.write(&names[names.len() - 1], document.to_string().as_bytes());
    }
    // Simulated runs measure one after the other.
    run(lab, &format!("merge --force {} --json sum.json", names.join(" "))).expect_code(0);
}

/// The page of `sum.json`, from the heading of the chart to the end of its values; none where there is no such chart.
fn chart_of(lab: &Lab) -> Option<String> {
    run(lab, "report sum.json -o sum.html").expect_code(0);
    let page = String::from_utf8(lab.read("sum.html")).expect("text");
    assert!(page.matches(TITLE).count() <= 1, "once");
    let (_, rest) = page.split_once(TITLE)?;
    Some(rest.split_once("</figure>").expect("a figure").0.to_string())
}

fn names_in(legend_and_more: &str) -> Vec<&str> {
    let legend = legend_and_more.split_once("</ul>").expect("a legend").0;
    legend.split("</span>").skip(1).filter_map(|rest| rest.split("</li>").next()).collect()
}

#[test]
fn a_sum_of_hosts_has_a_line_for_each() {
    let lab = Lab::new();
    sum_of(&lab, 3);
    let chart = chart_of(&lab).expect("three hosts have one");
    assert_eq!(names_in(&chart), ["node-01", "node-02", "node-03"]);
    assert!(chart.contains("begins with the measured time") && !chart.contains("slowest"));
    // Wide and narrow.
    assert_eq!(chart.matches("class=\"line\"").count(), 6);
    // 65 seconds are 33 points, the last of which is of one second.
    let table = chart.split_once("<details>").expect("values").1;
    assert!(table.contains("<th scope=\"row\">1 s</th>") && table.contains("node-02"), "{table}");
    // Documents from before there was such a series have no chart, and a row without is told.
    let stored: serde_json::Value = serde_json::from_slice(&lab.read("sum.json")).expect("JSON");
    let without = |rows: &[usize]| {
        let mut document = stored.clone();
        for row in rows {
            let span = &mut document["result"]["sources"][*row]["time_spans"][0];
            let series = span.as_object_mut().expect("measured").remove("series").expect("has one");
            assert_eq!(series["completed"].as_array().map(Vec::len), Some(33));
            assert_eq!(
                (&series["interval_ns"], &series["length_ns"]),
                (&2_000_000_000u64.into(), &65_000_000_000u64.into())
            );
        }
        lab.write("sum.json", document.to_string().as_bytes());
    };
    without(&[1]);
    let chart = chart_of(&lab).expect("two hosts have one");
    assert_eq!(names_in(&chart), ["node-01", "node-03"]);
    assert!(chart.contains("1 of 3 results hold no I/Os over time."));
    without(&[0, 1, 2]);
    assert_eq!(chart_of(&lab), None);
}

#[test]
fn the_slowest_and_the_fastest_of_many_hosts_have_lines() {
    let lab = Lab::new();
    sum_of(&lab, 10);
    let chart = chart_of(&lab).expect("ten hosts have one");
    let slow_and_fast =
        ["node-10", "node-09", "node-08", "node-07", "node-04", "node-03", "node-02", "node-01"];
    assert_eq!(names_in(&chart), slow_and_fast);
    assert_eq!(chart.matches("class=\"line\"").count(), 16);
    assert!(chart.contains("The 4 slowest and the 4 fastest of 10 are shown."));
}

#[test]
fn one_host_has_no_such_chart() {
    let lab = Lab::new();
    sum_of(&lab, 1);
    assert_eq!(chart_of(&lab), None);
}
