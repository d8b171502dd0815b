//! What a job does: sequential or random, reads or writes, in which sizes, with which data.

use super::ini::{Setting, bytes, for_reads_and_writes};
use super::keys::Job;
use truespd_core::profile::loads::{ZIPF_MAX, check_mix};
use truespd_core::profile::{Decimal, MixPart};
use truespd_platform::text::typed_size;

/// fio's exponent of `zipf` where a job says none.
const ZIPF_OF_FIO: &str = "1.1";
/// fio's I/O size where a job says nothing.
const BLOCK_BYTES: u64 = 4096;
/// A source of random write data, which is filled once, as fio's buffers are: so many bytes, or so many blocks.
const SOURCE_BYTES: u64 = 1 << 20;
const SOURCE_BLOCKS: u64 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern {
    pub block_bytes: u64,
    pub reads: bool,
    pub writes: bool,
    /// Share of the trims, which count as writes here, in percent.
    pub trim_percent: u32,
    /// Share of the writes of a mixed job, in percent.
    pub write_percent: u32,
    /// All I/Os are as large.
    pub has_one_size: bool,
}

impl Pattern {
    /// Some of the I/Os write data.
    pub fn writes_data(&self) -> bool {
        self.writes && self.trim_percent < 100
    }
}

/// The options for it; none when the job cannot be said at all.
pub(super) fn pattern(job: &mut Job) -> Option<(Pattern, Vec<String>)> {
    let rw = job.take("rw");
    let typed = rw.as_ref().and_then(|rw| rw.value.clone()).unwrap_or_else(|| "read".into());
    let (mode, suffix) = match typed.split_once(':') {
        Some((mode, suffix)) => (mode, Some(suffix)),
        None => (typed.as_str(), None),
    };
    let mut trim_percent = 0;
    let (is_random, reads, writes) = match mode {
        "read" => (false, true, false),
        "write" => (false, false, true),
        "rw" | "readwrite" => (false, true, true),
        "randread" => (true, true, false),
        "randwrite" => (true, false, true),
        "randrw" => (true, true, true),
        "trim" | "randtrim" => {
            trim_percent = 100;
            (mode == "randtrim", false, true)
        }
        "trimwrite" | "randtrimwrite" => {
            trim_percent = 50;
            (mode == "randtrimwrite", false, true)
        }
        _ => {
            job.impossible(
                rw.as_ref(),
                "only reads, writes and trims are possible; the whole job is left out",
                "",
            );
            return None;
        }
    };
    let sizes = split(job, reads, writes);
    let block_bytes = match &sizes {
        Some(sizes) => sizes.largest,
        None => block(job, reads, writes),
    };
    let has_one_size = sizes.is_none();
    let mut pattern = Pattern { block_bytes, reads, writes, trim_percent, write_percent: 0, has_one_size };
    let mut options = match &sizes {
        Some(sizes) => vec!["--mix".to_string(), sizes.mix.clone()],
        None => vec![format!("-b{}", typed_size(block_bytes))],
    };
    let random_percent = if is_random { randomness(job, &pattern) } else { 0 };
    let has_map = has_map(job, &pattern);
    let alignment = sizes.map(|sizes| sizes.smallest);
    options.extend(order(job, &pattern, (random_percent, alignment), suffix, rw.as_ref()));
    pattern.write_percent = mix(job, &pattern);
    options.push(format!("-w{}", pattern.write_percent));
    if trim_percent > 0 {
        options.extend(["--trim".to_string(), trim_percent.to_string()]);
    }
    if trim_percent == 50 {
        job.differs(
            rw.as_ref(),
            "fio trims each block and then writes that same block; here half of the I/Os are trims, each at a place of \
             its own",
        );
    }
    if is_random {
        repeats(job, rw.as_ref(), has_map && random_percent > 0);
    } else if reads && writes {
        job.differs(
            rw.as_ref(),
            "fio reads and writes at two places of their own; here one place moves on, whatever is done there",
        );
    }
    Some((pattern, options))
}

/// Sizes in shares (`bssplit`).
struct Sizes {
    /// The value of `--mix`.
    mix: String,
    smallest: u64,
    largest: u64,
}

/// The sizes of a job that has several; none where they cannot be said.
fn split(job: &mut Job, reads: bool, writes: bool) -> Option<Sizes> {
    let (of_reads, of_writes) = for_reads_and_writes(job.peek("bssplit")?.text());
    if reads && writes && of_reads != of_writes {
        return None;
    }
    let parts = mix_parts(if reads { of_reads } else { of_writes }?, job.is_si)?;
    check_mix(&parts).ok()?;
    let (mut words, mut sizes) = (Vec::new(), Vec::new());
    for part in &parts {
        sizes.push(part.block_bytes);
        words.push(format!("{}:{}", typed_size(part.block_bytes), part.percent));
    }
    let (smallest, largest) = (*sizes.iter().min()?, *sizes.iter().max()?);
    let found = Sizes { mix: words.join(","), smallest, largest };
    drop(job.take("bssplit"));
    job.forget("bs");
    Some(found)
}

/// The sizes with their shares; those without one share evenly what is left.
fn mix_parts(text: &str, is_si: bool) -> Option<Vec<MixPart>> {
    let (mut typed, mut left, mut open) = (Vec::new(), 100.0, 0.0);
    for share in text.split(':') {
        let (size, percent) = share.split_once('/').unwrap_or((share, ""));
        let percent = if percent.is_empty() { None } else { Some(percent.parse::<u32>().ok()?) };
        // fio takes a share of 0 for none.
        let percent = percent.filter(|&percent| percent > 0).map(f64::from);
        left -= percent.unwrap_or(0.0);
        open += f64::from(u8::from(percent.is_none()));
        typed.push((bytes(size, is_si)?, percent));
    }
    let mut parts = Vec::new();
    for (block_bytes, percent) in typed {
        parts.push(MixPart { block_bytes, percent: Decimal::new(percent.unwrap_or(left / open))? });
    }
    Some(parts)
}

/// The size of an I/O.
fn block(job: &mut Job, reads: bool, writes: bool) -> u64 {
    if let Some(split) = job.take("bssplit") {
        let (of_reads, of_writes) = for_reads_and_writes(split.text());
        let part = if reads { of_reads } else { of_writes.or(of_reads) };
        let shares = part.unwrap_or_default().split(':').filter_map(|share| {
            let (size, percent) = share.split_once('/').unwrap_or((share, ""));
            Some((bytes(size, job.is_si)?, percent.parse::<u64>().unwrap_or(0)))
        });
        let most = shares.max_by_key(|(_, percent)| *percent).map_or(BLOCK_BYTES, |(size, _)| size);
        let nearest = format!("-b{}, the most frequent size", typed_size(most));
        let why = "only sizes whose shares sum to 100 %, the same for reads and writes, can be said";
        job.unsaid(Some(&split), why, &nearest);
        job.forget("bs");
        return most.max(1);
    }
    if let Some(range) = job.take("bsrange") {
        let (of_reads, of_writes) = for_reads_and_writes(range.text());
        let part = if reads { of_reads } else { of_writes.or(of_reads) }.unwrap_or_default();
        let (least, most) = part.split_once(['-', ':']).unwrap_or((part, part));
        let least = bytes(least, job.is_si);
        let most = bytes(most, job.is_si).max(least).unwrap_or(BLOCK_BYTES).max(1);
        if least != Some(most) || (reads && writes && of_reads != of_writes) {
            let why = "a target has one I/O size";
            job.unsaid(Some(&range), why, &format!("-b{}, the largest size", typed_size(most)));
        }
        job.forget("bs");
        return most;
    }
    let Some(setting) = job.take("bs") else { return BLOCK_BYTES };
    // Other separators between both are as good.
    let text = setting.text().replace([':', '-'], ",");
    let (of_reads, of_writes) = for_reads_and_writes(&text);
    let sizes = [of_reads, of_writes].map(|part| match part {
        None => Some(BLOCK_BYTES),
        Some(part) => bytes(part, job.is_si).filter(|size| *size > 0),
    });
    let [Some(of_reads), Some(of_writes)] = sizes else {
        job.unsaid(Some(&setting), "this is no size", "-b4K, the default of fio");
        return BLOCK_BYTES;
    };
    if reads && writes && of_reads != of_writes {
        let nearest = format!("-b{}, the size of the reads", typed_size(of_reads));
        job.unsaid(Some(&setting), "reads and writes of a target have one size", &nearest);
    }
    if reads { of_reads } else { of_writes }
}

/// Percentage of I/Os at random places.
fn randomness(job: &mut Job, pattern: &Pattern) -> u32 {
    let Some(setting) = job.take("percentage_random") else { return 100 };
    let (of_reads, of_writes) = for_reads_and_writes(setting.text());
    if pattern.reads && pattern.writes && of_reads != of_writes {
        let why = "reads and writes of a target have one share of random I/O";
        job.unsaid(Some(&setting), why, "that of the reads");
    }
    let part = if pattern.reads { of_reads } else { of_writes.or(of_reads) };
    match part.and_then(|part| part.parse().ok()).filter(|percent| *percent <= 100) {
        Some(percent) => percent,
        None => {
            job.unsaid(Some(&setting), "this is no percentage", "");
            100
        }
    }
}

fn order(
    job: &mut Job,
    pattern: &Pattern,
    (random_percent, alignment): (u32, Option<u64>),
    suffix: Option<&str>,
    rw: Option<&Setting>,
) -> Vec<String> {
    if random_percent == 0 {
        job.forget("blockalign");
        job.forget("random_distribution");
        let skip = suffix.map(|suffix| bytes(suffix, job.is_si));
        return match skip {
            None => Vec::new(),
            // Behind each I/O, fio leaves out so much.
            Some(Some(skip)) => vec![format!("-s{}", typed_size(pattern.block_bytes.saturating_add(skip)))],
            Some(None) => {
                let why = match suffix {
                    Some(suffix) if suffix.trim().starts_with('-') => "places only go forward",
                    _ => "what follows the colon is no size",
                };
                job.unsaid(rw, why, "");
                Vec::new()
            }
        };
    }
    let align = job.take("blockalign");
    if suffix.is_some_and(|suffix| suffix.trim() != "1") {
        let why = "a new place is drawn for every I/O, not for every few of them";
        job.unsaid(rw, why, "-rs<pct>, a share of random I/O");
    }
    let aligned = align.as_ref().map(|setting| {
        let part = setting.value.as_deref().map(for_reads_and_writes);
        let part = part.and_then(|(reads, writes)| if pattern.reads { reads } else { writes });
        let size = part.and_then(|part| bytes(part, job.is_si)).filter(|size| *size > 0);
        if size.is_none() {
            job.unsaid(Some(setting), "this is no size", "");
        }
        size.map(typed_size).unwrap_or_default()
    });
    // fio aligns all sizes of a mix to the smallest.
    let aligned = aligned.or(alignment.map(typed_size)).unwrap_or_default();
    let mut options = match (random_percent, aligned.as_str()) {
        (100, align) => vec![format!("-r{align}")],
        (percent, "") => vec![format!("-rs{percent}")],
        (percent, align) => vec![format!("-rs{percent}"), format!("-r{align}")],
    };
    options.extend(distribution(job).unwrap_or_default());
    options
}

/// Random I/O that prefers some places.
fn distribution(job: &mut Job) -> Option<Vec<String>> {
    let setting = job.take("random_distribution")?;
    let (kind, values) = match setting.text() {
        "zipf" => ("zipf", ZIPF_OF_FIO),
        text => text.split_once(':').unwrap_or((text, "")),
    };
    let option = match kind {
        "random" => return None,
        "zoned" => "-rdpct",
        "zoned_abs" => "-rdabs",
        "zipf" if Decimal::read(values).is_some_and(|exponent| exponent.get() <= ZIPF_MAX) => {
            job.differs(
                Some(&setting),
                "fio's law is not exact, and each of its jobs has hot blocks of its own; here all threads share them",
            );
            return Some(vec!["--zipf".to_string(), values.to_string()]);
        }
        _ => {
            let why = "shares of I/O go to parts of the target, and not by this law";
            job.unsaid(Some(&setting), why, "-rdpct<io>/<target>: such as -rdpct80/20");
            return None;
        }
    };
    // The last zone can be the rest, as it is here where nothing is said.
    let (values, rest) = match values.rsplit_once(':') {
        Some((zones, last)) if last.ends_with('/') => {
            (zones, last.trim_end_matches('/').parse().unwrap_or(0))
        }
        _ => (values, 0),
    };
    match zones(values, kind == "zoned", rest, job.is_si) {
        Some(zones) => Some(vec![format!("{option}{zones}")]),
        None => {
            let why = "only zones in whole numbers that add up to 100 %, the same for reads and writes, can be said";
            job.unsaid(Some(&setting), why, option);
            None
        }
    }
}

/// Zones as `-rd` takes them, whose shares with the rest are 100 % of the I/Os.
fn zones(values: &str, is_percent: bool, rest: u32, is_si: bool) -> Option<String> {
    let mut words = Vec::new();
    let mut total = rest;
    for pair in values.split(':') {
        let (share, part) = pair.split_once('/')?;
        let share: u32 = share.parse().ok()?;
        let part = if is_percent {
            part.parse::<u32>().ok().filter(|part| (1..=100).contains(part))?.to_string()
        } else {
            typed_size(bytes(part, is_si).filter(|part| *part > 0)?)
        };
        total = total.saturating_add(share);
        words.push(format!("{share}/{part}"));
    }
    if total == 100 { Some(words.join(":")) } else { None }
}

fn mix(job: &mut Job, pattern: &Pattern) -> u32 {
    if !(pattern.reads && pattern.writes) {
        ["rwmixread", "rwmixwrite"].into_iter().for_each(|key| job.forget(key));
        return if pattern.writes_data() { 100 } else { 0 };
    }
    let reads = percent(job, "rwmixread");
    match (reads, percent(job, "rwmixwrite")) {
        // The later one counts.
        (Some((reads, order_of_reads)), Some((_, order_of_writes))) if order_of_reads > order_of_writes => {
            100 - reads
        }
        (_, Some((writes, _))) => writes,
        (Some((reads, _)), None) => 100 - reads,
        (None, None) => 50,
    }
}

/// A percentage, and its place among the lines.
fn percent(job: &mut Job, key: &str) -> Option<(u32, usize)> {
    let setting = job.take(key)?;
    let number = setting.text().parse::<u32>().ok().filter(|n| *n <= 100);
    if number.is_none() {
        job.unsaid(Some(&setting), "this is no percentage", "");
    }
    Some((number?, setting.order))
}

/// Whether fio keeps a map of the blocks that it has met: not where they are aligned otherwise, or some are preferred.
fn has_map(job: &Job, pattern: &Pattern) -> bool {
    let is_aligned = job.peek("blockalign").is_none_or(|align| {
        align.bytes(job.is_si).is_some_and(|size| size == pattern.block_bytes) || align.value.is_none()
    });
    let is_even =
        job.peek("random_distribution").is_none_or(|law| law.value.is_none() || law.text() == "random");
    is_aligned && is_even
}

/// Whether places can be met again before all others were.
fn repeats(job: &mut Job, rw: Option<&Setting>, has_map: bool) {
    let has_no_map = job.take_on("norandommap");
    job.forget("softrandommap");
    if has_map && !has_no_map {
        job.differs(
            rw,
            "fio meets every block once before it meets one again (norandommap=0); -r draws each place anew",
        );
    }
}

/// Keys about what writes hold.
const CONTENT: [&str; 10] = [
    "zero_buffers",
    "refill_buffers",
    "scramble_buffers",
    "buffer_pattern",
    "buffer_compress_percentage",
    "buffer_compress_chunk",
    "dedupe_percentage",
    "dedupe_mode",
    "dedupe_working_set_percentage",
    "dedupe_global",
];

/// What writes hold: options of the target, and whether buffers are filled before each write, which goes for
/// a whole run.
pub(super) fn data(job: &mut Job, pattern: &Pattern) -> (Vec<String>, bool) {
    if !pattern.writes_data() {
        CONTENT.into_iter().for_each(|key| job.forget(key));
        return (Vec::new(), false);
    }
    let (is_zero, is_refilled) = (job.take_on("zero_buffers"), job.take_on("refill_buffers"));
    if is_zero {
        return (vec!["-Z".into()], false);
    }
    if is_refilled {
        return (Vec::new(), true);
    }
    let bytes = SOURCE_BYTES.max(pattern.block_bytes.saturating_mul(SOURCE_BLOCKS));
    (vec![format!("-Z{}", typed_size(bytes))], false)
}
