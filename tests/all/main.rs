//! All integration tests but three, in one program: one link, and `support` compiled once.
//!
//! `cargo test --release --test all suite::mark` runs a folder or a module. The tests run side by side, so
//! none may change what belongs to the process (environment, current directory, limits, allocator) or open
//! what the programs that others start would inherit. Those that measure memory are programs of their own:
//! `crates/core/tests/memory.rs`, `tests/program_memory.rs`, `crates/core/tests/xml_attacks.rs`.

mod support;

/// The system's, and for each thread a count that only itself sees.
#[global_allocator]
static ALLOCATOR: support::memory::Counting = support::memory::Counting;

mod circles;
mod contract;
mod dialect;
mod house;
mod pages;

mod cli {
    mod accepted;
    mod completions;
    mod configuration;
    mod differences;
    mod doors;
    mod import;
    mod manual;
    mod messages;
    mod random;
    mod refused;
    mod rules;
    mod slips;
}

mod cluster {
    mod gathering;
    mod program;
    mod whole;
}

mod document {
    mod hosts;
    mod json;
    mod merge;
    mod outputs;
    mod places;
    mod planted;
    mod show;
}

mod engine {
    mod bench;
    mod conformance;
    mod ladder;
    mod mapping;
    mod sim;
    mod waits;
}

mod fuzz {
    mod change;
    mod doors;
    mod run;
    mod stored;
    mod verify;
}

mod guard {
    mod adopt;
    mod beside;
    mod blind;
    mod custody;
    mod kept;
    mod layout;
    mod links;
    mod made;
    mod made_devices;
    mod made_files;
    mod made_stacked;
    mod makers;
    mod marks;
    mod races;
    mod root;
    mod situations;
    mod slips;
    mod things;
}

mod history {
    mod commands;
    mod crashes;
    mod expected;
    mod file;
    mod keeping;
    mod redacted;
    mod shared;
    mod suites;
    pub mod tools;
}

mod load {
    mod device;
    mod fill;
    mod latencies;
    mod loads;
    mod offsets;
    mod phases;
    mod sim;
    mod steady;
    mod trims;
    mod truth;
}

mod machine {
    mod chain_here;
    mod chain_trees;
    mod devices;
    mod disks;
    mod doctor;
    mod inspect;
    mod interrupts;
    mod large;
    mod served;
    mod topology;
}

mod profile {
    mod built_in;
    mod diskspd_2_3;
    mod forms_of_2_3;
    mod rules;
    mod xml_examples;
    mod xml_round_trip;
}

mod program {
    mod beside;
    mod causes;
    mod compat;
    mod cost;
    mod create;
    mod devices;
    mod early;
    mod engines;
    mod failures;
    mod forbidden;
    mod hangup;
    mod limits;
    mod live;
    mod one_place;
    mod options;
    mod outside_words;
    mod precondition;
    mod progress;
    mod recorded;
    mod stalls;
    mod standard;
    mod stop;
    mod telemetry;
    mod threads;
    mod verify;
    mod verify_faults;
    mod verify_log;
}

mod report {
    mod browser;
    mod compared;
    mod history;
    mod hosts;
    mod pages;
}

mod suite {
    mod ab;
    mod assess;
    mod bench_self;
    mod beside;
    mod clean;
    mod common;
    mod compare;
    mod find_max;
    mod mark;
    mod pts;
    mod side_by_side;
    mod study;
    mod sustain;
    mod sweep;
    mod undo;
    mod workload;
}

mod text {
    mod consumers;
    mod figures;
    mod golden;
    mod strict;
}

mod verdict {
    mod activity;
    mod contained;
    mod drives;
    mod over_time;
    mod real;
    mod traps;
}

mod xml {
    pub mod results;
}
