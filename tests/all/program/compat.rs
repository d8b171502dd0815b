//! `--compat`: the forms and defaults of a release, as the programs print and keep them.

use serde_json::Value;

use crate::support::program::{Lab, Ran};

/// A read test of a small file, with words before it.
fn ran(lab: &Lab, words: &str) -> Ran {
    lab.write("f", &[7; 1 << 20]);
    lab.run(&format!("{words} -b4K -r -o4 -t2 -L -d1 -W0 f")).expect_code(0)
}

#[test]
fn a_run_has_the_forms_of_2_3_and_its_document_tells_what_was_in_effect() {
    let lab = Lab::new();
    let ran = ran(&lab, "--compat 2.3 -u2 -oc3 -vs --json r.json");
    for line in [
        "    using IoRing (batch size: 2) with registered buffers\n",
        "    affinity assignment: cpu order, fill groups, P-cores first\n",
        "    buffer separation: thread optimized (",
        "    completion depth: 3\n",
        "      block size: 4KiB\n",
        "  computer name:        ",
        "\neffective affinity (",
        "\nWait Statistics - Completion Wait\n",
        "\nWait Statistics - Lookaside\n",
        "| f (1MiB)\n",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{ran}");
    }
    assert_eq!(ran.stdout.matches('\t').count(), 3, "behind the time and the number of threads\n{ran}");
    let document: Value = serde_json::from_slice(&lab.read("r.json")).expect("JSON");
    let result = &document["result"];
    assert_eq!(result["profile"]["release"], "2.3");
    let measured = &result["time_spans"][0]["measured"];
    let separation = measured["in_effect"]["buffer_separation_bytes"].as_u64().expect("a number");
    assert!(separation >= 1 << 20, "{separation}");
    assert_eq!(
        measured["in_effect"]["dispatch"][1],
        serde_json::json!({"submit_batch": 2, "completion_depth": 3})
    );
    assert!(!measured["in_effect"]["processors"].as_array().expect("a list").is_empty());
    // Where there is a ring, it was called.
    if measured["engine"] == "io_uring" {
        assert!(measured["threads"][0]["waits"]["submits"].as_u64() > Some(0), "{measured}");
        assert!(ran.stdout.contains("\nIoRing Statistics\nthread |  Submits/s \n"), "{ran}");
    }
}

#[test]
fn without_it_everything_is_as_in_2_2() {
    let lab = Lab::new();
    let ran = ran(&lab, "--json r.json");
    for words in ["effective affinity", "buffer separation", "processor name"] {
        assert!(!ran.stdout.contains(words), "{words}\n{ran}");
    }
    let document: Value = serde_json::from_slice(&lab.read("r.json")).expect("JSON");
    let result = &document["result"];
    assert_eq!(result["profile"].get("release"), None);
    assert_eq!(result["time_spans"][0]["measured"]["in_effect"]["buffer_separation_bytes"], 0);
}

#[test]
fn the_variable_says_it_for_lines_that_do_not() {
    let lab = Lab::new();
    for (variable, words, is_of_2_3) in [
        ("2.3", "", true),
        ("2.3", "--compat 2.2", false),
        ("2.2", "", false),
        ("", "", false),
        ("2.2", "--compat 2.3", true),
    ] {
        for form in ["-Rpxml f", "-Rptext f", "-Rsxml", "-Rstext"] {
            let mut command = lab.command(&format!("{words} {form}"));
            let output = command.env("TRUESPD_COMPAT", variable).output().expect("it starts");
            let text = String::from_utf8(output.stdout).expect("text");
            let marks = ["AffinityTraversal", "affinity assignment", "ProcessorName", "processor name"];
            let found = marks.iter().any(|mark| text.contains(mark));
            assert_eq!(found, is_of_2_3, "{variable} {words} {form}\n{text}");
        }
    }
    let mut command = lab.command("-Rp f");
    let output = command.env("TRUESPD_COMPAT", "2.4").output().expect("it starts");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("the variable TRUESPD_COMPAT is '2.4'"), "{told}");
}

#[test]
fn a_profile_that_was_printed_prints_the_same_again() {
    let lab = Lab::new();
    let printed = lab.run("--compat 2.3 -a0-1,3 -ac -u40p -oc5 -bsn -Rpxml f").expect_code(0);
    lab.write("p.xml", printed.stdout.as_bytes());
    let again = lab.run("--compat 2.3 -Rpxml -Xp.xml");
    assert_eq!(again.stdout, printed.stdout);
}

#[test]
fn failed_ios_and_verbose_lines_have_the_words_of_the_release() {
    let lab = Lab::new();
    lab.write("f", &[7; 1 << 20]);
    let line = "--engine sim:latency=1ms,error=eio#100 -v -b4K -s -o1 -d60 -W0 f";
    let (number, buffers) =
        ("t[0] error during read hresult: 0x00000005) 'f': ", "buffers begin at multiples of ");
    let ran = lab.run(&format!("--compat 2.3 {line}")).expect_code(1);
    let ran = ran.says(&[number, "Input/output error", "There has been an error during threads execution"]);
    let told = ran.stderr.lines().find_map(|line| line.split_once(buffers)).expect("buffers");
    // `2026-10-02T07:41:09: `, as in both releases.
    assert_eq!(told.0.len(), 21, "{ran}");
    assert!(!ran.stderr.contains("error code: 5)"), "{ran}");
    for line in [line.to_string(), format!("--compat 2.3 -bsn {line}")] {
        let ran = lab.run(&line).expect_code(1);
        assert!(!ran.stderr.contains(buffers), "{ran}");
        assert_eq!(ran.stderr.contains("hresult"), line.contains("2.3"), "{ran}");
    }
}
