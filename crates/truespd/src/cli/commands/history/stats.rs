//! `truespd history stats`.

use clap::Args;
use serde::Serialize;

use super::at::{At, Done};
use super::filter::FilterArguments;
use crate::cli::commands::values::{metric, one_of};
use crate::cli::show::history::{standing, statistics};
use crate::history::{Environment, Group, Journal, Rank};
use diskspd::console::say_line;
use diskspd::program::{ExitCode, print};
use truespd_core::fault::{Failure, FailureKind, Refusal};
use truespd_core::result::json::indented;
use truespd_core::result::metrics::Metric;

/// Show how a figure is distributed over the results of each environment, and where one of them stands
///
/// Each profile is told apart: results of different tests are no distribution. Each test of a suite counts by
/// itself, with the median of its runs. Runs of several time spans have no such figures.
#[derive(Debug, Args)]
pub(crate) struct StatsArguments {
    /// What makes an environment: host, model, firmware, target, label, revision
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "host,model", value_parser = environment)]
    by: Vec<Environment>,
    /// Figure: iops, bytes, latency (mean), p50, p99, ...
    #[arg(long, default_value = "iops", value_parser = metric)]
    metric: Metric,
    /// Tell where this result stands among the others with its profile in its environment
    #[arg(long, value_name = "DOCUMENT")]
    of: Option<String>,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: FilterArguments,
}

/// For programs.
#[derive(Debug, Serialize)]
struct Told<'t> {
    metric: &'static str,
    by: &'t [Environment],
    groups: &'t [Group],
    #[serde(skip_serializing_if = "<[Rank]>::is_empty")]
    of: &'t [Rank],
}

fn environment(text: &str) -> Result<Environment, Refusal> {
    one_of(text, Environment::ALL)
}

pub(super) fn run(at: &At, arguments: &StatsArguments) -> Done {
    let (by, metric) = (&arguments.by, arguments.metric);
    let store = match &arguments.of {
        Some(word) => Some(at.to_find(word)?),
        None => at.to_read()?,
    };
    let mut groups = match &store {
        Some(store) => store.statistics(&arguments.which.filter(), by, metric).map_err(Refusal::from)?,
        None => Vec::new(),
    };
    let mut ranks = Vec::new();
    if let (Some(word), Some(store)) = (&arguments.of, &store) {
        let entry = store.find_one(word).map_err(Refusal::from)?;
        ranks = Rank::of(&entry, &groups, metric);
        if ranks.is_empty() {
            let words = format!(
                "{} has no figure for {}, or is none of these results",
                entry.id,
                metric.words(false)
            );
            return Err(Failure::new(FailureKind::Figure, words).into());
        }
        groups.retain(|group| group.has(&entry));
    }
    if arguments.json {
        let told = Told { metric: metric.id(), by, groups: &groups, of: &ranks };
        return Ok(print(&indented(&told), ExitCode::Done));
    }
    if let Some(store) = &store {
        match store.journal() {
            Journal::WriteAhead => say_line(format_args!("history: {}", store.path().display())),
            unusual => {
                say_line(format_args!("history: {}; journal: {}", store.path().display(), unusual.words()))
            }
        }
    } else {
        say_line(format_args!("{}", at.nothing_yet()));
    }
    let mut text = statistics(&groups, by, metric);
    text.push_str(&standing(&ranks, metric));
    Ok(print(&text, ExitCode::Done))
}
