//! Where a job does it: files, devices, and which part of them.

use super::ini::Setting;
use super::job::Job;
use super::lane::Lane;
use super::value::{Extent, extent, for_reads_and_writes};

/// More targets make no line that anybody reads.
const TARGETS_MAX: u64 = 256;
/// More threads are a slip.
const THREADS_MAX: u64 = 4096;

/// Files of a job.
pub(super) struct Files {
    /// A target each, with its part, and how many threads work on it.
    pub lanes: Vec<(Lane, u64)>,
    /// So many files are served by each thread: more than one needs threads that work on all targets.
    pub each_thread: u64,
    /// Threads of the job.
    pub threads: u64,
}

/// The targets; none when the job cannot be said.
pub(super) fn files(job: &mut Job) -> Option<Files> {
    let threads = job.number("numjobs", 1).max(1);
    if job.look("filename").is_some() {
        job.forget("nrfiles");
    }
    let count = job.number("nrfiles", 1).max(1);
    if job.look("filename").is_some() {
        job.forget("filename_format");
    }
    let directory = job.take("directory").and_then(|one| one.value).unwrap_or_default();
    let directories: Vec<String> = split_names(&directory);
    let format = job.take("filename_format").and_then(|one| one.value);
    let named = job.take("filename");
    if let Some(unset) = named.as_ref().filter(|named| named.unset.is_some()) {
        let why = format!(
            "the variable {} is not set; the whole job is left out",
            unset.unset.clone().unwrap_or_default()
        );
        job.unsaid(Some(unset), &why, "");
        return None;
    }
    let names = named.as_ref().and_then(|named| named.value.as_deref()).map(split_names).unwrap_or_default();
    let is_shared = !names.is_empty();
    let own_name = job.name.clone();
    let of_thread = |thread: u64| -> Vec<String> {
        let folder = |at: u64| match directories.len() as u64 {
            0 => String::new(),
            n => {
                format!("{}/", directories[usize::try_from(at % n).unwrap_or_default()].trim_end_matches('/'))
            }
        };
        match is_shared {
            true => names.iter().map(|name| format!("{}{name}", folder(thread))).collect(),
            false => (0..count)
                .map(|file| {
                    format!("{}{}", folder(thread), made_up(&own_name, format.as_deref(), thread, file))
                })
                .collect(),
        }
    };
    let each_thread = if is_shared { names.len() as u64 } else { count };
    if names.iter().any(|name| name == "-") {
        job.unsaid(named.as_ref(), "standard input and output are no storage; the whole job is left out", "");
        return None;
    }
    if threads.saturating_mul(each_thread) > TARGETS_MAX && !(is_shared && directories.len() < 2) {
        let why = format!(
            "{} files are too many for a line of diskspd (at most {TARGETS_MAX}); the whole job is left out",
            threads.saturating_mul(each_thread)
        );
        job.unsaid(None, &why, "");
        return None;
    }
    // Paths with the threads that use them, in the order of the threads.
    let increment = job.take("offset_increment");
    let mut uses: Vec<(String, Vec<u64>)> = Vec::new();
    for thread in 0..threads.min(THREADS_MAX) {
        for path in of_thread(thread) {
            match uses.iter_mut().find(|(known, _)| *known == path) {
                Some((_, of)) => of.push(thread),
                None => uses.push((path, vec![thread])),
            }
        }
    }
    let part = Part::of(job, each_thread, increment.as_ref());
    let mut lanes = Vec::new();
    for (path, of) in uses {
        match part.step {
            0 => lanes.push((part.lane(&path, 0), of.len() as u64)),
            _ => lanes.extend(of.iter().map(|thread| (part.lane(&path, *thread), 1))),
        }
    }
    if threads > THREADS_MAX {
        job.unsaid(None, "these are too many threads; the whole job is left out", "");
        return None;
    }
    if lanes.iter().any(|(lane, _)| lane.create.is_none() && !is_device(&lane.path)) {
        job.differs(
            None,
            "the job says no size of its file, so the file must be there, or -c<size> be added",
        );
    }
    if lanes.len() as u64 > TARGETS_MAX {
        job.unsaid(increment.as_ref(), "these are too many parts for a line; the whole job is left out", "");
        return None;
    }
    Some(Files { lanes, each_thread, threads })
}

/// fio's name for a file that has none.
fn made_up(job: &str, format: Option<&str>, thread: u64, file: u64) -> String {
    let format = format.unwrap_or("$jobname.$jobnum.$filenum");
    let name = format.replace("$jobname", job).replace("$jobnum", &thread.to_string());
    name.replace("$filenum", &file.to_string())
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

/// Whether it is a device, by its name: nothing is opened here.
fn is_device(path: &str) -> bool {
    path.starts_with("/dev/")
}

/// Which part of each file.
struct Part {
    /// Bytes of the file, if the job says so.
    file_bytes: Option<u64>,
    /// Bytes that are tested.
    size_bytes: Option<u64>,
    offset: u64,
    /// Bytes between the parts of two threads.
    step: u64,
}

impl Part {
    fn of(job: &mut Job, files: u64, increment: Option<&Setting>) -> Self {
        let filesize = job.take("filesize");
        let (size, offset) = (job.take("size"), job.take("offset"));
        let read = |job: &mut Job, setting: &Option<Setting>| -> Option<Extent> {
            let setting = setting.as_ref()?;
            let text = setting.value.clone().unwrap_or_default();
            let found = extent(for_reads_and_writes(&text).0.unwrap_or_default(), job.is_si);
            if found.is_none() {
                job.unsaid(Some(setting), "this is no size that can be said", "");
            }
            found
        };
        let filesize_bytes = match read(job, &filesize) {
            Some(Extent::Bytes(bytes)) => Some(bytes),
            _ => None,
        };
        let percent_of = |percent: u64, bytes: u64| (u128::from(bytes) * u128::from(percent) / 100) as u64;
        let of_file = |job: &mut Job,
                       setting: Option<&Setting>,
                       found: Option<Extent>,
                       whole: Option<u64>| match (found?, whole) {
            (Extent::Bytes(bytes), _) => Some(bytes),
            (Extent::Percent(100), None) => None,
            (Extent::Percent(percent), Some(whole)) => Some(percent_of(percent, whole)),
            (Extent::Percent(_), None) => {
                job.unsaid(
                    setting,
                    "a share of the file wants its size, which the job file does not say",
                    "-f<size> or -B<offset>, in bytes",
                );
                None
            }
        };
        let size_found = read(job, &size);
        let size_bytes = of_file(job, size.as_ref(), size_found, filesize_bytes);
        // The size of a job is that of all its files.
        let size_bytes = match size_found {
            Some(Extent::Bytes(bytes)) => Some((bytes / files).max(1)),
            _ => size_bytes,
        };
        let whole = filesize_bytes.or(size_bytes);
        let found = read(job, &offset);
        let offset_bytes = of_file(job, offset.as_ref(), found, whole).unwrap_or(0);
        let increment = increment.cloned();
        let found = read(job, &increment);
        let step = of_file(job, increment.as_ref(), found, whole).unwrap_or(0);
        Part { file_bytes: filesize_bytes, size_bytes, offset: offset_bytes, step }
    }

    fn lane(&self, path: &str, thread: u64) -> Lane {
        let base = self.offset.saturating_add(self.step.saturating_mul(thread));
        let end = self.size_bytes.map(|size| base.saturating_add(size));
        let create = if is_device(path) { None } else { self.file_bytes.or(end) };
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
