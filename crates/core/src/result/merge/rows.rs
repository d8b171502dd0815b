//! The rows of all sources for one time span: their times, and what they share. And the ranks of cluster runs whose
//! results
//! are not in a sum.

use crate::profile::Profile;
use crate::profile::members::{Member, Unit};
use crate::result::{CpuUse, LostRank, MissingRank, RANKS_MAX, Source, SourceSpan, System, Window};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use truespd_platform::text::{printable, typed_size};

/// Shared time below this part of the longest run is worth a warning.
const COMMON_PART_NOTABLE: f64 = 0.98;
/// Measured times that differ by more than this part are worth a warning.
const TIMES_PART_NOTABLE: f64 = 0.01;

/// The rows of all sources for one time span, in the table's order.
pub(super) struct Rows<'a> {
    time_span: usize,
    sources: usize,
    base: &'a System,
    /// The sources that measured something.
    pub spans: Vec<(&'a Source, &'a SourceSpan)>,
}

impl<'a> Rows<'a> {
    /// Of a time span, from 0.
    pub fn of(sources: &'a [Source], time_span: usize) -> Self {
        Rows {
            time_span,
            sources: sources.len(),
            base: &sources[0].system,
            spans: sources
                .iter()
                .filter_map(|source| Some((source, source.time_spans.get(time_span)?.as_ref()?)))
                .collect(),
        }
    }

    fn times_s(&self) -> impl Iterator<Item = f64> {
        self.spans.iter().map(|(_, span)| span.test_time_s)
    }

    /// The measured time of the sum.
    pub fn mean_time_s(&self) -> f64 {
        // As a deviation from the first, so that equal times give exactly that time.
        let first = self.times_s().next().unwrap_or(0.0);
        first + self.times_s().map(|time| time - first).sum::<f64>() / self.spans.len().max(1) as f64
    }

    /// Mean use of each processor over the sources on machines like the first one's.
    pub fn cpu(&self) -> Vec<CpuUse> {
        let alike: Vec<&[CpuUse]> = self.alike().collect();
        let Some(&first) = alike.first() else {
            return vec![CpuUse { user: 0.0, kernel: 0.0, idle: 100.0 }; self.base.topology.processors.len()];
        };
        let mut uses = first.to_vec();
        for (i, mean) in uses.iter_mut().enumerate() {
            // As deviations from the first, so that equal uses give exactly that use.
            let sum =
                |of: fn(&CpuUse) -> f64| -> f64 { alike.iter().map(|cpu| of(&cpu[i]) - of(&first[i])).sum() };
            mean.user += sum(|c| c.user) / alike.len() as f64;
            mean.kernel += sum(|c| c.kernel) / alike.len() as f64;
            mean.idle += sum(|c| c.idle) / alike.len() as f64;
        }
        uses
    }

    fn alike(&self) -> impl Iterator<Item = &'a [CpuUse]> {
        let processors = self.base.topology.processors.len();
        let alike = self.spans.iter().filter(move |(source, span)| {
            source.system.topology == self.base.topology && span.cpu.len() == processors
        });
        alike.map(|(_, span)| span.cpu.as_slice())
    }

    /// By one clock, where it is known.
    fn windows(&self) -> impl Iterator<Item = Window> {
        self.spans.iter().filter_map(|(_, span)| span.common_window())
    }

    /// What the targets are called where those of all sources are one: as on the first source that has so many.
    pub fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for (_, span) in &self.spans {
            paths.extend(span.targets.iter().skip(paths.len()).cloned());
        }
        paths
    }

    /// The window that all share.
    pub fn common(&self) -> Option<Window> {
        let mut windows = self.windows();
        let first = windows.next()?;
        windows.try_fold(first, Window::common)
    }

    /// The hosts of the run that ended first and of that which began last, when no time is common to all.
    pub fn apart(&self) -> Option<(String, String)> {
        if self.common().is_some() {
            return None;
        }
        let rows = self.spans.iter().filter_map(|(source, span)| Some((source, span.common_window()?)));
        let (early, _) = rows.clone().min_by_key(|(_, window)| window.end_unix_ns)?;
        let (late, _) = rows.max_by_key(|(_, window)| window.start_unix_ns)?;
        Some((early.system.computer_name.clone(), late.system.computer_name.clone()))
    }

    /// What a person should know of their times and machines.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.spans.len() < 2 && self.sources < 2 {
            return warnings;
        }
        let number = self.time_span + 1;
        if self.spans.len() < self.sources {
            let missing = self.sources - self.spans.len();
            warnings
                .push(format!("time span {number}: {missing} of {} results measured nothing", self.sources));
        }
        let (least, most) =
            self.times_s().fold((f64::MAX, 0.0f64), |(least, most), s| (least.min(s), most.max(s)));
        if most - least > most * TIMES_PART_NOTABLE {
            warnings.push(format!(
                "time span {number}: the runs measured for {least:.3} to {most:.3} s; rates are totals divided by \
                 the mean time"
            ));
        }
        let longest_ns = self.windows().map(|w| w.length_ns()).max().unwrap_or(0);
        let common_ns = self.common().map_or(0, |w| w.length_ns());
        if self.windows().count() < self.spans.len() {
            warnings.push(format!(
                "time span {number}: not every result shows when it ran, so it is not known whether all ran at the \
                 same time"
            ));
        } else if (common_ns as f64) < longest_ns as f64 * COMMON_PART_NOTABLE {
            warnings.push(format!(
                "time span {number}: all runs together measured for only {:.3} s, the longest for {:.3} s; the rates \
                 are those of this common time if every run was steady, and each run's intervals count from its own \
                 start",
                common_ns as f64 / 1e9,
                longest_ns as f64 / 1e9
            ));
        }
        let others = self.spans.len() - self.alike().count();
        if others > 0 {
            warnings.push(format!(
                "time span {number}: processor use is the mean of the hosts with the processors of {}; {others} \
                 results of other machines are only in the table of sources",
                self.base.computer_name
            ));
        }
        warnings
    }
}

/// Ranks that a warning names.
const NAMED_MAX: usize = 8;

/// Ranks of each run that no source is of. What became of them is in the results of the others; a rank whose
/// result is here is not missing, whatever they say.
pub(super) fn missing(sources: &[Source]) -> Vec<MissingRank> {
    #[derive(Default)]
    struct Run<'s> {
        ranks: u32,
        given: BTreeSet<u32>,
        lost: BTreeMap<u32, &'s LostRank>,
    }
    let mut runs: BTreeMap<&str, Run<'_>> = BTreeMap::new();
    for rank in sources.iter().filter_map(|source| source.rank.as_ref()) {
        let run = runs.entry(&rank.run).or_default();
        run.ranks = run.ranks.max(rank.ranks).min(RANKS_MAX);
        run.given.insert(rank.rank);
        for lost in &rank.lost {
            run.lost.entry(lost.rank).or_insert(lost);
        }
    }
    let mut missing = Vec::new();
    for (name, run) in runs {
        for rank in (0..run.ranks).filter(|rank| !run.given.contains(rank)) {
            let lost = run.lost.get(&rank).map(|&lost| lost.clone());
            missing.push(MissingRank { run: name.to_string(), rank, lost });
        }
    }
    missing
}

/// What a person should know of them.
pub(super) fn missing_warning(missing: &[MissingRank], sources: usize) -> Option<String> {
    let mut named: Vec<String> = missing.iter().take(NAMED_MAX).map(MissingRank::words).collect();
    if missing.len() > NAMED_MAX {
        named.push(format!("and {} more", missing.len() - NAMED_MAX));
    }
    let (is, of) = match missing.len() {
        0 => return None,
        1 => ("1 rank is".to_string(), sources + 1),
        several => (format!("{several} ranks are"), sources + several),
    };
    Some(format!("{is} missing in this sum of {sources} of {of} results: {}", named.join("; ")))
}

/// One step from a profile to a value in it.
#[derive(Clone, Copy)]
enum Step<'a> {
    Member(&'a str),
    Entry(usize),
}

/// The first difference, with the value of each: `duration: 8 s in 'a.json', 10 s in 'b.json'`.
pub(super) fn first_difference((name_a, a): (&str, &Profile), (name_b, b): (&str, &Profile)) -> String {
    let [value_a, value_b] =
        [a, b].map(|profile| serde_json::to_value(profile).expect("a profile is always JSON"));
    let mut place = Vec::new();
    let Some((value_a, value_b)) = find(&mut place, &value_a, &value_b) else {
        return "their profiles differ".to_string();
    };
    let (what, unit) = what(&place, a);
    if let (Value::Array(a), Value::Array(b), Some(Step::Member("time_spans" | "targets"))) =
        (value_a, value_b, place.last())
    {
        return format!("{what}: {} in {name_a}, {} in {name_b}", a.len(), b.len());
    }
    format!("{what}: {} in {name_a}, {} in {name_b}", words(value_a, unit), words(value_b, unit))
}

/// Leads `place` to the first values that differ.
fn find<'a>(place: &mut Vec<Step<'a>>, a: &'a Value, b: &'a Value) -> Option<(&'a Value, &'a Value)> {
    let mut below = |step, a, b| {
        place.push(step);
        let found = find(place, a, b);
        if found.is_none() {
            place.pop();
        }
        found
    };
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter().find_map(|(key, a)| below(Step::Member(key), a, b.get(key).unwrap_or(&Value::Null)))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(i, (a, b))| below(Step::Entry(i), a, b))
        }
        (a, b) => (a != b).then_some((a, b)),
    }
}

/// The field in words, behind its time span and target where there are several, and the unit of its values.
fn what(place: &[Step<'_>], profile: &Profile) -> (String, Unit) {
    let spans = &profile.time_spans;
    let (of_span, rest) = match place {
        [Step::Member("time_spans"), Step::Entry(span), rest @ ..] => (Some(*span), rest),
        all => (None, all),
    };
    let (of_target, rest) = match rest {
        [Step::Member("targets"), Step::Entry(target), rest @ ..] => (Some(*target), rest),
        all => (None, all),
    };
    let targets = of_span.map_or(0, |span| spans[span].targets.len());
    let mut words = String::new();
    if let Some(span) = of_span
        && spans.len() > 1
    {
        words.push_str(&format!("time span {}, ", span + 1));
    }
    if let Some(target) = of_target
        && targets > 1
    {
        words.push_str(&format!("target {}, ", target + 1));
    }
    let known = match rest {
        [Step::Member("time_spans")] => return (words + "number of time spans", Unit::Plain),
        [Step::Member("targets")] => return (words + "number of targets", Unit::Plain),
        [Step::Member(name)] if of_target.is_some() => Member::of_target(name),
        [Step::Member(name)] if of_span.is_some() => Member::of_time_span(name),
        _ => None,
    };
    if let Some(member) = known {
        return (words + member.words, member.unit);
    }
    let mut path = String::new();
    for step in place {
        match step {
            Step::Member(name) if path.is_empty() => path.push_str(name),
            Step::Member(name) => path.push_str(&format!(".{name}")),
            Step::Entry(entry) => path.push_str(&format!("[{entry}]")),
        }
    }
    (path, Unit::Plain)
}

fn words(value: &Value, unit: Unit) -> String {
    match (value, unit) {
        (Value::Null, _) => "none".to_string(),
        (Value::Bool(is_on), _) => if *is_on { "on" } else { "off" }.to_string(),
        (Value::String(text), _) => format!("'{}'", printable(text)),
        (Value::Array(entries), _) => format!("{} entries", entries.len()),
        (number, Unit::Seconds) => format!("{number} s"),
        (number, Unit::Milliseconds) => format!("{number} ms"),
        (number, Unit::Percent) => format!("{number} %"),
        (number, Unit::Bytes) => number.as_u64().map_or_else(|| number.to_string(), exact_size),
        (other, Unit::Plain) => other.to_string(),
    }
}

/// In the largest unit that shows every byte: two sizes that differ never look alike.
fn exact_size(bytes: u64) -> String {
    let typed = typed_size(bytes);
    match typed.strip_suffix(['K', 'M', 'G', 'T']) {
        Some(count) => format!("{count} {}iB", &typed[count.len()..]),
        None => format!("{typed} bytes"),
    }
}

#[cfg(test)]
mod tests_of_differences {
    use super::*;
    use crate::profile::{Target, TimeSpan};

    fn profile(spans: usize, targets: usize) -> Profile {
        let span = TimeSpan { targets: vec![Target::default(); targets], ..TimeSpan::default() };
        Profile { time_spans: vec![span; spans], ..Profile::default() }
    }

    #[track_caller]
    fn differ(shape: (usize, usize), change: impl Fn(&mut TimeSpan), words: &str) {
        let (ours, mut theirs) = (profile(shape.0, shape.1), profile(shape.0, shape.1));
        change(theirs.time_spans.last_mut().expect("a time span"));
        assert_eq!(first_difference(("'a'", &ours), ("'b'", &theirs)), words);
    }

    #[test]
    fn fields_have_words_and_units() {
        differ((1, 1), |span| span.duration_s = 8, "duration: 10 s in 'a', 8 s in 'b'");
        differ((2, 1), |span| span.warmup_s = 0, "time span 2, warm-up: 5 s in 'a', 0 s in 'b'");
        let block = |span: &mut TimeSpan| span.targets[1].block_bytes = 4097;
        differ((1, 2), block, "target 2, block size: 64 KiB in 'a', 4097 bytes in 'b'");
        let latency = |span: &mut TimeSpan| span.measure_latency = true;
        differ((1, 1), latency, "latency measurement (-L): off in 'a', on in 'b'");
        let path = |span: &mut TimeSpan| span.targets[0].path = "x\u{1b}".into();
        differ((1, 1), path, "path: '' in 'a', 'x\\u{1b}' in 'b'");
        let pause = |span: &mut TimeSpan| span.targets[0].think_ms = Some(3);
        differ((1, 1), pause, "pause between bursts (-j): none in 'a', 3 ms in 'b'");
        let more = |span: &mut TimeSpan| span.targets.push(Target::default());
        differ((1, 1), more, "number of targets: 1 in 'a', 2 in 'b'");
    }

    #[test]
    fn other_fields_stand_by_their_place() {
        let weight = |span: &mut TimeSpan| span.targets[0].weight = 7;
        differ((1, 1), weight, "time_spans[0].targets[0].weight: 1 in 'a', 7 in 'b'");
    }
}
