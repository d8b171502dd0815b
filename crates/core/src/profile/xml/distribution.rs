//! Non-uniform distributions: `Distribution` with `Percent` or `Absolute`.

use std::ops::RangeInclusive;

use super::error::quoted;
use super::schema::{Element, Result, read_list};
use super::write::Writer;
use crate::profile::{Distribution, DistributionKind, DistributionRange};

/// Reads the one list of ranges and adds the tail that its shares imply.
pub(super) fn read(element: Element<'_>) -> Result<Distribution> {
    let legal = || "one list of ranges: Percent or Absolute".to_string();
    element.check_attributes(&[])?;
    let mut found = None;
    for list in element.children() {
        let list = list?;
        let (kind, spans) = match list.name() {
            "Percent" => (DistributionKind::Percent, 1..=100),
            "Absolute" => (DistributionKind::Absolute, 0..=u64::MAX),
            name => {
                return Err(
                    list.error(format!("{} is not an element of Distribution", quoted(name)), legal())
                );
            }
        };
        if found.is_some() {
            return Err(list.error("the distribution has a list of ranges already", legal()));
        }
        found = Some(Distribution { kind, ranges: read_ranges(list, spans)? });
    }
    let mut distribution = found.ok_or_else(|| element.error("the list of ranges is missing", legal()))?;
    add_tail(&mut distribution);
    Ok(distribution)
}

fn read_ranges(list: Element<'_>, spans: RangeInclusive<u64>) -> Result<Vec<DistributionRange>> {
    let mut ranges = Vec::new();
    read_list(list, &["Range"], |range| {
        let Some(io_percent) = range.attribute_u32("IO", 0..=100)? else {
            let legal = "IO, the share of the I/O in percent".to_string();
            return Err(range.error("the attribute IO is missing", legal));
        };
        ranges.push(DistributionRange { io_percent, span: range.number(spans.clone(), &["IO"])? });
        Ok(())
    })?;
    Ok(ranges)
}

/// Shares below 100 in total leave the rest to the rest of the target. Nothing is added when a list of
/// percentages leaves no such rest; that is a fault which the rules across elements report.
fn add_tail(distribution: &mut Distribution) {
    let io: u64 = distribution.ranges.iter().map(|range| u64::from(range.io_percent)).sum();
    let Some(rest @ 1..) = 100u64.checked_sub(io) else { return };
    let span = match distribution.kind {
        DistributionKind::Absolute => 0,
        DistributionKind::Percent => {
            let covered: u64 = distribution.ranges.iter().map(|range| range.span).sum();
            match 100u64.checked_sub(covered) {
                Some(uncovered @ 1..) => uncovered,
                _ => return,
            }
        }
    };
    distribution.ranges.push(DistributionRange { io_percent: rest as u32, span });
}

/// Writes the ranges, the tail among them.
pub(super) fn write(distribution: &Distribution, name: &'static str, out: &mut Writer) {
    let list = match distribution.kind {
        DistributionKind::Percent => "Percent",
        DistributionKind::Absolute => "Absolute",
    };
    out.open(name, &[]);
    out.open(list, &[]);
    for range in &distribution.ranges {
        out.leaf_with("Range", &[("IO", &range.io_percent)], range.span);
    }
    out.close(list);
    out.close(name);
}
