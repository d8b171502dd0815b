//! Words of other programs, and words in the wrong place, with what they are here.

use clap::Command;

use crate::suite::workload::preset::BUILT_IN;
use diskspd::grammar::arguments::is_option;
use diskspd::grammar::hints;
use truespd_core::text::{meant_size, printable, shell_word};

/// Names of other programs, and other names for commands, with what does that here.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    ("winsat winsat.exe wei", "truespd assess [DIR|DEVICE] does what 'winsat disk' did"),
    (
        "cdm crystaldiskmark crystaldisk crystal diskmark kdiskmark atto as-ssd",
        "truespd mark [DIR|DEVICE] runs CrystalDiskMark's tests",
    ),
    (
        "benchmark bench test perf performance measure speed speedtest start dd hdparm ioping iozone \
         bonnie bonnie++ iometer sysbench vdbench",
        "truespd mark [DIR|DEVICE] runs a set of tests; truespd run -c1G -b4K -r -Su FILE is one load of your own",
    ),
    ("fio", "truespd import job.fio turns a job file of fio into lines of diskspd"),
    (
        "diskspd diskspd.exe diskspd64 diskspd64.exe dskspd",
        "truespd run takes the words of diskspd: truespd run -b4K -r FILE",
    ),
    ("vmfleet fleet preset presets load loads", "truespd workload lists loads by name, and runs them"),
    (
        "list ls lsblk disks drives devices info smart",
        "truespd inspect lists the disks; truespd history list lists kept results",
    ),
    ("check tune tuning optimize diagnose health", "truespd doctor finds what spoils a measurement"),
    (
        "diff vs gate regression",
        "truespd compare A B compares stored results; truespd ab measures two variants in turns",
    ),
    ("results result log logs db database", "truespd history list lists kept results"),
    ("view print cat open summary", "truespd show FILE shows a stored result"),
    ("html chart charts plot graph dashboard", "truespd report FILE... makes a page with charts"),
    ("convert format csv json xml text", "truespd render FILE prints a stored result in another format"),
    ("verify verdict validate grade", "truespd judge FILE... judges stored results"),
    ("monitor top live follow", "truespd watch FILE shows a run that goes on"),
    ("man doc docs manpage", "truespd manual diskspd shows the manual page"),
    ("settings configure setup configuration", "truespd config shows what is set, and where"),
    ("mpi mpirun srun hosts nodes", "truespd cluster run is one run on many hosts"),
    ("sum add combine", "truespd merge FILE... adds results up"),
    (
        "overwrite allow trust",
        "truespd adopt FILE... lets tests write these files; --overwrite PATH allows one run",
    ),
    ("delete remove rm", "truespd history rm takes results out of the history"),
    ("version", "truespd --version"),
];

/// What a word in the place of a command is here.
pub(super) fn command(typed: &str) -> Option<String> {
    let name = typed.to_ascii_lowercase();
    if let Some((_, hint)) = COMMANDS.iter().find(|(names, _)| names.split(' ').any(|other| other == name)) {
        return Some((*hint).to_string());
    }
    if BUILT_IN.iter().any(|(preset, ..)| *preset == name) {
        return Some(format!("this is a load: truespd workload {name}"));
    }
    if name.ends_with(".fio") {
        return Some(format!("truespd import {} turns it into lines of diskspd", shell_word(typed)));
    }
    let is_path = typed.contains(['/', '.', '\\', '#']) || std::path::Path::new(typed).exists();
    is_path.then(|| {
        let word = shell_word(typed);
        format!("a target stands behind a command: truespd mark {word}, or truespd run -b4K -r {word}")
    })
}

/// Other names for what stands behind a command such as `history`.
const BELOW: [(&str, &str); 8] = [
    ("delete", "rm"),
    ("remove", "rm"),
    ("del", "rm"),
    ("ls", "list"),
    ("view", "show"),
    ("cat", "show"),
    ("name", "label"),
    ("clean", "prune"),
];

/// Which of these names was meant.
pub(super) fn below(typed: &str, names: &[&str]) -> Option<&'static str> {
    let (_, meant) = BELOW.iter().find(|(other, _)| *other == typed)?;
    names.contains(meant).then_some(*meant)
}

/// What people want of an option.
struct Wish {
    /// Long options of other programs.
    names: &'static [&'static str],
    /// Their letters, and those of DiskSpd.
    letters: &'static str,
    /// Our long options for it, of which a command has one or none.
    ours: &'static [&'static str],
    has_value: bool,
}

const WISHES: &[Wish] = &[
    Wish {
        names: &["force", "yes", "assume-yes", "no-confirm", "destroy", "destructive"],
        letters: "fy",
        ours: &["overwrite"],
        has_value: false,
    },
    Wish {
        names: &["runs", "iterations", "repeat", "repeats", "times", "rounds", "passes"],
        letters: "rnl",
        ours: &["loops", "blocks"],
        has_value: true,
    },
    Wish { names: &["filesize", "file-size", "test-size"], letters: "csf", ours: &["size"], has_value: true },
    Wish {
        names: &["time", "runtime", "duration", "seconds", "measure"],
        letters: "dt",
        ours: &["measure", "duration", "seconds"],
        has_value: true,
    },
    Wish {
        names: &["output", "out", "outfile", "export"],
        letters: "o",
        ours: &["save", "json"],
        has_value: false,
    },
    Wish { names: &["silent"], letters: "q", ours: &["quiet"], has_value: false },
];

/// Long options that people are told of.
pub(super) fn longs(command: &Command) -> impl Iterator<Item = &str> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    shown.filter_map(|arg| arg.get_long())
}

/// What an option is here that a command does not have.
pub(super) fn option(command: &Command, called: &str, typed: &str) -> Vec<String> {
    let mut hints = Vec::new();
    if command.get_subcommands().next().is_some() && is_option(typed) {
        return vec![format!("options of diskspd stand behind run: truespd run {typed} ... FILE")];
    }
    if command.get_subcommands().next().is_some() {
        return vec![format!("options stand behind the command that they are for: {called} COMMAND {typed}")];
    }
    let bare = typed.trim_start_matches('-');
    let (name, value) = bare.split_once('=').unwrap_or((bare, ""));
    let is_long = typed.starts_with("--");
    let letter = bare.chars().next().unwrap_or_default();
    for wish in WISHES {
        let is_meant = if is_long { wish.names.contains(&name) } else { wish.letters.contains(letter) };
        if !is_meant {
            continue;
        }
        let Some(own) = wish.ours.iter().find(|own| longs(command).any(|long| long == **own)) else {
            continue;
        };
        let value = if is_long { value } else { bare.get(letter.len_utf8()..).unwrap_or_default() };
        if *own == "overwrite" {
            hints.push("--overwrite PATH names the file or device whose data may be lost".to_string());
        } else if wish.has_value && !value.is_empty() {
            let value = meant_size(value).unwrap_or_else(|| value.to_string());
            hints.push(format!("perhaps --{own} {}", shell_word(&value)));
        } else {
            hints.push(format!("perhaps --{own}"));
        }
    }
    if !is_long && is_option(typed) {
        hints.push(if has_variants(command) {
            format!("options of diskspd stand in the words of each variant: --a '{typed} ... FILE'")
        } else {
            format!("{typed} is an option of diskspd, which {called} does not take; truespd run does")
        });
    }
    hints
}

/// What a word is that is too many.
pub(super) fn operand(command: &Command, typed: &str) -> Option<String> {
    let word = printable(typed);
    if has_variants(command) {
        return Some(format!(
            "the target stands in the words of each variant: --a '-b4K -r {word}' --b '-b8K -r {word}'; or leave it \
             out there, and --file DIR makes a file for both"
        ));
    }
    if longs(command).any(|long| long == "size")
        && let Some(size) = meant_size(typed)
    {
        return Some(format!("a size is given with its option: --size {size}"));
    }
    if let Some(near) = longs(command).find(|long| *long == typed) {
        return Some(format!("an option has two dashes: --{near}"));
    }
    hints::meant(typed).map(|meant| format!("of diskspd, {meant}; truespd run takes its options"))
}

/// What to write where something is missing.
pub(super) fn missing(command: &Command, typed: &[String]) -> Option<String> {
    let target = typed.iter().find(|word| !word.starts_with('-')).map_or("FILE", String::as_str);
    has_variants(command).then(|| {
        format!(
            "both are a line of diskspd without its name, in quotes: --a '-b4K -r {0}' --b '-b8K -r {0}'",
            printable(target)
        )
    })
}

/// Whether two lines of diskspd are its options.
fn has_variants(command: &Command) -> bool {
    ["a", "b"]
        .into_iter()
        .all(|name| command.get_arguments().any(|arg| arg.get_long() == Some(name) && arg.is_required_set()))
}
