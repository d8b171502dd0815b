//! Files that a result is written to (`--json --xml --text --csv`).
//!
//! Each is made before the run, under another name in the same folder, and takes its real name only when
//! it is complete: a path that cannot be written is refused before anything runs, and nobody ever finds
//! half a result, or loses an earlier one to a run that failed to write.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::command::ExitCode;
use super::console::say_error;
use super::{Output, RunRequest};
use crate::os::words::system_text;
use crate::render;
use crate::result::Document;

/// Why a result file was refused or not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The folder does not take a new file.
    #[error("--{option} {path}: no file can be made in {}: {}", folder.display(), system_text(error))]
    Folder {
        /// Format.
        option: &'static str,
        /// As given.
        path: String,
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Something stands there that results must not replace.
    #[error("--{option} {path}: {what}; give the path of a file")]
    NoFile {
        /// Format.
        option: &'static str,
        /// As given.
        path: String,
        /// What stands there.
        what: &'static str,
    },
    /// A result would replace something of this run.
    #[error("--{option} {path}: this is {what} too; give another file")]
    Clash {
        /// Format.
        option: &'static str,
        /// As given.
        path: String,
        /// What else it is.
        what: String,
    },
    /// Writing failed.
    #[error("--{option} {path}: the result could not be written: {}", system_text(error))]
    Write {
        /// Format.
        option: &'static str,
        /// As given.
        path: String,
        /// Why.
        error: io::Error,
    },
}

/// Where one result goes.
enum Sink {
    /// A new file and the name that it gets when complete.
    File { temporary: NamedTempFile, path: PathBuf },
    /// A pipe or a character device: nothing to replace.
    Stream(File),
}

struct Opened {
    file: TextOutput,
    render: fn(&Document) -> String,
}

/// A file ready to take one text.
pub(super) struct TextOutput {
    output: Output,
    sink: Sink,
}

impl TextOutput {
    /// Makes the file, or says why it cannot be made. Nothing that exists is touched.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn open(output: &Output) -> Result<Self, OutputError> {
        open(output, &real(Path::new(&output.path)))
    }

    /// Writes the file and gives it its name.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn write(self, text: &str) -> Result<(), OutputError> {
        let Output { format: option, path } = self.output;
        put(self.sink, text).map_err(|error| OutputError::Write { option, path, error })
    }
}

/// Files ready to take results.
pub struct Outputs {
    opened: Vec<Opened>,
}

impl Outputs {
    /// Makes all files, or says which cannot be made. Nothing that exists is touched.
    ///
    /// # Errors
    /// [`OutputError`]; the run is then to be refused.
    pub fn open(outputs: &[Output], request: &RunRequest) -> Result<Self, OutputError> {
        let targets = request.profile.time_spans.iter().flat_map(|span| &span.targets);
        let targets = targets.map(|target| (target.path.as_str(), format!("the target '{}'", target.path)));
        let profile =
            request.profile_file.iter().map(|file| (file.path.as_str(), "the profile of -X".into()));
        Self::open_beside(outputs, targets.chain(profile).map(|(path, what)| (PathBuf::from(path), what)))
    }

    /// Makes all files outside a run; none may be one of `taken`, which come with what they are.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn open_beside(
        outputs: &[Output],
        taken: impl Iterator<Item = (PathBuf, String)>,
    ) -> Result<Self, OutputError> {
        if outputs.is_empty() {
            return Ok(Outputs { opened: Vec::new() });
        }
        let mut taken: Vec<(PathBuf, String)> = taken.map(|(path, what)| (real(&path), what)).collect();
        let mut opened = Vec::new();
        for output in outputs {
            let path = real(Path::new(&output.path));
            if let Some((_, what)) = taken.iter().find(|(known, _)| is_same(known, &path)) {
                let (option, shown) = (output.format, output.path.clone());
                return Err(OutputError::Clash { option, path: shown, what: what.clone() });
            }
            let render = render::format(output.format).expect("every option names a row of the table").render;
            opened.push(Opened { file: open(output, &path)?, render });
            taken.push((path, format!("the file of --{}", output.format)));
        }
        Ok(Outputs { opened })
    }

    /// Writes every file and gives it its name; returns what went wrong, and goes on with the others.
    pub fn write(self, document: &Document) -> Vec<OutputError> {
        let failed = |opened: Opened| opened.file.write(&(opened.render)(document)).err();
        self.opened.into_iter().filter_map(failed).collect()
    }
}

/// The path with links followed as far as it exists, so that a link stays one and its file is replaced.
fn real(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

/// One file under two names, also by hard links. Streams may be shared.
fn is_same(a: &Path, b: &Path) -> bool {
    let facts = |path: &Path| path.metadata().ok();
    match (facts(a), facts(b)) {
        (Some(a), Some(b)) => !is_stream(&a) && (a.dev(), a.ino()) == (b.dev(), b.ino()),
        (None, None) => a == b,
        _ => false,
    }
}

fn is_stream(facts: &Metadata) -> bool {
    facts.file_type().is_char_device() || facts.file_type().is_fifo()
}

fn open(output: &Output, path: &Path) -> Result<TextOutput, OutputError> {
    let option = output.format;
    let no_file = |what| Err(OutputError::NoFile { option, path: output.path.clone(), what });
    let opened = |sink| Ok(TextOutput { output: output.clone(), sink });
    if output.path.ends_with('/') {
        return no_file("this names a folder");
    }
    match path.metadata() {
        Ok(facts) if facts.is_dir() => return no_file("this is a folder"),
        Ok(facts) if facts.file_type().is_block_device() => {
            return no_file("this is a device that holds data");
        }
        Ok(facts) if is_stream(&facts) => {
            let stream = OpenOptions::new().write(true).open(path);
            return match stream {
                Ok(stream) => opened(Sink::Stream(stream)),
                Err(error) => Err(OutputError::Write { option, path: output.path.clone(), error }),
            };
        }
        Ok(facts) if !facts.is_file() => return no_file("this is no file"),
        _ => {}
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let temporary = tempfile::Builder::new()
        .prefix(".truespd-")
        .suffix(".part")
        // Readable for whom the person's umask says, like any file a program makes.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder);
    match temporary {
        Ok(temporary) => opened(Sink::File { temporary, path: path.to_path_buf() }),
        Err(error) => {
            let (path, folder) = (output.path.clone(), folder.to_path_buf());
            // The crate adds the path to its error; the system's words are what is wanted.
            let error = error.raw_os_error().map_or(error, io::Error::from_raw_os_error);
            Err(OutputError::Folder { option, path, folder, error })
        }
    }
}

fn put(sink: Sink, text: &str) -> io::Result<()> {
    match sink {
        Sink::Stream(mut stream) => stream.write_all(text.as_bytes()).and_then(|()| stream.flush()),
        Sink::File { mut temporary, path } => {
            temporary.write_all(text.as_bytes())?;
            // A name for a file whose content a power cut may take back would be worth nothing.
            temporary.as_file().sync_all()?;
            temporary.persist(path).map_err(|refused| refused.error)?;
            Ok(())
        }
    }
}

/// Opens the file of `--json`; the error is a sentence.
pub(super) fn open_json(path: Option<&str>) -> Result<Option<TextOutput>, String> {
    let output = path.map(|path| TextOutput::open(&Output { format: "json", path: path.to_string() }));
    output.transpose().map_err(|error| error.to_string())
}

/// Writes it.
pub(super) fn write_json(output: Option<TextOutput>, text: impl Fn() -> String, code: ExitCode) -> ExitCode {
    match output.map(|output| output.write(&text())) {
        Some(Err(error)) => {
            say_error(&error.to_string());
            ExitCode::Failed
        }
        _ => code,
    }
}
