//! The rules a profile must obey before anything is opened (`command-line.md` §9).
//!
//! Numbers 1 to 36 are DiskSpd's own table; 2 to 4 ask the machine and live in `plan`. Numbers from 37
//! on refuse what DiskSpd 2.2 silently accepts although it cannot mean anything. Every rule looks at
//! every time span and every target; the findings carry the indices, so that the command line and XML
//! profiles can point at what was typed.

mod distribution;
mod finding;
mod target;
mod time_span;

pub use finding::{Finding, Rule, Severity};

use super::Profile;
use finding::Collector;

/// Checks every rule that needs no machine. `will_run` is false with `-Rp`.
///
/// The findings come in the order of time spans and targets. A profile with a finding of
/// [`Severity::Error`] must not be run.
pub fn validate(profile: &Profile, will_run: bool) -> Vec<Finding> {
    let mut found = Collector::default();
    if profile.time_spans.is_empty() {
        found.error(Rule::NO_TIME_SPAN, &[], "the profile has no time span: there is nothing to run");
    }
    for (i, span) in profile.time_spans.iter().enumerate() {
        found.time_span = Some(i);
        found.target = None;
        time_span::check(&mut found, span);
        for (k, target) in span.targets.iter().enumerate() {
            found.target = Some(k);
            target::check(&mut found, span, target, will_run);
        }
    }
    found.findings
}
