//! Documents for tests: every combination of options, with numbers that a run could have produced.

use truespd_core::measure::slices::Slice;
use truespd_core::measure::slices::{BUCKETS, bucket_of};
use truespd_core::measure::{Histogram, Intervals, LatencySlices};
use truespd_core::profile::{Distribution, DistributionKind, DistributionRange, Profile, Target, TimeSpan};
use truespd_core::result::{
    CpuUse, Direction, DistributionPart, Document, Measured, System, TargetResult, ThreadResult,
    TimeSpanResult, WaitStatistics,
};
use truespd_platform::machine::topology::{Processor, Topology};

const MIB: u64 = 1 << 20;

/// Small and repeatable; the numbers only have to differ from each other.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    None,
    /// `-F`
    Threads,
    /// `-F -O`
    Requests,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranges {
    None,
    Percent,
    Absolute,
    /// Absolute, cut short by the target's end.
    Clipped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    Plain,
    Smt,
    /// Processor 1 offline, memory-only second node.
    Holes,
    /// Two kinds of cores.
    Hybrid,
    /// Two sockets, nodes and groups, hyperthreads, two kinds of cores.
    Everything,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    Reads,
    Writes,
    Both,
    /// Nothing completed.
    Nothing,
}

#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    pub latency: bool,
    pub iops: bool,
    pub waits: bool,
    pub targets: usize,
    pub threads: u32,
    pub pool: Pool,
    pub ranges: Ranges,
    pub machine: Machine,
    pub mix: Mix,
    /// Which time spans were measured.
    pub spans: &'static [bool],
}

impl Recipe {
    /// The least that the format can show.
    pub const PLAIN: Recipe = Recipe {
        latency: false,
        iops: false,
        waits: false,
        targets: 1,
        threads: 1,
        pool: Pool::None,
        ranges: Ranges::None,
        machine: Machine::Plain,
        mix: Mix::Both,
        spans: &[true],
    };

    /// Everything that the format can show.
    pub const RICH: Recipe = Recipe {
        latency: true,
        iops: true,
        waits: true,
        targets: 3,
        threads: 3,
        pool: Pool::None,
        ranges: Ranges::Absolute,
        machine: Machine::Everything,
        mix: Mix::Both,
        spans: &[true, false, true],
    };
}

pub const MACHINES: [Machine; 5] =
    [Machine::Plain, Machine::Smt, Machine::Holes, Machine::Hybrid, Machine::Everything];
pub const RANGES: [Ranges; 4] = [Ranges::None, Ranges::Percent, Ranges::Absolute, Ranges::Clipped];
pub const POOLS: [Pool; 3] = [Pool::None, Pool::Threads, Pool::Requests];
pub const MIXES: [Mix; 4] = [Mix::Reads, Mix::Writes, Mix::Both, Mix::Nothing];
/// All options that shape a result against each other and against each of `varied`; `set` puts that into the recipe,
/// with the recipe's number for what shall rotate along.
pub fn recipes<T>(varied: &[T], set: impl Fn(&mut Recipe, &T, usize)) -> Vec<Recipe> {
    let mut recipes = Vec::new();
    for bits in 0..32 {
        let bit = |n: u32| bits >> n & 1 == 1;
        for pool in POOLS {
            for ranges in RANGES {
                for value in varied {
                    let index = recipes.len();
                    let mut recipe = Recipe {
                        latency: bit(0),
                        iops: bit(1),
                        waits: bit(2),
                        targets: if bit(3) { 3 } else { 1 },
                        threads: if bit(4) { 3 } else { 1 },
                        pool,
                        ranges,
                        machine: MACHINES[index % MACHINES.len()],
                        ..Recipe::PLAIN
                    };
                    set(&mut recipe, value, index);
                    recipes.push(recipe);
                }
            }
        }
    }
    recipes
}

pub const PATHS: [&str; 3] = ["data1.bin", "/mnt/a b/x (1).dat", "/dev/nvme0n1"];
const SIZES: [u64; 3] = [64 * MIB, 3 << 29, 1_000_204_886_016];

pub fn document(recipe: &Recipe, seed: u64) -> Document {
    let mut random = Random(seed);
    let spans: Vec<TimeSpan> = (0..recipe.spans.len()).map(|index| time_span(recipe, index)).collect();
    let system = system(recipe.machine);
    let time_spans = spans.iter().zip(recipe.spans).map(|(span, &was_measured)| {
        if was_measured {
            TimeSpanResult::Measured(Box::new(measured(recipe, span, &system, &mut random)))
        } else {
            TimeSpanResult::NotMeasured
        }
    });
    let time_spans = time_spans.collect();
    let words = ["diskspd", "-b4K", "-r", "a b.dat"];
    Document {
        command_line: words.map(str::to_string).to_vec(),
        profile: Profile { verbose_stats: recipe.waits, time_spans: spans, ..Profile::default() },
        system,
        time_spans,
        ..Document::default()
    }
}

fn time_span(recipe: &Recipe, index: usize) -> TimeSpan {
    let target = |number: usize| Target {
        path: PATHS[number].to_string(),
        block_bytes: 4096 << (number + index),
        random_percent: if recipe.ranges == Ranges::None { 0 } else { 100 },
        distribution: asked(recipe.ranges),
        write_percent: match recipe.mix {
            Mix::Reads => 0,
            Mix::Writes => 100,
            Mix::Both | Mix::Nothing => 30,
        },
        threads_per_file: recipe.threads,
        request_count: 1 + number as u32,
        ..Target::default()
    };
    TimeSpan {
        measure_latency: recipe.latency,
        calculate_iops_std_dev: recipe.iops,
        duration_s: 2,
        io_bucket_ms: 300,
        thread_count: if recipe.pool == Pool::None { 0 } else { recipe.threads },
        request_count: if recipe.pool == Pool::Requests { 7 } else { 0 },
        targets: (0..recipe.targets).map(target).collect(),
        ..TimeSpan::default()
    }
}

fn asked(ranges: Ranges) -> Option<Distribution> {
    let (kind, list): (_, &[(u32, u64)]) = match ranges {
        Ranges::None => return None,
        Ranges::Percent => (DistributionKind::Percent, &[(90, 10), (0, 5), (10, 85)]),
        Ranges::Absolute => (DistributionKind::Absolute, &[(60, MIB), (0, 3 * MIB / 2), (40, 0)]),
        Ranges::Clipped => {
            (DistributionKind::Absolute, &[(10, 8 * MIB), (20, 8 * MIB), (0, 1 << 50), (70, 0)])
        }
    };
    let ranges = list.iter().map(|&(io_percent, span)| DistributionRange { io_percent, span }).collect();
    Some(Distribution { kind, ranges })
}

/// What the distribution comes to on a target; good enough for a renderer.
fn used(ranges: Ranges, target: &Target, size_bytes: u64) -> Option<Vec<DistributionPart>> {
    let tenth = size_bytes / 10 / target.block_bytes * target.block_bytes;
    let list = match ranges {
        Ranges::None => return None,
        Ranges::Percent => vec![(90, 0, tenth), (10, tenth + tenth / 2, size_bytes - tenth - tenth / 2)],
        Ranges::Absolute => vec![(60, 0, MIB), (40, 5 * MIB / 2, size_bytes - 5 * MIB / 2)],
        Ranges::Clipped => vec![(10, 0, 8 * MIB), (20, 8 * MIB, 8 * MIB)],
    };
    let mut io_start = 0;
    let parts = list.into_iter().map(|(io_percent, offset_bytes, length_bytes)| {
        let part = DistributionPart { io_start, io_percent, offset_bytes, length_bytes };
        io_start += io_percent;
        part
    });
    Some(parts.collect())
}

pub fn system(machine: Machine) -> System {
    let processor = |cpu: u32, core: u32, package: u32, efficiency_class: u32| Processor {
        cpu,
        group: cpu / 64,
        number: cpu % 64,
        core,
        physical_core: core + 16 * package,
        socket: package,
        node: package,
        efficiency_class,
    };
    let (processors, nodes, sockets, groups) = match machine {
        Machine::Plain => (vec![processor(0, 0, 0, 0), processor(1, 1, 0, 0)], 1, 1, 1),
        Machine::Smt => ((0..4).map(|cpu| processor(cpu, cpu / 2, 0, 0)).collect(), 1, 1, 1),
        Machine::Holes => {
            (vec![processor(0, 0, 0, 0), processor(2, 1, 0, 0), processor(11, 2, 0, 0)], 2, 1, 1)
        }
        Machine::Hybrid => ((0..3).map(|cpu| processor(cpu, cpu, 0, u32::from(cpu == 0))).collect(), 1, 1, 1),
        Machine::Everything => {
            let cpus =
                [(0, 0, 0, 1), (1, 0, 0, 1), (2, 1, 0, 0), (64, 0, 1, 1), (65, 0, 1, 1), (70, 1, 1, 0)];
            (cpus.map(|(cpu, core, package, class)| processor(cpu, core, package, class)).to_vec(), 2, 2, 2)
        }
    };
    System {
        computer_name: "bench-01".to_string(),
        start_unix_s: Some(1_741_064_767),
        topology: Topology { processors, nodes, sockets, groups, cpus_possible: None },
        power_scheme: "performance".to_string(),
        kernel_release: "6.12.0-1-amd64".to_string(),
        memory_bytes: Some(8 << 30),
        ..System::default()
    }
}

fn measured(recipe: &Recipe, span: &TimeSpan, system: &System, random: &mut Random) -> Measured {
    let cpu = system.topology.processors.iter().map(|_| {
        let (user, kernel) = (random.below(5000) as f64 / 100.3, random.below(5000) as f64 / 100.7);
        CpuUse { user, kernel, idle: 100.0 - user - kernel }
    });
    let cpu = cpu.collect();
    let owners: Vec<Vec<usize>> = match span.thread_count {
        0 => (0..span.targets.len()).flat_map(|index| vec![vec![index]; recipe.threads as usize]).collect(),
        count => vec![(0..span.targets.len()).collect(); count as usize],
    };
    let threads = owners.iter().enumerate().map(|(id, targets)| ThreadResult {
        id: id as u32,
        source: None,
        targets: targets.iter().map(|&index| target_result(recipe, span, index, random)).collect(),
        waits: waits(random),
    });
    let threads: Vec<ThreadResult> = threads.collect();
    let test_time_s = f64::from(span.duration_s) + random.below(100_000) as f64 / 1e7;
    let latency_over_time = span.measure_latency.then(|| slices(&threads, random.0));
    Measured {
        test_time_s,
        cpu,
        threads,
        latency_over_time,
        engine: "psync".to_string(),
        ..Measured::default()
    }
}

/// The latencies of these threads, spread over 40 slices.
pub fn slices(threads: &[ThreadResult], seed: u64) -> LatencySlices {
    let mut random = Random(seed);
    let mut counts = vec![[[0u64; BUCKETS]; 2]; 40];
    for target in threads.iter().flat_map(|thread| &thread.targets) {
        for (side, direction) in [&target.read, &target.write].into_iter().enumerate() {
            for bucket in direction.latency.iter().flat_map(|latency| latency.buckets()) {
                let slice = random.below(40) as usize;
                counts[slice][side][bucket_of(bucket.low_ns)] += bucket.count;
            }
        }
    }
    let both = |sides: &[[u64; BUCKETS]; 2]| [Slice::of(&sides[0]), Slice::of(&sides[1])];
    LatencySlices::new(50_000_000, counts.iter().map(both).collect())
}

fn waits(random: &mut Random) -> WaitStatistics {
    let lookaside_completions: [u64; 8] = std::array::from_fn(|_| random.below(2000));
    WaitStatistics {
        completion_waits: random.below(1_000_000),
        throttle_waits: random.below(1000),
        throttle_sleeps: random.below(1000),
        lookasides: lookaside_completions.iter().sum(),
        lookaside_completions,
        ..WaitStatistics::default()
    }
}

fn target_result(recipe: &Recipe, span: &TimeSpan, index: usize, random: &mut Random) -> TargetResult {
    let target = &span.targets[index];
    let mut direction = |is_on: bool| direction(span, target, is_on && recipe.mix != Mix::Nothing, random);
    let read = direction(target.reads());
    let write = direction(target.writes());
    TargetResult {
        path: target.path.clone(),
        size_bytes: SIZES[index],
        read,
        write,
        distribution: used(recipe.ranges, target, SIZES[index]),
        short_transfers: 0,
        ..TargetResult::default()
    }
}

/// Up to 300 I/Os, sometimes none.
fn direction(span: &TimeSpan, target: &Target, is_on: bool, random: &mut Random) -> Direction {
    let duration_ns = u64::from(span.duration_s) * 1_000_000_000;
    let mut latency = span.measure_latency.then(Histogram::new);
    let mut response = latency.clone();
    let interval_ns = u64::from(span.io_bucket_ms) * 1_000_000;
    let mut intervals = span.calculate_iops_std_dev.then(|| Intervals::new(interval_ns, duration_ns));
    let ios = if is_on { random.below(300).saturating_sub(20) } else { 0 };
    for _ in 0..ios {
        let spread_bits = 16 + random.below(10);
        let latency_ns = 20_000 + random.below(1 << spread_bits);
        let at_ns = random.below(duration_ns + duration_ns / 100);
        if let Some(latency) = &mut latency {
            latency.record(latency_ns);
        }
        if let Some(response) = &mut response {
            response.record(latency_ns * 3);
        }
        if let Some(intervals) = &mut intervals {
            intervals.record(at_ns, latency_ns);
        }
    }
    let (latency, response) = (latency.map(Box::new), response.map(Box::new));
    Direction { bytes: ios * target.block_bytes, ios, latency, response, intervals, ..Direction::default() }
}

/// The disks below the target are visible and count its I/O: no loop device answers from the page cache, and it is
/// not in memory.
pub fn is_counted(measured: &serde_json::Value) -> bool {
    let layers = measured["evidence"]["targets"][0]["layers"].as_array().expect("layers");
    let is_cached = layers.iter().any(|layer| layer["kind"] == "loop" && layer["direct_io"] == false);
    !is_cached && !measured["evidence"]["disks"].as_array().expect("a list").is_empty()
}
