//! Every door by which words of other people come in: what is tried there, and what must hold for each input.

use std::fs;
use std::path::{Path, PathBuf};

use diskspd::grammar::parse::{Invocation, parse};
use diskspd::render::FORMATS;
use serde_json::Value;
use truespd::answer::Shown;
use truespd::ask::SuiteDocument;
use truespd::ask::workload::preset::{Form, Preset};
use truespd::ask::{ab, assess, beside, find_max, mark, pts, study, sustain, sweep, workload};
use truespd::compare::Question;
use truespd::history::{ExportedLine, Facts};
use truespd::report::{Content, Input, page, picture};
use truespd_core::engine;
use truespd_core::profile::{Severity, validate, xml};
use truespd_core::result::envelope::{self, DocumentKind};
use truespd_core::result::merge::Merger;
use truespd_core::result::{Document, json};
use truespd_front::show::Style;
use truespd_front::telemetry::Heard;
use truespd_platform::machine::{chain, diskstat, fileserver, limits, mounts, topology};
use truespd_platform::text::{hides, printable_json};
use truespd_verdict::judge;

use super::change;
use crate::support::documents::Random;
use crate::support::trees::{Tree, outline};
use crate::support::words::{BOOT_MS, words};

/// A door.
pub trait Door {
    /// An input.
    fn input(&self, random: &mut Random) -> Vec<u8>;
    /// What must hold for it; panics otherwise.
    fn try_input(&self, input: &[u8]);
}

fn data(path: &str) -> PathBuf {
    Path::new(crate::support::ROOT).join(path)
}

/// The files of a folder that end so, up to a length.
pub fn texts(folder: &str, ending: &str, bytes_max: usize) -> Vec<String> {
    let entries = fs::read_dir(data(folder)).expect("a folder of data");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let paths = paths.iter().filter(|path| path.to_string_lossy().ends_with(ending));
    let texts: Vec<String> = paths.filter_map(|path| fs::read_to_string(path).ok()).collect();
    let texts: Vec<String> = texts.into_iter().filter(|text| text.len() <= bytes_max).collect();
    assert!(!texts.is_empty(), "no seeds in {folder}");
    texts
}

/// A message for a terminal: something is said, and nothing in it can act there.
pub fn assert_is_a_message(message: &str) {
    assert!(message.trim().len() > 5, "{message:?}");
    assert!(!message.chars().any(|c| c != '\n' && hides(c)), "{message:?}");
}

/// What people see of a document: lines of this program alone, and nothing in them acts on a terminal.
fn assert_is_tame(what: &str, shown: &str) {
    let acting = shown.chars().find(|c| hides(*c) && !matches!(c, '\n' | '\t'));
    assert_eq!(acting, None, "{what}: {shown:?}");
    let forged = shown.lines().find(|line| line.trim_start().starts_with("verdict: certified forged"));
    assert_eq!(forged, None, "{what}: {shown:?}");
}

/// An error that becomes a part of a message.
pub fn assert_says_something(error: &dyn std::error::Error) {
    assert!(error.to_string().trim().len() > 5, "{error:?}");
}

/// Separates the words of a line; no word has it.
const SEPARATOR: char = '\u{1f}';

pub struct CommandLine(Vec<Vec<String>>);

impl CommandLine {
    pub fn new() -> Self {
        let table = fs::read_to_string(data("tests/data/diskspd-2.2-lines.tsv")).expect("lines of 2.2");
        let mut lines: Vec<Vec<String>> =
            table.lines().filter_map(|line| Some(words(line.split_once('\t')?.1))).collect();
        // What only this program has.
        lines.extend(
            [
                "--engine=null --verdict --require=suspect --json out.json -b4K f",
                "--overwrite f --recreate --csv c.csv -c1M f",
                "-Rcsv -L -D100 -rdpct90/10:10/90 -g100i -ag0,1 -T1K -t2 f g",
                "-X p.xml -v -Rpxml -d5 x y",
            ]
            .map(words),
        );
        lines.retain(|line| !line.is_empty());
        CommandLine(lines)
    }
}

impl Door for CommandLine {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let seed = change::one_of(&self.0, random);
        change::words(seed, &self.0, random).join(&SEPARATOR.to_string()).into_bytes()
    }

    fn try_input(&self, input: &[u8]) {
        let line: Vec<String> = String::from_utf8_lossy(input).split(SEPARATOR).map(str::to_string).collect();
        match parse(&line, "diskspd", &|| BOOT_MS) {
            Ok(Invocation::Run(request)) if request.profile_file.is_none() => {
                let findings = validate(&request.profile, !request.profile_only);
                assert!(findings.iter().all(|finding| finding.severity == Severity::Warning), "{findings:?}");
                // What is run can be written as a profile, and that is the same run.
                let written = xml::write(&request.profile, 0);
                if let Ok(again) = xml::read(&written) {
                    assert_eq!(xml::write(&again, 0), written);
                }
            }
            Ok(_) => {}
            Err(refusals) => assert_is_a_message(&refusals.to_string()),
        }
    }
}

pub struct ProfileXml(Vec<String>);

impl ProfileXml {
    pub fn new() -> Self {
        let mut seeds = texts("tests/data/profiles", ".xml", 16 << 10);
        seeds.extend(texts("profiles", ".xml", 16 << 10));
        ProfileXml(seeds)
    }
}

impl Door for ProfileXml {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        change::text(change::one_of(&self.0, random), &self.0, random)
    }

    fn try_input(&self, input: &[u8]) {
        match xml::read_bytes(input) {
            Ok(profile) => {
                validate(&profile, true)
                    .iter()
                    .for_each(|finding| assert_is_a_message(&format!("{finding:?}")));
                let written = xml::write(&profile, 0);
                if let Ok(again) = xml::read(&written) {
                    assert_eq!(xml::write(&again, 0), written);
                }
            }
            Err(error) => assert_says_something(&error),
        }
    }
}

/// Result documents, two of which are also added.
pub struct ResultDocument(Vec<Value>);

impl ResultDocument {
    pub fn new() -> Self {
        let texts = texts("tests/data/documents/v1", ".json", 20_000);
        ResultDocument(texts.iter().map(|text| serde_json::from_str(text).expect("JSON")).collect())
    }
}

impl Door for ResultDocument {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let seed = change::one_of(&self.0, random);
        match random.below(8) {
            0 => change::text(seed.to_string(), &[String::from("{\"a\": [1, null]}")], random),
            _ => change::json(seed, random).to_string().into_bytes(),
        }
    }

    fn try_input(&self, input: &[u8]) {
        let document = match json::read(input) {
            Ok(document) => document,
            Err(error) => return assert_says_something(&error),
        };
        let verdict = judge(&document);
        verdict.findings.iter().for_each(|finding| assert_is_a_message(&finding.says));
        for format in FORMATS {
            assert_is_tame(format.name, &(format.render)(&document));
        }
        // As it is read to be shown. The page takes as long as all of the rest.
        let shown = json::read(&printable_json(input)).expect("printable strings are strings");
        if input.len().is_multiple_of(8) {
            let content = Content::Run(Box::new(shown));
            let (name, group) = ("a".to_string(), "a".to_string());
            let inputs = [Input { name, label: None, group, stored: input.to_vec(), content }];
            assert_is_tame("page", &page(&inputs, &Question::default()));
            let drawn = picture(&inputs).and_then(|(picture, words)| picture.svg(&words));
            if let Some(svg) = drawn {
                assert_is_tame("svg", &svg);
                roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
            }
        }
        let written = json::write(&document);
        let again = json::read(written.as_bytes()).expect("what was written can be read");
        assert_eq!(json::write(&again), written);
        add(document, again);
    }
}

fn add(one: Document, other: Document) {
    for force in [false, true] {
        let mut merge = Merger::new(force);
        let added = merge.add("one.json", one.clone()).and_then(|()| merge.add("other.json", other.clone()));
        match added.and_then(|()| merge.finish()) {
            Ok(sum) => FORMATS.iter().for_each(|format| drop((format.render)(&sum.document))),
            Err(error) => assert_says_something(&error),
        }
    }
}

/// Documents of suites and of the tool's own cost.
pub struct SuiteDocuments(Vec<Value>);

impl SuiteDocuments {
    pub fn new() -> Self {
        let texts = texts("tests/data/documents/suites", ".json", 40_000);
        SuiteDocuments(texts.iter().map(|text| serde_json::from_str(text).expect("JSON")).collect())
    }
}

fn try_suite<T: DocumentKind>(input: &[u8], text: impl Fn(&T) -> String) {
    match envelope::read::<T>(input) {
        Ok(document) => {
            assert_is_tame("as it is", &envelope::shown(&document, &text));
            let printable =
                envelope::read::<T>(&printable_json(input)).expect("printable strings are strings");
            assert_is_tame("as it is read to be shown", &text(&printable));
            drop(envelope::write(&document));
        }
        Err(error) => assert_says_something(&error),
    }
}

impl Door for SuiteDocuments {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let seed = change::one_of(&self.0, random);
        change::json(seed, random).to_string().into_bytes()
    }

    fn try_input(&self, input: &[u8]) {
        let style = Style { columns: 80, has_colour: false };
        try_suite::<ab::Comparison>(input, |report| report.text(Shown::whole(style)));
        try_suite::<study::StudyReport>(input, |report| report.text(Shown::whole(style)));
        try_suite::<assess::Assessment>(input, |report| report.text(Shown::whole(style)));
        try_suite::<workload::Outcome>(input, |report| report.text(Shown::whole(style)));
        try_suite::<find_max::HighestRate>(input, |report| report.text(Shown::whole(style)));
        try_suite::<beside::BesideReport>(input, |report| report.text(Shown::whole(style)) + &report.csv());
        try_suite::<sweep::SweepReport>(input, |report| report.text(Shown::whole(style)) + &report.csv());
        try_suite::<sustain::SustainReport>(input, |report| report.text(Shown::whole(style)) + &report.csv());
        try_suite::<pts::PtsReport>(input, |report| report.text(Shown::whole(style)) + &report.csv());
        try_suite::<mark::MarkReport>(input, |report| report.text(Shown::whole(style)));
        try_suite::<truespd::selfcost::CostReport>(input, |_| String::new());
    }
}

/// Lines of `--events` and of an exported history.
pub struct Lines(Vec<Value>);

impl Lines {
    pub fn new() -> Self {
        let progress = r#"{"time":"2026-11-24T10:00:00Z","event":"progress","phase":"measurement","time_span":1,"time_spans":1,
            "elapsed_s":11.0,"left_s":1.0,"ios":1,"bytes":1,"iops":1.0,"disks":[{"name":"a","reads_per_s":1.0,
            "read_bytes_per_s":1.0,"writes_per_s":1.0,"write_bytes_per_s":1.0,"in_flight_mean":1.0}]}"#;
        let result = r#"{"time":"2026-11-24T10:00:00Z","event":"result","verdict":"suspect","findings":[{"rule":"steal",
            "grade":"suspect","says":"x"}],"time_spans":[]}"#;
        let document = "{}".to_string();
        let exported =
            ExportedLine::of_new(document, Facts { host: "a".into(), ..Facts::default() }, 1).text();
        Lines([progress, result, &exported].map(|line| serde_json::from_str(line).expect("JSON")).to_vec())
    }
}

impl Door for Lines {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        change::json(change::one_of(&self.0, random), random).to_string().into_bytes()
    }

    fn try_input(&self, input: &[u8]) {
        let text = String::from_utf8_lossy(input);
        match Heard::read(&text) {
            Ok(heard) => assert!(!heard.happened.line().contains("\\u001b")),
            Err(error) => assert_says_something(&error),
        }
        match ExportedLine::read(input) {
            Ok(line) => assert_is_tame("a line", &line.text()),
            Err(error) => assert_says_something(&error),
        }
    }
}

pub struct Presets {
    toml: Vec<String>,
    xml: Vec<String>,
}

impl Presets {
    pub fn new() -> Self {
        Presets { toml: texts("profiles", ".toml", 16 << 10), xml: texts("profiles", ".xml", 16 << 10) }
    }
}

impl Door for Presets {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let seeds = if random.below(4) > 0 { &self.toml } else { &self.xml };
        change::text(change::one_of(seeds, random), seeds, random)
    }

    fn try_input(&self, input: &[u8]) {
        let text = String::from_utf8_lossy(input);
        for form in [Form::Toml, Form::Xml] {
            let size = |text: &str| Ok(text.len() as u64 * 4096);
            if let Err(refusal) = Preset::read(form, &text, size) {
                assert_is_a_message(&refusal.to_string());
            }
        }
    }
}

/// What the kernel lists, as single files.
pub struct KernelTexts(Vec<String>);

impl KernelTexts {
    pub fn new() -> Self {
        KernelTexts(vec![
            "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n30 1 8:2 / / rw - xfs /dev/sda2 rw\n".into(),
            "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/sda2                               partition\t8388604\t\t0\t\t-2\n".into(),
            "   15384     2141   743456     6712    10210    11332   401272    14260        0     9872    21012        0        0        0        0     1200       40\n".into(),
            "cpu  10132153 290696 3084719 46828483 16683 0 25195 0 175628 0\ncpu0 1393280 32966 572056 13343292 6130 0 17875 0 23933 0\nintr 1 2\n".into(),
            "some avg10=0.00 avg60=0.12 avg300=0.04 total=92378\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=123\n".into(),
            "MemTotal:       24689112 kB\nMemAvailable:   23000000 kB\nDirty:               12 kB\nHugepagesize:       2048 kB\n".into(),
            "device f:/ mounted on /f with fstype nfs4 statvers=1.1\n\tbytes:\t1 2 3 4 5 6 7 8\n\txprt:\ttcp 0 0\n\t        READ: 5 7 1 9 2 1 2 3 0\n".into(),
            "Operations (MIDs): 0\n\n1) \\\\s\\x\nSMBs: 9\nBytes read: 1  Bytes written: 2\nReads: 3 total 0 failed\n".into(),
            "version: 8.4.11 (api:1/proto:86-101)\n\n 0: cs:Connected ro:Primary/Secondary ds:UpToDate/DUnknown C r-----\n    ns:1 nr:0\n".into(),
            "0-3,8,10-11\n".into(),
            "latency=80us,jitter=10us,cpu=100ns,write=20us,seed=5".into(),
        ])
    }
}

impl Door for KernelTexts {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        change::text(change::one_of(&self.0, random), &self.0, random)
    }

    fn try_input(&self, input: &[u8]) {
        let text = String::from_utf8_lossy(input);
        drop((mounts::parse_mountinfo(input), mounts::parse_swaps(input)));
        let _ = (diskstat::parse(&text), limits::parse_stalls(&text), limits::parse_averages(&text));
        drop((fileserver::parse_nfs(input), fileserver::parse_smb(&text)));
        drop(chain::parse_drbd(&text, 0, None).map(|replica| (replica.faults(), replica.nodes_words())));
        drop((limits::parse_meminfo(&text), topology::parse_cpu_list(&text)));
        let _ = topology::parse_processor_times(&text).map_err(|error| assert_says_something(&error));
        let sim = engine::find("sim").expect("the simulated engine");
        let _ = engine::check_parameters(sim, &text).map_err(|error| assert_says_something(&error));
    }
}

/// A whole machine in which files say something else.
pub struct MachineTree {
    tree: Tree,
    files: Vec<(PathBuf, String)>,
    devices: Vec<String>,
}

impl MachineTree {
    pub fn new() -> Self {
        let tree = Tree::load("lvm-on-md");
        let mut files = Vec::new();
        for root in [&tree.roots.proc, &tree.roots.sys] {
            gather(root, &mut files);
        }
        files.sort();
        let class = fs::read_dir(tree.roots.sys.join("class/block")).expect("block devices");
        let mut devices: Vec<String> =
            class.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        devices.sort();
        MachineTree { tree, files, devices }
    }
}

fn gather(folder: &Path, files: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => gather(&entry.path(), files),
            Ok(kind) if kind.is_file() => {
                files.extend(fs::read_to_string(entry.path()).ok().map(|text| (entry.path(), text)));
            }
            _ => {}
        }
    }
}

impl Door for MachineTree {
    /// Number of the file, its text.
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let at = random.below(self.files.len() as u64) as usize;
        // The number of a device is what the tree is looked up by.
        let at = if self.files[at].0.ends_with("dev") { (at + 1) % self.files.len() } else { at };
        let others = [self.files[(at + 7) % self.files.len()].1.clone()];
        let mut input = (at as u32).to_le_bytes().to_vec();
        input.extend(change::text(&self.files[at].1, &others, random));
        input
    }

    fn try_input(&self, input: &[u8]) {
        let (number, text) = input.split_at(4);
        let (path, good) = &self.files[u32::from_le_bytes(number.try_into().expect("four bytes")) as usize];
        if path.ends_with("dev") {
            return;
        }
        fs::write(path, text).expect("a file of the tree");
        for device in &self.devices {
            let layers = self.tree.device(device);
            drop(limits::in_force(&truespd_platform::machine::chain::numbers(&layers), &self.tree.roots));
            drop(outline(&layers));
        }
        drop(topology::Topology::read(&self.tree.roots.sys));
        fs::write(path, good).expect("a file of the tree");
    }
}
