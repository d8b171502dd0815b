//! Options that say which documents.

use clap::Args;

use super::moment::{Moment, moment};
use crate::cli::commands::keeping::tag;
use crate::cli::commands::suites;
use crate::cli::commands::values::one_of;
use crate::history::Filter;
use truespd_core::fault::Refusal;
use truespd_core::result::Grade;

/// Which documents: those that all of these options name.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which results (all of these)")]
pub(super) struct FilterArguments {
    /// Of this host
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// On a device whose name or model has this part, in upper or lower case
    #[arg(long, value_name = "PART")]
    device: Option<String>,
    /// On a device with this revision of its firmware, all of it
    #[arg(long, value_name = "REVISION")]
    firmware: Option<String>,
    /// Of a target whose path has this part
    #[arg(long, value_name = "PART")]
    target: Option<String>,
    /// Begun at this time or later
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Moment>,
    /// Begun before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Moment>,
    /// With this verdict: certified, suspect or invalid
    #[arg(long, value_name = "GRADE", value_parser = grade)]
    verdict: Option<Grade>,
    /// Of this kind: result, or the name of a suite
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<String>,
    /// With this label
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// With this tag; given several times, with all of them
    #[arg(long, value_name = "NAME", value_parser = tag)]
    tag: Vec<String>,
    /// Of the profile with this hash, or its first digits (suites have one for each test): `history list
    /// --json` and `history stats` show them
    #[arg(long, value_name = "HASH")]
    profile: Option<String>,
}

impl FilterArguments {
    /// As the history takes it.
    pub fn filter(&self) -> Filter {
        Filter {
            host: self.host.clone(),
            device: self.device.clone(),
            firmware: self.firmware.clone(),
            target: self.target.clone(),
            since_s: self.since.map(|moment| moment.0),
            until_s: self.until.map(|moment| moment.0),
            grade: self.verdict,
            kind: self.kind.clone(),
            label: self.label.clone(),
            tags: self.tag.clone(),
            profile: self.profile.clone(),
            limit: None,
        }
    }
}

fn grade(text: &str) -> Result<Grade, Refusal> {
    one_of(text, Grade::ALL.map(|grade| (grade, grade.word())))
}

fn kind(text: &str) -> Result<String, Refusal> {
    let names = std::iter::once("result").chain(suites::TABLE.iter().map(|row| row.name));
    one_of(text, names.map(|name| (name.to_string(), name)))
}
