//! Which processor answers for a disk's queues, on recorded and composed machines.

use truespd_platform::machine::device::BlockDevice;
use truespd_platform::machine::interrupts::queues_of;

use crate::support::trees::Tree;

/// Of each queue of a disk: its number, its processors, its interrupt and who answers that.
fn queues(tree: &Tree, disk: &str) -> Vec<(u32, String, Option<u32>, String)> {
    let device = BlockDevice::named(disk, &tree.roots).expect("a disk");
    let queues = queues_of(&device, &tree.roots).into_iter();
    queues.map(|of| (of.number, of.processors.into(), of.irq, of.answered_by.into())).collect()
}

fn queue(number: u32, processors: &str, irq: Option<u32>, by: &str) -> (u32, String, Option<u32>, String) {
    (number, processors.into(), irq, by.into())
}

#[test]
fn virtio_names_the_interrupt_of_each_queue() {
    let tree = Tree::load("interrupts");
    assert_eq!(queues(&tree, "vda"), [queue(0, "0-1", Some(36), "1")]);
    let layers = tree.device("vda");
    assert_eq!(layers[0].hardware_queues.len(), 1, "the disk's layer has them: {layers:?}");
}

#[test]
fn one_interrupt_answers_for_all_queues() {
    let tree = Tree::load("interrupts");
    // The file of what is in effect is empty: where it may be sent to is all that is known.
    let shared = [queue(0, "0", Some(41), "0-1"), queue(1, "1", Some(41), "0-1")];
    assert_eq!(queues(&tree, "vdb"), shared, "the interrupt for changed settings is no candidate");
    assert_eq!(queues(&tree, "vdc"), [queue(0, "0", Some(5), "1")], "found by its name alone");
    assert_eq!(queues(&tree, "sdb"), [queue(0, "0-1", Some(19), "0")], "a line instead of messages");
}

#[test]
fn nvme_queues_for_polling_have_no_interrupt() {
    let tree = Tree::load("interrupts");
    let expected = [queue(0, "0", Some(51), "0"), queue(1, "1,4", Some(52), "4"), queue(2, "0", None, "")];
    assert_eq!(queues(&tree, "nvme0n1"), expected);
}

#[test]
fn a_namespace_of_one_path_has_the_queues_of_the_path() {
    let tree = Tree::load("interrupts");
    assert_eq!(queues(&tree, "nvme1n1"), [queue(0, "4", Some(61), "4")]);
}

#[test]
fn queues_are_matched_by_their_processors_where_the_driver_names_none() {
    let tree = Tree::load("interrupts");
    let expected = [queue(0, "0", Some(70), "0"), queue(1, "1", Some(71), "1"), queue(2, "4", None, "")];
    assert_eq!(queues(&tree, "sda"), expected, "two interrupts have the processors of the last queue");
}

#[test]
fn machines_that_tell_nothing_have_no_queues() {
    let tree = Tree::load("nvme");
    assert_eq!(queues(&tree, "nvme0n1"), []);
}

/// A queue that is interrupted is interrupted at a processor that exists.
#[test]
fn disks_of_this_machine() {
    let roots = truespd_platform::machine::roots::Roots::default();
    let online = truespd_platform::machine::topology::Topology::of_this_machine().expect("a topology");
    for device in BlockDevice::all(&roots).unwrap_or_default() {
        for queue in queues_of(&device, &roots) {
            let exists = |cpu: u32| online.processors.iter().any(|processor| processor.cpu == cpu);
            assert!(queue.processors.iter().all(exists), "{}: {queue:?}", device.name);
            assert_eq!(queue.irq.is_some(), !queue.answered_by.is_empty(), "{}: {queue:?}", device.name);
        }
    }
}
