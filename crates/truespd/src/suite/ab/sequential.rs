//! Looking again and again at growing data without being wrong more often than promised.
//!
//! Looks are few: after each, the next comes when there are 30 % more blocks. Of the promised error each look
//! may spend its part of the planned blocks, and all parts add up to one (error spending, Lan and DeMets
//! 1983, with the union bound in place of the joint distribution of the looks: that holds whatever their
//! dependence, and t tests need no other justification than each by itself). The interval at each look, with
//! that level of confidence, so holds at all looks together, whatever ends the series (repeated confidence
//! intervals, Jennison and Turnbull 1989).

/// Blocks before the first look: three degrees of freedom.
pub const BLOCKS_MIN: usize = 4;
/// From one look to the next.
const GROWTH: f64 = 1.3;
/// Smallest p value that is told.
pub const P_MIN: f64 = 1e-6;

/// A look at the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// After so many blocks.
    pub blocks: usize,
    /// Part of the promised error that it may spend.
    pub share: f64,
}

impl Look {
    /// A p value that repeated looking does not spoil, from that of the test at this look by itself.
    pub fn p(&self, level: f64) -> f64 {
        (level / self.share).clamp(P_MIN, 1.0)
    }
}

/// The looks at up to `max` blocks; the last is after `max`.
pub fn looks(max: usize) -> Vec<Look> {
    // From the end, so that no look has a part too small to be of use.
    let before = |&blocks: &usize| {
        let fewer = ((blocks as f64 / GROWTH).round() as usize).min(blocks - 1);
        (fewer >= BLOCKS_MIN).then_some(fewer)
    };
    let mut counts: Vec<usize> = std::iter::successors((max > 0).then_some(max), before).collect();
    counts.reverse();
    let earlier = std::iter::once(0).chain(counts.iter().copied());
    let share = |(&blocks, before): (&usize, usize)| (blocks - before) as f64 / max as f64;
    counts.iter().zip(earlier).map(|pair| Look { blocks: *pair.0, share: share(pair) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() <= by, "{a} and {b}");
    }

    #[test]
    fn looks_share_the_error_and_end_with_the_last() {
        let blocks = |max| looks(max).iter().map(|look| look.blocks).collect::<Vec<_>>();
        assert_eq!(blocks(6), [4, 5, 6]);
        assert_eq!(blocks(100), [4, 5, 7, 9, 12, 16, 21, 27, 35, 45, 59, 77, 100]);
        assert_eq!((blocks(2), blocks(0)), (vec![2], vec![]));
        for max in 1..600 {
            let looks = looks(max);
            near(looks.iter().map(|look| look.share).sum::<f64>(), 1.0, 1e-12);
            assert!(looks.windows(2).all(|w| w[0].blocks < w[1].blocks), "{looks:?}");
            assert_eq!(looks[0].blocks, if max < BLOCKS_MIN { max } else { BLOCKS_MIN });
        }
    }

    #[test]
    fn a_p_value_pays_for_its_looks() {
        let look = Look { blocks: 20, share: 0.25 };
        assert_eq!((look.p(0.01), look.p(0.5), look.p(0.0)), (0.04, 1.0, P_MIN));
    }
}
