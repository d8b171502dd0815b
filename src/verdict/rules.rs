//! The table of rules.

use super::{Case, Look, Rule};
use crate::result::{Finding, Grade};

/// Every rule, in the order in which findings of one grade are shown.
pub const RULES: &[Rule] = &[Rule {
    name: "nothing-completed",
    about: "No I/O completed in the measured time.",
    look: nothing_completed,
}];

fn nothing_completed(case: &Case<'_>) -> Look {
    let ios: u64 = case
        .measured
        .threads
        .iter()
        .flat_map(|thread| &thread.targets)
        .map(|target| target.read.ios + target.write.ios)
        .sum();
    let finding = || Finding {
        grade: Grade::Invalid,
        says: format!("no I/O completed in the measured {:.2} s", case.measured.test_time_s),
        advice: "measure longer (-d), and look whether the target answers at all".to_string(),
        ..Finding::default()
    };
    Look::Saw(if ios == 0 { vec![finding()] } else { Vec::new() })
}
