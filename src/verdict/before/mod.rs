//! Rules before a run: what is suspicious about targets and a machine as they are now.
//!
//! Pure functions over the facts that a run's evidence would hold, with the thresholds and the advice of the rules that
//! judge a run. A rule with the name of one of [`super::RULES`] is about the same thing.

mod beginning;
mod machine;
mod target;
pub mod words;

use crate::result::{Limit, MachineNow, TargetFacts};

pub use beginning::{Beginning, FreeSpace};

/// One thing that can be worth knowing before a run.
#[derive(Debug, Clone, Copy)]
struct Rule<L> {
    /// Name: that of the rule which would judge a run by the same, if there is one.
    name: &'static str,
    /// How it looks.
    look: L,
}

/// What a rule has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Name of the rule.
    pub rule: &'static str,
    /// A whole sentence, or some.
    pub says: String,
}

const fn rule<L: Copy>(name: &'static str, look: L) -> Rule<L> {
    Rule { name, look }
}

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
    tell(beginning::RULE, beginning.why_not.iter().cloned().collect());
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
            "path-down",
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
