//! Ranges of non-uniform random I/O: as asked for (`text-output.md` §4.4) and as really used (`text-output.md` §8).

use std::collections::{BTreeMap, BTreeSet};

use super::OneLine;
use truespd_core::profile::{Distribution, DistributionKind, SizeColumn};
use truespd_core::result::{DistributionPart, ThreadResult};

/// One range line before its bounds are formatted.
struct Range {
    io_percent: u32,
    first: u64,
    /// Exclusive; `None` = to the end of the target.
    end: Option<u64>,
}

/// The ranges of a target as asked for, each line behind two tabs.
pub(super) fn asked(out: &mut String, distribution: &Distribution) {
    let mut first = 0u64;
    let mut ranges = Vec::with_capacity(distribution.ranges.len());
    for range in &distribution.ranges {
        let end = first.saturating_add(range.span);
        let open = range.span == 0 && distribution.kind == DistributionKind::Absolute;
        ranges.push(Range { io_percent: range.io_percent, first, end: (!open).then_some(end) });
        first = end;
    }
    match distribution.kind {
        DistributionKind::Percent => {
            for Range { io_percent, first, end } in ranges {
                let end = end.unwrap_or(first);
                line!(out, "\t\t   {io_percent:3}% of IO => [{first:2}% - {end:3}%) of target");
            }
        }
        DistributionKind::Absolute => absolute(out, "\t\t", &ranges),
    }
}

/// Ranges in bytes. Shares that do not add up to 100 belong to a list that was cut short; they are
/// shown scaled to 100, with a decimal.
fn absolute(out: &mut String, indent: &str, ranges: &[Range]) {
    let sum: u32 = ranges.iter().map(|range| range.io_percent).sum();
    for range in ranges {
        let share = if sum < 100 && sum > 0 {
            format!("    {:.1}%", 100.0 * f64::from(range.io_percent) / f64::from(sum))
        } else {
            format!("   {:3}%", range.io_percent)
        };
        let first = match range.first {
            0 => "     0   ".to_string(),
            bytes => SizeColumn(bytes).to_string(),
        };
        let end = match range.end {
            None => "      end".to_string(),
            Some(bytes) => SizeColumn(bytes).to_string(),
        };
        line!(out, "{indent}{share} of IO => [{first} - {end})");
    }
}

/// The ranges really used, each list once, under the targets and threads that used it.
pub(super) fn effective(out: &mut String, threads: &[ThreadResult]) {
    let mut users: BTreeMap<&[DistributionPart], BTreeMap<&str, BTreeSet<u32>>> = BTreeMap::new();
    for thread in threads {
        for target in &thread.targets {
            if let Some(parts) = target.distribution.as_deref().filter(|parts| !parts.is_empty()) {
                users.entry(parts).or_default().entry(&target.path).or_default().insert(thread.id);
            }
        }
    }
    if users.is_empty() {
        return;
    }
    line!(out);
    line!(out, "Effective IO Distributions");
    line!(out, "{:-<26}", "");
    for (parts, targets) in users {
        for (path, threads) in targets {
            line!(out, "target: {} [thread:{}]", OneLine(path), thread_list(threads));
        }
        let ranges: Vec<Range> = parts
            .iter()
            .map(|part| Range {
                io_percent: part.io_percent,
                first: part.offset_bytes,
                end: Some(part.offset_bytes.saturating_add(part.length_bytes)),
            })
            .collect();
        absolute(out, "", &ranges);
    }
}

/// ` 0 - 3 5 6 9`: runs of three or more shortened. (2.2 writes a lone number before the last twice.)
fn thread_list(threads: impl IntoIterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for thread in threads {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == thread => *last = thread,
            _ => runs.push((thread, thread)),
        }
    }
    runs.into_iter()
        .map(|(first, last)| match last - first {
            0 => format!(" {first}"),
            1 => format!(" {first} {last}"),
            _ => format!(" {first} - {last}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::profile::DistributionRange;

    fn asked_text(kind: DistributionKind, ranges: &[(u32, u64)]) -> String {
        let ranges =
            ranges.iter().map(|&(io_percent, span)| DistributionRange { io_percent, span }).collect();
        let mut out = String::new();
        asked(&mut out, &Distribution { kind, ranges });
        out
    }

    #[test]
    fn percent_of_the_target() {
        assert_eq!(
            asked_text(DistributionKind::Percent, &[(90, 10), (10, 90)]),
            "\t\t    90% of IO => [ 0% -  10%) of target\n\t\t    10% of IO => [10% - 100%) of target\n"
        );
    }

    #[test]
    fn bytes_with_a_hole_and_an_open_end() {
        assert_eq!(
            asked_text(DistributionKind::Absolute, &[(70, 1 << 20), (0, 1 << 20), (30, 0)]),
            "\t\t    70% of IO => [     0    -      1MiB)\n\
             \t\t     0% of IO => [     1MiB -      2MiB)\n\
             \t\t    30% of IO => [     2MiB -       end)\n"
        );
    }

    #[test]
    fn below_a_kibibyte_nothing_is_padded() {
        assert_eq!(
            asked_text(DistributionKind::Absolute, &[(60, 512), (40, 1024)]),
            "\t\t    60% of IO => [     0    - 512)\n\t\t    40% of IO => [512 -   1.50KiB)\n"
        );
    }

    #[test]
    fn a_list_cut_short_is_scaled() {
        assert_eq!(
            asked_text(DistributionKind::Absolute, &[(10, 1 << 30), (20, 1 << 30)]),
            "\t\t    33.3% of IO => [     0    -      1GiB)\n\t\t    66.7% of IO => [     1GiB -      2GiB)\n"
        );
    }

    #[test]
    fn thread_lists() {
        for (threads, text) in [
            (vec![0], " 0"),
            (vec![0, 1], " 0 1"),
            (vec![0, 1, 2, 3], " 0 - 3"),
            (vec![0, 2], " 0 2"),
            (vec![0, 2, 3, 5, 6, 7, 9], " 0 2 3 5 - 7 9"),
        ] {
            assert_eq!(thread_list(threads), text);
        }
    }
}
