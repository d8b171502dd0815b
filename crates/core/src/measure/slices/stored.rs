//! The slices in documents: short lists, and the limits of the buckets beside them, so that nobody has to know how
//! they are cut.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LatencySlices, Slice};
use crate::measure::coarse;

/// Latencies over time as a document holds them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LatencySlices")]
pub(super) struct Stored {
    /// Length of a slice in nanoseconds. The first one begins with the measured time; the last one may be cut
    /// short by its end.
    slice_ns: u64,
    /// Limits of the buckets in nanoseconds, ascending: bucket n (from 0) holds latencies from limit n to
    /// below limit n + 1.
    limits_ns: Vec<u64>,
    /// Reads.
    reads: Lists,
    /// Writes.
    writes: Lists,
}

/// Reads or writes as a document holds them. Both lists have an entry for each slice, in the order of time.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LatencySliceLists")]
struct Lists {
    /// The first bucket with I/Os.
    first: Vec<usize>,
    /// I/Os in that bucket and in those after it; what is beyond the end of the list has none.
    counts: Vec<Vec<u64>>,
}

/// Why stored slices cannot be taken back.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("'slice_ns' is 0")]
    NoLength,
    #[error(
        "the document is damaged: its lists of latencies over time have different lengths ('reads.first' has {0} entries)"
    )]
    Ragged(usize),
    #[error("'limits_ns' are not limits of buckets of this version")]
    Limits,
    #[error("slice {slice}: its buckets end at {end}, but 'limits_ns' has {buckets} of them")]
    Beyond { slice: usize, end: usize, buckets: usize },
}

impl From<LatencySlices> for Stored {
    fn from(from: LatencySlices) -> Self {
        let used = || from.slices.iter().flatten().filter(|slice| !slice.counts.is_empty());
        let first = used().map(|slice| slice.first).min().unwrap_or(0);
        let limits_ns = match used().map(Slice::end).max() {
            Some(end) => (first..=end).map(coarse::low_ns).collect(),
            None => Vec::new(),
        };
        let lists = |which: usize| Lists {
            first: from.slices.iter().map(|slices| slices[which].first.saturating_sub(first)).collect(),
            counts: from.slices.iter().map(|slices| slices[which].counts.clone()).collect(),
        };
        Stored { slice_ns: from.slice_ns, limits_ns, reads: lists(0), writes: lists(1) }
    }
}

impl TryFrom<Stored> for LatencySlices {
    type Error = Unreadable;

    fn try_from(stored: Stored) -> Result<Self, Unreadable> {
        let Stored { slice_ns, limits_ns, reads, writes } = stored;
        if slice_ns == 0 {
            return Err(Unreadable::NoLength);
        }
        let slices = reads.first.len();
        if [reads.counts.len(), writes.first.len(), writes.counts.len()]
            .iter()
            .any(|&length| length != slices)
        {
            return Err(Unreadable::Ragged(slices));
        }
        let begin = limits_ns.first().map_or(0, |&ns| coarse::bucket_of(ns));
        let buckets = limits_ns.len().saturating_sub(1);
        let are_ours = begin + buckets <= coarse::BUCKETS
            && limits_ns.iter().enumerate().all(|(place, &ns)| ns == coarse::low_ns(begin + place));
        if !are_ours {
            return Err(Unreadable::Limits);
        }
        let of = |lists: &Lists, slice: usize| {
            let (first, counts) = (lists.first[slice], &lists.counts[slice]);
            let end = first.saturating_add(counts.len());
            if counts.is_empty() || end <= buckets {
                Ok(Slice::beginning_at(begin.saturating_add(first), counts))
            } else {
                Err(Unreadable::Beyond { slice, end, buckets })
            }
        };
        let both = |slice| Ok([of(&reads, slice)?, of(&writes, slice)?]);
        Ok(LatencySlices { slice_ns, slices: (0..slices).map(both).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices() -> LatencySlices {
        let mut counts = [0; coarse::BUCKETS];
        (counts[40], counts[42]) = (3, 1);
        let mut last = [0; coarse::BUCKETS];
        last[coarse::BUCKETS - 1] = u64::MAX;
        let none = Slice::default;
        LatencySlices::new(
            500,
            vec![[Slice::of(&counts), none()], [none(), none()], [none(), Slice::of(&last)]],
        )
    }

    #[test]
    fn slices_come_back() {
        for slices in
            [slices(), LatencySlices::new(7, Vec::new()), LatencySlices::new(7, vec![Default::default()])]
        {
            let text = serde_json::to_string(&slices).unwrap();
            assert_eq!(serde_json::from_str::<LatencySlices>(&text).unwrap(), slices, "{text}");
        }
    }

    #[test]
    fn the_stored_form_explains_itself() {
        let mut short = slices();
        short.slices.truncate(2);
        let stored = serde_json::to_value(&short).unwrap();
        let expected = serde_json::json!({
            "slice_ns": 500,
            "limits_ns": [524_288, 655_360, 786_432, 917_504],
            "reads": { "first": [0, 0], "counts": [[3, 0, 1], []] },
            "writes": { "first": [0, 0], "counts": [[], []] },
        });
        assert_eq!(stored, expected);
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let good = Stored::from(slices());
        let lists = |first: Vec<usize>, counts: Vec<Vec<u64>>| Lists { first, counts };
        for (stored, reason) in [
            (Stored { slice_ns: 0, ..good.clone() }, "slice_ns"),
            (Stored { reads: Lists::default(), ..good.clone() }, "different lengths"),
            (Stored { limits_ns: vec![0, 256, 511], ..good.clone() }, "not limits"),
            (Stored { limits_ns: vec![u64::MAX, u64::MAX], ..good.clone() }, "not limits"),
            (Stored { limits_ns: vec![], ..good.clone() }, "slice 0: its buckets end at 3"),
            (
                Stored { reads: lists(vec![usize::MAX, 0, 0], vec![vec![1], vec![], vec![]]), ..good },
                "slice 0: its buckets end at",
            ),
        ] {
            let refused = LatencySlices::try_from(stored).unwrap_err().to_string();
            assert!(refused.contains(reason), "{refused}");
        }
    }
}
