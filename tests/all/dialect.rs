//! Plain Rust, counted (CONTRIBUTING.md): how often each turn of phrase stands in the production code. A limit only falls:
//! whoever removes some lowers it. `ci/size --list KIND` names the places.

use std::path::Path;
use std::process::Command;

use crate::support::ROOT;

/// Kinds of `ci/size` with how many there may be.
const LIMITS: &[(&str, usize)] =
    &[("bools", 0), ("filters", 0), ("closures", 62), ("wide", 0), ("short", 563)];

/// How far a limit may stand above what is there.
const SLACK: usize = 10;

#[test]
fn the_dialect_shrinks() {
    for (kind, limit) in LIMITS {
        let script = Path::new(ROOT).join("ci/size");
        let listed = Command::new(script).args(["--list", kind]).output().expect("python3 runs");
        assert!(listed.status.success(), "{listed:?}");
        let places = String::from_utf8(listed.stdout).expect("text");
        let count = places.lines().filter(|line| !line.is_empty()).count();
        assert!(
            count <= *limit,
            "{kind}: {count} instead of {limit} at most; ci/size --list {kind} names them"
        );
        assert!(count + SLACK >= *limit, "{kind}: lower the limit from {limit} to {count}");
    }
}
