//! Runs a foreground beside shares of a background: all of them once in random order, and again in each round.
//!
//! The background's maximum is its own first run alone. It runs alone in every round, so that a change is told.

use super::pace::paced;
use super::report::{Alone, BesideReport, Figures, Point, Run};
use crate::answer::{Advice, SeriesVerdict};
use crate::ask::of_target::{results_of, sum};
use crate::ask::{Common, LARGER_TARGET, judged};
use crate::runner::rounds::{AROUND_S, SEEDS_OF_A_RUN, shuffle};
use crate::runner::{Ahead, Draft, Ended, Known, Length, Runner};
use truespd_core::access::Rng;
use truespd_core::profile::{self, Profile, Target, TimeSpan, xml};
use truespd_core::result::metrics::{Metric, Since};
use truespd_core::result::{Document, Measured};
use truespd_front::show::plural;

/// The path of both targets in a profile: the first target behind `-X`.
const TEMPLATE: &str = "*1";
/// The rule about a rate that is not reached.
const RATE_NOT_REACHED: &str = "below-rate";
const ADVICE: Advice = &[
    (&["working-set"], LARGER_TARGET),
    (&["generator-bound"], "let more threads issue (-t in the lines), or stop other programs"),
];

/// Writes a profile to a path.
pub type Write = fn(&str, &str) -> Result<(), Ended>;

/// Two loads on one target.
#[derive(Debug, Clone)]
pub struct Beside {
    /// The foreground's words as they were typed, with times; for the document.
    pub foreground_line: Vec<String>,
    /// The background's words as they were typed; for the document.
    pub background_line: Vec<String>,
    /// Words of the foreground that count for the whole run, and so for both loads.
    pub of_run: Vec<String>,
    /// Those of them that stand beside a profile.
    pub beside_profile: Vec<String>,
    /// Words of the foreground itself.
    pub foreground: Vec<String>,
    /// Words of the background itself.
    pub background: Vec<String>,
    /// The file or device, as a word of a line.
    pub target: String,
    /// What the foreground's line means.
    pub span: TimeSpan,
    /// The background in a run of both; its rate is set for each share.
    pub paced: Target,
    /// Threads of the background: what `-g` counts for.
    pub threads: u32,
    /// In percent of the background's maximum, each once.
    pub shares: Vec<u32>,
    /// Where the profile of each share is written.
    pub files: Vec<String>,
    pub rounds: u32,
    /// Warm-up, measured time and cool-down of a run in seconds.
    pub run: Length,
    /// The lines have a seed of their own.
    pub has_seed: bool,
}

/// What one of its runs is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// What all of it takes: every run of every round.
    Background,
    /// The foreground at the share of this place.
    Share(usize),
}

impl Beside {
    fn one(&self) -> Length {
        self.run.and(AROUND_S)
    }

    /// How many runs all rounds have together.
    fn runs(&self) -> usize {
        self.rounds as usize * (self.shares.len() + 1)
    }

    /// What all of it takes, from the first run on.
    pub fn ahead(&self) -> Ahead {
        self.left(0)
    }

    fn left(&self, done: usize) -> Ahead {
        let steps = self.runs().saturating_sub(done);
        Ahead { steps, length: self.one().times(steps as f64), known: Known::Exactly }
    }

    /// A load alone, as a line without a seed.
    fn alone(&self, own: &[String]) -> Vec<String> {
        [&self.of_run[..], own, std::slice::from_ref(&self.target)].concat()
    }

    pub fn foreground_alone(&self) -> Vec<String> {
        self.alone(&self.foreground)
    }

    pub fn background_alone(&self) -> Vec<String> {
        self.alone(&self.background)
    }

    /// Both loads at once, on the first target behind `-X`.
    pub fn both(&self, background: Target) -> Profile {
        let mut span = self.span.clone();
        span.targets.push(background);
        for target in &mut span.targets {
            target.path = TEMPLATE.to_string();
        }
        Profile { time_spans: vec![span], ..Profile::default() }
    }

    /// The line that runs the profile of a share, without a seed.
    pub fn line_of_both(&self, file: &str) -> Vec<String> {
        let mut words = self.beside_profile.clone();
        words.extend([format!("-X{file}"), self.target.clone()]);
        words
    }

    /// The background at its rate of a share.
    fn background_at(&self, point: &Point) -> Target {
        let iops = point.asked_iops.unwrap_or_default();
        let pace = paced(iops, self.threads, self.paced.mean_bytes());
        Target { throughput: Some(pace.throughput), ..self.paced.clone() }
    }

    fn begin(&self) -> BesideReport {
        let mut points = Vec::new();
        for &share_percent in &self.shares {
            points.push(Point {
                share_percent,
                asked_iops: None,
                asked_bytes_per_s: None,
                profile: None,
                runs: Vec::new(),
            });
        }
        BesideReport {
            common: Common::default(),
            foreground_line: self.foreground_line.clone(),
            background_line: self.background_line.clone(),
            targets: vec![self.target.clone()],
            rounds: self.rounds,
            streams: self.threads,
            alone: Alone::default(),
            points,
            verdict: SeriesVerdict::default(),
        }
    }

    /// Runs all of it; `write` puts profiles where DiskSpd reads them. What is done when it ends early is in the
    /// document.
    pub fn run(&self, runner: &mut dyn Runner, write: Write) -> (BesideReport, Result<(), Ended>) {
        let mut report = self.begin();
        let result = self.all_rounds(&mut report, runner, write);
        (report, result)
    }

    fn all_rounds(
        &self,
        report: &mut BesideReport,
        runner: &mut dyn Runner,
        write: Write,
    ) -> Result<(), Ended> {
        let mut rng = Rng::new(0);
        let mut done = 0;
        for round in 0..self.rounds {
            for kind in self.order(round, &mut rng) {
                runner.ahead(self.left(done + 1));
                let name = self.name(kind);
                let draft = self.draft(kind, done, round, report, write)?;
                let step = draft.read(runner)?;
                let document = runner.run(&step)?;
                self.take(kind, &name, done as u64, &document, report);
                done += 1;
                if kind == Kind::Background && round == 0 {
                    // Without a maximum there are no shares.
                    if report.alone.runs.is_empty() {
                        return Ok(());
                    }
                    self.set_rates(report);
                }
            }
        }
        Ok(())
    }

    /// The order of a round. Shares need the maximum: the first run is that of the background alone.
    fn order(&self, round: u32, rng: &mut Rng) -> Vec<Kind> {
        // Behind the shares stands the background alone.
        let last = self.shares.len();
        let mut places: Vec<usize> = (0..=last).collect();
        shuffle(&mut places, rng);
        if round == 0 {
            places.retain(|&place| place != last);
            places.insert(0, last);
        }
        let mut order = Vec::new();
        for place in places {
            order.push(if place == last { Kind::Background } else { Kind::Share(place) });
        }
        order
    }

    fn name(&self, kind: Kind) -> String {
        match kind {
            Kind::Background => "background alone".to_string(),
            Kind::Share(place) if self.shares[place] == 0 => "foreground alone".to_string(),
            Kind::Share(place) => format!("background at {} %", self.shares[place]),
        }
    }

    fn draft(
        &self,
        kind: Kind,
        done: usize,
        round: u32,
        report: &BesideReport,
        write: Write,
    ) -> Result<Draft, Ended> {
        let mut words = match kind {
            Kind::Background => self.background_alone(),
            Kind::Share(place) if self.shares[place] == 0 => self.foreground_alone(),
            Kind::Share(place) => {
                let background = self.background_at(&report.points[place]);
                write(&self.files[place], &xml::write(&self.both(background), 0))?;
                self.line_of_both(&self.files[place])
            }
        };
        if !self.has_seed {
            // Options come before the target.
            words.insert(0, format!("-z{}", done as u64 * SEEDS_OF_A_RUN));
        }
        let name = format!("{}, round {}", self.name(kind), round + 1);
        Ok(Draft { name, words, length: self.one(), ..Draft::default() })
    }

    /// What the background is asked for at each share, once its maximum is known.
    fn set_rates(&self, report: &mut BesideReport) {
        let Some(maximum) = report.alone.maximum().map(|figures| figures.iops) else { return };
        let mean_bytes = self.paced.mean_bytes();
        for point in report.points.iter_mut().filter(|point| point.share_percent > 0) {
            let wanted = maximum * f64::from(point.share_percent) / 100.0;
            let pace = paced(wanted, self.threads, mean_bytes);
            point.asked_iops = Some(pace.iops);
            point.asked_bytes_per_s = Some(pace.iops * mean_bytes);
        }
    }

    fn take(&self, kind: Kind, name: &str, place: u64, document: &Document, report: &mut BesideReport) {
        // What a paced background does not reach has columns of its own.
        let has_own_rate = self.span.targets.iter().any(Target::is_rate_limited);
        let (grade, findings) = judged(document, |finding| finding.rule == RATE_NOT_REACHED && !has_own_rate);
        report.verdict.take(name, grade, findings);
        report.verdict.advise(ADVICE);
        let (Some(span), Some(measured)) = (document.profile.time_spans.first(), document.measured().next())
        else {
            return;
        };
        let first = figures_of(span, measured, 0);
        match kind {
            Kind::Background => {
                report.alone.profile.get_or_insert_with(|| profile::hash(&document.profile));
                if first.is_some() {
                    report.alone.runs.push(Run { place, foreground: None, background: first, grade });
                }
            }
            Kind::Share(at) => {
                let point = &mut report.points[at];
                let background = if point.share_percent > 0 { figures_of(span, measured, 1) } else { None };
                point
                    .profile
                    .get_or_insert_with(|| hash_without_rate(&document.profile, self.span.targets.len()));
                // A foreground that got nothing done is told, and no reason to hide the background.
                if first.is_some() || background.is_some() {
                    point.runs.push(Run { place, foreground: first, background, grade });
                }
            }
        }
    }

    /// `the background alone and the foreground at 5 shares of it, 3 runs of 12 s each`
    pub fn plan_words(&self) -> String {
        format!(
            "the background alone and the foreground at {} of it, {} of {} each: {}",
            plural(self.shares.len(), "share"),
            plural(self.rounds as usize, "run"),
            self.run.words(),
            self.ahead().length.words()
        )
    }
}

/// The rate follows from the machine: without it, the same question has the same hash everywhere.
fn hash_without_rate(profile: &Profile, own: usize) -> String {
    let mut profile = profile.clone();
    for target in profile.time_spans.iter_mut().flat_map(|span| span.targets.iter_mut().skip(own)) {
        target.throughput = None;
    }
    profile::hash(&profile)
}

/// What a load did: the target at a place of the profile. None without an I/O.
fn figures_of(span: &TimeSpan, measured: &Measured, place: usize) -> Option<Figures> {
    let parts = results_of(span, measured, place)?;
    let both = parts.iter().flat_map(|part| [&part.read, &part.write]);
    let summary = sum(both, measured.test_time_s);
    let iops = Metric::IOPS.of_sum(&summary, Since::Issued).filter(|iops| *iops > 0.0)?;
    let is_response = summary.response.is_some();
    let times = if is_response { summary.response.as_ref() } else { summary.latency.as_ref() };
    let [mean_ns, p50_ns, p99_ns] = [Metric::MEAN, Metric::P50, Metric::P99]
        .map(|metric| times.and_then(|times| metric.of_latencies(times)));
    Some(Figures {
        iops,
        bytes_per_s: Metric::BYTES.of_sum(&summary, Since::Issued).unwrap_or_default(),
        mean_ns,
        p50_ns,
        p99_ns,
        is_response,
    })
}
