//! Files that the program makes from its own tables: manual pages, completions.

use diskspd::request::Output;
use diskspd::run::outputs::{LaterOutputs, TextOutput};
use std::path::PathBuf;
use truespd_platform::fault::{Failure, FailureKind, Fault, Refusal};
use truespd_platform::sys::destination::make_folders;
use truespd_platform::text::printable_path;

/// A file that the program makes from its own tables, and can make again at any time.
#[derive(Debug)]
pub(crate) struct GeneratedFile {
    pub path: PathBuf,
    pub text: String,
}

impl GeneratedFile {
    fn output(&self) -> Output {
        Output { format: "folder", path: self.path.display().to_string() }
    }
}

/// Writes such files, with their folders. Files of the same names are replaced.
///
/// # Errors
/// Refused when a name is taken by a file of another kind, and then nothing is written; else the first that cannot be
/// written.
pub(crate) fn write_generated(files: &[GeneratedFile]) -> Result<(), Fault> {
    let there = files.iter().filter(|file| file.path.exists()).map(GeneratedFile::output).collect();
    LaterOutputs::check(there, &[]).map_err(Refusal::from)?;
    for folder in files.iter().filter_map(|file| file.path.parent()) {
        make_folders(folder).map_err(|lost| {
            let message = format!("could not make the folder '{}'", printable_path(folder));
            Failure::new(FailureKind::Output, message).because(lost).on(folder.display().to_string())
        })?;
    }
    for file in files {
        let opened = TextOutput::open(&file.output());
        opened.and_then(|opened| opened.write(&file.text)).map_err(Failure::from)?;
    }
    Ok(())
}
