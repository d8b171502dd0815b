//! What the drives say of themselves.

use super::*;
use crate::causes::drives::health_answer;
use crate::doctor::State;
use truespd_core::result::{Drive, DriveState, DriveUntold, DriveWarning};

/// A drive at 41 C that counted something before, and after the run what `change` makes of it.
fn drive(change: impl Fn(&mut DriveState)) -> Doc {
    let before = DriveState {
        temperature_c: Some(41),
        warm_from_c: Some(70),
        critical_from_c: Some(80),
        throttled_light_s: Some(100),
        throttled_heavy_s: Some(10),
        throttled_light_times: Some(20),
        throttled_heavy_times: Some(2),
        throttle_events: Some(22),
        throttles_now: Some(false),
        warm_minutes: Some(7),
        critical_minutes: Some(1),
        media_errors: Some(2),
        error_log_entries: Some(40),
        crc_errors: Some(5),
        link_errors_corrected: Some(900),
        warnings: vec![DriveWarning::BackupFailed],
        ..DriveState::default()
    };
    let mut after = before.clone();
    after.temperature_c = Some(69);
    change(&mut after);
    doc(|d| {
        d.measured.evidence.drives =
            Some(vec![Drive::of("vda".into(), Ok(before.clone()), Ok(after.clone()))]);
    })
}

#[test]
fn a_drive_that_held_itself_back() {
    let both = drive(|after| {
        (after.throttled_light_s, after.throttled_heavy_s) = (Some(110), Some(12));
        (after.throttled_light_times, after.temperature_c) = (Some(23), Some(71));
    });
    let words = [
        "The drive vda held itself back to stay cool, for 12 s, 3 times;",
        "it was at 41 C before the first I/O and at 71 C after the last, and calls itself too warm from 70 C on.",
    ];
    says(&both.fires("drive-throttled"), FindingGrade::Suspect, &words);
    let once = drive(|after| after.throttled_heavy_times = Some(3)).fires("drive-throttled");
    says(&once, FindingGrade::Suspect, &["to stay cool, once;"]);
    let by_ocp = drive(|after| after.throttle_events = Some(24)).fires("drive-throttled");
    says(&by_ocp, FindingGrade::Suspect, &["2 times;"]);
    says(
        &drive(|after| after.throttles_now = Some(true)).fires("drive-throttled"),
        FindingGrade::Suspect,
        &[],
    );
    drive(|_| {}).silent("drive-throttled");
}

#[test]
fn a_drive_that_was_warm() {
    let warm = drive(|after| after.temperature_c = Some(70)).fires("drive-throttled");
    says(&warm, FindingGrade::Remark, &["The drive vda was warmer than it should be", "70 C after the last"]);
    let meanwhile = drive(|after| after.warm_minutes = Some(8)).fires("drive-throttled");
    says(&meanwhile, FindingGrade::Remark, &["69 C after the last"]);
    let hot = drive(|after| after.critical_minutes = Some(2)).fires("drive-throttled");
    says(&hot, FindingGrade::Suspect, &["so hot that it may stop or be damaged"]);
}

#[test]
fn a_drive_that_counted_errors() {
    let media = drive(|after| (after.media_errors, after.error_log_entries) = (Some(3), Some(41)));
    let words =
        ["The drive vda counted 1 error of its medium that it could not correct, between the first I/O"];
    says(&media.fires("drive-errors"), FindingGrade::Suspect, &words);
    let cable = drive(|after| after.crc_errors = Some(7)).fires("drive-errors");
    says(&cable, FindingGrade::Suspect, &["counted 2 transfers with a wrong checksum"]);
    let entries = drive(|after| after.error_log_entries = Some(42)).fires("drive-errors");
    says(&entries, FindingGrade::Remark, &["has 2 entries more in its log of errors"]);
    // One a second, and just below.
    let link =
        |more| drive(move |after| after.link_errors_corrected = Some(900 + more)).fires("drive-errors");
    says(&link(SECONDS), FindingGrade::Suspect, &["counted 60 corrected errors of its PCI Express link"]);
    says(&link(SECONDS - 1), FindingGrade::Remark, &["59 corrected errors"]);
    let warns = drive(|after| after.warnings.push(DriveWarning::ReadOnly)).fires("drive-errors");
    says(&warns, FindingGrade::Suspect, &["began to warn: it takes no writes any more"]);
    // What it warned of before is nothing new, and heat belongs to the other rule.
    drive(|after| after.warnings.push(DriveWarning::Temperature)).silent("drive-errors");
    drive(|_| {}).silent("drive-errors");
}

#[test]
fn drives_that_say_nothing_are_passed_over() {
    for why in [DriveUntold::NotPermitted, DriveUntold::NoInterface, DriveUntold::NoAnswer] {
        for rule in ["drive-throttled", "drive-errors"] {
            let silent = doc(|d| {
                d.measured.evidence.drives = Some(vec![Drive::of("vda".into(), Err(why), Err(why))]);
            });
            silent.silent(rule);
        }
    }
    doc(|_| {}).silent("drive-errors");
}

#[test]
fn the_doctor_reads_a_drives_health() {
    let well = DriveState {
        spare_percent: Some(10),
        spare_percent_min: Some(10),
        used_percent: Some(99),
        ..DriveState::default()
    };
    let good = health_answer(&well);
    assert_eq!((good.state, good.now.as_deref()), (State::Good, Some("10 % spare, 99 % used")));
    let of = |change: fn(&mut DriveState)| {
        let mut state = well.clone();
        change(&mut state);
        health_answer(&state).state
    };
    assert_eq!(of(|state| state.spare_percent = Some(9)), State::Spoils);
    assert_eq!(of(|state| state.used_percent = Some(100)), State::MaySpoil);
    assert_eq!(of(|state| state.warnings.push(DriveWarning::Unreliable)), State::Spoils);
    assert_eq!(health_answer(&DriveState::default()).now.as_deref(), Some("no warning"));
}
