//! One thin file each: the words of a command to what it does.

pub(crate) mod adopt;
pub(crate) mod answer;
pub(crate) mod bench_self;
pub(crate) mod cluster;
pub(crate) mod compare;
pub(crate) mod config;
pub(crate) mod doctor;
mod generated;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod manual;
pub(crate) mod render;
pub(crate) mod report;
pub(crate) mod truespd;
pub(crate) mod verify;
pub(crate) mod watch;

pub use truespd::truespd;
