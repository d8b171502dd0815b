//! What caches of fast disks before slow ones answered.
//!
//! Sources: the kernel's `Documentation/admin-guide/device-mapper` (`cache.rst`, `writecache.rst`) and
//! `admin-guide/bcache.rst`. Device-mapper answers root only: for others there is no evidence.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::chain::{Layer, LayerRole, ask};
use super::device::{BlockDevice, DeviceNumber};
use super::roots::{Roots, read_number, read_word};
use crate::sys::error::system_text;
use crate::sys::mapper::Asked;

pub(super) const SECTOR_BYTES: u64 = 512;

/// Why the state of a device is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StateUnknown(pub(super) String);

impl From<std::io::Error> for StateUnknown {
    fn from(error: std::io::Error) -> Self {
        StateUnknown(system_text(&error))
    }
}

/// What keeps parts of a slow device on a fast one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// dm-cache, as LVM uses it for cached volumes.
    DmCache,
    /// dm-writecache, which holds writes alone.
    DmWritecache,
    /// bcache, with its counts in sysfs.
    Bcache,
    /// The document does not tell.
    #[default]
    #[serde(rename = "", other)]
    Untold,
}

impl CacheKind {
    /// Its name, as sentences tell it.
    pub fn word(self) -> &'static str {
        match self {
            CacheKind::DmCache => "dm-cache",
            CacheKind::DmWritecache => "dm-writecache",
            CacheKind::Bcache => "bcache",
            CacheKind::Untold => "a cache",
        }
    }
}

/// What a cache counted since it was set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CacheCounts {
    /// Reads that the cache answered.
    pub read_hits: u64,
    /// Reads that it did not answer.
    pub read_misses: u64,
    /// Writes that went to the cache.
    pub write_hits: u64,
    /// Writes that went past it.
    pub write_misses: u64,
    /// Bytes copied from the slow device into the cache.
    pub promoted_bytes: u64,
    /// Bytes that left the cache for others.
    pub demoted_bytes: u64,
}

impl CacheCounts {
    /// What was counted since `before`.
    pub fn since(&self, before: &CacheCounts) -> CacheCounts {
        let since = u64::saturating_sub;
        CacheCounts {
            read_hits: since(self.read_hits, before.read_hits),
            read_misses: since(self.read_misses, before.read_misses),
            write_hits: since(self.write_hits, before.write_hits),
            write_misses: since(self.write_misses, before.write_misses),
            promoted_bytes: since(self.promoted_bytes, before.promoted_bytes),
            demoted_bytes: since(self.demoted_bytes, before.demoted_bytes),
        }
    }
}

/// A cache at one moment. Absent members: the kernel does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheState {
    /// Since it was set up.
    pub counts: Option<CacheCounts>,
    /// Bytes that only the cache holds.
    pub dirty_bytes: Option<u64>,
    /// Bytes that the cache can hold.
    pub size_bytes: Option<u64>,
    /// Bytes that the cache holds now.
    pub used_bytes: Option<u64>,
}

/// A device with a cache, and the disks of both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedDevice {
    /// Kernel name of the cached device.
    pub name: String,
    /// Device number of the cached device.
    pub number: DeviceNumber,
    /// The driver that makes the cache.
    pub kind: CacheKind,
    /// When writes are done, in the kernel's word: `writeback`, `writethrough` ..
    pub mode: Option<String>,
    /// Disks that hold the cache.
    pub cache_disks: Vec<String>,
    /// Disks that hold what is cached.
    pub origin_disks: Vec<String>,
}

/// The devices with a cache in a chain of layers.
pub fn cached_devices(chain: &[Layer], roots: &Roots) -> Vec<CachedDevice> {
    let found = chain.iter().enumerate().filter_map(|(at, layer)| {
        let details = layer.details.as_ref()?;
        let (kind, sides) = match details.role {
            LayerRole::CachedVolume => (CacheKind::DmCache, sides_of_mapped(layer, chain, roots)),
            LayerRole::WriteCachedVolume => (CacheKind::DmWritecache, sides_of_mapped(layer, chain, roots)),
            LayerRole::Bcache => (CacheKind::Bcache, sides_of_bcache(layer, chain, roots)),
            _ => return None,
        };
        let (mut cache, mut origin) = (Vec::new(), Vec::new());
        for &below in &chain[at].below {
            let list = if sides.origin == Some(below) { &mut origin } else { &mut cache };
            // The table of a cache names its metadata, too, which answer no I/O.
            if sides.metadata != Some(below) {
                lowest_below(chain, below, list);
            }
        }
        if sides.origin.is_none() {
            cache.clear();
        }
        Some(CachedDevice {
            name: layer.name.clone(),
            number: layer.number?,
            kind,
            mode: sides.mode,
            cache_disks: cache,
            origin_disks: origin,
        })
    });
    found.collect()
}

/// Which of the layers below a cached device are what, and how it writes.
#[derive(Debug, Default)]
struct Sides {
    origin: Option<usize>,
    metadata: Option<usize>,
    mode: Option<String>,
}

const MODES: [&str; 3] = ["writeback", "writethrough", "passthrough"];

/// By the table; for whom that is not readable by the names that LVM gives to what a cached volume stands on.
fn sides_of_mapped(layer: &Layer, chain: &[Layer], roots: &Roots) -> Sides {
    let parts = layer.number.and_then(|number| ask(number, Asked::Table, roots).ok()).unwrap_or_default();
    let Some(part) = parts.iter().find(|part| matches!(part.kind.as_str(), "cache" | "writecache")) else {
        let origin = layer.below.iter().copied().find(|&below| is_named_as_origin(&chain[below]));
        return Sides { origin, ..Sides::default() };
    };
    let words: Vec<&str> = part.words.split_whitespace().collect();
    let mode = words.iter().find(|word| MODES.contains(word)).map(|word| (*word).to_string());
    if part.kind == "cache" {
        return Sides {
            metadata: numbered(layer, chain, words.first()),
            origin: numbered(layer, chain, words.get(2)),
            mode,
        };
    }
    Sides { origin: numbered(layer, chain, words.get(1)), metadata: None, mode: Some(MODES[0].to_string()) }
}

/// Whether LVM calls it what a cached volume stands on.
fn is_named_as_origin(layer: &Layer) -> bool {
    let name = layer.details.as_ref().and_then(|details| details.name.as_deref());
    name.is_some_and(|name| name.ends_with("_corig") || name.ends_with("_wcorig"))
}

/// The layer right below that has the number which a word of the table tells.
fn numbered(layer: &Layer, chain: &[Layer], word: Option<&&str>) -> Option<usize> {
    let number = word?.parse().ok()?;
    layer.below.iter().copied().find(|&at| chain[at].number == Some(number))
}

/// The folder of a bcache device is that of the device that is cached.
fn sides_of_bcache(layer: &Layer, chain: &[Layer], roots: &Roots) -> Sides {
    let folder = layer.number.and_then(|number| BlockDevice::find(number, roots));
    let folder = folder.and_then(|device| std::fs::canonicalize(device.dir().join("bcache")).ok());
    let name = folder.as_deref().and_then(Path::parent).and_then(Path::file_name);
    let name = name.map(|name| name.to_string_lossy().into_owned());
    let origin = layer.below.iter().copied().find(|&at| Some(&chain[at].name) == name.as_ref());
    let mode = layer.details.as_ref().and_then(|details| details.cache_mode.clone());
    Sides { origin, metadata: None, mode }
}

fn lowest_below(chain: &[Layer], at: usize, found: &mut Vec<String>) {
    // A partition's I/Os are counted by its disk, which lies below it.
    if chain[at].below.is_empty() && !found.contains(&chain[at].name) {
        found.push(chain[at].name.clone());
    }
    chain[at].below.iter().for_each(|&below| lowest_below(chain, below, found));
}

impl CachedDevice {
    /// What the cache counted so far.
    ///
    /// # Errors
    /// Why that is not known, in the system's words.
    pub fn state(&self, roots: &Roots) -> Result<CacheState, StateUnknown> {
        if self.kind == CacheKind::Bcache {
            return Ok(BlockDevice::find(self.number, roots)
                .map_or_else(CacheState::default, |device| bcache_state(&device.dir().join("bcache"))));
        }
        let parts = ask(self.number, Asked::State, roots)?;
        let table = ask(self.number, Asked::Table, roots)?;
        let state = parts.iter().zip(&table).find_map(|(part, table)| match part.kind.as_str() {
            "cache" => dm_cache_state(&part.words),
            "writecache" => writecache_state(&part.words, &table.words),
            _ => None,
        });
        state.ok_or_else(|| StateUnknown("the kernel tells no state of it".to_string()))
    }
}

/// The two numbers of `used/all`.
fn part_of(word: &str) -> Option<(u64, u64)> {
    let (used, all) = word.split_once('/')?;
    Some((used.parse().ok()?, all.parse().ok()?))
}

/// Size of metadata blocks, their number, sectors of a block, blocks, then the counts.
fn dm_cache_state(words: &str) -> Option<CacheState> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let block = words.get(2)?.parse::<u64>().ok()?.saturating_mul(SECTOR_BYTES);
    let (used, all) = part_of(words.get(3)?)?;
    let counts: Vec<u64> = words[4..].iter().map_while(|word| word.parse().ok()).collect();
    let [read_hits, read_misses, write_hits, write_misses, demoted, promoted, dirty, ..] = counts[..] else {
        return None;
    };
    Some(CacheState {
        counts: Some(CacheCounts {
            read_hits,
            read_misses,
            write_hits,
            write_misses,
            demoted_bytes: demoted.saturating_mul(block),
            promoted_bytes: promoted.saturating_mul(block),
        }),
        dirty_bytes: Some(dirty.saturating_mul(block)),
        size_bytes: Some(all.saturating_mul(block)),
        used_bytes: Some(used.saturating_mul(block)),
    })
}

/// Errors, blocks, free ones, those on their way; since Linux 5.15 then reads, of them answered, writes, of them to
/// blocks in the cache (two counts), past it, to new blocks of it. The size of a block stands in the table.
fn writecache_state(words: &str, table: &str) -> Option<CacheState> {
    let words: Vec<u64> = words.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let block: u64 = table.split_whitespace().nth(3)?.parse().ok()?;
    let [_, all, free, _, counted @ ..] = words.as_slice() else { return None };
    let counts = match counted {
        [reads, read_hits, _, uncommitted, committed, around, allocated, ..] => Some(CacheCounts {
            read_hits: *read_hits,
            read_misses: reads.saturating_sub(*read_hits),
            write_hits: uncommitted.saturating_add(*committed).saturating_add(*allocated),
            write_misses: *around,
            ..CacheCounts::default()
        }),
        _ => None,
    };
    let used_bytes = Some(all.saturating_sub(*free).saturating_mul(block));
    // What is written back stays until its room is needed, and nothing tells it apart.
    Some(CacheState { counts, dirty_bytes: None, size_bytes: Some(all.saturating_mul(block)), used_bytes })
}

/// Only reads are counted, and a count can come half a minute late.
fn bcache_state(folder: &Path) -> CacheState {
    let [hits, misses, around] = ["cache_hits", "cache_misses", "cache_bypass_misses"]
        .map(|name| read_number::<u64>(&folder.join("stats_total").join(name)));
    let counts = hits.zip(misses).map(|(read_hits, misses)| CacheCounts {
        read_hits,
        read_misses: misses.saturating_add(around.unwrap_or(0)),
        ..CacheCounts::default()
    });
    let dirty_bytes = read_word(&folder.join("dirty_data")).and_then(|word| bytes_in_words(&word));
    CacheState { counts, dirty_bytes, ..CacheState::default() }
}

/// The bytes of words like `1.5M`, `512.0k` and `0`.
fn bytes_in_words(word: &str) -> Option<u64> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match &word[digits.len()..] {
        "" | "B" => 0,
        unit => "kMGTPE".find(&unit[..1])? + 1,
    };
    let number: f64 = digits.parse().ok()?;
    Some((number * 1024f64.powi(power as i32)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_caches() {
        let state = dm_cache_state(
            "8 27/4096 128 100/1024 900 100 50 5 3 7 11 1 writeback 2 migration_threshold 2048 smq 0 rw -",
        )
        .expect("a state");
        let counts = state.counts.expect("counts");
        assert_eq!((counts.read_hits, counts.read_misses), (900, 100));
        assert_eq!((counts.write_hits, counts.write_misses), (50, 5));
        assert_eq!((counts.demoted_bytes, counts.promoted_bytes), (3 << 16, 7 << 16));
        assert_eq!((state.dirty_bytes, state.size_bytes), (Some(11 << 16), Some(1 << 26)));
        assert_eq!(dm_cache_state("Fail"), None);

        let table = "s 253:1 253:2 4096 0";
        let state = writecache_state("0 1000 400 0 500 450 90 10 20 30 30 0 4 0", table).expect("a state");
        let counts = state.counts.expect("counts");
        assert_eq!((counts.read_hits, counts.read_misses), (450, 50));
        assert_eq!((counts.write_hits, counts.write_misses), (60, 30));
        assert_eq!(state.used_bytes, Some(600 * 4096));
        let old = writecache_state("0 1000 400 0", table).expect("a state");
        assert_eq!((old.counts, old.size_bytes), (None, Some(4_096_000)));
    }

    #[test]
    fn sizes_in_words() {
        let sizes = ["0", "1.5M", "512.0k", "2G", "", "x"].map(bytes_in_words);
        assert_eq!(sizes, [Some(0), Some(3 << 19), Some(1 << 19), Some(2 << 30), None, None]);
    }
}
