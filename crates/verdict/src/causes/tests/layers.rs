//! Layers that take the processors, and layers that are there for tests.

use super::*;
use truespd_core::result::{KernelWork, LayerDetails, LayerRole, OtherPrograms};

/// A device of a role below which is a disk, on two processors that are idle for so much, and what a thread of the kernel
/// computed.
fn above_a_disk(layer: Layer, idle: f64, work: &str, threads: u32, processors: f64) -> Doc {
    doc(|d| {
        d.facts()[0].layers = vec![layer, disk_layer("vda")];
        d.idle_percent = idle;
        let running_ns = (processors * 1e9) as u64 * SECONDS;
        let kernel = vec![
            KernelWork { name: "ksoftirqd/0".to_string(), threads: 1, running_ns: 2 * running_ns },
            KernelWork { name: work.to_string(), threads, running_ns },
        ];
        d.host().other_programs =
            Some(OtherPrograms { window_ns: SECONDS * NS_PER_S, kernel, ..OtherPrograms::default() });
        d.measured.evidence.caches = Some(Vec::new());
    })
}

fn encrypted(idle: f64, work: &str, processors: f64) -> Doc {
    let details = Some(LayerDetails::named(LayerRole::Encrypted, "secret"));
    let layer = Layer { details, ..layer(LayerKind::DeviceMapper, "dm-1", &[1]) };
    above_a_disk(layer, idle, work, 2, processors)
}

#[test]
fn encryption_takes_the_processors() {
    let wait = |d: &mut Doc| d.measured.evidence.threads[0].waiting_for_cpu_ns = Some(30 * NS_PER_S);
    let mut busy = encrypted(3.0, "kcryptd-254:1-1", 1.6);
    wait(&mut busy);
    says(
        &busy.fires("layer-cost"),
        FindingGrade::Suspect,
        &[
            "The kernel's work for secret (encryption by dm-crypt) took 1.60 of 2 processors, which were idle for only \
             3 % of the time: the processors limited the rate, not the disk.",
        ],
    );
    // Then it is also why threads waited for a processor; otherwise that is not known.
    let mut busy = encrypted(3.0, "kcryptd/254:1", 1.6);
    wait(&mut busy);
    busy.silent("generator-bound");
    let mut other = encrypted(3.0, "kcryptd/254:1", 0.3);
    wait(&mut other);
    says(&other.fires("generator-bound"), FindingGrade::Suspect, &["this wait."]);
    // Work of the kernel that takes as much as the threads waited is that of the storage.
    let mut part = encrypted(30.0, "kcryptd/254:1", 0.9);
    wait(&mut part);
    let words = "The kernel's own work on this I/O took 0.90 processors meanwhile";
    says(&part.fires("generator-bound"), FindingGrade::Remark, &[words]);

    encrypted(3.0, "kcryptd", 1.6).fires("layer-cost");
    encrypted(3.0, "kcryptd/254:1", 0.9).silent("layer-cost");
    encrypted(12.0, "kcryptd/254:1", 1.6).silent("layer-cost");
    // That of another device, and no work of such a layer.
    encrypted(3.0, "kcryptd/254:2", 1.6).silent("layer-cost");
    encrypted(3.0, "md0_raid5", 1.6).silent("layer-cost");
    let mut unseen = encrypted(3.0, "kcryptd", 1.6);
    unseen.host().other_programs = None;
    unseen.missing("layer-cost", "what the kernel's threads computed");
}

#[test]
fn one_thread_of_an_array_is_at_its_end() {
    let array = |work: &str, threads: u32, processors: f64| {
        let details =
            Some(LayerDetails { level: Some("raid5".to_string()), ..LayerDetails::of(LayerRole::Array) });
        let layer = Layer { details, ..layer(LayerKind::Md, "md0", &[1]) };
        above_a_disk(layer, 45.0, work, threads, processors)
    };
    says(
        &array("md0_raid5", 1, 0.96).fires("layer-cost"),
        FindingGrade::Suspect,
        &[
            "The thread md0_raid5 of the kernel, which works for md0 (copies or parity of the array), computed for 96 % \
             of the time: this thread limited the rate, not the disk.",
        ],
    );
    array("md0_raid5", 1, 0.8).silent("layer-cost");
    array("md1_raid5", 1, 0.96).silent("layer-cost");
    array("raid5wq", 2, 0.96).silent("layer-cost");
    let file = |work: &str| {
        let details = Some(LayerDetails::of(LayerRole::Loop));
        above_a_disk(Layer { details, ..layer(LayerKind::Loop, "loop1", &[1]) }, 2.0, work, 2, 1.5)
    };
    file("loop1").fires("layer-cost");
    file("loop10").silent("layer-cost");
}

#[test]
fn layers_for_tests() {
    let mapped = |kind: &str| {
        doc(|d| {
            let mapped_as = vec!["linear".to_string(), kind.to_string()];
            let details = LayerDetails { mapped_as, ..LayerDetails::named(LayerRole::OtherMapped, "late") };
            let above = Layer { details: Some(details), ..layer(LayerKind::DeviceMapper, "dm-1", &[1]) };
            d.facts()[0].layers = vec![above, disk_layer("vda")];
        })
    };
    says(
        &mapped("delay").fires("test-layer"),
        FindingGrade::Suspect,
        &[
            "late is a device for tests (dm-delay), which delays each I/O: the number is not that of the disk below it.",
        ],
    );
    mapped("striped").silent("test-layer");
}
