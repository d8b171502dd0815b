//! Why a target cannot be used, in words.
//!
//! Why a path cannot be reached where neither the file's own permissions nor the user explain it.

use std::io;
use std::path::{Component, Path};

use super::{Access, OpenFlags};
use crate::fault::{Failure, FailureKind, Refusal, RefusalKind};
use crate::machine::mounts::{Mount, read_mounts};
use crate::machine::namespace::NamespaceError;
use crate::machine::roots::{Roots, is_number};
use crate::sys::error::{Code, system_text};
use crate::sys::system::user;
use crate::text::foreign::Foreign;
use crate::text::printable_path;

/// Kinds of failure of opening a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenFailure {
    /// Nothing is at this path (`ENOENT`).
    Missing,
    /// The permissions of the file do not allow it.
    Permission,
    /// What lies on the way to it lets nobody else pass, whatever its own permissions are.
    Unreachable,
    /// The filesystem or device takes no writes.
    ReadOnly,
    /// Something else uses it exclusively.
    Busy,
    /// Another program holds a lease on it.
    Leased,
    /// The path leads to a directory.
    Directory,
    /// Neither a regular file nor a block device.
    NotAFile,
    /// Direct I/O is not possible there.
    DirectRefused,
    /// Anything else the system said.
    Other,
}

/// Why a target cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the text of each error says what its members are")]
pub enum TargetError {
    /// Opening failed. The first words are those of DiskSpd, which scripts look for.
    #[error("Error opening file: {path} [{errno}]: {text}. {advice}")]
    Open {
        path: String,
        kind: OpenFailure,
        /// The system's number, for scripts.
        errno: i32,
        text: String,
        /// Likely cause and what to do next.
        advice: String,
    },
    /// A fact about the open target could not be read.
    #[error("{path}: could not {action}: {text}")]
    Facts { path: String, action: &'static str, text: String },
    /// No NVMe commands can be sent to the namespace.
    #[error("{path}: {why}")]
    Namespace { path: String, why: NamespaceError },
    #[error("'{typed}' is not a disk: {reason}")]
    NoSuchDisk { typed: String, reason: String },
    /// A path of Windows that is no file here.
    #[error("{}", of_windows(typed, *foreign))]
    Foreign {
        typed: String,
        /// What it is on Windows.
        foreign: Foreign,
    },
    /// `X:` names a Windows volume.
    #[error(
        "'{typed}' is a Windows volume, which Linux does not have; give a device node such as /dev/sda1, or \
         ./{typed} for a file of that name"
    )]
    Volume { typed: String },
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        let hints = error.refusal(RefusalKind::Open).hints.clone().into_iter().collect::<Vec<_>>();
        hints
            .into_iter()
            .fold(Failure::new(FailureKind::Open, error.to_string()).on(error.subject()), Failure::hint)
    }
}

impl From<TargetError> for Refusal {
    fn from(error: TargetError) -> Self {
        // Options of a line of diskspd are not those of every command.
        let mut refusal = error.refusal(RefusalKind::Target);
        refusal.switch_hints.clear();
        refusal
    }
}

impl TargetError {
    /// The path as given, or the word that is not a path.
    fn subject(&self) -> &str {
        match self {
            TargetError::Open { path, .. }
            | TargetError::Facts { path, .. }
            | TargetError::Namespace { path, .. } => path,
            TargetError::NoSuchDisk { typed, .. }
            | TargetError::Foreign { typed, .. }
            | TargetError::Volume { typed } => typed,
        }
    }

    /// The same as a refusal of a run, with what can be done.
    pub fn refusal(&self, kind: RefusalKind) -> Refusal {
        let refusal = Refusal::new(kind, self.to_string()).on(self.subject());
        match self {
            TargetError::Foreign { typed, foreign } => with_ways_out(refusal, typed, *foreign),
            _ => refusal,
        }
    }

    /// The kind, when opening failed.
    pub fn open_failure(&self) -> Option<OpenFailure> {
        match self {
            TargetError::Open { kind, .. } => Some(*kind),
            _ => None,
        }
    }

    /// The same error with the advice for a test that writes.
    pub fn wanting_to_write(mut self) -> Self {
        if let TargetError::Open { kind, errno, advice, .. } = &mut self {
            let (kind_of_write, advice_of_write) = explain(Code::from_number(*errno), Access::ReadWrite);
            if *kind == OpenFailure::Permission && kind_of_write == *kind {
                *advice = advice_of_write.to_string();
            }
        }
        self
    }

    /// The same error with the advice for who only looks where a test would lie.
    #[must_use]
    pub fn wanting_to_look(mut self) -> Self {
        if let TargetError::Open { kind: OpenFailure::Missing, advice, .. } = &mut self {
            *advice = "Check the spelling; of a file that a run is to create, name the folder".to_string();
        }
        self
    }

    pub(super) fn open(path: &Path, kind: OpenFailure, code: Code, advice: impl Into<String>) -> Self {
        TargetError::Open {
            path: printable_path(path),
            kind,
            errno: code.number(),
            text: code.text(),
            advice: advice.into(),
        }
    }

    pub(super) fn namespace(path: &Path, why: NamespaceError) -> Self {
        TargetError::Namespace { path: printable_path(path), why }
    }

    pub(super) fn facts(path: &Path, action: &'static str, error: &io::Error) -> Self {
        TargetError::Facts { path: printable_path(path), action, text: system_text(error) }
    }

    /// Kind and advice for an error of `open(2)`.
    pub(super) fn of_code(path: &Path, code: Code, flags: OpenFlags) -> Self {
        let (kind, advice) = explain(code, flags.access);
        match cause_on_the_way(path, code, &Roots::default()) {
            Some(cause) => Self::open(path, OpenFailure::Unreachable, code, cause),
            None => Self::open(path, kind, code, advice),
        }
    }
}

/// What a name of Windows is.
fn of_windows(typed: &str, foreign: Foreign) -> String {
    match foreign {
        Foreign::Disk(_) => format!("'{typed}' names a disk of Windows"),
        Foreign::Path => format!("'{typed}' is a path of Windows, and no file here has this name"),
        Foreign::Eaten => {
            format!(
                "'{typed}' looks like a path of Windows without its backslashes, and no file here has this name"
            )
        }
    }
}

/// What can be done instead.
fn with_ways_out(refusal: Refusal, typed: &str, foreign: Foreign) -> Refusal {
    if let Foreign::Disk(number) = foreign {
        return refusal.hint(format!(
            "a disk is written '#{number}', in quotes; truespd inspect lists the disks with their numbers, \
             which need not be those of Windows"
        ));
    }
    let mut refusal = refusal;
    if foreign == Foreign::Eaten {
        refusal = refusal.hint("outside of quotes, the shell takes each \\ away: put the path in '...'");
    }
    let here = match Foreign::root(typed) {
        Some(_) => ", from the folder where a disk is mounted: /mnt/c/x.dat".to_string(),
        None => format!(": {}", typed.replace('\\', "/")),
    };
    refusal = refusal.hint(format!("paths on Linux are written with /{here}"));
    if let Some(root) = Foreign::root(typed) {
        let root = if foreign == Foreign::Eaten { format!("{root}\\") } else { root.to_string() };
        refusal = refusal.switch_hint(format!(
            "--map '{root}=/mnt/c' puts the folder /mnt/c in the place of {root}, also in an XML profile"
        ));
    }
    refusal
        .switch_hint("an XML profile with *1 as a path takes the first target of the command line there")
        .hint(format!("a file of just this name: ./{typed}"))
}

fn explain(code: Code, access: Access) -> (OpenFailure, &'static str) {
    use OpenFailure as F;
    match code {
        Code::NOT_FOUND => (F::Missing, "Check the spelling, or let -c<size> create the file"),
        Code::NOT_A_DIRECTORY => (F::Missing, "A part of the path is not a directory; check the spelling"),
        Code::LINK_LOOP => (F::Missing, "The symbolic links form a loop; name the file itself"),
        Code::ACCESS_DENIED => (F::Permission, permission_advice(access)),
        Code::NOT_PERMITTED => (
            F::Permission,
            "The kernel forbids this, even for root: a container or service may not use this device (device control \
             group), or the file is immutable (lsattr)",
        ),
        Code::READ_ONLY => (
            F::ReadOnly,
            "The file system or device is read-only: test reads only (-w0), or make it writable first",
        ),
        Code::AGAIN => (
            F::Leased,
            "Another program holds a lease on the file, as Samba does for its clients, and did not give it up \
             when it was asked to. End that client or program; or try again later, as the kernel takes the lease \
             away after the seconds of sysctl fs.lease-break-time",
        ),
        Code::BUSY => (F::Busy, "Something else uses the device exclusively; lsblk and lsof show what"),
        Code::RUNNING_PROGRAM => {
            (F::Busy, "The file is a running program or active swap, which the kernel protects from writes")
        }
        Code::IS_A_DIRECTORY => {
            (F::Directory, "The path is a directory; name a file in it, which a run creates with -c<size>")
        }
        Code::NO_ADDRESS | Code::NO_DEVICE => {
            (F::Missing, "The device node exists, but no device answers; check that the device is attached")
        }
        Code::NO_MEDIUM => (F::Missing, "The drive holds no medium"),
        Code::NOT_HERE => (
            F::Busy,
            "DRBD keeps this device for another node: this one is Secondary, or has not set it up (drbdadm \
             status shows it). Test on the node that is Primary",
        ),
        Code::TOO_MANY_FILES => {
            (F::Other, "The limit of open files of this process is reached; raise it with ulimit -n")
        }
        Code::TOO_MANY_FILES_IN_SYSTEM => {
            (F::Other, "The system's limit of open files is reached; raise it with sysctl fs.file-max")
        }
        Code::NAME_TOO_LONG => (F::Other, "The path or a part of it is too long"),
        Code::STALE => (F::Missing, "The server no longer knows the file; remount or check the export"),
        Code::IO | Code::NOT_CONNECTED | Code::HOST_DOWN | Code::TIMED_OUT => {
            (F::Other, "The storage failed or does not answer; see the kernel log (dmesg)")
        }
        Code::OVERFLOW | Code::FILE_TOO_LARGE => (F::Other, "The file is larger than the system can handle"),
        _ => (F::Other, "The kernel log (dmesg) may show the cause"),
    }
}

fn permission_advice(access: Access) -> &'static str {
    match access {
        Access::Read => {
            "This user may not read it: change its permissions, or for a device run as root or as a member of its \
             group (usually disk)"
        }
        Access::Write | Access::ReadWrite => {
            "This user may not write it: change its permissions, run as root for a device, or test reads only (-w0)"
        }
    }
}

/// The cause and what to do, where the way to the file explains the error.
pub(super) fn cause_on_the_way(path: &Path, code: Code, roots: &Roots) -> Option<String> {
    let is_denied = matches!(code, Code::ACCESS_DENIED | Code::NOT_PERMITTED);
    if is_denied && is_of_a_process(path) {
        return Some(
            "The path leads through /proc of another process, and this process may not look into that one, even \
             as root of a container: name the file by a path of its own, or look as the user of that process, in its \
             namespaces (nsenter)"
                .into(),
        );
    }
    if !is_denied && code != Code::NOT_CONNECTED {
        return None;
    }
    let absolute = std::path::absolute(path).ok()?;
    let mounts = read_mounts(roots).ok()?;
    of_mount(mount_above(&mounts, &absolute)?, code, user())
}

/// `/proc/N/root/...`, `cwd`, `fd`, `exe`, `map_files`: ways into another process.
fn is_of_a_process(path: &Path) -> bool {
    let names: Vec<_> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    match names[..] {
        ["proc", process, "root" | "cwd" | "fd" | "exe" | "map_files" | "task", ..] => is_number(process),
        _ => false,
    }
}

/// The mount that a path lies in, by its name: the file itself cannot be asked. The last one covers those before it.
fn mount_above<'m>(mounts: &'m [Mount], path: &Path) -> Option<&'m Mount> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
    above.max_by_key(|mount| mount.mount_point.components().count())
}

/// Of a FUSE file system: whose it is, and whether its program runs.
fn of_mount(mount: &Mount, code: Code, user: u32) -> Option<String> {
    if !(mount.fs_type == "fuse" || mount.fs_type == "fuseblk" || mount.fs_type.starts_with("fuse.")) {
        return None;
    }
    let at = crate::text::printable_path(&mount.mount_point);
    if code == Code::NOT_CONNECTED {
        return Some(format!(
            "The program behind the FUSE mount {at} has ended: unmount it (fusermount -u {at}) and start the \
             program again"
        ));
    }
    let owner =
        mount.options.split(',').find_map(|option| option.strip_prefix("user_id=")?.parse::<u32>().ok())?;
    let is_shared = mount.options.split(',').any(|option| option == "allow_other");
    (owner != user && !is_shared).then(|| {
        format!(
            "The FUSE mount {at} belongs to user {owner} and lets nobody else in, not even root: test as that user, or \
             mount it with allow_other"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_has_the_words_scripts_look_for_and_ours() {
        let flags = OpenFlags { access: Access::Read, direct: false, dsync: false };
        let error = TargetError::of_code(Path::new("/no/such"), Code::NOT_FOUND, flags);
        assert_eq!(
            error.to_string(),
            "Error opening file: /no/such [2]: No such file or directory. Check the spelling, or let -c<size> \
             create the file"
        );
        assert_eq!(error.open_failure(), Some(OpenFailure::Missing));
    }

    #[test]
    fn read_tests_are_not_told_to_test_reads() {
        assert!(!explain(Code::ACCESS_DENIED, Access::Read).1.contains("-w0"));
        assert!(explain(Code::ACCESS_DENIED, Access::ReadWrite).1.contains("-w0"));
        assert!(explain(Code::NOT_HERE, Access::Read).1.contains("this one is Secondary"));
    }
}

#[cfg(test)]
mod tests_reach {
    use super::*;
    use crate::machine::mounts::parse_mountinfo;

    #[test]
    fn ways_into_other_processes_are_known() {
        for path in ["/proc/1/root/tmp/f", "/proc/17/fd/3", "/proc/1/cwd", "/proc/1/task/1/root/f"] {
            assert!(is_of_a_process(Path::new(path)), "{path}");
            assert!(cause_on_the_way(Path::new(path), Code::ACCESS_DENIED, &Roots::default()).is_some());
            assert!(cause_on_the_way(Path::new(path), Code::NOT_FOUND, &Roots::default()).is_none());
        }
        for path in ["/proc/kmsg", "/proc/self/fd/3", "/data/proc/1/root", "proc"] {
            assert!(!is_of_a_process(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_fuse_mount_lets_in_its_user_only() {
        let text = b"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
            21 20 0:40 / /m rw,relatime - fuse.sshfs host:/ rw,user_id=1000,group_id=1000\n\
            22 20 0:41 / /m/open rw,relatime - fuse x rw,user_id=1000,group_id=1000,allow_other\n";
        let mounts = parse_mountinfo(text);
        let of =
            |path: &str, code, user| of_mount(mount_above(&mounts, Path::new(path)).unwrap(), code, user);
        assert!(of("/m/f", Code::ACCESS_DENIED, 0).unwrap().contains("belongs to user 1000"));
        assert_eq!(of("/m/f", Code::ACCESS_DENIED, 1000), None);
        assert_eq!(of("/m/open/f", Code::ACCESS_DENIED, 0), None);
        assert_eq!(of("/f", Code::ACCESS_DENIED, 7), None);
        assert!(of("/m/open/f", Code::NOT_CONNECTED, 0).unwrap().contains("fusermount -u /m/open"));
        assert_eq!(of("/f", Code::NOT_CONNECTED, 0), None);
    }
}
