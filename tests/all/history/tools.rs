//! A folder with a history of its own, and the programs that use it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::support::program::keeps_nothing;
use crate::support::words::in_one_line;

/// A simulated run takes no time, and its figures are those of its words.
const SIM: &str = "-c64K -b4K -r -o4 -L -d1 -W0 --engine sim:latency=1ms,jitter=exp,cpu=2us";

pub struct Place {
    dir: tempfile::TempDir,
}

/// What a command said.
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Place { dir: tempfile::tempdir().expect("a folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The file of the history where nothing else is said.
    pub fn store(&self) -> PathBuf {
        self.path("data/truespd/history.sqlite")
    }

    /// `truespd` with the words of a line; what it keeps is kept in here.
    pub fn command(&self, line: &str) -> Command {
        self.program(env!("CARGO_BIN_EXE_truespd"), line)
    }

    pub fn program(&self, program: &str, line: &str) -> Command {
        let mut command = Command::new(program);
        keeps_nothing(&mut command, self.dir.path());
        command.env_remove("TRUESPD_HISTORY").env("XDG_STATE_HOME", self.path("state"));
        command.args(line.split(' ').filter(|word| !word.is_empty())).current_dir(self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn start(&self, line: &str) -> Child {
        self.command(line).spawn().expect("the program starts")
    }

    pub fn said(&self, line: &str) -> Said {
        Said::by(&mut self.command(line))
    }

    /// What a command prints that has to succeed.
    #[track_caller]
    pub fn out(&self, line: &str) -> String {
        self.said(line).done().out
    }

    /// A simulated run with options before its target `t.dat`; returns what it said.
    #[track_caller]
    pub fn run(&self, options: &str) -> Said {
        self.said(&format!("run {SIM} {options} t.dat")).done()
    }

    /// The id of a simulated run that is kept.
    #[track_caller]
    pub fn kept(&self, options: &str) -> String {
        self.run(options).id()
    }

    /// The words of such a run.
    pub fn line(options: &str) -> String {
        format!("run {SIM} {options} t.dat")
    }

    /// Ids of a list, the newest first.
    #[track_caller]
    pub fn ids(&self, filter: &str) -> Vec<String> {
        let listed: serde_json::Value =
            serde_json::from_str(&self.out(&format!("history list --json {filter}"))).expect("JSON");
        let entries = listed.as_array().expect("a list").iter();
        entries.map(|entry| entry["id"].as_str().expect("an id").to_string()).collect()
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }
}

impl Said {
    pub fn by(command: &mut Command) -> Said {
        Said::of(command.output().expect("the program starts"))
    }

    pub fn of(output: Output) -> Said {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    #[track_caller]
    pub fn done(self) -> Said {
        assert_eq!(self.code, Some(0), "{}\n{}", self.out, self.err);
        self
    }

    /// Refused, with these words and nothing on standard output.
    #[track_caller]
    pub fn refused(self, words: &[&str]) {
        assert!(self.code == Some(3) && self.out.is_empty(), "{:?}\n{}\n{}", self.code, self.out, self.err);
        assert!(self.err.starts_with("ERROR: "), "{}", self.err);
        let told = in_one_line(&self.err);
        words.iter().for_each(|word| assert!(told.contains(word), "no '{word}' in: {told}"));
    }

    /// Failed, with these words.
    #[track_caller]
    pub fn failed(self, words: &[&str]) {
        assert_eq!(self.code, Some(1), "{}\n{}", self.out, self.err);
        words.iter().for_each(|word| assert!(self.err.contains(word), "no '{word}' in: {}", self.err));
    }

    /// The id that a run was kept as.
    #[track_caller]
    pub fn id(&self) -> String {
        let words = self.err.lines().find_map(|line| line.strip_prefix("kept as "));
        let words = words.unwrap_or_else(|| panic!("not kept: {}", self.err));
        words.split(' ').next().expect("an id").to_string()
    }
}

/// Asks SQLite itself whether a file is whole.
#[track_caller]
pub fn assert_whole(store: &Path) {
    let db = rusqlite::Connection::open(store).expect("it opens");
    let check: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it answers");
    assert_eq!(check, "ok");
    let broken: i64 = db
        .query_row("SELECT count(*) FROM document d LEFT JOIN content c ON c.document = d.number WHERE c.document IS NULL", [], |row| row.get(0))
        .expect("it answers");
    assert_eq!(broken, 0, "a document without content");
}
