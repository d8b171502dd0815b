//! Presets: the program's own and a person's, as TOML (lines of DiskSpd) or XML (a DiskSpd profile).

use serde::Deserialize;

use crate::ask::find_max::limits::{LatencyLimit, Of};
use truespd_core::profile::xml::XmlError;
use truespd_core::profile::{Precreate, Profile, Size, Target, xml};
use truespd_platform::fault::{Refusal, RefusalKind};
use truespd_platform::text::printable;

/// Size of a file for presets that say nothing.
const FILE_BYTES: u64 = 1 << 30;
/// Files of a preset at most.
const FILES_MAX: u32 = 64;
/// Regions of a profile are scaled in steps of this.
const REGION_BYTES: u64 = 1 << 20;

/// Names and texts of the presets that come with the program.
pub const BUILT_IN: &[(&str, Form, &str)] = &[
    ("oltp", Form::Toml, include_str!("../../../profiles/oltp.toml")),
    ("olap", Form::Toml, include_str!("../../../profiles/olap.toml")),
    ("olap-si", Form::Toml, include_str!("../../../profiles/olap-si.toml")),
    ("web", Form::Xml, include_str!("../../../profiles/web.xml")),
    ("vdi", Form::Toml, include_str!("../../../profiles/vdi.toml")),
    ("wal", Form::Toml, include_str!("../../../profiles/wal.toml")),
    ("sql", Form::Xml, include_str!("../../../profiles/sql.xml")),
    ("fleet-peak", Form::Xml, include_str!("../../../profiles/fleet-peak.xml")),
    ("fleet-general", Form::Xml, include_str!("../../../profiles/fleet-general.xml")),
    ("fleet-vdi", Form::Xml, include_str!("../../../profiles/fleet-vdi.xml")),
    ("fleet-sql", Form::Xml, include_str!("../../../profiles/fleet-sql.xml")),
];

/// How a preset is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Lines of DiskSpd with a few words about them.
    Toml,
    /// A profile that `diskspd -X` runs.
    Xml,
}

impl Form {
    /// Both, with the end of their files' names.
    pub const ALL: [(Form, &str); 2] = [(Form::Toml, "toml"), (Form::Xml, "xml")];
}

/// A workload with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// What it is, in one line.
    pub about: String,
    /// Where its figures come from; empty when nobody said.
    pub source: String,
    pub load: Load,
    /// The 99th percentile of its flushes should stay below this, in milliseconds.
    pub flush_p99_ms: Option<f64>,
    /// Bytes of each file that is made, in their order.
    pub file_bytes: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    /// Lines of DiskSpd without targets, one run each.
    Lines {
        lines: Vec<Vec<String>>,
        /// Look for the highest rate of the only line that keeps this.
        limit: Option<LatencyLimit>,
    },
    /// A profile with templates `*1`, `*2`, ... for the targets.
    Profile(Box<Profile>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    about: String,
    #[serde(default)]
    source: String,
    lines: Vec<String>,
    #[serde(default = "one")]
    files: u32,
    size: Option<String>,
    sweep: Option<WrittenSweep>,
    flush_p99_ms: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSweep {
    of: Of,
    limit_ms: f64,
}

fn one() -> u32 {
    1
}

/// Why a text is no preset; [`Refusal::behind`] the name of its file.
/// The words of a file may be anybody's.
fn refusal(message: impl Into<String>) -> Refusal {
    Refusal::new(RefusalKind::Input, printable(&message.into()))
}

/// At a line and a column, both from 1.
fn refusal_of_toml(text: &str, error: &toml::de::Error) -> Refusal {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let (line, column) = (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1);
    refusal(error.message().lines().collect::<Vec<_>>().join(", "))
        .behind(format!("line {line}, column {column}"))
}

fn refusal_of_xml(error: XmlError) -> Refusal {
    let mut refusal = refusal(error.reason);
    refusal.legal.extend(error.legal);
    let refusal = if error.element.is_empty() { refusal } else { refusal.behind(error.element) };
    refusal.behind(format!("line {}, column {}", error.line, error.column))
}

impl Preset {
    /// Reads a preset. `size` reads a size such as `10G`.
    ///
    /// # Errors
    /// What is wrong and where.
    pub fn read(
        form: Form,
        text: &str,
        size: impl Fn(&str) -> Result<u64, Refusal>,
    ) -> Result<Self, Refusal> {
        match form {
            Form::Toml => Self::from_toml(text, size),
            Form::Xml => Self::from_xml(text),
        }
    }

    fn from_toml(text: &str, size: impl Fn(&str) -> Result<u64, Refusal>) -> Result<Self, Refusal> {
        let written: Written = toml::from_str(text).map_err(|error| refusal_of_toml(text, &error))?;
        let lines: Vec<Vec<String>> =
            written.lines.iter().map(|line| line.split_whitespace().map(str::to_string).collect()).collect();
        if lines.iter().any(Vec::is_empty) || lines.is_empty() {
            let message = "lines: give at least one line of DiskSpd options, without a target, for example \
                           lines = [\"-b8K -r -o8\"]";
            return Err(refusal(message));
        }
        if !(1..=FILES_MAX).contains(&written.files) {
            return Err(refusal(format!("files: {} is out of range; 1 to {FILES_MAX}", written.files)));
        }
        let file_bytes = match &written.size {
            Some(text) => size(text).map_err(|why| why.behind(format!("size: '{text}'")))?,
            None => FILE_BYTES,
        };
        let limit = written.sweep.map(|sweep| LatencyLimit::new(sweep.of, sweep.limit_ms)).transpose();
        let limit = limit.map_err(|why| why.behind("sweep"))?;
        if limit.is_some() && lines.len() > 1 {
            return Err(refusal("sweep: a search needs exactly one line"));
        }
        if written.flush_p99_ms.is_some_and(|ms| !ms.is_finite() || ms <= 0.0) {
            return Err(refusal("flush_p99_ms: give milliseconds above 0"));
        }
        Ok(Preset {
            flush_p99_ms: written.flush_p99_ms,
            about: written.about,
            source: written.source,
            load: Load::Lines { lines, limit },
            file_bytes: vec![file_bytes; written.files as usize],
        })
    }

    fn from_xml(text: &str) -> Result<Self, Refusal> {
        let profile = xml::read(text).map_err(refusal_of_xml)?;
        let mut numbers: Vec<u32> = Vec::new();
        for target in profile.targets() {
            let Some(number) = target.template_number() else {
                let message = format!("the path '{}' is not a template", target.path);
                return Err(refusal(message).hint("write *1, *2, ... for the targets"));
            };
            numbers.push(number);
        }
        let count = numbers.iter().copied().max().unwrap_or(0);
        if count == 0 || count > FILES_MAX {
            return Err(refusal(format!("templates go from *1 to *{FILES_MAX}")));
        }
        if let Some(missing) = (1..=count).find(|number| !numbers.contains(number)) {
            return Err(refusal(format!("the template *{missing} is missing, although there is *{count}")));
        }
        let file_bytes = (1..=count).map(|number| needed_bytes(&profile, number)).collect();
        let (about, source) = comment(text);
        let load = Load::Profile(Box::new(profile));
        Ok(Preset { about, source, load, flush_p99_ms: None, file_bytes })
    }

    /// Puts a share of writes and a block size in the place of the preset's own, where there is one load to have them.
    ///
    /// # Errors
    /// The preset has several lines or targets.
    pub fn vary(&mut self, write_percent: Option<u32>, block_bytes: Option<u64>) -> Result<(), Refusal> {
        let mut says: Vec<String> = Vec::new();
        says.extend(write_percent.map(|percent| format!("{percent} % writes")));
        says.extend(block_bytes.map(|bytes| format!("blocks of {}", Size(bytes))));
        if says.is_empty() {
            return Ok(());
        }
        match &mut self.load {
            Load::Lines { lines, .. } => {
                let [line] = &mut lines[..] else { return Err(several(lines.len(), "lines")) };
                let words = [("-w", write_percent.map(u64::from)), ("-b", block_bytes)];
                for (option, value) in words.iter().filter_map(|&(option, value)| Some((option, value?))) {
                    line.retain(|word| {
                        let value = word.strip_prefix(option);
                        !value.is_some_and(|value| value.starts_with(|c: char| c.is_ascii_digit()))
                    });
                    line.push(format!("{option}{value}"));
                }
            }
            Load::Profile(profile) => {
                let mut targets: Vec<&mut Target> =
                    profile.time_spans.iter_mut().flat_map(|span| &mut span.targets).collect();
                let [target] = &mut targets[..] else { return Err(several(targets.len(), "targets")) };
                target.write_percent = write_percent.unwrap_or(target.write_percent);
                let is_own_stride = target.stride_bytes == Some(target.block_bytes);
                target.block_bytes = block_bytes.unwrap_or(target.block_bytes);
                if is_own_stride {
                    target.stride_bytes = Some(target.block_bytes);
                }
            }
        }
        self.about.push_str(&format!("; here with {}", says.join(" and ")));
        Ok(())
    }

    /// Gives every file this size.
    pub fn resize(&mut self, file_bytes: u64) {
        self.file_bytes.fill(file_bytes);
    }
}

fn several(count: usize, of: &str) -> Refusal {
    let message =
        format!("this workload has {count} {of}, each with its own percentage of writes and block size");
    Refusal::command_line(message)
}

fn of_template(profile: &Profile, number: u32) -> impl Iterator<Item = &Target> {
    let targets = profile.targets();
    targets.filter(move |target| target.template_number() == Some(number))
}

/// What the regions of a template's targets need: the largest end, and as much behind the largest base as before it.
fn needed_bytes(profile: &Profile, number: u32) -> u64 {
    let targets = of_template(profile, number);
    match targets.map(|target| target.max_bytes.max(target.base_bytes.saturating_mul(2))).max() {
        Some(bytes) if bytes > 0 => bytes,
        _ => FILE_BYTES,
    }
}

/// The profile for files or devices of these sizes: created when `is_made`, regions shrunk in proportion where they
/// would not fit. `true` when something was shrunk.
pub fn fitted(profile: &Profile, file_bytes: &[u64], is_made: bool) -> (Profile, bool) {
    let mut fitted = profile.clone();
    let mut is_shrunk = false;
    if !is_made {
        fitted.precreate = Precreate::None;
    }
    for target in fitted.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
        let Some(number) = target.template_number() else { continue };
        let Some(&size) = (number as usize).checked_sub(1).and_then(|index| file_bytes.get(index)) else {
            continue;
        };
        // An existing file keeps its size: a size in the profile would truncate it.
        target.create_bytes = is_made.then_some(size);
        let needed = needed_bytes(profile, number);
        let has_regions = of_template(profile, number).any(|t| t.max_bytes > 0 || t.base_bytes > 0);
        if size >= needed || !has_regions {
            continue;
        }
        is_shrunk = true;
        target.base_bytes = scaled(target.base_bytes, size, needed);
        if target.max_bytes > 0 {
            target.max_bytes = scaled(target.max_bytes, size, needed).max(REGION_BYTES);
        }
    }
    (fitted, is_shrunk)
}

/// A place in a file that has `size` instead of the `needed` bytes; never larger than it was.
fn scaled(bytes: u64, size: u64, needed: u64) -> u64 {
    let scaled = u128::from(bytes) * u128::from(size) / u128::from(needed);
    scaled as u64 / REGION_BYTES * REGION_BYTES
}

/// First line of the first comment, and what stands behind `source:` in it.
fn comment(text: &str) -> (String, String) {
    let comment =
        text.split_once("<!--").and_then(|(_, rest)| rest.split_once("-->")).map_or("", |(words, _)| words);
    let mut lines = comment.lines().map(str::trim).filter(|line| !line.is_empty());
    let about = lines.next().unwrap_or("a profile").to_string();
    let source = lines.find_map(|line| line.strip_prefix("source:")).unwrap_or("").trim().to_string();
    (about, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str) -> Result<u64, Refusal> {
        let digits = text.strip_suffix('M').ok_or_else(|| Refusal::command_line("an M is missing"))?;
        digits.parse::<u64>().map(|n| n << 20).map_err(|e| Refusal::command_line(e.to_string()))
    }

    #[test]
    fn a_persons_toml() {
        let text = "about = 'ours'\nlines = ['-b8K -r', '-b64K -s']\nfiles = 2\nsize = '64M'\n";
        let preset = Preset::read(Form::Toml, text, size).unwrap();
        assert_eq!((preset.about.as_str(), preset.source.as_str()), ("ours", ""));
        assert_eq!(preset.file_bytes, [64 << 20, 64 << 20]);
        let Load::Lines { lines, limit } = preset.load else { panic!("lines") };
        assert_eq!((lines[1].join(" ").as_str(), limit), ("-b64K -s", None));
        let swept = format!("{}[sweep]\nof = 'mean'\nlimit_ms = 2.5\n", text.replace(", '-b64K -s'", ""));
        let preset = Preset::read(Form::Toml, &swept, size).unwrap();
        let Load::Lines { limit: Some(limit), .. } = preset.load else { panic!("a limit") };
        assert_eq!((limit.of, limit.ms), (Of::Mean, 2.5));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, word) in [
            ("about = 'x'", "missing field `lines`"),
            ("about = 'x'\nlines = []", "at least one line"),
            ("about = 'x'\nlines = [' ']", "at least one line"),
            ("about = 'x'\nlines = ['-r']\nfiles = 0", "out of range"),
            ("about = 'x'\nlines = ['-r']\nsize = '64'", "size: '64': an M is missing"),
            ("about = 'x'\nlines = ['-r']\nsise = '64M'", "sise"),
            ("about = 'x'\nlines = ['-r', '-s']\n[sweep]\nof = 'p99'\nlimit_ms = 1.0", "one line"),
            ("about = 'x'\nlines = ['-r']\n[sweep]\nof = 'p42'\nlimit_ms = 1.0", "p42"),
            (
                "about = 'x'\nlines = ['-r']\n[sweep]\nof = 'p99'\nlimit_ms = 0.0",
                "sweep: a latency limit is from",
            ),
            ("about = ", "line 1, column 9: "),
        ] {
            let error = Preset::read(Form::Toml, text, size).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        let target = |path: &str| {
            format!(
                "<Profile><TimeSpans><TimeSpan><Targets><Target><Path>{path}</Path></Target></Targets></TimeSpan></TimeSpans></Profile>"
            )
        };
        for (text, word) in [
            (target("data"), "the path 'data' is not a template; write *1"),
            (target("*2"), "*1"),
            ("<Profil/>".into(), "Profil"),
        ] {
            let error = Preset::read(Form::Xml, &text, size).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        assert_eq!(Preset::read(Form::Xml, &target("*1"), size).unwrap().file_bytes, [FILE_BYTES]);
    }

    #[test]
    fn writes_and_blocks_are_a_persons_choice_where_there_is_one_load() {
        let built_in = |name: &str| {
            let (_, form, text) = BUILT_IN.iter().find(|(known, ..)| *known == name).unwrap();
            Preset::read(*form, text, size).unwrap_or_else(|why| panic!("{name}: {why}"))
        };
        let mut peak = built_in("fleet-peak");
        let about = peak.about.clone();
        assert_eq!(peak.vary(None, None), Ok(()));
        assert_eq!(peak.about, about);
        peak.vary(Some(30), Some(8192)).unwrap();
        assert_eq!(peak.about, format!("{about}; here with 30 % writes and blocks of 8KiB"));
        let Load::Profile(profile) = peak.load else { panic!("a profile") };
        let target = &profile.time_spans[0].targets[0];
        assert_eq!((target.write_percent, target.block_bytes, target.stride()), (30, 8192, 8192));
        let text = "about = 'x'\nlines = ['-b8K -w30 -r4K -W1 -bsn']\n";
        let mut own = Preset::read(Form::Toml, text, size).unwrap();
        own.vary(Some(0), Some(512)).unwrap();
        let Load::Lines { lines, .. } = own.load else { panic!("lines") };
        assert_eq!(lines[0].join(" "), "-r4K -W1 -bsn -w0 -b512");
        assert!(built_in("fleet-sql").vary(Some(0), None).unwrap_err().to_string().contains("2 targets"));
        let two = Preset::read(Form::Toml, "about = 'x'\nlines = ['-r', '-s']", size).unwrap();
        assert!(two.clone().vary(None, Some(512)).unwrap_err().to_string().contains("2 lines"));
    }

    #[test]
    fn regions_shrink_with_the_file() {
        let (_, form, text) = BUILT_IN.iter().find(|(name, ..)| *name == "fleet-sql").unwrap();
        let preset = Preset::read(*form, text, size).unwrap();
        assert_eq!(preset.file_bytes, [10 << 30]);
        let Load::Profile(profile) = preset.load else { panic!("a profile") };
        let (same, is_shrunk) = fitted(&profile, &[10 << 30], true);
        assert!(!is_shrunk);
        assert_eq!(same.time_spans[0].targets[0].base_bytes, 5 << 30);
        assert_eq!(same.time_spans[0].targets[0].create_bytes, Some(10 << 30));
        let (small, is_shrunk) = fitted(&profile, &[64 << 20], false);
        assert!(is_shrunk);
        let [data, log] = &small.time_spans[0].targets[..] else { panic!("two") };
        assert_eq!((data.base_bytes, data.create_bytes), (32 << 20, None));
        assert_eq!(log.max_bytes, 32 << 20, "still apart");
        // What is there is not cut to a size that a profile says.
        let mut sized = profile.clone();
        sized.precreate = Precreate::UseMaxSize;
        sized.time_spans[0].targets[0].create_bytes = Some(1 << 20);
        let (there, _) = fitted(&sized, &[10 << 30], false);
        assert_eq!((there.precreate, there.time_spans[0].targets[0].create_bytes), (Precreate::None, None));
    }
}
