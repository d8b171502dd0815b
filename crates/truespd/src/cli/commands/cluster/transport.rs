//! How the ranks of this process's run reach each other: what started it, and what this build can do.

use crate::cluster::transport::{Alone, Open, Transport};
use truespd_core::fault::{Refusal, RefusalKind};
use truespd_core::machine::process::Launched;

/// The transport for what started this process.
///
/// # Errors
/// Nothing did, or this build has no MPI and there are several ranks.
pub(super) fn choose(launched: Option<Launched>) -> Result<Open, Refusal> {
    let Some(Launched { by, ranks, .. }) = launched else {
        return Err(Refusal::new(
            RefusalKind::Machine,
            "a cluster run must be started by MPI, once for each rank",
        )
        .hint("mpirun -np 3 --host a,b,c truespd cluster run ...; or srun -N 3 truespd cluster run ...")
        .hint("for this host alone: mpirun -np 1 truespd cluster run ..., or simply truespd run ..."));
    };
    if ranks == Some(1) {
        return Ok(Box::new(|| Ok(Box::new(Alone) as Box<dyn Transport>)));
    }
    of_mpi(ranks).ok_or_else(|| {
        let ranks = ranks.map_or_else(|| "several".to_string(), |ranks| ranks.to_string());
        let message = format!("{by} started {ranks} ranks, but this truespd was built without MPI");
        Refusal::new(RefusalKind::Machine, message)
            .hint("build it on a host with the MPI library of that launcher: cargo build --release --features mpi")
            .hint("(Debian: apt install libopenmpi-dev or libmpich-dev, and libclang-dev; MPICC=mpicc.mpich chooses MPICH)")
    })
}

#[cfg(feature = "mpi")]
fn of_mpi(ranks: Option<u32>) -> Option<Open> {
    use crate::cluster::transport::mpi::Mpi;
    Some(Box::new(move || Ok(Box::new(Mpi::join(ranks)?) as Box<dyn Transport>)))
}

#[cfg(not(feature = "mpi"))]
fn of_mpi(_: Option<u32>) -> Option<Open> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::machine::process::Launcher;

    #[test]
    fn without_a_launcher_it_says_how_to_start() {
        let refusal = choose(None).err().expect("refused");
        assert!(refusal.hints[0].contains("mpirun -np 3"), "{refusal}");
    }

    #[test]
    fn one_rank_needs_no_mpi() {
        let one = Launched { by: Launcher::OpenMpi, ranks: Some(1), rank: Some(0) };
        let transport = choose(Some(one)).expect("a transport")().expect("opened");
        assert_eq!((transport.rank(), transport.ranks()), (0, 1));
    }

    #[cfg(not(feature = "mpi"))]
    #[test]
    fn a_build_without_mpi_says_how_to_build() {
        let many = Launched { by: Launcher::Mpich, ranks: Some(3), rank: Some(2) };
        let refusal = choose(Some(many)).err().expect("refused");
        assert!(refusal.message.contains("mpirun of MPICH started 3 ranks"), "{refusal}");
        assert!(refusal.hints[0].contains("--features mpi"), "{refusal}");
    }
}
