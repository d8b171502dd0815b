//! Every check on trees that are made for it: good, bad, not there, not readable. Commands are run by a shell
//! and undone.

mod cases;
mod tree;

use std::collections::BTreeSet;
use std::process::Command;

use super::Answer;
use super::{Check, Purpose, State, SubjectKind, checks, examine};
use cases::{CASES, Case};
use tree::Tree;
use truespd_platform::machine::interrupts::HardwareQueue;
use truespd_platform::machine::storage::Room;
use truespd_platform::machine::topology::CpuSet;

fn check_of(id: &str) -> &'static Check {
    checks().into_iter().map(|(_, check)| check).find(|check| check.id == id).expect("a check")
}

fn ask(tree: &Tree, id: &str) -> Vec<Answer> {
    let check = check_of(id);
    check.ask(&tree.view())
}

/// The only answer for these measurements.
fn answer_of(tree: &Tree, case: &Case) -> Answer {
    let check = check_of(case.id);
    let is_asked = |answer: &Answer| (check.purpose_of(answer) == Purpose::Peak) == case.is_peak;
    let mut all = ask(tree, case.id);
    // Where one answer serves both.
    if all.iter().any(is_asked) {
        all.retain(is_asked);
    }
    let [only] = all.as_slice() else { panic!("{}: {all:#?}", case.name()) };
    only.clone()
}

#[test]
fn each_check_tells_good_from_bad() {
    for case in CASES {
        let tree = Tree::of(case.files);
        let answer = answer_of(&tree, case);
        assert_eq!(answer.state, case.state, "{}: {answer:#?}", case.name());
        assert!(
            answer.says.ends_with('.') && !answer.says.contains("  "),
            "{}: {}",
            case.name(),
            answer.says
        );
        if let Some(wanted) = case.wanted {
            assert_eq!(answer.wanted.as_deref(), Some(wanted), "{}", case.name());
        }
        if answer.state.is_complaint() {
            assert!(answer.now.is_some(), "{} tells what it is now", case.name());
            assert_eq!(answer.change.set.is_empty(), answer.change.back.is_empty(), "{}", case.name());
        }
    }
}

#[test]
fn each_check_has_its_cases() {
    let with = |wanted: fn(State) -> bool| -> BTreeSet<&str> {
        CASES.iter().filter(|case| wanted(case.state)).map(|case| case.id).collect()
    };
    let (good, bad) = (with(|state| state == State::Good), with(State::is_complaint));
    for (_, check) in checks() {
        if !BY_OTHER_TESTS.contains(&check.id) {
            assert!(good.contains(check.id), "{} has no case where it is good", check.id);
            let never = check.complains.starts_with("Never");
            assert!(bad.contains(check.id) != never, "{} has no case where it complains", check.id);
        }
    }
}

/// What does not come from a tree of files alone.
const BY_OTHER_TESTS: &[&str] = &[
    "other-io",
    "users",
    "steal",
    "free-space",
    "mount-options",
    "array",
    "locked-memory",
    "open-files",
    "io-uring",
    "cpuset",
    "disk-limit",
    "processor-limit",
    "memory-limit",
    "pcie-link",
    "temperature",
    "drive-health",
    "nvme-power",
    "pcie-power",
    "disk-node",
    "interrupts",
    "sata-power",
    "memory-target",
    "loop-cache",
];

/// Commands that write files, which the shell can do in a tree of files.
fn writes_files(command: &str) -> bool {
    ["echo ", "for file in ", "for cpu in "].iter().any(|begin| command.starts_with(begin))
}

fn shell(commands: &[String]) {
    for command in commands {
        let done = Command::new("sh").args(["-c", command]).output().expect("a shell");
        assert!(done.status.success() && done.stderr.is_empty(), "{command}: {done:?}");
    }
}

#[test]
fn the_commands_cure_and_the_way_back_leads_back() {
    let mut tried = BTreeSet::new();
    for case in CASES.iter().filter(|case| case.state.is_complaint()) {
        let tree = Tree::of(case.files);
        let before = answer_of(&tree, case);
        if before.change.set.is_empty() || !before.change.set.iter().all(|line| writes_files(line)) {
            continue;
        }
        shell(&before.change.set);
        let set = answer_of(&tree, case);
        assert!(!set.state.is_complaint(), "{}: {set:#?}", case.name());
        shell(&before.change.back);
        let back = answer_of(&tree, case);
        assert_eq!(back.state, before.state, "{}: {back:#?}", case.name());
        assert_eq!(back.now, before.now, "{}", case.name());
        tried.insert(case.id);
    }
    assert!(tried.len() >= 14, "{tried:?}");
}

#[test]
fn what_matters_to_peaks_only_is_left_out_unless_asked_for() {
    let tree = Tree::of(&[
        ("sys/block/vda/queue/iostats", "1"),
        ("sys/block/vda/queue/nomerges", "0"),
        ("sys/block/vda/queue/scheduler", "[none] mq-deadline"),
    ]);
    let view = tree.view();
    let (everyday, peak) = (examine(&view, false), examine(&view, true));
    let state = |report: &super::Report, id: &str| {
        let found: Vec<_> = report.findings.iter().filter(|f| f.check == id).map(|f| f.state).collect();
        assert_eq!(found.len(), 1, "{id}: one answer of {found:?}");
        found[0]
    };
    assert_eq!((state(&everyday, "iostats"), state(&peak, "iostats")), (State::Good, State::MaySpoil));
    assert_eq!((state(&everyday, "nomerges"), state(&peak, "nomerges")), (State::Good, State::MaySpoil));
    assert_eq!(everyday.for_peak_only, 2);
    assert_eq!(peak.for_peak_only, 0);
    assert!(everyday.findings.iter().all(|finding| finding.matters_for != Purpose::Peak));
    assert!(peak.findings.windows(2).all(|pair| pair[0].state <= pair[1].state), "the worst first");
    let list: Vec<&str> = checks()
        .iter()
        .map(|(_, check)| *check)
        .filter(|check| check.one_core_peak)
        .map(|check| check.id)
        .collect();
    for id in
        ["scheduler", "nomerges", "iostats", "poll-queues", "write-throttling", "governor", "idle-governor"]
    {
        assert!(list.contains(&id), "{id} is on the list of the field");
    }
}

#[test]
fn rows_are_whole_and_named_once() {
    let mut ids = BTreeSet::new();
    for (_, check) in checks() {
        assert!(ids.insert(check.id), "{} is there twice", check.id);
        assert!(check.id.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", check.id);
        assert!(check.complains.ends_with('.') && check.difference.ends_with('.'), "{}", check.id);
        assert!(!check.source.is_empty() && !check.about.ends_with('.'), "{}", check.id);
    }
    assert!(checks().len() >= 45, "{}", checks().len());
}

/// Under the governor `performance` the kernel takes no other preference ("Device or resource busy"), and the
/// way back goes from the last to the first.
#[test]
fn the_preference_is_set_before_the_governor() {
    let place = |id: &str| checks().iter().position(|(_, check)| check.id == id).expect(id);
    assert!(place("energy-preference") < place("governor"));
}

#[test]
fn commands_leave_out_processors_that_are_offline() {
    let file = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    let tree = Tree::of(&[("sys/devices/system/cpu/online", "0-2,4")]);
    for cpu in 0..6 {
        tree.put(&file(cpu), if cpu == 3 || cpu == 5 { tree::UNREADABLE } else { "powersave" });
    }
    let change = ask(&tree, "governor")[0].change.clone();
    let folder = tree.path("sys/devices/system/cpu");
    let line = |word: &str| {
        let folder = folder.display();
        format!("for cpu in $(seq 0 2) 4; do echo {word} > {folder}/cpu$cpu/cpufreq/scaling_governor; done")
    };
    assert_eq!((change.set, change.back), (vec![line("performance")], vec![line("powersave")]));
}

#[test]
fn what_is_not_mounted_is_not_called_good() {
    let mut tree = Tree::of(&[]);
    tree.process.sees_programs = false;
    tree.process.lacks = vec!["/proc"];
    for id in ["jobs", "irqbalance", "disk-limit", "processor-limit", "memory-limit", "aio", "node-balancing"]
    {
        assert_eq!(ask(&tree, id)[0].state, State::Unknown, "{id}");
    }
    let report = examine(&tree.view(), false);
    assert!(report.beyond[0].starts_with("/proc is not mounted here"), "{:?}", report.beyond);
    tree.process.timer_ns = Some(1);
    assert_eq!(ask(&tree, "timers")[0].state, State::Good);
    tree.process.timer_ns = Some(4_000_000);
    let ticks = &ask(&tree, "timers")[0];
    assert_eq!((ticks.state, ticks.now.as_deref()), (State::MaySpoil, Some("exact to 4,000,000 ns")));
}

#[test]
fn loop_devices_by_how_they_access_their_file() {
    let of = |direct: Option<&str>| {
        let tree = Tree::of(&[]);
        tree.device("loop7", "7:7");
        tree.put("sys/block/loop7/loop/backing_file", "/nowhere/image");
        direct.iter().for_each(|direct| tree.put("sys/block/loop7/loop/dio", direct));
        tree.stands_on("loop7", "vda");
        let all = ask(&tree, "loop-cache");
        all.into_iter().find(|answer| answer.subject.name == "loop7").expect("it is looked at")
    };
    assert_eq!((of(Some("1")).state, of(None).state), (State::Good, State::Unknown));
    let cached = of(Some("0"));
    assert_eq!(cached.state, State::Spoils);
    assert_eq!(cached.change.set, ["losetup --direct-io=on /dev/loop7"]);
    assert_eq!(cached.change.back, ["losetup --direct-io=off /dev/loop7"]);
    assert_eq!(ask(&Tree::of(&[]), "loop-cache")[0].state, State::DoesNotApply);
}

#[test]
fn limits_of_this_process() {
    let mut tree = Tree::of(&[("sys/devices/system/cpu/online", "0-3")]);
    let state = |tree: &Tree, id: &str| ask(tree, id)[0].state;
    for id in ["locked-memory", "open-files", "io-uring", "cpuset"] {
        assert_eq!(state(&tree, id), State::Good, "{id}");
    }
    tree.process.locked_memory.soft = Some(8 << 20);
    assert_eq!(state(&tree, "locked-memory"), State::Good, "root is not limited");
    tree.process.is_root = false;
    let answer = &ask(&tree, "locked-memory")[0];
    assert_eq!(answer.state, State::MaySpoil);
    assert_eq!(answer.change.set, ["prlimit --pid $$ --memlock=67108864:unlimited"]);
    assert_eq!(answer.change.back, ["prlimit --pid $$ --memlock=8388608:unlimited"]);
    tree.process.open_files.hard = Some(1024);
    tree.process.processors = vec![1];
    tree.process.io_uring = Err("io_uring is not permitted".into());
    for id in ["open-files", "cpuset", "io-uring"] {
        assert_eq!(state(&tree, id), State::MaySpoil, "{id}");
    }
}

#[test]
fn who_forbids_io_uring_decides_what_to_do() {
    let set = |files: &[(&str, &str)]| {
        let mut tree = Tree::of(files);
        tree.process.io_uring = Err("io_uring is not permitted.".into());
        let change = ask(&tree, "io-uring")[0].change.clone();
        (change.set.join(";"), change.permanent.unwrap_or_default())
    };
    let disabled = "proc/sys/kernel/io_uring_disabled";
    assert_eq!(set(&[(disabled, "2")]).0, "sysctl kernel.io_uring_disabled=0");
    let group = set(&[(disabled, "1"), ("proc/sys/kernel/io_uring_group", "27")]);
    assert!(group.0.is_empty() && group.1.contains("group 27"), "{group:?}");
    assert!(set(&[(disabled, "0")]).1.contains("seccomp"), "a filter of system calls");
}

#[test]
fn traffic_of_others_and_stolen_time() {
    let tree = Tree::of(&[]);
    let mut view = tree.view();
    let state = |view: &super::HostView, id: &str| check_of(id).ask(view)[0].state;
    assert_eq!(state(&view, "other-io"), State::Unknown, "a disk that is not counted");
    for (bytes, busy, wanted) in
        [(1e4, 0.9, State::Good), (2e5, 0.01, State::MaySpoil), (2e5, 0.2, State::Spoils)]
    {
        let traffic = super::Traffic { read_bytes_per_s: bytes, written_bytes_per_s: 0.0, busy };
        view.window.disks.insert("vda".into(), traffic);
        assert_eq!(state(&view, "other-io"), wanted, "{bytes} {busy}");
    }
    assert_eq!(state(&view, "steal"), State::Unknown);
    for (now, ever, wanted) in
        [(5.0, 2.0, State::Good), (0.0, 3.0, State::MaySpoil), (6.0, 0.0, State::Spoils)]
    {
        view.window.stolen_percent = Some(now);
        view.window.stolen_percent_since_boot = Some(ever);
        assert_eq!(state(&view, "steal"), wanted, "{now} {ever}");
    }
    view.window.throttled = Some(2);
    view.window.swapped_pages = Some(300);
    assert_eq!(state(&view, "memory-pressure"), State::Spoils);
}

#[test]
fn who_else_has_the_disk() {
    let mut tree = Tree::of(&[]);
    assert_eq!(ask(&tree, "users")[0].state, State::Good);
    tree.neighbours.system = vec!["it is mounted at / (ext4)".into()];
    let system = &ask(&tree, "users")[0];
    assert_eq!((system.state, system.now.as_deref()), (State::MaySpoil, Some("it is mounted at / (ext4)")));
    tree.neighbours.programs = Ok((0..5).map(|n| format!("process {n} (x) has it open")).collect());
    let now = ask(&tree, "users")[0].now.clone().expect("names");
    assert!(now.ends_with("process 2 (x) has it open; and 2 more"), "{now}");
    tree.neighbours.programs = Err("programs of other users are visible to root only".into());
    let unseen = &ask(&tree, "users")[0];
    assert_eq!(unseen.state, State::MaySpoil, "the system is seen");
    assert!(
        unseen.says.ends_with("is not known: programs of other users are visible to root only."),
        "{unseen:?}"
    );
    tree.neighbours.system.clear();
    assert_eq!(ask(&tree, "users")[0].state, State::Unknown);
}

#[test]
fn file_systems_by_room_and_options() {
    let tree = Tree::of(&[]);
    let mut view = tree.view();
    let room = |used: u64| {
        Ok(Room { free_bytes: 100 - used, size_bytes: 120, used_bytes: used, is_read_only: false })
    };
    let answers = |view: &super::HostView, id: &str| check_of(id).ask(view);
    for (used, wanted) in [(89, State::Good), (90, State::MaySpoil), (98, State::Spoils)] {
        view.filesystems = vec![tree::filesystem("rw,relatime", room(used))];
        assert_eq!(answers(&view, "free-space")[0].state, wanted, "{used}");
        assert_eq!(answers(&view, "mount-options")[0].state, State::Good);
    }
    view.filesystems = vec![tree::filesystem("rw,relatime,discard", Err("Permission denied".into()))];
    assert_eq!(answers(&view, "free-space")[0].state, State::Unknown);
    let discard = &answers(&view, "mount-options")[0];
    assert_eq!(discard.change.set, ["mount -o remount,nodiscard '/my data'"]);
    assert_eq!(discard.change.back, ["mount -o remount,discard '/my data'"]);
    assert_eq!((discard.subject.kind, discard.subject.name.as_str()), (SubjectKind::FileSystem, "/my data"));
    for (options, wanted) in [
        ("rw,relatime,data=journal", State::Spoils),
        ("rw,relatime,nobarrier", State::Spoils),
        ("rw,relatime,barrier=0", State::Spoils),
        ("rw,relatime,sync", State::MaySpoil),
        ("rw", State::MaySpoil),
        ("rw,noatime", State::Good),
        ("ro", State::Good),
        ("rw,relatime,compress=zstd:3", State::MaySpoil),
        ("rw,relatime,compress-force=lzo", State::MaySpoil),
        ("rw,relatime,compress=no", State::Good),
        ("rw,relatime,nodiscard,lazytime", State::Good),
    ] {
        view.filesystems = vec![tree::filesystem(options, room(1))];
        assert_eq!(answers(&view, "mount-options")[0].state, wanted, "{options}");
    }
    view.filesystems = vec![tree::filesystem("rw,relatime,compress-force=zstd:3", room(1))];
    let compressed = &answers(&view, "mount-options")[0];
    assert_eq!(compressed.change.set, ["mount -o remount,compress=no '/my data'"]);
    assert_eq!(compressed.change.back, ["mount -o remount,compress-force=zstd:3 '/my data'"]);
    assert_eq!(answers(&view, "memory-target")[0].state, State::Good);
    view.filesystems[0].is_memory = true;
    assert_eq!(answers(&view, "memory-target")[0].state, State::Spoils);
}

#[test]
fn an_array_at_work_and_one_that_lacks_a_disk() {
    let md = |files: &[(&str, &str)]| {
        let tree = Tree::of(files);
        tree.device("md0", "9:0");
        tree.put("sys/block/md0/md/level", "raid1");
        tree.stands_on("md0", "vda");
        let check = check_of("array");
        let answers = check.ask(&tree.view());
        answers.into_iter().find(|answer| answer.subject.name == "md0").expect("the array is looked at")
    };
    assert_eq!(md(&[("sys/block/md0/md/sync_action", "idle")]).state, State::Good);
    let busy = md(&[("sys/block/md0/md/sync_action", "check")]);
    assert_eq!((busy.state, busy.now.as_deref()), (State::Spoils, Some("check")));
    assert!(
        busy.change.set[0].starts_with("echo frozen > ") && busy.change.back[0].starts_with("echo check > ")
    );
    let degraded = md(&[("sys/block/md0/md/sync_action", "idle"), ("sys/block/md0/md/degraded", "1")]);
    assert_eq!(degraded.state, State::Spoils);
}

#[test]
fn limits_of_control_groups_with_their_way_back() {
    let tree = Tree::of(&[
        ("proc/self/cgroup", "0::/run"),
        ("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n"),
        ("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n"),
        ("sys/fs/cgroup/run/io.max", "252:0 rbps=max wbps=max riops=1920 wiops=max\n"),
        ("sys/fs/cgroup/run/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/run/memory.max", "104857600\n"),
    ]);
    let disk = &ask(&tree, "disk-limit")[0];
    assert_eq!(disk.state, State::Spoils);
    assert_eq!(disk.now.as_deref(), Some("1,920 reads/s (io.max of cgroup /run)"));
    let file = tree.path("sys/fs/cgroup/run/io.max");
    assert_eq!(disk.change.set, [format!("echo '252:0 riops=max' > {}", file.display())]);
    assert_eq!(disk.change.back, [format!("echo '252:0 riops=1920' > {}", file.display())]);
    let processors = &ask(&tree, "processor-limit")[0];
    assert_eq!(processors.state, State::MaySpoil);
    assert!(processors.change.back[0].starts_with("echo '150000 100000' > "), "{processors:?}");
    assert_eq!(ask(&tree, "memory-limit")[0].state, State::MaySpoil);
    tree.put("sys/fs/cgroup/run/memory.high", "94857600\n");
    let memory = &ask(&tree, "memory-limit")[0];
    assert!(memory.now.as_deref().is_some_and(|now| now.contains("memory.high")), "the least: {memory:?}");
    shell(&memory.change.set);
    assert_eq!(ask(&tree, "memory-limit")[0].state, State::Good, "no other limit is left");
    shell(&memory.change.back);
    assert_eq!(&ask(&tree, "memory-limit")[0], memory);
    let free = Tree::of(&[]);
    for id in ["disk-limit", "processor-limit", "memory-limit"] {
        assert_eq!(ask(&free, id)[0].state, State::Good, "{id}");
    }
}

#[test]
fn an_nvme_drive_and_its_link() {
    let drive = |files: &[(&str, &str)], id: &str| {
        let tree = Tree::of(&[]);
        tree.nvme();
        files.iter().for_each(|(path, text)| tree.put(path, text));
        let all = ask(&tree, id);
        let is_its = |answer: &&Answer| {
            answer.subject.name == "nvme0n1" || answer.subject.kind == SubjectKind::Machine
        };
        let answer = all.iter().find(is_its).unwrap_or_else(|| panic!("{id}")).clone();
        (answer, tree)
    };
    const FUNCTION: &str = "sys/devices/pci0000:00/0000:00:1d.0/0000:01:00.0";
    let at = |file: &str| format!("{FUNCTION}/{file}");
    let state = |files: &[(&str, &str)], id: &str| drive(files, id).0.state;
    assert_eq!(state(&[], "pcie-link"), State::Good);
    let slow = drive(&[(&at("current_link_speed"), "2.5 GT/s PCIe")], "pcie-link").0;
    assert_eq!(slow.state, State::Spoils);
    assert_eq!((slow.now.as_deref(), slow.wanted.as_deref()), (Some("2.5 GT/s x4"), Some("8 GT/s x4")));
    let narrow = drive(&[(&at("max_link_width"), "8")], "pcie-link").0;
    assert_eq!(narrow.state, State::MaySpoil, "the slot has four lanes");
    let polled = at("nvme/nvme0/nvme0n1/queue/io_poll");
    let advice = |transport: &str| {
        let files = [(polled.as_str(), "0"), (&at("nvme/nvme0/transport"), transport)];
        drive(&files, "poll-queues").0.change.permanent.expect("what to do")
    };
    assert!(advice("pcie").contains("nvme.poll_queues=4"), "{}", advice("pcie"));
    assert!(advice("tcp").contains("--nr-poll-queues=4"), "{}", advice("tcp"));
    let power = at("nvme/nvme0/power/pm_qos_latency_tolerance_us");
    let any = drive(&[(&power, "any")], "nvme-power").0;
    assert_eq!(any.now.as_deref(), Some("sleeps, however long waking up takes"));
    let (sleeps, tree) = drive(&[(&power, "100000")], "nvme-power");
    assert_eq!(sleeps.state, State::MaySpoil);
    shell(&sleeps.change.set);
    assert_eq!(std::fs::read_to_string(tree.path(&power)).expect("the file"), "0\n");
    shell(&sleeps.change.back);
    assert_eq!(std::fs::read_to_string(tree.path(&power)).expect("the file"), "100000\n");
    assert_eq!(state(&[(&power, "0")], "nvme-power"), State::Good);
    assert_eq!(state(&[], "nvme-power"), State::DoesNotApply);
    let sensor = |file: &str| at(&format!("nvme/nvme0/hwmon1/{file}"));
    let warmth =
        |now| state(&[(&sensor("temp1_input"), now), (&sensor("temp1_max"), "80000")], "temperature");
    assert_eq!(warmth("40000"), State::Good);
    assert_eq!((warmth("75000"), warmth("80000")), (State::MaySpoil, State::Spoils));
    assert_eq!(state(&[], "temperature"), State::Unknown);
    let policy = "sys/module/pcie_aspm/parameters/policy";
    assert_eq!(
        state(&[(policy, "default performance [powersave] powersupersave")], "pcie-power"),
        State::MaySpoil
    );
    assert_eq!(state(&[(policy, "[default] performance powersave")], "pcie-power"), State::Good);
    let nodes = [
        ("sys/devices/system/node/node0/cpulist", "0-1"),
        ("sys/devices/system/node/node1/cpulist", "2-3"),
        ("sys/devices/system/cpu/online", "0-3"),
    ];
    let node = at("numa_node");
    let on = |number: &'static str| state(&[nodes.as_slice(), &[(&node, number)]].concat(), "disk-node");
    assert_eq!((on("0"), on("-1")), (State::Good, State::Unknown));
    let files = [nodes.as_slice(), &[(&node, "1")]].concat();
    let (_, mut tree) = drive(&files, "disk-node");
    tree.process.processors = vec![0, 1];
    let answers = ask(&tree, "disk-node");
    assert!(answers.iter().any(|answer| answer.state == State::MaySpoil), "{answers:?}");
}

#[test]
fn a_sata_disk_and_its_link() {
    let tree = Tree::of(&[("sys/class/scsi_host/host3/link_power_management_policy", "med_power_with_dipm")]);
    tree.sata();
    let of_disk = |id: &str| {
        let all = ask(&tree, id);
        all.into_iter().find(|answer| answer.subject.name == "sda").expect("it is looked at")
    };
    let power = of_disk("sata-power");
    assert_eq!((power.state, power.wanted.as_deref()), (State::MaySpoil, Some("max_performance")));
    shell(&power.change.set);
    assert_eq!(of_disk("sata-power").state, State::Good);
    shell(&power.change.back);
    assert_eq!(of_disk("sata-power"), power);
    let depth = of_disk("queue-depth");
    assert_eq!((depth.state, depth.now.as_deref()), (State::MaySpoil, Some("1 command")), "{depth:?}");
    let virtio = ask(&tree, "sata-power").into_iter().find(|answer| answer.subject.name == "vda");
    assert_eq!(virtio.expect("it is looked at").state, State::DoesNotApply);
    let hidden = Tree::of(&[("sys/class/scsi_host/host3/link_power_management_policy", tree::UNREADABLE)]);
    hidden.sata();
    assert!(ask(&hidden, "sata-power").iter().any(|answer| answer.state == State::Unknown));
}

#[test]
fn interrupts_by_who_answers_them() {
    let tree = Tree::of(&[]);
    let set = |all: &[u32]| CpuSet::new(all.to_vec());
    let queue = |number, of: &[u32], by: &[u32]| HardwareQueue {
        number,
        processors: set(of),
        irq: Some(30 + number),
        answered_by: set(by),
    };
    let answer = |queues: Vec<HardwareQueue>| {
        let mut view = tree.view();
        view.disks[0].layer.hardware_queues = queues;
        let check = check_of("interrupts");
        check.ask(&view)[0].clone()
    };
    let one = answer(vec![queue(0, &[0, 1], &[1])]);
    assert_eq!((one.state, one.now.as_deref()), (State::MaySpoil, Some("answered by processor 1")));
    assert!(one.says.contains("(-a1)"), "{}", one.says);
    assert_eq!(answer(vec![queue(0, &[0, 1], &[0, 1])]).state, State::Good);
    assert_eq!(answer(vec![queue(0, &[0, 1], &[])]).state, State::Unknown);
    assert_eq!(answer(vec![queue(0, &[0], &[0]), queue(1, &[1], &[1])]).state, State::Good);
    let far = answer(vec![queue(0, &[0], &[0]), queue(1, &[1], &[0])]);
    assert_eq!((far.state, far.now.as_deref()), (State::MaySpoil, Some("1 of 2 near")));
    assert!(far.change.set.is_empty() && far.change.permanent.is_some(), "the driver's: {far:?}");
    tree.put("proc/irq/31/smp_affinity_list", "0\n");
    let far = answer(vec![queue(0, &[0], &[0]), queue(1, &[1], &[0])]);
    let file = tree.path("proc/irq/31/smp_affinity_list");
    assert_eq!(far.change.set, [format!("echo 1 > {}", file.display())]);
    assert_eq!(far.change.back, [format!("echo 0 > {}", file.display())]);
}
