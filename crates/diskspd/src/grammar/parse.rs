//! Reading the arguments in DiskSpd's order (`command-line.md` §4): targets first, then two passes over
//! the options, then the rules of the profile.

use std::ffi::OsString;

use crate::grammar::help::help_of;
use crate::grammar::hints;
use crate::grammar::hints::{Arg, Arguments};
use crate::grammar::row::{Draft, Stop};
use crate::grammar::rows::Row;
use crate::grammar::value::{Slip, Value, length};
use crate::request::{Grammar, Line, Request, is_idle};
use truespd_core::profile::{Finding, Profile, Release, ResultFormat, Rule, Severity, validate};
use truespd_platform::fault::{Caret, Refusal, RefusalKind, Refusals};
use truespd_platform::machine::host::uptime_ms;
use truespd_platform::text::foreign::PathMap;

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// `-?` or `--help all`: print [`help`](crate::grammar::help()), exit 0.
    Help,
    /// `--help`: on a terminal print [`short_help_for`](crate::grammar::short_help_for()), elsewhere as `Help`; exit 0.
    ShortHelp,
    /// `--help WORD`: print [`help_of`](crate::grammar::help_of()) with it, exit 0.
    HelpOf(String),
    /// Nothing was given: print what `ShortHelp` prints, exit 3.
    NoArguments,
    Version,
    /// `-Rs`: print system information only, in the form of a release where `--compat` names one.
    SystemInformation(ResultFormat, Option<Release>),
    /// `-ye`: set these existing events, in order, and exit 0.
    SetEvents(Vec<String>),
    /// Run a profile, or print it.
    Run(Box<Request>),
}

/// Reads a command line (`args` without the program name, which is only used in messages).
///
/// Pure: opens nothing, sets nothing, asks nothing. `boot_ms` gives the milliseconds since boot and is
/// called only for a bare `-z`.
///
/// # Errors
/// [`Refusals`] with the arguments, and a mark under the wrong one.
pub fn parse(args: &[String], program: &str, boot_ms: &dyn Fn() -> u64) -> Result<Invocation, Refusals> {
    if args.is_empty() {
        return Ok(Invocation::NoArguments);
    }
    let line = Arguments::split(args, program);
    if let Some(word) = asked_for(args) {
        return line.help_of(word);
    }
    line.check_targets()?;
    line.check_alone()?;
    let mut draft = Draft::default();
    let has_profile = line.profile_file().is_some();
    for word in &line.options {
        if has_profile {
            line.check_with_profile(word)?;
        }
        if let Some(row) = word.row.filter(|row| row.first_pass) {
            line.read(&mut draft, word, row)?;
        }
    }
    for word in &line.options {
        let Some(row) = word.row else { return Err(line.unknown(word)) };
        if !row.first_pass {
            line.read(&mut draft, word, row)?;
        }
        match draft.stop {
            Some(Stop::Help) => return Ok(Invocation::Help),
            Some(Stop::ShortHelp) => return Ok(Invocation::ShortHelp),
            Some(Stop::Version) => return Ok(Invocation::Version),
            None => {}
        }
    }
    if let Some(format) = draft.system_information {
        return Ok(Invocation::SystemInformation(format, draft.long.compat));
    }
    if !draft.set_events.is_empty() {
        return Ok(Invocation::SetEvents(draft.set_events));
    }
    line.request(draft, boot_ms)
}

/// The option that `--help -b`, `--help b` or `--help=b` asks for, where nothing else is asked.
fn asked_for(args: &[String]) -> Option<&str> {
    match args {
        [help] => help.strip_prefix("--help=").filter(|word| !word.is_empty()),
        [help, word] if help == "--help" => Some(word),
        _ => None,
    }
}

/// [`parse`] for arguments as the system gives them.
///
/// # Errors
/// As [`parse`], and for an argument that is not UTF-8.
pub fn parse_os(args: &[OsString], program: &str, boot_ms: &dyn Fn() -> u64) -> Result<Invocation, Refusals> {
    let shown: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    match args.iter().position(|arg| arg.to_str().is_none()) {
        None => parse(&shown, program, boot_ms),
        Some(index) => {
            let mark = Caret { word: index, chars: 0..length(&shown[index]), main: true };
            let refusal = Refusal::command_line(format!("argument {} is not UTF-8 text", index + 1))
                .at([mark])
                .legal("arguments in UTF-8, because results and profiles name the target in UTF-8")
                .hint("for a file with such a name, make a link with another name and give that");
            Err(Refusals::from(refusal).of(program, &shown))
        }
    }
}

/// The first option of a line that a suite cannot have in its runs, with the reason and what to give instead.
pub fn not_in_suites(words: &[String]) -> Option<String> {
    let line = Arguments::split(words, "");
    let rows = line.options.iter().filter_map(|word| word.row);
    let row = rows.into_iter().find(|row| !row.not_in_suites.is_empty())?;
    Some(format!("-{} is not possible in a line of a suite: {}", row.name, row.not_in_suites))
}

/// Shows findings about a profile with the words that caused them marked.
///
/// `findings` may come from [`validate`] or from checks against the machine that use the same switches.
/// Findings of several targets that say the same are shown once, as all targets of a command line share
/// their options. With an XML profile (`-X`) each is shown with its place within `profile`.
pub fn refuse_findings(args: &[String], program: &str, profile: &Profile, findings: &[Finding]) -> Refusals {
    Arguments::split(args, program).refuse(profile, findings)
}

/// Shows why an option (its row's `name`) is refused, with its word marked.
pub fn refuse_option(args: &[String], program: &str, name: &str, what: &str) -> Refusals {
    let line = Arguments::split(args, program);
    let word = line.options.iter().rev().find(|word| word.row.is_some_and(|row| row.name == name));
    line.refusal(Refusal::command_line(what).at(word.map(|word| line.mark_all(word.value_index, true))))
}

/// Shows why the plan refuses, under the words it is about.
///
/// A refusal of the write guard is marked at the target; a refusal because of the machine at its switches, or at
/// the target when no switch was typed.
pub fn refuse_plan(args: &[String], program: &str, refusals: &[Refusal]) -> Refusals {
    let line = Arguments::split(args, program);
    let mut marked = Vec::new();
    for refusal in refusals {
        let typed = if refusal.kind == RefusalKind::Open { refusal.subject.as_deref() } else { None };
        let carets = line.marks_of_plan(refusal);
        marked.push(refusal.clone().at(carets).with_hints(typed.and_then(hints::not_there)));
    }
    Refusals::from(marked).of(program, args)
}

impl<'a> Arguments<'a> {
    /// The target scan: no option may follow a target.
    fn check_targets(&self) -> Result<(), Refusals> {
        for (index, target) in self.args.iter().enumerate().skip(self.targets) {
            if let Some(problem) = hints::no_target(target, index, self) {
                return Err(self.refusal(problem));
            }
        }
        if self.has_end_of_options {
            return Ok(());
        }
        let misplaced = self.args.iter().enumerate().skip(self.targets).find(|(_, arg)| arg.starts_with('-'));
        let Some((index, option)) = misplaced else { return Ok(()) };
        let target = &self.args[self.targets];
        Err(self.refusal(
            Refusal::command_line(format!("option {option} follows the target '{target}'"))
                .at([self.mark_all(index, true), self.mark_all(self.targets, false)])
                .legal("all options come before the first target")
                .with_hints(hints::misplaced(self, index)),
        ))
    }

    /// `--help` with a word that should be an option.
    fn help_of(&self, word: &str) -> Result<Invocation, Refusals> {
        if word == "all" {
            return Ok(Invocation::Help);
        }
        if help_of(word).is_some() {
            return Ok(Invocation::HelpOf(word.to_string()));
        }
        let last = self.args.len() - 1;
        let name = format!("--{}", word.trim_start_matches('-'));
        let refusal = Refusal::command_line(format!("'{word}' is not an option"))
            .at([self.mark_all(last, true)])
            .legal("--help all, or --help and an option, with or without its dashes: --help -b, --help overwrite")
            .with_hints(hints::named(&name));
        Err(self.refusal(refusal))
    }

    /// `-Rs` must be the only argument, but for the release whose form it has.
    fn check_alone(&self) -> Result<(), Refusals> {
        let alone = self.options.iter().find(|word| word.row.is_some_and(|row| row.name == "Rs"));
        let mut others = self.args.len() - self.targets;
        for word in &self.options {
            others += usize::from(word.row.is_none_or(|row| row.name != "-compat"));
        }
        match alone {
            Some(word) if others > 1 => Err(self.refusal(
                Refusal::command_line(format!("{} is not the only argument", self.args[word.index]))
                    .at([self.mark_all(word.index, true)])
                    .legal("-Rs, -Rstext or -Rsxml as the only argument beside --compat"),
            )),
            _ => Ok(()),
        }
    }

    fn check_with_profile(&self, word: &Arg) -> Result<(), Refusals> {
        let Some(row) = word.row else { return Err(self.unknown(word)) };
        if row.with_profile {
            return Ok(());
        }
        let mut marks = vec![self.mark_all(word.index, true)];
        marks.extend(self.profile_file().map(|word| self.mark_all(word.index, false)));
        Err(self.refusal(
            Refusal::command_line(format!(
                "{} cannot be combined with an XML profile (-X)",
                self.args[word.index]
            ))
            .at(marks)
            .legal("with -X: -: -C -d -W -R -v -z, the long options, and targets for its templates")
            .hint("everything else is set in the profile itself"),
        ))
    }

    fn read(&self, draft: &mut Draft, word: &Arg<'a>, row: &Row) -> Result<(), Refusals> {
        let value = Value { text: word.value, word: word.index };
        let known = draft.reinterpreted.len();
        row.read(draft, &value).map_err(|slip| self.slip(word, row, slip))?;
        // DiskSpd would take `-W 5 f` for no warm-up on two targets.
        if draft.reinterpreted.len() > known && word.value.is_empty() && hints::glued(self, word).is_some() {
            return Err(self.slip(word, row, Slip::new("a number is missing").at(0..0)));
        }
        if let Some(last) = draft.reinterpreted.get_mut(known..).and_then(<[String]>::last_mut)
            && row.value.is_empty()
            && let Some(split) = hints::split_cluster(row.name, word.value)
        {
            last.push_str(&format!("; every option is an argument of its own: {split}"));
        }
        Ok(())
    }

    fn slip(&self, word: &Arg, row: &Row, slip: Slip) -> Refusals {
        // A short word may be a slip in the option of its first letter, such as -bs.
        let typed = &self.args[word.index];
        if typed.contains(['=', '_']) && hints::word_of_fio(typed).is_some() {
            return self.unknown(word);
        }
        let hints = hints::for_slip(self, word, &slip);
        let main = match slip.chars {
            Some(chars) => {
                let lead = word.lead;
                Caret { word: word.value_index, chars: chars.start + lead..chars.end + lead, main: true }
            }
            None => self.mark_all(word.index, true),
        };
        let mut marks = vec![main];
        marks.extend(slip.earlier.map(|position| {
            match (position.char, self.options.iter().find(|w| w.index == position.word)) {
                (Some(at), Some(earlier)) => {
                    let at = at + earlier.lead;
                    Caret { word: position.word, chars: at..at + 1, main: false }
                }
                _ => self.mark_all(position.word, false),
            }
        }));
        let about = format!("{}: {}", row.form(), row.help);
        self.refusal(
            Refusal::command_line(format!("{}: {}", self.args[word.index], slip.what))
                .at(marks)
                .legal(slip.legal.unwrap_or(about))
                .with_hints(hints),
        )
    }

    fn unknown(&self, word: &Arg) -> Refusals {
        let option = &self.args[word.index];
        let (legal, hints) = hints::for_unknown(self, word);
        let refusal = Refusal::command_line(format!("{option}: there is no such option"))
            .at([self.mark_all(word.index, true)])
            .with_hints(hints);
        self.refusal(legal.into_iter().fold(refusal, Refusal::legal))
    }

    /// Applies the rules of the profile to a complete request.
    fn request(&self, draft: Draft, boot_ms: &dyn Fn() -> u64) -> Result<Invocation, Refusals> {
        let targets = &self.args[self.targets..];
        if targets.is_empty() && draft.profile_file.is_none() {
            let end = self.args.len() - 1;
            let at = length(&self.args[end]);
            return Err(self.refusal(
                Refusal::command_line("there is no target to test")
                    .at([Caret { word: end, chars: at + 1..at + 1, main: true }])
                    .legal("at least one file or device after the options")
                    .with_hints(hints::without_target(self)),
            ));
        }
        let mut request: Request = draft.finish(targets, boot_ms);
        request.notes.extend(hints::notes(self));
        if request.profile_file.is_none() {
            request.map_paths().map_err(|idle| self.idle(&idle))?;
            let findings = validate(&request.profile, !request.profile_only);
            if findings.iter().any(|finding| finding.severity == Severity::Error) {
                return Err(self.refuse(&request.profile, &findings));
            }
            request.warn(distinct(&findings));
            request.profile.take_release(request.options.compat.unwrap_or_default());
        }
        Ok(Invocation::Run(Box::new(request)))
    }

    /// Maps of `--map` that change nothing, each with its word.
    fn idle(&self, maps: &[PathMap]) -> Refusals {
        let mut refusals = Vec::new();
        for map in maps {
            let value = format!("{}={}", map.prefix, map.folder);
            let option = self.options.iter().find(|option| option.value == value);
            refusals.push(is_idle(map).at(option.map(|option| self.mark_all(option.value_index, true))));
        }
        Refusals::from(refusals).of(self.program, self.args)
    }

    fn refuse(&self, profile: &Profile, findings: &[Finding]) -> Refusals {
        let file = self.profile_file();
        let told: Vec<&Finding> = match file {
            Some(_) => findings.iter().collect(),
            None => distinct(findings).collect(),
        };
        let (mut refusals, mut warnings) = (Vec::new(), Vec::new());
        for finding in told {
            let text = match (file, finding.place(profile)) {
                (Some(_), Some(place)) => format!("{place}: {finding}"),
                _ => finding.to_string(),
            };
            if finding.severity == Severity::Warning {
                warnings.push(text);
                continue;
            }
            let carets = match file {
                Some(option) => vec![self.mark_all(option.index, true)],
                None => self.marks(finding),
            };
            refusals.push(Refusal::command_line(text).about(&finding.switches).at(carets));
        }
        Refusals { warnings, ..Refusals::from(refusals).of(self.program, self.args) }
    }

    /// The words that a finding is about: the last one of each switch, or the target.
    fn marks(&self, finding: &Finding) -> Vec<Caret> {
        let mut marks: Vec<Caret> = Vec::new();
        for switch in &finding.switches {
            if let Some(word) = self.option_about(switch)
                && !marks.iter().any(|mark| mark.word == word.index)
            {
                marks.push(self.mark_all(word.index, true));
            }
        }
        let target =
            finding.target.map(|target| self.targets + target).filter(|&index| index < self.args.len());
        if let Some(index) = target
            && (finding.switches.is_empty() || finding.rule == Rule::CREATE_DEVICE)
        {
            marks.push(self.mark_all(index, true));
        }
        marks
    }

    /// Switches and target of a refusal of the plan; with an XML profile the word that names it.
    fn marks_of_plan(&self, refusal: &Refusal) -> Vec<Caret> {
        let target = refusal.subject.as_ref();
        let at = self.args.iter().skip(self.targets).position(|arg| Some(arg) == target);
        let at = at.map(|at| at + self.targets);
        let is_guard = refusal.kind == RefusalKind::Guard;
        let mut marks: Vec<Caret> = Vec::new();
        for switch in &refusal.switches {
            if let Some(word) = self.option_about(switch)
                && !marks.iter().any(|mark| mark.word == word.index)
            {
                marks.push(self.mark_all(word.index, !is_guard));
            }
        }
        let has_main = marks.iter().any(|mark| mark.main);
        let is_one_of_several = self.args.len() - self.targets > 1;
        match at {
            Some(index) if !has_main || is_one_of_several => marks.push(self.mark_all(index, !has_main)),
            None if marks.is_empty() => {
                marks.extend(self.profile_file().map(|word| self.mark_all(word.index, true)));
            }
            _ => {}
        }
        marks
    }
}

/// Findings without those that only repeat an earlier one for another target.
fn distinct(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings.iter().enumerate().filter_map(|(i, finding)| {
        let said = findings[..i].iter().any(|f| f.rule == finding.rule && f.message == finding.message);
        (!said).then_some(finding)
    })
}

/// The grammar for suites, which make command lines: those of a program of this name.
pub struct Lines {
    pub program: String,
}

impl Grammar for Lines {
    fn line(&self, words: Vec<String>) -> Result<Line, Refusals> {
        let Invocation::Run(mut request) = parse(&words, &self.program, &uptime_ms)? else {
            return Err(Refusal::command_line("a command line of a suite must run something").into());
        };
        request.load_profile().map_err(|error| {
            error.refusals(|profile, findings| refuse_findings(&words, &self.program, profile, findings))
        })?;
        Ok(Line::new(words, *request))
    }

    fn marked(&self, words: &[String], refusals: Vec<Refusal>) -> Refusals {
        refuse_plan(words, &self.program, &refusals)
    }
}
