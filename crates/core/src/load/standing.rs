//! Whether a target is at the end of a time span what it was at its beginning. Looked at twice, never per I/O.

use std::fs::Metadata;

use super::targets::TargetState;
use crate::machine::mounts::read_mounts;
use crate::machine::roots::Roots;
use crate::machine::storage::TargetKind;
use crate::result::Loss;
use crate::sys::error::Code;
use crate::sys::file::taken_bytes;
use crate::sys::file::{report, room};
use crate::sys::identity::{Identity, names};

/// A file system's own blocks of a file come and go.
const STORED_SLACK_BYTES: u64 = 1 << 20;

/// What was seen of a target.
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    size_bytes: u64,
    /// Bytes of the file that its file system stores as they are; `None` where it compresses.
    stored_bytes: Option<u64>,
    /// The file has a name; always so of devices.
    has_name: bool,
    /// Its mount is one of this process's.
    is_mounted: bool,
    is_read_only: bool,
    path: Leads,
}

/// Where the path of a target leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leads {
    ToIt,
    Elsewhere,
    Nowhere,
    /// The system did not say.
    Unknown,
}

impl Standing {
    /// What is so now.
    pub fn of(state: &TargetState, roots: &Roots) -> Standing {
        let file = state.file();
        let about = file.metadata().ok();
        let is_file = state.facts.kind == TargetKind::Regular;
        let is_compressed = state.chain.iter().any(|layer| layer.compression.is_some());
        let mount = report(file).mount_id;
        let mounts = read_mounts(roots).unwrap_or_default();
        Standing {
            size_bytes: about.as_ref().filter(|_| is_file).map_or(u64::MAX, |about| about.len()),
            stored_bytes: about.as_ref().filter(|_| is_file && !is_compressed).map(stored_bytes),
            has_name: about.is_none_or(|about| !is_file || names(&about) > 0),
            is_mounted: mounts.iter().any(|known| Some(known.id) == mount),
            is_read_only: room(file).is_ok_and(|room| room.is_read_only),
            path: leads(state),
        }
    }

    /// What was lost between this and `later`.
    pub fn lost_until(&self, later: &Standing) -> Vec<Loss> {
        let mut losses = Vec::new();
        let is_gone = self.has_name && !later.has_name;
        let is_unmounted = self.is_mounted && !later.is_mounted;
        if is_gone {
            losses.push(Loss::Removed);
        }
        if is_unmounted {
            losses.push(Loss::Unmounted);
        }
        match later.path {
            // Nobody can find what was unmounted.
            _ if self.path != Leads::ToIt || is_unmounted => {}
            Leads::Elsewhere => losses.push(Loss::Replaced),
            Leads::Nowhere if !is_gone => losses.push(Loss::Moved),
            _ => {}
        }
        if later.size_bytes < self.size_bytes {
            losses.push(Loss::Cut { from_bytes: self.size_bytes, to_bytes: later.size_bytes });
        }
        match (self.stored_bytes, later.stored_bytes) {
            (Some(from_bytes), Some(to_bytes))
                if later.size_bytes >= self.size_bytes && to_bytes + STORED_SLACK_BYTES < from_bytes =>
            {
                losses.push(Loss::Emptied { from_bytes, to_bytes });
            }
            _ => {}
        }
        if later.is_read_only && !self.is_read_only {
            losses.push(Loss::ReadOnly);
        }
        losses
    }
}

/// File systems also count what they set aside beyond the end of a file, and give it back later.
fn stored_bytes(about: &Metadata) -> u64 {
    taken_bytes(about).min(about.len())
}

fn leads(state: &TargetState) -> Leads {
    match Identity::at(&state.path) {
        Ok(there) if there == state.identity() => Leads::ToIt,
        Ok(_) => Leads::Elsewhere,
        Err(error) if matches!(Code::of(&error), Some(Code::NOT_FOUND | Code::NOT_A_DIRECTORY)) => {
            Leads::Nowhere
        }
        Err(_) => Leads::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_it_was_is_no_loss() {
        let as_it_was = Standing {
            size_bytes: 100 << 20,
            stored_bytes: Some(100 << 20),
            has_name: true,
            is_mounted: true,
            is_read_only: false,
            path: Leads::ToIt,
        };
        let lost = |later: Standing| as_it_was.lost_until(&later);
        assert_eq!(lost(as_it_was), []);
        assert_eq!(lost(Standing { size_bytes: 200 << 20, path: Leads::Unknown, ..as_it_was }), []);
        let gone = Standing { has_name: false, path: Leads::Nowhere, ..as_it_was };
        assert_eq!(lost(gone), [Loss::Removed]);
        assert_eq!(lost(Standing { path: Leads::Elsewhere, ..gone }), [Loss::Removed, Loss::Replaced]);
        assert_eq!(lost(Standing { path: Leads::Nowhere, ..as_it_was }), [Loss::Moved]);
        let unmounted = Standing { is_mounted: false, path: Leads::Elsewhere, ..as_it_was };
        assert_eq!(lost(unmounted), [Loss::Unmounted]);
        let cut = Standing { size_bytes: 0, stored_bytes: Some(0), is_read_only: true, ..as_it_was };
        assert_eq!(lost(cut), [Loss::Cut { from_bytes: 100 << 20, to_bytes: 0 }, Loss::ReadOnly]);
        let filled_again = Standing { stored_bytes: Some(7 << 20), ..as_it_was };
        assert_eq!(lost(filled_again), [Loss::Emptied { from_bytes: 100 << 20, to_bytes: 7 << 20 }]);
        let compressed = Standing { stored_bytes: None, ..as_it_was };
        assert_eq!((lost(compressed), compressed.lost_until(&filled_again)), (Vec::new(), Vec::new()));
        // What was so at the beginning is no news.
        assert_eq!(gone.lost_until(&gone), []);
        assert_eq!(unmounted.lost_until(&unmounted), []);
    }
}
