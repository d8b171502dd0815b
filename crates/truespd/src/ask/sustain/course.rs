//! What a course of rates says: its levels, where it fell, and how much of a later course was written fast.

/// A rate below this part of another one is another level.
const OTHER_LEVEL: f64 = 0.7;
/// Two levels must explain this part of the scatter of a course, or it is taken for one level that scatters.
const EXPLAINED: f64 = 0.3;
/// A level lasts so many slices or more.
const SLICES_MIN: usize = 3;

/// Slices of a course that were written at about the same rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Place of its first slice.
    pub first: usize,
    /// Place behind its last slice.
    pub end: usize,
    /// Mean of the rates of its slices.
    pub mean: f64,
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

fn level(rates: &[f64], first: usize, end: usize) -> Level {
    Level { first, end, mean: mean(&rates[first..end]) }
}

fn are_one(a: f64, b: f64) -> bool {
    a.min(b) > a.max(b) * OTHER_LEVEL
}

/// The levels of a course, in their order: it is split where two levels explain most of its scatter, and so are the
/// parts, as long as levels differ.
pub fn levels(rates: &[f64]) -> Vec<Level> {
    let mut found: Vec<Level> = Vec::new();
    let mut waiting = if rates.is_empty() { Vec::new() } else { vec![level(rates, 0, rates.len())] };
    while let Some(part) = waiting.pop() {
        if let Some(place) = split(&rates[part.first..part.end]) {
            // The first half is looked at first.
            waiting.push(level(rates, part.first + place, part.end));
            waiting.push(level(rates, part.first, part.first + place));
            continue;
        }
        // Halves of different parts can be of one level.
        match found.last_mut() {
            Some(last) if are_one(last.mean, part.mean) => *last = level(rates, last.first, part.end),
            _ => found.push(part),
        }
    }
    found
}

/// Where a course becomes another level; none where it is one.
fn split(rates: &[f64]) -> Option<usize> {
    let all: f64 = rates.iter().sum();
    let middle = mean(rates);
    let scatter: f64 = rates.iter().map(|rate| (rate - middle).powi(2)).sum();
    let (mut best, mut explains_most) = (None, 0.0);
    let mut before = 0.0;
    for (place, rate) in rates.iter().enumerate() {
        let behind = rates.len() - place;
        if place >= SLICES_MIN && behind >= SLICES_MIN {
            let means = [before / place as f64, (all - before) / behind as f64];
            let explained = place as f64 * behind as f64 / rates.len() as f64 * (means[0] - means[1]).powi(2);
            if explained > explains_most && !are_one(means[0], means[1]) {
                (best, explains_most) = (Some(place), explained);
            }
        }
        before += rate;
    }
    if explains_most >= scatter * EXPLAINED { best } else { None }
}

/// A course that fell: fast first, and slower behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fall {
    /// Number of slices before it fell.
    pub slices: usize,
    /// Mean rate of these slices.
    pub before: f64,
    /// Rate of the last level.
    pub behind: f64,
}

impl Fall {
    /// What is above it is written fast. The middle of both rates by their ratio.
    pub fn threshold(&self) -> f64 {
        (self.before * self.behind).sqrt()
    }
}

/// Where a course fell from its highest level; none where it did not fall until its end.
pub fn fall(rates: &[f64]) -> Option<Fall> {
    let levels = levels(rates);
    let last = levels.last()?;
    let highest = levels.iter().map(|level| level.mean).fold(0.0, f64::max);
    if are_one(last.mean, highest) || last.mean >= highest {
        return None;
    }
    let threshold = (highest * last.mean).sqrt();
    let fast = levels.iter().rposition(|level| level.mean >= threshold)?;
    let slices = levels[fast].end;
    Some(Fall { slices, before: mean(&rates[..slices]), behind: last.mean })
}

/// The last level's first slice.
pub fn last_level(rates: &[f64]) -> usize {
    levels(rates).last().map_or(0, |level| level.first)
}

/// Bytes that a course was ahead of a steady rate at most, in slices of `slice_s` seconds.
fn ahead_bytes(rates: &[f64], steady: f64, slice_s: f64) -> f64 {
    let (mut ahead, mut most) = (0.0, 0.0_f64);
    for rate in rates {
        ahead += (rate - steady) * slice_s;
        most = most.max(ahead);
    }
    most
}

/// Bytes that were written at the rate before a fall, at the beginning of a course that then goes on at the rate
/// behind it. A level that is shorter than a slice is seen as well: what was written beyond the slow rate is known.
pub fn fast_bytes(rates: &[f64], fall: &Fall, slice_s: f64) -> f64 {
    ahead_bytes(rates, fall.behind, slice_s) / (1.0 - fall.behind / fall.before)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates of levels, each so many slices long, with a scatter that repeats.
    fn course(levels: &[(usize, f64)], scatter: f64) -> Vec<f64> {
        let mut rates = Vec::new();
        for &(slices, rate) in levels {
            for place in 0..slices {
                let up = [0.3, -1.0, 0.8, -0.2, 1.0, -0.9][place % 6];
                rates.push(rate * (1.0 + scatter * up));
            }
        }
        rates
    }

    fn ends(rates: &[f64]) -> Vec<usize> {
        levels(rates).iter().map(|level| level.end).collect()
    }

    #[test]
    fn levels_are_found_whatever_scatters() {
        assert_eq!(ends(&[]), Vec::<usize>::new());
        assert_eq!(ends(&course(&[(60, 500.0)], 0.2)), [60]);
        assert_eq!(ends(&course(&[(60, 500.0)], 0.9)), [60], "wild, and one level");
        assert_eq!(ends(&course(&[(40, 5000.0), (60, 600.0)], 0.0)), [40, 100]);
        assert_eq!(ends(&course(&[(40, 5000.0), (60, 600.0)], 0.15)), [40, 100]);
        // Folding: now and then nothing at all.
        assert_eq!(ends(&course(&[(40, 5000.0), (90, 600.0)], 1.0))[0], 40);
        assert_eq!(ends(&course(&[(40, 5000.0), (80, 1500.0), (60, 600.0)], 0.1)), [40, 120, 180]);
        assert_eq!(ends(&course(&[(40, 500.0), (60, 400.0)], 0.0)), [100], "80 % is no other level");
        // A pause is no level.
        let mut paused = course(&[(60, 500.0)], 0.1);
        paused[30] = 0.0;
        paused[31] = 0.0;
        assert_eq!(ends(&paused), [60]);
    }

    #[test]
    fn a_fall_has_its_rates_and_its_place() {
        let fell = fall(&course(&[(40, 5000.0), (60, 600.0)], 0.0)).expect("it fell");
        assert_eq!((fell.slices, fell.before.round(), fell.behind.round()), (40, 5000.0, 600.0));
        let twice = fall(&course(&[(40, 5000.0), (80, 1500.0), (60, 600.0)], 0.0)).expect("it fell");
        assert_eq!((twice.slices, twice.behind), (40, 600.0), "the first fall ends the fast area");
        let slow_start = fall(&course(&[(4, 2000.0), (40, 5000.0), (60, 600.0)], 0.0)).expect("it fell");
        assert_eq!(slow_start.slices, 44);
        assert_eq!(fall(&course(&[(60, 500.0)], 0.5)), None);
        assert_eq!(fall(&course(&[(40, 600.0), (60, 5000.0)], 0.0)), None, "it rose");
        assert_eq!(fall(&[]), None);
        assert_eq!(fall(&[0.0; 30]), None, "nothing was written");
    }

    #[test]
    fn what_was_fast_after_a_rest_is_known_below_a_slice() {
        let fall = Fall { slices: 40, before: 5000.0, behind: 600.0 };
        let bytes = |rates: &[f64]| fast_bytes(rates, &fall, 0.5).round();
        assert_eq!(bytes(&course(&[(4, 5000.0), (16, 600.0)], 0.0)), 10_000.0);
        // A tenth of the first slice: 0.05 s at 5,000, and the rest of it at 600.
        let first = 0.1 * 5000.0 + 0.9 * 600.0;
        assert_eq!(bytes(&[&[first], course(&[(19, 600.0)], 0.0).as_slice()].concat()), 250.0);
        assert_eq!(bytes(&course(&[(20, 600.0)], 0.0)), 0.0);
        // Scatter alone is ahead, too; how much is known from a course that is steady.
        assert!(ahead_bytes(&course(&[(20, 600.0)], 0.1), 600.0, 0.5) > 0.0);
    }
}
