//! Messages between the processes that `mpirun` or `srun` started, by whichever MPI library their launcher belongs to.
//!
//! The program links no MPI. What calls a library stands in a shared object of its own for each ([`Kind`]), which is
//! loaded when a launcher has started several ranks. [`interface`] is what the two have in common.

use std::ffi::c_void;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use crate::interface::{Answer, DONE, FAILED, Failed, Joined, Message, TABLE, Table, Text, VERSION};

pub mod interface;

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

    /// The object of this family that belongs to the program in `programs`: beside it, or where packages put it.
    pub fn object(self, programs: &Path) -> Option<PathBuf> {
        let name = format!("libtruespd-mpi-{}.so", self.word());
        [programs.to_path_buf(), programs.join(OF_PACKAGES)]
            .into_iter()
            .map(|folder| folder.join(&name))
            .find(|path| path.exists())
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
    /// Loads an object with its MPI library, and becomes one of the ranks. Waits until all ranks do.
    ///
    /// # Errors
    /// The object or the MPI library cannot be loaded, is of another version of truespd, or what the library says.
    pub fn join(object: &Path) -> Result<World, BusError> {
        let table = load(object)?;
        let (mut joined, mut failed) =
            (Joined { world: std::ptr::null_mut(), rank: 0, ranks: 0, library: Text::EMPTY }, Failed::NONE);
        // SAFETY: the table is that of an object of this version; both pointers are valid for the call.
        let answer = unsafe { (table.join)(&raw mut joined, &raw mut failed) };
        checked(answer, failed)?;
        let world =
            NonNull::new(joined.world).ok_or_else(|| format!("'{}' joined no ranks", object.display()))?;
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

/// Loads an object for good: MPI libraries do not bear to be unloaded.
fn load(object: &Path) -> Result<&'static Table, BusError> {
    let shown = object.display();
    // It holds a C library of its own, and one that loads the system's beside it may crash.
    if cfg!(target_feature = "crt-static") {
        return Err(format!("'{shown}' is not loaded: a static program loads no libraries").into());
    }
    if is_cut_off(object) {
        return Err(
            format!("'{shown}' cannot be loaded: its end is missing; install its package again").into()
        );
    }
    let library = open(object).map_err(|error| format!("'{shown}' cannot be loaded: {error}"))?;
    // SAFETY: an object of this name has this table; it stays loaded for ever.
    let table: &'static Table = unsafe {
        let symbol = library.get::<*const Table>(TABLE);
        let table = symbol.map_err(|error| format!("'{shown}' is not of truespd: {error}"))?;
        &**table
    };
    std::mem::forget(library);
    if table.version != VERSION {
        return Err(format!(
            "'{shown}' is of another version of truespd (its interface is {}, {VERSION} is needed)",
            table.version
        )
        .into());
    }
    Ok(table)
}

/// Whether the end of an object of 64 bits is missing: the loader of the system maps what is not there, and the process
/// dies by SIGBUS. The table of sections stands at the end (elf(5)). What cannot be read is left to the loader.
fn is_cut_off(object: &Path) -> bool {
    let mut header = [0; 64];
    let Ok(mut file) = File::open(object) else { return false };
    let (Ok(()), Ok(facts)) = (file.read_exact(&mut header), file.metadata()) else { return false };
    const IS_64_BITS: u8 = 2;
    if !header.starts_with(b"\x7fELF") || header[4] != IS_64_BITS {
        return false;
    }
    let place = header[0x28..0x30].try_into().map_or(0, u64::from_ne_bytes);
    let [size, count] = [0x3a, 0x3c].map(|at| u64::from(u16::from_ne_bytes([header[at], header[at + 1]])));
    place.saturating_add(size * count) > facts.len()
}

/// With all names visible to what MPI itself loads: Open MPI's components look for the library's names there.
#[cfg(unix)]
fn open(object: &Path) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: an object of ours and an MPI library, whose initialisers only set up their own state.
    unsafe { Library::open(Some(object), RTLD_NOW | RTLD_GLOBAL) }.map(Into::into)
}

#[cfg(not(unix))]
fn open(object: &Path) -> Result<libloading::Library, libloading::Error> {
    // SAFETY: an object of ours and an MPI library, whose initialisers only set up their own state.
    unsafe { libloading::Library::new(object) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_without_their_end_are_seen() {
        let whole = std::env::current_exe().expect("a program");
        assert!(!is_cut_off(&whole), "a program is an object, too");
        let bytes = std::fs::read(&whole).expect("readable");
        let cut = std::env::temp_dir().join(format!("truespd-bus-{}", std::process::id()));
        for (length, is_cut) in [(0, false), (30, false), (5000, true), (bytes.len() - 1, true)] {
            std::fs::write(&cut, &bytes[..length]).expect("written");
            let seen = is_cut_off(&cut);
            std::fs::remove_file(&cut).expect("removed");
            assert_eq!(seen, is_cut, "{length}");
        }
    }
}
