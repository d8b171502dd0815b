//! Rules about non-uniform distributions (`-rd`). Only the first cause is reported: what follows a
//! wrong range has no meaning of its own.

use super::{Collector, Rule};
use crate::profile::{Distribution, DistributionKind, Target};
use crate::text::size;

const SWITCH: &[&str] = &["-rd"];

pub(super) fn check(found: &mut Collector, target: &Target, distribution: &Distribution) {
    if let Err((rule, message)) = first_cause(distribution, target.block_bytes) {
        let switches: &[&'static str] = if rule == Rule::RANGE_BELOW_BLOCK { &["-rd", "-b"] } else { SWITCH };
        found.error(rule, switches, message);
    }
}

fn first_cause(distribution: &Distribution, block_bytes: u64) -> Result<(), (Rule, String)> {
    let last = distribution.ranges.len().saturating_sub(1);
    let (mut io, mut covered, mut bytes) = (0u64, 0u64, 0u64);
    for (i, range) in distribution.ranges.iter().enumerate() {
        let number = i + 1;
        if distribution.kind == DistributionKind::Absolute {
            absolute_span(range.span, number, i == last, block_bytes)?;
            bytes = bytes.checked_add(range.span).ok_or_else(|| {
                let message = format!("the end of range {number} of -rd does not fit into 64 bits");
                (Rule::TARGET_SHARES_EXCEED, message)
            })?;
        }
        let share = u64::from(range.io_percent);
        if io + share > 100 {
            return Err((
                Rule::IO_SHARES_EXCEED,
                format!("range {number} of -rd takes {share} % of the I/O, but only {} % are left", 100 - io),
            ));
        }
        io += share;
        if distribution.kind == DistributionKind::Percent {
            if range.span > 100 - covered {
                return Err((
                    Rule::TARGET_SHARES_EXCEED,
                    format!(
                        "range {number} of -rd takes {} % of the target, but only {} % are left",
                        range.span,
                        100 - covered
                    ),
                ));
            }
            covered += range.span;
            if covered == 100 && io < 100 {
                return Err((
                    Rule::IO_LEFT_OVER,
                    format!(
                        "after range {number} of -rd the target is used up, but {} % of the I/O are left over: \
                         give the ranges 100 % of the I/O, or leave a part of the target for the rest",
                        100 - io
                    ),
                ));
            }
        }
    }
    if io < 100 {
        return Err((
            Rule::IO_LEFT_OVER,
            format!("the ranges of -rd take {io} % of the I/O: {} % are left over", 100 - io),
        ));
    }
    if distribution.kind == DistributionKind::Percent && covered != 100 {
        return Err((
            Rule::TARGET_LEFT_OVER,
            format!(
                "the ranges of -rd cover {covered} % of the target in total: it must be 100 (to leave a part \
                 without I/O, add a hole: 0/{})",
                100 - covered
            ),
        ));
    }
    Ok(())
}

fn absolute_span(span: u64, number: usize, is_last: bool, block_bytes: u64) -> Result<(), (Rule, String)> {
    match span {
        0 if is_last => Ok(()),
        0 => Err((
            Rule::OPEN_RANGE_INSIDE,
            format!("range {number} of -rd is open (length 0), which only the last range may be"),
        )),
        span if span < block_bytes => Err((
            Rule::RANGE_BELOW_BLOCK,
            format!(
                "range {number} of -rd is {} long, shorter than the block size of {} (-b): no I/O fits into it",
                size(span),
                size(block_bytes)
            ),
        )),
        _ => Ok(()),
    }
}
