//! The pages of `diskspd` and `truespd run`, from the rows of DiskSpd's switches, and what all pages say.

use clap_mangen::roff::{Inline, bold, italic, roman};

use super::page::{ManualPage, Page, marked, placeholders};
use ::diskspd::grammar::help::{ENGINES_END, EXAMPLES, INTRODUCTION};
use ::diskspd::grammar::rows::{Row, SECTIONS};
use truespd_core::engine;
use truespd_core::fault::ExitCode;

/// A command that takes DiskSpd's words.
#[derive(Debug)]
pub(super) struct Command {
    pub page: &'static str,
    call: &'static str,
    about: &'static str,
    /// What it does, before what both say.
    description: &'static [&'static str],
    others: &'static [&'static str],
}

pub(super) const DISKSPD: Command = Command {
    page: "diskspd",
    call: "diskspd",
    about: "generate a storage load and measure it, as Microsoft's DiskSpd does",
    description: &[
        "`diskspd` reads and writes its targets for a time, with a given block size, pattern, mix, number of threads \
         and of outstanding I/Os, and prints throughput, IOPS and, with -L, latencies. It takes the command line of \
         DiskSpd 2.2 for Windows and gives each option the same meaning on Linux; text and XML results have the same \
         form.",
        "Standard output holds what DiskSpd would print, and nothing else. Progress, warnings and the verdict on the \
         result go to standard error.",
    ],
    others: &["truespd(1)", "truespd-run(1)", "truespd-inspect(1)", "lsblk(8)", "iostat(1)"],
};

pub(super) const TRUESPD_RUN: Command = Command {
    page: "truespd-run",
    call: "truespd run",
    about: "run a load with the options of diskspd, and print the verdict under its result",
    description: &[
        "`truespd run` takes the words of `diskspd`, runs the same load and prints the same result. It differs in \
         three things: the verdict stands under a text result on standard output, every result is kept in the \
         history unless --no-history is given, and --live shows the run on a full screen.",
    ],
    others: &["diskspd(1)", "truespd(1)", "truespd-judge(1)", "truespd-history(1)"],
};

/// Sections of both pages: the verdict, and what a person should know who comes from DiskSpd on Windows.
const ON_LINUX: &str = include_str!("on-linux.roff");

/// The page of such a command.
pub(super) fn page(command: &Command) -> ManualPage {
    let mut page = Page::new(command.page, command.about);
    page.section("Synopsis");
    page.call(command.call, "[options] target [target ...]");
    page.line_break();
    page.call(command.call, "-X<file> [options] [target ...]");
    page.line_break();
    page.call(command.call, "--help [option]");
    page.section("Description");
    command.description.iter().for_each(|text| page.paragraph(text));
    INTRODUCTION.iter().for_each(|text| page.paragraph(text));
    page.section("Options");
    for section in SECTIONS {
        page.subsection(section.title);
        section.rows.iter().for_each(|row| push_row(&mut page, row));
    }
    push_engines(&mut page);
    page.append(ON_LINUX);
    push_exit_status(&mut page, ExitCode::of_run);
    page.append(SURROUNDINGS);
    page.section("Examples");
    for (words, meaning) in EXAMPLES {
        page.example(&format!("{} {words}", command.call), meaning);
    }
    let others: Vec<String> = command.others.iter().map(ToString::to_string).collect();
    push_see_also(&mut page, &others);
    let (name, about) = (command.page.to_string(), command.about.to_string());
    ManualPage { name, about, troff: page.finish() }
}

fn push_row(page: &mut Page, row: &Row) {
    let mut lines = vec![marked(row.help)];
    if !row.linux.is_empty() {
        let mut line = vec![italic("Linux:"), roman(" ")];
        line.extend(marked(row.linux));
        lines.push(line);
    }
    page.entry(form(row), &lines);
}

/// `-b<size>`: what is typed in bold, what stands for something else in italics.
fn form(row: &Row) -> Vec<Inline> {
    let mut form = vec![bold(format!("-{}", row.name))];
    if row.is_long() && !row.value.is_empty() {
        form.push(roman(" "));
    }
    form.extend(placeholders(row.value));
    form
}

fn push_engines(page: &mut Page) {
    page.section("Engines");
    page.paragraph("What issues the I/O: the NAME of --engine.");
    for row in engine::TABLE {
        let needs = if row.needs.is_empty() { String::new() } else { format!(" Needs {}.", row.needs) };
        let mut lines = vec![marked(&format!("{}.{needs}", row.summary))];
        if row.simulates_time {
            lines.push(marked(&format!("Parameters: {}.", engine::SIM_PARAMETERS)));
        }
        page.entry(vec![bold(row.name)], &lines);
    }
    page.paragraph(ENGINES_END);
}

/// Sections of several pages: variables that count, and files that are read or written beside those of the command
/// line.
pub(super) const SURROUNDINGS: &str = include_str!("surroundings.roff");

pub(super) fn push_exit_status(page: &mut Page, meaning: fn(ExitCode) -> &'static str) {
    page.section("Exit status");
    for code in ExitCode::ALL {
        let mut words = meaning(code).to_string();
        words.push('.');
        // Most begin in the middle of a sentence, as help shows them.
        words[..1].make_ascii_uppercase();
        page.entry(vec![bold((code as u8).to_string())], &[marked(&words)]);
    }
}

/// Other pages, by name and section.
pub(super) fn push_see_also(page: &mut Page, others: &[String]) {
    page.section("See also");
    let mut words = Vec::new();
    for (number, other) in others.iter().enumerate() {
        let (name, section) = other.split_once('(').unwrap_or((other, "1)"));
        let end = if number + 1 < others.len() { ", " } else { "" };
        words.push(bold(name));
        words.push(format!("({section}{end}").into());
    }
    page.words(words);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::diskspd::grammar::rows;

    #[test]
    fn every_row_and_engine_has_its_entry() {
        for command in [&DISKSPD, &TRUESPD_RUN] {
            let troff = page(command).troff;
            let terms: Vec<String> = troff
                .lines()
                .zip(troff.lines().skip(1))
                .filter(|(line, _)| *line == ".TP")
                .map(|(_, term)| {
                    term.replace(r"\fB", "").replace(r"\fI", "").replace(r"\fR", "").replace(r"\-", "-")
                })
                .collect();
            for row in rows::all() {
                assert!(terms.contains(&row.form()), "{}: {}", command.page, row.form());
            }
            for row in engine::TABLE {
                assert!(terms.iter().any(|term| term == row.name), "{}", row.name);
            }
        }
    }
}
