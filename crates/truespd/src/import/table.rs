//! fio's keys of job files in DiskSpd's words.

/// What a key of a job file is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// It becomes options, as far as it can.
    Read,
    /// It needs no word here, for this reason.
    Needless(&'static str),
    /// It makes writes durable; why it cannot be said where it is not that of each write.
    Flush(Flush, &'static str),
    /// It cannot be said: why, or nothing where the nearest thing says it; and the nearest thing, or nothing.
    Unsaid(&'static str, &'static str),
}

/// When a key makes writes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flush {
    /// After so many writes.
    AfterWrites,
    /// With each write, where it is on.
    WithEachWrite,
    /// At another time, or not surely.
    Otherwise,
}

/// Keys of job files that become options, with another name of each, or nothing.
const READ: &[(&str, &str)] = &[
    ("rw", "readwrite"),
    ("bs", "blocksize"),
    ("iodepth", ""),
    ("numjobs", ""),
    ("runtime", "timeout"),
    ("ramp_time", ""),
    ("size", ""),
    ("filesize", ""),
    ("filename", ""),
    ("directory", ""),
    ("name", ""),
    ("ioengine", ""),
    ("direct", ""),
    ("buffered", ""),
    ("sync", ""),
    ("rwmixread", ""),
    ("rwmixwrite", ""),
    ("rate_iops", ""),
    ("rate", ""),
    ("thinktime", ""),
    ("offset", "fileoffset"),
    ("offset_increment", ""),
    ("randseed", ""),
    ("cpus_allowed", ""),
    ("zero_buffers", ""),
    ("refill_buffers", ""),
    ("time_based", ""),
    ("invalidate", ""),
    ("norandommap", ""),
    ("thinktime_blocks", ""),
    ("randrepeat", "allrandrepeat"),
    ("cpus_allowed_policy", ""),
    ("softrandommap", ""),
    ("blockalign", "ba"),
    ("bsrange", "blocksize_range"),
    ("bssplit", ""),
    ("random_distribution", ""),
    ("percentage_random", ""),
    ("nrfiles", "nr_files"),
    ("hipri", ""),
    ("stonewall", "wait_for_previous"),
    ("wait_for", ""),
    ("filename_format", ""),
    ("kb_base", ""),
    ("gtod_reduce", ""),
    ("disable_lat", ""),
];

/// Keys that need no word, and why.
const NEEDLESS: &[(&[&str], &str)] = &[
    (&["group_reporting"], "totals over all threads are always there"),
    (&["thread"], "it always uses threads"),
    (&["lat_percentiles", "clat_percentiles"], "-L shows percentiles"),
    (&["description", "comm"], "it is for people"),
    (
        &["new_group", "unit_base", "significant_figures", "bwavgtime", "iopsavgtime", "job_start_clock_id"],
        "it is about the report only",
    ),
    (&["create_serialize"], "it is about how files are made"),
    (&["create_fsync"], "files of -c are always flushed"),
    (&["allow_file_create"], "-c creates files"),
    (&["registerfiles"], "files are registered where the kernel can"),
    (&["fixedbufs"], "buffers are registered where the kernel can"),
    (&["nonvectored"], "no vectors are used"),
    (&["disable_clat", "disable_slat"], "nothing is measured without -L"),
    (&["clocksource"], "the best clock is chosen"),
    (&["disable_bw_measurement", "disable_bw"], "it is about fio's own cost"),
    (&["disk_util"], "the document always holds what the disks did"),
    (&["mem", "iomem"], "buffers are chosen by the engine"),
    (&["iomem_align", "mem_align"], "buffers are always aligned"),
    (&["random_generator"], "its generator reaches every block"),
    (&["exitall_on_error"], "a run always ends at its first error"),
    (&["stats"], "a run always has its figures"),
    (&["per_job_logs"], "it is about fio's logs only"),
    (&["create_on_open"], "files are made before the run"),
];

/// Keys that make writes durable, and why they cannot be said where they do not do it with each write.
const FLUSHES: &[(&[&str], Flush, &str)] = &[
    (&["fsync", "fdatasync"], Flush::AfterWrites, "there is no flush after a number of writes"),
    (&["write_barrier", "sync_file_range"], Flush::Otherwise, "there is no flush after a number of writes"),
    (&["end_fsync", "fsync_on_close", "end_syncfs"], Flush::Otherwise, "nothing is flushed at the end"),
    (&["writefua"], Flush::WithEachWrite, "this is neither 0 nor 1"),
];

/// Keys that cannot be said: why, and what comes nearest. One of both can be empty.
const UNSAID: &[(&[&str], &str, &str)] = &[
    (&["prio"], "", "-I1 or -I2 lowers the priority"),
    (&["output", "output-format", "status-interval"], "it is no key of a job", ""),
    (
        &["slat_percentiles"],
        "-L measures an I/O from its submission to its completion, and no part of it",
        "-L",
    ),
    (&["opendir"], "a directory of unknown files cannot be named", "the files themselves"),
    (
        &["rw_sequencer"],
        "offsets cannot be sequential for some I/Os and then jump",
        "-rs<pct> mixes random and sequential I/O",
    ),
    (
        &["iodepth_batch", "iodepth_batch_submit"],
        "requests per submission are an option of the ring only",
        "-u<n>",
    ),
    (
        &["iodepth_batch_complete_min", "iodepth_batch_complete"],
        "it takes what is complete, and does not wait for more",
        "-oc<n>, completions taken at a time",
    ),
    (&["iodepth_batch_complete_max"], "", "-oc<n>, completions taken at a time"),
    (&["iodepth_low"], "the queue is always filled up again at once", ""),
    (&["serialize_overlap"], "I/Os in flight may overlap", ""),
    (&["io_submit_mode"], "the thread that takes completions submits as well", ""),
    (&["io_size", "io_limit"], "a run ends after its time, not after an amount", "-d<seconds>"),
    (&["number_ios"], "a run ends after its time, not after a number of I/Os", "-d<seconds>"),
    (&["num_range"], "a trim of several ranges is no I/O here", ""),
    (
        &["fill_device", "fill_fs"],
        "a run ends after its time, not when the disk is full",
        "-c<size> fills a file",
    ),
    (&["file_append"], "writes do not grow a file", ""),
    (&["offset_align"], "an offset is taken as it is", "-B<size>"),
    (
        &["bs_unaligned", "blocksize_unaligned"],
        "sizes are multiples of the sector where the disk wants that",
        "",
    ),
    (&["bs_is_seq_rand"], "a target has one I/O size", "a target for each size, in a profile"),
    (&["percentage_sequential"], "", "-rs<pct>"),
    (&["sprandom"], "blocks are not written in an order that fills a drive's spare space", ""),
    (&["random_sequence_stride"], "random offsets are drawn each by itself", "-r<size> aligns them"),
    (&["openfiles"], "all targets are open all the time", ""),
    (
        &["file_service_type"],
        "with -F and -O each I/O draws its target",
        "targets have weights in an XML profile",
    ),
    (&["fallocate"], "-c writes every byte once, so that reads reach the disk", "-c<size>"),
    (&["fadvise_hint"], "", "-fr (random) and -fs (sequential)"),
    (&["atomic"], "writes are not asked to be atomic", ""),
    (&["overwrite"], "", "-c<size> lays the file out, and writes replace what it holds"),
    (&["loops"], "a run ends after its time and is not repeated by itself", "truespd ab or mark repeat runs"),
    (&["startdelay"], "all threads start together", ""),
    (&["verify", "do_verify"], "nothing is read back and checked", ""),
    (&["lockfile"], "files are not locked against other threads", ""),
    (&["filetype"], "the kind of a target is found out", ""),
    (
        &[
            "unique_filename",
            "rwmixcycle",
            "rate_cycle",
            "ratecycle",
            "rate_ignore_thinktime",
            "latency_run",
            "log_prio",
            "group",
            "block_error_percentiles",
            "gtod_cpu",
            "error_dump",
            "cgroup_nodelete",
            "userspace_reap",
            "uncached",
            "nowait",
        ],
        "",
        "",
    ),
    (&["ramp_size"], "a warm-up is a time", "-W<seconds>"),
    (&["write_iolog"], "I/Os are not written down one by one", "--json FILE keeps the course of the run"),
    (&["read_iolog"], "recorded I/Os cannot be repeated", ""),
    (&["write_bw_log", "write_iops_log"], "", "-D<ms> with --intervals FILE"),
    (&["write_lat_log"], "I/Os are not written down one by one", "-L with --json FILE: latencies over time"),
    (&["write_hist_log"], "", "-L with --json FILE: latencies over time"),
    (&["log_avg_msec"], "", "-D<ms>"),
    (&["exec_prerun"], "commands are not run before a test", "a line of the shell before it"),
    (&["exec_postrun"], "commands are not run after a test", "a line of the shell behind it"),
    (
        &["ioscheduler"],
        "the scheduler of a disk is not changed",
        "echo NAME > /sys/block/DISK/queue/scheduler",
    ),
    (&["zonemode"], "zones are not known", ""),
    (&["lockmem"], "memory is not taken away from the page cache", ""),
    (&["nice"], "", "nice -n N diskspd ..."),
    (&["prioclass"], "", "-I1 is the idle class"),
    (&["priohint"], "I/Os have no hints", ""),
    (&["thinktime_spin", "thinkcycles"], "a pause does not keep the processor busy", "-j<ms> with -i<n>"),
    (&["thinktime_blocks_type"], "bursts are counted in issued I/Os", ""),
    (&["thinktime_iotime"], "bursts are counted in I/Os", "-i<n>"),
    (
        &["rate_min", "ratemin", "rate_iops_min"],
        "a run that is too slow does not fail by itself",
        "truespd compare with a gate",
    ),
    (&["rate_process"], "I/Os under a limit come in even distances", "-g<n>i"),
    (&["max_latency"], "a slow I/O does not end the run", "--require certified looks at the whole run"),
    (
        &["latency_target"],
        "a run does not look for its depth",
        "truespd workload --limit MS looks for a rate",
    ),
    (&["latency_window"], "", "truespd workload --limit MS looks for a rate"),
    (&["latency_percentile"], "", "truespd workload --limit MS --of p99"),
    (&["write_hint"], "writes have no hints", ""),
    (&["create_only"], "", "-c<size> with -d1"),
    (&["allow_mounted_write"], "a mounted device is never written", ""),
    (&["pre_read"], "the page cache is not filled before a run", "a run without -S, before it"),
    (&["cpumask"], "processors are given as a list", "-a<list>"),
    (&["numa_cpu_nodes"], "processors are given as a list", "-a<list of the node's processors>"),
    (&["numa_mem_policy"], "memory comes from the node of the processor", "numactl --membind"),
    (&["gpu_dev_id"], "buffers are in the memory of the machine", ""),
    (&["unlink"], "files of -c stay", "rm, behind it"),
    (&["unlink_each_loop"], "files of -c stay", ""),
    (&["exitall", "exit_what"], "all threads of a run end together", ""),
    (&["percentile_list"], "percentiles are always the same", "-L shows them up to nine nines"),
    (&["scramble_buffers"], "", "-Z<size>: each write takes its data from a random place in random bytes"),
    (&["buffer_pattern"], "", "-Z<size>,<file>: writes take their data from a file"),
    (
        &[
            "buffer_compress_percentage",
            "buffer_compress_chunk",
            "dedupe_percentage",
            "dedupe_global",
            "dedupe_mode",
            "dedupe_working_set_percentage",
        ],
        "data are random, zero, or of a file",
        "-Z<size>,<file>",
    ),
    (&["unified_rw_reporting"], "reads and writes have tables of their own, and one together", ""),
    (&["continue_on_error", "ignore_error"], "a run ends at its first error", ""),
    (&["profile"], "", "truespd workload"),
    (&["cgroup", "cgroup_weight"], "", "systemd-run --scope -p IOWeight=N diskspd ..."),
    (&["uid"], "", "setpriv --reuid=N diskspd ..."),
    (&["gid"], "", "setpriv --regid=N diskspd ..."),
    (&["hugepage-size"], "", "-l takes large pages for buffers"),
    (
        &["flow"],
        "threads do not wait for each other",
        "targets have weights in an XML profile, with -F and -O",
    ),
    (&["flow_id", "flow_watermark", "flow_sleep"], "threads do not wait for each other", ""),
    (
        &["steadystate", "ss", "steadystate_duration", "ss_dur"],
        "a run ends after its time",
        "the verdict says whether a run was steady",
    ),
    (&["steadystate_ramp_time", "ss_ramp"], "a run ends after its time", "-W<seconds>"),
    (&["steadystate_check_interval", "ss_interval"], "a run ends after its time", ""),
    (&["sqthread_poll"], "no kernel thread submits", "--engine io_uring"),
    (&["sqthread_poll_cpu"], "no kernel thread submits", ""),
    (&["cmdprio_percentage"], "I/Os have no priorities of their own", "-I1 or -I2, for all of a target"),
    (&["cmdprio_bssplit", "cmdprio_class", "cmdprio"], "I/Os have no priorities of their own", ""),
    (&["readfua"], "", "-Sw: writes are forced through"),
    (&["cmd_type"], "", "--engine nvme with /dev/ngXnY"),
    (&["trim_percentage"], "trims are no I/O here", ""),
];

/// The key of this name, by the first of its names, and what it is. Keys of a single engine of fio are not known.
pub(super) fn find(name: &str) -> Option<(&'static str, Job)> {
    all().find(|(names, _)| !name.is_empty() && names.contains(&name)).map(|(names, job)| {
        let own = names.iter().find(|own| **own == name).copied().unwrap_or_default();
        (if job == Job::Read { names[0] } else { own }, job)
    })
}

/// All keys, with their names.
pub(super) fn all() -> impl Iterator<Item = (Vec<&'static str>, Job)> {
    let read = READ.iter().map(|(name, alias)| (vec![*name, *alias], Job::Read));
    let needless = NEEDLESS.iter().map(|(names, why)| (names.to_vec(), Job::Needless(why)));
    let unsaid = UNSAID.iter().map(|(names, why, nearest)| (names.to_vec(), Job::Unsaid(why, nearest)));
    let flushes = FLUSHES.iter().map(|(names, flush, why)| (names.to_vec(), Job::Flush(*flush, why)));
    read.chain(needless).chain(unsaid).chain(flushes)
}

/// Keys that are not in the table, by how they begin, and why they cannot be said.
const FAMILIES: &[(&str, &str)] = &[
    ("verify", "nothing is read back and checked"),
    ("experimental_verify", "nothing is read back and checked"),
    ("zone", "zones are not known"),
    ("max_open_zones", "zones are not known"),
    ("job_max_open_zones", "zones are not known"),
    ("ignore_zone_limits", "zones are not known"),
    ("read_beyond_wp", "zones are not known"),
    ("recover_zbd", "zones are not known"),
    ("write_zone", "zones are not known"),
    ("read_iolog", "recorded I/Os cannot be repeated"),
    ("spr_", "blocks are not written in an order that fills a drive's spare space"),
    ("log_", "it is about logs of fio, which are not written"),
    ("replay_", "recorded I/Os cannot be repeated"),
    ("merge_blktrace", "recorded I/Os cannot be repeated"),
    ("trim_", "trims are no I/O here"),
    ("fdp", "writes have no placement"),
    ("plid", "writes have no placement"),
    ("dataplacement", "writes have no placement"),
    ("data_placement", "writes have no placement"),
    ("dp_scheme", "writes have no placement"),
];

/// Why a key that is not in the table cannot be said.
pub(super) fn why_unknown(key: &str) -> &'static str {
    let family = FAMILIES.iter().find(|(begin, _)| key.starts_with(begin));
    family.map_or("this is no key of fio that is known here, or one of a single engine", |(_, why)| why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_once() {
        let names: Vec<&str> = all().flat_map(|(names, _)| names).filter(|name| !name.is_empty()).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{name}");
        }
        assert!(names.len() > 150 && find("").is_none());
        assert_eq!(find("blocksize"), Some(("bs", Job::Read)));
    }

    #[test]
    fn what_has_a_hint_is_known_in_job_files() {
        for name in diskspd::grammar::fio::names() {
            assert!(find(name).is_some(), "{name}");
        }
    }
}
