//! A time span while it runs: what is asked for, on what, by which threads, and what was seen of it before.

use super::activity::Sources;
use super::content::{Inspection, LoopCacheSeen};
use super::context::{Event, OnEvent, Options};
use super::counters::{Tables, Wanted};
use super::events::Handles;
use super::phases::Lengths;
use super::progress::Place;
use super::ranks::AgreedStart;
use super::targets::{Standing, TargetState};
use crate::guard::OtherRun;
use crate::machine::topology::Topology;
use crate::measure::clock::MachineClock;
use crate::measure::cpu::ProcessUsage;
use crate::plan::Lane;
use crate::profile::TimeSpan;
use crate::result::SelfCost;
use crate::sys::events::Latch;
use crate::sys::thread::Interrupter;

/// A time span whose targets are open and whose threads' work is laid out. Its threads share it.
pub struct Span<'a> {
    pub asked: &'a TimeSpan,
    /// Where it stands in its profile.
    pub place: Place,
    pub lengths: Lengths,
    pub wanted: Wanted,
    /// Dots (`-P`).
    pub progress_ios: u32,
    /// In the order of the profile.
    pub targets: Vec<TargetState>,
    pub lanes: Vec<Lane>,
    /// The engine simulates time: nothing of it reaches the machine.
    pub is_virtual: bool,
    /// The machine, when it has several memory nodes: then it is looked where buffers lie.
    pub several_nodes: Option<Topology>,
    /// Where latencies over time are added up.
    pub latencies: Tables,

    pub options: &'a Options,
    pub on_event: OnEvent<'a>,
    /// Ends the run early (Ctrl+C, `-yp`).
    pub stop: &'a Latch,
    /// Named events (`-y`).
    pub handles: &'a Handles,
    pub clock: MachineClock,
    /// Ends the waits of workers.
    pub interrupter: Interrupter,

    /// Whose counters are read during the run.
    pub sources: Sources,
    /// What was seen before the threads start; nothing when time is simulated.
    pub self_cost: Option<SelfCost>,
    /// Of each target: layout, page cache and content.
    pub looks: Vec<Inspection>,
    /// Of each target: what the loop devices below it stand on.
    pub loop_caches: Vec<Vec<LoopCacheSeen>>,
    pub standings: Vec<Standing>,
    /// Of each target: other runs on it.
    pub other_runs: Vec<Vec<OtherRun>>,
    pub used: ProcessUsage,
}

/// When the threads are let go.
#[derive(Debug, Clone, Copy)]
pub enum Start {
    /// As soon as they are ready.
    Now,
    /// At an instant that processes agreed on.
    At(AgreedStart),
}

impl Span<'_> {
    /// A line for verbose mode.
    pub fn say(&self, words: String) {
        (self.on_event)(Event::Verbose(words));
    }

    /// Waits for the event of `-yr` and for the other processes; none when the run is stopped or called off.
    pub fn wait_for_start(&self) -> Option<Start> {
        if !self.handles.wait_for_start(self.stop) {
            return None;
        }
        match &self.options.ranks {
            None => Some(Start::Now),
            Some(companions) => companions.start(self.place.span - 1).ok().map(Start::At),
        }
    }
}
