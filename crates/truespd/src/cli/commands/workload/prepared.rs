//! A workload with its targets, before it runs: what its lines mean, and what is wrong with them.

use crate::cli::words::{has_number, unwanted};
use crate::series::place::Place;
use crate::suite::workload::preset::{Load, Preset, fitted};
use crate::suite::workload::sweep::LatencyLimit;
use crate::suite::workload::{Plan, Times, Work};
use diskspd::console::say_line;
use diskspd::grammar::parse;
use diskspd::grammar::parse::Invocation;
use diskspd::grammar::parse::{refuse_findings, refuse_plan};
use truespd_core::fault::{Fault, Refusal, RefusalKind, Refusals};
use truespd_core::machine::storage::{AlignmentSource, DirectAlignment};
use truespd_core::plan::check_alignment;
use truespd_core::profile::{Severity, Target, TimeSpan, validate, xml};
use truespd_core::text::size;

/// A workload that fits its targets.
pub(crate) struct Prepared {
    pub(super) name: String,
    pub(super) preset: Preset,
    /// What the person named.
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
        let work = match &self.preset.load {
            Load::Lines { lines, limit } => self.lines(lines, *limit, &targets)?.0,
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
            create: self.file_bytes.first().filter(|_| self.is_made).map(|bytes| format!("-c{bytes}")),
            targets,
            times: self.times,
            work,
        })
    }

    /// Targets that are there and written, some perhaps several times.
    pub(super) fn written(&self) -> Result<Vec<String>, Fault> {
        let targets = if self.is_made { self.names.clone() } else { words_of(&self.places) };
        let spans = match &self.preset.load {
            Load::Lines { lines, limit } => self.lines(lines, *limit, &targets)?.1,
            Load::Profile(profile) => profile.time_spans.clone(),
        };
        if self.is_made {
            return Ok(Vec::new());
        }
        // Templates count from 1.
        let path = |target: &Target| match target.template_number() {
            Some(number) => targets.get(number as usize - 1).cloned(),
            None => Some(target.path.clone()),
        };
        let written = spans.iter().flat_map(|span| &span.targets).filter(|target| target.writes());
        Ok(written.filter_map(path).collect())
    }

    /// What lines are to do, and what each means.
    fn lines(
        &self,
        lines: &[Vec<String>],
        limit: Option<LatencyLimit>,
        targets: &[String],
    ) -> Result<(Work, Vec<TimeSpan>), Fault> {
        let spans =
            lines.iter().map(|line| self.span(line, targets)).collect::<Result<Vec<TimeSpan>, _>>()?;
        let (Some(limit), [line], [span]) = (limit, lines, &spans[..]) else {
            return Ok((Work::Lines(lines.to_vec()), spans));
        };
        if !span.measure_latency {
            return Err(self.wrong(line, "a search needs latencies; add -L").into());
        }
        if span.targets.iter().any(Target::is_rate_limited) {
            return Err(self.wrong(line, "a search sets the rate itself; remove -g").into());
        }
        // What cannot have a rate is told before anything is made.
        let with_rate: Vec<String> = line.iter().cloned().chain(["-g1i".to_string()]).collect();
        self.span(&with_rate, targets)?;
        let streams = match span.thread_count {
            0 => span.threads_total(),
            threads => u64::from(threads) * targets.len() as u64,
        };
        let outstanding = outstanding(span);
        Ok((Work::Search { line: line.clone(), limit, streams, outstanding }, spans))
    }

    fn wrong(&self, line: &[String], why: &str) -> Refusal {
        Refusal::new(RefusalKind::Input, format!("'{}': {}: {why}", self.name, line.join(" ")))
    }

    /// What a line means to `diskspd`.
    fn span(&self, line: &[String], targets: &[String]) -> Result<TimeSpan, Refusals> {
        let words: Vec<String> = line.iter().chain(targets).cloned().collect();
        let invocation = parse(&words, "diskspd", &|| 0)
            .map_err(|refusals| refusals.behind(format!("'{}'", self.name)))?;
        let wrong = |why: &str| Err(self.wrong(line, why).into());
        let Invocation::Run(request) = invocation else { return wrong("this line does not run a load") };
        if request.profile_file.is_some() {
            return wrong("-X is not allowed in a preset; save the profile as a preset of its own, NAME.xml");
        }
        if let Some(why) = unwanted(&request) {
            return wrong(why);
        }
        if let Some(letter) = ['d', 'W', 'C'].into_iter().find(|&letter| has_number(line, letter)) {
            return wrong(&format!(
                "-{letter} is not allowed in a preset; -d, -W and -C are options of truespd workload"
            ));
        }
        match &request.profile.time_spans[..] {
            [span] if span.targets.len() != targets.len() => {
                wrong("a line of a preset must not name a target")
            }
            [span] if span.targets.iter().any(|target| target.create_bytes.is_some()) => {
                wrong("-c is not allowed in a preset; write size = \"...\"")
            }
            [span] => Ok(span.clone()),
            _ => wrong("this line does not run a load"),
        }
    }
}

/// I/Os of all threads that are outstanding at once, at most.
fn outstanding(span: &TimeSpan) -> u64 {
    let each = span.targets.iter().map(|target| u64::from(target.request_count));
    match span.thread_count {
        0 => {
            let own = span.targets.iter().map(|target| u64::from(target.threads_per_file));
            own.zip(each).map(|(threads, requests)| threads * requests).sum()
        }
        threads => u64::from(threads) * each.sum::<u64>(),
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
                    let input =
                        |error: &xml::TemplateError| Refusal::new(RefusalKind::Input, error.to_string());
                    Refusals::from(errors.iter().map(input).collect::<Vec<_>>())
                })?;
                let findings = validate(&profile, true);
                if findings.iter().any(|finding| finding.severity == Severity::Error) {
                    return Err(refuse_findings(&step.words, PROGRAM, &profile, &findings));
                }
                profile
            }
            Work::Lines(_) | Work::Search { .. } => match parse(&step.words, PROGRAM, &|| 0)? {
                Invocation::Run(request) => request.profile,
                _ => continue,
            },
        };
        let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outstanding_ios_are_those_of_all_threads() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_string).collect();
            match parse(&words, "diskspd", &|| 0) {
                Ok(Invocation::Run(request)) => outstanding(&request.profile.time_spans[0]),
                other => panic!("{line}: {other:?}"),
            }
        };
        assert_eq!(of("-t4 -o8 a"), 32);
        assert_eq!(of("-t4 -o8 a b"), 64);
        assert_eq!(of("-F4 -o8 a b"), 64);
    }
}
