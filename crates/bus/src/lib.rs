//! Messages between the processes that `mpirun` or `srun` started, by whichever MPI library their launcher belongs to.
//!
//! The program links no MPI. What calls a library stands in a shared object of its own for each ([`Kind`]), which is
//! loaded when a launcher has started several ranks. [`interface`] is what the two have in common.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use crate::interface::{Answer, DONE, FAILED, Failed, Joined, Message, Table, Text};
pub use crate::loading::Loaded;

pub mod interface;
mod loading;

/// Below the folder of programs, where packages put the objects.
const OF_PACKAGES: &str = "../lib/truespd";

/// The family of an MPI library. Libraries of one family take each other's place: they have one binary interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    OpenMpi,
    /// MPICH, and those that are compatible with it: Intel MPI, MVAPICH, Cray MPICH.
    Mpich,
    /// Any library with the binary interface of the standard MPI 5.
    Abi,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::OpenMpi, Kind::Mpich, Kind::Abi];

    /// As in the names of objects and packages.
    pub fn word(self) -> &'static str {
        match self {
            Kind::OpenMpi => "openmpi",
            Kind::Mpich => "mpich",
            Kind::Abi => "abi",
        }
    }

    /// The package that brings its object.
    pub fn package(self) -> String {
        format!("truespd-mpi-{}", self.word())
    }

    /// How an MPI library of this family comes to a host.
    fn way_to_install(self) -> &'static str {
        match self {
            Kind::OpenMpi => "install Open MPI (apt install openmpi-bin, or dnf install openmpi)",
            Kind::Mpich => "install MPICH (apt install mpich, or dnf install mpich)",
            Kind::Abi => "install MPICH 5.0.2 or later (pip install mpich)",
        }
    }
}

/// What truespd loads for the libraries of one family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    pub kind: Kind,
    pub path: PathBuf,
}

impl Object {
    /// The objects of these families that belong to the program in `programs`, in their order: each beside the program,
    /// or where packages put it.
    pub fn of(families: &[Kind], programs: &Path) -> Vec<Object> {
        let folders = [programs.to_path_buf(), programs.join(OF_PACKAGES)];
        let mut found = Vec::new();
        for &kind in families {
            let name = format!("libtruespd-mpi-{}.so", kind.word());
            let path = folders.iter().map(|folder| folder.join(&name)).find(|path| path.exists());
            found.extend(path.map(|path| Object { kind, path }));
        }
        found
    }
}

/// What MPI refused or could not do, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct BusError {
    /// The error concerns what was on its way to or from this rank, and is told once; the others can go on. Without a
    /// rank, nothing more can be sent or received.
    pub rank: Option<u32>,
    pub text: String,
}

impl From<String> for BusError {
    fn from(text: String) -> Self {
        BusError { rank: None, text }
    }
}

/// All ranks, seen from one of them. It stays with the thread that joined, because MPI may be called by that one only:
/// `NonNull` makes it neither `Send` nor `Sync`.
#[derive(Debug)]
pub struct World {
    table: &'static Table,
    world: NonNull<c_void>,
    rank: u32,
    ranks: u32,
    library: String,
}

impl World {
    /// Becomes one of the ranks. Waits until all ranks do.
    ///
    /// # Errors
    /// What the library says.
    pub fn join(loaded: Loaded) -> Result<World, BusError> {
        let Loaded { object, table } = loaded;
        let (mut joined, mut failed) =
            (Joined { world: std::ptr::null_mut(), rank: 0, ranks: 0, library: Text::EMPTY }, Failed::NONE);
        // SAFETY: the table is that of an object of this version; both pointers are valid for the call.
        let answer = unsafe { (table.join)(&raw mut joined, &raw mut failed) };
        checked(answer, failed)?;
        let world = NonNull::new(joined.world)
            .ok_or_else(|| format!("'{}' joined no ranks", object.path.display()))?;
        let library = joined.library.read();
        Ok(World { table, world, rank: joined.rank, ranks: joined.ranks, library })
    }

    /// Number of this process among them, from 0.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many processes were started together.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Name and version of the MPI library, e.g. `Open MPI 4.1.4`.
    pub fn library(&self) -> &str {
        &self.library
    }

    /// Sends a message; returns at once. Messages to one rank arrive in the order of sending. They move on in
    /// [`World::receive`] and [`World::is_sent`]. A message to this rank itself arrives, too.
    ///
    /// # Errors
    /// There is no such rank, the message is too long (MPI counts with 31 bits), what the library says.
    pub fn send(&mut self, to: u32, message: &[u8]) -> Result<(), BusError> {
        let mut failed = Failed::NONE;
        // SAFETY: `world` is what `join` of this table gave, and is not gone before `self` is; the bytes are copied.
        let answer = unsafe {
            let bytes = message.as_ptr();
            (self.table.send)(self.world.as_ptr(), to, bytes, message.len(), &raw mut failed)
        };
        checked(answer, failed).map(drop)
    }

    /// The next message that is wholly here, with its sender; moves all others on. Never waits. Where
    /// messages are long, call it again soon: nothing moves on between calls.
    ///
    /// # Errors
    /// An error that names a rank is told once, and other ranks' messages can still be received.
    pub fn receive(&mut self) -> Result<Option<(u32, Vec<u8>)>, BusError> {
        let (mut message, mut failed) =
            (Message { from: 0, bytes: std::ptr::null(), length: 0 }, Failed::NONE);
        // SAFETY: as in `send`; the pointers are valid for the call.
        let answer = unsafe { (self.table.receive)(self.world.as_ptr(), &raw mut message, &raw mut failed) };
        if !checked(answer, failed)? {
            return Ok(None);
        }
        if message.length == 0 {
            return Ok(Some((message.from, Vec::new())));
        }
        // SAFETY: the object says that so many bytes are there, until its next call.
        let bytes = unsafe { std::slice::from_raw_parts(message.bytes, message.length) };
        Ok(Some((message.from, bytes.to_vec())))
    }

    /// Whether nothing is on its way to any rank any more, but to those that were given up. True says that
    /// the messages' memory is free, not that they were received.
    ///
    /// # Errors
    /// See [`World::receive`].
    pub fn is_sent(&mut self) -> Result<bool, BusError> {
        let mut failed = Failed::NONE;
        // SAFETY: as in `send`.
        let answer = unsafe { (self.table.is_sent)(self.world.as_ptr(), &raw mut failed) };
        checked(answer, failed)
    }

    /// Nothing is expected of this rank any more: its messages are dropped, errors about it are not told, and
    /// [`World::is_sent`] does not ask for what it has not taken.
    pub fn give_up(&mut self, rank: u32) {
        // SAFETY: as in `send`.
        unsafe { (self.table.give_up)(self.world.as_ptr(), rank) }
    }

    /// Ends this process's part of MPI in an orderly way. Waits until all ranks do.
    ///
    /// # Errors
    /// There are messages that were not sent or received, also of ranks that were
    /// given up: then MPI might wait for ever. What the library says.
    pub fn leave(self) -> Result<(), BusError> {
        let mut failed = Failed::NONE;
        // SAFETY: as in `send`; `world` is not used any more.
        let answer = unsafe { (self.table.leave)(self.world.as_ptr(), &raw mut failed) };
        checked(answer, failed).map(drop)
    }

    /// Ends the processes of all ranks; the launcher exits with this code.
    pub fn abort(&self, exit_code: i32) -> ! {
        // SAFETY: as in `send`.
        unsafe { (self.table.abort)(self.world.as_ptr(), exit_code) };
        std::process::exit(exit_code)
    }
}

/// Yes or no, or the error that a function filled in.
fn checked(answer: Answer, failed: Failed) -> Result<bool, BusError> {
    if answer == FAILED { Err(failed.into()) } else { Ok(answer == DONE) }
}
