//! Plain loops, compiled once for each width of vectors, and the choice of the widest that this processor has.
//!
//! The same safe code runs at every width, so the results cannot differ; only the compiler's instructions do.

/// What can run at any width.
pub trait Work {
    /// What the code gives with either instruction set.
    type Output;

    /// The loop. Mark it `#[inline(always)]`: what is not inlined is compiled for the narrowest vectors only.
    fn run(self) -> Self::Output;
}

/// Vectors of this processor. There is no other way to one than to ask the processor for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vectors(Width);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    /// What every processor of this kind has: 128 bits (SSE2, NEON).
    Any,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Vectors {
    /// Those that every processor has, then wider ones as far as this one has them.
    pub fn all() -> impl Iterator<Item = Vectors> {
        #[cfg(target_arch = "x86_64")]
        let wider = [
            std::arch::is_x86_feature_detected!("avx2").then_some(Width::Avx2),
            // Processors before VBMI2 (Ice Lake, Zen 4) lower their clock for 512 bits, which all other code pays for.
            (std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512vbmi2"))
            .then_some(Width::Avx512),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let wider: [Option<Width>; 0] = [];
        std::iter::once(Width::Any).chain(wider.into_iter().flatten()).map(Vectors)
    }

    /// The widest that are worth using.
    pub fn widest() -> Vectors {
        Vectors::all().last().unwrap_or(Vectors(Width::Any))
    }

    /// Does the work with them.
    #[inline]
    pub fn run<W: Work>(self, work: W) -> W::Output {
        match self.0 {
            Width::Any => work.run(),
            // SAFETY: the processor said that it has AVX2, or there would be no such value.
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => unsafe { with_avx2(work) },
            // SAFETY: the processor said that it has AVX-512, or there would be no such value.
            #[cfg(target_arch = "x86_64")]
            Width::Avx512 => unsafe { with_avx512(work) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn with_avx512<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Doubled<'a>(&'a mut [u64]);

    impl Work for Doubled<'_> {
        type Output = usize;

        #[inline(always)]
        fn run(self) -> usize {
            self.0.iter_mut().for_each(|number| *number *= 2);
            self.0.len()
        }
    }

    #[test]
    fn work_is_done_once_at_every_width_from_the_narrowest_to_the_widest() {
        let widths: Vec<Vectors> = Vectors::all().collect();
        assert_eq!((widths[0], widths.last()), (Vectors(Width::Any), Some(&Vectors::widest())));
        for vectors in widths {
            let mut numbers: Vec<u64> = (0..100).collect();
            assert_eq!(vectors.run(Doubled(&mut numbers)), 100);
            assert!(numbers.into_iter().eq((0..100).map(|number| 2 * number)), "{vectors:?}");
        }
    }
}
