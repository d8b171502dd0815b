//! The table of engines, and which one a worker gets.

use std::time::Duration;

use super::{
    AnyEngine, Completion, Engine, EngineError, EngineFile, EngineRow, Io, Opened, Setup, aio, mmap, null,
    nvme, psync, ring, sim, threads, uring,
};
use crate::sys::file::is_direct;

/// Every engine, for `--engine`, its help, plan checks and the conformance suite.
pub const TABLE: &[EngineRow] =
    &[IO_URING, IO_URING_POLL, NVME, NVME_POLL, LIBAIO, THREADS, PSYNC, MMAP, NULL, SIM];

/// What a worker with several outstanding I/Os gets: the first of these that the machine offers.
pub const LADDER: &[EngineRow] = &[IO_URING, LIBAIO, THREADS];

const IO_URING: EngineRow = EngineRow {
    name: ring::NAME,
    summary: "one ring per thread; the default for several outstanding I/Os",
    needs: "Linux 5.11, not turned off by sysctl kernel.io_uring_disabled or a container's system-call filter",
    asynchronous: true,
    needs_direct: false,
    moves_data: true,
    sends_commands: false,
    simulates_time: false,
    polls: false,
    depth_max: ring::DEPTH_MAX,
    probe: ring::probe,
    open: |setup| uring::open(setup).map(|(engine, notes)| Opened { engine: engine.into(), notes }),
};

const IO_URING_POLL: EngineRow = EngineRow {
    name: ring::POLLED_NAME,
    summary: "io_uring that asks the device for completions instead of waiting for interrupts; keeps processors busy",
    needs: "direct I/O (-Su, -Sh) and a device with poll queues (queue/io_poll is 1; NVMe: nvme.poll_queues=N)",
    asynchronous: true,
    needs_direct: true,
    moves_data: true,
    sends_commands: false,
    simulates_time: false,
    polls: true,
    depth_max: ring::DEPTH_MAX,
    probe: ring::probe,
    open: |setup| uring::open_polled(setup).map(|(engine, notes)| Opened { engine: engine.into(), notes }),
};

const NVME: EngineRow = EngineRow {
    name: nvme::NAME,
    summary: "NVMe commands past the block layer, through io_uring; the default for /dev/ngXnY",
    needs: nvme::NEEDS,
    asynchronous: true,
    needs_direct: false,
    moves_data: true,
    sends_commands: true,
    simulates_time: false,
    polls: false,
    depth_max: ring::DEPTH_MAX,
    probe: nvme::probe,
    open: |setup| nvme::open(setup).map(|(engine, notes)| Opened { engine: engine.into(), notes }),
};

const NVME_POLL: EngineRow = EngineRow {
    name: nvme::POLLED_NAME,
    summary: "nvme that asks the drive for completions instead of waiting for interrupts; keeps processors busy",
    needs: "/dev/ngXnY as nvme does, Linux 6.6, and poll queues (queue/io_poll is 1: nvme.poll_queues=N)",
    asynchronous: true,
    needs_direct: false,
    moves_data: true,
    sends_commands: true,
    simulates_time: false,
    polls: true,
    depth_max: ring::DEPTH_MAX,
    probe: nvme::probe_polled,
    open: |setup| nvme::open_polled(setup).map(|(engine, notes)| Opened { engine: engine.into(), notes }),
};

const LIBAIO: EngineRow = EngineRow {
    name: aio::NAME,
    summary: "Linux native asynchronous I/O, for kernels without io_uring",
    needs: "direct I/O (-Su, -Sh) to be asynchronous; room below sysctl fs.aio-max-nr",
    asynchronous: true,
    needs_direct: true,
    moves_data: true,
    sends_commands: false,
    simulates_time: false,
    polls: false,
    depth_max: aio::DEPTH_MAX,
    probe: aio::probe,
    open: aio::open,
};

const THREADS: EngineRow = EngineRow {
    name: threads::NAME,
    summary: "one helper thread per outstanding I/O, each with pread and pwrite",
    needs: "",
    asynchronous: true,
    needs_direct: false,
    moves_data: true,
    sends_commands: false,
    simulates_time: false,
    polls: false,
    depth_max: threads::DEPTH_MAX,
    probe: || Ok(()),
    open: threads::open,
};

const PSYNC: EngineRow = EngineRow {
    name: psync::NAME,
    summary: "pread and pwrite, one I/O at a time; the default for one outstanding I/O",
    needs: "",
    asynchronous: false,
    needs_direct: false,
    moves_data: true,
    sends_commands: false,
    simulates_time: false,
    polls: false,
    depth_max: u32::MAX,
    probe: || Ok(()),
    open: |setup| psync::open(setup).map(|engine| Opened { engine: engine.into(), notes: Vec::new() }),
};

const MMAP: EngineRow = EngineRow {
    name: mmap::NAME,
    summary: "copies to and from the mapped file (-Sm), one I/O at a time",
    needs: "regular files",
    asynchronous: false,
    needs_direct: false,
    moves_data: true,
    sends_commands: false,
    simulates_time: false,
    polls: false,
    depth_max: u32::MAX,
    probe: || Ok(()),
    open: mmap::open,
};

const NULL: EngineRow = EngineRow {
    name: null::NAME,
    summary: "every I/O is finished at once, nothing is read or written: measures the tool itself",
    needs: "",
    asynchronous: true,
    needs_direct: false,
    moves_data: false,
    sends_commands: false,
    simulates_time: false,
    polls: false,
    depth_max: u32::MAX,
    probe: || Ok(()),
    open: |setup| null::open(setup).map(|engine| Opened { engine: engine.into(), notes: Vec::new() }),
};

const SIM: EngineRow = EngineRow {
    name: sim::NAME,
    summary: "a simulated device with its own clock, for tests: sim:latency=100us,channels=8,seed=7",
    needs: "",
    asynchronous: true,
    needs_direct: false,
    moves_data: false,
    sends_commands: false,
    simulates_time: true,
    polls: false,
    depth_max: u32::MAX,
    probe: || Ok(()),
    open: sim::open,
};

/// The engine of that name.
pub fn find(name: &str) -> Option<&'static EngineRow> {
    TABLE.iter().find(|row| row.name == name)
}

/// The engine that a target of NVMe commands gets when none was named.
pub fn of_commands() -> &'static EngineRow {
    &NVME
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
pub fn check_parameters(row: &EngineRow, parameters: &str) -> Result<(), EngineError> {
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
pub fn open_ladder(setup: Setup) -> Result<(&'static EngineRow, Opened), EngineError> {
    let ladder = if setup.depth <= 1 { std::slice::from_ref(&PSYNC) } else { LADDER };
    with_mapped(setup, |setup| step_down(ladder, setup))
}

/// Opens the engine that was asked for by name. Mapped files are mapped all the same, unless the engine
/// is one that touches no files.
///
/// # Errors
/// What the engine refuses; an engine that was asked for is not replaced by another.
pub fn open(row: &'static EngineRow, setup: Setup) -> Result<(&'static EngineRow, Opened), EngineError> {
    if !row.moves_data || row.name == mmap::NAME {
        return (row.open)(setup).map(|opened| (row, opened));
    }
    with_mapped(setup, |setup| (row.open)(setup).map(|opened| (row, opened)))
}

/// Lets `choose` open the engine for files that are not mapped, if there are any.
fn with_mapped(
    setup: Setup,
    choose: impl FnOnce(Setup) -> Result<(&'static EngineRow, Opened), EngineError>,
) -> Result<(&'static EngineRow, Opened), EngineError> {
    let mapped = setup.files.iter().filter(|f| f.map.is_some()).count();
    if mapped == 0 {
        return choose(setup);
    }
    if mapped == setup.files.len() {
        return mmap::open(setup).map(|opened| (&MMAP, opened));
    }
    let inline = mmap::open_mapped(setup.clone())?;
    let (files, depth) = (setup.files.clone(), setup.depth);
    let (row, other) = choose(setup)?;
    let mut notes = inline.notes;
    notes.push(format!("mapped targets are served by {}, the others by {}", MMAP.name, row.name));
    notes.extend(other.notes);
    let engine = Mixed::new(&files, depth, inline.engine, other.engine);
    Ok((row, Opened { engine: AnyEngine::new(engine), notes }))
}

/// Opens the first of `rows` that is available; the reason of every step is put before its notes.
///
/// # Errors
/// The last row's, when none is available; at once any error that another engine would meet as well.
pub fn step_down(
    rows: &'static [EngineRow],
    setup: Setup,
) -> Result<(&'static EngineRow, Opened), EngineError> {
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
pub(super) struct Mixed {
    is_mapped: Vec<bool>,
    mapped: AnyEngine,
    other: AnyEngine,
    /// Scratch for the part of a batch that goes to `other`.
    batch: Vec<Io>,
}

impl Mixed {
    /// Both engines know all files under the same numbers.
    pub(super) fn new(files: &[EngineFile], depth: u32, mapped: AnyEngine, other: AnyEngine) -> Self {
        let is_mapped = files.iter().map(|f| f.map.is_some()).collect();
        Mixed { is_mapped, mapped, other, batch: Vec::with_capacity(depth as usize) }
    }
}

impl Engine for Mixed {
    fn submit(&mut self, ios: &[Io]) -> Result<(), EngineError> {
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

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
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
