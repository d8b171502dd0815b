//! The engine of a worker, of whatever kind.

use std::time::Duration;

use super::psync::Psync;
use super::uring::Uring;
use super::{Completion, Engine, EngineError, Io};

/// An opened engine.
///
/// Those that most I/Os go through are told by name, so that the compiler can put their system calls into the worker's
/// loop: a function that returns behind a system call cost 0.5 us per direct read (`docs/design/hot-path.md`, "No return
/// behind the system call").
#[derive(Debug)]
pub struct AnyEngine(Kind);

#[derive(Debug)]
enum Kind {
    Psync(Box<Psync>),
    Uring(Box<Uring>),
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

impl AnyEngine {
    /// Of a kind that is not told by name.
    pub fn new(engine: impl Engine + 'static) -> AnyEngine {
        AnyEngine(Kind::Other(Box::new(engine)))
    }

    fn get(&self) -> &dyn Engine {
        match &self.0 {
            Kind::Psync(engine) => &**engine,
            Kind::Uring(engine) => &**engine,
            Kind::Other(engine) => &**engine,
        }
    }

    fn get_mut(&mut self) -> &mut dyn Engine {
        match &mut self.0 {
            Kind::Psync(engine) => &mut **engine,
            Kind::Uring(engine) => &mut **engine,
            Kind::Other(engine) => &mut **engine,
        }
    }
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
