//! Where the history is, and opening it for what a command does.

use std::path::PathBuf;

use crate::history::Store;
use diskspd::program::ExitCode;
use truespd_core::fault::{Fault, Refusal, RefusalKind};

/// Where the history is.
pub(super) struct At {
    pub path: PathBuf,
}

impl At {
    /// For reading; none when nothing was kept yet.
    pub fn to_read(&self) -> Result<Option<Store>, Refusal> {
        Store::open_to_read(&self.path).map_err(Refusal::from)
    }

    /// For reading documents that are named.
    pub fn to_find(&self, word: &str) -> Result<Store, Refusal> {
        self.to_read()?.ok_or_else(|| nothing_kept(self, word))
    }

    /// For changing documents that are named: a file that is missing is not made.
    pub fn to_change(&self, word: &str) -> Result<Store, Refusal> {
        if !self.path.exists() {
            return Err(nothing_kept(self, word));
        }
        Store::open(&self.path).map_err(Refusal::from)
    }

    /// What is told where nothing was kept yet.
    pub fn nothing_yet(&self) -> String {
        format!("the history '{}' is empty so far; every truespd run is kept in it", self.path.display())
    }
}

fn nothing_kept(at: &At, word: &str) -> Refusal {
    let path = at.path.display();
    Refusal::new(RefusalKind::Input, format!("'{word}': there is no history '{path}'"))
        .hint("every truespd run makes one; another file is given with --store")
        .on(path.to_string())
}

/// The end of a command.
pub(super) type Done = Result<ExitCode, Fault>;
