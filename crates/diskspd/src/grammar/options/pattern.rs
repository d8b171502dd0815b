//! Access pattern: `-r -rs -rd -s -si -p -T` (`command-line.md` §5.2).

use super::super::draft::Draft;
use super::extent::shifted;
use super::{alone, read};
use crate::grammar::value::{Slip, Unit, Value, digits, length, size, size_above_zero, whole};
use truespd_core::profile::{Distribution, DistributionKind, DistributionRange};

const ONE_PATTERN: &str = "random (-r, -rs) and sequential (-s) exclude each other; the alignment of random and mixed \
                           I/O comes from -r<size>";

pub fn random(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if v.text.starts_with('d') {
        return Err(Slip::new("the kind of distribution is missing or unknown")
            .at(0..length(v.text))
            .legal("-rdpct<io>/<target>[:...] in percent, or -rdabs<io>/<size>[:...], in lower case"));
    }
    if let Some(earlier) = d.sequential {
        return Err(Slip::new("the pattern is already sequential (-s)").with(earlier).legal(ONE_PATTERN));
    }
    if let Some(earlier) = d.random {
        return Err(Slip::new("random I/O and its alignment are given twice")
            .with(earlier)
            .legal("one -r[<size>]"));
    }
    if !v.text.is_empty() {
        d.alignment_bytes = Some(size_above_zero(v.text, d.target.block_bytes)?);
    }
    d.random = Some(v.word);
    Ok(())
}

pub fn mixed(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if let Some(earlier) = d.sequential {
        return Err(Slip::new("the pattern is already sequential (-s)").with(earlier).legal(ONE_PATTERN));
    }
    if let Some((earlier, percent)) = d.mixed
        && percent != 100
    {
        return Err(Slip::new("the share of random I/O is given twice").with(earlier).legal("one -rs<pct>"));
    }
    let percent = percentage(d, v, "-rs", 1, "1 to 100 percent of random I/O")?;
    d.mixed = Some((v.word, percent));
    Ok(())
}

pub fn sequential(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    stride(d, v, false)
}

pub fn interlocked(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    stride(d, v, true)
}

fn stride(d: &mut Draft, v: &Value, interlocked: bool) -> Result<(), Slip> {
    if let Some(earlier) = d.random.or(d.mixed.map(|(word, _)| word)) {
        return Err(Slip::new("the pattern is already random (-r, -rs)").with(earlier).legal(ONE_PATTERN));
    }
    if let Some(earlier) = d.sequential {
        return Err(Slip::new("the sequential stride is given twice")
            .with(earlier)
            .legal("one -s[i][<size>]"));
    }
    if !v.text.is_empty() {
        let bytes = size(v.text, d.target.block_bytes).map_err(|slip| {
            if v.text.ends_with('i') { slip.hint("the i comes first: -si<size>") } else { slip }
        })?;
        // A stride of 0 stands for the default, one block.
        d.stride_bytes = Some(bytes).filter(|&bytes| bytes > 0);
    }
    d.sequential = Some(v.word);
    d.target.interlocked = interlocked;
    Ok(())
}

pub fn parallel(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    alone(d, v, "-p");
    d.target.parallel = true;
    Ok(())
}

pub fn thread_stride(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.target.thread_stride_bytes = size_above_zero(v.text, d.target.block_bytes)?;
    Ok(())
}

pub fn distribution_percent(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    distribution(d, v, DistributionKind::Percent)
}

pub fn distribution_absolute(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    distribution(d, v, DistributionKind::Absolute)
}

/// Pairs `<io>/<share>` separated by colons; a later option replaces an earlier one.
fn distribution(d: &mut Draft, v: &Value, kind: DistributionKind) -> Result<(), Slip> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for pair in v.text.split(':') {
        ranges.push(range(pair, kind, d.target.block_bytes).map_err(|slip| shifted(slip, start))?);
        start += length(pair) + 1;
    }
    append_tail(kind, &mut ranges);
    d.target.distribution = Some(Distribution { kind, ranges });
    Ok(())
}

fn range(pair: &str, kind: DistributionKind, block_bytes: u64) -> Result<DistributionRange, Slip> {
    const LEGAL: &str =
        "pairs of I/O share (0 to 100) and target share, separated by colons: 90/10:0/10:5/20";
    let (share, count) = digits(pair);
    let found = pair.chars().nth(count);
    if count == 0 {
        let what =
            if pair.is_empty() { "a pair <io>/<share> is missing" } else { "the share of I/O is missing" };
        return Err(Slip::new(what).at(0..usize::from(found.is_some())).legal(LEGAL));
    }
    if found != Some('/') {
        return Err(Slip::new("the / between I/O share and target share is missing")
            .at(count..count + usize::from(found.is_some()))
            .legal(LEGAL));
    }
    let Some(io_percent) = share.filter(|&n| n <= 100) else {
        return Err(Slip::new("the share of I/O is above 100 %")
            .at(0..count)
            .legal("0 to 100 percent of the I/O"));
    };
    let start = count + 1;
    let rest: String = pair.chars().skip(start).collect();
    let span = span(&rest, kind, block_bytes).map_err(|slip| shifted(slip, start))?;
    let io_percent = u32::try_from(io_percent).expect("at most 100");
    Ok(DistributionRange { io_percent, span })
}

fn span(text: &str, kind: DistributionKind, block_bytes: u64) -> Result<u64, Slip> {
    match kind {
        DistributionKind::Percent => share(text, 1, "1 to 100 percent of the target").map(u64::from),
        DistributionKind::Absolute => size_above_zero(text, block_bytes),
    }
}

/// What is left of the I/O goes to the rest of the target.
fn append_tail(kind: DistributionKind, ranges: &mut Vec<DistributionRange>) {
    let io: u64 = ranges.iter().map(|range| u64::from(range.io_percent)).sum();
    if io >= 100 {
        return;
    }
    let span = match kind {
        DistributionKind::Percent => {
            let covered = ranges.iter().fold(0u64, |sum, range| sum.saturating_add(range.span));
            100u64.saturating_sub(covered)
        }
        DistributionKind::Absolute => 0,
    };
    let io_percent = u32::try_from(100 - io).expect("at most 100");
    ranges.push(DistributionRange { io_percent, span });
}

/// The percentage of an option, from `min` to 100.
pub fn percentage(d: &mut Draft, v: &Value, option: &str, min: u64, legal: &str) -> Result<u32, Slip> {
    let percent = read(d, v, option, Unit::Percent, min..=100).map_err(|slip| slip.legal(legal))?;
    Ok(u32::try_from(percent).expect("at most 100"))
}

/// A percentage from `min` to 100 within a value.
pub fn share(text: &str, min: u64, legal: &str) -> Result<u32, Slip> {
    let percent = whole(text, min..=100).map_err(|slip| slip.legal(legal))?;
    Ok(u32::try_from(percent).expect("at most 100"))
}
