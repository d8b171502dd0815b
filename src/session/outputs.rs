//! Files that a result is written to (`--json --xml --text --csv`).
//!
//! Each is made before the run, under another name in the same folder, and gets its real name only when
//! it is complete: a path that cannot be written is refused before anything runs, a result is never
//! half written, and an earlier one is not lost when writing fails.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::fault::{Failure, FailureKind, Refusal, RefusalKind};
use crate::render;
use crate::request::{Output, Request};
use crate::result::Document;
use crate::sys::error::system_text;
use crate::sys::file::{FileKind, Stat};

/// Why a result file was refused or not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// No file can be made in the folder.
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
    /// The path is of something that a result must not replace.
    #[error("--{option} {path}: {what}; give the path of a file")]
    NoFile {
        /// Format.
        option: &'static str,
        /// As given.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// A result would replace something of this run.
    #[error("--{option} {path}: this file is also {what}; give another one")]
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

impl From<OutputError> for Refusal {
    fn from(error: OutputError) -> Self {
        Refusal::new(RefusalKind::Output, error.to_string()).on(error.path())
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        Failure::new(FailureKind::Output, error.to_string()).on(error.path())
    }
}

impl OutputError {
    /// As given.
    fn path(&self) -> &str {
        match self {
            OutputError::Folder { path, .. }
            | OutputError::NoFile { path, .. }
            | OutputError::Clash { path, .. }
            | OutputError::Write { path, .. } => path,
        }
    }
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
pub struct TextOutput {
    output: Output,
    sink: Sink,
}

impl TextOutput {
    /// Makes the file. Nothing that exists is changed.
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
    /// Makes all files. Nothing that exists is changed.
    ///
    /// # Errors
    /// [`OutputError`]; the run must then be refused.
    pub fn open(outputs: &[Output], request: &Request) -> Result<Self, OutputError> {
        let targets = request.profile.time_spans.iter().flat_map(|span| &span.targets);
        let targets = targets.map(|target| (target.path.as_str(), format!("the target '{}'", target.path)));
        let profile =
            request.profile_file.iter().map(|file| (file.path.as_str(), "the profile of -X".into()));
        Self::open_beside(outputs, targets.chain(profile).map(|(path, what)| (PathBuf::from(path), what)))
    }

    /// Makes all files outside a run; none may be one of `taken`, which are paths with a description.
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
            refuse_taken(output, &path, &taken)?;
            let render = render::format(output.format).expect("every option names a row of the table").render;
            opened.push(Opened { file: open(output, &path)?, render });
            taken.push((path, format!("the file of --{}", output.format)));
        }
        Ok(Outputs { opened })
    }

    /// Writes every file and gives it its name; an error with one does not stop the others.
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

/// Refuses an output that is a file with another use.
fn refuse_taken(output: &Output, path: &Path, taken: &[(PathBuf, String)]) -> Result<(), OutputError> {
    let Some((_, what)) = taken.iter().find(|(known, _)| is_same(known, path)) else { return Ok(()) };
    let (option, path) = (output.format, output.path.clone());
    Err(OutputError::Clash { option, path, what: what.clone() })
}

/// Whether two names are of one file, also by hard links. Streams may be shared.
fn is_same(a: &Path, b: &Path) -> bool {
    let facts = |path: &Path| path.metadata().ok();
    match (facts(a), facts(b)) {
        (Some(a), Some(b)) => !is_stream(&a) && Stat::of(&a).identity() == Stat::of(&b).identity(),
        (None, None) => a == b,
        _ => false,
    }
}

fn is_stream(facts: &Metadata) -> bool {
    matches!(FileKind::of(facts), FileKind::Character | FileKind::Pipe)
}

fn open(output: &Output, path: &Path) -> Result<TextOutput, OutputError> {
    let option = output.format;
    let no_file = |what| Err(OutputError::NoFile { option, path: output.path.clone(), what });
    let opened = |sink| Ok(TextOutput { output: output.clone(), sink });
    if output.path.is_empty() {
        return no_file("the name of a file is missing");
    }
    if output.path.ends_with('/') {
        return no_file("this names a folder");
    }
    match path.metadata() {
        Ok(facts) if facts.is_dir() => return no_file("this is a folder"),
        Ok(facts) if FileKind::of(&facts) == FileKind::Block => {
            return no_file("this is a device that holds data");
        }
        Ok(facts) if is_stream(&facts) => {
            let stream = OpenOptions::new().write(true).open(path);
            return match stream {
                Ok(stream) => opened(Sink::Stream(stream)),
                Err(error) => Err(OutputError::Write { option, path: output.path.clone(), error }),
            };
        }
        Ok(facts) if !facts.is_file() => return no_file("this is not a file"),
        _ => {}
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    // The crate adds a path to the system's error, which the message has already.
    let mut code = None;
    let make = |path: &Path| {
        // With the permissions of the person's umask, like any file that a program makes.
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        file.inspect_err(|error| code = error.raw_os_error())
    };
    let temporary = tempfile::Builder::new().prefix(".truespd-").suffix(".part").make_in(folder, make);
    match temporary {
        Ok(temporary) => opened(Sink::File { temporary, path: path.to_path_buf() }),
        Err(error) => {
            let (path, folder) = (output.path.clone(), folder.to_path_buf());
            let error = code.map_or(error, io::Error::from_raw_os_error);
            Err(OutputError::Folder { option, path, folder, error })
        }
    }
}

fn put(sink: Sink, text: &str) -> io::Result<()> {
    match sink {
        Sink::Stream(mut stream) => stream.write_all(text.as_bytes()).and_then(|()| stream.flush()),
        Sink::File { mut temporary, path } => {
            temporary.write_all(text.as_bytes())?;
            // After a power failure the file must not have its name without its content.
            temporary.as_file().sync_all()?;
            temporary.persist(path).map_err(|refused| refused.error)?;
            Ok(())
        }
    }
}

/// Files that a suite writes at its end. Before the suite begins they are made and removed as a trial: a suite that is
/// killed meanwhile leaves no unfinished file.
#[derive(Debug)]
pub struct LaterOutputs {
    outputs: Vec<Output>,
}

impl LaterOutputs {
    /// Tries all; no two may be the same file, and none may be one of `taken`, which the suite tests or reads.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn check(outputs: Vec<Output>, taken: &[String]) -> Result<Self, OutputError> {
        let what = |path: &String| format!("'{path}', which is tested or read");
        let taken = taken.iter().map(|path| (PathBuf::from(path), what(path)));
        let mut taken: Vec<(PathBuf, String)> = taken.map(|(path, what)| (real(&path), what)).collect();
        for output in &outputs {
            let path = real(Path::new(&output.path));
            refuse_taken(output, &path, &taken)?;
            // A reader of a pipe would take opening and closing it for the end of the result.
            if !path.metadata().is_ok_and(|facts| is_stream(&facts)) {
                open(output, &path)?;
            }
            taken.push((path, format!("the file of --{}", output.format)));
        }
        Ok(LaterOutputs { outputs })
    }

    /// The files, with the formats that are the names of their options.
    pub fn files(&self) -> impl Iterator<Item = &Output> {
        self.outputs.iter()
    }

    /// Writes them and gives them their names; an error with one does not stop the others.
    pub fn write(&self, text: impl Fn(&Output) -> String) -> Vec<OutputError> {
        let write = |output: &Output| TextOutput::open(output).and_then(|file| file.write(&text(output)));
        self.outputs.iter().filter_map(|output| write(output).err()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(path: &Path) -> Output {
        Output { format: "json", path: path.to_string_lossy().into_owned() }
    }

    #[test]
    fn later_files_are_tried_and_leave_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let names = || std::fs::read_dir(dir.path()).unwrap().count();
        let (first, second) = (dir.path().join("a"), dir.path().join("b"));
        let outputs = vec![json(&first), Output { format: "save", ..json(&second) }];
        let later = LaterOutputs::check(outputs, &[]).unwrap();
        assert_eq!(names(), 0, "nothing is made before there is something to write");
        assert!(later.write(|output| output.format.to_string()).is_empty());
        assert_eq!(std::fs::read_to_string(&second).unwrap(), "save");
        let taken = [second.to_string_lossy().into_owned()];
        for (outputs, taken, says) in [
            (vec![json(&first), json(&first)], &[][..], "this file is also the file of --json"),
            (vec![json(&second)], &taken[..], "which is tested or read; give another one"),
            (vec![json(Path::new(""))], &[][..], "the name of a file is missing"),
            (vec![json(dir.path())], &[][..], "this is a folder"),
            (vec![json(&dir.path().join("none/x"))], &[][..], "none: No such file or directory"),
        ] {
            let words = LaterOutputs::check(outputs, taken).unwrap_err().to_string();
            assert!(words.contains(says) && !words.contains("os error"), "{words}");
        }
        assert_eq!(names(), 2);
        std::fs::remove_dir_all(dir.path()).unwrap();
        assert_eq!(later.write(|_| String::new()).len(), 2);
    }
}
