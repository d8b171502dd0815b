//! Words and numbers that people read: made safe to print, wrapped, grouped, and pasted into a shell.
//!
//! Every form of a number stands here once. What another program's format asks for does not: DiskSpd's sizes
//! (`profile`), CrystalDiskMark's and winsat's lines (`suite`), and result text (`render`).
//!
//! Tables are laid out with `format!` widths where they stand. `comfy-table` and `tabled` measure columns by their
//! contents; our tables have fixed columns, which scripts cut by position.

pub mod foreign;
mod lines;
mod number;
mod printable;

pub use lines::{
    columns_of, folded, hanging, nearest, program_line, shell_line, shell_word, split_line, wrap,
};
pub use number::{
    bytes, change, clock, coarse_size, decimal_rate, duration_ns, grouped, meant_size, number, part_percent,
    percent, precise, rate, size, typed_size,
};
pub use printable::{
    COLOURS, hides, printable, printable_json, printable_path, printable_text, shortened, visible_json,
};
