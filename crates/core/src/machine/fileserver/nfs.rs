//! Counters of the NFS client, one block of `/proc/self/mountstats` for each mount.
//!
//! Source: the kernel's `fs/nfs/super.c` (`nfs_show_stats`), `fs/proc_namespace.c`, `include/linux/nfs_iostat.h` and
//! `net/sunrpc/stats.c`. Counters are the sums of all programs that use the mount.

use std::io;
use std::path::PathBuf;

use super::counts::{RequestCounts, ServerCounts};
use crate::machine::mounts::unescape;
use crate::machine::roots::Roots;

/// One NFS mount with its counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NfsMount {
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// Connections to the server (`nconnect`, and several addresses of one server).
    pub connections: u32,
    /// Since it was mounted.
    pub counts: ServerCounts,
}

/// All NFS mounts that this process sees.
///
/// # Errors
/// When procfs is not there or not readable.
pub fn read(roots: &Roots) -> io::Result<Vec<NfsMount>> {
    Ok(parse(&std::fs::read(roots.proc.join("self/mountstats"))?))
}

/// Parses the text of `/proc/self/mountstats`. Mounts of other file systems have no counters there and are left out.
pub fn parse(text: &[u8]) -> Vec<NfsMount> {
    let mut mounts: Vec<NfsMount> = Vec::new();
    let mut is_nfs = false;
    for line in text.split(|&b| b == b'\n') {
        if line.starts_with(b"device ") || line.starts_with(b"no device ") {
            let begun = begin(line);
            is_nfs = begun.is_some();
            mounts.extend(begun);
        } else if let Some(mount) = mounts.last_mut().filter(|_| is_nfs) {
            take(mount, line);
        }
    }
    mounts
}

/// `device SOURCE mounted on PLACE with fstype nfs4 statvers=1.1`; blanks within the names are escaped.
fn begin(line: &[u8]) -> Option<NfsMount> {
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
fn take(mount: &mut NfsMount, line: &[u8]) {
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
    let ns = |ms: u64| ms.saturating_mul(NS_PER_MS);
    RequestCounts {
        requests,
        transmissions,
        timeouts,
        queue_ns: ns(queue_ms),
        round_trip_ns: ns(round_trip_ms),
        total_ns: ns(total_ms),
        errors: more.first().copied().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
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
        let mounts = parse(OLD);
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
        assert!(parse(b"").is_empty() && parse(b"device a mounted").is_empty());
    }
}
