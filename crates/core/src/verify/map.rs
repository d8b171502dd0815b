//! The map of a verified run: which generation each block has, in a file that outlives the run.
//!
//! The file: a page with the header, a table with a word for each block, where writes are not durable by themselves a
//! second one, and the checksums of both, 64 KiB each, once the run has ended. A word is the generation of the last
//! completed write of the block; its highest bit says that the next one is under way. The second table has the
//! generations that a completed flush covers. The tables are mapped: they are up to date also when the process is
//! killed.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crc_fast::crc32_iscsi;
use serde::{Deserialize, Serialize};

use super::judge::Expected;
use super::place::{self, PlaceError, is_in_use};
use super::sector::SECTOR_BYTES;
use truespd_platform::fault::Refusal;
use truespd_platform::machine::thing::Thing;
use truespd_platform::sys::destination::LostWay;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::extents::next_data;
use truespd_platform::sys::file::{read_exact_at, set_aside};
use truespd_platform::sys::words::SharedWords;

/// Version of the file's form.
const VERSION: u32 = 1;
/// How a map begins; a file that begins otherwise is left as it is.
pub const FIRST_LINE: &str = "TrueSpd verify map\n";
const HEADER_BYTES: u64 = 65_536;
/// What one checksum of the tables covers.
const PART_BYTES: u64 = 65_536;
/// Words of such a part.
const PART_WORDS: usize = PART_BYTES as usize / 4;
const IN_FLIGHT: u32 = 1 << 31;
/// More blocks would have no room in a table. A larger target is verified with larger blocks.
const BLOCKS_MAX: u64 = 1 << 40;
/// Blocks of the claims in a word.
const CLAIMS: usize = 64;

/// What a map belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapHeader {
    /// Version of the form of the file.
    pub version: u32,
    /// The lasting name of the target, or its path.
    pub name: String,
    /// The target, as it is recognised later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thing: Option<Thing>,
    /// The size of the target in bytes.
    pub size_bytes: u64,
    /// First byte of the first block.
    pub base_bytes: u64,
    /// Size of a block: the unit of the map, which every I/O of the run is a multiple of.
    pub block_bytes: u64,
    /// How many blocks there are.
    pub blocks: u64,
    /// Number of the run, drawn for each run.
    pub run: u64,
    /// Number of the target, drawn for each target of a run.
    pub target: u64,
    /// A completed write is durable (`-Sh`, `-Sw`).
    pub is_write_through: bool,
    /// When the run began, on its own clock, in nanoseconds.
    pub start_ns: u64,
    /// The run has ended, and the checksums are there.
    pub is_closed: bool,
    /// What was written was flushed at the end of the run.
    pub is_flushed: bool,
}

impl MapHeader {
    /// A table of a word for each block.
    fn table_bytes(&self) -> u64 {
        (self.blocks * 4).next_multiple_of(PART_BYTES)
    }

    fn tables(&self) -> u64 {
        if self.is_write_through { 1 } else { 2 }
    }

    fn sums_at(&self) -> u64 {
        HEADER_BYTES + self.table_bytes() * self.tables()
    }

    fn sums_bytes(&self) -> u64 {
        self.table_bytes() * self.tables() / PART_BYTES * 4
    }

    /// Length of the file in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.sums_at() + self.sums_bytes()
    }

    /// Whether the blocks lie in a target of that size.
    fn is_possible(&self) -> bool {
        let room_bytes = self.size_bytes.saturating_sub(self.base_bytes);
        self.block_bytes > 0
            && self.block_bytes.is_multiple_of(SECTOR_BYTES as u64)
            && (1..=room_bytes / self.block_bytes).contains(&self.blocks)
            && self.blocks <= BLOCKS_MAX
    }
}

/// Why a map cannot be made or read.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    #[error("{action} '{}': {}", path.display(), system_text(error))]
    System { action: &'static str, path: PathBuf, error: io::Error },
    #[error("could not make the map '{}': {lost}", path.display())]
    Lost { path: PathBuf, lost: LostWay },
    #[error("'{}' exists and is not a map of --verify; it was not touched", path.display())]
    NoMap { path: PathBuf },
    #[error("'{}' is not a map of --verify, or its first bytes are damaged", path.display())]
    NotReadable { path: PathBuf },
    #[error("'{}' is not a file", path.display())]
    NoFile { path: PathBuf },
    #[error("'{}' has version {version} of its form, and this program reads version {VERSION}", path.display())]
    Newer { path: PathBuf, version: u32 },
    #[error("the test that writes '{}' still runs", path.display())]
    InUse { path: PathBuf },
    #[error("'{}' is not a log of --verify-log, or its first lines are damaged", path.display())]
    NoLog { path: PathBuf },
    #[error("the log '{}' is damaged before line {line}: a checksum is wrong", path.display())]
    DamagedLog { path: PathBuf, line: u64 },
    /// It is of another target.
    #[error(transparent)]
    Unlike(#[from] Refusal),
    #[error("the map '{}' is damaged at byte {offset_bytes}: its checksum is wrong", path.display())]
    Damaged { path: PathBuf, offset_bytes: u64 },
}

/// Whether a map or log with this header belongs to the target.
pub type Fits<'a> = &'a dyn Fn(&MapHeader) -> Result<(), Refusal>;

/// The map of a target: shared by the threads of a run, or read after it.
#[derive(Debug)]
pub struct BlockMap {
    header: MapHeader,
    path: PathBuf,
    /// None of a map that was read from a log.
    file: Option<File>,
    completed: SharedWords,
    /// None where a completed write is durable.
    flushed: Option<SharedWords>,
    /// It was read from a log, which may be behind what was written.
    is_of_log: bool,
    /// Blocks with an I/O under way, a bit each; none in a map that is read.
    claims: Vec<AtomicU64>,
}

impl BlockMap {
    /// Makes the file of a run. A map that is there already is replaced.
    ///
    /// # Errors
    /// [`MapError`]; what is there and is no map stays as it is.
    pub fn create(path: &Path, mut header: MapHeader) -> Result<Self, MapError> {
        header.version = VERSION;
        let owned = path.to_path_buf();
        let mut file = place::make(path, FIRST_LINE).map_err(|why| match why {
            PlaceError::Taken => MapError::NoMap { path: owned },
            PlaceError::InUse => MapError::InUse { path: owned },
            PlaceError::Lost(lost) => MapError::Lost { path: owned, lost },
        })?;
        let made = lay_out(&mut file, &header).and_then(|()| BlockMap::mapped(&file, &header, true));
        match made {
            Ok((completed, flushed)) => {
                let claims = (0..completed.len().div_ceil(CLAIMS)).map(|_| AtomicU64::new(0)).collect();
                let mut map = BlockMap::new(header, path, Some(file), completed, flushed);
                map.claims = claims;
                Ok(map)
            }
            Err(error) => {
                let _ = fs::remove_file(path);
                Err(failed("could not make the map", path, error))
            }
        }
    }

    /// Reads the file of a run. `fits` is asked first whether the header belongs to the target: what a file claims of
    /// itself takes neither time nor memory before.
    ///
    /// # Errors
    /// [`MapError`] when it is no map, or is damaged; what `fits` says.
    pub fn open(path: &Path, fits: Fits<'_>) -> Result<Self, MapError> {
        let (file, header) = BlockMap::begin_to_read(path)?;
        fits(&header)?;
        BlockMap::read(path, file, header)
    }

    fn begin_to_read(path: &Path) -> Result<(File, MapHeader), MapError> {
        let about = fs::metadata(path).map_err(|error| failed("could not open the map", path, error))?;
        // A pipe would wait for somebody who writes.
        if !about.is_file() {
            return Err(MapError::NoFile { path: path.to_path_buf() });
        }
        let mut file = File::open(path).map_err(|error| failed("could not open the map", path, error))?;
        if is_in_use(&file) {
            return Err(MapError::InUse { path: path.to_path_buf() });
        }
        let json = read_header(&mut file).ok_or_else(|| not_readable(path))?;
        if let Some(version) = newer_version(&json) {
            return Err(MapError::Newer { path: path.to_path_buf(), version });
        }
        let header: MapHeader = serde_json::from_str(&json).map_err(|_| not_readable(path))?;
        let length = file.metadata().map_or(0, |about| about.len());
        if header.version != VERSION || !header.is_possible() || length != header.file_bytes() {
            return Err(not_readable(path));
        }
        Ok((file, header))
    }

    fn read(path: &Path, mut file: File, header: MapHeader) -> Result<Self, MapError> {
        if header.is_closed {
            let damaged = damaged_part(&mut file, &header);
            if let Some(offset_bytes) =
                damaged.map_err(|error| failed("could not read the map", path, error))?
            {
                return Err(MapError::Damaged { path: path.to_path_buf(), offset_bytes });
            }
        }
        let mapped = BlockMap::mapped(&file, &header, false);
        let (completed, flushed) = mapped.map_err(|error| failed("could not read the map", path, error))?;
        Ok(BlockMap::new(header, path, Some(file), completed, flushed))
    }

    fn mapped(
        file: &File,
        header: &MapHeader,
        is_writable: bool,
    ) -> io::Result<(SharedWords, Option<SharedWords>)> {
        let words = header.blocks as usize;
        let completed = SharedWords::map(file, HEADER_BYTES, words, is_writable)?;
        if header.is_write_through {
            return Ok((completed, None));
        }
        let second = HEADER_BYTES + header.table_bytes();
        Ok((completed, Some(SharedWords::map(file, second, words, is_writable)?)))
    }

    fn new(
        header: MapHeader,
        path: &Path,
        file: Option<File>,
        completed: SharedWords,
        flushed: Option<SharedWords>,
    ) -> Self {
        let (path, claims) = (path.to_path_buf(), Vec::new());
        BlockMap { header, path, file, completed, flushed, is_of_log: false, claims }
    }

    /// An empty map in memory for what a log says; none where its header is not possible.
    ///
    /// # Errors
    /// No memory for it.
    pub fn of_log(path: &Path, mut header: MapHeader) -> io::Result<Option<Self>> {
        if header.version != VERSION || !header.is_possible() {
            return Ok(None);
        }
        // Only what is durable is known.
        header.is_write_through = true;
        let completed = SharedWords::zeros(header.blocks as usize)?;
        let mut map = BlockMap::new(header, path, None, completed, None);
        map.is_of_log = true;
        Ok(Some(map))
    }

    /// A log says that this generation of a block is durable; false where there is no such block or generation.
    pub fn note_logged(&self, block: usize, generation: u32) -> bool {
        let is_possible = block < self.completed.len() && (1..IN_FLIGHT).contains(&generation);
        if is_possible {
            self.completed[block].fetch_max(generation, Ordering::Relaxed);
        }
        is_possible
    }

    /// Whether it was read from a log, which may be behind what was written.
    pub fn is_of_log(&self) -> bool {
        self.is_of_log
    }

    /// The generation of each block that was written, block by block, as completed writes left them.
    pub fn completed(&self) -> impl Iterator<Item = (usize, u32)> {
        let generations = self.completed.iter().map(|word| word.load(Ordering::Relaxed) & !IN_FLIGHT);
        generations.enumerate().filter(|(_, generation)| *generation > 0)
    }

    /// The first block of these that was or may have been written. A hole in the file of the map is not looked through.
    pub fn next_written(&self, blocks: Range<usize>) -> Option<usize> {
        let mut next = blocks.start;
        while next < blocks.end {
            if next.is_multiple_of(PART_WORDS)
                && let Some(file) = &self.file
            {
                let data = next_data(file, HEADER_BYTES + next as u64 * 4);
                next = next.max(((data - HEADER_BYTES) / 4).min(blocks.end as u64) as usize);
            }
            let part = next..(next / PART_WORDS * PART_WORDS + PART_WORDS).min(blocks.end);
            let found = part.clone().find(|&block| self.completed[block].load(Ordering::Relaxed) != 0);
            if found.is_some() {
                return found;
            }
            next = part.end;
        }
        None
    }

    /// The run and the target that it belongs to, with its layout.
    pub fn header(&self) -> &MapHeader {
        &self.header
    }

    /// Where the file of the map is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a completed write is durable by itself.
    pub fn is_write_through(&self) -> bool {
        self.flushed.is_none()
    }

    /// The blocks of an I/O of `bytes` at `offset` of the target, which lies in the tested range.
    pub fn blocks(&self, offset: u64, bytes: u32) -> Range<usize> {
        let first = (offset - self.header.base_bytes) / self.header.block_bytes;
        first as usize..(first + u64::from(bytes) / self.header.block_bytes) as usize
    }

    /// Where a block begins in the target.
    pub fn address(&self, block: usize) -> u64 {
        self.header.base_bytes + block as u64 * self.header.block_bytes
    }

    /// Takes blocks for an I/O; false where one of them is taken, and then none is.
    pub fn claim(&self, blocks: Range<usize>) -> bool {
        for block in blocks.clone() {
            let bit = 1 << (block % CLAIMS);
            if self.claims[block / CLAIMS].fetch_or(bit, Ordering::Acquire) & bit != 0 {
                self.release(blocks.start..block);
                return false;
            }
        }
        true
    }

    /// Gives claimed blocks free again.
    pub fn release(&self, blocks: Range<usize>) {
        for block in blocks {
            self.claims[block / CLAIMS].fetch_and(!(1 << (block % CLAIMS)), Ordering::Release);
        }
    }

    /// A write of a claimed block is issued: the generation that it has.
    pub fn begin_write(&self, block: usize) -> u32 {
        let before = self.completed[block].load(Ordering::Relaxed);
        self.completed[block].store(before | IN_FLIGHT, Ordering::Relaxed);
        (before & !IN_FLIGHT) + 1
    }

    /// The write of a claimed block was completed: its generation.
    pub fn complete_write(&self, block: usize) -> u32 {
        let generation = (self.completed[block].load(Ordering::Relaxed) & !IN_FLIGHT) + 1;
        self.completed[block].store(generation, Ordering::Relaxed);
        generation
    }

    /// A flush covers this generation of a block.
    pub fn note_flushed(&self, block: usize, generation: u32) {
        if let Some(flushed) = &self.flushed {
            flushed[block].fetch_max(generation, Ordering::Relaxed);
        }
    }

    /// Everything that was completed is flushed.
    pub fn note_all_flushed(&mut self) {
        self.header.is_flushed = true;
        let Some(flushed) = &self.flushed else { return };
        for (durable, completed) in flushed.iter().zip(self.completed.iter()) {
            durable.store(completed.load(Ordering::Relaxed) & !IN_FLIGHT, Ordering::Relaxed);
        }
    }

    /// What a block must hold. `is_running`: the run goes on, so that the last completed write is what a read gives.
    pub fn expected(&self, block: usize, is_running: bool) -> Expected {
        let word = self.completed[block].load(Ordering::Relaxed);
        let (completed, is_in_flight) = (word & !IN_FLIGHT, word & IN_FLIGHT != 0);
        // Any number of later writes may have come after the last one of a log.
        let (newest, is_in_flight) = match completed {
            1.. if self.is_of_log => (IN_FLIGHT, true),
            _ => (completed + u32::from(is_in_flight), is_in_flight),
        };
        let durable = match &self.flushed {
            Some(flushed) if !is_running => flushed[block].load(Ordering::Relaxed).min(completed),
            _ => completed,
        };
        Expected {
            address: self.address(block),
            target: self.header.target,
            run: self.header.run,
            oldest: durable,
            newest,
            is_in_flight,
        }
    }

    /// Writes the checksums; call it when no thread works with the map any more.
    ///
    /// # Errors
    /// [`MapError`] when the file cannot be written.
    pub fn close(mut self) -> Result<MapHeader, MapError> {
        self.header.is_closed = true;
        let mut sums = Vec::with_capacity(self.header.sums_bytes() as usize);
        push_sums(&self.completed, &mut sums);
        if let Some(flushed) = &self.flushed {
            push_sums(flushed, &mut sums);
        }
        let Some(file) = &mut self.file else { return Ok(self.header.clone()) };
        let written = write_at(file, self.header.sums_at(), &sums)
            .and_then(|()| write_header(file, &self.header))
            .and_then(|()| file.sync_all());
        written.map_err(|error| failed("could not write the map", &self.path, error))?;
        Ok(self.header.clone())
    }
}

/// The lock ends with the map, also while a child that is just being started has the file open as well.
impl Drop for BlockMap {
    fn drop(&mut self) {
        let _ = self.file.as_ref().map(File::unlock);
    }
}

fn not_readable(path: &Path) -> MapError {
    MapError::NotReadable { path: path.to_path_buf() }
}

fn failed(action: &'static str, path: &Path, error: io::Error) -> MapError {
    MapError::System { action, path: path.to_path_buf(), error }
}

/// The file with its header, and with room for all of it. The header comes first: what a run left that was killed here
/// is known as a map, and the next run replaces it.
fn lay_out(file: &mut File, header: &MapHeader) -> io::Result<()> {
    write_header(file, header)?;
    if set_aside(file, header.file_bytes()).is_err() {
        // File systems that set nothing aside: zeros take the room.
        let zeros = vec![0; PART_BYTES as usize];
        for _ in 0..header.file_bytes().div_ceil(PART_BYTES) {
            file.write_all(&zeros)?;
        }
        file.set_len(header.file_bytes())?;
    }
    file.sync_all()
}

fn write_header(file: &mut File, header: &MapHeader) -> io::Result<()> {
    let json = serde_json::to_string(header)?;
    let mut page = format!("{FIRST_LINE}{:08x}\n{json}\n", crc32_iscsi(json.as_bytes())).into_bytes();
    page.resize(HEADER_BYTES as usize, 0);
    write_at(file, 0, &page)
}

fn write_at(file: &mut File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

/// The header as it is written, when its checksum is right.
fn read_header(file: &mut File) -> Option<String> {
    let mut page = vec![0; HEADER_BYTES as usize];
    file.seek(SeekFrom::Start(0)).and_then(|_| file.read_exact(&mut page)).ok()?;
    let text = std::str::from_utf8(&page).ok()?.strip_prefix(FIRST_LINE)?;
    let mut lines = text.lines();
    let (sum, json) = (lines.next()?, lines.next()?);
    if u32::from_str_radix(sum, 16).ok()? != crc32_iscsi(json.as_bytes()) {
        return None;
    }
    Some(json.to_string())
}

/// The version that a header tells, when this program does not know that yet.
pub(super) fn newer_version(header: &str) -> Option<u32> {
    #[derive(Deserialize)]
    struct Form {
        version: u32,
    }
    let form: Form = serde_json::from_str(header).ok()?;
    (form.version > VERSION).then_some(form.version)
}

fn push_sums(table: &[AtomicU32], sums: &mut Vec<u8>) {
    let mut part = vec![0; PART_BYTES as usize];
    for words in table.chunks(PART_WORDS) {
        part.fill(0);
        for (bytes, word) in part.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        sums.extend(crc32_iscsi(&part).to_le_bytes());
    }
}

/// The first byte of the first part of the tables whose checksum is wrong.
fn damaged_part(file: &mut File, header: &MapHeader) -> io::Result<Option<u64>> {
    let mut part = vec![0; PART_BYTES as usize];
    let of_zeros = crc32_iscsi(&part);
    let mut sum = [0; 4];
    for number in 0..header.sums_bytes() / 4 {
        let at = HEADER_BYTES + number * PART_BYTES;
        read_exact_at(file, &mut sum, header.sums_at() + number * 4)?;
        let found = if next_data(file, at) >= at + PART_BYTES {
            of_zeros
        } else {
            read_exact_at(file, &mut part, at)?;
            crc32_iscsi(&part)
        };
        if found.to_le_bytes() != sum {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn header(blocks: u64, is_write_through: bool) -> MapHeader {
        MapHeader {
            version: VERSION,
            name: "/t".into(),
            thing: None,
            size_bytes: 1 << 30,
            base_bytes: 8192,
            block_bytes: 4096,
            blocks,
            run: 5,
            target: 6,
            is_write_through,
            start_ns: 1,
            is_closed: false,
            is_flushed: false,
        }
    }

    fn open(path: &Path) -> Result<BlockMap, MapError> {
        BlockMap::open(path, &|_| Ok(()))
    }

    #[test]
    fn a_map_knows_what_must_be_there_also_when_its_run_was_killed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("map");
        let map = BlockMap::create(&path, header(100_000, false)).unwrap();
        assert_eq!(map.blocks(8192 + 3 * 4096, 8192), 3..5);
        assert_eq!((map.begin_write(3), map.complete_write(3)), (1, 1));
        map.note_flushed(3, 1);
        assert_eq!((map.begin_write(3), map.complete_write(3), map.begin_write(99_999)), (2, 2, 1));
        drop(map);
        let map = open(&path).unwrap();
        for (block, is_running, expected) in [
            (3, false, (1, 2, false)),
            (3, true, (2, 2, false)),
            (99_999, false, (0, 1, true)),
            (4, false, (0, 0, false)),
        ] {
            let Expected { oldest, newest, is_in_flight, .. } = map.expected(block, is_running);
            assert_eq!((oldest, newest, is_in_flight), expected, "{block}");
        }
        assert_eq!((map.expected(3, true).address, map.header().is_closed), (8192 + 3 * 4096, false));
    }

    #[test]
    fn a_closed_map_that_is_damaged_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("map");
        for is_write_through in [false, true] {
            let mut map = BlockMap::create(&path, header(40_000, is_write_through)).unwrap();
            map.begin_write(7);
            map.complete_write(7);
            map.note_all_flushed();
            map.close().unwrap();
            assert_eq!(open(&path).unwrap().expected(7, false).oldest, 1);
        }
        let whole = fs::read(&path).unwrap();
        for (at, is_header) in
            [(30, true), (HEADER_BYTES as usize + 100_000, false), (whole.len() - 1, false)]
        {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            let error = open(&path).expect_err("damaged");
            assert_eq!(matches!(error, MapError::NotReadable { .. }), is_header, "{error}");
        }
        fs::write(&path, &whole[..whole.len() - 4]).unwrap();
        assert!(matches!(open(&path), Err(MapError::NotReadable { .. })));
    }

    /// A file of a few KiB that claims a table of terabytes.
    fn claiming(dir: &Path, header: &MapHeader) -> PathBuf {
        let path = dir.join("claims");
        let mut file = File::create(&path).unwrap();
        write_header(&mut file, header).unwrap();
        // Where the file system takes no such length, the claim is refused for that.
        let _ = file.set_len(header.file_bytes());
        path
    }

    #[test]
    fn what_a_header_claims_takes_neither_time_nor_memory() {
        let dir = tempfile::tempdir().unwrap();
        let begun = std::time::Instant::now();
        let huge = MapHeader { size_bytes: 1 << 52, block_bytes: 4096, blocks: 1 << 39, ..header(1, true) };
        let path = claiming(dir.path(), &huge);
        let refused = BlockMap::open(&path, &|_| Err(Refusal::command_line("another size"))).unwrap_err();
        assert!(matches!(refused, MapError::Unlike(_) | MapError::NotReadable { .. }), "{refused}");
        if let Ok(map) = open(&path) {
            assert_eq!(map.next_written(0..1 << 39), None);
        }
        let closed = MapHeader { is_closed: true, ..huge };
        assert!(open(&claiming(dir.path(), &closed)).is_err());
        for impossible in [
            MapHeader { block_bytes: 1 << 62, ..header(1, true) },
            MapHeader { blocks: 1 << 30, ..header(1, true) },
            MapHeader { base_bytes: u64::MAX, ..header(1, true) },
            MapHeader { block_bytes: 0, ..header(1, true) },
        ] {
            let read = open(&claiming(dir.path(), &impossible));
            assert!(matches!(read, Err(MapError::NotReadable { .. })), "{impossible:?}");
            assert!(BlockMap::of_log(&path, impossible).unwrap().is_none());
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
    }

    #[test]
    fn written_blocks_are_found_in_any_part_of_the_table() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("map");
        let map =
            BlockMap::create(&path, MapHeader { size_bytes: 1 << 40, ..header(100_000, true) }).unwrap();
        for block in [0, 16_383, 16_384, 99_999] {
            map.begin_write(block);
        }
        drop(map);
        let map = open(&path).unwrap();
        let mut found = Vec::new();
        while let Some(block) = map.next_written(found.last().map_or(0, |last| last + 1)..100_000) {
            found.push(block);
        }
        assert_eq!(found, [0, 16_383, 16_384, 99_999]);
        assert_eq!(map.next_written(20_000..99_999), None);
    }

    #[test]
    fn what_is_no_map_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("precious");
        fs::write(&path, "mine").unwrap();
        assert!(matches!(BlockMap::create(&path, header(1, true)), Err(MapError::NoMap { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }

    #[test]
    fn a_map_that_was_left_while_it_was_made_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("map");
        let mut file = File::create(&path).unwrap();
        write_header(&mut file, &header(1, true)).unwrap();
        assert!(matches!(open(&path), Err(MapError::NotReadable { .. })));
        BlockMap::create(&path, header(1, true)).unwrap();
        open(&path).unwrap();
    }

    #[test]
    fn a_map_is_not_read_or_replaced_while_its_run_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("map");
        let map = BlockMap::create(&path, header(1, true)).unwrap();
        assert!(matches!(open(&path), Err(MapError::InUse { .. })));
        assert!(matches!(BlockMap::create(&path, header(1, true)), Err(MapError::InUse { .. })));
        drop(map);
        open(&path).unwrap();
    }

    #[test]
    fn a_newer_form_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("map");
        let newer = MapHeader { version: VERSION + 1, ..header(1, true) };
        write_header(&mut File::create(&path).unwrap(), &newer).unwrap();
        assert!(matches!(open(&path), Err(MapError::Newer { version: 2, .. })));
        assert!(matches!(open(dir.path()), Err(MapError::NoFile { .. })));
    }

    #[test]
    fn two_ios_never_have_a_block() {
        let dir = tempfile::tempdir().unwrap();
        let map = BlockMap::create(&dir.path().join("map"), header(200, true)).unwrap();
        assert!(map.claim(60..70) && !map.claim(69..80) && map.claim(70..80) && !map.claim(0..61));
        map.release(60..70);
        assert!(map.claim(0..61) && !map.claim(60..61));
    }
}
