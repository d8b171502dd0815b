//! What the parser of options answers: help, the version, or why it refuses, in the form of the program's own refusals.

use crate::ask::workload::preset::BUILT_IN;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use diskspd::grammar::hints;
use diskspd::grammar::hints::is_option;
use std::ffi::OsString;
use truespd_front::console::{say, tell};
use truespd_front::program::{Program, print};
use truespd_platform::fault::{Caret, ExitCode, Outcome, Refusal, RefusalKind, Refusals};
use truespd_platform::text::{meant_size, nearest, printable, shell_word};

/// Help and the version are asked for; the rest is refused. `described` is the program with all its commands.
pub(crate) fn print_or_refuse(
    answer: &Error,
    program: &Program,
    args: &[OsString],
    described: Command,
) -> ExitCode {
    if !answer.use_stderr() {
        return print(&answer.to_string(), ExitCode::Done);
    }
    if answer.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        say(&answer.to_string());
        return ExitCode::of(Outcome::Refused(RefusalKind::CommandLine));
    }
    let words: Vec<String> = args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut described = described;
    described.build();
    let refusal = RequestedCommand::from_words(&described, &words).refusal(answer);
    tell(Refusals::from(refusal).of(&program.name, &words))
}

/// The command that the words name, as far as there is one.
struct RequestedCommand<'a> {
    command: &'a Command,
    /// `truespd history list`.
    name: String,
    words: &'a [String],
    /// Words before those of the command itself.
    depth: usize,
}

impl<'a> RequestedCommand<'a> {
    fn from_words(program: &'a Command, words: &'a [String]) -> Self {
        let mut requested =
            RequestedCommand { command: program, name: program.get_name().to_string(), words, depth: 0 };
        while let Some(below) =
            words.get(requested.depth).and_then(|word| requested.command.find_subcommand(word))
        {
            requested.command = below;
            requested.name = format!("{} {}", requested.name, below.get_name());
            requested.depth += 1;
        }
        requested
    }

    fn refusal(&self, answer: &Error) -> Refusal {
        let refusal = match answer.kind() {
            ErrorKind::InvalidSubcommand => self.no_command(&word_of(answer, ContextKind::InvalidSubcommand)),
            ErrorKind::UnknownArgument => self.no_option(&word_of(answer, ContextKind::InvalidArg)),
            ErrorKind::MissingRequiredArgument => self.missing(&words_of(answer, ContextKind::InvalidArg)),
            _ => self.other(answer),
        };
        refusal.hint(format!("all options: {} --help", self.name))
    }

    /// There is no such command.
    fn no_command(&self, typed: &str) -> Refusal {
        let names: Vec<&str> = visible(self.command).map(Command::get_name).collect();
        let refusal = Refusal::command_line(format!("{} has no command '{}'", self.name, printable(typed)))
            .at(self.place(typed))
            .legal(names.join(", "));
        let meant = if self.depth == 0 {
            command(typed)
        } else {
            below(typed, &names).map(|name| format!("perhaps {} {name}", self.name))
        };
        if meant.is_some() {
            return refusal.with_hints(meant);
        }
        let near = nearest(typed, names.iter().copied());
        refusal.with_hints(near.map(|near| format!("did you mean {} {near}?", self.name)))
    }

    /// There is no such option, or a word is too many.
    fn no_option(&self, reported: &str) -> Refusal {
        // The parser tells only the letter of `-r1`.
        let own = self.words.get(self.depth..).unwrap_or_default();
        let with_value = format!("{reported}=");
        let typed = own.iter().find(|word| {
            *word == reported
                || (is_short(reported) && word.starts_with(reported))
                || word.starts_with(&with_value)
        });
        let typed = typed.map_or(reported, String::as_str);
        if !typed.starts_with('-') {
            let what = format!("'{}' is a word too many for {}", printable(typed), self.name);
            let refusal = Refusal::command_line(what).at(self.place(typed)).legal(self.call());
            return refusal.with_hints(operand(self.command, typed));
        }
        let what = format!("{}: {} has no such option", printable(typed), self.name);
        let longs: Vec<&str> = longs(self.command).collect();
        let forms: Vec<String> = longs.iter().map(|long| format!("--{long}")).collect();
        let refusal = Refusal::command_line(what).at(self.place(typed));
        let refusal =
            if forms.is_empty() { refusal.legal(self.call()) } else { refusal.legal(forms.join("  ")) };
        let hints = option(self.command, &self.name, typed);
        if !hints.is_empty() {
            return refusal.with_hints(hints);
        }
        let name = typed.trim_start_matches('-').split('=').next().unwrap_or_default();
        let near = if is_short(typed) { None } else { nearest(name, longs.into_iter()) };
        refusal.with_hints(near.map(|near| format!("did you mean --{near}?")))
    }

    fn missing(&self, wanted: &[String]) -> Refusal {
        let what = match wanted {
            [] => format!("{} wants more", self.name),
            wanted => format!("{} wants {}", self.name, wanted.join(" and ")),
        };
        let refusal = Refusal::command_line(what).at(self.end()).legal(self.call());
        refusal.with_hints(missing(self.command, self.words.get(self.depth..).unwrap_or_default()))
    }

    /// Anything else, in the parser's words.
    fn other(&self, answer: &Error) -> Refusal {
        let text = answer.to_string();
        let first = text.strip_prefix("error: ").unwrap_or(&text).split("\n\n").next().unwrap_or_default();
        // Values that are possible stand below, indented.
        let what = first.lines().take_while(|line| !line.starts_with("  [")).collect::<Vec<_>>().join(" ");
        let refusal = Refusal::command_line(what.trim());
        let refusal = match words_of(answer, ContextKind::ValidValue) {
            values if values.is_empty() => refusal,
            values => {
                let typed = word_of(answer, ContextKind::InvalidValue);
                let near = nearest(&typed, values.iter().map(String::as_str));
                let near = near.map(|near| format!("did you mean {near}?"));
                refusal.legal(values.join(", ")).with_hints(near)
            }
        };
        match word_of(answer, ContextKind::InvalidValue) {
            typed if typed.is_empty() => refusal,
            typed => refusal.at(self.place(&typed)),
        }
    }

    fn call(&self) -> String {
        let usage = self.command.clone().render_usage().to_string();
        let line = usage.trim_start_matches("Usage:").lines().next().unwrap_or_default();
        line.trim().to_string()
    }

    /// The word, or the value at its end.
    fn place(&self, typed: &str) -> Option<Caret> {
        let own = self.words.iter().enumerate().skip(self.depth);
        own.filter_map(|(at, word)| {
            let before = word.strip_suffix(typed)?;
            let lead = before.chars().count();
            let is_value = before.is_empty() || before.ends_with('=');
            is_value.then(|| Caret { word: at, chars: lead..word.chars().count(), main: true })
        })
        .next()
    }

    fn end(&self) -> Option<Caret> {
        let last = self.words.len().checked_sub(1)?;
        let at = self.words[last].chars().count() + 1;
        Some(Caret { word: last, chars: at..at, main: true })
    }
}

/// Whether it is a dash and one letter, with or without a value.
fn is_short(typed: &str) -> bool {
    typed.starts_with('-') && !typed.starts_with("--")
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

fn word_of(answer: &Error, kind: ContextKind) -> String {
    words_of(answer, kind).into_iter().next().unwrap_or_default()
}

fn words_of(answer: &Error, kind: ContextKind) -> Vec<String> {
    match answer.get(kind) {
        Some(ContextValue::String(word)) => vec![word.clone()],
        Some(ContextValue::Strings(words)) => words.clone(),
        _ => Vec::new(),
    }
}

/// Names of other programs, and other names for commands, with what does that here.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    ("winsat winsat.exe wei", "truespd assess [DIR|DEVICE] does what 'winsat disk' did"),
    (
        "cdm crystaldiskmark crystaldisk crystal diskmark kdiskmark atto as-ssd",
        "truespd mark [DIR|DEVICE] runs CrystalDiskMark's tests",
    ),
    (
        "benchmark bench test perf performance measure speed speedtest start dd hdparm ioping iozone \
         bonnie bonnie++ iometer sysbench vdbench",
        "truespd mark [DIR|DEVICE] runs a set of tests; truespd run -c1G -b4K -r -Su FILE is one load of your own",
    ),
    ("fio", "truespd import job.fio turns a job file of fio into lines of diskspd"),
    (
        "diskspd diskspd.exe diskspd64 diskspd64.exe dskspd",
        "truespd run takes the words of diskspd: truespd run -b4K -r FILE",
    ),
    (
        "findmax max-rate knee slo sla latency-target latency_target",
        "truespd find-max LINE TARGET --p99 2ms finds the highest rate that keeps a latency limit",
    ),
    (
        "fleetsweep scan scaling saturation knees plateau",
        "truespd sweep LINE TARGET --over o=1..256 runs a line at many depths, and finds the knee",
    ),
    (
        "neighbour neighbor noisy interference contention backup scrub",
        "truespd workload beside 'FOREGROUND' 'BACKGROUND' TARGET tells what one load feels of another",
    ),
    ("vmfleet fleet preset presets load loads", "truespd workload lists loads by name, and runs them"),
    (
        "list ls lsblk disks drives devices info smart",
        "truespd inspect lists the disks; truespd history list lists kept results",
    ),
    ("check tune tuning optimize diagnose health", "truespd doctor finds what spoils a measurement"),
    (
        "diff vs gate regression",
        "truespd compare A B compares stored results; truespd ab measures two variants in turns",
    ),
    ("results result log logs db database", "truespd history list lists kept results"),
    ("view print cat open summary", "truespd show FILE shows a stored result"),
    ("html chart charts plot graph dashboard", "truespd report FILE... makes a page with charts"),
    ("convert format csv json xml text", "truespd render FILE prints a stored result in another format"),
    ("verdict validate grade", "truespd judge FILE... judges stored results"),
    ("monitor top live follow", "truespd watch FILE shows a run that goes on"),
    ("man doc docs manpage", "truespd manual diskspd shows the manual page"),
    ("settings configure setup configuration", "truespd config shows what is set, and where"),
    ("mpi mpirun srun hosts nodes", "truespd cluster run is one run on many hosts"),
    ("sum add combine", "truespd merge FILE... adds results up"),
    (
        "overwrite allow trust",
        "truespd adopt FILE... lets tests write these files; --overwrite PATH allows one run",
    ),
    ("delete remove rm", "truespd history rm takes results out of the history"),
    ("version", "truespd --version"),
];

/// What a word in the place of a command is here.
pub(super) fn command(typed: &str) -> Option<String> {
    let name = typed.to_ascii_lowercase();
    if let Some((_, hint)) = COMMANDS.iter().find(|(names, _)| names.split(' ').any(|other| other == name)) {
        return Some((*hint).to_string());
    }
    if BUILT_IN.iter().any(|(preset, ..)| *preset == name) {
        return Some(format!("this is a load: truespd workload {name}"));
    }
    if name.ends_with(".fio") {
        return Some(format!("truespd import {} turns it into lines of diskspd", shell_word(typed)));
    }
    let is_path = typed.contains(['/', '.', '\\', '#']) || std::path::Path::new(typed).exists();
    is_path.then(|| {
        let word = shell_word(typed);
        format!("a target stands behind a command: truespd mark {word}, or truespd run -b4K -r {word}")
    })
}

/// Other names for what stands behind a command such as `history`.
const BELOW: [(&str, &str); 8] = [
    ("delete", "rm"),
    ("remove", "rm"),
    ("del", "rm"),
    ("ls", "list"),
    ("view", "show"),
    ("cat", "show"),
    ("name", "label"),
    ("clean", "prune"),
];

/// Which of these names was meant.
pub(super) fn below(typed: &str, names: &[&str]) -> Option<&'static str> {
    let (_, meant) = BELOW.iter().find(|(other, _)| *other == typed)?;
    names.contains(meant).then_some(*meant)
}

/// What people want of an option.
struct Wish {
    /// Long options of other programs.
    names: &'static [&'static str],
    /// Their letters, and those of DiskSpd.
    letters: &'static str,
    /// Our long options for it, of which a command has one or none.
    ours: &'static [&'static str],
    has_value: bool,
}

const WISHES: &[Wish] = &[
    Wish {
        names: &["force", "yes", "assume-yes", "no-confirm", "destroy", "destructive"],
        letters: "fy",
        ours: &["overwrite"],
        has_value: false,
    },
    Wish {
        names: &["runs", "iterations", "repeat", "repeats", "times", "rounds", "passes"],
        letters: "rnl",
        ours: &["loops", "blocks"],
        has_value: true,
    },
    Wish { names: &["filesize", "file-size", "test-size"], letters: "csf", ours: &["size"], has_value: true },
    Wish {
        names: &["time", "runtime", "duration", "seconds", "measure"],
        letters: "dt",
        ours: &["measure", "duration", "seconds"],
        has_value: true,
    },
    Wish {
        names: &["output", "out", "outfile", "export"],
        letters: "o",
        ours: &["save", "json"],
        has_value: false,
    },
    Wish { names: &["silent"], letters: "q", ours: &["quiet"], has_value: false },
];

/// Long options that people are told of.
pub(super) fn longs(command: &Command) -> impl Iterator<Item = &str> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    shown.filter_map(|arg| arg.get_long())
}

/// What an option is here that a command does not have.
pub(super) fn option(command: &Command, called: &str, typed: &str) -> Vec<String> {
    let mut hints = Vec::new();
    if command.get_subcommands().next().is_some() && is_option(typed) {
        return vec![format!("options of diskspd stand behind run: truespd run {typed} ... FILE")];
    }
    if command.get_subcommands().next().is_some() {
        return vec![format!("options stand behind the command that they are for: {called} COMMAND {typed}")];
    }
    let bare = typed.trim_start_matches('-');
    let (name, value) = bare.split_once('=').unwrap_or((bare, ""));
    let is_long = typed.starts_with("--");
    let letter = bare.chars().next().unwrap_or_default();
    for wish in WISHES {
        let is_meant = if is_long { wish.names.contains(&name) } else { wish.letters.contains(letter) };
        if !is_meant {
            continue;
        }
        let Some(own) = wish.ours.iter().find(|own| longs(command).any(|long| long == **own)) else {
            continue;
        };
        let value = if is_long { value } else { bare.get(letter.len_utf8()..).unwrap_or_default() };
        if *own == "overwrite" {
            hints.push("--overwrite PATH names the file or device whose data may be lost".to_string());
        } else if wish.has_value && !value.is_empty() {
            let value = meant_size(value).unwrap_or_else(|| value.to_string());
            hints.push(format!("perhaps --{own} {}", shell_word(&value)));
        } else {
            hints.push(format!("perhaps --{own}"));
        }
    }
    if !is_long && is_option(typed) {
        hints.push(if has_variants(command) {
            format!("options of diskspd stand in the words of each variant: --a '{typed} ... FILE'")
        } else {
            format!("{typed} is an option of diskspd, which {called} does not take; truespd run does")
        });
    }
    hints
}

/// What a word is that is too many.
pub(super) fn operand(command: &Command, typed: &str) -> Option<String> {
    let word = printable(typed);
    if has_variants(command) {
        return Some(format!(
            "the target stands in the words of each variant: --a '-b4K -r {word}' --b '-b8K -r {word}'; or leave it \
             out there, and --file DIR makes a file for both"
        ));
    }
    if longs(command).any(|long| long == "size")
        && let Some(size) = meant_size(typed)
    {
        return Some(format!("a size is given with its option: --size {size}"));
    }
    if let Some(near) = longs(command).find(|long| *long == typed) {
        return Some(format!("an option has two dashes: --{near}"));
    }
    hints::meant(typed).map(|meant| format!("of diskspd, {meant}; truespd run takes its options"))
}

/// What to write where something is missing.
pub(super) fn missing(command: &Command, typed: &[String]) -> Option<String> {
    let target = typed.iter().find(|word| !word.starts_with('-')).map_or("FILE", String::as_str);
    has_variants(command).then(|| {
        format!(
            "both are a line of diskspd without its name, in quotes: --a '-b4K -r {0}' --b '-b8K -r {0}'",
            printable(target)
        )
    })
}

/// Whether two lines of diskspd are its options.
fn has_variants(command: &Command) -> bool {
    ["a", "b"]
        .into_iter()
        .all(|name| command.get_arguments().any(|arg| arg.get_long() == Some(name) && arg.is_required_set()))
}
