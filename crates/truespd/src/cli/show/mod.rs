//! What people see: tables and verdicts as text.

pub mod bench;
pub mod disks;
pub mod doctor;
pub mod history;
pub mod inspect;
pub mod judged;
pub mod rules;
pub mod series;
pub mod summary;
