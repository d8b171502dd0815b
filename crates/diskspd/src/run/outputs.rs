//! Files that a result is written to (`--json --xml --text --csv`).
//!
//! Each is made before the run, under another name in the same folder, and gets its real name only when
//! it is complete: a path that cannot be written is refused before anything runs, a result is never
//! half written, and an earlier one is not lost when writing fails.
//!
//! Links are followed and stay links, but those of other users are not followed, and in folders where
//! everybody may write no file of another user is replaced: root would write where somebody else wants it to.

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::render;
use crate::request::{Output, Request};
use crate::run::unfinished::{Refreshed, Taken, Unfinished, is_planted};
use truespd_core::fault::{Failure, FailureKind, Refusal, RefusalKind};
use truespd_core::result::Document;
use truespd_core::sys::destination::{Destination, Entry, LostWay, follow};
use truespd_core::sys::error::{Code, system_text};
use truespd_core::sys::file::{FileKind, Stat};

/// How long a pipe is given until somebody reads it: the shell starts its reader at the same time as this program.
const READER_PATIENCE: Duration = Duration::from_secs(3);
/// How often it is looked whether somebody does.
const READER_LOOK: Duration = Duration::from_millis(20);

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
    /// The path leads over a link that another user made.
    #[error("--{option} {path}: {lost}")]
    ForeignLink {
        /// Format.
        option: &'static str,
        /// As given.
        path: String,
        /// The link.
        lost: LostWay,
    },
    /// A file that another user may have put there to have it replaced.
    #[error(
        "--{option} {path}: this file belongs to user {owner}, in a folder where everybody may write, so it is not replaced; \
         give another name, or remove the file"
    )]
    Planted {
        /// Format.
        option: &'static str,
        /// As given.
        path: String,
        /// Number of the user who owns it.
        owner: u32,
    },
    /// A pipe whose reader does not come.
    #[error(
        "--{option} {path}: nobody reads from this pipe; start its reader first, or give the path of a file"
    )]
    NoReader {
        /// Format.
        option: &'static str,
        /// As given.
        path: String,
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
    /// Writing failed while the run went on.
    #[error(
        "--{option} {path}: the rest is missing, because writing failed during the run: {}",
        system_text(error)
    )]
    Live {
        /// Name of the option.
        option: &'static str,
        /// As given.
        path: String,
        /// Why.
        error: io::Error,
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
            | OutputError::ForeignLink { path, .. }
            | OutputError::Planted { path, .. }
            | OutputError::NoReader { path, .. }
            | OutputError::NoFile { path, .. }
            | OutputError::Clash { path, .. }
            | OutputError::Live { path, .. }
            | OutputError::Write { path, .. } => path,
        }
    }
}

/// Where one result goes.
#[derive(Debug)]
enum Sink {
    /// A new file, which gets its name when it is complete.
    File(Unfinished),
    /// A pipe, a character device, or what was open already: nothing to replace.
    Stream(File),
}

struct Opened {
    file: TextOutput,
    render: fn(&Document) -> String,
}

/// A file ready to take one text.
#[derive(Debug)]
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
        open(output)
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
        Self::open_beside(outputs, files_of(request))
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
        let mut taken = TakenPaths::of(taken);
        let mut opened = Vec::new();
        for output in outputs {
            taken.claim(output)?;
            let render = render::format(output.format).expect("every option names a row of the table").render;
            opened.push(Opened { file: open(output)?, render });
        }
        Ok(Outputs { opened })
    }

    /// Writes every file and gives it its name; an error with one does not stop the others.
    pub fn write(self, document: &Document) -> Vec<OutputError> {
        let failed = |opened: Opened| opened.file.write(&(opened.render)(document)).err();
        self.opened.into_iter().filter_map(failed).collect()
    }
}

/// The files that a run works on, with what they are to it.
pub fn files_of(request: &Request) -> impl Iterator<Item = (PathBuf, String)> {
    let targets = request.profile.time_spans.iter().flat_map(|span| &span.targets);
    let targets = targets.map(|target| (target.path.as_str(), format!("the target '{}'", target.path)));
    let profile = request.profile_file.iter().map(|file| (file.path.as_str(), "the profile of -X".into()));
    targets.chain(profile).map(|(path, what)| (PathBuf::from(path), what))
}

/// A stream to which lines are written while a run goes on: a file gets them behind what it holds.
///
/// # Errors
/// [`OutputError`].
pub fn open_lines(output: &Output) -> Result<File, OutputError> {
    match locate(output)? {
        Located::Stream(stream) => Ok(stream),
        Located::Entry(entry) => {
            refuse_taken_name(output, &entry)?;
            entry.open_to_append().map_err(|code| OutputError::Write {
                option: output.format,
                path: output.path.clone(),
                error: code.into(),
            })
        }
    }
}

/// A file that is replaced while a run goes on.
///
/// # Errors
/// [`OutputError`].
pub fn open_refreshed(output: &Output) -> Result<Refreshed, OutputError> {
    let (option, path) = (output.format, output.path.clone());
    let entry = match locate(output)? {
        Located::Entry(entry) => entry,
        Located::Stream(_) => {
            return Err(OutputError::NoFile { option, path, what: "this is no file that can be replaced" });
        }
    };
    refuse_taken_name(output, &entry)?;
    let folder = entry.path.parent().unwrap_or(Path::new("/")).to_path_buf();
    Refreshed::try_at(entry).map_err(|code| OutputError::Folder { option, path, folder, error: code.into() })
}

/// Refuses outputs that are files of the run, or each other.
///
/// # Errors
/// [`OutputError::Clash`].
pub fn refuse_clashes(
    outputs: &[Output],
    taken: impl Iterator<Item = (PathBuf, String)>,
) -> Result<(), OutputError> {
    let mut taken = TakenPaths::of(taken);
    outputs.iter().try_for_each(|output| taken.claim(output))
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

/// Paths with a use, and what that is.
struct TakenPaths(Vec<(PathBuf, String)>);

impl TakenPaths {
    fn of(taken: impl Iterator<Item = (PathBuf, String)>) -> Self {
        TakenPaths(taken.map(|(path, what)| (real(&path), what)).collect())
    }

    /// Refuses an output that is a file with another use; from here on its file has one.
    fn claim(&mut self, output: &Output) -> Result<(), OutputError> {
        let path = real(Path::new(&output.path));
        if let Some((_, what)) = self.0.iter().find(|(known, _)| is_same(known, &path)) {
            let (option, path) = (output.format, output.path.clone());
            return Err(OutputError::Clash { option, path, what: what.clone() });
        }
        self.0.push((path, use_of(output).1));
        Ok(())
    }
}

/// The file of an output, with what it is to others.
pub fn use_of(output: &Output) -> (PathBuf, String) {
    (PathBuf::from(&output.path), format!("the file of --{}", output.format))
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

fn open(output: &Output) -> Result<TextOutput, OutputError> {
    let sink = match locate(output)? {
        Located::Stream(stream) => Sink::Stream(stream),
        Located::Entry(entry) => Sink::File(make(output, entry)?),
    };
    Ok(TextOutput { output: output.clone(), sink })
}

/// What a path is of.
enum Located {
    /// A pipe or character device, open for writing.
    Stream(File),
    /// A regular file, or nothing yet.
    Entry(Entry),
}

fn locate(output: &Output) -> Result<Located, OutputError> {
    let option = output.format;
    let path = || output.path.clone();
    let no_file = |what| Err(OutputError::NoFile { option, path: path(), what });
    if output.path.is_empty() {
        return no_file("the name of a file is missing");
    }
    if output.path.ends_with('/') {
        return no_file("this names a folder");
    }
    let destination = follow(Path::new(&output.path)).map_err(|lost| match lost {
        lost @ LostWay::ForeignLink { .. } => OutputError::ForeignLink { option, path: path(), lost },
        LostWay::System { at, code } => no_folder(output, &at, code),
    })?;
    let entry = match destination {
        Destination::Entry(entry) => entry,
        Destination::Open(file) => {
            return match Stat::of_open(&file).map(|stat| stat.kind) {
                Ok(FileKind::Block) => no_file("this is a device that holds data"),
                Ok(FileKind::Directory) => no_file("this is a folder"),
                _ => Ok(Located::Stream(file)),
            };
        }
    };
    match entry.there.map(|there| there.kind) {
        Some(FileKind::Directory) => no_file("this is a folder"),
        Some(FileKind::Block) => no_file("this is a device that holds data"),
        Some(FileKind::Character | FileKind::Pipe) => Ok(Located::Stream(open_stream(output, &entry)?)),
        Some(FileKind::Regular) | None => Ok(Located::Entry(entry)),
        Some(_) => no_file("this is not a file"),
    }
}

/// The folder of the path, or a part of it, is not what it should be.
fn no_folder(output: &Output, at: &Path, code: Code) -> OutputError {
    let folder = Path::new(&output.path).parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.map_or_else(|| at.to_path_buf(), Path::to_path_buf);
    OutputError::Folder { option: output.format, path: output.path.clone(), folder, error: code.into() }
}

/// Opens a pipe or character device. Opening a pipe that nobody reads would wait for ever.
fn open_stream(output: &Output, entry: &Entry) -> Result<File, OutputError> {
    let (option, path) = (output.format, || output.path.clone());
    let since = Instant::now();
    loop {
        match entry.open_stream() {
            Ok(stream) => return Ok(stream),
            Err(Code::NO_ADDRESS) if since.elapsed() < READER_PATIENCE => std::thread::sleep(READER_LOOK),
            Err(Code::NO_ADDRESS) => return Err(OutputError::NoReader { option, path: path() }),
            Err(code) => return Err(OutputError::Write { option, path: path(), error: code.into() }),
        }
    }
}

/// Refuses to write what has the name already, where another user may have put it there, or where it is protected.
fn refuse_taken_name(output: &Output, entry: &Entry) -> Result<(), OutputError> {
    let Some(there) = entry.there else { return Ok(()) };
    let (option, path) = (output.format, output.path.clone());
    if entry.folder.stat().is_ok_and(|folder| is_planted(&there, &folder)) {
        return Err(OutputError::Planted { option, path, owner: there.owner });
    }
    // Giving another file its name would be allowed; but who protects a result means its name.
    entry.may_write().map_err(|code| OutputError::Write { option, path, error: code.into() })
}

/// Makes the file beside its place.
fn make(output: &Output, entry: Entry) -> Result<Unfinished, OutputError> {
    refuse_taken_name(output, &entry)?;
    let (option, path) = (output.format, output.path.clone());
    let folder = entry.path.parent().unwrap_or(Path::new("/")).to_path_buf();
    Unfinished::make(entry).map_err(|code| OutputError::Folder { option, path, folder, error: code.into() })
}

fn put(sink: Sink, text: &str) -> io::Result<()> {
    match sink {
        Sink::Stream(mut stream) => stream.write_all(text.as_bytes()).and_then(|()| stream.flush()),
        Sink::File(file) => file.finish(text.as_bytes(), Taken::Replaced),
    }
}

/// Files that a suite writes at its end. Before the suite begins they are made and removed as a trial: a
/// suite that is killed meanwhile leaves no unfinished file. Pipes stay open: their readers would take
/// closing for the end of the result.
#[derive(Debug)]
pub struct LaterOutputs {
    outputs: Vec<(Output, Option<TextOutput>)>,
}

impl LaterOutputs {
    /// Tries all; no two may be the same file, and none may be one of `taken`, which the suite tests or reads.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn check(outputs: Vec<Output>, taken: &[String]) -> Result<Self, OutputError> {
        let what = |path: &String| format!("'{path}', which is tested or read");
        let taken = taken.iter().map(|path| (PathBuf::from(path), what(path)));
        let mut taken = TakenPaths::of(taken);
        let mut tried = Vec::new();
        for output in outputs {
            taken.claim(&output)?;
            let opened = open(&output)?;
            let stream = matches!(opened.sink, Sink::Stream(_)).then_some(opened);
            tried.push((output, stream));
        }
        Ok(LaterOutputs { outputs: tried })
    }

    /// The files, with the formats that are the names of their options.
    pub fn files(&self) -> impl Iterator<Item = &Output> {
        self.outputs.iter().map(|(output, _)| output)
    }

    /// Writes them and gives them their names; an error with one does not stop the others.
    pub fn write(self, text: impl Fn(&Output) -> String) -> Vec<OutputError> {
        let write = |(output, stream): (Output, Option<TextOutput>)| {
            let text = text(&output);
            stream.map_or_else(|| open(&output), Ok).and_then(|file| file.write(&text))
        };
        self.outputs.into_iter().filter_map(|output| write(output).err()).collect()
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
        let later = LaterOutputs::check(outputs.clone(), &[]).unwrap();
        assert_eq!(names(), 0, "nothing is made before there is something to write");
        let again = LaterOutputs::check(outputs, &[]).unwrap();
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
        assert_eq!(again.write(|_| String::new()).len(), 2);
    }
}
