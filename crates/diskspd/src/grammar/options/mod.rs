//! What an option does with its value, where that is more than a field of its row, and what several options read alike.

pub mod long;
pub mod run;
pub mod target;

use std::ops::RangeInclusive;

use crate::grammar::draft::Draft;
use crate::grammar::value::{Number, Slip, Unit, Value, length, number, whole};

/// What is legal behind an option that takes no value.
pub const ALONE: &str = "the option alone";

/// Refuses anything after an option that takes no value.
pub fn nothing(value: &Value) -> Result<(), Slip> {
    match value.text {
        "" => Ok(()),
        text => Err(Slip::new(format!("'{text}' follows an option that takes no value"))
            .at(0..length(text))
            .legal(ALONE)),
    }
}

/// An option without a value of DiskSpd, which ignores what follows its letters (`command-line.md` §1); told.
pub fn ignored(d: &mut Draft, v: &Value, option: &str) {
    if !v.text.is_empty() {
        d.reinterpret(&format!("{option}{}", v.text), option);
    }
}

/// The number of an option; where DiskSpd takes it for another one than it says, that is told.
pub fn read(
    d: &mut Draft,
    v: &Value,
    option: &str,
    unit: Unit,
    range: RangeInclusive<u64>,
) -> Result<u64, Slip> {
    let Number { value, is_plain } = number(v.text, unit, range)?;
    if !is_plain {
        d.reinterpret(&format!("{option}{}", v.text), &format!("{option}{value}"));
    }
    Ok(value)
}

pub fn read32(d: &mut Draft, v: &Value, option: &str, unit: Unit, min: u32) -> Result<u32, Slip> {
    let value = read(d, v, option, unit, u64::from(min)..=u64::from(u32::MAX))?;
    Ok(u32::try_from(value).expect("the range ends at 32 bits"))
}

/// [`read32`] of an option that DiskSpd takes for 0 when its number is missing; told.
pub fn read32_or_0(d: &mut Draft, v: &Value, option: &str, unit: Unit) -> Result<u32, Slip> {
    if v.text.is_empty() {
        d.reinterpret(option, &format!("{option}0"));
        return Ok(0);
    }
    read32(d, v, option, unit, 0)
}

/// The percentage of an option, from `min` to 100.
pub fn percentage(d: &mut Draft, v: &Value, option: &str, min: u64, legal: &str) -> Result<u32, Slip> {
    let percent = read(d, v, option, Unit::Percent, min..=100).map_err(|slip| slip.legal(legal))?;
    Ok(u32::try_from(percent).expect("at most 100"))
}

/// A percentage from `min` to 100 within a value.
pub fn share(text: &str, min: u64, legal: &str) -> Result<u32, Slip> {
    let percent = whole(text, min..=100).map_err(|slip| slip.legal(legal))?;
    Ok(u32::try_from(percent).expect("at most 100"))
}
