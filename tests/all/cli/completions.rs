//! Completions in real shells: what each of them offers at the end of a line.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use crate::support::killed::truespd;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, data};

/// Lines, with words that must be offered, and words that must not.
const LINES: &[(&str, &[&str], &[&str])] = &[
    ("diskspd -S", &["-Sb", "-Su", "-Sh", "-Sw", "-Smrw"], &["-L", "-b4K", "-Sbh"]),
    ("diskspd -b", &["-b4K", "-b64K", "-b1M", "-bs"], &["-c1G", "-S"]),
    ("diskspd -bs", &["-bsn", "-bsp"], &["-b4K"]),
    ("diskspd -b4", &["-b4K", "-b4M"], &["-b64K"]),
    ("diskspd -Rx", &["-Rxml"], &["-Rtext", "-Rpxml"]),
    ("diskspd -Rp", &["-Rptext", "-Rpxml"], &["-Rxml"]),
    ("diskspd -f", &["-fr", "-fs", "-f1G"], &["-b4K"]),
    ("diskspd -e", &["-ep", "-eq", "-ePROCESS"], &["-p"]),
    ("diskspd -p", &["-p"], &["-ep", "test.dat"]),
    ("diskspd -w3", &["-w30"], &["-w0"]),
    ("diskspd -", &["-b", "-L", "-S", "--json", "--engine"], &["test.dat"]),
    ("diskspd --eng", &["--engine"], &["--json"]),
    ("diskspd --engine ", &["io_uring", "libaio", "sim"], &["--json", "-L"]),
    ("diskspd -b4K --engine io_", &["io_uring", "io_uring_poll"], &["libaio"]),
    ("diskspd --require ", &["certified", "suspect"], &["invalid"]),
    ("diskspd --json out.json -L -S", &["-Sh"], &["-L"]),
    ("diskspd -Xpro", &["-Xprofile.xml"], &["-Xtest.dat"]),
    ("diskspd -Z1M,te", &["-Z1M,test.dat"], &["-Z1M,profile.xml"]),
    // A blank in a path stays in it; = and : make no new word.
    ("diskspd -Xspa", &["-Xspare disk.xml"], &["-Xspare", "disk.xml"]),
    ("diskspd -B1M:2M -S", &["-Sh"], &["-L"]),
    ("diskspd --engine sim:latency=1ms -S", &["-Sh"], &["-L"]),
    // Behind a target there are targets only.
    ("diskspd -b4K test.dat -S", &[], &["-Sh", "-Su"]),
    ("diskspd -b4K -- -S", &[], &["-Sh", "-Su"]),
    (
        "truespd ",
        &["run", "mark", "ab", "history", "cluster", "manual", "completions"],
        &["caretaker", "-b4K"],
    ),
    ("truespd run -S", &["-Sb", "-Su", "-Sh"], &["-L"]),
    ("truespd run -b4K --engine li", &["libaio"], &["io_uring"]),
    ("truespd run -b4K test.dat -S", &[], &["-Sh"]),
    ("truespd cluster ", &["run", "mark", "workload", "find-max"], &["ab", "-b4K"]),
    ("truespd cluster run -w", &["-w30"], &["-b4K"]),
    ("truespd cluster run --sha", &["--shard", "--shared"], &["--json"]),
    ("truespd cluster mark --pat", &["--patience"], &["--shard"]),
    ("truespd mark --pre", &["--preset"], &["--json"]),
    ("truespd mark --preset ", &["nvme", "flash", "default"], &["peak"]),
    ("truespd ab --require ", &["better", "not-worse", "certified"], &["pass"]),
    ("truespd ab --metric ", &["iops", "p99.9", "cpu"], &["p95"]),
    ("truespd schema ", &["result", "mark", "study"], &["run"]),
    ("truespd history ", &["list", "show", "prune"], &["mark"]),
    ("truespd history list --verdict ", &["certified", "invalid"], &["pass"]),
    ("truespd completions ", &["bash", "zsh", "fish"], &["run"]),
    ("truespd show ", &[], &["--help", "-h", "run"]),
    ("truespd manual ", &["diskspd", "truespd-ab", "truespd-history-list"], &["run"]),
    // One load, and then its files.
    ("truespd workload ", &["oltp", "vdi", "beside"], &["--list"]),
    ("truespd workload beside --sh", &["--shares"], &["--size"]),
    ("truespd workload oltp ", &[], &["oltp", "vdi"]),
    ("truespd study ", &["cache", "write-cache", "locality"], &["mark"]),
];

/// A folder with the scripts, and with a few files to be offered.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("test.dat", b"x");
    lab.write("profile.xml", b"<Profile/>");
    lab.write("spare disk.xml", b"<Profile/>");
    let written = truespd(&lab, "completions --folder ../scripts").status().expect("truespd starts");
    assert!(written.success());
    for shell in ["bash", "zsh", "fish"] {
        let script = truespd(&lab, &format!("completions {shell}")).output().expect("truespd starts");
        assert!(script.status.success() && !script.stdout.is_empty() && script.stderr.is_empty(), "{shell}");
        lab.write(&format!("../scripts/both.{shell}"), &script.stdout);
    }
    lab
}

/// What the shell offers, by line. Nothing may be said on standard error.
fn offered(mut shell: Command, lab: &Lab) -> BTreeMap<String, Vec<String>> {
    let ran = shell
        .current_dir(lab.work())
        .env("HOME", lab.work())
        .env("XDG_CONFIG_HOME", lab.work().with_file_name("config"))
        .env("XDG_DATA_HOME", lab.work().with_file_name("data"))
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .expect("the shell starts");
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && errors.is_empty(), "{shell:?}\n{text}\n{errors}");
    let mut offered: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut line = String::new();
    for told in text.lines() {
        match told.strip_prefix("> ") {
            Some(next) => line = next.to_string(),
            // fish puts what a word does behind a tab.
            None => offered
                .entry(line.clone())
                .or_default()
                .push(told.split('\t').next().unwrap_or(told).to_string()),
        }
    }
    offered
}

/// Lines of these commands; `{}` of a failed check names the shell.
fn check(shell: &str, offered: &BTreeMap<String, Vec<String>>, commands: &[&str]) {
    let of_these = LINES.iter().filter(|(line, ..)| commands.iter().any(|command| line.starts_with(command)));
    let mut wrong = Vec::new();
    for (line, with, without) in of_these {
        let none = Vec::new();
        let words = offered.get(*line).unwrap_or(&none);
        // zsh quotes blanks itself.
        let is_offered =
            |word: &&&str| words.iter().any(|offered| offered.trim_end().replace("\\ ", " ") == **word);
        let missing: Vec<_> = with.iter().filter(|word| !is_offered(word)).collect();
        let surplus: Vec<_> = without.iter().filter(is_offered).collect();
        if !missing.is_empty() || !surplus.is_empty() {
            wrong.push(format!(
                "{shell}: {line}: missing {missing:?}, surplus {surplus:?}, offered {words:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn lines() -> impl Iterator<Item = &'static str> {
    LINES.iter().map(|(line, ..)| *line)
}

#[test]
fn bash_completes_both_commands() {
    if !has(&[Need::Tool("bash")]) {
        return;
    }
    let lab = lab();
    for (scripts, commands) in [
        ("../scripts/both.bash", &["diskspd ", "truespd "][..]),
        ("../scripts/bash/diskspd", &["diskspd "]),
        ("../scripts/bash/truespd", &["truespd "]),
    ] {
        let mut shell = Command::new("bash");
        shell.args(["--norc", "--noprofile"]).arg(data("completion/complete.bash")).env("SCRIPTS", scripts);
        shell.args(lines().filter(|line| commands.iter().any(|command| line.starts_with(command))));
        // Outside a completion of its own, bash has no options to change.
        shell.env("BASH_ENV", data("completion/no-compopt.bash"));
        check("bash", &offered(shell, &lab), commands);
    }
    // What readline replaces is the part behind = or :, or all of a word with a ~ that no shell would expand.
    let profile = format!("-X{}", lab.path("profile.xml").display());
    let mut shell = Command::new("bash");
    shell.args(["--norc", "--noprofile"]).arg(data("completion/complete.bash"));
    shell.env("SCRIPTS", "../scripts/both.bash").env("BASH_ENV", data("completion/no-compopt.bash"));
    let parts = [
        ("truespd mark --preset=nv", "nvme"),
        ("truespd history list --verdict=cer", "certified"),
        ("diskspd -b4K -:1 -Rx", "-Rxml"),
        ("diskspd --engine=sim:latency=1ms -Rx", "-Rxml"),
        ("diskspd -X~/pro", &profile),
    ];
    shell.args(parts.map(|(line, _)| line));
    let offered = offered(shell, &lab);
    for (line, word) in parts {
        assert_eq!(offered.get(line).map(Vec::as_slice), Some(&[word.to_string()][..]), "{line}");
    }
}

/// The package loads a file by the name of the command when it is first completed.
#[test]
fn bash_completion_finds_the_files() {
    if !has(&[Need::Tool("bash"), Need::BashCompletion]) {
        return;
    }
    const PACKAGE: &str = "/usr/share/bash-completion/bash_completion";
    let lab = lab();
    let folder = lab.path("../scripts");
    std::fs::create_dir_all(folder.join("bash-completion")).expect("a folder");
    std::fs::rename(folder.join("bash"), folder.join("bash-completion/completions")).expect("it moves");
    let mut shell = Command::new("bash");
    let load = format!(
        "source {PACKAGE}; for command in diskspd truespd; do _completion_loader $command; complete -p $command; done"
    );
    shell.args(["--norc", "-c", &load]).env("XDG_DATA_DIRS", &folder).current_dir(lab.work());
    let ran = shell.env("HOME", lab.work()).env("XDG_DATA_HOME", &folder).output().expect("bash starts");
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(
        text.contains("-F _diskspd diskspd") && text.contains("-F _truespd_or_words truespd"),
        "{text}{ran:?}"
    );
}

#[test]
fn zsh_completes_both_commands() {
    if !has(&[Need::Tool("zsh")]) {
        return;
    }
    let lab = lab();
    let folder = lab.path("../scripts/zsh");
    for (scripts, folder) in [("../scripts/both.zsh", "/nonexistent".into()), ("", folder)] {
        let mut shell = Command::new("zsh");
        shell.arg("-f").arg(data("completion/complete.zsh")).env("SCRIPTS", scripts).env("FOLDER", folder);
        shell.arg(lab.path("../out")).args(lines());
        check("zsh", &offered(shell, &lab), &["diskspd ", "truespd "]);
    }
}

#[test]
fn fish_completes_both_commands() {
    if !has(&[Need::Tool("fish")]) {
        return;
    }
    let lab = lab();
    for (scripts, commands) in [
        ("../scripts/both.fish", &["diskspd ", "truespd "][..]),
        ("../scripts/fish/diskspd.fish", &["diskspd "]),
        ("../scripts/fish/truespd.fish", &["truespd "]),
    ] {
        let words = lines().filter(|line| commands.iter().any(|command| line.starts_with(command)));
        let quoted: Vec<String> = words.map(|line| format!("'{line}'")).collect();
        let mut shell = Command::new("fish");
        let run = format!(
            "source {scripts}; for line in {}; echo \"> $line\"; complete -C $line; end; true",
            quoted.join(" ")
        );
        shell.args(["--no-config", "-c", &run]);
        check("fish", &offered(shell, &lab), commands);
    }
}

/// A word of the table that no shell takes for something else is what the program takes.
#[test]
fn the_shells_read_the_scripts_by_eval() {
    let lab = lab();
    for (shell, check) in [
        ("bash", "eval \"$(cat ../scripts/both.bash)\"; complete -p diskspd truespd"),
        (
            "zsh",
            "autoload -Uz compinit; compinit -u -D; eval \"$(cat ../scripts/both.zsh)\"; print $_comps[diskspd] $_comps[truespd]",
        ),
        ("fish", "eval (cat ../scripts/both.fish | string collect); complete -c diskspd | head -n 1"),
    ] {
        if !has(&[Need::Tool(shell)]) {
            continue;
        }
        let ran =
            Command::new(shell).args(["-c", check]).current_dir(lab.work()).env("HOME", lab.work()).output();
        let ran = ran.expect("the shell starts");
        let text = String::from_utf8_lossy(&ran.stdout);
        assert!(
            ran.status.success() && text.contains("diskspd") && ran.stderr.is_empty(),
            "{shell}: {text}{ran:?}"
        );
    }
}
