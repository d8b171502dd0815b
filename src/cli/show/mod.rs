//! What people see: tables and verdicts as text.

pub mod bench;
pub mod disks;
pub mod doctor;
pub mod history;
pub mod inspect;
pub mod judged;
pub mod live;
pub mod mark;
pub mod series;
pub mod summary;
pub mod verdict;
