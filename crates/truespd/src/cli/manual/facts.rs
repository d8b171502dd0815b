//! What several pages say.

use clap_mangen::roff::{bold, italic};

use super::page::{Page, marked};
use truespd_core::fault::ExitCode;

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
