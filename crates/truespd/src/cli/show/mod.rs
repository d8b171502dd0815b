//! What people see: tables and verdicts as text.

pub mod doctor;
pub mod history;
pub mod inspect;
pub mod rules;
pub mod series;
pub mod summary;

use truespd_core::text::{columns_of, printable};

/// A table whose columns are as wide as their values, which are made printable; `is_number` columns end at
/// one place. Ends with a line end.
pub(crate) fn aligned(mut rows: Vec<Vec<String>>, is_number: &[bool]) -> String {
    rows.iter_mut().flatten().for_each(|cell| *cell = printable(cell));
    let mut widths = vec![0; is_number.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = columns_of(cell).max(*width);
        }
    }
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, value) in row.iter().enumerate() {
            let gap = " ".repeat(widths[column] - columns_of(value));
            let cell = if is_number[column] { format!("{gap}{value}") } else { format!("{value}{gap}") };
            line.push_str(if column == 0 { "" } else { "  " });
            line.push_str(&cell);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
