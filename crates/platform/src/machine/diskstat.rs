//! What the block layer counted for a device since it appeared.
//!
//! Source: the kernel's `Documentation/block/stat.rst` and `Documentation/admin-guide/iostats.rst`.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::device::DeviceNumber;
use super::namespace::controller_of_path;
use super::roots::{Roots, names_in};
use crate::sys::file::read_at;

/// Unit of the counted sectors, whatever the sectors of the device are.
const SECTOR_BYTES: u64 = 512;
const NS_PER_MS: u64 = 1_000_000;
/// Drivers that do not ask `queue/iostats`, which is off for them since Linux 6.11 (the kernel's
/// `drivers/block/zram`, `drivers/block/drbd`, `drivers/md/bcache`).
const ALWAYS_COUNT: &[&str] = &["zram", "drbd", "bcache"];
/// Memory as a disk (the kernel's `drivers/block/brd.c`).
const NEVER_COUNT: &[&str] = &["ram"];
/// Longer than 17 numbers of 20 digits.
const TEXT_BYTES_MAX: usize = 512;

/// Counters of a disk (the kernel's `Documentation/block/stat.rst`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DiskCounts {
    /// Reads completed.
    pub reads: u64,
    /// Reads merged into others before they went to the disk.
    pub reads_merged: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time of all reads added up, in nanoseconds.
    pub read_time_ns: u64,
    /// Writes completed.
    pub writes: u64,
    /// Writes merged into others.
    pub writes_merged: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time of all writes added up, in nanoseconds.
    pub write_time_ns: u64,
    /// Discards completed.
    pub discards: u64,
    /// Bytes discarded.
    pub discard_bytes: u64,
    /// Flushes of the volatile cache completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
    /// Time during which at least one request was in progress, in nanoseconds.
    pub busy_ns: u64,
    /// Time of all requests in progress added up, in nanoseconds.
    pub queue_time_ns: u64,
}

impl DiskCounts {
    /// What was counted since `before`, which is an earlier reading of the same device. The kernel prints times as
    /// 32-bit milliseconds, which start again at 0 after 49 days.
    pub fn since(&self, before: &DiskCounts) -> DiskCounts {
        const LAP_NS: u64 = (1 << 32) * NS_PER_MS;
        self.with(before, u64::saturating_sub, |now, then| {
            now.checked_sub(then).unwrap_or_else(|| (now + LAP_NS).saturating_sub(then))
        })
    }

    fn bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.write_bytes)
    }

    /// Counters of two paths to one device added up.
    fn plus(&self, other: &DiskCounts) -> DiskCounts {
        self.with(other, u64::saturating_add, u64::saturating_add)
    }

    /// Each member made of that of both, those in nanoseconds by `time`.
    fn with(&self, other: &DiskCounts, count: fn(u64, u64) -> u64, time: fn(u64, u64) -> u64) -> DiskCounts {
        DiskCounts {
            reads: count(self.reads, other.reads),
            reads_merged: count(self.reads_merged, other.reads_merged),
            read_bytes: count(self.read_bytes, other.read_bytes),
            read_time_ns: time(self.read_time_ns, other.read_time_ns),
            writes: count(self.writes, other.writes),
            writes_merged: count(self.writes_merged, other.writes_merged),
            write_bytes: count(self.write_bytes, other.write_bytes),
            write_time_ns: time(self.write_time_ns, other.write_time_ns),
            discards: count(self.discards, other.discards),
            discard_bytes: count(self.discard_bytes, other.discard_bytes),
            flushes: self.flushes.zip(other.flushes).map(|(a, b)| count(a, b)),
            busy_ns: time(self.busy_ns, other.busy_ns),
            queue_time_ns: time(self.queue_time_ns, other.queue_time_ns),
        }
    }
}

/// Parses the text of a device's `stat`: 17 numbers, 15 before Linux 5.5, 11 before 4.18. What an older
/// kernel lacks is 0 or absent. `None` for anything else.
pub fn parse(text: &str) -> Option<DiskCounts> {
    let mut numbers: Vec<u64> =
        text.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    if numbers.len() < 11 {
        return None;
    }
    let flushes = numbers.get(15).copied();
    numbers.resize(17, 0);
    Some(DiskCounts {
        reads: numbers[0],
        reads_merged: numbers[1],
        read_bytes: numbers[2].saturating_mul(SECTOR_BYTES),
        read_time_ns: numbers[3].saturating_mul(NS_PER_MS),
        writes: numbers[4],
        writes_merged: numbers[5],
        write_bytes: numbers[6].saturating_mul(SECTOR_BYTES),
        write_time_ns: numbers[7].saturating_mul(NS_PER_MS),
        busy_ns: numbers[9].saturating_mul(NS_PER_MS),
        queue_time_ns: numbers[10].saturating_mul(NS_PER_MS),
        discards: numbers[11],
        discard_bytes: numbers[13].saturating_mul(SECTOR_BYTES),
        flushes,
    })
}

/// The counters of one device, kept open: they are read at exact moments.
#[derive(Debug)]
pub struct DiskCounters {
    own: File,
    /// Of each path to a device that has several, with the controller by which it leads.
    paths: Vec<(String, File)>,
    /// What was read last of each path.
    last: Mutex<Vec<Option<DiskCounts>>>,
}

/// One reading of the counters of a device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiskReading {
    own: Option<DiskCounts>,
    /// Of each path, in the order of [`DiskCounters::paths`]; empty for a device that counts itself.
    pub paths: Vec<DiskCounts>,
}

impl DiskReading {
    /// What the device did since `before`. Where it has several paths, the sum of them, unless it counted
    /// more itself: what stands above the paths counts nothing before Linux 6.4, and loses completions that
    /// come in batches until 6.10; of a path that goes away the last counts are lost, and one that comes
    /// later is in no sum.
    pub fn since(&self, before: &DiskReading) -> DiskCounts {
        let own = self.own.zip(before.own).map(|(now, then)| now.since(&then)).unwrap_or_default();
        let pairs = self.paths.iter().zip(&before.paths);
        let all = pairs.map(|(now, then)| now.since(then)).reduce(|sum, one| sum.plus(&one));
        match all {
            Some(all) if all.bytes() >= own.bytes() => all,
            _ => own,
        }
    }
}

impl DiskCounters {
    /// Opens the counters of a device. `None` when it keeps none or is not known.
    ///
    /// It keeps none where `queue/iostats` is 0 (some drivers count all the same), and where a device that is more
    /// than a layer of the kernel was never read since it appeared: looking for partitions reads from every disk,
    /// but before Linux 6.4 nothing counted for an NVMe disk of several paths.
    pub fn open(number: DeviceNumber, roots: &Roots) -> Option<Self> {
        let dir = roots.sys.join("dev/block").join(number.to_string());
        let name = std::fs::canonicalize(&dir).ok()?.file_name()?.to_string_lossy().into_owned();
        let is_off =
            crate::machine::roots::read_word(&dir.join("queue/iostats")).is_some_and(|kept| kept == "0");
        let driver = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if NEVER_COUNT.contains(&driver) || (is_off && !ALWAYS_COUNT.contains(&driver)) {
            return None;
        }
        let mut paths = Vec::new();
        for (controller, path) in nvme_paths(&name, roots) {
            paths.push((controller, File::open(path).ok()?));
        }
        let last = Mutex::new(vec![None; paths.len()]);
        let counters = DiskCounters { own: File::open(dir.join("stat")).ok()?, paths, last };
        let never_read = counters.read().ok()?.since(&counters.nothing()) == DiskCounts::default();
        let is_mute = never_read && dir.join("device").exists();
        (!is_mute).then_some(counters)
    }

    /// The controllers by which the paths of a device lead that has several; empty for one that counts itself.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(|(name, _)| name.as_str())
    }

    /// A reading of a device that did nothing yet.
    fn nothing(&self) -> DiskReading {
        DiskReading { own: Some(DiskCounts::default()), paths: vec![DiskCounts::default(); self.paths.len()] }
    }

    /// Reads the counters. A path that is gone keeps what it counted last.
    ///
    /// # Errors
    /// When the device is gone, or its counters are not what they should be.
    pub fn read(&self) -> io::Result<DiskReading> {
        let own = Some(read_stat(&self.own)?);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        for (known, (_, stat)) in last.iter_mut().zip(&self.paths) {
            *known = read_stat(stat).ok().or(*known);
        }
        Ok(DiskReading { own, paths: last.iter().map(|known| known.unwrap_or_default()).collect() })
    }
}

fn read_stat(stat: &File) -> io::Result<DiskCounts> {
    let mut buffer = [0; TEXT_BYTES_MAX];
    let len = read_at(stat, &mut buffer, 0)?;
    let text = String::from_utf8_lossy(&buffer[..len]);
    parse(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not the counters of a device"))
}

/// Counters of the paths to an NVMe namespace that has several, with the controllers by which they lead. What
/// stands above the paths counts nothing before Linux 6.4, and loses completions that come in batches until
/// 6.10.
fn nvme_paths(name: &str, roots: &Roots) -> Vec<(String, PathBuf)> {
    let list = roots.sys.join("block");
    let mut paths = Vec::new();
    for path in names_in(&list) {
        paths.extend(
            controller_of_path(&path, name).map(|controller| (controller, list.join(path).join("stat"))),
        );
    }
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Linux 6.12, NVMe.
    const NVME: &str = "  914221    20563 76202906   215041  2405911  1710562 \
        173522570  2863911        0   772312  3138730    25213        0 151466448     3180   147021    56597\n";
    /// Linux 4.19: no flushes.
    const OLD: &str = "    4532     1203   330218     2871     1022      893    41208     4410        1     3020     7284       12        0    98304       20\n";
    /// Linux 3.10: no discards either.
    const OLDEST: &str = " 128 3 2056 64 17 5 176 90 0 130 154\n";

    #[test]
    fn recorded_counters_of_three_kernels() {
        let wanted = DiskCounts {
            reads: 914_221,
            reads_merged: 20_563,
            read_bytes: 76_202_906 * 512,
            read_time_ns: 215_041_000_000,
            writes: 2_405_911,
            writes_merged: 1_710_562,
            write_bytes: 173_522_570 * 512,
            write_time_ns: 2_863_911_000_000,
            busy_ns: 772_312_000_000,
            queue_time_ns: 3_138_730_000_000,
            discards: 25_213,
            discard_bytes: 151_466_448 * 512,
            flushes: Some(147_021),
        };
        assert_eq!(parse(NVME), Some(wanted));
        let old = parse(OLD).unwrap();
        assert_eq!((old.discards, old.discard_bytes, old.flushes), (12, 98304 * 512, None));
        let oldest = parse(OLDEST).unwrap();
        assert_eq!((oldest.writes, oldest.write_bytes, oldest.busy_ns), (17, 176 * 512, 130_000_000));
        assert_eq!((oldest.discards, oldest.flushes), (0, None));
        for wrong in ["", "1 2 3\n", "1 2 3 4 5 6 7 8 9 10 x\n"] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn differences_and_times_that_start_again() {
        let before = parse(NVME).unwrap();
        let nothing = DiskCounts { flushes: Some(0), ..DiskCounts::default() };
        assert_eq!(before.since(&before), nothing);
        let mut after = before;
        after.reads += 3;
        after.read_bytes += 12_288;
        let wanted = DiskCounts { reads: 3, read_bytes: 12_288, ..nothing };
        assert_eq!(after.since(&before), wanted);
        let before = DiskCounts { read_time_ns: ((1 << 32) - 5) * NS_PER_MS, ..DiskCounts::default() };
        let after = DiskCounts { read_time_ns: 7 * NS_PER_MS, ..DiskCounts::default() };
        assert_eq!(after.since(&before).read_time_ns, 12 * NS_PER_MS);
    }

    #[test]
    fn drivers_that_count_always_or_never() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { sys: dir.path().into(), ..Roots::default() };
        fs::create_dir_all(dir.path().join("dev/block")).unwrap();
        for (name, number, counts) in
            [("zram2", "251:2", true), ("ram0", "1:0", false), ("loop1", "7:1", false)]
        {
            let place = dir.path().join(name);
            fs::create_dir_all(place.join("queue")).unwrap();
            fs::write(place.join("stat"), NVME).unwrap();
            fs::write(place.join("queue/iostats"), "0\n").unwrap();
            crate::sys::made::symlink(&place, dir.path().join("dev/block").join(number)).unwrap();
            assert_eq!(DiskCounters::open(number.parse().unwrap(), &roots).is_some(), counts, "{name}");
        }
    }

    #[test]
    fn an_nvme_disk_of_several_paths_is_the_sum_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { sys: dir.path().into(), ..Roots::default() };
        fs::create_dir_all(dir.path().join("dev/block")).unwrap();
        let all = [
            ("nvme1n1", "0 0 0 0 0 0 0 0 0 0 0\n"),
            ("nvme1c0n1", "7 0 56 1 0 0 0 0 0 1 1\n"),
            ("nvme1c10n1", "5 0 40 1 0 0 0 0 0 1 1\n"),
            ("nvme1c0n12", "900 0 900 1 0 0 0 0 0 1 1\n"),
            ("nvme11c0n1", "900 0 900 1 0 0 0 0 0 1 1\n"),
        ];
        for (name, stat) in all {
            fs::create_dir_all(dir.path().join("block").join(name)).unwrap();
            fs::write(dir.path().join("block").join(name).join("stat"), stat).unwrap();
        }
        crate::sys::made::symlink(dir.path().join("block/nvme1n1"), dir.path().join("dev/block/259:0"))
            .unwrap();
        let counters = DiskCounters::open("259:0".parse().unwrap(), &roots).expect("counters");
        let sum = counters.read().unwrap().since(&counters.nothing());
        assert_eq!((sum.reads, sum.read_bytes), (12, 96 * 512));
        assert_eq!(counters.paths().collect::<Vec<_>>(), ["nvme0", "nvme10"]);
        let each = || counters.read().unwrap().paths.iter().map(|c| c.reads).collect::<Vec<_>>();
        assert_eq!(each(), [7, 5]);
        // Of a path that goes away what it did stays in the sum.
        let put = |name: &str, text: &str| {
            fs::write(dir.path().join("block").join(name).join("stat"), text).unwrap()
        };
        put("nvme1c0n1", "");
        put("nvme1c10n1", "9 0 72 1 0 0 0 0 0 1 1\n");
        assert_eq!(each(), [7, 9]);
        // What the device above counted counts where it is more: the last I/Os of the lost path.
        put("nvme1n1", "20 0 160 1 0 0 0 0 0 1 1\n");
        assert_eq!(counters.read().unwrap().since(&counters.nothing()).reads, 20);
        put("nvme1n1", "");
        assert!(counters.read().is_err(), "the device is gone");
    }

    #[test]
    fn a_device_that_does_not_count_is_no_evidence() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { sys: dir.path().into(), ..Roots::default() };
        let number = DeviceNumber { major: 259, minor: 0 };
        assert!(DiskCounters::open(number, &roots).is_none(), "no such device");
        let place = dir.path().join("dev/block/259:0");
        fs::create_dir_all(place.join("queue")).unwrap();
        fs::write(place.join("stat"), NVME).unwrap();
        assert!(DiskCounters::open(number, &roots).is_some(), "a kernel without the switch counts");
        fs::write(place.join("queue/iostats"), "1\n").unwrap();
        let counters = DiskCounters::open(number, &roots).unwrap();
        let counted = |counters: &DiskCounters| counters.read().unwrap().own;
        assert_eq!(counted(&counters), parse(NVME));
        fs::write(place.join("stat"), OLD).unwrap();
        assert_eq!(counted(&counters), parse(OLD), "read anew each time");
        fs::write(place.join("stat"), "0 0 0 0 0 0 0 0 0 0 0\n").unwrap();
        assert!(DiskCounters::open(number, &roots).is_some(), "a new loop device");
        fs::create_dir(place.join("device")).unwrap();
        assert!(DiskCounters::open(number, &roots).is_none(), "a disk that does not count");
        fs::write(place.join("stat"), OLD).unwrap();
        assert!(DiskCounters::open(number, &roots).is_some());
        fs::write(place.join("queue/iostats"), "0\n").unwrap();
        assert!(DiskCounters::open(number, &roots).is_none());
    }
}
