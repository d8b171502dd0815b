//! Which bytes of a target may be used, and whether a thread can start there.
//!
//! Knows sizes only as numbers it is given. Every sum is made in 128 bits or cannot overflow, so that
//! a base behind the end is an error and never a huge range (2.2 wraps around).
//!
//! Source: `io-semantics.md` §3.

use crate::profile::{Size, Target};

/// Largest size of a target in bytes: the kernel's file offsets are signed.
pub const TARGET_BYTES_MAX: u64 = i64::MAX as u64;

/// What a usable range is computed from; all in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeSpec {
    /// Real size of the target when opened (S).
    pub size_bytes: u64,
    /// First byte of the tested range (`-B`).
    pub base_bytes: u64,
    /// End of the tested range, exclusive, from 0 of the target; 0 = none (`-f`, `-B..:len`).
    pub max_bytes: u64,
    /// I/O size (`-b`), 1 or more.
    pub block_bytes: u64,
    /// Alignment or stride (`-r`, `-s`); 0 stands for the block size.
    pub stride_bytes: u64,
    /// Distance between the starts of successive threads (`-T`).
    pub thread_stride_bytes: u64,
}

impl RangeSpec {
    /// The parameters of `target` once its size is known.
    pub fn of(target: &Target, size_bytes: u64) -> Self {
        RangeSpec {
            size_bytes,
            base_bytes: target.base_bytes,
            max_bytes: target.max_bytes,
            block_bytes: target.block_bytes,
            stride_bytes: target.stride(),
            thread_stride_bytes: target.thread_stride_bytes,
        }
    }

    /// End of the tested range, exclusive, from 0 of the target.
    pub fn end_bytes(&self) -> u64 {
        match self.max_bytes {
            0 => self.size_bytes,
            max => self.size_bytes.min(max),
        }
    }

    /// Where the tested range ends and what ends it, for messages.
    fn end_words(&self) -> String {
        if self.limits_below_size() {
            format!("{} ({} bytes, the end of the tested range, -f)", Size(self.max_bytes), self.max_bytes)
        } else {
            format!("{} ({} bytes)", Size(self.size_bytes), self.size_bytes)
        }
    }

    fn limits_below_size(&self) -> bool {
        self.max_bytes > 0 && self.max_bytes < self.size_bytes
    }
}

/// The part of a target that may be used: at least one block, positions counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsableRange {
    spec: RangeSpec,
    usable_bytes: u64,
    /// Never larger than the usable length: beyond it every stride has the same effect, and no sum of
    /// a position and a stride can overflow.
    stride_bytes: u64,
    positions: u64,
}

impl UsableRange {
    /// Computes the usable range.
    ///
    /// # Errors
    /// [`RangeError`] when the target is empty, too large for the kernel's offsets, or leaves no room
    /// for a block behind the base.
    pub fn new(spec: RangeSpec) -> Result<Self, RangeError> {
        if spec.block_bytes == 0 {
            return Err(RangeError::NoBlock);
        }
        if spec.size_bytes == 0 {
            return Err(RangeError::SizeUnknown);
        }
        if spec.size_bytes > TARGET_BYTES_MAX {
            return Err(RangeError::TooLarge { size_bytes: spec.size_bytes });
        }
        let usable_bytes = match spec.end_bytes().checked_sub(spec.base_bytes) {
            Some(usable) if usable >= spec.block_bytes => usable,
            _ => return Err(RangeError::NoRoom { spec }),
        };
        let stride_bytes = if spec.stride_bytes == 0 { spec.block_bytes } else { spec.stride_bytes };
        let stride_bytes = stride_bytes.min(usable_bytes);
        let positions = (usable_bytes - spec.block_bytes) / stride_bytes + 1;
        Ok(UsableRange { spec, usable_bytes, stride_bytes, positions })
    }

    /// The same part for smaller I/Os, with a stride or alignment of their own.
    pub fn with_block(&self, block_bytes: u64, stride_bytes: u64) -> Self {
        let block_bytes = block_bytes.clamp(1, self.spec.block_bytes);
        let stride_bytes = stride_bytes.clamp(1, self.usable_bytes);
        UsableRange {
            spec: RangeSpec { block_bytes, ..self.spec },
            usable_bytes: self.usable_bytes,
            stride_bytes,
            positions: (self.usable_bytes - block_bytes) / stride_bytes + 1,
        }
    }

    /// Usable length in bytes, from the base (R).
    pub fn usable_bytes(&self) -> u64 {
        self.usable_bytes
    }

    /// First byte of the tested range within the target (B).
    pub fn base_bytes(&self) -> u64 {
        self.spec.base_bytes
    }

    /// I/O size in bytes (b).
    pub fn block_bytes(&self) -> u64 {
        self.spec.block_bytes
    }

    /// Alignment or stride in bytes (a), at most the usable length.
    pub fn stride_bytes(&self) -> u64 {
        self.stride_bytes
    }

    /// Number of aligned start positions (n), at least 1.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// Positions times stride in bytes (A). Larger than the usable length when the stride is larger
    /// than the block.
    pub fn span_bytes(&self) -> u64 {
        self.positions * self.stride_bytes
    }

    /// The last legal start of an I/O, relative to the base, aligned or not (R - b).
    pub fn last_start_bytes(&self) -> u64 {
        self.usable_bytes - self.spec.block_bytes
    }

    /// The end that was asked for lies behind the end of the target; the target's size is used, and
    /// DiskSpd warns once per thread.
    pub fn is_limit_beyond_size(&self) -> bool {
        self.spec.max_bytes > self.spec.size_bytes
    }

    /// Where thread `relative_thread` (k) starts: k times the thread stride.
    ///
    /// # Errors
    /// [`RangeError::ThreadStart`] when not even its first block fits: k·T + b > R.
    pub fn start_of(&self, relative_thread: u32) -> Result<ThreadStart, RangeError> {
        let start = u128::from(relative_thread) * u128::from(self.spec.thread_stride_bytes);
        match u64::try_from(start) {
            Ok(start_bytes) if start_bytes <= self.last_start_bytes() => {
                Ok(ThreadStart { range: *self, start_bytes })
            }
            _ => Err(RangeError::ThreadStart { spec: self.spec, relative_thread, start_bytes: start }),
        }
    }
}

/// A usable range and the place in it where a thread starts; only [`UsableRange::start_of`] makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadStart {
    range: UsableRange,
    start_bytes: u64,
}

impl ThreadStart {
    /// The range.
    pub fn range(&self) -> &UsableRange {
        &self.range
    }

    /// First offset of the thread relative to the base; a block fits there.
    pub fn start_bytes(&self) -> u64 {
        self.start_bytes
    }
}

/// Why a target cannot be used as asked. The caller names the target.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// A block of no bytes.
    #[error("the block size is 0; it must be at least 1 byte (-b)")]
    NoBlock,
    #[error(
        "the size of the target could not be determined, or it is empty; give an existing file with \
         data, a device with a medium, or create the file with -c<size>"
    )]
    SizeUnknown,
    /// More than a file offset can name.
    #[error(
        "the target reports {size_bytes} bytes, but file offsets of this system end at {TARGET_BYTES_MAX}"
    )]
    TooLarge {
        /// Size of the target in bytes.
        size_bytes: u64,
    },
    /// B + b > min(S, M).
    #[error("{}", no_room(spec))]
    NoRoom { spec: RangeSpec },
    /// k·T + b > R.
    #[error("{}", no_start(spec, *relative_thread, *start_bytes))]
    ThreadStart {
        spec: RangeSpec,
        /// Number of the thread among those of the target, from 0 (k).
        relative_thread: u32,
        /// Where it would start, relative to the base (k·T).
        start_bytes: u128,
    },
}

fn no_room(spec: &RangeSpec) -> String {
    let block = format!("a block of {} bytes (-b)", spec.block_bytes);
    let advice = if spec.base_bytes > 0 {
        "use a smaller block or base offset, or a larger target"
    } else {
        "use a smaller block or a larger target"
    };
    match spec.base_bytes {
        0 => format!("{block} does not fit into the target: it ends at {}; {advice}", spec.end_words()),
        base => format!(
            "{block} at the base offset {base} (-B) does not fit into the target: it ends at {}; {advice}",
            spec.end_words()
        ),
    }
}

fn no_start(spec: &RangeSpec, relative_thread: u32, start_bytes: u128) -> String {
    let usable = spec.end_bytes() - spec.base_bytes;
    // At least one block fits, or there would be no range to start in.
    let threads = (usable - spec.block_bytes) / spec.thread_stride_bytes.max(1) + 1;
    format!(
        "thread {relative_thread} of the target would start {start_bytes} bytes after the base offset \
         ({relative_thread} x thread stride of {} bytes, -T), where a block of {} bytes (-b) does not fit: \
         the target ends at {}, base offset {} (-B); use at most {threads} threads, a smaller thread \
         stride, or a larger target",
        spec.thread_stride_bytes,
        spec.block_bytes,
        spec.end_words(),
        spec.base_bytes,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spec(size: u64, base: u64, max: u64, block: u64, stride: u64, thread_stride: u64) -> RangeSpec {
        RangeSpec {
            size_bytes: size,
            base_bytes: base,
            max_bytes: max,
            block_bytes: block,
            stride_bytes: stride,
            thread_stride_bytes: thread_stride,
        }
    }

    fn counted(size: u64, base: u64, max: u64, block: u64, stride: u64) -> (u64, u64, u64) {
        let range = UsableRange::new(spec(size, base, max, block, stride, 0)).expect("fits");
        (range.usable_bytes(), range.positions(), range.span_bytes())
    }

    #[test]
    fn positions_for_every_relation_of_block_and_stride() {
        assert_eq!(counted(3000, 1000, 0, 1000, 500), (2000, 3, 1500)); // block above stride
        assert_eq!(counted(18 << 10, 0, 0, 4096, 4096), (18 << 10, 4, 16 << 10)); // a tail is left
        assert_eq!(counted(18 << 10, 0, 0, 4096, 6 << 10), (18 << 10, 3, 18 << 10));
        assert_eq!(counted((1 << 20) + 4096, 0, 0, 4096, 65536), ((1 << 20) + 4096, 17, 17 << 16));
        assert_eq!(counted((1 << 20) + 4095, 0, 0, 4096, 65536), ((1 << 20) + 4095, 16, 1 << 20));
        assert_eq!(counted(4096, 0, 0, 4096, 0), (4096, 1, 4096)); // a stated 0 means the block
        assert_eq!(counted(5000, 0, 0, 4096, 1 << 40), (5000, 1, 5000)); // stride above everything
    }

    #[test]
    fn the_end_is_the_smaller_of_size_and_limit() {
        assert_eq!(counted(1 << 20, 8192, 24576, 4096, 0).0, 16384);
        let beyond = UsableRange::new(spec(1 << 20, 0, 2 << 20, 4096, 0, 0)).expect("fits");
        assert_eq!((beyond.usable_bytes(), beyond.is_limit_beyond_size()), (1 << 20, true));
        let equal = UsableRange::new(spec(1 << 20, 0, 1 << 20, 4096, 0, 0)).expect("fits");
        assert!(!equal.is_limit_beyond_size());
    }

    #[test]
    fn a_base_behind_the_end_is_refused_not_wrapped() {
        for bad in [
            spec(512 << 10, 1 << 20, 0, 4096, 0, 0),
            spec(512 << 10, (512 << 10) - 4095, 0, 4096, 0, 0),
            spec(512 << 10, u64::MAX, 0, 4096, 0, 0),
            spec(1 << 20, 8192, 8192 + 4095, 4096, 0, 0),
            spec(4095, 0, 0, 4096, 0, 0),
        ] {
            assert_eq!(UsableRange::new(bad), Err(RangeError::NoRoom { spec: bad }));
        }
        assert!(UsableRange::new(spec(512 << 10, (512 << 10) - 4096, 0, 4096, 0, 0)).is_ok());
    }

    #[test]
    fn other_refusals_have_their_own_words() {
        let empty = UsableRange::new(spec(0, 0, 0, 4096, 0, 0));
        assert_eq!(empty, Err(RangeError::SizeUnknown));
        assert_eq!(UsableRange::new(spec(4096, 0, 0, 0, 0, 0)), Err(RangeError::NoBlock));
        let size_bytes = TARGET_BYTES_MAX + 1;
        let large = UsableRange::new(spec(size_bytes, 0, 0, 4096, 0, 0));
        assert_eq!(large, Err(RangeError::TooLarge { size_bytes }));
        assert!(UsableRange::new(spec(TARGET_BYTES_MAX, 0, 0, 4096, u64::MAX, 0)).is_ok());
    }

    #[test]
    fn a_thread_starts_when_exactly_one_block_is_left() {
        let at_equality = UsableRange::new(spec(12288, 4096, 0, 4096, 0, 4096)).expect("fits");
        let start = at_equality.start_of(1).expect("k T + b = R");
        assert_eq!((start.start_bytes(), start.range()), (4096, &at_equality));
        let one_less = UsableRange::new(spec(12287, 4096, 0, 4096, 0, 4096)).expect("fits");
        assert!(one_less.start_of(0).is_ok());
        assert!(matches!(one_less.start_of(1), Err(RangeError::ThreadStart { relative_thread: 1, .. })));
        let huge = UsableRange::new(spec(12288, 0, 0, 4096, 0, u64::MAX)).expect("fits");
        assert!(huge.start_of(u32::MAX).is_err(), "the product is not wrapped");
    }

    #[test]
    fn messages_name_all_five_numbers() {
        let spec = spec(1 << 20, 65536, 500_000, 4096, 0, 200_000);
        let range = UsableRange::new(spec).expect("fits");
        let text = range.start_of(3).expect_err("does not fit").to_string();
        for part in ["thread 3 ", "600000", "200000", "4096", "500000 bytes", "65536", "at most 3 threads"] {
            assert!(text.contains(part), "{part:?} is missing in: {text}");
        }
        assert!(range.start_of(2).is_ok(), "the advice holds");
        let text = RangeError::NoRoom { spec: RangeSpec { base_bytes: 1 << 20, ..spec } }.to_string();
        for part in ["1048576", "4096", "500000 bytes", "-B", "-f"] {
            assert!(text.contains(part), "{part:?} is missing in: {text}");
        }
    }

    proptest! {
        #[test]
        fn never_past_the_end(
            size in any::<u64>(), base in any::<u64>(), max in any::<u64>(),
            block in any::<u64>(), stride in any::<u64>(), shift in 0u32..64, k in any::<u32>(),
        ) {
            let spec = spec(size >> shift, base >> shift >> 4, max >> shift, block >> shift >> 4, stride >> shift >> 2, block >> shift >> 8);
            if let Ok(range) = UsableRange::new(spec) {
                let end = u128::from(if spec.max_bytes == 0 { spec.size_bytes } else { spec.size_bytes.min(spec.max_bytes) });
                let last = u128::from(range.positions() - 1) * u128::from(range.stride_bytes());
                let base = u128::from(spec.base_bytes);
                prop_assert!(base + last + u128::from(spec.block_bytes) <= end);
                let next = last + u128::from(if spec.stride_bytes == 0 { spec.block_bytes } else { spec.stride_bytes });
                prop_assert!(base + next + u128::from(spec.block_bytes) > end, "no position is left out");
                prop_assert!(range.span_bytes() / range.stride_bytes() == range.positions());
                if let Ok(start) = range.start_of(k) {
                    prop_assert!(base + u128::from(start.start_bytes()) + u128::from(spec.block_bytes) <= end);
                }
            }
        }
    }
}
