//! Which processes of the machine this process can look into.

use std::path::Path;

use super::roots::Roots;

/// How far procfs shows who has what open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// All processes.
    All,
    /// Those of this user.
    OwnUser,
    /// Those of this container.
    Container,
    /// None: procfs is not there.
    Nothing,
}

/// `CAP_SYS_PTRACE` in `linux/capability.h`: looks into processes of others, also where `hidepid` hides them.
const LOOK_INTO_OTHERS: u64 = 1 << 19;
/// What the first namespaces of a machine are called (`linux/proc_ns.h`).
const FIRST_PROCESSES: &str = "pid:[4026531836]";
const FIRST_USERS: &str = "user:[4026531837]";
const FIRST_GROUPS: &str = "cgroup:[4026531835]";

/// Whether this process runs in a container: in other namespaces than those that the machine began with.
pub fn is_in_container(roots: &Roots) -> bool {
    let first = [("pid", FIRST_PROCESSES), ("user", FIRST_USERS), ("cgroup", FIRST_GROUPS)];
    first.iter().any(|(name, first)| {
        let link = std::fs::read_link(roots.proc.join("self/ns").join(name));
        link.is_ok_and(|link| link != Path::new(first))
    })
}

/// How far this process sees.
pub fn sight(roots: &Roots) -> Sight {
    let own = roots.proc.join("self");
    let is = |name: &str, first: &str| {
        // A recorded tree has none.
        std::fs::read_link(own.join("ns").join(name)).map_or(true, |link| link == Path::new(first))
    };
    let status = std::fs::read_to_string(own.join("status"));
    let rights = status.as_deref().map_or(Rights { may_look: true, is_root: true }, Rights::of);
    match () {
        () if !own.exists() => Sight::Nothing,
        // The root of a container lacks rights that more root would not give.
        () if !rights.may_look && !rights.is_root => Sight::OwnUser,
        () if !rights.may_look => Sight::Container,
        () if !is("pid", FIRST_PROCESSES) || !is("user", FIRST_USERS) => Sight::Container,
        () => Sight::All,
    }
}

/// Rights of this process.
#[derive(Debug, Clone, Copy)]
struct Rights {
    /// It may look into processes of others.
    may_look: bool,
    is_root: bool,
}

impl Rights {
    /// From the text of `/proc/self/status`.
    fn of(status: &str) -> Self {
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let set = line("CapEff:").and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
        // Real, effective, saved, of the file system.
        let user = line("Uid:").and_then(|users| users.split_whitespace().nth(1));
        Rights { may_look: set.is_some_and(|set| set & LOOK_INTO_OTHERS != 0), is_root: user == Some("0") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::made::symlink;

    #[test]
    fn rights_and_namespaces_decide() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
        let namespaces = dir.path().join("self/ns");
        std::fs::create_dir_all(&namespaces).unwrap();
        let set = |rights: &str, processes: &str, users: &str| {
            let (user, rights) = rights.split_once(' ').unwrap();
            let status = format!("Name:\tx\nUid:\t9\t{user}\t9\t9\nCapEff:\t{rights}\n");
            std::fs::write(dir.path().join("self/status"), status).unwrap();
            for (name, to) in [("pid", processes), ("user", users)] {
                let _ = std::fs::remove_file(namespaces.join(name));
                symlink(to, namespaces.join(name)).unwrap();
            }
            sight(&roots)
        };
        assert_eq!(sight(&Roots { proc: dir.path().join("none"), ..Roots::default() }), Sight::Nothing);
        const ROOT: &str = "0 000001ffffffffff";
        assert_eq!(set(ROOT, FIRST_PROCESSES, FIRST_USERS), Sight::All);
        assert_eq!(set("7 0000000000000000", FIRST_PROCESSES, FIRST_USERS), Sight::OwnUser);
        // What Docker leaves to the root of a container.
        assert_eq!(set("0 00000000a80425fb", "pid:[4026532255]", FIRST_USERS), Sight::Container);
        assert_eq!(set("7 0000000000000000", "pid:[4026532255]", FIRST_USERS), Sight::OwnUser);
        assert_eq!(set(ROOT, "pid:[4026532255]", FIRST_USERS), Sight::Container);
        assert!(is_in_container(&roots));
        assert_eq!(set(ROOT, FIRST_PROCESSES, FIRST_USERS), Sight::All);
        assert!(!is_in_container(&roots));
        assert_eq!(set(ROOT, FIRST_PROCESSES, "user:[4026532256]"), Sight::Container);
        assert!(is_in_container(&roots));
    }
}
