//! Counters of the disks, file servers and the machine over the measured time. The controller reads them at
//! its start, at its end and in between.

use std::path::PathBuf;
use std::time::Instant;

use super::counters::whole_seconds_ns;
use super::facts::LimitSources;
use super::phases::Lengths;
use super::serving::{Programs, disks_beside};
use crate::result::{
    CacheActivity, DiskActivity, Evidence, Held, HostActivity, LayerDetails, Limit, LimitChange,
    OtherPrograms, PathActivity, Pressure, ProcessorWaits, ServedMount, WayChange,
};
use truespd_platform::machine::caches::{CacheState, CachedDevice, StateUnknown, cached_devices};
use truespd_platform::machine::chain::LayerKind;
use truespd_platform::machine::device::DeviceNumber;
use truespd_platform::machine::diskstat::{DiskCounters, DiskCounts, DiskReading};
use truespd_platform::machine::fileserver::{ServedMounts, ServerCounts};
use truespd_platform::machine::limits::available_bytes;
use truespd_platform::machine::limits::{
    governors, own_disk_bytes, stalls, swapped_pages, throttle_files, throttled_ns,
};
use truespd_platform::machine::programs::Accounts;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::{chain, fileserver, held, topology};
use truespd_platform::sys::thread::{ThreadId, waiting_ns_of};

/// Programs that moved less disturb no test.
const PROGRAM_BYTES_MIN: u64 = 1 << 20;
const PROGRAMS_TOLD_MAX: usize = 5;

/// The counters to read. They are opened before the threads start; none for simulated time.
#[derive(Debug, Default)]
pub struct Sources {
    /// The lowest devices, then the topmost ones that stand on others, then those beside a program.
    disks: Vec<(String, DiskCounters)>,
    /// How many of them are lowest.
    lowest: usize,
    /// How many of them are below targets.
    below: usize,
    served: ServedMounts,
    programs: Programs,
    /// Devices whose way to the storage can change, with what it was when the targets were opened.
    ways: Vec<(String, DeviceNumber, Option<LayerDetails>)>,
    /// Mapped devices below targets, with the file that says whether each is suspended.
    mapped: Vec<(String, PathBuf)>,
    /// Devices with a cache, each once.
    caches: Vec<CachedDevice>,
    throttle_files: Vec<PathBuf>,
    limits: Option<LimitSources>,
    /// What all programs had moved when the disks were looked for, and when that was.
    programs_before: Option<(Accounts, Instant)>,
    /// Processes of this run on this host, which are no other programs.
    of_run: Vec<u32>,
    roots: Roots,
}

impl Sources {
    /// Finds the devices of the chains.
    pub fn open<'a>(chains: impl Iterator<Item = &'a [chain::Layer]> + Clone, roots: &Roots) -> Self {
        let limits = Some(LimitSources::find(chains.clone(), roots));
        let (mut lowest, mut top) = (Vec::new(), Vec::new());
        let chains: Vec<_> = chains.collect();
        for chain in &chains {
            let found = chain::counted(chain);
            lowest.extend(found.lowest);
            top.extend(found.top);
        }
        for list in [&mut lowest, &mut top] {
            list.sort();
            list.dedup();
        }
        top.retain(|device| !lowest.contains(device));
        let mut disks = counters_of(lowest, roots);
        let lowest = disks.len();
        disks.extend(counters_of(top, roots));
        let below = disks.len();
        disks.extend(counters_of(disks_beside(&chains, roots), roots));
        let programs = Programs::open(&chains, roots);
        let remote = chains.iter().flat_map(|chain| chain.iter());
        let remote = remote.filter(|layer| layer.kind == LayerKind::RemoteFilesystem);
        let served = ServedMounts::open(remote.filter_map(|layer| layer.mount.point.as_deref()), roots);
        let (throttle_files, roots) = (throttle_files(roots), roots.clone());
        let (ways, mapped) = (ways(&chains), mapped(&chains, &roots));
        let mut caches: Vec<CachedDevice> = Vec::new();
        for cache in chains.iter().flat_map(|chain| cached_devices(chain, &roots)) {
            if !caches.contains(&cache) {
                caches.push(cache);
            }
        }
        let programs_before = Accounts::read(&roots).map(|accounts| (accounts, Instant::now()));
        Sources {
            disks,
            lowest,
            below,
            served,
            programs,
            ways,
            mapped,
            caches,
            throttle_files,
            limits,
            programs_before,
            of_run: Vec::new(),
            roots,
        }
    }

    /// These processes belong to this run.
    pub fn share_with(&mut self, processes: Vec<u32>) {
        self.of_run = processes;
    }

    pub fn lowest_names(&self) -> impl Iterator<Item = &str> {
        self.disks[..self.lowest].iter().map(|(name, _)| name.as_str())
    }

    /// Their counters now, in the same order; `None` for one that is gone.
    pub fn lowest_counts(&self) -> impl Iterator<Item = Option<DiskReading>> {
        self.disks[..self.lowest].iter().map(|(_, counters)| counters.read().ok())
    }

    /// `None` for a device that is gone.
    fn disk_counts(&self) -> Vec<Option<DiskReading>> {
        self.disks.iter().map(|(_, counters)| counters.read().ok()).collect()
    }

    /// What others had moved, and the kernel computed, since the disks were looked for.
    fn other_programs(&self) -> Option<OtherPrograms> {
        let (before, then) = self.programs_before.as_ref()?;
        let after = Accounts::read(&self.roots)?;
        let window_ns = u64::try_from(then.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mut told = OtherPrograms { window_ns, ..OtherPrograms::default() };
        told.most = after.grown(before, PROGRAM_BYTES_MIN, &self.roots);
        told.most.retain(|program| !self.of_run.contains(&program.process));
        for program in &told.most {
            told.read_bytes = told.read_bytes.saturating_add(program.read_bytes);
            told.write_bytes = told.write_bytes.saturating_add(program.write_bytes);
        }
        told.most.truncate(PROGRAMS_TOLD_MAX);
        told.kernel = after.kernel_worked(before);
        told.kernel.truncate(PROGRAMS_TOLD_MAX);
        Some(told)
    }

    fn ways_now(&self) -> Vec<Option<LayerDetails>> {
        self.ways.iter().map(|(_, number, _)| chain::details_now(*number, &self.roots)).collect()
    }

    /// The states of the caches now, or why they are not known.
    fn caches_now(&self) -> Vec<Result<CacheState, StateUnknown>> {
        self.caches.iter().map(|cache| cache.state(&self.roots)).collect()
    }

    fn host_counts(&self) -> HostCounts {
        let roots = &self.roots;
        HostCounts {
            pressure: pressure(roots),
            swapped_pages: swapped_pages(roots),
            own_disk_bytes: own_disk_bytes(roots),
            throttled_ns: throttled_ns(&self.throttle_files),
        }
    }
}

fn counters_of(disks: Vec<(String, DeviceNumber)>, roots: &Roots) -> Vec<(String, DiskCounters)> {
    let opened = disks.into_iter().map(|(name, number)| Some((name, DiskCounters::open(number, roots)?)));
    opened.flatten().collect()
}

fn pressure(roots: &Roots) -> Option<Pressure> {
    let [cpu, io, memory] = ["cpu", "io", "memory"].map(|resource| stalls(resource, roots));
    let (cpu, io, memory) = (cpu?, io?, memory?);
    Some(Pressure {
        cpu_some_ns: cpu.some_ns,
        io_some_ns: io.some_ns,
        io_full_ns: io.full_ns,
        memory_some_ns: memory.some_ns,
        memory_full_ns: memory.full_ns,
    })
}

/// Devices of the chains whose way to the storage can change, each once.
fn ways(chains: &[&[chain::Layer]]) -> Vec<(String, DeviceNumber, Option<LayerDetails>)> {
    let mut found: Vec<(String, DeviceNumber, Option<LayerDetails>)> = Vec::new();
    for layer in chains.iter().flat_map(|chain| chain::watched(chain)) {
        let Some(number) = layer.number else { continue };
        if !found.iter().any(|(_, known, _)| *known == number) {
            found.push((layer.name.clone(), number, layer.details.clone()));
        }
    }
    found
}

/// The mapped devices of the chains, each once.
fn mapped(chains: &[&[chain::Layer]], roots: &Roots) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for layer in chains.iter().flat_map(|chain| chain.iter()) {
        let file = layer.number.and_then(|number| held::suspended_file(number, roots));
        found.extend(file.map(|file| (layer.name.clone(), file)));
    }
    found.sort();
    // A file system has the number of its device.
    found.dedup_by(|a, b| a.1 == b.1);
    found
}

/// Counters of the machine at one moment.
#[derive(Debug, Clone, Copy)]
struct HostCounts {
    pressure: Option<Pressure>,
    swapped_pages: Option<(u64, u64)>,
    own_disk_bytes: Option<(u64, u64)>,
    throttled_ns: Option<u64>,
}

/// One reading of all disks and mounts, and of the limits on them.
#[derive(Debug, Clone)]
struct Reading {
    at_ns: u64,
    disks: Vec<Option<DiskReading>>,
    served: fileserver::Readings,
    ways: Vec<Option<LayerDetails>>,
    /// Requests that wait in each program.
    waiting: Vec<Option<u64>>,
    /// For how long the test's threads have had no processor, added up; `None` where that is not told.
    waiting_ns: Option<u64>,
    /// Processor time that the hypervisor gave to others since boot.
    stolen_ns: Option<u64>,
    limits: Vec<Limit>,
    /// The control groups of this process.
    groups: String,
    /// Whether a thread waits for a frozen file system; `None` where that is not told.
    is_frozen: Option<bool>,
    /// Whether each mapped device is suspended.
    suspended: Vec<bool>,
}

impl Reading {
    /// The disks first: they are what the test moves.
    fn now(sources: &Sources, threads: &[ThreadId], at_ns: u64) -> Self {
        let disks = sources.disk_counts();
        let served = sources.served.read();
        let waits: Option<Vec<u64>> = threads.iter().map(|&thread| waiting_ns_of(thread)).collect();
        let waiting_ns = waits.filter(|waits| !waits.is_empty()).map(|waits| waits.iter().sum());
        let limits = sources.limits.as_ref().map_or_else(Vec::new, LimitSources::in_force);
        let groups = sources.limits.as_ref().map_or_else(String::new, LimitSources::groups);
        let stolen_ns = topology::processor_times_in(&sources.roots.proc.join("stat")).ok();
        let stolen_ns = stolen_ns.map(|ticks| topology::stolen_ns(&ticks));
        let (ways, waiting) = (sources.ways_now(), sources.programs.waiting());
        let is_frozen = held::waits_for_thaw(&sources.roots);
        let suspended = sources.mapped.iter().map(|(_, file)| held::is_suspended(file)).collect();
        Reading {
            is_frozen,
            suspended,
            at_ns,
            disks,
            served,
            ways,
            waiting,
            waiting_ns,
            stolen_ns,
            limits,
            groups,
        }
    }
}

/// All counters at one moment, from which a result can begin or at which it can end.
#[derive(Debug)]
pub struct Mark {
    reading: Reading,
    host: HostCounts,
    caches: Vec<Result<CacheState, StateUnknown>>,
    memory_available_bytes: Option<u64>,
}

impl Mark {
    fn now(sources: &Sources, threads: &[ThreadId], at_ns: u64) -> Self {
        Mark {
            reading: Reading::now(sources, threads, at_ns),
            host: sources.host_counts(),
            caches: sources.caches_now(),
            memory_available_bytes: available_bytes(&sources.roots),
        }
    }
}

/// Follows the measured time. Instants are of the run's clock.
#[derive(Debug)]
pub struct Recorder<'a> {
    sources: &'a Sources,
    threads: Vec<ThreadId>,
    interval_ns: u64,
    measure_start_ns: u64,
    due_ns: u64,
    /// How long after the start of the measured time the first reading came.
    late_ns: u64,
    readings: Vec<Reading>,
    /// Where the measured time began; its reading is the first one.
    first: Mark,
}

impl<'a> Recorder<'a> {
    /// The first reading, as close to the start of the measured time as can be.
    pub fn start(
        sources: &'a Sources,
        threads: &[ThreadId],
        lengths: &Lengths,
        now_ns: impl Fn() -> u64,
    ) -> Self {
        let interval_ns = lengths.dividing_rounds(whole_seconds_ns(lengths.result_ns()));
        let mut readings = Vec::with_capacity((lengths.duration_ns / interval_ns) as usize + 2);
        let first = Mark::now(sources, threads, now_ns());
        readings.push(first.reading.clone());
        Recorder {
            sources,
            threads: threads.to_vec(),
            interval_ns,
            measure_start_ns: 0,
            due_ns: u64::MAX,
            late_ns: 0,
            readings,
            first,
        }
    }

    /// When the measured time began.
    pub fn begin(&mut self, measure_start_ns: u64) {
        self.measure_start_ns = measure_start_ns;
        self.due_ns = measure_start_ns.saturating_add(self.interval_ns);
        self.late_ns = self.readings[0].at_ns.saturating_sub(measure_start_ns);
    }

    /// When the next reading is due.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Reads the disks when that is due.
    pub fn read_if_due(&mut self, now_ns: u64) {
        if now_ns >= self.due_ns {
            let reading = Reading::now(self.sources, &self.threads, now_ns);
            self.readings.push(reading);
            self.due_ns = self.due_ns.saturating_add(self.interval_ns);
        }
    }

    /// Reads everything at an instant at which a result may begin or end.
    pub fn mark(&mut self, now_ns: u64) -> Mark {
        let mark = Mark::now(self.sources, &self.threads, now_ns);
        if now_ns >= self.due_ns {
            self.readings.push(mark.reading.clone());
            self.due_ns = self.due_ns.saturating_add(self.interval_ns);
        }
        mark
    }

    /// The result begins later than the measured time did: at `start_ns`, with these readings.
    pub fn begin_at(&mut self, mark: Mark, start_ns: u64) {
        let at_ns = mark.reading.at_ns;
        self.readings.retain(|reading| reading.at_ns > at_ns);
        self.readings.insert(0, mark.reading.clone());
        (self.measure_start_ns, self.late_ns) = (start_ns, at_ns.saturating_sub(start_ns));
        self.first = mark;
    }

    /// The last reading, which is that of `end` where there is one, and what all of them tell. The last interval ends
    /// with it when its end was due. Steal time comes from elsewhere.
    pub fn finish(mut self, end: Option<Mark>, now_ns: u64, measure_end_ns: u64) -> Evidence {
        let end = end.unwrap_or_else(|| Mark::now(self.sources, &self.threads, now_ns));
        let host = self.host(&end);
        let caches = self.sources.limits.is_some().then(|| self.caches(&end));
        let last = end.reading;
        self.readings.retain(|reading| reading.at_ns <= last.at_ns);
        let window_ns = last.at_ns.saturating_sub(self.readings[0].at_ns);
        let (mut limit_changes, mut way_changes) = (None, None);
        if self.sources.limits.is_some() {
            (limit_changes, way_changes) = (Some(self.limit_changes(&last)), Some(self.way_changes(&last)));
        }
        // A reading that came after the measured time would leave what follows it in no interval.
        let had_ended =
            self.readings.len() > 1 && self.readings[self.readings.len() - 1].at_ns >= measure_end_ns;
        if had_ended {
            self.readings.pop();
        }
        if had_ended || self.due_ns <= measure_end_ns {
            self.readings.push(last.clone());
        }
        // The first reading may come before the first I/O, and the last one after the last.
        let programs =
            self.sources.programs.tell(self.readings.iter().skip(1).map(|reading| &reading.waiting));
        let (mut lowest, mut upper, mut beside) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (name, _)) in self.sources.disks.iter().enumerate() {
            let Some(total) = between(&self.readings[0], &last, index) else { continue };
            let pairs = self.readings.windows(2);
            let intervals =
                pairs.map(|pair| between(&pair[0], &pair[1], index).unwrap_or_default()).collect();
            let interval_ns = self.interval_told_ns();
            let (name, late_ns) = (name.clone(), self.late_ns);
            let paths = self.paths(index, &last);
            let list = match index {
                index if index < self.sources.lowest => &mut lowest,
                index if index < self.sources.below => &mut upper,
                _ => &mut beside,
            };
            list.push(DiskActivity {
                name,
                window_ns,
                late_ns,
                total,
                interval_ns,
                intervals,
                paths,
                other_ranks: None,
            });
        }
        Evidence {
            disks: lowest,
            upper_disks: upper,
            caches,
            beside_disks: beside,
            served_mounts: self.served(&last),
            programs,
            host: Some(host),
            processor_waits: self.processor_waits(),
            limit_changes,
            way_changes,
            held: self.held(&last),
            ..Evidence::default()
        }
    }

    /// What the caches did until `end`.
    fn caches(&self, end: &Mark) -> Vec<CacheActivity> {
        let states = self.first.caches.iter().zip(end.caches.iter().cloned());
        let each = self.sources.caches.iter().zip(states).map(|(cache, (before, now))| {
            let unknown = now.as_ref().err().map(ToString::to_string);
            let now = now.unwrap_or_default();
            let before = before.as_ref().ok().and_then(|state| state.counts);
            CacheActivity {
                layer: cache.name.clone(),
                kind: cache.kind,
                mode: cache.mode.clone(),
                cache_disks: cache.cache_disks.clone(),
                origin_disks: cache.origin_disks.clone(),
                size_bytes: now.size_bytes,
                used_bytes: now.used_bytes,
                dirty_bytes: now.dirty_bytes,
                total: now.counts.zip(before).map(|(now, before)| now.since(&before)),
                unknown,
            }
        });
        each.collect()
    }

    /// What each path to a disk did, where it has several.
    fn paths(&self, index: usize, last: &Reading) -> Vec<PathActivity> {
        let (Some(before), Some(after)) = (&self.readings[0].disks[index], &last.disks[index]) else {
            return Vec::new();
        };
        let mut paths = Vec::new();
        for (name, (after, before)) in
            self.sources.disks[index].1.paths().zip(after.paths.iter().zip(&before.paths))
        {
            paths.push(PathActivity { name: name.to_string(), total: after.since(before) });
        }
        paths
    }

    /// Length of the intervals of a series; 0 without one.
    fn interval_told_ns(&self) -> u64 {
        if self.readings.len() > 1 { self.interval_ns } else { 0 }
    }

    /// The mounts of file servers that are still there.
    fn served(&self, last: &Reading) -> Vec<ServedMount> {
        let first = &self.readings[0];
        let mut found = Vec::new();
        for (index, mount) in self.sources.served.mounts().iter().enumerate() {
            let (Some(Some(now)), Some(total)) =
                (last.served.get(index).map(Option::as_ref), asked_between(first, last, index))
            else {
                continue;
            };
            let pairs = self.readings.windows(2);
            found.push(ServedMount {
                mount_points: mount.points.iter().map(|point| point.display().to_string()).collect(),
                protocol: mount.protocol,
                version: mount.version.clone(),
                address: mount.address.clone(),
                connections: now.connections,
                window_ns: last.at_ns.saturating_sub(first.at_ns),
                total,
                interval_ns: self.interval_told_ns(),
                intervals: pairs
                    .map(|pair| asked_between(&pair[0], &pair[1], index).unwrap_or_default())
                    .collect(),
            });
        }
        found
    }

    /// `None` when there is no interval, or one without an account.
    fn processor_waits(&self) -> Option<ProcessorWaits> {
        let pairs = self.readings.windows(2).map(|pair| (&pair[0], &pair[1]));
        let waiting: Option<Vec<u64>> =
            pairs.clone().map(|(then, now)| Some(since(now.waiting_ns?, then.waiting_ns?))).collect();
        let stolen: Option<Vec<u64>> =
            pairs.map(|(then, now)| Some(since(now.stolen_ns?, then.stolen_ns?))).collect();
        let (waiting_ns, stolen_ns) = (waiting?, stolen.unwrap_or_default());
        let interval_ns = self.interval_ns;
        (!waiting_ns.is_empty()).then_some(ProcessorWaits { interval_ns, waiting_ns, stolen_ns })
    }

    fn limit_changes(&self, last: &Reading) -> Vec<LimitChange> {
        let later = self.readings.iter().skip(1).chain([last]);
        let mut changes = Vec::new();
        for (before, after) in self.readings.iter().zip(later) {
            let (gone, new) =
                (missing(&after.limits, &before.limits), missing(&before.limits, &after.limits));
            if !gone.is_empty() || !new.is_empty() {
                let seen_ns = after.at_ns.saturating_sub(self.measure_start_ns);
                let within_ns = after.at_ns.saturating_sub(before.at_ns);
                let moved = before.groups != after.groups;
                changes.push(LimitChange { seen_ns, within_ns, moved, gone, new });
            }
        }
        changes
    }

    /// From when the targets were opened to the last reading.
    fn way_changes(&self, last: &Reading) -> Vec<WayChange> {
        let opened: Vec<_> = self.sources.ways.iter().map(|(_, _, details)| details.clone()).collect();
        let mut changes = Vec::new();
        let mut before = (self.readings[0].at_ns, &opened);
        for (place, reading) in self.readings.iter().chain([last]).enumerate() {
            // What had changed before the first reading counts from the start.
            let now_ns = if place == 0 { 0 } else { reading.at_ns };
            let each = self.sources.ways.iter().zip(before.1.iter().zip(&reading.ways));
            for ((device, _, _), (was, is)) in each.filter(|(_, (was, is))| was != is) {
                changes.push(WayChange {
                    device: device.clone(),
                    seen_ns: now_ns.saturating_sub(self.measure_start_ns),
                    within_ns: now_ns.saturating_sub(before.0),
                    before: was.clone(),
                    after: is.clone(),
                });
            }
            before = (reading.at_ns, &reading.ways);
        }
        changes
    }

    /// `None` where the kernel does not tell whether a thread waits for a frozen file system.
    fn held(&self, last: &Reading) -> Option<Vec<Held>> {
        let (mut frozen, mut is_told) = (Held::default(), false);
        let devices = self.sources.mapped.iter();
        let mut suspended: Vec<Held> =
            devices.map(|(name, _)| Held { device: Some(name.clone()), seen_ns: Vec::new() }).collect();
        for reading in self.readings.iter().chain([last]) {
            let at_ns = reading.at_ns.saturating_sub(self.measure_start_ns);
            is_told |= reading.is_frozen.is_some();
            if reading.is_frozen == Some(true) {
                frozen.seen_ns.push(at_ns);
            }
            for (device, is_held) in suspended.iter_mut().zip(&reading.suspended) {
                if *is_held {
                    device.seen_ns.push(at_ns);
                }
            }
        }
        let mut held = suspended;
        held.push(frozen);
        for one in &mut held {
            one.seen_ns.dedup();
        }
        held.retain(|one| !one.seen_ns.is_empty());
        (is_told || !held.is_empty()).then_some(held)
    }

    fn host(&self, end: &Mark) -> HostActivity {
        let (before, after) = (&self.first.host, &end.host);
        let pressure = after.pressure.zip(before.pressure).map(|(now, then)| Pressure {
            cpu_some_ns: since(now.cpu_some_ns, then.cpu_some_ns),
            io_some_ns: since(now.io_some_ns, then.io_some_ns),
            io_full_ns: since(now.io_full_ns, then.io_full_ns),
            memory_some_ns: since(now.memory_some_ns, then.memory_some_ns),
            memory_full_ns: since(now.memory_full_ns, then.memory_full_ns),
        });
        let (swap_in_pages, swap_out_pages) = pair_since(after.swapped_pages, before.swapped_pages);
        let (own_disk_read_bytes, own_disk_write_bytes) =
            pair_since(after.own_disk_bytes, before.own_disk_bytes);
        HostActivity {
            steal_percent: None,
            steal_worst_percent: None,
            pressure,
            swap_in_pages,
            swap_out_pages,
            memory_available_bytes: self.first.memory_available_bytes,
            governors: governors(&self.sources.roots),
            cpu_throttled_ns: after.throttled_ns.zip(before.throttled_ns).map(|(now, then)| since(now, then)),
            late_ns: self.late_ns,
            own_disk_read_bytes,
            own_disk_write_bytes,
            other_programs: self.sources.other_programs(),
        }
    }
}

fn since(now: u64, then: u64) -> u64 {
    now.saturating_sub(then)
}

fn pair_since(now: Option<(u64, u64)>, then: Option<(u64, u64)>) -> (Option<u64>, Option<u64>) {
    now.zip(then).map(|(now, then)| (since(now.0, then.0), since(now.1, then.1))).unzip()
}

/// Those of the list that are not in `from`.
fn missing(from: &[Limit], list: &[Limit]) -> Vec<Limit> {
    list.iter().filter(|limit| !from.contains(limit)).cloned().collect()
}

/// What one disk did between two readings.
fn between(before: &Reading, after: &Reading, index: usize) -> Option<DiskCounts> {
    Some(after.disks[index].as_ref()?.since(before.disks[index].as_ref()?))
}

/// What was asked of the server of one mount between two readings.
fn asked_between(before: &Reading, after: &Reading, index: usize) -> Option<ServerCounts> {
    let [before, after] = [before, after].map(|reading| Some(reading.served[index].as_ref()?.counts));
    let (before, after) = (before?, after?);
    after.can_follow(&before).then(|| after.since(&before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_platform::machine::chain::{Layer, MountedAs};

    const S: u64 = 1_000_000_000;

    #[test]
    fn file_servers_are_followed_from_the_first_reading_to_the_last() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| dir.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        std::fs::create_dir_all(roots.proc.join("self")).expect("a folder");
        let put =
            |name: &str, text: &str| std::fs::write(roots.proc.join("self").join(name), text).expect(name);
        put("mountinfo", "30 1 0:25 / /far rw - nfs4 filer:/ rw,vers=4.2,addr=10.0.0.5\n");
        let count = |bytes: u64| {
            let text = "device filer:/ mounted on /far with fstype nfs4 statvers=1.1\n";
            put("mountstats", &format!("{text}\tbytes:\t0 0 0 0 {bytes} 0 0 0\n\txprt:\ttcp 1 2\n"));
        };
        let chain = [Layer {
            kind: LayerKind::RemoteFilesystem,
            mount: MountedAs { point: Some("/far".into()), ..MountedAs::default() },
            ..Layer::default()
        }];
        count(1000);
        let sources = Sources::open(std::iter::once(&chain[..]), &roots);
        let mut recorder = Recorder::start(&sources, &[], &Lengths::only(2 * S), || 0);
        recorder.begin(0);
        count(4000);
        recorder.read_if_due(S);
        count(4500);
        let activity = recorder.finish(None, 2 * S, 2 * S);
        let [mount] = activity.served_mounts.as_slice() else { panic!("{:?}", activity.served_mounts) };
        assert_eq!((mount.mount_points.as_slice(), mount.window_ns), (&["/far".to_string()][..], 2 * S));
        assert_eq!((mount.address.as_deref(), mount.connections), (Some("10.0.0.5"), Some(1)));
        let read = |counts: &ServerCounts| counts.server_read_bytes;
        assert_eq!(read(&mount.total), 3500);
        assert_eq!(mount.intervals.iter().map(read).collect::<Vec<_>>(), [3000, 500]);
        // A mount that went away is in no document.
        let recorder = Recorder::start(&sources, &[], &Lengths::only(2 * S), || 0);
        put("mountstats", "");
        assert_eq!(recorder.finish(None, 2 * S, 2 * S).served_mounts, []);
    }

    #[test]
    fn processor_time_that_the_host_gave_to_others_is_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
        // Ticks of 10 ms.
        let stolen = |first: u64, second: u64| {
            let text =
                format!("cpu 0\ncpu0 9 0 9 9 0 0 0 {first} 0 0\ncpu1 9 0 9 9 0 0 0 {second} 0 0\nintr 1\n");
            std::fs::write(dir.path().join("stat"), text).expect("room");
        };
        let sources = Sources { roots, ..Sources::default() };
        let own = [ThreadId::current()];
        stolen(1000, 50);
        let mut recorder = Recorder::start(&sources, &own, &Lengths::only(2 * S), || 0);
        recorder.begin(0);
        stolen(1020, 60);
        recorder.read_if_due(S);
        stolen(1021, 60);
        let waits = recorder.finish(None, 2 * S, 2 * S).processor_waits.expect("this thread has an account");
        assert_eq!((waits.interval_ns, waits.stolen_ns), (S, vec![300_000_000, 10_000_000]));
    }

    #[test]
    fn paths_are_looked_at_from_the_opening_to_the_last_reading() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| dir.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        let disk = roots.sys.join("devices/platform/host9/session3/target9:0:0/9:0:0:0/block/sdd");
        let session = roots.sys.join("class/iscsi_session/session3");
        for folder in [&disk, &session, &roots.sys.join("dev/block")] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        std::fs::write(disk.join("dev"), "8:48\n").expect("a file");
        crate::made::symlink(&disk, roots.sys.join("dev/block/8:48")).expect("a link");
        let put = |state: &str| std::fs::write(session.join("state"), state).expect("a file");
        put("LOGGED_IN\n");
        let number = DeviceNumber { major: 8, minor: 48 };
        let details = chain::details_now(number, &roots);
        let chain = [Layer { name: "sdd".to_string(), number: Some(number), details, ..Layer::default() }];
        let sources = Sources::open(std::iter::once(&chain[..]), &roots);
        let seen = |first: &str, then: &str, last: &str| {
            put(first);
            let mut recorder = Recorder::start(&sources, &[], &Lengths::only(2 * S), || 0);
            recorder.begin(0);
            put(then);
            recorder.read_if_due(S);
            put(last);
            let changes = recorder.finish(None, 2 * S, 2 * S).way_changes.expect("somebody looked");
            let state = |details: Option<LayerDetails>| details?.paths.first()?.state.clone();
            let of = |change: WayChange| {
                format!("{} {:?} {:?}", change.seen_ns / S, state(change.before), state(change.after))
            };
            changes.into_iter().map(of).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(seen("LOGGED_IN", "LOGGED_IN", "LOGGED_IN"), "");
        assert_eq!(
            seen("LOGGED_IN", "FAILED", "LOGGED_IN"),
            r#"1 Some("LOGGED_IN") Some("FAILED"); 2 Some("FAILED") Some("LOGGED_IN")"#
        );
        assert_eq!(seen("FAILED", "FAILED", "FAILED"), r#"0 Some("LOGGED_IN") Some("FAILED")"#);
        put("LOGGED_IN");
        std::fs::remove_file(roots.sys.join("dev/block/8:48")).expect("a link");
        assert_eq!(seen("LOGGED_IN", "LOGGED_IN", "LOGGED_IN"), r#"0 Some("LOGGED_IN") None"#);
    }

    #[test]
    fn a_first_reading_that_comes_late_says_so() {
        let dir = tempfile::tempdir().expect("a directory");
        let disk = dir.path().join("sys/dev/block/8:0");
        std::fs::create_dir_all(&disk).expect("room");
        let stat = |reads: u64| {
            std::fs::write(disk.join("stat"), format!("{reads} 0 {} 1 0 0 0 0 0 1 1 0 0 0 0\n", reads * 8))
                .expect("room");
        };
        stat(100);
        let roots = Roots { sys: dir.path().join("sys"), ..Roots::default() };
        let number = DeviceNumber { major: 8, minor: 0 };
        let counters = DiskCounters::open(number, &roots).expect("a disk");
        let sources =
            Sources { disks: vec![("sda".to_string(), counters)], lowest: 1, below: 1, ..Sources::default() };
        let seen = |measure_start_ns: u64| {
            stat(100);
            let mut recorder =
                Recorder::start(&sources, &[], &Lengths::only(10_000_000_000), || 5_000_000_000);
            recorder.begin(measure_start_ns);
            stat(900);
            let disks = recorder.finish(None, 15_090_000_000, 14_000_000_000).disks;
            (disks[0].late_ns, disks[0].window_ns, disks[0].total.reads)
        };
        assert_eq!(seen(4_000_000_000), (1_000_000_000, 10_090_000_000, 800));
        // Without a warm-up the reading comes before the first I/O.
        assert_eq!(seen(5_500_000_000), (0, 10_090_000_000, 800));
    }
}
