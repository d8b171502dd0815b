//! Suites that are ended in the middle: what they leave.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use truespd_core::guard::mark::{MarkState, Marks};

use crate::support::program::{Lab, Ran, Running, keeps_nothing};

/// A suite of `truespd` in a lab of its own, whose working directory is where it runs.
pub struct Suite {
    lab: Lab,
    running: Running,
}

/// `truespd` with the words of a line, in the lab's working directory and with its state directory.
pub fn truespd(lab: &Lab, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_truespd"));
    keeps_nothing(&mut command, &lab.work().with_file_name("none"));
    command
        .args(line.split(' ').filter(|word| !word.is_empty()))
        .current_dir(lab.work())
        .env("XDG_STATE_HOME", state(lab))
        .env("XDG_RUNTIME_DIR", lab.work().with_file_name("runtime"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The command as a terminal starts it: SIGHUP ends it, also where the tests run under `nohup`.
pub fn as_in_a_terminal(command: &Command) -> Command {
    let mut env = Command::new("env");
    env.arg("--default-signal").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => env.env(name, value),
            None => env.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        env.current_dir(folder);
    }
    env.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    env
}

/// Runs `truespd` with the words of a line to its end.
pub fn run(lab: &Lab, line: &str) -> Ran {
    Running::new(truespd(lab, line), line).finish()
}

/// The document of a suite that ended so can be shown and judged again: `render` prints what the suite
/// printed, and `judge` its verdicts.
#[track_caller]
pub fn assert_renders(lab: &Lab, ran: &Ran, document: &str) {
    let rendered = run(lab, &format!("render {document}")).expect_code(0);
    assert_eq!(rendered.stdout, ran.stdout, "as it was printed\n{rendered}");
    let stored = run(lab, &format!("render -Rjson {document}")).expect_code(0);
    assert!(stored.stdout.as_bytes() == lab.read(document), "as it is stored\n{stored}");
    run(lab, &format!("render -Rxml {document}")).refused(3, &["which has no such form", "-Rtext or -Rjson"]);
    let judged = run(lab, &format!("judge {document}")).expect_code(0);
    assert!(judged.stdout.starts_with(&format!("{document}: ")), "{judged}");
    let verdicts = |text: &str| {
        text.lines().filter(|line| line.starts_with("verdict: ")).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&judged.stdout), verdicts(&ran.stdout), "{judged}");
    let merged = run(lab, &format!("merge {document}")).expect_code(3);
    merged.says(&["is not the result of a run: its member \"format\" is \"truespd-"]);
}

/// What a lab's suites have to undo, now.
pub fn journals(lab: &Lab) -> Vec<PathBuf> {
    entries(&state(lab).join("truespd").join("undo"))
}

/// What says in a lab that files are ours, where their file system keeps no attributes, now.
pub fn marks(lab: &Lab) -> Vec<PathBuf> {
    entries(&registry(lab))
}

/// A file that a suite of a lab makes has all its bytes, now.
pub fn is_whole(lab: &Lab, file: &Path) -> bool {
    let mark = fs::File::open(file).ok().and_then(|file| Marks::with_registry(&registry(lab)).read(&file));
    mark.is_some_and(|mark| mark.state != MarkState::Filling)
}

/// Where the marks are that are no attributes.
pub fn registry(lab: &Lab) -> PathBuf {
    state(lab).join("truespd").join("files")
}

/// Folders of suites in a lab's working directory, now.
pub fn scratch_folders(lab: &Lab) -> Vec<PathBuf> {
    let is_scratch =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("truespd-"));
    entries(&lab.work()).into_iter().filter(is_scratch).collect()
}

pub fn state(lab: &Lab) -> PathBuf {
    lab.work().with_file_name("state")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).map(|all| all.flatten().map(|entry| entry.path()).collect());
    entries.unwrap_or_default()
}

impl Suite {
    /// Starts the words of a line.
    pub fn start(line: &str) -> Self {
        let lab = Lab::new();
        let running = Running::new(as_in_a_terminal(&truespd(&lab, line)), line);
        Suite { lab, running }
    }

    /// The lab, to look around.
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// The process, to wait for something of it.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Waits until its folder is there and holds a file that is not empty; the folder. By then its journal is there.
    pub fn wait_for_scratch(&self) -> PathBuf {
        let has_data = |folder: &PathBuf| {
            entries(folder).iter().any(|file| file.metadata().is_ok_and(|about| about.len() > 0))
        };
        let found = || scratch_folders(&self.lab).into_iter().find(has_data);
        self.running.wait_until("a folder with a file", || found().is_some());
        assert!(!journals(&self.lab).is_empty(), "nothing says what to remove");
        found().expect("was there a moment ago")
    }

    /// Sends the signal, and waits until neither folder nor journal is there any more, whoever removes them.
    pub fn end_by(self, signal: Signal) -> (Lab, Ran) {
        self.running.signal(signal);
        // Standard error is closed only when the caretaker has gone, too.
        let ran = self.running.finish();
        let left = [scratch_folders(&self.lab), journals(&self.lab)].concat();
        assert!(left.is_empty(), "{left:?} is left\n{ran}");
        (self.lab, ran)
    }
}

/// Ends a suite with a scratch folder in the middle, in every way that its person or the system may, and asserts that
/// nothing stays. `is_ready` says whether it has come far enough, besides having its file. The line must run for long,
/// and in the working directory. Returns what came out after Ctrl+C.
pub fn assert_leaves_nothing(line: &str, mut is_ready: impl FnMut(&Running) -> bool) -> Ran {
    let mut interrupted = None;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let suite = Suite::start(line);
        suite.wait_for_scratch();
        suite.running.wait_until("the suite is far enough", || is_ready(&suite.running));
        let (lab, ran) = suite.end_by(signal);
        assert_eq!(lab.names(), Vec::<String>::new(), "{ran}");
        let ran = match signal {
            Signal::KILL => ran.expect_signal(9).says(&["left by a series that was killed: removed '"]),
            // 1 before there is anything to show.
            _ => {
                let code = i32::from(ran.stdout.is_empty());
                ran.expect_code(code)
            }
        };
        interrupted.get_or_insert(ran);
    }
    interrupted.expect("four ways")
}
