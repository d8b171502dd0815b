//! The rows of all sources for one time span: their times, and what they share. And the ranks of cluster runs whose
//! results
//! are not in a sum.

use crate::result::{CpuUse, LostRank, MissingRank, RANKS_MAX, Source, SourceSpan, System, Window};
use std::collections::{BTreeMap, BTreeSet};

/// Shared time below this part of the longest run is worth a warning.
const COMMON_PART_NOTABLE: f64 = 0.98;
/// Measured times that differ by more than this part are worth a warning.
const TIMES_PART_NOTABLE: f64 = 0.01;

/// The rows of all sources for one time span, in the table's order.
pub(super) struct Rows<'a> {
    time_span: usize,
    sources: usize,
    base: &'a System,
    /// The sources that measured something.
    pub spans: Vec<(&'a Source, &'a SourceSpan)>,
}

impl<'a> Rows<'a> {
    /// Of a time span, from 0.
    pub fn of(sources: &'a [Source], time_span: usize) -> Self {
        Rows {
            time_span,
            sources: sources.len(),
            base: &sources[0].system,
            spans: sources
                .iter()
                .filter_map(|source| Some((source, source.time_spans.get(time_span)?.as_ref()?)))
                .collect(),
        }
    }

    fn times_s(&self) -> impl Iterator<Item = f64> {
        self.spans.iter().map(|(_, span)| span.test_time_s)
    }

    /// The measured time of the sum.
    pub fn mean_time_s(&self) -> f64 {
        // As a deviation from the first, so that equal times give exactly that time.
        let first = self.times_s().next().unwrap_or(0.0);
        first + self.times_s().map(|time| time - first).sum::<f64>() / self.spans.len().max(1) as f64
    }

    /// Mean use of each processor over the sources on machines like the first one's.
    pub fn cpu(&self) -> Vec<CpuUse> {
        let alike: Vec<&[CpuUse]> = self.alike().collect();
        let mean = |of: fn(&CpuUse) -> f64, i: usize| {
            let first = of(&alike[0][i]);
            first + alike.iter().map(|cpu| of(&cpu[i]) - first).sum::<f64>() / alike.len() as f64
        };
        (0..self.base.topology.processors.len())
            .map(|i| {
                if alike.is_empty() {
                    CpuUse { user: 0.0, kernel: 0.0, idle: 100.0 }
                } else {
                    CpuUse {
                        user: mean(|c| c.user, i),
                        kernel: mean(|c| c.kernel, i),
                        idle: mean(|c| c.idle, i),
                    }
                }
            })
            .collect()
    }

    fn alike(&self) -> impl Iterator<Item = &'a [CpuUse]> {
        let processors = self.base.topology.processors.len();
        let is_alike = move |source: &Source, span: &SourceSpan| {
            source.system.topology == self.base.topology && span.cpu.len() == processors
        };
        self.spans.iter().filter(move |(source, span)| is_alike(source, span)).map(|(_, s)| s.cpu.as_slice())
    }

    /// By one clock, where it is known.
    fn windows(&self) -> impl Iterator<Item = Window> {
        self.spans.iter().filter_map(|(_, span)| span.common_window())
    }

    /// What the targets are called where those of all sources are one: as on the first source that has so many.
    pub fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for (_, span) in &self.spans {
            paths.extend(span.targets.iter().skip(paths.len()).cloned());
        }
        paths
    }

    /// The window that all share.
    pub fn common(&self) -> Option<Window> {
        let mut windows = self.windows();
        let first = windows.next()?;
        windows.try_fold(first, Window::common)
    }

    /// The hosts of the run that ended first and of that which began last, when no time is common to all.
    pub fn apart(&self) -> Option<(String, String)> {
        if self.windows().next().is_none() || self.common().is_some() {
            return None;
        }
        let rows = || self.spans.iter().filter_map(|(source, span)| Some((source, span.common_window()?)));
        let host = |row: Option<(&&Source, Window)>| {
            row.map_or_else(String::new, |(source, _)| source.system.computer_name.clone())
        };
        let early = host(rows().min_by_key(|(_, window)| window.end_unix_ns));
        Some((early, host(rows().max_by_key(|(_, window)| window.start_unix_ns))))
    }

    /// What a person should know of their times and machines.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.spans.len() < 2 && self.sources < 2 {
            return warnings;
        }
        let number = self.time_span + 1;
        if self.spans.len() < self.sources {
            let missing = self.sources - self.spans.len();
            warnings
                .push(format!("time span {number}: {missing} of {} results measured nothing", self.sources));
        }
        let (least, most) =
            self.times_s().fold((f64::MAX, 0.0f64), |(least, most), s| (least.min(s), most.max(s)));
        if most - least > most * TIMES_PART_NOTABLE {
            warnings.push(format!(
                "time span {number}: the runs measured for {least:.3} to {most:.3} s; rates are totals divided by \
                 the mean time"
            ));
        }
        let longest_ns = self.windows().map(|w| w.length_ns()).max().unwrap_or(0);
        let common_ns = self.common().map_or(0, |w| w.length_ns());
        if self.windows().count() < self.spans.len() {
            warnings.push(format!(
                "time span {number}: not every result shows when it ran, so it is not known whether all ran at the \
                 same time"
            ));
        } else if (common_ns as f64) < longest_ns as f64 * COMMON_PART_NOTABLE {
            warnings.push(format!(
                "time span {number}: all runs together measured for only {:.3} s, the longest for {:.3} s; the rates \
                 are those of this common time if every run was steady, and each run's intervals count from its own \
                 start",
                common_ns as f64 / 1e9,
                longest_ns as f64 / 1e9
            ));
        }
        let others = self.spans.len() - self.alike().count();
        if others > 0 {
            warnings.push(format!(
                "time span {number}: processor use is the mean of the hosts with the processors of {}; {others} \
                 results of other machines are only in the table of sources",
                self.base.computer_name
            ));
        }
        warnings
    }
}

/// Ranks that a warning names.
const NAMED_MAX: usize = 8;

/// Ranks of each run that no source is of. What became of them is in the results of the others; a rank whose
/// result is here is not missing, whatever they say.
pub(super) fn missing(sources: &[Source]) -> Vec<MissingRank> {
    #[derive(Default)]
    struct Run<'s> {
        ranks: u32,
        given: BTreeSet<u32>,
        lost: BTreeMap<u32, &'s LostRank>,
    }
    let mut runs: BTreeMap<&str, Run<'_>> = BTreeMap::new();
    for rank in sources.iter().filter_map(|source| source.rank.as_ref()) {
        let run = runs.entry(&rank.run).or_default();
        run.ranks = run.ranks.max(rank.ranks).min(RANKS_MAX);
        run.given.insert(rank.rank);
        for lost in &rank.lost {
            run.lost.entry(lost.rank).or_insert(lost);
        }
    }
    let of_run = |(name, run): (&str, Run<'_>)| -> Vec<MissingRank> {
        let missing = (0..run.ranks).filter(|rank| !run.given.contains(rank));
        let lost = |rank| run.lost.get(&rank).map(|&lost| lost.clone());
        missing.map(|rank| MissingRank { run: name.to_string(), rank, lost: lost(rank) }).collect()
    };
    runs.into_iter().flat_map(of_run).collect()
}

/// What a person should know of them.
pub(super) fn missing_warning(missing: &[MissingRank], sources: usize) -> Option<String> {
    let mut named: Vec<String> = missing.iter().take(NAMED_MAX).map(MissingRank::words).collect();
    if missing.len() > NAMED_MAX {
        named.push(format!("and {} more", missing.len() - NAMED_MAX));
    }
    let (is, of) = match missing.len() {
        0 => return None,
        1 => ("1 rank is".to_string(), sources + 1),
        several => (format!("{several} ranks are"), sources + several),
    };
    Some(format!("{is} missing in this sum of {sources} of {of} results: {}", named.join("; ")))
}
