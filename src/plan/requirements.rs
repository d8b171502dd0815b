//! What a machine and a target must offer before the run (`command-line.md` §12).

use super::{Refusal, ThreadWork};
use crate::os::target::DirectAlignment;
use crate::profile::{DistributionKind, Size, Target, TimeSpan};

/// Largest I/O Linux transfers in one call: 2 GiB less a page (`read(2)`, NOTES).
pub const LINUX_IO_BYTES_MAX: u64 = 0x7fff_f000;

/// Share of the available memory that buffers may take, in percent.
pub const BUFFER_BYTES_SHARE_MAX: u64 = 90;

/// One size option of a target that direct I/O constrains.
fn sizes(target: &Target) -> Vec<(&'static str, &'static str, u64)> {
    let stride = if target.random_percent > 0 { "-r" } else { "-s" };
    let stride_what =
        if target.random_percent > 0 { "alignment of random offsets" } else { "sequential stride" };
    let mut sizes = vec![("-b", "block size", target.block_bytes)];
    if target.stride_bytes.is_some_and(|s| s > 0) {
        sizes.push((stride, stride_what, target.stride()));
    }
    sizes.push(("-B", "base offset", target.base_bytes));
    sizes.push(("-T", "thread stride", target.thread_stride_bytes));
    if let Some(distribution) = &target.distribution
        && distribution.kind == DistributionKind::Absolute
    {
        let mut bound = 0u64;
        for range in &distribution.ranges {
            bound = bound.saturating_add(range.span);
            sizes.push(("-rd", "bound of the distribution", bound));
        }
    }
    sizes
}

/// Checks every size and offset option of a direct-I/O target.
pub fn check_alignment(target: &Target, alignment: DirectAlignment) -> Result<(), Refusal> {
    for (switch, what, bytes) in sizes(target) {
        if !bytes.is_multiple_of(alignment.offset_bytes.max(1)) {
            let below = bytes - bytes % alignment.offset_bytes;
            let above = below.saturating_add(alignment.offset_bytes);
            let nearest = if below > 0 { format!("{below} or {above}") } else { above.to_string() };
            return Err(Refusal::machine(
                &[switch],
                Some(&target.path),
                format!(
                    "direct I/O on '{}' needs multiples of {} bytes, but the {what} ({switch}) is {bytes}; \
                     use {nearest}, or leave out the switch that bypasses the cache (-S, -Su, -Sh, -h)",
                    target.path, alignment.offset_bytes
                ),
            ));
        }
    }
    Ok(())
}

/// Linux transfers at most 2 GiB - 4 KiB in one call.
pub fn check_block_size(target: &Target) -> Result<(), Refusal> {
    if target.block_bytes > LINUX_IO_BYTES_MAX {
        return Err(Refusal::machine(
            &["-b"],
            Some(&target.path),
            format!(
                "block size {} is more than Linux transfers in one I/O; the largest is {LINUX_IO_BYTES_MAX} \
                 bytes (2 GiB - 4 KiB)",
                target.block_bytes
            ),
        ));
    }
    Ok(())
}

/// Bytes of buffers one thread takes: slots for reads, and for writes unless they come from a shared
/// source.
pub fn buffer_bytes(span: &TimeSpan, thread: &ThreadWork) -> u128 {
    thread
        .duties
        .iter()
        .map(|duty| {
            let target = &span.targets[duty.target];
            let own_writes = target.writes() && target.write_source_bytes == 0;
            let halves = u128::from(target.reads()) + u128::from(own_writes);
            halves * u128::from(duty.requests) * u128::from(target.block_bytes)
        })
        .sum()
}

/// Refuses when the buffers would not fit the memory that is available.
pub fn check_memory(span: &TimeSpan, threads: &[ThreadWork], available_bytes: u64) -> Result<(), Refusal> {
    let slots: u128 = threads.iter().map(|t| buffer_bytes(span, t)).sum();
    let sources: u128 = span.targets.iter().map(|t| u128::from(t.write_source_bytes)).sum();
    let limit = u128::from(available_bytes) * u128::from(BUFFER_BYTES_SHARE_MAX) / 100;
    if slots + sources <= limit {
        return Ok(());
    }
    let show = |bytes: u128| Size(u64::try_from(bytes).unwrap_or(u64::MAX)).to_string();
    Err(Refusal::machine(
        &["-o", "-b", "-t", "-F", "-Z"],
        None,
        format!(
            "Could not allocate a buffer for target: the I/O buffers would take {} ({} threads x outstanding \
             I/Os x block size{}), but {} of memory is available; lower -o, -b or -t",
            show(slots + sources),
            threads.len(),
            if sources > 0 { ", plus the -Z sources" } else { "" },
            Size(available_bytes)
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::target::AlignmentSource;
    use crate::plan::assign;
    use crate::profile::{CacheMode, Distribution, DistributionRange};

    const KIB: u64 = 1024;

    fn direct(edit: impl Fn(&mut Target)) -> Target {
        let mut target = Target { path: "f".into(), cache: CacheMode::DisableOsCache, ..Target::default() };
        edit(&mut target);
        target
    }

    fn refused(target: &Target, offset_bytes: u64) -> Option<&'static str> {
        let source = AlignmentSource::Statx;
        let alignment = DirectAlignment { offset_bytes, memory_bytes: 512, source };
        check_alignment(target, alignment).err().map(|r| {
            assert!(r.message.contains(&offset_bytes.to_string()), "{}", r.message);
            r.switches[0]
        })
    }

    #[test]
    fn alignment_names_the_option() {
        assert_eq!(refused(&direct(|t| t.block_bytes = 4 * KIB), 4096), None);
        assert_eq!(refused(&direct(|t| t.block_bytes = 512), 4096), Some("-b"));
        assert_eq!(refused(&direct(|t| t.block_bytes = 1000), 512), Some("-b"));
        assert_eq!(refused(&direct(|t| t.stride_bytes = Some(KIB)), 4096), Some("-s"));
        assert_eq!(
            refused(
                &direct(|t| {
                    t.random_percent = 100;
                    t.stride_bytes = Some(KIB);
                }),
                4096
            ),
            Some("-r")
        );
        assert_eq!(refused(&direct(|t| t.base_bytes = 100), 512), Some("-B"));
        assert_eq!(refused(&direct(|t| t.thread_stride_bytes = 5), 512), Some("-T"));
        let range = |io_percent, span| DistributionRange { io_percent, span };
        let ranges = vec![range(50, 70000), range(50, 0)];
        let distribution = Distribution { kind: DistributionKind::Absolute, ranges };
        assert_eq!(refused(&direct(|t| t.distribution = Some(distribution.clone())), 512), Some("-rd"));
    }

    #[test]
    fn the_linux_limit_of_one_transfer() {
        assert!(check_block_size(&direct(|t| t.block_bytes = LINUX_IO_BYTES_MAX)).is_ok());
        assert!(check_block_size(&direct(|t| t.block_bytes = LINUX_IO_BYTES_MAX + 1)).is_err());
    }

    #[test]
    fn buffers_count_reads_writes_and_sources() {
        let mut span = TimeSpan { targets: vec![direct(|t| t.block_bytes = KIB)], ..TimeSpan::default() };
        span.targets[0].request_count = 8;
        let bytes = |span: &TimeSpan| buffer_bytes(span, &assign(span, &[])[0]);
        assert_eq!(bytes(&span), 8192);
        span.targets[0].write_percent = 30;
        assert_eq!(bytes(&span), 16384);
        span.targets[0].write_source_bytes = 1 << 20;
        assert_eq!(bytes(&span), 8192);
        let threads = assign(&span, &[]);
        assert!(check_memory(&span, &threads, 2 << 20).is_ok());
        let refusal = check_memory(&span, &threads, 1 << 20).unwrap_err();
        assert!(refusal.message.contains("Could not allocate a buffer for target"));
    }
}
