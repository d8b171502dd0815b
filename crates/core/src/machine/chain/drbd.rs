//! What DRBD tells of its devices.
//!
//! Sources: `/proc/drbd` of DRBD 8 (the kernel's `drivers/block/drbd/drbd_proc.c`), and `proc_drbd` of each
//! connection below `/sys/kernel/debug/drbd` of DRBD 9 (its `drbd_debugfs.c`), which has the same line and
//! which only root may read.

use std::path::Path;

use super::filesystem::names_in;
use super::replica::{Replica, ReplicaPeer};
use crate::machine::device::BlockDevice;
use crate::machine::roots::Roots;

/// What DRBD tells of one of its devices; `None` when it tells nothing, as DRBD 9 to who is not root.
pub(super) fn replica(device: &BlockDevice, roots: &Roots) -> Option<Replica> {
    let minor = device.number()?.minor;
    let debug = roots.sys.join("kernel/debug/drbd");
    // The link leads to `../resources/NAME/volumes/NUMBER`.
    let volume = std::fs::read_link(debug.join("minors").join(minor.to_string())).ok();
    let part = |from_end: usize| {
        let mut parts = volume.as_deref()?.iter().rev().map(|part| part.to_string_lossy().into_owned());
        parts.nth(from_end)
    };
    let (resource, number) = (part(2), part(0));
    let table = std::fs::read_to_string(roots.proc.join("drbd")).unwrap_or_default();
    let mut found = parse(&table, minor, None);
    if let (None, Some(resource), Some(number)) = (&found, &resource, &number) {
        found = by_connections(&debug.join("resources").join(resource).join("connections"), number, minor);
    }
    found.map(|replica| Replica { resource, ..replica })
}

/// DRBD 9: one line for each connection.
fn by_connections(dir: &Path, volume: &str, minor: u32) -> Option<Replica> {
    let mut all: Option<Replica> = None;
    for name in names_in(dir) {
        let text =
            std::fs::read_to_string(dir.join(&name).join(volume).join("proc_drbd")).unwrap_or_default();
        let Some(one) = parse(&text, minor, Some(name)) else { continue };
        match &mut all {
            Some(all) => all.peers.extend(one.peers),
            None => all = Some(one),
        }
    }
    all
}

/// The device `minor` in the text of `/proc/drbd`, or of `proc_drbd` of a connection to `peer`.
pub fn parse(text: &str, minor: u32, peer: Option<String>) -> Option<Replica> {
    text.lines().find_map(|line| line_of(line, minor)).map(|line| line.replica(peer))
}

/// ` 0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----`, taken apart.
struct Line<'a> {
    connection: &'a str,
    roles: Option<(&'a str, &'a str)>,
    disks: Option<(&'a str, &'a str)>,
    protocol: Option<&'a str>,
}

fn line_of(text: &str, minor: u32) -> Option<Line<'_>> {
    let (number, rest) = text.trim_start().split_once(": ")?;
    if number.parse() != Ok(minor) {
        return None;
    }
    let word = |name: &str| rest.split_whitespace().find_map(|word| word.strip_prefix(name));
    let protocol = rest.split_whitespace().find(|word| matches!(*word, "A" | "B" | "C"));
    Some(Line {
        connection: word("cs:")?,
        roles: word("ro:").and_then(|both| both.split_once('/')),
        disks: word("ds:").and_then(|both| both.split_once('/')),
        protocol,
    })
}

impl Line<'_> {
    fn replica(&self, name: Option<String>) -> Replica {
        let of = |both: Option<(&str, &str)>| both.map(|(here, there)| (here.to_string(), there.to_string()));
        let (role, role_there) = of(self.roles).unzip();
        let (disk, disk_there) = of(self.disks).unzip();
        Replica {
            resource: None,
            role,
            disk,
            protocol: self.protocol.map(str::to_string),
            peers: vec![ReplicaPeer {
                name,
                role: role_there,
                disk: disk_there,
                connection: Some(self.connection.to_string()),
            }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Replica {
        line_of(text, 0).expect("a line of device 0").replica(None)
    }

    #[test]
    fn two_whole_copies_have_no_fault() {
        let both = told(" 0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----");
        assert_eq!(both.nodes_words(), "this node is Primary, the other node is Secondary, protocol C");
        assert!(both.faults().is_empty() && !both.reads_from_peers() && !both.is_alone());
        assert!(line_of("301: cs:Connected ro:Primary/Secondary", 30).is_none());
    }

    #[test]
    fn what_keeps_copies_apart() {
        let faults = |text: &str| told(text).faults().join("; ");
        assert_eq!(
            faults(" 0: cs:StandAlone ro:Primary/Unknown ds:UpToDate/DUnknown   r-----"),
            "the connection to the other node is StandAlone"
        );
        assert_eq!(
            faults(" 0: cs:SyncTarget ro:Primary/Secondary ds:Inconsistent/UpToDate C r-----"),
            "the disk of this node is Inconsistent; the connection to the other node is SyncTarget"
        );
        assert_eq!(
            faults(" 0: cs:Connected ro:Primary/Secondary ds:UpToDate/Outdated C r-----"),
            "the disk of the other node is Outdated"
        );
        assert!(told(" 0: cs:WFConnection ro:Primary/Unknown ds:UpToDate/DUnknown C r-----").is_alone());
        assert!(!told(" 0: cs:SyncSource ro:Primary/Secondary ds:UpToDate/Inconsistent C r-----").is_alone());
        let diskless = told(" 0: cs:Connected ro:Primary/Secondary ds:Diskless/UpToDate C r-----");
        assert!(diskless.is_diskless() && diskless.reads_from_peers() && diskless.faults().is_empty());
        assert_eq!(told(" 0: cs:Unconfigured").role, None);
    }
}
