//! What other programs had disks read and write, and how much the kernel's own threads computed, by the kernel's
//! accounts of them.
//!
//! Sources: `/proc/PID/io` and `/proc/PID/stat` in the kernel's `Documentation/filesystems/proc.rst`. A process carries
//! the account of the children that it has waited for, so that what ended meanwhile is in that of its parent.
//! `Documentation/core-api/workqueue.rst`: the name of a worker (`kworker/...`) ends with the queue that it worked for
//! last.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};

use super::host::{Sight, sight};
use super::limits::disk_bytes_in;
use super::roots::{Roots, names_in, read_word};
use super::topology::NS_PER_TICK;

/// Reading them takes about 10 us each.
const PROCESSES_MAX: usize = 1000;

/// `PF_KTHREAD` in the kernel's `include/linux/sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What one other program had disks do. It may have been a child of it that ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// How long the threads of the kernel with one name computed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct KernelWork {
    /// Name of the thread, or of the queue that a worker worked for last: `kcryptd-254:0-1`, `md0_raid5`.
    pub name: String,
    /// How many threads these are.
    pub threads: u32,
    /// Their time on processors, in nanoseconds; counted in ticks of 10 ms.
    pub running_ns: u64,
}

/// The accounts of all processes at one moment.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// Of programs: bytes read from disks and sent to them.
    programs: BTreeMap<u32, (u64, u64)>,
    /// Of threads of the kernel: what they work for, and their time on processors in ticks.
    kernel: BTreeMap<u32, (String, u64)>,
}

impl Accounts {
    /// `None` where this process does not see all of them, or where they are too many to be read quickly.
    pub fn read(roots: &Roots) -> Option<Accounts> {
        if sight(roots) != Sight::All {
            return None;
        }
        let names = names_in(&roots.proc);
        let processes: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        if processes.len() > PROCESSES_MAX {
            return None;
        }
        let mut accounts = Accounts::default();
        for process in processes {
            let dir = roots.proc.join(process.to_string());
            // One that has ended since the list was made has no account.
            let Ok(stat) = fs::read_to_string(dir.join("stat")) else { continue };
            if let Some(work) = kernel_work(&stat) {
                accounts.kernel.insert(process, work);
            } else if let Some(moved) =
                fs::read_to_string(dir.join("io")).ok().and_then(|io| disk_bytes_in(&io))
            {
                accounts.programs.insert(process, moved);
            }
        }
        (!accounts.programs.is_empty()).then_some(accounts)
    }

    /// Programs whose account grew by `least` bytes or more, those that grew most first, without
    /// this process. Threads of the kernel are none: they work for others.
    pub fn grown(&self, before: &Accounts, least: u64, roots: &Roots) -> Vec<OtherProgram> {
        // What a process had moved before is added to its parent when it ends.
        let ended = before.programs.iter().filter(|(process, _)| !self.programs.contains_key(process));
        let ended = ended.fold((0u64, 0u64), |sum, (_, (read, written))| {
            (sum.0.saturating_add(*read), sum.1.saturating_add(*written))
        });
        let mut found = Vec::new();
        for (&process, &(read, written)) in &self.programs {
            let known = before.programs.get(&process);
            let then = known.copied().unwrap_or_default();
            // A new process carries what its own children moved, and nothing from before.
            let inherited = if known.is_some() { ended } else { (0, 0) };
            let read = read.saturating_sub(then.0).saturating_sub(inherited.0);
            let written = written.saturating_sub(then.1).saturating_sub(inherited.1);
            if read.saturating_add(written) < least || process == std::process::id() {
                continue;
            }
            let name = read_word(&roots.proc.join(format!("{process}/comm"))).unwrap_or_default();
            found.push(OtherProgram { process, name, read_bytes: read, write_bytes: written });
        }
        found.sort_by_key(|one| std::cmp::Reverse(one.read_bytes.saturating_add(one.write_bytes)));
        found
    }

    /// What threads of the kernel computed since `before`, those that computed most first; by the names that they have
    /// now.
    pub fn kernel_worked(&self, before: &Accounts) -> Vec<KernelWork> {
        let mut works: BTreeMap<&str, KernelWork> = BTreeMap::new();
        for (thread, (name, ticks)) in &self.kernel {
            let then = before.kernel.get(thread).map_or(0, |(_, ticks)| *ticks);
            let running_ns = ticks.saturating_sub(then).saturating_mul(NS_PER_TICK);
            if running_ns > 0 {
                let work = works.entry(name).or_default();
                work.threads += 1;
                work.running_ns = work.running_ns.saturating_add(running_ns);
            }
        }
        let named = works.into_iter().map(|(name, work)| KernelWork { name: name.to_string(), ..work });
        let mut found: Vec<KernelWork> = named.collect();
        found.sort_by_key(|work| std::cmp::Reverse(work.running_ns));
        found
    }
}

/// What a thread of the kernel works for, and its time on processors in ticks, by its `/proc/PID/stat`; `None` for a
/// program.
fn kernel_work(stat: &str) -> Option<(String, u64)> {
    let (_, after_number) = stat.split_once('(')?;
    let (name, fields) = after_number.rsplit_once(')')?;
    let fields: Vec<u64> = fields.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
    let (flags, in_user, in_kernel) = (fields.get(6)?, fields.get(11)?, fields.get(12)?);
    if flags & KERNEL_THREAD == 0 {
        return None;
    }
    // `kworker/u4:1+kcryptd-254:0-1`; one that works at the moment has a plus.
    let queue = name.strip_prefix("kworker/").and_then(|worker| Some(worker.split_once(['+', '-'])?.1));
    Some((queue.unwrap_or(name).to_string(), in_user.saturating_add(*in_kernel)))
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
        fs::write(dir.join("stat"), format!("{id} (d d) D 1 1 1 0 -1 {flags} 9 9 9 9 0 0 0"))
            .expect("a state");
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
    #[test]
    fn threads_of_the_kernel_are_told_by_what_they_work_for() {
        let kernel = |name: &str, user: u64, system: u64| {
            kernel_work(&format!("7 ({name}) I 2 0 0 0 -1 {KERNEL_THREAD} 0 0 0 0 {user} {system} 0 0 20"))
        };
        assert_eq!(kernel("kworker/u4:1+kcryptd-254:0-1", 0, 9), Some(("kcryptd-254:0-1".to_string(), 9)));
        assert_eq!(kernel("kworker/0:2-events", 1, 2), Some(("events".to_string(), 3)));
        assert_eq!(kernel("md0_raid5", 0, 2), Some(("md0_raid5".to_string(), 2)));
        assert_eq!(kernel("kworker/0:0H", 0, 0), Some(("kworker/0:0H".to_string(), 0)));
        assert_eq!(kernel_work("7 (a) b) S 1 1 1 0 -1 4194304 9 9 9 9 5 5 0"), None);
        assert_eq!(kernel_work("7 (cut"), None);

        let accounts = |threads: &[(u32, &str, u64)]| {
            let kernel = threads.iter().map(|&(id, name, ticks)| (id, (name.to_string(), ticks)));
            Accounts { kernel: kernel.collect(), ..Accounts::default() }
        };
        let before = accounts(&[(1, "events", 50), (2, "md0_raid5", 7), (3, "idle", 4)]);
        let after = accounts(&[(1, "kcryptd", 70), (2, "md0_raid5", 9), (3, "idle", 4), (4, "kcryptd", 30)]);
        let told: Vec<_> = after
            .kernel_worked(&before)
            .into_iter()
            .map(|one| (one.name, one.threads, one.running_ns))
            .collect();
        let wanted = [("kcryptd", 2, 500_000_000), ("md0_raid5", 1, 20_000_000)];
        assert_eq!(told, wanted.map(|(name, threads, ns)| (name.to_string(), threads, ns)));
    }
}
