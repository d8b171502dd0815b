//! The options: one row each. Parser, help, hints, refusals and completions are made from these rows.
//!
//! To add an option, add a row. Letters that DiskSpd uses (2.2, and 2.3 in `command-line.md` §14) keep DiskSpd's
//! meaning;
//! long options are TrueSpd's own.

use super::row::ALONE;
use super::row::Stop;
pub use super::row::{Offers, Row, Section};
use super::row::{Read, row};
use super::value::Unit;
use super::{options, target};
use truespd_core::profile::DistributionKind;

use Offers::{Engines, File, Formats, Target, Usual, UsualThenFile, Words};
use Read::{Anything, Count, CountOr0, Flag, Switch, Text, Value};

pub fn all() -> impl Iterator<Item = &'static Row> {
    SECTIONS.iter().flat_map(|section| section.rows)
}

/// The row of an option given without its dash, e.g. `b4k` or `-engine=psync`.
pub fn find(option: &str) -> Option<&'static Row> {
    if option.starts_with('-') {
        let name = option.split_once('=').map_or(option, |(name, _)| name);
        return all().find(|row| row.name == name);
    }
    // Longest name; among equals a row that asks for a certain start.
    all()
        .filter(|row| match option.strip_prefix(row.name) {
            None => false,
            Some(_) if row.starts.is_empty() => true,
            Some(value) => value.starts_with(|c| row.starts.contains(c)),
        })
        .max_by_key(|row| (row.name.len(), !row.starts.is_empty()))
}

const BLOCKS: Offers =
    Usual(&["512", "4K", "8K", "16K", "32K", "64K", "128K", "256K", "512K", "1M", "2M", "4M", "8M"]);
const TEXT_OR_XML: Offers = Words(&[("text", "as text"), ("xml", "as XML")]);
const HINTS: Offers = Words(&[
    ("r", "random"),
    ("s", "sequential scan"),
    ("t", "temporary file: only kept in the profile"),
    ("rs", "random and sequential scan: random counts"),
]);
const PLACEMENTS: Offers = Words(&[
    ("c", "a thread per core first"),
    ("s", "spread over groups"),
    ("p", "performance cores first within each group"),
    ("P", "performance cores first over all groups"),
    ("e", "efficiency cores first within each group"),
    ("E", "efficiency cores first over all groups"),
    ("up", "in order of number"),
    ("cs", "a thread per core first, spread over groups"),
]);
const CACHING: Offers = Words(&[
    ("", "unbuffered, as -Su"),
    ("b", "cached (the default)"),
    ("h", "unbuffered and write-through: O_DIRECT and O_DSYNC"),
    ("m", "memory mapped"),
    ("r", "without client cache: O_DIRECT on network file systems only"),
    ("u", "unbuffered: O_DIRECT"),
    ("w", "cached and write-through: O_DSYNC"),
    ("bm", "memory mapped, as m"),
    ("bw", "cached and write-through, as w"),
    ("mr", "memory mapped, without client cache"),
    ("mw", "memory mapped and write-through"),
    ("rw", "without client cache, write-through"),
    ("uw", "unbuffered and write-through, as h"),
    ("bmw", "memory mapped and write-through, as mw"),
    ("mrw", "memory mapped, without client cache, write-through"),
]);
const FLUSHES: Offers = Words(&[
    ("v", "msync"),
    ("n", "cache-line write-back and fence, on DAX files"),
    ("i", "cache-line write-back without fence, on DAX files"),
]);
const SEPARATION: Offers =
    Words(&[("p", "separated (the default)"), ("n", "packed: only kept in the profile")]);
const PRIORITIES: Offers = Words(&[
    ("1", "very low: idle class"),
    ("2", "low: best effort, level 7"),
    ("3", "normal (the default)"),
]);
const RELEASES: Offers = Words(&[("2.2", "the usual one"), ("2.3", "its forms and its defaults")]);
const ARRIVALS: Offers =
    Words(&[("even", "one after each period"), ("poisson", "at random, as from many clients")]);
const REQUIRED: Offers = Words(&[
    ("certified", "nothing speaks against the result"),
    ("suspect", "certified or suspect"),
    ("steady", "the rounds of --until-steady became steady"),
]);
const TRACES: Offers = Words(&[
    ("PROCESS", ""),
    ("THREAD", ""),
    ("IMAGE_LOAD", ""),
    ("DISK_IO", ""),
    ("MEMORY_PAGE_FAULTS", ""),
    ("MEMORY_HARD_FAULTS", ""),
    ("NETWORK", ""),
    ("REGISTRY", ""),
]);

const DIGITS: &str = "0123456789";
/// No finding points at the row.
const NO_KEYS: &[&str] = &[""];
const VERBOSE: &str = "-v or -vs";
const SNIA: &str = "--until-steady alone; --steady-rule gives another rule than SNIA's";
const EVENT: &str = "the name of the event is missing";
const FILE: &str = "the path of the file is missing";
const TARGET: &str = "the path of the target is missing";
// Why a line of a suite cannot have an option.
const RESULTS: &str = "it would be replaced by each run; --keep FOLDER keeps the document of every run";
const SINGLE: &str = "it is for single runs";
const COMMAND: &str = "give it to the command itself, for all runs";
const HISTORY: &str = "give it to the command itself, whose document is kept";
const CONSENT: &str = "give it to the command itself, where it counts for all runs";
const ONCE: &str = "it would write before every run; give it to the command itself, which writes once";
const MAPS: &str = "it is for single runs; name the target as it is called here";
const ONE_FILE: &str = "it names one file, and the suite runs many times";

pub static SECTIONS: &[Section] = &[
    Section {
        title: "Size and range of the target",
        rows: &[
            row("b", "<size>", Value(target::block))
                .offers(BLOCKS)
                .first_pass()
                .help("I/O size, 1 to 4294967294 bytes, default 64K; also the unit of the suffix b.")
                .linux("a single I/O is at most 2G - 4K; with -Su or -Sh a multiple of the device's alignment."),
            row("-mix", "<size>:<pct>[,...]", Value(target::mix))
                .of_targets()
                .offers(Usual(&["4K:60,64K:40", "4K:67,8K:10,16K:7,32K:3,64K:13"]))
                .first_pass()
                .help("I/Os of several sizes, each with its percentage of the I/Os; decimals are legal, and the sum is \
                       100. Random offsets are multiples of each I/O's own size, or of -r<size>. Not with -b."),
            row("B", "<base>[:<length>]", Value(target::base))
                .help("Start of the tested range, and its length. Default: from 0 to the end.")
                .linux("with -Su or -Sh a multiple of the device's alignment; a base beyond the end is refused."),
            row("f", "<size>", Value(target::maximum))
                .starts(DIGITS)
                .offers(Usual(&["1G", "4G", "10G", "32G", "100G"]))
                .help("End of the tested range, counted from the start of the target. Default: its end."),
            row("f", "<rst>", Value(target::access_hints))
                .offers(HINTS)
                .keys(NO_KEYS)
                .help("Access hints: r random, s sequential scan, t temporary file; one or more letters.")
                .linux("posix_fadvise for r and s (r wins over s); t has no counterpart and is only kept in the \
                        profile."),
            row("c", "<size>", Value(target::create))
                .offers(Usual(&["1G", "4G", "10G", "32G", "100G"]))
                .help("Create the target files with this size before the run.")
                .linux("every byte is written once, so that reads reach the device; a file of that size that \
                        TrueSpd made is reused (see --recreate). Not with devices."),
        ],
    },
    Section {
        title: "Access pattern",
        rows: &[
            row("s", "[<size>]", Value(|d, v| target::stride(d, v, false)))
                .offers(Usual(&["4K", "64K", "1M"]))
                .help("Sequential I/O (the default); the distance between successive I/Os, default one block."),
            row("si", "[<size>]", Value(|d, v| target::stride(d, v, true)))
                .offers(Usual(&["4K", "64K", "1M"]))
                .keys(&["-si", "-s"])
                .help("Sequential; all threads of a target share one offset.")
                .linux("the offset is an atomic counter."),
            row("r", "[<size>]", Value(target::random))
                .offers(Usual(&["4K", "64K", "1M"]))
                .help("Random I/O; the alignment of its offsets, default one block.")
                .linux("with -Su or -Sh a multiple of the device's alignment."),
            row("rs", "<pct>", Value(target::mixed))
                .offers(Usual(&["10", "25", "50", "75", "90"]))
                .keys(&["-r", "-rs"])
                .help("Mixed: this percentage (1 to 100) of the I/O is random, the rest is sequential from the \
                       last offset. Alignment from -r<size>."),
            row("rdpct", "<io>/<target>[:...]", Value(|d, v| target::distribution(d, v, DistributionKind::Percent)))
                .keys(&["-rd"])
                .help("Random I/O by shares: <io> percent of it over the next <target> percent of the target. \
                       Needs -r or -rs."),
            row("rdabs", "<io>/<size>[:...]", Value(|d, v| target::distribution(d, v, DistributionKind::Absolute)))
                .keys(&["-rd"])
                .help("Random I/O by shares over absolute sizes: -rdabs90/10G sends 90 % to the first 10G. Needs \
                       -r or -rs."),
            row("-zipf", "<exponent>", Value(target::zipf))
                .of_targets()
                .offers(Usual(&["0.6", "0.8", "0.9", "0.99", "1.2"]))
                .help("Random I/O by Zipf's law: the block of rank k gets I/O in proportion to k^-exponent, from \
                       above 0 to 20. All threads share the hot blocks, which lie scattered and change with -z. \
                       Not with -s and -rd."),
            row("p", "", Flag(|d| d.target.parallel = true))
                .help("Parallel sequential: each outstanding request goes through the target on its own."),
            row("T", "<size>", Value(target::thread_stride))
                .offers(Usual(&["4K", "64K", "1M"]))
                .help("Distance between the starting offsets of successive threads on a target."),
        ],
    },
    Section {
        title: "Reads, writes and what is written",
        rows: &[
            row("w", "<pct>", Value(options::write_percent))
                .offers(Usual(&["0", "10", "25", "30", "50", "70", "100"]))
                .help("Percentage of writes, 0 to 100, default 0. WARNING: writes destroy what the target holds.")
                .linux("targets with data that TrueSpd did not make are refused (see --overwrite); -w0 opens for \
                        reading only."),
            row("-flush-every", "<n>[:data]", Value(options::flush_every))
                .of_targets()
                .offers(Usual(&["1", "1:data", "10", "100"]))
                .help("Flush after every <n> writes of a thread on a target: fsync, or with :data fdatasync. The \
                       result has the latencies of the flushes. A flush covers the writes that completed before it: \
                       with -o1 all of them."),
            row("-trim", "<pct>", Value(options::trim_percent))
                .of_targets()
                .offers(Usual(&["5", "10", "20", "50", "100"]))
                .help("Percentage of trims (discards) among the I/Os, 1 to 100; the others read and write as -w says. \
                       The result has the latencies of the trims, and IOPS and MiB/s are those of reads and writes. \
                       WARNING: trims destroy what the target holds.")
                .linux("a device is trimmed by BLKDISCARD, a file by holes; the write guard is asked as for -w."),
            row("-verify", "", Flag(|d| d.target.verify = true))
                .of_targets()
                .help("Stamp every sector that is written with its address, its target, the run and a generation, and \
                       check every block that is read back during the test. 'truespd verify' reads all of it after the \
                       test and says what is missing. Never two I/Os on a block at once. A verified test measures \
                       less: do not compare its rates with others."),
            row("-verify-map", "<file>", Value(options::verify_map))
                .not_in_suites(ONE_FILE)
                .offers(File)
                .help("Keep the map of what was written in this file, on another disk than the target; otherwise it is \
                       kept in the state folder of the user. It takes 4 or 8 bytes for each block."),
            row("-verify-log", "<file or host:file>", Value(options::verify_log))
                .not_in_suites(ONE_FILE)
                .offers(File)
                .help("Tell this file while the test runs which writes are durable, for a power cut of the machine: a \
                       file on another disk, or HOST:FILE on another host, which ssh writes there. 'truespd verify \
                       --log' reads it. Needs -Sh, -Sw or --flush-every."),
            row("-verify-log-lost", "<stop|continue>", Value(options::verify_log_lost))
                .not_in_suites(ONE_FILE)
                .offers(Usual(&["stop", "continue"]))
                .help("What to do when that log goes away while the test runs: stop it (default), or go on without."),
            row("Z", "<size>[,<file>]", Value(options::source_data))
                .starts(DIGITS)
                .offers(UsualThenFile(&["1M", "20M", "100M", "1G"]))
                .help("Each write takes its data from a random place in a source of this size, which is filled \
                       with random bytes or from a file."),
            row("Zr", "", Value(options::random_data))
                .keys(NO_KEYS)
                .help("Fill the write buffer with new random bytes before each write (costs processor time)."),
            row("Z", "", Value(options::zero_data))
                .keys(NO_KEYS)
                .help("Write zeros.")
                .linux("some devices do not store zeros."),
        ],
    },
    Section {
        title: "Threads and requests",
        rows: &[
            row("t", "<n>", Count(Unit::Count, 1, |d, n| d.target.threads_per_file = n))
                .offers(Usual(&["1", "2", "4", "8", "16", "32"]))
                .help("Threads per target, default 1. Not with -F."),
            row("F", "<n>", Count(Unit::Count, 1, |d, n| d.span.thread_count = n))
                .offers(Usual(&["1", "2", "4", "8", "16", "32"]))
                .help("Threads in total; each works on every target."),
            row("o", "<n>", Count(Unit::Count, 1, |d, n| d.target.request_count = n))
                .offers(Usual(&["1", "2", "4", "8", "16", "32", "64", "128", "256"]))
                .help("Outstanding I/Os per thread and target, default 2; 1 is synchronous.")
                .linux("above 1 with io_uring, or with the engine of --engine."),
            row("O", "<n>", Count(Unit::Count, 1, |d, n| d.span.request_count = n))
                .offers(Usual(&["1", "2", "4", "8", "16", "32", "64", "128", "256"]))
                .help("Outstanding I/Os per thread over all targets; each I/O picks a target. Only with -F."),
            row("x", "", Flag(|d| d.span.completion_routines = true))
                .help("Reissue each request from its own completion.")
                .linux("no completion routines exist: requests are reissued one by one."),
            row("u", "[n][<batch>[p]]", Value(options::ring))
                .help("Requests per submission to the ring: a count, or a percentage with p; default 25p. n: \
                       buffers not registered.")
                .linux("the ring is io_uring."),
            row("oc", "<n>", Value(options::completion_batch))
                .offers(Usual(&["1", "4", "16"]))
                .help("Completions taken at a time, 1 to 16, default 16."),
            row("bs", "<n|p>", Value(options::buffer_separation))
                .offers(SEPARATION)
                .help("Buffers of threads: p so far apart that they share no sets of a cache, default of 2.3; n \
                       wherever the system puts them, default of 2.2.")
                .linux("16 MiB apart with 4 KiB pages and 64-byte lines, which costs addresses and no memory. -l \
                        counts more."),
        ],
    },
    Section {
        title: "Processors",
        rows: &[
            row("a", "[<list>]", Value(options::affinity))
                .offers(Usual(&["0", "0,1", "0-3", "g0"]))
                .help("Pin threads round robin to the processors of the list: -a0,2,8-11, with groups \
                       -ag0,0,1,g1,0, or a whole group -ag1. Several lists add up. -a and -ag alone are the \
                       default.")
                .linux("processor = 64 x group + number; without group any CPU id. Default: all CPUs the process \
                        may use, ascending."),
            row("a", "<placement>", Value(options::placement))
                .starts("cspPeEu")
                .offers(PLACEMENTS)
                .keys(&["-a<placement>"])
                .help("Order of the list, or of all processors: c a thread per core before second siblings, s over \
                       all groups instead of one after the other, p performance cores first, P with their \
                       siblings, e/E the same for efficiency cores. Letters may be joined: -acsE. -aup, alone, \
                       is the order of number. Beside c or s alone, p holds.")
                .linux("the default is ascending CPU ids."),
            row("n", "", Flag(|d| d.span.disable_affinity = true))
                .help("Do not pin threads. Not with a list of -a."),
        ],
    },
    Section {
        title: "Caching",
        rows: &[
            row("S", "[bhmruw]", Value(target::cache))
                .offers(CACHING)
                .help("b cached (default), u unbuffered, w write-through, h = uw, m memory mapped, r without \
                       client cache. -S is -Su. Sets: b h m r u w bm bw mr mw rw uw bmw mrw.")
                .linux("u is O_DIRECT, w is O_DSYNC, m is mmap, r is O_DIRECT on network file systems only. I/O is \
                        never cached without a message. NVMe commands (/dev/ngXnY) need -Su or -Sh; w is FUA \
                        there. y and Y of DiskSpd 2.3 (BypassIO) change nothing."),
            row("h", "", Value(target::all_off))
                .keys(&["-S"])
                .help("The old name of -Sh.")
                .linux("O_DIRECT and O_DSYNC. For help use -? or --help."),
            row("N", "<v|n|i>", Value(target::flush))
                .offers(FLUSHES)
                .help("Flush after each mapped write. Needs -Sm.")
                .linux("v msync; n cache-line write-back and fence, i without fence, both on DAX files only."),
        ],
    },
    Section {
        title: "Rate and pauses",
        rows: &[
            row("g", "<n>[i]", Value(options::rate))
                .offers(Usual(&["100i", "1000i", "10000i", "100000i", "102400", "1048576"]))
                .help("Limit per thread and target: <n> bytes per millisecond, or with i <n> I/Os per second.")
                .linux("exact: no rounding to whole bytes per millisecond."),
            row("-arrivals", "<even|poisson>", Value(options::arrivals))
                .of_targets()
                .offers(ARRIVALS)
                .help("When the I/Os of -g arrive: one after each period, or at random as from many clients \
                       (poisson). Default even."),
            row("i", "<n>", Count(Unit::Count, 1, |d, n| d.target.burst_ios = Some(n)))
                .help("I/Os per burst, shared by the threads of the target. Needs -j."),
            row("j", "<ms>", Count(Unit::Milliseconds, 1, |d, n| d.target.think_ms = Some(n)))
                .help("Pause between bursts in milliseconds. Needs -i."),
            row(":", "<flags>", Value(options::experiment_flags))
                .beside_profile()
                .help("Experiment bits; bit 1: long sleeps under a rate limit.")
                .linux("accepted, but sleeps are always exact."),
        ],
    },
    Section {
        title: "Time and random numbers",
        rows: &[
            row("d", "<s>", Value(options::duration))
                .offers(Usual(&["5", "10", "30", "60", "300", "600", "3600"]))
                .beside_profile()
                .help("Measured time in seconds, default 10."),
            row("W", "<s>", CountOr0(Unit::Seconds, |d, n| d.overrides.warmup_s = Some(n)))
                .offers(Usual(&["0", "5", "10", "30", "60"]))
                .beside_profile()
                .help("Warm-up in seconds before the measured time, default 5."),
            row("C", "<s>", CountOr0(Unit::Seconds, |d, n| d.overrides.cooldown_s = Some(n)))
                .offers(Usual(&["0", "5", "10", "30", "60"]))
                .beside_profile()
                .help("Cool-down in seconds after the measured time, default 0."),
            row("-until-steady", "", Switch(SNIA, options::until_steady))
                .beside_profile()
                .help("Measure in rounds of -d until the last 5 are steady by SNIA's rule: IOPS and mean latency range \
                       over 20 % of their average at most, and a line through them changes by 10 % at most. These 5 \
                       rounds are the result. After 25 rounds the run ends in any case: see --require steady."),
            row("-steady-rule", "<name>=<n>[,...]", Value(options::steady_rule))
                .offers(Usual(&[
                    "rounds=50",
                    "range=10,slope=5",
                    "window=5,rounds=25,range=20,slope=10",
                ]))
                .beside_profile()
                .help("--until-steady by another rule: window (rounds that must be steady), rounds (at most), range \
                       and slope (percent). What is left out is as SNIA has it: \
                       window=5,rounds=25,range=20,slope=10."),
            row("-precondition", "<n>x", Value(options::precondition))
                .not_in_suites(ONCE)
                .offers(Usual(&["1x", "2x"]))
                .beside_profile()
                .help("Before the test, write the tested range of every target <n> times: sequentially, random bytes, \
                       128K each. SNIA has 2x. WARNING: destroys what the target holds, also before a test that only \
                       reads; the write guard is asked as for -w100. Where it is stopped, the same command goes on \
                       from there within a day."),
            row("z", "[<seed>]", Value(options::seed))
                .beside_profile()
                .help("Seed of the random numbers, default 0; -z alone takes the milliseconds since boot."),
        ],
    },
    Section {
        title: "Results",
        rows: &[
            row("L", "", Flag(|d| d.span.measure_latency = true))
                .help("Measure latencies."),
            row("D", "[<ms>]", Value(options::intervals))
                .offers(Usual(&["100", "250", "500", "1000"]))
                .help("IOPS statistics per interval, default 1000 ms."),
            row("R", "<format>", Value(options::result_format))
                .offers(Formats)
                .beside_profile()
                .help("Format of the result on standard output: text (the default) or xml; TrueSpd's own are json, \
                       csv and intervals."),
            row("Rp", "[text|xml]", Value(options::profile_only))
                .not_in_suites("it runs nothing")
                .offers(TEXT_OR_XML)
                .beside_profile()
                .help("Print the profile of these options and run nothing."),
            row("Rs", "[text|xml]", Value(options::system_information))
                .offers(TEXT_OR_XML)
                .beside_profile()
                .help("Print information about the system and run nothing. Must be the only argument."),
            row("v", "", Switch(VERBOSE, |d| d.overrides.verbose = true))
                .beside_profile()
                .help("Verbose: tell what is done.")
                .linux("on standard error, so that standard output holds the result only."),
            row("vs", "", Switch(VERBOSE, |d| d.overrides.verbose_stats = true))
                .beside_profile()
                .help("Statistics of the waits for completions."),
            row("P", "[<n>]", Value(options::progress))
                .help("A dot for every <n> completed I/Os of a thread, default 65536.")
                .linux("on standard error."),
        ],
    },
    Section {
        title: "Resources",
        rows: &[
            row("l", "", Flag(|d| d.target.large_pages = true))
                .help("Large pages for I/O buffers.")
                .linux("MAP_HUGETLB; reserve pages with vm.nr_hugepages."),
            row("I", "<1|2|3>", Value(options::priority))
                .offers(PRIORITIES)
                .help("I/O priority: 1 very low, 2 low, 3 normal (default).")
                .linux("1 idle class, 2 best-effort level 7; only some schedulers (bfq, mq-deadline) honour it."),
        ],
    },
    Section {
        title: "Events and tracing",
        rows: &[
            row("ys", "<name>", Text(EVENT, |d, name| d.events.start = Some(name)))
                .help("Signal this event when the measurement starts.")
                .linux("events are files in shared memory, for each user."),
            row("yf", "<name>", Text(EVENT, |d, name| d.events.finish = Some(name)))
                .help("Signal this event when the measurement ends."),
            row("yr", "<name>", Text(EVENT, |d, name| d.events.wait = Some(name)))
                .help("Wait for this event before the warm-up."),
            row("yp", "<name>", Text(EVENT, |d, name| d.events.stop = Some(name)))
                .help("Stop when this event is set; Ctrl+C sets it."),
            row("ye", "<name>", Text(EVENT, |d, name| d.set_events.push(name)))
                .help("Set this existing event and exit.")
                .linux("exit code 0."),
            row("e", "<NAME>", Value(options::trace))
                .offers(TRACES)
                .help("Trace: PROCESS THREAD IMAGE_LOAD DISK_IO MEMORY_PAGE_FAULTS MEMORY_HARD_FAULTS NETWORK \
                       REGISTRY.")
                .linux("kept in the profile, but nothing is traced."),
            row("eq", "", Flag(|d| options::tracing(d).use_perf_timer = true))
                .help("Trace clock: performance counter.")
                .linux("kept in the profile."),
            row("es", "", Flag(|d| options::tracing(d).use_system_timer = true))
                .help("Trace clock: system time.")
                .linux("kept in the profile."),
            row("ec", "", Flag(|d| options::tracing(d).use_cycles_counter = true))
                .help("Trace clock: processor cycles.")
                .linux("kept in the profile."),
            row("ep", "", Flag(|d| options::tracing(d).use_paged_memory = true))
                .help("Trace into paged memory.")
                .linux("kept in the profile."),
        ],
    },
    Section {
        title: "XML profiles",
        rows: &[
            row("X", "<file>", Value(options::profile_file))
                .offers(File)
                .beside_profile()
                .help("Run an XML profile. With it only -: -C -d -W -R -v -z, long options, and targets that \
                       replace its templates *1, *2, ..."),
        ],
    },
    Section {
        title: "Help and TrueSpd's own options",
        rows: &[
            row("?", "", Anything(|d| d.stop = Some(Stop::Help)))
                .help("This help: every option.")
                .linux("quote it as '-?'."),
            row("-help", "", Switch(ALONE, |d| d.stop = Some(Stop::ShortHelp)))
                .help("The usual options on a terminal, elsewhere and with --help all every option. With an option \
                       behind it (--help -b, --help overwrite) only what that one does."),
            row("V", "", Switch(ALONE, |d| d.stop = Some(Stop::Version)))
                .with_profile()
                .help("The version."),
            row("-version", "", Switch(ALONE, |d| d.stop = Some(Stop::Version)))
                .help("The version."),
            row("-compat", "<2.2|2.3>", Value(options::compat))
                .offers(RELEASES)
                .help("The release of DiskSpd that is meant. 2.3: text, XML and printed profiles in its form, threads \
                       on P-cores first, and buffers far apart (-bsp). Default 2.2, or what the variable \
                       TRUESPD_COMPAT or the configuration file says."),
            row("-engine", "NAME[:parameters]", Value(options::engine))
                .offers(Engines)
                .help("The engine that issues I/O, instead of the best one available. They are listed below."),
            row("-overwrite", "PATH", Text(TARGET, |d, path| d.long.overwrite.push(path)))
                .not_in_suites(CONSENT)
                .offers(Target)
                .help("Allows a write test, or -c, on this target although it holds data that TrueSpd did not \
                       make. PATH is the target again, a disk not by #n. Repeatable. A target in use is refused \
                       all the same."),
            row("-unchecked", "PATH", Text(TARGET, |d, path| d.long.unchecked.push(path)))
                .not_in_suites(SINGLE)
                .offers(Target)
                .help("Allows a write test on this target although the system does not tell whether it is in use: \
                       /proc or /sys is missing, the file belongs to another user, or its file system lies over \
                       another one. PATH as for --overwrite. A target that is known to be in use is refused all \
                       the same."),
            row("-quick-check", "", Switch(ALONE, |d| d.long.quick_check = true))
                .help("Do not look through a device before a write test: samples of it are enough. Without this, \
                       as much of it is read as 3 seconds allow, and a note says which data can be missed."),
            row("-map", "PREFIX=FOLDER", Value(options::map))
                .not_in_suites(MAPS)
                .help("A folder of this machine stands for a path of Windows with all that is in it, in targets, \
                       in profiles of -X and in files of -Z: --map 'C:\\=/mnt/c'. Can be repeated; the longest \
                       beginning that fits counts."),
            row("-exclusive", "", Switch(ALONE, |d| d.long.exclusive = true))
                .help("Refuse to run while another run of TrueSpd has a target of this one, and keep later runs \
                       from it. Without it, runs share a target, and each warns of the other."),
            row("-json", "FILE", Value(|d, v| options::output(d, v, "json")))
                .not_in_suites(RESULTS)
                .offers(File)
                .help("Also write the result to this file as JSON: everything measured, for truespd render and \
                       merge. Repeatable. With - as the file the result goes to standard output in place of the \
                       text. All this goes for the next four, too."),
            row("-xml", "FILE", Value(|d, v| options::output(d, v, "xml")))
                .not_in_suites(RESULTS)
                .offers(File)
                .help("Also write the XML result to this file."),
            row("-text", "FILE", Value(|d, v| options::output(d, v, "text")))
                .not_in_suites(RESULTS)
                .offers(File)
                .help("Also write the text result to this file."),
            row("-csv", "FILE", Value(|d, v| options::output(d, v, "csv")))
                .not_in_suites(RESULTS)
                .offers(File)
                .help("Also write a table of threads, targets, reads and writes to this file."),
            row("-intervals", "FILE", Value(|d, v| options::output(d, v, "intervals")))
                .not_in_suites(RESULTS)
                .offers(File)
                .help("Also write the course of the run to this file: a table of its intervals (-D, or those of \
                       every result) and targets."),
            row("-quiet", "", Switch(ALONE, |d| d.long.quiet = true))
                .not_in_suites(SINGLE)
                .help("Standard error holds only what DiskSpd would print there: errors and its warnings. No \
                       notes, and a verdict only with --verdict. The variable TRUESPD_QUIET=1 does the same."),
            row("-verdict", "", Switch(ALONE, |d| d.long.verdict = true))
                .not_in_suites(COMMAND)
                .help("Show all of the verdict on standard error: every finding with its numbers and advice, and \
                       the rules that lacked evidence. Without it, one line. Where standard error is the file or \
                       pipe of standard output (2>&1), the verdict stands below a text result, and is left out \
                       beside XML, JSON and CSV."),
            row("-require", "<certified|suspect|steady>", Value(options::require))
                .not_in_suites(SINGLE)
                .offers(REQUIRED)
                .help("Exit code 5 when the verdict is worse than this, or (steady) when the rounds of --until-steady \
                       did not become steady. Repeatable: a grade and steady."),
            row("-progress", "", Switch(ALONE, |d| d.long.progress = true))
                .not_in_suites(SINGLE)
                .help("Tell the progress also where standard error is no terminal: a line every 10 seconds with \
                       the phase, the time left, IOPS, throughput and mean latency. On a terminal one line shows \
                       it anyway."),
            row("-live", "", Switch(ALONE, |d| d.long.live = true))
                .not_in_suites(COMMAND)
                .help("truespd run only: show the run on a full screen while it goes on, with IOPS, throughput, \
                       latency, processors and disks every second. Where standard error is no terminal it does \
                       what --progress does."),
            row("-metrics", "FILE", Value(|d, v| options::path(v).map(|path| d.long.metrics = Some(path))))
                .not_in_suites(COMMAND)
                .offers(File)
                .help("Replace this file every second by a page for Prometheus (textfile collector of the node \
                       exporter): where the run is, counters of I/Os, bytes and latency, and at the end the result \
                       with its verdict."),
            row("-events", "FILE", Value(|d, v| options::path(v).map(|path| d.long.events = Some(path))))
                .not_in_suites(COMMAND)
                .offers(File)
                .help("Write a line of JSON to this file for everything that happens: the progress every second, \
                       files that are made, warnings, the result. A file gets them at its end; a pipe or /dev/fd/3 \
                       goes as well."),
            row("-no-history", "", Switch(ALONE, |d| d.long.history.is_off = true))
                .not_in_suites(HISTORY)
                .help("Do not keep the result in the history. The variable TRUESPD_HISTORY=0 does the same. \
                       truespd run keeps every result, diskspd none, unless the configuration file says otherwise."),
            row("-keep-history", "", Switch(ALONE, |d| d.long.history.is_on = true))
                .not_in_suites(HISTORY)
                .help("Keep the result in the history, also where the configuration file says no; see truespd \
                       history."),
            row("-store", "FILE", Text(FILE, |d, path| d.long.history.store = Some(path)))
                .not_in_suites(HISTORY)
                .offers(File)
                .help("The file of the history, instead of that of the variable TRUESPD_STORE, of the \
                       configuration file, or ~/.local/share/truespd/history.sqlite; implies --keep-history, as \
                       the next three do."),
            row("-label", "NAME", Value(options::label))
                .not_in_suites(HISTORY)
                .help("A name for the kept result, to find it by: truespd history show NAME. Several results may \
                       share one."),
            row("-tag", "NAME", Value(options::tag))
                .not_in_suites(HISTORY)
                .help("A word to find the kept result by. Repeatable."),
            row("-revision", "TEXT", Value(options::revision))
                .not_in_suites(HISTORY)
                .help("The revision of what is tested, kept with the result: --revision \"$(git rev-parse HEAD)\"."),
            row("-recreate", "", Switch(ALONE, |d| d.long.recreate = true))
                .help("Always create the files of -c again."),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::hints::is_option;

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
        let own = all().filter(|row| row.first_pass && !row.is_long());
        let mut letters: Vec<&str> = own.map(|row| &row.name[..1]).collect();
        letters.dedup();
        letters.sort_unstable();
        assert_eq!(letters, [":", "C", "R", "W", "X", "b", "d", "v", "z"]);
    }

    fn with(row: &Row, value: &str) -> String {
        let gap = if row.is_long() { "=" } else { "" };
        format!("-{}{gap}{value}", row.name)
    }

    #[test]
    fn every_offered_value_is_legal() {
        let mut seen = 0;
        for row in all() {
            for (value, _) in row.offers.values() {
                let word = with(row, value);
                assert!(is_option(&word), "{word}");
                assert_eq!(find(&word[1..]).map(Row::form), Some(row.form()), "{word} is of another row");
                seen += 1;
            }
        }
        assert!(seen > 100, "{seen}");
    }

    #[test]
    fn every_set_of_cache_letters_is_offered() {
        let offered: Vec<&str> = CACHING.values().iter().map(|(value, _)| *value).collect();
        let letters = ["b", "h", "m", "r", "u", "w"];
        for set in 1..64_u32 {
            let word: String = letters
                .iter()
                .enumerate()
                .filter(|(i, _)| set >> i & 1 == 1)
                .map(|(_, letter)| *letter)
                .collect();
            assert_eq!(is_option(&format!("-S{word}")), offered.contains(&word.as_str()), "-S{word}");
        }
    }

    #[test]
    fn what_is_known_of_values_is_offered_and_files_are_files() {
        for row in all() {
            let form = row.form();
            match row.offers {
                Offers::Nothing => {
                    assert!(!row.value.contains('|') || row.name == "u", "{form} offers nothing")
                }
                Offers::File => assert!(row.value.to_uppercase().contains("FILE"), "{form}"),
                Offers::Target => assert_eq!(row.value, "PATH", "{form}"),
                _ => assert!(!row.value.is_empty(), "{form}"),
            }
            if row.value.to_uppercase().contains("FILE") || row.value == "PATH" {
                assert!(row.offers.is_path() || matches!(row.offers, Offers::UsualThenFile(_)), "{form}");
            }
        }
    }
}
