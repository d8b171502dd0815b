//! The log of a verified run: which writes are durable, told line by line to a place that a power cut does not reach.
//!
//! The first line names the form. Then come parts of lines, each with a line `= ` and the CRC32C of its text. The first
//! part is the header of the map as JSON; each line of the others has the number of a block and the generation of it
//! that is durable. What comes after the last whole part was cut off, and is not believed.
//!
//! The log may be behind: a block may hold a newer write than the one it names, or part of that, and never an older
//! one.

use std::fmt::Write as _;
use std::io::{self, BufRead, Read as _, Write};
use std::path::Path;

use crc_fast::crc32_iscsi;

use super::map::{BlockMap, Fits, MapError, MapHeader, newer_version};

/// The first line of a log: a file that begins otherwise is left as it is.
pub const FIRST_LINE: &str = "TrueSpd verify log\n";
/// Marks the line that ends a part.
const END_OF_PART: &str = "= ";

/// A block and the generation of it that is durable.
pub type Durable = (usize, u32);

/// Writes the begin of a log.
///
/// # Errors
/// What the system says.
pub fn begin(sink: &mut dyn Write, header: &MapHeader) -> io::Result<()> {
    sink.write_all(FIRST_LINE.as_bytes())?;
    write_part(sink, format!("{}\n", serde_json::to_string(header)?))
}

/// Writes what became durable.
///
/// # Errors
/// What the system says.
pub fn tell(sink: &mut dyn Write, durable: &[Durable]) -> io::Result<()> {
    let mut text = String::with_capacity(durable.len() * 16);
    for (block, generation) in durable {
        let _ = writeln!(text, "{block} {generation}");
    }
    write_part(sink, text)
}

fn write_part(sink: &mut dyn Write, mut text: String) -> io::Result<()> {
    let sum = crc32_iscsi(text.as_bytes());
    let _ = writeln!(text, "{END_OF_PART}{sum:08x}");
    sink.write_all(text.as_bytes())?;
    sink.flush()
}

/// A longer line is none that a run writes.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// A longer part is none that a run writes.
const PART_BYTES_MAX: usize = 16 << 20;
/// So many blocks are told in a part, at most.
pub const PART_BLOCKS_MAX: usize = PART_BYTES_MAX / 64;

/// What a log says must be there. `place` is what the person calls it. `fits` is asked first whether the header
/// belongs to the target.
///
/// # Errors
/// [`MapError`] when it is no log, is damaged, or cannot be read; what `fits` says.
pub fn read(place: &Path, log: &mut dyn BufRead, fits: Fits<'_>) -> Result<BlockMap, MapError> {
    let path = place.to_path_buf();
    let (mut line, mut number) = (String::new(), 1);
    read_line(log, &mut line).map_err(|error| unread(place, error))?;
    if line != FIRST_LINE {
        return Err(MapError::NoLog { path });
    }
    let (mut map, mut part) = (None, String::new());
    loop {
        line.clear();
        number += 1;
        read_line(log, &mut line).map_err(|error| unread(place, error))?;
        let Some(whole) = line.strip_suffix('\n') else {
            if line.len() as u64 >= LINE_BYTES_MAX {
                return Err(MapError::DamagedLog { path, line: number });
            }
            // The last line may be cut off.
            break;
        };
        let Some(sum) = whole.strip_prefix(END_OF_PART) else {
            part.push_str(&line);
            if part.len() > PART_BYTES_MAX {
                return Err(MapError::DamagedLog { path, line: number });
            }
            continue;
        };
        let is_whole = u32::from_str_radix(sum, 16) == Ok(crc32_iscsi(part.as_bytes()));
        if is_whole
            && map.is_none()
            && let Some(version) = newer_version(&part)
        {
            return Err(MapError::Newer { path, version });
        }
        if !(is_whole && take(&part, &mut map, &path, fits)?) {
            return Err(MapError::DamagedLog { path, line: number });
        }
        part.clear();
    }
    map.ok_or(MapError::NoLog { path })
}

/// As much of the next line as a line may have.
fn read_line(log: &mut dyn BufRead, line: &mut String) -> io::Result<()> {
    log.take(LINE_BYTES_MAX).read_line(line).map(drop)
}

/// A log that cannot be read.
pub fn unread(place: &Path, error: io::Error) -> MapError {
    MapError::System { action: "could not read the log", path: place.to_path_buf(), error }
}

/// Takes a whole part; false where it is not one that a run writes.
fn take(part: &str, map: &mut Option<BlockMap>, path: &Path, fits: Fits<'_>) -> Result<bool, MapError> {
    let Some(map) = map else {
        let Ok(header) = serde_json::from_str(part) else { return Ok(false) };
        fits(&header)?;
        *map = BlockMap::of_log(path, header).map_err(|error| unread(path, error))?;
        return Ok(map.is_some());
    };
    for line in part.lines() {
        let numbers = line.split_once(' ').map(|(block, generation)| (block.parse(), generation.parse()));
        let Some((Ok(block), Ok(generation))) = numbers else { return Ok(false) };
        if !map.note_logged(block, generation) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::map::tests::header;

    fn log() -> Vec<u8> {
        let mut log = Vec::new();
        begin(&mut log, &header(100, true)).unwrap();
        tell(&mut log, &[(7, 1), (8, 3)]).unwrap();
        tell(&mut log, &[(7, 2)]).unwrap();
        log
    }

    fn generation_of_7(log: &[u8]) -> Result<u32, MapError> {
        read(Path::new("l"), &mut &log[..], &|_| Ok(())).map(|map| map.expected(7, false).oldest)
    }

    #[test]
    fn a_log_says_what_must_be_there_at_least() {
        let log = log();
        assert_eq!(generation_of_7(&log).unwrap(), 2);
        let map = read(Path::new("l"), &mut &log[..], &|_| Ok(())).unwrap();
        assert_eq!((map.expected(8, false).oldest, map.expected(9, false).newest), (3, 0));
        assert!(map.expected(8, false).newest > 1000 && map.expected(8, false).is_in_flight);
    }

    #[test]
    fn a_line_or_a_part_that_does_not_end_is_given_up() {
        let mut endless = io::repeat(b'1');
        let begin = log();
        let mut one_line = io::BufReader::new(io::Read::chain(&begin[..], &mut endless));
        let read_all = |log: &mut dyn BufRead| read(Path::new("l"), log, &|_| Ok(()));
        assert!(matches!(read_all(&mut one_line), Err(MapError::DamagedLog { line: 9, .. })));
        let lines = [&begin[..], "7 9\n".repeat(PART_BYTES_MAX / 3).as_bytes()].concat();
        assert!(matches!(read_all(&mut &lines[..]), Err(MapError::DamagedLog { .. })));
        let mut huge = Vec::new();
        let claims = MapHeader { size_bytes: 1 << 50, blocks: 1 << 37, ..header(1, true) };
        super::begin(&mut huge, &claims).unwrap();
        tell(&mut huge, &[(1 << 36, 5)]).unwrap();
        assert_eq!(read_all(&mut &huge[..]).unwrap().expected(1 << 36, false).oldest, 5, "takes no memory");
    }

    #[test]
    fn what_was_cut_off_is_not_believed_and_what_is_damaged_is_named() {
        let log = log();
        let whole = log.len() - "7 2\n= 00000000\n".len();
        for length in whole..log.len() - 1 {
            assert_eq!(generation_of_7(&log[..length]).unwrap(), 1, "{length}");
        }
        let text = String::from_utf8(log).unwrap();
        for (from, to) in [("8 3", "8 4"), ("7 1", "70 1"), ("TrueSpd", "Truespd")] {
            let error = generation_of_7(text.replace(from, to).as_bytes()).unwrap_err();
            let is_damaged = matches!(error, MapError::DamagedLog { line: 6, .. });
            assert!(is_damaged || from == "TrueSpd", "{from}: {error}");
        }
        let mut newer = Vec::new();
        begin(&mut newer, &MapHeader { version: 2, ..header(100, true) }).unwrap();
        assert!(matches!(generation_of_7(&newer), Err(MapError::Newer { version: 2, .. })));
        assert!(matches!(generation_of_7(b""), Err(MapError::NoLog { .. })));
        let mut outside = Vec::new();
        begin(&mut outside, &header(100, true)).unwrap();
        tell(&mut outside, &[(100, 1)]).unwrap();
        assert!(matches!(generation_of_7(&outside), Err(MapError::DamagedLog { line: 5, .. })));
    }
}
