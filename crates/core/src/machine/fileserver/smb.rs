//! Counters of the SMB client, one block of `/proc/fs/cifs/Stats` for each share.
//!
//! Source: the kernel's `fs/smb/client/cifs_debug.c` (`cifs_stats_proc_show`) and `smb2ops.c`
//! (`smb2_print_stats`). Counters are the sums of all programs that use the share; times are kept for each
//! server only, and what programs asked for is not counted.

use std::io;
use std::path::Path;

use super::counts::{RequestCounts, ServerCounts};
use crate::machine::roots::Roots;

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
pub fn read(roots: &Roots) -> io::Result<Vec<Share>> {
    let text = std::fs::read(roots.proc.join("fs/cifs/Stats"))?;
    Ok(parse(&String::from_utf8_lossy(&text)))
}

/// Parses the text of `/proc/fs/cifs/Stats`.
pub fn parse(text: &str) -> Vec<Share> {
    let mut shares: Vec<(String, ServerCounts)> = Vec::new();
    for line in text.lines() {
        if let Some(name) = share_of(line) {
            shares.push((name, ServerCounts::default()));
        } else if let Some((_, counts)) = shares.last_mut() {
            take(counts, line);
        }
    }
    let is_counted = |counts: &ServerCounts| counts.write.requests == 0 || counts.server_write_bytes > 0;
    shares.into_iter().map(|(name, counts)| Share { name, counts: Some(counts).filter(is_counted) }).collect()
}

/// `1) \\server\share`, with a remark behind a tab when its connection is lost.
fn share_of(line: &str) -> Option<String> {
    let (number, name) = line.split_once(") ")?;
    number.parse::<u32>().ok()?;
    let name = name.split('\t').next()?.trim();
    name.starts_with("\\\\").then(|| name.to_string())
}

/// `Bytes read: 1  Bytes written: 2`, `Reads: 3 total 4 failed`.
fn take(counts: &mut ServerCounts, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| words.get(at).and_then(|word: &&str| word.parse::<u64>().ok());
    let requests = || {
        let (sent, errors) = (number(1).unwrap_or(0), number(3).unwrap_or(0));
        RequestCounts { requests: sent, transmissions: sent, errors, ..RequestCounts::default() }
    };
    match words.first() {
        Some(&"Bytes") => {
            counts.server_read_bytes = number(2).unwrap_or(0);
            counts.server_write_bytes = number(5).unwrap_or(0);
        }
        Some(&"Reads:") => counts.read = requests(),
        Some(&"Writes:") => counts.write = requests(),
        Some(&"Flushes:") => counts.commit = requests(),
        _ => {}
    }
}

/// The name of the share that a mount is from: `//server/share/folder` is on `\\server\share`.
pub fn share_name(source: &Path) -> Option<String> {
    let text = source.to_string_lossy().replace('/', "\\");
    let mut parts = text.strip_prefix("\\\\")?.split('\\').filter(|part| !part.is_empty());
    Some(format!("\\\\{}\\{}", parts.next()?, parts.next()?))
}

#[cfg(test)]
mod tests {
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
        let shares = parse(STATS);
        assert_eq!(shares.len(), 2, "{shares:?}");
        assert_eq!(shares[0].name, "\\\\filer\\share");
        let counts = shares[0].counts.expect("is counted");
        assert_eq!((counts.read.requests, counts.read.errors, counts.read.retransmissions()), (124, 2, 0));
        assert_eq!((counts.write.requests, counts.commit.requests), (18, 3));
        assert_eq!((counts.server_read_bytes, counts.server_write_bytes), (502_092, 31_457_286));
        assert_eq!(shares[1].counts, None, "writes without a byte");
        assert!(parse("").is_empty() && parse("Reads: 1 total").is_empty());
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
