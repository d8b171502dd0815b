//! What each option does with its value; one function per row of the table.

pub(crate) mod affinity;
pub(crate) mod caching;
pub(crate) mod extent;
pub(crate) mod load;
pub(crate) mod long;
pub(crate) mod pattern;
pub(crate) mod report;
pub(crate) mod windows;

use crate::cli::grammar::value::{Slip, Value, length};

/// Refuses anything after an option that takes no value (Strict; DiskSpd ignores it).
fn nothing(value: &Value) -> Result<(), Slip> {
    match value.text {
        "" => Ok(()),
        text => Err(Slip::new(format!("'{text}' follows an option that takes no value"))
            .at(0..length(text))
            .legal("the option alone")),
    }
}
