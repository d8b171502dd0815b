//! Files that a result is written to (`--json --xml --text --csv`).
//!
//! Each is made before the run, under another name in the same folder, and gets its real name only when
//! it is complete: a path that cannot be written is refused before anything runs, a result is never
//! half written, and an earlier one is not lost when writing fails.
//!
//! Links are followed and stay links, but those of other users are not followed, and in folders where
//! everybody may write no file of another user is replaced: root would write where somebody else wants it to.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::kind;
use crate::render;
use crate::request::{Output, Request};
use crate::run::unfinished::{Refreshed, Taken, Unfinished, is_planted};
use truespd_core::load::verify_log::LogPlace;
use truespd_core::result::Document;
use truespd_platform::fault::{Failure, FailureKind, Refusal, RefusalKind};
use truespd_platform::sys::destination::{Destination, Entry, LostWay, follow};
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::file::{FileKind, Stat};

/// How long a pipe is given until somebody reads it: the shell starts its reader at the same time as this program.
const READER_PATIENCE: Duration = Duration::from_secs(3);
/// How often it is looked whether somebody does.
const READER_LOOK: Duration = Duration::from_millis(20);

/// Why a result file was refused or not written.
#[derive(Debug, thiserror::Error)]
#[error("--{option} {path}: {problem}")]
pub struct OutputError {
    /// Name of the option, without its dashes.
    pub option: &'static str,
    pub path: String,
    pub problem: Problem,
}

/// What is wrong with an output.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("no file can be made in {}: {}", folder.display(), system_text(error))]
    Folder { folder: PathBuf, error: io::Error },
    /// The path leads over a link that another user made.
    #[error("{0}")]
    ForeignLink(LostWay),
    /// A file that another user, with this number, may have put there to have it replaced.
    #[error(
        "this file belongs to user {0}, in a folder where everybody may write, so it is not replaced; give another \
         name, \
         or remove the file"
    )]
    Planted(u32),
    /// A file of another kind than the output's.
    #[error("this file does not hold {0}, so it is not replaced; give another name, or remove the file")]
    OtherKind(&'static str),
    #[error("this file cannot be read, so it is not replaced: {}", system_text(.0))]
    Unreadable(io::Error),
    #[error("nobody reads from this pipe; start its reader first, or give the path of a file")]
    NoReader,
    /// The path is of something that a result must not replace.
    #[error("{0}; give the path of a file")]
    NoFile(&'static str),
    /// A result would replace something of this run.
    #[error("this file is also {0}; give another one")]
    Clash(String),
    #[error("the rest is missing, because writing failed during the run: {}", system_text(.0))]
    Live(io::Error),
    #[error("the result could not be written: {}", system_text(.0))]
    Write(io::Error),
}

impl From<OutputError> for Refusal {
    fn from(error: OutputError) -> Self {
        Refusal::new(RefusalKind::Output, error.to_string()).on(error.path)
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        Failure::new(FailureKind::Output, error.to_string()).on(error.path)
    }
}

impl Output {
    /// An error with this output.
    pub fn error(&self, problem: Problem) -> OutputError {
        OutputError { option: self.option(), path: self.path.clone(), problem }
    }
}

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
        let sink = match locate(output)? {
            Located::Stream(stream) => Sink::Stream(stream),
            Located::Entry(entry) => {
                refuse_taken_name(output, &entry)?;
                let folder = folder_of(&entry);
                let made = Unfinished::make(entry);
                Sink::File(made.map_err(|code| output.error(Problem::Folder { folder, error: code.into() }))?)
            }
        };
        Ok(TextOutput { output: output.clone(), sink })
    }

    /// Writes the file and gives it its name.
    ///
    /// # Errors
    /// `OutputError::Write`.
    pub fn write(self, content: impl AsRef<[u8]>) -> Result<(), OutputError> {
        let content = content.as_ref();
        let written = match self.sink {
            Sink::Stream(mut stream) => stream.write_all(content).and_then(|()| stream.flush()),
            Sink::File(file) => file.finish(content, Taken::Replaced),
        };
        written.map_err(|error| self.output.error(Problem::Write(error)))
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
        refuse_clashes(&files_of_verify(request), targets_of(request))?;
        Self::open_without_run(outputs, files_of(request))
    }

    /// Makes all files outside a run; none may be one of `taken`, which are paths with a description.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn open_without_run(
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
            opened.push(Opened { file: TextOutput::open(output)?, render });
        }
        Ok(Outputs { opened })
    }

    /// Writes every file and gives it its name; an error with one does not stop the others.
    pub fn write(self, document: &Document) -> Vec<OutputError> {
        let mut errors = Vec::new();
        for Opened { file, render } in self.opened {
            errors.extend(file.write(render(document)).err());
        }
        errors
    }
}

/// The files that a run works on, with what they are to it.
pub fn files_of(request: &Request) -> impl Iterator<Item = (PathBuf, String)> {
    let profile = request.profile_file.iter();
    let profile = profile.map(|file| (PathBuf::from(&file.path), "the profile of -X".into()));
    let of_verify = files_of_verify(request);
    targets_of(request).chain(profile).chain(of_verify.into_iter().map(|file| use_of(&file)))
}

fn targets_of(request: &Request) -> impl Iterator<Item = (PathBuf, String)> {
    let targets = request.profile.targets();
    targets.map(|target| (PathBuf::from(&target.path), format!("the target '{}'", target.path)))
}

/// The map and the log of `--verify`, where the person names them and they are files.
fn files_of_verify(request: &Request) -> Vec<Output> {
    let options = &request.options;
    let map = options.verify_map.iter().map(|path| ("verify-map", path));
    let log = options.verify_log.iter().filter_map(|place| match place {
        LogPlace::File(path) => Some(("verify-log", path)),
        LogPlace::Host { .. } => None,
    });
    map.chain(log).map(|(format, path)| Output { format, path: path.display().to_string() }).collect()
}

/// Where lines are written while a run goes on: a file gets them behind what it holds.
#[derive(Debug)]
pub struct Lines {
    output: Output,
    located: Located,
}

impl Lines {
    /// Finds the place. Nothing is made.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn at(output: Output) -> Result<Self, OutputError> {
        let located = locate(&output)?;
        if let Located::Entry(entry) = &located {
            refuse_taken_name(&output, entry)?;
            let allowed = if entry.there.is_some() { entry.may_write() } else { entry.may_make() };
            allowed.map_err(|code| output.error(Problem::Write(code.into())))?;
        }
        Ok(Lines { output, located })
    }

    /// Opens it, and makes a file that is not there.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn open(self) -> Result<(Output, File), OutputError> {
        let file = match self.located {
            Located::Stream(stream) => stream,
            Located::Entry(entry) => {
                let opened = entry.open_to_append();
                let file = opened.map_err(|code| self.output.error(Problem::Write(code.into())))?;
                // Until it ends, however it ends: who follows the file sees by it that more may come.
                let _ = file.try_lock_shared();
                file
            }
        };
        Ok((self.output, file))
    }
}

/// A file that is replaced while a run goes on.
///
/// # Errors
/// [`OutputError`].
pub fn open_refreshed(output: &Output) -> Result<Refreshed, OutputError> {
    let Located::Entry(entry) = locate(output)? else {
        return Err(output.error(Problem::NoFile("this is no file that can be replaced")));
    };
    refuse_taken_name(output, &entry)?;
    let folder = folder_of(&entry);
    Refreshed::try_at(entry).map_err(|code| output.error(Problem::Folder { folder, error: code.into() }))
}

/// Refuses outputs that are files of the run, or each other.
///
/// # Errors
/// `OutputError::Clash`.
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
            return Err(output.error(Problem::Clash(what.clone())));
        }
        self.0.push((path, use_of(output).1));
        Ok(())
    }
}

/// The file of an output, with what it is to others.
pub fn use_of(output: &Output) -> (PathBuf, String) {
    (PathBuf::from(&output.path), format!("the file of --{}", output.option()))
}

/// Whether two names are of one file, also by hard links. Streams may be shared.
fn is_same(a: &Path, b: &Path) -> bool {
    match (a.metadata(), b.metadata()) {
        (Ok(a), Ok(b)) => !is_stream(&a) && Stat::of(&a).identity() == Stat::of(&b).identity(),
        (Err(_), Err(_)) => a == b,
        _ => false,
    }
}

fn is_stream(facts: &Metadata) -> bool {
    matches!(FileKind::of(facts), FileKind::Character | FileKind::Pipe)
}

/// The folder of a file.
fn folder_of(entry: &Entry) -> PathBuf {
    entry.path.parent().unwrap_or(Path::new("/")).to_path_buf()
}

/// What a path is of.
#[derive(Debug)]
enum Located {
    /// A pipe or character device, open for writing.
    Stream(File),
    /// A regular file, or nothing yet.
    Entry(Entry),
}

fn locate(output: &Output) -> Result<Located, OutputError> {
    let no_file = |what| Err(output.error(Problem::NoFile(what)));
    if output.path.is_empty() {
        return no_file("the name of a file is missing");
    }
    if output.path.ends_with('/') {
        return no_file("this names a folder");
    }
    let destination = follow(Path::new(&output.path)).map_err(|lost| match lost {
        LostWay::System { at, code } => {
            // The folder of the path, or a part of it, is not what it should be.
            let folder = Path::new(&output.path).parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.map_or(at, Path::to_path_buf);
            output.error(Problem::Folder { folder, error: code.into() })
        }
        lost @ LostWay::ForeignLink { .. } => output.error(Problem::ForeignLink(lost)),
    })?;
    let kind = match &destination {
        Destination::Entry(entry) => entry.there.map(|there| there.kind),
        Destination::Open(file) => Stat::of_open(file).map(|stat| stat.kind).ok(),
    };
    match (kind, destination) {
        (Some(FileKind::Directory), _) => no_file("this is a folder"),
        (Some(FileKind::Block), _) => no_file("this is a device that holds data"),
        (_, Destination::Open(file)) => Ok(Located::Stream(file)),
        (Some(FileKind::Character | FileKind::Pipe), Destination::Entry(entry)) => {
            Ok(Located::Stream(open_stream(output, &entry)?))
        }
        (Some(FileKind::Regular) | None, Destination::Entry(entry)) => Ok(Located::Entry(entry)),
        (Some(_), _) => no_file("this is not a file"),
    }
}

/// Opens a pipe or character device. Opening a pipe that nobody reads would wait for ever.
fn open_stream(output: &Output, entry: &Entry) -> Result<File, OutputError> {
    let since = Instant::now();
    loop {
        match entry.open_stream() {
            Ok(stream) => return Ok(stream),
            Err(Code::NO_ADDRESS) if since.elapsed() < READER_PATIENCE => std::thread::sleep(READER_LOOK),
            Err(Code::NO_ADDRESS) => return Err(output.error(Problem::NoReader)),
            Err(code) => return Err(output.error(Problem::Write(code.into()))),
        }
    }
}

/// Refuses to write what has the name already, where another user may have put it there, where it is protected, and
/// where it is a file of another kind.
fn refuse_taken_name(output: &Output, entry: &Entry) -> Result<(), OutputError> {
    let Some(there) = entry.there else { return Ok(()) };
    if entry.folder.stat().is_ok_and(|folder| is_planted(&there, &folder)) {
        return Err(output.error(Problem::Planted(there.owner)));
    }
    // Giving another file its name would be allowed; but who protects a result means its name.
    entry.may_write().map_err(|code| output.error(Problem::Write(code.into())))?;
    let mut head = Vec::new();
    let read = entry.open_to_read().map_err(io::Error::from);
    read.and_then(|file| file.take(kind::HEAD_BYTES as u64).read_to_end(&mut head))
        .map_err(|error| output.error(Problem::Unreadable(error)))?;
    let kind = kind::of(output.format);
    if head.is_empty() || (kind.begins)(&head) {
        return Ok(());
    }
    Err(output.error(Problem::OtherKind(kind.what)))
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
        let taken = taken.iter().map(|path| (path.into(), format!("'{path}', which is tested or read")));
        let mut taken = TakenPaths::of(taken);
        let mut tried = Vec::new();
        for output in outputs {
            taken.claim(&output)?;
            let opened = TextOutput::open(&output)?;
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
    pub fn write<C: AsRef<[u8]>>(self, content: impl Fn(&Output) -> C) -> Vec<OutputError> {
        let mut errors = Vec::new();
        for (output, stream) in self.outputs {
            let content = content(&output);
            let file = stream.map_or_else(|| TextOutput::open(&output), Ok);
            errors.extend(file.and_then(|file| file.write(content)).err());
        }
        errors
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
        let content = |output: &Output| match output.format {
            "json" => "{\"format\":\"truespd-result\"}",
            _ => "(tests and format of CrystalDiskMark)",
        };
        assert!(later.write(content).is_empty());
        assert_eq!(std::fs::read_to_string(&second).unwrap(), "(tests and format of CrystalDiskMark)");
        let taken = [second.to_string_lossy().into_owned()];
        for (outputs, taken, says) in [
            (vec![json(&first), json(&first)], &[][..], "this file is also the file of --json"),
            (vec![json(&second)], &taken[..], "which is tested or read; give another one"),
            (vec![json(&second)], &[][..], "this file does not hold a result in JSON, so it is not replaced"),
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
