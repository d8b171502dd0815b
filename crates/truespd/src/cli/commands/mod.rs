//! One thin file each: the words of a command to what it does.

pub(crate) mod ab;
pub(crate) mod adopt;
pub(crate) mod answer;
pub(crate) mod assess;
pub(crate) mod bench_self;
pub(crate) mod beside;
pub(crate) mod cluster;
pub(crate) mod compare;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod find_max;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod manual;
pub(crate) mod mark;
pub(crate) mod own_line;
mod pts;
pub(crate) mod render;
pub(crate) mod report;
pub(crate) mod study;
pub(crate) mod suite;
pub(crate) mod suites;
pub(crate) mod sustain;
mod sweep;
pub(crate) mod truespd;
pub(crate) mod values;
pub(crate) mod verify;
pub(crate) mod watch;
pub(crate) mod workload;

pub use truespd::truespd;
