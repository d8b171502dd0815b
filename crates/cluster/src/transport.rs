//! How ranks reach each other: MPI, nobody at all, or channels between the threads of one process (for tests).

use std::fmt::Debug;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use truespd_bus::{BusError, Loaded, World};

/// Carries letters between ranks. Letters from one rank to another arrive in order, or not at all.
pub trait Transport: Debug {
    /// Number of this rank, from 0.
    fn rank(&self) -> u32;

    fn ranks(&self) -> u32;

    /// Sends a letter. Does not wait until it has arrived.
    ///
    /// # Errors
    /// The transport cannot be used any more.
    fn send(&mut self, to: u32, letter: Vec<u8>) -> Result<(), TransportError>;

    /// The next letter with its sender; waits for it so long at most.
    ///
    /// # Errors
    /// As [`Transport::send`].
    fn receive(&mut self, wait: Duration) -> Result<Option<(u32, Vec<u8>)>, TransportError>;

    /// Whether all letters have left.
    fn is_sent(&mut self) -> bool;

    /// A rank is gone: nothing is sent to it or waited for any more.
    fn give_up(&mut self, rank: u32);

    /// Ends all ranks, where the transport can: not all of them are there to leave in order.
    fn abort(self: Box<Self>, exit_code: u8);

    /// Leaves in order. May wait for other ranks, and without end for one that is gone.
    ///
    /// # Errors
    /// As [`Transport::send`].
    fn leave(self: Box<Self>) -> Result<(), TransportError>;
}

/// What the transport says is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TransportError(pub String);

/// Opens the transport, on the thread that will use it.
pub type Open = Box<dyn FnOnce() -> Result<Box<dyn Transport>, TransportError> + Send>;

/// A rank that is a thread of this process.
#[derive(Debug)]
pub struct Threads {
    rank: u32,
    to: Vec<Sender<(u32, Vec<u8>)>>,
    from: Receiver<(u32, Vec<u8>)>,
}

impl Threads {
    /// All ranks of a run.
    pub fn all(ranks: u32) -> Vec<Threads> {
        let (to, from): (Vec<_>, Vec<_>) = (0..ranks).map(|_| channel()).unzip();
        (0..ranks).zip(from).map(|(rank, from)| Threads { rank, to: to.clone(), from }).collect()
    }

    /// The only rank of its run.
    pub fn alone() -> Threads {
        let (to, from) = channel();
        Threads { rank: 0, to: vec![to], from }
    }
}

impl Transport for Threads {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        u32::try_from(self.to.len()).unwrap_or(u32::MAX)
    }

    fn send(&mut self, to: u32, letter: Vec<u8>) -> Result<(), TransportError> {
        // Who is gone reads nothing any more, as with MPI.
        let _ = self.to[to as usize].send((self.rank, letter));
        Ok(())
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<(u32, Vec<u8>)>, TransportError> {
        match self.from.recv_timeout(wait) {
            Ok(letter) => Ok(Some(letter)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(TransportError("all ranks are gone".into())),
        }
    }

    fn is_sent(&mut self) -> bool {
        true
    }

    fn give_up(&mut self, _: u32) {}

    fn abort(self: Box<Self>, _: u8) {}

    fn leave(self: Box<Self>) -> Result<(), TransportError> {
        Ok(())
    }
}

/// The ranks that a launcher started, as their MPI library sees them.
#[derive(Debug)]
pub struct Mpi {
    world: World,
}

impl Mpi {
    /// Joins the world that the launcher made. `launched` is the number of ranks that the launcher says it started.
    ///
    /// # Errors
    /// The library's own reason; or the launcher and the library are of two MPIs, so that each rank sees only itself.
    pub fn join(loaded: Loaded, launched: Option<u32>) -> Result<Self, TransportError> {
        let world = World::join(loaded).map_err(transport_error)?;
        match launched {
            Some(ranks) if ranks != world.ranks() => Err(TransportError(format!(
                "the launcher started {ranks} ranks, but its MPI library ({}) sees {}: use the mpirun of that library, \
                 or srun with --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)",
                world.library(),
                world.ranks()
            ))),
            _ => Ok(Mpi { world }),
        }
    }
}

fn transport_error(error: BusError) -> TransportError {
    TransportError(error.to_string())
}

/// An error about one rank is not one of the transport: that rank will be found silent.
fn of_transport<T: Default>(result: Result<T, BusError>) -> Result<T, TransportError> {
    match result {
        Err(BusError { rank: Some(_), .. }) => Ok(T::default()),
        result => result.map_err(transport_error),
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
        of_transport(self.world.send(to, &letter))
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
