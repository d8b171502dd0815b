//! How much of a thin volume, and of a device with snapshots, has a place of its own.
//!
//! Sources: the kernel's `Documentation/admin-guide/device-mapper` (`thin-provisioning.rst`, `snapshot.rst`).
//! Device-mapper answers root only: for others there is no evidence.

use super::caches::{SECTOR_BYTES, StateUnknown};
use super::chain::{Layer, LayerRole, ask, kinds};
use super::device::{BlockDevice, DeviceNumber};
use super::roots::Roots;
use crate::sys::mapper::{Asked, MappedPart};

/// A thin volume, and how much of it has its place in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThinVolume {
    /// Size of the volume in bytes.
    pub size_bytes: u64,
    /// Bytes that have a place in the pool.
    pub mapped_bytes: u64,
    /// The pool holds, or held, others, of which one may be a snapshot of it.
    pub may_share: bool,
}

/// The thin volumes of a chain by their places, or why their state is not known.
pub fn thin_volumes(chain: &[Layer], roots: &Roots) -> Vec<(usize, Result<ThinVolume, StateUnknown>)> {
    let thin = chain.iter().enumerate().filter_map(|(at, layer)| {
        let (details, number) = (layer.details.as_ref()?, layer.number?);
        (details.role == LayerRole::ThinVolume).then(|| (at, thin_volume(number, roots)))
    });
    thin.collect()
}

fn thin_volume(number: DeviceNumber, roots: &Roots) -> Result<ThinVolume, StateUnknown> {
    let parts = ask(number, Asked::State, roots)?;
    let mut volume = ThinVolume { may_share: may_share(number, roots), ..ThinVolume::default() };
    for part in &parts {
        // `mapped highest`; a volume without data has `0 -`, one whose pool failed `Fail`.
        let sectors = part.words.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        let sectors = sectors.ok_or_else(|| StateUnknown(format!("the kernel says '{}'", part.words)))?;
        volume.mapped_bytes = volume.mapped_bytes.saturating_add(sectors.saturating_mul(SECTOR_BYTES));
        volume.size_bytes =
            volume.size_bytes.saturating_add(part.length_sectors.saturating_mul(SECTOR_BYTES));
    }
    Ok(volume)
}

/// Whether the pool of a thin volume has others in use, or LVM has made more than one in it.
fn may_share(number: DeviceNumber, roots: &Roots) -> bool {
    let table = ask(number, Asked::Table, roots).unwrap_or_default();
    let pool = table.first().and_then(|part| part.words.split_whitespace().next()?.parse().ok());
    let Some(pool) = pool else { return true };
    let state = ask(pool, Asked::State, roots).unwrap_or_default();
    // It begins with the number of changes that LVM made.
    let changes = state.first().and_then(|part| part.words.split_whitespace().next()?.parse::<u64>().ok());
    let above = BlockDevice::find(pool, roots).map_or_else(Vec::new, |pool| pool.holders());
    let volumes = above.iter().filter_map(BlockDevice::number);
    let thin = volumes.filter(|volume| kinds(*volume, roots).iter().any(|kind| kind == "thin")).count();
    changes.is_none_or(|changes| changes > 1) || thin > 1
}

/// A snapshot, or the device that it was taken of, and how much is no longer the same in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// Size of the snapshot in bytes.
    pub size_bytes: u64,
    /// Bytes that have a place of their own in the snapshot: the first write to all others copies them.
    pub copied_bytes: u64,
}

/// The snapshots of a chain, and the devices that some were taken of, by their places, or why their state is not known.
pub fn snapshots(chain: &[Layer], roots: &Roots) -> Vec<(usize, Result<Snapshot, StateUnknown>)> {
    let mut found = Vec::new();
    for (at, layer) in chain.iter().enumerate() {
        let (Some(details), Some(number)) = (&layer.details, layer.number) else { continue };
        if details.role != LayerRole::Snapshot {
            continue;
        }
        match snapshot(number, roots) {
            Ok(Some(snapshot)) => found.push((at, Ok(snapshot))),
            Ok(None) => {}
            Err(why) => found.push((at, Err(why))),
        }
    }
    found
}

/// `None` for the device below a snapshot, for one that has lost all of its snapshots, and for a broken one.
fn snapshot(number: DeviceNumber, roots: &Roots) -> Result<Option<Snapshot>, StateUnknown> {
    let table = ask(number, Asked::Table, roots)?;
    let Some(part) = table.first() else { return Ok(None) };
    let size_bytes = part.length_sectors.saturating_mul(SECTOR_BYTES);
    let copied_bytes = match part.kind.as_str() {
        "snapshot" => ask(number, Asked::State, roots)?.first().and_then(copied_of),
        // Its only parameter is the device whose blocks the snapshots share.
        "snapshot-origin" => {
            let base = part.words.trim().parse().ok().and_then(|base| BlockDevice::find(base, roots));
            let above = base.map_or_else(Vec::new, |base| base.holders());
            let mut least: Option<u64> = None;
            for copy in above.iter().filter_map(BlockDevice::number) {
                let parts = ask(copy, Asked::State, roots)?;
                let copied = parts.iter().find(|part| part.kind == "snapshot").and_then(copied_of);
                least = least.into_iter().chain(copied).min();
            }
            least
        }
        _ => None,
    };
    Ok(copied_bytes.map(|copied| Snapshot { size_bytes, copied_bytes: copied.min(size_bytes) }))
}

/// `used/total metadata` in sectors; one that is full or broken has words instead.
fn copied_of(state: &MappedPart) -> Option<u64> {
    let (used, rest) = state.words.split_once('/')?;
    let metadata = rest.split_whitespace().nth(1)?.parse::<u64>().ok()?;
    Some(used.trim().parse::<u64>().ok()?.saturating_sub(metadata).saturating_mul(SECTOR_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_snapshots() {
        let of = |words: &str| copied_of(&MappedPart { words: words.to_string(), ..MappedPart::default() });
        assert_eq!(of("1040/131072 16"), Some(1024 * 512));
        assert_eq!(of("16/131072 16"), Some(0));
        assert_eq!([of("Invalid"), of("Overflow"), of("")], [None; 3]);
    }
}
