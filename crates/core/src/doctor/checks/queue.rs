//! How the block layer drives a disk: the settings of its queue.

use crate::doctor::change::Change;
use crate::doctor::check::Answer;
use crate::doctor::finding::Lasts;
use crate::doctor::finding::Purpose;
use crate::doctor::view::{Disk, View};
use crate::machine::chain::LayerKind;
use crate::machine::interrupts::HardwareQueue;
use crate::machine::setting::{Setting, Value};
use crate::machine::write_cache;
use crate::sys::thread::ranges;
use crate::text::{grouped, size};

/// A setting of the queue with its value; an answer where it has none.
fn read(disk: &Disk, file: &str, absent: &str) -> Result<(Setting, String), Vec<Answer>> {
    if disk.is_stacked() {
        return Err(vec![Answer::absent("The disks below it have the queues.")]);
    }
    let setting = disk.queue(file);
    match setting.chosen().map(str::to_string) {
        Some(now) => Ok((setting, now)),
        None => Err(vec![Answer::unread(&setting, absent)]),
    }
}

fn change(disk: &Disk, setting: &Setting, file: &str, to: &str) -> Change {
    Change::of(setting, to).keep(disk.udev(file, to))
}

pub(super) fn scheduler(_: &View, disk: &Disk) -> Vec<Answer> {
    let (setting, now) = match read(disk, "scheduler", "Its driver uses no scheduler.") {
        Ok(read) => read,
        Err(answers) => return answers,
    };
    let wanted = if setting.offers("none") { "none" } else { "noop" };
    if now == wanted {
        return vec![Answer::good("Requests go to the disk as they come.").now(now)];
    }
    if disk.turns() {
        return vec![Answer::good("A disk that turns gains by a scheduler.").now(now)];
    }
    let told = |answer: Answer| {
        answer.now(now.clone()).wanted(wanted).change(change(disk, &setting, "scheduler", wanted))
    };
    match now.as_str() {
        "mq-deadline" | "deadline" => {
            let says = "All processors share one queue of it, which limits the rate at some hundred thousand IOPS and more.";
            vec![
                Answer::good("It costs little below some hundred thousand IOPS.").now(now.clone()),
                told(Answer::may_spoil(says).only_for(Purpose::Peak)),
            ]
        }
        _ => {
            let says = format!(
                "The scheduler {now} holds requests back to be fair or to keep a latency, and takes processor time for each: \
                 a single test with a deep queue measures the scheduler, too."
            );
            vec![told(Answer::may_spoil(says))]
        }
    }
}

pub(super) fn nomerges(_: &View, disk: &Disk) -> Vec<Answer> {
    let (setting, now) = match read(disk, "nomerges", "Its driver merges nothing.") {
        Ok(read) => read,
        Err(answers) => return answers,
    };
    let to = |answer: Answer, wanted: &str| {
        answer.now(now.clone()).wanted(wanted).change(change(disk, &setting, "nomerges", wanted))
    };
    let says = match now.as_str() {
        "1" => {
            "A request is merged with the last one only, which is not the kernel's default: small sequential I/O of several threads is slower \
             than elsewhere."
        }
        _ => {
            "Neighbouring requests are not merged, which is not the kernel's default: small sequential I/O is slower than elsewhere."
        }
    };
    let everyday = match now.as_str() {
        "0" => Answer::good("Neighbouring requests are merged, as everywhere by default.").now(now.clone()),
        _ => to(Answer::may_spoil(says), "0"),
    };
    let peak = match now.as_str() {
        "2" => Answer::good("The kernel looks for no request to merge with.").now(now.clone()),
        _ => to(
            Answer::may_spoil(
                "The kernel looks for requests to merge each one with, which random I/O never finds.",
            ),
            "2",
        ),
    };
    vec![everyday, peak.only_for(Purpose::Peak)]
}

pub(super) fn iostats(_: &View, disk: &Disk) -> Vec<Answer> {
    let (setting, now) = match read(disk, "iostats", "Its driver has no such switch.") {
        Ok(read) => read,
        Err(answers) => return answers,
    };
    let to = |answer: Answer, wanted: &str| {
        answer.now(now.clone()).wanted(wanted).change(change(disk, &setting, "iostats", wanted))
    };
    if now != "0" {
        let says = "The kernel counts each I/O, which costs a few percent at the highest rates. Without counters TrueSpd cannot \
             prove that I/O reached the disk, and the verdict lacks that evidence.";
        let peak = to(Answer::may_spoil(says), "0").only_for(Purpose::Peak);
        return vec![Answer::good("The disk is counted: the verdict can compare.").now(now.clone()), peak];
    }
    // Memory as a disk has counters of its own, or none at all.
    if disk.layer.kind == LayerKind::Memory {
        return vec![Answer::absent("Its driver has no use for the switch.")];
    }
    let says =
        "The disk is not counted: TrueSpd cannot prove that I/O reached it, nor see that others use it.";
    let peak = Answer::good("The kernel counts nothing; the verdict lacks evidence for it.").now(now.clone());
    vec![to(Answer::may_spoil(says), "1"), peak.only_for(Purpose::Peak)]
}

pub(super) fn rq_affinity(_: &View, disk: &Disk) -> Vec<Answer> {
    let (setting, now) = match read(disk, "rq_affinity", "Its driver has no such setting.") {
        Ok(read) => read,
        Err(answers) => return answers,
    };
    if now != "0" {
        return vec![Answer::good("Completions are handled near the thread that asked.").now(now)];
    }
    let says = "Completions are handled on the processor where the interrupt arrives, however far from the thread that waits.";
    let change = change(disk, &setting, "rq_affinity", "1");
    vec![Answer::may_spoil(says).now(now).wanted("1").change(change)]
}

pub(super) fn throttling(_: &View, disk: &Disk) -> Vec<Answer> {
    let (setting, now) = match read(disk, "wbt_lat_usec", "The kernel does not throttle writing back to it.")
    {
        Ok(read) => read,
        Err(answers) => return answers,
    };
    if now == "0" {
        return vec![Answer::good("Off.").now("0 us")];
    }
    let told = setting.number::<u64>().map_or_else(|| now.clone(), grouped);
    let peak = Answer::may_spoil("Each request is accounted for throttling, although it throttles only what the page cache writes back.")
        .now(format!("{told} us"))
        .wanted("0 us")
        .change(change(disk, &setting, "wbt_lat_usec", "0"));
    let says = "The page cache's writing is slowed down while reads wait longer than this, as everywhere by default; direct I/O is not.";
    vec![Answer::good(says).now(format!("{told} us")), peak.only_for(Purpose::Peak)]
}

/// The kernel's default.
const READ_AHEAD_USUAL_KIB: u64 = 128;
/// From here on sequential reads through the page cache are another workload than by default.
const READ_AHEAD_MAX_KIB: u64 = 4096;

pub(super) fn read_ahead(_: &View, disk: &Disk) -> Vec<Answer> {
    let setting = disk.queue("read_ahead_kb");
    let Some(kib) = setting.number::<u64>() else {
        return vec![Answer::unread(&setting, "Nothing is read ahead from it.")];
    };
    let now = size(kib.saturating_mul(1024));
    let says = match kib {
        0 => "Nothing is read ahead: sequential reads through the page cache wait for each block.",
        kib if kib >= READ_AHEAD_MAX_KIB => {
            "Much more is read ahead than by default: sequential reads through the page cache are faster, and reads at random places may \
             fetch more than they ask for. Direct I/O (-Su, -Sh) does not use it."
        }
        _ => return vec![Answer::good("Usual.").now(now)],
    };
    let change = change(disk, &setting, "read_ahead_kb", &READ_AHEAD_USUAL_KIB.to_string());
    vec![Answer::may_spoil(says).now(now).wanted(size(READ_AHEAD_USUAL_KIB * 1024)).change(change)]
}

pub(super) fn poll_queues(view: &View, disk: &Disk) -> Vec<Answer> {
    // Writes to io_poll are without effect since Linux 5.15: the value tells, and no command sets it.
    let (_, now) = match read(disk, "io_poll", "Its driver cannot be polled.") {
        Ok(read) => read,
        Err(answers) => return answers,
    };
    let delay = disk.queue("io_poll_delay");
    if now == "1" {
        if delay.number::<i64>().is_some_and(|delay| delay >= 0) {
            let says =
                "A thread that polls sleeps first: it keeps the processor free, and adds to the latency.";
            let told = format!("polling after {} us", delay.word().unwrap_or_default());
            let change = change(disk, &delay, "io_poll_delay", "-1");
            return vec![Answer::may_spoil(says).now(told).wanted("polling at once").change(change)];
        }
        return vec![Answer::good("--engine io_uring_poll can ask the drive for completions.").now("yes")];
    }
    let says = "The drive has no queues for polling: --engine io_uring_poll is refused, and each completion costs an interrupt.";
    let many = view.process.processors.len().clamp(1, 32);
    let parameter = match disk.name() {
        // Drives over a network have no module parameter, but are connected with or without such queues.
        name if name.starts_with("nvme") && disk.layer.kind == LayerKind::NetworkDisk => {
            let connect = format!("nvme connect with --nr-poll-queues={many}");
            let change = Change::only_kept(connect);
            return vec![Answer::may_spoil(says).now("no").wanted("yes").change(change)];
        }
        name if name.starts_with("nvme") => "nvme",
        name if name.starts_with("vd") => "virtio_blk",
        _ => return vec![Answer::absent("Its driver has no queues for polling.")],
    };
    let queues =
        Setting::read(view.roots().sys.join("module").join(parameter).join("parameters/poll_queues"));
    let now = match &queues.value {
        Value::Is(number) => format!("no ({parameter}.poll_queues={number})"),
        _ => "no".to_string(),
    };
    let change =
        Change::only_kept(format!("the kernel parameter {parameter}.poll_queues={many}, and a restart"));
    vec![Answer::may_spoil(says).now(now).wanted("yes").change(change)]
}

/// Fewer requests are less than what a usual run keeps outstanding.
const REQUESTS_MIN: u32 = 32;
/// Commands that a disk with native command queuing takes.
const SATA_COMMANDS: u32 = 32;

pub(super) fn depth(_: &View, disk: &Disk) -> Vec<Answer> {
    if disk.layer.queue_depth == Some(1) {
        let says = format!(
            "{} takes one command at a time: with more than -o1 the other I/Os wait in the kernel, and the latencies include this \
             wait.",
            disk.name()
        );
        let own = disk.setting("device/queue_depth");
        let is_sata = disk.layer.transport.as_deref() == Some("sata");
        let answer = Answer::may_spoil(says).now("1 command");
        return vec![match own.word() {
            Some("1") if is_sata => answer
                .wanted(format!("{SATA_COMMANDS} commands"))
                .change(Change::of(&own, &SATA_COMMANDS.to_string())),
            _ => answer,
        }];
    }
    let (setting, now) = match read(disk, "nr_requests", "Its driver takes requests without a queue.") {
        Ok(read) => read,
        Err(answers) => return answers,
    };
    if setting.number::<u32>().is_none_or(|requests| requests >= REQUESTS_MIN) {
        return vec![Answer::good("Enough requests for a usual queue depth.").now(now)];
    }
    // A device may have no more. Without a scheduler the kernel refuses more than the driver has places for.
    let has_scheduler = disk.queue("scheduler").chosen().is_some_and(|word| word != "none");
    let places = disk.setting("mq/0/nr_tags").number::<u32>().filter(|_| !has_scheduler);
    let most = disk.layer.queue_depth.into_iter().chain(places).min().unwrap_or(u32::MAX);
    let says =
        format!("With more than {now} I/Os outstanding the others wait in the kernel for a free request.");
    let answer = Answer::may_spoil(says).now(now);
    vec![if setting.number::<u32>().is_some_and(|requests| requests < most) {
        let to = most.min(256).to_string();
        answer.wanted(to.clone()).change(change(disk, &setting, "nr_requests", &to))
    } else {
        answer
    }]
}

/// Larger requests bring hardly more throughput.
const REQUEST_KIB_ENOUGH: u64 = 512;
/// The kernel's default of many years.
const REQUEST_KIB_USUAL: u64 = 1280;

pub(super) fn request_size(_: &View, disk: &Disk) -> Vec<Answer> {
    let (setting, _) = match read(disk, "max_sectors_kb", "Its driver takes I/Os of any size.") {
        Ok(read) => read,
        Err(answers) => return answers,
    };
    let hardware = disk.queue("max_hw_sectors_kb");
    let (Some(kib), Some(most)) = (setting.number::<u64>(), hardware.number::<u64>()) else {
        return vec![Answer::unknown("The limits of a request are not numbers.")];
    };
    let in_kib = |kib: u64| format!("{} KiB", grouped(kib));
    let now = in_kib(kib);
    if kib >= REQUEST_KIB_ENOUGH.min(most) {
        return vec![Answer::good(format!("I/Os up to {now} reach the disk as one request.")).now(now)];
    }
    let to = REQUEST_KIB_USUAL.min(most);
    let says = format!(
        "Larger I/Os are split into requests of {now}, although the disk takes up to {}.",
        size(most.saturating_mul(1024))
    );
    let change = change(disk, &setting, "max_sectors_kb", &to.to_string());
    vec![Answer::may_spoil(says).now(now).wanted(in_kib(to)).change(change)]
}

pub(super) fn write_cache(_: &View, disk: &Disk) -> Vec<Answer> {
    let (_, now) = match read(disk, "write_cache", "It has no write cache that the kernel knows of.") {
        Ok(read) => read,
        Err(answers) => return answers,
    };
    let says = match now.as_str() {
        write_cache::BACK => {
            "Writes are acknowledged before they are durable, unless each is written through (-Sw, -Sh): say with a result which of both \
             it is (truespd study write-cache measures the difference)."
        }
        _ => "The kernel takes a write for durable as soon as the drive acknowledges it.",
    };
    vec![Answer::good(says).now(now)]
}

pub(super) fn interrupts(view: &View, disk: &Disk) -> Vec<Answer> {
    let queues = &disk.layer.hardware_queues;
    let known: Vec<_> = queues.iter().filter(|queue| !queue.answered_by.is_empty()).collect();
    let [queue] = queues.as_slice() else {
        return vec![match (queues.len(), known.len()) {
            (0, _) => Answer::absent("The kernel lists no interrupts for it."),
            (_, 0) => Answer::unknown("Which processors answer its interrupts is not told."),
            (all, _) => {
                let near = known.iter().filter(|queue| queue.processors.holds(&queue.answered_by)).count();
                if near == known.len() {
                    Answer::good("Each queue's interrupts arrive where its I/O comes from.")
                        .now(format!("{} queues", grouped(all as u64)))
                } else {
                    Answer::may_spoil(
                    "Interrupts of some queues arrive at processors that do not use them: completions travel between processors.",
                )
                .now(format!("{near} of {} near", known.len()))
                .wanted("all near")
                .change(moved_near(&known, view))
                }
            }
        }];
    };
    let answering = queue.answered_by.within(&queue.processors);
    let Some(first) = answering.iter().next() else {
        return vec![Answer::unknown("Which processors answer its interrupts is not told.")];
    };
    let now = format!("answered by {}", queue.answered_by.words());
    if queue.answered_by.holds(&queue.processors) {
        return vec![Answer::good("All processors answer its interrupts.").now(now)];
    }
    let says = format!(
        "The interrupts of {} are answered by {} only: one I/O at a time (-o1) is mostly faster on {} (-a{first}) than on others, \
         and a thread that moves has two rates.",
        disk.name(),
        answering.words(),
        if answering.iter().count() == 1 { "that processor" } else { "one of them" }
    );
    vec![Answer::may_spoil(says).now(now).wanted("threads bound by -a, the same in all runs")]
}

/// The interrupts of queues that arrive elsewhere, sent to the processors of these queues. Drivers that spread them by
/// themselves let nobody else: since Linux 6.10 their files are read-only, before that writing fails.
fn moved_near(queues: &[&HardwareQueue], view: &View) -> Change {
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
