//! Whether this process was started as one of many by MPI's launchers. Told by the environment alone, so that it can be
//! known without MPI: before it is started, and by a program that was built without it.

use std::fmt;

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
