//! DiskSpd's random numbers: Bob Jenkins' small fast generator (public domain).

/// The 64-bit variant with rotations 7, 13, 37 (`io-semantics.md` §9).
#[derive(Debug, Clone)]
pub struct Rng {
    a: u64,
    b: u64,
    c: u64,
    d: u64,
}

impl Rng {
    /// Seeds the generator and discards 20 outputs.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng { a: 0xf1ea_5eed, b: seed, c: seed, d: seed };
        for _ in 0..20 {
            rng.next_u64();
        }
        rng
    }

    /// The generator of a thread's offsets and types: seed (`-z`) plus thread number, in 32 bits.
    ///
    /// `thread` counts all threads of the time span from 0.
    pub fn for_thread(seed: u32, thread: u32) -> Self {
        Rng::new(u64::from(seed.wrapping_add(thread)))
    }

    /// The next 64-bit draw.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let e = self.a.wrapping_sub(self.b.rotate_left(7));
        self.a = self.b ^ self.c.rotate_left(13);
        self.b = self.c.wrapping_add(self.d.rotate_left(37));
        self.c = self.d.wrapping_add(e);
        self.d = e.wrapping_add(self.a);
        self.d
    }

    /// The low half of the next 64-bit draw.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        self.next_u64() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_the_spec() {
        let first = |seed| {
            let mut rng = Rng::new(seed);
            std::array::from_fn::<u64, 5, _>(|_| rng.next_u64())
        };
        assert_eq!(
            first(0),
            [
                0x4b39c42db38fcdf5,
                0xaee2c9e919833f29,
                0x30611cd75d0254ce,
                0x7fcfd4f0c54692bb,
                0xb58f7ae8edf72d7b
            ]
        );
        assert_eq!(
            first(1),
            [
                0xae735ca10d060948,
                0x8e16aa0268563732,
                0x8f061cf1eaa2da64,
                0xe15ae6dde013cc82,
                0x1fd97ca404fd11c9
            ]
        );
        assert_eq!(
            first(1234),
            [
                0x75faa925eff204e4,
                0x9d02489185b01570,
                0xf5a53c60559027d4,
                0xb8d4e5ca7664e4b3,
                0x5fa692f2cbc2a6f3
            ]
        );
    }
    #[test]
    fn seeds_of_threads_stay_in_32_bits() {
        let mut wrapped = Rng::for_thread(u32::MAX, 2);
        assert_eq!(wrapped.next_u64(), Rng::new(1).next_u64());
        assert_eq!(wrapped.next_u32(), 0x6856_3732);
    }
}
