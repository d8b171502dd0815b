//! The tests of SNIA's Solid State Storage Performance Test Specification 2.0.2 as data.
//!
//! The specification itself is not public. Each test names what its figures are from, in `source`; `docs/pts.md` has
//! each figure with its source, and what is not certain.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_platform::text::typed_size;

const KIB: u64 = 1 << 10;

/// Which of its two editions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// PTS-E: the whole drive, its write cache off.
    Enterprise,
    /// PTS-C: three quarters of the drive, its write cache on.
    Client,
}

impl Class {
    pub const ALL: [(Class, &'static str); 2] =
        [(Class::Enterprise, "enterprise"), (Class::Client, "client")];

    pub fn edition(self) -> &'static str {
        match self {
            Class::Enterprise => "PTS-E",
            Class::Client => "PTS-C",
        }
    }

    /// Threads and I/Os outstanding for each, which the specification suggests and leaves to the person.
    pub fn load(self) -> (u32, u32) {
        match self {
            Class::Enterprise => (4, 32),
            Class::Client => (2, 16),
        }
    }

    /// Part of the drive that is tested, in percent.
    pub fn active_range_percent(self) -> u64 {
        match self {
            Class::Enterprise => 100,
            Class::Client => 75,
        }
    }

    /// What the drive's write cache should be, as the kernel says it.
    pub fn write_cache(self) -> &'static str {
        match self {
            Class::Enterprise => "write through",
            Class::Client => "write back",
        }
    }
}

/// How a cell goes through the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// RND: each I/O at a random place.
    Random,
    /// SEQ: one I/O behind the other.
    Sequential,
}

/// Sizes of the I/Os of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    Bytes(u64),
    /// The sizes and places of the composite block size test.
    Composite,
}

impl Block {
    pub fn name(self) -> String {
        match self {
            Block::Bytes(512) => "0.5 KiB".into(),
            Block::Bytes(bytes) => format!("{} KiB", bytes / KIB),
            Block::Composite => "composite".into(),
        }
    }

    pub fn least_bytes(self) -> u64 {
        match self {
            Block::Bytes(bytes) => bytes,
            Block::Composite => 512,
        }
    }

    pub fn words(self) -> Vec<String> {
        match self {
            Block::Bytes(bytes) => vec![format!("-b{}", typed_size(bytes))],
            Block::Composite => {
                [COMPOSITE_SIZES, COMPOSITE_PLACES].concat().iter().map(ToString::to_string).collect()
            }
        }
    }
}

const COMPOSITE_SIZES: &[&str] =
    &["--mix", "512:4,1K:1,1536:1,2K:1,2560:1,3K:1,3584:1,4K:67,8K:10,16K:7,32K:3,64K:3"];
/// Half of the accesses go to the first 5 %, 30 % to the next 15 %, and the rest to the rest.
const COMPOSITE_PLACES: &[&str] = &["-rdpct50/5:30/15:20/80"];

/// Cells that differ in load, mix and size, in this order.
#[derive(Debug, Clone, Copy)]
pub struct Cells {
    pub pattern: Pattern,
    /// Reads in percent of the I/Os: the outer loop.
    pub reads: &'static [u32],
    pub blocks: &'static [Block],
    /// Threads; empty: those of the person.
    pub threads: &'static [u32],
    /// I/Os outstanding for each thread; empty: those of the person.
    pub outstanding: &'static [u32],
    /// How long each cell runs, in seconds.
    pub seconds: u32,
}

const MINUTE: u32 = 60;
/// Rounds after which a test ends although it is not steady.
pub const ROUNDS_MAX: u32 = 25;

const NONE: Cells = Cells {
    pattern: Pattern::Random,
    reads: &[0],
    blocks: &[],
    threads: &[],
    outstanding: &[],
    seconds: MINUTE,
};

/// What is followed from round to round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// I/Os per second: the sum of reads and writes.
    Iops,
    /// Bytes per second of reads and writes.
    Throughput,
    MeanLatency,
}

/// A tracking variable: a figure of one cell.
#[derive(Debug, Clone, Copy)]
pub struct Tracking {
    pub name: &'static str,
    pub read_percent: u32,
    pub block: Block,
    pub figure: Figure,
}

#[derive(Debug, Clone, Copy)]
pub enum End {
    /// All tracking variables are steady, or the last round is over.
    Steady(&'static [Tracking]),
    /// So many rounds have run.
    Times(u32),
    /// The drive has been written so many times, so many rounds have run, or the drive is steady: by every so many-th
    /// round, once it has been written twice, because a fresh drive is steady as well.
    Written { capacities: u64, rounds: u32, every: u32, tracked: &'static [Tracking] },
}

impl End {
    /// Rounds after which it ends in any case.
    pub fn rounds_max(self) -> u32 {
        match self {
            End::Steady(_) => ROUNDS_MAX,
            End::Times(rounds) | End::Written { rounds, .. } => rounds,
        }
    }

    pub fn tracked(self) -> &'static [Tracking] {
        match self {
            End::Steady(tracked) | End::Written { tracked, .. } => tracked,
            End::Times(_) => &[],
        }
    }

    /// Rounds from one that is judged to the next.
    pub fn every(self) -> u32 {
        match self {
            End::Written { every, .. } => every,
            End::Steady(_) | End::Times(_) => 1,
        }
    }
}

/// Rounds of the same cells.
#[derive(Debug, Clone, Copy)]
pub struct Stage {
    pub name: &'static str,
    /// What is written before the cells in each round.
    pub prewrites: Option<Cells>,
    pub cells: Cells,
    pub end: End,
    /// Pause behind each round, in seconds.
    pub wait_s: u32,
    /// Its response times are shown as a histogram; of several cells those of the most, a middle and the fewest IOPS.
    pub has_histogram: bool,
}

impl Stage {
    /// What runs in a round in this order, where the person asks for so many threads and outstanding I/Os.
    pub fn in_order(&self, load: (u32, u32)) -> Vec<Cell> {
        let mut all = Vec::new();
        if let Some(cells) = &self.prewrites {
            for cell in cells.in_order(load) {
                all.push(Cell { is_prewrite: true, ..cell });
            }
        }
        all.extend(self.cells.in_order(load));
        all
    }
}

const ROUNDS: Stage = Stage {
    name: "rounds",
    prewrites: None,
    cells: NONE,
    end: End::Times(1),
    wait_s: 0,
    has_histogram: false,
};

/// What is tested in one go after a purge.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// What `--part` calls it; empty where a test has one.
    pub name: &'static str,
    /// It runs unless told otherwise in these editions.
    pub usual: &'static [Class],
    pub stages: &'static [Stage],
}

/// A test of the specification.
#[derive(Debug, Clone, Copy)]
pub struct Test {
    pub name: &'static str,
    pub title: &'static str,
    /// The drive is written twice before, sequentially.
    pub is_preconditioned: bool,
    pub parts: &'static [Part],
    pub source: &'static str,
    /// In what the test as it is here differs from what is known of the specification.
    pub deviation: Option<&'static str>,
}

const BOTH: &[Class] = &[Class::Enterprise, Class::Client];

const B512: Block = Block::Bytes(512);
const B4K: Block = Block::Bytes(4 * KIB);
const B8K: Block = Block::Bytes(8 * KIB);
const B64K: Block = Block::Bytes(64 * KIB);
const B128K: Block = Block::Bytes(128 * KIB);
const B1M: Block = Block::Bytes(1024 * KIB);

const WRITE_4K: &[Tracking] =
    &[Tracking { name: "RND 4 KiB 0/100 IOPS", read_percent: 0, block: B4K, figure: Figure::Iops }];

const RANDOM_WRITES: Cells = Cells { blocks: &[B4K], ..NONE };
/// What follows the steady state.
const HISTOGRAM: Stage = Stage {
    name: "response times",
    cells: Cells { seconds: 20 * MINUTE, ..RANDOM_WRITES },
    has_histogram: true,
    ..ROUNDS
};
const LATENCY_HISTOGRAM: Stage =
    Stage { cells: Cells { threads: &[1], outstanding: &[1], ..HISTOGRAM.cells }, ..HISTOGRAM };

/// Samples of a minute until four times the capacity has been written, or for a day.
const fn saturation(cells: Cells, tracked: &'static [Tracking]) -> Stage {
    Stage {
        name: "samples",
        cells,
        end: End::Written { capacities: 4, rounds: 24 * 60, every: 31, tracked },
        ..ROUNDS
    }
}

const fn sequential(name: &'static str, blocks: &'static [Block], tracked: &'static [Tracking]) -> Stage {
    let cells = Cells {
        pattern: Pattern::Sequential,
        reads: &[100, 0],
        blocks,
        threads: &[1],
        outstanding: &[32],
        seconds: MINUTE,
    };
    Stage { name, cells, end: End::Steady(tracked), ..ROUNDS }
}

const fn for_hours(name: &'static str, pattern: Pattern, blocks: &'static [Block], hours: u32) -> Stage {
    let cells = Cells { pattern, blocks, threads: &[1], outstanding: &[32], ..NONE };
    Stage { name, cells, end: End::Times(hours * 60), ..ROUNDS }
}

const BURSTS: u32 = 360;

const fn bursts(name: &'static str, wait_s: u32) -> Stage {
    Stage { name, cells: Cells { seconds: 5, ..RANDOM_WRITES }, end: End::Times(BURSTS), wait_s, ..ROUNDS }
}

const BASELINE: Stage = Stage { name: "baseline", cells: RANDOM_WRITES, end: End::Times(30), ..ROUNDS };
const DEMANDS: &[u32] = &[32, 16, 8, 6, 4, 2, 1];

/// Writes for so long with the largest demand.
const fn hard(blocks: &'static [Block], seconds: u32) -> Cells {
    Cells { blocks, threads: &[32], outstanding: &[32], seconds, ..NONE }
}

/// Rounds of half an hour until the drive is steady.
const fn half_hours(cells: Cells, tracked: &'static [Tracking]) -> Stage {
    Stage { cells: Cells { seconds: 30 * MINUTE, ..cells }, end: End::Steady(tracked), ..ROUNDS }
}

/// Rounds of all demands, until the largest one is steady.
const fn demands(blocks: &'static [Block], reads: &'static [u32], tracked: &'static [Tracking]) -> Stage {
    Stage {
        name: "demands",
        prewrites: Some(hard(blocks, 5 * MINUTE)),
        cells: Cells { reads, blocks, threads: DEMANDS, outstanding: DEMANDS, ..NONE },
        end: End::Steady(tracked),
        wait_s: 0,
        has_histogram: true,
    }
}

const COMPOSITE_BLOCKS: &[Block] = &[Block::Composite];
const COMPOSITE: Cells = Cells { reads: &[40], blocks: COMPOSITE_BLOCKS, ..NONE };
const COMPOSITE_WRITES: &[Tracking] = &[Tracking {
    name: "composite 0/100 IOPS",
    read_percent: 0,
    block: Block::Composite,
    figure: Figure::Iops,
}];
const COMPOSITE_TRACKED: &[Tracking] = &[Tracking {
    name: "composite 40/60 IOPS",
    read_percent: 40,
    block: Block::Composite,
    figure: Figure::Iops,
}];

const HALF_HOURS: &str =
    "Each round of 30 minutes is judged as a whole; a public script judges one minute of it.";
const DEMANDS_DEVIATE: &str = "Each round of 30 minutes is judged as a whole; a public script judges one minute of it. \
     The histograms are of demands of the last round; that script runs these demands once more, for 10 minutes \
     each, after an hour of writes.";

/// All tests, in the order of the help.
pub static TESTS: [Test; 8] = [
    Test {
        name: "iops",
        title: "IOPS",
        is_preconditioned: true,
        parts: &[Part {
            name: "",
            usual: BOTH,
            stages: &[Stage {
                cells: Cells {
                    reads: &[100, 95, 65, 50, 35, 5, 0],
                    blocks: &[
                        B1M,
                        B128K,
                        B64K,
                        Block::Bytes(32 * KIB),
                        Block::Bytes(16 * KIB),
                        B8K,
                        B4K,
                        B512,
                    ],
                    ..NONE
                },
                end: End::Steady(&[
                    WRITE_4K[0],
                    Tracking {
                        name: "RND 64 KiB 65/35 IOPS",
                        read_percent: 65,
                        block: B64K,
                        figure: Figure::Iops,
                    },
                    Tracking {
                        name: "RND 1024 KiB 100/0 IOPS",
                        read_percent: 100,
                        block: B1M,
                        figure: Figure::Iops,
                    },
                ]),
                ..ROUNDS
            }],
        }],
        source: "cells and tracking variables: PTS 2.0.2 p. 26 and PTS 2.0.1 p. 27, as public scripts quote them",
        deviation: None,
    },
    Test {
        name: "throughput",
        title: "Throughput",
        is_preconditioned: true,
        parts: &[
            Part {
                name: "1024K",
                usual: BOTH,
                stages: &[sequential(
                    "rounds",
                    &[B1M],
                    &[Tracking {
                        name: "SEQ 1024 KiB 0/100 throughput",
                        read_percent: 0,
                        block: B1M,
                        figure: Figure::Throughput,
                    }],
                )],
            },
            Part {
                name: "128K",
                usual: &[Class::Enterprise],
                stages: &[sequential(
                    "rounds",
                    &[B128K],
                    &[Tracking {
                        name: "SEQ 128 KiB 0/100 throughput",
                        read_percent: 0,
                        block: B128K,
                        figure: Figure::Throughput,
                    }],
                )],
            },
        ],
        source: "sizes and tracking variable: public scripts for PTS 2.0; one thread with 32 I/Os: PTS 2.0.1",
        deviation: Some(
            "Preconditioning writes blocks of 128 KiB; other implementations use the size under test.",
        ),
    },
    Test {
        name: "latency",
        title: "Latency",
        is_preconditioned: true,
        parts: &[Part {
            name: "",
            usual: BOTH,
            stages: &[
                Stage {
                    cells: Cells {
                        reads: &[100, 65, 0],
                        blocks: &[B8K, B4K, B512],
                        threads: &[1],
                        outstanding: &[1],
                        ..NONE
                    },
                    end: End::Steady(&[Tracking {
                        name: "RND 4 KiB 0/100 mean latency",
                        read_percent: 0,
                        block: B4K,
                        figure: Figure::MeanLatency,
                    }]),
                    ..ROUNDS
                },
                LATENCY_HISTOGRAM,
            ],
        }],
        source: "cells: PTS 2.0.1 p. 43; histogram of 20 minutes: public scripts and reports for PTS 2.0",
        deviation: None,
    },
    Test {
        name: "wsat",
        title: "Write saturation",
        is_preconditioned: false,
        parts: &[
            Part { name: "RND4K", usual: BOTH, stages: &[saturation(RANDOM_WRITES, WRITE_4K), HISTOGRAM] },
            Part {
                name: "RND8K",
                usual: &[],
                stages: &[saturation(
                    Cells { reads: &[65], blocks: &[B8K], ..NONE },
                    &[Tracking {
                        name: "RND 8 KiB 65/35 IOPS",
                        read_percent: 65,
                        block: B8K,
                        figure: Figure::Iops,
                    }],
                )],
            },
            Part {
                name: "SEQ128K",
                usual: &[],
                stages: &[saturation(
                    Cells { pattern: Pattern::Sequential, reads: &[90], blocks: &[B128K], ..NONE },
                    &[Tracking {
                        name: "SEQ 128 KiB 90/10 IOPS",
                        read_percent: 90,
                        block: B128K,
                        figure: Figure::Iops,
                    }],
                )],
            },
            Part {
                name: "SEQ0.5K",
                usual: &[],
                stages: &[saturation(
                    Cells { pattern: Pattern::Sequential, reads: &[50], blocks: &[B512], ..NONE },
                    &[Tracking {
                        name: "SEQ 0.5 KiB 50/50 IOPS",
                        read_percent: 50,
                        block: B512,
                        figure: Figure::Iops,
                    }],
                )],
            },
            Part { name: "composite", usual: &[], stages: &[saturation(COMPOSITE, COMPOSITE_TRACKED)] },
        ],
        source: "samples of a minute to 4 x the capacity or 24 hours: PTS 1.x; steady by every 31st minute: a public \
                 script for PTS 2.0",
        deviation: None,
    },
    Test {
        name: "hir",
        title: "Host idle recovery",
        is_preconditioned: false,
        parts: &[Part {
            name: "",
            usual: BOTH,
            stages: &[
                half_hours(RANDOM_WRITES, WRITE_4K),
                bursts("wait 5 s", 5),
                BASELINE,
                bursts("wait 10 s", 10),
                BASELINE,
                bursts("wait 15 s", 15),
                BASELINE,
                bursts("wait 25 s", 25),
                BASELINE,
                bursts("wait 50 s", 50),
                BASELINE,
            ],
        }],
        source: "rounds, bursts of 5 s, waits and baselines: a public script for PTS 2.0",
        deviation: Some(HALF_HOURS),
    },
    Test {
        name: "xsr",
        title: "Cross stimulus recovery",
        is_preconditioned: false,
        parts: &[Part {
            name: "",
            usual: BOTH,
            stages: &[
                for_hours("first sequential writes", Pattern::Sequential, &[B1M], 8),
                for_hours("random writes", Pattern::Random, &[B8K], 6),
                for_hours("second sequential writes", Pattern::Sequential, &[B1M], 8),
            ],
        }],
        source: "a public script for PTS 2.0",
        deviation: None,
    },
    Test {
        name: "dirth",
        title: "Demand intensity and response times",
        is_preconditioned: false,
        parts: &[Part {
            name: "",
            usual: BOTH,
            stages: &[half_hours(hard(&[B4K], 0), WRITE_4K), demands(&[B4K], &[0], WRITE_4K)],
        }],
        source: "a public script and report for PTS 2.0",
        deviation: Some(DEMANDS_DEVIATE),
    },
    Test {
        name: "cbw",
        title: "Composite block size",
        is_preconditioned: false,
        parts: &[Part {
            name: "",
            usual: BOTH,
            stages: &[
                half_hours(hard(COMPOSITE_BLOCKS, 0), COMPOSITE_WRITES),
                demands(COMPOSITE_BLOCKS, &[40], COMPOSITE_TRACKED),
            ],
        }],
        source: "a public script and report for PTS 2.0",
        deviation: Some(DEMANDS_DEVIATE),
    },
];

/// A mix of reads and writes, in percent of the I/Os: `65/35`.
pub fn mix(read_percent: u32) -> String {
    format!("{read_percent}/{}", 100_u32.saturating_sub(read_percent))
}

/// A cell as it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub pattern: Pattern,
    pub read_percent: u32,
    pub block: Block,
    pub threads: u32,
    pub outstanding: u32,
    /// Whether the table says its threads and I/Os, and not the person.
    pub has_own_load: bool,
    /// It only writes before the others.
    pub is_prewrite: bool,
    pub seconds: u32,
}

impl Cell {
    pub fn name(&self) -> String {
        let pattern = match self.pattern {
            Pattern::Random => "RND",
            Pattern::Sequential => "SEQ",
        };
        let what = if self.is_prewrite { ", pre-writes" } else { "" };
        format!("{pattern} {} {}{what}", self.block.name(), mix(self.read_percent))
    }
}

impl Cells {
    /// Its cells in the order in which they run, where the person asks for so many threads and outstanding I/Os.
    pub fn in_order(&self, load: (u32, u32)) -> Vec<Cell> {
        let threads = if self.threads.is_empty() { vec![load.0] } else { self.threads.to_vec() };
        let outstanding = if self.outstanding.is_empty() { vec![load.1] } else { self.outstanding.to_vec() };
        let mut all = Vec::new();
        for &threads in &threads {
            for &outstanding in &outstanding {
                for &read_percent in self.reads {
                    for &block in self.blocks {
                        all.push(Cell {
                            pattern: self.pattern,
                            read_percent,
                            block,
                            threads,
                            outstanding,
                            has_own_load: !self.threads.is_empty(),
                            is_prewrite: false,
                            seconds: self.seconds,
                        });
                    }
                }
            }
        }
        all
    }
}

impl Part {
    /// What belongs to it, behind its name where it has one.
    pub fn titled(&self, what: &str) -> String {
        if self.name.is_empty() { what.to_string() } else { format!("{} {what}", self.name) }
    }
}

impl Test {
    /// Its parts that run in an edition, or the one of this name.
    pub fn parts_of(&self, class: Class, only: Option<&str>) -> Vec<&'static Part> {
        let mut parts = Vec::new();
        for part in self.parts {
            let is_chosen = match only {
                Some(name) => part.name == name,
                None => part.usual.contains(&class),
            };
            if is_chosen {
                parts.push(part);
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str) -> &'static Test {
        TESTS.iter().find(|test| test.name == name).expect("a test")
    }

    #[test]
    fn the_matrix_of_iops_is_snias() {
        let cells = test("iops").parts[0].stages[0].cells.in_order((4, 32));
        assert_eq!(cells.len(), 56);
        assert_eq!([cells[0].name(), cells[1].name()], ["RND 1024 KiB 100/0", "RND 128 KiB 100/0"]);
        assert_eq!(cells[55].name(), "RND 0.5 KiB 0/100");
        assert_eq!((cells[8].read_percent, cells[8].threads, cells[8].outstanding), (95, 4, 32));
        assert_eq!(cells.iter().map(|cell| cell.seconds).sum::<u32>(), 56 * 60);
    }

    #[test]
    fn what_is_tracked_is_a_cell() {
        for test in &TESTS {
            for stage in test.parts.iter().flat_map(|part| part.stages) {
                let cells = stage.in_order((1, 1));
                for tracked in stage.end.tracked() {
                    let is_there = cells
                        .iter()
                        .any(|cell| cell.read_percent == tracked.read_percent && cell.block == tracked.block);
                    assert!(is_there, "{} {}", test.name, tracked.name);
                }
            }
        }
        assert_eq!(test("iops").parts[0].stages[0].end.tracked().len(), 3, "all three");
    }

    #[test]
    fn editions_have_their_parts() {
        let names = |class, only| -> Vec<&str> {
            test("throughput").parts_of(class, only).iter().map(|part| part.name).collect()
        };
        assert_eq!(names(Class::Enterprise, None), ["1024K", "128K"]);
        assert_eq!(names(Class::Client, None), ["1024K"]);
        assert_eq!(names(Class::Client, Some("128K")), ["128K"]);
        assert!(!test("wsat").is_preconditioned);
        let demands = test("dirth").parts[0].stages[1].in_order((4, 32));
        assert_eq!((demands.len(), demands[1].threads, demands[49].outstanding), (50, 32, 1));
        assert!(demands[0].is_prewrite && demands[0].seconds == 300, "{:?}", demands[0]);
    }
}
