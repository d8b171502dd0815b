//! Document to bytes: one table of formats.
//!
//! A renderer reads the document and nothing else: it asks no machine, takes no clock and judges no number.
//! JSON is the document itself (`result::json`). Text and XML are DiskSpd's, byte for byte (`text-output.md`, `xml.md`
//! and `release-2.3.md` of the contract), of the release that the document's profile names.

mod csv;
mod effective;
mod extensions;
mod figures;
mod layout;
mod parameters;
mod system;
mod text;
mod waits;
pub mod xml;

use truespd_core::profile::ResultFormat;
use truespd_core::result::Document;

pub use csv::{csv, intervals};
pub use parameters::profile_text;
pub use system::system_text;
pub use text::text;

/// A row of the table of formats.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    pub summary: &'static str,
    /// People read it: other words may stand under it.
    pub is_for_people: bool,
    /// It is one of DiskSpd's, whose releases have forms of their own.
    pub is_of_diskspd: bool,
    /// Every string stands in it as it is, by escapes that every reader takes for the character; in the
    /// others it is printable.
    pub keeps_strings: bool,
    pub render: fn(&Document) -> String,
}

/// Every format a document can be written in.
pub const FORMATS: &[Format] = &[
    Format {
        name: "text",
        summary: "DiskSpd's text result, line by line as version 2.2 writes it, or 2.3 with --compat",
        is_for_people: true,
        is_of_diskspd: true,
        keeps_strings: false,
        render: text,
    },
    Format {
        name: "xml",
        summary: "DiskSpd's XML result, element by element as version 2.2 writes it, or 2.3 with --compat",
        is_for_people: false,
        is_of_diskspd: true,
        keeps_strings: true,
        render: xml::results,
    },
    Format {
        name: "json",
        summary: "the whole result as one versioned record, from which every other format can be made",
        is_for_people: false,
        is_of_diskspd: false,
        keeps_strings: true,
        render: truespd_core::result::json::write,
    },
    Format {
        name: "csv",
        summary: "one row per time span, thread, target and direction",
        is_for_people: false,
        is_of_diskspd: false,
        keeps_strings: false,
        render: csv,
    },
    Format {
        name: "intervals",
        summary: "the course of the run as CSV: one row per time span, interval and target",
        is_for_people: false,
        is_of_diskspd: false,
        keeps_strings: false,
        render: intervals,
    },
];

/// The format of this name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The format that a profile asks for.
pub fn format_of(asked: ResultFormat) -> &'static Format {
    let name = match asked {
        ResultFormat::Text => "text",
        ResultFormat::Xml => "xml",
    };
    format(name).expect("the table has DiskSpd's formats")
}
