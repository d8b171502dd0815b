//! Pages in a browser: nothing on its console, nothing out of the window, nothing over something else, values at the
//! pointer and the keys. The page is looked at in frames as wide as a screen and as a phone.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::killed::run;
use crate::support::program::Lab;
use crate::support::skipped::skip;

const CHECK: &str = include_str!("check.js");
const WIDTHS: [u32; 2] = [1280, 390];

/// What the browser printed: the page after its scripts ran, and its log.
fn browse(lab: &Lab, page: &str) -> Option<(String, String)> {
    let home = lab.path("browser");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--no-proxy-server"])
        .args([
            "--enable-logging=stderr",
            "--virtual-time-budget=10000",
            "--window-size=1400,1000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", home.display()))
        .arg(format!("file://{}", lab.path(page).display()))
        .envs([("HOME", &home), ("XDG_CONFIG_HOME", &home), ("XDG_CACHE_HOME", &home)])
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            skip("chromium is not installed");
            return None;
        }
        Err(error) => panic!("chromium: {error}"),
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Some((text(output.stdout), text(output.stderr)))
}

/// The console's lines of a log.
fn console(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains(":CONSOLE")).collect()
}

/// A page around the page, which gets as wide as `width`, with what the check says of it in its title.
fn framed(lab: &Lab, page: &str, width: u32) -> Option<Value> {
    let text = String::from_utf8(lab.read(page)).expect("text");
    let begin = text.find("script-src '").expect("a policy");
    let end = begin + text[begin..].find(';').expect("the next rule");
    let opened = format!("{}script-src 'unsafe-inline'{}", &text[..begin], &text[end..]);
    let checked = opened.replacen("<title>", &format!("<script>{CHECK}</script><title>"), 1);
    lab.write("checked.html", checked.as_bytes());
    let around = format!(
        "<!doctype html><title>nothing</title><script>addEventListener('message', (event) => \
         {{ document.title = JSON.stringify(event.data); }});</script>\
         <iframe src=\"checked.html\" style=\"width:{width}px;height:900px;border:0\"></iframe>"
    );
    lab.write("around.html", around.as_bytes());
    let (dom, log) = browse(lab, "around.html")?;
    let title =
        dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap_or_default();
    let title = title.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    Some(serde_json::from_str(&title).unwrap_or_else(|error| panic!("{width}: {error}: {title}\n{log}")))
}

/// Looks at a page; `plots` is how many charts it has at least.
fn assert_good(lab: &Lab, page: &str, plots: u64) {
    let Some((dom, log)) = browse(lab, page) else { return };
    assert!(dom.contains("</main>"), "{log}");
    assert!(console(&log).is_empty(), "{:?}", console(&log));
    for width in WIDTHS {
        let Some(found) = framed(lab, page, width) else { return };
        assert_eq!(found["wrong"], Value::Array(Vec::new()), "{page} at {width}");
        assert!(
            found["plots"].as_u64() >= Some(plots) && found["shown"] == found["plots"],
            "{page} at {width}: {found}"
        );
    }
}

#[test]
fn a_page_of_one_run_is_good_in_a_browser() {
    let lab = Lab::new();
    run(&lab, "run --json a.json -c4M -b4K -o2 -t2 -L -D100 -r -w30 -W1 -C1 -d2 a.dat b.dat").expect_code(0);
    run(&lab, "report a.json -o a.html").expect_code(0);
    assert_good(&lab, "a.html", 4);
}

#[test]
fn a_page_of_several_documents_is_good_in_a_browser() {
    let lab = Lab::new();
    let sim = "--engine sim:latency=2ms,jitter=exp -c64M -b4K -o1 -t2 -L -D1000 -r -W0";
    for (name, seconds) in [("one", 600), ("two", 300)] {
        run(&lab, &format!("run --json {name}.json {sim} -d{seconds} x.dat")).expect_code(0);
    }
    run(&lab, "workload oltp . --size 16M -d 1 -W 0 --limit 60000 --of mean --json rate.json").expect_code(0);
    run(&lab, "report one.json two.json rate.json -o all.html").expect_code(0);
    assert_good(&lab, "all.html", 6);
}

#[test]
fn the_check_sees_what_is_wrong() {
    let lab = Lab::new();
    run(&lab, "run --json a.json --engine sim:latency=2ms -c4M -b4K -o1 -L -D1000 -W0 -d5 x.dat")
        .expect_code(0);
    run(&lab, "report a.json -o a.html").expect_code(0);
    let page = String::from_utf8(lab.read("a.html")).expect("text");
    let bad = page.replacen("<main>", "<main><p style=\"width:3000px;max-width:none\">wide</p>", 1);
    lab.write("bad.html", bad.replace("tip.hidden = false", "tip.hidden = true").as_bytes());
    let Some(found) = framed(&lab, "bad.html", 390) else { return };
    let wrong = found["wrong"].to_string();
    assert!(wrong.contains("wider than the window") && wrong.contains("values: "), "{wrong}");
    // The policy stops a script that is not the page's own.
    let Some((_, log)) = browse(&lab, "bad.html") else { return };
    assert!(!console(&log).is_empty(), "a changed script does not run");
}
