//! The built program on real files: a directory of its own, what came out, and the strict readers.

use std::fs;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use super::strict_text::{self, Parsed, ResultText, Row};
use super::words::in_one_line;

/// No run of a test says nothing for longer, also on a busy machine; of a series each run says something.
const SILENCE: Duration = crate::support::HANG;
/// Nothing that a test starts takes longer.
const PATIENCE: Duration = Duration::from_secs(600);
/// Runs of which one does not fall into a time when the machine stands still, or its disk does.
const ATTEMPTS: u32 = 20;

/// What Rust's library puts behind the system's words.
const NUMBERED: &str = "(os error ";

/// What a run that is stopped puts before its text.
pub const INTERRUPTED: &str = "\n*** Interrupted by Ctrl-C. Stopping I/O Request Generator. ***\n";

/// A directory with its own events and marks, so that runs of other tests are not met.
pub struct Lab {
    dir: tempfile::TempDir,
}

impl Lab {
    pub fn new() -> Self {
        Self::within(tempfile::tempdir().expect("a temporary directory"))
    }

    /// Where the guard can find out about files that the test makes itself. Elsewhere, as in a container, it refuses
    /// to write them without `--unchecked`.
    pub fn visible() -> Option<Self> {
        super::needs::visible_folder().map(Self::within)
    }

    /// On a file system of a disk, which the folder of temporary files may not be.
    pub fn on_disk() -> Option<Self> {
        super::needs::disk_folder().map(Self::within)
    }

    fn within(dir: tempfile::TempDir) -> Self {
        for name in ["state", "runtime", "work"] {
            fs::create_dir(dir.path().join(name)).expect("a directory");
        }
        Lab { dir }
    }

    /// Where the program runs.
    pub fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        fs::write(self.path(name), bytes).expect("a file can be written");
        self.path(name)
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("the file is there")
    }

    /// Names of what lies in the working directory.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.work()).expect("the directory is there");
        let mut names: Vec<String> =
            entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Gives the directory and all in it to another user.
    pub fn give_to(&self, user: u32) {
        give(self.dir.path(), user);
    }

    /// A command line without the program's name, in words split at blanks.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(crate::support::program::diskspd());
        command.arg0("diskspd").args(line.split(' ').filter(|word| !word.is_empty()));
        self.settle(&mut command);
        command
    }

    /// The program behind another one, e.g. `setpriv`.
    pub fn command_behind(&self, wrapper: &[&str], line: &str) -> Command {
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(self.copy_of_program());
        command.args(line.split(' ').filter(|word| !word.is_empty()));
        self.settle(&mut command);
        command
    }

    /// A copy of the program that every user can reach.
    pub fn copy_of_program(&self) -> PathBuf {
        let copy = self.dir.path().join("diskspd");
        if !copy.exists() {
            copy_to_run(Path::new(crate::support::program::diskspd()), &copy);
        }
        copy
    }

    fn settle(&self, command: &mut Command) {
        keeps_nothing(command, self.dir.path());
        command
            .current_dir(self.work())
            .env("XDG_STATE_HOME", self.dir.path().join("state"))
            .env("XDG_RUNTIME_DIR", self.dir.path().join("runtime"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    pub fn start(&self, line: &str) -> Running {
        Running::new(self.command(line), line)
    }

    pub fn run(&self, line: &str) -> Ran {
        self.start(line).finish()
    }

    /// A run that must succeed and whose text the strict reader must take.
    pub fn text(&self, line: &str) -> Parsed {
        self.run(line).expect_code(0).text()
    }

    /// The only result of such a run, which did some I/O.
    pub fn result(&self, line: &str) -> ResultText {
        self.result_with_ios(line, 1)
    }

    /// The only result of such a run, with so many I/Os at least.
    pub fn result_with_ios(&self, line: &str, least: u64) -> ResultText {
        let ran = with_ios(least, || self.run(line)).expect_code(0);
        let mut parsed = ran.text();
        assert_eq!(parsed.results.len(), 1, "{line}");
        let result = parsed.results.remove(0).unwrap_or_else(|| panic!("{line}: nothing was measured"));
        assert!(result.tables[0].total.ios >= least, "fewer than {least} I/Os were done\n{ran}");
        result
    }
}

/// Lets a command keep nothing in the history, and read no configuration: neither belongs to a test. Those of
/// the history say otherwise afterwards.
pub fn keeps_nothing(command: &mut Command, folder: &Path) {
    command
        .env("TRUESPD_HISTORY", "0")
        .env_remove("TRUESPD_STORE")
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .env("XDG_DATA_HOME", folder.join("data"));
}

/// The path of `diskspd`. It is of another package, so cargo tells only that of `truespd`, which stands beside it.
pub fn diskspd() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| {
        let path = Path::new(env!("CARGO_BIN_EXE_truespd")).with_file_name("diskspd");
        assert!(path.exists(), "{path:?} is not built: cargo build -p diskspd, with --release as here");
        path.into_os_string().into_string().expect("cargo's own path is text")
    });
    &PATH
}

/// Copies a program that is started at once. A child does it: what another thread's child inherits between fork and
/// exec would hold the copy open for writing, and nobody may start it then.
pub fn copy_to_run(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("--preserve=mode").args([from, to]).status().expect("cp starts");
    assert!(status.success(), "{from:?} cannot be copied");
}

fn give(path: &Path, user: u32) {
    std::os::unix::fs::chown(path, Some(user), Some(user)).expect("root may give files away");
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a directory") {
            give(&entry.expect("an entry").path(), user);
        }
    }
}

/// A started program; killed when the test gives up.
pub struct Running {
    child: Child,
    line: String,
    since: Instant,
    stdout: Option<std::thread::JoinHandle<String>>,
    stderr: std::sync::Arc<std::sync::Mutex<Heard>>,
    stderr_reader: Option<std::thread::JoinHandle<()>>,
}

/// Standard error so far, and when it last said something.
struct Heard {
    text: String,
    last: Instant,
}

impl Running {
    pub fn new(mut command: Command, line: &str) -> Self {
        let since = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut out = child.stdout.take().expect("a pipe");
        let mut err = child.stderr.take().expect("a pipe");
        let stdout = std::thread::spawn(move || {
            let mut text = Vec::new();
            out.read_to_end(&mut text).expect("a pipe can be read");
            String::from_utf8(text).expect("output is UTF-8")
        });
        let heard = Heard { text: String::new(), last: since };
        let stderr = std::sync::Arc::new(std::sync::Mutex::new(heard));
        let shared = std::sync::Arc::clone(&stderr);
        let stderr_reader = std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(len) = err.read(&mut part)
                && len > 0
            {
                let mut heard = shared.lock().expect("not poisoned");
                heard.text.push_str(&String::from_utf8_lossy(&part[..len]));
                heard.last = Instant::now();
            }
        });
        Running {
            child,
            line: line.to_string(),
            since,
            stdout: Some(stdout),
            stderr,
            stderr_reader: Some(stderr_reader),
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.expect("a process id"), signal)
            .expect("the child can be signalled");
    }

    pub fn stderr_so_far(&self) -> String {
        self.stderr.lock().expect("not poisoned").text.clone()
    }

    /// Nothing has come for longer than any machine needs, waited for since then.
    fn is_stuck(&self, since: Instant) -> bool {
        let last = self.stderr.lock().expect("not poisoned").last;
        last.max(since).elapsed() > SILENCE || since.elapsed() > PATIENCE
    }

    /// Waits until standard error holds the words.
    pub fn wait_for_stderr(&self, words: &str) {
        self.wait_until(words, || self.stderr_so_far().contains(words));
    }

    /// Waits until something holds.
    pub fn wait_until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let since = Instant::now();
        while !is_so() {
            assert!(!self.is_stuck(since), "{}: never came: {what}\n{}", self.line, self.stderr_so_far());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until an I/O of the measured time has ended. The line has `-v -W0 -P1`: a dot for each I/O.
    pub fn wait_for_ios(&self) {
        self.wait_until("a measured I/O", || {
            let told = self.stderr_so_far();
            let measuring = told.rsplit_once("starting measurements").map(|(_, rest)| rest);
            measuring.is_some_and(|rest| rest.contains("\n."))
        });
    }

    /// Bytes the process has sent towards disks so far (proc_pid_io(5)).
    pub fn bytes_written(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/io", self.child.id())).unwrap_or_default();
        let field = text.lines().find_map(|line| line.strip_prefix("write_bytes:"));
        field.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("the child can be asked").is_none()
    }

    pub fn finish(mut self) -> Ran {
        let since = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the child can be asked") {
                break status;
            }
            if self.is_stuck(since) {
                panic!("{}: did not end\n{}", self.line, self.stderr_so_far());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let wall = self.since.elapsed();
        let stdout = self.stdout.take().expect("taken once").join().expect("the reader does not panic");
        self.stderr_reader.take().expect("taken once").join().expect("the reader does not panic");
        let ran = Ran { line: self.line.clone(), status, stdout, stderr: self.stderr_so_far(), wall };
        // Scripts stop at the word. What the system says is told by `system_text`, which leaves the number out.
        assert!(!(ran.stdout.contains(NUMBERED) || ran.stderr.contains(NUMBERED)), "a numbered error\n{ran}");
        ran
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Ended already in the usual case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What came out.
#[derive(Debug)]
pub struct Ran {
    pub line: String,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    /// From start to end.
    pub wall: Duration,
}

impl Ran {
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{self}");
        self
    }

    #[track_caller]
    pub fn expect_signal(self, signal: i32) -> Self {
        assert_eq!(self.status.signal(), Some(signal), "{self}");
        self
    }

    /// Each of the words stands on standard error.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Self {
        let unwrapped = in_one_line(&self.stderr);
        for word in words {
            let is_there = self.stderr.contains(word) || unwrapped.contains(&in_one_line(word));
            assert!(is_there, "'{word}' is missing\n{self}");
        }
        self
    }

    /// It says none of it.
    #[track_caller]
    pub fn says_not(self, words: &[&str]) -> Self {
        for word in words {
            assert!(!self.stderr.contains(word), "'{word}' is there\n{self}");
        }
        self
    }

    /// Refused: nothing on standard output, and these words on standard error.
    #[track_caller]
    pub fn refused(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.stdout, "", "{self}");
        assert!(self.stderr.starts_with("ERROR: "), "{self}");
        self.expect_code(code).says(words)
    }

    /// Refused because a target cannot be tested: as DiskSpd ends it, but without a result.
    #[track_caller]
    pub fn not_opened(self, words: &[&str]) -> Self {
        let stderr = self.stderr.trim_end();
        assert!(stderr.ends_with("Error generating I/O requests"), "{self}");
        self.refused(1, &["There has been an error during threads execution"]).says(words)
    }

    /// Failed while it ran: the document is there with the line of an interrupted time span, and the
    /// phrases that wrappers look for.
    #[track_caller]
    pub fn failed(self, words: &[&str]) -> Self {
        let parsed = self.text();
        assert!(parsed.results.iter().all(Option::is_none), "{self}");
        let stderr = self.stderr.trim_end();
        assert!(stderr.ends_with("Error generating I/O requests"), "{self}");
        self.expect_code(1).says(&["ERROR: ", "There has been an error during threads execution"]).says(words)
    }

    /// It has results, and one of them counts fewer I/Os. Without any I/O its exit code is 1.
    fn did_fewer(&self, least: u64) -> bool {
        let text = self.stdout.strip_prefix(INTERRUPTED).unwrap_or(&self.stdout);
        let parsed = strict_text::parse(text).ok();
        let mut results = parsed.iter().flat_map(|parsed| parsed.results.iter().flatten());
        results.any(|result| result.tables[0].total.ios < least)
    }

    /// The document, read strictly.
    #[track_caller]
    pub fn text(&self) -> Parsed {
        match strict_text::parse(&self.stdout) {
            Ok(parsed) => parsed,
            Err(fault) => panic!("{fault}\n{self}"),
        }
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ran { line, status, stdout, stderr, wall } = self;
        write!(f, "diskspd {line}\n{status} after {wall:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// Runs, and again when a run has results that count fewer I/Os: then the machine stood still for its second.
/// What comes out is the last one's, to be judged as any.
pub fn with_ios(least: u64, mut run: impl FnMut() -> Ran) -> Ran {
    let mut ran = run();
    for _ in 1..ATTEMPTS {
        if !ran.did_fewer(least) {
            break;
        }
        ran = run();
    }
    ran
}

/// Rows of the table of all I/O that belong to a path.
pub fn rows_of<'a>(result: &'a ResultText, path: &'a str) -> impl Iterator<Item = &'a Row> {
    result.tables[0].rows.iter().filter(move |row| row.path == path)
}

/// Lines about the first target.
pub fn target_lines(parsed: &Parsed) -> &[String] {
    &parsed.profile.spans[0].targets[0].lines
}

/// Overwrites part of a file as somebody would who sets the time of last modification back.
pub fn set_bytes(path: &Path, offset: u64, bytes: &[u8]) {
    let file = fs::File::options().write(true).open(path).expect("the file can be written");
    let modified = file.metadata().and_then(|m| m.modified()).expect("a file has times");
    file.write_all_at(bytes, offset).expect("the bytes can be written");
    file.set_modified(modified).expect("its owner may set its times");
}

pub fn data(path: &str) -> PathBuf {
    Path::new(crate::support::ROOT).join("tests/data").join(path)
}
