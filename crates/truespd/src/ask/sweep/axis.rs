//! What a sweep varies: a switch of DiskSpd and its values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_platform::fault::Refusal;
use truespd_platform::text::typed_size;

/// A sweep has no more points.
pub const POINTS_MAX: usize = 10_000;

/// A switch with the values that it takes in turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// The switch without its dash: `o`, `b`, `-zipf`.
    pub switch: String,
    /// Its values as they stand in a line.
    pub values: Vec<String>,
}

/// How ranges are written, for refusals.
const LEGAL: &str = "o=1..256 (doubled each time), o=1..32+1 (steps of 1), o=1,2,8 (a list), b=4K..1M, \
    g=1000i..16000i, zipf=0.6,0.9, mix='4K:100;4K:50,64K:50' (values with commas are separated by ;)";
/// Their values have commas, so that lists of them are separated by semicolons only.
const WITH_COMMAS: [&str; 2] = ["mix", "engine"];

impl Axis {
    /// Reads `o=1..256`, `t=1,2,4`, `b=4K..1M`, `o=1..32+1`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        let Some((switch, values)) = text.split_once('=') else {
            return Err(refused(text, "a switch, = and its values are needed"));
        };
        let switch = switch.strip_prefix('-').unwrap_or(switch);
        let mut axis = Axis { switch: switch.to_string(), values: Vec::new() };
        let has_commas = WITH_COMMAS.contains(&switch.trim_start_matches('-')) || values.contains(';');
        for item in values.split(if has_commas { ';' } else { ',' }) {
            axis.take(text, item)?;
        }
        Ok(axis)
    }

    /// A value, or all of a range.
    fn take(&mut self, text: &str, item: &str) -> Result<(), Refusal> {
        if item.is_empty() {
            return Err(refused(text, "a value is missing"));
        }
        let Some((first, rest)) = item.split_once("..") else { return self.push(text, item.to_string()) };
        let (last, step) = match rest.split_once('+') {
            Some((last, step)) => (last, Some(step)),
            None => (rest, None),
        };
        let (Some(first), Some(last)) = (Amount::read(first), Amount::read(last)) else {
            return Err(refused(text, &format!("'{item}' is not a range of whole numbers; give a list")));
        };
        let step = match step.map(Amount::read) {
            None => None,
            Some(Some(step)) if step.number > 0 => Some(step.number),
            Some(_) => return Err(refused(text, &format!("the step of '{item}' is not a number above 0"))),
        };
        if first.number == 0 && step.is_none() {
            return Err(refused(
                text,
                &format!("'{item}' begins at 0, which cannot be doubled; give a step: 0..100+10"),
            ));
        }
        if first.number > last.number || first.unit_differs(&last) {
            return Err(refused(text, &format!("'{item}' must go upwards, with one unit")));
        }
        let mut number = first.number;
        while number < last.number {
            self.push(text, last.with(number))?;
            number = match step {
                Some(step) => number.saturating_add(step),
                None => number.saturating_mul(2),
            };
        }
        // A range by steps ends where its last step does, a doubled one always at its end.
        if number == last.number || step.is_none() { self.push(text, last.with(last.number)) } else { Ok(()) }
    }

    fn push(&mut self, text: &str, value: String) -> Result<(), Refusal> {
        if self.values.contains(&value) {
            return Err(refused(text, &format!("the value {value} stands twice")));
        }
        if self.values.len() >= POINTS_MAX {
            return Err(refused(
                text,
                &format!(
                    "a sweep may have {POINTS_MAX} points, and this switch has more than {POINTS_MAX} values"
                ),
            ));
        }
        self.values.push(value);
        Ok(())
    }

    /// The words of a line that give the switch its value at a place.
    pub fn words(&self, place: usize) -> Vec<String> {
        let value = &self.values[place];
        if self.switch.starts_with('-') {
            return vec![format!("-{}", self.switch), value.clone()];
        }
        vec![format!("-{}{value}", self.switch)]
    }

    /// Its only value has commas, and may have been meant as a list.
    pub fn may_be_a_list(&self) -> bool {
        let has_commas = WITH_COMMAS.contains(&self.switch.trim_start_matches('-'));
        has_commas && self.values.len() == 1 && self.values[0].contains(',')
    }

    /// The switch with a value, for people: `-o8`, `--zipf 0.9`.
    pub fn with(&self, value: &str) -> String {
        let gap = if self.switch.starts_with('-') { " " } else { "" };
        format!("{}{gap}{value}", self.shown())
    }

    /// The switch as it is written: `-o`.
    pub fn shown(&self) -> String {
        format!("-{}", self.switch)
    }
}

fn refused(text: &str, what: &str) -> Refusal {
    Refusal::command_line(format!("--over {text}: {what}")).hint(format!("legal: {LEGAL}"))
}

/// An end of a range.
struct Amount {
    /// In bytes where it is a size.
    number: u64,
    is_size: bool,
    /// What stands behind it, where that is no unit of a size: `i`.
    suffix: String,
}

impl Amount {
    fn read(text: &str) -> Option<Self> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, suffix) = text.split_at(digits);
        let number: u64 = number.parse().ok()?;
        let unit = match suffix {
            "k" | "K" => 1u64 << 10,
            "m" | "M" => 1 << 20,
            "g" | "G" => 1 << 30,
            "t" | "T" => 1 << 40,
            // 0.6 is no whole number.
            _ if suffix.starts_with('.') => return None,
            _ => return Some(Amount { number, is_size: false, suffix: suffix.to_string() }),
        };
        Some(Amount { number: number.checked_mul(unit)?, is_size: true, suffix: String::new() })
    }

    /// 512..64K has one unit, 1..1000i has two.
    fn unit_differs(&self, other: &Amount) -> bool {
        self.suffix != other.suffix
    }

    /// Another number in this unit.
    fn with(&self, number: u64) -> String {
        if self.is_size { typed_size(number) } else { format!("{number}{}", self.suffix) }
    }
}

/// Number of points of all combinations.
///
/// # Errors
/// More than a sweep may have.
pub fn count(axes: &[Axis]) -> Result<usize, Refusal> {
    let mut points = 1usize;
    for axis in axes {
        points = points.saturating_mul(axis.values.len());
    }
    if points <= POINTS_MAX {
        return Ok(points);
    }
    let message = format!("these ranges make {points} points; a sweep may have {POINTS_MAX} at most");
    Err(Refusal::command_line(message)
        .hint("double the values (o=1..256) instead of counting, or vary fewer switches"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_doubled_unless_a_step_is_given() {
        for (text, switch, values) in [
            ("o=1..256", "o", "1 2 4 8 16 32 64 128 256"),
            ("o=1..100", "o", "1 2 4 8 16 32 64 100"),
            ("o=1..4+1", "o", "1 2 3 4"),
            ("w=0..100+25", "w", "0 25 50 75 100"),
            ("w=0..100+30", "w", "0 30 60 90"),
            ("b=4K..32K", "b", "4K 8K 16K 32K"),
            ("b=512..4K", "b", "512 1K 2K 4K"),
            ("g=1000i..4000i", "g", "1000i 2000i 4000i"),
            ("-o=8,1,64", "o", "8 1 64"),
            ("--zipf=0.6,1.2", "-zipf", "0.6 1.2"),
            ("mix=4K:50,64K:50", "mix", "4K:50,64K:50"),
            ("mix=4K:100;4K:50,64K:50", "mix", "4K:100 4K:50,64K:50"),
            ("engine=uring;sim:latency=1ms,channels=8", "engine", "uring sim:latency=1ms,channels=8"),
            ("Z=1M,data;4M", "Z", "1M,data 4M"),
            ("flush-every=1:data..4:data", "flush-every", "1:data 2:data 4:data"),
            ("o=1..4,32", "o", "1 2 4 32"),
            ("o=7..7", "o", "7"),
        ] {
            let axis = Axis::read(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!((axis.switch.as_str(), axis.values.join(" ").as_str()), (switch, values), "{text}");
        }
        let zipf = Axis::read("--zipf=0.6").unwrap();
        assert_eq!(
            (zipf.words(0), zipf.shown()),
            (vec!["--zipf".to_string(), "0.6".into()], "--zipf".into())
        );
        assert_eq!(Axis::read("o=1,2").unwrap().words(1), ["-o2"]);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (text, says) in [
            ("o", "a switch, = and its values"),
            ("o=", "a value is missing"),
            ("o=1,,2", "a value is missing"),
            ("o=8..1", "must go upwards"),
            ("o=0..8", "cannot be doubled"),
            ("o=1..8+0", "is not a number above 0"),
            ("o=a..8", "is not a range"),
            ("g=1..8i", "one unit"),
            ("o=1,1", "stands twice"),
            ("mix=4K:100;;8K:100", "a value is missing"),
            ("zipf=0.6..1.2", "is not a range of whole numbers; give a list"),
            ("o=1..99999+1", "more than 10000"),
        ] {
            let why = Axis::read(text).expect_err(text).to_string();
            assert!(why.contains(says), "{text}: {why}");
        }
        let axes = [Axis::read("o=1..200+1").unwrap(), Axis::read("t=1..60+1").unwrap()];
        assert!(count(&axes).unwrap_err().to_string().contains("12000 points"));
        assert_eq!(count(&axes[..1]), Ok(200));
    }
}
