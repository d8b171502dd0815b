//! Words that may stay: the kernel's names of devices, file systems and options of mounts, and options of command lines
//! whose values nobody chose to tell something.

/// What stands where a word was.
const WORD_LEFT_OUT: &str = "left-out";

/// Programs and engines by their names.
const KNOWN_WORDS: [&str; 14] = [
    "diskspd",
    "truespd",
    "run",
    "diskspd.exe",
    "truespd run",
    "io_uring",
    "libaio",
    "mmap",
    "null",
    "nvme",
    "psync",
    "sim",
    "threads",
    "-",
];

/// Beginnings of options whose letters go on in words.
const LONG_LETTERS: [&str; 6] = ["rdpct", "rdabs", "Rtext", "Rjson", "Rcsv", "Rxml"];
/// What numbers of options are made of, with their units and what stands between them.
const OF_NUMBERS: &str = "0123456789KMGTBkmgtbisnh.,:/%+";

/// Disks with letters (`sda1`, `vdb`).
const WITH_LETTERS: [&str; 5] = ["sd", "vd", "xvd", "hd", "dasd"];
/// Devices with numbers (`nvme0n1p2`, `dm-3`), controllers and sessions among them.
const WITH_NUMBERS: [&str; 23] = [
    "nvme", "dm-", "md", "loop", "zram", "ram", "mmcblk", "nbd", "rbd", "drbd", "bcache", "sr", "nullb",
    "pmem", "ublkb", "zd", "ng", "session", "rport-", "host", "target", "fd", "sg",
];

/// Whether a name is one that the kernel gives by itself.
pub(super) fn is_kernel_device(name: &str) -> bool {
    for begin in WITH_LETTERS {
        if let Some(rest) = name.strip_prefix(begin) {
            let letters = rest.trim_end_matches(|c: char| c.is_ascii_digit());
            if (1..=4).contains(&letters.len()) && letters.bytes().all(|byte| byte.is_ascii_lowercase()) {
                return true;
            }
        }
    }
    for begin in WITH_NUMBERS {
        if let Some(rest) = name.strip_prefix(begin)
            && rest.starts_with(|c: char| c.is_ascii_digit())
            && rest.chars().all(|c| c.is_ascii_digit() || "npc:-".contains(c))
        {
            return true;
        }
    }
    false
}

/// Whether the name of a thread holds no name that somebody gave: `kcryptd-254:0-1`, `md0_raid5`.
pub(super) fn is_kernel_thread(name: &str) -> bool {
    let (words, rest) = name.split_at(name.find(['-', '/', ':']).unwrap_or(name.len()));
    let is_word = !words.starts_with("md_")
        && words.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_word && rest.chars().all(|c| c.is_ascii_digit() || "-/:".contains(c))
}

const FILESYSTEMS: [&str; 44] = [
    "9p", "aufs", "autofs", "bcachefs", "beegfs", "btrfs", "ceph", "cifs", "devtmpfs", "ecryptfs", "erofs",
    "exfat", "ext2", "ext3", "ext4", "f2fs", "fuse", "fuseblk", "gfs2", "gpfs", "hfsplus", "jfs", "lustre",
    "nfs", "nfs4", "nilfs2", "none", "ntfs", "ntfs3", "ocfs2", "overlay", "ramfs", "reiserfs", "rootfs",
    "smb3", "squashfs", "tmpfs", "ubifs", "udf", "vboxsf", "vfat", "virtiofs", "xfs", "zfs",
];

/// The kind of a file system, where it is one that many have.
pub(super) fn known_filesystem(name: &str) -> &str {
    if FILESYSTEMS.contains(&name) {
        name
    } else if name.starts_with("fuse.") {
        "fuse.other"
    } else {
        "other"
    }
}

/// Options of mounts whose values are words of the kernel.
const OPTIONS_WITH_WORDS: [&str; 14] = [
    "cache",
    "compress",
    "compress-force",
    "data",
    "discard",
    "errors",
    "jqfmt",
    "local_lock",
    "lookupcache",
    "mode",
    "proto",
    "sec",
    "vers",
    "xattr",
];

/// The options of a mount that tell how it works, and not of whom, from where or with what names.
pub(super) fn harmless_options(options: &str) -> String {
    let mut kept = Vec::new();
    for option in options.split([',', ' ']) {
        let is_kept = match option.split_once('=') {
            None => is_plain(option),
            Some((name, value)) => {
                let is_number = value.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with("id");
                is_plain(name) && is_plain(value) && (is_number || OPTIONS_WITH_WORDS.contains(&name))
            }
        };
        if is_kept {
            kept.push(option);
        }
    }
    kept.join(",")
}

fn is_plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    (1..=32).contains(&text.len())
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.:".contains(&byte))
}

/// What of a word of a command line may stay; none where it may hold a name.
pub(super) fn kept_word(word: &str) -> Option<&str> {
    let last = word.rsplit('/').next().unwrap_or(word);
    if KNOWN_WORDS.contains(&last) {
        return Some(last);
    }
    if word.bytes().all(|byte| byte.is_ascii_digit()) || is_simulation(word) {
        return Some(word);
    }
    let option = word.strip_prefix('-')?;
    if let Some(long) = option.strip_prefix('-') {
        let (name, value) = long.split_once('=').unwrap_or((long, "0"));
        return (is_plain(name) && kept_word(value).is_some()).then_some(word);
    }
    // Names of events and profiles stand right behind their letters.
    if option.starts_with(['X', 'y']) {
        return None;
    }
    let known = LONG_LETTERS.iter().find_map(|begin| option.strip_prefix(begin));
    let rest = known.unwrap_or_else(|| {
        let letters = option.bytes().take_while(u8::is_ascii_alphabetic).count().min(3);
        &option[letters..]
    });
    rest.chars().all(|c| OF_NUMBERS.contains(c)).then_some(word)
}

/// The engine that simulates, with what it is to do.
fn is_simulation(word: &str) -> bool {
    let rest = word.strip_prefix("sim:");
    rest.is_some_and(|rest| {
        rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "=,.#".contains(c))
    })
}

/// A word that does not stay: of an option at least which one it is.
pub(super) fn without_value(word: &str) -> String {
    if let Some((name, _)) = word.split_once('=')
        && name.strip_prefix("--").is_some_and(is_plain)
    {
        return format!("{name}={WORD_LEFT_OUT}");
    }
    let mut letters = word.strip_prefix('-').unwrap_or_default().chars();
    match letters.next().filter(char::is_ascii_alphabetic) {
        Some(letter) => format!("-{letter}{WORD_LEFT_OUT}"),
        None => WORD_LEFT_OUT.to_string(),
    }
}

/// What the ready-made comparisons call their sides.
const SIDES: [&str; 4] = ["past the cache", "through the cache", "cache on", "cache off"];
/// Whether it is one of those, and no target.
pub(super) fn is_of_a_study(text: &str) -> bool {
    SIDES.contains(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_kernel_stay_and_others_do_not() {
        for name in [
            "sda",
            "sdaa12",
            "vdb",
            "nvme0n1p2",
            "nvme0c1n1",
            "dm-3",
            "md127",
            "mmcblk0p1",
            "loop7",
            "rport-1:0-2",
        ] {
            assert!(is_kernel_device(name), "{name}");
        }
        for name in
            ["sd", "md_alice", "md/alice", "nvme-alice", "loopback", "disk", "sdalice", "", "dm-", "vg-lv"]
        {
            assert!(!is_kernel_device(name), "{name}");
        }
        for name in ["kcryptd-254:0-1", "md0_raid5", "loop0", "dmcrypt_write/254:0"] {
            assert!(is_kernel_thread(name), "{name}");
        }
        for name in ["md_alice_raid5", "xfs-buf/vg-alice", "jbd2/alice-8"] {
            assert!(!is_kernel_thread(name), "{name}");
        }
        assert_eq!(
            harmless_options(
                "rw,relatime,data=journal,username=alice,addr=10.0.0.1,uid=1000,rsize=4096,upperdir=/a"
            ),
            "rw,relatime,data=journal,rsize=4096"
        );
        assert_eq!(known_filesystem("fuse.alice"), "fuse.other");
    }

    #[test]
    fn words_of_a_command_line_stay_where_they_are_numbers() {
        for word in [
            "-c4M",
            "-b8K",
            "-g100i",
            "-rdpct90/10:10/90",
            "-ag0,0,1",
            "-Sh",
            "-Suw",
            "-Zr",
            "-Z1M",
            "-vs",
            "-L",
            "--json",
            "--engine",
            "sim:latency=100us,cpu=2us",
            "60",
            "-Rxml",
            "--batch=4",
        ] {
            assert_eq!(kept_word(word), Some(word));
        }
        assert_eq!(kept_word("/home/alice/bin/truespd run"), Some("truespd run"));
        for (word, instead) in [
            ("-Xalice.xml", "-Xleft-out"),
            ("-ysalice", "-yleft-out"),
            ("-Z20M,/home/alice/x", "-Zleft-out"),
            ("--json=/home/alice", "--json=left-out"),
            ("alice.dat", "left-out"),
            ("--label=alice", "--label=left-out"),
        ] {
            assert_eq!((kept_word(word), without_value(word).as_str()), (None, instead));
        }
    }
}
