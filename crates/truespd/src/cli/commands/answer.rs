//! What the parser of options answers: help, the version, or why it refuses, in the form of the program's own refusals.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use crate::cli::commands::slips::{self, longs};
use diskspd::console::{say, tell};
use diskspd::program::{ExitCode, Program, print};
use truespd_core::fault::{Caret, Outcome, Refusal, RefusalKind, Refusals};
use truespd_core::text::{nearest, printable};

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
            slips::command(typed)
        } else {
            slips::below(typed, &names).map(|name| format!("perhaps {} {name}", self.name))
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
            return refusal.with_hints(slips::operand(self.command, typed));
        }
        let what = format!("{}: {} has no such option", printable(typed), self.name);
        let longs: Vec<&str> = longs(self.command).collect();
        let forms: Vec<String> = longs.iter().map(|long| format!("--{long}")).collect();
        let refusal = Refusal::command_line(what).at(self.place(typed));
        let refusal =
            if forms.is_empty() { refusal.legal(self.call()) } else { refusal.legal(forms.join("  ")) };
        let hints = slips::option(self.command, &self.name, typed);
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
        refusal.with_hints(slips::missing(self.command, self.words.get(self.depth..).unwrap_or_default()))
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
