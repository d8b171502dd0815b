//! What each option does with its value; one function per row of the table.

pub mod affinity;
pub mod caching;
pub mod extent;
pub mod load;
pub mod long;
pub mod pattern;
pub mod report;
pub mod windows;

use std::ops::RangeInclusive;

use super::draft::Draft;
use crate::grammar::value::{Number, Slip, Unit, Value, length, number};

/// Refuses anything after an option that takes no value.
fn nothing(value: &Value) -> Result<(), Slip> {
    match value.text {
        "" => Ok(()),
        text => Err(Slip::new(format!("'{text}' follows an option that takes no value"))
            .at(0..length(text))
            .legal("the option alone")),
    }
}

/// An option without a value of DiskSpd, which ignores what follows its letters (`command-line.md` §1); told.
fn alone(d: &mut Draft, v: &Value, option: &str) {
    if !v.text.is_empty() {
        d.taken(&format!("{option}{}", v.text), option);
    }
}

/// The number of an option; where DiskSpd takes it for another one than it says, that is told.
fn read(d: &mut Draft, v: &Value, option: &str, unit: Unit, range: RangeInclusive<u64>) -> Result<u64, Slip> {
    let Number { value, is_plain } = number(v.text, unit, range)?;
    if !is_plain {
        d.taken(&format!("{option}{}", v.text), &format!("{option}{value}"));
    }
    Ok(value)
}

/// [`read`] for 32-bit fields.
fn read32(d: &mut Draft, v: &Value, option: &str, unit: Unit, min: u32) -> Result<u32, Slip> {
    let value = read(d, v, option, unit, u64::from(min)..=u64::from(u32::MAX))?;
    Ok(u32::try_from(value).expect("the range ends at 32 bits"))
}

/// [`read32`] of an option that DiskSpd takes for 0 when its number is missing; told.
fn read32_or_0(d: &mut Draft, v: &Value, option: &str, unit: Unit) -> Result<u32, Slip> {
    if v.text.is_empty() {
        d.taken(option, &format!("{option}0"));
        return Ok(0);
    }
    read32(d, v, option, unit, 0)
}
