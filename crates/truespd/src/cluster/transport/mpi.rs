//! MPI as the transport.

use std::time::Duration;

use super::{Transport, TransportError};
use truespd_mpi::{MpiError, World};

/// The ranks of MPI's world.
#[derive(Debug)]
pub struct Mpi {
    world: World,
}

impl Mpi {
    /// Joins the world that the launcher made. `launched` is the number of ranks that the launcher says it started.
    ///
    /// # Errors
    /// MPI's own reason; or the launcher and the library are of two MPIs, so that each rank sees only itself.
    pub fn join(launched: Option<u32>) -> Result<Self, TransportError> {
        let world = World::join().map_err(told)?;
        match launched {
            Some(ranks) if ranks != world.ranks() => Err(TransportError(format!(
                "the launcher started {ranks} ranks, but the MPI library of this program ({}) sees {}: use the mpirun of \
                 that library, or srun with --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)",
                world.library(),
                world.ranks()
            ))),
            _ => Ok(Mpi { world }),
        }
    }
}

fn told(error: MpiError) -> TransportError {
    TransportError(error.to_string())
}

/// An error about one rank is not one of the transport: that rank will be found silent.
fn of_transport<T: Default>(result: Result<T, MpiError>) -> Result<T, TransportError> {
    match result {
        Err(MpiError::Call { rank: Some(_), .. }) => Ok(T::default()),
        result => result.map_err(told),
    }
}

impl Transport for Mpi {
    fn rank(&self) -> u32 {
        self.world.rank()
    }

    fn ranks(&self) -> u32 {
        self.world.ranks()
    }

    fn send(&mut self, to: u32, letter: Vec<u8>) -> Result<(), TransportError> {
        of_transport(self.world.send(to, letter))
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<(u32, Vec<u8>)>, TransportError> {
        let letter = of_transport(self.world.receive())?;
        if letter.is_some() || wait.is_zero() {
            return Ok(letter);
        }
        // MPI's own waits keep a processor busy.
        std::thread::sleep(wait);
        of_transport(self.world.receive())
    }

    fn is_sent(&mut self) -> bool {
        of_transport(self.world.is_sent()).unwrap_or(true)
    }

    fn give_up(&mut self, rank: u32) {
        self.world.give_up(rank);
    }

    fn abort(self: Box<Self>, exit_code: u8) {
        self.world.abort(i32::from(exit_code))
    }

    fn leave(self: Box<Self>) -> Result<(), TransportError> {
        of_transport(self.world.leave())
    }
}
