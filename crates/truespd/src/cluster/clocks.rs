//! Comparing clocks by round trips.

use truespd_core::result::ClockOffset;

/// Round trips for one comparison: the quickest counts.
pub const ROUNDS: u32 = 12;

/// One round trip, four instants in nanoseconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// Sent, by the clock here.
    pub sent_ns: u64,
    /// Received there, by the clock there.
    pub received_ns: u64,
    /// Answered, by the clock there.
    pub answered_ns: u64,
    /// The answer came, by the clock here.
    pub returned_ns: u64,
}

impl RoundTrip {
    /// Time on the way, both ways together.
    pub fn way_ns(self) -> u64 {
        let whole = self.returned_ns.saturating_sub(self.sent_ns);
        whole.saturating_sub(self.answered_ns.saturating_sub(self.received_ns))
    }

    /// How much the clock there is ahead of the clock here. The true value is within half the way, however the way is
    /// shared between there and back (RFC 5905, section 8).
    pub fn offset(self) -> ClockOffset {
        let difference = |there: u64, here: u64| i128::from(there) - i128::from(here);
        let twice =
            difference(self.received_ns, self.sent_ns) + difference(self.answered_ns, self.returned_ns);
        ClockOffset {
            ahead_ns: i64::try_from(twice.div_euclid(2)).unwrap_or(i64::MAX),
            uncertainty_ns: self.way_ns().div_ceil(2),
            at_unix_ns: self.returned_ns,
        }
    }
}

/// The best of several round trips.
pub fn best(trips: &[RoundTrip]) -> Option<ClockOffset> {
    trips.iter().min_by_key(|trip| trip.way_ns()).map(|trip| trip.offset())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_quick_round_trip_tells_more_than_a_slow_one() {
        // The clock there is 1000 ns ahead; one trip was slow on the way back.
        let slow = RoundTrip { sent_ns: 0, received_ns: 1_100, answered_ns: 1_150, returned_ns: 5_150 };
        let quick =
            RoundTrip { sent_ns: 10_000, received_ns: 11_100, answered_ns: 11_150, returned_ns: 10_250 };
        let offset = best(&[slow, quick]).expect("two trips");
        assert_eq!((offset.ahead_ns, offset.uncertainty_ns, offset.at_unix_ns), (1_000, 100, 10_250));
        assert_eq!(best(&[]), None);
    }

    proptest! {
        #[test]
        fn the_truth_is_within_the_uncertainty(
            ahead in -2_000_000_000i64..2_000_000_000,
            there in 0u64..1_000_000,
            back in 0u64..1_000_000,
            thinks in 0u64..1_000_000,
        ) {
            let sent_ns = 1_800_000_000_000_000_000u64;
            let received_ns = (sent_ns + there).saturating_add_signed(ahead);
            let trip = RoundTrip {
                sent_ns,
                received_ns,
                answered_ns: received_ns + thinks,
                returned_ns: sent_ns + there + thinks + back,
            };
            let offset = trip.offset();
            prop_assert!(offset.ahead_ns.abs_diff(ahead) <= offset.uncertainty_ns + 1);
            prop_assert_eq!(trip.way_ns(), there + back);
        }
    }
}
