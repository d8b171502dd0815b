//! The C interface of a shared object `libtruespd-mpi-*.so`: one table of functions under one name. It holds nothing of
//! MPI, so that one build of truespd works with every library that has such an object.
//!
//! All functions are called by one thread, the one that joined.

use std::ffi::c_void;

use crate::BusError;

/// Name of the table in a shared object.
pub const TABLE: &std::ffi::CStr = c"truespd_mpi_table";
/// Grows with every change of this file. A table of another number is not read any further.
pub const VERSION: u32 = 1;
/// Bytes of a text in the answers below.
const TEXT_BYTES: usize = 1024;

/// What a function answers: 1 and 0 are yes and no, where it is asked something, and 1 is done otherwise.
/// [`FAILED`] says that the error was filled in.
pub type Answer = i32;
pub const DONE: Answer = 1;
pub const NO: Answer = 0;
pub const FAILED: Answer = -1;

/// The functions of a shared object. `world` is what `join` gave.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// [`VERSION`]; the first member for ever.
    pub version: u32,
    /// Becomes one of the ranks: initialises MPI and fills in rank, size and the library's name.
    pub join: unsafe extern "C" fn(*mut Joined, *mut Failed) -> Answer,
    /// Sends so many bytes to a rank. They are copied.
    pub send: unsafe extern "C" fn(*mut c_void, u32, *const u8, usize, *mut Failed) -> Answer,
    /// The next message that is wholly here; its bytes are valid until the next call.
    pub receive: unsafe extern "C" fn(*mut c_void, *mut Message, *mut Failed) -> Answer,
    /// Whether nothing is on its way any more.
    pub is_sent: unsafe extern "C" fn(*mut c_void, *mut Failed) -> Answer,
    /// Nothing is expected of this rank any more.
    pub give_up: unsafe extern "C" fn(*mut c_void, u32),
    /// Finalises MPI. `world` is gone afterwards, also where it failed.
    pub leave: unsafe extern "C" fn(*mut c_void, *mut Failed) -> Answer,
    /// Ends the processes of all ranks with this exit code.
    pub abort: unsafe extern "C" fn(*mut c_void, i32),
}

/// A text of UTF-8, cut where it is longer than there is room.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Text {
    length: usize,
    bytes: [u8; TEXT_BYTES],
}

impl Text {
    pub const EMPTY: Text = Text { length: 0, bytes: [0; TEXT_BYTES] };

    pub fn of(text: &str) -> Text {
        let mut length = text.len().min(TEXT_BYTES);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        let mut bytes = [0; TEXT_BYTES];
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Text { length, bytes }
    }

    pub fn read(&self) -> String {
        let length = self.length.min(TEXT_BYTES);
        String::from_utf8_lossy(&self.bytes[..length]).into_owned()
    }
}

/// What `join` fills in for the rank that called it.
#[repr(C)]
#[derive(Debug)]
pub struct Joined {
    pub world: *mut c_void,
    pub rank: u32,
    pub ranks: u32,
    /// Name and version of the MPI library.
    pub library: Text,
}

/// What `receive` fills in when a message is here.
#[repr(C)]
#[derive(Debug)]
pub struct Message {
    pub from: u32,
    pub bytes: *const u8,
    pub length: usize,
}

/// Why a function failed, in the words of the MPI library.
#[repr(C)]
#[derive(Debug)]
pub struct Failed {
    /// The rank that the error concerns; -1 where it concerns all.
    rank: i64,
    text: Text,
}

impl Failed {
    /// Room for an error that is not there yet.
    pub const NONE: Failed = Failed { rank: -1, text: Text::EMPTY };
}

impl From<BusError> for Failed {
    fn from(error: BusError) -> Self {
        Failed { rank: error.rank.map_or(-1, i64::from), text: Text::of(&error.text) }
    }
}

impl From<Failed> for BusError {
    fn from(failed: Failed) -> Self {
        BusError { rank: u32::try_from(failed.rank).ok(), text: failed.text.read() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_letters() {
        let long = "ä".repeat(TEXT_BYTES);
        let read = Text::of(&long).read();
        assert_eq!(read, "ä".repeat(TEXT_BYTES / 2));
        let odd = format!("a{long}");
        assert_eq!(Text::of(&odd).read().len(), TEXT_BYTES - 1);
        assert_eq!(Text::of("Open MPI 4.1.4").read(), "Open MPI 4.1.4");
    }

    #[test]
    fn errors_come_through_with_their_rank() {
        for rank in [None, Some(0), Some(u32::MAX)] {
            let error = BusError { rank, text: "MPI_Isend failed".into() };
            assert_eq!(BusError::from(Failed::from(error.clone())), error);
        }
    }
}
