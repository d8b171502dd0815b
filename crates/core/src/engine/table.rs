//! The table of engines, which one a worker gets, and the engine of a worker, of whatever kind.

use std::time::Duration;

use super::nvme::{self, Nvme};
use super::sim::{self, Null};
use super::transfer::{self, Psync};
use super::uring::{self, Uring};
use super::{Completion, Engine, EngineError, EngineFile, Io, Result, Setup, aio, mmap, ring, threads};
use truespd_platform::sys::file::is_direct;

/// An engine of any kind.
///
/// Those that most I/Os go through are told by name, so that the compiler can put their system calls into the
/// worker's loop: a function that returns behind a system call cost 0.5 us per direct read
/// (`docs/design/hot-path.md`, "No return behind the system call").
#[derive(Debug)]
pub struct AnyEngine(Kind);

#[derive(Debug)]
enum Kind {
    Psync(Box<Psync>),
    Uring(Box<Uring>),
    Nvme(Box<Nvme>),
    Null(Box<Null>),
    Other(Box<dyn Engine>),
}

impl AnyEngine {
    /// Of a kind that is not told by name.
    pub fn new(engine: impl Engine + 'static) -> AnyEngine {
        AnyEngine(Kind::Other(Box::new(engine)))
    }

    fn get(&self) -> &dyn Engine {
        match &self.0 {
            Kind::Psync(engine) => &**engine,
            Kind::Uring(engine) => &**engine,
            Kind::Nvme(engine) => &**engine,
            Kind::Null(engine) => &**engine,
            Kind::Other(engine) => &**engine,
        }
    }

    fn get_mut(&mut self) -> &mut dyn Engine {
        match &mut self.0 {
            Kind::Psync(engine) => &mut **engine,
            Kind::Uring(engine) => &mut **engine,
            Kind::Nvme(engine) => &mut **engine,
            Kind::Null(engine) => &mut **engine,
            Kind::Other(engine) => &mut **engine,
        }
    }
}

/// An opened engine.
#[derive(Debug)]
pub struct Opened {
    /// The engine.
    pub engine: AnyEngine,
    /// Steps down taken inside the engine, in words, e.g. "buffers not registered: locked-memory
    /// limit of 64 KiB". Empty when nothing was given up.
    pub notes: Vec<String>,
}

impl Engine for AnyEngine {
    fn submit(&mut self, ios: &[Io]) -> Result {
        self.get_mut().submit(ios)
    }

    fn reap(&mut self, min: u32, max: u32, timeout: Option<Duration>, done: &mut Vec<Completion>) -> Result {
        self.get_mut().reap(min, max, timeout, done)
    }

    #[inline(always)]
    fn exchange(
        &mut self,
        ios: &[Io],
        min: u32,
        max: u32,
        timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result {
        match &mut self.0 {
            Kind::Psync(engine) => engine.exchange(ios, min, max, timeout, done),
            Kind::Uring(engine) => engine.exchange(ios, min, max, timeout, done),
            Kind::Nvme(engine) => engine.exchange(ios, min, max, timeout, done),
            Kind::Null(engine) => engine.exchange(ios, min, max, timeout, done),
            Kind::Other(engine) => engine.exchange(ios, min, max, timeout, done),
        }
    }

    fn in_flight(&self) -> u32 {
        self.get().in_flight()
    }

    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32 {
        self.get_mut().drain(limit, done)
    }

    fn is_inline(&self) -> bool {
        self.get().is_inline()
    }

    fn copies(&self) -> bool {
        self.get().copies()
    }

    fn submits(&self) -> Option<u64> {
        self.get().submits()
    }

    fn virtual_now_ns(&self) -> Option<u64> {
        self.get().virtual_now_ns()
    }

    fn advance_virtual(&mut self, now_ns: u64) {
        self.get_mut().advance_virtual(now_ns);
    }
}

/// A row of the table of engines.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy)]
pub struct EngineRow {
    /// Name for `--engine`.
    pub name: &'static str,
    pub summary: &'static str,
    /// What it needs, for help; empty when nothing.
    pub needs: &'static str,
    /// Several I/Os can be in flight.
    pub asynchronous: bool,
    /// Submitting blocks on files that were not opened for direct I/O, so that the ladder passes the
    /// engine over for them.
    pub needs_direct: bool,
    /// Reads and writes the files; false for engines that measure or imitate without touching them.
    pub moves_data: bool,
    /// Sends NVMe commands to character devices of namespaces, and serves nothing else. Nothing else serves those.
    pub sends_commands: bool,
    /// Time is simulated: a run takes no real time.
    pub simulates_time: bool,
    /// Threads ask for completions all the time, and keep their processors busy.
    pub polls: bool,
    /// It has an operation that trims (`--trim`), of everything that it serves but some devices.
    pub trims: bool,
    /// Outstanding I/Os that it takes for one thread; `u32::MAX` when it sets no limit.
    pub depth_max: u32,
    /// Tells why it cannot be used on this machine, without side effects.
    pub probe: fn() -> Result,
    pub open: fn(Setup) -> Result<Opened>,
}

/// Every engine, for `--engine`, its help, plan checks and the conformance suite.
pub const TABLE: &[EngineRow] =
    &[IO_URING, IO_URING_POLL, NVME, NVME_POLL, LIBAIO, THREADS, PSYNC, MMAP, NULL, SIM];

/// What a worker with several outstanding I/Os gets: the first of these that the machine offers.
pub const LADDER: &[EngineRow] = &[IO_URING, LIBAIO, THREADS];

const PLAIN: EngineRow = EngineRow {
    name: "",
    summary: "",
    needs: "",
    asynchronous: true,
    needs_direct: false,
    moves_data: true,
    sends_commands: false,
    simulates_time: false,
    polls: false,
    trims: false,
    depth_max: u32::MAX,
    probe: || Ok(()),
    open: |_| unreachable!("every row has its own"),
};

const IO_URING: EngineRow = EngineRow {
    name: ring::NAME,
    summary: "one ring per thread; the default for several outstanding I/Os",
    needs: "Linux 5.11, not turned off by sysctl kernel.io_uring_disabled or a container's system-call filter",
    trims: true,
    depth_max: ring::DEPTH_MAX,
    probe: ring::probe,
    open: |setup| opened(uring::open(setup), Kind::Uring),
    ..PLAIN
};

const IO_URING_POLL: EngineRow = EngineRow {
    name: ring::POLLED_NAME,
    summary: "io_uring that asks the device for completions instead of waiting for interrupts; keeps processors busy",
    needs: "direct I/O (-Su, -Sh) and a device with poll queues (queue/io_poll is 1; NVMe: nvme.poll_queues=N)",
    needs_direct: true,
    polls: true,
    trims: false,
    open: |setup| opened(uring::open_polled(setup), Kind::Uring),
    ..IO_URING
};

const NVME: EngineRow = EngineRow {
    name: nvme::NAME,
    summary: "NVMe commands past the block layer, through io_uring; the default for /dev/ngXnY",
    needs: nvme::NEEDS,
    sends_commands: true,
    trims: true,
    depth_max: ring::DEPTH_MAX,
    probe: nvme::probe,
    open: |setup| opened(nvme::open(setup), Kind::Nvme),
    ..PLAIN
};

const NVME_POLL: EngineRow = EngineRow {
    name: nvme::POLLED_NAME,
    summary: "nvme that asks the drive for completions instead of waiting for interrupts; keeps processors busy",
    needs: "/dev/ngXnY as nvme does, Linux 6.6, and poll queues (queue/io_poll is 1: nvme.poll_queues=N)",
    polls: true,
    probe: nvme::probe_polled,
    open: |setup| opened(nvme::open_polled(setup), Kind::Nvme),
    ..NVME
};

const LIBAIO: EngineRow = EngineRow {
    name: aio::NAME,
    summary: "Linux native asynchronous I/O, for kernels without io_uring",
    needs: "direct I/O (-Su, -Sh) to be asynchronous; room below sysctl fs.aio-max-nr",
    needs_direct: true,
    depth_max: aio::DEPTH_MAX,
    probe: aio::probe,
    open: |setup| other(aio::open(setup)),
    ..PLAIN
};

const THREADS: EngineRow = EngineRow {
    name: threads::NAME,
    summary: "one helper thread per outstanding I/O, each with pread and pwrite",
    trims: true,
    depth_max: threads::DEPTH_MAX,
    open: |setup| other(threads::open(setup)),
    ..PLAIN
};

const PSYNC: EngineRow = EngineRow {
    name: transfer::NAME,
    summary: "pread and pwrite, one I/O at a time; the default for one outstanding I/O",
    asynchronous: false,
    trims: true,
    open: |setup| opened(transfer::open(setup), Kind::Psync),
    ..PLAIN
};

const MMAP: EngineRow = EngineRow {
    name: mmap::NAME,
    summary: "copies to and from the mapped file (-Sm), one I/O at a time",
    needs: "regular files",
    asynchronous: false,
    open: |setup| other(mmap::open(setup)),
    ..PLAIN
};

const NULL: EngineRow = EngineRow {
    name: sim::NULL_NAME,
    summary: "every I/O is finished at once, nothing is read or written: measures the tool itself",
    moves_data: false,
    trims: true,
    open: |setup| opened(sim::open_null(setup), Kind::Null),
    ..PLAIN
};

const SIM: EngineRow = EngineRow {
    name: sim::NAME,
    summary: "a simulated device with its own clock, for tests: sim:latency=100us,channels=8,seed=7",
    moves_data: false,
    trims: true,
    simulates_time: true,
    open: |setup| other(sim::open(setup)),
    ..PLAIN
};

fn opened<E>(engine: Result<(E, Vec<String>)>, kind: fn(Box<E>) -> Kind) -> Result<Opened> {
    engine.map(|(engine, notes)| Opened { engine: AnyEngine(kind(Box::new(engine))), notes })
}

fn other(engine: Result<(impl Engine + 'static, Vec<String>)>) -> Result<Opened> {
    engine.map(|(engine, notes)| Opened { engine: AnyEngine::new(engine), notes })
}

/// The engine of that name.
pub fn find(name: &str) -> Option<&'static EngineRow> {
    TABLE.iter().find(|row| row.name == name)
}

/// The engine that a target of NVMe commands gets when none was named.
pub fn of_commands() -> &'static EngineRow {
    &NVME
}

/// Whether `io_uring` trims block devices on this machine.
///
/// # Errors
/// Why not, and what to use instead.
pub fn ring_trims_devices() -> Result {
    uring::can_trim_devices()
}

/// The first engine of [`LADDER`] that this machine offers: what [`open_ladder`] will open for several
/// outstanding I/Os, unless something else stands against it.
pub fn likely(all_direct: bool) -> &'static EngineRow {
    LADDER
        .iter()
        .find(|row: &&EngineRow| (all_direct || !row.needs_direct) && (row.probe)().is_ok())
        .unwrap_or(&LADDER[0])
}

/// Checks the text after the colon of `--engine NAME:...` before anything is touched.
///
/// # Errors
/// What is wrong with it and what is legal.
pub fn check_parameters(row: &EngineRow, parameters: &str) -> Result {
    if row.simulates_time {
        return sim::check_parameters(parameters);
    }
    if parameters.is_empty() {
        return Ok(());
    }
    Err(EngineError::Setup {
        engine: row.name,
        action: format!("reading the parameters '{parameters}'"),
        error: "this engine has no parameters".into(),
    })
}

/// Opens the engine a worker gets when none was named: `mmap` for mapped files, `psync` for one
/// outstanding I/O, otherwise the first of [`LADDER`] that the machine offers, with the reason of every
/// step down in the notes. Mapped and unmapped files together get both.
///
/// # Errors
/// What the chosen engine refuses for reasons that another would meet as well.
pub fn open_ladder(setup: Setup) -> Result<(&'static EngineRow, Opened)> {
    let ladder = if setup.depth <= 1 { std::slice::from_ref(&PSYNC) } else { LADDER };
    with_mapped(setup, |setup| step_down(ladder, setup))
}

/// Opens the engine that was asked for by name. Mapped files are mapped all the same, unless the engine
/// is one that touches no files.
///
/// # Errors
/// What the engine refuses; an engine that was asked for is not replaced by another.
pub fn open(row: &'static EngineRow, setup: Setup) -> Result<(&'static EngineRow, Opened)> {
    if !row.moves_data || row.name == mmap::NAME {
        return (row.open)(setup).map(|opened| (row, opened));
    }
    with_mapped(setup, |setup| (row.open)(setup).map(|opened| (row, opened)))
}

/// Lets `choose` open the engine for files that are not mapped, if there are any.
fn with_mapped(
    setup: Setup,
    choose: impl FnOnce(Setup) -> Result<(&'static EngineRow, Opened)>,
) -> Result<(&'static EngineRow, Opened)> {
    let mapped = setup.files.iter().filter(|f| f.map.is_some()).count();
    if mapped == 0 {
        return choose(setup);
    }
    if mapped == setup.files.len() {
        return (MMAP.open)(setup).map(|opened| (&MMAP, opened));
    }
    let inline = other(mmap::open_mapped(setup.clone()))?;
    let (files, depth) = (setup.files.clone(), setup.depth);
    let (row, rest) = choose(setup)?;
    let mut notes = inline.notes;
    notes.push(format!("mapped targets are served by {}, the others by {}", MMAP.name, row.name));
    notes.extend(rest.notes);
    let engine = Mixed::new(&files, depth, inline.engine, rest.engine);
    Ok((row, Opened { engine: AnyEngine::new(engine), notes }))
}

/// Opens the first of `rows` that is available; the reason of every step is put before its notes.
///
/// # Errors
/// The last row's, when none is available; at once any error that another engine would meet as well.
pub fn step_down(rows: &'static [EngineRow], setup: Setup) -> Result<(&'static EngineRow, Opened)> {
    let all_direct = setup.files.iter().all(|f| f.map.is_some() || is_direct(f.handle.file()));
    let mut steps = Vec::new();
    let mut last = None;
    for row in rows {
        if row.needs_direct && !all_direct {
            steps.push(format!(
                "{} not used: it would block, because not every target is opened for direct I/O",
                row.name
            ));
            continue;
        }
        if setup.trims && !row.trims {
            steps.push(format!("{} not used: it cannot trim", row.name));
            continue;
        }
        match (row.open)(setup.clone()) {
            Ok(mut opened) => {
                steps.append(&mut opened.notes);
                return Ok((row, Opened { engine: opened.engine, notes: steps }));
            }
            Err(error @ EngineError::Unavailable { .. }) => {
                if let EngineError::Unavailable { engine, reason, .. } = &error {
                    steps.push(format!("{engine} not used: {reason}"));
                }
                last = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| EngineError::Unavailable {
        engine: rows.last().map_or("engine", |row| row.name),
        reason: steps.join("; "),
        advice: "Use another engine (--engine)".into(),
    }))
}

// Mapped and unmapped files in one thread, as XML profiles can ask for: I/Os on mapped files finish
// inline, the others go through the engine the ladder chose (`io-semantics.md` §16).

#[derive(Debug)]
struct Mixed {
    is_mapped: Vec<bool>,
    mapped: AnyEngine,
    other: AnyEngine,
    /// Scratch for the part of a batch that goes to `other`.
    batch: Vec<Io>,
}

impl Mixed {
    /// Both engines know all files under the same numbers.
    fn new(files: &[EngineFile], depth: u32, mapped: AnyEngine, other: AnyEngine) -> Self {
        let is_mapped = files.iter().map(|f| f.map.is_some()).collect();
        Mixed { is_mapped, mapped, other, batch: Vec::with_capacity(depth as usize) }
    }
}

impl Engine for Mixed {
    fn submit(&mut self, ios: &[Io]) -> Result {
        // The others first: they progress while the worker copies.
        self.batch.clear();
        self.batch.extend(ios.iter().filter(|io| !self.is_mapped[io.file as usize]));
        if !self.batch.is_empty() {
            self.other.submit(&self.batch)?;
        }
        for io in ios.iter().filter(|io| self.is_mapped[io.file as usize]) {
            self.mapped.submit(std::slice::from_ref(io))?;
        }
        Ok(())
    }

    fn reap(&mut self, min: u32, max: u32, timeout: Option<Duration>, done: &mut Vec<Completion>) -> Result {
        let before = done.len();
        self.mapped.reap(0, max, None, done)?;
        let had = (done.len() - before) as u32;
        // Also with nothing left to want: `other` may hold I/Os back for this call.
        self.other.reap(min.saturating_sub(had), max - had, timeout, done)
    }

    fn in_flight(&self) -> u32 {
        self.mapped.in_flight() + self.other.in_flight()
    }

    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32 {
        self.mapped.drain(limit, done) + self.other.drain(limit, done)
    }

    fn is_inline(&self) -> bool {
        self.other.is_inline()
    }

    fn copies(&self) -> bool {
        self.mapped.copies() || self.other.copies()
    }
}
