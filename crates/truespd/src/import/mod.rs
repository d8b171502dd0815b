//! Job files of fio as lines of `diskspd`.
//!
//! Text in, words out: this room opens nothing. It makes the options of each target and of each run; the
//! command line's own parser reads them, so that a line and a profile of the same job cannot differ.
//!
//! Nothing is dropped in silence. A key of the job file becomes a word, needs none, or leaves a [`Remark`].

mod files;
mod ini;
mod keys;
mod load;
mod pattern;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use load::{Load, Planned, RunOptions, plan};
use truespd_core::text::typed_size;

pub use files::Lane;
pub use ini::{At, Included, NoJobFile, Outside};
pub use keys::{Kind, Remark};

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
    let mut run_options = loads.first().map(|(_, load)| load.run.clone()).unwrap_or_default();
    for (name, load) in loads.iter().skip(1) {
        let differences = run_options.join(&load.run);
        remarks.extend(differences.into_iter().map(|why| (name.clone(), unsaid(why))));
    }
    let (lanes, mut options) = lanes(&loads, &mut remarks);
    options.extend(run_options.words());
    Run { jobs, lanes, options, engine: run_options.engine, remarks }
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
