//! Document to bytes: one table of formats.
//!
//! A renderer reads the document and nothing else: it asks no machine, takes no clock and judges no
//! number. JSON is the document itself (`result::json`). Text is DiskSpd 2.2's, byte for byte (`text-output.md` of the contract).

mod csv;
mod tally;
mod text;
mod utc;
pub mod xml;

use crate::result::Document;

pub use csv::csv;
pub use text::{profile_text, system_text, text};

/// A row of the table of formats.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for help.
    pub summary: &'static str,
    /// Writes a whole document.
    pub render: fn(&Document) -> String,
}

/// Every format a document can be written in.
pub const FORMATS: &[Format] = &[
    Format {
        name: "text",
        summary: "DiskSpd's text result, line by line as version 2.2 writes it",
        render: text,
    },
    Format {
        name: "xml",
        summary: "DiskSpd's XML result, element by element as version 2.2 writes it",
        render: xml::results,
    },
    Format {
        name: "json",
        summary: "the whole result as one versioned record, from which every other format can be made",
        render: crate::result::json::write,
    },
    Format { name: "csv", summary: "one row per time span, thread, target and direction", render: csv },
];

/// The format of this name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
