//! fio's keys of job files, and a job while it is read.

use std::collections::BTreeMap;

use super::ini::{At, Section, Setting, bytes};

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
    /// It says what the job does: it becomes options, and there is no line where it cannot.
    Read,
    /// It says how the job is run: it becomes options as far as it can, and the line does the same without.
    Aside,
    /// Nothing stands for it in a line: it is always so here, or about fio's own report and its files.
    Needless,
    /// It makes writes durable; why it cannot be said where it is not that of each write.
    Flush(Flush, &'static str),
    /// It cannot be said, and the line does the same without it: why, and what comes nearest. Both can be empty.
    Unsaid(&'static str, &'static str),
    /// It cannot be said, and a line without it would do something else: why, and what comes nearest.
    Lost(&'static str, &'static str),
}

impl Key {
    /// Whether the job does something else without it.
    fn is_load(self) -> bool {
        matches!(self, Key::Read | Key::Flush(..) | Key::Lost(..))
    }
}

/// Keys that say what a job does.
const READ: &str = "\
    rw bs iodepth numjobs runtime ramp_time size filesize filename directory direct buffered sync \
    rwmixread rwmixwrite rate_iops rate rate_process thinktime thinktime_blocks offset offset_increment \
    zero_buffers refill_buffers time_based norandommap blockalign bsrange bssplit random_distribution \
    percentage_random nrfiles kb_base";

/// Keys that say how a job is run.
const ASIDE: &str = "\
    ioengine invalidate randseed randrepeat softrandommap cpus_allowed cpus_allowed_policy hipri \
    stonewall wait_for filename_format gtod_reduce disable_lat";

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

/// Keys for which nothing stands in a line. Those with hyphens are options of fio's command line.
const NEEDLESS: &str = "\
    name group_reporting thread lat_percentiles clat_percentiles slat_percentiles description comm new_group \
    unit_base significant_figures bwavgtime iopsavgtime job_start_clock_id create_serialize create_fsync \
    allow_file_create registerfiles fixedbufs nonvectored disable_clat disable_slat clocksource \
    disable_bw_measurement disable_bw disk_util mem iomem iomem_align mem_align random_generator \
    exitall_on_error stats per_job_logs create_on_open output output-format status-interval write_bw_log \
    write_iops_log write_lat_log write_hist_log write_iolog percentile_list log_avg_msec log_prio \
    block_error_percentiles \
    error_dump unified_rw_reporting cgroup_nodelete unique_filename eta eta-newline minimal append-terse \
    terse-version bandwidth-log latency-log readonly warnings-fatal max-jobs debug alloc-size";

/// Words of fio's command line that take no value but behind `=`.
const WITHOUT_VALUE: &str = "\
    bs_unaligned blocksize_unaligned norandommap time_based verify_only exitall exitall_on_error stonewall \
    wait_for_previous new_group thread group_reporting zero_buffers refill_buffers hipri registerfiles \
    fixedbufs sqthread_poll userspace_reap minimal append-terse readonly warnings-fatal \
    parse-only showcmd version help";

/// Keys that make writes durable, and why they cannot be said where they do not do it with each write.
const FLUSHES: &[(&str, Flush, &str)] = &[
    ("end_fsync", Flush::Otherwise, "nothing is flushed at the end"),
    ("end_syncfs", Flush::Otherwise, "nothing is flushed at the end"),
    ("fsync", Flush::AfterWrites, "this is no number of writes, or another flush is there already"),
    ("fdatasync", Flush::AfterWrites, "this is no number of writes, or another flush is there already"),
    ("fsync_on_close", Flush::Otherwise, "nothing is flushed at the end"),
    ("sync_file_range", Flush::Otherwise, "there is no flush of a range of a file"),
    ("write_barrier", Flush::Otherwise, "there are no barriers between writes"),
    ("writefua", Flush::WithEachWrite, "this is neither 0 nor 1"),
];

/// Why an amount is no end.
const BY_TIME: &str = "a run ends after its time, not after an amount";
/// Where weights of targets stand.
const WEIGHTS: &str = "targets have weights in an XML profile, with -F and -O";

/// Keys without which a line would do something else: why they cannot be said, and what comes nearest.
const LOST: &[(&str, &str, &str)] = &[
    ("io_size", BY_TIME, "-d<seconds>"),
    ("io_limit", BY_TIME, "-d<seconds>"),
    ("number_ios", BY_TIME, "-d<seconds>"),
    ("loops", BY_TIME, "truespd ab or mark repeat runs"),
    ("ramp_size", "a warm-up is a time", "-W<seconds>"),
    ("fill_device", "a run ends after its time, not when the device is full", "--precondition 1x"),
    ("fill_fs", "a run ends after its time, not when the device is full", "--precondition 1x"),
    ("startdelay", "all threads start together", ""),
    ("create_only", "a line lays the file out and then tests it", "-c<size> with -d1"),
    ("verify_only", "the line would write or read, and fio only checks", "truespd verify FILE"),
    ("file_append", "a file is tested as it is, and does not grow", ""),
    ("pre_read", "nothing is read before a run", "-W<seconds> reads before the measured time"),
    ("uncached", "pages are not dropped behind each I/O", "-Su"),
    ("atomic", "there are no atomic writes", "-Su"),
    ("offset_align", "an offset is taken as it is", "-B<size>"),
    ("bs_unaligned", "sizes are multiples of a sector", ""),
    ("blocksize_unaligned", "sizes are multiples of a sector", ""),
    ("bs_is_seq_rand", "a target has one I/O size", "a target for each size, in a profile"),
    ("percentage_sequential", "the share of sequential I/O is not read", "-rs<pct>"),
    ("rw_sequencer", "each I/O has a place of its own", ""),
    ("sprandom", "each place is drawn anew", "-r"),
    ("random_sequence_stride", "each place is drawn anew", "-r"),
    ("num_range", "trims have one range", "--trim"),
    ("opendir", "files are named one by one", "the files behind the options"),
    ("openfiles", "all files of a run are open", ""),
    (
        "file_service_type",
        "with -F and -O each I/O draws its target",
        "targets have weights in an XML profile",
    ),
    ("flow", "threads do not wait for each other", WEIGHTS),
    ("flow_id", "threads do not wait for each other", WEIGHTS),
    ("flow_watermark", "threads do not wait for each other", WEIGHTS),
    ("flow_sleep", "threads do not wait for each other", WEIGHTS),
    ("thinktime_iotime", "bursts are counted in I/Os", "-i<n> with -j<ms>"),
    ("thinktime_spin", "a pause sleeps, and does not spin", "-i<n> with -j<ms>"),
    ("thinkcycles", "a pause sleeps, and does not spin", "-i<n> with -j<ms>"),
    ("thinktime_blocks_type", "bursts are counted by completions", "-i<n> with -j<ms>"),
    ("rate_ignore_thinktime", "there are pauses or a limit, not both", "-g<n>"),
    ("read_iolog", "recorded I/Os cannot be repeated", ""),
    ("profile", "loads that are built into fio are not known", "truespd workload"),
    ("latency_target", "a run does not look for its depth", "truespd find-max --p99 MS looks for a rate"),
    ("latency_run", "a run does not look for its depth", "truespd find-max --p99 MS looks for a rate"),
    (
        "steadystate",
        "its limits are others than SNIA's",
        "--until-steady goes on until the last rounds are steady",
    ),
    ("ss", "its limits are others than SNIA's", "--until-steady goes on until the last rounds are steady"),
    ("zonemode", "zones are not known", ""),
    ("section", "all sections of a job file are read", "a file with this section alone"),
    ("client", "hosts are not taken from fio's words", "truespd cluster run"),
    ("server", "hosts are not taken from fio's words", "truespd cluster run"),
];

/// Keys that cannot be said, and without which the line does the same: why, and what comes nearest.
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
    ("iodepth_batch", "requests per submission are an option of the ring only", "-u<n>"),
    ("iodepth_batch_submit", "requests per submission are an option of the ring only", "-u<n>"),
    ("iodepth_batch_complete", "", "-oc<n>, completions taken at a time"),
    ("iodepth_batch_complete_min", "", "-oc<n>, completions taken at a time"),
    ("iodepth_batch_complete_max", "", "-oc<n>, completions taken at a time"),
    ("fadvise_hint", "", "-fr (random) and -fs (sequential)"),
    ("fallocate", "-c writes every byte once, so that reads reach the disk", "-c<size>"),
    ("exitall", "all threads of a run end together", ""),
    ("overwrite", "", "-c<size> lays the file out, and writes replace what it holds"),
    ("allow_mounted_write", "a mounted device is never written", ""),
    ("nice", "", "nice -n N diskspd ..."),
    ("prio", "", "-I1 or -I2 lowers the priority"),
    ("prioclass", "", "-I1 is the idle class"),
    ("ioscheduler", "fio switches the scheduler of the disk, and a run changes no setting", "truespd doctor"),
    ("max_latency", "a slow I/O does not end the run", "--require certified looks at the whole run"),
    ("latency_window", "", "truespd workload --limit MS looks for a rate"),
    ("latency_percentile", "", "truespd workload --limit MS --of p99"),
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

/// Keys that cannot be said, with nothing that comes near; the line does the same without them.
const NOTHING_LIKE_IT: &str = "\
    iodepth_low serialize_overlap io_submit_mode lockfile filetype rwmixcycle rate_cycle ratecycle group \
    gtod_cpu userspace_reap nowait exec_prerun exec_postrun lockmem priohint rate_min ratemin \
    rate_iops_min write_hint gpu_dev_id unlink unlink_each_loop exit_what buffer_compress_chunk \
    dedupe_global dedupe_mode dedupe_working_set_percentage continue_on_error ignore_error cgroup \
    cgroup_weight uid gid steadystate_duration ss_dur steadystate_ramp_time ss_ramp \
    steadystate_check_interval ss_interval sqthread_poll_cpu cmdprio_bssplit cmdprio_class cmdprio";

/// What keys are that begin so, and stand in no table.
const FAMILIES: &[(&str, Key)] = &[
    ("verify", Key::Unsaid("it is about the check of fio; --verify is another one", "")),
    ("experimental_verify", Key::Unsaid("it is about the check of fio; --verify is another one", "")),
    ("zone", Key::Lost("zones are not known", "")),
    ("max_open_zones", Key::Lost("zones are not known", "")),
    ("job_max_open_zones", Key::Lost("zones are not known", "")),
    ("ignore_zone_limits", Key::Lost("zones are not known", "")),
    ("read_beyond_wp", Key::Lost("zones are not known", "")),
    ("log_", Key::Needless),
    ("replay_", Key::Unsaid("recorded I/Os cannot be repeated", "")),
    ("read_iolog", Key::Unsaid("recorded I/Os cannot be repeated", "")),
    ("merge_blktrace", Key::Unsaid("recorded I/Os cannot be repeated", "")),
    ("trim_", Key::Unsaid("it is about trims beside verify; --trim makes a share of the I/Os trims", "")),
];

/// What fio takes where a job says nothing, of keys whose default is not 0, `none` or nothing. An empty text: no value
/// of the key is a default.
const DEFAULTS: &[(&str, &str)] = &[
    ("iodepth_batch", "1"),
    ("iodepth_batch_submit", "1"),
    ("iodepth_batch_complete", "1"),
    ("iodepth_batch_complete_min", "1"),
    ("iodepth_batch_complete_max", "1"),
    ("io_submit_mode", "inline"),
    ("loops", "1"),
    ("rw_sequencer", "sequential"),
    // With -F and -O each I/O draws its file, too.
    ("file_service_type", "roundrobin random"),
    ("fallocate", "native"),
    // It takes hints and gives none.
    ("fadvise_hint", "1 0"),
    ("do_verify", "1"),
    ("verify_state_save", "1"),
    ("trim_verify_zero", "1"),
    ("replay_scale", "1"),
    ("replay_time_scale", "100"),
    ("zone_reset_frequency", "0"),
    ("zonesize", "0"),
    ("thinktime_blocks_type", "complete"),
    ("rate_cycle", "1000"),
    ("ratecycle", "1000"),
    ("rwmixcycle", "500"),
    ("latency_percentile", "100 100.0"),
    ("exit_what", "group"),
    ("scramble_buffers", "1"),
    ("buffer_compress_chunk", "512"),
    ("dedupe_mode", "repeat"),
    ("dedupe_working_set_percentage", "5"),
    ("hugepage-size", "2097152 2m"),
    ("numa_mem_policy", "default"),
    ("flow_watermark", "1024"),
    ("cmd_type", "nvme"),
    // These have no default that has a name.
    ("buffer_pattern", ""),
    ("cpumask", ""),
    ("gid", ""),
    ("gpu_dev_id", ""),
    ("gtod_cpu", ""),
    ("ioscheduler", ""),
    ("numa_cpu_nodes", ""),
    ("sqthread_poll_cpu", ""),
    ("uid", ""),
];

/// Keys that switch something on, and those that do nothing without.
const DEPENDENTS: &[(&str, &str)] = &[
    ("thinktime", "thinktime_blocks thinktime_blocks_type thinktime_spin thinktime_iotime"),
    ("flow", "flow_id flow_watermark flow_sleep"),
    ("latency_target", "latency_window latency_percentile latency_run"),
    ("cpus_allowed", "cpus_allowed_policy"),
];

/// All keys, each under each of its names.
pub(super) fn all() -> impl Iterator<Item = (&'static str, Key)> {
    let read = READ.split(' ').map(|name| (name, Key::Read));
    let aside = ASIDE.split(' ').map(|name| (name, Key::Aside));
    let aliases = ALIASES.iter().map(|(alias, name)| {
        let is_aside = ASIDE.split(' ').any(|one| one == *name);
        (*alias, if is_aside { Key::Aside } else { Key::Read })
    });
    read.chain(aside)
        .chain(aliases)
        .chain(NEEDLESS.split(' ').map(|name| (name, Key::Needless)))
        .chain(FLUSHES.iter().map(|(name, flush, why)| (*name, Key::Flush(*flush, why))))
        .chain(LOST.iter().map(|(name, why, nearest)| (*name, Key::Lost(why, nearest))))
        .chain(UNSAID.iter().map(|(name, why, nearest)| (*name, Key::Unsaid(why, nearest))))
        .chain(NOTHING_LIKE_IT.split(' ').map(|name| (name, Key::Unsaid("", ""))))
}

/// The key of this name, by the first of its names. Keys of a single engine of fio are not known.
pub(super) fn find(name: &str) -> Option<(&'static str, Key)> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, first)| first);
    all().find(|(known, _)| *known == name)
}

/// What a key is, whether it stands in a table or not.
fn class(name: &str) -> Key {
    let family = FAMILIES.iter().find(|(begin, _)| name.starts_with(begin));
    let unknown =
        Key::Unsaid("this is no key of fio that TrueSpd knows; it may belong to a single engine", "");
    find(name).or(family.copied()).map_or(unknown, |(_, key)| key)
}

/// Whether a word of fio's command line takes the next word as its value, as most do.
pub(super) fn takes_value(name: &str) -> bool {
    !WITHOUT_VALUE.split(' ').any(|one| one == name)
}

/// Whether a setting says what fio does anyway.
fn is_default(setting: &Setting) -> bool {
    let text = setting.text().trim();
    match DEFAULTS.iter().find(|(key, _)| *key == setting.key) {
        Some((_, values)) => values.split(' ').any(|value| {
            !value.is_empty()
                && (value == text || bytes(text, false).is_some_and(|n| bytes(value, false) == Some(n)))
        }),
        None => text == "none" || setting.is_yes() == Some(false) || setting.time_us(1) == Some(0),
    }
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
    /// A line may go without what cannot be said.
    is_lossy: bool,
    settings: BTreeMap<&'static str, Setting>,
    /// Other lines with files: fio takes those of all of them.
    files_before: Vec<Setting>,
    unknown: Vec<Setting>,
    remarks: Vec<Remark>,
}

impl Job {
    pub fn new(section: &Section, is_lossy: bool) -> Self {
        let mut job = Job {
            name: section.name.clone(),
            is_si: false,
            is_lossy,
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

    /// Keys have no meaning without those that switch on what they are about.
    pub fn forget_dependents(&mut self) {
        for (key, dependents) in DEPENDENTS {
            if self.peek(key).is_none_or(is_default) {
                dependents.split(' ').for_each(|dependent| self.forget(dependent));
            }
        }
    }

    /// The setting has no meaning for this job, in fio either.
    pub fn needless(&mut self, setting: &Setting) {
        self.remark(Kind::Needless, Some(setting), "it changes nothing in this job", "");
    }

    /// A setting cannot be said. Where the job does something else without it, there is no line, unless lines may be
    /// lossy.
    pub fn unsaid(&mut self, setting: Option<&Setting>, why: &str, nearest: &str) {
        let is_load = setting.is_some_and(|setting| class(&setting.key).is_load());
        if !is_load || self.is_lossy {
            self.remark(Kind::Unsaid, setting, why, nearest);
            return;
        }
        let why = if why.is_empty() { "it cannot be said" } else { why };
        let why = format!(
            "{why}, and a line without it would test something else; the whole job is left out, without --lossy"
        );
        self.remark(Kind::Lost, setting, &why, nearest);
    }

    /// Whatever lines may go without, this job has none.
    pub fn impossible(&mut self, setting: Option<&Setting>, why: &str, nearest: &str) {
        self.remark(Kind::Unsaid, setting, why, nearest);
    }

    /// Whether it has no line, for something that cannot be said.
    pub fn is_lost(&self) -> bool {
        self.remarks.iter().any(|remark| remark.kind == Kind::Lost)
    }

    /// The setting says what goes without it, or switches off what is off here.
    pub fn off(&mut self, setting: &Setting) {
        let is_off = setting.text() == "none" || setting.is_yes() == Some(false);
        let why = if is_off { "it is off here, too" } else { "it is the default of fio" };
        self.remark(Kind::Needless, Some(setting), why, "");
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

    /// The keys whose variables are not set, but for those that no line needs.
    pub fn unset(&self) -> Vec<&'static str> {
        let unset = self.settings.iter().filter(|(_, setting)| setting.unset.is_some());
        unset.map(|(key, _)| *key).filter(|key| class(key) != Key::Needless).collect()
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

    /// Deals with all keys that nobody took; the job has a load so far, or none.
    pub fn leave(&mut self, has_load: bool) {
        let rest = std::mem::take(&mut self.settings).into_values().chain(std::mem::take(&mut self.unknown));
        for setting in rest.collect::<Vec<_>>() {
            match class(&setting.key) {
                Key::Needless => self.needless(&setting),
                Key::Unsaid(..) | Key::Lost(..) if is_default(&setting) => self.off(&setting),
                Key::Lost(why, nearest) if !has_load => self.impossible(Some(&setting), why, nearest),
                Key::Unsaid(why, nearest) | Key::Lost(why, nearest) => {
                    self.unsaid(Some(&setting), why, nearest);
                }
                _ if has_load => self.needless(&setting),
                _ => self.impossible(Some(&setting), "the job is left out", ""),
            }
        }
        for setting in std::mem::take(&mut self.files_before) {
            self.impossible(Some(&setting), "the job is left out", "");
        }
    }

    /// What became of all keys.
    pub fn into_remarks(mut self) -> Vec<Remark> {
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
