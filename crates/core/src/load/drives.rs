//! The drives under the targets are asked for their own state before the first I/O and after the last.

use crate::result::Drive;
use truespd_platform::machine::chain::{Layer, LayerKind};
use truespd_platform::machine::device::BlockDevice;
use truespd_platform::machine::drive_state::{DriveState, DriveUntold, read_soon};
use truespd_platform::machine::roots::Roots;

/// A drive under the targets, and what it says.
#[derive(Debug)]
struct Found {
    disk: BlockDevice,
    before: Result<DriveState, DriveUntold>,
    after: Result<DriveState, DriveUntold>,
}

/// The drives under the targets, each once.
#[derive(Debug)]
pub struct Drives {
    found: Vec<Found>,
    roots: Roots,
}

impl Drives {
    /// Finds the drives of the chains, and asks them.
    pub fn look_before<'a>(chains: impl Iterator<Item = &'a [Layer]>, roots: &Roots) -> Self {
        let mut found: Vec<Found> = Vec::new();
        for layer in chains.flatten() {
            let untold = match layer.kind {
                LayerKind::Disk | LayerKind::Partition if layer.below.is_empty() => DriveUntold::Untold,
                LayerKind::NetworkDisk => DriveUntold::Elsewhere,
                _ => continue,
            };
            let device = layer.number.and_then(|number| BlockDevice::find(number, roots));
            let Some(disk) = device.map(|device| device.whole_disk().unwrap_or(device)) else { continue };
            if !found.iter().any(|known| is_same(&known.disk, &disk)) {
                found.push(Found { disk, before: Err(untold), after: Err(untold) });
            }
        }
        found.sort_by(|a, b| a.disk.name.cmp(&b.disk.name));
        let mut drives = Drives { found, roots: roots.clone() };
        for (place, answer) in drives.ask() {
            let found = &mut drives.found[place];
            found.before = answer;
        }
        drives
    }

    /// Asks those again that may answer, after the last I/O.
    pub fn look_after(&mut self) {
        for (place, answer) in self.ask() {
            self.found[place].after = answer;
        }
    }

    /// Each drive with both of its states and what changed between them.
    pub fn tell(self) -> Vec<Drive> {
        let drives = self.found.into_iter();
        drives.map(|found| Drive::of(found.disk.name, found.before, found.after)).collect()
    }

    /// What the drives of this machine say now, by their places. One that did not answer before is not asked again.
    fn ask(&self) -> Vec<(usize, Result<DriveState, DriveUntold>)> {
        let mut asked = Vec::new();
        let mut disks = Vec::new();
        for (place, found) in self.found.iter().enumerate() {
            if !matches!(found.before, Err(DriveUntold::Elsewhere | DriveUntold::NoAnswer)) {
                asked.push(place);
                disks.push(found.disk.clone());
            }
        }
        asked.into_iter().zip(read_soon(&disks, &self.roots)).collect()
    }
}

/// Whether both are one drive: the paths to it have its name.
fn is_same(one: &BlockDevice, other: &BlockDevice) -> bool {
    one == other || one.world_wide_id().is_some_and(|id| other.world_wide_id() == Some(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::symlink;
    use std::fs;
    use truespd_platform::machine::device::DeviceNumber;

    fn layer(kind: LayerKind, minor: u32) -> Layer {
        Layer { kind, number: Some(DeviceNumber { major: 8, minor }), ..Layer::default() }
    }

    #[test]
    fn each_drive_below_is_found_once_and_says_why_it_tells_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let roots = Roots { sys: at("sys"), proc: at("proc"), dev: at("dev") };
        fs::create_dir_all(&roots.dev).unwrap();
        fs::create_dir_all(roots.sys.join("dev/block")).unwrap();
        let disks =
            [("sda", 0, "a"), ("sdb", 16, "b"), ("sdc", 32, "b"), ("nbd0", 48, "c"), ("vda", 64, "d")];
        for (name, minor, id) in disks {
            let folder = roots.sys.join("devices").join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("dev"), format!("8:{minor}\n")).unwrap();
            fs::write(folder.join("wwid"), format!("naa.{id}\n")).unwrap();
            symlink(&folder, roots.sys.join("dev/block").join(format!("8:{minor}"))).unwrap();
        }
        let array = Layer { below: vec![1, 2, 3], ..layer(LayerKind::Md, 99) };
        let disk = |minor| layer(LayerKind::Disk, minor);
        let first = [array, disk(32), disk(16), layer(LayerKind::NetworkDisk, 48)];
        let second = [Layer { below: vec![1], ..layer(LayerKind::Loop, 98) }, disk(0), disk(64), disk(32)];
        let memory = [Layer { kind: LayerKind::MemoryFilesystem, ..Layer::default() }];
        let chains = [&first[..], &second[..], &memory[..]];
        let mut drives = Drives::look_before(chains.into_iter(), &roots);
        drives.look_after();
        let told: Vec<_> = drives.tell().into_iter().map(|drive| (drive.name, drive.untold)).collect();
        let expected = [
            ("nbd0", DriveUntold::Elsewhere),
            ("sda", DriveUntold::NoNode),
            ("sdc", DriveUntold::NoNode),
            ("vda", DriveUntold::NoInterface),
        ];
        assert_eq!(told, expected.map(|(name, why)| (name.to_string(), Some(why))));
        // In memory there is none.
        assert!(Drives::look_before([&memory[..]].into_iter(), &roots).tell().is_empty());
    }
}
