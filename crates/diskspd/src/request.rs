//! A requested run: a profile with its options, and the command line of DiskSpd for it.
//!
//! A [`Request`] is what a command line means, a [`Line`] is both. A [`Grammar`], in a room above, parses the
//! words of a [`Line`] once.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use truespd_core::load::verify_log::{LogLost, LogPlace};
use truespd_core::profile::xml::{self, Overrides, XmlError};
use truespd_core::profile::{EventNames, Finding, Profile, Release, Severity, validate};
use truespd_core::result::{Document, Grade, Measured};
use truespd_platform::fault::{Refusal, RefusalKind, Refusals};
use truespd_platform::sys::source::Source;
use truespd_platform::text::foreign::{Foreign, PathMap, mapped};

/// A profile to run, with its options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The profile; empty while [`Request::profile_file`] names one that was not read yet.
    pub profile: Profile,
    /// Only print the profile (`-Rp`); nothing runs.
    pub profile_only: bool,
    /// Events to wait for and to signal.
    pub events: EventNames,
    /// Additions that DiskSpd does not have.
    pub options: LongOptions,
    /// An XML profile to read, with what overrides it (`-X`).
    pub profile_file: Option<ProfileFile>,
    /// The seed comes from the time at which the line was read (`-z` alone): each run of a series has its own.
    pub is_seed_of_moment: bool,
    /// Warnings of the profile's rules, in DiskSpd's words without the leading `WARNING: `.
    pub findings_warnings: Vec<String>,
    /// Words that DiskSpd takes for something else than they say, and for what; one sentence each.
    pub reinterpreted: Vec<String>,
    /// How options were understood, where the person should know that; one sentence each.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LongOptions {
    /// `--compat`: the release of DiskSpd whose forms and defaults are meant.
    pub compat: Option<Release>,
    /// `--engine`: the engine to use instead of the best one available.
    pub engine: Option<EngineChoice>,
    /// `--overwrite`: targets that may be written although they hold data that TrueSpd did not make.
    pub overwrite: Vec<String>,
    /// `--unchecked`: targets that may be written although nothing tells here whether they are in use.
    pub unchecked: Vec<String>,
    /// `--map`: folders of this machine that stand for paths of Windows.
    pub maps: Vec<PathMap>,
    /// `--exclusive`: no other run may have a target of this one.
    pub exclusive: bool,
    /// `--quick-check`: samples of a device are enough before a write test.
    pub quick_check: bool,
    /// `--recreate`: create files of `-c` again even when they could be reused.
    pub recreate: bool,
    /// `--precondition`: how often the tested range of every target is written before the test.
    pub precondition: Option<u32>,
    /// `--verify-map`: where the map of a verified target is kept.
    pub verify_map: Option<PathBuf>,
    /// `--verify-log`: where it is told what is durable.
    pub verify_log: Option<LogPlace>,
    /// `--verify-log-lost`: what is done when that goes away.
    pub verify_log_lost: LogLost,
    /// `--json`, `--xml`, `--text`, `--csv`: files to which the result is also written.
    pub outputs: Vec<Output>,
    /// Name of the format on standard output instead of that of the profile (`--json -`, `-Rjson`).
    pub stdout: Option<&'static str>,
    /// `--quiet`: standard error as DiskSpd would leave it.
    pub quiet: bool,
    /// `--verdict`: show all of the verdict.
    pub verdict: bool,
    /// `--progress`: tell the progress also where standard error is no terminal.
    pub progress: bool,
    /// `--live`: show the run on a full screen.
    pub live: bool,
    /// `--require`: the worst grade that is a success.
    pub require: Option<Grade>,
    /// `--require steady`: the rounds of `--until-steady` must become steady.
    pub require_steady: bool,
    /// `--metrics`: file for Prometheus, replaced every second.
    pub metrics: Option<String>,
    /// `--events`: file, pipe or descriptor for lines of JSON.
    pub events: Option<String>,
    /// Whether and how the result is kept in the history.
    pub history: HistoryOptions,
}

impl LongOptions {
    /// Whether a result does not meet `--require`.
    pub fn is_unmet(&self, document: &Document) -> bool {
        let grade = document.verdict.as_ref().map(|verdict| verdict.grade).unwrap_or_default();
        let is_worse = self.require.is_some_and(|required| grade > required);
        is_worse || self.require_steady && !document.measured().all(is_steady)
    }
}

/// Whether it measured until it was steady, or was not asked to.
fn is_steady(measured: &Measured) -> bool {
    measured.rounds.as_ref().is_none_or(|rounds| rounds.is_steady)
}

/// Whether and how a document is kept in the history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HistoryOptions {
    pub is_off: bool,
    pub is_on: bool,
    /// `--store`: the file of the history instead of the usual one.
    pub store: Option<String>,
    pub label: Option<String>,
    /// `--tag`, in the order given.
    pub tags: Vec<String>,
    pub revision: Option<String>,
}

impl HistoryOptions {
    /// The option that says something about a kept document, or where it is kept; none when there is none.
    pub fn wish(&self) -> Option<&'static str> {
        let rows = [
            (self.is_on, "--keep-history"),
            (self.store.is_some(), "--store"),
            (self.label.is_some(), "--label"),
            (!self.tags.is_empty(), "--tag"),
            (self.revision.is_some(), "--revision"),
        ];
        rows.iter().find(|(is_there, _)| *is_there).map(|(_, name)| *name)
    }

    /// Whether any of them is given.
    pub fn is_given(&self) -> bool {
        self.is_off || self.wish().is_some()
    }
}

/// Whether the word may be a tag: letters, digits and `. _ : / = -`, and neither empty nor with a sign in front, which
/// `history tag` takes for adding and removing.
pub fn is_tag(word: &str) -> bool {
    word.starts_with(char::is_alphanumeric)
        && word.chars().all(|c| c.is_alphanumeric() || "._:/=-".contains(c))
}

/// Adds words that are not there yet.
pub fn push_once(all: &mut Vec<String>, words: &str) {
    if !all.iter().any(|known| known == words) {
        all.push(words.to_string());
    }
}

/// A file for the result in one format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Name of the format in the table of `render`, or of a suite's own format.
    pub format: &'static str,
    pub path: String,
}

impl Output {
    /// The option that names the file, without its dashes.
    pub fn option(&self) -> &'static str {
        match self.format {
            "page" | "kept" => "output",
            format => format,
        }
    }
}

/// `NAME[:parameters]` of `--engine`. Which names exist is checked when they are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineChoice {
    pub name: String,
    /// What follows the colon, empty without one.
    pub parameters: String,
}

/// An XML profile and what the command line overrides in it (`command-line.md` §8).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProfileFile {
    pub path: String,
    pub overrides: Overrides,
    /// Targets that replace the templates `*1`, `*2`, ... in order.
    pub targets: Vec<String>,
}

/// Why the profile of `-X` cannot be used.
#[derive(Debug)]
pub enum ProfileError {
    /// It cannot be read, or is not a profile.
    Xml(XmlError),
    /// Templates and targets do not fit.
    Templates(Vec<String>),
    /// Prefixes of `--map` with which no path begins.
    Maps(Vec<PathMap>),
    /// The profile breaks its rules.
    Rules {
        /// The profile, with overrides and targets.
        profile: Box<Profile>,
        /// What is wrong; at least one is an error.
        findings: Vec<Finding>,
    },
}

impl ProfileError {
    /// As refusals; `of_rules` marks findings of the rules in the typed arguments.
    pub fn refusals(self, of_rules: impl FnOnce(&Profile, &[Finding]) -> Refusals) -> Refusals {
        match self {
            ProfileError::Xml(error) => {
                let place = format!("line {}, line position {}", error.line, error.column);
                let element = if error.element.is_empty() { String::new() } else { error.element + ": " };
                let mut refusal =
                    Refusal::new(RefusalKind::Input, format!("reason: {element}{}", error.reason));
                refusal.headline = Some(format!("failed to load profile, {place}"));
                refusal.legal.extend(error.legal);
                // The file is wrong, not a word of the command line.
                Refusals::from(refusal).of("", &[])
            }
            ProfileError::Templates(errors) => errors
                .into_iter()
                .map(|error| Refusal::new(RefusalKind::Input, error))
                .collect::<Vec<_>>()
                .into(),
            ProfileError::Maps(idle) => idle.iter().map(is_idle).collect::<Vec<_>>().into(),
            ProfileError::Rules { profile, findings } => of_rules(&profile, &findings),
        }
    }
}

impl Request {
    /// Reads the profile of `-X` into the request, with the overrides and targets beside it. Nothing without `-X`.
    ///
    /// # Errors
    /// [`ProfileError`]; the request is as it was.
    pub fn load_profile(&mut self) -> Result<(), ProfileError> {
        let Some(file) = &self.profile_file else { return Ok(()) };
        let mut profile = read(Path::new(&file.path)).map_err(ProfileError::Xml)?;
        xml::apply_overrides(&mut profile, &file.overrides);
        xml::substitute_templates(&mut profile, &file.targets).map_err(ProfileError::Templates)?;
        let idle = map_paths(&mut profile, &self.options.maps);
        if !idle.is_empty() {
            return Err(ProfileError::Maps(idle));
        }
        let findings = validate(&profile, !self.profile_only);
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(ProfileError::Rules { profile: Box::new(profile), findings });
        }
        self.warn(findings.iter());
        profile.take_release(self.options.compat.unwrap_or_default());
        self.profile = profile;
        self.settle_paths();
        Ok(())
    }

    /// Puts folders of this machine in the place of paths of Windows (`--map`). Not for a profile of `-X`,
    /// which is read later.
    ///
    /// # Errors
    /// Prefixes with which no path begins.
    pub fn map_paths(&mut self) -> Result<(), Vec<PathMap>> {
        let idle = map_paths(&mut self.profile, &self.options.maps);
        if !idle.is_empty() {
            return Err(idle);
        }
        self.settle_paths();
        Ok(())
    }

    /// What belongs to the paths of the targets, once they are settled: words for the guard, and notes.
    fn settle_paths(&mut self) {
        let LongOptions { overwrite, unchecked, maps, .. } = &mut self.options;
        for path in overwrite.iter_mut().chain(unchecked) {
            if let Some((_, here)) = mapped(maps, path) {
                *path = here;
            }
        }
        for target in self.profile.targets() {
            let path = &target.path;
            let note =
                format!("'{path}' is taken as the name of a file here; paths on Linux are written with /");
            // One that is not there is refused.
            let is_there = Path::new(path).exists();
            if is_there && Foreign::of(path).is_some() {
                push_once(&mut self.notes, &note);
            }
        }
    }

    /// Adds warnings of the profile's rules.
    pub fn warn<'f>(&mut self, findings: impl Iterator<Item = &'f Finding>) {
        for finding in findings {
            if finding.rule.is_of_diskspd() {
                self.findings_warnings.push(finding.message.clone());
            } else {
                push_once(&mut self.reinterpreted, &finding.message);
            }
            if let Some(more) = &finding.more {
                push_once(&mut self.notes, more);
            }
        }
    }

    /// The same for a run that begins `boot_ms` after the machine did.
    pub fn beginning(&self, boot_ms: u64) -> Cow<'_, Request> {
        if !self.is_seed_of_moment {
            return Cow::Borrowed(self);
        }
        let mut request = self.clone();
        request.profile.time_spans.iter_mut().for_each(|span| span.rand_seed = seed_of_moment(boot_ms));
        Cow::Owned(request)
    }
}

/// Puts folders in the place of paths of Windows, of targets and of the files that writes take their data
/// from. Returns what fits none.
fn map_paths(profile: &mut Profile, maps: &[PathMap]) -> Vec<PathMap> {
    let mut fits = vec![false; maps.len()];
    for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
        for path in std::iter::once(&mut target.path).chain(&mut target.write_source_path) {
            if let Some((at, here)) = mapped(maps, path) {
                fits[at] = true;
                *path = here;
            }
        }
    }
    let idle = maps.iter().zip(fits).filter(|(_, fits)| !fits);
    idle.map(|(map, _)| map.clone()).collect()
}

/// Why a map is refused that changes nothing.
pub fn is_idle(map: &PathMap) -> Refusal {
    let message =
        format!("--map {}={}: no target, and no file of -Z, begins with {0}", map.prefix, map.folder);
    Refusal::command_line(message)
        .legal("the beginning of a path as it is written there, up to the end of a folder")
        .hint(r"in quotes, so that the shell leaves its backslashes: --map 'C:\=/mnt/c'")
        .hint("-X with -Rp shows the paths of a profile")
}

/// The seed of `-z` alone, from the milliseconds since boot: the low 32 bits, as a machine that runs for
/// weeks has more.
pub fn seed_of_moment(boot_ms: u64) -> u32 {
    (boot_ms & u64::from(u32::MAX)) as u32
}

fn read(path: &Path) -> Result<Profile, XmlError> {
    let opened = Source::open(path).map_err(|error| XmlError::unreadable(path, &error))?;
    xml::read_from(opened).map_err(|error| XmlError::unreadable(path, &error))?
}

/// The grammar of DiskSpd's command line, for rooms below it that make command lines.
pub trait Grammar: Send + Sync {
    /// Parses a command line that runs something, with the profile of `-X`.
    ///
    /// # Errors
    /// What is wrong with it, marked in its words.
    fn line(&self, words: Vec<String>) -> Result<Line, Refusals>;

    /// Marks refusals in the words of a command line.
    fn marked(&self, words: &[String], refusals: Vec<Refusal>) -> Refusals;
}

/// A request with its command line, without the program's name: people can type it, documents keep it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    words: Vec<String>,
    request: Request,
}

impl Line {
    /// Words, and what they mean.
    pub fn new(words: Vec<String>, request: Request) -> Self {
        Line { words, request }
    }

    /// As it can be typed.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The same with `--overwrite` for these targets.
    pub fn allowing(mut self, paths: &[String]) -> Self {
        // Options come before targets.
        let options = paths.iter().flat_map(|path| ["--overwrite".to_string(), path.clone()]);
        self.words.splice(..0, options);
        self.request.options.overwrite.splice(..0, paths.iter().cloned());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_words() {
        for tag in ["a", "night", "v1.2", "kernel=6.1", "host:a/b", "ä"] {
            assert!(is_tag(tag), "{tag}");
        }
        for none in ["", "-a", "+a", "a b", "a,b", "a\n", ".a"] {
            assert!(!is_tag(none), "{none}");
        }
    }
    use truespd_core::profile::TimeSpan;

    #[test]
    fn what_may_be_overwritten_stands_in_words_and_request() {
        let line = Line::new(vec!["-w100".into(), "/dev/x".into()], Request::default());
        let allowed = line.clone().allowing(&["/dev/x".into(), "/dev/y".into()]);
        assert_eq!(allowed.words().join(" "), "--overwrite /dev/x --overwrite /dev/y -w100 /dev/x");
        assert_eq!(allowed.request().options.overwrite, ["/dev/x", "/dev/y"]);
        assert_eq!(line.clone().allowing(&[]), line);
    }

    #[test]
    fn a_seed_of_the_moment_is_that_of_each_run() {
        let time_spans = vec![TimeSpan { rand_seed: 7, ..TimeSpan::default() }];
        let profile = Profile { time_spans, ..Profile::default() };
        let mut request = Request { profile, ..Request::default() };
        let seed = |request: &Request| request.beginning((1 << 32) + 9).profile.time_spans[0].rand_seed;
        assert_eq!(seed(&request), 7);
        request.is_seed_of_moment = true;
        assert_eq!(seed(&request), 9);
    }

    #[test]
    fn a_profile_that_is_not_there_leaves_the_request_as_it_was() {
        let mut request = Request::default();
        assert!(request.load_profile().is_ok());
        request.profile_file = Some(ProfileFile { path: "/none.xml".into(), ..ProfileFile::default() });
        let before = request.clone();
        assert!(matches!(request.load_profile(), Err(ProfileError::Xml(_))));
        assert_eq!(request, before);
    }
}
