//! Verified tests.

use super::*;
use truespd_core::result::{Verified, WrongRange};
use truespd_core::verify::Fault;

fn verified(wrong_blocks: u64) -> Doc {
    doc(|d| {
        let wrong = WrongRange {
            offset_bytes: 1 << 20,
            length_bytes: 4096,
            fault: Fault::Missing,
            expected_generation: None,
            found_generation: Some(1),
            found_offset_bytes: Some(1 << 20),
            found_written_s: Some(1.0),
            found_thread: Some(0),
        };
        d.measured.verified.push(Verified {
            path: "t".into(),
            map: "m".into(),
            map_is_on_target: false,
            block_bytes: 4096,
            blocks: 1000,
            written_blocks: 600,
            checked_blocks: 300,
            unknown_blocks: 100,
            wrong_blocks,
            moved_ios: 50,
            held_ios: 1,
            is_flushed: true,
            wrong: if wrong_blocks > 0 { vec![wrong] } else { Vec::new() },
        });
    })
}

#[test]
fn blocks_that_are_not_what_was_written() {
    let words = ["2 of 300 blocks that were read back", "the first one is missing, at byte 1,048,576"];
    says(&verified(2).fires("verify-failed"), FindingGrade::Invalid, &words);
    verified(0).silent("verify-failed");
    doc(|_| {}).silent("verify-failed");
}

#[test]
fn a_verified_test_says_so() {
    let words = ["50 times an I/O found its block in use", "; 1,000 blocks were written or read."];
    says(&verified(0).fires("verified"), FindingGrade::Remark, &words);
    let mut beside = verified(0);
    beside.measured.verified[0].map_is_on_target = true;
    says(&beside.fires("verified"), FindingGrade::Remark, &["Its map lies on a disk of the target"]);
    doc(|_| {}).silent("verified");
}
