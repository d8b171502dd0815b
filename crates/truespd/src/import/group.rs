//! Jobs that run at the same time to one run of `diskspd`.

use std::collections::{HashMap, HashSet};

use super::ini::{self, NoJobFile, Outside};
use super::job::{Kind, Remark};
use super::lane::Lane;
use super::load::{Load, OfRun, Planned, plan};
use truespd_core::text::typed_size;

/// What a run lasts when no job says it: as in DiskSpd.
const DURATION_S: u64 = 10;

/// Jobs that run at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Run {
    /// Names of the jobs.
    pub jobs: Vec<String>,
    /// The targets; none when no job can be said.
    pub lanes: Vec<Lane>,
    /// Options of the whole run, without the engine.
    pub options: Vec<String>,
    /// The engine, or nothing.
    pub engine: String,
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
        let paths = self.lanes.iter().map(|lane| lane.path.clone());
        Some(
            first
                .options
                .iter()
                .chain(&self.options)
                .cloned()
                .chain(self.engine_words())
                .chain(paths)
                .collect(),
        )
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

/// Reads a job file: its runs, one after the other. A job whose writes become durable in a way that cannot be
/// said is left out, unless `is_lossy`.
///
/// # Errors
/// It is no job file.
pub fn import(file: &str, text: &str, outside: &Outside<'_>, is_lossy: bool) -> Result<Vec<Run>, NoJobFile> {
    let mut groups: Vec<Vec<Planned>> = Vec::new();
    for section in ini::read(file, text, outside)? {
        let planned = plan(&section, is_lossy);
        match groups.last_mut() {
            Some(group) if !planned.waits => group.push(planned),
            _ => groups.push(vec![planned]),
        }
    }
    Ok(groups.into_iter().map(run).collect())
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
    let mut of_run = OfRun::default();
    for (at, (name, load)) in loads.iter().enumerate() {
        let told = of_run.join(&load.run, at == 0);
        remarks.extend(told.into_iter().map(|why| (name.clone(), unsaid(why))));
    }
    let (lanes, mut options) = lanes(&loads, &mut remarks);
    options.extend(of_run.options());
    Run { jobs, lanes, options, engine: of_run.engine, remarks }
}

fn unsaid(why: &str) -> Remark {
    Remark { kind: Kind::Unsaid, at: None, typed: String::new(), why: why.into(), nearest: String::new() }
}

/// The targets with all their options, and options of threads that go for the whole run.
fn lanes(loads: &[(String, Load)], remarks: &mut Vec<(String, Remark)>) -> (Vec<Lane>, Vec<String>) {
    let mut lanes: Vec<Lane> = Vec::new();
    let mut of_run = Vec::new();
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
            of_run.extend([format!("-F{}", load.threads), format!("-O{}", load.depth)]);
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
    (lanes, of_run)
}

impl OfRun {
    /// Takes in what another job of the run wants; what does not go together is told.
    fn join(&mut self, other: &OfRun, is_first: bool) -> Vec<&'static str> {
        if is_first {
            *self = other.clone();
            return Vec::new();
        }
        let mut told = Vec::new();
        let mut check = |differs: bool, why: &'static str| {
            if differs {
                told.push(why);
            }
        };
        check(self.duration_s != other.duration_s, "jobs that run together have one time: the longest");
        check(self.warmup_s != other.warmup_s, "jobs that run together have one warm-up: the longest");
        check(self.seed != other.seed, "jobs that run together have one seed: the first");
        check(
            self.affinity != other.affinity,
            "jobs that run together have one list of processors: the first",
        );
        check(self.engine != other.engine, "jobs that run together have one engine: the first");
        check(self.is_refilled != other.is_refilled, "refill_buffers goes for all jobs that run together");
        self.duration_s = self.duration_s.max(other.duration_s);
        self.warmup_s = self.warmup_s.max(other.warmup_s);
        self.is_refilled |= other.is_refilled;
        self.has_latency |= other.has_latency;
        told
    }

    fn options(&self) -> Vec<String> {
        let mut options =
            vec![format!("-d{}", self.duration_s.unwrap_or(DURATION_S)), format!("-W{}", self.warmup_s)];
        options.extend(self.is_refilled.then(|| "-Zr".to_string()));
        options.extend([&self.seed, &self.affinity].into_iter().filter(|word| !word.is_empty()).cloned());
        options.extend(self.has_latency.then(|| "-L".to_string()));
        options
    }
}
