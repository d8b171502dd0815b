//! The configuration files: `/etc/truespd/config.toml` of the machine, and above it that of the person,
//! `$XDG_CONFIG_HOME/truespd/config.toml` or `~/.config/truespd/config.toml`. Variables and the command line
//! come above both ([`Force`]).
//!
//! Everything in them may be missing. What is not known is refused before anything happens: a misspelt line
//! would do nothing, and nobody would see. Only a file that says `version = N` with an N that is newer than
//! this program is believed to hold more than this program knows: then that is a warning. A number decides,
//! and not how near a key is to one that is known: a new key can look like an old one. A file without it is
//! taken for one of this version, because most people never write it, and their slips are to be found.
//!
//! Each process reads them once. Whatever comes before that sees what is usual.

mod file;
mod files;
mod force;
mod keys;

use std::sync::OnceLock;

pub use files::{Config, State, text_of};
pub use force::{Force, From, HISTORY, STORE, Setting};
pub use keys::{ALWAYS, KEYS, Key, NEVER, Row, Value};
use std::path::PathBuf;
use truespd_core::fault::Refusals;
use truespd_core::sys::system;

const NAME: &str = "config.toml";

/// What is read when nothing was read yet.
static NOTHING: Config = Config { set: Vec::new(), files: Vec::new(), warnings: Vec::new() };
/// What this process has read.
static READ: OnceLock<Result<Config, Refusals>> = OnceLock::new();

/// The configuration, read when it was not yet.
///
/// # Errors
/// A file cannot be read, or says what is not known.
pub fn read() -> Result<&'static Config, Refusals> {
    let places = || Config::read_from(&system::machine_config_folder().join(NAME), person_file().as_deref());
    READ.get_or_init(places).as_ref().map_err(Clone::clone)
}

/// What was read so far.
pub fn known() -> &'static Config {
    READ.get().and_then(|read| read.as_ref().ok()).unwrap_or(&NOTHING)
}

pub fn in_force() -> Force<'static> {
    Force::new(known(), &|name| std::env::var_os(name))
}

fn person_file() -> Option<PathBuf> {
    system::config_folder().map(|folder| folder.join(NAME))
}
