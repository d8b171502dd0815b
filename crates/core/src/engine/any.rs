//! The engine of a worker, of whatever kind, and the row that it is opened by.

use std::time::Duration;

use super::null::Null;
use super::nvme::Nvme;
use super::psync::Psync;
use super::uring::Uring;
use super::{Completion, Engine, EngineError, Io, Setup};

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

impl From<Psync> for AnyEngine {
    fn from(engine: Psync) -> AnyEngine {
        AnyEngine(Kind::Psync(Box::new(engine)))
    }
}

impl From<Uring> for AnyEngine {
    fn from(engine: Uring) -> AnyEngine {
        AnyEngine(Kind::Uring(Box::new(engine)))
    }
}

impl From<Nvme> for AnyEngine {
    fn from(engine: Nvme) -> AnyEngine {
        AnyEngine(Kind::Nvme(Box::new(engine)))
    }
}

impl From<Null> for AnyEngine {
    fn from(engine: Null) -> AnyEngine {
        AnyEngine(Kind::Null(Box::new(engine)))
    }
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
    fn submit(&mut self, ios: &[Io]) -> Result<(), EngineError> {
        self.get_mut().submit(ios)
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
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
    ) -> Result<(), EngineError> {
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

    fn virtual_now_ns(&self) -> Option<u64> {
        self.get().virtual_now_ns()
    }

    fn advance_virtual(&mut self, now_ns: u64) {
        self.get_mut().advance_virtual(now_ns);
    }
}

/// A row of the table of engines.
#[derive(Debug, Clone, Copy)]
pub struct EngineRow {
    /// Name for `--engine`.
    pub name: &'static str,
    /// One line for help.
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
    /// Outstanding I/Os that it takes for one thread; `u32::MAX` when it sets no limit.
    pub depth_max: u32,
    /// Tells why it cannot be used on this machine, without side effects.
    pub probe: fn() -> Result<(), EngineError>,
    /// Opens it.
    pub open: fn(Setup) -> Result<Opened, EngineError>,
}
