//! What `-v` tells of a time span before it starts, one sentence a line.

use super::targets::TargetState;
use crate::machine::storage::TargetKind;
use crate::measure::clock::MachineClock;
use crate::plan::{Lane, LaneTarget, LaneWrites, ThreadWork};
use crate::profile::{IoPriority, Size, Target};
use crate::result::SelfCost;
use crate::sys::thread::ranges;

/// What the target turned out to be; `by_id` is the lasting name of `#n`.
pub fn target(target: &Target, state: &TargetState, by_id: Option<&str>) -> String {
    let facts = &state.facts;
    let mut words = format!("target '{}'", target.path);
    let path = state.path.display().to_string();
    if path != target.path {
        words.push_str(&format!(" is {path}"));
    }
    if let Some(by_id) = by_id {
        words.push_str(&format!(" ({by_id})"));
    }
    words.push_str(match facts.kind {
        TargetKind::Regular => ": file",
        TargetKind::Block => ": block device",
    });
    words.push_str(&format!(", {} ({} bytes)", Size(facts.size_bytes), facts.size_bytes));
    match (&facts.filesystem, &facts.device_name) {
        (Some(filesystem), Some(device)) => words.push_str(&format!(", {} on {device}", filesystem.name)),
        (Some(filesystem), None) => words.push_str(&format!(", {}", filesystem.name)),
        (None, Some(device)) if !path.ends_with(device.as_str()) => words.push_str(&format!(", {device}")),
        _ => {}
    }
    if let Some(direct) = facts.direct
        && target.is_direct()
    {
        words.push_str(&format!(", direct I/O in multiples of {} bytes", direct.offset_bytes));
    }
    if let Some(scheduler) = &facts.scheduler {
        words.push_str(&format!(", scheduler {scheduler}"));
    }
    words
}

/// A note if the priority of `-I` has no effect on the target.
pub fn priority(target: &Target, state: &TargetState) -> Option<String> {
    let name = state.facts.scheduler.as_deref().unwrap_or("none");
    let ignored = target.priority != IoPriority::Normal && !matches!(name, "bfq" | "mq-deadline");
    ignored.then(|| {
        format!("'{}': the scheduler '{name}' of its device ignores the I/O priority (-I)", target.path)
    })
}

/// The clock that stamps I/Os.
pub fn clock(clock: &MachineClock) -> String {
    let facts = clock.describe();
    let why =
        facts.why_not_counter.map(|why| format!("; not the processor's counter: {why}")).unwrap_or_default();
    format!("clock: {}, {:.0} ns a stamp{why}", facts.name, facts.cost_ns)
}

/// What the program itself costs here.
pub fn self_cost(cost: &SelfCost) -> String {
    let each = cost.loads.iter().map(|load| {
        let threads = ranges(&load.threads);
        format!("; {:.0} ns per I/O of thread {threads}", load.generator_ns)
    });
    let (stamp, record) = (cost.stamp_ns, cost.record_ns);
    format!("own cost: {stamp:.0} ns a stamp, {record:.0} ns to record a latency{}", each.collect::<String>())
}

/// What a thread is about to do, without its targets.
pub fn thread(work: &ThreadWork) -> String {
    let place = work.cpu.map_or("not pinned".to_string(), |cpu| format!("on processor {cpu}"));
    let pool = if work.is_pool { " over all its targets" } else { "" };
    format!("thread {}: {place}, seed {}, {} outstanding{pool}", work.id, work.seed, work.slots)
}

/// What a thread does on one of its targets, which is `asked` in the profile.
pub fn share(lane: &Lane, target: &LaneTarget, asked: &Target) -> String {
    let first = asked.thread_stride_bytes.saturating_mul(u64::from(target.duty.relative_thread));
    let start = first.saturating_add(asked.base_bytes);
    let requests = match (lane.work.is_pool, lane.targets.len()) {
        (true, _) => format!(", weight {}", target.duty.weight),
        (false, 1) => String::new(),
        (false, _) => format!(", {} outstanding", target.duty.requests),
    };
    format!(
        "thread {}: '{}' {}, {}{requests}{}",
        lane.work.id,
        asked.path,
        mix(asked),
        pattern(asked, start),
        contents(target.writes, asked)
    )
}

fn mix(target: &Target) -> String {
    let block = Size(target.block_bytes);
    match target.write_percent {
        0 => format!("reads of {block}"),
        100 => format!("writes of {block}"),
        percent => format!("I/Os of {block}, {percent} % writes"),
    }
}

fn pattern(target: &Target, start_bytes: u64) -> String {
    let stride = Size(target.stride());
    let distribution = if target.distribution.is_some() { " by a distribution" } else { "" };
    match target.random_percent {
        100 => format!("random{distribution} at multiples of {stride}"),
        0 if target.interlocked => format!("sequential in steps of {stride} shared by all threads"),
        0 if target.parallel => {
            format!("sequential from {start_bytes} in steps of {stride}, each request by itself")
        }
        0 => format!("sequential from {start_bytes} in steps of {stride}"),
        percent => {
            format!("{percent} % random{distribution} at multiples of {stride}, sequential otherwise")
        }
    }
}

fn contents(writes: LaneWrites, target: &Target) -> String {
    match writes {
        LaneWrites::None => String::new(),
        LaneWrites::Pattern { .. } => ", writes the bytes 0 to 255 in turn".to_string(),
        LaneWrites::Zero => ", writes zeros".to_string(),
        LaneWrites::Random => ", writes new random bytes each time".to_string(),
        LaneWrites::Source(_) => {
            let from = target.write_source_path.as_deref().filter(|p| !p.is_empty());
            let from = from.map_or("of random bytes".to_string(), |path| format!("from '{path}'"));
            format!(", writes windows of {} {from}", Size(target.write_source_bytes))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::SourceWindow;

    #[test]
    fn patterns_in_words() {
        let target = |edit: &dyn Fn(&mut Target)| {
            let mut target = Target { block_bytes: 4096, ..Target::default() };
            edit(&mut target);
            target
        };
        let of = |edit: &dyn Fn(&mut Target)| pattern(&target(edit), 8192);
        assert_eq!(of(&|_| ()), "sequential from 8192 in steps of 4KiB");
        assert_eq!(of(&|t| t.interlocked = true), "sequential in steps of 4KiB shared by all threads");
        assert_eq!(of(&|t| t.random_percent = 100), "random at multiples of 4KiB");
        assert_eq!(of(&|t| t.random_percent = 30), "30 % random at multiples of 4KiB, sequential otherwise");
        assert_eq!(mix(&target(&|t| t.write_percent = 30)), "I/Os of 4KiB, 30 % writes");
    }

    #[test]
    fn contents_in_words() {
        let mut target = Target { write_source_bytes: 1 << 20, ..Target::default() };
        assert_eq!(contents(LaneWrites::None, &target), "");
        let pattern = LaneWrites::Pattern { first: 0 };
        assert_eq!(contents(pattern, &target), ", writes the bytes 0 to 255 in turn");
        assert_eq!(contents(LaneWrites::Random, &target), ", writes new random bytes each time");
        let source = LaneWrites::Source(SourceWindow::new(1 << 20, 4096, 1).expect("it fits"));
        assert_eq!(contents(source, &target), ", writes windows of 1MiB of random bytes");
        target.write_source_path = Some("seed".into());
        assert_eq!(contents(source, &target), ", writes windows of 1MiB from 'seed'");
    }
}
