//! Small files that people write: all of one, or why not.

use std::io::{Error, ErrorKind, Read, Result};

/// All of a stream as text.
///
/// # Errors
/// It cannot be read, is larger than so many bytes ([`ErrorKind::FileTooLarge`]), or is no UTF-8
/// ([`ErrorKind::InvalidData`]).
pub fn text_of(stream: impl Read, bytes_max: u64) -> Result<String> {
    let mut bytes = Vec::new();
    stream.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(Error::new(
            ErrorKind::FileTooLarge,
            format!("it is larger than {} KiB", bytes_max >> 10),
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Error::new(ErrorKind::InvalidData, format!("it is no text in UTF-8 (line {line})"))
    })
}
