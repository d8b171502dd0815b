//! The folder in which each rank leaves its own documents.

use std::path::{Path, PathBuf};

use crate::cluster::Me;
use diskspd::request::Output;
use diskspd::run::outputs::{OutputError, Problem};

/// The folder on this host, with the name of this rank's documents.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    path: PathBuf,
    /// Name of a document, without number and ending.
    stem: String,
    is_made: bool,
}

impl Folder {
    /// Makes it, unless it is there. `was_there` before any rank could make it.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn make(given: Option<&Path>, was_there: bool, me: &Me) -> Result<Self, OutputError> {
        let usual = || PathBuf::from(format!("truespd-cluster-{}", me.run));
        let path = given.map_or_else(usual, Path::to_path_buf);
        if let Err(error) = std::fs::create_dir(&path)
            && !path.is_dir()
        {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let folder = parent.unwrap_or(Path::new(".")).to_path_buf();
            return Err(OutputError {
                option: "documents",
                path: path.display().to_string(),
                problem: Problem::Folder { folder, error },
            });
        }
        let host: String = me.host.chars().map(|c| if c == '/' { '_' } else { c }).collect();
        Ok(Folder { path, stem: format!("rank-{:04}-{host}", me.rank), is_made: !was_there })
    }

    /// The document of the only run of this rank.
    pub(super) fn document(&self) -> Output {
        self.output(format!("{}.json", self.stem))
    }

    /// That of a run of a series, counted from 1.
    pub(super) fn document_of_run(&self, number: u32) -> Output {
        self.output(format!("{}-run-{number:03}.json", self.stem))
    }

    fn output(&self, name: String) -> Output {
        Output { format: "json", path: self.path.join(name).display().to_string() }
    }

    /// Nothing was written, so the folder goes again.
    pub(super) fn take_back(&self) {
        if self.is_made {
            // Ranks may share it: the last one takes it away.
            let _ = std::fs::remove_dir(&self.path);
        }
    }

    /// Whether there are results of ranks.
    pub(super) fn is_there(&self) -> bool {
        self.path.is_dir()
    }

    /// Where the results of the ranks are.
    pub(super) fn words(&self, me: &Me) -> String {
        let folder = self.path.display();
        match me.ranks {
            1 => format!("the result of the only rank is in {folder}"),
            ranks => format!(
                "each of the {ranks} ranks left its own result in {folder} on its host; truespd merge adds them up again"
            ),
        }
    }
}
