//! A row of the table of options: how an option is written, what it does, what a shell may offer, and how it is
//! read into the draft of a request.

use std::ops::RangeInclusive;

use super::value::{Number, Position, Slip, Unit, Value, length, number, whole};
use crate::render;
use crate::request::{LongOptions, ProfileFile, Request, push_once, seed_of_moment};
use truespd_core::engine;
use truespd_core::profile::xml::{Overrides, apply_overrides};
use truespd_core::profile::{BypassIo, CacheMode, Etw, EventNames, Profile, ResultFormat, Target, TimeSpan};

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
    /// Why a line of a suite cannot have it; empty when it can.
    pub not_in_suites: &'static str,
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

    /// Says something about each target, which a profile says itself.
    pub(super) const fn of_targets(mut self) -> Self {
        self.with_profile = false;
        self
    }

    /// Of no use in a line of a suite, which runs many times: why, and what to give instead.
    pub(super) const fn not_in_suites(mut self, why: &'static str) -> Self {
        self.not_in_suites = why;
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
        not_in_suites: "",
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

/// What ends the reading early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Help,
    ShortHelp,
    Version,
}

/// The properties of `-S` and `-h`, each settable once over all of them (`command-line.md` §6).
#[derive(Debug, Clone, Copy, Default)]
pub struct CacheState {
    pub mode: Option<(CacheMode, char, Position)>,
    pub write_through: Option<(char, Position)>,
    pub mapped: Option<(char, Position)>,
    pub bypass: Option<(char, Position)>,
}

/// Options read so far. Fields of `span` and `target` are filled directly where the last option counts;
/// the other fields hold which argument set them, because a second one is refused.
#[derive(Default)]
pub struct Draft {
    pub progress_ios: u32,
    pub etw: Option<Etw>,
    pub span: TimeSpan,
    pub target: Target,
    pub overrides: Overrides,
    pub is_seed_of_moment: bool,
    pub profile_file: Option<usize>,
    pub profile_path: String,
    pub profile_only: bool,
    pub system_information: Option<ResultFormat>,
    pub stop: Option<Stop>,
    pub events: EventNames,
    pub set_events: Vec<String>,
    pub long: LongOptions,
    pub reinterpreted: Vec<String>,
    pub notes: Vec<String>,

    pub block: Option<usize>,
    pub mix: Option<usize>,
    pub base: Option<usize>,
    pub maximum: Option<usize>,
    pub random: Option<usize>,
    pub mixed: Option<(usize, u32)>,
    pub sequential: Option<usize>,
    pub alignment_bytes: Option<u64>,
    pub stride_bytes: Option<u64>,
    pub cache: CacheState,
    pub efficiency_order: Option<Position>,
}

impl Draft {
    pub fn note(&mut self, note: &str) {
        push_once(&mut self.notes, note);
    }

    /// Tells that DiskSpd, and so TrueSpd, takes these words for others.
    pub fn reinterpret(&mut self, typed: &str, meant: &str) {
        push_once(&mut self.reinterpreted, &format!("{typed} is taken for {meant}, as DiskSpd takes it"));
    }

    /// The request to run the options on `targets`, or the profile file with `targets` for its templates. `boot_ms`
    /// gives the milliseconds since boot, for a bare `-z`.
    pub fn finish(mut self, targets: &[String], boot_ms: &dyn Fn() -> u64) -> Request {
        if self.is_seed_of_moment {
            self.overrides.rand_seed = Some(seed_of_moment(boot_ms()));
        }
        if self.target.large_pages && self.span.separate_buffers {
            self.note(
                "large pages (-l) count more than -bsp: only the sources of write data (-Z<size>) lie apart, and not \
                 the buffers of threads",
            );
        }
        let mut profile = Profile::default();
        let mut profile_file = None;
        if self.profile_file.is_some() {
            let (path, overrides, targets) = (self.profile_path, self.overrides, targets.to_vec());
            profile_file = Some(ProfileFile { path, overrides, targets });
        } else {
            let target = self.target();
            self.span.targets =
                targets.iter().map(|path| Target { path: path.clone(), ..target.clone() }).collect();
            profile.progress_ios = self.progress_ios;
            profile.etw = self.etw;
            profile.time_spans = vec![self.span];
            apply_overrides(&mut profile, &self.overrides);
        }
        Request {
            profile,
            profile_only: self.profile_only,
            events: self.events,
            options: self.long,
            profile_file,
            is_seed_of_moment: self.is_seed_of_moment,
            findings_warnings: Vec::new(),
            reinterpreted: self.reinterpreted,
            notes: self.notes,
        }
    }

    fn target(&self) -> Target {
        let mut target = self.target.clone();
        target.random_percent = match self.mixed {
            Some((_, percent)) => percent,
            None if self.random.is_some() => 100,
            // Zipf's law is about random places.
            None if self.target.zipf.is_some() && self.sequential.is_none() => 100,
            None => 0,
        };
        target.stride_bytes =
            if target.random_percent > 0 { self.alignment_bytes } else { self.stride_bytes };
        target.cache = self.cache.mode.map_or(CacheMode::Cached, |(mode, ..)| mode);
        target.write_through = self.cache.write_through.is_some();
        target.memory_mapped = self.cache.mapped.is_some();
        target.bypass_io = self.cache.bypass.map(|(letter, _)| match letter {
            'Y' => BypassIo::Full,
            _ => BypassIo::Partial,
        });
        target
    }
}

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
