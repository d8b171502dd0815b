//! What of a tested range had its room before a run: holes, space set aside, blocks shared with copies, blocks without
//! room in a layer below.
//!
//! Shares are those of the I/O: each part of a distribution (`-rd`) counts as much as it gets.

use truespd_core::result::{
    AllocatedBy, Allocation, ExtentMap, Layer, LayerKind, LayerRole, OpenedKind, Residency, TargetFacts,
};

/// Shares of the tested range that a first write finds without a place of their own.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Lacking {
    /// Nothing is allocated on its file system.
    pub hole: f64,
    /// Set aside on its file system and never written.
    pub unwritten: f64,
    /// Its blocks are also those of a copy or a snapshot; the write goes elsewhere.
    pub shared: f64,
    /// A layer below has nothing there.
    pub below: f64,
    /// A layer below shares it with a copy or a snapshot.
    pub shared_below: f64,
}

impl Lacking {
    /// What reads as zeros without the disk.
    pub fn never_written(self) -> f64 {
        (self.hole + self.unwritten + self.below).min(1.0)
    }

    /// What the first write makes a place for.
    pub fn any(self) -> f64 {
        (self.never_written() + self.shared + self.shared_below).min(1.0)
    }

    /// What a first write makes a place for: nothing on a file system that never writes in place, where the first write
    /// is like all others.
    pub fn for_writes(self, facts: &TargetFacts) -> Lacking {
        if writes_elsewhere(facts) {
            Lacking { hole: 0.0, unwritten: 0.0, shared: 0.0, ..self }
        } else {
            self
        }
    }

    fn plus(self, other: Lacking) -> Lacking {
        Lacking {
            hole: self.hole + other.hole,
            unwritten: self.unwritten + other.unwritten,
            shared: self.shared + other.shared,
            below: self.below + other.below,
            shared_below: self.shared_below + other.shared_below,
        }
    }

    fn times(self, by: f64) -> Lacking {
        Lacking {
            hole: self.hole * by,
            unwritten: self.unwritten * by,
            shared: self.shared * by,
            below: self.below * by,
            shared_below: self.shared_below * by,
        }
    }
}

fn part_of(bytes: u64, whole: u64) -> f64 {
    if whole > 0 { bytes as f64 / whole as f64 } else { 0.0 }
}

/// A part of the tested range that gets its I/O evenly.
#[derive(Debug, Clone, Copy)]
pub struct EvenPart {
    /// Share of all the I/O of the target.
    pub share: f64,
    pub length_bytes: u64,
    /// Separate extents per byte: on its file system, and in the files of loop devices below it.
    pub extents_per_byte: (f64, f64),
    pub residency: Option<Residency>,
    pub lacking: Lacking,
}

/// The parts of the tested range, each with its share of the I/O: one where all of it gets the same.
pub fn even_parts(facts: &TargetFacts) -> Vec<EvenPart> {
    let weight: u32 = facts.parts.iter().map(|part| part.io_percent).sum();
    if weight == 0 {
        let length_bytes = tested_bytes(facts);
        let extents = facts.extents.as_ref();
        let lacking = lacking_of(facts, extents, &facts.allocation, length_bytes);
        let extents_per_byte = extents_per_byte(extents, &facts.allocation);
        return vec![EvenPart {
            share: 1.0,
            length_bytes,
            extents_per_byte,
            residency: facts.residency,
            lacking,
        }];
    }
    let parts = facts.parts.iter().map(|part| {
        let extents = part.extents.as_ref();
        EvenPart {
            share: f64::from(part.io_percent) / f64::from(weight),
            length_bytes: part.length_bytes,
            extents_per_byte: extents_per_byte(extents, &part.allocation),
            residency: part.residency,
            lacking: lacking_of(facts, extents, &part.allocation, part.length_bytes),
        }
    });
    parts.collect()
}

/// What the tested range lacked, each part by its share of the I/O.
pub fn lacking(facts: &TargetFacts) -> Lacking {
    let parts = even_parts(facts);
    parts.iter().map(|part| part.lacking.times(part.share)).fold(Lacking::default(), Lacking::plus)
}

/// Share of the I/O that goes where nothing was ever written.
pub fn never_written_share(facts: &TargetFacts) -> f64 {
    lacking(facts).never_written()
}

/// Share of the I/O that goes to what the page cache held before the run, where the kernel tells.
pub fn cached_share(facts: &TargetFacts) -> Option<f64> {
    let parts = even_parts(facts);
    let shares = parts.iter().map(|part| {
        let seen = part.residency?;
        Some(part.share * part_of(seen.cached_before_bytes, seen.range_bytes))
    });
    shares.sum()
}

/// Separate extents per byte of the I/O, each part by its share of it: on its file system, and in the files of loop
/// devices below.
pub fn pieces_per_byte(facts: &TargetFacts) -> (f64, f64) {
    let parts = even_parts(facts);
    let each = parts.iter().map(|part| part.extents_per_byte);
    let each = each.zip(&parts).map(|((own, below), part)| (own * part.share, below * part.share));
    each.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

fn extents_per_byte(extents: Option<&ExtentMap>, allocation: &[Allocation]) -> (f64, f64) {
    // What is stored compressed lies in small extents by its nature, and holes are no extents.
    let own = extents.filter(|map| map.encoded_bytes * 2 <= map.written_bytes);
    let own = own.map_or(0.0, |map| part_of(map.extents, map.written_bytes + map.unwritten_bytes));
    let below = allocation.iter().map(|one| part_of(one.extents, one.allocated_bytes));
    (own, below.fold(0.0, f64::max))
}

/// Length of the tested range as far as it was looked at.
fn tested_bytes(facts: &TargetFacts) -> u64 {
    let looked = [
        facts.extents.as_ref().map(|map| map.range_bytes),
        facts.allocation.iter().find(|one| one.is_tested_range).map(|one| one.range_bytes),
        facts.residency.map(|seen| seen.range_bytes),
    ];
    looked.into_iter().flatten().find(|&bytes| bytes > 0).unwrap_or(facts.size_bytes)
}

fn lacking_of(
    facts: &TargetFacts,
    extents: Option<&ExtentMap>,
    allocation: &[Allocation],
    length_bytes: u64,
) -> Lacking {
    let own = extents.map_or(Lacking::default(), |map| Lacking {
        hole: part_of(map.hole_bytes, map.range_bytes),
        unwritten: part_of(map.unwritten_bytes, map.range_bytes),
        shared: part_of(map.shared_bytes, map.range_bytes),
        ..Lacking::default()
    });
    // One layer on another lacks the same: the one that lacks most.
    let below = allocation.iter().map(|one| below(facts, one, length_bytes));
    let most = below.max_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1))).unwrap_or_default();
    Lacking { below: most.0, shared_below: most.1, ..own }
}

/// What of a tested range a layer below has no room for, and what it shares, as parts of the range: at least, where all
/// of the layer was looked at and the target is a device.
fn below(facts: &TargetFacts, one: &Allocation, length_bytes: u64) -> (f64, f64) {
    // A file may take less of a layer than it is long, or lie anywhere in it.
    if one.unknown.is_some() || (!one.is_tested_range && facts.kind != OpenedKind::BlockDevice) {
        return (0.0, 0.0);
    }
    let beside = if one.is_tested_range { 0 } else { one.range_bytes.saturating_sub(length_bytes) };
    let missing = one.range_bytes.saturating_sub(one.allocated_bytes);
    let [missing, shared] =
        [missing, one.shared_bytes].map(|bytes| part_of(bytes.saturating_sub(beside), length_bytes).min(1.0));
    (missing, shared)
}

/// Whether the file system of a file writes nothing in place.
pub fn writes_elsewhere(facts: &TargetFacts) -> bool {
    let filesystem = facts.layers.iter().find(|layer| layer.kind == LayerKind::Filesystem);
    filesystem.is_some_and(|layer| matches!(layer.role(), LayerRole::CopyOnWrite | LayerRole::Zfs))
}

/// The layers below that lack room for a part of it at least, in words.
pub fn where_below(facts: &TargetFacts) -> String {
    let lacks =
        facts.allocation.iter().filter(|one| one.allocated_bytes < one.range_bytes || one.shared_bytes > 0);
    let each = lacks.map(|one| {
        let layer = facts.layers.iter().find(|layer| layer.name == one.layer);
        let name = layer.map_or(one.layer.as_str(), Layer::known_name);
        match one.by {
            AllocatedBy::LoopFile => format!("the file of {name}"),
            AllocatedBy::ThinPool => format!("the thin pool of {name}"),
            AllocatedBy::Snapshot => format!("{name} (dm-snapshot)"),
            AllocatedBy::Untold => format!("what is below {name}"),
        }
    });
    each.collect::<Vec<_>>().join(" and ")
}
