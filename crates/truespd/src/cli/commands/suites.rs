//! The table of suites: what each adds to `truespd`. Subcommands, their help and `truespd schema` come from its rows.

use crate::cli::commands::ab::AbArguments;
use crate::cli::commands::assess::AssessArguments;
use crate::cli::commands::find_max::FindMaxArguments;
use crate::cli::commands::mark::MarkArguments;
use crate::cli::commands::study::StudyArguments;
use crate::cli::commands::suite::{MaybeStored, Suite, run, stored};
use crate::cli::commands::sweep::SweepArguments;
use crate::cli::commands::workload::WorkloadArguments;
use crate::cli::show::series::Throughput;
use crate::series::SeriesRanks;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use std::ffi::OsString;
use std::sync::Arc;
use truespd_core::fault::ExitCode;
use truespd_core::result::envelope::{self, DocumentKind};

/// All suites, in the order of the help.
pub(crate) static TABLE: [Row; 7] = [
    Row::of::<MarkArguments>(),
    Row::of::<AssessArguments>(),
    Row::of::<WorkloadArguments>(),
    Row::of::<FindMaxArguments>(),
    Row::of::<SweepArguments>(),
    Row::of::<AbArguments>(),
    Row::of::<StudyArguments>(),
];

/// Runs a suite with its options, as one of several ranks in a cluster run.
type RunSuite = fn(&ArgMatches, Option<Arc<dyn SeriesRanks>>) -> Result<ExitCode, Error>;

#[derive(Debug)]
pub(crate) struct Row {
    /// Its subcommand, and the name of its kind of documents.
    pub name: &'static str,
    pub schema: fn() -> String,
    /// What the member `format` of its documents says.
    pub format: &'static str,
    pub stored: fn(&[u8]) -> MaybeStored,
    /// How its tables write bytes per second.
    pub throughput: Throughput,
    /// Words as people write them to words that the parser takes.
    pub words: fn(&[OsString]) -> Vec<OsString>,
    options: fn(Command) -> Command,
    run: RunSuite,
}

impl Row {
    const fn of<S: Suite + 'static>() -> Self {
        Row {
            name: S::NAME,
            schema: envelope::schema::<S::Document>,
            format: <S::Document as DocumentKind>::FORMAT,
            stored: stored::<S::Document>,
            throughput: S::THROUGHPUT,
            words: S::words,
            options: <S as Args>::augment_args,
            run: |matches, ranks| Ok(run(&S::from_arg_matches(matches)?, ranks)),
        }
    }

    /// Its subcommand with its options.
    pub fn command(&self) -> Command {
        (self.options)(Command::new(self.name))
    }

    /// The suite whose documents have this format.
    pub fn of_format(format: &str) -> Option<&'static Self> {
        TABLE.iter().find(|row| row.format == format)
    }

    /// The suite of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TABLE.iter().find(|row| row.name == name)
    }
}

/// A suite with its options.
#[derive(Debug)]
pub(crate) struct Chosen {
    row: &'static Row,
    matches: ArgMatches,
}

impl Chosen {
    /// Runs it, as one of several ranks in a cluster run; the error is one of its options.
    pub fn run(&self, ranks: Option<Arc<dyn SeriesRanks>>) -> Result<ExitCode, Error> {
        (self.row.run)(&self.matches, ranks)
    }
}

impl FromArgMatches for Chosen {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        if let Some((name, matches)) = matches.subcommand()
            && let Some(row) = Row::named(name)
        {
            return Ok(Chosen { row, matches: matches.clone() });
        }
        Err(Error::new(ErrorKind::InvalidSubcommand))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Chosen {
    fn augment_subcommands(command: Command) -> Command {
        TABLE.iter().fold(command, |command, row| command.subcommand(row.command()))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Row::named(name).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_suite_has_a_name_and_a_schema_of_its_own() {
        for row in &TABLE {
            let found = Row::named(row.name).expect("by its name");
            assert!(std::ptr::eq(found, row), "{} is there once", row.name);
            assert!((row.schema)().contains(&format!("\"truespd-{}\"", row.name)), "{}", row.name);
        }
        assert_eq!(<MarkArguments as Suite>::Document::FORMAT, "truespd-mark");
    }
}
