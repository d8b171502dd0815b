//! Where two profiles differ, in the words of those who typed them.

use serde_json::Value;

use crate::profile::Profile;
use crate::profile::members::{Member, Unit};
use crate::text::{printable, typed_size};

/// One step from a profile to a value in it.
#[derive(Clone, Copy)]
enum Step<'a> {
    Member(&'a str),
    Entry(usize),
}

/// The first difference, with the value of each: `duration: 8 s in 'a.json', 10 s in 'b.json'`.
pub(super) fn first((name_a, a): (&str, &Profile), (name_b, b): (&str, &Profile)) -> String {
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
mod tests {
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
        assert_eq!(first(("'a'", &ours), ("'b'", &theirs)), words);
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
