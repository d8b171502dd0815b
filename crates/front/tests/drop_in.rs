//! Cargo builds the program for tests of its package: those at the root start it, too.

use std::process::Command;

#[test]
fn the_drop_in_prints_its_help() {
    let ran = Command::new(env!("CARGO_BIN_EXE_diskspd")).arg("--help").output().expect("it starts");
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.contains("Usage: diskspd [options] target"), "{ran:?}");
}
