//! What a sweep says: the plateau, the knee with its uncertainty, the smallest line that reaches the plateau, and what
//! bounds it.
//!
//! Points that differ only in how many I/Os are out at once (threads times outstanding I/Os) are one ramp. Of several
//! points with as many, the best stands for all.

use crate::runner::rounds::Measured;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// This part of the plateau is as good as the plateau.
pub const PART: f64 = 0.95;
/// From this part of the asked I/Os on, the queue was full.
const FULL: f64 = 0.9;

/// A point of a ramp.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Its place among the points of the sweep.
    pub point: usize,
    /// How much is asked for: I/Os that are out at once, or bytes of an I/O.
    pub load: u64,
    /// The fewer of these, the smaller is a line with the same load: threads.
    pub threads: u64,
    pub figure: Measured,
}

/// What the points of a ramp say together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ramp {
    /// The place of the point with the most.
    pub best: usize,
    /// The most, with its interval.
    pub plateau: Measured,
    /// The place of the smallest point that reaches 95 % of the plateau: the knee.
    pub knee: usize,
    /// What is asked for there.
    pub knee_load: u64,
    /// The knee may be as early as this, for the error of the points.
    pub knee_load_from: u64,
    /// And as late as this.
    pub knee_load_to: u64,
    /// The rate still grows at the last step: the plateau, if there is one, is beyond the sweep.
    pub is_open: bool,
}

/// The best step of each load, from the smallest load to the largest.
fn best_of_each(steps: &[Step]) -> Vec<Step> {
    let mut sorted = steps.to_vec();
    sorted.sort_by_key(|step| step.load);
    let mut best: Vec<Step> = Vec::new();
    for step in sorted {
        match best.last_mut() {
            Some(last) if last.load == step.load => {
                if step.figure.mean > last.figure.mean {
                    *last = step;
                }
            }
            _ => best.push(step),
        }
    }
    best
}

impl Ramp {
    /// Of the points of a ramp; none where all ask for the same.
    pub fn of(steps: &[Step]) -> Option<Self> {
        let best = best_of_each(steps);
        if best.len() < 2 {
            return None;
        }
        // Of equal ones the first.
        let top = best.iter().rev().max_by(|a, b| a.figure.mean.total_cmp(&b.figure.mean))?;
        let plateau = top.figure;
        let knee_at = best.iter().position(|step| step.figure.mean >= PART * plateau.mean)?;
        let from = best.iter().find(|step| step.figure.high >= PART * plateau.low)?;
        let to = best.iter().find(|step| step.figure.low >= PART * plateau.high).unwrap_or(top);
        let knee = best[knee_at];
        // Of all points with so much asked for, the one with the fewest threads that still reaches it.
        let enough =
            steps.iter().filter(|step| step.load == knee.load && step.figure.mean >= PART * plateau.mean);
        let smallest = enough.min_by_key(|step| step.threads)?;
        Some(Ramp {
            best: top.point,
            plateau,
            knee: smallest.point,
            knee_load: knee.load,
            knee_load_from: from.load.min(knee.load),
            knee_load_to: to.load.max(knee.load),
            is_open: knee_at + 1 == best.len(),
        })
    }
}

/// What keeps a plateau from being higher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The test itself: its threads could not issue more.
    Generator,
    /// What a rule of the verdict found, in its words.
    Found(String),
    /// What is below the test: it had more I/Os to do than at the knee, and completed no more.
    Below,
    /// Nothing that was measured tells.
    NotKnown,
}

/// What is known of the point with the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtPlateau<'a> {
    /// A rule says that the generator is the bottleneck.
    pub is_generator_bound: bool,
    /// What another rule says holds it back.
    pub held_back: Option<&'a str>,
    /// I/Os that were out on average at the largest load beyond the knee, as a part of those asked for; none where
    /// nothing lies beyond it.
    pub queue_beyond: Option<f64>,
}

impl Bound {
    pub fn of(at: AtPlateau<'_>) -> Self {
        match at {
            AtPlateau { is_generator_bound: true, .. } => Bound::Generator,
            AtPlateau { held_back: Some(says), .. } => Bound::Found(says.to_string()),
            AtPlateau { queue_beyond: Some(part), .. } if part >= FULL => Bound::Below,
            _ => Bound::NotKnown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::access::Rng;

    fn step(point: usize, load: u64, mean: f64, error: f64) -> Step {
        let figure = Measured { mean, low: mean * (1.0 - error), high: mean * (1.0 + error) };
        Step { point, load, threads: 1, figure }
    }

    /// A closed system of 8 channels: each I/O takes 1 ms.
    fn law(load: u64) -> f64 {
        load.min(8) as f64 * 1000.0
    }

    #[test]
    fn the_knee_of_a_known_law() {
        let steps: Vec<Step> = (0..8).map(|place| step(place, 1 << place, law(1 << place), 0.001)).collect();
        let ramp = Ramp::of(&steps).expect("a ramp");
        assert_eq!((ramp.knee, ramp.knee_load, ramp.knee_load_from, ramp.knee_load_to), (3, 8, 8, 8));
        assert_eq!((ramp.plateau.mean, ramp.best, ramp.is_open), (8000.0, 3, false));
        // It still grows at the end.
        let open = Ramp::of(&steps[..3]).expect("a ramp");
        assert!(open.is_open && open.knee == 2, "{open:?}");
        assert_eq!(Ramp::of(&steps[..1]), None);
        assert_eq!(Ramp::of(&[step(0, 4, 1.0, 0.1), step(1, 4, 2.0, 0.1)]), None);
    }

    /// With errors of 3 %, the true knee is within one step of the answer, and within its uncertainty.
    #[test]
    fn errors_move_it_by_a_step_at_most() {
        let mut rng = Rng::new(11);
        let (mut near, mut within) = (0, 0);
        for _ in 0..200 {
            let mut steps = Vec::new();
            for place in 0..8 {
                let noise = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 * 0.06 - 0.03;
                steps.push(step(place, 1 << place, law(1 << place) * (1.0 + noise), 0.03));
            }
            let ramp = Ramp::of(&steps).expect("a ramp");
            near += usize::from((4..=16).contains(&ramp.knee_load));
            within += usize::from(ramp.knee_load_from <= 8 && 8 <= ramp.knee_load_to);
        }
        assert!(near >= 195 && within >= 195, "{near} {within}");
    }

    #[test]
    fn of_lines_that_ask_for_as_much_the_smallest_has_the_fewest_threads() {
        let mut steps = vec![step(0, 1, 1000.0, 0.01), step(1, 8, 7900.0, 0.01), step(2, 8, 8000.0, 0.01)];
        (steps[1].threads, steps[2].threads) = (2, 8);
        let ramp = Ramp::of(&steps).expect("a ramp");
        assert_eq!((ramp.best, ramp.knee), (2, 1));
        steps[1].figure.mean = 4000.0;
        assert_eq!(Ramp::of(&steps).expect("a ramp").knee, 2, "it must reach the plateau");
    }

    #[test]
    fn a_bound_is_known_or_not() {
        let at = AtPlateau { is_generator_bound: false, held_back: None, queue_beyond: None };
        assert_eq!(Bound::of(at), Bound::NotKnown);
        assert_eq!(Bound::of(AtPlateau { queue_beyond: Some(0.5), ..at }), Bound::NotKnown);
        assert_eq!(Bound::of(AtPlateau { queue_beyond: Some(0.99), ..at }), Bound::Below);
        let limit = AtPlateau { held_back: Some("io.max"), queue_beyond: Some(1.0), ..at };
        assert_eq!(Bound::of(limit), Bound::Found("io.max".to_string()));
        assert_eq!(Bound::of(AtPlateau { is_generator_bound: true, ..limit }), Bound::Generator);
    }
}
