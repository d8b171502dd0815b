//! Random numbers and noisy machines for tests, the same every time.

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Box and Muller.
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// What disturbs runs of a machine, as parts of the figure.
#[derive(Debug, Clone, Copy)]
pub struct Noise {
    /// Standard deviation from run to run.
    pub scatter: f64,
    /// Standard deviation of a slow wandering, and how much of it stays from one run to the next.
    pub drift: (f64, f64),
    /// Steady change per run.
    pub slope: f64,
    /// Probability of a run that something disturbed, and what it then loses at most.
    pub outliers: (f64, f64),
}

/// A machine under [`Noise`].
pub struct Machine {
    noise: Noise,
    random: Random,
    wandering: f64,
    runs: f64,
}

impl Machine {
    pub fn new(noise: Noise, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let wandering = noise.drift.0 * random.normal();
        Machine { noise, random, wandering, runs: 0.0 }
    }

    /// The figure of the next run of a variant whose true figure is `truth`.
    pub fn run(&mut self, truth: f64) -> f64 {
        let (size, stays) = self.noise.drift;
        self.wandering = stays * self.wandering + size * (1.0 - stays * stays).sqrt() * self.random.normal();
        self.runs += 1.0;
        let mut log =
            self.noise.scatter * self.random.normal() + self.wandering + self.noise.slope * self.runs;
        let (probability, loss) = self.noise.outliers;
        if self.random.uniform() < probability {
            log += (1.0 - loss * self.random.uniform()).ln();
        }
        truth * log.exp()
    }
}
