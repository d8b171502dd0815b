//! Was what the test wrote still there when it read it?

use crate::cause::RuleFn::RunSpan;
use crate::cause::{Case, Cause, RuleResult, invalid, remark, rule};
use truespd_core::result::FindingGrade::{Invalid, Remark};
use truespd_core::result::Meaning::{Seen, WrongNumber};
use truespd_core::result::Theme;
use truespd_platform::text::grouped;

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("verify-failed", Theme::Content).judged(
        rule(65, Invalid, WrongNumber, RunSpan(failed)),
        "With --verify, blocks that the test read back were not what it had written there.",
        "do not trust this storage with data: look in the kernel's log (dmesg), read all of it back with `truespd \
         verify`, and test the parts on the way one by one (memory, cable, controller, drive)",
    ),
    Cause::new("verified", Theme::Content).judged(
        rule(465, Remark, Seen, RunSpan(stamped)),
        "The test was verified (--verify): every sector was stamped and checked, and no two I/Os were on a block at \
         once. That takes processor time, and on small ranges outstanding I/Os.",
        "compare these rates only with rates of verified tests",
    ),
];

fn failed(case: &Case<'_>) -> RuleResult {
    let mut findings = Vec::new();
    for target in &case.measured.verified {
        let Some(first) = target.wrong.first() else { continue };
        let says = format!(
            "{} of {} blocks that were read back are not what the test had written there; the first one is {}, at byte \
             {}.",
            grouped(target.wrong_blocks),
            grouped(target.checked_blocks),
            first.fault.word(),
            grouped(first.offset_bytes)
        );
        let finding = invalid(says).target(Some(&target.path));
        findings.push(finding.figure("wrong_blocks", target.wrong_blocks as f64));
    }
    Ok(findings)
}

fn stamped(case: &Case<'_>) -> RuleResult {
    let mut findings = Vec::new();
    for target in &case.measured.verified {
        let mut says = "A verified test: every sector was stamped and checked.".to_string();
        if target.moved_ios > 0 {
            let blocks = target.written_blocks + target.checked_blocks + target.unknown_blocks;
            says.push_str(&format!(
                " {} times an I/O found its block in use and went to the next place; {} blocks were written or read.",
                grouped(target.moved_ios),
                grouped(blocks)
            ));
        }
        if target.map_is_on_target {
            says.push_str(
                " Its map lies on a disk of the target: what takes the data may take the map as well. --verify-map \
                 FILE keeps it on another disk.",
            );
        }
        findings.push(remark(says).target(Some(&target.path)).figure("moved_ios", target.moved_ios as f64));
    }
    Ok(findings)
}
