use super::*;
use truespd_verdict::doctor::{Counts, Purpose};

const PLAIN: Style = Style { columns: 72, has_colour: false };

fn finding(check: &str, disk: &str, state: State) -> Finding {
    Finding {
        check: check.into(),
        state,
        subject: Subject { kind: SubjectKind::Disk, name: disk.into() },
        says: "The scheduler bfq holds requests back.".into(),
        now: Some("bfq".into()),
        wanted: Some("none".into()),
        set: vec![format!("echo none > /sys/block/{disk}/queue/scheduler")],
        set_back: vec![format!("echo bfq > /sys/block/{disk}/queue/scheduler")],
        lasts: Some(Lasts::UntilRestart),
        permanent: Some("a line in a file".into()),
        difference: "It costs IOPS.".into(),
        production: Some("Programs have it so.".into()),
        matters_for: Purpose::Every,
        one_core_peak: true,
        ..Finding::default()
    }
}

fn report(is_root: bool) -> Report {
    let shell = Finding {
        check: "locked-memory".into(),
        state: State::MaySpoil,
        says: "It is little.".into(),
        now: Some("8 MiB".into()),
        set: vec!["prlimit --pid $$ --memlock=67108864".into()],
        set_back: vec!["prlimit --pid $$ --memlock=8388608:8388608".into()],
        lasts: Some(Lasts::InThisShell),
        ..Finding::default()
    };
    let unknown = Finding {
        check: "temperature".into(),
        state: State::Unknown,
        says: "No driver shows it.".into(),
        subject: Subject { kind: SubjectKind::Disk, name: "sda".into() },
        ..Finding::default()
    };
    let good =
        Finding { check: "steal".into(), state: State::Good, says: "None.".into(), ..Finding::default() };
    let findings = vec![
        finding("scheduler", "sda", State::Spoils),
        finding("scheduler", "sdb", State::Spoils),
        shell,
        unknown,
        good,
    ];
    Report {
        is_root,
        is_container: !is_root,
        for_peak_only: 1,
        disks: vec!["sda".into(), "sdb".into()],
        counts: Counts::of(&findings),
        findings,
        ..Report::default()
    }
}

#[test]
fn the_first_line_counts() {
    let first = |report: &Report| text(report, false, PLAIN).lines().next().unwrap_or_default().to_string();
    assert_eq!(
        first(&report(true)),
        "2 things will spoil a measurement, 1 may, 1 is good, 1 cannot be told."
    );
    assert_eq!(
        summary(&report(false)),
        "2 things will spoil a measurement, 1 may, 1 is good, 1 cannot be told without root."
    );
    assert_eq!(first(&Report::default()), "Nothing will spoil a measurement, none may, 0 are good.");
}

#[test]
fn what_is_beyond_is_told_at_the_top() {
    let beyond = vec!["/sys is not mounted here.".to_string()];
    let told = text(&Report { beyond, ..report(true) }, false, PLAIN);
    assert_eq!(told.lines().nth(2), Some("/sys is not mounted here."), "{told}");
}

#[test]
fn the_same_of_two_disks_is_one_finding_with_all_commands() {
    let told = text(&report(true), false, PLAIN);
    assert_eq!(told.matches("holds requests back").count(), 1, "{told}");
    assert!(told.contains("  scheduler (sda, sdb): bfq -> none [one-core peak list]\n"), "{told}");
    for line in [
        "      set     echo none > /sys/block/sda/queue/scheduler\n",
        "      set     echo none > /sys/block/sdb/queue/scheduler\n",
        "      back    echo bfq > /sys/block/sdb/queue/scheduler\n",
        "              lasts until the next boot; to keep it: a line in a file\n",
        "  temperature (sda): No driver shows it.\n",
        "1 more thing matters only beyond about a million IOPS per processor:\n",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    assert!(
        !told.contains("steal:") && text(&report(true), true, PLAIN).contains("\nGood\n  steal: None.\n")
    );
}

#[test]
fn others_than_root_get_commands_that_they_can_type() {
    let told = text(&report(false), false, PLAIN);
    assert!(told.contains("set     sudo sh -c 'echo none > /sys/block/sda/queue/scheduler'\n"), "{told}");
    assert!(told.contains("set     sudo prlimit --pid $$ --memlock=67108864\n"), "of this shell: {told}");
    assert!(told.contains("This is a container"), "{told}");
}

#[test]
fn scripts_set_and_set_back_in_the_other_order() {
    let lines = |script: String| -> Vec<String> {
        script.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_string).collect()
    };
    let at = |disk: &str, word: &str| format!("echo {word} > /sys/block/{disk}/queue/scheduler");
    assert_eq!(lines(script(&report(true))), [at("sda", "none"), at("sdb", "none")]);
    assert_eq!(lines(script_back(&report(true))), [at("sdb", "bfq"), at("sda", "bfq")]);
    assert!(script(&report(true)).contains("# back: echo bfq > /sys/block/sda/queue/scheduler\n"));
    assert!(script(&report(true)).contains("# in the shell that runs the test: prlimit --pid $$"));
    assert!(script(&Report::default()).ends_with("# There is nothing to set.\n"));
}
