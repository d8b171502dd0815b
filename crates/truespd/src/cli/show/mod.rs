//! What people see: tables and verdicts as text.

pub mod doctor;
pub mod history;
pub mod inspect;
pub mod rules;
pub mod summary;
pub mod verify;
