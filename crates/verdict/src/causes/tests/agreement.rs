//! What is said before a run and what is found after it agree: a machine is made once, and both look at it.

use super::*;
use crate::{Cause, Sentence, TargetNow, causes};
use truespd_core::result::{Limit, LimitKind, MachineNow, NvmeCommands, Stalled};

/// The machine of a document as it was before its run.
fn machine_of(measured: &Measured) -> MachineNow {
    let evidence = &measured.evidence;
    let host = evidence.host.clone().unwrap_or_default();
    let percent = |ns: u64| 100.0 * ns as f64 / (measured.test_time_s * 1e9);
    let waiting = evidence.threads.iter().filter_map(|thread| thread.waiting_for_cpu_ns).max().unwrap_or(0);
    let stalled = host.pressure.map(|pressure| Stalled {
        cpu_some_percent: percent(waiting),
        memory_some_percent: percent(pressure.memory_some_ns),
        memory_full_percent: percent(pressure.memory_full_ns),
        ..Stalled::default()
    });
    let completed: u64 =
        measured.threads.iter().flat_map(|thread| &thread.targets).map(|target| target.read.bytes).sum();
    // What the disks did beside the run, they also did before it.
    let mut disks = evidence.disks.clone();
    for disk in &mut disks {
        disk.total.read_bytes = disk.total.read_bytes.saturating_sub(completed);
        disk.total.write_bytes = 0;
        disk.window_ns = SECONDS * NS_PER_S;
    }
    MachineNow {
        // Less than the target, which would otherwise be told of as one that fits into it.
        memory_bytes: Some(GIB),
        clock: evidence.clock.clone().expect("a clock"),
        stalled,
        steal_since_boot_percent: host.steal_percent,
        disks,
        host,
        ..MachineNow::quiet()
    }
}

/// What a cause says before a run.
fn said(cause: &Cause, document: &Document) -> bool {
    let TimeSpanResult::Measured(measured) = &document.time_spans[0] else { panic!("it was measured") };
    let machine = machine_of(measured);
    let evidence = &measured.evidence;
    let facts = &TargetFacts { direct_alignment_bytes: Some(512), ..evidence.targets[0].clone() };
    let limits = evidence.limits.as_slice();
    let now = TargetNow { facts, machine: &machine, limits, no_new_file: None };
    cause.sentences().any(|sentence| match sentence {
        Sentence::Facts(_, look) => look(facts).is_some(),
        Sentence::Target(_, look) => look(&now).is_some(),
        Sentence::Layer(_, look) => facts.layers.iter().any(|layer| look(layer).is_some()),
        Sentence::Limit(_, look) => limits.iter().any(|limit| look(limit).is_some()),
        Sentence::Machine(_, look) => look(&machine, limits).is_some(),
    })
}

fn lowest(d: &mut Doc) -> &mut Layer {
    d.facts()[0].layers.last_mut().expect("a disk")
}

/// Makes a quiet machine one on which the cause is there.
type Change = fn(&mut Doc);

/// A machine for each cause.
const MACHINES: &[(&str, Change)] = &[
    ("never-written", |d| {
        let map = d.facts()[0].extents.as_mut().expect("a map");
        (map.written_bytes, map.hole_bytes) = (4 * GIB, 4 * GIB);
    }),
    ("fragmented", |d| {
        d.asked.block_bytes = 1 << 20;
        d.refresh();
        d.disk().reads *= 64;
        d.facts()[0].extents.as_mut().expect("a map").extents = 8 * GIB / (16 << 10);
    }),
    ("zero-data", |d| d.facts()[0].content.as_mut().expect("a sample").zero_blocks = 100),
    ("reducible-reads", |d| {
        d.facts()[0].layers[1].compression = Some("zstd".into());
        d.facts()[0].content.as_mut().expect("a sample").compressed_bytes = 256 * 1000;
    }),
    ("memory-target", |d| lowest(d).kind = LayerKind::Memory),
    ("remote", |d| d.facts()[0].layers = vec![layer(LayerKind::RemoteFilesystem, "nfs4", &[])]),
    ("unproven", |d| {
        let commands =
            NvmeCommands { device: "/dev/ng0n1".into(), counted: false, ..NvmeCommands::default() };
        d.facts()[0].nvme_commands = Some(commands);
    }),
    ("working-set", |d| d.facts()[0].size_bytes = 64 << 20),
    ("provisioned-limit", |d| {
        let rate = Limit {
            by: "io.max".into(),
            group: "/x".into(),
            device: Some("vda".into()),
            what: LimitKind::ReadIops,
            value: 20_000,
        };
        d.measured.evidence.limits = vec![rate];
    }),
    ("generator-bound", |d| {
        let thread = &mut d.measured.evidence.threads[0];
        thread.waiting_for_cpu_ns = Some(thread.elapsed_ns / 3);
    }),
    ("other-io", |d| d.disk().read_bytes *= 2),
    ("steal", |d| d.host().steal_percent = Some(20.0)),
    ("memory-pressure", |d| {
        let pressure = Pressure { memory_some_ns: 9 * NS_PER_S, ..Pressure::default() };
        d.host().pressure = Some(pressure);
    }),
    ("unstable-clock", |d| d.measured.evidence.clock.as_mut().expect("a clock").drift_ppm = 2000.0),
    ("governor", |d| d.host().governors = vec!["powersave".into()]),
    ("served-from-cache", |d| {
        d.facts()[0]
            .layers
            .insert(2, Layer { direct_io: Some(false), ..layer(LayerKind::Loop, "loop0", &[3]) });
        d.disk().read_bytes /= 4;
        d.disk().reads /= 4;
    }),
];

/// Causes whose machines take more than a change of the clean one: the tests of their rules make them.
const MADE_ELSEWHERE: &[&str] = &[
    "first-writes",
    "reducible-writes",
    "volatile-cache",
    "path-down",
    "copies-apart",
    "cache-device",
    "array-sync",
    "array-degraded",
    "test-layer",
];

#[test]
fn what_is_said_before_is_found_after() {
    let mut wrong = Vec::new();
    for cause in causes().filter(|cause| cause.rule.is_some() && cause.sentences().next().is_some()) {
        if said(cause, &Doc::clean().build()) {
            wrong.push(format!("{} says something of a clean machine", cause.name));
        }
        let Some((_, change)) = MACHINES.iter().find(|(name, _)| *name == cause.name) else {
            assert!(MADE_ELSEWHERE.contains(&cause.name), "{} has no machine", cause.name);
            continue;
        };
        let document = doc(change).build();
        if !said(cause, &document) {
            wrong.push(format!("{} is not said before", cause.name));
        }
        let found = judge(&document).findings;
        if !found.iter().any(|one| one.rule == cause.name) {
            let rules: Vec<String> = found.into_iter().map(|one| one.rule).collect();
            wrong.push(format!("{} is not found, but {rules:?}", cause.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A volatile cache is known before, and found where writes rest on it; likewise paths, copies and written data.
#[test]
fn what_takes_writes_or_paths_is_said_and_found() {
    let volatile = writes(|d| {
        lowest(d).write_cache = Some("write back".into());
        d.asked.write_through = false;
    });
    let unwritten = writes(|d| {
        let map = d.facts()[0].extents.as_mut().expect("a map");
        (map.written_bytes, map.unwritten_bytes) = (0, 8 * GIB);
    });
    for (name, doc) in [("volatile-cache", volatile), ("first-writes", unwritten)] {
        let document = doc.build();
        let cause = causes().find(|cause| cause.name == name).expect("a cause");
        assert!(said(cause, &document), "{name}");
        assert!(judge(&document).findings.iter().any(|one| one.rule == name), "{name}");
    }
}
