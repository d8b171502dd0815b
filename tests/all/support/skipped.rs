//! Tests that cannot run here, told in the last lines of the test program: what a test prints itself is kept from the
//! screen when it passes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Mutex, Once, PoisonError};

/// By reason, the tests.
static SKIPPED: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Says why a test cannot run here, or not in full; in CI that is a failure.
pub fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "in CI this test must run: {why}");
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| {
        // SAFETY: `tell` is a function of this program, which stays loaded until the exit, and it does not unwind.
        let refused = unsafe { libc::atexit(tell) };
        assert_eq!(refused, 0, "no room for a function at exit");
    });
    let test = std::thread::current().name().unwrap_or("a thread of a test").to_string();
    let mut skipped = SKIPPED.lock().unwrap_or_else(PoisonError::into_inner);
    skipped.entry(why.to_string()).or_default().insert(test);
}

extern "C" fn tell() {
    let skipped = SKIPPED.lock().unwrap_or_else(PoisonError::into_inner);
    // Nobody is left to hear of an error.
    let _ = std::io::stderr().write_all(closing_lines(&skipped).as_bytes());
}

fn closing_lines(skipped: &BTreeMap<String, BTreeSet<String>>) -> String {
    let tests: BTreeSet<&String> = skipped.values().flatten().collect();
    let mut lines = match tests.len() {
        1 => "1 test did not run here, or not in full:\n".to_string(),
        several => format!("{several} tests did not run here, or not in full:\n"),
    };
    for (why, tests) in skipped {
        lines.push_str(&format!("{:>4}: {why}\n", tests.len()));
    }
    if !rustix::process::geteuid().is_root() {
        lines.push_str("Tests of devices, mounts and other users run as root only.\n");
    }
    lines
}

#[test]
fn the_closing_lines_count_tests_and_reasons() {
    let tests = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>();
    let skipped = BTreeMap::from([
        ("devices need root".to_string(), tests(&["guard::a", "guard::b"])),
        ("mkfs.xfs is not installed".to_string(), tests(&["guard::b"])),
    ]);
    let lines = closing_lines(&skipped);
    assert!(lines.starts_with(
        "2 tests did not run here, or not in full:\n   2: devices need root\n   1: mkfs.xfs is not installed\n"
    ), "{lines}");
}
