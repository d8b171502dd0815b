//! Limits and pauses: how fast a job goes.

use super::ini::{Setting, bytes, for_reads_and_writes};
use super::keys::Job;
use super::pattern::Pattern;

/// How far a share of writes may be from the mix, in percent, to be the same for fio, which counts in whole I/Os.
const MIX_MARGIN: f64 = 0.01;

pub(super) fn pace(job: &mut Job, pattern: &Pattern, each_thread: u64, threads: u64) -> Vec<String> {
    let mut options = Vec::new();
    for key in ["rate", "rate_iops"] {
        if let Some(setting) = job.take(key) {
            let limit = limit(job, &setting, key == "rate", pattern, each_thread);
            if limit.is_some() && !options.is_empty() {
                job.unsaid(Some(&setting), "rate and rate_iops together: there is one limit", "the first");
            } else {
                options.extend(limit);
            }
        }
    }
    if let Some(setting) = job.take("rate_process") {
        if setting.text() == "poisson" && !options.is_empty() {
            options.extend(["--arrivals".to_string(), "poisson".to_string()]);
        } else if matches!(setting.text(), "poisson" | "linear") {
            job.needless(&setting);
        } else {
            job.unsaid(Some(&setting), "this is no way in which I/Os arrive", "--arrivals even or poisson");
        }
    }
    let blocks = job.number("thinktime_blocks", 1).max(1);
    if let Some(setting) = job.take("thinktime") {
        match setting.time_us(1) {
            Some(0) => {}
            Some(_) if !options.is_empty() => {
                job.unsaid(Some(&setting), "there are pauses or a limit, not both", "the limit");
            }
            Some(us) if us % 1000 == 0 && each_thread == 1 => {
                options.push(format!("-i{}", blocks.saturating_mul(threads)));
                options.push(format!("-j{}", us / 1000));
            }
            _ => job.unsaid(
                Some(&setting),
                "pauses are whole milliseconds, for threads with one target",
                "-j<ms> with -i<n>",
            ),
        }
    }
    options
}

/// The limit of a thread, if there is one.
fn limit(
    job: &mut Job,
    setting: &Setting,
    is_bytes: bool,
    pattern: &Pattern,
    each_thread: u64,
) -> Option<String> {
    let (of_reads, mut of_writes) = for_reads_and_writes(setting.text());
    if pattern.trim_percent == 100 {
        of_writes = setting.text().split(',').nth(2).map(str::trim).or(of_writes);
    }
    // A direction of which nothing is said has no limit.
    let [of_reads, of_writes] =
        [of_reads, of_writes].map(|part| part.map_or(Some(0), |part| bytes(part, job.is_si)));
    let used = match (pattern.reads, pattern.writes) {
        (true, true) => [of_reads, of_writes],
        (true, false) => [of_reads, of_reads],
        _ => [of_writes, of_writes],
    };
    if used == [Some(0), Some(0)] {
        job.needless(setting);
        return None;
    }
    let total = match used {
        [Some(reads), Some(writes)] if pattern.reads && pattern.writes => total(reads, writes, pattern),
        [Some(one), _] => Some(one),
        _ => {
            job.unsaid(Some(setting), "this is no rate", "");
            return None;
        }
    };
    let (why, nearest) = match total {
        None => (
            "fio limits reads and writes each by itself; here is one limit for both, which does the same only where \
             both stand in the ratio of the mix",
            "-g<n>i",
        ),
        Some(_) if pattern.trim_percent > 0 && pattern.trim_percent < 100 => {
            ("fio limits trims and writes each by itself; here is one limit for both", "-g<n>i")
        }
        Some(_) if each_thread > 1 => (
            "fio limits a thread over all its files; here the limit is that of a thread on a target",
            "-g<n>i",
        ),
        Some(limit) if !is_bytes => return Some(format!("-g{limit}i")),
        Some(limit) if pattern.has_one_size && limit % pattern.block_bytes == 0 => {
            return Some(format!("-g{}i", limit / pattern.block_bytes));
        }
        Some(..1000) => ("-g is in whole bytes per millisecond, and this is less than one", "-g1"),
        Some(limit) => {
            if limit % 1000 != 0 {
                job.differs(Some(setting), "-g is in whole bytes per millisecond: the rest is left out");
            }
            return Some(format!("-g{}", limit / 1000));
        }
    };
    job.unsaid(Some(setting), why, nearest);
    None
}

/// The sum of two limits that stand in the ratio of the mix, which then holds both.
fn total(reads: u64, writes: u64, pattern: &Pattern) -> Option<u64> {
    let total = reads.checked_add(writes)?;
    let percent = 100.0 * writes as f64 / total as f64;
    let is_of_mix = (percent - f64::from(pattern.write_percent)).abs() <= MIX_MARGIN;
    if is_of_mix { Some(total) } else { None }
}
