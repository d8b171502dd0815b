//! What the system allows one process, and an engine one thread: checked before anything is taken.

use super::requirements::{MemoryNeed, memory_need};
use super::threads::ThreadWork;
use crate::engine::{self, EngineRow};
use crate::fault::Refusal;
use crate::machine::memory::{SpaceLeft, ThreadsAllowed};
use crate::profile::{Size, TimeSpan};

/// Address space of a thread's stack, with what guards it.
const STACK_BYTES: u128 = (2 << 20) + (64 << 10);
/// Threads of a run besides its workers: the one that directs them, and those that wait for signals and events.
const OTHER_THREADS: u128 = 3;

/// Refuses more outstanding I/Os than the engine of a thread takes; `named` is that of `--engine`.
///
/// # Errors
/// Which thread, how many, and how many the engine takes.
pub fn check_depth(
    span: &TimeSpan,
    works: &[ThreadWork],
    named: Option<&'static EngineRow>,
) -> Result<(), Refusal> {
    let is_direct = span.targets.iter().all(|target| target.is_direct());
    let Some(deepest) = works.iter().max_by_key(|work| work.slots).filter(|work| work.slots > 1) else {
        return Ok(());
    };
    // Mapped files are served one I/O at a time, whatever the engine.
    if named.is_none() && span.targets.iter().all(|target| target.memory_mapped) {
        return Ok(());
    }
    let row = named.unwrap_or_else(|| engine::likely(is_direct));
    if deepest.slots <= row.depth_max {
        return Ok(());
    }
    let message = format!(
        "{} outstanding I/Os for one thread are more than the engine {} takes, which is 1 to {}",
        deepest.slots, row.name, row.depth_max
    );
    Err(Refusal::machine(&["-o", "-O"], None, message)
        .hint("use fewer outstanding I/Os per thread (-o, -O) and more threads (-t, -F)"))
}

/// Refuses more threads than there can be on this machine.
///
/// # Errors
/// How many, and who sets the limit.
pub fn check_threads(threads: u64, allowed: Option<ThreadsAllowed>) -> Result<(), Refusal> {
    let Some(ThreadsAllowed { count, by }) = allowed.filter(|allowed| threads > allowed.count) else {
        return Ok(());
    };
    let message = format!("{threads} threads are more than this process may have, which is {count} ({by})");
    Err(Refusal::machine(&["-t", "-F"], None, message).hint("use fewer threads, or raise the limit"))
}

/// Refuses when the run would not fit the address space that is left to this process. `series` and `as_xml` are as for
/// [`memory_need`].
///
/// # Errors
/// How much it takes, how much is left, and who sets the limit.
pub fn check_space(
    span: &TimeSpan,
    series: u128,
    as_xml: bool,
    left: Option<SpaceLeft>,
) -> Result<(), Refusal> {
    let Some(SpaceLeft { bytes, by }) = left else { return Ok(()) };
    let need = memory_need(span, series, as_xml);
    let total = space_need(&need);
    if total <= u128::from(bytes) {
        return Ok(());
    }
    let message = format!(
        "the run would take {} of address space (threads: {}, I/O buffers: {}), but the limit of this process leaves {} \
         ({by})",
        Size(u64::try_from(total).unwrap_or(u64::MAX)),
        need.threads,
        Size(u64::try_from(need.buffers).unwrap_or(u64::MAX)),
        Size(bytes)
    );
    Err(Refusal::machine(&["-t", "-F", "-o", "-O", "-b"], None, message)
        .hint("raise the limit, or lower -t, -F, -o or -b"))
}

fn space_need(need: &MemoryNeed) -> u128 {
    let stacks = need.threads.saturating_add(OTHER_THREADS).saturating_mul(STACK_BYTES);
    need.total().saturating_add(stacks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::assign;
    use crate::profile::Target;

    fn span(requests: u32, threads: u32) -> TimeSpan {
        let target = Target {
            request_count: requests,
            threads_per_file: threads,
            block_bytes: 4096,
            ..Target::default()
        };
        TimeSpan { targets: vec![target], ..TimeSpan::default() }
    }

    #[test]
    fn every_engine_has_its_depth() {
        let refused = |span: &TimeSpan, named| check_depth(span, &assign(span, &[]), named).err();
        for row in engine::TABLE {
            assert!(refused(&span(row.depth_max, 1), Some(row)).is_none(), "{}", row.name);
            if let Some(more) = row.depth_max.checked_add(1) {
                let words = refused(&span(more, 1), Some(row)).expect("one more is too many").message.clone();
                assert!(words.contains(row.name) && words.contains(&row.depth_max.to_string()), "{words}");
            }
        }
        assert!(refused(&span(1_000_000, 4), None).is_some());
        // A thread on several targets has the I/Os of all.
        let mut shared = span(20_000, 1);
        shared.targets.push(shared.targets[0].clone());
        assert!(refused(&shared, None).is_none());
        shared.thread_count = 2;
        assert!(refused(&shared, None).is_some());
    }

    #[test]
    fn threads_and_space_are_told_with_who_limits_them() {
        let allowed = Some(ThreadsAllowed { count: 100, by: "a limit" });
        assert!(check_threads(100, allowed).is_ok() && check_threads(u64::MAX, None).is_ok());
        assert!(check_threads(101, allowed).unwrap_err().message.contains("which is 100 (a limit)"));
        let left = |bytes| Some(SpaceLeft { bytes, by: "a limit" });
        assert!(check_space(&span(4, 2), 0, false, left(12 << 20)).is_ok());
        let refusal = check_space(&span(4, 20), 0, false, left(12 << 20)).unwrap_err();
        assert!(
            refusal.message.contains("threads: 20") && refusal.message.contains("leaves 12M"),
            "{refusal}"
        );
        assert!(check_space(&span(u32::MAX, u32::MAX), u128::MAX, true, left(u64::MAX)).is_err());
    }
}
