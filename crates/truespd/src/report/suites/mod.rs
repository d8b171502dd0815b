//! The pages of suites: one function per kind of document, which makes pieces of it.

mod assess;
mod compared;
mod mark;
mod workload;

pub use assess::assess;
pub use compared::{ab, study};
pub use mark::mark;
pub use workload::workload;

use super::Piece;
use super::chart::{Chart, Ticks};
use super::table::{Cell, Table};
use truespd_core::text::number;

/// Things that stand beside each other, each with its name.
fn named(title: &str, x_name: &str, y_name: &str, show_y: fn(f64) -> String, names: Vec<String>) -> Chart {
    let mut chart = Chart::new(title, x_name, y_name, number, show_y);
    chart.ticks = Ticks::Named(names.into_iter().enumerate().map(|(at, name)| (at as f64, name)).collect());
    chart.is_dots = true;
    chart
}

/// A table with a head, and rows of words.
fn words_table(caption: &str, head: &[&str], rows: Vec<(String, Vec<Cell>)>) -> Piece {
    let head = head.iter().map(ToString::to_string).collect();
    Piece::Table(Table { caption: caption.to_string(), head, rows })
}
