//! Sequential runs that go on where the one before ended.

/// Where the next sequential run begins.
#[derive(Debug, Default)]
pub struct Sequence {
    pub from_bytes: u64,
}

impl Sequence {
    /// After a run that moved so many bytes. Where the rest of the range is too short for the next one, which would go
    /// round in it, that begins at the start.
    pub fn go_on(&mut self, moved_bytes: u64, range_bytes: u64) {
        let behind = (self.from_bytes + moved_bytes) >> 20 << 20;
        self.from_bytes = if behind.saturating_add(moved_bytes) < range_bytes { behind } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_go_on_and_begin_anew_before_the_end() {
        let mut sequence = Sequence::default();
        sequence.go_on(300 << 20, 1 << 30);
        assert_eq!(sequence.from_bytes, 300 << 20);
        sequence.go_on(300 << 20, 1 << 30);
        assert_eq!(sequence.from_bytes, 600 << 20);
        sequence.go_on(300 << 20, 1 << 30);
        assert_eq!(sequence.from_bytes, 0, "100 MiB are left, and a run moves 300");
    }
}
