//! Do the buffers of bound threads lie on the memory nodes of their processors?
//!
//! A bound thread touches its buffers first, so that the kernel takes them from the thread's node; unless the
//! process was told otherwise (numactl, a cpuset), or that node has no memory left. Nothing is moved: a
//! policy that somebody chose may be what is to be measured. What is looked at afterwards is told. Machines
//! of one node are not looked at.

use std::collections::BTreeMap;
use std::io;

use super::context::Note;
use crate::machine::memory::{allowed_nodes, nodes_with_memory};
use crate::machine::roots::Roots;
use crate::machine::topology::CpuSet;
use crate::result::BoundThread;
use crate::sys::buffer;
use crate::sys::buffer::IoBuffer;
use crate::sys::error::system_text;
use crate::text::grouped;

/// Pages that are looked at in each buffer.
const SAMPLES: usize = 16;

/// Where a bound thread and its buffers lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Processor of the thread.
    pub cpu: u32,
    /// Its node.
    pub node: u32,
    /// Its buffers; or the system's text, when it does not tell.
    pub pages: Result<Pages, String>,
}

/// Pages of a thread's buffers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pages {
    /// Pages that were looked at.
    pub seen: usize,
    /// Pages among them that lie on another node than the thread's processor.
    pub elsewhere: usize,
    /// Those nodes.
    pub nodes: CpuSet,
}

impl Placed {
    /// For the document.
    pub fn of_thread(&self, id: u32) -> BoundThread {
        let pages = self.pages.as_ref().ok();
        BoundThread {
            id,
            processor: self.cpu,
            node: self.node,
            buffer_pages_seen: pages.map(|pages| pages.seen as u64),
            buffer_pages_elsewhere: pages.map(|pages| pages.elsewhere as u64),
        }
    }
}

/// Looks where the buffers lie of a thread that is bound to `cpu`, which belongs to `node`.
pub fn look<'a>(cpu: u32, node: u32, buffers: impl Iterator<Item = &'a IoBuffer>) -> Placed {
    let pages: Vec<_> = buffers.map(|buffer| buffer::nodes_of(buffer, SAMPLES)).collect();
    Placed { cpu, node, pages: counted(node, pages).map_err(|error| system_text(&error)) }
}

fn counted(node: u32, buffers: Vec<io::Result<BTreeMap<u32, usize>>>) -> io::Result<Pages> {
    let (mut seen, mut elsewhere, mut nodes) = (0, 0, Vec::new());
    for buffer in buffers {
        let found = buffer?;
        seen += found.values().sum::<usize>();
        for (other, count) in found.into_iter().filter(|&(other, _)| other != node) {
            elsewhere += count;
            nodes.push(other);
        }
    }
    Ok(Pages { seen, elsewhere, nodes: CpuSet::new(nodes) })
}

/// What decides where memory comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// Nodes that have memory; `None` where the kernel does not tell.
    pub with_memory: Option<CpuSet>,
    /// Nodes that the process may take memory from; `None` where the kernel does not tell.
    pub allowed: Option<CpuSet>,
    /// Whether it was started with a policy.
    pub has_policy: Option<bool>,
}

impl Rules {
    /// Those of this process.
    pub fn read(roots: &Roots) -> Self {
        Rules {
            with_memory: nodes_with_memory(roots),
            allowed: allowed_nodes(roots),
            has_policy: buffer::has_memory_policy(),
        }
    }

    /// Why memory does not come from `node`, and what to do.
    fn reason(&self, node: u32) -> String {
        let is_outside = |nodes: &Option<CpuSet>| nodes.as_ref().is_some_and(|nodes| !nodes.contains(node));
        if is_outside(&self.with_memory) {
            return format!(
                "node {node} has no memory: bind the threads to processors of nodes that have some (-a)"
            );
        }
        if is_outside(&self.allowed) {
            return format!(
                "this process may take no memory of node {node} (cpuset.mems of its cgroup, or of its container): allow it, or bind \
                 the threads to processors of the nodes it may use (-a)"
            );
        }
        match self.has_policy {
            Some(true) => "the process was started with a memory policy, as by numactl: leave it out, or bind the threads to \
                           processors of its nodes (-a)"
                .to_string(),
            _ => format!("node {node} had no such memory left: numactl --hardware shows what is free"),
        }
    }
}

/// One sentence about all threads whose buffers lie elsewhere, or are not known to lie right; `None` when all
/// is well. The threads by their numbers.
pub fn note(threads: &[(u32, Placed)], rules: &Rules) -> Option<Note> {
    let apart = threads.iter().filter_map(|(id, placed)| {
        let pages = placed.pages.as_ref().ok().filter(|pages| pages.elsewhere > 0)?;
        Some((id, placed, pages))
    });
    let apart: Vec<_> = apart.collect();
    let Some((id, Placed { cpu, node, .. }, pages)) = apart.first() else {
        let unknown = threads.iter().find_map(|(_, placed)| placed.pages.as_ref().err());
        return unknown.map(|text| {
            Note::detail(format!(
                "whether the buffers lie on the nodes of the threads' processors is not known: {text}"
            ))
        });
    };
    let nodes: String = pages.nodes.clone().into();
    let of = match (apart.len(), threads.len()) {
        (1, _) => String::new(),
        (some, all) => format!(
            "{} of {} threads have buffers on another node; ",
            grouped(some as u64),
            grouped(all as u64)
        ),
    };
    Some(Note::worth_telling(format!(
        "{of}thread {id} runs on processor {cpu} of node {node}, and {} of {} pages of its buffers that were looked at lie on node \
         {nodes}, so that its I/O crosses the nodes: {}",
        grouped(pages.elsewhere as u64),
        grouped(pages.seen as u64),
        rules.reason(*node)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::error::Code;

    fn on(nodes: &[(u32, usize)]) -> io::Result<BTreeMap<u32, usize>> {
        Ok(nodes.iter().copied().collect())
    }

    fn placed(pages: Result<Pages, &str>) -> Placed {
        Placed { cpu: 65, node: 1, pages: pages.map_err(String::from) }
    }

    fn here() -> Placed {
        placed(Ok(Pages { seen: 17, ..Pages::default() }))
    }

    fn elsewhere() -> Placed {
        let pages = counted(1, vec![on(&[(0, 12), (1, 4)]), on(&[(1, 16)])]).expect("both are told");
        placed(Ok(pages))
    }

    #[test]
    fn pages_of_all_buffers_count() {
        let all_here = counted(1, vec![on(&[(1, 16)]), on(&[(1, 1)]), on(&[])]).expect("all are told");
        assert_eq!(all_here, Pages { seen: 17, ..Pages::default() });
        let expected = Pages { seen: 32, elsewhere: 12, nodes: CpuSet::new(vec![0]) };
        assert_eq!(elsewhere().pages, Ok(expected));
        assert!(counted(1, vec![on(&[(0, 1)]), Err(Code::NO_DEVICE.into())]).is_err());
    }

    #[test]
    fn the_document_tells_where_a_thread_and_its_buffers_lie() {
        let of = |placed: Placed| placed.of_thread(7);
        let expected = BoundThread {
            id: 7,
            processor: 65,
            node: 1,
            buffer_pages_seen: Some(32),
            buffer_pages_elsewhere: Some(12),
        };
        assert_eq!(of(elsewhere()), expected);
        let unknown = of(placed(Err("refused")));
        assert_eq!(
            (unknown.node, unknown.buffer_pages_seen, unknown.buffer_pages_elsewhere),
            (1, None, None)
        );
    }

    fn told(threads: &[(u32, Placed)], rules: &Rules) -> String {
        let note = note(threads, rules).expect("a note");
        assert!(!note.is_detail, "{note:?}");
        note.words
    }

    #[test]
    fn what_lies_elsewhere_is_told_once_with_the_reason() {
        let here = |allowed: &[u32], has_policy| {
            let rules =
                Rules { allowed: Some(CpuSet::new(allowed.to_vec())), has_policy, ..Rules::default() };
            told(&[(2, self::here()), (3, elsewhere())], &rules)
        };
        assert_eq!(
            here(&[0, 1], Some(false)),
            "thread 3 runs on processor 65 of node 1, and 12 of 32 pages of its buffers that were looked at lie on node 0, so that \
             its I/O crosses the nodes: node 1 had no such memory left: numactl --hardware shows what is free"
        );
        assert!(here(&[0], Some(false)).contains("may take no memory of node 1 (cpuset.mems"));
        assert!(here(&[0, 1], Some(true)).contains("started with a memory policy"));
        let many: Vec<(u32, Placed)> = (0..1000).map(|id| (id, elsewhere())).collect();
        let without = Rules {
            with_memory: Some(CpuSet::new(vec![0])),
            allowed: Some(CpuSet::new(vec![0])),
            has_policy: None,
        };
        let of_node = told(&[(3, elsewhere())], &without);
        assert!(of_node.contains("node 1 has no memory: bind the threads"), "{of_node}");
        let told = told(&many, &Rules::default());
        assert!(told.starts_with("1,000 of 1,000 threads have buffers on another node; thread 0 "), "{told}");
    }

    #[test]
    fn nothing_is_told_when_all_is_well_and_what_is_not_known_once() {
        assert_eq!(note(&[], &Rules::default()), None);
        assert_eq!(note(&[(0, here())], &Rules::default()), None);
        let threads = [(0, here()), (1, placed(Err("refused"))), (2, placed(Err("refused")))];
        let told = note(&threads, &Rules::default()).expect("a note");
        assert!(told.words.ends_with("is not known: refused") && told.is_detail, "{told:?}");
    }

    /// The real system call, as if the processor were on another node than the only one.
    #[test]
    fn a_buffer_of_this_machine() {
        let buffer = IoBuffer::new(64 << 10).expect("memory");
        buffer.with_slice_mut(0, buffer.len(), |all| all.fill(1));
        match look(0, 9999, [&buffer].into_iter()).pages {
            Ok(of) => assert_eq!((of.seen, of.elsewhere), (16, 16), "no machine has that node: {of:?}"),
            Err(text) => assert!(!text.is_empty()),
        }
    }
}
