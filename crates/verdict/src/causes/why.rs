//! Why a rate was lower than at other times: one decision in one place. A candidate is named only when the document
//! shows it at these times and not at others. When none fits, that is said, with what was looked at, and with what a
//! second run could find out.
//!
//! Did the threads run on other processors when the rate was low? Where a thread may run on any processor,
//! its distance to the one that answers the disk's interrupts changes when it moves, and with it the rate of
//! a shallow queue.

use super::rhythm::{self, Stretch, stopped_s};
use super::{arrays, even, hidden, limits, others, paths};
use crate::cause::{Case, ratio};
use crate::view::{Direction, IOS_MIN, TargetView};
use std::collections::BTreeMap;
use truespd_core::result::{Finding, Held, Layer, Limit, LimitKind, ThreadCost, Timeline, disks_in_words};
use truespd_platform::text::{bytes, number, percent};

/// A change of a limit belongs to a fall that begins so much before or after the second in which it was seen.
const NEAR_S: f64 = 0.75;

/// A limit explains a rate up to this many times its value: what it owed from before comes on top.
const LIMIT_TIMES: f64 = 1.5;

/// A thread that waits for a processor for this part of the time ...
const WAITS: f64 = 0.15;

/// ... and by this part more than otherwise is slower by as much.
const WAITS_MORE: f64 = 0.10;

/// Where other virtual machines take this part of all processor time ...
const STOLEN: f64 = 0.10;

/// ... and this part more than otherwise, the rate falls.
const STOLEN_MORE: f64 = 0.08;

/// What others moved more explains a loss of which it is this part.
const OTHERS_OF_LOSS: f64 = 0.20;

/// Seconds that it takes to call a rate even.
const EVEN_POINTS: usize = 5;

/// A cause that explains this part of what is missing is the cause.
const EXPLAINS: f64 = 0.5;

/// Nearly all I/Os that were asked for were in flight.
const DEPTH_FULL: f64 = 0.9;

/// Waiting for a processor for this part of the time misses a set rate.
const RATE_WAITS: f64 = 0.10;

/// What caused it, as a sentence, with figures and what to do about it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Why {
    /// None when the result does not show it.
    says: Option<String>,
    /// What was looked at where nothing fits.
    looked_at: Vec<&'static str>,
    /// What may have to do with it, and how to find out.
    clue: Option<String>,
    figures: Vec<(&'static str, f64)>,
    advice: &'static str,
}

impl Why {
    fn because(says: String, advice: &'static str) -> Self {
        Why { says: Some(says), advice, ..Why::default() }
    }

    fn unknown(case: &Case<'_>) -> Self {
        Why { looked_at: looked_at(case), ..Why::default() }
    }

    fn figure(mut self, name: &'static str, value: f64) -> Self {
        self.figures.push((name, value));
        self
    }

    /// The cause as a sentence, or that there is none to be seen.
    pub fn words(&self) -> String {
        if let Some(says) = &self.says {
            return says.clone();
        }
        let clue = self.clue.as_ref().map_or_else(String::new, |clue| format!(" {clue}"));
        if self.looked_at.is_empty() {
            return format!("What caused it is not known: the result holds nothing that could tell.{clue}");
        }
        format!("What caused it is not known. Ruled out: {}.{clue}", self.looked_at.join(", "))
    }

    /// The cause after a blank, when there is one to be seen.
    pub fn words_if_known(&self) -> String {
        self.says.as_ref().map_or_else(String::new, |says| format!(" {says}"))
    }

    /// Figures and advice of the cause in a finding.
    pub fn add_to(&self, finding: Finding) -> Finding {
        let finding =
            self.figures.iter().fold(finding, |finding, &(name, value)| finding.figure(name, value));
        if self.advice.is_empty() { finding } else { finding.advise(self.advice) }
    }
}

/// What the document tells of over time, and so was looked at.
fn looked_at(case: &Case<'_>) -> Vec<&'static str> {
    let evidence = case.evidence();
    let waits = evidence.processor_waits.as_ref().filter(|waits| waits.interval_ns > 0);
    let is_counted = evidence.series.is_some() && evidence.disks.iter().any(|disk| disk.interval_ns > 0);
    let looked = [
        (evidence.held.is_some(), "a frozen file system"),
        (evidence.limit_changes.is_some(), "a new limit"),
        (waits.is_some_and(|waits| !waits.stolen_ns.is_empty()), "other virtual machines"),
        (waits.is_some(), "waits for a processor"),
        (is_counted && case.groups().is_ok_and(|groups| groups.len() == 1), "other programs on the disk"),
    ];
    looked.into_iter().filter_map(|(was, what)| was.then_some(what)).collect()
}

/// Why the rate was low in these stretches.
pub(super) fn why(case: &Case<'_>, low: &[Stretch]) -> Why {
    let set = held(case, low).or_else(|| limit_set(case, low)).or_else(|| way_changed(case, low));
    let no_time = set.or_else(|| stolen(case, low)).or_else(|| no_processor(case, low));
    let other = no_time.or_else(|| others(case, low)).or_else(|| other_processor(case, low));
    other.unwrap_or_else(|| Why::unknown(case))
}

/// Why the rate fell at an instant, in seconds, and stayed low.
pub(super) fn why_fell(case: &Case<'_>, after_s: f64) -> Why {
    let low = [Stretch { from_s: after_s, for_s: (case.seconds() - after_s).max(0.0) }];
    let seen = why(case, &low);
    if seen.says.is_some() {
        return seen;
    }
    let fell = credits(case, after_s).or_else(|| position(case, after_s));
    let fell = fell.or_else(|| cache_full(case, after_s)).unwrap_or_default();
    Why { looked_at: seen.looked_at, ..fell }
}

/// The part of its life that a thread was ready to run and had no processor.
pub(super) fn waiting_part(thread: &ThreadCost) -> f64 {
    ratio(thread.waiting_for_cpu_ns.unwrap_or(0) as f64, thread.elapsed_ns as f64)
}

/// Why a set rate was missed by this part of it.
pub(super) fn why_below(case: &Case<'_>, short: f64) -> Why {
    let enough_s = EXPLAINS * short * case.seconds();
    let (stopped_s, _) = stopped_s(case);
    if stopped_s > 0.0 && stopped_s >= enough_s {
        let says = format!("The program itself stood still for {} s.", number(stopped_s));
        let advice = "make sure that nothing stops the program, and repeat";
        return Why::because(says, advice).figure("standstill_s", stopped_s);
    }
    if limits::is_reached(case) {
        let advice = "raise the limit, or lower -g (which counts per thread)";
        return Why::because("A limit of a cgroup was reached.".to_string(), advice);
    }
    let (series, interval_s) = rhythm::while_running(case);
    let lost_s = rhythm::pauses_of(case, &series, interval_s).lost_s;
    if lost_s > 0.0 && lost_s >= enough_s {
        let says = format!("For {} s almost nothing completed: the target stalled.", number(lost_s));
        return Why::because(says, "look for what makes the target stall; -L shows how long I/Os waited")
            .figure("lost_s", lost_s);
    }
    let most = case.evidence().threads.iter().map(waiting_part).fold(0.0, f64::max);
    if most >= RATE_WAITS {
        let says = format!("A thread waited for a processor {} of the time.", percent(most));
        let advice = "stop other programs, or use fewer threads than processors";
        return Why::because(says, advice).figure("waiting_for_cpu_percent", most * 100.0);
    }
    if others::other_io(case).is_ok_and(|findings| !findings.is_empty()) {
        let advice = "stop the other programs that use the disks, and repeat";
        return Why::because("Other programs used the disks.".to_string(), advice);
    }
    let depth = case.evidence().queue_depth;
    if let Some(depth) = depth.filter(|depth| depth.reached >= DEPTH_FULL * depth.asked as f64) {
        let says = "All I/Os that -o allows were in flight: the target gives no more at this depth.";
        let advice = "raise -o, or lower -g (which counts per thread)";
        return Why::because(says.to_string(), advice).figure("queue_depth", depth.reached);
    }
    let looked_at =
        vec!["a standstill of the program", "a limit", "stalls", "waits for a processor", "a full queue"];
    Why { looked_at, ..Why::default() }
}

/// For how long stretches cover a time, in seconds.
fn covered_s(low: &[Stretch], from_s: f64, until_s: f64) -> f64 {
    low.iter().map(|of| ((of.from_s + of.for_s).min(until_s) - of.from_s.max(from_s)).max(0.0)).sum()
}

/// Means of a series in the stretches and outside of them; `None` when it covers nothing of one of them.
fn inside_and_outside(values: &[f64], interval_s: f64, low: &[Stretch]) -> Option<(f64, f64)> {
    let (mut inside, mut outside) = ((0.0, 0.0), (0.0, 0.0));
    for (at, value) in values.iter().enumerate() {
        let from_s = at as f64 * interval_s;
        let low_s = covered_s(low, from_s, from_s + interval_s).min(interval_s);
        inside = (inside.0 + value * low_s, inside.1 + low_s);
        outside = (outside.0 + value * (interval_s - low_s), outside.1 + interval_s - low_s);
    }
    (inside.1 > 0.0 && outside.1 > 0.0).then(|| (ratio(inside.0, inside.1), ratio(outside.0, outside.1)))
}

/// Reads and writes per second in the stretches, each with its bytes.
fn low_rates(case: &Case<'_>, low: &[Stretch]) -> Option<[(f64, f64); 2]> {
    let series = case.evidence().series.as_ref()?;
    let interval_s = series.interval_ns as f64 / 1e9;
    let mut rates = [(0.0, 0.0); 2];
    for (way, rate) in Direction::BOTH.into_iter().zip(&mut rates) {
        let (inside, _) = inside_and_outside(&counts_of(series, way), interval_s, low)?;
        let ios = ratio(inside, interval_s);
        *rate = (ios, ios * case.done(way).size());
    }
    Some(rates)
}

fn counts_of(series: &Timeline, way: Direction) -> Vec<f64> {
    let counts = way.pick(&series.reads, &series.writes);
    counts.iter().map(|&count| count as f64).collect()
}

/// Somebody froze the file system, or suspended a device.
fn held(case: &Case<'_>, low: &[Stretch]) -> Option<Why> {
    let held = case.evidence().held.as_ref()?;
    let one = held.iter().find(|one| was_held(one, low))?;
    let what = match one.device.as_deref() {
        Some(device) => format!("the device {device} was suspended (dmsetup suspend)"),
        None => "the file system of the target was frozen (fsfreeze)".to_string(),
    };
    let advice = "let nobody freeze the file system or suspend the device (snapshots and backups do) while a test runs";
    Some(Why::because(format!("At that time {what}."), advice))
}

/// Whether it was seen in one of the stretches.
fn was_held(held: &Held, low: &[Stretch]) -> bool {
    held.seen_ns.iter().any(|&at_ns| {
        let at_s = at_ns as f64 / 1e9;
        low.iter().any(|stretch| (stretch.from_s..stretch.from_s + stretch.for_s).contains(&at_s))
    })
}

/// A limit that was set when the rate fell.
fn limit_set(case: &Case<'_>, low: &[Stretch]) -> Option<Why> {
    let changes = case.evidence().limit_changes.as_ref()?;
    let rates = low_rates(case, low)?;
    let near = changes.iter().filter(|change| begins_near(low, change.seen_ns, change.within_ns));
    let limits = near.flat_map(|change| change.new.iter().map(|limit| (limit, change.moved)));
    let limits = limits.filter(|(limit, _)| could_explain(limit, rates));
    let (limit, is_moved) = limits.min_by_key(|(limit, _)| limit.what)?;
    let on = limit.device.as_deref().map_or_else(String::new, |device| format!(" on {device}"));
    let (by, group, what) = (&limit.by, &limit.group, shown(limit));
    let (says, advice) = if is_moved {
        (
            format!(
                "At that time this process was moved to another cgroup: {by} of {group} limits it to {what}{on}."
            ),
            "leave the process in its cgroup while a test runs, or raise the limit there",
        )
    } else {
        (
            format!("At that time a limit of {what}{on} was set: {by} of cgroup {group}."),
            "keep limits as they are while a test runs; raise or remove this one to measure the target",
        )
    };
    Some(Why::because(says, advice).figure("limit", limit.value as f64))
}

/// Whether a stretch begins when something was seen that happened within a time before.
fn begins_near(low: &[Stretch], seen_ns: u64, within_ns: u64) -> bool {
    let (until_s, within_s) = (seen_ns as f64 / 1e9, within_ns as f64 / 1e9);
    let times = until_s - within_s - NEAR_S..=until_s + NEAR_S;
    low.iter().any(|stretch| times.contains(&stretch.from_s))
}

/// A path went down or came back, or a copy of DRBD, when the rate fell.
fn way_changed(case: &Case<'_>, low: &[Stretch]) -> Option<Why> {
    let changes = case.evidence().way_changes.as_ref()?;
    let near = changes.iter().filter(|change| begins_near(low, change.seen_ns, change.within_ns));
    let told = near.clone().map(|change| (&change.device, paths::change_words(change)));
    let Some((device, words)) = told.into_iter().find(|(_, words)| !words.is_empty()) else {
        let arrays = near.map(|change| (&change.device, arrays::change_words(change)));
        let (array, words) = arrays.into_iter().find(|(_, words)| !words.is_empty())?;
        let says = format!("At that time the array {array} changed: {}.", words.join("; "));
        return Some(Why::because(
            says,
            "wait until the array is whole and done (cat /proc/mdstat), and repeat",
        ));
    };
    let says = format!("At that time the way to {device} changed: {}.", words.join("; "));
    let advice = "bring the path or the copy back, find out why it was lost (dmesg), and repeat";
    Some(Why::because(says, advice))
}

/// Whether a rate as low as this is what the limit lets through.
fn could_explain(limit: &Limit, [read, write]: [(f64, f64); 2]) -> bool {
    let rate = match limit.what {
        LimitKind::ReadIops => read.0,
        LimitKind::WriteIops => write.0,
        LimitKind::ReadBytesPerSecond => read.1,
        LimitKind::WriteBytesPerSecond => write.1,
        LimitKind::CpuMillis => return true,
        LimitKind::MemoryBytes => return false,
    };
    rate <= LIMIT_TIMES * limit.value as f64 && rate * LIMIT_TIMES >= limit.value as f64
}

fn shown(limit: &Limit) -> String {
    let value = limit.value as f64;
    match limit.what {
        LimitKind::ReadIops => format!("{} reads/s", number(value)),
        LimitKind::WriteIops => format!("{} writes/s", number(value)),
        LimitKind::ReadBytesPerSecond => format!("{}/s of reads", bytes(value)),
        LimitKind::WriteBytesPerSecond => format!("{}/s of writes", bytes(value)),
        LimitKind::CpuMillis => format!("{} processors", number(value / 1000.0)),
        LimitKind::MemoryBytes => format!("{} of memory", bytes(value)),
    }
}

/// The host gave the processors to other virtual machines.
fn stolen(case: &Case<'_>, low: &[Stretch]) -> Option<Why> {
    let waits = case.evidence().processor_waits.as_ref().filter(|waits| waits.interval_ns > 0)?;
    let whole = waits.interval_ns as f64 * case.measured.cpu.len().max(1) as f64;
    let parts: Vec<f64> = waits.stolen_ns.iter().map(|&ns| ratio(ns as f64, whole).min(1.0)).collect();
    let (inside, outside) = inside_and_outside(&parts, waits.interval_ns as f64 / 1e9, low)?;
    if inside < STOLEN || inside - outside < STOLEN_MORE {
        return None;
    }
    let says = format!(
        "While the rate was low, other virtual machines on this host took {} of the processor time, at other times \
         {}.",
        percent(inside),
        percent(outside)
    );
    let advice = "repeat at a quieter time, or on a machine with dedicated processors";
    Some(Why::because(says, advice).figure("stolen_percent", inside * 100.0))
}

/// The threads of the test had no processor.
fn no_processor(case: &Case<'_>, low: &[Stretch]) -> Option<Why> {
    let evidence = case.evidence();
    let waits = evidence.processor_waits.as_ref().filter(|waits| waits.interval_ns > 0)?;
    let whole = waits.interval_ns as f64 * evidence.threads.len().max(1) as f64;
    let parts: Vec<f64> = waits.waiting_ns.iter().map(|&ns| ratio(ns as f64, whole).min(1.0)).collect();
    let (inside, outside) = inside_and_outside(&parts, waits.interval_ns as f64 / 1e9, low)?;
    // Where they waited as long at other times, it was something else.
    if inside < WAITS || inside - outside < WAITS_MORE {
        return None;
    }
    let says = format!(
        "While the rate was low, the threads spent {} of their time waiting for a processor, at other times {}.",
        percent(inside),
        percent(outside)
    );
    let advice =
        "stop other programs, use fewer threads than processors, or let the kernel place the threads (-n)";
    let why = Why::because(says, advice).figure("waiting_for_cpu_percent", inside * 100.0);
    Some(why.figure("waiting_for_cpu_otherwise_percent", outside * 100.0))
}

/// The threads were far from the processor that answers the disk's interrupts. Not where they had no processor at all.
fn other_processor(case: &Case<'_>, low: &[Stretch]) -> Option<Why> {
    let Moved { threads, of, low: slow, otherwise } = moved(case, low)?;
    let disks = answered_elsewhere(case, slow, otherwise)?;
    if has_little_time(case, low) {
        return None;
    }
    let who = match of {
        1 => "the thread".to_string(),
        _ => format!("{threads} of {of} threads"),
    };
    let says = format!(
        "While the rate was low, {who} ran on processor {slow}, which does not answer the interrupts of {disks}, \
         otherwise on processor {otherwise}, which does."
    );
    let advice = "bind the threads: leave -n out, or choose the processors with -a, and measure each of them";
    let why = Why::because(says, advice).figure("processor_low", f64::from(slow));
    Some(why.figure("processor_otherwise", f64::from(otherwise)))
}

/// Whether threads waited for a processor, or others took it, for as long as makes a rate low.
fn has_little_time(case: &Case<'_>, low: &[Stretch]) -> bool {
    let Some(waits) = case.evidence().processor_waits.as_ref().filter(|waits| waits.interval_ns > 0) else {
        return false;
    };
    let interval_s = waits.interval_ns as f64 / 1e9;
    let threads = waits.interval_ns as f64 * case.evidence().threads.len().max(1) as f64;
    let processors = waits.interval_ns as f64 * case.measured.cpu.len().max(1) as f64;
    let parts = [(&waits.waiting_ns, threads, WAITS), (&waits.stolen_ns, processors, STOLEN)];
    parts.into_iter().any(|(times, whole, limit)| {
        let parts: Vec<f64> = times.iter().map(|&ns| ratio(ns as f64, whole)).collect();
        inside_and_outside(&parts, interval_s, low).is_some_and(|(inside, _)| inside >= limit)
    })
}

fn others(case: &Case<'_>, low: &[Stretch]) -> Option<Why> {
    let evidence = case.evidence();
    let (groups, series) = (case.groups().ok()?, evidence.series.as_ref()?);
    let [group] = groups.as_slice() else { return None };
    let interval_ns = group.disks.first()?.interval_ns;
    if !group.disks.iter().all(|disk| disk.interval_ns == interval_ns && interval_ns > 0)
        || series.interval_ns == 0
    {
        return None;
    }
    let interval_s = interval_ns as f64 / 1e9;
    let count = (interval_ns / series.interval_ns).max(1) as usize;
    let length = group.disks.iter().map(|disk| disk.intervals.len()).min()?;
    let (mut foreign, mut ours) = (vec![0.0; length], vec![0.0; length]);
    for way in Direction::BOTH {
        // Where one I/O becomes several, or comes later, the rest is not somebody else's.
        others::own(case, group, way, true)?;
        let size = case.done(way).size();
        let own = rhythm::added(&counts_of(series, way), count);
        for at in 0..length {
            let counts = group.disks.iter().map(|disk| &disk.intervals[at]);
            let moved: f64 = counts.map(|one| way.pick(one.read_bytes, one.write_bytes) as f64).sum();
            let own = own.get(at).copied().unwrap_or(0.0) * size;
            foreign[at] += (moved - own).max(0.0) / interval_s;
            ours[at] += own / interval_s;
        }
    }
    let (inside, outside) = inside_and_outside(&foreign, interval_s, low)?;
    let (own_inside, own_outside) = inside_and_outside(&ours, interval_s, low)?;
    let (more, loss) = (inside - outside, own_outside - own_inside);
    if more < others::FOREIGN_BYTES_PER_S || more < OTHERS_OF_LOSS * loss.max(0.0) {
        return None;
    }
    let says = format!(
        "While the rate was low, other programs moved {}/s on {}, at other times {}/s.",
        bytes(inside),
        group.names(),
        bytes(outside)
    );
    let advice = "stop the other programs that use the disks (iotop and pidstat -d show them), and repeat";
    let why = Why::because(says, advice).figure("foreign_bytes_per_s", inside);
    Some(why.figure("foreign_otherwise_bytes_per_s", outside))
}

/// Bytes that were read and written before an instant, in seconds of the measured time.
fn done_until(case: &Case<'_>, after_s: f64) -> [f64; 2] {
    let Some(series) = &case.evidence().series else { return [0.0; 2] };
    let before =
        if series.interval_ns > 0 { (after_s * 1e9 / series.interval_ns as f64).round() as usize } else { 0 };
    Direction::BOTH.map(|way| {
        let ios: f64 = counts_of(series, way).iter().take(before).sum();
        ios * case.done(way).size()
    })
}

/// A sequential run that has come to another part of its only target, and has not begun again.
fn position(case: &Case<'_>, after_s: f64) -> Option<Why> {
    let views = case.views();
    let [target] = views.as_slice() else { return None };
    let [entry] = target.entries.as_slice() else { return None };
    let is_one_sequence = entry.random_percent == 0 && case.span.threads_total() == 1;
    let range = target.range_bytes() as f64;
    let [at, all] = [after_s, case.seconds()].map(|until_s| done_until(case, until_s).iter().sum::<f64>());
    // What the warm-up did is not counted: it went on as fast as the time before the fall.
    let warmed = case.span.warmup_s as f64 * ratio(at, after_s);
    if !is_one_sequence || at <= 0.0 || warmed + all > 1.01 * range {
        return None;
    }
    let about = if case.span.warmup_s > 0 { "about " } else { "" };
    let clue = format!(
        "The sequential run had come to {about}{} of {}: a run of each part (-B and -f) tells whether the place \
         matters.",
        bytes(warmed + at),
        bytes(range)
    );
    let advice = "measure the parts apart (-B and -f), or random I/O over all of it (-r)";
    let why = Why { clue: Some(clue), advice, ..Why::default() };
    Some(why.figure("done_before_bytes", warmed + at).figure("range_bytes", range))
}

/// The rate that is left is that of a limit nobody told us of.
fn credits(case: &Case<'_>, after_s: f64) -> Option<Why> {
    let (series, interval_s) = case.series();
    let from = if interval_s > 0.0 { (after_s / interval_s).ceil() as usize + 1 } else { 0 };
    let count = (1.0 / interval_s.max(1e-9)).round().max(1.0) as usize;
    let after = rhythm::added(series.get(from..)?, count);
    let variation = rhythm::variation(&after);
    let ios: f64 = after.iter().sum();
    let waits = case
        .evidence()
        .queue_depth
        .is_some_and(|depth| hidden::waits_in_line(depth.reached, ratio(ios, after.len() as f64)));
    let (fine, fine_s) = case.fine_series();
    let fine_from = (after_s / fine_s.max(1e-9)).ceil() as usize + 1;
    let is_limit = fine.get(fine_from..).is_some_and(even::is_kept) || (waits && variation < hidden::FLAT);
    if after.len() < EVEN_POINTS || ios < IOS_MIN || !is_limit {
        return None;
    }
    let says = format!(
        "From then on it varied by {} only, as no medium does: a limit held it, as it does once burst credit is used \
         up.",
        percent(variation)
    );
    let advice = "warm up (-W) until the credits are used up, to measure the rate that lasts";
    Some(Why::because(says, advice).figure("variation_after_percent", variation * 100.0))
}

/// A volatile write cache took what was written until then. How large it is, no device tells.
fn cache_full(case: &Case<'_>, after_s: f64) -> Option<Why> {
    let [_, written] = done_until(case, after_s);
    let cached: Vec<TargetView<'_>> =
        case.views().into_iter().filter(|view| view.write.bytes > 0.0 && takes_into_cache(view)).collect();
    let first = cached.first()?;
    let disks: Vec<&str> = first
        .lowest()
        .filter(|layer| layer.has_volatile_cache() == Some(true))
        .map(|layer| layer.name.as_str())
        .collect();
    let clue = format!(
        "Until then {} had been written, and {} has a volatile write cache: a run with -Sh tells whether that matters.",
        bytes(written),
        disks_in_words(&disks)
    );
    let advice = "warm up (-W) until the rate has fallen, to measure the rate that lasts";
    let why = Why { clue: Some(clue), advice, ..Why::default() };
    (written > 0.0).then(|| why.figure("written_before_bytes", written))
}

/// Whether the write cache of a disk takes the writes of a target before they are durable.
fn takes_into_cache(view: &TargetView<'_>) -> bool {
    view.is_direct()
        && !view.is_write_through()
        && view.lowest().any(|layer| layer.has_volatile_cache() == Some(true))
}

/// A thread that spends this much more of the low times on some processors than of the other times has moved.
const MOVED: f64 = 0.6;

/// Fewer intervals on either side show nothing.
const INTERVALS_MIN: usize = 2;

/// An interval belongs to the low times by this part of it.
const INSIDE: f64 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moved {
    pub threads: usize,
    /// Threads that were free to.
    pub of: usize,
    /// Where the first of them mostly ran when the rate was low.
    pub low: u32,
    /// Where it mostly ran otherwise.
    pub otherwise: u32,
}

/// The disks whose interrupts one processor does not answer, and another one does; `None` unless that is known of all.
fn answered_elsewhere(case: &Case<'_>, slow: u32, otherwise: u32) -> Option<String> {
    let views = case.views();
    // One disk can be below several targets.
    let mut disks: BTreeMap<&str, &Layer> = BTreeMap::new();
    for layer in views.iter().flat_map(TargetView::lowest) {
        disks.insert(layer.name.as_str(), layer);
    }
    for disk in disks.values() {
        let answers = [slow, otherwise]
            .map(|cpu| disk.hardware_queues.iter().find_map(|queue| queue.is_answered_by(cpu)));
        if answers != [Some(false), Some(true)] {
            return None;
        }
    }
    let names: Vec<&str> = disks.into_keys().collect();
    (!names.is_empty()).then(|| disks_in_words(&names))
}

/// `None` when threads were bound, or most of them did not move with the rate.
fn moved(case: &Case<'_>, low: &[Stretch]) -> Option<Moved> {
    let seen = case.evidence().processors.as_ref().filter(|seen| seen.interval_ns > 0)?;
    let interval_s = seen.interval_ns as f64 / 1e9;
    let is_low = |at: usize| {
        let from_s = at as f64 * interval_s;
        covered_s(low, from_s, from_s + interval_s) >= INSIDE * interval_s
    };
    let moves = seen.threads.iter().filter_map(|thread| between(&thread.processors, is_low));
    let moves: Vec<(u32, u32)> = moves.collect();
    let &(low, otherwise) = moves.first()?;
    let of = seen.threads.len();
    (2 * moves.len() > of).then_some(Moved { threads: moves.len(), of, low, otherwise })
}

/// Where one thread mostly ran in the low times and in the others, when these differ.
fn between(processors: &[u32], is_low: impl Fn(usize) -> bool) -> Option<(u32, u32)> {
    let (mut low, mut others) = (BTreeMap::new(), BTreeMap::new());
    for (at, processor) in processors.iter().enumerate() {
        let side = if is_low(at) { &mut low } else { &mut others };
        *side.entry(*processor).or_insert(0usize) += 1;
    }
    let (low_all, others_all) = (low.values().sum::<usize>(), others.values().sum::<usize>());
    if low_all.min(others_all) < INTERVALS_MIN {
        return None;
    }
    let mut distance = 0.0;
    for (processor, count) in &low {
        let otherwise = others.get(processor).copied().unwrap_or(0);
        distance +=
            (ratio(*count as f64, low_all as f64) - ratio(otherwise as f64, others_all as f64)).max(0.0);
    }
    let (low, _) = low.into_iter().max_by_key(|(_, count)| *count)?;
    let (otherwise, _) = others.into_iter().max_by_key(|(_, count)| *count)?;
    (distance >= MOVED && low != otherwise).then_some((low, otherwise))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_moved_when_the_low_times_were_elsewhere() {
        let low = |at: usize| (4..8).contains(&at);
        assert_eq!(between(&[0, 0, 0, 0, 1, 1, 1, 1, 0, 0], low), Some((1, 0)));
        assert_eq!(between(&[0, 1, 0, 1, 0, 1, 0, 1, 0, 1], low), None, "to and fro all the time");
        assert_eq!(between(&[0; 10], low), None, "always the same");
        assert_eq!(between(&[0, 0, 0, 0, 1, 1, 1, 0, 0, 0], low), Some((1, 0)), "nearly");
        assert_eq!(between(&[0, 0, 0, 0, 1], low), None, "one interval");
        assert_eq!(between(&[], low), None);
    }
}
