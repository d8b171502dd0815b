//! Which target the next I/O goes to when a thread's requests are shared by all (`-F` with `-O`).
//!
//! Source: `io-semantics.md` §1, "Pool mode".

use super::Rng;

/// Picks targets with probabilities in proportion to their weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolChoice(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    One,
    Uniform(u64),
    /// Sums of the weights up to and including each target.
    Weighted(Box<[u64]>),
}

impl PoolChoice {
    /// A choice among as many targets as there are weights, for one thread.
    ///
    /// # Errors
    /// [`PoolError`] when there is no target or a weight is 0.
    pub fn new(weights: &[u32]) -> Result<Self, PoolError> {
        let first = *weights.first().ok_or(PoolError::NoTarget)?;
        if let Some(target) = weights.iter().position(|&w| w == 0) {
            return Err(PoolError::NoWeight { target });
        }
        Ok(PoolChoice(if weights.len() == 1 {
            Kind::One
        } else if weights.iter().all(|&w| w == first) {
            Kind::Uniform(weights.len() as u64)
        } else {
            let sums = weights.iter().scan(0, |sum, &w| {
                *sum += u64::from(w);
                Some(*sum)
            });
            Kind::Weighted(sums.collect())
        }))
    }

    /// Index of the target of the next I/O; no draw with one target, otherwise one.
    #[inline]
    pub fn choose(&self, rng: &mut Rng) -> usize {
        match &self.0 {
            Kind::One => 0,
            Kind::Uniform(targets) => (rng.next_u64() % targets) as usize,
            Kind::Weighted(sums) => {
                let drawn = rng.next_u64() % sums[sums.len() - 1];
                sums.partition_point(|&sum| sum <= drawn)
            }
        }
    }
}

/// Why a thread has nothing to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// ThreadTargets leave the thread without a target.
    #[error("the thread is assigned to no target; name it in the ThreadTargets of at least one target")]
    NoTarget,
    /// A weight of 0.
    #[error("target {target} (counted from 0) has weight 0; a weight must be at least 1")]
    NoWeight {
        /// Index among the thread's targets.
        target: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(weights: &[u32], draws: u32) -> Vec<u32> {
        let choice = PoolChoice::new(weights).expect("legal");
        let mut rng = Rng::new(0);
        let mut counts = vec![0; weights.len()];
        for _ in 0..draws {
            counts[choice.choose(&mut rng)] += 1;
        }
        counts
    }

    #[test]
    fn weights_one_two_seven_as_measured() {
        assert_eq!(counts(&[1, 2, 7], 100_000), [10072, 20105, 69823]);
    }

    #[test]
    fn equal_weights_are_uniform_and_one_target_draws_nothing() {
        for count in counts(&[5, 5, 5, 5], 100_000) {
            assert!((24_500..25_500).contains(&count), "{count}");
        }
        let mut rng = Rng::new(3);
        assert_eq!(PoolChoice::new(&[9]).expect("legal").choose(&mut rng), 0);
        assert_eq!(rng.next_u64(), Rng::new(3).next_u64());
    }

    #[test]
    fn sums_beyond_32_bits_do_not_wrap() {
        let counts = counts(&[u32::MAX, u32::MAX, u32::MAX - 1], 30_000);
        assert!(counts.iter().all(|c| (9_600..10_400).contains(c)), "{counts:?}");
    }

    #[test]
    fn nothing_to_choose_from_is_refused() {
        assert_eq!(PoolChoice::new(&[]), Err(PoolError::NoTarget));
        assert_eq!(PoolChoice::new(&[1, 0]), Err(PoolError::NoWeight { target: 1 }));
    }
}
