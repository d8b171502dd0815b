//! Whole searches on simulated storage whose highest rate is known.

use crate::ask::find_max::HighestRate;
use crate::ask::find_max::decide::{Asked, Next, RUNS_MAX, is_near, next};
use crate::ask::find_max::limits::{LatencyLimit, Of};
use crate::ask::find_max::search::{Search, SearchEnd};
use crate::ask::find_max::trial::tests::{SECONDS, point};
use crate::ask::find_max::trial::{Class, Point, Trial, Why};
use truespd_core::result::schema;

/// Numbers that repeat for a seed.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Of the normal distribution.
    fn normal(&mut self) -> f64 {
        let (a, b) = (self.uniform().max(1e-12), self.uniform());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

const STREAMS: u64 = 4;

fn limit() -> LatencyLimit {
    LatencyLimit::new(Of::P99, 2.0).unwrap()
}

/// Storage with a share of late I/Os for each rate of a stream.
struct Storage {
    capacity: f64,
    /// The share of late I/Os at a rate.
    law: fn(f64) -> f64,
    /// So many I/Os in a row are of one kind: late together or not.
    alike: f64,
    random: Random,
    /// This run of all is late whatever the rate.
    disturbed: usize,
}

impl Storage {
    fn run(&mut self, rate: u64, number: usize) -> Point {
        let ios = (rate * STREAMS) as f64 * SECONDS;
        let effective = (ios / self.alike).max(1.0);
        let share = if number == self.disturbed { 0.5 } else { (self.law)(rate as f64) };
        let error = (share * (1.0 - share) / effective).sqrt();
        let seen = (share + error * self.random.normal()).clamp(0.0, 1.0);
        let mut point = point(rate, STREAMS, limit(), seen, effective);
        if rate as f64 > self.capacity * 1.015 {
            point.is_within = false;
            let trial = point.trial.as_mut().expect("a trial");
            trial.ios = (trial.ios as f64 * self.capacity / rate as f64) as u64;
        }
        point
    }

    fn search(&mut self) -> (Search, Next) {
        let limits = [limit()];
        let asked = Asked { unlimited: self.capacity, limits: &limits, width: 0.05, least: 1 };
        let mut points: Vec<Point> = Vec::new();
        loop {
            match next(&asked, &points) {
                Next::Try(rate) => {
                    assert!(rate >= 1 && points.len() < RUNS_MAX, "{rate}");
                    let number = points.len();
                    points.push(self.run(rate, number));
                }
                end => {
                    let mut search = empty();
                    search.points = points;
                    search.note_end(end);
                    return (search, end);
                }
            }
        }
    }
}

fn empty() -> Search {
    Search {
        limit: limit(),
        limits: vec![limit()],
        precision_percent: Some(5.0),
        streams: STREAMS,
        outstanding: 32,
        unlimited_iops: 40_000.0,
        points: Vec::new(),
        lower: None,
        upper: None,
        is_generator_bound: false,
        is_out_of_time: false,
        change: None,
        end: None,
    }
}

/// One server with exponential service: the response time is exponential with the rate that is left.
fn queue(rate: f64) -> f64 {
    let left = 10_000.0 - rate;
    if left <= 0.0 { 1.0 } else { (-left * 0.002).exp() }
}

/// The rate at which a hundredth is late.
const QUEUE_KNEE: f64 = 10_000.0 - 4.605_170_186 / 0.002;

fn knee(rate: f64) -> f64 {
    if rate <= 6_210.0 { 0.001 } else { 0.2 }
}

fn gentle(rate: f64) -> f64 {
    // A hundredth at 5,000; a tenth more rate, and it is 1.6 times as many.
    0.01 * (rate / 5_000.0).powi(5)
}

fn storage(law: fn(f64) -> f64, alike: f64, seed: u64) -> Storage {
    Storage { capacity: 10_000.0, law, alike, random: Random(seed * 7919 + 1), disturbed: usize::MAX }
}

/// How many of so many searches have the truth between their bounds; each that does has to be near enough.
fn right(law: fn(f64) -> f64, alike: f64, truth: f64, seeds: u64) -> (usize, usize, usize) {
    let (mut right, mut answered, mut runs) = (0, 0, 0);
    for seed in 1..=seeds {
        let (search, end) = storage(law, alike, seed).search();
        runs += search.points.len();
        let (Next::Found, Some(lower), Some(upper)) = (end, search.lower, search.upper) else { continue };
        answered += 1;
        assert!(is_near(lower.per_stream, upper.per_stream, 0.05), "{seed}: {lower:?} {upper:?}");
        assert!(lower.kept >= 2 && upper.broken >= 2, "{lower:?} {upper:?}");
        right += usize::from((lower.per_stream as f64) <= truth && truth <= upper.per_stream as f64);
    }
    (right, answered, runs / seeds as usize)
}

#[test]
fn the_truth_lies_between_the_bounds_of_nineteen_of_twenty() {
    type Case = (fn(f64) -> f64, f64, f64);
    let cases: [Case; 5] = [
        (queue, 1.0, QUEUE_KNEE),
        (queue, 20.0, QUEUE_KNEE),
        (knee, 100.0, 6_210.0),
        (gentle, 5.0, 5_000.0),
        (gentle, 20.0, 5_000.0),
    ];
    for (number, (law, alike, truth)) in cases.into_iter().enumerate() {
        let (right, answered, runs) = right(law, alike, truth, 40);
        println!("case {number}: {right} of {answered} answers right, {runs} runs on average");
        assert!(answered >= 38, "case {number}: {answered} answers");
        assert!(right * 20 >= answered * 19, "case {number}: {right} of {answered}");
        assert!(runs <= 35, "case {number}: {runs} runs");
    }
}

#[test]
fn the_knee_is_found_wherever_it_is() {
    fn at(knee: u64) -> (Search, Next) {
        let limits = [limit()];
        let asked = Asked { unlimited: 1_000.0, limits: &limits, width: 0.05, least: 1 };
        let mut points = Vec::new();
        loop {
            match next(&asked, &points) {
                Next::Try(rate) => {
                    let share = if rate <= knee { 0.0 } else { 0.5 };
                    points.push(point(rate, STREAMS, limit(), share, 10_000.0));
                }
                end => {
                    let mut search = empty();
                    search.points = points;
                    search.note_end(end);
                    return (search, end);
                }
            }
        }
    }
    for knee in [30, 99, 100, 101, 250, 499, 720, 849, 900, 960, 979, 1_100, 2_900] {
        let (search, end) = at(knee);
        assert_eq!(end, Next::Found, "{knee}");
        let (lower, upper) = (search.lower.unwrap().per_stream, search.upper.unwrap().per_stream);
        assert!(lower <= knee && knee < upper && is_near(lower, upper, 0.05), "{knee}: {lower} {upper}");
        assert!(search.points.len() <= 20, "{knee}: {}", search.points.len());
        assert_eq!(search.end, Some(SearchEnd::Found(lower)));
    }
    assert_eq!(at(0).1, Next::None);
    let (search, end) = at(u64::MAX);
    assert_eq!((end, search.end), (Next::Top, Some(SearchEnd::AllKeepIt(3_000))));
}

#[test]
fn upwards_first_and_never_far_above_what_broke() {
    let (search, _) = storage(knee, 1.0, 3).search();
    let tried: Vec<u64> = search.points.iter().map(|point| point.per_stream).collect();
    assert_eq!(tried[..5], [1_000, 3_000, 5_000, 7_000, 7_000], "the first that is broken is repeated");
    assert!(tried.iter().all(|rate| *rate <= 7_000), "{tried:?}");
}

#[test]
fn slow_storage_has_few_rates() {
    let limits = [limit()];
    // 3 I/Os per second and stream.
    let asked = Asked { unlimited: 3.0, limits: &limits, width: 0.05, least: 1 };
    let mut points = Vec::new();
    while let Next::Try(rate) = next(&asked, &points) {
        points.push(point(rate, STREAMS, limit(), if rate <= 1 { 0.0 } else { 0.5 }, 10_000.0));
        assert!(points.len() < 20);
    }
    let mut search = empty();
    search.points = points;
    search.note_end(Next::Found);
    assert_eq!((search.lower.unwrap().per_stream, search.upper.unwrap().per_stream), (1, 2));
    assert_eq!(next(&Asked { unlimited: 0.5, ..asked }, &[]), Next::None);
}

#[test]
fn one_disturbed_run_does_not_decide() {
    for disturbed in 0..12 {
        let mut storage = Storage { disturbed, ..storage(knee, 10.0, 5) };
        let (search, end) = storage.search();
        assert_eq!(end, Next::Found, "{disturbed}");
        let (lower, upper) = (search.lower.unwrap().per_stream, search.upper.unwrap().per_stream);
        assert!(lower <= 6_210 && 6_210 < upper, "{disturbed}: {lower} {upper}");
    }
}

#[test]
fn storage_that_never_does_the_same_twice_comes_to_an_end() {
    let mut random = Random(3);
    let limits = [limit()];
    let asked = Asked { unlimited: 1_000.0, limits: &limits, width: 0.05, least: 1 };
    let mut points = Vec::new();
    while let Next::Try(rate) = next(&asked, &points) {
        let share = if random.uniform() < 0.5 { 0.0 } else { 0.5 };
        points.push(point(rate, STREAMS, limit(), share, 10_000.0));
        assert!(points.len() <= RUNS_MAX);
    }
}

#[test]
fn a_rate_that_breaks_below_one_that_is_kept_is_run_again_before_lower_ones() {
    let limits = [limit()];
    let asked = Asked { unlimited: 1_000.0, limits: &limits, width: 0.05, least: 1 };
    let mut points = Vec::new();
    for (rate, share) in [(100, 0.0), (300, 0.0), (500, 0.5), (500, 0.5), (300, 0.5), (400, 0.0)] {
        points.push(point(rate, STREAMS, limit(), share, 10_000.0));
    }
    // 300 is undecided now, as it was kept once and broken once; 350 breaks.
    points.push(point(350, STREAMS, limit(), 0.5, 10_000.0));
    assert_eq!(next(&asked, &points), Next::Try(350));
    points.push(point(350, STREAMS, limit(), 0.5, 10_000.0));
    assert_ne!(next(&asked, &points), Next::Try(350), "it broke more often than 400 was kept");
}

#[test]
fn a_pass_above_a_failure_is_a_fluke() {
    let mut search = empty();
    for (rate, share) in [(100, 0.0), (100, 0.0), (300, 0.5), (300, 0.5), (500, 0.0), (500, 0.0)] {
        search.points.push(point(rate, STREAMS, limit(), share, 10_000.0));
    }
    search.note_bounds();
    assert_eq!((search.lower.unwrap().per_stream, search.upper.unwrap().per_stream), (100, 300));
    assert_eq!((search.upper.unwrap().broken, search.upper.unwrap().why), (2, Some(Why::Late)));
}

#[test]
fn the_answer_says_both_bounds_with_their_runs() {
    let mut search = empty();
    for (rate, share) in
        [(11_512, 0.001), (11_512, 0.0), (12_069, 0.03), (12_069, 0.04), (12_069, 0.005), (12_069, 0.03)]
    {
        search.points.push(point(rate, STREAMS, limit(), share, 10_000.0));
    }
    search.note_end(Next::Found);
    assert_eq!(
        search.answer(),
        "highest rate: between 46,048 (kept 2 of 2) and 48,276 (broken 3 of 4) IOPS at p99 <= 2 ms\n"
    );
    // What the storage answered in time and nobody could take.
    for point in &mut search.points {
        point.trial.as_mut().unwrap().storage_kept = true;
    }
    search.note_end(Next::Found);
    assert_eq!(search.end, Some(SearchEnd::AllKeepIt(11_512)));
    let words = search.answer();
    assert!(
        words.starts_with("highest rate: at least 46,048 (kept 2 of 2) IOPS at p99 <= 2 ms\n"),
        "{words}"
    );
    assert!(words.contains("the 32 outstanding I/Os are what ends the search, not the limit"), "{words}");
    search.points[3].trial.as_mut().unwrap().is_generator_bound = true;
    search.note_end(Next::Found);
    assert!(search.answer().contains("this program ends the search, not the storage"), "{}", search.answer());
}

#[test]
fn storage_that_changed_gives_no_answer() {
    let mut search = empty();
    for (rate, mean_ms, is_again) in [(100, 1.0, false), (500, 1.0, false), (100, 1.5, true)] {
        let mut point = point(rate, STREAMS, limit(), 0.0, 10_000.0);
        point.mean_ms = mean_ms;
        let trial = point.trial.as_mut().unwrap();
        (trial.mean.error, trial.mean.batches, trial.is_again) = (0.02, 100, is_again);
        search.points.push(point);
    }
    search.end = Some(SearchEnd::Found(500));
    let mut noisy = search.clone();
    noisy.points[0].trial.as_mut().unwrap().mean.error = 0.4;
    search.note_change();
    assert!(search.answer().starts_with("no answer: the storage changed"), "{}", search.answer());
    noisy.note_change();
    assert_eq!((noisy.change, noisy.end), (None, Some(SearchEnd::Found(500))), "within its error");
    let mut same = search.clone();
    (same.change, same.points[2].mean_ms) = (None, 1.15);
    same.note_change();
    assert_eq!(same.change, None, "a small change");
}

#[test]
fn an_overload_in_which_everything_is_answered_late_is_missed_or_late() {
    let missed = Trial { due_ios: 1_000, ios: 900, ..Trial::default() };
    assert_eq!(missed.class(&[limit()]), Class::Broken(Why::Missed));
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/find-max-v1.json");
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        published == schema::of_kind::<HighestRate>(),
        "publish it anew: truespd schema find-max > schema/find-max-v1.json"
    );
}
