//! The file: sections, what they inherit, included files, variables.

use std::fmt;

use truespd_platform::text::start_of;

/// Files may include files, but not themselves.
const DEPTH_MAX: usize = 16;
/// More jobs are none that fio would run.
const JOBS_MAX: usize = 4096;
/// More lines, with those of included files, are a slip: files that include each other several times.
const LINES_MAX: usize = 100_000;
/// So many characters of a line show which one it is.
pub(super) const SHOWN_MAX: usize = 80;

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    /// The file as it is named.
    pub file: String,
    /// Number of the line, from 1.
    pub line: usize,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A line of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub key: String,
    /// What stands behind it; none where there is no `=`.
    pub value: Option<String>,
    pub at: At,
    /// A variable in it that is not set.
    pub unset: Option<String>,
    /// So many lines were read before it, in all files.
    pub order: usize,
    /// So many sections begin above it.
    pub section: usize,
}

impl Setting {
    pub fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }

    pub fn bytes(&self, is_si: bool) -> Option<u64> {
        bytes(self.value.as_deref()?, is_si)
    }

    /// A whole number without a unit.
    pub fn plain_number(&self) -> Option<u64> {
        let text = self.text().trim();
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    }

    pub fn time_us(&self, unit_us: u64) -> Option<u64> {
        time_us(self.value.as_deref()?, unit_us)
    }

    /// Whether it is on: without a value, or with a number other than 0.
    pub fn is_yes(&self) -> Option<bool> {
        is_yes(self.value.as_deref())
    }

    pub fn shown(&self) -> String {
        match &self.value {
            Some(value) => format!("{}={value}", self.key),
            None => self.key.clone(),
        }
    }
}

/// A job with all that it inherits, which comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub name: String,
    pub settings: Vec<Setting>,
    pub at: At,
    /// It begins a command line of its own, after another one.
    pub waits: bool,
}

/// Why a file is no job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoJobFile {
    pub at: At,
    pub what: String,
    pub hint: Option<&'static str>,
}

/// The name and the text of a file, or why it cannot be read.
pub type Included = Result<(String, String), String>;

/// What a job file can name outside of itself.
pub struct Outside<'a> {
    /// Reads the file of an `include` that stands in the first one; its name and its text, or why not.
    pub include: &'a dyn Fn(&str, &str) -> Included,
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The bytes of a file or device that is there.
    pub size: &'a dyn Fn(&str) -> Option<u64>,
}

/// The text of a job file. Comments are bytes, and the rest is UTF-8.
///
/// # Errors
/// The first line that is no text.
pub fn text(bytes: &[u8]) -> Result<String, usize> {
    let mut out = String::new();
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let comment = line.iter().position(|byte| matches!(byte, b';' | b'#')).unwrap_or(line.len());
        match (std::str::from_utf8(line), std::str::from_utf8(&line[..comment])) {
            (Ok(line), _) => out.push_str(line),
            (_, Ok(before)) => {
                out.push_str(before);
                out.push('\n');
            }
            _ => return Err(number + 1),
        }
    }
    Ok(out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Current {
    None,
    Global,
    Job,
}

pub(super) struct Reader<'a> {
    outside: &'a Outside<'a>,
    global: Vec<Setting>,
    jobs: Vec<Section>,
    current: Current,
    sections: usize,
    lines: usize,
    /// The next job begins when all before it have ended.
    waits: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(outside: &'a Outside<'a>) -> Self {
        Reader {
            outside,
            global: Vec::new(),
            jobs: Vec::new(),
            current: Current::None,
            sections: 0,
            lines: 0,
            waits: false,
        }
    }

    /// What was read, if there is a job in it.
    pub(super) fn jobs(self, file: &str, hint: &'static str) -> Result<Vec<Section>, NoJobFile> {
        if self.jobs.is_empty() {
            let at = At { file: file.to_string(), line: 1 };
            return Err(NoJobFile { at, what: "there is no job in it".into(), hint: Some(hint) });
        }
        Ok(self.jobs)
    }

    /// Begins another command line of fio, which knows nothing of those before it.
    pub(super) fn begin_command(&mut self) {
        self.global.clear();
        self.current = Current::Global;
        self.waits = !self.jobs.is_empty();
    }

    /// Reads a job file that stands on a command line, below the options of that.
    pub(super) fn job_file(&mut self, name: &str, at: &At) -> Result<(), NoJobFile> {
        match (self.outside.include)(&at.file, name) {
            Ok((file, text)) => {
                self.current = Current::None;
                self.file(&file, &text, 0)
            }
            Err(why) => wrong(at, format!("the job file '{name}' cannot be read: {why}"), None),
        }
    }

    /// Takes in a key and its value, of the section that was begun.
    pub(super) fn key(&mut self, key: &str, value: Option<&str>, at: &At) {
        self.lines += 1;
        let setting = self.setting(key, value, at.clone());
        self.take(setting);
    }

    pub(super) fn file(&mut self, file: &str, text: &str, depth: usize) -> Result<(), NoJobFile> {
        for (number, line) in text.lines().enumerate() {
            let at = At { file: file.to_string(), line: number + 1 };
            self.lines += 1;
            if self.lines > LINES_MAX {
                let what = format!("these are more than {LINES_MAX} lines, with those of included files");
                return wrong(&at, what, None);
            }
            // fio takes away what follows a ; or # anywhere in a line.
            let line = line.split([';', '#']).next().unwrap_or_default().trim();
            if !line.is_empty() {
                self.line(line, at, depth)?;
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str, at: At, depth: usize) -> Result<(), NoJobFile> {
        if let Some(rest) = line.strip_prefix('[') {
            let Some(name) = rest.strip_suffix(']') else {
                return wrong(
                    &at,
                    format!("a name in brackets has no end: {}", start_of(line, SHOWN_MAX)),
                    Some("write [name]"),
                );
            };
            if depth > 0 {
                return wrong(&at, "an included file has no sections of its own".into(), None);
            }
            return self.section(name, &at);
        }
        if self.current == Current::None && depth == 0 {
            let hint = "a job file of fio begins with a name in brackets, such as [global] or [job]";
            return wrong(
                &at,
                format!("a line outside of a section: {}", start_of(line, SHOWN_MAX)),
                Some(hint),
            );
        }
        if let Some(name) = line.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t', '='])) {
            let name = name[1..].trim();
            if depth == DEPTH_MAX {
                return wrong(&at, format!("files that include files are too deep here: {name}"), None);
            }
            let read = (self.outside.include)(&at.file, name);
            let (file, text) = match read {
                Ok(read) => read,
                Err(why) => {
                    return wrong(&at, format!("the included file '{name}' cannot be read: {why}"), None);
                }
            };
            return self.file(&file, &text, depth + 1);
        }
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (line, None),
        };
        let setting = self.setting(key, value, at);
        self.take(setting);
        Ok(())
    }

    fn take(&mut self, setting: Setting) {
        match self.jobs.last_mut() {
            Some(job) if self.current == Current::Job => job.settings.push(setting),
            _ => self.global.push(setting),
        }
    }

    /// Begins a section; whether there are not too many.
    pub(super) fn section(&mut self, name: &str, at: &At) -> Result<(), NoJobFile> {
        self.begin(name, at.clone());
        if self.jobs.len() > JOBS_MAX {
            return wrong(
                at,
                format!("these are more than {JOBS_MAX} jobs, which is all that fio runs"),
                None,
            );
        }
        Ok(())
    }

    fn begin(&mut self, name: &str, at: At) {
        self.sections += 1;
        self.current = if name.starts_with("global") {
            Current::Global
        } else {
            let settings = self.global.clone();
            let waits = std::mem::take(&mut self.waits);
            self.jobs.push(Section { name: name.to_string(), settings, at, waits });
            Current::Job
        };
    }

    fn setting(&self, key: &str, value: Option<&str>, at: At) -> Setting {
        let mut unset = None;
        let value = value.map(|value| expanded(value, self.outside.variable, &mut unset));
        Setting { key: key.to_string(), value, at, unset, order: self.lines, section: self.sections }
    }
}

pub(super) fn wrong(at: &At, what: String, hint: Option<&'static str>) -> Result<(), NoJobFile> {
    Err(NoJobFile { at: at.clone(), what, hint })
}

/// The text with `${NAME}` replaced; the first one that is not set is told, and stays.
fn expanded(text: &str, variable: &dyn Fn(&str) -> Option<String>, unset: &mut Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, after)) = behind.split_once('}') else {
            out.push_str("${");
            rest = behind;
            continue;
        };
        match variable(name) {
            Some(value) => out.push_str(&value),
            None => {
                out.push_str(&format!("${{{name}}}"));
                unset.get_or_insert_with(|| name.to_string());
            }
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A size, or a share of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Bytes(u64),
    /// So many percent of it.
    Percent(u64),
}

/// A number of bytes, with fio's units: by default `k`, `kb` and `ki` are 1024 and `kib` is 1000; with
/// `kb_base=1000` it is the other way round. fio's own pages say that `ki` is `kib`; fio does not read it so.
pub(super) fn bytes(text: &str, is_si: bool) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let number: u64 = digits.parse().ok()?;
    let (letter, is_i) = match unit.strip_suffix("ib") {
        Some(letter) => (letter, true),
        None => {
            let unit = unit.strip_suffix('b').unwrap_or(unit);
            (unit.strip_suffix('i').filter(|letter| !letter.is_empty()).unwrap_or(unit), false)
        }
    };
    let power = match letter {
        "" if !is_i => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    let base: u64 = if is_i == is_si { 1024 } else { 1000 };
    number.checked_mul(base.checked_pow(power)?)
}

pub(super) fn extent(text: &str, is_si: bool) -> Option<Extent> {
    match text.trim().strip_suffix('%') {
        Some(percent) => percent.parse().ok().filter(|percent| *percent <= 100).map(Extent::Percent),
        None => bytes(text, is_si).map(Extent::Bytes),
    }
}

/// A time in microseconds; `unit_us` is that of a number without one.
pub(super) fn time_us(text: &str, unit_us: u64) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let unit_us = match unit {
        // fio looks for a unit just behind the digits: it reads "1 m" as 1 of the usual unit.
        unit if !unit.starts_with(|c: char| c.is_ascii_alphabetic()) => unit_us,
        "d" => 86_400_000_000,
        "h" => 3_600_000_000,
        "m" => 60_000_000,
        "s" => 1_000_000,
        "ms" | "msec" => 1000,
        "us" | "usec" => 1,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit_us)
}

/// The parts for reads and for writes of a value such as `4k`, `4k,8k` or `,8k`: one that is empty says nothing.
pub(super) fn for_reads_and_writes(text: &str) -> (Option<&str>, Option<&str>) {
    let mut parts = text.split(',').map(str::trim);
    let reads = parts.next().unwrap_or_default();
    let writes = parts.next().unwrap_or(reads);
    (Some(reads).filter(|part| !part.is_empty()), Some(writes).filter(|part| !part.is_empty()))
}

/// Whether a value is a yes: nothing, or a number other than 0.
pub(super) fn is_yes(value: Option<&str>) -> Option<bool> {
    match value {
        None => Some(true),
        Some(text) => text.trim().parse::<i64>().ok().map(|number| number != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(text: &str) -> Result<Vec<Section>, NoJobFile> {
        let outside = Outside {
            include: &|from, name| match name {
                "more.fio" => Ok(("more.fio".into(), "bs=8k\n".into())),
                "again.fio" => Ok(("again.fio".into(), "include again.fio\n".into())),
                "many.fio" => Ok(("many.fio".into(), "include few.fio\n".repeat(1000))),
                "few.fio" => Ok(("few.fio".into(), "bs=8k\n".repeat(200))),
                _ => Err(format!("not beside {from}")),
            },
            variable: &|name| (name == "DISK").then(|| "/dev/sdz".into()),
            size: &|_| None,
        };
        let mut reader = Reader::new(&outside);
        reader.file("a.fio", text, 0)?;
        reader.jobs("a.fio", "")
    }

    #[test]
    fn jobs_inherit_from_the_globals_above_them() {
        let text = "; a comment\n[global]\nrw = randread  # random\n[a]\n[global]\nbs=4k\n[b]\ninclude \
            more.fio\nthread\n";
        let sections = sections(text).expect("a job file");
        let shown = |at: usize| sections[at].settings.iter().map(Setting::shown).collect::<Vec<_>>();
        assert_eq!((sections[0].name.as_str(), shown(0)), ("a", vec!["rw=randread".to_string()]));
        assert_eq!(shown(1), ["rw=randread", "bs=4k", "bs=8k", "thread"]);
        let at = |index: usize| sections[1].settings[index].at.to_string();
        assert_eq!((at(0), at(2), at(3)), ("a.fio:3".into(), "more.fio:1".into(), "a.fio:9".into()));
    }

    #[test]
    fn variables_are_replaced_or_told() {
        let sections = sections("[a]\nfilename=${DISK}:${OTHER}x\ncommand=${\n").expect("a job file");
        let [file, open] = &sections[0].settings[..] else { panic!("two lines") };
        assert_eq!(file.value.as_deref(), Some("/dev/sdz:${OTHER}x"));
        assert_eq!((file.unset.as_deref(), open.value.as_deref()), (Some("OTHER"), Some("${")));
    }

    #[test]
    fn what_is_no_job_file_is_told_with_its_line() {
        for (text, line, says) in [
            ("", 1, "no job in it"),
            ("[global]\nbs=4k\n", 1, "no job in it"),
            ("\nbs=4k\n[a]\n", 2, "outside of a section: bs=4k"),
            ("[a\n", 1, "has no end"),
            ("[a]\ninclude none.fio\n", 2, "'none.fio' cannot be read: not beside a.fio"),
            ("[a]\ninclude again.fio\n", 1, "too deep"),
            ("[a]\ninclude many.fio\n", 101, "more than 100000 lines"),
            (&"[a]\n".repeat(JOBS_MAX + 1), JOBS_MAX + 1, "more than 4096 jobs"),
            (&"x".repeat(1000), 1, "outside of a section: xxxx"),
        ] {
            let error = sections(text).expect_err(text);
            assert!(error.at.line == line && error.what.contains(says), "{text}: {error:?}");
            assert!(error.what.len() < 200, "{error:?}");
        }
    }

    #[test]
    fn comments_are_bytes() {
        let latin = b"[a] \n# caf\xe9\nbs=4k ; \xfc\xff\nrw=read\n";
        assert_eq!(text(latin).as_deref(), Ok("[a] \n\nbs=4k \nrw=read\n"));
        assert_eq!(text(b"[a]\nfilename=caf\xe9\n"), Err(2));
        assert_eq!(text("[a] # caf\u{e9}".as_bytes()).as_deref(), Ok("[a] # caf\u{e9}"));
    }

    #[test]
    fn sizes_have_the_units_of_fio() {
        for (text, by_default, with_si) in [
            ("4k", 4096, 4000),
            ("4ki", 4096, 4000),
            ("4kb", 4096, 4000),
            ("4KiB", 4000, 4096),
            ("4096", 4096, 4096),
            ("4096B", 4096, 4096),
            ("1m", 1 << 20, 1_000_000),
            ("2G", 2 << 30, 2_000_000_000),
            ("1tib", 1_000_000_000_000, 1 << 40),
            ("0x1000", 4096, 4096),
        ] {
            assert_eq!((bytes(text, false), bytes(text, true)), (Some(by_default), Some(with_si)), "{text}");
        }
        // fio reads "16 k" as 16, and "4ib" as 4.
        for text in ["", "k", "4x", "i4", "4i", "4ib", "16 k", "1.5k", "-1", "99999999p", "(4*1024)"] {
            assert_eq!(bytes(text, false), None, "{text}");
        }
        assert_eq!(extent("50%", false), Some(Extent::Percent(50)));
        assert_eq!(extent("101%", false), None);
        assert_eq!(extent("1k", false), Some(Extent::Bytes(1024)));
    }

    #[test]
    fn times_have_the_units_of_fio() {
        for (text, us) in
            [("60", 60_000_000), ("2m", 120_000_000), ("1H", 3_600_000_000), ("500ms", 500_000), ("3usec", 3)]
        {
            assert_eq!(time_us(text, 1_000_000), Some(us), "{text}");
        }
        assert_eq!((time_us("7", 1), time_us("7x", 1), time_us("", 1)), (Some(7), None, None));
        // A unit stands just behind the digits, or is none.
        for text in ["1 m", "1\tms", "1.5m", "1 h"] {
            assert_eq!(time_us(text, 1_000_000), Some(1_000_000), "{text}");
        }
        // Of what it does not know, fio makes microseconds.
        assert_eq!((time_us("60sec", 1), time_us("1h30m", 1)), (None, None));
    }

    #[test]
    fn a_value_can_have_parts() {
        assert_eq!(for_reads_and_writes("4k"), (Some("4k"), Some("4k")));
        assert_eq!(for_reads_and_writes("4k,8k,16k"), (Some("4k"), Some("8k")));
        assert_eq!(for_reads_and_writes(",8k"), (None, Some("8k")));
        assert_eq!(for_reads_and_writes("4k,"), (Some("4k"), None));
        assert_eq!(
            (is_yes(None), is_yes(Some("0")), is_yes(Some("1")), is_yes(Some("x"))),
            (Some(true), Some(false), Some(true), None)
        );
    }
}
