//! The threads of a sum. Each stands for itself and names its source while there are few; then the threads of
//! each source are one entry, and at last all of them are one. Otherwise the sum would grow with every
//! histogram of every result.
//!
//! How far they are folded follows from what the sum is made of alone ([`Fold::of`]), and only ever goes
//! further as results are added. So order and grouping change nothing.

use std::collections::BTreeMap;

use crate::result::{SourceSpan, TargetResult, ThreadResult};

/// Threads that stand for themselves, at most.
const THREADS_MAX: u64 = 256;
/// What the results of all sources may take in memory, as far as can be estimated.
const BYTES_MAX: u64 = 64 << 20;
/// A histogram of latencies: six powers of two of 8 KiB.
const HISTOGRAM_BYTES: u64 = 48 << 10;
/// An interval of a series.
const INTERVAL_BYTES: u64 = 48;
/// Everything else of a target.
const TARGET_BYTES: u64 = 2 << 10;

/// How far the threads are folded. Later is further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Fold {
    /// Each thread stands for itself.
    #[default]
    Apart,
    /// The threads of each source are one.
    BySource,
    /// All threads are one, whose targets are those at the same place of each source.
    All,
}

impl Fold {
    /// For a sum whose sources have at most so many threads in a time span, and may take so many bytes.
    pub fn of(threads: u64, bytes: u64) -> Self {
        match bytes {
            BYTES_MAX.. => Fold::All,
            _ if threads > THREADS_MAX => Fold::BySource,
            _ => Fold::Apart,
        }
    }

    /// What a reader of the sum should know.
    pub fn note(self) -> Option<String> {
        match self {
            Fold::Apart => None,
            Fold::BySource => Some(format!(
                "the threads of each result are added up, because there are more than {THREADS_MAX} in all"
            )),
            Fold::All => Some(
                "the threads of all results are added up, because there are too many to keep them apart; targets \
                 have the \
                 names of the first result"
                    .to_string(),
            ),
        }
    }
}

/// What the results of a source in a time span may take in memory as one entry. `interval_ms` is the length
/// of the intervals of its series, where there are any; it is the same for all results of a sum.
pub(super) fn bytes_of(source: &SourceSpan, interval_ms: Option<u32>) -> u64 {
    // Sums from before there were paths do not tell.
    let targets = source.targets.len().max(1) as u64;
    let intervals = interval_ms.map_or(0.0, |ms| source.test_time_s * 1000.0 / f64::from(ms.max(1))) as u64;
    let mut each = TARGET_BYTES;
    for way in [&source.read, &source.write].into_iter().filter(|way| way.ios > 0) {
        let histogram = if way.latency.is_some() { HISTOGRAM_BYTES } else { 0 };
        each = each.saturating_add(intervals.saturating_mul(INTERVAL_BYTES)).saturating_add(histogram);
    }
    targets.saturating_mul(each)
}

/// The threads of one time span.
#[derive(Debug, Default)]
pub(super) struct Threads {
    fold: Fold,
    /// By the source's place among those that were added.
    of_sources: BTreeMap<usize, Vec<ThreadResult>>,
    /// Of sums from before threads named their source, by their numbers.
    of_older: BTreeMap<u32, ThreadResult>,
    /// All in one, once they are.
    all: Option<ThreadResult>,
}

impl Threads {
    /// Adds the threads of a result whose first source has the place `first`; `is_sum` when it is a sum itself.
    pub fn add(&mut self, first: usize, is_sum: bool, threads: Vec<ThreadResult>) {
        let mut by_source: BTreeMap<usize, Vec<ThreadResult>> = BTreeMap::new();
        let mut older = Vec::new();
        for thread in threads {
            match (thread.source, is_sum) {
                (Some(source), true) => by_source.entry(first + source as usize).or_default().push(thread),
                (None, true) => older.push(thread),
                (_, false) => by_source.entry(first).or_default().push(thread),
            }
        }
        if self.fold == Fold::All {
            by_source.into_values().chain([older]).for_each(|threads| self.add_to_all(threads));
            return;
        }
        for (source, threads) in by_source {
            let mine = self.of_sources.entry(source).or_default();
            mine.extend(threads);
            if self.fold == Fold::BySource {
                fold_source(mine);
            }
        }
        for thread in older {
            let mine = self
                .of_older
                .entry(thread.id)
                .or_insert_with(|| ThreadResult { id: thread.id, ..ThreadResult::default() });
            add_thread(mine, thread);
        }
    }

    /// How far they are folded.
    pub fn folded(&self) -> Fold {
        self.fold
    }

    /// Folds what is here, and from now on what comes.
    pub fn fold(&mut self, to: Fold) {
        if to <= self.fold {
            return;
        }
        self.fold = to;
        match to {
            Fold::Apart => {}
            Fold::BySource => self.of_sources.values_mut().for_each(fold_source),
            Fold::All => {
                let older = std::mem::take(&mut self.of_older).into_values().collect();
                let of_sources = std::mem::take(&mut self.of_sources).into_values();
                of_sources.chain([older]).for_each(|threads| self.add_to_all(threads));
            }
        }
    }

    /// Adds one source's threads, target by target in their order.
    fn add_to_all(&mut self, mut threads: Vec<ThreadResult>) {
        if threads.is_empty() {
            return;
        }
        fold_source(&mut threads);
        let all = self.all.get_or_insert_default();
        for thread in threads {
            all.waits.add(&thread.waits);
            for (place, target) in thread.targets.into_iter().enumerate() {
                match all.targets.get_mut(place) {
                    Some(mine) => add_target(mine, target),
                    None => all.targets.push(target),
                }
            }
        }
    }

    /// The threads in the order of their sources, numbered one after the other. `place_of` tells where a
    /// source stands in the table, and `paths` is what the targets are called where all threads are one.
    pub fn finish(self, place_of: &[u32], paths: &[String]) -> Vec<ThreadResult> {
        if let Some(mut all) = self.all {
            all.targets.iter_mut().zip(paths).for_each(|(target, path)| target.path.clone_from(path));
            return vec![all];
        }
        let of_sources: BTreeMap<u32, Vec<ThreadResult>> =
            self.of_sources.into_iter().map(|(source, threads)| (place_of[source], threads)).collect();
        let named = of_sources.into_iter().flat_map(|(source, threads)| {
            threads.into_iter().map(move |thread| ThreadResult { source: Some(source), ..thread })
        });
        let mut older: Vec<ThreadResult> = self.of_older.into_values().collect();
        if self.fold == Fold::BySource {
            fold_source(&mut older);
        }
        // Which of them came first depends on who was added first.
        older.iter_mut().for_each(|thread| thread.targets.sort_by(|a, b| a.path.cmp(&b.path)));
        let numbered = named.chain(older.into_iter().map(|thread| ThreadResult { source: None, ..thread }));
        (0..).zip(numbered).map(|(id, thread)| ThreadResult { id, ..thread }).collect()
    }
}

/// All threads of a source as one.
fn fold_source(threads: &mut Vec<ThreadResult>) {
    let mut all = std::mem::take(threads).into_iter();
    let Some(mut one) = all.next() else { return };
    // Also a single thread may have a target twice.
    let targets = std::mem::take(&mut one.targets);
    targets.into_iter().for_each(|target| add_by_path(&mut one.targets, target));
    all.for_each(|thread| add_thread(&mut one, thread));
    one.id = 0;
    threads.push(one);
}

fn add_thread(mine: &mut ThreadResult, theirs: ThreadResult) {
    mine.waits.add(&theirs.waits);
    theirs.targets.into_iter().for_each(|target| add_by_path(&mut mine.targets, target));
}

fn add_by_path(targets: &mut Vec<TargetResult>, theirs: TargetResult) {
    match targets.iter_mut().find(|mine| mine.path == theirs.path) {
        Some(mine) => add_target(mine, theirs),
        None => targets.push(theirs),
    }
}

fn add_target(mine: &mut TargetResult, theirs: TargetResult) {
    // Targets of one name on several hosts may differ in size, and with it their ranges.
    mine.size_bytes = mine.size_bytes.max(theirs.size_bytes);
    mine.distribution = mine.distribution.take().max(theirs.distribution);
    mine.short_transfers = mine.short_transfers.saturating_add(theirs.short_transfers);
    // Without that of one, the sum would be of some I/Os only.
    mine.offered_ios = mine.offered_ios.zip(theirs.offered_ios).map(|(a, b)| a.saturating_add(b));
    // On ranges of other lengths the law promises another share.
    mine.skew = match (mine.skew, theirs.skew) {
        (Some(a), Some(b)) => a.plus(&b),
        _ => None,
    };
    if let Some(theirs) = &theirs.flush {
        mine.flush.get_or_insert_default().add(theirs);
    }
    if let Some(theirs) = &theirs.trim {
        mine.trim.get_or_insert_default().add(theirs);
    }
    mine.read.add(&theirs.read);
    mine.write.add(&theirs.write);
}
