//! fio's keys of job files, and a job while it is read.

use std::collections::BTreeMap;

use super::ini::{At, Section, Setting};

/// When a key makes writes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flush {
    AfterWrites,
    /// With each write, where it is on.
    WithEachWrite,
    /// At another time, or not surely.
    Otherwise,
}

/// What a key of a job file is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// It becomes options, as far as it can.
    Read,
    /// Nothing stands for it in a line: it is always so here, or about fio's own report.
    Needless,
    /// It makes writes durable; why it cannot be said where it is not that of each write.
    Flush(Flush, &'static str),
    /// It cannot be said: why, and what comes nearest. Both can be empty.
    Unsaid(&'static str, &'static str),
}

/// Keys that become options, as far as they can.
const READ: &str = "\
    rw bs iodepth numjobs runtime ramp_time size filesize filename directory name ioengine direct \
    buffered sync rwmixread rwmixwrite rate_iops rate rate_process thinktime offset offset_increment randseed \
    cpus_allowed zero_buffers refill_buffers time_based invalidate norandommap thinktime_blocks \
    randrepeat cpus_allowed_policy softrandommap blockalign bsrange bssplit random_distribution \
    percentage_random nrfiles hipri stonewall wait_for filename_format kb_base gtod_reduce disable_lat";

/// Other names of keys that are read.
const ALIASES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("timeout", "runtime"),
    ("fileoffset", "offset"),
    ("allrandrepeat", "randrepeat"),
    ("ba", "blockalign"),
    ("blocksize_range", "bsrange"),
    ("nr_files", "nrfiles"),
    ("wait_for_previous", "stonewall"),
];

/// Keys for which nothing stands in a line.
const NEEDLESS: &str = "\
    group_reporting thread lat_percentiles clat_percentiles description comm new_group unit_base \
    significant_figures bwavgtime iopsavgtime job_start_clock_id create_serialize create_fsync \
    allow_file_create registerfiles fixedbufs nonvectored disable_clat disable_slat clocksource \
    disable_bw_measurement disable_bw disk_util mem iomem iomem_align mem_align random_generator \
    exitall_on_error stats per_job_logs create_on_open";

/// Keys that make writes durable, and why they cannot be said where they do not do it with each write.
const FLUSHES: &[(&str, Flush, &str)] = &[
    ("end_fsync", Flush::Otherwise, "nothing is flushed at the end"),
    ("end_syncfs", Flush::Otherwise, "nothing is flushed at the end"),
    ("fdatasync", Flush::AfterWrites, "this is no number of writes, or another flush is there already"),
    ("fsync", Flush::AfterWrites, "this is no number of writes, or another flush is there already"),
    ("fsync_on_close", Flush::Otherwise, "nothing is flushed at the end"),
    ("sync_file_range", Flush::Otherwise, "there is no flush after a number of writes"),
    ("write_barrier", Flush::Otherwise, "there is no flush after a number of writes"),
    ("writefua", Flush::WithEachWrite, "this is neither 0 nor 1"),
];

/// Keys that cannot be said: why, and what comes nearest.
const UNSAID: &[(&str, &str, &str)] = &[
    (
        "verify",
        "the check of fio is not imported",
        "--verify on a test that writes, then truespd verify FILE",
    ),
    (
        "do_verify",
        "the check of fio is not imported",
        "--verify on a test that writes, then truespd verify FILE",
    ),
    ("io_size", "a run ends after its time, not after an amount", "-d<seconds>"),
    ("number_ios", "a run ends after its time, not after a number of I/Os", "-d<seconds>"),
    ("loops", "a run ends after its time and is not repeated by itself", "truespd ab or mark repeat runs"),
    ("ramp_size", "a warm-up is a time", "-W<seconds>"),
    ("startdelay", "all threads start together", ""),
    ("slat_percentiles", "-L measures an I/O from its submission to its completion, and no part of it", "-L"),
    ("iodepth_batch", "requests per submission are an option of the ring only", "-u<n>"),
    ("iodepth_batch_submit", "requests per submission are an option of the ring only", "-u<n>"),
    ("iodepth_batch_complete", "", "-oc<n>, completions taken at a time"),
    ("iodepth_batch_complete_min", "", "-oc<n>, completions taken at a time"),
    ("iodepth_batch_complete_max", "", "-oc<n>, completions taken at a time"),
    ("offset_align", "an offset is taken as it is", "-B<size>"),
    ("bs_is_seq_rand", "a target has one I/O size", "a target for each size, in a profile"),
    ("percentage_sequential", "", "-rs<pct>"),
    (
        "file_service_type",
        "with -F and -O each I/O draws its target",
        "targets have weights in an XML profile",
    ),
    ("flow", "threads do not wait for each other", "targets have weights in an XML profile, with -F and -O"),
    ("fadvise_hint", "", "-fr (random) and -fs (sequential)"),
    ("fallocate", "-c writes every byte once, so that reads reach the disk", "-c<size>"),
    ("exitall", "all threads of a run end together", ""),
    ("overwrite", "", "-c<size> lays the file out, and writes replace what it holds"),
    ("create_only", "", "-c<size> with -d1"),
    ("allow_mounted_write", "a mounted device is never written", ""),
    ("write_bw_log", "", "-D<ms> with --intervals FILE"),
    ("write_iops_log", "", "-D<ms> with --intervals FILE"),
    ("write_lat_log", "I/Os are not written down one by one", "-L with --json FILE: latencies over time"),
    ("write_hist_log", "", "-L with --json FILE: latencies over time"),
    ("log_avg_msec", "", "-D<ms>"),
    ("nice", "", "nice -n N diskspd ..."),
    ("prio", "", "-I1 or -I2 lowers the priority"),
    ("prioclass", "", "-I1 is the idle class"),
    ("thinktime_iotime", "bursts are counted in I/Os", "-i<n>"),
    ("max_latency", "a slow I/O does not end the run", "--require certified looks at the whole run"),
    ("latency_target", "a run does not look for its depth", "truespd find-max --p99 MS looks for a rate"),
    ("latency_window", "", "truespd workload --limit MS looks for a rate"),
    ("latency_percentile", "", "truespd workload --limit MS --of p99"),
    (
        "steadystate",
        "its limits are others than SNIA's",
        "--until-steady goes on until the last rounds are steady",
    ),
    ("cpumask", "processors are given as a list", "-a<list>"),
    ("numa_cpu_nodes", "processors are given as a list", "-a<list of the node's processors>"),
    ("numa_mem_policy", "memory comes from the node of the processor", "numactl --membind"),
    ("hugepage-size", "", "-l takes large pages for buffers"),
    ("scramble_buffers", "", "-Z<size>: each write takes its data from a random place in random bytes"),
    ("buffer_pattern", "", "-Z<size>,<file>: writes take their data from a file"),
    ("buffer_compress_percentage", "data are random, zero, or of a file", "-Z<size>,<file>"),
    ("dedupe_percentage", "data are random, zero, or of a file", "-Z<size>,<file>"),
    ("sqthread_poll", "no kernel thread submits", "--engine io_uring"),
    ("cmdprio_percentage", "I/Os have no priorities of their own", "-I1 or -I2, for all of a target"),
    ("readfua", "", "-Sw: writes are forced through"),
    ("cmd_type", "", "--engine nvme with /dev/ngXnY"),
    ("trim_percentage", "it is about trims beside verify", "--trim makes a share of the I/Os trims"),
];

/// Keys that cannot be said, with nothing that comes near.
const NOTHING_LIKE_IT: &str = "\
    output output-format status-interval opendir rw_sequencer iodepth_low serialize_overlap \
    io_submit_mode io_limit num_range fill_device fill_fs file_append bs_unaligned blocksize_unaligned \
    sprandom random_sequence_stride openfiles atomic lockfile filetype unique_filename rwmixcycle \
    rate_cycle ratecycle rate_ignore_thinktime latency_run log_prio group block_error_percentiles \
    gtod_cpu error_dump cgroup_nodelete userspace_reap uncached nowait write_iolog read_iolog \
    exec_prerun exec_postrun ioscheduler zonemode lockmem priohint thinktime_spin thinkcycles \
    thinktime_blocks_type rate_min ratemin rate_iops_min write_hint pre_read gpu_dev_id unlink \
    unlink_each_loop exit_what percentile_list buffer_compress_chunk dedupe_global dedupe_mode \
    dedupe_working_set_percentage unified_rw_reporting continue_on_error ignore_error profile cgroup \
    cgroup_weight uid gid flow_id flow_watermark flow_sleep ss steadystate_duration ss_dur \
    steadystate_ramp_time ss_ramp steadystate_check_interval ss_interval sqthread_poll_cpu \
    cmdprio_bssplit cmdprio_class cmdprio";

/// Why keys that begin so, and stand in no table, cannot be said.
const FAMILIES: &[(&str, &str)] = &[
    ("verify", "it is about the check of fio; --verify is another one"),
    ("experimental_verify", "it is about the check of fio; --verify is another one"),
    ("zone", "zones are not known"),
    ("log_", "it is about logs of fio, which are not written"),
    ("replay_", "recorded I/Os cannot be repeated"),
    ("trim_", "it is about trims beside verify; --trim makes a share of the I/Os trims"),
];

/// Keys whose 0 names something and switches nothing off.
const ZERO_IS_ONE_OF_MANY: &str =
    "buffer_pattern cpumask gid gpu_dev_id gtod_cpu numa_cpu_nodes sqthread_poll_cpu uid";

/// All keys, each under each of its names.
pub(super) fn all() -> impl Iterator<Item = (&'static str, Key)> {
    let read = READ.split(' ').chain(ALIASES.iter().map(|(alias, _)| *alias));
    read.map(|name| (name, Key::Read))
        .chain(NEEDLESS.split(' ').map(|name| (name, Key::Needless)))
        .chain(FLUSHES.iter().map(|(name, flush, why)| (*name, Key::Flush(*flush, why))))
        .chain(UNSAID.iter().map(|(name, why, nearest)| (*name, Key::Unsaid(why, nearest))))
        .chain(NOTHING_LIKE_IT.split(' ').map(|name| (name, Key::Unsaid("", ""))))
}

/// The key of this name, by the first of its names. Keys of a single engine of fio are not known.
pub(super) fn find(name: &str) -> Option<(&'static str, Key)> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, first)| first);
    all().find(|(known, _)| *known == name)
}

fn why_unknown(key: &str) -> &'static str {
    let family = FAMILIES.iter().find(|(begin, _)| key.starts_with(begin));
    family.map_or("this is no key of fio that is known here, or one of a single engine", |(_, why)| why)
}

/// What a remark is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Unsaid,
    /// It cannot be said, and a line without it would test something else: the job is left out, unless that is allowed.
    Lost,
    /// It is said, and means something else.
    Differs,
    Needless,
}

/// What became of a key that is not simply an option.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Remark {
    pub kind: Kind,
    /// The line of the job file; none where it says nothing, which means something.
    pub at: Option<At>,
    /// The line as it was written, or nothing.
    pub typed: String,
    pub why: String,
    /// What comes nearest, or nothing.
    pub nearest: String,
}

/// A job while it is read: keys that nobody has taken yet, and what became of the others.
pub(super) struct Job {
    pub name: String,
    /// Units without an `i` are powers of 1000 (`kb_base=1000`).
    pub is_si: bool,
    settings: BTreeMap<&'static str, Setting>,
    /// Other lines with files: fio takes those of all of them.
    files_before: Vec<Setting>,
    unknown: Vec<Setting>,
    remarks: Vec<Remark>,
}

impl Job {
    pub fn new(section: &Section) -> Self {
        let mut job = Job {
            name: section.name.clone(),
            is_si: false,
            settings: BTreeMap::new(),
            files_before: Vec::new(),
            unknown: Vec::new(),
            remarks: Vec::new(),
        };
        for setting in &section.settings {
            let Some((name, _)) = find(&setting.key) else {
                job.unknown.push(setting.clone());
                continue;
            };
            // The last one counts.
            let before = job.settings.insert(name, setting.clone());
            if name == "filename" {
                job.files_before.extend(before);
            }
        }
        job
    }

    /// What a key is set to; the key is dealt with.
    pub fn take(&mut self, key: &str) -> Option<Setting> {
        self.settings.remove(key)
    }

    /// What a key is set to, which stays to be dealt with.
    pub fn peek(&self, key: &str) -> Option<&Setting> {
        self.settings.get(key)
    }

    /// The key has no meaning for this job, in fio either.
    pub fn forget(&mut self, key: &str) {
        if let Some(setting) = self.take(key) {
            self.needless(&setting);
        }
    }

    /// The setting has no meaning for this job, in fio either.
    pub fn needless(&mut self, setting: &Setting) {
        self.remark(Kind::Needless, Some(setting), "it changes nothing in this job", "");
    }

    pub fn unsaid(&mut self, setting: Option<&Setting>, why: &str, nearest: &str) {
        self.remark(Kind::Unsaid, setting, why, nearest);
    }

    /// The setting switches off what is off here anyway.
    pub fn off(&mut self, setting: &Setting) {
        self.remark(Kind::Needless, Some(setting), "it is off here, too", "");
    }

    pub fn differs(&mut self, setting: Option<&Setting>, why: &str) {
        self.remark(Kind::Differs, setting, why, "");
    }

    pub fn remark(&mut self, kind: Kind, setting: Option<&Setting>, why: &str, nearest: &str) {
        self.remarks.push(Remark {
            kind,
            at: setting.map(|setting| setting.at.clone()),
            typed: setting.map(Setting::shown).unwrap_or_default(),
            why: why.to_string(),
            nearest: nearest.to_string(),
        });
    }

    /// A whole number; what is none is remarked.
    pub fn number(&mut self, key: &str, usual: u64) -> u64 {
        let Some(setting) = self.take(key) else { return usual };
        let number = setting.bytes(self.is_si);
        if number.is_none() {
            self.unsaid(Some(&setting), "this is no number", "");
        }
        number.unwrap_or(usual)
    }

    pub fn flag(&mut self, key: &str, usual: bool) -> bool {
        let Some(setting) = self.take(key) else { return usual };
        let flag = setting.is_yes();
        if flag.is_none() {
            self.unsaid(Some(&setting), "this is neither 0 nor 1", "");
        }
        flag.unwrap_or(usual)
    }

    /// Whether a key is there and on.
    pub fn take_on(&mut self, key: &str) -> bool {
        self.take(key).is_some_and(|setting| setting.is_yes() == Some(true))
    }

    /// The keys whose variables are not set.
    pub fn unset(&self) -> Vec<&'static str> {
        let unset = self.settings.iter().filter(|(_, setting)| setting.unset.is_some());
        unset.map(|(key, _)| *key).collect()
    }

    /// The keys that make writes durable, each with why it cannot always be said.
    pub fn take_flushes(&mut self) -> Vec<(Setting, Flush, &'static str)> {
        let mut flushes = Vec::new();
        for (key, flush, why) in FLUSHES {
            flushes.extend(self.take(key).map(|setting| (setting, *flush, *why)));
        }
        flushes
    }

    pub fn take_files(&mut self) -> Vec<Setting> {
        let mut files = std::mem::take(&mut self.files_before);
        files.extend(self.take("filename"));
        files
    }

    /// What became of all keys, also of those that nobody took; the job is said, or left out.
    pub fn into_remarks(mut self, is_said: bool) -> Vec<Remark> {
        for (_, setting) in std::mem::take(&mut self.settings) {
            let is_off = match setting.value.as_deref() {
                Some("none") => setting.key != "fallocate",
                _ => {
                    !ZERO_IS_ONE_OF_MANY.split(' ').any(|key| key == setting.key)
                        && setting.is_yes() == Some(false)
                }
            };
            match find(&setting.key) {
                Some((_, Key::Unsaid(..))) if is_off => self.off(&setting),
                Some((_, Key::Unsaid(why, nearest))) => self.unsaid(Some(&setting), why, nearest),
                Some((_, Key::Needless)) => self.needless(&setting),
                _ if is_said => self.needless(&setting),
                _ => self.unsaid(Some(&setting), "the job is left out", ""),
            }
        }
        for setting in std::mem::take(&mut self.files_before) {
            self.unsaid(Some(&setting), "the job is left out", "");
        }
        for setting in std::mem::take(&mut self.unknown) {
            self.unsaid(Some(&setting), why_unknown(&setting.key), "");
        }
        self.remarks.sort_by(|a, b| (a.kind as u8, &a.at).cmp(&(b.kind as u8, &b.at)));
        self.remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_once() {
        let names: Vec<&str> = all().map(|(name, _)| name).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{name}");
        }
        assert!(names.len() > 150 && find("").is_none());
        assert_eq!(find("blocksize"), Some(("bs", Key::Read)));
    }

    #[test]
    fn what_has_a_hint_is_known_in_job_files() {
        for name in diskspd::grammar::hints::fio_names() {
            assert!(find(name).is_some(), "{name}");
        }
    }
}
