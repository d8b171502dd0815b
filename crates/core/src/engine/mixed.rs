//! Mapped and unmapped files in one thread, as XML profiles can ask for: I/Os on mapped files finish
//! inline, the others go through the engine the ladder chose (`io-semantics.md` §16).

use std::time::Duration;

use super::{AnyEngine, Completion, Engine, EngineError, EngineFile, Io};

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
