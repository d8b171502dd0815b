//! The write guard in every situation that could be made here, and the table of them: what a write test does
//! without a word more, and when the target is named again.
//!
//! `tests/data/guard-situations.md` holds the table; run with `BLESS=1` to write it anew.

use std::fs;
use std::os::unix::process::CommandExt;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::made::{Situation, situations};
use super::makers::Made;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running, data};
use crate::support::words::in_one_line;

/// Quick and gentle.
const WORDS: &str = "-d1 -W0 -b4K -o1 -g64 -w100";

fn run(lab: &Lab, made: &Made, overwrite: bool) -> Ran {
    let again = made.again.as_deref().unwrap_or(&made.target);
    let line = if overwrite {
        format!("{WORDS} {} --overwrite {}", made.options, again.display())
    } else {
        format!("{WORDS} {}", made.options)
    };
    let mut command =
        if made.behind.is_empty() { lab.command(&line) } else { lab.command_behind(&made.behind, &line) };
    // The last argument: paths may hold blanks.
    command.arg(&made.target);
    if let Some(path) = &made.inherited {
        let file = fs::File::options().read(true).write(true).open(path).expect("it is there");
        let shell = "exec 7<>\"$0\"; exec \"$@\"";
        let mut behind = std::process::Command::new("sh");
        behind.args(["-c", shell]).arg(path).arg(command.get_program()).args(command.get_args());
        behind.current_dir(lab.work()).arg0("sh");
        for (name, value) in command.get_envs() {
            behind.env(name, value.unwrap_or_default());
        }
        behind.stdin(std::process::Stdio::null());
        behind.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        drop(file);
        return Running::new(behind, &line).finish();
    }
    Running::new(command, &line).finish()
}

/// What came of it, in a word of the table.
fn outcome(ran: &Ran) -> &'static str {
    match ran.status.code() {
        Some(0) => "written",
        Some(4) => "refused",
        Some(1) => "not opened",
        _ => panic!("an exit code that the table has no word for\n{ran}"),
    }
}

fn check(situation: &Situation) -> Option<(&'static str, &'static str)> {
    let lab = Lab::on_disk()?;
    let made = (situation.make)(&lab)?;
    let name = situation.name;
    let bytes = || made.bytes.as_deref().map(|path| fs::read(path).expect("readable"));
    let before = bytes();
    let is_mounted = situation.says.iter().any(|words| words.contains("mounted"));
    let first = run(&lab, &made, false);
    let without = outcome(&first);
    for words in situation.says {
        let says = in_one_line(&first.stderr).contains(&in_one_line(words))
            // What is said of the override.
            || in_one_line(&run(&lab, &made, true).stderr).contains(&in_one_line(words));
        assert!(says, "{name}: does not say: {words}\n{first}");
    }
    if without == "refused" {
        assert_eq!(first.stdout, "", "{name}: {first}");
        let has_list = first.stderr.contains("\n   1. ");
        assert!(!has_list || first.stderr.lines().all(|line| is_narrow(line, &made)), "{name}: {first}");
        // Mounting and unmounting write.
        assert!(is_mounted || bytes() == before, "{name}: something was written");
    }
    let second = run(&lab, &made, true);
    let with = outcome(&second);
    if with == "written" {
        assert!(second.stdout.contains("Total IO"), "{name}: {second}");
    }
    drop(made);
    Some((without, with))
}

/// Eighty columns, unless a single word or the quoted command line needs more.
fn is_narrow(line: &str, made: &Made) -> bool {
    let quoted = line.starts_with("    ") && !line.starts_with("      ");
    let marks = line.chars().all(|c| " ~^".contains(c));
    line.len() <= 80
        || quoted
        || marks
        || line.contains(made.target.to_str().unwrap_or("/"))
        || line.contains("/tmp/")
}

#[test]
fn the_table_of_situations() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let situations = situations();
    let rows = Mutex::new(vec![None; situations.len()]);
    let (next, is_whole) = (AtomicUsize::new(0), AtomicBool::new(true));
    let wrong = Mutex::new(Vec::new());
    // A run mostly waits for its second to pass.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(situation) = situations.get(index) else { break };
                    // The others are looked at all the same.
                    match catch_unwind(|| check(situation)) {
                        Ok(Some(row)) => {
                            rows.lock().expect("not poisoned")[index] = Some(row);
                        }
                        Ok(None) => is_whole.store(false, Ordering::Relaxed),
                        Err(_) => wrong.lock().expect("not poisoned").push(situation.name),
                    }
                }
            });
        }
    });
    assert_eq!(wrong.into_inner().expect("not poisoned"), [""; 0], "what was wrong stands above");
    let rows = rows.into_inner().expect("not poisoned");
    if !is_whole.into_inner() {
        // What was missing has been counted; the table is compared where all can be made.
        return;
    }
    let mut table = String::from(HEAD);
    for (n, (situation, row)) in situations.iter().zip(rows).enumerate() {
        let (without, with) = row.expect("checked");
        let says: Vec<String> = situation.says.iter().map(|s| format!("\"{}\"", s.trim())).collect();
        table += &format!("| {} | {} | {without} | {with} | {} |\n", n + 1, situation.name, says.join(", "));
    }
    let file = data("guard-situations.md");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, &table).expect("the table can be written");
    }
    let known = fs::read_to_string(Path::new(&file)).unwrap_or_default();
    assert!(known == table, "the outcomes differ from {}:\n{table}", file.display());
}

const HEAD: &str = "\
# What the write guard does

Made and checked by `tests/all/guard/situations.rs` with real devices (`BLESS=1` writes this file anew). Each is the
target of a write test, first as it is and then named again after `--overwrite`: *written* (the test ran), *refused*
(exit code 4, nothing touched), *not opened* (the system itself says no, exit code 1). Device-mapper, md, LVM, LUKS
and root disks in use: `ci/guest-checks`. What `--unchecked` lets through: `tests/all/guard/blind.rs`.

| # | target | as it is | with `--overwrite` | says |
|---|---|---|---|---|
";
