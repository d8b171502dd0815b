//! Words and numbers that people read: made safe to print, wrapped, grouped, and pasted into a shell.
//!
//! Every form of a number stands here once. What another program's format asks for does not: DiskSpd's sizes
//! (`profile`), CrystalDiskMark's and winsat's lines (`suite`), and result text (`render`).
//!
//! Tables are laid out with `format!` widths where they stand. `comfy-table` and `tabled` measure columns by their
//! contents; our tables have fixed columns, which scripts cut by position.

pub mod foreign;
mod near;
mod number;
mod printable;
mod shell;
mod size;
mod size_word;
mod wrap;

pub use near::nearest;
pub use number::{change, clock, duration_ns, grouped, number, part_percent, percent, precise};
pub use printable::{
    COLOURS, hides, printable, printable_json, printable_path, printable_text, shortened, visible_json,
};
pub use shell::{program_line, shell_line, shell_word, split_line};
pub use size::{bytes, coarse_size, decimal_rate, rate, size, typed_size};
pub use size_word::meant_size;
pub use wrap::{columns_of, folded, hanging, wrap};
