//! What people and other machines leave in files: configurations, job files of fio, shared folders of results.

use std::fs;
use std::io::Write;

use diskspd::grammar::parse::parse;
use flate2::Compression;
use flate2::write::GzEncoder;
use truespd::history::{ExportedLine, Facts, Shared};
use truespd::import::{self, NoJobFile, Outside, Run};
use truespd_front::config::{Config, Force};

use super::change;
use super::doors::{Door, assert_is_a_message, assert_says_something, texts};
use crate::support::documents::Random;
use crate::support::words::{BOOT_MS, words};

/// Files of the configuration.
pub struct Configurations {
    folder: tempfile::TempDir,
    seeds: Vec<String>,
}

impl Configurations {
    pub fn new() -> Self {
        let all = "version = 1\n[output]\nquiet = true\ncolour = \"never\"\n[history]\nkeep = true\ndiskspd = false\n\
                   store = \"/tmp/h.sqlite\"\n[targets]\nfolder = \"/tmp\"\n[diskspd]\ncompat = \"2.2\"\n";
        let few = "# mine\n\n[history]\nstore = '~/results' # there\n";
        let seeds = [all, few].map(str::to_string).to_vec();
        Configurations { folder: tempfile::tempdir().expect("a folder"), seeds }
    }
}

impl Door for Configurations {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        change::text(change::one_of(&self.seeds, random), &self.seeds, random)
    }

    fn try_input(&self, input: &[u8]) {
        let path = self.folder.path().join("config.toml");
        fs::write(&path, input).expect("room");
        match Config::read_from(&path, None) {
            Ok(config) => {
                config.warnings.iter().for_each(|warning| assert_is_a_message(warning));
                if let Err(refusal) = Force::new(&config, &|_| None).all() {
                    assert_is_a_message(&refusal.to_string());
                }
            }
            Err(refusals) => assert_is_a_message(&refusals.to_string()),
        }
    }
}

/// Job files of fio, and its command lines in a script.
pub struct JobFiles(Vec<String>);

impl JobFiles {
    pub fn new() -> Self {
        let mut seeds = texts("tests/data/fio", ".fio", 16 << 10);
        seeds.push(
            "fio --name=a --filename=/dev/x --rw=randrw --rwmixread=70 --bs=4k,8k --iodepth=32 --runtime=60"
                .into(),
        );
        seeds.push("sudo fio --ioengine=libaio --direct=1 --name=a --size=1G \\\n --rw=write --bs=1M\nfio --name b --size 25%\n".into());
        JobFiles(seeds)
    }
}

impl Door for JobFiles {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        change::text(change::one_of(&self.0, random), &self.0, random)
    }

    fn try_input(&self, input: &[u8]) {
        let outside = Outside {
            include: &|_, name| match name {
                "common.inc" => Ok((name.into(), "[global]\nbs=8k\n".into())),
                _ => Err("not there".into()),
            },
            variable: &|_| Some("64k".into()),
            size: &|path| path.starts_with("/dev/").then_some(1 << 30),
        };
        let Ok(text) = import::text(input) else { return };
        for is_lossy in [false, true] {
            assert_makes_lines(import::import("job.fio", &text, &outside, is_lossy));
            assert_makes_lines(import::import_words("words", &words(&text), &outside, is_lossy));
        }
    }
}

/// The grammar takes each line, or says why not.
fn assert_makes_lines(imported: Result<Vec<Run>, NoJobFile>) {
    match imported {
        Ok(runs) => {
            for words in runs.iter().flat_map(|run| run.lanes.iter().map(|lane| run.line_of(lane))) {
                if let Err(refusals) = parse(&words, "diskspd", &|| BOOT_MS) {
                    assert_is_a_message(&refusals.to_string());
                }
            }
        }
        Err(wrong) => assert!(wrong.what.trim().len() > 5, "{wrong:?}"),
    }
}

/// A folder of results that anybody may write to.
pub struct SharedFolders {
    folder: tempfile::TempDir,
    line: String,
    name: String,
    marker: String,
}

/// Says whose folder it is.
const MARKER: &str = "truespd-history.json";

impl SharedFolders {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let facts = Facts { host: "a".into(), ..Facts::default() };
        let line = ExportedLine::of_new("{}".into(), facts, 1);
        let shared = Shared::open_to_put(folder.path()).expect("an empty folder");
        shared.put(&line).expect("room");
        let name = shared.names().expect("names").documents.pop_first().expect("one document");
        let marker = fs::read_to_string(folder.path().join(MARKER)).expect("a marker");
        SharedFolders { folder, line: line.text(), name, marker }
    }
}

impl Door for SharedFolders {
    /// One file of the folder: a document that was packed after the change or before it, or its marker.
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let packed = |text: &[u8]| {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(text).and_then(|()| gzip.finish()).expect("memory takes it")
        };
        let others = [self.line.clone()];
        match random.below(5) {
            0 => change::text(&self.marker, &others, random),
            1 => {
                let mut bytes = packed(self.line.as_bytes());
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.below(256) as u8;
                bytes
            }
            // Much in few bytes.
            2 => packed(&b" ".repeat(1 << random.below(23))),
            _ => packed(&change::text(&self.line, &others, random)),
        }
    }

    fn try_input(&self, input: &[u8]) {
        let shared = Shared::open_to_take(self.folder.path()).expect("its folder");
        fs::write(shared.path_of(&self.name), input).expect("room");
        match shared.read(&self.name) {
            Ok(line) => assert_eq!(line.digest(), self.name),
            Err(error) => assert_says_something(&error),
        }
        let marker = self.folder.path().join(MARKER);
        fs::write(&marker, input).expect("room");
        if let Err(error) = Shared::open_to_take(self.folder.path()) {
            assert_says_something(&error);
        }
        fs::write(&marker, &self.marker).expect("room");
    }
}
