//! A workload with its targets, before it runs: what its lines mean, and what is wrong with them.

use crate::ask::find_max::limits::LatencyLimit;
use crate::ask::find_max::options::{ARRIVALS, MINUTES_MAX, PRECISION_PERCENT, unsearchable};
use crate::ask::find_max::run::Searching;
use crate::ask::own_line::{has_number, outstanding, streams, with_release};
use crate::ask::values::bytes;
use crate::ask::workload::preset::{BUILT_IN, Form, Load, Preset, fitted};
use crate::ask::workload::{Plan, Times, Work};
use crate::runner::place::Place;
use diskspd::grammar::parse;
use diskspd::grammar::parse::{Invocation, not_in_suites, refuse_findings, refuse_plan};
use std::io::Read;
use std::path::{Path, PathBuf};
use truespd_core::plan::check_alignment;
use truespd_core::profile::{Severity, Target, TimeSpan, validate, xml};
use truespd_front::config::in_force;
use truespd_front::console::say_line;
use truespd_platform::fault::{Fault, Refusal, RefusalKind, Refusals};
use truespd_platform::machine::storage::{AlignmentSource, DirectAlignment};
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::file::open_without_waiting;
use truespd_platform::sys::system;
use truespd_platform::text::{printable, printable_path, size};

/// A workload that fits its targets.
pub(crate) struct Prepared {
    pub(super) name: String,
    pub(super) preset: Preset,
    pub(super) places: Vec<Place>,
    /// Names of files that are made.
    pub(super) names: Vec<String>,
    pub(super) file_bytes: Vec<u64>,
    /// Files are made, in a folder.
    pub(super) is_made: bool,
    pub(super) times: Times,
}

impl Prepared {
    /// On these targets, with the profile there.
    pub(super) fn plan(&self, targets: Vec<String>, profile_path: String) -> Result<Plan, Fault> {
        let mut create = None;
        if self.is_made {
            create = self.file_bytes.first().map(|bytes| format!("-c{bytes}"));
        }
        let work = match &self.preset.load {
            Load::Lines { lines, limit } => {
                let spans = self.spans(lines, &targets)?;
                match (limit, &lines[..], &spans[..]) {
                    (Some(limit), [line], [span]) => {
                        self.searching(line, span, *limit, create.as_ref(), &targets)?
                    }
                    _ => Work::Lines(lines.clone()),
                }
            }
            Load::Profile(profile) => {
                let (profile, is_shrunk) = fitted(profile, &self.file_bytes, self.is_made);
                if is_shrunk {
                    let sizes: Vec<String> = self.file_bytes.iter().map(|&bytes| size(bytes)).collect();
                    say_line(format_args!(
                        "note: the profile's regions do not fit into {}; they are shrunk in proportion",
                        sizes.join(", ")
                    ));
                }
                Work::Profile { path: profile_path, profile: Box::new(profile) }
            }
        };
        Ok(Plan {
            name: self.name.clone(),
            about: self.preset.about.clone(),
            source: self.preset.source.clone(),
            create,
            targets,
            times: self.times,
            work,
            flush_p99_ms: self.preset.flush_p99_ms,
        })
    }

    /// Targets that are there and written, some perhaps several times.
    pub(super) fn written(&self) -> Result<Vec<String>, Fault> {
        let targets = if self.is_made { self.names.clone() } else { words_of(&self.places) };
        let spans = match &self.preset.load {
            Load::Lines { lines, limit } => {
                let spans = self.spans(lines, &targets)?;
                if let (Some(limit), [line], [span]) = (limit, &lines[..], &spans[..]) {
                    self.searching(line, span, *limit, None, &targets)?;
                }
                spans
            }
            Load::Profile(profile) => profile.time_spans.clone(),
        };
        let mut written = Vec::new();
        if self.is_made {
            return Ok(written);
        }
        for target in spans.iter().flat_map(|span| &span.targets).filter(|target| target.writes()) {
            match target.template_number() {
                // Templates count from 1.
                Some(number) => written.extend(targets.get(number as usize - 1).cloned()),
                None => written.push(target.path.clone()),
            }
        }
        Ok(written)
    }

    /// What lines mean, each without its rates.
    fn spans(&self, lines: &[Vec<String>], targets: &[String]) -> Result<Vec<TimeSpan>, Refusals> {
        let mut spans = Vec::new();
        for line in lines {
            spans.push(self.span(line, targets)?);
        }
        Ok(spans)
    }

    /// The search for the highest rate of a line.
    fn searching(
        &self,
        line: &[String],
        span: &TimeSpan,
        limit: LatencyLimit,
        create: Option<&String>,
        targets: &[String],
    ) -> Result<Work, Fault> {
        if !span.measure_latency {
            return Err(self.wrong(line, "a search needs latencies; add -L").into());
        }
        if let Some(why) = unsearchable(span) {
            return Err(self.wrong(line, why).into());
        }
        // What cannot have a rate is told before anything is made.
        let with_rate: Vec<String> = line.iter().cloned().chain(["-g1i".to_string()]).collect();
        self.span(&with_rate, targets)?;
        let mut words: Vec<String> = create.into_iter().cloned().collect();
        words.extend(line.iter().cloned());
        Ok(Work::Search(Box::new(Searching {
            name: self.name.clone(),
            line: words,
            times: self.times.words().into(),
            has_seed: has_number(line, 'z'),
            arrivals: ARRIVALS.to_string(),
            targets: targets.to_vec(),
            run_s: self.times.all_s(),
            measured_s: f64::from(self.times.duration_s),
            limits: vec![limit],
            precision_percent: PRECISION_PERCENT,
            time_max_s: MINUTES_MAX * 60.0,
            streams: streams(span),
            outstanding: outstanding(span),
            writes: span.targets.iter().any(Target::writes),
        })))
    }

    fn wrong(&self, line: &[String], why: &str) -> Refusal {
        Refusal::new(RefusalKind::Input, format!("'{}': {}: {why}", self.name, line.join(" ")))
    }

    /// What a line means to `diskspd`.
    fn span(&self, line: &[String], targets: &[String]) -> Result<TimeSpan, Refusals> {
        let words: Vec<String> = line.iter().chain(targets).cloned().collect();
        let invocation = parse(&words, "diskspd", &|| 0)
            .map_err(|refusals| refusals.behind(format!("'{}'", self.name)))?;
        let Invocation::Run(request) = invocation else {
            return Err(self.wrong(line, "this line does not run a load").into());
        };
        let why = if request.profile_file.is_some() {
            "-X is not allowed in a preset; save the profile as a preset of its own, NAME.xml".to_string()
        } else if let Some(why) = not_in_suites(&words) {
            why
        } else if let Some(letter) = ['d', 'W', 'C'].into_iter().find(|&letter| has_number(line, letter)) {
            format!("-{letter} is not allowed in a preset; -d, -W and -C are options of truespd workload")
        } else {
            match &request.profile.time_spans[..] {
                [span] if span.targets.len() != targets.len() => "a line of a preset must not name a target",
                [span] if span.targets.iter().any(|target| target.create_bytes.is_some()) => {
                    "-c is not allowed in a preset; write size = \"...\""
                }
                [span] => return Ok(span.clone()),
                _ => "this line does not run a load",
            }
            .to_string()
        };
        Err(self.wrong(line, &why).into())
    }
}

/// What is printed could run, as far as that can be told without its targets.
pub(super) fn check_printed(plan: &Plan) -> Result<(), Refusals> {
    // No storage takes less past the page cache.
    const SECTOR: DirectAlignment =
        DirectAlignment { offset_bytes: 512, memory_bytes: 1, source: AlignmentSource::Assumed };
    const PROGRAM: &str = "diskspd";
    for step in plan.steps() {
        let profile = match &plan.work {
            Work::Profile { profile, .. } => {
                let mut profile = (**profile).clone();
                xml::substitute_templates(&mut profile, &plan.targets).map_err(|errors| {
                    let all = errors.iter().map(|error| Refusal::new(RefusalKind::Input, error.to_string()));
                    Refusals::from(all.collect::<Vec<_>>())
                })?;
                let findings = validate(&profile, true);
                if findings.iter().any(|finding| finding.severity == Severity::Error) {
                    return Err(refuse_findings(&step.words, PROGRAM, &profile, &findings));
                }
                profile
            }
            Work::Lines(_) | Work::Search(_) => match parse(&step.words, PROGRAM, &|| 0)? {
                Invocation::Run(request) => request.profile,
                _ => continue,
            },
        };
        let targets = profile.targets();
        let refusals: Vec<_> = targets
            .filter(|target| target.is_direct())
            .filter_map(|target| check_alignment(target, SECTOR).err())
            .collect();
        if !refusals.is_empty() {
            return Err(refuse_plan(&step.words, PROGRAM, &refusals));
        }
    }
    Ok(())
}

pub(super) fn words_of(places: &[Place]) -> Vec<String> {
    places.iter().map(Place::word).collect()
}

const PRESET_BYTES_MAX: u64 = 1 << 20;

/// The folder of a person's presets: the one given, or `truespd/workloads` in $XDG_CONFIG_HOME or ~/.config.
fn folder(given: Option<&str>) -> Option<PathBuf> {
    given.map(PathBuf::from).or_else(|| Some(system::config_folder()?.join("workloads")))
}

/// Names and files of a person's presets, by name. A folder that was not asked for may be missing.
fn own(given: Option<&str>) -> Result<Vec<(String, Form, PathBuf)>, Refusal> {
    let Some(folder) = folder(given) else { return Ok(Vec::new()) };
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if given.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Vec::new());
        }
        Err(error) => {
            return Err(refusal(format!(
                "presets in '{}' cannot be read: {}",
                printable_path(&folder),
                system_text(&error)
            )));
        }
    };
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let form = Form::ALL.iter().find(|(_, known)| Some(*known) == ending).map(|(form, _)| *form);
        let name = path.file_stem().and_then(|name| name.to_str()).map(str::to_string);
        if let (Some(form), Some(name)) = (form, name) {
            found.push((name, form, path));
        }
    }
    found.sort_by(|a, b| (&a.0, &a.2).cmp(&(&b.0, &b.2)));
    Ok(found)
}

/// The preset called `name`; a person's own comes first.
pub(crate) fn find(name: &str, given: Option<&str>) -> Result<Preset, Refusals> {
    let own = own(given)?;
    let mut same = own.iter().filter(|(known, ..)| known == name);
    if let Some((_, form, path)) = same.next() {
        if let Some((_, _, other)) = same.next() {
            let (one, other) = (printable_path(path), printable_path(other));
            let twice = refusal(format!("there are two presets '{name}': {one} and {other}"));
            return Err(twice.hint("keep one").into());
        }
        // With its blocks of what is legal.
        let preset = read(*form, path).map_err(|why| Refusals::from(why).of("", &[]))?;
        return Ok(of_release(preset)?);
    }
    if let Some((_, form, text)) = BUILT_IN.iter().find(|(known, ..)| *known == name) {
        return Ok(Preset::read(*form, text, bytes)?);
    }
    Err(refusal(format!("there is no workload '{name}'; legal: {}", names(given)?)).into())
}

/// A person's own preset as the release of DiskSpd means it that is set.
fn of_release(mut preset: Preset) -> Result<Preset, Refusal> {
    match &mut preset.load {
        Load::Lines { lines, .. } => {
            for line in lines {
                *line = with_release(std::mem::take(line))?;
            }
        }
        Load::Profile(profile) => profile.take_release(in_force().release()?),
    }
    Ok(preset)
}

/// The names of all workloads, a person's own first, with commas between them.
pub(crate) fn names(given: Option<&str>) -> Result<String, Refusal> {
    let own = own(given)?;
    let own_names = own.iter().map(|(name, ..)| name.as_str());
    let names: Vec<&str> = own_names.chain(BUILT_IN.iter().map(|(name, ..)| *name)).collect();
    Ok(names.join(", "))
}

fn read(form: Form, path: &Path) -> Result<Preset, Refusal> {
    let text = text_of(path).map_err(|error| refusal(system_text(&error)));
    let text = text.and_then(|text| {
        text.ok_or_else(|| {
            refusal(format!("a preset is a regular file of {} at most", size(PRESET_BYTES_MAX)))
        })
    });
    text.and_then(|text| Preset::read(form, &text, bytes))
        .map_err(|why| why.behind(format!("'{}'", printable_path(path))))
}

fn refusal(message: impl Into<String>) -> Refusal {
    Refusal::new(RefusalKind::Input, message)
}

/// What a preset's file holds; none where it is no file, or a longer one: pipes and devices may never end.
fn text_of(path: &Path) -> std::io::Result<Option<String>> {
    // Without waiting for a writer, should it be a pipe.
    let file = open_without_waiting(path)?;
    let mut text = String::new();
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    file.take(PRESET_BYTES_MAX + 1).read_to_string(&mut text)?;
    Ok(Some(text).filter(|text| text.len() as u64 <= PRESET_BYTES_MAX))
}

/// What a preset is, and the room it takes in a folder.
fn about(preset: &Preset) -> String {
    format!("{} [creates {}]", preset.about, size(preset.file_bytes.iter().sum()))
}

/// Names and what they are, a line each.
pub(crate) fn list(given: Option<&str>) -> Result<String, Refusal> {
    let own = own(given)?;
    let mut out = String::new();
    for (name, form, text) in BUILT_IN {
        let is_hidden = own.iter().any(|(own, ..)| own == name);
        let about = about(&Preset::read(*form, text, bytes)?);
        let hidden = if is_hidden { " (replaced by your own)" } else { "" };
        out.push_str(&format!("{name:<16}{about}{hidden}\n"));
    }
    for (name, form, path) in &own {
        let about = match read(*form, path) {
            Ok(preset) => format!("{} ({})", about(&preset), path.to_string_lossy()),
            Err(why) => format!("cannot be used: {why}"),
        };
        // A person's preset may hold anything.
        out.push_str(&format!("{:<16}{}\n", printable(name), printable(&about)));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_files_of_a_size_that_people_write() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("good.toml"), "about = 'x'\nlines = ['-b8K']\n").expect("a file");
        std::fs::write(path("long.toml"), "#".repeat(PRESET_BYTES_MAX as usize + 1)).expect("a file");
        std::fs::write(path("wrong.xml"), "<Profil/>").expect("a file");
        crate::made::symlink("/dev/zero", path("zero.toml")).expect("a link");
        crate::made::pipe(path("pipe.xml").as_ref()).expect("a pipe");
        let given = folder.path().to_str();
        let list = list(given).expect("a list");
        let says =
            |name: &str, words: &str| list.lines().any(|line| line.starts_with(name) && line.contains(words));
        assert!(says("good", "x [creates"), "{list}");
        for name in ["long", "pipe", "zero"] {
            assert!(says(name, "a preset is a regular file of 1 MiB at most"), "{name}: {list}");
        }
        let wrong = "wrong.xml': line 1, column 1: Profil: the outermost element is \"Profil\"";
        assert!(says("wrong", wrong), "{list}");
        let words = find("wrong", given).expect_err("no profile").to_string();
        assert!(words.contains(&format!("{wrong}\n  legal: Profile\n")), "{words}");
    }
}
