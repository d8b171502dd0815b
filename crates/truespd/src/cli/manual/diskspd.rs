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
    /// Name of the page.
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
        "`diskspd` reads and writes its targets for a time, with a given block size, pattern, mix, number of threads and of \
         outstanding I/Os, and prints throughput, IOPS and, with -L, latencies. It takes the command line of DiskSpd 2.2 for \
         Windows and gives each option the same meaning on Linux; text and XML results have the same form.",
        "Standard output holds what DiskSpd would print, and nothing else. Progress, warnings and the verdict on the result \
         go to standard error.",
    ],
    others: &["truespd(1)", "truespd-run(1)", "truespd-inspect(1)", "lsblk(8)", "iostat(1)"],
};

pub(super) const TRUESPD_RUN: Command = Command {
    page: "truespd-run",
    call: "truespd run",
    about: "run a load with the options of diskspd, and print the verdict under its result",
    description: &[
        "`truespd run` takes the words of `diskspd`, runs the same load and prints the same result. It differs in three \
         things: the verdict stands under a text result on standard output, every result is kept in the history unless \
         --no-history is given, and --live shows the run on a full screen.",
    ],
    others: &["diskspd(1)", "truespd(1)", "truespd-judge(1)", "truespd-history(1)"],
};

/// What a person should know who comes from DiskSpd on Windows.
const ON_LINUX: &[(&str, &str)] = &[
    (
        "Targets",
        "A file, a partition or a whole disk, by any of its paths (/dev/nvme0n1, /dev/disk/by-id/...); #n is the n-th whole \
         disk of `truespd inspect`. Windows' drive letters and physical drives do not exist.",
    ),
    (
        "Caching",
        "Without -S, I/O goes through the page cache, as on Windows it goes through the system cache. -Su opens with \
         O_DIRECT, -Sw with O_DSYNC, -Sh with both. Block size, offsets and the start of the range must then fit the \
         alignment that the device asks for; a run whose I/O does not fit is refused, never done through the cache.",
    ),
    (
        "Asynchronous I/O",
        "More than one outstanding I/O (-o) goes through io_uring, or else through the next engine that the machine offers; \
         a message then says why. See ENGINES.",
    ),
    (
        "Processors",
        "Threads are pinned to the processors that the process may use, in ascending order; taskset(1), cpusets and \
         containers count. A processor group of Windows is 64 processors.",
    ),
    (
        "Write guard",
        "Write tests, and -c, do not touch a file that TrueSpd did not make, a device in use, or a device that holds \
         anything: the run is refused with all reasons, and exit status 4. --overwrite allows it for one target. \
         `truespd inspect` shows beforehand whether a write test is allowed.",
    ),
    ("Ctrl+C", "Ends the run and prints what was measured; exit status 0. So do SIGTERM and SIGHUP."),
];

/// The verdict, in short.
const VERDICT: &str = "Every result gets a verdict, by rules over what the disks, the kernel and the machine did during the \
    measured time. `certified`: nothing speaks against the figures. `suspect`: something may have changed them, and the \
    finding says what. `invalid`: they are not what they seem, such as reads that came from a cache. --verdict shows all of \
    it, --require makes it the exit status, and `truespd judge --rules` prints all rules.";

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
    page.section("Verdict");
    page.paragraph(VERDICT);
    page.section("Linux");
    for (what, text) in ON_LINUX {
        page.entry(vec![bold(*what)], &[marked(text)]);
    }
    push_exit_status(&mut page, ExitCode::of_run);
    push_environment(&mut page);
    push_files(&mut page);
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

/// Variables that count, and what each does.
const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "TRUESPD_QUIET",
        "With any value but 0, standard error holds only what DiskSpd would print there, as with --quiet.",
    ),
    (
        "TRUESPD_HISTORY",
        "With 0, no result is kept in the history; with 1, every result is, also those of `diskspd`. --no-history and \
         --keep-history count more.",
    ),
    ("TRUESPD_STORE", "The file of the history. --store counts more."),
    (
        "XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME",
        "Folders that replace ~/.config, ~/.local/share and ~/.local/state in the paths of the files below.",
    ),
    (
        "NO_COLOR, TERM",
        "Without colours when NO_COLOR is set. Also when TERM is dumb, unless the configuration file says `always`.",
    ),
];

/// Files that are read or written beside those of the command line.
const FILES: &[(&str, &str)] = &[
    (
        "/etc/truespd/config.toml, ~/.config/truespd/config.toml",
        "Configuration of all users, and above it your own: whether results are kept in the history and where, quiet \
         output, colours, and the folder of suites. See `truespd config`.",
    ),
    ("~/.config/truespd/workloads/", "Workloads of one's own for `truespd workload`, NAME.toml or NAME.xml."),
    ("~/.local/share/truespd/history.sqlite", "The history: results that were kept. See `truespd history`."),
    (
        "~/.local/state/truespd/",
        "Marks of files that TrueSpd made, which later write tests may overwrite, and what is to be undone should a suite \
         be killed.",
    ),
    (
        "$XDG_RUNTIME_DIR/truespd/, /tmp/truespd-UID/",
        "Events of -ys, -yf, -yr, -yp and -ye while a run has them.",
    ),
];

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

pub(super) fn push_environment(page: &mut Page) {
    page.section("Environment");
    for (names, meaning) in ENVIRONMENT {
        page.entry(vec![bold(*names)], &[marked(meaning)]);
    }
}

pub(super) fn push_files(page: &mut Page) {
    page.section("Files");
    for (path, meaning) in FILES {
        page.entry(vec![italic(*path)], &[marked(meaning)]);
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
