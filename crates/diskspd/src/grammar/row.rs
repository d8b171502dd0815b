//! A row of the table of options: how an option is written, what it does, what a shell may offer, and how it is read.

use super::draft::Draft;
use super::options::{ignored, nothing, read32, read32_or_0};
use super::value::{Slip, Unit, Value};
use crate::render;
use truespd_core::engine;

/// How the value of an option is read into the draft.
#[derive(Debug, Clone, Copy)]
pub enum Read {
    /// By a function of its own.
    Value(fn(&mut Draft, &Value) -> Result<(), Slip>),
    /// An option of DiskSpd without a value: what follows its letters is ignored (`command-line.md` §1), and that is
    /// told.
    Flag(fn(&mut Draft)),
    /// Like `Flag`, and nothing is told.
    Anything(fn(&mut Draft)),
    /// Nothing may follow; with what is legal.
    Switch(&'static str, fn(&mut Draft)),
    /// A whole number from this one on.
    Count(Unit, u32, fn(&mut Draft, u32)),
    /// A whole number; DiskSpd takes a missing one for 0.
    CountOr0(Unit, fn(&mut Draft, u32)),
    /// Any text but an empty one; with the words for that.
    Text(&'static str, fn(&mut Draft, String)),
}

/// An option, or one form of it.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Letters after the dash; of two rows that fit, the one with more letters counts.
    pub name: &'static str,
    /// When not empty, the row only counts if the value starts with one of these characters.
    pub starts: &'static str,
    /// The value as shown; empty when the option takes none.
    pub value: &'static str,
    /// What it does, in one or two lines.
    pub help: &'static str,
    /// What is different or worth knowing on Linux; empty when nothing is.
    pub linux: &'static str,
    /// What a shell may offer as its value.
    pub offers: Offers,
    /// Names under which findings of the profile's rules point at it; empty for its own.
    keys: &'static [&'static str],
    /// Read in the first pass (`command-line.md` §4).
    pub first_pass: bool,
    /// May be given together with `-X`.
    pub with_profile: bool,
    read: Read,
}

/// Rows under a common heading of the help.
#[derive(Debug)]
pub struct Section {
    pub title: &'static str,
    pub rows: &'static [Row],
}

impl Row {
    pub(super) const fn starts(mut self, starts: &'static str) -> Self {
        self.starts = starts;
        self
    }

    pub(super) const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    pub(super) const fn linux(mut self, linux: &'static str) -> Self {
        self.linux = linux;
        self
    }

    pub(super) const fn offers(mut self, offers: Offers) -> Self {
        self.offers = offers;
        self
    }

    pub(super) const fn keys(mut self, keys: &'static [&'static str]) -> Self {
        self.keys = keys;
        self
    }

    pub(super) const fn first_pass(mut self) -> Self {
        self.first_pass = true;
        self
    }

    pub(super) const fn with_profile(mut self) -> Self {
        self.with_profile = true;
        self
    }

    /// Overrides what an XML profile says.
    pub(super) const fn beside_profile(self) -> Self {
        self.first_pass().with_profile()
    }

    pub const fn is_long(&self) -> bool {
        matches!(self.name.as_bytes(), [b'-', ..])
    }

    /// The option as one would write it down: `-b<size>`, `--engine NAME`.
    pub fn form(&self) -> String {
        let gap = if self.is_long() && !self.value.is_empty() { " " } else { "" };
        format!("-{}{gap}{}", self.name, self.value)
    }

    /// Whether a finding about this switch is about it.
    pub fn is_about(&self, switch: &str) -> bool {
        let own = self.keys.is_empty() && switch.strip_prefix('-') == Some(self.name);
        own || self.keys.contains(&switch) || self.name == switch
    }

    pub fn read(&self, d: &mut Draft, v: &Value) -> Result<(), Slip> {
        match self.read {
            Read::Value(read) => return read(d, v),
            Read::Flag(set) => {
                ignored(d, v, &format!("-{}", self.name));
                set(d);
            }
            Read::Anything(set) => set(d),
            Read::Switch(legal, set) => {
                nothing(v).map_err(|slip| slip.legal(legal))?;
                set(d);
            }
            Read::Count(unit, least, set) => {
                let number = read32(d, v, &format!("-{}", self.name), unit, least)?;
                set(d, number);
            }
            Read::CountOr0(unit, set) => {
                let number = read32_or_0(d, v, &format!("-{}", self.name), unit)?;
                set(d, number);
            }
            Read::Text(missing, _) if v.text.is_empty() => return Err(Slip::new(missing).at(0..0)),
            Read::Text(_, set) => set(d, v.text.to_string()),
        }
        Ok(())
    }
}

pub(super) const fn row(name: &'static str, value: &'static str, read: Read) -> Row {
    let row = Row {
        name,
        starts: "",
        value,
        help: "",
        linux: "",
        offers: Offers::Nothing,
        keys: &[],
        first_pass: false,
        with_profile: false,
        read,
    };
    if row.is_long() { row.with_profile() } else { row }
}

/// Values of an option, for completion. The parser does not use them.
#[derive(Debug, Clone, Copy)]
pub enum Offers {
    /// It takes none, or only the person knows it.
    Nothing,
    /// Legal values, each with what it does; an empty one stands for the option alone.
    Words(&'static [(&'static str, &'static str)]),
    Usual(&'static [&'static str]),
    File,
    /// Usual values; behind one of them and a comma, a file.
    UsualThenFile(&'static [&'static str]),
    /// A file or device that is tested.
    Target,
    /// The engines of this program.
    Engines,
    /// The formats of a result.
    Formats,
}

impl Offers {
    /// The values, each with what it does (empty where the option itself says it).
    pub fn values(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Offers::Nothing | Offers::File | Offers::Target => Vec::new(),
            Offers::Words(words) => words.to_vec(),
            Offers::Usual(usual) | Offers::UsualThenFile(usual) => {
                usual.iter().map(|one| (*one, "")).collect()
            }
            Offers::Engines => engine::TABLE.iter().map(|row| (row.name, row.summary)).collect(),
            Offers::Formats => render::FORMATS.iter().map(|row| (row.name, row.summary)).collect(),
        }
    }

    /// The whole value is a path.
    pub fn is_path(self) -> bool {
        matches!(self, Offers::File | Offers::Target)
    }
}
