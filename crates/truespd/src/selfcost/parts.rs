//! The parts of the loop by themselves. What they work on is hidden from the compiler at every call, as it lies in
//! memory in the loop.

use std::hint::black_box;

use super::report::PerUnit;
use truespd_core::access::{
    DataRng, EffectiveDistribution, Meter, Pace, Pattern, PatternSpec, Places, RangeSpec, Rng, SharedOffset,
    SourceWindow, UsableRange, Zipf,
};
use truespd_core::measure::clock::{Clock, MachineClock};
use truespd_core::measure::{Histogram, Intervals};
use truespd_core::profile::{Decimal, Distribution, DistributionKind, DistributionRange, Target, Throughput};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;
/// Sizes of blocks of random data, with their words: each block has its own start and end.
const FILLS: [(&str, usize); 2] = [("4K", 4 << 10), ("64K", 64 << 10)];

/// A part that can be called many times.
pub(super) struct Piece {
    pub name: String,
    pub unit: PerUnit,
    /// How many of the unit a call is.
    pub units_per_call: u64,
    /// How many calls go where one of the others has a thousand.
    pub calls_per_1000: u32,
    pub run: Box<dyn FnMut(u32)>,
}

impl Piece {
    /// How many of its unit so many calls are.
    pub fn amount(&self, calls: u32) -> u64 {
        u64::from(calls) * self.units_per_call
    }
}

fn piece(name: &str, mut call: impl FnMut(u32) + 'static) -> Piece {
    Piece {
        name: name.to_string(),
        unit: PerUnit::Call,
        units_per_call: 1,
        calls_per_1000: 1000,
        run: Box::new(move |calls| (0..calls).for_each(&mut call)),
    }
}

/// All parts, with what they work on.
pub(super) fn pieces(clock: &MachineClock) -> Vec<Piece> {
    let mut pieces = clocks(clock);
    let mut histogram = Histogram::new();
    pieces.push(piece("record a latency (-L)", move |number| {
        black_box(&mut histogram).record(latency_ns(number))
    }));
    let mut intervals = Intervals::new(1_000_000, 1_000_000_000);
    pieces.push(piece("record into an interval (-D)", move |number| {
        black_box(&mut intervals).record(u64::from(number) * 10_000, latency_ns(number));
    }));
    let mut rng = Rng::new(0);
    pieces.push(piece("random number", move |_| {
        black_box(black_box(&mut rng).next_u64());
    }));
    pieces.extend(patterns());
    let target = Target { throughput: Some(Throughput::Iops(1_000_000)), ..Target::default() };
    let mut meter = Meter::new(Pace::of(&target, 1).expect("a legal rate"), 0, 0..u64::MAX, 1);
    pieces.push(piece("rate limit: is it due? (-g)", move |_| {
        let now_ns = black_box(meter.due_ns());
        black_box(meter.wait_ns(now_ns));
        meter.issued(now_ns);
    }));
    let window = SourceWindow::new(MIB, 4096, 512).expect("larger than a block");
    let mut rng = DataRng::new(0);
    pieces.push(piece("data: window of a source (-Z1M)", move |_| {
        black_box(window.next(black_box(&mut rng)));
    }));
    pieces.extend(FILLS.map(|(size, bytes)| fill(size, bytes)));
    pieces
}

fn latency_ns(number: u32) -> u64 {
    65_536 + u64::from(number.wrapping_mul(40_503) & 0xffff)
}

/// Making the data of a block (`-Zr`).
fn fill(size: &str, bytes: usize) -> Piece {
    let (mut data, mut rng) = (vec![0; bytes], DataRng::new(0));
    let call =
        piece(&format!("data: random (-Zr -b{size}), per KiB"), move |_| rng.fill(black_box(&mut data)));
    let kib = (bytes >> 10) as u64;
    // About as long as the other parts take.
    Piece { unit: PerUnit::Kib, units_per_call: kib, calls_per_1000: (400 / kib) as u32, ..call }
}

/// The clock of runs here, and the one it would be otherwise.
fn clocks(clock: &MachineClock) -> Vec<Piece> {
    let name = clock.describe().name;
    let mut clocks = vec![(name, clock.clone())];
    let plain = MachineClock::monotonic("to compare".to_string());
    if plain.describe().name != name {
        clocks.push((plain.describe().name, plain));
    }
    let mut pieces = Vec::new();
    for (name, clock) in clocks {
        pieces.push(piece(&format!("stamp: {name}"), move |_| {
            black_box(clock.now_ns());
        }));
    }
    pieces
}

/// Choosing the next I/O, for each pattern.
fn patterns() -> Vec<Piece> {
    let random = Target { block_bytes: 4096, random_percent: 100, ..Target::default() };
    let percent = Some(distribution(DistributionKind::Percent, 10, 90));
    let absolute = Some(distribution(DistributionKind::Absolute, 100 * MIB, 0));
    let rows = [
        ("offset: sequential", Target { random_percent: 0, ..random.clone() }),
        ("offset: interlocked (-si)", Target { random_percent: 0, interlocked: true, ..random.clone() }),
        ("offset: parallel (-p)", Target { random_percent: 0, parallel: true, ..random.clone() }),
        ("offset: random (-r)", random.clone()),
        (
            "offset: random, no power of two (-r12K)",
            Target { stride_bytes: Some(12 << 10), ..random.clone() },
        ),
        ("offset: mixed (-rs50)", Target { random_percent: 50, ..random.clone() }),
        ("offset: in shares (-rdpct)", Target { distribution: percent, ..random.clone() }),
        ("offset: in parts (-rdabs)", Target { distribution: absolute, ..random.clone() }),
        ("offset: by Zipf's law (--zipf 0.9)", Target { zipf: Decimal::new(0.9), ..random.clone() }),
        ("offset: random, read or write (-r -w30)", Target { write_percent: 30, ..random.clone() }),
    ];
    rows.into_iter().map(|(name, target)| offset(name, &target)).collect()
}

/// Nine of ten I/Os go to the first range.
fn distribution(kind: DistributionKind, first: u64, rest: u64) -> Distribution {
    let ranges = vec![
        DistributionRange { io_percent: 90, span: first },
        DistributionRange { io_percent: 10, span: rest },
    ];
    Distribution { kind, ranges }
}

fn offset(name: &str, target: &Target) -> Piece {
    let range = UsableRange::new(RangeSpec::of(target, GIB)).expect("1 GiB has room for a block");
    let places = match (&target.distribution, target.zipf) {
        (Some(asked), _) => {
            let ranges = EffectiveDistribution::new(asked, &range).expect("ranges fit into 1 GiB");
            Places::Ranges(ranges.into())
        }
        (None, Some(exponent)) => Places::Zipf(Zipf::new(exponent.get(), range.positions(), 0).into()),
        (None, None) => Places::Uniform,
    };
    let start = range.start_of(0).expect("the first thread starts at 0");
    let mut rng = Rng::new(0);
    let mut pattern = Pattern::new(PatternSpec::of(target, start, 1, places), &mut rng);
    let shared = SharedOffset::default();
    piece(name, move |_| {
        black_box(black_box(&mut pattern).next(black_box(0), black_box(&mut rng), &shared));
    })
}
