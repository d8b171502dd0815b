//! What layers do beside handing I/O on, by their role: one row for each.

use truespd_core::result::LayerRole;

/// What a layer does to the I/O of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Traits {
    /// Writes become several: copies on write, caches, checksums, late allocation, logs.
    pub writes_more: bool,
    /// Reads become several: caches that fill, checksums.
    pub reads_more: bool,
    /// It flushes by itself, as its own notes must be on the disk.
    pub flushes: bool,
    /// It discards what is replaced.
    pub discards: bool,
    /// How the names of the kernel's threads and queues begin that work for it.
    pub threads: &'static [&'static str],
    /// What these threads do, in words.
    pub work: &'static str,
}

const NONE: Traits =
    Traits { writes_more: false, reads_more: false, flushes: false, discards: false, threads: &[], work: "" };

const THIN: Traits = Traits { writes_more: true, flushes: true, discards: true, ..NONE };

const VDO_POOL: Traits = Traits {
    flushes: true,
    discards: true,
    threads: &["vdo", "kvdo"],
    work: "compression and deduplication by VDO",
    ..NONE
};

const ZFS: Traits = Traits {
    writes_more: true,
    flushes: true,
    discards: true,
    threads: &["z_rd_", "z_wr_", "zvol"],
    work: "checksums and compression of ZFS",
    ..NONE
};

pub(super) fn traits(role: LayerRole) -> Traits {
    match role {
        LayerRole::ThinPool | LayerRole::ThinVolume => THIN,
        LayerRole::VdoPool => VDO_POOL,
        LayerRole::VdoVolume => Traits { writes_more: true, ..VDO_POOL },
        LayerRole::Vdo => Traits { writes_more: true, reads_more: true, ..VDO_POOL },
        LayerRole::Snapshot | LayerRole::Replica => Traits { writes_more: true, flushes: true, ..NONE },
        LayerRole::CachedVolume => Traits { reads_more: true, ..THIN },
        LayerRole::WriteCachedVolume => Traits { reads_more: true, discards: false, ..THIN },
        LayerRole::Bcache => Traits { reads_more: true, flushes: true, discards: true, ..NONE },
        LayerRole::RaidVolume => Traits {
            writes_more: true,
            flushes: true,
            threads: &["mdX_raid", "raid5wq"],
            work: "copies or parity of the array",
            ..NONE
        },
        // Its own thread is called after the array.
        LayerRole::Array => Traits { threads: &["raid5wq"], work: "copies or parity of the array", ..NONE },
        LayerRole::Encrypted => {
            Traits { threads: &["kcryptd", "dmcrypt_write"], work: "encryption by dm-crypt", ..NONE }
        }
        LayerRole::Integrity => Traits {
            writes_more: true,
            reads_more: true,
            flushes: true,
            threads: &["dm-integrity"],
            work: "checksums of dm-integrity",
            ..NONE
        },
        LayerRole::Verity => {
            Traits { reads_more: true, threads: &["kverityd"], work: "checksums of dm-verity", ..NONE }
        }
        LayerRole::CopyOnWrite => Traits {
            writes_more: true,
            discards: true,
            threads: &["btrfs-", "bch-"],
            work: "checksums and compression of the file system",
            ..NONE
        },
        LayerRole::Zfs => ZFS,
        LayerRole::ZfsVolume => Traits { writes_more: false, ..ZFS },
        // Its queue has its name.
        LayerRole::Loop => Traits { work: "I/O of its file", ..NONE },
        _ => NONE,
    }
}
