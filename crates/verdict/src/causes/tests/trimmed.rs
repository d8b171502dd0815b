//! Trims of the test itself.

use super::*;

/// Of 20,000 I/Os a second so many trim; the disk is told of each, and reads of what was trimmed need no disk.
fn trimming(percent: u32, trims_per_s: u64, change: impl FnOnce(&mut Doc)) -> Doc {
    doc(|d| {
        d.asked.trim_percent = percent;
        d.trims_per_s = trims_per_s;
        d.reads_per_s -= trims_per_s;
        d.refresh();
        let bytes = trims_per_s * SECONDS * d.asked.block_bytes;
        (d.disk().discards, d.disk().discard_bytes) = (trims_per_s * SECONDS, bytes);
        change(d);
    })
}

#[test]
fn reads_of_what_was_trimmed_are_no_reads_of_data() {
    // 2,000/s of 4 KiB are 469 MiB in a minute, of 8 GiB; the warm-up of 5 s comes before.
    let words =
        ["trimmed 7.8 MiB/s and wrote nothing: about 3.3 % of its reads met places that it had trimmed"];
    says(&trimming(10, 2000, |_| ()).fires("trimmed-places"), FindingGrade::Remark, &words);
    says(&trimming(50, 10_000, |_| ()).fires("trimmed-places"), FindingGrade::Suspect, &["about 15 %"]);
    trimming(1, 100, |_| ()).silent("trimmed-places");
    doc(|d| d.facts()[0].content = Some(ContentSample { zero_blocks: 200, ..random_sample() }))
        .silent("trimmed-places");
    trimming(50, 10_000, |d| d.reads_per_s = 1).missing("trimmed-places", "60 reads");
    // It takes the place of those rules.
    for rule in ["never-written", "zero-data", "first-writes"] {
        let empty = |d: &mut Doc| {
            let map = d.facts()[0].extents.as_mut().expect("a file");
            (map.hole_bytes, map.written_bytes) = (4 * GIB, 4 * GIB);
            d.facts()[0].content = Some(ContentSample { zero_blocks: 128, ..random_sample() });
        };
        trimming(50, 10_000, empty).silent(rule);
        says(&trimming(50, 10_000, empty).fires("trimmed-places"), FindingGrade::Suspect, &["about 5"]);
    }
    // Beside writes alone it is what was asked for.
    let only_writes = trimming(50, 10_000, |d| {
        d.asked.write_percent = 100;
        (d.writes_per_s, d.reads_per_s) = (10_000, 0);
        let (discards, bytes) = (d.disk().discards, d.disk().discard_bytes);
        d.refresh();
        (d.disk().discards, d.disk().discard_bytes) = (discards, bytes);
    });
    let words = ["of its writes were the first ones to a place that it had trimmed"];
    says(&only_writes.fires("trimmed-places"), FindingGrade::Remark, &words);
}

#[test]
fn reads_of_what_was_trimmed_need_no_disk() {
    // 15 % of the reads are of places that are empty: as many bytes less are no sign of a cache.
    let less =
        |part: f64| move |d: &mut Doc| d.disk().read_bytes = (d.disk().read_bytes as f64 * part) as u64;
    trimming(50, 10_000, less(0.80)).silent("served-from-cache");
    assert!(trimming(50, 10_000, less(0.60)).see("served-from-cache").is_ok_and(|found| found.len() == 1));
    assert!(doc(less(0.80)).see("served-from-cache").is_ok_and(|found| found.len() == 1));
}

#[test]
fn devices_that_are_told_of_no_trim() {
    let told = |part: u64| move |d: &mut Doc| d.disk().discard_bytes = d.disk().discard_bytes * part / 100;
    let none = trimming(10, 2000, told(0)).fires("trims-unseen");
    let words = ["trimmed 7.8 MiB/s in files (2,000 trims/s), and vda received discards of nothing."];
    says(&none, FindingGrade::Remark, &words);
    assert!(none.advice.contains("-o discard"), "{}", none.advice);
    says(&trimming(10, 2000, told(9)).fires("trims-unseen"), FindingGrade::Remark, &["of only 720 KiB/s"]);
    trimming(10, 2000, told(11)).silent("trims-unseen");
    trimming(10, 1, told(0)).missing("trims-unseen", "60 trims");
    doc(|_| ()).silent("trims-unseen");
}

#[test]
fn discards_of_the_test_itself_are_no_other_commands() {
    trimming(10, 2000, |_| ()).silent("other-commands");
    let more = trimming(10, 2000, |d| {
        d.disk().discards += 5 * SECONDS;
        d.disk().discard_bytes += 5 * SECONDS * GIB;
    });
    let words = ["5/s discards of 1 GiB went to vda during the run, and none of them is a trim of this run"];
    says(&more.fires("other-commands"), FindingGrade::Suspect, &words);
}
