//! What is known before a run (`truespd inspect`). Targets are examined as a run examines them, the machine is watched
//! for a moment. Nothing is written.

use std::time::Duration;

use super::activity::{Recorder, Sources};
use super::content::{Inspection, look_at_rest};
use super::phases::Lengths;
use super::{document, facts};
use crate::measure::clock::{Clock, MachineClock};
use crate::measure::cpu::{CpuCounters, steal_percent, usage};
use crate::result::{HostActivity, MachineNow, Stalled, TargetFacts};
use truespd_platform::machine::host::clock_source;
use truespd_platform::machine::limits::averages;
use truespd_platform::machine::limits::memory_facts;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{OpenedTarget, Room, TargetKind, keep_access_time, room};
use truespd_platform::machine::{chain, topology};
use truespd_platform::sys::extents::{cached, drop_cached};
use truespd_platform::sys::thread::allowed_processors;

/// A target and the layers below it.
#[derive(Debug)]
pub struct Inspected<'a> {
    typed: &'a str,
    opened: &'a OpenedTarget,
    chain: Vec<chain::Layer>,
    look: Inspection,
    /// Parts that were not in the page cache before the write guard read them.
    not_cached: Vec<(u64, u64)>,
}

impl<'a> Inspected<'a> {
    /// Finds the layers below an open target. `typed` is the target as given.
    pub fn new(typed: &'a str, opened: &'a OpenedTarget, roots: &Roots) -> Self {
        let chain = chain::of(&opened.file, &opened.facts, roots);
        Inspected { typed, opened, chain, look: Inspection::default(), not_cached: Vec::new() }
    }

    /// The layers.
    pub fn chain(&self) -> &[chain::Layer] {
        &self.chain
    }

    /// Free space of the file system of a file; `None` for a device, and where another machine or a FUSE program
    /// would have to answer.
    pub fn room(&self) -> Option<Room> {
        let is_here = self.opened.facts.kind == TargetKind::Regular
            && !self.chain.iter().any(|layer: &chain::Layer| {
                matches!(layer.kind, chain::LayerKind::RemoteFilesystem | chain::LayerKind::UserFilesystem)
            });
        if is_here { room(&self.opened.file).ok() } else { None }
    }

    /// The facts as a run's evidence would hold them. Call this last: it drops from the page cache what was read for
    /// the inspection (the write guard looks for signatures).
    pub fn facts(&self) -> TargetFacts {
        let mut facts =
            facts::of_target(self.typed, &self.opened.facts.path, &self.opened.facts, &self.chain);
        let file = &self.opened.file;
        self.not_cached
            .iter()
            .filter(|gap: &&(u64, u64)| cached(file, &[**gap]).is_some_and(|seen| seen.cached_bytes > 0))
            .for_each(|&(offset, len)| drop_cached(file, offset, len));
        let mut look = self.look.clone();
        look.look_after(file);
        look.tell(&mut facts);
        facts
    }
}

/// Examines layout, page cache and content of all targets.
pub fn look(targets: &mut [Inspected<'_>]) {
    targets.iter().for_each(|target| keep_access_time(&target.opened.file));
    let places: Vec<_> = targets.iter().map(|target| (target.opened, &target.chain[..])).collect();
    let looks = look_at_rest(&places);
    for (target, look) in targets.iter_mut().zip(looks) {
        target.not_cached = look.not_cached(&target.opened.file, target.opened.facts.size_bytes);
        target.look = look;
    }
}

/// Long enough to see who uses the disks, short enough to wait for.
const WATCH: Duration = Duration::from_millis(200);

/// Watches machine and disks for a moment.
pub fn watch(targets: &[Inspected<'_>], roots: &Roots) -> MachineNow {
    let stalled = stalled(roots);
    let clock = MachineClock::start();
    let sources = Sources::open(targets.iter().map(Inspected::chain), roots);
    let cpu_before = CpuCounters::read().ok();
    let start_ns = clock.now_ns();
    let recorder = Recorder::start(&sources, &[], &Lengths::only(0), || start_ns);
    std::thread::sleep(WATCH);
    let end_ns = clock.now_ns();
    let activity = recorder.finish(None, end_ns, 0);
    let cpu_after = CpuCounters::read().ok();
    let ticks = topology::processor_times().unwrap_or_default();
    let online: Vec<u32> = ticks.iter().map(|t| t.cpu).collect();
    let shares = cpu_before.zip(cpu_after).map(|(before, after)| usage(&before, &after, &online));
    let shares = shares.filter(|shares| !shares.is_empty());
    let drift_ppm = clock.drift_ppm();
    MachineNow {
        processors: count(online.len()),
        processors_allowed: allowed_processors().map_or(0, |allowed| count(allowed.len())),
        memory_bytes: memory_facts(roots).ok().and_then(|m| m.total_bytes),
        clock: document::clock_facts(&clock, false, drift_ppm),
        clock_source: clock_source(roots),
        steal_since_boot_percent: (!ticks.is_empty()).then(|| topology::steal_percent_since_boot(&ticks)),
        stalled,
        window_ns: end_ns.saturating_sub(start_ns),
        busy_percent: shares
            .as_ref()
            .map(|shares| shares.iter().map(|share| share.usage()).sum::<f64>() / shares.len() as f64),
        host: HostActivity {
            steal_percent: shares.as_deref().map(steal_percent),
            ..activity.host.unwrap_or_default()
        },
        disks: activity.disks,
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn stalled(roots: &Roots) -> Option<Stalled> {
    let [cpu, io, memory] = ["cpu", "io", "memory"].map(|resource| averages(resource, roots));
    let (cpu, io, memory) = (cpu?, io?, memory?);
    Some(Stalled {
        cpu_some_percent: cpu.some,
        io_some_percent: io.some,
        io_full_percent: io.full,
        memory_some_percent: memory.some,
        memory_full_percent: memory.full,
    })
}
