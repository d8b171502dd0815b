//! One page over many kept results: a table of them for the script, which draws and filters in the browser, and a
//! summary of each test that needs no script.
//!
//! Words stand once in the table, and rows name them by number. The script writes them as text only, and they are
//! printable already: nothing in them is markup, and nothing hides.

use super::embed;
use super::embed::{BEGIN, HISTORY};
use super::{STYLE, policy, word};
use crate::answer::html::{self, data, escaped, latency_words, note, paragraph};
use crate::answer::table::{Cell, Table};
use serde_json::{Map, Number, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use truespd_core::result::Grade;
use truespd_core::result::hosts::Spread;
use truespd_core::result::metrics::{Better, Metric, Unit};
use truespd_platform::text::{bytes, grouped, number, printable, rate, start_of};

const HISTORY_STYLE: &str = include_str!("history.css");
const HISTORY_SCRIPT: &str = concat!(include_str!("unpack.js"), include_str!("history.js"));

/// A result of a run, or one test of a suite: what counts once in a distribution.
#[derive(Debug, Clone, Default)]
pub struct KeptResult {
    pub id: String,
    /// It can be read, and so goes with the page.
    pub has_document: bool,
    /// Which test it is: a place in [`Kept::tests`].
    pub test: usize,
    /// When the run began, seconds since 1970 UTC, as the clock of its host said.
    pub time_s: i64,
    pub machine: Machine,
    pub targets: String,
    pub device: String,
    pub model: String,
    pub firmware: String,
    pub kernel: String,
    pub filesystem: String,
    /// What was set, with names.
    pub settings: Vec<(&'static str, String)>,
    pub command: String,
    pub label: String,
    pub note: String,
    pub tags: String,
    pub grade: Option<Grade>,
    /// By the id of their metric.
    pub figures: BTreeMap<String, f64>,
}

/// A host, as far as a document tells which one it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Machine {
    pub name: String,
    /// What the firmware calls it: `Amazon EC2 m5.large`.
    pub model: String,
    pub processor: String,
    /// 0 where nothing is told.
    pub processors: usize,
    /// Memory in GiB; 0 where nothing is told. What a kernel takes for itself differs by less.
    pub memory_gib: u64,
}

/// A kind of test: results of different ones are no distribution.
#[derive(Debug, Clone, Default)]
pub struct KeptTest {
    /// What it does, in words.
    pub words: String,
    /// Command line of the newest result.
    pub command: String,
    pub profile: String,
}

#[derive(Debug, Clone)]
pub enum Documents {
    /// In the page: for each an id and what [`packed`] made of it.
    Inside(Vec<(String, String)>),
    /// In this folder beside the page, each as `ID.json`.
    Beside(String),
    Kept,
}

#[derive(Debug, Clone)]
pub struct Kept {
    pub results: Vec<KeptResult>,
    pub tests: Vec<KeptTest>,
    pub documents: Documents,
    pub unmeasured: usize,
    /// The filters of the command line, as typed; empty when there are none.
    pub filters: String,
    /// When the page is made, seconds since 1970 UTC.
    pub made_unix_s: i64,
}

/// A document as the page holds it.
pub fn packed(document: &[u8]) -> String {
    html::packed(document)
}

/// Columns that a word of the table has at most.
const WORD_COLUMNS: usize = 240;
/// Tests in the summary at most.
const TESTS_MAX: usize = 100;

#[derive(Default)]
struct Words {
    known: HashMap<String, usize>,
    all: Vec<String>,
}

impl Words {
    /// The number of a word, which is shortened and printable.
    fn number(&mut self, word: &str) -> usize {
        if let Some(number) = self.known.get(word) {
            return *number;
        }
        let number = self.all.len();
        self.all.push(start_of(&printable(word), WORD_COLUMNS));
        self.known.insert(word.to_string(), number);
        number
    }
}

/// The page over kept results.
pub fn page(kept: &Kept) -> String {
    let hosts = machine_names(&kept.results);
    let names: BTreeSet<&String> = hosts.values().collect();
    let title = format!(
        "{} of {}, {}",
        counted(kept.results.len(), "result"),
        counted(names.len(), "host"),
        counted(kept.tests.len(), "test")
    );
    let mut documents = String::new();
    if let Documents::Inside(all) = &kept.documents {
        for (_, packed) in all {
            documents += &embed::packed_element(packed);
        }
    }
    let about = if kept.filters.is_empty() {
        String::new()
    } else {
        paragraph("subtitle", &format!("Only results with {}.", kept.filters))
    };
    format!(
        "{BEGIN}<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{policy}\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} - TrueSpd</title>\n<style>\n{STYLE}{HISTORY_STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>{HISTORY}<h1>{title}</h1>{about}</header>\n\
         <div id=\"table\"{table}></div>\n<div id=\"look\"></div>\n\
         <section id=\"all\"><h2>All tests at a glance</h2>\n{summary}</section>\n\
         <footer>Written by TrueSpd {version}. {where_documents}</footer>\n\
         </main>\n{documents}<script>{HISTORY_SCRIPT}</script>\n</body>\n</html>\n",
        policy = policy(HISTORY_SCRIPT),
        title = escaped(&title),
        table = data("results", &table(kept, &hosts).to_string()),
        summary = summary(kept, &hosts),
        version = env!("CARGO_PKG_VERSION"),
        where_documents = where_documents(kept),
    )
}

fn counted(count: usize, one: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {one}{s}", grouped(count))
}

/// Where a reader finds the documents; HTML.
fn where_documents(kept: &Kept) -> String {
    match &kept.documents {
        Documents::Inside(_) => {
            "The documents are in this page: <code>truespd show PAGE#1</code> reads the first, and \
                                 each result below names its own."
                .to_string()
        }
        Documents::Beside(folder) => format!(
            "The documents are in the folder <code>{}</code> beside this page: send both.",
            escaped(folder)
        ),
        Documents::Kept => {
            "The documents are not with this page: <code>truespd history show ID</code> prints one."
                .to_string()
        }
    }
}

/// What each machine is called. Machines of one name that their documents tell apart get what does.
fn machine_names(results: &[KeptResult]) -> BTreeMap<&Machine, String> {
    let mut of_name: BTreeMap<&str, BTreeSet<&Machine>> = BTreeMap::new();
    for result in results {
        of_name.entry(&result.machine.name).or_default().insert(&result.machine);
    }
    let mut names = BTreeMap::new();
    for (name, machines) in of_name {
        let told: Vec<&&Machine> = machines.iter().filter(|machine| machine.is_told()).collect();
        for machine in &machines {
            let shown = match (told.len(), machine.is_told()) {
                (0 | 1, _) => name.to_string(),
                (_, true) => format!("{name} ({})", machine.words()),
                (_, false) => format!("{name} (machine not told)"),
            };
            names.insert(*machine, if shown.is_empty() { "not told".to_string() } else { shown });
        }
    }
    names
}

impl Machine {
    fn is_told(&self) -> bool {
        self.processors > 0 || self.memory_gib > 0 || !self.processor.is_empty() || !self.model.is_empty()
    }

    /// `Amazon EC2 m5.large, AMD EPYC, 8 processors, 16 GiB`.
    fn words(&self) -> String {
        let mut words = Vec::new();
        for told in [&self.model, &self.processor] {
            if !told.is_empty() {
                words.push(told.clone());
            }
        }
        if self.processors > 0 {
            words.push(counted(self.processors, "processor"));
        }
        if self.memory_gib > 0 {
            words.push(bytes((self.memory_gib << 30) as f64));
        }
        words.join(", ")
    }
}

/// A figure that can be drawn: documents from elsewhere may hold anything.
fn drawable(value: Option<&f64>) -> Option<f64> {
    value.copied().filter(|value| value.is_finite() && *value > 0.0)
}

/// Digits that a figure of the table has: more than a picture shows.
fn short(value: f64) -> Value {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    // Whole numbers without a point take less room.
    if rounded.fract() == 0.0 && rounded < 1e15 {
        return json!(rounded as u64);
    }
    Number::from_f64(rounded).map_or(Value::Null, Value::Number)
}

/// The table of the script: lists, each with one value for each result.
fn table(kept: &Kept, hosts: &BTreeMap<&Machine, String>) -> Value {
    let mut words = Words::default();
    let mut places: HashMap<&str, usize> = HashMap::new();
    if let Documents::Inside(all) = &kept.documents {
        places.extend(all.iter().enumerate().map(|(place, (id, _))| (id.as_str(), place + 1)));
    }
    let mut columns: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for result in &kept.results {
        let host = hosts.get(&result.machine).map_or("", String::as_str);
        for (name, text) in [
            ("host", host),
            ("targets", &result.targets),
            ("device", &result.device),
            ("model", &result.model),
            ("firmware", &result.firmware),
            ("kernel", &result.kernel),
            ("filesystem", &result.filesystem),
            ("machine", &result.machine.model),
            ("command", &result.command),
            ("label", &result.label),
            ("note", &result.note),
            ("tags", &result.tags),
        ] {
            columns.entry(name).or_default().push(json!(words.number(text)));
        }
        let mut settings = Vec::new();
        for (name, value) in &result.settings {
            settings.extend([words.number(name), words.number(value)]);
        }
        let grade = result.grade.map_or(Grade::ALL.len(), |grade| grade as usize);
        // Of a folder any number says that it is there.
        let document = match &kept.documents {
            Documents::Inside(_) => places.get(result.id.as_str()).copied(),
            Documents::Beside(_) => result.has_document.then_some(1),
            Documents::Kept => None,
        };
        for (name, value) in [
            ("id", json!(printable(&result.id))),
            ("test", json!(result.test)),
            ("time", json!(result.time_s)),
            ("grade", json!(grade)),
            ("settings", json!(settings)),
            ("document", json!(document)),
        ] {
            columns.entry(name).or_default().push(value);
        }
    }
    let mut metrics = Vec::new();
    let mut figures = Map::new();
    for metric in Metric::all() {
        let column: Vec<Option<f64>> =
            kept.results.iter().map(|result| drawable(result.figures.get(metric.id()))).collect();
        if column.iter().any(Option::is_some) {
            metrics.push(described(metric));
            let column = column.into_iter().map(|value| value.map_or(Value::Null, short)).collect();
            figures.insert(metric.id().to_string(), column);
        }
    }
    let mut tests = Vec::new();
    for test in &kept.tests {
        let [name, command] =
            [&test.words, &test.command].map(|text| start_of(&printable(text), WORD_COLUMNS));
        tests.push(json!({"words": name, "command": command, "profile": printable(&test.profile)}));
    }
    let folder = match &kept.documents {
        Documents::Beside(folder) => Some(folder),
        Documents::Inside(_) | Documents::Kept => None,
    };
    json!({
        "made": kept.made_unix_s,
        "folder": folder,
        "grades": Grade::ALL.map(Grade::word),
        "metrics": metrics,
        "tests": tests,
        "columns": columns,
        "figures": figures,
        "words": words.all,
    })
}

fn described(metric: Metric) -> Value {
    let unit = match metric.unit() {
        Unit::PerSecond => "per second",
        Unit::BytesPerSecond => "bytes",
        Unit::Nanoseconds => "ns",
    };
    json!({
        "id": metric.id(),
        "words": metric.words(false),
        "unit": unit,
        "higher": metric.better() == Better::Higher,
    })
}

/// A row for each test: how many results, and the medians of the certified ones.
fn summary(kept: &Kept, hosts: &BTreeMap<&Machine, String>) -> String {
    let mut of_test: Vec<Vec<&KeptResult>> = vec![Vec::new(); kept.tests.len()];
    for result in &kept.results {
        if let Some(results) = of_test.get_mut(result.test) {
            results.push(result);
        }
    }
    let certified = word(Some(Grade::Certified));
    let head = ["test", "results", certified, "hosts", "IOPS", "throughput", "latency p99"];
    let mut table = Table::new("Medians of the certified results of each test", head);
    for (test, results) in kept.tests.iter().zip(&of_test).take(TESTS_MAX) {
        let mut counted = results.clone();
        counted.retain(|result| result.grade == Some(Grade::Certified));
        let names: BTreeSet<_> = results.iter().filter_map(|result| hosts.get(&result.machine)).collect();
        let mut cells = [results.len(), counted.len(), names.len()].map(grouped).map(Cell::Text).to_vec();
        cells.push(Cell::figure(median(&counted, Metric::IOPS), number));
        cells.push(Cell::figure(median(&counted, Metric::BYTES), rate));
        cells.push(Cell::figure(median(&counted, Metric::P99), latency_words));
        table.push(start_of(&test.words, WORD_COLUMNS), cells);
    }
    let mut out = table.html();
    if kept.tests.len() > TESTS_MAX {
        let left = kept.tests.len() - TESTS_MAX;
        out += &note(&format!("{} more tests have fewer results.", grouped(left)));
    }
    if kept.unmeasured > 0 {
        let left = counted(kept.unmeasured, "kept document");
        out += &note(&format!(
            "{left} without figures not shown: runs that failed or have several time spans, and suites of earlier \
             versions."
        ));
    }
    out
}

fn median(results: &[&KeptResult], metric: Metric) -> Option<f64> {
    let values = results.iter().filter_map(|result| drawable(result.figures.get(metric.id())));
    Spread::of(values).map(|spread| spread.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(host: &str, memory_gib: u64, iops: f64) -> KeptResult {
        KeptResult {
            id: "3f7k2q1".into(),
            machine: Machine { name: host.into(), memory_gib, ..Machine::default() },
            grade: Some(Grade::Certified),
            figures: BTreeMap::from([("iops".to_string(), iops)]),
            ..KeptResult::default()
        }
    }

    fn kept(results: Vec<KeptResult>) -> Kept {
        let tests = vec![KeptTest { words: "4 KiB random reads".into(), ..KeptTest::default() }];
        let documents = Documents::Kept;
        Kept { results, tests, documents, unmeasured: 0, filters: String::new(), made_unix_s: 5 }
    }

    #[test]
    fn machines_of_one_name_are_told_apart_where_documents_tell() {
        let all = [result("a", 16, 1.0), result("a", 64, 1.0), result("a", 0, 1.0), result("b", 8, 1.0)];
        let names: Vec<String> = machine_names(&all).into_values().collect();
        assert_eq!(names, ["a (machine not told)", "a (16 GiB)", "a (64 GiB)", "b"]);
        let names: Vec<String> = machine_names(&all[1..3]).into_values().collect();
        assert_eq!(names, ["a", "a"], "nothing tells that there are two");
        assert_eq!(machine_names(&[result("", 0, 1.0)]).into_values().next().as_deref(), Some("not told"));
    }

    #[test]
    fn figures_that_cannot_be_drawn_are_none() {
        let bad = [f64::NAN, f64::INFINITY, -5.0, 0.0];
        let results: Vec<_> = bad.into_iter().chain([1e300, 42.0]).map(|iops| result("a", 0, iops)).collect();
        let kept = kept(results);
        let table = table(&kept, &machine_names(&kept.results));
        assert_eq!(table["figures"]["iops"], json!([null, null, null, null, 1e300, 42]));
        assert_eq!(table["metrics"].as_array().map(Vec::len), Some(1), "those that nobody has are left out");
        assert_eq!(short(123_456.789), json!(123_457));
        assert_eq!(short(0.012_345_678), json!(0.012_345_7));
    }

    #[test]
    fn words_stand_once_and_hide_nothing() {
        let mut hostile = result("a\u{202e}b", 0, 1.0);
        hostile.label = format!("</script><script>{}", "x".repeat(1000));
        let kept = kept(vec![hostile.clone(), hostile]);
        let table = table(&kept, &machine_names(&kept.results));
        let words: Vec<&str> = table["words"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
        assert!(words.contains(&"a\\u{202e}b"), "{words:?}");
        assert!(words.iter().all(|word| word.chars().count() <= WORD_COLUMNS));
        let page = page(&kept);
        assert!(!page.contains("<script>x") && page.matches("<script").count() == 1, "{page}");
    }

    #[test]
    fn a_median_is_that_of_the_certified() {
        let all = [result("a", 0, 10.0), result("a", 0, 30.0), result("a", 0, 20.0), result("a", 0, 40.0)];
        let all: Vec<&KeptResult> = all.iter().collect();
        assert_eq!(median(&all, Metric::IOPS), Some(25.0));
        assert_eq!(median(&all[..3], Metric::IOPS), Some(20.0));
        assert_eq!(median(&[], Metric::IOPS), None);
    }
}
