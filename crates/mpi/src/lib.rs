//! Messages between the processes that `mpirun` or `srun` started, over the MPI library that this object was built for.
//! `truespd` loads it (crate `truespd-bus`) and calls what stands in [`object`].
//!
//! MPI is a bus of whole messages here, nothing else: no call of this file waits for another rank, except
//! [`World::join`] and [`World::leave`], which all ranks have to call. MPI does not notice a host that is gone: whoever
//! uses this needs deadlines, and a thread of its own that can end the process while these two wait.

use std::collections::VecDeque;
use std::ffi::{c_char, c_int};
use std::marker::PhantomData;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mpi::ffi;
use truespd_bus::BusError;

mod object;

/// All messages have the same tag: their order is that of sending.
const TAG: c_int = 1;
/// Messages that are being received at one time. The rest waits at its sender, so that memory follows what is read.
const RECEIVED_AT_ONCE: usize = 64;
/// How long [`World::leave`] looks without a pause whether all ranks have come: then they go on at the same instant.
const CLOSE_TOGETHER: Duration = Duration::from_millis(100);
/// How often it looks afterwards. A wait within MPI would keep a processor busy.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// How long before all processes end the launcher may take to read what this one has written: MPICH's drops the rest.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Of the MPI standard.
const SUCCESS: c_int = 0;

/// A message that MPI reads or writes, until its request is done.
#[derive(Debug)]
struct Transfer {
    rank: u32,
    /// Lent to MPI, at the same address until the request is done.
    bytes: Vec<u8>,
    request: ffi::MPI_Request,
    is_done: bool,
}

impl Transfer {
    /// Lets MPI work on it. An error ends it, too.
    fn test(&mut self, call: &'static str) -> Result<(), BusError> {
        if self.is_done {
            return Ok(());
        }
        let mut is_done: c_int = 0;
        // SAFETY: the request was made by MPI_Isend or MPI_Imrecv and was not done at the last look; the
        // pointers are valid for this call. Only the thread that joined has a `Transfer`, because `World` is
        // not `Send`.
        let code =
            unsafe { ffi::MPI_Test(&raw mut self.request, &raw mut is_done, ffi::RSMPI_STATUS_IGNORE) };
        // The standard: a request whose operation failed is done, and so is its buffer.
        self.is_done = is_done != 0 || code != SUCCESS;
        checked(code, call, Some(self.rank))
    }
}

/// All ranks, seen from one of them. It stays with the thread that joined: that one makes all calls of MPI
/// (`MPI_THREAD_FUNNELED`).
#[derive(Debug)]
pub(crate) struct World {
    rank: u32,
    ranks: u32,
    outgoing: Vec<Transfer>,
    /// In the order in which they were sent by each rank.
    incoming: VecDeque<Transfer>,
    /// By rank: nothing is expected of it any more.
    given_up: Vec<bool>,
    /// Neither `Send` nor `Sync`.
    thread: PhantomData<*const ()>,
}

/// Whether this process has joined; MPI can be started once.
static HAS_JOINED: AtomicBool = AtomicBool::new(false);

impl World {
    /// Becomes one of the ranks. Waits until all ranks do; a process that no launcher started is the only
    /// rank of a world of its own.
    ///
    /// Open MPI ends the process with a message of its own when it finds no way to the other ranks.
    ///
    /// # Errors
    /// What the library says; the process has joined before, or the library allows no threads beside the one that
    /// calls it.
    pub(crate) fn join() -> Result<World, BusError> {
        if HAS_JOINED.swap(true, Ordering::AcqRel) {
            return Err("this process has joined MPI before".to_string().into());
        }
        let mut level: c_int = 0;
        // SAFETY: called once in this process, as HAS_JOINED keeps; MPI allows null for both arguments;
        // `level` outlives the call.
        let code = unsafe {
            let funneled = ffi::RSMPI_THREAD_FUNNELED;
            ffi::MPI_Init_thread(std::ptr::null_mut(), std::ptr::null_mut(), funneled, &raw mut level)
        };
        checked(code, "MPI_Init_thread", None)?;
        // SAFETY: a constant of the library.
        if level < unsafe { ffi::RSMPI_THREAD_FUNNELED } {
            // SAFETY: MPI was started by this thread, and nothing was sent or received.
            let code = unsafe { ffi::MPI_Finalize() };
            checked(code, "MPI_Finalize", None)?;
            let offers = format!("it offers level {level}, MPI_THREAD_FUNNELED is needed");
            return Err(format!("this MPI library allows no threads in a process ({offers})").into());
        }
        return_errors()?;
        let rank = number(ffi::MPI_Comm_rank, "MPI_Comm_rank")?;
        let ranks = number(ffi::MPI_Comm_size, "MPI_Comm_size")?;
        let given_up = vec![false; ranks as usize];
        Ok(World {
            rank,
            ranks,
            outgoing: Vec::new(),
            incoming: VecDeque::new(),
            given_up,
            thread: PhantomData,
        })
    }

    /// Number of this process among them, from 0.
    pub(crate) fn rank(&self) -> u32 {
        self.rank
    }

    /// How many processes were started together.
    pub(crate) fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Name and version of the library, e.g. `Open MPI 4.1.4`.
    pub(crate) fn library(&self) -> String {
        // SAFETY: a constant of the library.
        let most = unsafe { ffi::RSMPI_MAX_LIBRARY_VERSION_STRING };
        let text = text_of(most, |buffer, length| {
            // SAFETY: the buffer has the length that the library asks for; both pointers are valid for the call.
            unsafe { ffi::MPI_Get_library_version(buffer, length) }
        });
        name_and_version(&text)
    }

    /// Sends a message; returns at once. Messages to one rank arrive in the order of sending. They move on in
    /// [`World::receive`] and [`World::is_sent`], and their memory is free when they are sent. A message to
    /// this rank itself arrives, too.
    ///
    /// # Errors
    /// There is no such rank, the message is too long (MPI counts with 31 bits), what the library says.
    pub(crate) fn send(&mut self, to: u32, message: Vec<u8>) -> Result<(), BusError> {
        if to >= self.ranks {
            return Err(no_such_rank(to, self.ranks));
        }
        let bytes = message.len();
        let Ok(count) = c_int::try_from(bytes) else {
            let most = c_int::MAX;
            return Err(format!("a message of {bytes} bytes is too long: MPI sends {most} at most").into());
        };
        // SAFETY: plain values of the library; the request is overwritten by MPI_Isend.
        let (mut request, byte, world) =
            unsafe { (ffi::RSMPI_REQUEST_NULL, ffi::RSMPI_UINT8_T, ffi::RSMPI_COMM_WORLD) };
        // SAFETY: the message has `count` bytes. It is kept in `outgoing`, unchanged, until the request is
        // done: `Transfer`s leave the list only then, and dropping the `World` leaks the rest.
        let code = unsafe {
            ffi::MPI_Isend(
                message.as_ptr().cast(),
                count,
                byte,
                to.cast_signed(),
                TAG,
                world,
                &raw mut request,
            )
        };
        checked(code, "MPI_Isend", Some(to))?;
        self.outgoing.push(Transfer { rank: to, bytes: message, request, is_done: false });
        Ok(())
    }

    /// The next message that is wholly here, with its sender; moves all others on. Never waits. Where
    /// messages are long, call it again soon: nothing moves on between calls.
    ///
    /// # Errors
    /// An error that names a rank is told once, and other ranks' messages can still
    /// be received.
    pub(crate) fn receive(&mut self) -> Result<Option<(u32, Vec<u8>)>, BusError> {
        self.move_sends_on()?;
        // The first look that finds nothing lets MPI read from the network, the second one finds what came.
        let mut looks = 0;
        while self.expected().count() < RECEIVED_AT_ONCE && looks < 2 {
            looks += u32::from(!self.begin_to_receive()?);
        }
        self.move_receipts_on()?;
        Ok(self.take_whole().map(|whole| (whole.rank, whole.bytes)))
    }

    /// Whether nothing is on its way to any rank any more, but to those that were given up. True says that
    /// the messages' memory is free, not that they were received.
    ///
    /// # Errors
    /// See [`World::receive`].
    pub(crate) fn is_sent(&mut self) -> Result<bool, BusError> {
        self.move_sends_on()?;
        Ok(self.outgoing.iter().all(|sent| self.given_up[sent.rank as usize]))
    }

    /// Nothing is expected of this rank any more: its messages are dropped, errors about it are not told, and
    /// [`World::is_sent`] does not ask for what it has not taken.
    pub(crate) fn give_up(&mut self, rank: u32) {
        if let Some(given_up) = self.given_up.get_mut(rank as usize) {
            *given_up = true;
        }
    }

    /// Ends this process's part of MPI in an orderly way. Waits until all ranks do.
    ///
    /// # Errors
    /// There are messages that were not sent or received, also of ranks that were
    /// given up: then MPI might wait for ever. What the library says.
    pub(crate) fn leave(mut self) -> Result<(), BusError> {
        self.move_sends_on()?;
        let messages = self.outgoing.len() + self.incoming.len();
        if messages > 0 {
            return Err(format!("{messages} messages to or from other ranks are still on their way").into());
        }
        meet()?;
        // SAFETY: this thread started MPI and makes all calls; nothing is on its way.
        let code = unsafe { ffi::MPI_Finalize() };
        checked(code, "MPI_Finalize", None)
    }

    /// Ends the processes of all ranks; the launcher exits with this code.
    pub(crate) fn abort(&self, exit_code: i32) -> ! {
        std::thread::sleep(LAST_WORDS);
        // SAFETY: this thread started MPI and makes all calls. Messages that are on their way end with the process.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, exit_code) };
        std::process::exit(exit_code)
    }

    fn move_sends_on(&mut self) -> Result<(), BusError> {
        let mut result = Ok(());
        for sent in &mut self.outgoing {
            let tested = sent.test("MPI_Isend");
            if !self.given_up[sent.rank as usize] {
                result = result.and(tested);
            }
        }
        self.outgoing.retain(|sent| !sent.is_done);
        result
    }

    /// Messages that are being received and will be wanted.
    fn expected(&self) -> impl Iterator<Item = &Transfer> {
        self.incoming.iter().filter(|received| !self.given_up[received.rank as usize])
    }

    /// Looks for a message that has begun to arrive, and gives it memory; false when there is none.
    fn begin_to_receive(&mut self) -> Result<bool, BusError> {
        // SAFETY: plain values of the library; zero is a value of a plain C structure.
        let (mut message, mut status, byte) =
            unsafe { (ffi::RSMPI_MESSAGE_NULL, mem::zeroed::<ffi::MPI_Status>(), ffi::RSMPI_UINT8_T) };
        let mut is_there: c_int = 0;
        // SAFETY: the pointers are valid for the call.
        let code = unsafe {
            let (any, world) = (ffi::RSMPI_ANY_SOURCE, ffi::RSMPI_COMM_WORLD);
            ffi::MPI_Improbe(any, TAG, world, &raw mut is_there, &raw mut message, &raw mut status)
        };
        checked(code, "MPI_Improbe", None)?;
        if is_there == 0 {
            return Ok(false);
        }
        let rank = status.MPI_SOURCE.cast_unsigned();
        let mut count: c_int = 0;
        // SAFETY: MPI_Improbe has filled the status; the pointers are valid for the call.
        let code = unsafe { ffi::MPI_Get_count(&raw const status, byte, &raw mut count) };
        checked(code, "MPI_Get_count", Some(rank))?;
        let mut bytes = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: a plain value of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: the message was matched by MPI_Improbe and is received here only. The buffer has its
        // length, and is kept in `incoming`, untouched, until the request is done: `Transfer`s leave the list
        // only then, and dropping the `World` leaks the rest.
        let code = unsafe {
            ffi::MPI_Imrecv(bytes.as_mut_ptr().cast(), count, byte, &raw mut message, &raw mut request)
        };
        checked(code, "MPI_Imrecv", Some(rank))?;
        self.incoming.push_back(Transfer { rank, bytes, request, is_done: false });
        Ok(true)
    }

    fn move_receipts_on(&mut self) -> Result<(), BusError> {
        let mut result = Ok(());
        let mut at = 0;
        while let Some(received) = self.incoming.get_mut(at) {
            let tested = received.test("MPI_Imrecv");
            let is_given_up = self.given_up[received.rank as usize];
            // What failed is no message.
            if received.is_done && (tested.is_err() || is_given_up) {
                self.incoming.remove(at);
            } else {
                at += 1;
            }
            if !is_given_up {
                result = result.and(tested);
            }
        }
        result
    }

    /// The first whole message before which no other of its sender is still arriving.
    fn take_whole(&mut self) -> Option<Transfer> {
        let at = (0..self.incoming.len()).find(|&at| self.is_next(at))?;
        self.incoming.remove(at)
    }

    fn is_next(&self, at: usize) -> bool {
        let next = &self.incoming[at];
        next.is_done && !self.incoming.iter().take(at).any(|before| before.rank == next.rank)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // MPI may still read or write them.
        for transfer in self.outgoing.drain(..).chain(self.incoming.drain(..)) {
            if !transfer.is_done {
                mem::forget(transfer.bytes);
            }
        }
    }
}

/// Waits until all ranks have come here, so that all call MPI_Finalize as nearly at the same instant as can
/// be: in MPICH before 4.2 over UCX, a rank that closes its connections after the others have done so may
/// wait for them for ever (fixed by pmodels/mpich pull request 6596).
fn meet() -> Result<(), BusError> {
    // SAFETY: values of the library; the request is overwritten by MPI_Ibarrier.
    let (mut request, world) = unsafe { (ffi::RSMPI_REQUEST_NULL, ffi::RSMPI_COMM_WORLD) };
    // SAFETY: called by all ranks, once, between MPI_Init_thread and MPI_Finalize; the pointer is valid for the call.
    let code = unsafe { ffi::MPI_Ibarrier(world, &raw mut request) };
    checked(code, "MPI_Ibarrier", None)?;
    let began = Instant::now();
    let mut have_all_come: c_int = 0;
    loop {
        // SAFETY: the request was made by MPI_Ibarrier and was not done at the last look; the pointers are
        // valid for the call.
        let code =
            unsafe { ffi::MPI_Test(&raw mut request, &raw mut have_all_come, ffi::RSMPI_STATUS_IGNORE) };
        checked(code, "MPI_Ibarrier", None)?;
        if have_all_come != 0 {
            return Ok(());
        }
        if began.elapsed() < CLOSE_TOGETHER {
            std::thread::yield_now();
        } else {
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// The function of MPI `call` failed; `text` is the library's own.
fn of_call(call: &str, rank: Option<u32>, text: &str) -> BusError {
    let of_rank = rank.map_or(String::new(), |rank| format!(" (rank {rank})"));
    BusError { rank, text: format!("{call} failed{of_rank}: {text}") }
}

/// From now on calls of MPI return their errors, instead of ending all ranks.
fn return_errors() -> Result<(), BusError> {
    // SAFETY: values of the library.
    let (all, this) = unsafe { (ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_SELF) };
    for ranks in [all, this] {
        // SAFETY: both communicators exist from MPI_Init_thread on, which has returned.
        let code = unsafe { ffi::MPI_Comm_set_errhandler(ranks, ffi::RSMPI_ERRORS_RETURN) };
        checked(code, "MPI_Comm_set_errhandler", None)?;
    }
    Ok(())
}

/// A number of all ranks together.
fn number(
    ask: unsafe extern "C" fn(ffi::MPI_Comm, *mut c_int) -> c_int,
    call: &'static str,
) -> Result<u32, BusError> {
    let mut number: c_int = 0;
    // SAFETY: MPI_Comm_rank or MPI_Comm_size after MPI_Init_thread; the pointer is valid for the call.
    let code = unsafe { ask(ffi::RSMPI_COMM_WORLD, &raw mut number) };
    checked(code, call, None)?;
    Ok(number.cast_unsigned())
}

fn checked(code: c_int, call: &'static str, rank: Option<u32>) -> Result<(), BusError> {
    if code == SUCCESS {
        return Ok(());
    }
    let text = text_of(ffi::MPI_MAX_ERROR_STRING.cast_signed(), |buffer, length| {
        // SAFETY: the buffer has the length that the library asks for; both pointers are valid for the call.
        unsafe { ffi::MPI_Error_string(code, buffer, length) }
    });
    let text = if text.is_empty() { format!("error {code}") } else { text };
    Err(of_call(call, rank, &text))
}

fn no_such_rank(rank: u32, ranks: u32) -> BusError {
    format!("there is no rank {rank}: the ranks are 0 to {}", ranks.saturating_sub(1)).into()
}

/// What a call writes into a buffer of `most` bytes; empty when it fails. In one line.
fn text_of(most: c_int, write: impl FnOnce(*mut c_char, *mut c_int) -> c_int) -> String {
    let mut bytes = vec![0_u8; usize::try_from(most).unwrap_or(0) + 1];
    let mut length: c_int = 0;
    if write(bytes.as_mut_ptr().cast(), &raw mut length) != SUCCESS {
        return String::new();
    }
    bytes.truncate(usize::try_from(length).unwrap_or(0));
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.trim_end_matches('\0').lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

/// The name and the version out of what a library says of itself: Open MPI has commas after them, MPICH and Intel MPI
/// lines.
fn name_and_version(text: &str) -> String {
    let first = text.split([',', ';']).next().unwrap_or(text);
    let mut words =
        first.split_whitespace().filter(|word| !word.eq_ignore_ascii_case("version")).map(|word| {
            let word =
                word.strip_prefix("Version:").or_else(|| word.strip_prefix("version:")).unwrap_or(word);
            word.strip_prefix('v')
                .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
                .unwrap_or(word)
        });
    let mut name = String::new();
    for word in words.by_ref().filter(|word| !word.is_empty() && *word != ":") {
        if !name.is_empty() {
            name.push(' ');
        }
        name.push_str(word);
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            break;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_tell_name_and_version() {
        for (text, name) in [
            (
                "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022",
                "Open MPI 4.1.4",
            ),
            ("MPICH Version:      4.0.2; MPICH Release date: Thu Apr  7; MPICH ABI: 14:2:2", "MPICH 4.0.2"),
            ("Intel(R) MPI Library 2021.11 for Linux* OS", "Intel(R) MPI Library 2021.11"),
            ("MVAPICH2 Version      : 2.3.7; MVAPICH2 Release date : Wed March 02", "MVAPICH2 2.3.7"),
            ("something else", "something else"),
            ("", ""),
        ] {
            assert_eq!(name_and_version(text), name);
        }
    }

    #[test]
    fn an_error_says_of_whom() {
        let error = |rank| of_call("MPI_Isend", rank, "gone");
        assert_eq!(error(Some(3)).to_string(), "MPI_Isend failed (rank 3): gone");
        assert_eq!(error(None).to_string(), "MPI_Isend failed: gone");
        assert_eq!(no_such_rank(4, 4).to_string(), "there is no rank 4: the ranks are 0 to 3");
    }
}
