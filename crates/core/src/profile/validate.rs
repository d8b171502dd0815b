//! The rules a profile must obey before anything is opened (`command-line.md` §9).
//!
//! Every rule looks at every time span and every target; the findings carry the indices, so that the command line and
//! XML profiles can point at what was typed.

use std::fmt;

use super::loads::{ZIPF_MAX, check_mix};
use super::rule::Rule;
use super::{
    BLOCK_BYTES_MAX, Batch, CacheMode, Distribution, DistributionKind, Profile, REQUESTS_MAX, Target,
    TimeSpan,
};
use truespd_platform::text::size;

/// Whether a profile with the finding may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The run goes on, and the person is told.
    Warning,
    /// The profile is refused before anything is opened.
    Error,
}

/// A rule that the profile breaks, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The broken rule, by its number in the contract.
    pub rule: Rule,
    /// Whether the profile may run all the same.
    pub severity: Severity,
    /// Index of the time span, from 0.
    pub time_span: Option<usize>,
    /// Index of the target within the time span, from 0.
    pub target: Option<usize>,
    /// The switches involved, e.g. `["-r", "-T"]`, for pointing at the typed words. Empty when the
    /// path itself is at fault.
    pub switches: Vec<&'static str>,
    /// What is wrong and what would be legal, in words. A warning that DiskSpd has in its words, to the letter.
    pub message: String,
    /// What TrueSpd adds to DiskSpd's words.
    pub more: Option<&'static str>,
}

impl Finding {
    /// The place within `profile` in words, e.g. `time span 2, target 1 'a.dat'`, for profiles in
    /// which it is not obvious. `None` for findings about the whole profile.
    pub fn place(&self, profile: &Profile) -> Option<String> {
        let span = self.time_span?;
        let mut place = format!("time span {}", span + 1);
        if let Some(target) = self.target {
            place.push_str(&format!(", target {}", target + 1));
            if let Some(target) = profile.time_spans.get(span).and_then(|s| s.targets.get(target)) {
                place.push_str(&format!(" '{}'", target.path));
            }
        }
        Some(place)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Collects findings and knows the place that is being looked at.
#[derive(Default)]
pub(super) struct Collector {
    pub(super) findings: Vec<Finding>,
    pub(super) time_span: Option<usize>,
    pub(super) target: Option<usize>,
}

impl Collector {
    pub(super) fn add(
        &mut self,
        severity: Severity,
        rule: Rule,
        switches: &[&'static str],
        message: impl Into<String>,
    ) {
        self.findings.push(Finding {
            rule,
            severity,
            time_span: self.time_span,
            target: self.target,
            switches: switches.to_vec(),
            message: message.into(),
            more: None,
        });
    }

    pub(super) fn error(&mut self, rule: Rule, switches: &[&'static str], message: impl Into<String>) {
        self.add(Severity::Error, rule, switches, message);
    }

    pub(super) fn warning(&mut self, rule: Rule, switches: &[&'static str], message: impl Into<String>) {
        self.add(Severity::Warning, rule, switches, message);
    }

    /// The last finding with what TrueSpd adds to it.
    pub(super) fn add_words(&mut self, more: &'static str) {
        if let Some(last) = self.findings.last_mut() {
            last.more = Some(more);
        }
    }
}

/// Checks every rule that needs no machine. `will_run` is false with `-Rp`.
///
/// The findings come in the order of time spans and targets. A profile with a finding of
/// [`Severity::Error`] must not be run.
pub fn validate(profile: &Profile, will_run: bool) -> Vec<Finding> {
    let mut found = Collector::default();
    if profile.time_spans.is_empty() {
        found.error(Rule::NO_TIME_SPAN, &[], "the profile has no time span: there is nothing to run");
    }
    for (i, span) in profile.time_spans.iter().enumerate() {
        found.time_span = Some(i);
        found.target = None;
        check_time_span(&mut found, span);
        for (k, target) in span.targets.iter().enumerate() {
            found.target = Some(k);
            check_target(&mut found, span, target, will_run);
        }
        shared_files(&mut found, span);
    }
    found.findings
}

fn check_time_span(found: &mut Collector, span: &TimeSpan) {
    if span.targets.is_empty() {
        found.error(Rule::NO_TARGET, &[], "the time span has no target: give at least one file or device");
    }
    affinity(found, span);
    if span.request_count > 0 && span.thread_count == 0 {
        let words = "-O (requests per thread over all targets) is ignored without -F (total number of threads), \
             as DiskSpd does; -o sets the requests per thread and target";
        found.warning(Rule::POOL_REQUESTS_WITHOUT_TOTAL, &["-O"], words);
    }
    if span.calculate_iops_std_dev && span.io_bucket_ms == 0 {
        found.error(Rule::INTERVAL_ZERO, &["-D"], "the interval of -D must be at least 1 ms");
    }
    until_steady(found, span);
    since_2_3(found, span);
}

fn until_steady(found: &mut Collector, span: &TimeSpan) {
    let Some(rule) = span.until_steady else { return };
    if let Err(error) = rule.check() {
        let words = format!("the rule of --steady-rule cannot be met: {error}");
        found.error(Rule::UNTIL_STEADY, &["--steady-rule"], words);
    }
    if span.duration_s == 0 {
        let words = "--until-steady measures in rounds of -d, and -d0 measures nothing: give -d60, as SNIA does, or \
                     another number of seconds from 1";
        found.error(Rule::UNTIL_STEADY, &["--until-steady", "-d"], words);
    }
    let round_ms = u64::from(span.duration_s) * 1000;
    let interval_ms = u64::from(span.io_bucket_ms);
    if span.calculate_iops_std_dev && interval_ms > 0 && !round_ms.is_multiple_of(interval_ms) {
        let words = format!(
            "the rounds of --until-steady are not made of whole intervals: {round_ms} ms and {interval_ms} ms: give -D \
             an interval that divides the rounds (-d)"
        );
        found.error(Rule::UNTIL_STEADY, &["--until-steady", "-D"], words);
    }
    if span.measured_s_max() > u64::from(u32::MAX) {
        let words = format!(
            "{} rounds of {} s take longer than a run may ({} s): lower -d, or rounds= in --steady-rule",
            rule.rounds,
            span.duration_s,
            u32::MAX
        );
        found.error(Rule::UNTIL_STEADY, &["--steady-rule", "-d"], words);
    }
}

fn affinity(found: &mut Collector, span: &TimeSpan) {
    if span.disable_affinity && span.has_affinity_list() {
        let words = "-n (no affinity) and a list of processors (-a) exclude each other: give one of them";
        found.error(Rule::AFFINITY_OFF_WITH_LIST, &["-n", "-a"], words);
    }
    if span.disable_affinity && span.placement.is_asked() {
        let words = "a placement (-ac, -as, -ap, ...) would have no effect: -n places no thread";
        found.error(Rule::PLACEMENT_WITHOUT_EFFECT, &["-a<placement>", "-n"], words);
    }
}

/// Most completions that one wait takes (`-oc`).
const COMPLETION_DEPTH_MAX: u32 = 16;

/// The rules of a time span that came with 2.3 (`release-2.3.md` §1), in its order and words.
fn since_2_3(found: &mut Collector, span: &TimeSpan) {
    completion_depth(found, span);
    ring(found, span);
    if span.request_count > REQUESTS_MAX {
        let given = span.request_count;
        let words = format!("outstanding request count (-O) of {given} exceeds maximum of {REQUESTS_MAX}");
        found.error(Rule::REQUESTS_MAX, &["-O"], words);
    }
}

fn completion_depth(found: &mut Collector, span: &TimeSpan) {
    let Some(depth) = span.completion_batch else { return };
    if !(1..=COMPLETION_DEPTH_MAX).contains(&depth) {
        let words = format!("completion depth (-oc) must be between 1 and {COMPLETION_DEPTH_MAX}");
        found.error(Rule::COMPLETION_DEPTH, &["-oc"], words);
    }
    if span.completion_routines {
        let words = "completion depth (-oc) cannot be used with completion routines (-x)";
        found.error(Rule::COMPLETION_DEPTH, &["-oc", "-x"], words);
    }
    if !span.targets.is_empty() && span.targets.iter().all(|target| target.memory_mapped) {
        let words = "completion depth (-oc) cannot be used when all targets use memory mapped I/O (-Sm)";
        found.error(Rule::COMPLETION_DEPTH, &["-oc", "-S"], words);
    }
}

fn ring(found: &mut Collector, span: &TimeSpan) {
    let Some(ring) = span.ring else { return };
    let (bad, legal) = match ring.batch {
        Batch::Count(count) => (count == 0 || count > REQUESTS_MAX, REQUESTS_MAX),
        Batch::Percent(percent) => (percent == 0 || percent > 100, 100),
    };
    if bad {
        let what = if matches!(ring.batch, Batch::Percent(_)) { "percentage " } else { "" };
        let words = format!("IoRing batch size {what}must be between 1 and {legal}");
        found.error(Rule::BATCH, &["-u"], words);
    }
    if span.completion_routines {
        found.error(
            Rule::RING_ALONE,
            &["-u", "-x"],
            "IoRing (-u) can't be used with completion routines (-x)",
        );
    }
    if span.targets.iter().any(|target| target.memory_mapped) {
        found.error(Rule::RING_ALONE, &["-u", "-S"], "IoRing (-u) can't be used with memory mapped IO (-Sm)");
    }
}

/// The rules of a target that came with 2.3.
fn target_since_2_3(found: &mut Collector, span: &TimeSpan, target: &Target) {
    // 2.3 forgets this where the I/O is random.
    if target.request_count > REQUESTS_MAX && !span.is_pool() {
        let given = target.request_count;
        let words =
            format!("per-target outstanding request count (-o) of {given} exceeds maximum of {REQUESTS_MAX}");
        found.error(Rule::REQUESTS_MAX, &["-o"], words);
    }
    if target.bypass_io.is_none() {
        return;
    }
    if target.cache != CacheMode::DisableOsCache {
        let words = "BypassIO (-SY or -Sy) requires unbuffered IO (-Su)";
        found.error(Rule::BYPASS_IO, &["-S"], words);
    }
    if target.writes_data() {
        let words = "BypassIO (-SY or -Sy) can't be used with write operations (-w)";
        found.error(Rule::BYPASS_IO, &["-S", "-w"], words);
    }
    if target.trims() {
        let words = "BypassIO (-SY or -Sy) can't be used with trims (--trim)";
        found.error(Rule::BYPASS_IO, &["-S", "--trim"], words);
    }
    if target.memory_mapped {
        let words = "BypassIO (-SY or -Sy) can't be used with memory mapped IO (-Sm)";
        found.error(Rule::BYPASS_IO, &["-S"], words);
    }
}

/// Targets that share a file share its mode.
fn shared_files(found: &mut Collector, span: &TimeSpan) {
    for (place, target) in span.targets.iter().enumerate() {
        let mut earlier = span.targets[..place].iter();
        if earlier.any(|other| other.path == target.path && other.bypass_io != target.bypass_io) {
            found.target = Some(place);
            let words = format!(
                "conflicting BypassIO modes for target '{}' -- all targets sharing a file must use the same \
                 BypassIO mode",
                target.path
            );
            found.error(Rule::BYPASS_IO, &["-S"], words);
        }
    }
}

fn check_target(found: &mut Collector, span: &TimeSpan, target: &Target, will_run: bool) {
    path(found, target, will_run);
    numbers(found, span, target);
    target_since_2_3(found, span, target);
    threads(found, span, target);
    pacing(found, span, target);
    if span.is_pool() {
        pool(found, span, target);
    } else if !target.thread_targets.is_empty() {
        let words = "ThreadTargets need both ThreadCount and RequestCount of the time span (-F with -O)";
        found.error(Rule::THREAD_TARGETS_WITHOUT_POOL, &[], words);
    }
    pattern(found, span, target);
    if let Some(distribution) = &target.distribution
        && target.random_percent > 0
    {
        check_distribution(found, target, distribution);
    }
    mix(found, span, target);
    zipf(found, target);
    flush_every(found, span, target);
    trim(found, span, target);
    verify(found, span, target);
    memory(found, span, target);
    extent(found, span, target);
}

fn mix(found: &mut Collector, span: &TimeSpan, target: &Target) {
    if target.mix.is_empty() {
        return;
    }
    if let Err(why) = check_mix(&target.mix) {
        return found.error(Rule::MIX, &["--mix"], format!("{why} (--mix)"));
    }
    let largest = target.sizes().last().copied();
    if largest != Some(target.block_bytes) {
        let words = format!(
            "the block size is {}, but the largest size of the mix (--mix) is {}: make the block size that",
            size(target.block_bytes),
            size(largest.unwrap_or_default())
        );
        found.error(Rule::MIX, &["--mix", "-b"], words);
    }
    for (given, switch, what) in [
        (target.interlocked && target.random_percent == 0, "-si", "one shared sequential offset"),
        (target.parallel, "-p", "parallel sequential"),
        (span.completion_routines, "-x", "completion routines"),
    ] {
        if given {
            let words = format!("--mix (sizes in shares) and {switch} ({what}) exclude each other");
            found.error(Rule::MIX, &["--mix", switch], words);
        }
    }
}

fn flush_every(found: &mut Collector, span: &TimeSpan, target: &Target) {
    if target.flush_every.is_none() {
        return;
    }
    if span.completion_routines {
        let words = "--flush-every and -x (completion routines) exclude each other: a request that is reissued from \
                     its \
                     own completion repeats what it did";
        found.error(Rule::FLUSH_EVERY, &["--flush-every", "-x"], words);
    }
    if !target.writes_data() {
        found.error(Rule::FLUSH_EVERY, &["--flush-every", "-w"], "--flush-every needs writes: add -w");
    }
    if target.memory_mapped {
        let words =
            "--flush-every and memory mapped I/O (-Sm) exclude each other: -Nv flushes each mapped write";
        found.error(Rule::FLUSH_EVERY, &["--flush-every", "-S"], words);
    }
}

fn trim(found: &mut Collector, span: &TimeSpan, target: &Target) {
    if !target.trims() {
        return;
    }
    let percent = target.trim_percent;
    if percent > 100 {
        let words = format!("{percent} % of trims (--trim): it must be 1..100");
        found.error(Rule::TRIM, &["--trim"], words);
    }
    if percent == 100 && target.write_percent > 0 {
        let words = "--trim 100 leaves no I/O that could write (-w): leave out -w, or lower --trim";
        found.error(Rule::TRIM, &["--trim", "-w"], words);
    }
    if span.completion_routines {
        let words = "--trim and -x (completion routines) exclude each other: a request that is reissued from its own \
                     completion repeats what it did";
        found.error(Rule::TRIM, &["--trim", "-x"], words);
    }
    if target.memory_mapped {
        let words = "--trim and memory mapped I/O (-Sm) exclude each other: a map is read and written only, so use \
                     another mode of -S";
        found.error(Rule::TRIM, &["--trim", "-S"], words);
    }
}

fn verify(found: &mut Collector, span: &TimeSpan, target: &Target) {
    if !target.verify {
        return;
    }
    for (is_so, other, words) in [
        (
            !target.writes_data(),
            "-w",
            "--verify checks what the test writes, and this test writes nothing: add -w",
        ),
        (
            target.trims(),
            "--trim",
            "--verify and --trim exclude each other: what a trimmed block holds is not defined",
        ),
        (
            span.completion_routines,
            "-x",
            "--verify and -x (completion routines) exclude each other: leave -x out",
        ),
        (
            target.memory_mapped,
            "-S",
            "--verify and memory mapped I/O (-Sm) exclude each other: use another mode of -S",
        ),
        (target.write_source_bytes > 0, "-Z", "--verify and -Z<size> exclude each other: use -Zr or -Z"),
    ] {
        if is_so {
            found.error(Rule::VERIFY, &["--verify", other], words);
        }
    }
    let mut units = target.sizes();
    units.extend([target.stride(), target.base_bytes, target.thread_stride_bytes]);
    if let Some(odd) = units.iter().find(|bytes| !bytes.is_multiple_of(512)) {
        let words = format!(
            "--verify stamps sectors of 512 bytes, and {} is no multiple of that (-b, --mix, -r, -s, -B or -T)",
            size(*odd)
        );
        found.error(Rule::VERIFY, &["--verify", "-b"], words);
    }
    if span.targets.iter().filter(|other| other.path == target.path).count() > 1 {
        let words = format!("--verify keeps one map for a target, and '{}' is named twice", target.path);
        found.error(Rule::VERIFY, &["--verify"], words);
    }
}

fn zipf(found: &mut Collector, target: &Target) {
    let Some(exponent) = target.zipf else { return };
    if exponent.get() > ZIPF_MAX {
        let words = format!(
            "the exponent of Zipf's law (--zipf) is {exponent}: it must be above 0, and {ZIPF_MAX} at most"
        );
        found.error(Rule::ZIPF, &["--zipf"], words);
    }
    if target.random_percent == 0 {
        let words = "--zipf (places by Zipf's law) and sequential I/O (-s) exclude each other: use -r, or -rs<pct> for \
                     a mix of both";
        found.error(Rule::ZIPF, &["--zipf", "-s"], words);
    }
    if target.distribution.is_some() {
        let words =
            "--zipf (places by Zipf's law) and -rd (places by shares) exclude each other: give one of them";
        found.error(Rule::ZIPF, &["--zipf", "-rd"], words);
    }
}

fn path(found: &mut Collector, target: &Target, will_run: bool) {
    let path = target.path.as_str();
    let mut letters = path.chars();
    if path.is_empty() {
        found.error(Rule::PATH, &[], "the target has an empty path: give a file or a device");
    } else if let (Some(letter), Some(':'), None) = (letters.next(), letters.next(), letters.next())
        && letter.is_ascii_alphabetic()
    {
        let words = format!(
            "'{path}' names a Windows volume: on Linux give the device node (such as \
                 /dev/disk/by-id/...), or ./{path} for a file of that name"
        );
        found.error(Rule::PATH, &[], words);
    } else if path.len() > 1 && path.starts_with('#') && !is_disk_number(path) {
        let words = format!(
            "'{path}' is not a disk number: write # and digits (#0 is the first disk), or ./{path} for a \
                file of that name"
        );
        found.error(Rule::PATH, &[], words);
    }
    match (target.template(), target.template_number()) {
        (Some(_), None) => found.error(
            Rule::TEMPLATE_NUMBER,
            &[],
            format!("'{path}' is not a template: write * and a number from 1, or ./{path} for a file of that name"),
        ),
        (Some(_), Some(number)) if will_run => found.error(
            Rule::TEMPLATE_LEFT,
            &[],
            format!(
                "template '{path}' is not replaced by a target: give at least {number} with -X, or write ./{path} \
                 for a file of that name (a disk is written '#5', in quotes)"
            ),
        ),
        _ => {}
    }
}

/// Whether a target names a disk by its number: `#1`.
fn is_disk_number(path: &str) -> bool {
    path.strip_prefix('#').is_some_and(|number| !number.starts_with('+') && number.parse::<u32>().is_ok())
}

fn numbers(found: &mut Collector, span: &TimeSpan, target: &Target) {
    if target.block_bytes == 0 || target.block_bytes > BLOCK_BYTES_MAX {
        let words =
            format!("the block size is {} bytes: it must be 1..{BLOCK_BYTES_MAX}", target.block_bytes);
        found.error(Rule::BLOCK_SIZE, &["-b"], words);
    }
    if target.write_percent > 100 {
        let words = format!("{} % of writes: it must be 0..100", target.write_percent);
        found.error(Rule::PERCENTAGE, &["-w"], words);
    }
    if target.random_percent > 100 {
        let words = format!("{} % of random I/O: it must be 1..100", target.random_percent);
        found.error(Rule::PERCENTAGE, &["-rs"], words);
    }
    if span.thread_count == 0 && target.threads_per_file == 0 {
        found.error(Rule::NO_THREAD, &["-t"], "no thread would work on the target: -t must be at least 1");
    }
    if !span.is_pool() && target.request_count == 0 {
        let words = "no I/O would be outstanding: -o must be at least 1, unless -F and -O are given";
        found.error(Rule::NO_REQUEST, &["-o"], words);
    }
}

fn threads(found: &mut Collector, span: &TimeSpan, target: &Target) {
    if span.thread_count > 0 && target.threads_per_file > 1 {
        let words = format!(
            "-F{} (threads in total) and -t{} (threads per target) exclude each other: give one of them",
            span.thread_count, target.threads_per_file
        );
        found.error(Rule::TOTAL_WITH_PER_TARGET, &["-F", "-t"], words);
    }
}

fn pacing(found: &mut Collector, span: &TimeSpan, target: &Target) {
    let (limited, routines) = (target.is_rate_limited(), span.completion_routines);
    let (burst, pause) = (target.burst_ios.unwrap_or(0), target.think_ms.unwrap_or(0));
    if limited && routines {
        let words = "-g (rate limit) and -x (completion routines) exclude each other: a request that is reissued from \
             its own completion cannot wait";
        found.error(Rule::LIMIT_WITH_ROUTINES, &["-g", "-x"], words);
    }
    if !limited && !target.arrivals.is_even() {
        let words =
            "--arrivals is given without a rate (-g), so there is nothing to arrive: add -g, as in -g1000i";
        found.error(Rule::ARRIVALS_WITHOUT_LIMIT, &["--arrivals", "-g"], words);
    }
    if (burst > 0) != (pause > 0) {
        let (given, missing) = if burst > 0 { ("-i", "-j") } else { ("-j", "-i") };
        let words = format!(
            "{given} is given without {missing}: I/Os per burst (-i) and the pause between bursts (-j) go \
                together"
        );
        found.error(Rule::BURST_AND_PAUSE, &["-i", "-j"], words);
    }
    if limited && (burst > 0 || pause > 0) {
        let words = "-i and -j (bursts) are ignored beside -g (rate limit), as DiskSpd does";
        found.warning(Rule::LIMIT_WITH_PACING, &["-g", "-i", "-j"], words);
    }
    if pause > 0 && routines {
        let words = "-j (pause between bursts) and -x (completion routines) exclude each other: a request that is \
             reissued from its own completion never pauses";
        found.error(Rule::PAUSE_WITH_ROUTINES, &["-j", "-x"], words);
    }
    let sharing = span.threads_on(target);
    if burst > 0 && burst < sharing {
        let words = format!(
            "{sharing} threads share a burst of {burst} I/Os (-i), which is less than one I/O for each: each \
                 thread \
                 pauses after every I/O, as with DiskSpd"
        );
        found.warning(Rule::BURST_BELOW_THREADS, &["-i", "-t", "-F"], words);
    }
}

fn pool(found: &mut Collector, span: &TimeSpan, target: &Target) {
    const WHY: &str = "requests of the pool change their target with every I/O";
    if target.is_rate_limited() {
        let words = format!("-g (rate limit) and -O (requests per thread) exclude each other: {WHY}");
        found.error(Rule::POOL_WITH_LIMIT, &["-g", "-O"], words);
    }
    if target.think_ms.unwrap_or(0) > 0 {
        let words =
            format!("-j (pause between bursts) and -O (requests per thread) exclude each other: {WHY}");
        found.error(Rule::POOL_WITH_PAUSE, &["-j", "-O"], words);
    }
    if target.parallel {
        let words =
            format!("-p (parallel sequential) and -O (requests per thread) exclude each other: {WHY}");
        found.error(Rule::POOL_WITH_PARALLEL, &["-p", "-O"], words);
    }
    if target.weight == 0 {
        found.error(Rule::POOL_WEIGHT, &[], "the target has weight 0 in the pool: Weight must be at least 1");
    }
    for entry in &target.thread_targets {
        if entry.thread >= span.thread_count {
            let words = format!(
                "ThreadTargets names thread {}, but the threads are 0..{} (ThreadCount {})",
                entry.thread,
                span.thread_count - 1,
                span.thread_count
            );
            found.error(Rule::POOL_THREAD, &[], words);
        }
    }
}

fn pattern(found: &mut Collector, span: &TimeSpan, target: &Target) {
    let multi = span.thread_count > 1 || target.threads_per_file > 1;
    let strided = target.thread_stride_bytes > 0;
    if target.random_percent > 0 {
        for (given, rule, switch, what) in [
            (
                strided,
                Rule::RANDOM_WITH_THREAD_STRIDE,
                "-T",
                "distance between the starts of sequential threads",
            ),
            (target.interlocked, Rule::RANDOM_WITH_INTERLOCKED, "-si", "one shared sequential offset"),
            (target.parallel, Rule::RANDOM_WITH_PARALLEL, "-p", "parallel sequential"),
        ] {
            if given {
                let words = format!("{switch} ({what}) and random I/O (-r, -rs) exclude each other");
                found.error(rule, &[switch, "-r"], words);
            }
        }
        return;
    }
    if target.distribution.is_some() {
        let words = "-rd (distribution) needs random I/O: add -r, or -rs<pct> for a mix";
        found.error(Rule::DISTRIBUTION_WITHOUT_RANDOM, &["-rd", "-s"], words);
    }
    if target.parallel && target.request_count == 1 {
        let words = "-p does not have effect unless outstanding I/O count (-o) is > 1";
        found.warning(Rule::PARALLEL_WITH_ONE_REQUEST, &["-p", "-o"], words);
    }
    if target.interlocked {
        if strided {
            let words =
                "-si (one shared offset) and -T (a start of its own for each thread) exclude each other";
            found.error(Rule::INTERLOCKED_WITH_THREAD_STRIDE, &["-si", "-T"], words);
        }
        if target.parallel {
            let words =
                "-si (one shared offset) and -p (an offset of its own for each request) exclude each other";
            found.error(Rule::INTERLOCKED_WITH_PARALLEL, &["-si", "-p"], words);
        }
        if !multi {
            found.warning(Rule::INTERLOCKED_WITH_ONE_THREAD, &["-si"], "single-threaded test, -si ignored");
        }
    } else if multi && !strided {
        let words = "target access pattern will not be sequential, consider -si";
        found.warning(Rule::OVERLAPPING_THREADS, &["-t", "-F"], words);
        found.add_words("all threads start at the same offset; -T<size> gives each a start of its own");
    } else if !multi && strided {
        let words = "-T (distance between the starts of threads) needs several threads on the target: \
             add -t or -F above 1";
        found.error(Rule::THREAD_STRIDE_WITH_ONE_THREAD, &["-T", "-t", "-F"], words);
    }
}

fn memory(found: &mut Collector, span: &TimeSpan, target: &Target) {
    if target.write_source_bytes > 0 && target.write_source_bytes < target.block_bytes {
        let words = format!(
            "the source of write data (-Z) is {}, smaller than the block size of {} (-b)",
            size(target.write_source_bytes),
            size(target.block_bytes)
        );
        found.error(Rule::SOURCE_BELOW_BLOCK, &["-Z", "-b"], words);
    }
    if target.memory_mapped {
        if span.completion_routines {
            let words = "-x (completion routines) and -Sm (memory mapped) exclude each other: \
                 mapped I/O has no completions";
            found.error(Rule::MAPPED_WITH_ROUTINES, &["-x", "-S"], words);
        }
        if target.cache == CacheMode::DisableOsCache {
            let words = "unbuffered I/O (-Su, -Sh, -h) and memory mapped I/O (-Sm) exclude each other";
            found.error(Rule::MAPPED_UNBUFFERED, &["-S"], words);
        }
    } else if target.flush.is_some() {
        let words = "-N (flush after mapped writes) needs memory mapped I/O: add -Sm";
        found.error(Rule::FLUSH_WITHOUT_MAPPED, &["-N"], words);
    }
}

fn extent(found: &mut Collector, span: &TimeSpan, target: &Target) {
    if target.max_bytes > 0 && target.max_bytes <= target.base_bytes {
        let words = format!(
            "the maximum offset (-f) is {}, not above the base offset (-B) of {}: both count from the start of \
                 the target",
            size(target.max_bytes),
            size(target.base_bytes)
        );
        found.error(Rule::MAXIMUM_NOT_ABOVE_BASE, &["-f", "-B"], words);
    }
    let Some(create) = target.create_bytes.filter(|&bytes| bytes > 0) else { return };
    if is_disk_number(&target.path) {
        let words = format!(
            "-c creates files, but '{}' is a disk: leave -c out, a device is used as it is",
            target.path
        );
        found.error(Rule::CREATE_DEVICE, &["-c"], words);
    }
    let threads = u128::from(span.threads_on(target)).max(1);
    let needed = u128::from(target.base_bytes)
        + u128::from(target.thread_stride_bytes) * (threads - 1)
        + u128::from(target.block_bytes);
    if u128::from(create) < needed {
        let words = format!(
            "-c creates {create} bytes, but one I/O of each thread needs {needed}: base {} (-B) + thread stride \
                 {} (-T) x {} + block {} (-b)",
            size(target.base_bytes),
            size(target.thread_stride_bytes),
            threads - 1,
            size(target.block_bytes)
        );
        found.error(Rule::FILE_TOO_SMALL, &["-c", "-B", "-T", "-b"], words);
    }
}

/// Rules about non-uniform distributions (`-rd`). Only the first cause is reported: what follows a
/// wrong range has no meaning of its own.
fn check_distribution(found: &mut Collector, target: &Target, distribution: &Distribution) {
    if let Err((rule, message)) = first_cause(distribution, target.block_bytes) {
        let switches: &[&'static str] =
            if rule == Rule::RANGE_BELOW_BLOCK { &["-rd", "-b"] } else { &["-rd"] };
        found.error(rule, switches, message);
    }
}

fn first_cause(distribution: &Distribution, block_bytes: u64) -> Result<(), (Rule, String)> {
    let last = distribution.ranges.len().saturating_sub(1);
    let (mut io, mut covered, mut bytes) = (0u64, 0u64, 0u64);
    for (i, range) in distribution.ranges.iter().enumerate() {
        let number = i + 1;
        if distribution.kind == DistributionKind::Absolute {
            absolute_span(range.span, number, i == last, block_bytes)?;
            bytes = bytes.checked_add(range.span).ok_or_else(|| {
                let message = format!("the end of range {number} of -rd does not fit into 64 bits");
                (Rule::TARGET_SHARES_EXCEED, message)
            })?;
        }
        let share = u64::from(range.io_percent);
        if io + share > 100 {
            let words =
                format!("range {number} of -rd takes {share} % of the I/O, but only {} % are left", 100 - io);
            return Err((Rule::IO_SHARES_EXCEED, words));
        }
        io += share;
        if distribution.kind == DistributionKind::Percent {
            if range.span > 100 - covered {
                let words = format!(
                    "range {number} of -rd takes {} % of the target, but only {} % are left",
                    range.span,
                    100 - covered
                );
                return Err((Rule::TARGET_SHARES_EXCEED, words));
            }
            covered += range.span;
            if covered == 100 && io < 100 {
                let words = format!(
                    "after range {number} of -rd the target is used up, but {} % of the I/O are left over: \
                         give the ranges 100 % of the I/O, or leave a part of the target for the rest",
                    100 - io
                );
                return Err((Rule::IO_LEFT_OVER, words));
            }
        }
    }
    if io < 100 {
        let words = format!("the ranges of -rd take {io} % of the I/O: {} % are left over", 100 - io);
        return Err((Rule::IO_LEFT_OVER, words));
    }
    if distribution.kind == DistributionKind::Percent && covered != 100 {
        let words = format!(
            "the ranges of -rd cover {covered} % of the target in total: it must be 100 (to leave a part \
                 without I/O, add a hole: 0/{})",
            100 - covered
        );
        return Err((Rule::TARGET_LEFT_OVER, words));
    }
    Ok(())
}

fn absolute_span(span: u64, number: usize, is_last: bool, block_bytes: u64) -> Result<(), (Rule, String)> {
    match span {
        0 if is_last => Ok(()),
        0 => Err((
            Rule::OPEN_RANGE_INSIDE,
            format!("range {number} of -rd is open (length 0), which only the last range may be"),
        )),
        span if span < block_bytes => Err((
            Rule::RANGE_BELOW_BLOCK,
            format!(
                "range {number} of -rd is {} long, shorter than the block size of {} (-b): no I/O fits into it",
                size(span),
                size(block_bytes)
            ),
        )),
        _ => Ok(()),
    }
}
