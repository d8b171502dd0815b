//! The help and typical refusals as people see them.

use crate::support::words::{refused, words};
use diskspd::grammar;
use truespd_core::profile::{Profile, Target, TimeSpan, validate};

#[test]
fn help() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(grammar::version(), format!("TrueSpd {version} (DiskSpd 2.2 for Linux)\n"));
    insta::assert_snapshot!(grammar::help("diskspd").replace(version, "VERSION"));
}

#[test]
fn refusals() {
    let long = format!("-b4k {} -t2 -T1M -r -L f", "-a0,1,2,3,4,5,6,7 ".repeat(9).trim_end());
    let wide = "-r '-Z1M,/daten/\u{6e2c}\u{8a66}/\u{8cc7}\u{6599}.bin' -b4KB f";
    let lines = [
        "-b 4k -r f",
        "-b4KB -r f",
        "-r \u{2013}b4k f",
        "-r -T1M -t2 f",
        "-Sm -vL f",
        "-d1m f",
        "-c1.5G f",
        "--bs=4k f",
        "-Smu f",
        "-Su -h f",
        "-rdpct60/10:60/10 -r f",
        "-rdabs10/1G:10/x -r f",
        "-w f",
        "-q f",
        "-RXML f",
        "-a1,,2 f",
        "f -r",
        "/b4k -r f",
        "X:",
        "-h",
        "-t4 -F2 -x -g100 a b",
        "-c1G '#1'",
        "-Xp.xml -t2",
        "-c64K -B1M f",
        "--engin psync f",
        wide,
        &long,
    ];
    let shown: Vec<String> = lines.iter().map(|line| refused(line).to_string()).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn findings_in_a_profile_file_name_their_place() {
    let target = |path: &str, block_bytes| Target { path: path.into(), block_bytes, ..Target::default() };
    let span = TimeSpan { targets: vec![target("a", 0), target("b", 0)], ..TimeSpan::default() };
    let profile = Profile { time_spans: vec![span], ..Profile::default() };
    let findings = validate(&profile, true);
    let refusal = grammar::parse::refuse_findings(&words("-v -Xp.xml x y"), "diskspd", &profile, &findings);
    let shown = |place: &str| {
        format!(
            "ERROR: time span 1, {place}: the block size is 0 bytes: it must be 1..4294967294\n    \
             diskspd -v -Xp.xml x y\n               ^^^^^^^\n"
        )
    };
    assert_eq!(refusal.to_string(), format!("{}\n{}", shown("target 1 'a'"), shown("target 2 'b'")));
}
