//! The configuration for commands: reading it before they begin, its warnings, and the usual folder.

use crate::series::place::Place;
use diskspd::config::{self, From, Key, Setting, Value};
use diskspd::console::{say_line, tell};
use diskspd::standard_error::Message;
use truespd_core::fault::{ExitCode, Refusal, RefusalKind};
use truespd_core::text::printable_path;

/// Reads the configuration for a command of `truespd`, and tells its warnings.
///
/// # Errors
/// The exit code, when something is wrong with it.
pub(crate) fn begin() -> Result<(), ExitCode> {
    let config = config::read().map_err(tell)?;
    config.warnings.iter().for_each(|words| say_line(format_args!("{}{words}", Message::Warning.lead())));
    Ok(())
}

/// The directory for suites whose user names no target: that of the configuration, or the current one.
///
/// # Errors
/// The configured one is no directory.
pub(crate) fn usual_folder() -> Result<String, Refusal> {
    let Setting { value: Some(Value::Path(path)), from: From::File(at) } =
        config::in_force().setting(Key::TargetsFolder)?
    else {
        return Ok(".".to_string());
    };
    let (shown, whence) = (printable_path(&path), format!("folder below [targets], {}", at.words()));
    let hint = "name a target (. is the current directory), or change that line";
    let refused = |why: String| {
        Refusal::new(RefusalKind::Target, format!("no target is named, and {whence}, {why}")).hint(hint)
    };
    let typed = path.to_str().ok_or_else(|| refused(format!("is no UTF-8 text: '{shown}'")))?;
    let place =
        Place::find(typed).map_err(|why| refused(format!("cannot be used: {}", why.without_hints())))?;
    if !place.is_directory() {
        return Err(refused(format!("is not a directory: '{shown}'")));
    }
    say_line(format_args!("note: no target is named: '{shown}' is used ({whence})"));
    Ok(typed.to_string())
}
