//! The page cache of what loop devices below a target stand on.
//!
//! A loop device without direct I/O reads its file through the page cache, in a thread of the kernel. Neither the
//! process nor the disks show whether such a read needed a disk; what the page cache holds before and after does.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

use crate::machine::beneath;
use crate::machine::chain;
use crate::machine::chain::LayerKind;
use crate::machine::device::BlockDevice;
use crate::machine::roots::Roots;
use crate::machine::storage::{ReadFlags, open_file};
use crate::result::{LoopCache, Residency};
use crate::sys::identity::Identity;
use crate::sys::residency::{cached, pieces};

/// What one loop device stands on, open, as it was before the run.
#[derive(Debug)]
pub struct Seen {
    file: File,
    pieces: Vec<(u64, u64)>,
    cache: LoopCache,
}

/// Looks at what the loop devices of a chain stand on, of those without direct I/O. What cannot be opened or
/// is too large to be looked at as a whole is left out.
pub fn look_before(chain: &[chain::Layer], roots: &Roots) -> Vec<Seen> {
    let is_served = |kind| matches!(kind, LayerKind::RemoteFilesystem | LayerKind::UserFilesystem);
    if chain.iter().any(|layer| is_served(layer.kind)) {
        // Another machine or a program, which may never answer.
        return Vec::new();
    }
    chain.iter().filter_map(|layer| of_layer(layer, roots)).collect()
}

fn of_layer(layer: &chain::Layer, roots: &Roots) -> Option<Seen> {
    if layer.kind != LayerKind::Loop || layer.direct_io == Some(true) {
        return None;
    }
    let path = layer.details.as_ref()?.backing_file.as_deref()?;
    let mut file = open_file(Path::new(path), ReadFlags::CACHED).ok()?;
    // The path may lead to another file in this mount namespace.
    let device = BlockDevice::find(layer.number?, roots)?;
    if beneath::Ground::of(&device, Path::new(path), roots)?.own() != Identity::of(&file).ok()? {
        return None;
    }
    // Of files and devices alike.
    let length = file.seek(SeekFrom::End(0)).ok()?;
    let pieces = pieces(0, length);
    let range_bytes = pieces.iter().map(|piece| piece.1).sum();
    let now = cached(&file, &pieces).filter(|_| range_bytes == length)?;
    let residency = Residency { range_bytes, cached_before_bytes: now.cached_bytes, cached_after_bytes: 0 };
    let cache = LoopCache {
        device: layer.name.clone(),
        path: path.to_string(),
        residency,
        evicted_before_bytes: now.evicted_bytes,
        evicted_after_bytes: None,
    };
    Some(Seen { file, pieces, cache })
}

impl Seen {
    /// Looks again, after the run. `None` where the kernel does not tell any more.
    pub fn look_after(self) -> Option<LoopCache> {
        let now = cached(&self.file, &self.pieces)?;
        let residency = Residency { cached_after_bytes: now.cached_bytes, ..self.cache.residency };
        Some(LoopCache { residency, evicted_after_bytes: now.evicted_bytes, ..self.cache })
    }
}
