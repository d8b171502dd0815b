//! The options: one row each. Parser, help, hints and refusals are made from these rows.
//!
//! To add an option, add a row and its function. Letters that DiskSpd uses (2.2, and 2.3 in
//! `command-line.md` §14) keep DiskSpd's meaning; long options are TrueSpd's own.

use super::draft::Draft;
use crate::grammar::offers::{self, Offers};
use crate::grammar::options::{affinity, caching, extent, load, long, pattern, report, windows};
use crate::grammar::value::{Slip, Value};

/// Reads the value of an option into the draft.
pub type Parse = fn(&mut Draft, &Value) -> Result<(), Slip>;

/// An option, or one form of it.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Letters after the dash; of two rows that fit, the one with more letters counts.
    pub name: &'static str,
    /// When not empty, the row only counts if the value starts with one of these characters.
    pub starts: &'static str,
    /// The value as shown; empty when the option takes none.
    pub value: &'static str,
    /// What it does, in one or two lines.
    pub help: &'static str,
    /// What is different or worth knowing on Linux; empty when nothing is.
    pub linux: &'static str,
    /// What a shell may offer as its value.
    pub offers: Offers,
    /// Names under which findings of the profile's rules point at it.
    pub keys: &'static [&'static str],
    /// Read in the first pass (`command-line.md` §4).
    pub first_pass: bool,
    /// May be given together with `-X`.
    pub with_profile: bool,
    /// Reads it.
    pub parse: Parse,
}

/// Rows under a common heading of the help.
#[derive(Debug)]
pub struct Section {
    pub title: &'static str,
    pub rows: &'static [Row],
}

impl Row {
    const fn starts(mut self, starts: &'static str) -> Self {
        self.starts = starts;
        self
    }

    const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    const fn linux(mut self, linux: &'static str) -> Self {
        self.linux = linux;
        self
    }

    const fn offers(mut self, offers: Offers) -> Self {
        self.offers = offers;
        self
    }

    const fn keys(mut self, keys: &'static [&'static str]) -> Self {
        self.keys = keys;
        self
    }

    const fn first_pass(mut self) -> Self {
        self.first_pass = true;
        self
    }

    const fn with_profile(mut self) -> Self {
        self.with_profile = true;
        self
    }

    /// A long option (`--name`).
    pub fn is_long(&self) -> bool {
        self.name.starts_with('-')
    }

    /// The option as one would write it down: `-b<size>`, `--engine NAME`.
    pub fn form(&self) -> String {
        let gap = if self.is_long() && !self.value.is_empty() { " " } else { "" };
        format!("-{}{gap}{}", self.name, self.value)
    }
}

const fn row(name: &'static str, value: &'static str, parse: Parse) -> Row {
    Row {
        name,
        starts: "",
        value,
        help: "",
        linux: "",
        offers: Offers::Nothing,
        keys: &[],
        first_pass: false,
        with_profile: false,
        parse,
    }
}

/// All rows.
pub fn all() -> impl Iterator<Item = &'static Row> {
    SECTIONS.iter().flat_map(|section| section.rows)
}

/// The row of an option given without its dash, e.g. `b4k` or `-engine=psync`.
pub fn find(option: &str) -> Option<&'static Row> {
    if option.starts_with('-') {
        let name = option.split_once('=').map_or(option, |(name, _)| name);
        return all().find(|row| row.name == name);
    }
    let fits = |row: &&Row| match option.strip_prefix(row.name) {
        None => false,
        Some(_) if row.starts.is_empty() => true,
        Some(value) => value.starts_with(|c| row.starts.contains(c)),
    };
    // Longest name; among equals a row that asks for a certain start.
    all().filter(fits).max_by_key(|row| (row.name.len(), !row.starts.is_empty()))
}

const DIGITS: &str = "0123456789";

/// The table.
pub static SECTIONS: &[Section] = &[
    Section {
        title: "Size and range of the target",
        rows: &[
            row("b", "<size>", extent::block).offers(offers::BLOCKS)
                .keys(&["-b"])
                .first_pass()
                .help("I/O size, 1 to 4294967294 bytes, default 64K; also the unit of the suffix b.")
                .linux(
                    "a single I/O is at most 2G - 4K; with -Su or -Sh a multiple of the device's \
                alignment.",
                ),
            row("B", "<base>[:<length>]", extent::base)
                .keys(&["-B"])
                .help("Start of the tested range, and its length. Default: from 0 to the end.")
                .linux("with -Su or -Sh a multiple of the device's alignment; a base beyond the end is refused."),
            row("f", "<size>", extent::maximum).offers(offers::FILE_SIZES)
                .starts(DIGITS)
                .keys(&["-f"])
                .help("End of the tested range, counted from the start of the target. Default: its end."),
            row("f", "<rst>", extent::access_hints).offers(offers::HINTS)
                .help("Access hints: r random, s sequential scan, t temporary file; one or more letters.")
                .linux("posix_fadvise for r and s (r wins over s); t has no counterpart and is only kept in the profile."),
            row("c", "<size>", extent::create).offers(offers::FILE_SIZES)
                .keys(&["-c"])
                .help("Create the target files with this size before the run.")
                .linux(
                    "every byte is written once, so that reads reach the device; a file of that size that \
                TrueSpd made is reused (see --recreate). Not with devices.",
                ),
        ],
    },
    Section {
        title: "Access pattern",
        rows: &[
            row("s", "[<size>]", pattern::sequential).offers(offers::STEPS).keys(&["-s"]).help(
                "Sequential I/O (the default); the distance between successive I/Os, default one \
                block.",
            ),
            row("si", "[<size>]", pattern::interlocked).offers(offers::STEPS)
                .keys(&["-si", "-s"])
                .help("Sequential; all threads of a target share one offset.")
                .linux("the offset is an atomic counter."),
            row("r", "[<size>]", pattern::random).offers(offers::STEPS)
                .keys(&["-r"])
                .help("Random I/O; the alignment of its offsets, default one block.")
                .linux("with -Su or -Sh a multiple of the device's alignment."),
            row("rs", "<pct>", pattern::mixed).offers(offers::MIXED).keys(&["-r", "-rs"]).help(
                "Mixed: this percentage (1 to 100) of the I/O is random, the rest is sequential from the \
                last offset. Alignment from -r<size>.",
            ),
            row("rdpct", "<io>/<target>[:...]", pattern::distribution_percent).keys(&["-rd"]).help(
                "Random I/O by shares: <io> percent of it over the next <target> percent of the \
                target. Needs -r or -rs.",
            ),
            row("rdabs", "<io>/<size>[:...]", pattern::distribution_absolute).keys(&["-rd"]).help(
                "Random I/O by shares over absolute sizes: -rdabs90/10G sends 90 % to the first \
                10G. Needs -r or -rs.",
            ),
            row("p", "", pattern::parallel)
                .keys(&["-p"])
                .help("Parallel sequential: each outstanding request goes through the target on its own."),
            row("T", "<size>", pattern::thread_stride).offers(offers::STEPS)
                .keys(&["-T"])
                .help("Distance between the starting offsets of successive threads on a target."),
        ],
    },
    Section {
        title: "Reads, writes and what is written",
        rows: &[
            row("w", "<pct>", load::write_percent).offers(offers::WRITES)
                .keys(&["-w"])
                .help(
                    "Percentage of writes, 0 to 100, default 0. WARNING: writes destroy what the target \
                holds.",
                )
                .linux(
                    "targets with data that TrueSpd did not make are refused (see --overwrite); -w0 \
                opens for reading only.",
                ),
            row("Z", "<size>[,<file>]", load::source_data).offers(offers::SOURCES).starts(DIGITS).keys(&["-Z"]).help(
                "Each write takes its data from a random place in a source of this size, which is filled \
                with random bytes or from a file.",
            ),
            row("Zr", "", load::random_data).help(
                "Fill the write buffer with new random bytes before each write (costs processor time).",
            ),
            row("Z", "", load::zero_data).help("Write zeros.").linux("some devices do not store zeros."),
        ],
    },
    Section {
        title: "Threads and requests",
        rows: &[
            row("t", "<n>", load::threads_per_target).offers(offers::THREADS)
                .keys(&["-t"])
                .help("Threads per target, default 1. Not with -F."),
            row("F", "<n>", load::threads_total).offers(offers::THREADS)
                .keys(&["-F"])
                .help("Threads in total; each works on every target."),
            row("o", "<n>", load::requests_per_target).offers(offers::DEPTHS)
                .keys(&["-o"])
                .help("Outstanding I/Os per thread and target, default 2; 1 is synchronous.")
                .linux("above 1 with io_uring, or with the engine of --engine."),
            row("O", "<n>", load::requests_per_thread).offers(offers::DEPTHS)
                .keys(&["-O"])
                .help("Outstanding I/Os per thread over all targets; each I/O picks a target. Only with -F."),
            row("x", "", load::completion_routines)
                .keys(&["-x"])
                .help("Reissue each request from its own completion.")
                .linux("no completion routines exist: requests are reissued one by one."),
            row("u", "[n][<batch>[p]]", load::ring)
                .keys(&["-u"])
                .help(
                    "Requests per submission to the ring: a count, or a percentage with p; default 25p. \
                n: buffers not registered.",
                )
                .linux("the ring is io_uring."),
            row("oc", "<n>", load::completion_batch).offers(offers::BATCHES)
                .keys(&["-oc"])
                .help("Completions taken at a time, default 16."),
            row("bs", "<n|p>", load::buffer_separation).offers(offers::SEPARATION)
                .keys(&["-bs"])
                .help("Buffers of different threads: p separated (default), n packed.")
                .linux("always separated; n is only kept in the profile."),
        ],
    },
    Section {
        title: "Processors",
        rows: &[
            row("a", "[<list>]", affinity::list).offers(offers::PROCESSORS)
                .keys(&["-a"])
                .help(
                    "Pin threads round robin to the processors of the list: -a0,2,8-11, with groups \
                -ag0,0,1,g1,0, or a whole group -ag1. Several lists add up. -a and -ag alone are the default.",
                )
                .linux(
                    "processor = 64 x group + number; without group any CPU id. Default: all CPUs the \
                process may use, ascending.",
                ),
            row("a", "<placement>", affinity::placement).offers(offers::PLACEMENTS)
                .starts("cspPeEu")
                .keys(&["-a<placement>"])
                .help(
                    "Order without a list: c a thread per core first, s spread over groups, p performance \
                cores first within each group, P over all groups, e/E the same for efficiency cores, up in order \
                of number. Letters may be joined: -acsE.",
                )
                .linux("the default is ascending CPU ids."),
            row("n", "", affinity::off).keys(&["-n"]).help("Do not pin threads. Not with a list of -a."),
        ],
    },
    Section {
        title: "Caching",
        rows: &[
            row("S", "[bhmruw]", caching::cache).offers(offers::CACHING)
                .keys(&["-S"])
                .help(
                    "b cached (default), u unbuffered, w write-through, h = uw, m memory mapped, r \
                without client cache. -S is -Su. Sets: b h m r u w bm bw mr mw rw uw bmw mrw.",
                )
                .linux(
                    "u is O_DIRECT, w is O_DSYNC, m is mmap, r is O_DIRECT on network file systems \
                only. I/O is never cached without a message. NVMe commands (/dev/ngXnY) need -Su or -Sh; w is FUA \
                there. y and Y of DiskSpd 2.3 (BypassIO) change nothing.",
                ),
            row("h", "", caching::all_off)
                .keys(&["-S"])
                .help("The old name of -Sh.")
                .linux("O_DIRECT and O_DSYNC. For help use -? or --help."),
            row("N", "<v|n|i>", caching::flush).offers(offers::FLUSHES)
                .keys(&["-N"])
                .help("Flush after each mapped write. Needs -Sm.")
                .linux(
                    "v msync; n cache-line write-back and fence, i without fence, both on DAX files only.",
                ),
        ],
    },
    Section {
        title: "Rate and pauses",
        rows: &[
            row("g", "<n>[i]", load::rate).offers(offers::RATES)
                .keys(&["-g"])
                .help(
                    "Limit per thread and target: <n> bytes per millisecond, or with i <n> I/Os per \
                second.",
                )
                .linux("exact: no rounding to whole bytes per millisecond."),
            row("i", "<n>", load::burst)
                .keys(&["-i"])
                .help("I/Os per burst, shared by the threads of the target. Needs -j."),
            row("j", "<ms>", load::pause)
                .keys(&["-j"])
                .help("Pause between bursts in milliseconds. Needs -i."),
            row(":", "<flags>", report::experiment_flags)
                .first_pass()
                .with_profile()
                .help("Experiment bits; bit 1: long sleeps under a rate limit.")
                .linux("accepted, but sleeps are always exact."),
        ],
    },
    Section {
        title: "Time and random numbers",
        rows: &[
            row("d", "<s>", report::duration).offers(offers::SECONDS)
                .keys(&["-d"])
                .first_pass()
                .with_profile()
                .help("Measured time in seconds, default 10."),
            row("W", "<s>", report::warmup).offers(offers::PAUSES)
                .first_pass()
                .with_profile()
                .help("Warm-up in seconds before the measured time, default 5."),
            row("C", "<s>", report::cooldown).offers(offers::PAUSES)
                .first_pass()
                .with_profile()
                .help("Cool-down in seconds after the measured time, default 0."),
            row("z", "[<seed>]", report::seed)
                .first_pass()
                .with_profile()
                .help("Seed of the random numbers, default 0; -z alone takes the milliseconds since boot."),
        ],
    },
    Section {
        title: "Results",
        rows: &[
            row("L", "", report::latency).keys(&["-L"]).help("Measure latencies."),
            row("D", "[<ms>]", report::intervals).offers(offers::INTERVALS)
                .keys(&["-D"])
                .help("IOPS statistics per interval, default 1000 ms."),
            row("R", "<format>", report::result_format).offers(Offers::Formats).first_pass().with_profile().help(
                "Format of the result on standard output: text (the default) or xml; TrueSpd's own are json, csv and \
                intervals.",
            ),
            row("Rp", "[text|xml]", report::profile_only).offers(offers::TEXT_OR_XML)
                .first_pass()
                .with_profile()
                .help("Print the profile of these options and run nothing."),
            row("Rs", "[text|xml]", report::system_information).offers(offers::TEXT_OR_XML)
                .first_pass()
                .with_profile()
                .help("Print information about the system and run nothing. Must be the only argument."),
            row("v", "", report::verbose)
                .first_pass()
                .with_profile()
                .help("Verbose: tell what is done.")
                .linux("on standard error, so that standard output holds the result only."),
            row("vs", "", report::verbose_stats)
                .first_pass()
                .with_profile()
                .help("Statistics of the waits for completions."),
            row("P", "[<n>]", report::progress)
                .help("A dot for every <n> completed I/Os of a thread, default 65536.")
                .linux("on standard error."),
        ],
    },
    Section {
        title: "Resources",
        rows: &[
            row("l", "", load::large_pages)
                .keys(&["-l"])
                .help("Large pages for I/O buffers.")
                .linux("MAP_HUGETLB; reserve pages with vm.nr_hugepages."),
            row("I", "<1|2|3>", load::priority).offers(offers::PRIORITIES)
                .help("I/O priority: 1 very low, 2 low, 3 normal (default).")
                .linux(
                    "1 idle class, 2 best-effort level 7; only some schedulers (bfq, mq-deadline) \
                honour it.",
                ),
        ],
    },
    Section {
        title: "Events and tracing",
        rows: &[
            row("ys", "<name>", windows::start_event)
                .help("Signal this event when the measurement starts.")
                .linux("events are files in shared memory, for each user."),
            row("yf", "<name>", windows::finish_event).help("Signal this event when the measurement ends."),
            row("yr", "<name>", windows::wait_event).help("Wait for this event before the warm-up."),
            row("yp", "<name>", windows::stop_event).help("Stop when this event is set; Ctrl+C sets it."),
            row("ye", "<name>", windows::set_event)
                .help("Set this existing event and exit.")
                .linux("exit code 0."),
            row("e", "<NAME>", windows::trace).offers(offers::TRACES)
                .help(
                    "Trace: PROCESS THREAD IMAGE_LOAD DISK_IO MEMORY_PAGE_FAULTS MEMORY_HARD_FAULTS \
                NETWORK REGISTRY.",
                )
                .linux("kept in the profile, but nothing is traced."),
            row("eq", "", windows::perf_timer)
                .help("Trace clock: performance counter.")
                .linux("kept in the profile."),
            row("es", "", windows::system_timer)
                .help("Trace clock: system time.")
                .linux("kept in the profile."),
            row("ec", "", windows::cycles_counter)
                .help("Trace clock: processor cycles.")
                .linux("kept in the profile."),
            row("ep", "", windows::paged_memory)
                .help("Trace into paged memory.")
                .linux("kept in the profile."),
        ],
    },
    Section {
        title: "XML profiles",
        rows: &[row("X", "<file>", report::profile_file).offers(Offers::File).first_pass().with_profile().help(
            "Run an XML profile. With it only -: -C -d -W -R -v -z, long options, and targets \
                that replace its templates *1, *2, ...",
        )],
    },
    Section {
        title: "Help and TrueSpd's own options",
        rows: &[
            row("?", "", report::usage).help("This help.").linux("quote it as '-?'."),
            row("-help", "", report::help)
                .with_profile()
                .help("This help. With an option behind it (--help -b, --help overwrite) only what that one does."),
            row("V", "", report::version).with_profile().help("The version."),
            row("-version", "", report::version).with_profile().help("The version."),
            row("-engine", "NAME[:parameters]", long::engine).offers(Offers::Engines)
                .with_profile()
                .help("The engine that issues I/O, instead of the best one available; listed below."),
            row("-overwrite", "PATH", long::overwrite).offers(Offers::Target).with_profile().help(
                "Allows a write test, or -c, on this target although it holds data that TrueSpd did not \
                make. PATH is the target again, a disk not by #n. Repeatable. A target in use is refused all the same.",
            ),
            row("-unchecked", "PATH", long::unchecked).offers(Offers::Target).with_profile().help(
                "Allows a write test on this target although the system does not tell whether it is in use: /proc \
                or /sys is missing, the file belongs to another user, or its file system lies over another one. PATH as for --overwrite. A target that is known to be in use is refused all the same.",
            ),
            row("-quick-check", "", long::quick_check).with_profile().help(
                "Do not look through a device before a write test: samples of it are enough. Without this, as much of \
                it is read as 3 seconds allow, and a note says which data can be missed.",
            ),
            row("-map", "PREFIX=FOLDER", long::map).with_profile().help(
                "A folder of this machine stands for a path of Windows with all that is in it, in targets, in profiles of -X and in \
                files of -Z: --map 'C:\\=/mnt/c'. Can be repeated; the longest beginning that fits counts.",
            ),
            row("-exclusive", "", long::exclusive).with_profile().help(
                "Refuse to run while another run of TrueSpd has a target of this one, and keep later runs from it. \
                Without it, runs share a target, and each warns of the other.",
            ),
            row("-json", "FILE", long::json).offers(Offers::File).with_profile().help(
                "Also write the result to this file as JSON: everything measured, for truespd render and \
                merge. Repeatable. With - as the file the result goes to standard output in place of the text. All this \
                goes for the next four, too.",
            ),
            row("-xml", "FILE", long::xml).offers(Offers::File).with_profile().help("Also write the XML result to this file."),
            row("-text", "FILE", long::text).offers(Offers::File).with_profile().help("Also write the text result to this file."),
            row("-csv", "FILE", long::csv).offers(Offers::File)
                .with_profile()
                .help("Also write a table of threads, targets, reads and writes to this file."),
            row("-intervals", "FILE", long::intervals).offers(Offers::File).with_profile().help(
                "Also write the course of the run to this file: a table of its intervals (-D, or those of every \
                result) and targets.",
            ),
            row("-quiet", "", long::quiet).with_profile().help(
                "Standard error holds only what DiskSpd would print there: errors and its warnings. No notes, and a \
                verdict only with --verdict. The variable TRUESPD_QUIET=1 does the same.",
            ),
            row("-verdict", "", long::verdict).with_profile().help(
                "Show all of the verdict on standard error: every finding with its numbers and advice, and the \
                rules that lacked evidence. Without it, one line, or none where standard error is the file or pipe \
                of standard output (2>&1).",
            ),
            row("-require", "<certified|suspect>", long::require).offers(offers::GRADES)
                .with_profile()
                .help("Exit code 5 when the verdict is worse than this."),
            row("-progress", "", long::progress).with_profile().help(
                "Tell the progress also where standard error is no terminal: a line every 10 seconds with the phase, \
                the time left, IOPS, throughput and mean latency. On a terminal one line shows it anyway.",
            ),
            row("-live", "", long::live).with_profile().help(
                "truespd run only: show the run on a full screen while it goes on, with IOPS, throughput, latency, processors and \
                disks every second. Where standard error is no terminal it does what --progress does.",
            ),
            row("-metrics", "FILE", long::metrics).offers(Offers::File).with_profile().help(
                "Replace this file every second by a page for Prometheus (textfile collector of the node exporter): where \
                the run is, counters of I/Os, bytes and latency, and at the end the result with its verdict.",
            ),
            row("-events", "FILE", long::events).offers(Offers::File).with_profile().help(
                "Write a line of JSON to this file for everything that happens: the progress every second, files that are \
                made, warnings, the result. A file gets them at its end; a pipe or /dev/fd/3 goes as well.",
            ),
            row("-no-history", "", long::no_history)
                .with_profile()
                .help(
                    "Do not keep the result in the history. The variable TRUESPD_HISTORY=0 does the same. truespd run \
                    keeps every result, diskspd none, unless the configuration file says otherwise.",
                ),
            row("-keep-history", "", long::keep_history)
                .with_profile()
                .help("Keep the result in the history, also where the configuration file says no; see truespd history."),
            row("-store", "FILE", long::store).offers(Offers::File)
                .with_profile()
                .help("The file of the history, instead of that of the variable TRUESPD_STORE, of the configuration \
                file, or ~/.local/share/truespd/history.sqlite; implies --keep-history, as the next three do."),
            row("-label", "NAME", long::label).with_profile().help(
                "A name for the kept result, to find it by: truespd history show NAME. Several results may share one.",
            ),
            row("-tag", "NAME", long::tag).with_profile().help("A word to find the kept result by. Repeatable."),
            row("-revision", "TEXT", long::revision)
                .with_profile()
                .help("The revision of what is tested, kept with the result: --revision \"$(git rev-parse HEAD)\"."),
            row("-recreate", "", long::recreate).with_profile().help("Always create the files of -c again."),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_counts_and_the_start_of_the_value() {
        for (option, form) in [
            ("b4k", "-b<size>"),
            ("bsn", "-bs<n|p>"),
            ("f1r", "-f<size>"),
            ("fr1", "-f<rst>"),
            ("f", "-f<rst>"),
            ("rs50", "-rs<pct>"),
            ("r50", "-r[<size>]"),
            ("rdpct", "-rdpct<io>/<target>[:...]"),
            ("si8", "-si[<size>]"),
            ("Z", "-Z"),
            ("Zr", "-Zr"),
            ("Z1M", "-Z<size>[,<file>]"),
            ("ag0", "-a[<list>]"),
            ("acs", "-a<placement>"),
            ("o4", "-o<n>"),
            ("oc4", "-oc<n>"),
            ("vs", "-vs"),
            ("Rpxml", "-Rp[text|xml]"),
            ("-engine", "--engine NAME[:parameters]"),
            ("-engine=sim", "--engine NAME[:parameters]"),
        ] {
            assert_eq!(find(option).map(Row::form).as_deref(), Some(form), "{option}");
        }
        for option in ["", "q", "A", "y", "yx", "-", "-engin", "-enginee", "\u{e9}"] {
            assert!(find(option).is_none(), "{option}");
        }
    }

    #[test]
    fn every_row_can_be_found_and_explains_itself() {
        for row in all() {
            assert!(!row.help.is_empty() && row.help.ends_with('.'), "{}", row.form());
            assert!(row.linux.is_empty() || row.linux.ends_with('.'), "{}", row.form());
            let sample =
                format!("{}{}", row.name, row.starts.chars().next().map_or(String::new(), String::from));
            assert_eq!(find(&sample).map(Row::form), Some(row.form()), "{sample}");
        }
    }

    #[test]
    fn rows_of_the_first_pass_are_those_of_the_contract() {
        let mut letters: Vec<&str> = all().filter(|row| row.first_pass).map(|row| &row.name[..1]).collect();
        letters.dedup();
        letters.sort_unstable();
        assert_eq!(letters, [":", "C", "R", "W", "X", "b", "d", "v", "z"]);
    }
}
