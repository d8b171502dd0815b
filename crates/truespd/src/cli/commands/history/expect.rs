//! `truespd history expect`: what a run will probably show, by the results that are kept.

use crate::ask::values::metric;
use crate::cli::commands::history::find::{CommandResult, HistoryFile};
use crate::history::{Expectation, Likeness, metric_of};
use crate::report::words_of_test;
use clap::Args;
use diskspd::grammar::parse::{Invocation, parse_os};
use diskspd::request::Request;
use serde::Serialize;
use std::ffi::OsString;
use std::io;
use truespd_core::load;
use truespd_core::load::facts;
use truespd_core::result::json::indented;
use truespd_core::result::metrics::Metric;
use truespd_core::result::{Document, Evidence, Grade, Layer, Measured, TargetFacts, TimeSpanResult};
use truespd_front::console::say_line;
use truespd_front::program::{Program, load_profile, print};
use truespd_front::show::fitting_stdout;
use truespd_platform::fault::{ExitCode, Fault, Refusal, RefusalKind};
use truespd_platform::machine::chain;
use truespd_platform::machine::host::uptime_ms;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{self, ReadFlags, resolve};
use truespd_platform::sys::program::terminal_columns;
use truespd_platform::text::printable;
use truespd_platform::text::table::{Column, Room, fitted};

/// Tell what a run would probably show here, by the kept results of the same test
///
/// Nothing runs, and the target is only opened for reading. Results count by how like they are: those of this disk
/// under this kernel first, then of this disk, of its model, and of any disk. Only certified results count.
#[derive(Debug, Args)]
pub(crate) struct ExpectArguments {
    /// Figure: iops, bytes, latency (mean), p50, p99, ... [default: iops, or p99 where -g sets the rate]
    #[arg(long, value_parser = metric)]
    metric: Option<Metric>,
    /// Count results that are not certified, too
    #[arg(long)]
    all: bool,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Options and targets, as for `truespd run`. The targets must exist
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    words: Vec<OsString>,
}

/// What is known, as JSON.
#[derive(Debug, Serialize)]
struct ExpectationDocument<'e> {
    metric: &'static str,
    test: &'e str,
    place: &'e str,
    /// The most like first; each holds those before it.
    expectations: &'e [Expectation],
}

pub(super) fn expect(file: &HistoryFile, arguments: &ExpectArguments) -> CommandResult {
    let document = asked(&arguments.words)?;
    let metric = arguments.metric.unwrap_or_else(|| metric_of(&document));
    let grade = (!arguments.all).then_some(Grade::Certified);
    let expectations = match file.open_to_read()? {
        Some(store) => store.expectations(&document, metric, grade)?,
        None => Vec::new(),
    };
    let (test, place) = (words_of_test(&document), place_words(&document));
    if arguments.json {
        let (test, place) = (test.as_str(), place.as_str());
        let known = ExpectationDocument { metric: metric.id(), test, place, expectations: &expectations };
        return Ok(print(&indented(&known), ExitCode::Done));
    }
    say_line(format_args!("{}", printable(&test)));
    say_line(format_args!("{}", printable(&place)));
    let text = if expectations.is_empty() {
        let counted = if arguments.all { "" } else { "certified " };
        format!("nothing is known: no {counted}result of this test is kept\n")
    } else {
        format!("{}\n{}", answer(&expectations, metric), table(&expectations, metric))
    };
    Ok(print(&fitting_stdout(text), ExitCode::Done))
}

/// A document as the run would make it, without figures.
fn asked(words: &[OsString]) -> Result<Document, Fault> {
    let program = Program { name: "truespd run".into() };
    let Invocation::Run(request) = parse_os(words, &program.name, &uptime_ms)? else {
        return Err(Refusal::command_line("these options run nothing")
            .hint("give the options and the target of a run")
            .into());
    };
    let mut request: Request = *request;
    load_profile(&program, words, &mut request)?;
    let engine = request.options.engine.as_ref().map_or(String::new(), |engine| engine.name.clone());
    let roots = Roots::default();
    let mut time_spans = Vec::new();
    for span in &request.profile.time_spans {
        let mut targets = Vec::new();
        for target in &span.targets {
            targets.push(facts_of(&target.path, &roots)?);
        }
        let evidence = Evidence { targets, ..Evidence::default() };
        let measured = Measured { evidence, engine: engine.clone(), ..Measured::default() };
        time_spans.push(TimeSpanResult::Measured(Box::new(measured)));
    }
    let system = load::system().map_err(|error| Refusal::new(RefusalKind::Machine, error.to_string()))?;
    Ok(Document { profile: request.profile, system, time_spans, ..Document::default() })
}

fn facts_of(typed: &str, roots: &Roots) -> Result<TargetFacts, Refusal> {
    let path = resolve(typed, roots)?.path;
    if !path.exists() {
        let message = format!("'{}' does not exist, so its disk is not known", printable(typed));
        let hint = "name a file or device that exists; any file of the same file system will do";
        return Err(Refusal::new(RefusalKind::Input, message).on(typed).hint(hint));
    }
    let opened = storage::open(&path, ReadFlags::CACHED, roots)?;
    let chain = chain::of(&opened.file, &opened.facts, roots);
    Ok(facts::of_target(typed, &opened.facts.path, &opened.facts, &chain))
}

/// `on vda (KIOXIA KCD61LUL3T84), ext4, kernel 6.1.0-28-amd64, host db-3`.
fn place_words(document: &Document) -> String {
    let mut words = Vec::new();
    for target in document.measured().flat_map(|measured| &measured.evidence.targets) {
        words.extend(target.layers.iter().filter(|layer| layer.is_lowest()).map(disk_words));
        words.extend(target.filesystem.clone());
    }
    words.dedup();
    words.push(format!("kernel {}", document.system.kernel_release));
    words.push(format!("host {}", document.host_words()));
    format!("on {}", words.join(", "))
}

fn disk_words(disk: &Layer) -> String {
    match &disk.model {
        Some(model) => format!("{} ({model})", disk.name),
        None => disk.name.clone(),
    }
}

/// The expectation of the most like results of which there are enough, or that there are too few.
fn answer(expectations: &[Expectation], metric: Metric) -> String {
    let enough = expectations.iter().find(|one| one.usual.is_some());
    let Some((one, [low, high])) = enough.and_then(|one| Some((one, one.usual?))) else {
        return "too few results for an expectation; it takes 19 of one likeness\n".to_string();
    };
    let mut words = format!(
        "expect {} in nine of ten runs; known from {} runs of {}\n",
        metric.show_range(low, high),
        one.runs,
        one.likeness.words()
    );
    if one.likeness == Likeness::Any {
        words += "these are results of other disks: yours may be quite another one\n";
    }
    words
}

fn table(expectations: &[Expectation], metric: Metric) -> String {
    let mut columns = vec![
        Column::words("results of", Vec::new(), Room::Stays),
        Column::numbers("runs", Vec::new(), Room::Stays),
        Column::numbers("hosts", Vec::new(), Room::Goes(4)),
        Column::numbers("median", Vec::new(), Room::Stays),
        Column::numbers("its 95 % interval", Vec::new(), Room::Goes(2)),
        Column::numbers("nine of ten runs", Vec::new(), Room::Goes(1)),
        Column::numbers("all runs", Vec::new(), Room::Goes(3)),
    ];
    for one in expectations {
        let cells = [
            one.likeness.words().to_string(),
            one.runs.to_string(),
            one.hosts.to_string(),
            metric.show(one.median),
            range(metric, one.median_interval),
            range(metric, one.usual),
            range(metric, Some([one.min, one.max])),
        ];
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.cells.push(cell);
        }
    }
    fitted(columns, terminal_columns(io::stdout()))
}

fn range(metric: Metric, range: Option<[f64; 2]>) -> String {
    match range {
        Some([low, high]) => format!("{} to {}", metric.show(low), metric.show(high)),
        None => "-".to_string(),
    }
}
