//! What other programs had disks read and write, by the kernel's accounts of them.
//!
//! Source: `/proc/PID/io` in the kernel's `Documentation/filesystems/proc.rst`. A process carries the account of the
//! children that it has waited for, so that what ended meanwhile is in that of its parent.

use std::collections::BTreeMap;
use std::fs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::host::{Sight, sight};
use super::limits::disk_bytes_in;
use super::roots::{Roots, names_in, read_word};

/// Reading them takes about 7 us each.
const PROCESSES_MAX: usize = 1000;

/// `PF_KTHREAD` in the kernel's `include/linux/sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What one other program had disks do. It may have been a child of it that ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OtherProgram {
    /// The number that the system has of it.
    pub process: u32,
    /// The name that the kernel has of it.
    pub name: String,
    /// Bytes that it had read from disks.
    pub read_bytes: u64,
    /// Bytes sent to disks, or put into the page cache to be.
    pub write_bytes: u64,
}

/// The accounts of all processes at one moment: bytes read from disks and sent to them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accounts(BTreeMap<u32, (u64, u64)>);

impl Accounts {
    /// `None` where this process does not see all of them, or where they are too many to be read quickly.
    pub(crate) fn read(roots: &Roots) -> Option<Accounts> {
        if sight(roots) != Sight::All {
            return None;
        }
        let names = names_in(&roots.proc);
        let processes: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        if processes.len() > PROCESSES_MAX {
            return None;
        }
        let accounts: BTreeMap<_, _> = processes
            .into_iter()
            .filter_map(|process| Some((process, account_of(process, roots)?)))
            .collect();
        (!accounts.is_empty()).then_some(Accounts(accounts))
    }

    /// Programs whose account grew by `least` bytes or more, those that grew most first: neither this process nor
    /// threads of the kernel, which work for others.
    pub(crate) fn grown(&self, before: &Accounts, least: u64, roots: &Roots) -> Vec<OtherProgram> {
        // What a process had moved before is added to its parent when it ends.
        let ended = before.0.iter().filter(|(process, _)| !self.0.contains_key(process));
        let ended = ended.fold((0u64, 0u64), |sum, (_, (read, written))| {
            (sum.0.saturating_add(*read), sum.1.saturating_add(*written))
        });
        let mut found = Vec::new();
        for (&process, &(read, written)) in &self.0 {
            let known = before.0.get(&process);
            let then = known.copied().unwrap_or_default();
            // A new process carries what its own children moved, and nothing from before.
            let inherited = if known.is_some() { ended } else { (0, 0) };
            let read = read.saturating_sub(then.0).saturating_sub(inherited.0);
            let written = written.saturating_sub(then.1).saturating_sub(inherited.1);
            if read.saturating_add(written) < least || process == std::process::id() {
                continue;
            }
            let dir = roots.proc.join(process.to_string());
            let stat = fs::read_to_string(dir.join("stat")).unwrap_or_default();
            if is_kernel_thread(&stat) {
                continue;
            }
            let name = read_word(&dir.join("comm")).unwrap_or_default();
            found.push(OtherProgram { process, name, read_bytes: read, write_bytes: written });
        }
        found.sort_by_key(|one| std::cmp::Reverse(one.read_bytes.saturating_add(one.write_bytes)));
        found
    }
}

fn account_of(process: u32, roots: &Roots) -> Option<(u64, u64)> {
    disk_bytes_in(&fs::read_to_string(roots.proc.join(format!("{process}/io"))).ok()?)
}

/// By the flags in `/proc/PID/stat`, which stand behind the name in brackets.
fn is_kernel_thread(stat: &str) -> bool {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let flags = after_name.split_whitespace().nth(6).and_then(|word| word.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & KERNEL_THREAD != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(roots: &Roots, id: u32, read: u64, written: u64, flags: u64) {
        let dir = roots.proc.join(id.to_string());
        fs::create_dir_all(&dir).expect("a folder");
        let io = format!("rchar: 1\nread_bytes: {read}\nwrite_bytes: {written}\ncancelled_write_bytes: 0\n");
        fs::write(dir.join("io"), io).expect("an account");
        fs::write(dir.join("comm"), "dd\n").expect("a name");
        fs::write(dir.join("stat"), format!("{id} (d d) D 1 1 1 0 -1 {flags} 9 9")).expect("a state");
    }

    #[test]
    fn accounts_that_grew_are_told() {
        let dir = tempfile::tempdir().expect("a folder");
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
        fs::create_dir_all(dir.path().join("self")).expect("a folder");
        process(&roots, 7, 100, 0, 0);
        process(&roots, 8, 0, 0, KERNEL_THREAD);
        process(&roots, 9, 5000, 0, 0);
        process(&roots, 10, 1, 1, 0);
        let before = Accounts::read(&roots).expect("all are seen");
        process(&roots, 7, 100, 3000, 0);
        process(&roots, 8, 0, 9000, KERNEL_THREAD);
        // The shell that has waited for process 9, which read 400 bytes meanwhile.
        fs::remove_dir_all(dir.path().join("9")).expect("it ends");
        process(&roots, 10, 5401, 1, 0);
        process(&roots, 11, 0, 2000, 0);
        let after = Accounts::read(&roots).expect("all are seen");
        let told = |least: u64| -> Vec<(u32, u64, u64)> {
            let grown = after.grown(&before, least, &roots);
            grown.into_iter().map(|one| (one.process, one.read_bytes, one.write_bytes)).collect()
        };
        assert_eq!(told(400), [(7, 0, 3000), (11, 0, 2000), (10, 400, 0)]);
        assert_eq!(told(2500), [(7, 0, 3000)]);
        // A user sees only the own ones.
        fs::write(dir.path().join("self/status"), "Uid:\t9\t9\t9\t9\nCapEff:\t0\n").expect("rights");
        assert!(Accounts::read(&roots).is_none());
    }
}
