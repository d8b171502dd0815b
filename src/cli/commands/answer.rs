//! What the parser of options answers: help, the version, or why it refuses.

use std::ffi::OsString;

use crate::cli::commands::diskspd::{ExitCode, print};
use crate::cli::console::say;
use crate::fault::{Outcome, RefusalKind};

/// Help and the version are asked for; the rest is refused.
pub(crate) fn told(answer: &clap::Error, args: &[OsString]) -> ExitCode {
    if !answer.use_stderr() {
        return print(&answer.to_string(), ExitCode::Done);
    }
    say(&refusal_text(answer, args));
    ExitCode::of(Outcome::Refused(RefusalKind::CommandLine))
}

/// A refusal of options in the form of the program's own refusals.
fn refusal_text(refusal: &clap::Error, args: &[OsString]) -> String {
    let mut text = refusal.to_string();
    // `--` would make a target of the word, but `--word` is meant as an option, and a word after an option as its value.
    if let Some(clap::error::ContextValue::String(word)) = refusal.get(clap::error::ContextKind::InvalidArg)
        && (word.starts_with("--")
            || args.windows(2).any(|two| two[1] == **word && two[0].to_string_lossy().starts_with("--")))
    {
        text = text.replace(&format!("  tip: to pass '{word}' as a value, use '-- {word}'\n\n"), "");
    }
    match text.strip_prefix("error: ") {
        Some(rest) => format!("ERROR: {rest}"),
        None => text,
    }
}
