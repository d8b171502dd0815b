//! Manual pages. They are made when they are asked for, from what the help is made from: the rows of
//! DiskSpd's switches, and the options of the subcommands.

pub(crate) use crate::cli::manual::page::{ManualPage, plain};
use crate::cli::manual::page::{Page, marked, placeholders};
use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, bold, italic, roman};
use diskspd::grammar::help::{ENGINES_END, INTRODUCTION};
use diskspd::grammar::rows::{Row, SECTIONS};
use truespd_core::engine;
use truespd_platform::fault::ExitCode;

mod page;

/// Names of all pages. `command` is `truespd` with all its subcommands.
pub(crate) fn names(command: &Command) -> Vec<String> {
    let mut command = command.clone();
    command.build();
    std::iter::once(DISKSPD.page.to_string()).chain(names_below(&command)).collect()
}

/// All pages. `command` is `truespd` with all its subcommands.
pub(crate) fn pages(command: &Command) -> Vec<ManualPage> {
    let mut command = command.clone();
    command.build();
    let names = names_below(&command);
    let mut pages = vec![page(&DISKSPD)];
    push_pages(&mut pages, &command, &names);
    pages
}

/// The file of a page.
pub(crate) fn file_name(page: &ManualPage) -> String {
    format!("{}.{}", page.name, page::SECTION)
}

/// Lines of `truespd` that show where to begin, and what each does.
pub(crate) const EXAMPLES: &[(&str, &str)] = &[
    (
        "truespd inspect /dev/nvme0n1",
        "What the disk is, what stands on it, and whether a write test is allowed.",
    ),
    ("truespd mark /mnt/fast", "CrystalDiskMark's four tests in a folder, in about four minutes."),
    (
        "truespd run -c1G -b4K -r -o32 -t4 -d30 -Sh -L test.dat",
        "One load, with its verdict under the result; the result is kept in the history.",
    ),
    (
        "truespd ab --file . --a '-b4K -r -o32 -Su' --b '-b4K -r -o32 -Su --engine libaio'",
        "Is libaio slower than io_uring here? Runs both in turns until the difference is shown or ruled out.",
    ),
    (
        "truespd compare before.json after.json",
        "Two stored results: every metric with its difference, and how sure it is.",
    ),
    ("truespd history list", "The newest results that were kept."),
];

/// What the page of `truespd` itself says beyond its help.
const DESCRIPTION: &[&str] = &[
    "`truespd run` takes the words of `diskspd`(1). The other commands build on such runs: whole suites (mark, assess, \
     workload, find-max, sweep), many hosts at once (cluster), comparisons (ab, study, compare), stored results \
     (judge, show, render, report, merge, history), what is on a target (verify), and the machine (inspect, doctor). \
     Each has a page of its own; `truespd COMMAND --help` shows the same.",
    "A result that is written with --json holds everything that was measured. Every other form is made from it.",
];

/// Commands whose page is not made from their options.
const RUN: &str = "truespd-run";
/// What it shows comes from files and variables.
const CONFIG: &str = "config";

/// Names of the pages of a command and its subcommands, in the order of the help.
fn names_below(command: &Command) -> Vec<String> {
    let mut names = vec![name(command)];
    visible(command).for_each(|sub| names.extend(names_below(sub)));
    names
}

/// Adds the pages of a command and its subcommands. `names`: all of them.
fn push_pages(pages: &mut Vec<ManualPage>, command: &Command, names: &[String]) {
    let page = match name(command) {
        name if name == RUN => page(&TRUESPD_RUN),
        name => subcommand_page(command, &name, names),
    };
    pages.push(page);
    visible(command).for_each(|sub| push_pages(pages, sub, names));
}

/// Subcommands that are not hidden, in the order of the help.
pub(crate) fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    let mut subcommands: Vec<&Command> =
        command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help").collect();
    subcommands.sort_by_key(|sub| sub.get_display_order());
    subcommands.into_iter()
}

/// `truespd-history-list`.
fn name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_string()
}

fn subcommand_page(command: &Command, name: &str, names: &[String]) -> ManualPage {
    let about = about(command);
    let mut page = Page::new(name, &about);
    page.section("Synopsis");
    push_usage(&mut page, command);
    push_description(&mut page, command, name);
    let man = Man::new(command.clone().mut_args(with_whole_help));
    let mut written = Vec::new();
    let _ = man.render_options_section(&mut written);
    page.take(&written);
    if visible(command).next().is_some() {
        page.section("Commands");
        for sub in visible(command) {
            let others = vec![clap_mangen::roff::bold(self::name(sub)), "(1)".into()];
            page.entry(others, &[marked(&sentence(&text(sub.get_about())))]);
        }
    }
    push_exit_status(&mut page, ExitCode::of_command);
    let is_whole = command.get_name() == name;
    let reads_configuration =
        command.get_name() == CONFIG || command.get_arguments().any(|arg| arg.get_id() == "store");
    if is_whole || reads_configuration {
        page.append(SURROUNDINGS);
    }
    if is_whole {
        push_examples(
            &mut page,
            EXAMPLES.iter().map(|(line, meaning)| (line.to_string(), meaning.to_string())),
        );
    } else {
        push_after(&mut page, command);
    }
    push_see_also(&mut page, &others(command, name, names));
    ManualPage { name: name.to_string(), about, troff: page.finish() }
}

/// What the command does, for the line of its name: without what follows a colon or the first sentence.
fn about(command: &Command) -> String {
    let about = text(command.get_about());
    let end = [": ", ". ", " (", "? "].iter().filter_map(|end| about.find(end)).min().unwrap_or(about.len());
    let mark = if about[end..].starts_with('?') { "?" } else { "" };
    let mut about = format!("{}{mark}", about[..end].trim_end_matches('.').replace('`', ""));
    let is_name = about.chars().nth(1).is_some_and(char::is_uppercase);
    if let Some(first) = about.get_mut(..1)
        && !is_name
    {
        first.make_ascii_lowercase();
    }
    about
}

fn text(styled: Option<&clap::builder::StyledStr>) -> String {
    styled.map(ToString::to_string).unwrap_or_default()
}

/// The text with a full stop, which one-line help leaves out.
fn sentence(text: &str) -> String {
    let end = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{text}{end}")
}

/// The text with a capital letter, as sentences of a page have.
fn capital(text: &str) -> String {
    let mut text = text.to_string();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

fn push_usage(page: &mut Page, command: &Command) {
    let usage = command.clone().render_usage().to_string();
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let mut lines = usage.trim_start_matches("Usage:").lines().map(str::trim).filter(|line| !line.is_empty());
    let mut next = lines.next();
    while let Some(line) = next {
        match line.split_once(name) {
            Some((before, rest)) => page.call(&format!("{before}{name}"), rest.trim()),
            None => page.call(line, ""),
        }
        next = lines.next();
        if next.is_some() {
            page.line_break();
        }
    }
}

fn push_description(page: &mut Page, command: &Command, name: &str) {
    page.section("Description");
    let long = text(command.get_long_about().or_else(|| command.get_about()));
    let (first, rest) = long.split_once("\n\n").unwrap_or((&long, ""));
    page.paragraph(&sentence(first));
    rest.split("\n\n").filter(|text| !text.is_empty()).for_each(|text| page.paragraph(text));
    if command.get_name() == name {
        DESCRIPTION.iter().for_each(|text| page.paragraph(text));
    }
}

/// An option with everything that its help says.
fn with_whole_help(arg: Arg) -> Arg {
    let aliases: Vec<String> =
        arg.get_visible_aliases().into_iter().flatten().map(|alias| format!("--{alias}")).collect();
    let help = if arg.get_id() == "help" {
        "Print help".to_string()
    } else {
        text(arg.get_long_help().or_else(|| arg.get_help()))
    };
    if help.is_empty() {
        return arg;
    }
    let mut help = help.split("\n\n").map(sentence).collect::<Vec<_>>().join("\n\n");
    if !aliases.is_empty() {
        help.push_str(&format!(" The same: {}.", aliases.join(", ")));
    }
    if arg.is_positional() && arg.get_help_heading().is_none() {
        arg.long_help(help).help_heading("Arguments")
    } else {
        arg.long_help(help)
    }
}

/// What the help shows below the options: paragraphs, and examples with what they do.
fn push_after(page: &mut Page, command: &Command) {
    let after = text(command.get_after_long_help().or_else(|| command.get_after_help()));
    let (before, examples) = after.split_once("Examples:\n").unwrap_or((&after, ""));
    let (examples, behind) = examples.split_once("\n\n").unwrap_or((examples, ""));
    for (number, text) in [before, behind].iter().flat_map(|words| paragraphs(words)).enumerate() {
        if number == 0 {
            page.section("Notes");
        }
        push_note(page, text);
    }
    // Lines that go on.
    let joined = examples.split("\\\n").map(str::trim).collect::<Vec<_>>().join(" ");
    let lines = joined.lines().map(str::trim).filter(|line| !line.is_empty());
    push_examples(
        page,
        lines.map(|line| {
            let (line, meaning) = line.split_once("   ").unwrap_or((line, ""));
            let words: Vec<&str> = line.split_whitespace().collect();
            let meaning = meaning.trim();
            let told = if meaning.is_empty() { String::new() } else { capital(&sentence(meaning)) };
            (words.join(" "), told)
        }),
    );
}

fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").map(|text| text.trim_matches('\n')).filter(|text| !text.is_empty())
}

/// A paragraph; lines that are set in are terms with what they mean, or stand by themselves.
fn push_note(page: &mut Page, text: &str) {
    let set_in = text.lines().position(|line| line.starts_with("  ")).unwrap_or(text.lines().count());
    let words = text.lines().take(set_in).collect::<Vec<_>>().join(" ");
    if !words.is_empty() {
        page.paragraph(&words);
    }
    for line in text.lines().skip(set_in).map(str::trim) {
        match line.split_once("   ") {
            Some((term, meaning)) => {
                let meaning = marked(&capital(&sentence(meaning.trim())));
                page.entry(vec![clap_mangen::roff::bold(term)], &[meaning]);
            }
            None => page.example(line, ""),
        }
    }
}

fn push_examples(page: &mut Page, examples: impl Iterator<Item = (String, String)>) {
    for (number, (line, meaning)) in examples.enumerate() {
        if number == 0 {
            page.section("Examples");
        }
        page.example(&line, &meaning);
    }
}

/// Pages to go on with: those above, and those beside. Those below are listed with what they do.
fn others(command: &Command, name: &str, names: &[String]) -> Vec<String> {
    let parent = name.strip_suffix(&format!("-{}", command.get_name())).unwrap_or_default();
    let mut others = vec!["diskspd".to_string()];
    if parent.is_empty() {
        others.push(RUN.to_string());
    } else {
        others.push("truespd".to_string());
    }
    if !["", "truespd"].contains(&parent) {
        others.push(parent.to_string());
        let below_parent = format!("{parent}-");
        others
            .extend(names.iter().filter(|other| *other != name && other.starts_with(&below_parent)).cloned());
    }
    others.into_iter().map(|other| format!("{other}(1)")).collect()
}

/// A command that takes DiskSpd's words.
#[derive(Debug)]
pub(super) struct DiskspdCommand {
    pub page: &'static str,
    call: &'static str,
    about: &'static str,
    /// What it does, before what both say.
    description: &'static [&'static str],
    others: &'static [&'static str],
}

pub(super) const DISKSPD: DiskspdCommand = DiskspdCommand {
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

pub(super) const TRUESPD_RUN: DiskspdCommand = DiskspdCommand {
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
pub(super) fn page(command: &DiskspdCommand) -> ManualPage {
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
    for (words, meaning) in diskspd::grammar::help::EXAMPLES {
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

fn push_exit_status(page: &mut Page, meaning: fn(ExitCode) -> &'static str) {
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
fn push_see_also(page: &mut Page, others: &[String]) {
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
