//! The table of suites: what each adds to `truespd`. Subcommands, their help and `truespd schema` come from its rows.

use crate::ask::ab::options::AbArguments;
use crate::ask::assess::options::AssessArguments;
use crate::ask::beside::options::BesideArguments;
use crate::ask::command::{MaybeStored, Suite, run, stored};
use crate::ask::find_max::options::FindMaxArguments;
use crate::ask::mark::options::MarkArguments;
use crate::ask::pts::options::PtsArguments;
use crate::ask::study::options::StudyArguments;
use crate::ask::sustain::options::SustainArguments;
use crate::ask::sweep::options::SweepArguments;
use crate::ask::workload::options::WorkloadArguments;
use crate::runner::SeriesRanks;
use crate::runner::view::Throughput;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use std::ffi::OsString;
use std::sync::Arc;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::schema;
use truespd_platform::fault::ExitCode;

/// All suites, in the order of the help.
pub(crate) static TABLE: [Row; 10] = [
    Row::of::<MarkArguments>(),
    Row::of::<AssessArguments>(),
    Row::of::<WorkloadArguments>(),
    Row::of::<BesideArguments>().within(<WorkloadArguments as Suite>::NAME),
    Row::of::<FindMaxArguments>(),
    Row::of::<SweepArguments>(),
    Row::of::<SustainArguments>(),
    Row::of::<PtsArguments>(),
    Row::of::<AbArguments>(),
    Row::of::<StudyArguments>(),
];

/// Runs a suite with its options, as one of several ranks in a cluster run.
type RunSuite = fn(&ArgMatches, Option<Arc<dyn SeriesRanks>>) -> Result<ExitCode, Error>;

#[derive(Debug)]
pub(crate) struct Row {
    /// Its subcommand, and the name of its kind of documents.
    pub name: &'static str,
    /// The suite whose subcommand it is; none for one of `truespd` itself.
    within: Option<&'static str>,
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
            within: None,
            schema: schema::of_kind::<S::Document>,
            format: <S::Document as DocumentKind>::FORMAT,
            stored: stored::<S::Document>,
            throughput: S::THROUGHPUT,
            words: S::words,
            options: <S as Args>::augment_args,
            run: |matches, ranks| Ok(run(&S::from_arg_matches(matches)?, ranks)),
        }
    }

    /// As a subcommand of another suite.
    const fn within(mut self, suite: &'static str) -> Self {
        self.within = Some(suite);
        self
    }

    /// What is typed behind `truespd`.
    pub fn typed(&self) -> String {
        self.within.map_or(String::new(), |suite| format!("{suite} ")) + self.name
    }

    /// Its subcommand with its options alone.
    pub fn own_command(&self) -> Command {
        (self.options)(Command::new(self.name))
    }

    /// Its subcommand with its options, and with the suites that are subcommands of it.
    pub fn command(&self) -> Command {
        let mut command = self.own_command();
        for row in TABLE.iter().filter(|row| row.within == Some(self.name)) {
            // Of two words with a meaning, the first one counts: `workload oltp` is no subcommand, whatever follows.
            command = command
                .args_conflicts_with_subcommands(true)
                .disable_help_subcommand(true)
                .subcommand(row.command());
        }
        command
    }

    /// The suite whose documents have this format.
    pub fn of_format(format: &str) -> Option<&'static Self> {
        TABLE.iter().find(|row| row.format == format)
    }

    /// Whether one suite is a subcommand of the other.
    fn is_within(name: &str, suite: &str) -> bool {
        Row::named(name).is_some_and(|row| row.within == Some(suite))
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
    /// Whether it is the suite of this row.
    pub fn is_of(&self, row: &Row) -> bool {
        self.row.name == row.name
    }

    /// What is typed behind `truespd`.
    pub fn typed(&self) -> String {
        self.row.typed()
    }

    /// Runs it, as one of several ranks in a cluster run; the error is one of its options.
    pub fn run(&self, ranks: Option<Arc<dyn SeriesRanks>>) -> Result<ExitCode, Error> {
        (self.row.run)(&self.matches, ranks)
    }
}

impl FromArgMatches for Chosen {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let Some((name, matches)) = matches.subcommand() else {
            return Err(Error::new(ErrorKind::InvalidSubcommand));
        };
        // The suite may have one of its own below it.
        if matches.subcommand().is_some_and(|(below, _)| Row::is_within(below, name)) {
            return Self::from_arg_matches(matches);
        }
        let row = Row::named(name).ok_or_else(|| Error::new(ErrorKind::InvalidSubcommand))?;
        Ok(Chosen { row, matches: matches.clone() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Chosen {
    fn augment_subcommands(command: Command) -> Command {
        let own = TABLE.iter().filter(|row| row.within.is_none());
        own.fold(command, |command, row| command.subcommand(row.command()))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Row::named(name).is_some_and(|row| row.within.is_none())
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
