//! What a foreground felt beside a background, and what follows from it.

use crate::answer::SeriesVerdict;
use crate::ask::Common;
use crate::runner::rounds::{LEVEL, Measured, RUNS_MIN};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::measure::estimate::Estimate;
use truespd_core::result::Grade;

/// Below this part of the rate that was asked for, a share is missed.
const REACHED: f64 = 0.97;
/// From so many times of alone on, a longer p99 is felt: less is true of hardly any two runs, and matters to nobody.
pub const FELT: f64 = 1.05;
/// The background alone is another one where it differs by more than this part.
const CHANGED: f64 = 0.1;

/// What a foreground felt, share by share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BesideReport")]
pub struct BesideReport {
    /// What it has in common with the documents of all suites.
    #[serde(flatten)]
    pub common: Common,
    /// DiskSpd's words of the foreground, without the target. Times and other options of the whole run stand here.
    pub foreground_line: Vec<String>,
    /// DiskSpd's words of the background, without the target.
    pub background_line: Vec<String>,
    /// The file or device, as a word of a line.
    pub targets: Vec<String>,
    /// Runs of each point that were asked for.
    pub rounds: u32,
    /// What a rate of the background is divided by: its threads, as `-g` counts for each of them.
    pub streams: u32,
    /// The background alone, as fast as it goes.
    pub alone: Alone,
    /// The shares in the order given.
    pub points: Vec<Point>,
    /// What the verdicts of all runs say.
    pub verdict: SeriesVerdict,
}

/// The background alone: as fast as it goes, beside nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Alone {
    /// Hash of its profile, by which the history knows the same test; none until it has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Its runs in the order of time. The first one is the maximum, of which the shares are.
    pub runs: Vec<Run>,
}

/// The foreground beside a share of the background.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Share of the background's own maximum in percent; 0: the foreground alone.
    pub share_percent: u32,
    /// I/Os per second that the background was asked for; none at 0 %, and until the maximum is known.
    pub asked_iops: Option<f64>,
    /// The same in bytes per second.
    pub asked_bytes_per_s: Option<f64>,
    /// Hash of its profile without the rate, by which the history knows the same test; none until it has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Its runs in the order of time.
    pub runs: Vec<Run>,
}

/// A run of one load, or of both at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its place among all runs, from 0.
    pub place: u64,
    /// What the foreground did; none where it did not run.
    pub foreground: Option<Figures>,
    /// What the background did; none where it did not run.
    pub background: Option<Figures>,
    /// Its verdict; none when it was not judged.
    pub grade: Option<Grade>,
}

/// What a load did over the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// I/Os per second over the measured time.
    pub iops: f64,
    /// Bytes per second over the measured time.
    pub bytes_per_s: f64,
    /// Mean latency in nanoseconds; none without an I/O.
    pub mean_ns: Option<f64>,
    /// Median of the latency in nanoseconds.
    pub p50_ns: Option<f64>,
    /// 99th percentile of the latency in nanoseconds.
    pub p99_ns: Option<f64>,
    /// Latencies are response times, from when the load's own rate wanted the I/O.
    #[serde(default)]
    pub is_response: bool,
}

/// How many times as much as alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    pub mean: f64,
    /// Ends of the interval; none with fewer runs than tell.
    pub range: Option<[f64; 2]>,
}

/// Which share the foreground feels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Felt {
    /// At this share in percent, p99 is longer than alone by 5 % or more, beyond the error of the runs.
    From(u32),
    /// At no share it is longer for sure.
    Nowhere,
    /// Too few runs, or none alone.
    NotKnown,
}

/// A share that the background did not reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Missed {
    pub share_percent: u32,
    pub asked_bytes_per_s: f64,
    pub reached_bytes_per_s: f64,
    /// Reached of asked, of I/Os per second.
    pub part: f64,
}

fn figure(runs: &[Run], of: impl Fn(&Run) -> Option<f64>) -> Option<Measured> {
    Measured::of(&runs.iter().filter_map(of).collect::<Vec<f64>>())
}

impl Alone {
    /// A figure of the background over its runs; none without a run.
    pub fn background(&self, of: fn(&Figures) -> Option<f64>) -> Option<Measured> {
        figure(&self.runs, |run| run.background.as_ref().and_then(of))
    }

    /// The maximum: what its first run did.
    pub fn maximum(&self) -> Option<&Figures> {
        self.runs.first()?.background.as_ref()
    }

    /// I/Os per second of its first run, and the mean of the later ones, where these are another speed.
    pub fn change(&self) -> Option<[f64; 2]> {
        let first = self.maximum()?.iops;
        let later = figure(self.runs.get(1..)?, |run| run.background.as_ref().map(|it| it.iops))?.mean;
        ((later - first).abs() > first * CHANGED).then_some([first, later])
    }
}

impl Point {
    /// A figure of the foreground over its runs; none without a run.
    pub fn foreground(&self, of: fn(&Figures) -> Option<f64>) -> Option<Measured> {
        figure(&self.runs, |run| run.foreground.as_ref().and_then(of))
    }

    /// A figure of the background over its runs; none where it did not run.
    pub fn background(&self, of: fn(&Figures) -> Option<f64>) -> Option<Measured> {
        figure(&self.runs, |run| run.background.as_ref().and_then(of))
    }

    /// Latencies of the foreground are response times.
    pub fn is_response(&self) -> bool {
        self.runs.iter().filter_map(|run| run.foreground.as_ref()).any(|figures| figures.is_response)
    }

    /// The worst verdict of its runs.
    pub fn grade(&self) -> Option<Grade> {
        self.runs.iter().filter_map(|run| run.grade).max()
    }

    /// Half of the interval of a figure of the foreground in percent of its mean; none with fewer runs than tell.
    pub fn error_percent(&self, of: fn(&Figures) -> Option<f64>) -> Option<f64> {
        self.foreground(of)?.error_percent(self.runs.len())
    }

    /// The middle of the logarithms of a figure of the foreground; none with fewer runs than tell.
    fn middle(&self, of: fn(&Figures) -> Option<f64>) -> Option<Estimate> {
        let mut values = Vec::new();
        for figures in self.runs.iter().filter_map(|run| run.foreground.as_ref()) {
            values.extend(of(figures).filter(|value| *value > 0.0).map(f64::ln));
        }
        if values.len() < RUNS_MIN { None } else { Estimate::of(&values) }
    }

    /// What the background did not reach of the rate that it was asked for; none where it reached it.
    pub fn missed(&self) -> Option<Missed> {
        let asked = self.asked_iops.filter(|asked| *asked > 0.0)?;
        let part = self.background(|figures| Some(figures.iops))?.mean / asked;
        if part >= REACHED {
            return None;
        }
        Some(Missed {
            share_percent: self.share_percent,
            asked_bytes_per_s: self.asked_bytes_per_s.unwrap_or_default(),
            reached_bytes_per_s: self.background(|figures| Some(figures.bytes_per_s))?.mean,
            part,
        })
    }
}

impl BesideReport {
    /// The foreground alone, where that was asked for and has run.
    pub fn foreground_alone(&self) -> Option<&Point> {
        self.points.iter().find(|point| point.share_percent == 0 && !point.runs.is_empty())
    }

    /// The largest share that has run.
    pub fn most(&self) -> Option<&Point> {
        let beside = self.points.iter().filter(|point| point.share_percent > 0 && !point.runs.is_empty());
        beside.max_by_key(|point| point.share_percent)
    }

    /// A figure of the foreground at a share, in times of what it is alone; none without both.
    pub fn times(&self, point: &Point, of: fn(&Figures) -> Option<f64>) -> Option<Times> {
        let alone = self.foreground_alone()?;
        let mean = point.foreground(of)?.mean / alone.foreground(of).filter(|figure| figure.mean > 0.0)?.mean;
        let mut range = None;
        if let (Some(here), Some(there)) = (point.middle(of), alone.middle(of)) {
            let (low, high) = here.less(there).interval(LEVEL);
            range = Some([low.exp().min(mean), high.exp().max(mean)]);
        }
        Some(Times { mean, range })
    }

    /// The smallest share at which p99 is longer than alone for sure. As each share is one more chance to be wrong,
    /// each is looked at with its part of the doubt (Bonferroni).
    pub fn felt(&self) -> Felt {
        let Some(alone) = self.foreground_alone().and_then(|point| point.middle(|it| it.p99_ns)) else {
            return Felt::NotKnown;
        };
        let mut known = Vec::new();
        for point in self.points.iter().filter(|point| point.share_percent > 0) {
            known
                .extend(point.middle(|it| it.p99_ns).map(|middle| (point.share_percent, middle.less(alone))));
        }
        let level = LEVEL / known.len().max(1) as f64;
        let longer = known.iter().filter(|(_, more)| more.mean >= FELT.ln() && more.interval(level).0 > 0.0);
        match longer.map(|(share, _)| *share).min() {
            Some(share) => Felt::From(share),
            None if known.is_empty() => Felt::NotKnown,
            None => Felt::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(iops: f64, p99_ns: f64) -> Figures {
        Figures {
            iops,
            bytes_per_s: iops * 4096.0,
            mean_ns: Some(p99_ns / 4.0),
            p50_ns: Some(p99_ns / 5.0),
            p99_ns: Some(p99_ns),
            is_response: false,
        }
    }

    fn point(share_percent: u32, p99s: &[f64], asked: Option<f64>, reached: f64) -> Point {
        let mut runs = Vec::new();
        for &p99_ns in p99s {
            let background = asked.map(|_| figures(reached, 1e6));
            runs.push(Run { place: 0, foreground: Some(figures(1000.0, p99_ns)), background, grade: None });
        }
        let asked_bytes_per_s = asked.map(|iops| iops * 4096.0);
        Point { share_percent, asked_iops: asked, asked_bytes_per_s, profile: None, runs }
    }

    fn report(points: Vec<Point>) -> BesideReport {
        BesideReport {
            common: Common::default(),
            foreground_line: Vec::new(),
            background_line: Vec::new(),
            targets: Vec::new(),
            rounds: 3,
            streams: 1,
            alone: Alone::default(),
            points,
            verdict: SeriesVerdict::default(),
        }
    }

    #[test]
    fn what_is_felt_is_more_than_scatter() {
        let alone = point(0, &[100.0, 101.0, 99.0], None, 0.0);
        let same = point(25, &[100.5, 101.5, 99.0], Some(10.0), 10.0);
        let longer = point(50, &[200.0, 210.0, 190.0], Some(20.0), 20.0);
        let little = point(50, &[103.0, 103.0, 103.0], Some(20.0), 20.0);
        let wild = point(75, &[90.0, 400.0, 150.0], Some(30.0), 30.0);
        let of = |points: &[&Point]| report(points.iter().map(|&point| point.clone()).collect()).felt();
        assert_eq!(of(&[&alone, &same, &longer]), Felt::From(50));
        assert_eq!(of(&[&longer, &same, &alone]), Felt::From(50), "whatever the order");
        assert_eq!(of(&[&alone, &same]), Felt::Nowhere);
        assert_eq!(of(&[&alone, &wild]), Felt::Nowhere, "it scatters as much");
        let steady = point(0, &[100.0, 100.0, 100.0], None, 0.0);
        assert_eq!(of(&[&steady, &little]), Felt::Nowhere, "for sure, but 3 %");
        assert_eq!(of(&[&same, &longer]), Felt::NotKnown);
        assert_eq!(of(&[&alone]), Felt::NotKnown);
        let once = point(50, &[200.0], Some(20.0), 20.0);
        assert_eq!(of(&[&alone, &once]), Felt::NotKnown);
        assert_eq!(of(&[&point(0, &[100.0, 100.0], None, 0.0), &longer]), Felt::NotKnown);
    }

    #[test]
    fn times_of_alone_have_their_interval() {
        let told = report(vec![
            point(0, &[100.0, 101.0, 99.0], None, 0.0),
            point(50, &[200.0, 210.0, 190.0], Some(20.0), 20.0),
            point(100, &[500.0], Some(40.0), 40.0),
        ]);
        let times = told.times(&told.points[1], |it| it.p99_ns).expect("both ran");
        let [low, high] = times.range.expect("three runs");
        assert!((times.mean - 2.0).abs() < 1e-9 && low > 1.7 && low < 2.0 && high < 2.3, "{times:?}");
        let once = told.times(&told.points[2], |it| it.p99_ns).expect("both ran");
        assert_eq!((once.mean, once.range), (5.0, None));
        assert_eq!(told.most().map(|point| point.share_percent), Some(100));
    }

    #[test]
    fn a_missed_share_is_told() {
        assert_eq!(point(0, &[1.0], None, 0.0).missed(), None);
        assert_eq!(point(50, &[1.0], Some(100.0), 98.0).missed(), None);
        let missed = point(50, &[1.0], Some(100.0), 60.0).missed().expect("60 %");
        assert_eq!((missed.share_percent, missed.part), (50, 0.6));
        assert_eq!(missed.reached_bytes_per_s / missed.asked_bytes_per_s, 0.6);
    }

    #[test]
    fn a_background_that_is_another_one_later_is_told() {
        let of = |all: &[f64]| {
            let mut runs = Vec::new();
            for &iops in all {
                runs.push(Run {
                    place: 0,
                    foreground: None,
                    background: Some(figures(iops, 1.0)),
                    grade: None,
                });
            }
            Alone { profile: None, runs }.change()
        };
        assert_eq!(of(&[100.0, 95.0, 96.0]), None);
        assert_eq!(of(&[100.0, 50.0, 70.0]), Some([100.0, 60.0]));
        assert_eq!(of(&[100.0]), None);
        assert_eq!(of(&[]), None);
    }
}
