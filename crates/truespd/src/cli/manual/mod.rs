//! Manual pages. They are made when they are asked for, from what the help is made from: the rows of
//! DiskSpd's switches, and the options of the subcommands.

mod diskspd;
mod page;
mod plain;

use clap::{Arg, Command};
use clap_mangen::Man;

use page::{Page, marked};
use truespd_core::fault::ExitCode;

pub(crate) use page::ManualPage;
pub(crate) use plain::plain;

/// Names of all pages. `command` is `truespd` with all its subcommands.
pub(crate) fn names(command: &Command) -> Vec<String> {
    let mut command = command.clone();
    command.build();
    std::iter::once(diskspd::DISKSPD.page.to_string()).chain(names_below(&command)).collect()
}

/// All pages. `command` is `truespd` with all its subcommands.
pub(crate) fn pages(command: &Command) -> Vec<ManualPage> {
    let mut command = command.clone();
    command.build();
    let names = names_below(&command);
    let mut pages = vec![diskspd::page(&diskspd::DISKSPD)];
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
     workload), many hosts at once (cluster), comparisons (ab, study, compare), stored results (judge, show, render, \
     report, merge, history), and the machine (inspect, doctor). Each has a page of its own; `truespd COMMAND \
     --help` shows the same.",
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
        name if name == RUN => diskspd::page(&diskspd::TRUESPD_RUN),
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
    diskspd::push_exit_status(&mut page, ExitCode::of_command);
    let is_whole = command.get_name() == name;
    let reads_configuration =
        command.get_name() == CONFIG || command.get_arguments().any(|arg| arg.get_id() == "store");
    if is_whole || reads_configuration {
        page.append(diskspd::SURROUNDINGS);
    }
    if is_whole {
        push_examples(
            &mut page,
            EXAMPLES.iter().map(|(line, meaning)| (line.to_string(), meaning.to_string())),
        );
    } else {
        push_after(&mut page, command);
    }
    diskspd::push_see_also(&mut page, &others(command, name, names));
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
