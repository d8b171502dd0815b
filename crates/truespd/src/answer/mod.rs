//! What an answer to a question is made of, and how it is drawn.

pub mod axis;
pub mod bars;
pub mod cells;
pub mod chart;
pub mod findings;
pub mod heat;
pub mod html;
pub mod picture;
pub mod table;
mod verdict;

pub use verdict::{Advice, Findings, Of, RuleResult, SeriesVerdict, Shown, doubt, doubts_text, word};
