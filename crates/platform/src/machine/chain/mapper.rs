//! What device-mapper tells of a device beyond sysfs: of what kinds the parts of its table are, and what a RAID of
//! device-mapper does.
//!
//! Sources: the kernel's `Documentation/admin-guide/device-mapper`, `dm-raid.rst` for states. Only root may ask.

use crate::machine::chain::layer::LayerRole;
use crate::machine::device::DeviceNumber;
use crate::machine::roots::Roots;
use crate::sys::mapper::{Asked, Control, MappedPart};

/// What a device is asked, by its number.
pub(in crate::machine) fn ask(
    number: DeviceNumber,
    asked: Asked,
    roots: &Roots,
) -> std::io::Result<Vec<MappedPart>> {
    Control::open(&roots.dev.join("mapper/control"))?.parts((number.major, number.minor), asked)
}

/// Kinds of the parts of a device's table, each once; empty where this process may not ask.
pub fn kinds(number: DeviceNumber, roots: &Roots) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for part in ask(number, Asked::Table, roots).unwrap_or_default() {
        if !kinds.contains(&part.kind) {
            kinds.push(part.kind);
        }
    }
    kinds
}

/// Kinds of device-mapper, and what a device of them is.
const ROLES: &[(&str, LayerRole)] = &[
    ("cache", LayerRole::CachedVolume),
    ("writecache", LayerRole::WriteCachedVolume),
    ("thin", LayerRole::ThinVolume),
    ("thin-pool", LayerRole::ThinPool),
    ("snapshot", LayerRole::Snapshot),
    ("snapshot-origin", LayerRole::Snapshot),
    ("snapshot-merge", LayerRole::Snapshot),
    ("raid", LayerRole::RaidVolume),
    ("mirror", LayerRole::RaidVolume),
    ("crypt", LayerRole::Encrypted),
    ("integrity", LayerRole::Integrity),
    ("verity", LayerRole::Verity),
    ("vdo", LayerRole::Vdo),
];

/// What a device is whose maker is not known, by the kinds of its parts.
pub fn role_of(kinds: &[String]) -> Option<LayerRole> {
    ROLES.iter().find(|(kind, _)| kinds.iter().any(|known| known == kind)).map(|(_, role)| *role)
}

/// What a RAID of device-mapper lacks, and what it does with its disks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RaidState {
    pub missing_disks: Option<u64>,
    pub sync_action: Option<String>,
}

/// The state of a RAID of device-mapper; nothing of what this process may not ask.
pub fn raid_state(number: DeviceNumber, roots: &Roots) -> RaidState {
    let parts = ask(number, Asked::State, roots).unwrap_or_default();
    parts.iter().find(|part| part.kind == "raid").map_or_else(RaidState::default, |part| raid_of(&part.words))
}

/// `raid1 2 AA 8192/8192 idle 0 0 -`: kind, number of disks, a letter for each, how much is in sync, what it does.
fn raid_of(words: &str) -> RaidState {
    let words: Vec<&str> = words.split_whitespace().collect();
    let dead = words.get(2).map_or(0, |letters| letters.chars().filter(|letter| *letter == 'D').count());
    let action = words.get(4).filter(|action| !matches!(**action, "idle" | "frozen" | "undef"));
    RaidState {
        missing_disks: Some(dead as u64).filter(|&dead| dead > 0),
        sync_action: action.map(|action| (*action).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_raids() {
        let of = |words: &str| {
            let state = raid_of(words);
            (state.missing_disks, state.sync_action.unwrap_or_default())
        };
        assert_eq!(of("raid1 2 AA 8192/8192 idle 0 0 -"), (None, String::new()));
        assert_eq!(of("raid1 2 Aa 64/8192 recover 0 0 -"), (None, "recover".to_string()));
        assert_eq!(of("raid5_ls 3 ADA 8192/8192 frozen 0 0 -"), (Some(1), String::new()));
        assert_eq!(of(""), (None, String::new()));
    }

    #[test]
    fn a_kind_tells_what_a_device_is() {
        let of = |kinds: &[&str]| role_of(&kinds.iter().map(|kind| (*kind).to_string()).collect::<Vec<_>>());
        assert_eq!(of(&["linear", "cache"]), Some(LayerRole::CachedVolume));
        assert_eq!((of(&["linear"]), of(&[])), (None, None));
    }
}
