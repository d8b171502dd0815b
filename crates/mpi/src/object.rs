//! The table of functions that truespd calls (`truespd_bus::interface`).

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use truespd_bus::BusError;
use truespd_bus::interface::{Answer, DONE, FAILED, Failed, Joined, Message, NO, Table, Text, VERSION};

use crate::World;

#[unsafe(export_name = "truespd_mpi_table")]
static TABLE: Table = Table { version: VERSION, join, send, receive, is_sent, give_up, leave, abort };

/// What `join` hands out: the ranks, and the bytes of the last message, which the caller reads.
struct Handle {
    world: World,
    received: Vec<u8>,
}

/// Does what a function is to do. An error, or a fault of this object, goes to the caller by `failed`.
fn answered(failed: *mut Failed, act: impl FnOnce() -> Result<bool, BusError>) -> Answer {
    let done = catch_unwind(AssertUnwindSafe(act))
        .unwrap_or_else(|_| Err("a fault in what calls MPI; please report it".to_string().into()));
    match done {
        Ok(is_so) => {
            if is_so {
                DONE
            } else {
                NO
            }
        }
        Err(error) => {
            // SAFETY: the caller has made room for it (`truespd_bus::World`).
            unsafe { *failed = error.into() };
            FAILED
        }
    }
}

/// # Safety
/// `world` is what `join` gave, and `leave` was not called.
unsafe fn handle<'a>(world: *mut c_void) -> &'a mut Handle {
    // SAFETY: as above; one thread makes all calls, so that nobody else has it meanwhile.
    unsafe { &mut *world.cast::<Handle>() }
}

unsafe extern "C" fn join(joined: *mut Joined, failed: *mut Failed) -> Answer {
    answered(failed, || {
        let world = World::join()?;
        let (rank, ranks, library) = (world.rank(), world.ranks(), Text::of(&world.library()));
        let world = Box::into_raw(Box::new(Handle { world, received: Vec::new() })).cast();
        // SAFETY: the caller has made room for it.
        unsafe { *joined = Joined { world, rank, ranks, library } };
        Ok(true)
    })
}

unsafe extern "C" fn send(
    world: *mut c_void,
    to: u32,
    bytes: *const u8,
    length: usize,
    failed: *mut Failed,
) -> Answer {
    answered(failed, || {
        // SAFETY: the caller lends so many bytes for this call. A slice of none has an address, too.
        let message = unsafe { std::slice::from_raw_parts(bytes, length) }.to_vec();
        // SAFETY: the caller's `world`.
        unsafe { handle(world) }.world.send(to, message).map(|()| true)
    })
}

unsafe extern "C" fn receive(world: *mut c_void, message: *mut Message, failed: *mut Failed) -> Answer {
    answered(failed, || {
        // SAFETY: the caller's `world`.
        let handle = unsafe { handle(world) };
        let Some((from, received)) = handle.world.receive()? else { return Ok(false) };
        handle.received = received;
        let (bytes, length) = (handle.received.as_ptr(), handle.received.len());
        // SAFETY: the caller has made room for it.
        unsafe { *message = Message { from, bytes, length } };
        Ok(true)
    })
}

unsafe extern "C" fn is_sent(world: *mut c_void, failed: *mut Failed) -> Answer {
    // SAFETY: the caller's `world`.
    answered(failed, || unsafe { handle(world) }.world.is_sent())
}

unsafe extern "C" fn give_up(world: *mut c_void, rank: u32) {
    // SAFETY: the caller's `world`.
    unsafe { handle(world) }.world.give_up(rank);
}

unsafe extern "C" fn leave(world: *mut c_void, failed: *mut Failed) -> Answer {
    answered(failed, || {
        // SAFETY: made by `join`, and given back here, once.
        let handle = unsafe { Box::from_raw(world.cast::<Handle>()) };
        handle.world.leave().map(|()| true)
    })
}

unsafe extern "C" fn abort(world: *mut c_void, exit_code: i32) {
    // SAFETY: the caller's `world`.
    unsafe { handle(world) }.world.abort(exit_code)
}
