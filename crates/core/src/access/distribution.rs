//! The parts of a target that a non-uniform random distribution really uses (`-rd`).
//!
//! Percentages become bytes, absolute ranges are clipped to the target, holes are left out, and every
//! range that remains has at least one allowed start. 2.2's procedure leaves empty ranges and lost
//! shares on targets with few positions per percent; this is the corrected one.
//!
//! Source: `io-semantics.md` §7.

use crate::profile::{Distribution, DistributionKind, DistributionRange, Size};

use super::{EffectiveRange, Rng, UsableRange};

/// Largest sum of shares, and so the largest table of draws.
const PERCENT: usize = 100;

/// The effective ranges of one distribution on one usable range, ready to be drawn from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveDistribution {
    ranges: Vec<EffectiveRange>,
    weight: u32,
    starts: Vec<Starts>,
    /// Draw below the total weight to index into `starts`.
    by_draw: [u8; PERCENT],
}

/// Allowed starts of a range: `first + j·a` with `j·a < span`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Starts {
    first: u64,
    /// Number of starts times the alignment.
    span: u64,
}

impl EffectiveDistribution {
    /// Computes the ranges that `distribution` comes to on `range`.
    ///
    /// # Errors
    /// [`DistributionError`] when no range with I/O lies on the target, or when the distribution
    /// breaks the rules that profile validation checks.
    pub fn new(distribution: &Distribution, range: &UsableRange) -> Result<Self, DistributionError> {
        check_sums(distribution)?;
        let mut ranges = match distribution.kind {
            DistributionKind::Percent => percent_ranges(&distribution.ranges, range),
            DistributionKind::Absolute => absolute_ranges(&distribution.ranges, range),
        };
        if ranges.is_empty() {
            return Err(nothing_left(&distribution.ranges, range));
        }
        let mut weight = 0;
        for part in &mut ranges {
            part.io_start = weight;
            weight += part.io_percent;
        }
        let starts: Vec<Starts> = ranges
            .iter()
            .map(|part| Starts {
                first: part.offset_bytes,
                span: starts_in(part.offset_bytes, part.length_bytes, range) * range.stride_bytes(),
            })
            .collect();
        let mut by_draw = [0; PERCENT];
        for (index, part) in ranges.iter().enumerate() {
            let from = part.io_start as usize;
            by_draw[from..from + part.io_percent as usize].fill(index as u8);
        }
        Ok(EffectiveDistribution { ranges, weight, starts, by_draw })
    }

    /// The ranges in ascending order; shares are contiguous from 0 and sum to [`Self::weight`].
    pub fn ranges(&self) -> &[EffectiveRange] {
        &self.ranges
    }

    /// Total share of the ranges in percent (W): 100, or less when absolute ranges fell off the target.
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// An allowed start relative to the base, from a random multiple of the alignment and one draw.
    #[inline]
    pub(super) fn start(&self, aligned: u64, rng: &mut Rng) -> u64 {
        let draw = rng.next_u64();
        // A constant divisor is a multiplication; shares below 100 are the rare case.
        let draw =
            if self.weight == PERCENT as u32 { draw % PERCENT as u64 } else { draw % u64::from(self.weight) };
        let starts = self.starts[usize::from(self.by_draw[draw as usize])];
        starts.first + aligned % starts.span
    }
}

/// Number of starts `first + j·a` inside a range from which a block stays on the target.
fn starts_in(first: u64, length: u64, range: &UsableRange) -> u64 {
    match range.last_start_bytes().checked_sub(first) {
        None => 0,
        Some(room) => (room / range.stride_bytes() + 1).min(length.div_ceil(range.stride_bytes())),
    }
}

/// Checks the sums that everything below relies on. Validation has already refused them with better messages.
fn check_sums(distribution: &Distribution) -> Result<(), DistributionError> {
    let io: u64 = distribution.ranges.iter().map(|r| u64::from(r.io_percent)).sum();
    if io > PERCENT as u64 {
        return Err(DistributionError::IoAboveHundred { percent: io });
    }
    if distribution.kind == DistributionKind::Percent {
        let target: u128 = distribution.ranges.iter().map(|r| u128::from(r.span)).sum();
        if target > PERCENT as u128 {
            return Err(DistributionError::TargetAboveHundred { percent: target });
        }
        if let Some(empty) = distribution.ranges.iter().position(|r| r.span == 0) {
            return Err(DistributionError::NoSpan { range: empty + 1 });
        }
    } else if let Some(open) = distribution.ranges.iter().position(|r| r.span == 0)
        && open + 1 != distribution.ranges.len()
    {
        return Err(DistributionError::OpenNotLast { range: open + 1 });
    }
    Ok(())
}

/// A percentage range on its way to bytes.
#[derive(Clone, Copy)]
struct PercentRange {
    io: u32,
    lo: u64,
    /// Exclusive; equal to `lo` while the range stands for the single position `lo`.
    hi: u64,
}

fn percent_of(span_bytes: u64, percent: u64) -> u64 {
    (u128::from(span_bytes) * u128::from(percent) / 100) as u64
}

/// Effective ranges of a percentage list (`io-semantics.md` §7.3, corrected): multiples of the alignment within [0, A).
fn percent_ranges(list: &[DistributionRange], range: &UsableRange) -> Vec<EffectiveRange> {
    let end = range.span_bytes();
    let align = range.stride_bytes();

    let mut parts: Vec<PercentRange> = Vec::with_capacity(list.len());
    let mut carried = 0;
    let mut before = 0;
    for item in list {
        let from = before;
        before += item.span;
        if item.io_percent == 0 {
            continue;
        }
        let io = item.io_percent;
        let lo = percent_of(end, from);
        let hi = if before == 100 { end } else { (lo + percent_of(end, item.span)) / align * align };
        if hi < lo {
            // No position inside: the share goes to the range that stands at this position, or on.
            match parts.last_mut() {
                Some(previous) if previous.lo == hi => previous.io += io,
                _ => carried += io,
            }
            continue;
        }
        let mut lo = lo / align * align;
        if let Some(previous) = parts.last_mut()
            && previous.lo == lo
        {
            // The previous range is empty: it takes this range's first position.
            if lo < hi {
                previous.hi += align;
                lo += align;
            }
            if lo == hi {
                previous.io += io;
                continue;
            }
        }
        if carried > 0
            && let Some(previous) = parts.last_mut()
            && previous.io < io
        {
            previous.io += std::mem::take(&mut carried);
        }
        parts.push(PercentRange { io: io + std::mem::take(&mut carried), lo, hi });
    }
    if carried > 0 {
        match parts.last_mut() {
            Some(last) => {
                last.io += carried;
                last.hi = end;
            }
            None => parts.push(PercentRange { io: carried, lo: 0, hi: end }),
        }
    }
    parts
        .into_iter()
        .map(|part| EffectiveRange {
            io_start: 0,
            io_percent: part.io,
            offset_bytes: part.lo,
            length_bytes: if part.hi == part.lo { align } else { part.hi - part.lo },
        })
        .collect()
}

/// Effective ranges of a list of sizes (`io-semantics.md` §7.4, corrected): clipped to the target, shares untouched.
fn absolute_ranges(list: &[DistributionRange], range: &UsableRange) -> Vec<EffectiveRange> {
    let usable = range.usable_bytes();
    let mut parts = Vec::with_capacity(list.len());
    let mut first: u64 = 0;
    for item in list {
        if first >= usable {
            break;
        }
        let room = usable - first;
        let length = if item.span == 0 { room } else { item.span.min(room) };
        // A range clipped below a block has no start either.
        if item.io_percent > 0 && starts_in(first, length, range) > 0 {
            parts.push(EffectiveRange {
                io_start: 0,
                io_percent: item.io_percent,
                offset_bytes: first,
                length_bytes: length,
            });
        }
        // Beyond the end it does not matter by how much.
        first = first.saturating_add(item.span);
    }
    parts
}

fn nothing_left(list: &[DistributionRange], range: &UsableRange) -> DistributionError {
    match list.iter().position(|r| r.io_percent > 0) {
        None => DistributionError::NoIo,
        Some(index) => DistributionError::NothingOnTarget {
            first_bytes: list[..index].iter().map(|r| u128::from(r.span)).sum(),
            usable_bytes: range.usable_bytes(),
            block_bytes: range.block_bytes(),
        },
    }
}

/// Why a distribution cannot be used on a target. The caller names the target.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DistributionError {
    /// No range with I/O begins on the target with room for a block.
    #[error(
        "no range of the distribution with I/O is on the target: the first one begins {first_bytes} bytes after the \
         base offset, but the tested range has {usable_bytes} bytes ({}) and a block has {block_bytes} (-b); use a \
         larger target, or ranges (-rdabs) that begin within it",
        Size(*usable_bytes)
    )]
    NothingOnTarget {
        /// Start of the first range with I/O, relative to the base.
        first_bytes: u128,
        usable_bytes: u64,
        block_bytes: u64,
    },
    /// Only holes, or nothing at all.
    #[error("the distribution gives no I/O to any range; at least one share must be above 0% (-rd)")]
    NoIo,
    /// Shares of I/O exceed 100 %.
    #[error("the shares of I/O of the distribution sum to {percent}%; they may sum to 100% at most (-rd)")]
    IoAboveHundred { percent: u64 },
    /// Shares of the target exceed 100 %.
    #[error(
        "the shares of the target of the distribution sum to {percent}%; they may sum to 100% at most (-rdpct)"
    )]
    TargetAboveHundred { percent: u128 },
    /// A percentage range over nothing.
    #[error("range {range} of the distribution covers 0% of the target; it must cover at least 1% (-rdpct)")]
    NoSpan {
        /// Number in the list, from 1.
        range: usize,
    },
    /// An open range before the end of the list.
    #[error("range {range} of the distribution has no size; only the last range may be open (-rdabs)")]
    OpenNotLast {
        /// Number in the list, from 1.
        range: usize,
    },
}

#[cfg(test)]
mod tests;
