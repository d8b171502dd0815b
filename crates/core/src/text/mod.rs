//! Words and numbers that people read: made safe to print, wrapped, grouped, and pasted into a shell.
//!
//! Every form of a number stands here once. What another program's format asks for does not: DiskSpd's sizes
//! (`profile`), CrystalDiskMark's and winsat's lines (`suite`), and result text (`render`).
//!
//! Tables are laid out with `format!` widths where they stand. `comfy-table` and `tabled` measure columns by their
//! contents; our tables have fixed columns, which scripts cut by position.
//!
//! ```
//! use truespd_core::text::{grouped, nearest, printable, shell_line, size, split_line};
//!
//! assert_eq!(grouped(1_234_567), "1,234,567");
//! assert_eq!(size(3 << 30), "3 GiB");
//! // What stands in a file name cannot move a terminal's cursor.
//! assert!(!printable("a\u{1b}[2Jb").contains('\u{1b}'));
//! // Words survive the way into a shell and back.
//! let words = ["diskspd".to_string(), "my file".to_string()];
//! assert_eq!(split_line(&shell_line(&words)), Ok(words.to_vec()));
//! assert_eq!(nearest("io_urin", ["psync", "io_uring"].into_iter()), Some("io_uring"));
//! ```

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
