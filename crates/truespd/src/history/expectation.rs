//! What kept results lead to expect of a run, by how like their machines are to this one.

use std::collections::BTreeSet;

use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};

use super::entry::{Device, Facts};
use super::open::Store;
use super::store::Filter;
use super::surroundings::Surroundings;
use super::{Entry, HistoryError};
use truespd_core::profile;
use truespd_core::result::hosts::Spread;
use truespd_core::result::metrics::{Metric, is_paced};
use truespd_core::result::{Document, Grade, Usual, json};

/// Results that are looked at, the newest of this host and the newest of all.
const RESULTS_MAX: usize = 200;
/// A result is left out at each end for so many.
const RESULTS_PER_CUT: usize = 20;
/// Error of the interval of a median, at each side.
const MEDIAN_ERROR: f64 = 0.025;

/// How like the machine of a result is to this one, the most like first. A result that is like in one way is also
/// like in the ways below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Likeness {
    /// This disk, through the same engine, file system and layers, under this kernel.
    DiskAndKernel,
    /// This disk, through the same of them.
    Disk,
    /// A disk of this model, through the same of them.
    Model,
    /// A disk of this model.
    ModelOnly,
    /// Any disk, of which nothing more is known.
    Any,
}

impl Likeness {
    pub const ALL: [Likeness; 5] =
        [Likeness::DiskAndKernel, Likeness::Disk, Likeness::Model, Likeness::ModelOnly, Likeness::Any];

    pub fn words(self) -> &'static str {
        match self {
            Likeness::DiskAndKernel => "this disk under this kernel",
            Likeness::Disk => "this disk under any kernel",
            Likeness::Model => "this model through the same layers",
            Likeness::ModelOnly => "this model",
            Likeness::Any => "any disk",
        }
    }
}

/// What results of one likeness say of a figure, in its unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expectation {
    pub likeness: Likeness,
    pub runs: usize,
    pub hosts: usize,
    pub median: f64,
    /// The median of all such runs lies here with 95 % confidence; none for too few.
    pub median_interval: Option<[f64; 2]>,
    /// The next run lies here with 90 % probability at least; none for too few.
    pub usual: Option<[f64; 2]>,
    pub min: f64,
    pub max: f64,
}

/// The machine and test of a document.
struct Place {
    facts: Facts,
    around: Surroundings,
}

struct Kept {
    likeness: Likeness,
    host: String,
    value: f64,
}

/// The figure by which a test is expected: a latency where its rate is set.
pub fn metric_of(document: &Document) -> Metric {
    if is_paced(document) { Metric::P99 } else { Metric::IOPS }
}

impl Store {
    /// What earlier certified results of the same test on the same disk lead to expect of this one; none where there
    /// are too few.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn usual(&self, document: &Document) -> Result<Option<Usual>, HistoryError> {
        let metric = metric_of(document);
        if metric.of(document).is_err() {
            return Ok(None);
        }
        // Of no other host is a result on this disk.
        let hosts = [Some(document.host_words())];
        let kept = self.alike(document, metric, Some(Grade::Certified), hosts)?;
        for expectation in Expectation::all(&kept) {
            let Some([low, high]) = expectation.usual else { continue };
            if expectation.likeness > Likeness::Disk {
                break;
            }
            let (runs, median) = (expectation.runs as u64, expectation.median);
            let metric = metric.id().to_string();
            return Ok(Some(Usual { metric, runs, low, median, high }));
        }
        Ok(None)
    }

    /// What results of a grade, or all of them, lead to expect of a run like that of the document, which may lack
    /// figures. The most like first; a likeness without results of its own is left out.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn expectations(
        &self,
        document: &Document,
        metric: Metric,
        grade: Option<Grade>,
    ) -> Result<Vec<Expectation>, HistoryError> {
        // Those of this host by themselves: those of many others must not leave them out.
        let kept = self.alike(document, metric, grade, [Some(document.host_words()), None])?;
        Ok(Expectation::all(&kept))
    }

    /// The newest results of the same test that each of these hosts has, or all of them together have.
    fn alike(
        &self,
        document: &Document,
        metric: Metric,
        grade: Option<Grade>,
        hosts: impl IntoIterator<Item = Option<String>>,
    ) -> Result<Vec<Kept>, HistoryError> {
        let here = Place {
            facts: Facts::of_result(document),
            around: Surroundings::of("result", json::write(document).as_bytes()),
        };
        let mut seen = BTreeSet::new();
        let mut kept = Vec::new();
        for host in hosts {
            let filter = Filter {
                host,
                grade,
                kind: Some("result".into()),
                profile: Some(profile::hash(&document.profile)),
                limit: Some(RESULTS_MAX),
                ..Filter::default()
            };
            for entry in self.list(&filter)? {
                let Some(value) = entry.facts.figures.get(metric.id()).copied() else { continue };
                if seen.insert(entry.number) {
                    let likeness = self.likeness(&here, &entry);
                    kept.push(Kept { likeness, host: entry.facts.host, value });
                }
            }
        }
        Ok(kept)
    }

    /// A document that cannot be read is that of any disk: its facts do not tell the layers.
    fn likeness(&self, here: &Place, entry: &Entry) -> Likeness {
        let (mine, theirs) = (&here.facts.devices, &entry.facts.devices);
        let is_disk = !mine.is_empty() && mine == theirs && here.facts.host == entry.facts.host;
        let models = [mine, theirs].map(|devices| models(devices));
        let is_model = models[0] == models[1] && models[0].iter().any(Option::is_some);
        if !is_disk && !is_model {
            return Likeness::Any;
        }
        let around = match self.document(entry) {
            Ok(bytes) => Surroundings::of(&entry.facts.kind, &bytes),
            Err(_) => Surroundings::default(),
        };
        let is_same_way = here.around.is_same_way(&around);
        let is_this_machine = is_disk && here.around.may_be_machine_of(&around);
        if is_this_machine && is_same_way && around.kernel == here.around.kernel {
            Likeness::DiskAndKernel
        } else if is_this_machine && is_same_way {
            Likeness::Disk
        } else if is_model && is_same_way {
            Likeness::Model
        } else if is_model {
            Likeness::ModelOnly
        } else {
            Likeness::Any
        }
    }
}

fn models(devices: &[Device]) -> Vec<Option<&str>> {
    devices.iter().map(|device| device.model.as_deref()).collect()
}

impl Expectation {
    /// The most like first; a likeness without results of its own is left out.
    fn all(kept: &[Kept]) -> Vec<Expectation> {
        let mut expectations = Vec::new();
        for likeness in Likeness::ALL {
            if kept.iter().any(|one| one.likeness == likeness) {
                expectations.extend(Expectation::of(likeness, kept));
            }
        }
        expectations
    }

    fn of(likeness: Likeness, kept: &[Kept]) -> Option<Expectation> {
        let of: Vec<&Kept> = kept.iter().filter(|one| one.likeness <= likeness).collect();
        let mut values: Vec<f64> = of.iter().map(|one| one.value).collect();
        values.sort_by(f64::total_cmp);
        let mut hosts: Vec<&str> = of.iter().map(|one| one.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let Spread { least: min, median, most: max } = Spread::of(values.iter().copied())?;
        let runs = values.len();
        Some(Expectation {
            likeness,
            runs,
            hosts: hosts.len(),
            median,
            median_interval: between(&values, rank_below_median(runs)),
            usual: between(&values, (runs + 1) / RESULTS_PER_CUT),
            min,
            max,
        })
    }
}

/// From the `rank`-th smallest value to the `rank`-th largest; none for the rank 0. Of `n` values so many parts of
/// `n + 1` of all later ones lie in it: `n + 1 - 2 * rank`, whatever their distribution.
///
/// Source: David, Nagaraja: Order Statistics, 3rd edition, 7.2 (quantiles), 7.3 (prediction).
fn between(values: &[f64], rank: usize) -> Option<[f64; 2]> {
    (rank > 0).then(|| [values[rank - 1], values[values.len() - rank]])
}

/// The largest rank whose interval holds the median with 95 % confidence; 0 where none does.
fn rank_below_median(runs: usize) -> usize {
    let Ok(below) = Binomial::new(0.5, runs as u64) else { return 0 };
    let mut rank = 0;
    while below.cdf(rank) <= MEDIAN_ERROR {
        rank += 1;
    }
    rank as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(values: impl IntoIterator<Item = f64>) -> Vec<Kept> {
        let one = |value| Kept { likeness: Likeness::Disk, host: "a".into(), value };
        values.into_iter().map(one).collect()
    }

    fn of(count: u32) -> Expectation {
        let likeness = Likeness::Disk;
        Expectation::of(likeness, &kept((1..=count).rev().map(f64::from))).expect("there are some")
    }

    /// Ranks of the median from tables: 5 % is not reached by 5 values, 6 have the least and the largest.
    #[test]
    fn intervals_are_those_of_order_statistics() {
        assert_eq!((of(5).median_interval, of(6).median_interval), (None, Some([1.0, 6.0])));
        assert_eq!(of(20).median_interval, Some([6.0, 15.0]));
        assert_eq!(of(25).median_interval, Some([8.0, 18.0]));
        assert_eq!((of(18).usual, of(19).usual), (None, Some([1.0, 19.0])));
        assert_eq!(of(31).usual, Some([1.0, 31.0]));
        assert_eq!(of(39).usual, Some([2.0, 38.0]));
        assert_eq!((of(4).median, of(5).median), (2.5, 3.0));
    }

    /// Drawn values lie in the range as often as it says.
    #[test]
    fn the_next_run_lies_in_the_range_nine_times_of_ten() {
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Skewed, as rates are.
            ((state >> 11) as f64 / (1_u64 << 53) as f64).powi(3)
        };
        let mut inside = 0;
        for _ in 0..2000 {
            let values: Vec<f64> = (0..39).map(|_| draw()).collect();
            let [low, high] = Expectation::of(Likeness::Disk, &kept(values)).unwrap().usual.unwrap();
            inside += u32::from((low..=high).contains(&draw()));
        }
        assert!((1740..1860).contains(&inside), "{inside} of 2000");
    }

    #[test]
    fn what_is_less_like_holds_what_is_more_like() {
        let mut all = kept([1.0, 2.0]);
        all.push(Kept { likeness: Likeness::Any, host: "b".into(), value: 9.0 });
        let of = |likeness| Expectation::of(likeness, &all).map(|one| (one.runs, one.hosts));
        assert_eq!(of(Likeness::DiskAndKernel), None);
        assert_eq!((of(Likeness::Disk), of(Likeness::ModelOnly)), (Some((2, 1)), Some((2, 1))));
        assert_eq!(of(Likeness::Any), Some((3, 2)));
    }
}
