//! How a drive is attached, and how it saves power.

use crate::doctor::change::Change;
use crate::doctor::check::Answer;
use crate::doctor::finding::Lasts;
use crate::doctor::view::{Disk, View};
use crate::machine::attached::{node_of, nvme_wake_limits, pci_links, sata_link_policy, temperature};
use crate::machine::chain::LayerKind;
use crate::machine::setting::Value;
use crate::machine::topology::Topology;
use crate::sys::thread::ranges;
use crate::text::{grouped, shell_word};

fn is_virtual(disk: &Disk) -> bool {
    disk.is_stacked() || matches!(disk.layer.kind, LayerKind::Loop | LayerKind::Memory)
}

pub(super) fn node(view: &View, disk: &Disk) -> Vec<Answer> {
    if is_virtual(disk) {
        return vec![Answer::absent("It is no device of its own.")];
    }
    let topology = match Topology::read(&view.roots().sys) {
        Ok(topology) => topology,
        Err(error) => return vec![Answer::unknown(error.to_string())],
    };
    if topology.nodes < 2 {
        return vec![Answer::absent("The machine has one node.")];
    }
    let Some(node) = node_of(&disk.device) else {
        return vec![Answer::unknown("The firmware does not tell which node the disk is near.")];
    };
    let near: Vec<u32> = topology.processors.iter().filter(|p| p.node == node).map(|p| p.cpu).collect();
    let allowed: Vec<u32> =
        near.iter().copied().filter(|cpu| view.process.processors.contains(cpu)).collect();
    let now = format!("node {node}, processors {}", ranges(&near));
    match allowed.first() {
        None => {
            let says =
                "This process may run on no processor near the disk: each I/O crosses to another node.";
            vec![Answer::may_spoil(says).now(now).wanted("a processor near the disk")]
        }
        Some(first) => {
            let says = format!(
                "Threads on other nodes reach it more slowly: bind the threads of a latency test near it, e.g. -a{first}."
            );
            vec![Answer::good(says).now(now)]
        }
    }
}

pub(super) fn link(_: &View, disk: &Disk) -> Vec<Answer> {
    let links = pci_links(&disk.device);
    if links.is_empty() {
        return vec![Answer::absent("It is on no PCI Express link that this machine sees.")];
    }
    // The disks of a host adapter share its link.
    let of = |link: &crate::machine::attached::PciLink| {
        let both = link.port_max.map_or(link.device_max, |port| link.device_max.and(port));
        if link.now.rate() < both.rate() {
            let says = format!(
                "The link of {} runs below what both its ends can: look at slot, cable and riser, at the firmware's settings, and in the \
                 kernel's log (dmesg) for errors of the link.",
                link.address
            );
            return Answer::spoils(says).now(link.now.words()).wanted(both.words());
        }
        if both.rate() < link.device_max.rate() {
            let says = format!(
                "The slot of {} is slower than the drive: it limits the throughput of large blocks.",
                link.address
            );
            return Answer::may_spoil(says).now(link.now.words()).wanted(link.device_max.words());
        }
        Answer::good("The link runs as fast as it can.").now(link.now.words())
    };
    links.iter().map(of).collect()
}

pub(super) fn nvme_power(view: &View, disk: &Disk) -> Vec<Answer> {
    let limits = nvme_wake_limits(&disk.device, view.roots());
    if limits.is_empty() {
        return vec![Answer::absent("It is no NVMe drive.")];
    }
    let of = |limit: &crate::machine::setting::Setting| match limit.word() {
        None => Answer::unread(limit, "The drive does not change its power state by itself."),
        Some("0") => Answer::good("The drive stays awake.").now("0 us"),
        Some(now) => {
            let says = "The drive falls asleep by itself (APST) when little is to be done, and the next I/O wakes it up: latencies of a low \
                 rate have outliers of milliseconds.";
            let change =
                Change::of(limit, "0").keep("the kernel parameter nvme_core.default_ps_max_latency_us=0");
            // "any", "auto".
            let now = now.parse().map_or_else(
                |_| "sleeps, however long waking up takes".to_string(),
                |us: u64| format!("sleeps where waking up takes up to {} us", grouped(us)),
            );
            Answer::may_spoil(says).now(now).wanted("0 us").change(change)
        }
    };
    limits.iter().map(of).collect()
}

pub(super) fn sata_power(view: &View, disk: &Disk) -> Vec<Answer> {
    let policy = match sata_link_policy(&disk.device, view.roots()) {
        Some(policy) if policy.value != Value::Absent => policy,
        _ => return vec![Answer::absent("It is on no SATA link.")],
    };
    match policy.word() {
        None => vec![Answer::unread(&policy, "")],
        Some(now @ ("max_performance" | "keep_firmware_settings")) => {
            vec![Answer::good("The link stays awake, or as the firmware set it.").now(now)]
        }
        Some(now) => {
            let says = "The link falls asleep between I/Os, and the next I/O includes the time to wake up.";
            let change = Change::of(&policy, "max_performance").keep(
                "a line in /etc/udev/rules.d/60-truespd.rules: ACTION==\"add\", SUBSYSTEM==\"scsi_host\", \
                 ATTR{link_power_management_policy}=\"max_performance\"",
            );
            vec![Answer::may_spoil(says).now(now).wanted("max_performance").change(change)]
        }
    }
}

/// Nearer to its limit than this, a drive can reach it in a run.
const NEAR_MILLIDEGREES: i64 = 10_000;

pub(super) fn warmth(_: &View, disk: &Disk) -> Vec<Answer> {
    if is_virtual(disk) {
        return vec![Answer::absent("It is no device of its own.")];
    }
    let Some(found) = temperature(&disk.device) else {
        return vec![match disk.layer.transport.as_deref() {
            Some("virtio" | "xen") => Answer::absent("The host has the sensor of the drive below it."),
            _ => Answer::unknown("No driver shows its temperature (hwmon; for SATA the module drivetemp)."),
        }];
    };
    let degrees = |value: i64| format!("{} C", value / 1000);
    let now = degrees(found.now);
    // The kernel shows 65,261 for drives that have no limit.
    let limit = found.warm.or(found.critical).filter(|limit| (1..150_000).contains(limit));
    match limit {
        None => vec![Answer::good("The drive tells no limit.").now(now)],
        Some(limit) if found.now >= limit => {
            let says = "The drive is as hot as it may be, and slows down to cool: look at cooling, and wait.";
            vec![Answer::spoils(says).now(now).wanted(format!("below {}", degrees(limit)))]
        }
        Some(limit) if found.now.saturating_add(NEAR_MILLIDEGREES) >= limit => {
            let says = "The drive is close to its highest allowed temperature, and a long run may slow down: improve its cooling.";
            vec![
                Answer::may_spoil(says)
                    .now(now)
                    .wanted(format!("below {}", degrees(limit - NEAR_MILLIDEGREES))),
            ]
        }
        Some(limit) => vec![Answer::good(format!("Below its limit of {}.", degrees(limit))).now(now)],
    }
}

pub(super) fn loop_cache(_: &View, disk: &Disk) -> Vec<Answer> {
    if disk.layer.kind != LayerKind::Loop {
        return vec![Answer::absent("It is no loop device.")];
    }
    match disk.layer.direct_io {
        None => vec![Answer::unknown("The kernel does not tell how its file is accessed.")],
        Some(true) => vec![Answer::good("Its file is accessed around the page cache.").now("direct I/O")],
        Some(false) => {
            let says = "It uses the page cache for its file: memory may answer, also with -Su and -Sh. The command fails where the file \
                 system of the file has no direct I/O.";
            let node = shell_word(&format!("/dev/{}", disk.device.node_name()));
            let set = |word: &str| format!("losetup --direct-io={word} {node}");
            let change = Change::by(set("on"), set("off"), Lasts::UntilRestart)
                .keep("the same option when it is set up");
            vec![Answer::spoils(says).now("page cache").wanted("direct I/O").change(change)]
        }
    }
}
