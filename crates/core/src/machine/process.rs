//! Other processes: their state (proc_pid_stat(5)), and which of some programs run (proc_pid_comm(5)).
//!
//! Which processes of the machine this process can look into.
//!
//! Whether this process was started as one of many by MPI's launchers. Told by the environment alone, so that it can be
//! known without MPI: before it is started, and by a program that was built without it.

use std::fmt;
use std::path::Path;

use super::roots::Roots;
use super::setting::read_word;

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// It runs or waits.
    Alive,
    /// It was stopped, by Ctrl+Z, `kill -STOP` or a debugger.
    Stopped,
    /// It has ended.
    Ended,
}

/// The state of the process with this number.
pub fn state_of(pid: u32, roots: &Roots) -> ProcessState {
    let Ok(stat) = std::fs::read(roots.proc.join(pid.to_string()).join("stat")) else {
        return ProcessState::Ended;
    };
    let stat = String::from_utf8_lossy(&stat);
    // The name of the program, in brackets, may hold brackets and blanks.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    match state {
        Some('T' | 't') => ProcessState::Stopped,
        Some('Z' | 'X') | None => ProcessState::Ended,
        Some(_) => ProcessState::Alive,
    }
}

/// Processes of these programs that do something, with their numbers, in order of these: none that has ended
/// or was stopped. A program is known by the first 15 characters of its name.
pub(crate) fn of_programs(names: &[&str], roots: &Roots) -> Vec<(u32, String)> {
    let entries = std::fs::read_dir(&roots.proc).into_iter().flatten().flatten();
    let mut found: Vec<(u32, String)> = entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let name = read_word(&entry.path().join("comm"))?;
            // A recorded tree has no states.
            let acts =
                || !entry.path().join("stat").exists() || matches!(state_of(pid, roots), ProcessState::Alive);
            (names.contains(&name.as_str()) && acts()).then_some((pid, name))
        })
        .collect();
    found.sort();
    found
}

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
pub(crate) fn is_in_container(roots: &Roots) -> bool {
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
    if !own.exists() {
        Sight::Nothing
    } else if !rights.may_look && !rights.is_root {
        // The root of a container lacks rights that more root would not give.
        Sight::OwnUser
    } else if !rights.may_look || !is("pid", FIRST_PROCESSES) || !is("user", FIRST_USERS) {
        Sight::Container
    } else {
        Sight::All
    }
}

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

/// Who started this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// `mpirun` of MPICH and of what is derived from it, e.g. Intel MPI: its launcher is called Hydra.
    Mpich,
    /// `srun` of Slurm, with the way in which the processes find each other.
    Srun(Meeting),
    /// Another one that offers this.
    Other(Meeting),
}

/// How processes that were started together find each other. An MPI library needs one that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// PMIx: Open MPI.
    Pmix,
    /// PMI, version 1 or 2: MPICH and what is derived from it.
    Pmi,
    /// None: each process is alone.
    None,
}

/// What a launcher says of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launched {
    /// Who started it.
    pub by: Launcher,
    /// How many processes were started together. An MPI library that then sees fewer ranks is not the launcher's own.
    pub ranks: Option<u32>,
    /// Which of them this is, from 0.
    pub rank: Option<u32>,
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Launcher::OpenMpi => "mpirun of Open MPI",
            Launcher::Mpich => "mpirun of MPICH",
            Launcher::Srun(Meeting::Pmix) => "srun with PMIx",
            Launcher::Srun(Meeting::Pmi) => "srun with PMI",
            Launcher::Srun(Meeting::None) => "srun without PMI (--mpi=none)",
            Launcher::Other(Meeting::Pmix) => "a launcher with PMIx",
            Launcher::Other(Meeting::Pmi | Meeting::None) => "a launcher with PMI",
        })
    }
}

/// What the environment of this process tells; `None` where no launcher is known to have started it.
pub fn launched() -> Option<Launched> {
    told_by(|name| std::env::var(name).ok())
}

/// What an environment tells. The innermost launcher comes first: within a job of Slurm `mpirun` starts its helpers by
/// `srun`, and the processes inherit their variables.
fn told_by(variable: impl Fn(&str) -> Option<String>) -> Option<Launched> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let launched =
        |by, ranks: &str, rank: &str| Some(Launched { by, ranks: number(ranks), rank: number(rank) });
    let meeting = if is_set("PMIX_RANK") {
        Meeting::Pmix
    } else if is_set("PMI_RANK") || is_set("PMI_FD") {
        Meeting::Pmi
    } else {
        Meeting::None
    };
    if is_set("OMPI_COMM_WORLD_SIZE") {
        launched(Launcher::OpenMpi, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")
    } else if is_set("HYDI_CONTROL_FD") || is_set("MPI_LOCALNRANKS") {
        launched(Launcher::Mpich, "PMI_SIZE", "PMI_RANK")
    } else if is_set("SLURM_STEP_ID") && is_set("SLURM_STEP_NUM_TASKS") {
        // A batch script has no step, and its SLURM_NTASKS is of what it may start.
        launched(Launcher::Srun(meeting), "SLURM_STEP_NUM_TASKS", "SLURM_PROCID")
    } else if meeting == Meeting::Pmi {
        launched(Launcher::Other(meeting), "PMI_SIZE", "PMI_RANK")
    } else if meeting == Meeting::Pmix {
        launched(Launcher::Other(meeting), "PMIX_SIZE", "PMIX_RANK")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_is_read() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let roots = Roots { proc: dir.path().into(), ..Roots::default() };
        std::fs::create_dir(dir.path().join("7")).expect("it is new");
        let states = [
            ("7 (disk (x) spd) S 1 7 7 0", ProcessState::Alive),
            ("7 (x) R 1", ProcessState::Alive),
            ("7 (x) T 1", ProcessState::Stopped),
            ("7 (x) t 1", ProcessState::Stopped),
            ("7 (x) Z 1", ProcessState::Ended),
            ("", ProcessState::Ended),
        ];
        for (stat, state) in states {
            std::fs::write(dir.path().join("7/stat"), stat).expect("it can be written");
            assert_eq!(state_of(7, &roots), state, "{stat}");
        }
        assert_eq!(state_of(8, &roots), ProcessState::Ended);
        std::fs::write(dir.path().join("7/comm"), "fstrim\n").expect("it can be written");
        assert!(of_programs(&["fstrim", "x"], &roots).is_empty(), "it has ended");
        std::fs::write(dir.path().join("7/stat"), "7 (fstrim) D 1").expect("it can be written");
        assert_eq!(of_programs(&["fstrim", "x"], &roots), [(7, "fstrim".to_string())]);
        assert!(of_programs(&["x"], &roots).is_empty());
        assert_eq!(state_of(std::process::id(), &Roots::default()), ProcessState::Alive);
    }
}

#[cfg(test)]
mod tests_sight {
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

#[cfg(test)]
mod tests_launcher {
    use super::*;

    /// `NAME=value` with blanks between.
    fn told(environment: &str) -> Option<Launched> {
        let variables: Vec<(&str, &str)> =
            environment.split_whitespace().map(|word| word.split_once('=').expect("NAME=value")).collect();
        told_by(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string())
        })
    }

    fn by(by: Launcher, ranks: u32, rank: u32) -> Option<Launched> {
        Some(Launched { by, ranks: Some(ranks), rank: Some(rank) })
    }

    // The environments below are parts of recorded ones: Open MPI 4.1.4, MPICH 4.0.2, Slurm 22.05.

    #[test]
    fn no_launcher() {
        assert_eq!(told("HOME=/root TERM=xterm MPICC=/usr/bin/mpicc"), None);
    }

    #[test]
    fn mpirun_of_both() {
        let open = "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_LOCAL_RANK=1 PMIX_RANK=3";
        assert_eq!(told(open), by(Launcher::OpenMpi, 4, 3));
        let mpich = "HYDI_CONTROL_FD=7 MPI_LOCALNRANKS=2 MPI_LOCALRANKID=1 PMI_FD=8 PMI_RANK=1 PMI_SIZE=2";
        assert_eq!(told(mpich), by(Launcher::Mpich, 2, 1));
    }

    #[test]
    fn srun_and_how_its_tasks_meet() {
        let step = "SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3 SLURM_NTASKS=3 SLURM_PROCID=2";
        let with = |more: &str| told(&format!("{step} {more}"));
        assert_eq!(with("PMIX_RANK=2"), by(Launcher::Srun(Meeting::Pmix), 3, 2));
        assert_eq!(with("PMI_RANK=2 PMI_SIZE=3 PMI_FD=9"), by(Launcher::Srun(Meeting::Pmi), 3, 2));
        assert_eq!(with(""), by(Launcher::Srun(Meeting::None), 3, 2));
    }

    #[test]
    fn a_batch_script_is_not_started_as_one_of_many() {
        assert_eq!(told("SLURM_JOB_ID=5 SLURM_NTASKS=3 SLURM_PROCID=0 SLURM_JOB_NUM_NODES=3"), None);
    }

    #[test]
    fn mpirun_inside_a_job_of_slurm() {
        // The step is that of mpirun's helpers, one on each node.
        let step = "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1";
        let open = told(&format!("{step} OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_RANK=5"));
        assert_eq!(open, by(Launcher::OpenMpi, 8, 5));
        let mpich = told(&format!("{step} MPI_LOCALNRANKS=4 PMI_RANK=5 PMI_SIZE=8"));
        assert_eq!(mpich, by(Launcher::Mpich, 8, 5));
    }

    #[test]
    fn others_and_what_is_no_number() {
        assert_eq!(told("PMI_RANK=1 PMI_SIZE=2"), by(Launcher::Other(Meeting::Pmi), 2, 1));
        let pmix = Launched { by: Launcher::Other(Meeting::Pmix), ranks: None, rank: Some(1) };
        assert_eq!(told("PMIX_RANK=1"), Some(pmix));
        let odd = Launched { by: Launcher::OpenMpi, ranks: None, rank: None };
        assert_eq!(told("OMPI_COMM_WORLD_SIZE=many"), Some(odd));
        assert_eq!(told("OMPI_COMM_WORLD_SIZE="), None);
    }
}
