//! Job files of fio as lines of `diskspd`.
//!
//! Text in, words out: this room opens nothing. It makes the options of each target and of each run; the
//! command line's own parser reads them, so that a line and a profile of the same job cannot differ.
//!
//! Nothing is dropped in silence. A key of the job file becomes a word, needs none, or leaves a [`Remark`].

mod durability;
mod engines;
mod files;
mod ini;
mod keys;
mod pace;
mod pattern;
#[cfg(test)]
mod tests;
mod words;

use durability::{Durability, durability, is_about_durability};
use engines::Engine;
pub use files::Lane;
use files::{Files, WHERE, files};
use ini::Section;
pub use ini::{At, Included, NoJobFile, Outside, text};
use keys::Job;
pub use keys::{Kind, Remark};
use pace::pace;
use pattern::{Pattern, data, pattern};
use std::collections::{HashMap, HashSet};
use truespd_platform::text::typed_size;

/// What a run lasts when no job says it: as in DiskSpd.
const DURATION_S: u64 = 10;

/// Jobs that run at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Run {
    pub jobs: Vec<String>,
    /// The targets; none when no job can be said.
    pub lanes: Vec<Lane>,
    options: Vec<String>,
    /// The name of the engine, or nothing.
    engine: String,
    /// What became of keys that are not simply options, each with the job that it is about.
    pub remarks: Vec<(String, Remark)>,
}

impl Run {
    /// The words of the one line that says it all; none where targets differ in more than their path.
    pub fn line(&self) -> Option<Vec<String>> {
        let first = self.lanes.first()?;
        if self.lanes.iter().any(|lane| lane.options != first.options) {
            return None;
        }
        let mut words = [first.options.as_slice(), &self.options].concat();
        words.extend(self.engine_words());
        words.extend(self.lanes.iter().map(|lane| lane.path.clone()));
        Some(words)
    }

    /// The words of a line for one of the targets.
    pub fn line_of(&self, lane: &Lane) -> Vec<String> {
        lane.options.iter().chain(&self.options).cloned().chain([lane.path.clone()]).collect()
    }

    /// The option of the engine.
    pub fn engine_words(&self) -> Vec<String> {
        match self.engine.as_str() {
            "" => Vec::new(),
            name => vec!["--engine".into(), name.into()],
        }
    }
}

/// Reads a job file, or command lines of fio: its runs, one after the other. A job of which something cannot be said
/// without which a line would do something else is left out, unless `is_lossy`.
///
/// # Errors
/// It is no job file.
pub fn import(file: &str, text: &str, outside: &Outside<'_>, is_lossy: bool) -> Result<Vec<Run>, NoJobFile> {
    Ok(runs(&words::read(file, text, outside)?, outside, is_lossy))
}

/// Reads the words of one command line of fio, which came from `file`.
///
/// # Errors
/// They are no jobs.
pub fn import_words(
    file: &str,
    words: &[String],
    outside: &Outside<'_>,
    is_lossy: bool,
) -> Result<Vec<Run>, NoJobFile> {
    Ok(runs(&words::read_words(file, words, outside)?, outside, is_lossy))
}

fn runs(sections: &[Section], outside: &Outside<'_>, is_lossy: bool) -> Vec<Run> {
    let mut groups: Vec<Vec<Planned>> = Vec::new();
    for section in sections {
        let planned = plan(section, outside, is_lossy);
        match groups.last_mut() {
            Some(group) if !planned.waits => group.push(planned),
            _ => groups.push(vec![planned]),
        }
    }
    groups.into_iter().map(run).collect()
}

fn run(group: Vec<Planned>) -> Run {
    let jobs = group.iter().map(|planned| planned.name.clone()).collect();
    let mut remarks: Vec<(String, Remark)> = Vec::new();
    let mut loads: Vec<(String, Load)> = Vec::new();
    for planned in group {
        remarks.extend(planned.remarks.into_iter().map(|remark| (planned.name.clone(), remark)));
        loads.extend(planned.load.map(|load| (planned.name, load)));
    }
    // What a global section says is said once.
    let mut seen: HashSet<Remark> = HashSet::new();
    remarks.retain(|(_, remark)| seen.insert(remark.clone()));
    let mut run_options = loads.first().map(|(_, load)| load.run.clone()).unwrap_or_default();
    for (name, load) in loads.iter().skip(1) {
        let differences = run_options.join(&load.run);
        remarks.extend(differences.into_iter().map(|why| (name.clone(), unsaid(why))));
    }
    let (lanes, mut options) = lanes(&loads, &mut remarks);
    options.extend(run_options.words());
    Run { jobs, lanes, options, engine: run_options.engine, remarks }
}

impl Remark {
    /// Whether it is about a key by which writes become durable.
    pub fn is_about_durability(&self) -> bool {
        is_about_durability(self.typed.split('=').next().unwrap_or_default())
    }
}

fn unsaid(why: &str) -> Remark {
    Remark { kind: Kind::Unsaid, at: None, typed: String::new(), why: why.into(), nearest: String::new() }
}

/// The targets with all their options, and options of threads that go for the whole run.
fn lanes(loads: &[(String, Load)], remarks: &mut Vec<(String, Remark)>) -> (Vec<Lane>, Vec<String>) {
    let mut lanes: Vec<Lane> = Vec::new();
    let mut run_options = Vec::new();
    for (name, load) in loads {
        let is_pool = load.each_thread > 1 && loads.len() == 1;
        if load.each_thread > 1 {
            let why = if is_pool {
                "fio takes the files of a job in turn, one I/O each; with -F and -O each I/O draws one of all"
            } else {
                "each thread has several files beside other jobs; here every file has threads and depth of its own"
            };
            let kind = if is_pool { Kind::Differs } else { Kind::Unsaid };
            remarks.push((name.clone(), Remark { kind, ..unsaid(why) }));
        }
        for (lane, threads) in &load.lanes {
            let mut lane = lane.clone();
            if !is_pool {
                let depth = (load.depth / load.each_thread).max(1);
                lane.options.extend([format!("-o{depth}"), format!("-t{threads}")]);
            }
            lanes.push(lane);
        }
        if is_pool {
            run_options.extend([format!("-F{}", load.threads), format!("-O{}", load.depth)]);
        }
    }
    // Two parts of a file are parts of one file.
    let mut sizes: HashMap<String, u64> = HashMap::new();
    for (path, size) in lanes.iter().filter_map(|lane| Some((lane.path.clone(), lane.create?))) {
        let largest = sizes.entry(path).or_default();
        *largest = size.max(*largest);
    }
    for lane in &mut lanes {
        let create = lane.create.and_then(|_| sizes.get(&lane.path).copied());
        if lane.base > 0 {
            lane.options.push(format!("-B{}", typed_size(lane.base)));
        }
        if let Some(end) = lane.end.filter(|end| create != Some(*end)) {
            lane.options.push(format!("-f{}", typed_size(end)));
        }
        lane.options.extend(create.map(|create| format!("-c{}", typed_size(create))));
        // As a word of a command line, it must be a path and nothing else.
        if lane.path.starts_with(['-', '#', '*']) {
            lane.path = format!("./{}", lane.path);
        }
    }
    (lanes, run_options)
}

impl RunOptions {
    /// Takes in what another job of the run wants; what does not go together is returned.
    fn join(&mut self, other: &RunOptions) -> Vec<&'static str> {
        let differences = [
            (self.duration_s != other.duration_s, "jobs that run together have one time: the longest"),
            (self.warmup_s != other.warmup_s, "jobs that run together have one warm-up: the longest"),
            (self.seed != other.seed, "jobs that run together have one seed: the first"),
            (
                self.affinity != other.affinity,
                "jobs that run together have one list of processors: the first",
            ),
            (self.engine != other.engine, "jobs that run together have one engine: the first"),
            (self.is_refilled != other.is_refilled, "refill_buffers goes for all jobs that run together"),
        ];
        self.duration_s = self.duration_s.max(other.duration_s);
        self.warmup_s = self.warmup_s.max(other.warmup_s);
        self.is_refilled |= other.is_refilled;
        self.has_latency |= other.has_latency;
        differences.into_iter().filter(|(differs, _)| *differs).map(|(_, why)| why).collect()
    }

    fn words(&self) -> Vec<String> {
        let duration_s = self.duration_s.unwrap_or(DURATION_S);
        let mut words = vec![format!("-d{duration_s}"), format!("-W{}", self.warmup_s)];
        if self.is_refilled {
            words.push("-Zr".into());
        }
        words.extend([&self.seed, &self.affinity].into_iter().filter(|word| !word.is_empty()).cloned());
        if self.has_latency {
            words.push("-L".into());
        }
        words
    }
}

/// A job as far as it can be said.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Planned {
    pub name: String,
    /// Begins when those before it have ended.
    pub waits: bool,
    /// Nothing, when it cannot be said.
    pub load: Option<Load>,
    pub remarks: Vec<Remark>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Load {
    pub lanes: Vec<(Lane, u64)>,
    /// Outstanding I/Os of each thread.
    pub depth: u64,
    pub threads: u64,
    /// Files that each thread works on.
    pub each_thread: u64,
    pub run: RunOptions,
}

/// What goes for all jobs of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct RunOptions {
    pub duration_s: Option<u64>,
    pub warmup_s: u64,
    pub seed: String,
    pub affinity: String,
    pub engine: String,
    pub is_refilled: bool,
    pub has_latency: bool,
}

/// Reads a job. With `is_lossy`, its line may go without what cannot be said.
fn plan(section: &Section, outside: &Outside<'_>, is_lossy: bool) -> Planned {
    let mut job = Job::new(section, is_lossy);
    job.is_si = job.number("kb_base", 1024) == 1000;
    let is_after = job.take("wait_for").inspect(|setting| {
        job.differs(Some(setting), "it waits for all jobs before it, not only for that one");
    });
    let waits = job.flag("stonewall", false) || is_after.is_some() || section.waits;
    let load = load(&mut job, outside);
    job.leave(load.is_some());
    let load = if job.is_lost() { None } else { load };
    Planned { name: job.name.clone(), waits, load, remarks: job.into_remarks() }
}

fn load(job: &mut Job, outside: &Outside<'_>) -> Option<Load> {
    job.forget_dependents();
    // Where the place is not known, files() tells it.
    for key in job.unset().into_iter().filter(|key| !WHERE.contains(key) && !is_about_durability(key)) {
        let setting = job.take(key);
        let name = setting.as_ref().and_then(|setting| setting.unset.clone()).unwrap_or_default();
        job.unsaid(setting.as_ref(), &format!("the variable {name} is not set"), "");
    }
    let engine = engine(job)?;
    let (pattern, mut options) = pattern(job)?;
    let engine = trimming(job, engine, &pattern)?;
    let Files { mut lanes, each_thread, threads } = files(job, engine, &pattern, outside)?;
    let writes_storage = pattern.writes_data() && engine != Engine::Named("null");
    let durability = durability(job, engine, &pattern, writes_storage);
    let depth = depth(job, engine, durability);
    options.extend(caching(job, engine, &pattern, durability));
    if let Some(flush) = durability.flush_every {
        options.extend(["--flush-every".to_string(), flush.to_string()]);
    }
    let (content, is_refilled) = data(job, &pattern);
    options.extend(content);
    let shared = lanes.iter().map(|(_, threads)| *threads).max().unwrap_or(1);
    options.extend(pace(job, &pattern, each_thread, shared));
    for (lane, _) in &mut lanes {
        lane.options.clone_from(&options);
    }
    let has_latency = !(job.flag("gtod_reduce", false) | job.flag("disable_lat", false));
    let run = RunOptions {
        duration_s: duration(job),
        warmup_s: whole_seconds(job, "ramp_time").unwrap_or(0),
        seed: seed(job),
        affinity: affinity(job),
        engine: polling(job, engine, durability),
        is_refilled,
        has_latency,
    };
    Some(Load { lanes, depth, threads, each_thread, run })
}

/// The engine for a job that trims; none where such a line would be refused.
fn trimming(job: &mut Job, engine: Engine, pattern: &Pattern) -> Option<Engine> {
    if pattern.trim_percent == 0 {
        return Some(engine);
    }
    job.forget("hipri");
    match engine {
        Engine::Named("libaio") => {
            job.differs(
                None,
                "libaio cannot trim, so fio makes a system call for each trim; the line uses io_uring, which can trim",
            );
            Some(Engine::Named("io_uring"))
        }
        Engine::Mapped | Engine::Named("nvme") => {
            let why = "this engine cannot trim; the whole job is left out";
            job.impossible(None, why, "--trim with io_uring, threads or psync, on a file or a block device");
            None
        }
        other => Some(other),
    }
}

/// The engine's name, as one that polls where the job says so.
fn polling(job: &mut Job, engine: Engine, durability: Durability) -> String {
    let setting = job.peek("hipri").cloned();
    let polls = job.flag("hipri", false);
    if polls && !matches!(engine, Engine::Named("io_uring" | "nvme")) {
        job.unsaid(setting.as_ref(), "only io_uring and NVMe commands can poll", "--engine io_uring_poll");
    }
    if polls && engine == Engine::Named("io_uring") && durability.flush_every.is_some() {
        job.unsaid(setting.as_ref(), "a polled ring cannot flush", "--engine io_uring");
        return engine.option(false);
    }
    engine.option(polls)
}

fn engine(job: &mut Job) -> Option<Engine> {
    let setting = job.take("ioengine");
    let name = setting.as_ref().and_then(|one| one.value.clone()).unwrap_or_else(|| "psync".into());
    Some(match name.as_str() {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => Engine::Synchronous,
        "mmap" => Engine::Mapped,
        // fio's other names for it.
        name if name == "libaio" || name.starts_with("linuxaio") || name.starts_with("aio") => {
            Engine::Named("libaio")
        }
        "io_uring" => Engine::Named("io_uring"),
        "io_uring_cmd" => {
            if job.peek("cmd_type").is_none_or(|kind| kind.value.is_none() || kind.text() == "nvme") {
                drop(job.take("cmd_type"));
            }
            Engine::Named("nvme")
        }
        "posixaio" => Engine::Named("threads"),
        "null" => Engine::Named("null"),
        "windowsaio" | "solarisaio" | "splice" | "sg" | "libzbc" | "xnvme" | "libblkio" | "libpmem"
        | "dev-dax" | "pmemblk" | "libcufile" | "libhipfile" | "mtd" | "cpp_null" => {
            job.unsaid(setting.as_ref(), "there is no such engine", "the engine is left to diskspd");
            Engine::Other
        }
        _ => {
            let why = "this engine tests no file or device by reads and writes; the whole job is left out";
            job.impossible(setting.as_ref(), why, "");
            return None;
        }
    })
}

fn depth(job: &mut Job, engine: Engine, durability: Durability) -> u64 {
    let setting = job.peek("iodepth").cloned();
    let depth = job.number("iodepth", 1).max(1);
    match engine {
        Engine::Synchronous | Engine::Mapped if depth > 1 => {
            let why = "this engine of fio does one I/O at a time, whatever iodepth says, and so does -o1";
            job.differs(setting.as_ref(), why);
            1
        }
        Engine::Named("libaio") if depth > 1 && durability.flushes_each_write() => {
            job.differs(
                setting.as_ref(),
                "with this engine, fio does nothing else while it flushes, so after each write it waits, whatever \
                 iodepth says, and so does -o1",
            );
            1
        }
        _ => depth,
    }
}

/// Whether I/O goes through the page cache: two keys say so, and the last one counts.
fn is_buffered(job: &mut Job) -> bool {
    let order_of_buffered = job.peek("buffered").map(|setting| setting.order);
    let is_buffered_last = order_of_buffered > job.peek("direct").map(|setting| setting.order);
    let is_direct = job.flag("direct", false);
    let is_buffered = job.flag("buffered", !is_direct);
    if is_buffered_last { is_buffered } else { !is_direct }
}

fn caching(job: &mut Job, engine: Engine, pattern: &Pattern, durability: Durability) -> Option<String> {
    let is_buffered = is_buffered(job);
    let is_mapped = engine == Engine::Mapped;
    // Commands to a device, and no I/O at all, know no page cache.
    let is_cached = is_buffered && !matches!(engine, Engine::Named("nvme" | "null"));
    if !(is_cached && pattern.reads) {
        job.forget("invalidate");
    }
    let invalidate = job.take("invalidate");
    let forgets = invalidate.as_ref().is_none_or(|setting| setting.is_yes() != Some(false));
    if is_cached && forgets && pattern.reads {
        job.differs(
            invalidate.as_ref(),
            "fio drops the file from the page cache before it begins (invalidate=1); a cached run here does not",
        );
    }
    let letters = match (is_mapped, is_buffered, durability.of_each_write) {
        (true, _, false) => "m",
        (true, _, true) => "mw",
        (false, true, false) => return None,
        (false, true, true) => "w",
        (false, false, false) => "u",
        (false, false, true) => "h",
    };
    Some(format!("-S{letters}"))
}

/// A time in whole seconds.
fn whole_seconds(job: &mut Job, key: &str) -> Option<u64> {
    let setting = job.take(key)?;
    let us = setting.time_us(1_000_000);
    match us {
        None => job.unsaid(Some(&setting), "this is no time", ""),
        Some(us) if us % 1_000_000 != 0 => {
            job.differs(Some(&setting), "times are whole seconds: it is rounded up")
        }
        Some(_) => {}
    }
    us.map(|us| us.div_ceil(1_000_000)).filter(|seconds| *seconds > 0)
}

fn duration(job: &mut Job) -> Option<u64> {
    let runtime = job.peek("runtime").cloned();
    let is_by_time = job.flag("time_based", false);
    let seconds = whole_seconds(job, "runtime");
    if is_by_time && seconds.is_some() {
        job.forget("loops");
    }
    match seconds {
        None => job.differs(
            None,
            "fio ends when it has done the whole size; a run here has a time, and the job says none: -d10",
        ),
        Some(_) if !is_by_time => {
            job.differs(
                runtime.as_ref(),
                "fio ends earlier when it has done the whole size (no time_based); here the time decides",
            );
        }
        Some(_) => {}
    }
    seconds
}

fn seed(job: &mut Job) -> String {
    let is_repeated = job.flag("randrepeat", true);
    if let Some(setting) = job.take("randseed") {
        match setting.value.as_deref().and_then(|text| text.parse::<u32>().ok()) {
            Some(seed) => return format!("-z{seed}"),
            None => job.unsaid(Some(&setting), "seeds are whole numbers of 32 bits", "-z<seed>"),
        }
    }
    if is_repeated { String::new() } else { "-z".into() }
}

/// Where threads run. fio leaves it to the kernel, and DiskSpd binds each to a processor.
fn affinity(job: &mut Job) -> String {
    let policy = job.take("cpus_allowed_policy").and_then(|one| one.value);
    let Some(setting) = job.take("cpus_allowed") else { return "-n".into() };
    let list = setting.text();
    let Some(numbers) = list.split(',').map(processors).collect::<Option<Vec<String>>>() else {
        job.unsaid(Some(&setting), "this is no list of processors", "-a<list>");
        return "-n".into();
    };
    if policy.as_deref() != Some("split") && list.contains([',', '-']) {
        let why = "fio lets every thread run on all of them; -a gives one to each thread in turn";
        job.differs(Some(&setting), why);
    }
    format!("-a{}", numbers.join(","))
}

/// One processor, or several in a row.
fn processors(part: &str) -> Option<String> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    match first.cmp(&last) {
        std::cmp::Ordering::Greater => None,
        std::cmp::Ordering::Equal => Some(first.to_string()),
        std::cmp::Ordering::Less => Some(format!("{first}-{last}")),
    }
}
