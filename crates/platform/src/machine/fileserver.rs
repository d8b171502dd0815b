//! What the kernel counts for mounts whose files another machine holds: requests to the server, bytes that it sent and
//! took, times on the way.
//!
//! What is counted for a mount, whatever the protocol.
//!
//! Counters of the NFS client, one block of `/proc/self/mountstats` for each mount.
//!
//! Source: the kernel's `fs/nfs/super.c` (`nfs_show_stats`), `fs/proc_namespace.c`, `include/linux/nfs_iostat.h` and
//! `net/sunrpc/stats.c`. Counters are the sums of all programs that use the mount.
//!
//! Counters of the SMB client, one block of `/proc/fs/cifs/Stats` for each share.
//!
//! Source: the kernel's `fs/smb/client/cifs_debug.c` (`cifs_stats_proc_show`) and `smb2ops.c`
//! (`smb2_print_stats`). Counters are the sums of all programs that use the share; times are kept for each
//! server only, and what programs asked for is not counted.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::device::DeviceNumber;
use super::mounts::{Mount, read_mounts, unescape};
use super::roots::Roots;

/// How a client talks to a file server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileProtocol {
    /// NFS.
    Nfs,
    /// SMB.
    Smb,
    /// One that a later version knows.
    #[default]
    #[serde(rename = "", other)]
    Untold,
}

impl FileProtocol {
    /// By the type of the file system.
    fn of_filesystem(fs_type: &str) -> Option<Self> {
        match fs_type {
            "nfs" | "nfs4" => Some(FileProtocol::Nfs),
            "cifs" | "smb3" => Some(FileProtocol::Smb),
            _ => None,
        }
    }

    /// Whether its client also counts what programs asked for, and what was sent again.
    pub fn counts_programs(self) -> bool {
        self == FileProtocol::Nfs
    }

    /// What it calls a request to make written data durable.
    pub fn commit_word(self) -> &'static str {
        if self == FileProtocol::Smb { "FLUSH" } else { "COMMIT" }
    }

    /// What users call it: `NFS`, `SMB`.
    pub fn name(self) -> &'static str {
        match self {
            FileProtocol::Nfs => "NFS",
            FileProtocol::Smb => "SMB",
            FileProtocol::Untold => "an unknown protocol",
        }
    }
}

/// A client's view of a file system of a server, which may be mounted in several places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedMount {
    /// How it talks to the server.
    pub protocol: FileProtocol,
    /// Version of the protocol by the mount option `vers`.
    pub version: Option<String>,
    /// Address of the server by the mount option `addr`.
    pub address: Option<String>,
    /// Places that were asked for. Their counters are the same.
    pub points: Vec<PathBuf>,
    counted: CountersOf,
}

/// What has counters of its own: mounts with the same have the same counters.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CountersOf {
    /// A file system by its number.
    FileSystem(DeviceNumber),
    /// A share of a server by its name.
    Share(String),
}

impl CountersOf {
    fn of(mount: &Mount, protocol: FileProtocol) -> Option<Self> {
        match protocol {
            FileProtocol::Smb => share_name(&mount.source).map(CountersOf::Share),
            _ => Some(CountersOf::FileSystem(mount.device)),
        }
    }
}

/// Mounts whose counters are read.
#[derive(Debug, Default)]
pub struct ServedMounts {
    mounts: Vec<ServedMount>,
    roots: Roots,
}

/// One reading of all mounts; `None` for one that is gone.
pub type Readings = Vec<Option<Reading>>;

/// Counters of one mount at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// What was counted since the mount.
    pub counts: ServerCounts,
    /// Connections to the server; `None` where nothing tells.
    pub connections: Option<u32>,
}

impl ServedMounts {
    /// The mounts at these places, as far as the kernel counts for them; several places of one file system are one.
    pub fn open<'a>(points: impl Iterator<Item = &'a Path>, roots: &Roots) -> Self {
        let points: Vec<&Path> = points.collect();
        // The usual case: nothing is read.
        let mounts = if points.is_empty() { Vec::new() } else { read_mounts(roots).unwrap_or_default() };
        let mut found: Vec<ServedMount> = Vec::new();
        for point in points {
            // Of several at one place the last is seen.
            let Some(mount) = mounts.iter().rfind(|mount| mount.mount_point == point) else { continue };
            let Some(protocol) = FileProtocol::of_filesystem(&mount.fs_type) else { continue };
            let Some(counted) = CountersOf::of(mount, protocol) else { continue };
            match found.iter_mut().find(|known| known.counted == counted) {
                Some(known) if known.points.iter().any(|other| other == point) => {}
                Some(known) => known.points.push(point.to_path_buf()),
                None => found.push(ServedMount {
                    protocol,
                    version: option(&mount.options, "vers").map(str::to_string),
                    address: option(&mount.options, "addr").map(str::to_string),
                    points: vec![point.to_path_buf()],
                    counted,
                }),
            }
        }
        let mut all = ServedMounts { mounts: found, roots: roots.clone() };
        let mut readings = all.read().into_iter();
        all.mounts.retain(|_| readings.next().flatten().is_some());
        all
    }

    /// The mounts, in the order of their readings.
    pub fn mounts(&self) -> &[ServedMount] {
        &self.mounts
    }

    /// Reads the counters of all mounts, in their order.
    pub fn read(&self) -> Readings {
        let (mut nfs, mut shares) = (Vec::new(), Vec::new());
        if self.mounts.iter().any(|mount| mount.protocol == FileProtocol::Nfs) {
            nfs = nfs_mounts(&self.roots).unwrap_or_default();
        }
        if self.mounts.iter().any(|mount| mount.protocol == FileProtocol::Smb) {
            shares = smb_shares(&self.roots).unwrap_or_default();
        }
        let mut readings = Vec::new();
        for mount in &self.mounts {
            readings.push(match &mount.counted {
                CountersOf::Share(name) => of_share(&shares, name),
                CountersOf::FileSystem(_) => of_nfs(&nfs, mount),
            });
        }
        readings
    }
}

fn of_nfs(mounts: &[NfsMount], mount: &ServedMount) -> Option<Reading> {
    let point = mount.points.first()?;
    let found = mounts.iter().rfind(|found| found.mount_point == *point)?;
    let connections = if found.connections > 0 { Some(found.connections) } else { None };
    Some(Reading { counts: found.counts, connections })
}

/// Counters of a share. A share with several, as of two users, could be any of them.
fn of_share(shares: &[Share], name: &str) -> Option<Reading> {
    let mut found = shares.iter().filter(|share| share.name.eq_ignore_ascii_case(name));
    match (found.next(), found.next()) {
        (Some(only), None) => Some(Reading { counts: only.counts?, connections: None }),
        _ => None,
    }
}

/// The value of `name=value` among options of a mount.
fn option<'a>(options: &'a str, name: &str) -> Option<&'a str> {
    options.split(',').filter_map(|option| option.split_once('=')).find(|(n, _)| *n == name).map(|(_, v)| v)
}

/// Requests of one kind that were answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RequestCounts {
    /// Requests answered.
    pub requests: u64,
    /// Times that these were sent: more than the requests when some had to be sent again.
    pub transmissions: u64,
    /// Times that one was given up as lost for the while (a major timeout).
    pub timeouts: u64,
    /// Time from being ready to being sent, of all added up, in nanoseconds.
    pub queue_ns: u64,
    /// Time from being sent to the answer, of all added up, in nanoseconds.
    pub round_trip_ns: u64,
    /// Time from being made to the end, of all added up, in nanoseconds.
    pub total_ns: u64,
    /// Requests that ended with an error, also with one after which the client asked again.
    pub errors: u64,
}

impl RequestCounts {
    fn with(&self, other: &Self, make: fn(u64, u64) -> u64) -> Self {
        RequestCounts {
            requests: make(self.requests, other.requests),
            transmissions: make(self.transmissions, other.transmissions),
            timeouts: make(self.timeouts, other.timeouts),
            queue_ns: make(self.queue_ns, other.queue_ns),
            round_trip_ns: make(self.round_trip_ns, other.round_trip_ns),
            total_ns: make(self.total_ns, other.total_ns),
            errors: make(self.errors, other.errors),
        }
    }

    /// How many of the transmissions were repetitions.
    pub fn retransmissions(&self) -> u64 {
        self.transmissions.saturating_sub(self.requests)
    }

    /// The sum of both, member by member.
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }
}

/// Counters of a mount: those of everybody who uses it, not of this process alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ServerCounts {
    /// Requests for data.
    pub read: RequestCounts,
    /// Requests that carried data to the server.
    pub write: RequestCounts,
    /// Requests to make durable what was written.
    pub commit: RequestCounts,
    /// Bytes that the server sent.
    pub server_read_bytes: u64,
    /// Bytes that the server took.
    pub server_write_bytes: u64,
    /// Bytes that programs read through the page cache (not by mapping the file).
    pub buffered_read_bytes: u64,
    /// Bytes that programs wrote into the page cache.
    pub buffered_write_bytes: u64,
    /// Bytes that programs read by direct I/O.
    pub direct_read_bytes: u64,
    /// Bytes that programs wrote by direct I/O.
    pub direct_write_bytes: u64,
}

impl ServerCounts {
    /// Whether this can be a later reading than `before`: nobody set the counters to 0 in between.
    pub fn can_follow(&self, before: &Self) -> bool {
        self.read.requests >= before.read.requests
            && self.write.requests >= before.write.requests
            && self.server_read_bytes >= before.server_read_bytes
            && self.server_write_bytes >= before.server_write_bytes
    }

    /// What was counted since `before`, an earlier reading of the same mount.
    pub fn since(&self, before: &Self) -> Self {
        let count = u64::saturating_sub;
        ServerCounts {
            read: self.read.with(&before.read, count),
            write: self.write.with(&before.write, count),
            commit: self.commit.with(&before.commit, count),
            server_read_bytes: count(self.server_read_bytes, before.server_read_bytes),
            server_write_bytes: count(self.server_write_bytes, before.server_write_bytes),
            buffered_read_bytes: count(self.buffered_read_bytes, before.buffered_read_bytes),
            buffered_write_bytes: count(self.buffered_write_bytes, before.buffered_write_bytes),
            direct_read_bytes: count(self.direct_read_bytes, before.direct_read_bytes),
            direct_write_bytes: count(self.direct_write_bytes, before.direct_write_bytes),
        }
    }
}

/// One NFS mount with its counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NfsMount {
    /// Where it is mounted, by `/proc/self/mountstats`.
    pub mount_point: PathBuf,
    /// Connections to the server (`nconnect`, and several addresses of one server).
    pub connections: u32,
    /// What was counted since it was mounted.
    pub counts: ServerCounts,
}

/// All NFS mounts that this process sees.
///
/// # Errors
/// When procfs is not there or not readable.
pub(crate) fn nfs_mounts(roots: &Roots) -> io::Result<Vec<NfsMount>> {
    Ok(parse_nfs(&std::fs::read(roots.proc.join("self/mountstats"))?))
}

/// Parses the text of `/proc/self/mountstats`. Mounts of other file systems have no counters there and are left out.
pub fn parse_nfs(text: &[u8]) -> Vec<NfsMount> {
    let mut mounts: Vec<NfsMount> = Vec::new();
    let mut is_nfs = false;
    for line in text.split(|&b| b == b'\n') {
        if line.starts_with(b"device ") || line.starts_with(b"no device ") {
            let begun = begin_nfs(line);
            is_nfs = begun.is_some();
            mounts.extend(begun);
        } else if is_nfs && let Some(mount) = mounts.last_mut() {
            take_nfs_line(mount, line);
        }
    }
    mounts
}

/// `device SOURCE mounted on PLACE with fstype nfs4 statvers=1.1`; blanks within the names are escaped.
fn begin_nfs(line: &[u8]) -> Option<NfsMount> {
    let words: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
    let kind = words.iter().position(|word| *word == b"fstype")?;
    if !matches!(*words.get(kind + 1)?, b"nfs" | b"nfs4") {
        return None;
    }
    let on = words.iter().position(|word| *word == b"on")?;
    let mount_point = unescape(words.get(on + 1)?).into();
    Some(NfsMount { mount_point, connections: 0, counts: ServerCounts::default() })
}

/// A line of a mount's block: `\tbytes:\t1 2 3`, `\t        READ: 1 2 3`.
fn take_nfs_line(mount: &mut NfsMount, line: &[u8]) {
    let Ok(line) = std::str::from_utf8(line) else { return };
    let Some((name, rest)) = line.trim_start().split_once(':') else { return };
    let counts = &mut mount.counts;
    match name {
        "bytes" => bytes(counts, &numbers(rest)),
        "xprt" => mount.connections = mount.connections.saturating_add(1),
        "READ" | "READ_PLUS" => counts.read = counts.read.plus(&requests(&numbers(rest))),
        "WRITE" => counts.write = requests(&numbers(rest)),
        "COMMIT" => counts.commit = requests(&numbers(rest)),
        _ => {}
    }
}

fn numbers(text: &str) -> Vec<u64> {
    text.split_whitespace().map_while(|word| word.parse().ok()).collect()
}

fn bytes(counts: &mut ServerCounts, numbers: &[u64]) {
    if let [read, written, direct_read, direct_written, server_read, server_written, ..] = *numbers {
        counts.buffered_read_bytes = read;
        counts.buffered_write_bytes = written;
        counts.direct_read_bytes = direct_read;
        counts.direct_write_bytes = direct_written;
        counts.server_read_bytes = server_read;
        counts.server_write_bytes = server_written;
    }
}

/// Requests, transmissions, timeouts, bytes sent, bytes received, three times in milliseconds; errors since Linux 5.3.
fn requests(numbers: &[u64]) -> RequestCounts {
    const NS_PER_MS: u64 = 1_000_000;
    let [requests, transmissions, timeouts, _, _, queue_ms, round_trip_ms, total_ms, ref more @ ..] =
        *numbers
    else {
        return RequestCounts::default();
    };
    RequestCounts {
        requests,
        transmissions,
        timeouts,
        queue_ns: queue_ms.saturating_mul(NS_PER_MS),
        round_trip_ns: round_trip_ms.saturating_mul(NS_PER_MS),
        total_ns: total_ms.saturating_mul(NS_PER_MS),
        errors: more.first().copied().unwrap_or(0),
    }
}

/// One share with its counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Its name, `\\server\share`.
    pub name: String,
    /// Since it was mounted, or since somebody set them to 0. `None` when this kernel does not count written bytes
    /// (Linux 6.10 to 6.14, until fixes of these; 6.12.107 counts them).
    pub counts: Option<ServerCounts>,
}

/// All shares that this machine has mounted.
///
/// # Errors
/// When there is no SMB client, or procfs is not readable.
pub(crate) fn smb_shares(roots: &Roots) -> io::Result<Vec<Share>> {
    let text = std::fs::read(roots.proc.join("fs/cifs/Stats"))?;
    Ok(parse_smb(&String::from_utf8_lossy(&text)))
}

/// Parses the text of `/proc/fs/cifs/Stats`.
pub fn parse_smb(text: &str) -> Vec<Share> {
    let mut shares: Vec<(String, ServerCounts)> = Vec::new();
    for line in text.lines() {
        if let Some(name) = share_of(line) {
            shares.push((name, ServerCounts::default()));
        } else if let Some((_, counts)) = shares.last_mut() {
            take_smb_line(counts, line);
        }
    }
    let shares = shares.into_iter().map(|(name, counts)| {
        let is_counted = counts.write.requests == 0 || counts.server_write_bytes > 0;
        Share { name, counts: is_counted.then_some(counts) }
    });
    shares.collect()
}

/// `1) \\server\share`, with a remark behind a tab when its connection is lost.
fn share_of(line: &str) -> Option<String> {
    let (number, name) = line.split_once(") ")?;
    number.parse::<u32>().ok()?;
    let name = name.split('\t').next()?.trim();
    name.starts_with("\\\\").then(|| name.to_string())
}

/// `Bytes read: 1  Bytes written: 2`, `Reads: 3 total 4 failed`.
fn take_smb_line(counts: &mut ServerCounts, line: &str) {
    let mut numbers = [0; 6];
    for (number, word) in numbers.iter_mut().zip(line.split_whitespace()) {
        *number = word.parse().unwrap_or(0);
    }
    let [_, sent, read_bytes, errors, _, written_bytes] = numbers;
    let requests = RequestCounts { requests: sent, transmissions: sent, errors, ..RequestCounts::default() };
    match line.split_whitespace().next() {
        Some("Bytes") => {
            counts.server_read_bytes = read_bytes;
            counts.server_write_bytes = written_bytes;
        }
        Some("Reads:") => counts.read = requests,
        Some("Writes:") => counts.write = requests,
        Some("Flushes:") => counts.commit = requests,
        _ => {}
    }
}

/// The name of the share that a mount is from: `//server/share/folder` is on `\\server\share`.
pub(crate) fn share_name(source: &Path) -> Option<String> {
    let text = source.to_string_lossy().replace('/', "\\");
    let mut parts = text.strip_prefix("\\\\")?.split('\\').filter(|part| !part.is_empty());
    Some(format!("\\\\{}\\{}", parts.next()?, parts.next()?))
}

#[cfg(test)]
mod tests_nfs {
    use super::*;

    const MS: u64 = 1_000_000;

    /// By the kernel's sources, Linux 4.19: NFS 3 without the number of errors, and a mount within a mount.
    const OLD: &[u8] = b"device /dev/sda1 mounted on / with fstype ext4
device filer:/vol\\0401 mounted on /mnt/two\\040words with fstype nfs statvers=1.1
\topts:\trw,vers=3,rsize=65536,wsize=65536,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,mountaddr=10.0.0.5
\tage:\t3600
\tcaps:\tcaps=0x3fef,wtmult=4096,dtsize=65536,bsize=0,namlen=255
\tsec:\tflavor=1,pseudoflavor=1
\tevents:\t1 2 3
\tbytes:\t100 200 300 400 500 600 7 8 
\tRPC iostats version: 1.0  p/v: 100003/3 (nfs)
\txprt:\ttcp 876 1 1 0 0 10 10 0 10 0 2 0 0
\tper-op statistics
\t        NULL: 0 0 0 0 0 0 0 0
\t        READ: 5 7 1 900 20480 11 22 33
\t       WRITE: 6 6 0 24576 800 1 2 3

device proc mounted on /proc with fstype proc
\tbytes:\t9 9 9 9 9 9 9 9
no device mounted on /x with fstype nfs4 statvers=1.1
\tbytes:\t1 2 3
";

    #[test]
    fn old_kernels_other_file_systems_and_noise() {
        let mounts = parse_nfs(OLD);
        assert_eq!(mounts.len(), 2);
        let first = &mounts[0];
        assert_eq!((first.mount_point.to_str(), first.connections), (Some("/mnt/two words"), 1));
        let read = RequestCounts {
            requests: 5,
            transmissions: 7,
            timeouts: 1,
            queue_ns: 11 * MS,
            round_trip_ns: 22 * MS,
            total_ns: 33 * MS,
            errors: 0,
        };
        assert_eq!(first.counts.read, read);
        assert_eq!((read.retransmissions(), first.counts.write.requests), (2, 6));
        let of = &first.counts;
        assert_eq!((of.buffered_read_bytes, of.buffered_write_bytes), (100, 200));
        assert_eq!((of.direct_read_bytes, of.direct_write_bytes), (300, 400));
        assert_eq!((of.server_read_bytes, of.server_write_bytes), (500, 600));
        // A line that is too short is none.
        assert_eq!((mounts[1].mount_point.to_str(), mounts[1].counts), (Some("/x"), ServerCounts::default()));
        assert!(parse_nfs(b"").is_empty() && parse_nfs(b"device a mounted").is_empty());
    }
}

#[cfg(test)]
mod tests_smb {
    use super::*;

    /// By the kernel's sources; the second share of the kernel that lost count of written bytes.
    const STATS: &str = "Resources in use
CIFS Session: 1
0 session 0 share reconnects
Total vfs operations: 94 maximum at one time: 2

Max requests in flight: 3
  SMB3 CMD\tNumber\tTotal Time\tFastest\tSlowest
  0\t\t1\t42\t\t42\t42

1) \\\\filer\\share\tDISCONNECTED 
SMBs: 214
Bytes read: 502092  Bytes written: 31457286
Open files: 1 total (local), 1 open on server
TreeConnects: 1 total 0 failed
Flushes: 3 total 0 failed
Reads: 124 total 2 failed
Writes: 18 total 0 failed

2) \\\\other\\share
SMBs: 9
Bytes read: 4096  Bytes written: 0
Reads: 1 total 0 failed
Writes: 7 total 0 failed
x) \\\\no\\share
";

    #[test]
    fn shares_and_their_counters() {
        let shares = parse_smb(STATS);
        assert_eq!(shares.len(), 2, "{shares:?}");
        assert_eq!(shares[0].name, "\\\\filer\\share");
        let counts = shares[0].counts.expect("is counted");
        assert_eq!((counts.read.requests, counts.read.errors, counts.read.retransmissions()), (124, 2, 0));
        assert_eq!((counts.write.requests, counts.commit.requests), (18, 3));
        assert_eq!((counts.server_read_bytes, counts.server_write_bytes), (502_092, 31_457_286));
        assert_eq!(shares[1].counts, None, "writes without a byte");
        assert!(parse_smb("").is_empty() && parse_smb("Reads: 1 total").is_empty());
    }

    #[test]
    fn a_mount_of_a_folder_is_on_its_share() {
        let name = |source: &str| share_name(Path::new(source));
        assert_eq!(name("//filer/share").as_deref(), Some("\\\\filer\\share"));
        assert_eq!(name("//filer/share/a/b").as_deref(), Some("\\\\filer\\share"));
        assert_eq!(name("\\\\filer\\share\\").as_deref(), Some("\\\\filer\\share"));
        assert_eq!((name("//filer"), name("filer:/x"), name("")), (None, None, None));
    }
}
