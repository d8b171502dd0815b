//! A server of 2 sockets and 512 processors, composed: where threads go, and what the results show of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use diskspd::render::format;
use truespd_core::plan::{assign, processor_order};
use truespd_core::profile::{Placement, ProcessorId, Target, TimeSpan, WholeGroup};
use truespd_core::result::{CpuUse, System, TimeSpanResult};
use truespd_platform::machine::topology::Topology;

use crate::support::documents::{Recipe, document};

/// How the kernel numbers the processors.
#[derive(Clone, Copy, PartialEq)]
enum Siblings {
    /// All first siblings before all second ones, as firmware mostly does.
    Apart,
    /// Both siblings of a core in a row.
    Beside,
}

/// Two sockets with a memory node and 128 cores each, two processors per core.
fn server(siblings: Siblings) -> Topology {
    let dir = tempfile::tempdir().expect("a folder");
    let put = |path: String, content: String| {
        let path = dir.path().join("devices/system").join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("folders");
        fs::write(path, content + "\n").expect("a file");
    };
    put("cpu/online".into(), "0-511".into());
    put("cpu/possible".into(), "0-511".into());
    for cpu in 0..512 {
        let (package, both) = match siblings {
            Siblings::Apart => (cpu % 256 / 128, format!("{},{}", cpu % 256, cpu % 256 + 256)),
            Siblings::Beside => (cpu / 256, format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1)),
        };
        put(format!("cpu/cpu{cpu}/topology/physical_package_id"), package.to_string());
        put(format!("cpu/cpu{cpu}/topology/core_cpus_list"), both);
    }
    let nodes = match siblings {
        Siblings::Apart => ["0-127,256-383", "128-255,384-511"],
        Siblings::Beside => ["0-255", "256-511"],
    };
    nodes
        .iter()
        .enumerate()
        .for_each(|(node, cpus)| put(format!("node/node{node}/cpulist"), cpus.to_string()));
    Topology::read(dir.path()).expect("a topology")
}

fn order(span: &TimeSpan, topology: &Topology) -> Vec<u32> {
    let allowed: Vec<u32> = topology.processors.iter().map(|p| p.cpu).collect();
    processor_order(span, topology, &allowed).expect("an order")
}

fn placed(cores_first: bool, span_groups: bool, siblings: Siblings) -> Vec<u32> {
    let placement = Placement { cores_first, span_groups, ..Placement::default() };
    let order = order(&TimeSpan { placement, ..TimeSpan::default() }, &server(siblings));
    let each: BTreeSet<u32> = order.iter().copied().collect();
    assert_eq!((order.len(), each.len()), (512, 512), "every processor once");
    order
}

#[test]
fn groups_of_64_cut_across_sockets_only_where_the_numbers_do() {
    let topology = server(Siblings::Apart);
    assert_eq!((topology.cores(), topology.groups, topology.nodes, topology.sockets), (256, 8, 2, 2));
    assert!(topology.has_smt());
    let node_of_group = |group: u32| {
        let nodes = topology.processors.iter().filter(|p| p.group == group).map(|p| p.node);
        nodes.collect::<BTreeSet<u32>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!((0..8).map(node_of_group).collect::<Vec<_>>(), [[0], [0], [1], [1], [0], [0], [1], [1]]);
    assert_eq!([0, 127, 128, 256, 384, 511].map(|cpu| topology.node_of(cpu)), [0, 0, 1, 0, 1, 1].map(Some));
    assert_eq!(topology.node_of(512), None);
}

#[test]
fn default_placement_fills_group_by_group() {
    for siblings in [Siblings::Apart, Siblings::Beside] {
        assert_eq!(placed(false, false, siblings), (0..512).collect::<Vec<_>>());
    }
}

/// `-as` alone: where all cores are alike nothing comes before the group.
#[test]
fn spanning_alone_changes_nothing() {
    assert_eq!(placed(false, true, Siblings::Apart), placed(false, false, Siblings::Apart));
}

/// `-ac` and `-acs`: no core has a second thread while another has none, as far as the groups' turns allow.
#[test]
fn cores_first_leaves_no_core_idle() {
    let cores = |order: &[u32], topology: &Topology| {
        let core =
            |cpu: &u32| topology.processors.iter().find(|p| p.cpu == *cpu).expect("online").physical_core;
        order.iter().map(core).collect::<BTreeSet<u32>>().len()
    };
    let apart = server(Siblings::Apart);
    assert_eq!(cores(&placed(true, false, Siblings::Apart)[..256], &apart), 256);
    let spanned = placed(true, true, Siblings::Apart);
    assert_eq!(cores(&spanned[..256], &apart), 256);
    assert_eq!(spanned[255..258], [255, 256, 257], "the groups of second siblings wait");

    let beside = server(Siblings::Beside);
    // DiskSpd's machine: a group has both siblings, and is filled before the next.
    assert_eq!(placed(true, false, Siblings::Beside)[30..34], [60, 62, 1, 3]);
    let spanned = placed(true, true, Siblings::Beside);
    assert_eq!(spanned[30..34], [60, 62, 64, 66]);
    assert_eq!(cores(&spanned[..256], &beside), 256);
}

#[test]
fn lists_name_processors_by_group_and_whole_groups() {
    let topology = server(Siblings::Apart);
    let id = |group, processor| ProcessorId { group, processor };
    // -ag7,0,63 and a plain number above 255.
    let listed = TimeSpan { affinity: vec![id(7, 0), id(7, 63), id(0, 300)], ..TimeSpan::default() };
    assert_eq!(order(&listed, &topology), [448, 511, 300]);
    // -ag4: a whole group.
    let whole =
        TimeSpan { affinity_groups: vec![WholeGroup { group: 4, position: 0 }], ..TimeSpan::default() };
    assert_eq!(order(&whole, &topology), (256..320).collect::<Vec<_>>());
    let beyond = TimeSpan { affinity: vec![id(8, 0)], ..TimeSpan::default() };
    let allowed: Vec<u32> = (0..512).collect();
    let refusal = processor_order(&beyond, &topology, &allowed).expect_err("there is no group 8");
    assert!(refusal.message.contains("this machine has 8 group(s) of up to 64; allowed CPUs: 0-511"));
}

/// 1,000 threads on 512 processors: each has one or two, and the last socket lacks the rest.
#[test]
fn a_thousand_threads_go_round_all_processors() {
    let placement = Placement { cores_first: true, span_groups: true, ..Placement::default() };
    let target = Target { path: "f".into(), threads_per_file: 1000, ..Target::default() };
    let span = TimeSpan { placement, targets: vec![target], ..TimeSpan::default() };
    let topology = server(Siblings::Apart);
    let mut of_cpu: BTreeMap<u32, u32> = BTreeMap::new();
    let mut of_node = [0; 2];
    for thread in assign(&span, &order(&span, &topology)) {
        let cpu = thread.cpu.expect("bound");
        *of_cpu.entry(cpu).or_default() += 1;
        of_node[topology.node_of(cpu).expect("online") as usize] += 1;
    }
    assert_eq!(of_cpu.len(), 512);
    assert!(of_cpu.values().all(|threads| [1, 2].contains(threads)), "{of_cpu:?}");
    assert_eq!(of_node, [512, 488]);
}

/// The document of a run on it as DiskSpd shows it: `render`'s own rows, not a copy of them.
fn rendered(name: &str) -> String {
    let mut document = document(&Recipe::PLAIN, 1);
    let topology = server(Siblings::Apart);
    // More on node 1, so that a row of the wrong processor is seen.
    let of = |node: u32| CpuUse {
        user: 10.0 + 20.0 * f64::from(node),
        kernel: 5.0,
        idle: 85.0 - 20.0 * f64::from(node),
    };
    let cpu: Vec<CpuUse> = topology.processors.iter().map(|p| of(p.node)).collect();
    for span in &mut document.time_spans {
        let TimeSpanResult::Measured(measured) = span else { panic!("{span:?}") };
        measured.cpu.clone_from(&cpu);
    }
    document.system = System { topology, ..document.system };
    (format(name).expect("a format").render)(&document)
}

#[test]
fn text_has_a_row_for_each_processor_with_its_socket_node_and_group() {
    let text = rendered("text");
    // A core whose siblings are in two groups stands in the rows of both, and is counted once.
    for line in ["\tcpu count:\t\t512", "\tcore count:\t\t256", "\tgroup count:\t\t8", "\tnode count:\t\t2"] {
        assert!(text.lines().any(|have| have == line), "{line}");
    }
    let header = "Socket | Node | Group | Core | CPU |  Usage |  User  | Kernel |  Idle";
    let at = text.lines().position(|line| line == header).expect("the table");
    let lines: Vec<&str> = text.lines().skip(at + 2).collect();
    assert_eq!(lines[0], "      0|     0|      0|     0|    0|  15.00%|  10.00%|   5.00%|  85.00%");
    assert_eq!(lines[128], "      1|     1|      2|     0|    0|  35.00%|  30.00%|   5.00%|  65.00%");
    assert_eq!(lines[511], "      1|     1|      7|    63|   63|  35.00%|  30.00%|   5.00%|  65.00%");
    assert_eq!(lines[512], "-".repeat(71));
    assert_eq!(lines[513], format!("{}avg.|  25.00%|  20.00%|   5.00%|  75.00%", " ".repeat(31)));
}

#[test]
fn xml_has_each_node_and_socket_with_a_mask_per_group() {
    let xml = rendered("xml");
    let full = "0xffffffffffffffff";
    let tree = roxmltree::Document::parse(&xml).expect("well-formed");
    for name in ["Node", "Socket"] {
        let topology = tree.descendants().find(|n| n.has_tag_name("ProcessorTopology")).expect("a topology");
        let sets: Vec<_> = topology.children().filter(|n| n.has_tag_name(name)).collect();
        assert_eq!(sets.len(), 2, "{name}");
        for (set, groups) in sets.iter().zip([["0", "1", "4", "5"], ["2", "3", "6", "7"]]) {
            let masks: Vec<_> = set.children().filter(|n| n.is_element()).collect();
            let found: Vec<_> = masks.iter().map(|n| n.attribute("Group").expect("a group")).collect();
            assert_eq!(found, groups, "{name}");
            assert!(masks.iter().all(|n| n.attribute("Mask") == Some(full)), "{name}");
        }
    }
    assert_eq!(tree.descendants().filter(|n| n.has_tag_name("CPU")).count(), 512);
}
