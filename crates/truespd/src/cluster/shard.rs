//! `--shard`: each rank gets a stretch of a target for itself.

use truespd_core::fault::{Refusal, RefusalKind};
use truespd_core::profile::{Profile, Target};
use truespd_core::text::{printable, size};

/// Gives every target of the profile the stretch of one rank. `size_of` tells the size of a target that is there.
///
/// What is tested (from `-B`, up to `-f` or the end) is cut into as many equal stretches as there are ranks,
/// each a whole number of blocks; the rest at the end is not tested.
///
/// # Errors
/// A target whose size is not known, or with less than one block for each rank.
pub fn shard(
    profile: &mut Profile,
    rank: u32,
    ranks: u32,
    size_of: &dyn Fn(&Target) -> Option<u64>,
) -> Result<(), Vec<Refusal>> {
    let mut refusals = Vec::new();
    let targets = profile.time_spans.iter_mut().flat_map(|span| &mut span.targets);
    for target in targets {
        let known = target.create_bytes.filter(|&bytes| bytes > 0).or_else(|| size_of(target));
        match known.ok_or_else(|| unknown(target)).and_then(|size| stretch(target, size, rank, ranks)) {
            Ok((base_bytes, max_bytes)) => (target.base_bytes, target.max_bytes) = (base_bytes, max_bytes),
            Err(refusal) if refusals.contains(&refusal) => {}
            Err(refusal) => refusals.push(refusal),
        }
    }
    if refusals.is_empty() { Ok(()) } else { Err(refusals) }
}

/// Begin and end of the stretch, as `-B` and `-f` mean them.
fn stretch(target: &Target, size_bytes: u64, rank: u32, ranks: u32) -> Result<(u64, u64), Refusal> {
    let end = if target.max_bytes > 0 { target.max_bytes.min(size_bytes) } else { size_bytes };
    let whole = end.saturating_sub(target.base_bytes);
    let blocks = whole / u64::from(ranks.max(1)) / target.block_bytes.max(1);
    if blocks == 0 {
        let message = format!(
            "'{}': {} are not enough for {ranks} ranks with blocks of {} (--shard)",
            printable(&target.path),
            size(whole),
            size(target.block_bytes)
        );
        return Err(Refusal::new(RefusalKind::Target, message)
            .on(&target.path)
            .hint("use a larger file, or fewer ranks"));
    }
    let length = blocks * target.block_bytes;
    let base = target.base_bytes + u64::from(rank) * length;
    Ok((base, base + length))
}

fn unknown(target: &Target) -> Refusal {
    let message = format!(
        "'{}': its size is not known, so it cannot be cut into stretches (--shard)",
        printable(&target.path)
    );
    Refusal::new(RefusalKind::Target, message)
        .on(&target.path)
        .hint("make the file with -c<size>, or check its path")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use truespd_core::profile::TimeSpan;

    fn profile(target: Target) -> Profile {
        Profile {
            time_spans: vec![TimeSpan { targets: vec![target], ..TimeSpan::default() }],
            ..Profile::default()
        }
    }

    fn sharded(
        target: &Target,
        rank: u32,
        ranks: u32,
        size: Option<u64>,
    ) -> Result<(u64, u64), Vec<Refusal>> {
        let mut profile = profile(target.clone());
        shard(&mut profile, rank, ranks, &|_| size)?;
        let target = &profile.time_spans[0].targets[0];
        Ok((target.base_bytes, target.max_bytes))
    }

    proptest! {
        #[test]
        fn stretches_are_equal_whole_and_apart(
            block in prop::sample::select(vec![512u64, 4096, 65536]),
            base in 0u64..1 << 20,
            limit in prop::sample::select(vec![0u64, 3 << 20, 1 << 40]),
            size in (8u64 << 20)..(1 << 30),
            ranks in 1u32..64,
        ) {
            let target = Target { block_bytes: block, base_bytes: base, max_bytes: limit, ..Target::default() };
            let all: Result<Vec<_>, _> = (0..ranks).map(|rank| sharded(&target, rank, ranks, Some(size))).collect();
            if let Ok(all) = all {
                prop_assert_eq!(all[0].0, base);
                for two in all.windows(2) {
                    prop_assert_eq!(two[0].1, two[1].0, "side by side");
                }
                let length = all[0].1 - all[0].0;
                prop_assert!(length > 0 && length % block == 0);
                prop_assert!(all.iter().all(|(begin, end)| end - begin == length));
                let end = if limit > 0 { limit.min(size) } else { size };
                prop_assert!(all[all.len() - 1].1 <= end);
                prop_assert!(end - all[all.len() - 1].1 < block * u64::from(ranks), "less than a block each is left over");
            }
        }
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        let target = Target { block_bytes: 4096, ..Target::default() };
        assert!(sharded(&target, 0, 4, Some(4 * 4096)).is_ok());
        let refusals = sharded(&target, 0, 4, Some(4 * 4096 - 1)).expect_err("too small");
        assert!(refusals[0].message.contains("not enough for 4 ranks"), "{}", refusals[0].message);
        let refusals = sharded(&target, 0, 4, None).expect_err("no size");
        assert!(refusals[0].message.contains("size is not known"), "{}", refusals[0].message);
        let made = Target { create_bytes: Some(1 << 20), ..target };
        assert_eq!(sharded(&made, 3, 4, None), Ok((768 << 10, 1 << 20)));
    }
}
