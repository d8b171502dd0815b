//! Stores past the caches and write-back of cache lines, for mapped files (`-Smw`, `-Nn`, `-Ni`).
//!
//! x86-64 only: elsewhere the switches are refused in words, as DiskSpd does on a system without the
//! primitives.

/// Whether [`copy_non_temporal`] and [`write_back`] exist for this processor.
pub(super) const AVAILABLE: bool = cfg!(target_arch = "x86_64");

#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::{copy_non_temporal, write_back};

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::asm;
    use std::arch::x86_64::{
        __cpuid, __cpuid_count, __m128i, _mm_clflush, _mm_loadu_si128, _mm_sfence, _mm_stream_si128,
    };
    use std::sync::OnceLock;

    const VECTOR: usize = size_of::<__m128i>();
    const LINE: usize = 64;

    /// Copies `len` bytes with stores that bypass the caches, and waits until they are on their way
    /// (store fence). Bytes before the first and after the last aligned vector go through the caches.
    ///
    /// # Safety
    /// `len` bytes are readable at `from` and writable at `to`, and the two do not overlap.
    pub(in crate::engine) unsafe fn copy_non_temporal(from: *const u8, to: *mut u8, len: usize) {
        let head = to.align_offset(VECTOR).min(len);
        let vectors = (len - head) / VECTOR;
        let tail = head + vectors * VECTOR;
        // SAFETY: all three parts together are the `len` bytes of the caller's promise; `to + head` is
        // aligned for the streaming store. SSE2 is part of x86-64.
        unsafe {
            std::ptr::copy_nonoverlapping(from, to, head);
            let (source, target) = (from.add(head).cast::<__m128i>(), to.add(head).cast::<__m128i>());
            for i in 0..vectors {
                _mm_stream_si128(target.add(i), _mm_loadu_si128(source.add(i)));
            }
            std::ptr::copy_nonoverlapping(from.add(tail), to.add(tail), len - tail);
            _mm_sfence();
        }
    }

    /// Writes the cache lines of `len` bytes back to memory; with `fence` waits until they are on
    /// their way.
    ///
    /// # Safety
    /// `len` bytes are readable at `start`.
    pub(in crate::engine) unsafe fn write_back(start: *const u8, len: usize, fence: bool) {
        let first = start.addr() & !(LINE - 1);
        let end = start.addr() + len;
        let instruction = *INSTRUCTION.get_or_init(Instruction::of_this_processor);
        for line in (first..end).step_by(LINE) {
            // SAFETY: every line holds a byte of the caller's range, and flushing changes no data; the
            // processor has the instruction.
            unsafe {
                match instruction {
                    Instruction::Clwb => {
                        asm!("clwb byte ptr [{}]", in(reg) line, options(nostack, preserves_flags))
                    }
                    Instruction::Clflushopt => {
                        asm!("clflushopt byte ptr [{}]", in(reg) line, options(nostack, preserves_flags));
                    }
                    Instruction::Clflush => _mm_clflush(std::ptr::with_exposed_provenance(line)),
                }
            }
        }
        if fence {
            // SAFETY: SSE is part of x86-64.
            unsafe { _mm_sfence() };
        }
    }

    static INSTRUCTION: OnceLock<Instruction> = OnceLock::new();

    /// Ways to write a line back, cheapest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Instruction {
        Clwb,
        Clflushopt,
        Clflush,
    }

    impl Instruction {
        fn of_this_processor() -> Self {
            const CLFLUSHOPT: u32 = 1 << 23;
            const CLWB: u32 = 1 << 24;
            let features = if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
            if features & CLWB != 0 {
                Instruction::Clwb
            } else if features & CLFLUSHOPT != 0 {
                Instruction::Clflushopt
            } else {
                Instruction::Clflush
            }
        }
    }
}

/// Never called: mapping with these modes is refused where they do not exist.
///
/// # Safety
/// As on x86-64.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn copy_non_temporal(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
}

/// Never called: mapping with these modes is refused where they do not exist.
///
/// # Safety
/// As on x86-64.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn write_back(_start: *const u8, _len: usize, _fence: bool) {}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn streaming_copies_every_byte_whatever_the_alignment() {
        let source: Vec<u8> = (0..1000u32).map(|i| (i * 7 + i / 256) as u8).collect();
        for start in 0..20 {
            for len in [0, 1, 15, 16, 17, 63, 64, 65, 500] {
                let mut target = vec![0xee_u8; 600];
                // SAFETY: both ranges are inside their vectors.
                unsafe { copy_non_temporal(source[3..].as_ptr(), target[start..].as_mut_ptr(), len) };
                assert_eq!(target[start..start + len], source[3..3 + len], "start {start} len {len}");
                assert!(target[..start].iter().chain(&target[start + len..]).all(|b| *b == 0xee));
            }
        }
    }

    #[test]
    fn writing_lines_back_changes_nothing() {
        let data: Vec<u8> = (0..=255).collect();
        for fence in [false, true] {
            // SAFETY: inside the vector.
            unsafe { write_back(data[5..].as_ptr(), 200, fence) };
        }
        assert!(data.iter().copied().eq(0..=255));
    }
}
