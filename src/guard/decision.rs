//! The write guard: what may be written, decided on the opened descriptor.
//!
//! A device that something uses is never written. Data that TrueSpd did not make is written only when the
//! person names its path again (`--overwrite`).

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::fault::Refusal;
use crate::guard::mark::{Marks, Whose};
use crate::guard::reuse::Reuse;
use crate::guard::{GuardError, claim, contents, locks_of_file, uses_of_file, writers_of_file};
use crate::machine::device::BlockDevice;
use crate::machine::mounts::read_mounts;
use crate::machine::roots::Roots;
use crate::machine::storage::{Access, OpenFlags, TargetFacts, TargetKind, open_file, resolve};
use crate::text::{printable, printable_path, shell_word};

const LOOK: OpenFlags = OpenFlags { access: Access::Read, direct: false, dsync: false };

/// Tells whether two descriptors are the same file or device, whatever the path means now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// Identity of an open file; of a device its number, so that two nodes of one device are the same.
    ///
    /// # Errors
    /// When the system does not answer.
    pub fn of(file: &File) -> std::io::Result<Self> {
        let m = file.metadata()?;
        Ok(match m.rdev() {
            0 => Identity { device: m.dev(), inode: m.ino() },
            device => Identity { device, inode: 0 },
        })
    }

    /// Identity of what a path leads to, which is not opened for that.
    fn at(path: &Path) -> Option<Self> {
        let look = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        Self::of(&look.into()).ok()
    }
}

/// What the guard knows besides the target.
#[derive(Debug, Clone, Copy)]
pub struct Guard<'a> {
    /// Paths that the person let through, as typed.
    pub overwrite: &'a [String],
    /// Which files TrueSpd made.
    pub marks: &'a Marks,
    /// Where the system tells about itself.
    pub roots: &'a Roots,
}

/// Everything that speaks against writing a target.
#[derive(Debug, Default)]
struct Findings {
    /// Who uses it, or what else no option overrides.
    in_use: Vec<String>,
    /// The running system stands on it.
    is_system: bool,
    /// It is a regular file.
    is_file: bool,
    /// What it holds: the person's word overrides that.
    holds: Vec<String>,
    /// What should be known besides, but speaks against nothing by itself.
    besides: Vec<String>,
}

impl Guard<'_> {
    /// The person named this very file or device again: as typed, as the path it stands for, or by another
    /// path that leads to it now. A whole disk and its partition, or a device and the file behind it, are two. A
    /// number (`#3`) names nothing: which disk it means can change with the next one that is plugged in.
    pub fn is_let_through(&self, typed: &str, path: &Path, file: Option<&File>) -> bool {
        let opened = file.and_then(|f| Identity::of(f).ok());
        self.overwrite.iter().any(|again| self.names(again, typed, path, opened))
    }

    fn names(&self, again: &str, typed: &str, path: &Path, opened: Option<Identity>) -> bool {
        let again_is = resolve(again, self.roots);
        if again_is.as_ref().is_ok_and(|resolved| resolved.disk_number.is_some()) {
            return false;
        }
        let resolved = again_is.map_or_else(|_| again.into(), |r| r.path);
        again == typed || resolved == path || (opened.is_some() && Identity::at(&resolved) == opened)
    }

    /// Which of the targets (as typed) a path names that was given to let one through.
    pub fn named_by<'t>(&self, again: &str, targets: &[&'t str]) -> Option<&'t str> {
        targets.iter().copied().find(|typed| {
            let path = resolve(typed, self.roots).map_or_else(|_| (*typed).into(), |r| r.path);
            self.names(again, typed, &path, Identity::at(&path))
        })
    }

    /// Overrides that name no target of the run: a slip, and with it perhaps the wrong target.
    ///
    /// `targets` are the targets as typed.
    pub fn refuse_unused_overrides(&self, targets: &[&str]) -> Vec<Refusal> {
        let mut refusals: Vec<Refusal> = Vec::new();
        for again in self.overwrite.iter().filter(|again| self.named_by(again, targets).is_none()) {
            if let Some(refusal) = self.refuse_number(again) {
                refusals.extend((!refusals.contains(&refusal)).then_some(refusal));
                continue;
            }
            let words = format!("--overwrite names '{again}', which is no target of this run");
            let names: Vec<String> = targets.iter().map(|t| format!("'{t}'")).collect();
            let refusal = Refusal::machine(&["-overwrite"], None, words).hint(format!(
                "it names the target itself again, and lets nothing else through: neither the disk of a \
                 partition nor its partitions; the run has {}",
                names.join(", ")
            ));
            if !refusals.contains(&refusal) {
                refusals.push(refusal);
            }
        }
        refusals
    }

    fn refuse_number(&self, again: &str) -> Option<Refusal> {
        let path = resolve(again, self.roots).ok().filter(|r| r.disk_number.is_some())?.path;
        let word = shell_word(&path.to_string_lossy());
        let words = format!("--overwrite wants the device by its name, and '{again}' is a number");
        Some(Refusal::machine(&["-overwrite"], None, words).hint(format!(
            "which disk a number means changes when disks come and go; if you mean this one: --overwrite {word}"
        )))
    }

    /// What to type after `--overwrite` for a target.
    fn word_for(&self, typed: &str) -> String {
        match resolve(typed, self.roots) {
            Ok(resolved) if resolved.disk_number.is_some() => shell_word(&resolved.path.to_string_lossy()),
            _ => shell_word(typed),
        }
    }

    /// May the open target be written? Decided on the descriptor; one refusal says everything.
    ///
    /// # Errors
    /// What it holds and who uses it, and what lets the test through.
    pub fn check(&self, typed: &str, path: &Path, file: &File, facts: &TargetFacts) -> Result<(), Refusal> {
        match facts.kind {
            TargetKind::Block => self.check_device(typed, path, file, facts),
            TargetKind::Regular => self.check_file(typed, path, file, facts),
        }
    }

    fn check_device(
        &self,
        typed: &str,
        path: &Path,
        file: &File,
        facts: &TargetFacts,
    ) -> Result<(), Refusal> {
        let mut found = Findings::default();
        found.claims_of(file, path, self.roots).map_err(|e| Refusal::guard(typed, e.to_string()))?;
        // Whoever names a device again need not be able to read it: a failing one is worth a test too.
        if found.in_use.is_empty() && self.is_let_through(typed, path, Some(file)) {
            return Ok(());
        }
        match contents(file, path, Some(facts.device), self.roots) {
            Ok(holds) => found.holds = holds,
            Err(e @ GuardError::Read { .. }) => found.holds.push(e.to_string()),
            Err(e) => return Err(Refusal::guard(typed, e.to_string())),
        }
        let what = BlockDevice::find(facts.device, self.roots).map(|d| d.describe());
        let what = what.filter(|what| !path.ends_with(what)).map(|what| format!(" ({})", printable(&what)));
        let title = format!("'{typed}'{}", what.unwrap_or_default());
        if !found.in_use.is_empty() {
            return Err(found.in_use_refusal(typed, &title));
        }
        if found.holds.is_empty() {
            return Ok(());
        }
        found.besides.extend(self.file_below(facts));
        let words = format!("{title} may hold data, which a write test would destroy");
        Err(found.holds_refusal(typed, &self.word_for(typed), words))
    }

    /// Whose file a loop device stands on, in words that follow its name.
    fn file_below(&self, facts: &TargetFacts) -> Option<String> {
        let own = BlockDevice::find(facts.device, self.roots)?;
        let path = own.whole_disk().unwrap_or(own).loop_backing_file()?;
        let file = open_file(&path, LOOK).ok().filter(|f| f.metadata().is_ok_and(|m| m.is_file()))?;
        let whose = whose_words(self.marks.whose(&file));
        Some(format!("it stands on the file {}, which {whose}", printable_path(&path)))
    }

    /// May a device that this run has written and kept since be written by its next time span?
    ///
    /// # Errors
    /// Who uses it now.
    pub fn check_again(&self, typed: &str, path: &Path, file: &File) -> Result<(), Refusal> {
        let mut found = Findings::default();
        found.claims_of(file, path, self.roots).map_err(|e| Refusal::guard(typed, e.to_string()))?;
        match found.in_use.is_empty() {
            true => Ok(()),
            false => Err(found.in_use_refusal(typed, &format!("'{typed}'"))),
        }
    }

    fn check_file(&self, typed: &str, path: &Path, file: &File, facts: &TargetFacts) -> Result<(), Refusal> {
        let found = self.findings_of_file(typed, path, file, facts)?;
        if facts.size_bytes == 0 || self.is_let_through(typed, path, Some(file)) {
            return Ok(());
        }
        match self.marks.is_ours(file) {
            true => found.kept(typed),
            false => {
                Err(found.foreign(typed, self.marks.whose(file), "a write test would destroy what it holds"))
            }
        }
    }

    /// What speaks against writing a file, whoever made it. Uses that no option overrides refuse at once.
    fn findings_of_file(
        &self,
        typed: &str,
        path: &Path,
        file: &File,
        facts: &TargetFacts,
    ) -> Result<Findings, Refusal> {
        if let Some(filesystem) = facts.filesystem.as_ref().filter(|f| is_of_the_kernel(&f.name)) {
            return Err(of_the_kernel(typed, &filesystem.name));
        }
        let mut found = Findings { is_file: true, ..Findings::default() };
        found.uses_of(file, typed, self.roots)?;
        match contents(file, path, None, self.roots) {
            Ok(holds) => found.holds = holds,
            // The person's word can let an unreadable file through, as it can a device.
            Err(e) => found.holds.push(e.to_string()),
        }
        if found.in_use.is_empty() {
            return Ok(found);
        }
        if !self.marks.is_ours(file) && facts.size_bytes > 0 {
            found.holds.insert(0, format!("it {}", whose_words(self.marks.whose(file))));
        }
        Err(found.in_use_refusal(typed, &format!("'{typed}'")))
    }

    /// May `-c` do what was decided? Replacing or writing a foreign file needs the person's word, and so
    /// does one of ours that holds a file system now. `existing` is the file that is there already.
    ///
    /// # Errors
    /// As [`Guard::check`].
    pub fn check_creation(
        &self,
        typed: &str,
        path: &Path,
        existing: Option<(&File, &TargetFacts)>,
        decision: &Reuse,
        writes: bool,
        recreate: bool,
    ) -> Result<(), Refusal> {
        let let_through = self.is_let_through(typed, path, existing.map(|(file, _)| file));
        let touches = writes || recreate || matches!(decision, Reuse::Create { .. });
        let found = match existing {
            Some((file, facts)) if touches => self.findings_of_file(typed, path, file, facts)?,
            None if matches!(decision, Reuse::Create { .. }) => {
                check_place_of_new(typed, path)?;
                Findings::default()
            }
            _ => Findings::default(),
        };
        let whose = existing.map_or(Whose::Foreign, |(file, _)| self.marks.whose(file));
        match decision {
            Reuse::Refuse { sentence } => Err(Refusal::machine(&["-c"], Some(typed), sentence.clone())),
            Reuse::Create { replaces_foreign_data: true, sentence } if !let_through => {
                Err(found.foreign(typed, whose, &format!("-c would replace it ({sentence})")))
            }
            Reuse::Reuse { ours: false, .. } if recreate && !let_through => {
                Err(found.foreign(typed, whose, "--recreate would replace it"))
            }
            Reuse::Reuse { ours: false, .. } if writes && !let_through => {
                Err(found.foreign(typed, whose, "a write test would destroy what it holds"))
            }
            _ if let_through => Ok(()),
            _ => found.kept(typed),
        }
        .map_err(|refusal| match writes {
            true => refusal,
            false => refusal.about(&["-c"]),
        })
    }
}

/// Why a file is not ours, in words that follow its name.
fn whose_words(whose: Whose) -> &'static str {
    match whose {
        Whose::Ours => "was made by TrueSpd",
        Whose::Resized => "was made by TrueSpd, but something else changed its size since",
        Whose::Rewritten => "was made by TrueSpd, but something else wrote to it since",
        Whose::Unfinished => "was being made by a run of TrueSpd that was killed",
        Whose::Interrupted => {
            "was being written by a run of TrueSpd that was killed, and holds what may as well be somebody's data"
        }
        Whose::Foreign => "was not made by TrueSpd",
    }
}

impl Findings {
    fn claims_of(&mut self, file: &File, path: &Path, roots: &Roots) -> Result<(), GuardError> {
        if let Some(claim) = claim(file, path, roots)? {
            self.is_system |= claim.is_system;
            self.in_use.extend(claim.by);
        }
        Ok(())
    }

    /// Uses and locks of a regular file.
    fn uses_of(&mut self, file: &File, typed: &str, roots: &Roots) -> Result<(), Refusal> {
        for user in uses_of_file(file, roots) {
            self.in_use.push(format!("it {}", user.words));
            let Some(name) = user.loop_device else { continue };
            let node = roots.dev.join(&name);
            // A node that cannot be asked changes nothing: the file is in use already.
            let Ok(device) = open_file(&node, LOOK) else { continue };
            let mut above = Findings::default();
            above.claims_of(&device, &node, roots).map_err(|e| Refusal::guard(typed, e.to_string()))?;
            self.is_system |= above.is_system;
            self.in_use.extend(above.in_use.iter().map(|by| format!("as {name}, {by}")));
        }
        self.in_use.extend(writers_of_file(file, roots));
        self.in_use.extend(locks_of_file(file).iter().map(|lock| format!("it is {lock}")));
        let names = file.metadata().map_or(1, |m| m.nlink());
        if names > 1 {
            self.besides.push(format!("it has {names} names (hard links), and each of them is this data"));
        }
        Ok(())
    }

    fn in_use_refusal(self, typed: &str, title: &str) -> Refusal {
        let words = format!("{title} is in use and will not be written");
        let hint = match self.is_system {
            true => {
                "the running system stands on that disk: no option lets it through; test a file on it \
                 (-c<size>), another disk, or reads only (-w0)"
            }
            false => match self.is_file {
                true => {
                    "no option lets a file in use through; release it first (end the program, umount, losetup \
                     -d, swapoff, chattr -i), or test reads only (-w0)"
                }
                false => {
                    "no option lets a device in use through; release it first (umount, swapoff, vgchange -an, \
                     mdadm --stop), or test reads only (-w0)"
                }
            },
        };
        let mut refusal = Refusal::guard(typed, words).hint(hint);
        refusal.reasons = self.in_use.into_iter().chain(self.holds).chain(self.besides).collect();
        refusal
    }

    /// `again` is what lets it through.
    fn holds_refusal(self, typed: &str, again: &str, words: String) -> Refusal {
        let mut refusal = Refusal::guard(typed, words)
            .hint(format!("if nobody needs that any more, name it again: --overwrite {again}"))
            .hint("or test reads only (-w0)");
        refusal.reasons = self.holds.into_iter().chain(self.besides).collect();
        refusal
    }

    /// A file of ours is kept when somebody has put something into it that is known.
    fn kept(self, typed: &str) -> Result<(), Refusal> {
        if self.holds.is_empty() {
            return Ok(());
        }
        let words = format!("'{typed}' holds something now, which a write test would destroy");
        Err(self.holds_refusal(typed, &shell_word(typed), words))
    }

    fn foreign(self, typed: &str, whose: Whose, why: &str) -> Refusal {
        let mut refusal = Refusal::guard(typed, format!("'{typed}' {}, and {why}", whose_words(whose))).hint(
            format!("if its content does not matter, name it again: --overwrite {}", shell_word(typed)),
        );
        refusal = match whose {
            Whose::Unfinished => refusal.hint(
                "or repeat the line that made it: -c<size> makes it anew as long as it holds only what that -c wrote",
            ),
            Whose::Interrupted => refusal.hint(
                "random write data (-Zr, -Z<size>) cannot be told from anybody's; a killed run that writes the usual pattern is known again",
            ),
            _ => refusal.hint("or give another path with -c<size>, which creates a test file"),
        };
        refusal.reasons = self.holds.into_iter().chain(self.besides).collect();
        refusal
    }
}

/// Whether a file system's files are the kernel's own controls and tables rather than stored data.
fn is_of_the_kernel(filesystem: &str) -> bool {
    const NAMES: &[&str] = &[
        "proc",
        "sysfs",
        "cgroup",
        "cgroup2",
        "debugfs",
        "tracefs",
        "securityfs",
        "configfs",
        "bpf",
        "pstore",
        "efivarfs",
        "selinuxfs",
        "smackfs",
        "binfmt_misc",
        "fusectl",
        "devpts",
        "mqueue",
        "nsfs",
        "rpc_pipefs",
        "nfsd",
        "resctrl",
        "xenfs",
    ];
    NAMES.contains(&filesystem)
}

fn of_the_kernel(typed: &str, filesystem: &str) -> Refusal {
    Refusal::guard(
        typed,
        format!("'{typed}' is on {filesystem}, where files are controls of the kernel and not storage"),
    )
    .hint("writing there can change or stop the machine; name a file on a real file system, or a device")
}

/// A slip in a device's name must not become a file in `/dev` that fills the memory.
fn check_place_of_new(typed: &str, path: &Path) -> Result<(), Refusal> {
    // Missing directories are made too, below the nearest one that is there.
    let above = path.ancestors().skip(1).map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    let Some(parent) = above.into_iter().find_map(|p| std::fs::canonicalize(p).ok()) else { return Ok(()) };
    let is_in = |dir: &str| parent.starts_with(dir);
    if ["/proc", "/sys"].into_iter().any(is_in) {
        return Err(of_the_kernel(typed, if is_in("/proc") { "proc" } else { "sysfs" }));
    }
    if is_in("/dev") && !is_in("/dev/shm") {
        let words = format!("'{typed}' does not exist, and -c would make an ordinary file in memory of it");
        return Err(Refusal::guard(typed, words)
            .hint("check the name of the device (lsblk lists them); a device is tested without -c"));
    }
    Ok(())
}

/// May a suite make its files in the directory? Asked before a folder is made there.
///
/// # Errors
/// What is there instead of storage.
pub fn check_directory(directory: &Path, roots: &Roots) -> Result<(), Refusal> {
    let path = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
    let typed = printable_path(&path);
    let mounts = read_mounts(roots).unwrap_or_default();
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
    // Of several at one place the last one hides the others.
    let mount = above.max_by_key(|mount| mount.mount_point.components().count());
    if let Some(mount) = mount.filter(|mount| is_of_the_kernel(&mount.fs_type)) {
        return Err(of_the_kernel(&typed, &mount.fs_type));
    }
    if path.starts_with("/dev") && !path.starts_with("/dev/shm") {
        let words = format!("'{typed}' is for nodes of devices: a test file there would lie in memory");
        return Err(Refusal::guard(&typed, words)
            .hint("name a directory on the storage to be tested, or a device (lsblk lists them)"));
    }
    check_place_of_new(&typed, &path.join("file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_can_be_pasted() {
        assert_eq!(shell_word("/a/b-1.dat"), "/a/b-1.dat");
        assert_eq!(shell_word("#1"), "'#1'");
        assert_eq!(shell_word("a b'c"), "'a b'\\''c'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn a_number_names_no_device() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        for disk in ["sda", "sdb"] {
            std::fs::create_dir_all(roots.sys.join("block").join(disk)).unwrap();
        }
        let marks = Marks::with_registry(&at("state"));
        let path = roots.dev.join("sdb");
        let name = path.to_str().unwrap().to_string();
        for (word, is_named) in [(name.clone(), true), ("#1".to_string(), false)] {
            let overwrite = [word];
            let guard = Guard { overwrite: &overwrite, marks: &marks, roots: &roots };
            assert_eq!(guard.is_let_through("#1", &path, None), is_named, "{overwrite:?}");
            assert_eq!(guard.word_for("#1"), name, "what the refusal says to type");
            let refusals = guard.refuse_unused_overrides(&["#1"]);
            assert_eq!(refusals.is_empty(), is_named, "{refusals:?}");
            assert!(is_named || refusals[0].to_string().contains(&name), "{refusals:?}");
        }
    }

    #[test]
    fn new_files_do_not_go_where_no_storage_is() {
        let refused = |path: &str| check_place_of_new(path, Path::new(path)).err().map(|r| r.message.clone());
        assert!(refused("/dev/nvme9n9").unwrap().contains("ordinary file in memory"));
        assert!(refused("/dev/../dev/nvme9n9").is_some());
        assert!(refused("/dev/nosuch/disk").is_some());
        assert!(refused("/proc/sys/new").unwrap().contains("on proc"));
        assert_eq!(refused("/dev/shm/test.dat"), None);
        assert_eq!(refused("test.dat"), None);
        assert_eq!(refused("/no/such/place/test.dat"), None);
    }

    #[test]
    fn suites_make_no_folders_where_no_storage_is() {
        let refused =
            |path: &str| check_directory(Path::new(path), &Roots::default()).err().map(|r| r.message.clone());
        for (path, words) in [
            ("/proc", "on proc"),
            ("/sys", "on sysfs"),
            ("/sys/fs/cgroup", "controls of the kernel"),
            ("/dev", "nodes of devices"),
        ] {
            let refusal = refused(path).unwrap_or_else(|| panic!("{path} is no storage"));
            assert!(refusal.contains(words), "{path}: {refusal}");
        }
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(check_directory(dir.path(), &Roots::default()), Ok(()));
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
        std::fs::create_dir(dir.path().join("self")).unwrap();
        let at = dir.path().join("cg");
        std::fs::create_dir(&at).unwrap();
        let mounts =
            format!("1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:9 / {} rw - cgroup2 none rw\n", at.display());
        std::fs::write(dir.path().join("self/mountinfo"), mounts).unwrap();
        assert!(check_directory(&at, &roots).unwrap_err().message.contains("on cgroup2"));
        assert_eq!(check_directory(dir.path(), &roots), Ok(()));
    }
}
