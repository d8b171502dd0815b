//! The help, made from the rows.

use crate::grammar::hints::is_option;
use crate::grammar::rows::{self, Row, SECTIONS};
use truespd_core::engine;
use truespd_platform::fault::ExitCode;
use truespd_platform::text::{columns_of, hanging, wrap};

/// Width of the help in columns, unless the terminal has less.
const COLUMNS: usize = 100;
/// Column at which explanations start.
const INDENT: usize = 24;
/// The same on a terminal of less than [`NARROW`], where they stand below the names.
const INDENT_NARROW: usize = 6;
const NARROW: usize = 66;

pub fn version() -> String {
    format!("TrueSpd {} (DiskSpd 2.2 for Linux)\n", env!("CARGO_PKG_VERSION"))
}

/// The text of `-?` and `--help`, for a program called `program`.
///
/// At most 100 columns wide, except where the program's name is very long; ends with a line end.
pub fn help(program: &str) -> String {
    help_for(program, COLUMNS)
}

/// The same for a terminal of so many columns.
pub fn help_for(program: &str, columns: usize) -> String {
    // The folder of the program does not matter here.
    let program = program.rsplit('/').next().unwrap_or(program);
    let mut text = Page::of(columns);
    text.push_str(&version());
    text.push_str(&format!("\nUsage: {program} [options] target [targets]\n\n"));
    for paragraph in INTRODUCTION {
        push_wrapped(&mut text, paragraph, 0);
    }
    for section in SECTIONS {
        text.push_str(&format!("\n{}\n", section.title));
        for row in section.rows {
            push_row(&mut text, row);
        }
    }
    push_engines(&mut text);
    text.push_str("\nExit codes\n");
    for code in ExitCode::ALL {
        push_entry(&mut text, &(code as u8).to_string(), code.of_run(), 7);
    }
    text.push_str("\nExamples\n");
    for (words, meaning) in EXAMPLES {
        text.push_str(&format!("  {program} {words}\n"));
        push_wrapped(&mut text, meaning, 6);
    }
    text.written
}

/// What `--help` prints on a terminal of so many columns: the options that most command lines have.
pub fn short_help_for(program: &str, columns: usize) -> String {
    let program = program.rsplit('/').next().unwrap_or(program);
    let mut text = Page::of(columns);
    text.indent = if columns < NARROW { INDENT_NARROW } else { INDENT_SHORT };
    text.push_str(&format!("Usage: {program} [options] target [targets]\n\n"));
    for name in USUAL {
        let row = rows::find(name).expect("a row of the table");
        let (first, _) = row.help.split_once(". ").unwrap_or((row.help.trim_end_matches('.'), ""));
        let lines = wrap(&format!("{first}."), text.columns - text.indent);
        push_lines(&mut text, row, &lines);
    }
    text.push_str(&format!("\n  {program} {}\n\n", EXAMPLES[0].0));
    push_wrapped(&mut text, SHORT_END, 0);
    text.written
}

/// The options of the short help.
const USUAL: [&str; 20] = [
    "c",
    "b",
    "r",
    "s",
    "w",
    "t",
    "F",
    "o",
    "S",
    "g",
    "d",
    "W",
    "L",
    "D",
    "R",
    "X",
    "v",
    "-json",
    "-engine",
    "-overwrite",
];

/// Column at which explanations of the short help start.
const INDENT_SHORT: usize = 18;

/// What ends the short help.
const SHORT_END: &str = "A target is a file or a device. All options, engines, exit codes and examples: --help all. \
    One option: --help -o.";

/// Help that is being written.
#[derive(Debug)]
struct Page {
    written: String,
    columns: usize,
    /// Column at which explanations start.
    indent: usize,
}

impl Page {
    fn of(columns: usize) -> Self {
        let columns = columns.min(COLUMNS);
        let indent = if columns < NARROW { INDENT_NARROW } else { INDENT };
        Page { written: String::new(), columns, indent }
    }

    fn push_str(&mut self, text: &str) {
        self.written.push_str(text);
    }
}

/// The rows that a word names: an option with or without its dashes and its value; for a letter all its
/// forms. `None` when there is no such option.
pub fn help_of(word: &str) -> Option<String> {
    help_of_for(word, COLUMNS)
}

/// The same for a terminal of so many columns.
pub fn help_of_for(word: &str, columns: usize) -> Option<String> {
    let name = word.trim_start_matches('-');
    let is_letter = name.chars().count() == 1;
    let mut found: Vec<&Row> = Vec::new();
    for row in rows::all() {
        let is_named = row.name == name || row.name.strip_prefix('-') == Some(name);
        if is_named || (is_letter && row.name.starts_with(name)) {
            found.push(row);
        }
    }
    if found.is_empty() {
        // Without its dash it must be a whole option: most words begin with a letter of one.
        let option = word.strip_prefix('-').or(Some(word).filter(|word| is_option(&format!("-{word}"))));
        found.extend(option.and_then(rows::find));
    }
    let mut text = Page::of(columns);
    found.iter().for_each(|row| push_row(&mut text, row));
    if found.iter().any(|row| row.name == "-engine") {
        push_engines(&mut text);
    }
    (!text.written.is_empty()).then_some(text.written)
}

/// What goes before the options.
pub const INTRODUCTION: &[&str] = &[
    "A target is a file, a block device, or an NVMe namespace for NVMe commands (/dev/ng0n1); #<n> is the n-th whole \
     disk. \
     Options come before targets. The value of an option follows its letter without a blank (-b4k), letters are case \
     sensitive, and every option is an argument of its own.",
    "<size> is a number and one suffix of K M G T (2^10, 2^20, 2^30, 2^40) or b (blocks of -b).",
    "Quote what the shell would take for itself: '#1' (a comment), '*1' and '-?' (patterns).",
    "Without a note on Linux, an option means the same as in DiskSpd.",
];

/// What goes below the engines.
pub const ENGINES_END: &str = "Without --engine: psync for one outstanding I/O, mmap with -Sm, otherwise the first of \
    io_uring, libaio and threads that this machine offers. Standard error says when no better one \
    ran, and why; with -v it always names the engine.";

/// Lines that work, behind the name of the program, and what each does.
pub const EXAMPLES: &[(&str, &str)] = &[
    (
        "-c1G -b4K -r -o32 -t4 -d30 -Sh -L test.dat",
        "Random 4 KiB reads of a new file of 1 GiB: 4 threads with 32 outstanding I/Os each, no caches, 30 \
         seconds, with latencies.",
    ),
    (
        "-b8K -r -w25 -o8 -t8 -d60 -W15 -Su -L -D -Rxml test.dat",
        "Three reads to one write in 8 KiB blocks for a minute, results with intervals as XML.",
    ),
    (
        "-c1G -b4K -r -w100 -Zr -o8 -Sh -L test.dat",
        "Random writes of new random data to a file that TrueSpd makes; a write counts when it is durable.",
    ),
    (
        "-b512K -si -t2 -o8 -Su /dev/disk/by-id/...",
        "One sequential stream over a device, read by two threads.",
    ),
];

/// The engines of `--engine`, from their table.
fn push_engines(text: &mut Page) {
    text.push_str("\nEngines (--engine NAME)\n");
    for row in engine::TABLE {
        let needs = if row.needs.is_empty() { String::new() } else { format!(" Needs {}.", row.needs) };
        let indent = text.indent.max(14);
        push_entry(text, row.name, &format!("{}.{needs}", row.summary), indent);
        if row.simulates_time {
            push_entry(text, "", &format!("Parameters: {}.", engine::SIM_PARAMETERS), indent);
        }
    }
    push_wrapped(text, ENGINES_END, 2);
}

/// A name and what it means, from column `indent` on.
fn push_entry(text: &mut Page, name: &str, meaning: &str, indent: usize) {
    let lead = format!("  {name:<width$}", width = indent - 2);
    text.push_str(&hanging(&lead, meaning, text.columns));
}

fn push_row(text: &mut Page, row: &Row) {
    let Page { columns, indent, .. } = *text;
    let mut lines = wrap(row.help, columns - indent);
    if !row.linux.is_empty() {
        lines.extend(wrap(&format!("Linux: {}", row.linux), columns - indent));
    }
    push_lines(text, row, &lines);
}

/// A row's form with these lines beside it.
fn push_lines(text: &mut Page, row: &Row, lines: &[String]) {
    let indent = text.indent;
    let form = format!("  {}", row.form());
    let mut lines = lines.iter();
    text.push_str(&form);
    if columns_of(&form) + 2 <= indent
        && let Some(first) = lines.next()
    {
        text.push_str(&" ".repeat(indent - columns_of(&form)));
        text.push_str(first);
    }
    text.push_str("\n");
    for line in lines {
        text.push_str(&format!("{:indent$}{line}\n", ""));
    }
}

fn push_wrapped(text: &mut Page, paragraph: &str, indent: usize) {
    text.push_str(&hanging(&" ".repeat(indent), paragraph, text.columns));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_100_columns_and_names_every_row() {
        let text = help("diskspd");
        for line in text.lines() {
            assert!(columns_of(line) <= COLUMNS, "{line}");
            assert_eq!(line.trim_end(), line);
        }
        for row in rows::all() {
            let lead = format!("  {}", row.form());
            assert!(
                text.lines().any(|line| line == lead || line.starts_with(&format!("{lead}  "))),
                "{lead}"
            );
        }
    }

    #[test]
    fn it_fits_narrow_terminals_where_words_allow() {
        assert_eq!(help_for("diskspd", 200), help("diskspd"));
        for columns in [80, 65, 40] {
            let text = help_for("diskspd", columns);
            let rows: Vec<String> = rows::all().map(Row::form).collect();
            // Names, lines to be typed and lists without blanks keep their length.
            let may_be_wide = |line: &str| {
                line.starts_with("  diskspd ")
                    || line.starts_with("Usage: ")
                    || rows.iter().any(|form| line.trim() == form)
                    || !line.trim().contains(' ')
            };
            for line in text.lines().filter(|line| !may_be_wide(line)) {
                assert!(columns_of(line) <= columns, "{columns}: {line}");
            }
        }
    }

    #[test]
    fn the_short_help_fits_a_screen() {
        let text = short_help_for("/usr/bin/diskspd", 80);
        assert!(text.lines().count() <= 40 && text.lines().all(|line| columns_of(line) <= 80), "{text}");
        assert!(text.starts_with("Usage: diskspd ") && text.contains("--help all"), "{text}");
        for name in USUAL {
            assert!(text.contains(&format!("\n  -{name}")), "{name}: {text}");
        }
        assert!(short_help_for("diskspd", 40).lines().filter(|line| columns_of(line) > 40).count() <= 2);
    }

    #[test]
    fn its_examples_are_legal() {
        for (words, _) in EXAMPLES {
            let words: Vec<String> = words.split(' ').map(String::from).collect();
            super::super::parse(&words, "diskspd", &|| 0).unwrap_or_else(|refusal| panic!("{refusal}"));
        }
    }
}
