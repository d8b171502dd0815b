//! Which thread does what (`io-semantics.md` §1).

use crate::profile::TimeSpan;

/// What a thread does on one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duty {
    /// Index into the time span's targets.
    pub target: usize,
    /// Thread number that positions depend on (`k`): within the target, or the global one.
    pub relative_thread: u32,
    /// Request slots with buffers for this target; in pool mode every slot of the thread.
    pub requests: u32,
    /// Share in pool mode.
    pub weight: u32,
    /// Threads that work on the target.
    pub sharers: u32,
}

/// The work of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadWork {
    /// Global thread number, from 0.
    pub id: u32,
    /// Seed of the thread's generator: `(seed + id) mod 2^32`.
    pub seed: u32,
    /// Kernel CPU id to run on.
    pub cpu: Option<u32>,
    /// One per target that the thread serves.
    pub duties: Vec<Duty>,
    /// Outstanding I/Os of the thread over all targets.
    pub slots: u32,
    /// Each I/O goes to a randomly chosen target.
    pub is_pool: bool,
}

/// Distributes the time span over threads; `cpus` is the order of pinning, empty for none.
pub fn assign(span: &TimeSpan, cpus: &[u32]) -> Vec<ThreadWork> {
    let mut threads = if span.thread_count > 0 { fixed(span) } else { per_target(span) };
    for (thread, id) in threads.iter_mut().zip(0u32..) {
        thread.id = id;
        thread.seed = span.rand_seed.wrapping_add(id);
        thread.cpu = (!cpus.is_empty()).then(|| cpus[id as usize % cpus.len()]);
    }
    threads
}

fn work(duties: Vec<Duty>, slots: u32, is_pool: bool) -> ThreadWork {
    ThreadWork { id: 0, seed: 0, cpu: None, duties, slots, is_pool }
}

fn per_target(span: &TimeSpan) -> Vec<ThreadWork> {
    let mut threads = Vec::new();
    for (index, target) in span.targets.iter().enumerate() {
        for k in 0..target.threads_per_file {
            let duty = Duty {
                target: index,
                relative_thread: k,
                requests: target.request_count,
                weight: target.weight,
                sharers: target.threads_per_file,
            };
            threads.push(work(vec![duty], target.request_count, false));
        }
    }
    threads
}

fn fixed(span: &TimeSpan) -> Vec<ThreadWork> {
    let is_pool = span.is_pool();
    (0..span.thread_count)
        .map(|thread| {
            let duties: Vec<Duty> = span
                .targets
                .iter()
                .enumerate()
                .filter_map(|(index, target)| {
                    let assigned = target.thread_targets.iter().find(|t| t.thread == thread);
                    if !target.thread_targets.is_empty() && assigned.is_none() {
                        return None;
                    }
                    let own = assigned.map(|t| t.weight).filter(|&w| w > 0);
                    Some(Duty {
                        target: index,
                        relative_thread: thread,
                        requests: if is_pool { span.request_count } else { target.request_count },
                        weight: own.unwrap_or(target.weight),
                        sharers: span.threads_on(target),
                    })
                })
                .collect();
            let slots = if is_pool {
                span.request_count
            } else {
                duties.iter().fold(0, |slots: u32, duty| slots.saturating_add(duty.requests))
            };
            work(duties, slots, is_pool)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Target, ThreadTarget};

    fn span(targets: usize, edit: impl Fn(&mut TimeSpan)) -> TimeSpan {
        let mut span = TimeSpan { targets: vec![Target::default(); targets], ..TimeSpan::default() };
        edit(&mut span);
        span
    }

    fn shape(threads: &[ThreadWork]) -> Vec<(u32, Vec<(usize, u32)>)> {
        threads
            .iter()
            .map(|t| (t.slots, t.duties.iter().map(|d| (d.target, d.relative_thread)).collect()))
            .collect()
    }

    #[test]
    fn per_target_threads_fill_target_by_target() {
        let span = span(2, |s| s.targets.iter_mut().for_each(|t| t.threads_per_file = 2));
        let expected = vec![(2, vec![(0, 0)]), (2, vec![(0, 1)]), (2, vec![(1, 0)]), (2, vec![(1, 1)])];
        assert_eq!(shape(&assign(&span, &[])), expected);
    }

    #[test]
    fn fixed_threads_serve_every_target() {
        let threads = assign(&span(5, |s| s.thread_count = 2), &[]);
        assert_eq!(threads.len(), 2);
        assert!(threads.iter().all(|t| t.slots == 10 && t.duties.len() == 5));
        assert!(threads[1].duties.iter().all(|d| d.relative_thread == 1 && d.sharers == 2));
    }

    #[test]
    fn a_pool_thread_has_its_requests_over_all_targets() {
        let threads = assign(
            &span(5, |s| {
                s.thread_count = 2;
                s.request_count = 4;
            }),
            &[],
        );
        assert!(threads.iter().all(|t| t.is_pool && t.slots == 4));
        assert!(threads[0].duties.iter().all(|d| d.requests == 4));
    }

    #[test]
    fn thread_targets_restrict_and_override_weights() {
        let threads = assign(
            &span(2, |s| {
                s.thread_count = 2;
                s.request_count = 4;
                s.targets[0].weight = 3;
                s.targets[0].thread_targets =
                    vec![ThreadTarget { thread: 1, weight: 0 }, ThreadTarget { thread: 0, weight: 9 }];
                s.targets[1].thread_targets = vec![ThreadTarget { thread: 1, weight: 5 }];
            }),
            &[],
        );
        let weights = |t: &ThreadWork| t.duties.iter().map(|d| (d.target, d.weight)).collect::<Vec<_>>();
        assert_eq!(weights(&threads[0]), [(0, 9)]);
        assert_eq!(weights(&threads[1]), [(0, 3), (1, 5)]);
    }

    #[test]
    fn seeds_count_up_and_wrap_and_processors_go_round() {
        let span = span(1, |s| {
            s.rand_seed = u32::MAX;
            s.targets[0].threads_per_file = 3;
        });
        let threads = assign(&span, &[4, 6]);
        assert_eq!(threads.iter().map(|t| t.seed).collect::<Vec<_>>(), [u32::MAX, 0, 1]);
        assert_eq!(threads.iter().map(|t| t.cpu).collect::<Vec<_>>(), [Some(4), Some(6), Some(4)]);
    }
}
