//! Do the buffers of bound threads lie on the memory nodes of their processors?
//!
//! A bound thread touches its buffers first, so that the kernel takes them from the thread's node; unless the process was
//! told otherwise (numactl, a cpuset), or that node has no memory left. Nothing is moved: a policy that somebody chose
//! may be what is to be measured. What is looked at afterwards is told. Machines of one node are not looked at.

use std::collections::BTreeMap;
use std::io;

use super::context::Note;
use crate::machine::cpu_set::CpuSet;
use crate::machine::memory::{allowed_nodes, nodes_with_memory};
use crate::machine::roots::Roots;
use crate::sys::buffer::IoBuffer;
use crate::sys::error::system_text;
use crate::sys::pages;
use crate::text::grouped;

/// Pages that are looked at in each buffer.
const SAMPLES: usize = 16;

/// Where the buffers of a bound thread lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placed {
    /// On the node of its processor.
    Here,
    /// Not all of them.
    Elsewhere(Elsewhere),
    /// The system's text.
    Unknown(String),
}

/// Pages on other nodes than their thread's processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// Processor of the thread.
    pub cpu: u32,
    /// Its node.
    pub node: u32,
    /// Pages that were looked at.
    pub pages: usize,
    /// Pages among them that lie on another node.
    pub pages_elsewhere: usize,
    /// Those nodes.
    pub nodes: CpuSet,
}

/// Looks where the buffers lie of a thread that is bound to `cpu`, which belongs to `node`.
pub fn look<'a>(cpu: u32, node: u32, buffers: impl Iterator<Item = &'a IoBuffer>) -> Placed {
    let pages: Vec<_> = buffers.map(|buffer| pages::nodes_of(buffer, SAMPLES)).collect();
    placed(cpu, node, pages)
}

fn placed(cpu: u32, node: u32, buffers: Vec<io::Result<BTreeMap<u32, usize>>>) -> Placed {
    let (mut pages, mut pages_elsewhere, mut nodes) = (0, 0, Vec::new());
    for buffer in buffers {
        let found = match buffer {
            Ok(found) => found,
            Err(error) => return Placed::Unknown(system_text(&error)),
        };
        pages += found.values().sum::<usize>();
        for (other, count) in found.into_iter().filter(|&(other, _)| other != node) {
            pages_elsewhere += count;
            nodes.push(other);
        }
    }
    match pages_elsewhere {
        0 => Placed::Here,
        _ => Placed::Elsewhere(Elsewhere { cpu, node, pages, pages_elsewhere, nodes: CpuSet::new(nodes) }),
    }
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
            has_policy: pages::has_memory_policy(),
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

/// One sentence about all threads whose buffers lie elsewhere, or are not known to lie right; `None` when all is well. The
/// threads by their numbers.
pub fn note(threads: &[(u32, Placed)], rules: &Rules) -> Option<Note> {
    let apart = |(id, placed): &(u32, Placed)| match placed {
        Placed::Elsewhere(elsewhere) => Some((*id, elsewhere.clone())),
        _ => None,
    };
    let apart: Vec<(u32, Elsewhere)> = threads.iter().filter_map(apart).collect();
    let Some((id, first)) = apart.first() else {
        return threads.iter().find_map(|(_, placed)| match placed {
            Placed::Unknown(text) => Some(Note::detail(format!(
                "whether the buffers lie on the nodes of the threads' processors is not known: {text}"
            ))),
            _ => None,
        });
    };
    let Elsewhere { cpu, node, pages, pages_elsewhere, nodes } = first;
    let nodes: String = nodes.clone().into();
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
        grouped(*pages_elsewhere as u64),
        grouped(*pages as u64),
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

    fn elsewhere() -> Placed {
        placed(65, 1, vec![on(&[(0, 12), (1, 4)]), on(&[(1, 16)])])
    }

    #[test]
    fn pages_of_all_buffers_count() {
        assert_eq!(placed(65, 1, vec![on(&[(1, 16)]), on(&[(1, 1)]), on(&[])]), Placed::Here);
        let expected =
            Elsewhere { cpu: 65, node: 1, pages: 32, pages_elsewhere: 12, nodes: CpuSet::new(vec![0]) };
        assert_eq!(elsewhere(), Placed::Elsewhere(expected));
        let refused = placed(65, 1, vec![on(&[(0, 1)]), Err(Code::NO_DEVICE.into())]);
        assert!(matches!(refused, Placed::Unknown(_)), "{refused:?}");
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
            told(&[(2, Placed::Here), (3, elsewhere())], &rules)
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
        assert_eq!(note(&[(0, Placed::Here)], &Rules::default()), None);
        let unknown = |text: &str| Placed::Unknown(text.into());
        let threads = [(0, Placed::Here), (1, unknown("refused")), (2, unknown("refused"))];
        let told = note(&threads, &Rules::default()).expect("a note");
        assert!(told.words.ends_with("is not known: refused") && told.is_detail, "{told:?}");
    }

    /// The real system call, as if the processor were on another node than the only one.
    #[test]
    fn a_buffer_of_this_machine() {
        let buffer = IoBuffer::new(64 << 10).expect("memory");
        buffer.with_slice_mut(0, buffer.len(), |all| all.fill(1));
        match look(0, 9999, [&buffer].into_iter()) {
            Placed::Elsewhere(of) => assert_eq!((of.pages, of.pages_elsewhere), (16, 16), "{of:?}"),
            Placed::Unknown(text) => assert!(!text.is_empty()),
            Placed::Here => panic!("no machine has that node"),
        }
    }
}
