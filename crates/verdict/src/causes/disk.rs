//! How the block layer drives a disk: the settings of its queue.

use crate::cause::{Cause, Sentence};
use crate::doctor::Purpose::{Cached, Every, Latency, Peak};
use crate::doctor::{Answer, Change, CheckResult, Disk, HostView, Lasts, NoAnswer, Purpose, each_disk};
use truespd_core::result::{HardwareQueue, Layer, LayerKind, LayerRole, Theme};
use truespd_platform::machine::drive;
use truespd_platform::machine::drive::{
    PciLink, node_of, nvme_wake_limits, pci_links, sata_link_policy, temperature,
};
use truespd_platform::machine::roots::{Setting, Value};
use truespd_platform::machine::topology::Topology;
use truespd_platform::sys::thread::ranges;
use truespd_platform::text::{grouped, shell_word, size};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("pcie-link", Theme::Target).checked(
        each_disk(60, "pcie-link", Every, link),
        "speed and lanes of the drive's PCI Express link",
        "The link is slower than both the drive and the slot allow, or the slot is slower than the drive.",
        "At half its lanes a link halves the throughput of large blocks; small blocks lose IOPS at high \
         rates only.",
        "the kernel's ABI/testing/sysfs-bus-pci (current_link_speed)",
    ),
    Cause::new("temperature", Theme::Target).checked(
        each_disk(70, "temperature", Every, warmth),
        "temperature of the drive",
        "It is at its limit (spoils), or within 10 C of it.",
        "A drive that is too hot slows down, often to a fraction, until it is cool.",
        "the kernel's hwmon/sysfs-interface.rst",
    ),
    Cause::new("scheduler", Theme::Machine).checked(
        each_disk(220, "scheduler", Every, scheduler).one_core_peak().unlike_production(),
        "I/O scheduler of the queue",
        "bfq or kyber on a disk that does not turn; with --peak also mq-deadline.",
        "mq-deadline shows beyond about half a million IOPS; bfq limits fast drives to some hundred \
         thousand, and adds latency to a mix.",
        "fio t/one-core-peak.sh; the kernel's block/bfq-iosched.rst, block/deadline-iosched.rst",
    ),
    Cause::new("one-command", Theme::Target).inspected(Sentence::Layer(180, one_command)).checked(
        each_disk(230, "queue-depth", Every, depth),
        "requests and commands that the disk takes at once",
        "One command at a time, or fewer than 32 requests.",
        "I/Os beyond this number wait in the kernel and do not reach the disk.",
        "the kernel's ABI/stable/sysfs-block (nr_requests)",
    ),
    Cause::new("request-size", Theme::Machine).checked(
        each_disk(240, "request-size", Every, request_size).unlike_production(),
        "largest request",
        "Less than 512 KiB, although the disk takes more.",
        "Large blocks become several requests: less throughput on some drives, and latencies of the \
         slowest part.",
        "the kernel's ABI/stable/sysfs-block (max_sectors_kb)",
    ),
    Cause::new("nomerges", Theme::Machine).checked(
        each_disk(260, "nomerges", Every, nomerges).one_core_peak().unlike_production(),
        "whether neighbouring requests are merged",
        "They are not (another setting than the kernel's default); with --peak, when the kernel looks for \
         them.",
        "Merging makes small sequential I/O faster; looking for it costs each random I/O a little.",
        "fio t/one-core-peak.sh; the kernel's ABI/stable/sysfs-block (nomerges)",
    ),
    Cause::new("interrupts", Theme::Machine).inspected(Sentence::Layer(190, answered_elsewhere)).checked(
        each_disk(390, "interrupts", Latency, interrupts),
        "which processors answer for the disk",
        "Interrupts of a disk with one queue arrive at some processors only, or those of several queues \
         far from where their I/O comes from.",
        "A few microseconds per I/O, and two rates when a thread moves.",
        "the kernel's core-api/irq/irq-affinity.rst",
    ),
    Cause::new("nvme-power", Theme::Target).checked(
        each_disk(410, "nvme-power", Latency, nvme_power).unlike_production(),
        "power states that an NVMe drive enters by itself (APST)",
        "The drive may enter some.",
        "Milliseconds for the first I/O after a pause of some tens of milliseconds.",
        "NVMe base specification, Autonomous Power State Transition; nvme_core.default_ps_max_latency_us",
    ),
    Cause::new("sata-power", Theme::Target).checked(
        each_disk(420, "sata-power", Latency, sata_power).unlike_production(),
        "power saving of a SATA link (ALPM)",
        "The link may fall asleep.",
        "Up to milliseconds for the first I/O after a pause.",
        "the kernel's scsi/link_power_management_policy.rst",
    ),
    Cause::new("rq-affinity", Theme::Machine).checked(
        each_disk(440, "rq-affinity", Latency, rq_affinity),
        "where completions are handled",
        "On the processor of the interrupt (0).",
        "A few microseconds per I/O when it is far from the thread.",
        "the kernel's ABI/stable/sysfs-block (rq_affinity)",
    ),
    Cause::new("disk-node", Theme::Machine).checked(
        each_disk(450, "disk-node", Latency, node),
        "memory node that the disk is near",
        "This process may run on no processor of that node.",
        "Some hundred nanoseconds to a microsecond per I/O; throughput of several drives at once.",
        "the kernel's ABI/testing/sysfs-bus-pci (numa_node)",
    ),
    Cause::new("read-ahead", Theme::Cache).checked(
        each_disk(480, "read-ahead", Cached, read_ahead).unlike_production(),
        "how much is read ahead",
        "Nothing, or 4 MiB and more.",
        "Sequential reads gain by it, and reads at random places may lose.",
        "the kernel's ABI/stable/sysfs-block (read_ahead_kb)",
    ),
    Cause::new("write-throttling", Theme::Machine).checked(
        each_disk(500, "write-throttling", Cached, throttling).one_core_peak().unlike_production(),
        "slowing down what the page cache writes (wbt)",
        "With --peak, when it is on.",
        "Nothing for direct I/O but some accounting per request.",
        "fio t/one-core-peak.sh; the kernel's ABI/stable/sysfs-block (wbt_lat_usec)",
    ),
    Cause::new("poll-queues", Theme::Machine).checked(
        each_disk(510, "poll-queues", Peak, poll_queues).one_core_peak().unlike_production(),
        "queues without interrupts",
        "An NVMe or virtio disk has none, or polling begins late.",
        "An interrupt costs a microsecond or two: polling gives the highest IOPS of one processor and the \
         lowest latency, and keeps the processor busy.",
        "fio t/one-core-peak.sh; kernel parameters nvme.poll_queues, virtio_blk.poll_queues",
    ),
];

/// A setting of the queue, its file and its value.
struct QueueSetting<'a> {
    disk: &'a Disk,
    file: &'static str,
    setting: Setting,
    now: String,
}

impl QueueSetting<'_> {
    /// An answer with what is set, what is wanted, and how to set it so.
    fn other(&self, answer: Answer, wanted: &str) -> Answer {
        answer.now(self.now.clone()).wanted(wanted).change(self.change(wanted))
    }

    fn good(&self, says: &str) -> Answer {
        Answer::good(says).now(self.now.clone())
    }

    fn change(&self, to: &str) -> Change {
        change(self.disk, &self.setting, self.file, to)
    }
}

fn read<'a>(disk: &'a Disk, file: &'static str, absent: &str) -> Result<QueueSetting<'a>, NoAnswer> {
    if disk.is_stacked() {
        return Err(NoAnswer::absent("The disks below it have the queues."));
    }
    let setting = disk.queue(file);
    let now = setting.chosen().ok_or_else(|| NoAnswer::unread(&setting, absent))?.to_string();
    Ok(QueueSetting { disk, file, setting, now })
}

fn change(disk: &Disk, setting: &Setting, file: &str, to: &str) -> Change {
    Change::of(setting, to).keep(disk.udev(file, to))
}

fn scheduler(_: &HostView, disk: &Disk) -> CheckResult {
    let read = read(disk, "scheduler", "Its driver uses no scheduler.")?;
    let (now, wanted) = (&read.now, if read.setting.offers("none") { "none" } else { "noop" });
    if now == wanted {
        return Ok(read.good("Requests go to the disk as they come."));
    }
    if disk.turns() {
        return Ok(read.good("A disk that turns gains by a scheduler."));
    }
    if matches!(now.as_str(), "mq-deadline" | "deadline") {
        let says = "All processors share one queue of it, which limits the rate at some hundred thousand IOPS \
             and more.";
        let peak = read.other(Answer::may_spoil(says), wanted).only_for(Purpose::Peak);
        return Ok(read.good("It costs little below some hundred thousand IOPS.").and(peak));
    }
    let says = format!(
        "The scheduler {now} holds requests back to be fair or to keep a latency, and takes processor time for each: \
         a single test with a deep queue measures the scheduler, too."
    );
    Ok(read.other(Answer::may_spoil(says), wanted))
}

fn nomerges(_: &HostView, disk: &Disk) -> CheckResult {
    let read = read(disk, "nomerges", "Its driver merges nothing.")?;
    let says = if read.now == "1" {
        "A request is merged with the last one only, which is not the kernel's default: small sequential I/O of \
         several threads is slower than elsewhere."
    } else {
        "Neighbouring requests are not merged, which is not the kernel's default: small sequential I/O is slower \
         than elsewhere."
    };
    let everyday = if read.now == "0" {
        read.good("Neighbouring requests are merged, as everywhere by default.")
    } else {
        read.other(Answer::may_spoil(says), "0")
    };
    let peak = if read.now == "2" {
        read.good("The kernel looks for no request to merge with.")
    } else {
        let says = "The kernel looks for requests to merge each one with, which random I/O never finds.";
        read.other(Answer::may_spoil(says), "2")
    };
    Ok(everyday.and(peak.only_for(Purpose::Peak)))
}

pub(super) fn iostats(_: &HostView, disk: &Disk) -> CheckResult {
    let read = read(disk, "iostats", "Its driver has no such switch.")?;
    if read.now != "0" {
        let says = "The kernel counts each I/O, which costs a few percent at the highest rates. Without counters \
             TrueSpd cannot prove that I/O reached the disk, and the verdict lacks that evidence.";
        let peak = read.other(Answer::may_spoil(says), "0").only_for(Purpose::Peak);
        return Ok(read.good("The disk is counted: the verdict can compare.").and(peak));
    }
    // Memory as a disk has counters of its own, or none at all.
    if disk.layer.kind == LayerKind::Memory {
        return Err(NoAnswer::absent("Its driver has no use for the switch."));
    }
    let says =
        "The disk is not counted: TrueSpd cannot prove that I/O reached it, nor see that others use it.";
    let peak = read.good("The kernel counts nothing; the verdict lacks evidence for it.");
    Ok(read.other(Answer::may_spoil(says), "1").and(peak.only_for(Purpose::Peak)))
}

fn rq_affinity(_: &HostView, disk: &Disk) -> CheckResult {
    let read = read(disk, "rq_affinity", "Its driver has no such setting.")?;
    if read.now != "0" {
        return Ok(read.good("Completions are handled near the thread that asked."));
    }
    let says = "Completions are handled on the processor where the interrupt arrives, however far from the thread \
         that waits.";
    Ok(read.other(Answer::may_spoil(says), "1"))
}

fn throttling(_: &HostView, disk: &Disk) -> CheckResult {
    let read = read(disk, "wbt_lat_usec", "The kernel does not throttle writing back to it.")?;
    if read.now == "0" {
        return Ok(Answer::good("Off.").now("0 us"));
    }
    let now = format!("{} us", read.setting.number::<u64>().map_or_else(|| read.now.clone(), grouped));
    let says = "Each request is accounted for throttling, although it throttles only what the page cache writes back.";
    let peak = Answer::may_spoil(says).now(now.clone()).wanted("0 us").change(read.change("0"));
    let says = "The page cache's writing is slowed down while reads wait longer than this, as everywhere by default; \
         direct I/O is not.";
    Ok(Answer::good(says).now(now).and(peak.only_for(Purpose::Peak)))
}

const READ_AHEAD_USUAL_KIB: u64 = 128;

/// From here on sequential reads through the page cache are another workload than by default.
const READ_AHEAD_MAX_KIB: u64 = 4096;

fn read_ahead(_: &HostView, disk: &Disk) -> CheckResult {
    let setting = disk.queue("read_ahead_kb");
    let kib = setting
        .number::<u64>()
        .ok_or_else(|| NoAnswer::unread(&setting, "Nothing is read ahead from it."))?;
    let now = size(kib.saturating_mul(1024));
    let says = match kib {
        0 => "Nothing is read ahead: sequential reads through the page cache wait for each block.",
        kib if kib >= READ_AHEAD_MAX_KIB => {
            "Much more is read ahead than by default: sequential reads through the page cache are faster, and reads \
             at random places may fetch more than they ask for. Direct I/O (-Su, -Sh) does not use it."
        }
        _ => return Ok(Answer::good("Usual.").now(now)),
    };
    let change = change(disk, &setting, "read_ahead_kb", &READ_AHEAD_USUAL_KIB.to_string());
    Ok(Answer::may_spoil(says).now(now).wanted(size(READ_AHEAD_USUAL_KIB * 1024)).change(change))
}

fn poll_queues(view: &HostView, disk: &Disk) -> CheckResult {
    // Writes to io_poll are without effect since Linux 5.15: the value tells, and no command sets it.
    let now = read(disk, "io_poll", "Its driver cannot be polled.")?.now;
    let delay = disk.queue("io_poll_delay");
    if now == "1" {
        if delay.number::<i64>().is_some_and(|delay| delay >= 0) {
            let says =
                "A thread that polls sleeps first: it keeps the processor free, and adds to the latency.";
            let told = format!("polling after {} us", delay.word().unwrap_or_default());
            let change = change(disk, &delay, "io_poll_delay", "-1");
            return Ok(Answer::may_spoil(says).now(told).wanted("polling at once").change(change));
        }
        return Ok(Answer::good("--engine io_uring_poll can ask the drive for completions.").now("yes"));
    }
    let says = "The drive has no queues for polling: --engine io_uring_poll is refused, and each completion costs an \
         interrupt.";
    let many = view.process.processors.len().clamp(1, 32);
    let parameter = match disk.name() {
        // Drives over a network have no module parameter, but are connected with or without such queues.
        name if name.starts_with("nvme") && disk.layer.kind == LayerKind::NetworkDisk => {
            let connect = format!("nvme connect with --nr-poll-queues={many}");
            let change = Change::only_kept(connect);
            return Ok(Answer::may_spoil(says).now("no").wanted("yes").change(change));
        }
        name if name.starts_with("nvme") => "nvme",
        name if name.starts_with("vd") => "virtio_blk",
        _ => return Err(NoAnswer::absent("Its driver has no queues for polling.")),
    };
    let queues =
        Setting::read(view.roots().sys.join("module").join(parameter).join("parameters/poll_queues"));
    let now = match &queues.value {
        Value::Is(number) => format!("no ({parameter}.poll_queues={number})"),
        _ => "no".to_string(),
    };
    let change =
        Change::only_kept(format!("the kernel parameter {parameter}.poll_queues={many}, and a restart"));
    Ok(Answer::may_spoil(says).now(now).wanted("yes").change(change))
}

/// Fewer requests are less than what a usual run keeps outstanding.
const REQUESTS_MIN: u32 = 32;

/// Commands that a disk with native command queuing takes.
const SATA_COMMANDS: u32 = 32;

fn depth(_: &HostView, disk: &Disk) -> CheckResult {
    if disk.layer.queue_depth == Some(1) {
        let says = format!(
            "{} takes one command at a time: with more than -o1 the other I/Os wait in the kernel, and the latencies \
             include this wait.",
            disk.name()
        );
        let own = disk.setting("device/queue_depth");
        let is_sata = disk.layer.transport.as_deref() == Some("sata");
        let answer = Answer::may_spoil(says).now("1 command");
        if !is_sata || own.word() != Some("1") {
            return Ok(answer);
        }
        let change = Change::of(&own, &SATA_COMMANDS.to_string());
        return Ok(answer.wanted(format!("{SATA_COMMANDS} commands")).change(change));
    }
    let read = read(disk, "nr_requests", "Its driver takes requests without a queue.")?;
    let (now, requests) = (&read.now, read.setting.number::<u32>().unwrap_or(u32::MAX));
    if requests >= REQUESTS_MIN {
        return Ok(read.good("Enough requests for a usual queue depth."));
    }
    // A device may have no more. Without a scheduler the kernel refuses more than the driver has places for.
    let has_scheduler = disk.queue("scheduler").chosen().is_some_and(|word| word != "none");
    let places = if has_scheduler { None } else { disk.setting("mq/0/nr_tags").number::<u32>() };
    let most = disk.layer.queue_depth.into_iter().chain(places).min().unwrap_or(u32::MAX);
    let says =
        format!("With more than {now} I/Os outstanding the others wait in the kernel for a free request.");
    if requests >= most {
        return Ok(Answer::may_spoil(says).now(now));
    }
    Ok(read.other(Answer::may_spoil(says), &most.min(256).to_string()))
}

/// Larger requests bring hardly more throughput.
const REQUEST_KIB_ENOUGH: u64 = 512;

/// The kernel's default of many years.
const REQUEST_KIB_USUAL: u64 = 1280;

fn request_size(_: &HostView, disk: &Disk) -> CheckResult {
    let setting = read(disk, "max_sectors_kb", "Its driver takes I/Os of any size.")?.setting;
    let hardware = disk.queue("max_hw_sectors_kb");
    let (Some(kib), Some(most)) = (setting.number::<u64>(), hardware.number::<u64>()) else {
        return Err(NoAnswer::unknown("The limits of a request are not numbers."));
    };
    let now = format!("{} KiB", grouped(kib));
    if kib >= REQUEST_KIB_ENOUGH.min(most) {
        return Ok(Answer::good(format!("I/Os up to {now} reach the disk as one request.")).now(now));
    }
    let to = REQUEST_KIB_USUAL.min(most);
    let says = format!(
        "Larger I/Os are split into requests of {now}, although the disk takes up to {}.",
        size(most.saturating_mul(1024))
    );
    let change = change(disk, &setting, "max_sectors_kb", &to.to_string());
    Ok(Answer::may_spoil(says).now(now).wanted(format!("{} KiB", grouped(to))).change(change))
}

pub(super) fn write_cache(_: &HostView, disk: &Disk) -> CheckResult {
    let now = read(disk, "write_cache", "It has no write cache that the kernel knows of.")?.now;
    let says = match now.as_str() {
        drive::WRITE_BACK => {
            "Writes are acknowledged before they are durable, unless each is written through (-Sw, -Sh): say with a \
             result which of both it is (truespd study write-cache measures the difference)."
        }
        _ => "The kernel takes a write for durable as soon as the drive acknowledges it.",
    };
    Ok(Answer::good(says).now(now))
}

fn interrupts(view: &HostView, disk: &Disk) -> CheckResult {
    let queues = &disk.layer.hardware_queues;
    let known: Vec<_> = queues.iter().filter(|queue| !queue.answered_by.is_empty()).collect();
    if queues.is_empty() {
        return Err(NoAnswer::absent("The kernel lists no interrupts for it."));
    }
    if known.is_empty() {
        return Err(NoAnswer::unknown("Which processors answer its interrupts is not told."));
    }
    let [queue] = queues.as_slice() else {
        let near = known.iter().filter(|queue| queue.processors.holds(&queue.answered_by)).count();
        if near == known.len() {
            let answer = Answer::good("Each queue's interrupts arrive where its I/O comes from.");
            return Ok(answer.now(format!("{} queues", grouped(queues.len() as u64))));
        }
        let says = "Interrupts of some queues arrive at processors that do not use them: completions travel between \
             processors.";
        let answer = Answer::may_spoil(says).now(format!("{near} of {} near", known.len()));
        return Ok(answer.wanted("all near").change(moved_near(&known, view)));
    };
    let answering = queue.answered_by.within(&queue.processors);
    let first = answering
        .iter()
        .next()
        .ok_or_else(|| NoAnswer::unknown("Which processors answer its interrupts is not told."))?;
    let now = format!("answered by {}", queue.answered_by.words());
    if queue.answered_by.holds(&queue.processors) {
        return Ok(Answer::good("All processors answer its interrupts.").now(now));
    }
    let says = format!(
        "The interrupts of {} are answered by {} only: one I/O at a time (-o1) is mostly faster on {} (-a{first}) \
         than on others, and a thread that moves has two rates.",
        disk.name(),
        answering.words(),
        if answering.iter().count() == 1 { "that processor" } else { "one of them" }
    );
    Ok(Answer::may_spoil(says).now(now).wanted("threads bound by -a, the same in all runs"))
}

/// The interrupts of queues that arrive elsewhere, sent to the processors of these queues. Drivers that spread them
/// by
/// themselves let nobody else: since Linux 6.10 their files are read-only, before that writing fails.
fn moved_near(queues: &[&HardwareQueue], view: &HostView) -> Change {
    let far = queues.iter().filter(|queue| !queue.processors.holds(&queue.answered_by));
    let files = far.filter_map(|queue| {
        let file = view.roots().proc.join(format!("irq/{}/smp_affinity_list", queue.irq?));
        let is_settable = file.metadata().is_ok_and(|file| !file.permissions().readonly());
        let setting = Setting::read(file);
        (is_settable && setting.word().is_some()).then_some((queue, setting))
    });
    let moved = files
        .map(|(queue, setting)| Change::of(&setting, &ranges(&queue.processors.iter().collect::<Vec<_>>())));
    match moved.reduce(Change::and) {
        Some(change) => Change { lasts: Some(Lasts::UntilRestart), ..change }
            .keep("these commands in a script that runs at boot, with irqbalance switched off"),
        None => Change::only_kept("the driver places them: unload and load it again, or restart the machine"),
    }
}

pub(super) fn is_virtual(disk: &Disk) -> bool {
    disk.is_stacked() || matches!(disk.layer.kind, LayerKind::Loop | LayerKind::Memory)
}

fn node(view: &HostView, disk: &Disk) -> CheckResult {
    if is_virtual(disk) {
        return Err(NoAnswer::absent("It is no device of its own."));
    }
    let topology = match Topology::read(&view.roots().sys) {
        Ok(topology) => topology,
        Err(error) => return Err(NoAnswer::unknown(error.to_string())),
    };
    if topology.nodes < 2 {
        return Err(NoAnswer::absent("The machine has one node."));
    }
    let node = node_of(&disk.device)
        .ok_or_else(|| NoAnswer::unknown("The firmware does not tell which node the disk is near."))?;
    let near: Vec<u32> = topology.processors.iter().filter(|p| p.node == node).map(|p| p.cpu).collect();
    let allowed: Vec<u32> =
        near.iter().copied().filter(|cpu| view.process.processors.contains(cpu)).collect();
    let now = format!("node {node}, processors {}", ranges(&near));
    match allowed.first() {
        None => {
            let says =
                "This process may run on no processor near the disk: each I/O crosses to another node.";
            Ok(Answer::may_spoil(says).now(now).wanted("a processor near the disk"))
        }
        Some(first) => {
            let says = format!(
                "Threads on other nodes reach it more slowly: bind the threads of a latency test near it, e.g. \
                 -a{first}."
            );
            Ok(Answer::good(says).now(now))
        }
    }
}

fn link(_: &HostView, disk: &Disk) -> CheckResult {
    // The disks of a host adapter share its link.
    let answers = pci_links(&disk.device).into_iter().map(link_answer);
    Answer::of_parts(answers, "It is on no PCI Express link that this machine sees.")
}

fn link_answer(link: PciLink) -> Answer {
    let both = link.port_max.map_or(link.device_max, |port| link.device_max.and(port));
    if link.now.rate() < both.rate() {
        let says = format!(
            "The link of {} runs below what both its ends can: look at slot, cable and riser, at the firmware's \
                 settings, and in the kernel's log (dmesg) for errors of the link.",
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
}

fn nvme_power(view: &HostView, disk: &Disk) -> CheckResult {
    let answers = nvme_wake_limits(&disk.device, view.roots()).into_iter().map(nvme_power_answer);
    Answer::of_parts(answers, "It is no NVMe drive.")
}

fn nvme_power_answer(limit: Setting) -> Answer {
    match limit.word() {
        None => NoAnswer::unread(&limit, "The drive does not change its power state by itself.").into(),
        Some("0") => Answer::good("The drive stays awake.").now("0 us"),
        Some(now) => {
            let says = "The drive falls asleep by itself (APST) when little is to be done, and the next I/O wakes it \
                 up: latencies of a low rate have outliers of milliseconds.";
            let change =
                Change::of(&limit, "0").keep("the kernel parameter nvme_core.default_ps_max_latency_us=0");
            // "any", "auto".
            let now = now.parse().map_or_else(
                |_| "sleeps, however long waking up takes".to_string(),
                |us: u64| format!("sleeps where waking up takes up to {} us", grouped(us)),
            );
            Answer::may_spoil(says).now(now).wanted("0 us").change(change)
        }
    }
}

fn sata_power(view: &HostView, disk: &Disk) -> CheckResult {
    let policy = match sata_link_policy(&disk.device, view.roots()) {
        Some(policy) if policy.value != Value::Absent => policy,
        _ => return Err(NoAnswer::absent("It is on no SATA link.")),
    };
    match policy.word() {
        None => Err(NoAnswer::unread(&policy, "")),
        Some(now @ ("max_performance" | "keep_firmware_settings")) => {
            Ok(Answer::good("The link stays awake, or as the firmware set it.").now(now))
        }
        Some(now) => {
            let says = "The link falls asleep between I/Os, and the next I/O includes the time to wake up.";
            let change = Change::of(&policy, "max_performance").keep(
                "a line in /etc/udev/rules.d/60-truespd.rules: ACTION==\"add\", SUBSYSTEM==\"scsi_host\", \
                 ATTR{link_power_management_policy}=\"max_performance\"",
            );
            Ok(Answer::may_spoil(says).now(now).wanted("max_performance").change(change))
        }
    }
}

/// Nearer to its limit than this, a drive can reach it in a run.
const NEAR_MILLIDEGREES: i64 = 10_000;

fn warmth(_: &HostView, disk: &Disk) -> CheckResult {
    if is_virtual(disk) {
        return Err(NoAnswer::absent("It is no device of its own."));
    }
    let Some(found) = temperature(&disk.device) else {
        return Err(match disk.layer.transport.as_deref() {
            Some("virtio" | "xen") => NoAnswer::absent("The host has the sensor of the drive below it."),
            _ => NoAnswer::unknown("No driver shows its temperature (hwmon; for SATA the module drivetemp)."),
        });
    };
    let degrees = |value: i64| format!("{} C", value / 1000);
    let now = degrees(found.now);
    // The kernel shows 65,261 for drives that have no limit.
    let limit = found.warm.or(found.critical).filter(|limit| (1..150_000).contains(limit));
    match limit {
        None => Ok(Answer::good("The drive tells no limit.").now(now)),
        Some(limit) if found.now >= limit => {
            let says = "The drive is as hot as it may be, and slows down to cool: look at cooling, and wait.";
            Ok(Answer::spoils(says).now(now).wanted(format!("below {}", degrees(limit))))
        }
        Some(limit) if found.now.saturating_add(NEAR_MILLIDEGREES) >= limit => {
            let says = "The drive is close to its highest allowed temperature, and a long run may slow down: improve \
                 its cooling.";
            Ok(Answer::may_spoil(says)
                .now(now)
                .wanted(format!("below {}", degrees(limit - NEAR_MILLIDEGREES))))
        }
        Some(limit) => Ok(Answer::good(format!("Below its limit of {}.", degrees(limit))).now(now)),
    }
}

pub(super) fn array(_: &HostView, disk: &Disk) -> CheckResult {
    let details = disk.layer.details.as_ref().filter(|details| details.role == LayerRole::Array);
    let Some(array) = details else { return Err(NoAnswer::absent("It is no array.")) };
    if let Some(action) = &array.sync_action {
        let says = format!(
            "The array {} is busy with maintenance ({action}): its own I/O slows a test down.",
            disk.name()
        );
        let file = Setting::read(disk.folder().join("md/sync_action"));
        let path = shell_word(&file.path.display().to_string());
        // A check that was stopped is begun anew; a rebuild goes on from where it was.
        let back = if action == "check" || action == "repair" { action.as_str() } else { "idle" };
        let change =
            Change::by(format!("echo frozen > {path}"), format!("echo {back} > {path}"), Lasts::UntilRestart);
        return Ok(Answer::spoils(says).now(action.clone()).wanted("idle").change(change));
    }
    if array.missing_disks.is_some() {
        let says = format!("The array {} lacks a disk: it is not as fast as a complete array.", disk.name());
        return Ok(Answer::spoils(says).now("not complete").wanted("complete"));
    }
    Ok(Answer::good("The array is complete, and has nothing of its own to do.").now("idle"))
}

/// Of a disk with one hardware queue; of many queues each processor mostly has one near.
fn answered_elsewhere(layer: &Layer) -> Option<String> {
    let [queue] = layer.hardware_queues.as_slice() else { return None };
    let is_partly = !queue.answered_by.is_empty() && !queue.answered_by.holds(&queue.processors);
    let answering = queue.answered_by.within(&queue.processors);
    let (first, is_one) = (answering.iter().next()?, answering.iter().count() == 1);
    is_partly.then(|| {
        format!(
            "The interrupts of {} are answered by {} only: one I/O at a time (-o1) is mostly faster on {} \
             (-a{first}) than on others.",
            layer.name,
            answering.words(),
            if is_one { "that processor" } else { "one of them" }
        )
    })
}

fn one_command(layer: &Layer) -> Option<String> {
    (layer.queue_depth == Some(1)).then(|| {
        format!(
            "{} takes one command at a time: with more than -o1 the other I/Os wait in the kernel, and the latencies \
             include this wait.",
            layer.name
        )
    })
}
