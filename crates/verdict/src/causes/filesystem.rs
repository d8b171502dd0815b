//! Mounted file systems: room, options.

use crate::cause::Cause;
use crate::doctor::Purpose::Every;
use crate::doctor::{
    Answer, Change, CheckResult, HostView, Lasts, MountedFileSystem, NoAnswer, each_filesystem,
};
use truespd_core::result::Theme;
use truespd_platform::text::{part_percent, shell_word, size};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("free-space", Theme::Target).checked(
        each_filesystem(200, "free-space", Every, room),
        "how full the file system is",
        "90 % and more; from 98 % on it spoils.",
        "New files lie in many pieces; drives without free space move data while they write.",
        "statvfs(3)",
    ),
    Cause::new("mount-options", Theme::Target).checked(
        each_filesystem(210, "mount-options", Every, options).unlike_production(),
        "options of the mount",
        "data=journal, nobarrier and barrier=0 spoil; compress, sync, strictatime and discard may.",
        "The disk gets more I/O than the test asks for, or less.",
        "ext4(5), xfs(5), btrfs(5), mount(8)",
    ),
];

/// From here on allocators look long for free blocks, and drives for free cells.
const FULL: f64 = 0.90;

/// From here on they hardly find any.
const NEARLY_ALL: f64 = 0.98;

fn room(_: &HostView, one: &MountedFileSystem) -> CheckResult {
    let room = match &one.room {
        Ok(room) => room,
        Err(why) => return Err(NoAnswer::unknown(format!("How full it is is not known: {why}."))),
    };
    if room.size_bytes == 0 {
        return Err(NoAnswer::absent("It has no size of its own."));
    }
    // Of what its users may have, as df(1) tells it.
    let part = room.used_bytes as f64 / room.used_bytes.saturating_add(room.free_bytes).max(1) as f64;
    let now = format!("{} full, {} free", part_percent(part), size(room.free_bytes));
    let says = "Files made now lie in many pieces, and the drive has little room to move data: writes are slower than \
         on one with free space.";
    match part {
        part if part >= NEARLY_ALL => Ok(Answer::spoils(says).now(now).wanted("less than 90 %")),
        part if part >= FULL => Ok(Answer::may_spoil(says).now(now).wanted("less than 90 %")),
        _ => Ok(Answer::good("There is room.").now(now)),
    }
}

/// A mount option that makes a difference.
struct MountOption {
    /// As the kernel lists it; with whatever follows where it ends in `=`.
    name: &'static str,
    /// What is wanted in its place.
    instead: &'static str,
    /// Whether mounting again sets it.
    by_remount: bool,
    spoils: bool,
    says: &'static str,
}

const COMPRESSES: &str = "Data that compress well become less on the disk, and reads of them go through the page \
     cache: write random data (-Zr), or make the test file again after the option is changed.";

const STRICT: &str = "strictatime";

const OPTIONS: &[MountOption] = &[
    MountOption {
        name: "data=journal",
        instead: "data=ordered",
        by_remount: false,
        spoils: true,
        says: "All data are written twice, first to the journal, and direct I/O goes through the page cache.",
    },
    MountOption {
        name: "nobarrier",
        instead: "barrier",
        by_remount: true,
        spoils: true,
        says: "No flush is sent to the disk: writes that are called durable are not, and are too fast.",
    },
    MountOption {
        name: "barrier=0",
        instead: "barrier=1",
        by_remount: true,
        spoils: true,
        says: "No flush is sent to the disk: writes that are called durable are not, and are too fast.",
    },
    MountOption {
        name: "compress=",
        instead: "compress=no",
        by_remount: true,
        spoils: false,
        says: COMPRESSES,
    },
    MountOption {
        name: "compress-force=",
        instead: "compress=no",
        by_remount: true,
        spoils: false,
        says: COMPRESSES,
    },
    MountOption {
        name: "sync",
        instead: "async",
        by_remount: true,
        spoils: false,
        says: "Each write waits until it is durable, whatever the test asks for.",
    },
    MountOption {
        name: STRICT,
        instead: "relatime",
        by_remount: true,
        spoils: false,
        says: "Each read of a file changes its access time (atime), and that is written to the disk.",
    },
    MountOption {
        name: "discard",
        instead: "nodiscard",
        by_remount: true,
        spoils: false,
        says: "Deleting a file tells the drive at once, which keeps some drives busy: tests that make and delete \
             files (suites, -c) share the drive with that. A run on one file that stays does not.",
    },
];

fn options(_: &HostView, one: &MountedFileSystem) -> CheckResult {
    // The kernel lists no word for access times of every read: only what it does instead.
    let is_strict = one.has("rw") && !one.has("relatime") && !one.has("noatime");
    let strict = is_strict.then(|| STRICT.to_string());
    let mut answers = Vec::new();
    for option in OPTIONS {
        if let Some(set) = one.options.iter().chain(&strict).find(|set| option.is(set)) {
            answers.push(answer(option, set, one));
        }
    }
    if answers.is_empty() {
        let first = one.options.iter().take(6).map(String::as_str).collect::<Vec<_>>().join(",");
        answers.push(Answer::good("No option of the mount disturbs.").now(first));
    }
    Answer::of_parts(answers, "")
}

impl MountOption {
    fn is(&self, set: &str) -> bool {
        if self.name.ends_with('=') {
            set.starts_with(self.name) && set != self.instead
        } else {
            set == self.name
        }
    }
}

fn answer(option: &MountOption, set: &str, one: &MountedFileSystem) -> Answer {
    let answer = if option.spoils { Answer::spoils(option.says) } else { Answer::may_spoil(option.says) };
    let point = shell_word(&one.point.to_string_lossy());
    let change = if option.by_remount {
        let [to, back] =
            [option.instead, set].map(|word| format!("mount -o remount,{} {point}", shell_word(word)));
        Change::by(to, back, Lasts::UntilMountedAgain)
            .keep(format!("{} in the options of {point} in /etc/fstab", option.instead))
    } else {
        Change::only_kept(format!(
            "{} in the options of {point} in /etc/fstab, and mounting it anew (of / a restart)",
            option.instead
        ))
    };
    answer.now(set).wanted(option.instead).change(change)
}
