//! Every option through each door: a line, beside `-X`, in a line of a suite, and in a line that is refused. It has
//! an effect there or is refused, and a refused line leaves nothing.

use diskspd::grammar::parse::{Invocation, not_in_suites, parse};
use diskspd::grammar::rows::{Row, all};
use diskspd::request::Request;

use crate::support::killed::truespd;
use crate::support::program::{Lab, Running};

/// A legal value of a long option that takes one.
fn value(row: &Row) -> &'static str {
    match row.name {
        "-mix" => "4K:50,8K:50",
        "-zipf" => "1.1",
        "-flush-every" => "10",
        "-trim" => "10",
        "-arrivals" => "poisson",
        "-steady-rule" => "rounds=50",
        "-precondition" => "1x",
        "-help" | "-version" | "-verify" => "",
        "-compat" => "2.3",
        "-engine" => "sim:latency=1ms",
        "-require" => "suspect",
        "-verify-log-lost" => "continue",
        // It needs a path of Windows, as nothing else does.
        "-map" => "C:\\=/mnt/c",
        _ if row.value.is_empty() => "",
        _ => "thing",
    }
}

fn words(row: &Row) -> Vec<String> {
    let given = value(row);
    std::iter::once(format!("-{}", row.name)).chain((!given.is_empty()).then(|| given.to_string())).collect()
}

fn request(words: Vec<String>) -> Option<Request> {
    match parse(&words, "diskspd", &|| 0) {
        Ok(Invocation::Run(request)) => Some(*request),
        Ok(_) | Err(_) => None,
    }
}

fn with(row: &Row, before: &[&str], after: &[&str]) -> Vec<String> {
    let strings = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    [strings(before), words(row), strings(after)].concat()
}

#[test]
fn beside_a_profile_an_option_changes_the_request_or_is_refused() {
    let bare = request(vec!["-Xp.xml".into(), "f".into()]).expect("a run");
    let mut refused = Vec::new();
    for row in all().filter(|row| row.is_long() && !["-help", "-version"].contains(&row.name)) {
        match request(with(row, &["-Xp.xml"], &["f"])) {
            Some(request) => assert_ne!(request, bare, "{} does nothing", row.form()),
            None => refused.push(row.name),
        }
        // What a profile cannot take changes a line.
        let target = if row.name == "-map" { "C:\\f" } else { "f" };
        let line = request(vec!["-w50".into(), "-g1i".into(), "-r".into(), target.into()]);
        let changed = request(with(row, &["-w50", "-g1i", "-r"], &[target]));
        assert!(changed.is_some() && changed != line, "{} does nothing in a line", row.form());
    }
    refused.sort_unstable();
    assert_eq!(refused, ["-arrivals", "-flush-every", "-mix", "-trim", "-verify", "-zipf"]);
}

#[test]
fn a_line_of_a_suite_refuses_what_is_for_the_whole() {
    let mut refused = Vec::new();
    for row in all().filter(|row| row.is_long()) {
        if not_in_suites(&with(row, &[], &["f"])).is_some() {
            refused.push(&row.name[1..]);
        }
    }
    refused.sort_unstable();
    let expected = "csv events intervals json keep-history label live map metrics no-history overwrite precondition \
                    progress quiet require revision store tag text unchecked verdict verify-log verify-log-lost \
                    verify-map xml";
    assert_eq!(refused, expected.split_whitespace().collect::<Vec<_>>());
    let lab = Lab::new();
    lab.write("f", &[0; 1 << 20]);
    for option in ["--events e", "--metrics m", "--verify-map v"] {
        let mut command = truespd(&lab, "sweep");
        command.arg(format!("-b4K -d1 -W0 {option}")).args(["f", "--over", "o=1..2"]);
        let ran =
            Running::new(command, option).finish().refused(3, &["is not possible in a line of a suite"]);
        assert!(ran.stderr.contains(option.split(' ').next().expect("a word")), "{ran}");
    }
    assert_eq!(lab.names(), ["f"]);
}

#[test]
fn a_refused_line_leaves_no_events_and_no_metrics() {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 --events before --metrics page f").expect_code(0);
    let before = (lab.read("before"), lab.read("page"));
    lab.write("theirs", &[7; 8192]);
    for (line, code) in [
        ("-b4K -w100 -d1 -W0 --events before --metrics page theirs", 4),
        ("-b1000 -Su -d1 -W0 --events before --metrics page f", 3),
        ("-b4K -w100 -d1 -W0 --events new --metrics other theirs", 4),
    ] {
        assert!(lab.run(line).expect_code(code).stdout.is_empty(), "{line}");
    }
    assert_eq!((lab.read("before"), lab.read("page")), before, "they are as they were");
    assert_eq!(lab.names(), ["before", "f", "page", "theirs"]);
    lab.run("-b4K -d1 -W0 --events new f").expect_code(0);
    let events = String::from_utf8(lab.read("new")).expect("text");
    assert!(events.lines().next().is_some_and(|line| line.contains("\"begin\"")), "{events}");
}
