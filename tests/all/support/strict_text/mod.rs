//! A strict reader of DiskSpd 2.2 text results.
//!
//! Every line must be the one the format asks for at that place, to the last blank; then the figures
//! must agree with each other (`checks`). Nothing of the code under test is used, so that a mistake
//! there cannot hide here.

mod checks;
mod cursor;
mod parameters;
mod results;

use std::fmt;

use cursor::Lines;

/// The first thing that is wrong with a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Line number from 1.
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

pub type Outcome<T> = Result<T, Fault>;

/// A SIZE as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeText {
    pub bytes: f64,
    /// Written without decimals.
    pub exact: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProfileText {
    pub command_line: String,
    pub experiment_flags: Option<u64>,
    pub verbose: bool,
    pub spans: Vec<SpanText>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SpanText {
    pub duration_s: u64,
    pub warmup_s: u64,
    pub cooldown_s: u64,
    pub affinity_disabled: bool,
    pub latency: bool,
    pub interval_ms: Option<u64>,
    pub seed: u64,
    /// Threads and requests of the pool.
    pub pool: Option<(u64, u64)>,
    pub affinity: Vec<(u64, u64)>,
    pub random_write_data: bool,
    pub targets: Vec<TargetText>,
}

impl SpanText {
    /// `-F` with `-O`.
    pub fn has_request_pool(&self) -> bool {
        self.pool.is_some_and(|(_, requests)| requests > 0)
    }

    pub fn threads(&self) -> u64 {
        match self.pool {
            Some((threads, _)) => threads,
            None => self.targets.iter().filter_map(|t| t.threads).sum(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct TargetText {
    pub path: String,
    pub is_template: bool,
    /// The remaining lines, in order and as written, without tabs.
    pub lines: Vec<String>,
    pub write_percent: u64,
    pub block: SizeText,
    pub outstanding: Option<u64>,
    pub weight: Option<u64>,
    pub threads: Option<u64>,
    pub has_distribution: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SystemText {
    pub computer_name: String,
    pub start_time: String,
    pub cpus: u64,
    pub cores: u64,
    pub groups: u64,
    pub nodes: u64,
    pub sockets: u64,
    pub heterogeneous: bool,
    pub power_scheme: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CpuRow {
    pub line: usize,
    pub socket: Option<u64>,
    pub node: Option<u64>,
    pub group: Option<u64>,
    pub core: Option<u64>,
    pub class: Option<(u64, bool)>,
    pub cpu: u64,
    /// Usage, user, kernel, idle.
    pub percent: [f64; 4],
}

#[derive(Debug, Clone, PartialEq)]
pub struct RangeText {
    pub line: usize,
    pub share: f64,
    /// Share written with a decimal: the list was cut short.
    pub scaled: bool,
    pub first: SizeText,
    /// `None` = `end`.
    pub end: Option<SizeText>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DistributionGroup {
    pub line: usize,
    pub users: Vec<(String, Vec<u64>)>,
    pub ranges: Vec<RangeText>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub line: usize,
    /// `None` in the total row.
    pub thread: Option<u64>,
    pub bytes: u64,
    pub ios: u64,
    pub mib_per_s: f64,
    pub ios_per_s: f64,
    pub latency_mean: Option<f64>,
    pub iops_dev: Option<f64>,
    /// Inner `None` = `N/A`.
    pub latency_dev: Option<Option<f64>>,
    /// Empty in the total row.
    pub path: String,
    pub size: Option<SizeText>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub rows: Vec<Row>,
    pub total: Row,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    pub line: usize,
    /// `None` = the chart over everything.
    pub path: Option<String>,
    /// Read, write and total of each of the 15 rows; `None` = `N/A`.
    pub cells: Vec<[Option<f64>; 3]>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WaitRow {
    pub line: usize,
    pub thread: u64,
    pub completion_waits: u64,
    pub throttle_waits: u64,
    pub throttle_sleeps: u64,
    pub lookasides: u64,
    pub found: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ResultText {
    pub line: usize,
    pub time_s: f64,
    pub threads: u64,
    pub requests: Option<u64>,
    pub cpu: Vec<CpuRow>,
    pub cpu_mean: [f64; 4],
    pub distributions: Vec<DistributionGroup>,
    /// Total, read, write.
    pub tables: [Table; 3],
    pub charts: Vec<Chart>,
    pub waits: Option<Vec<WaitRow>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TotalsText {
    pub line: usize,
    /// Write, read, total: bytes, I/Os, MiB/s, I/Os per second.
    pub rows: [(u64, u64, f64, f64); 3],
    pub time_s: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    pub profile: ProfileText,
    pub system: SystemText,
    /// `None` = interrupted before the measurements began.
    pub results: Vec<Option<ResultText>>,
    pub totals: Option<TotalsText>,
}

/// The beginning of a document. Many documents that begin alike are read on from here, without reading it again.
#[derive(Debug, Clone)]
pub struct Begun {
    profile: ProfileText,
    system: SystemText,
    results: Vec<Option<ResultText>>,
    /// Lines read.
    lines: usize,
}

impl Begun {
    fn new(lines: &mut Lines) -> Outcome<Self> {
        let profile = parameters::profile(lines)?;
        let system = parameters::system(lines)?;
        Ok(Begun { profile, system, results: Vec::new(), lines: lines.number() })
    }

    /// The rest of the document, whole.
    pub fn parse_rest(&self, rest: &str) -> Outcome<Parsed> {
        self.read_on(&mut Lines::after_line(self.lines, rest)?)
    }

    fn read_on(&self, lines: &mut Lines) -> Outcome<Parsed> {
        let mut found = Vec::new();
        for (index, span) in self.profile.spans.iter().enumerate().skip(self.results.len()) {
            found.push(results::block(lines, index + 1, span, &self.system)?);
        }
        let totals = if self.profile.spans.len() > 1 { Some(results::totals(lines)?) } else { None };
        lines.end()?;
        let Begun { profile, system, results, .. } = self.clone();
        let parsed = Parsed { profile, system, results: [results, found].concat(), totals };
        checks::document(&parsed)?;
        Ok(parsed)
    }
}

/// Reads a whole document.
pub fn parse(text: &str) -> Outcome<Parsed> {
    let mut lines = Lines::new(text)?;
    Begun::new(&mut lines)?.read_on(&mut lines)
}

/// The document as read before each of its results blocks, with the number of bytes before the block.
pub fn before_blocks(text: &str) -> Outcome<Vec<(usize, Begun)>> {
    let mut lines = Lines::new(text)?;
    let mut begun = Begun::new(&mut lines)?;
    let bytes = |lines: usize| text.split_inclusive('\n').take(lines).map(str::len).sum();
    let mut found = Vec::new();
    for index in 0..begun.profile.spans.len() {
        found.push((bytes(begun.lines), begun.clone()));
        let block = results::block(&mut lines, index + 1, &begun.profile.spans[index], &begun.system)?;
        begun.results.push(block);
        begun.lines = lines.number();
    }
    Ok(found)
}

/// Reads what `-Rp` prints.
pub fn parse_profile(text: &str) -> Outcome<ProfileText> {
    let mut lines = Lines::new(text)?;
    let profile = parameters::profile(&mut lines)?;
    lines.end()?;
    Ok(profile)
}

/// Reads what `-Rs` prints.
pub fn parse_system(text: &str) -> Outcome<SystemText> {
    let mut lines = Lines::new(text)?;
    let system = parameters::system(&mut lines)?;
    lines.end()?;
    Ok(system)
}
