//! What the layers between a test and its disks do with processors, and layers that are there for tests.

use crate::cause::RuleFn::{RealSpan, RealTarget};
use crate::cause::{Case, Cause, Missing, OneResult, RuleResult, Sentence, ratio, rule, suspect};
use crate::roles::traits;
use crate::view::TargetView;
use truespd_core::result::FindingGrade::Suspect;
use truespd_core::result::Meaning::{HeldBack, WrongNumber};
use truespd_core::result::{Finding, KernelWork, Layer, LayerKind, LayerRole, OtherPrograms, Theme};
use truespd_platform::text::{number, percent};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("layer-cost", Theme::Processor).judged(
        rule(345, Suspect, HeldBack, RealSpan(layer_cost)),
        "The kernel's threads of a layer below the target (encryption, parity, checksums, a loop device) took half \
         of the busy processor time and more while the processors were idle for less than 10 %, or one such thread \
         computed for 90 % of the time.",
        "treat the number as that of this layer on these processors; test the disk below it by itself",
    ),
    Cause::new("test-layer", Theme::Target).inspected(Sentence::Layer(45, is_for_tests)).judged(
        rule(165, Suspect, WrongNumber, RealTarget(test_layer)),
        "A layer below the target was made for tests (dm-delay, dm-flakey, dm-dust): it delays, refuses or drops I/O.",
        "test the device below it, unless the layer is what you test",
    ),
];

/// With less time than this processors are not idle enough to do more.
const IDLE_PERCENT: f64 = 10.0;

/// A layer that takes this part of what the processors do is what they are busy with.
const MOSTLY: f64 = 0.5;

/// A thread that computes for this part of the time can do no more. It is counted from before the first I/O.
const ONE_THREAD: f64 = 0.9;

/// How the names of the kernel's threads and queues begin that work for a layer.
fn names_of(layer: &Layer) -> Vec<String> {
    let mut names: Vec<String> = traits(layer.role()).threads.iter().map(ToString::to_string).collect();
    match layer.role() {
        LayerRole::Array => names.push(format!("{}_raid", layer.name)),
        LayerRole::Loop => names.push(layer.name.clone()),
        _ => {}
    }
    names
}

/// Whether this is work for the layer.
fn is_for(work: &KernelWork, layer: &Layer) -> bool {
    let names = names_of(layer);
    let Some(rest) = names.iter().find_map(|name| work.name.strip_prefix(name)) else { return false };
    // The kernel calls a mapped device by its minor number as well: dm-1 is 254:1.
    match (rest.split_once(':'), layer.name.strip_prefix("dm-")) {
        (Some((_, minor)), Some(number)) => minor.split(|c: char| !c.is_ascii_digit()).next() == Some(number),
        _ => layer.kind != LayerKind::Loop || rest.is_empty(),
    }
}

/// The work of the kernel for one layer, in processors.
struct LayerWork<'a> {
    layer: &'a Layer,
    work: &'a KernelWork,
    processors: f64,
}

impl<'a> LayerWork<'a> {
    /// That for the layer which takes most, if any does.
    fn most(case: &Case<'a>, told: &'a OtherPrograms) -> Option<LayerWork<'a>> {
        let views = case.views();
        let layers: Vec<&'a Layer> = views.iter().flat_map(TargetView::layers).collect();
        // The kernel's threads that computed most come first.
        told.kernel.iter().find_map(|work| {
            let layer = layers.iter().find(|layer| is_for(work, layer))?;
            let processors = ratio(work.running_ns as f64, told.window_ns as f64);
            Some(LayerWork { layer, work, processors })
        })
    }

    fn is_one_thread_at_its_end(&self) -> bool {
        self.work.threads == 1 && self.processors >= ONE_THREAD
    }
}

/// Percent of the time, over all processors, that these were idle.
fn idle_percent(case: &Case<'_>) -> Option<f64> {
    let all = &case.measured.cpu;
    (!all.is_empty()).then(|| ratio(all.iter().map(|one| one.idle).sum(), all.len() as f64))
}

fn most_of_the_processors<'a>(case: &Case<'a>) -> Option<LayerWork<'a>> {
    let told = case.evidence().host.as_ref()?.other_programs.as_ref()?;
    let most = LayerWork::most(case, told)?;
    let idle = idle_percent(case)?;
    let busy = case.measured.cpu.len() as f64 * (1.0 - idle / 100.0);
    let takes_most = idle < IDLE_PERCENT && most.processors >= MOSTLY * busy;
    (takes_most || most.is_one_thread_at_its_end()).then_some(most)
}

/// Processors that the kernel's work for the layers of a run took.
pub(super) fn processors(case: &Case<'_>) -> f64 {
    let told = case.evidence().host.as_ref().and_then(|host| host.other_programs.as_ref());
    let Some(told) = told else { return 0.0 };
    let views = case.views();
    let layers: Vec<&Layer> = views.iter().flat_map(TargetView::layers).collect();
    let ours = told.kernel.iter().filter(|work| layers.iter().any(|layer| is_for(work, layer)));
    let running_ns: u64 = ours.map(|work| work.running_ns).sum();
    ratio(running_ns as f64, told.window_ns as f64)
}

/// Whether a layer is why threads waited for a processor.
pub(super) fn took_the_processors(case: &Case<'_>) -> bool {
    most_of_the_processors(case).is_some()
}

/// The processors were busy with a layer.
fn layer_cost(case: &Case<'_>) -> RuleResult {
    let is_told = case.evidence().host.as_ref().is_some_and(|host| host.other_programs.is_some());
    let is_busy = idle_percent(case).is_some_and(|idle| idle < IDLE_PERCENT);
    let views = case.views();
    if is_busy
        && !is_told
        && views.iter().flat_map(TargetView::layers).any(|layer| !names_of(layer).is_empty())
    {
        return Err(Missing::new("what the kernel's threads computed"));
    }
    let Some(most) = most_of_the_processors(case) else { return Ok(Vec::new()) };
    Ok(vec![finding(case, &most)])
}

fn finding(case: &Case<'_>, most: &LayerWork<'_>) -> Finding {
    let (name, of) = (most.layer.known_name(), case.measured.cpu.len());
    let says = if most.is_one_thread_at_its_end() {
        format!(
            "The thread {} of the kernel, which works for {name} ({}), computed for {} of the time: this thread \
             limited the rate, not the disk.",
            most.work.name,
            traits(most.layer.role()).work,
            percent(most.processors.min(1.0))
        )
    } else {
        format!(
            "The kernel's work for {name} ({}) took {} of {of} processors, which were idle for only {} of the time: \
             the processors limited the rate, not the disk.",
            traits(most.layer.role()).work,
            number(most.processors),
            percent(idle_percent(case).unwrap_or(0.0) / 100.0)
        )
    };
    suspect(says).figure("layer_processors", most.processors)
}

/// What such layers do, by the kernel's name of their kind.
const FOR_TESTS: [(&str, &str); 4] = [
    ("delay", "delays each I/O"),
    ("flakey", "refuses or drops I/O at times"),
    ("dust", "makes blocks unreadable"),
    ("error", "refuses each I/O"),
];

fn is_for_tests(layer: &Layer) -> Option<String> {
    let mapped_as = &layer.details.as_ref()?.mapped_as;
    let (kind, does) = FOR_TESTS.iter().find(|(kind, _)| mapped_as.iter().any(|one| one == kind))?;
    Some(format!(
        "{} is a device for tests (dm-{kind}), which {does}: the number is not that of the disk below it.",
        layer.known_name()
    ))
}

fn test_layer(_: &Case<'_>, target: &TargetView<'_>) -> OneResult {
    Ok(target.layers().iter().find_map(is_for_tests).map(suspect))
}
