//! Rules before a run: what is suspicious about targets and a machine as they are now.
//!
//! Pure functions over the facts that a run's evidence would hold, with the thresholds and the advice of the rules that
//! judge a run. A rule with the name of one of [`super::RULES`] is about the same thing.

mod beginning;
mod machine;
mod rule;
mod target;
pub mod words;

use crate::result::{Limit, MachineNow, TargetFacts};
use rule::{Rule, rule};

pub use beginning::{Beginning, FreeSpace};
pub use rule::Known;

/// What a person should know of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OfTarget {
    /// Most important first; each once.
    pub know: Vec<Known>,
    /// A command line to begin with.
    pub beginning: Beginning,
}

/// Looks at a target. `free` is the space for new files beside it.
pub fn of_target(
    facts: &TargetFacts,
    free: Option<FreeSpace>,
    machine: &MachineNow,
    limits: &[Limit],
) -> OfTarget {
    let beginning = beginning::of(facts, free, machine.host.memory_available_bytes);
    let mut know = target::look(facts, machine::memory_for_cache(machine, limits));
    let mut tell = |rule, all: Vec<String>| know.extend(all.into_iter().map(|says| Known { rule, says }));
    tell(machine::OTHER_IO, machine::other_io(facts, machine).into_iter().collect());
    tell(machine::LIMITED, machine::limited(facts, limits));
    tell(beginning::RULE, beginning.why_not.iter().map(ToString::to_string).collect());
    OfTarget { know, beginning }
}

/// Looks at the machine: what holds for all targets, most important first.
pub fn of_machine(machine: &MachineNow, limits: &[Limit]) -> Vec<Known> {
    machine::look(machine, limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a run is judged by has the same name before it; the rest judges no run.
    #[test]
    fn names_are_those_of_the_rules_of_a_run() {
        const BEFORE_A_RUN_ONLY: &[&str] = &[
            "overlay",
            "own-cache",
            "encrypted",
            "thin",
            "array-at-work",
            "misaligned",
            "one-command",
            "interrupts",
            "empty",
            "no-room",
        ];
        let names = target::names_of_rules().chain(machine::names_of_rules()).chain([beginning::RULE]);
        let names: Vec<&str> = names.collect();
        for name in &names {
            let judges = crate::verdict::RULES.iter().any(|rule| rule.name == *name);
            assert!(judges != BEFORE_A_RUN_ONLY.contains(name), "{name}");
        }
        assert!(BEFORE_A_RUN_ONLY.iter().all(|name| names.contains(name)));
    }
}
