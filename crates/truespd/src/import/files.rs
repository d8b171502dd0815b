//! Where a job does it: files, devices, and which part of them.

use super::engines::Engine;
use super::ini::{Extent, Outside, Setting, extent, for_reads_and_writes};
use super::keys::Job;
use super::pattern::Pattern;

/// More targets make no line that anybody reads.
const TARGETS_MAX: u64 = 256;
/// Keys that say where a job does it.
pub(super) const WHERE: [&str; 6] =
    ["filename", "directory", "size", "filesize", "offset", "offset_increment"];
/// More threads are a slip.
const THREADS_MAX: u64 = 4096;

/// A target with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    pub path: String,
    /// First byte of the tested part.
    pub(super) base: u64,
    pub(super) end: Option<u64>,
    /// Size of the file that is made.
    pub(super) create: Option<u64>,
    pub options: Vec<String>,
}

pub(super) struct Files {
    /// A target each, with its part, and how many threads work on it.
    pub lanes: Vec<(Lane, u64)>,
    /// So many files are served by each thread: more than one needs threads that work on all targets.
    pub each_thread: u64,
    pub threads: u64,
}

/// The targets; none when the job cannot be said.
pub(super) fn files(
    job: &mut Job,
    engine: Engine,
    pattern: &Pattern,
    outside: &Outside<'_>,
) -> Option<Files> {
    if has_unset(job) {
        return None;
    }
    let threads = job.number("numjobs", 1).max(1);
    if job.peek("filename").is_some() {
        ["nrfiles", "filename_format"].into_iter().for_each(|key| job.forget(key));
    }
    let count = job.number("nrfiles", 1).max(1);
    let format = job.take("filename_format").and_then(|one| one.value);
    let directory = job.take("directory");
    let directories = split_names(directory.as_ref().map_or("", Setting::text));
    let lines = job.take_files();
    if let Some((line, unset)) = lines.iter().find_map(|line| Some((line, line.unset.clone()?))) {
        job.impossible(Some(line), &without(&unset), "");
        return None;
    }
    if directories.len() > 1 && !lines.is_empty() {
        let why = "with filename, fio puts all into the first directory, and so does the line";
        job.differs(directory.as_ref(), why);
    }
    let mut names = Vec::new();
    for line in &lines {
        let found = split_names(line.text());
        if found.iter().any(|name| name == "-") {
            job.impossible(
                Some(line),
                "standard input and output are no storage; the whole job is left out",
                "",
            );
            return None;
        }
        // fio makes the paths when a section ends.
        match directory.as_ref().filter(|directory| directory.section > line.section) {
            Some(directory) => {
                job.differs(
                    Some(directory),
                    "fio uses it only for files that are named below it; those named in a section above stay where \
                     they are, in the line as well",
                );
                names.extend(found);
            }
            None => names.extend(found.iter().map(|name| format!("{}{name}", folder(&directories, 0)))),
        }
    }
    let is_shared = !names.is_empty();
    let own_name = job.name.clone();
    // A job that has the name of a device tests the device.
    let is_of_device = !is_shared && count == 1 && directories.is_empty() && is_device(&own_name);
    let each_thread = if is_shared { names.len() as u64 } else { count };
    if threads.saturating_mul(each_thread) > TARGETS_MAX && !is_shared && !is_of_device {
        let why = format!(
            "{} files are too many for a line of diskspd (at most {TARGETS_MAX}); the whole job is left out",
            threads.saturating_mul(each_thread)
        );
        job.impossible(None, &why, "");
        return None;
    }
    if each_thread == 1 {
        ["file_service_type", "openfiles"].into_iter().for_each(|key| job.forget(key));
    }
    // Paths with the threads that use them, in the order of the threads.
    let increment = job.take("offset_increment");
    let mut uses: Vec<(String, Vec<u64>)> = Vec::new();
    for thread in 0..threads.min(THREADS_MAX) {
        let paths = if is_shared {
            names.clone()
        } else if is_of_device {
            vec![own_name.clone()]
        } else {
            let folder = folder(&directories, thread);
            (0..count)
                .map(|file| format!("{folder}{}", made_up(&own_name, format.as_deref(), thread, file)))
                .collect()
        };
        for path in paths {
            match uses.iter_mut().find(|(known, _)| *known == path) {
                Some((_, of)) => of.push(thread),
                None => uses.push((path, vec![thread])),
            }
        }
    }
    let is_null = engine == Engine::Named("null");
    let mut part = Part::take(job, each_thread, increment, pattern.block_bytes);
    let mut lanes = Vec::new();
    for (path, of) in uses {
        if is_null {
            lanes.push((part.untouched(&path), of.len() as u64));
            continue;
        }
        let size_bytes = if part.has_shares() { (outside.size)(&path) } else { None };
        let found = part.of_file(job, size_bytes);
        match found.step {
            0 => lanes.push((found.lane(&path, 0), of.len() as u64)),
            _ => lanes.extend(of.iter().map(|thread| (found.lane(&path, *thread), 1))),
        }
    }
    if is_null {
        job.differs(None, "null does no I/O, so the file of this line has one block only");
    } else if pattern.writes && !part.is_known {
        job.impossible(
            None,
            "it writes, and the part of the target that it would overwrite is not known; the whole job is left out",
            "",
        );
        return None;
    }
    if threads > THREADS_MAX {
        job.impossible(None, "these are too many threads; the whole job is left out", "");
        return None;
    }
    if lanes.iter().any(|(lane, _)| lane.create.is_none() && !is_device(&lane.path)) {
        let why = "the job says no size of its file, so the file must be there, or -c<size> be added";
        job.differs(None, why);
    }
    if lanes.len() as u64 > TARGETS_MAX {
        job.impossible(None, "these are too many parts for a line; the whole job is left out", "");
        return None;
    }
    Some(Files { lanes, each_thread, threads })
}

/// The folder of a thread's files, with a slash behind it.
fn folder(directories: &[String], thread: u64) -> String {
    let count = directories.len().max(1) as u64;
    let folder = directories.get(usize::try_from(thread % count).unwrap_or_default());
    folder.map(|folder| format!("{}/", folder.trim_end_matches('/'))).unwrap_or_default()
}

/// Why there is no job without a variable.
fn without(variable: &str) -> String {
    format!("the variable {variable} is not set; the whole job is left out")
}

/// Whether a variable is not set that says where the job does it.
fn has_unset(job: &mut Job) -> bool {
    let mut has_unset = false;
    for key in WHERE.into_iter().filter(|key| *key != "filename") {
        let Some(setting) = job.peek(key).cloned() else { continue };
        let Some(unset) = &setting.unset else { continue };
        drop(job.take(key));
        job.impossible(Some(&setting), &without(unset), "");
        has_unset = true;
    }
    has_unset
}

/// fio's name for a file that has none.
fn made_up(job: &str, format: Option<&str>, thread: u64, file: u64) -> String {
    let mut name = format.unwrap_or("$jobname.$jobnum.$filenum").to_string();
    for (word, value) in
        [("$jobname", job), ("$jobnum", &thread.to_string()), ("$filenum", &file.to_string())]
    {
        name = replaced(&name, word, value);
    }
    name
}

/// The text with all places of a word replaced, in letters of either case.
fn replaced(text: &str, word: &str, value: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.to_ascii_lowercase().find(word) {
        out.push_str(&rest[..at]);
        out.push_str(value);
        rest = &rest[at + word.len()..];
    }
    out + rest
}

/// Names between colons; `\:` is a colon of a name.
fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, names.last_mut()) {
            ('\\', Some(last)) if chars.peek() == Some(&':') => last.extend(chars.next()),
            (':', _) => names.push(String::new()),
            (c, Some(last)) => last.push(c),
            (_, None) => {}
        }
    }
    names.into_iter().map(|name| name.trim().to_string()).filter(|name| !name.is_empty()).collect()
}

/// Whether it is a device, by its name: nothing is opened here. `/dev/shm` holds files.
fn is_device(path: &str) -> bool {
    path.starts_with("/dev/") && !path.starts_with("/dev/shm/")
}

/// What a job says of the part of its files.
struct Part {
    /// Bytes of the file, if the job says so.
    file_bytes: Option<u64>,
    /// The part that is tested; none where it is all behind the offset.
    size: Said,
    offset: Said,
    /// Bytes between the parts of two threads.
    step: Said,
    block_bytes: u64,
    /// All that the job says of it was read.
    is_known: bool,
}

/// A key with what it says.
#[derive(Default)]
struct Said {
    setting: Option<Setting>,
    extent: Option<Extent>,
}

impl Part {
    fn take(job: &mut Job, files: u64, increment: Option<Setting>, block_bytes: u64) -> Self {
        let mut part = Part {
            file_bytes: None,
            size: Said::default(),
            offset: Said::default(),
            step: Said::default(),
            block_bytes,
            is_known: true,
        };
        let filesize = job.take("filesize");
        if let Some(Extent::Bytes(bytes)) = part.read(job, filesize).extent {
            part.file_bytes = Some(bytes);
        }
        let (size, offset) = (job.take("size"), job.take("offset"));
        part.size = part.read(job, size);
        if let Some(Extent::Bytes(bytes)) = part.size.extent {
            // The size of a job is that of all its files.
            part.size.extent = Some(Extent::Bytes((bytes / files).max(1)));
        }
        if part.size.extent == Some(Extent::Percent(100)) {
            part.size.extent = None;
        }
        part.offset = part.read(job, offset);
        part.step = part.read(job, increment);
        part
    }

    /// What a key says; a size of 0 is as none.
    fn read(&mut self, job: &mut Job, setting: Option<Setting>) -> Said {
        let Some(setting) = setting else { return Said::default() };
        let found = extent(for_reads_and_writes(setting.text()).0.unwrap_or_default(), job.is_si);
        if found.is_none() {
            self.is_known = false;
            job.unsaid(Some(&setting), "this is no size that can be said", "");
        }
        let is_none = matches!(found, Some(Extent::Bytes(0) | Extent::Percent(0)));
        Said { setting: Some(setting), extent: if is_none { None } else { found } }
    }

    /// Whether the size of a file decides how many bytes that are.
    fn has_shares(&self) -> bool {
        [&self.size, &self.offset, &self.step]
            .iter()
            .any(|said| matches!(said.extent, Some(Extent::Percent(_))))
    }

    /// The part of a file of this size, where it is there.
    fn of_file(&mut self, job: &mut Job, there_bytes: Option<u64>) -> PartOfFile {
        let size_bytes = match self.size.extent {
            Some(Extent::Bytes(bytes)) => Some(bytes),
            _ => None,
        };
        let whole = self.file_bytes.or(size_bytes).or(there_bytes);
        let size = std::mem::take(&mut self.size);
        let offset = std::mem::take(&mut self.offset);
        let step = std::mem::take(&mut self.step);
        let block = self.block_bytes.max(1);
        let found = PartOfFile {
            file_bytes: self.file_bytes,
            // With a size of its files, that of the job is an amount, and no part of them: that goes to their end.
            size_bytes: match size.extent {
                Some(Extent::Bytes(_)) if self.file_bytes.is_some() => None,
                Some(Extent::Percent(_)) => {
                    self.in_bytes(job, &size, whole).map(|bytes| bytes - bytes % block)
                }
                _ => size_bytes,
            },
            offset: match (&offset.extent, self.in_bytes(job, &offset, whole)) {
                // fio begins at the next whole block.
                (Some(Extent::Percent(_)), Some(bytes)) => {
                    bytes.checked_next_multiple_of(block).unwrap_or(bytes)
                }
                (_, bytes) => bytes.unwrap_or(0),
            },
            is_there: whole.is_some() && self.file_bytes.or(size_bytes).is_none(),
            step: self.in_bytes(job, &step, whole).unwrap_or(0),
        };
        (self.size, self.offset, self.step) = (size, offset, step);
        found
    }

    fn in_bytes(&mut self, job: &mut Job, said: &Said, whole: Option<u64>) -> Option<u64> {
        match (said.extent?, whole) {
            (Extent::Bytes(bytes), _) => Some(bytes),
            (Extent::Percent(percent), Some(whole)) => {
                Some((u128::from(whole) * u128::from(percent) / 100) as u64)
            }
            (Extent::Percent(_), None) => {
                self.is_known = false;
                let why = "a share of the file wants its size, which the job file does not say";
                job.unsaid(said.setting.as_ref(), why, "-f<size> or -B<offset>, in bytes");
                None
            }
        }
    }

    /// What stands for a file of which nothing is read or written: one block of it.
    fn untouched(&self, path: &str) -> Lane {
        let create = if is_device(path) { None } else { Some(self.block_bytes) };
        Lane { path: path.to_string(), base: 0, end: None, create, options: Vec::new() }
    }
}

/// Which part of a file is tested.
struct PartOfFile {
    file_bytes: Option<u64>,
    size_bytes: Option<u64>,
    offset: u64,
    step: u64,
    /// The file is there, with the size that shares are of.
    is_there: bool,
}

impl PartOfFile {
    fn lane(&self, path: &str, thread: u64) -> Lane {
        let base = self.offset.saturating_add(self.step.saturating_mul(thread));
        let end = self.size_bytes.map(|size| base.saturating_add(size));
        let end = end.into_iter().chain(self.file_bytes).min();
        let is_made = !self.is_there && !is_device(path);
        let create = if is_made { self.file_bytes.or(end) } else { None };
        Lane { path: path.to_string(), base, end, create, options: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_between_colons() {
        assert_eq!(split_names("/dev/sda:/mnt/a b"), ["/dev/sda", "/mnt/a b"]);
        assert_eq!(split_names(r"/dev/dsk/foo@3\:0,c"), ["/dev/dsk/foo@3:0,c"]);
        assert!(split_names("").is_empty() && split_names(":").is_empty());
    }
}
