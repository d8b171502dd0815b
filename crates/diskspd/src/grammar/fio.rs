//! fio's words of a command line in DiskSpd's, for people who type one of them.

/// How a word is said here.
enum Here {
    /// An option with fio's value, or with this placeholder.
    Option(&'static str, &'static str),
    Words(&'static str),
    /// It depends on the value.
    By(fn(&str) -> String),
}

use Here::{By, Option as Opt, Words};

/// fio's options on a command line. Those that have no counterpart are not in it.
const HERE: &[(&str, Here)] = &[
    ("rw", By(pattern)),
    ("readwrite", By(pattern)),
    ("bs", Opt("-b", "<size>")),
    ("blocksize", Opt("-b", "<size>")),
    ("iodepth", Opt("-o", "<n>")),
    ("numjobs", Opt("-t", "<n>")),
    ("runtime", Opt("-d", "<seconds>")),
    ("ramp_time", Opt("-W", "<seconds>")),
    ("size", Words("-c<size> makes a file of that size; -f<size> tests only so much of an existing one")),
    ("filesize", Words("-c<size> makes a file of that size")),
    ("filename", Words("the file or device is the last word of the line, without an option")),
    ("directory", Words("the file is the last word of the line, without an option")),
    ("name", Words("a run needs no name: leave it out")),
    ("ioengine", By(engine)),
    ("direct", By(direct)),
    ("buffered", Words("through the page cache is the default; -Su is past it")),
    ("sync", Words("-Sw writes through, -Sh also bypasses the page cache")),
    ("fsync", Words("-Sw or -Sh makes each write durable; there is no flush after some number of writes")),
    (
        "fdatasync",
        Words("-Sw or -Sh makes each write durable; there is no flush after some number of writes"),
    ),
    ("rwmixread", By(|value| mix(value, |reads| 100 - reads))),
    ("rwmixwrite", By(|value| mix(value, |writes| writes))),
    ("rate_iops", By(|value| format!("-g{}i, for each thread and target", or(value, "<n>")))),
    (
        "rate",
        Words(
            "-g<n> limits to <n> bytes per millisecond, -g<n>i to <n> I/Os per second, for each thread and target",
        ),
    ),
    ("thinktime", Words("-j<ms> with -i<n>: a pause after every <n> I/Os")),
    ("offset", Opt("-B", "<size>")),
    ("offset_increment", Opt("-T", "<size>")),
    ("randseed", Opt("-z", "<seed>")),
    ("cpus_allowed", Opt("-a", "<list>")),
    ("zero_buffers", Words("-Z writes zeros")),
    ("refill_buffers", Words("-Zr fills the buffer with new random bytes before each write")),
    ("prio", Words("-I1 or -I2 lowers the priority")),
    ("output", Words("redirect standard output (> file), or --text FILE, --xml FILE, --json FILE")),
    (
        "output-format",
        By(|value| match value {
            "json" | "json+" => "-Rjson, or --json FILE beside the text".to_string(),
            _ => "-Rtext, -Rxml, -Rjson or -Rcsv".to_string(),
        }),
    ),
    ("time_based", Words("a run always lasts as long as -d says: leave it out")),
    ("group_reporting", Words("totals over all threads are always there: leave it out")),
    ("thread", Words("it always uses threads: leave it out")),
    ("invalidate", Words("-Su bypasses the page cache: leave it out")),
    ("norandommap", Words("random I/O never keeps a map of what it has read: leave it out")),
    ("lat_percentiles", Words("-L measures latencies and shows their percentiles")),
    ("status-interval", Words("-D shows intervals")),
];

/// What a long option of fio is here; `typed` without its dashes, and its value when it stands behind `=` or
/// in the next word.
pub fn said_here(typed: &str, next: Option<&str>) -> Option<String> {
    let (name, value) = typed.split_once('=').unwrap_or((typed, ""));
    let (_, here) = HERE.iter().find(|(known, _)| *known == name)?;
    let value = if value.is_empty() { next.unwrap_or_default() } else { value };
    let words = match here {
        Opt(option, placeholder) => format!("{option}{}", or(value, placeholder)),
        Words(words) => words.to_string(),
        By(of) => of(value),
    };
    Some(format!("--{name} is a word of fio; here: {words}"))
}

fn or<'v>(value: &'v str, placeholder: &'v str) -> &'v str {
    if value.is_empty() { placeholder } else { value }
}

fn pattern(value: &str) -> String {
    let words = match value {
        "read" => "-w0 (sequential is the default)",
        "write" => "-w100 (sequential is the default)",
        "randread" => "-r -w0",
        "randwrite" => "-r -w100",
        "rw" | "readwrite" => "-w50 (sequential is the default; -w is the percentage of writes)",
        "randrw" => "-r -w50 (-w is the percentage of writes)",
        _ => "-r for random, -s for sequential, and -w<pct> for the percentage of writes",
    };
    words.to_string()
}

fn engine(value: &str) -> String {
    match value {
        "libaio" | "io_uring" | "psync" | "mmap" | "null" => format!("--engine {value}"),
        "sync" | "pvsync" | "pvsync2" => "--engine psync".to_string(),
        "posixaio" => "--engine threads".to_string(),
        _ => "--engine NAME; without it the best one runs".to_string(),
    }
}

fn direct(value: &str) -> String {
    match value {
        "0" => "through the page cache is the default: leave it out".to_string(),
        _ => "-Su; -Sh also makes each write durable".to_string(),
    }
}

fn mix(value: &str, writes: fn(u64) -> u64) -> String {
    match value.parse::<u64>().ok().filter(|percent| *percent <= 100) {
        Some(percent) => format!("-w{} (the percentage of writes)", writes(percent)),
        None => "-w<pct>, the percentage of writes".to_string(),
    }
}

/// Every option that is said here.
pub fn names() -> impl Iterator<Item = &'static str> {
    HERE.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::arguments::is_option;

    #[test]
    fn each_hint_begins_with_what_the_parser_takes() {
        for (typed, wanted) in [
            ("rw=randread", "-r -w0"),
            ("readwrite=randrw", "-r -w50"),
            ("bs=4k", "-b4k"),
            ("iodepth=32", "-o32"),
            ("numjobs=4", "-t4"),
            ("runtime=60", "-d60"),
            ("direct=1", "-Su"),
            ("rwmixread=70", "-w30"),
            ("rwmixwrite=70", "-w70"),
            ("rate_iops=1000", "-g1000i"),
            ("ioengine=libaio", "--engine libaio"),
            ("ioengine=sync", "--engine psync"),
        ] {
            let words = said_here(typed, None).unwrap_or_else(|| panic!("{typed}"));
            let here = words.split_once("here: ").expect("says what it is here").1;
            assert!(here.starts_with(wanted), "{typed}: {words}");
            if !wanted.starts_with("--") {
                wanted.split(' ').for_each(|word| assert!(is_option(word), "{word}"));
            }
        }
        assert_eq!(said_here("bs", Some("8k")).as_deref(), Some("--bs is a word of fio; here: -b8k"));
        assert_eq!(said_here("bs", None).as_deref(), Some("--bs is a word of fio; here: -b<size>"));
        assert_eq!(said_here("overwrite", None), None);
    }

    #[test]
    fn no_word_of_fio_is_one_of_ours() {
        for name in names() {
            assert!(said_here(name, None).is_some(), "{name}");
            assert!(crate::grammar::rows::find(&format!("-{name}")).is_none(), "{name}");
        }
    }
}
