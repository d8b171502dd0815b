//! Ranks of cluster runs whose results are not in a sum.

use std::collections::{BTreeMap, BTreeSet};

use crate::result::{LostRank, MissingRank, RANKS_MAX, Source};

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
pub(super) fn warning(missing: &[MissingRank], sources: usize) -> Option<String> {
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
