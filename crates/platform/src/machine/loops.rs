//! Loop devices: what they stand on, and which stand on a file or device.
//!
//! A loop device neither claims what it stands on nor locks it, so that nothing but a look at each of them tells.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::beneath::Beneath;
use super::device::{BlockDevice, DeviceNumber, DevicesUnknown, with_size};
use super::roots::{Roots, is_number, number_in, read_word};
use super::storage::{ReadFlags, filesystem_of, open_file};
use crate::sys::device::{is_write_protected, stands_on};
use crate::sys::error::Code;
use crate::sys::identity::{Identity, block_device};

/// What the kernel writes after the path of a file that has no name any more.
const DELETED: &str = " (deleted)";

/// What a loop device is asked to stand on.
#[derive(Debug, Clone, Copy)]
pub struct Below {
    /// Device and inode number of the file or device.
    pub identity: Identity,
    /// Length of the file, capacity of the device.
    pub size_bytes: u64,
}

/// Loop devices that stand on one of these files or devices.
///
/// # Errors
/// Sysfs is missing, or a loop device that could stand on one of them does not tell on what it does.
pub fn standing_on(any: &[Below], roots: &Roots) -> Result<Vec<BlockDevice>, DevicesUnknown> {
    let mut found = Vec::new();
    for device in BlockDevice::all(roots)? {
        let Some(file) = backing_file(&device)? else { continue };
        let ground = Ground::of(&device, &file, roots);
        let known = ground.iter().flat_map(|ground| &ground.identities);
        if known.into_iter().any(|below| any.iter().any(|one| one.identity == *below)) {
            found.push(device);
            continue;
        }
        let mut could_be = any.iter().filter(|one| could_stand_on(&device, one.size_bytes));
        match ground {
            None if could_be.next().is_some() => {
                return Err(DevicesUnknown::new(&file, &Code::NOT_FOUND.into()));
            }
            Some(ground) if could_be.any(|one| ground.could_share(one.identity)) => {
                return Err(DevicesUnknown::new(
                    &file,
                    &io::Error::other(ground.unknown.unwrap_or_default()),
                ));
            }
            _ => {}
        }
    }
    Ok(found)
}

/// What the nodes of loop devices tell where sysfs does not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ByNodes {
    /// Names of those that stand on it, and whether each is write-protected.
    pub found: Vec<(String, bool)>,
    /// All loop devices that stand on anything were asked.
    pub is_complete: bool,
}

/// Loop devices that stand on the file or device, without sysfs: the nodes in `/dev` are asked. The kernel's
/// list of devices with a capacity tells whether these are all.
pub fn by_nodes(below: Identity, roots: &Roots) -> ByNodes {
    let listed = listed(roots);
    let names = listed.clone().unwrap_or_else(|| named_as_loops(roots));
    let mut told = ByNodes { found: Vec::new(), is_complete: listed.is_some() };
    for name in names {
        let node = open_file(&roots.dev.join(&name), ReadFlags::CACHED).ok();
        match node.and_then(|node| Some((stands_on(&node).ok()?, is_write_protected(&node)))) {
            Some((identity, is_read_only)) if identity == below => told.found.push((name, is_read_only)),
            // On the same file system as the file it is another one.
            Some((identity, _)) if has_one_file(identity) || identity.device() == below.device() => {}
            Some(_) => told.is_complete = false,
            None => told.is_complete = false,
        }
    }
    told
}

/// Loop devices with a capacity; `None` without the kernel's list.
fn listed(roots: &Roots) -> Option<Vec<String>> {
    /// Major number of loop devices.
    const LOOP: u32 = 7;
    let devices = with_size(roots)?.into_iter();
    Some(devices.filter(|device| device.major == LOOP).map(|device| device.name).collect())
}

/// Nodes that are called as loop devices are.
fn named_as_loops(roots: &Roots) -> Vec<String> {
    let entries = fs::read_dir(&roots.dev).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.strip_prefix("loop").is_some_and(is_number)).collect()
}

/// What a loop device stands on.
#[derive(Debug)]
pub struct Ground {
    /// The file or device, and the files below that file: whoever uses one of them uses the same bytes.
    pub identities: Vec<Identity>,
    /// Why not all of them are known.
    pub unknown: Option<String>,
    /// Other files on its file system have other files below them: overlayfs copies each file by itself.
    is_apart: bool,
}

impl Ground {
    /// For the kernel and for this process; `None` where neither the node of the loop device nor the path that sysfs
    /// tells leads there.
    pub fn of(device: &BlockDevice, file: &Path, roots: &Roots) -> Option<Self> {
        let path = file.to_string_lossy();
        let path = path.strip_suffix(DELETED).map_or(file, Path::new);
        // The path is that of another mount namespace, or of before a chroot; it may lead to another file here.
        let own = by_node(device, roots).or_else(|| Identity::at(path).ok())?;
        let mut ground = Ground { identities: vec![own], unknown: None, is_apart: false };
        if has_one_file(own) {
            return Some(ground);
        }
        let is_file = fs::metadata(path).is_ok_and(|about| about.is_file());
        match is_file.then(|| open_file(path, ReadFlags::CACHED)) {
            Some(Ok(opened)) if Identity::of(&opened).is_ok_and(|there| there == own) => {
                let beneath = Beneath::of(&opened, roots);
                ground.identities.extend(beneath.identities());
                ground.unknown = beneath.unknown;
                ground.is_apart = filesystem_of(&opened, roots).is_some_and(|f| f.name == "overlay");
            }
            Some(Err(error)) => ground.unknown = Some(error.to_string()),
            _ => ground.unknown = Some("its path does not lead there from here".to_string()),
        }
        Some(ground)
    }

    /// Whether a file that is not known here could be below both. Below a file there are files only, no devices.
    fn could_share(&self, other: Identity) -> bool {
        self.unknown.is_some()
            && DeviceNumber::of(other).is_none()
            && !(self.is_apart && self.own().device() == other.device())
    }

    /// The file or device itself.
    pub fn own(&self) -> Identity {
        self.identities[0]
    }
}

/// Whether a file with this identity holds its data itself: a device, or a file on a file system that has one.
fn has_one_file(identity: Identity) -> bool {
    DeviceNumber::of(identity).is_some() || DeviceNumber::from_raw(identity.device()).major != 0
}

fn by_node(device: &BlockDevice, roots: &Roots) -> Option<Identity> {
    let node = open_file(&roots.dev.join(device.node_name()), ReadFlags::CACHED).ok()?;
    let number = block_device(&node).ok()?.map(DeviceNumber::from_raw);
    (number.is_some() && number == device.number()).then(|| stands_on(&node).ok())?
}

/// The path of the file behind a loop device as sysfs tells it; `None` when it is none, or stands on nothing.
///
/// # Errors
/// It cannot be read.
pub fn backing_file(device: &BlockDevice) -> Result<Option<PathBuf>, DevicesUnknown> {
    let path = device.dir().join("loop/backing_file");
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(PathBuf::from(text.trim_end_matches('\n')))),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        // It is being released.
        Err(_) if read_word(&device.dir().join("size")).as_deref() == Some("0") => Ok(None),
        Err(error) => Err(DevicesUnknown::new(&path, &error)),
    }
}

/// Whether the capacity of a loop device is that of a part of such a file.
fn could_stand_on(device: &BlockDevice, size_bytes: u64) -> bool {
    let dir = device.dir().join("loop");
    let rest = size_bytes.saturating_sub(number_in(&dir, "offset").unwrap_or(0));
    let part = match number_in(&dir, "sizelimit") {
        None | Some(0) => rest,
        Some(limit) => rest.min(limit),
    };
    device.size_bytes().is_none_or(|capacity| capacity == part / 512 * 512)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine {
        dir: tempfile::TempDir,
        roots: Roots,
    }

    impl Machine {
        fn new() -> Self {
            Self::within(tempfile::tempdir().unwrap())
        }

        fn within(dir: tempfile::TempDir) -> Self {
            let at = |name: &str| dir.path().join(name);
            let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
            fs::create_dir_all(roots.sys.join("block")).unwrap();
            Machine { dir, roots }
        }

        fn device(&self, name: &str, sectors: u64, file: Option<&str>) {
            let dir = self.roots.sys.join("block").join(name);
            fs::create_dir_all(dir.join("loop")).unwrap();
            fs::write(dir.join("dev"), "7:0").unwrap();
            fs::write(dir.join("size"), sectors.to_string()).unwrap();
            file.iter()
                .for_each(|file| fs::write(dir.join("loop/backing_file"), format!("{file}\n")).unwrap());
        }

        fn file(&self, name: &str) -> (String, Below) {
            let path = self.dir.path().join(name);
            fs::write(&path, [0; 8192]).unwrap();
            (
                path.to_str().unwrap().to_string(),
                Below { identity: Identity::at(&path).unwrap(), size_bytes: 8192 },
            )
        }

        fn names(&self, below: Below) -> Result<Vec<String>, DevicesUnknown> {
            let found = standing_on(&[below], &self.roots)?;
            Ok(found.into_iter().map(|device| device.name).collect())
        }
    }

    #[test]
    fn a_file_is_known_by_any_name() {
        let Some(dir) = crate::needs::visible_folder() else { return };
        let machine = Machine::within(dir);
        let ((path, one), (other, _)) = (machine.file("a b"), machine.file("other"));
        machine.device("sda", 16, None);
        machine.device("loop0", 16, None);
        assert_eq!(machine.names(one).unwrap(), [""; 0]);
        machine.device("loop1", 16, Some(&path));
        machine.device("loop2", 16, Some(&other));
        machine.device("loop3", 16, Some(&format!("{path}{DELETED}")));
        assert_eq!(machine.names(one).unwrap(), ["loop1", "loop3"]);
    }

    #[test]
    fn without_sysfs_the_list_of_devices_tells_that_there_is_none() {
        let machine = Machine::new();
        let put = |text: &str| {
            fs::create_dir_all(&machine.roots.proc).unwrap();
            fs::write(machine.roots.proc.join("partitions"), text).unwrap();
            by_nodes(machine.file("file").1.identity, &machine.roots).is_complete
        };
        assert_eq!(by_nodes(machine.file("file").1.identity, &machine.roots), ByNodes::default());
        assert!(!put(""), "/dev/null in its place");
        assert!(put("major minor  #blocks  name\n\n 254        0  268435456 vda\n"));
        assert!(!put("major minor  #blocks  name\n\n   7        0       8192 loop0\n"), "it cannot be asked");
    }

    #[test]
    fn a_path_of_another_namespace_makes_it_unknown_where_the_size_fits() {
        let machine = Machine::new();
        let (_, below) = machine.file("file");
        machine.device("loop0", 32, Some("/no/such/image"));
        assert_eq!(machine.names(below).unwrap(), [""; 0]);
        machine.device("loop1", 16, Some("/no/such/image"));
        let unknown = machine.names(below).unwrap_err();
        assert_eq!(unknown.to_string(), "/no/such/image: No such file or directory");
        fs::write(machine.roots.sys.join("block/loop1/loop/offset"), "4096").unwrap();
        assert_eq!(machine.names(below).unwrap(), [""; 0]);
        fs::write(machine.roots.sys.join("block/loop1/size"), "8").unwrap();
        assert!(machine.names(below).is_err());
        fs::write(machine.roots.sys.join("block/loop1/loop/sizelimit"), "512").unwrap();
        assert_eq!(machine.names(below).unwrap(), [""; 0]);
    }

    #[test]
    fn two_files_of_one_overlayfs_share_no_file_below_them() {
        // Device numbers of file systems without a device of their own have the major number 0.
        let [image, beside, elsewhere] = [(35, 7), (35, 8), (36, 7)].map(Identity::from);
        let mut ground = Ground { identities: vec![image], unknown: Some("hidden".into()), is_apart: true };
        let shares = |ground: &Ground| [beside, elsewhere].map(|other| ground.could_share(other));
        assert_eq!(shares(&ground), [false, true]);
        ground.is_apart = false;
        assert_eq!(shares(&ground), [true, true], "FUSE may show one file under two numbers");
        ground.unknown = None;
        assert_eq!(shares(&ground), [false, false]);
    }
}
