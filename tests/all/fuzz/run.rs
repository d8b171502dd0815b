//! Changed inputs at every door: no panic, no endless work, no memory for what only a number says, no string
//! that acts on a terminal or makes a line of its own, a message for what is refused.
//!
//! A usual run of the tests tries some thousands, always the same. `TRUESPD_FUZZ_INPUTS=1000000` tries more, and
//! `TRUESPD_FUZZ_SEED` others:
//!
//! ```text
//! TRUESPD_FUZZ_INPUTS=1000000 TRUESPD_FUZZ_SEED=7 cargo test --release --test all fuzz:: -- --nocapture
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::doors::{
    CommandLine, Door, KernelTexts, Lines, MachineTree, Presets, ProfileXml, ResultDocument, SuiteDocuments,
};
use super::stored::{Configurations, JobFiles, SharedFolders};
use super::verify::{VerifyLogs, VerifyMaps};
use crate::support::documents::Random;
use crate::support::memory::measured;

/// All doors together, unless the environment says otherwise.
const INPUTS: u64 = 20_000;

/// Memory for one input: this, and so many times its length.
const BYTES_MAX: usize = 16 << 20;
const BYTES_FOR_EACH_MAX: usize = 400;

/// Processor time for one input, also on a slow machine.
const TIME_MAX: Duration = Duration::from_secs(10);

fn from_environment(name: &str, default: u64) -> u64 {
    let typed = std::env::var(name).ok();
    typed.map_or(default, |typed| typed.parse().unwrap_or_else(|_| panic!("{name}={typed} is no number")))
}

/// What this thread has spent.
fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Tries this part of all inputs, in percent.
fn try_door(name: &str, percent: u64, door: &dyn Door) {
    let inputs = (from_environment("TRUESPD_FUZZ_INPUTS", INPUTS) * percent).div_ceil(100);
    let seed = from_environment("TRUESPD_FUZZ_SEED", 1);
    let (mut longest, mut largest) = (Duration::ZERO, 0);
    for number in 0..inputs {
        let input = door.input(&mut Random(seed.wrapping_mul(0x1_0000_0001).wrapping_add(number)));
        let before = processor_time();
        let (tried, bytes) = measured(|| catch_unwind(AssertUnwindSafe(|| door.try_input(&input))));
        let took = processor_time() - before;
        (longest, largest) = (longest.max(took), largest.max(bytes));
        let bytes_max = BYTES_MAX + BYTES_FOR_EACH_MAX * input.len();
        assert!(
            tried.is_ok() && took < TIME_MAX && bytes < bytes_max,
            "{name}: input {number} with TRUESPD_FUZZ_SEED={seed} took {took:?} and {bytes} bytes:\n{:?}",
            String::from_utf8_lossy(&input)
        );
    }
    println!("{name}: {inputs} inputs, the longest took {longest:?}, the largest {} KiB", largest >> 10);
}

#[test]
fn command_lines() {
    try_door("command lines", 40, &CommandLine::new());
}

#[test]
fn profiles_as_xml() {
    try_door("profiles as XML", 18, &ProfileXml::new());
}

#[test]
fn result_documents() {
    try_door("result documents", 7, &ResultDocument::new());
}

#[test]
fn documents_of_suites() {
    try_door("documents of suites", 8, &SuiteDocuments::new());
}

#[test]
fn lines_of_events_and_histories() {
    try_door("lines", 2, &Lines::new());
}

#[test]
fn logs_of_verified_tests() {
    try_door("logs of verified tests", 5, &VerifyLogs);
}

#[test]
fn maps_of_verified_tests() {
    try_door("maps of verified tests", 1, &VerifyMaps::new());
}

#[test]
fn configurations() {
    try_door("configurations", 2, &Configurations::new());
}

#[test]
fn job_files_of_fio() {
    try_door("job files of fio", 5, &JobFiles::new());
}

#[test]
fn shared_folders() {
    try_door("shared folders", 1, &SharedFolders::new());
}

#[test]
fn presets() {
    try_door("presets", 4, &Presets::new());
}

#[test]
fn texts_of_the_kernel() {
    try_door("texts of the kernel", 6, &KernelTexts::new());
}

#[test]
fn trees_of_a_machine() {
    try_door("trees of a machine", 1, &MachineTree::new());
}
