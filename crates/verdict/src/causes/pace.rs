//! Who set the pace: the storage, or the generator?

use super::rhythm::stopped_s;
use super::why::{waiting_part, why_below};
use super::{layers, limits, memory};
use crate::cause::RuleFn::{RealSpan, RunSpan};
use crate::cause::{
    Case, Cause, Missing, RuleResult, Sentence, found, part_of_time, ratio, remark, rule, suspect,
    unless_missing,
};
use crate::doctor::Purpose::Every;
use crate::doctor::{Answer, CheckResult, HostView, NoAnswer, machine};
use crate::view::{Direction, IOS_MIN, TIMES_IN_FLIGHT, TargetView};
use truespd_core::measure::Histogram;
use truespd_core::profile::Throughput;
use truespd_core::result::FindingGrade::{Remark, Suspect};
use truespd_core::result::Meaning::{HeldBack, WrongNumber};
use truespd_core::result::{Finding, FindingGrade, Limit, LoadCost, MachineNow, SelfCost, Theme, ThreadCost};
use truespd_platform::machine::limits::averages;
use truespd_platform::text::{bytes, duration_ns, number, part_percent, percent};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("queue-depth", Theme::Symptom).judged(
        rule(330, Suspect, HeldBack, RealSpan(queue_depth)),
        "Fewer I/Os were in flight on average than asked for: below 75 % the result is suspect, below 90 % \
         it is a remark. It takes 100 I/Os, and twice as many as were asked for in flight.",
        "use more threads (-t) with less depth each",
    ),
    Cause::new("generator-bound", Theme::Processor)
        .inspected(Sentence::Machine(320, limits::quota))
        .inspected(Sentence::Machine(340, no_processor))
        .checked(
            machine(90, "processors-busy", Every, waiting),
            "tasks that wait for a processor",
            "They waited for 10 % and more of the last 10 s.",
            "Threads of the test wait as well: fewer IOPS, higher latencies.",
            "the kernel's accounting/psi.rst",
        )
        .checked(
            machine(170, "processor-limit", Every, limits::processor_limit),
            "limits of control groups on processor time (cpu.max)",
            "Less than the processors that this process may run on.",
            "The kernel stops all threads for the rest of each tenth of a second once the time is used up.",
            "cgroup-v2.rst (cpu.max), scheduler/sched-bwc.rst",
        )
        .checked(
            machine(180, "cpuset", Every, limits::cpuset),
            "processors that this process may run on",
            "Not all that are online.",
            "Fewer processors do fewer I/Os, and may be far from the disk.",
            "sched_getaffinity(2), cgroup-v2.rst (cpuset)",
        )
        .judged(
            rule(350, Suspect, HeldBack, RealSpan(generator_bound)),
            "A thread computed for 95 % of its time, waited for a processor for 10 % of it, or was stopped \
             by a processor quota.",
            "use more threads (-t) on more processors, larger I/Os, or less work per I/O (-Zr costs \
             processor time)",
        ),
    Cause::new("generator-cost", Theme::Processor).judged(
        rule(360, Remark, HeldBack, RealSpan(generator_cost)),
        "TrueSpd's own work took 25 % or more of a thread's time per I/O. It is measured before the run, \
         without storage.",
        "use larger I/Os or more threads (-t); truespd bench-self shows what the work consists of",
    ),
    Cause::new("below-rate", Theme::Symptom).judged(
        rule(370, Suspect, HeldBack, RealSpan(below_rate)),
        "The test reached less than 98 % of the rate set with -g. Where fewer than 100 I/Os were asked \
         for, 10 have to be missing.",
        "raise -o, or lower -g (which counts per thread)",
    ),
    Cause::new("coordinated-omission", Theme::Symptom).judged(
        rule(380, Suspect, WrongNumber, RunSpan(coordinated_omission)),
        "The rate set with -g was reached on average, but I/Os were issued late: from their intended start \
         to their end they took twice their latency and 1 ms more, at p99 or below (suspect) or at p99.9 \
         (remark). A percentile needs 10 I/Os above it, so it takes 20 in all.",
        "use the response times (on standard error and in the JSON document), which a client at this rate \
         would see; raise -o, so that no I/O waits for another to end",
    ),
    Cause::new("bound-away", Theme::Machine).judged(
        rule(510, Remark, HeldBack, RealSpan(bound_away)),
        "A thread was bound to a busy processor while other processors were idle.",
        "use -n to let the kernel place the threads, or -a to choose other processors",
    ),
    Cause::new("core-types", Theme::Machine).judged(
        rule(515, Remark, HeldBack, RealSpan(core_types)),
        "Threads of one run were bound to cores of different kinds (P-cores and E-cores): the result mixes both. \
         DiskSpd 2.3 prints a NOTE.",
        "bind all threads to cores of one kind (-a with a list, or fewer threads), or compare only runs with the \
         same -a",
    ),
];

/// Below this part of the asked depth the result is that of a shallower queue.
const DEPTH_SUSPECT: f64 = 0.75;

/// Below this it is worth a remark: refilling always costs a little.
const DEPTH_REMARK: f64 = 0.90;

/// I/Os in flight against those asked for.
fn queue_depth(case: &Case<'_>) -> RuleResult {
    // Under a set rate the queue need not be full.
    if case.is_paced() {
        return Ok(Vec::new());
    }
    let depth =
        case.evidence().queue_depth.ok_or_else(|| Missing::new("the mean number of I/Os in flight"))?;
    let (asked, threads) = (depth.asked as f64, case.span.threads_total() as f64);
    let part = ratio(depth.reached, asked);
    // One at a time is never more than one: what lies between two I/Os is the program's own time.
    if depth.asked == 0 || !depth.reached.is_finite() || asked <= threads || part >= DEPTH_REMARK {
        return Ok(Vec::new());
    }
    let ios = case.completed_ios();
    let least = if depth.from_latency { IOS_MIN.max(TIMES_IN_FLIGHT * asked) } else { IOS_MIN };
    if ios < least {
        // Latencies of what is still in flight are in no mean.
        return if ios > 0.0 { Err(Missing::too_few(&number(ios), least)) } else { Ok(Vec::new()) };
    }
    let how = if depth.from_latency { "IOPS times mean latency" } else { "submitted and not yet completed" };
    let (wanted, got) = (number(asked), number(depth.reached));
    let says = format!(
        "The test asked for a queue depth of {wanted} and reached {got} ({how}). Treat this as a result for depth \
         {got}, not {wanted}."
    );
    let grade = if part < DEPTH_SUSPECT { FindingGrade::Suspect } else { FindingGrade::Remark };
    Ok(vec![found(grade, says).figure("asked", asked).figure("reached", depth.reached)])
}

/// A thread that computes for this part of its time has no time left to wait for storage.
const RUNNING_SUSPECT: f64 = 0.95;

/// Waiting for a processor for this part of the time shows in every latency.
const WAITING_SUSPECT: f64 = 0.10;

/// Time held back by a quota, as part of the measured time.
const QUOTA_SUSPECT: f64 = 0.01;

fn running_part(thread: &ThreadCost) -> f64 {
    ratio(thread.running_ns as f64, thread.elapsed_ns as f64)
}

/// The largest share of a thread, whose it is, and in words: the only thread with its share, or how many threads had
/// at least `limit`, and the worst.
fn worst(
    threads: &[ThreadCost],
    does: &str,
    limit: f64,
    share: fn(&ThreadCost) -> f64,
) -> (f64, u32, String) {
    let shares = threads.iter().map(|thread| (share(thread), thread.id));
    let (most, id) = shares.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
    let all = threads.len();
    if all == 1 {
        return (most, id, format!("The thread {does} {} of the time", percent(most)));
    }
    let count = threads.iter().filter(|thread| share(thread) >= limit).count();
    let (limit, worst) = (percent(limit), percent(most));
    (most, id, format!("{count} of {all} threads {does} {limit} of the time or more (thread {id}: {worst})"))
}

/// Threads that were at their processor's limit, or had none.
fn generator_bound(case: &Case<'_>) -> RuleResult {
    let evidence = case.evidence();
    if evidence.threads.is_empty() {
        return Err(Missing::new("the processor time of each thread"));
    }
    let mut findings = Vec::new();
    for thread in &evidence.threads {
        part_of_time(running_part(thread), "the processor time of each thread")?;
        part_of_time(waiting_part(thread), "how long each thread waited for a processor")?;
    }
    let (most, id, words) = worst(&evidence.threads, "computed for", RUNNING_SUSPECT, running_part);
    // A thread that keeps a set rate by looking at the clock may well be busy, and one that polls always is.
    let is_polled = case.measured.engine_traits.is_some_and(|engine| engine.polls);
    if most >= RUNNING_SUSPECT && !case.is_paced() && !is_polled {
        let own = evidence.self_cost.as_ref().and_then(|cost| own_work(case, cost, id));
        let own = own.filter(|own| own.part() <= 1.0);
        let own_words = own.as_ref().map(|own| format!(" {}.", own.words())).unwrap_or_default();
        let says = format!("{words}: the processor limited the rate, not the storage.{own_words}");
        let finding = suspect(says).figure("running_percent", most * 100.0);
        findings.push(match own {
            Some(own) => finding.figure("generator_ns", own.load.generator_ns),
            None => finding,
        });
    }
    let (most, _, words) = worst(&evidence.threads, "waited for a processor", WAITING_SUSPECT, waiting_part);
    // What a layer took is the finding of `layer-cost`.
    if most >= WAITING_SUSPECT && !layers::took_the_processors(case) {
        findings.push(waited(case, most, &words));
    }
    let throttled_ns = evidence.host.as_ref().and_then(|host| host.cpu_throttled_ns).unwrap_or(0);
    let held = ratio(throttled_ns as f64 / 1e9, case.seconds());
    if held >= QUOTA_SUSPECT {
        let says = format!(
            "The processor quota of the cgroup stopped threads for {} s of the measured {} s.",
            number(throttled_ns as f64 / 1e9),
            number(case.seconds())
        );
        let finding = suspect(says).figure("cpu_throttled_ns", throttled_ns as f64);
        findings.push(finding.advise("raise the container's processor quota for the measurement"));
    }
    Ok(findings)
}

/// Threads waited for a processor: for work that belongs to their I/O, or for others.
fn waited(case: &Case<'_>, most: f64, words: &str) -> Finding {
    let all: f64 = case.evidence().threads.iter().map(waiting_part).sum();
    let of_layers = layers::processors(case);
    let finding = if of_layers >= all {
        let took = number(of_layers);
        remark(format!(
            "{words}; the latencies include this wait. The kernel's own work on this I/O took {took} processors \
             meanwhile: the wait is part of how this storage works."
        ))
    } else {
        suspect(format!("{words}; the latencies include this wait."))
    };
    let advice =
        "stop other programs, use fewer threads than processors, or let the kernel place the threads (-n)";
    finding.figure("waiting_for_cpu_percent", most * 100.0).advise(advice)
}

/// The program's own work on an I/O of a thread, beside what an I/O took that thread.
struct OwnWork<'a> {
    load: &'a LoadCost,
    ns_per_io: f64,
}

impl OwnWork<'_> {
    fn part(&self) -> f64 {
        ratio(self.load.generator_ns, self.ns_per_io)
    }

    fn words(&self) -> String {
        format!(
            "TrueSpd's own work took {} of a thread's {} per I/O",
            duration_ns(self.load.generator_ns),
            duration_ns(self.ns_per_io)
        )
    }
}

/// `None` for a thread that completed nothing, or was not calibrated.
fn own_work<'a>(case: &Case<'_>, cost: &'a SelfCost, id: u32) -> Option<OwnWork<'a>> {
    let ios = ios_of_thread(case, id);
    let ns_per_io = ratio(case.seconds() * 1e9, ios);
    if ns_per_io > 0.0 { Some(OwnWork { load: cost.of_thread(id)?, ns_per_io }) } else { None }
}

/// From this part of a thread's time on, the program's own work is worth a remark.
const GENERATOR_REMARK: f64 = 0.25;

/// What makes up this part of the program's own work is named as its reason.
const REASON: f64 = 0.5;

/// The program's own work took a notable part of a thread's time per I/O.
fn generator_cost(case: &Case<'_>) -> RuleResult {
    // A set rate leaves the threads idle time of any length.
    if case.is_paced() {
        return Ok(Vec::new());
    }
    let cost = case
        .evidence()
        .self_cost
        .as_ref()
        .ok_or_else(|| Missing::new("a measurement of TrueSpd's own work"))?;
    let each =
        case.measured.threads.iter().filter_map(|thread| Some((thread.id, own_work(case, cost, thread.id)?)));
    let Some((id, worst)) = each.max_by(|a, b| a.1.part().total_cmp(&b.1.part())) else {
        return Ok(Vec::new());
    };
    if worst.part() < GENERATOR_REMARK {
        return Ok(Vec::new());
    }
    part_of_time(worst.part(), "how much of a thread's time TrueSpd's own work took")?;
    let load = worst.load;
    // With statistics an I/O takes up to two stamps.
    let has_stamps = case.span.measure_latency || case.span.calculate_iops_std_dev;
    let (why, advice) = if load.fill_ns >= REASON * load.generator_ns {
        (
            ", most of it to make random data (-Zr)",
            "use -Z<size>, which writes from one buffer of random data at almost no cost",
        )
    } else if has_stamps
        && 2.0 * cost.stamp_ns >= REASON * load.generator_ns
        && cost.stamp_ns >= STAMP_SLOW_NS
    {
        (
            ", most of it to read a slow clock",
            "let the kernel use the processor's counter (tsc) as its clock source",
        )
    } else {
        ("", "")
    };
    let says = format!("{} (thread {id}: {}){why}.", worst.words(), percent(worst.part()));
    let finding = remark(says).figure("generator_ns", load.generator_ns).figure("ns_per_io", worst.ns_per_io);
    Ok(vec![finding.advise(advice)])
}

/// No clock that is read without entering the kernel takes this long.
const STAMP_SLOW_NS: f64 = 150.0;

/// Less than this part of a set rate is not that rate.
const RATE_SUSPECT: f64 = 0.98;

/// Of a few I/Os so many have to be missing: one or two may just not have ended.
const RATE_MISSING: f64 = 10.0;

/// A set rate and what came of it, per second, in I/Os or in bytes.
struct Rate {
    asked: f64,
    done: f64,
    is_bytes: bool,
    is_reached: bool,
    /// I/Os that were asked for in the measured time.
    asked_ios: f64,
    /// I/Os that are missing of them.
    missing_ios: f64,
}

/// The rate of a target on which every entry has one, of one kind: the two kinds have no common sum.
fn rate(case: &Case<'_>, target: &TargetView<'_>) -> Option<Rate> {
    let (mut asked_ios, mut asked_bytes, mut threads) = (0.0, 0.0, 0.0);
    for entry in &target.entries {
        let on_it = f64::from(case.span.threads_on(entry));
        threads += on_it;
        if !entry.is_rate_limited() {
            return None;
        }
        match entry.throughput? {
            Throughput::Iops(n) => asked_ios += n as f64 * on_it,
            // The bytes of a mix are those of its I/Os by chance only.
            Throughput::BytesPerMs(n) if !entry.mix.is_empty() => {
                asked_ios += n as f64 * 1000.0 / entry.mean_bytes() * on_it;
            }
            Throughput::BytesPerMs(n) => asked_bytes += n as f64 * 1000.0 * on_it,
        }
    }
    let done = target.read.plus(target.write).plus(target.trim);
    let (done_ios, done_bytes) = (done.ios, done.bytes);
    if let Some(offered) = offered(case, target.path()) {
        // Arrivals at random are more or fewer than the rate by chance.
        let drawn = ratio(
            offered,
            asked_ios.max(asked_bytes / target.asked.block_bytes.max(1) as f64) * case.seconds(),
        );
        (asked_ios, asked_bytes) = (asked_ios * drawn, asked_bytes * drawn);
    }
    let (asked, done, is_bytes) = match (asked_ios > 0.0, asked_bytes > 0.0) {
        (true, false) => (asked_ios, done_ios, false),
        (false, true) => (asked_bytes, done_bytes, true),
        _ => return None,
    };
    // One I/O per thread may fall to either side of the end.
    let one_each = ratio(threads, case.seconds()) * ratio(done, done_ios);
    let size = if is_bytes { target.asked.block_bytes as f64 } else { 1.0 };
    let [asked_ios, missing_ios] = [asked, asked - done].map(|rate| ratio(rate * case.seconds(), size));
    let is_reached = done + one_each >= RATE_SUSPECT * asked;
    Some(Rate { asked, done, is_bytes, is_reached, asked_ios, missing_ios })
}

/// I/Os that were due on a path in the measured time; none where a thread does not tell.
fn offered(case: &Case<'_>, path: &str) -> Option<f64> {
    let results = case.measured.threads.iter().flat_map(|thread| &thread.targets);
    let mut offered = None;
    for result in results.filter(|result| result.path == path) {
        offered = Some(offered.unwrap_or(0.0) + result.offered_ios? as f64);
    }
    offered
}

/// A rate was set (`-g`) and not reached.
fn below_rate(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    for target in case.views() {
        let Some(rate) = rate(case, &target).filter(|rate| !rate.is_reached) else { continue };
        let Rate { asked, done, is_bytes, asked_ios, missing_ios, .. } = rate;
        if asked_ios < IOS_MIN && missing_ios < RATE_MISSING {
            missing = Some(Missing::too_few(&number((asked_ios - missing_ios).round()), IOS_MIN));
            continue;
        }
        let [set, reached] = [asked, done].map(|rate| {
            if is_bytes { format!("{}/s", bytes(rate)) } else { format!("{} IOPS", number(rate)) }
        });
        let part = percent(done / asked);
        let says = format!("-g set a rate of {set}, but the test reached {reached} ({part}).");
        let why = why_below(case, 1.0 - done / asked);
        let finding = suspect(format!("{says} {}", why.words()))
            .target(Some(target.path()))
            .figure("asked_per_s", asked)
            .figure("reached_per_s", done);
        findings.push(why.add_to(finding));
    }
    unless_missing(findings, missing)
}

/// A response time this many times the latency is another number.
const LATE_TIMES: f64 = 2.0;

/// Waking up late on a quiet machine explains less than a tenth of this.
const LATE_NS: u64 = 1_000_000;

/// A percentile needs this many I/Os above it.
const LATE_IOS: f64 = 10.0;

/// The median has as many with so many I/Os.
const LATE_IOS_MIN: f64 = 2.0 * LATE_IOS;

/// A stop may have lasted longer than it was seen to.
const CATCH_UP_S: f64 = 0.05;

/// The rate was reached by issuing I/Os late that could not be issued in time. The latencies show such a stall once per
/// place in the queue; clients would have met it at every I/O of that time.
fn coordinated_omission(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut is_missing, mut few) = (Vec::new(), false, None);
    for target in case.views() {
        // A rate that is never caught up with is the finding of `below-rate`.
        if !rate(case, &target).is_some_and(|rate| rate.is_reached) {
            continue;
        }
        for way in Direction::BOTH {
            let Some((service, response)) = latencies(case, target.path(), way) else {
                is_missing = true;
                continue;
            };
            let ios = response.count() as f64;
            if ios > 0.0 && ios < LATE_IOS_MIN {
                few = Some(Missing::too_few(&format!("{} {}", number(ios), way.plural()), LATE_IOS_MIN));
            }
            findings.extend(late(case, &target, way, &service, &response));
        }
    }
    let missing = is_missing.then(|| Missing::new("response times from the intended start (-g)"));
    unless_missing(findings, missing.or(few))
}

/// Service and response times on a path, empty where none were measured; `None` when only response times are missing.
fn latencies(case: &Case<'_>, path: &str, way: Direction) -> Option<(Histogram, Histogram)> {
    let (mut service, mut response) = (Histogram::new(), Histogram::new());
    let results = case.measured.threads.iter().flat_map(|thread| &thread.targets);
    for result in results.filter(|result| result.path == path) {
        let direction = way.pick(&result.read, &result.write);
        let Some(latency) = direction.latency.as_ref().filter(|latency| latency.count() > 0) else {
            continue;
        };
        response.merge(direction.response.as_ref()?);
        service.merge(latency);
    }
    Some((service, response))
}

fn late(
    case: &Case<'_>,
    target: &TargetView<'_>,
    way: Direction,
    service: &Histogram,
    response: &Histogram,
) -> Option<Finding> {
    let evidence = case.evidence();
    // A thread without a processor issues late as well: what became due meanwhile, and until it has caught up. That
    // explains at most twice the part of time as a part of the I/Os.
    let waiting = evidence.threads.iter().map(waiting_part).fold(0.0, f64::max);
    let host = evidence.host.as_ref();
    let steal = host.and_then(|host| host.steal_worst_percent.or(host.steal_percent)).unwrap_or(0.0) / 100.0;
    let (stopped_s, longest_s) = stopped_s(case);
    let explained = 2.0 * (waiting + steal + ratio(stopped_s, case.seconds()));
    let fractions = [
        (0.99, FindingGrade::Suspect),
        (0.9, FindingGrade::Suspect),
        (0.5, FindingGrade::Suspect),
        (0.999, FindingGrade::Remark),
    ];
    let (issued, due) = (service.percentiles(), response.percentiles());
    let mut late = None;
    for (fraction, grade) in fractions {
        let (at_issue, at_due) = (issued.ns(fraction), due.ns(fraction));
        if (1.0 - fraction) * response.count() as f64 + 1e-6 >= LATE_IOS
            && 1.0 - fraction > explained
            && at_due as f64 >= LATE_TIMES * at_issue as f64
            && at_due - at_issue >= LATE_NS
        {
            late = Some((fraction, grade, at_issue, at_due));
            break;
        }
    }
    let (fraction, grade, at_issue, at_due) = late?;
    let name = format!("p{}", (fraction * 1000.0).round() / 10.0);
    // What fell due while the program stood still is late by as much, and what came after it until it had caught up.
    let why = if at_due as f64 / 1e9 <= longest_s + at_issue as f64 / 1e9 + CATCH_UP_S {
        "they fell due while the program stood still, or had to wait until it had caught up"
    } else {
        "they waited for earlier I/Os to end"
    };
    let says = format!(
        "The {name} latency of {} is {}, but {} from their intended start (-g): {why}.",
        way.plural(),
        duration_ns(at_issue as f64),
        duration_ns(at_due as f64)
    );
    let finding = found(grade, says).target(Some(target.path()));
    let finding = finding.figure("percentile", fraction * 100.0).figure("service_ns", at_issue as f64);
    Some(finding.figure("response_ns", at_due as f64))
}

/// A bound thread that waits this part of its time would have moved.
const BOUND_WAITING: f64 = 0.02;

/// A processor idle for this part could have taken it.
const BOUND_IDLE_PERCENT: f64 = 50.0;

/// A thread was bound to a busy processor while others were idle.
fn bound_away(case: &Case<'_>) -> RuleResult {
    let evidence = case.evidence();
    if evidence.threads.is_empty() {
        return Err(Missing::new("the processor time of each thread"));
    }
    for thread in &evidence.threads {
        let (Some(cpu), waiting) = (thread.cpu, waiting_part(thread)) else { continue };
        if waiting < BOUND_WAITING {
            continue;
        }
        let processors = case.document.system.topology.processors.iter().zip(&case.measured.cpu);
        let idle = processors.filter(|(one, _)| one.cpu != cpu).map(|(_, used)| used.idle);
        let Some(idle) = idle.max_by(f64::total_cmp).filter(|idle| *idle >= BOUND_IDLE_PERCENT) else {
            continue;
        };
        let says = format!(
            "Thread {} was bound to processor {cpu} and waited for it {} of the time, while another processor was \
             idle.",
            thread.id,
            percent(waiting)
        );
        let finding = remark(says).figure("waiting_for_cpu_percent", waiting * 100.0);
        // One tells enough.
        return Ok(vec![finding.figure("idle_elsewhere_percent", idle)]);
    }
    Ok(Vec::new())
}

/// Threads on P-cores and on E-cores.
fn core_types(case: &Case<'_>) -> RuleResult {
    let topology = &case.document.system.topology;
    let most = topology.efficiency_class_max();
    // Threads and their I/Os: on the fastest kind of core, and on all others.
    let [mut fast, mut slow] = [(0.0, 0.0); 2];
    for thread in &case.evidence().threads {
        let processor = topology.processors.iter().find(|processor| Some(processor.cpu) == thread.cpu);
        let Some(processor) = processor else { continue };
        let sum = if processor.efficiency_class == most { &mut fast } else { &mut slow };
        *sum = (sum.0 + 1.0, sum.1 + ios_of_thread(case, thread.id));
    }
    if fast.0 == 0.0 || slow.0 == 0.0 {
        return Ok(Vec::new());
    }
    let [on_fast, on_slow] = [fast, slow].map(|(threads, ios)| ratio(ios, threads * case.seconds()));
    let says = format!(
        "{} of the threads ran on P-cores ({} IOPS each on average) and {} on E-cores ({} IOPS each): rates and \
         latencies mix both.",
        number(fast.0),
        number(on_fast),
        number(slow.0),
        number(on_slow)
    );
    let finding = remark(says).figure("iops_per_thread_on_p_cores", on_fast);
    Ok(vec![finding.figure("iops_per_thread_on_e_cores", on_slow)])
}

fn ios_of_thread(case: &Case<'_>, id: u32) -> f64 {
    let results = case.measured.threads.iter().filter(|thread| thread.id == id);
    results.flat_map(|thread| &thread.targets).map(|one| one.ios() as f64).sum()
}

fn waiting(view: &HostView) -> CheckResult {
    let stalled = averages("cpu", view.roots()).ok_or_else(|| NoAnswer::unknown(memory::NO_PRESSURE))?;
    let now = format!("{} of the last 10 s", part_percent(stalled.some / 100.0));
    if stalled.some / 100.0 < WAITING_SUSPECT {
        return Ok(Answer::good("Tasks hardly wait for a processor.").now(now));
    }
    let says = format!(
        "Tasks waited for a processor for {} of the last 10 s, and the threads of a test would wait, too: stop other \
         programs that use the processors before measuring.",
        part_percent(stalled.some / 100.0)
    );
    Ok(Answer::spoils(says).now(now).wanted("less than 10 %"))
}

fn no_processor(machine: &MachineNow, _: &[Limit]) -> Option<String> {
    let waited = machine.stalled?.cpu_some_percent / 100.0;
    (waited >= WAITING_SUSPECT).then(|| {
        format!(
            "Tasks waited for a processor for {} of the last 10 s, and the threads of a test would wait, too: stop \
             other programs that use the processors before measuring.",
            part_percent(waited)
        )
    })
}
