//! DiskSpd's words and forms: its command line, its results as text and XML, and one judged run.

pub mod grammar;
#[cfg(test)]
#[path = "../../../tests/all/support/place.rs"]
mod place;
pub mod render;
pub mod request;
pub mod run;
