//! Mounted filesystems and swap areas, as this process sees them.
//!
//! Source: `proc_pid_mountinfo(5)`, `proc_swaps` in `proc(5)`. Both escape blanks, tabs, newlines and
//! backslashes as three octal digits.
//!
//! Requests that wait in the programs that serve file systems (FUSE).
//!
//! Source: the kernel's `Documentation/filesystems/fuse.rst`, "Control filesystem": a directory for each
//! connection, with `waiting`, the requests that were handed over and have no answer yet. Its name is the
//! number of the file system's device.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::device::DeviceNumber;
use super::roots::Roots;
use crate::sys::file::name_of_bytes;
use crate::sys::source;

/// One line of `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Mount id, as `statx(2)` reports it for files below.
    pub id: u64,
    /// `st_dev` of files below; major 0 for filesystems without a device of their own, and for btrfs.
    pub device: DeviceNumber,
    /// Which directory of the filesystem is seen at the mount point; `/` for all of it.
    pub root: PathBuf,
    /// Where it is mounted, without the kernel's escapes.
    pub mount_point: PathBuf,
    /// Filesystem type with subtype, e.g. `ext4`, `fuse.sshfs`.
    pub fs_type: String,
    /// What is mounted: a device node, `host:/export`, or a name.
    pub source: PathBuf,
    /// Options of the mount, then those of the filesystem, as the kernel lists them.
    pub options: String,
}

/// Reads the mounts of this process.
///
/// # Errors
/// When procfs is not there or not readable, or lists nothing: where there is a procfs, it is mounted itself.
pub fn read_mounts(roots: &Roots) -> io::Result<Vec<Mount>> {
    let mounts = parse_mountinfo(&source::read_table(&mountinfo(roots))?);
    if mounts.is_empty() { Err(io::Error::other("it lists no mount")) } else { Ok(mounts) }
}

/// The mount with this number, and the value of an option of its file system; commas and other marks in a
/// value are those of the value. Without a number nothing is found.
///
/// # Errors
/// As [`read_mounts`].
pub(super) fn mount_of(
    id: Option<u64>,
    option: &str,
    roots: &Roots,
) -> io::Result<Option<(Mount, Option<OsString>)>> {
    let text = source::read_table(&mountinfo(roots))?;
    let found = text.split(|&b| b == b'\n').find_map(|line| {
        let mount = parse_mount(line).filter(|mount| Some(mount.id) == id)?;
        // The last field holds the options of the file system. A comma within a value is escaped there.
        let mut options = line.rsplit(|&b| b == b' ').next()?.split(|&b| b == b',');
        let value =
            options.find_map(|one| one.strip_prefix(option.as_bytes())?.strip_prefix(b"=").map(unescape));
        Some((mount, value))
    });
    Ok(found)
}

/// Where the mounts of this process are listed.
pub fn mountinfo(roots: &Roots) -> PathBuf {
    roots.proc.join("self/mountinfo")
}

/// Parses the text of `/proc/self/mountinfo`; lines of another shape are left out.
pub fn parse_mountinfo(text: &[u8]) -> Vec<Mount> {
    text.split(|&b| b == b'\n').filter_map(parse_mount).collect()
}

fn parse_mount(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
    // Optional fields stand between the sixth field and a lone dash.
    let dash = fields.iter().skip(6).position(|f| *f == b"-")? + 6;
    let (fs_type, source) = (fields.get(dash + 1)?, fields.get(dash + 2)?);
    Some(Mount {
        id: std::str::from_utf8(fields[0]).ok()?.parse().ok()?,
        device: std::str::from_utf8(fields[2]).ok()?.parse().ok()?,
        root: unescape(fields[3]).into(),
        mount_point: unescape(fields[4]).into(),
        fs_type: String::from_utf8_lossy(fs_type).into_owned(),
        source: unescape(source).into(),
        options: options(fields[5], fields.get(dash + 3).copied().unwrap_or_default()),
    })
}

/// Options of a mount and of its filesystem, each once.
fn options(mount: &[u8], filesystem: &[u8]) -> String {
    let both = [mount, filesystem].map(|list| unescape(list).to_string_lossy().into_owned());
    let mut options: Vec<&str> = Vec::new();
    for option in both.iter().flat_map(|list| list.split(',')).filter(|option| !option.is_empty()) {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    options.join(",")
}

/// Device nodes and files in use as swap.
///
/// # Errors
/// When procfs is not there, does not show the list, or shows another file in its place.
pub fn read_swaps(roots: &Roots) -> io::Result<Vec<PathBuf>> {
    match source::read_table(&swaps(roots)) {
        // A kernel without swap has no list; a procfs that shows processes only (subset=pid) has no table of drivers
        // either.
        Err(error) if error.kind() == io::ErrorKind::NotFound && roots.proc.join("devices").exists() => {
            Ok(Vec::new())
        }
        // The first line names the columns, also without swap.
        Ok(text) if !text.starts_with(b"Filename") => Err(io::Error::other("it is not the kernel's list")),
        read => Ok(parse_swaps(&read?)),
    }
}

/// Where swap areas are listed.
pub fn swaps(roots: &Roots) -> PathBuf {
    roots.proc.join("swaps")
}

/// Parses the text of `/proc/swaps`. The kernel's remark that a file has no name any more is left out.
pub fn parse_swaps(text: &[u8]) -> Vec<PathBuf> {
    text.split(|&b| b == b'\n')
        .skip(1)
        .filter_map(|line| line.split(|b| b.is_ascii_whitespace()).next())
        .filter(|name| !name.is_empty())
        .map(|name| unescape(name.strip_suffix(DELETED).unwrap_or(name)).into())
        .collect()
}

/// What the kernel writes after the path of a file that has no name any more: a blank and "(deleted)".
const DELETED: &[u8] = b"\\040(deleted)";

/// Undoes the kernel's `\ooo` escapes.
pub(super) fn unescape(field: &[u8]) -> OsString {
    let mut out = Vec::with_capacity(field.len());
    let mut at = 0;
    while at < field.len() {
        let digits = if field[at] == b'\\' { field.get(at + 1..at + 4) } else { None };
        let escaped = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        out.push(escaped.unwrap_or(field[at]));
        at += if escaped.is_some() { 4 } else { 1 };
    }
    name_of_bytes(out)
}

/// Bits of a device number that are the minor number, inside of the kernel (`MINORBITS` in `linux/kdev_t.h`).
const MINOR_BITS: u32 = 20;

/// The connection of a file system to its program.
#[derive(Debug)]
pub struct FuseConnection {
    /// Read anew each time: the kernel lets nobody go back in this file, nor read it at an offset.
    waiting: PathBuf,
}

impl FuseConnection {
    /// The one of a file system by its number. `None` where the control file system is not mounted, or belongs to
    /// another user.
    pub fn find(device: DeviceNumber, roots: &Roots) -> Option<Self> {
        let number = (u64::from(device.major) << MINOR_BITS) | u64::from(device.minor);
        let waiting = roots.sys.join("fs/fuse/connections").join(number.to_string()).join("waiting");
        std::fs::File::open(&waiting).is_ok().then_some(FuseConnection { waiting })
    }

    /// Requests without an answer at this moment; `None` when the connection is gone.
    pub fn waiting(&self) -> Option<u64> {
        std::fs::read_to_string(&self.waiting).ok()?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTINFO: &[u8] = b"22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
36 27 0:45 /sub /mnt/two\\040words rw - btrfs /dev/sdb1 rw,space_cache=v2
37 27 0:50 / /mnt/far rw,nosuid - nfs4 host:/export\\134x rw,vers=4.2
38 27 0:51 / /mnt/fuse rw - fuse.sshfs user@host: rw
broken line
";

    #[test]
    fn mountinfo_with_optional_fields_escapes_and_noise() {
        let mounts = parse_mountinfo(MOUNTINFO);
        assert_eq!(mounts.len(), 5);
        assert_eq!(mounts[1].device, DeviceNumber { major: 254, minor: 0 });
        assert_eq!((mounts[1].id, mounts[1].fs_type.as_str()), (27, "ext4"));
        assert_eq!(mounts[1].source, PathBuf::from("/dev/vda"));
        assert_eq!(mounts[2].mount_point, PathBuf::from("/mnt/two words"));
        assert_eq!(mounts[2].root, PathBuf::from("/sub"));
        assert_eq!(mounts[3].source, PathBuf::from("host:/export\\x"));
        assert_eq!(mounts[4].fs_type, "fuse.sshfs");
        assert_eq!(mounts[3].options, "rw,nosuid,vers=4.2");
    }

    #[test]
    fn an_option_of_a_mount_keeps_the_commas_of_its_value() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
        std::fs::create_dir(roots.proc.join("self")).unwrap();
        let layers = "lowerdir=/a\\134:b:/c,upperdir=/u\\054\\040x\\075,workdir=/w";
        let line = format!("41 27 0:52 /sub /m\\040m rw - overlay overlay rw,{layers}\n");
        std::fs::write(mountinfo(&roots), [MOUNTINFO, line.as_bytes()].concat()).unwrap();
        let (mount, upper) = mount_of(Some(41), "upperdir", &roots).unwrap().unwrap();
        assert_eq!((mount.mount_point, mount.root), ("/m m".into(), "/sub".into()));
        assert_eq!(upper.unwrap(), "/u, x=");
        assert_eq!(mount_of(Some(27), "upperdir", &roots).unwrap().unwrap().1, None, "it has none");
        assert_eq!(mount_of(Some(99), "upperdir", &roots).unwrap(), None);
        assert_eq!(mount_of(None, "upperdir", &roots).unwrap(), None, "a kernel that does not tell");
    }

    #[test]
    fn swaps_leave_out_the_head_line() {
        let text = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
            /dev/dm-1                               partition\t8388604\t\t0\t\t-2\n\
            /swap\\040file                           file\t\t1024\t\t0\t\t-3\n";
        assert_eq!(parse_swaps(text), [PathBuf::from("/dev/dm-1"), PathBuf::from("/swap file")]);
        assert!(parse_swaps(b"").is_empty());
    }

    #[test]
    fn a_list_that_is_hidden_is_no_empty_list() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
        let put = |name: &str, text: &str| {
            std::fs::create_dir_all(roots.proc.join("self")).unwrap();
            std::fs::write(roots.proc.join(name), text).unwrap();
        };
        assert!(read_swaps(&roots).is_err() && read_mounts(&roots).is_err());
        put("swaps", "");
        put("self/mountinfo", "");
        assert!(read_swaps(&roots).is_err() && read_mounts(&roots).is_err(), "/dev/null in its place");
        put("swaps", "Filename Type\n");
        assert_eq!(read_swaps(&roots).unwrap(), Vec::<PathBuf>::new());
        std::fs::remove_file(roots.proc.join("swaps")).unwrap();
        put("devices", "Block devices:\n");
        assert_eq!(read_swaps(&roots).unwrap(), Vec::<PathBuf>::new(), "a kernel without swap");
    }

    #[test]
    fn this_process_has_a_root_mount() {
        let mounts = read_mounts(&Roots::default()).unwrap();
        assert!(mounts.iter().any(|m| m.mount_point == std::path::Path::new("/")));
    }
}

#[cfg(test)]
mod tests_fuse {
    use super::*;

    #[test]
    fn a_connection_is_found_by_its_device() {
        let dir = tempfile::tempdir().expect("a directory");
        let roots = Roots { sys: dir.path().into(), ..Roots::default() };
        let put = |number: &str, text: &str| {
            let place = dir.path().join("fs/fuse/connections").join(number);
            std::fs::create_dir_all(&place).expect("a folder");
            std::fs::write(place.join("waiting"), text).expect("a file");
        };
        put("47", "3\n");
        // fuseblk has the number of its device, 8:17.
        put("8388625", "12\n");
        let waiting = |device: &str| {
            FuseConnection::find(device.parse().expect("a number"), &roots).map(|found| found.waiting())
        };
        assert_eq!(waiting("0:47"), Some(Some(3)));
        assert_eq!(waiting("8:17"), Some(Some(12)));
        assert_eq!(waiting("0:48"), None);
        put("47", "gone");
        assert_eq!(waiting("0:47"), Some(None));
    }
}
