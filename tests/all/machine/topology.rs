//! Processor topology of recorded and composed machines (tests/data/sysfs).

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use truespd_core::profile::Release;
use truespd_platform::machine::topology::{Processor, Topology, TopologyError, parse_cpu_list};

/// Makes a sysfs tree of lines "path, tab, content".
fn unpack(lines: &str) -> TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for line in lines.lines() {
        let (path, content) = line.split_once('\t').expect("path, tab, content");
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("folders");
        fs::write(path, format!("{content}\n")).expect("a file");
    }
    root
}

fn read(lines: &str) -> Result<Topology, TopologyError> {
    Topology::read(unpack(lines).path())
}

fn machine(name: &str) -> Topology {
    let file = Path::new(crate::support::ROOT).join("tests/data/sysfs").join(name).with_extension("txt");
    read(&fs::read_to_string(file).expect("recorded")).expect("understood")
}

/// Processors, cores, groups, nodes, sockets, highest efficiency class, SMT.
fn summary(t: &Topology) -> (usize, u32, u32, u32, u32, u32, bool) {
    let counts = (t.cores(), t.groups, t.nodes, t.sockets, t.efficiency_class_max());
    (t.processors.len(), counts.0, counts.1, counts.2, counts.3, counts.4, t.has_smt())
}

fn processor(topology: &Topology, cpu: u32) -> Processor {
    *topology.processors.iter().find(|p| p.cpu == cpu).expect("online")
}

/// One figure of every processor, in order.
fn column(topology: &Topology, figure: fn(&Processor) -> u32) -> Vec<u32> {
    topology.processors.iter().map(figure).collect()
}

#[test]
fn small_virtual_machine() {
    let topology = machine("virtual-2");
    assert_eq!(summary(&topology), (2, 2, 1, 1, 1, 0, false));
    assert_eq!(column(&topology, |p| p.core), [0, 1]);
}

#[test]
fn second_siblings_after_all_first_ones() {
    let topology = machine("desktop-4-smt");
    assert_eq!(summary(&topology), (8, 4, 1, 1, 1, 0, true));
    assert_eq!(column(&topology, |p| p.core), [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn siblings_in_different_groups_are_one_core() {
    let topology = machine("server-2x32-smt");
    assert_eq!(summary(&topology), (128, 64, 2, 2, 2, 0, true));
    let last_of_group_0 = Processor {
        cpu: 63,
        group: 0,
        number: 63,
        core: 63,
        physical_core: 63,
        socket: 1,
        node: 1,
        efficiency_class: 0,
    };
    assert_eq!(processor(&topology, 63), last_of_group_0);
    assert_eq!(processor(&topology, 127), Processor { cpu: 127, group: 1, ..last_of_group_0 });
    let first_of_group_1 = processor(&topology, 64);
    assert_eq!((first_of_group_1.number, first_of_group_1.core), (0, 0), "numbers restart in a group");
    assert_eq!((first_of_group_1.socket, first_of_group_1.physical_core), (0, 0));
}

#[test]
fn intel_hybrid_has_two_classes() {
    let topology = machine("hybrid-8p-4e");
    assert_eq!(summary(&topology), (20, 12, 1, 1, 1, 1, true));
    assert_eq!(column(&topology, |p| p.core)[..4], [0, 0, 1, 1]);
    assert_eq!(column(&topology, |p| p.core)[14..], [7, 7, 8, 9, 10, 11]);
    assert_eq!(column(&topology, |p| p.efficiency_class), [vec![1; 16], vec![0; 4]].concat());
}

#[test]
fn arm_capacities_make_classes() {
    let topology = machine("arm-4-little-4-big");
    assert_eq!(summary(&topology), (8, 8, 1, 1, 1, 1, false));
    assert_eq!(column(&topology, |p| p.efficiency_class), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(column(&topology, |p| p.core), [0, 1, 2, 3, 4, 5, 6, 7], "core ids repeat, cores do not");
}

#[test]
fn container_shows_little() {
    let topology = machine("container-holes");
    assert_eq!(summary(&topology), (4, 4, 1, 1, 1, 0, false));
    assert_eq!(column(&topology, |p| p.cpu), [0, 1, 2, 5]);
    assert_eq!(column(&topology, |p| p.number), [0, 1, 2, 5]);
    assert_eq!(column(&topology, |p| p.core), [0, 1, 2, 3]);
}

#[test]
fn several_nodes_a_socket() {
    let topology = machine("server-2x16-smt-4-nodes-a-socket");
    assert_eq!(summary(&topology), (64, 32, 1, 8, 2, 0, true));
    assert_eq!([0, 4, 15, 16, 31, 32, 63].map(|cpu| processor(&topology, cpu).node), [0, 1, 3, 4, 7, 0, 7]);
    assert_eq!([0, 15, 16, 31, 32, 63].map(|cpu| processor(&topology, cpu).socket), [0, 0, 1, 1, 0, 1]);
}

/// `/sys` lines for these CPUs with one file each.
fn per_cpu(file: &str, values: &[(u32, &str)]) -> String {
    let online: Vec<String> = values.iter().map(|(cpu, _)| cpu.to_string()).collect();
    let mut lines = format!("devices/system/cpu/online\t{}\n", online.join(","));
    for (cpu, value) in values {
        lines += &format!("devices/system/cpu/cpu{cpu}/{file}\t{value}\n");
    }
    lines
}

#[test]
fn capacities_that_differ_little_are_one_class() {
    let classes = |values: &[(u32, &str)]| {
        column(&read(&per_cpu("cpu_capacity", values)).unwrap(), |p| p.efficiency_class)
    };
    assert_eq!(classes(&[(0, "1024"), (1, "1009"), (2, "1017")]), [0, 0, 0]);
    assert_eq!(classes(&[(0, "325"), (1, "870"), (2, "1024"), (3, "325")]), [0, 1, 2, 0]);
    assert_eq!(classes(&[(0, "0"), (1, "0")]), [0, 0]);
}

#[test]
fn low_power_cores_are_a_class_below() {
    let lines = "devices/system/cpu/online\t0-5\ndevices/cpu_core/cpus\t0-1\ndevices/cpu_atom/cpus\t2-3\n\
                 devices/cpu_lowpower/cpus\t4-7\n";
    assert_eq!(column(&read(lines).unwrap(), |p| p.efficiency_class), [2, 2, 1, 1, 0, 0]);
}

#[test]
fn sockets_are_numbered_from_0_whatever_firmware_calls_them() {
    let sockets = |values: &[(u32, &str)]| {
        let topology = read(&per_cpu("topology/physical_package_id", values)).unwrap();
        (topology.sockets, column(&topology, |p| p.socket))
    };
    assert_eq!(sockets(&[(0, "36"), (1, "3"), (2, "36")]), (2, vec![1, 0, 1]));
    assert_eq!(sockets(&[(0, "-1"), (1, "-1")]), (1, vec![0, 0]));
}

#[test]
fn nodes_without_processors_are_not_counted_and_numbers_are_the_kernels() {
    let lines = "devices/system/cpu/online\t0-1\ndevices/system/node/node0/cpulist\t0\n\
                 devices/system/node/node8/cpulist\t1\ndevices/system/node/node9/cpulist\t\n\
                 devices/system/node/has_cpu\t0,8\n";
    let topology = read(lines).unwrap();
    assert_eq!((topology.nodes, column(&topology, |p| p.node)), (2, vec![0, 8]));
}

#[test]
fn an_offline_first_sibling_does_not_split_or_move_the_core() {
    let siblings = [(1, "0-3"), (2, "0-3"), (3, "0-3"), (5, "5")];
    let topology = read(&per_cpu("topology/core_cpus_list", &siblings)).unwrap();
    assert_eq!(column(&topology, |p| p.core), [0, 0, 0, 1]);
    assert!(topology.has_smt());
}

#[test]
fn groups_reach_up_to_the_highest_processor() {
    let topology = read("devices/system/cpu/online\t0-1,130\n").unwrap();
    assert_eq!(topology.groups, 3);
    let last = processor(&topology, 130);
    assert_eq!((last.group, last.number, last.core, last.physical_core), (2, 2, 0, 2));
}

#[test]
fn refusals_name_file_and_content() {
    let words = |lines: &str| read(lines).expect_err(lines).to_string();
    assert!(words("elsewhere\t1\n").contains("devices/system/cpu/online does not exist; is /sys mounted?"));
    assert!(words("devices/system/cpu/online\t\n").contains("cpu/online"));
    let malformed = words("devices/system/cpu/online\t0-x\n");
    assert!(malformed.contains("cpu/online holds \"0-x\", expected processor numbers"), "{malformed}");
    let package = words(&per_cpu("topology/physical_package_id", &[(0, "zero")]));
    assert!(package.contains("physical_package_id holds \"zero\", expected a number"), "{package}");
    let directory = unpack("devices/system/cpu/online/inside\t0\n");
    let error = Topology::read(directory.path()).expect_err("a folder is no list");
    assert!(matches!(error, TopologyError::Read { .. }), "{error}");
}

#[test]
fn lists_of_processors() {
    assert_eq!(parse_cpu_list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
    assert_eq!(parse_cpu_list("5,0-2,1"), Some(vec![0, 1, 2, 5]));
    assert_eq!(parse_cpu_list("\n"), Some(vec![]));
    // Each processor twice is more than there can be.
    assert_eq!(parse_cpu_list("0-65535").map(|all| all.len()), Some(65_536));
    assert_eq!(parse_cpu_list("0-65535,0-65535"), None);
    for bad in [",", "1,", "2-1", "-1", "1-", "a", "0-4294967295", "0x1"] {
        assert_eq!(parse_cpu_list(bad), None, "{bad}");
    }
}

#[test]
fn this_machine() {
    let topology = Topology::of_this_machine().expect("Linux tells its processors");
    let usable = std::thread::available_parallelism().expect("known").get();
    assert!(topology.processors.len() >= usable, "{topology:?}");
    assert!(topology.cores() >= 1 && topology.cores() as usize <= topology.processors.len());
    assert!(topology.sockets >= 1 && topology.nodes >= 1 && topology.groups >= 1);
}

/// `MaximumProcessors` of a group: what could be online, not only what is.
#[test]
fn groups_tell_what_could_be_online() {
    let topology = |online: &str, possible: &str| {
        let possible = match possible {
            "" => String::new(),
            list => format!("devices/system/cpu/possible\t{list}\n"),
        };
        read(&format!("devices/system/cpu/online\t{online}\n{possible}")).expect("understood")
    };
    let maxima = |topology: &Topology| {
        (0..topology.groups).map(|group| topology.maximum_of_group(group)).collect::<Vec<_>>()
    };
    assert_eq!(maxima(&topology("0-1", "0-1")), [2]);
    assert_eq!(maxima(&topology("0-1", "0-7")), [8]);
    assert_eq!(maxima(&topology("0-1", "0-127")), [64]);
    assert_eq!(maxima(&topology("0-69", "0-127")), [64, 64]);
    assert_eq!(maxima(&topology("0-69", "0-79")), [64, 16]);
    // A kernel that does not tell: as far as the highest number.
    assert_eq!(maxima(&topology("0,5", "")), [6]);
    let mut system = truespd_core::result::System { topology: topology("0-1", "0-7"), ..Default::default() };
    let maximum = |system: &truespd_core::result::System| {
        let xml = diskspd::render::xml::system(system, Release::V2_2);
        xml.split("MaximumProcessors=\"").nth(1).and_then(|rest| rest.split('"').next()).map(String::from)
    };
    assert_eq!(maximum(&system).as_deref(), Some("8"));
    system.topology.cpus_possible = None;
    assert_eq!(maximum(&system).as_deref(), Some("2"));
}
