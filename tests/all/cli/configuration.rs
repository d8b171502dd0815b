//! The configuration files: what they change, what they cannot change, and how a wrong one is told.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::history::tools::{Place, Said};
use crate::support::needs::{Need, has};
use crate::support::program::keeps_nothing;
use crate::support::words::in_one_line;

const OWN: &str = "config/truespd/config.toml";
const NEXT_TO_NOTHING: &str = "--only read --size 16M --test RND4K-Q1T1 --count 1 --measure 1 --interval 0";

#[test]
fn what_is_in_force_is_shown_with_its_source() {
    let place = Place::new();
    let shown = in_one_line(&place.out("config"));
    for line in [
        "history.keep true default",
        "output.colour auto default",
        "targets.folder (the current directory) default",
    ] {
        assert!(shown.contains(line), "no '{line}' in: {shown}");
    }
    let file =
        place.write(OWN, "[history]\nkeep = false\n[output]\nquiet = true\n[targets]\nfolder = \"/srv\"\n");
    let mut command = place.command("config");
    let shown = in_one_line(&Said::by(command.env("TRUESPD_QUIET", "0").env("NO_COLOR", "1")).done().out);
    for line in [
        format!("history.keep false {}, line 2", file.display()),
        "output.quiet false variable TRUESPD_QUIET".to_string(),
        "output.colour never variable NO_COLOR".to_string(),
        format!("targets.folder /srv {}, line 6", file.display()),
        format!("{}: read", file.display()),
    ] {
        assert!(shown.contains(&line), "no '{line}' in: {shown}");
    }
    let document: serde_json::Value = serde_json::from_str(&place.out("config --json -")).expect("JSON");
    assert_eq!(document["format"], "truespd-config");
    let keep = &document["config"]["settings"][0];
    assert_eq!((&keep["key"], &keep["value"]), (&"history.keep".into(), &false.into()));
    assert_eq!(keep["from"]["file"]["line"], 2);
    place.out("config --json report.json");
    let schema: serde_json::Value = serde_json::from_str(&place.out("schema config")).expect("JSON");
    assert_eq!(schema["properties"]["format"]["const"], "truespd-config");
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = Path::new(crate::support::ROOT).join("schema/config-v1.json");
    let published = fs::read_to_string(path).expect("schema/config-v1.json is there");
    assert!(published == Place::new().out("schema config"), "truespd schema config > schema/config-v1.json");
}

#[test]
fn a_wrong_line_is_refused_before_anything_happens() {
    let place = Place::new();
    let line = Place::line("");
    let of_diskspd = line.strip_prefix("run ").expect("a run");
    for (text, says) in [
        (
            "[output]\ncolor = \"auto\"\n",
            ["line 2: unknown key color in [output]", "quiet, colour", "did you mean colour?"],
        ),
        (
            "[output]\ncolour = \"blue\"\n",
            ["line 2: colour in [output] is \"blue\"", "\"auto\"", "\"never\""],
        ),
        (
            "\n[histroy]\n",
            ["line 2: unknown table [histroy]", "[history], [output], [targets]", "[history]?"],
        ),
        (
            "[targets]\nfolder = \"tests\"\n",
            ["line 2: folder in [targets] is \"tests\"", "an absolute path", "config.toml'"],
        ),
        (
            "version = 1\n[output]\nsound = true\n",
            ["line 3: unknown key sound in [output]", "quiet, colour", "ERROR"],
        ),
    ] {
        place.write(OWN, text);
        for command in [line.as_str(), "mark .", "config", "history list", "inspect ."] {
            place.said(command).refused(&says);
        }
        Said::by(&mut place.program(crate::support::program::diskspd(), of_diskspd)).refused(&says);
        assert!(!place.path("t.dat").exists(), "nothing is made");
    }
    // A pipe is told as well: nobody may ever write to it.
    fs::remove_file(place.path(OWN)).expect("own file");
    let made = Command::new("mkfifo").arg(place.path(OWN)).status().expect("mkfifo starts");
    assert!(made.success());
    place.said("config").refused(&["cannot be read: it is a pipe", "config.toml'"]);
    // Help needs no configuration.
    for command in ["--help", "mark --help", "run -?", "schema"] {
        place.said(command).done();
    }
}

#[test]
fn unknown_keys_of_a_newer_version_are_warnings() {
    let place = Place::new();
    place.write(OWN, "version = 2\n[output]\nsound = true\n[new]\nkey = 1\n");
    let said = place.run("");
    for line in ["line 3: unknown key sound in [output]", "line 4: unknown table [new]", "of a newer version"]
    {
        assert!(in_one_line(&said.err).contains(line), "no '{line}' in: {}", said.err);
    }
    assert!(in_one_line(&place.out("config")).contains("WARNING: the configuration file"));
    assert!(!place.run("--quiet").err.contains("unknown"), "a quiet run tells no warnings");
}

#[test]
fn a_line_of_diskspd_stays_what_it_is() {
    let place = Place::new();
    let line = Place::line("").replacen("run ", "", 1);
    let run = || Said::by(&mut place.program(crate::support::program::diskspd(), &line)).done();
    let profile =
        || Said::by(&mut place.program(crate::support::program::diskspd(), &format!("-Rp {line}"))).done();
    let (told, plan) = (run(), profile());
    fs::create_dir(place.path("usual")).expect("a folder");
    let folder = place.path("usual");
    let text = format!(
        "[output]\nquiet = true\ncolour = \"always\"\n[targets]\nfolder = \"{}\"\n",
        folder.display()
    );
    place.write(OWN, text);
    let quiet = run();
    assert!(told.err.contains("verdict: ") && quiet.err.is_empty(), "{}", quiet.err);
    assert!(!quiet.out.contains('\u{1b}'), "no colours where DiskSpd has none");
    assert_eq!(profile().out, plan.out);
    // Figures of a simulated run do not change either, only the moment and the processors of this one.
    let total = |text: &str| text.lines().find(|line| line.starts_with("total:")).map(str::to_string);
    assert!(total(&told.out).is_some() && total(&quiet.out) == total(&told.out));
    assert!(fs::read_dir(&folder).expect("a folder").next().is_none(), "nothing is made there");
    let mut loud = place.program(crate::support::program::diskspd(), &line);
    let loud = Said::by(loud.env("TRUESPD_QUIET", "0")).done();
    assert!(loud.err.contains("verdict: \u{1b}["), "colours, as configured: {}", loud.err);
}

#[test]
fn a_suite_without_a_target_takes_the_configured_folder() {
    let place = Place::new();
    let folder = place.path("usual");
    fs::create_dir(&folder).expect("a folder");
    place.write(OWN, format!("[targets]\nfolder = \"{}\"\n", folder.display()));
    let said = place.said(&format!("mark --print {NEXT_TO_NOTHING}")).done();
    assert!(said.out.contains(&format!("{}/", folder.display())), "{}", said.out);
    let told = in_one_line(&said.err);
    let note = format!("note: no target is named: '{}' is used (folder below [targets], '", folder.display());
    assert!(told.contains(&note) && told.contains("line 2"), "{told}");
    for named in ["mark --print .", "assess --print .", "workload oltp --print ."] {
        let said = place.said(named).done();
        assert!(!said.out.contains("usual") && !said.err.contains("no target"), "{named}: {}", said.out);
    }
    for unnamed in ["assess --print", "workload oltp --print"] {
        let said = place.said(unnamed).done();
        assert!(
            said.out.contains("/usual") && said.err.contains("no target is named"),
            "{unnamed}: {}",
            said.out
        );
    }
    // What is there must be a directory: a configured device or file would be written by a word that nobody typed.
    for (path, why) in [
        ("/dev/null", "cannot be used"),
        ("/no/such/folder", "cannot be used"),
        ("/etc/hostname", "is not a directory"),
    ] {
        place.write(OWN, format!("[targets]\nfolder = \"{path}\"\n"));
        if Path::new(path).exists() || path.contains("such") {
            place.said("mark").refused(&[why, "config.toml', line 2", "name a target"]);
        }
    }
}

/// In a mount namespace of its own, so that the machine's files stay as they are.
#[test]
fn the_machines_file_comes_below_the_persons() {
    if !has(&[Need::Mounts]) {
        return;
    }
    let place = Place::new();
    let etc = place.path("etc");
    let machine = place.write("etc/truespd/config.toml", "[history]\nkeep = false\n[output]\nquiet = true\n");
    let shown = |wrapper: &[&str], line: &str| {
        let script = format!("mount --bind {} /etc && exec \"$@\"", etc.display());
        let mut command = Command::new("unshare");
        keeps_nothing(&mut command, &place.path("."));
        command.env_remove("TRUESPD_HISTORY").args(["--mount", "sh", "-c", &script, "sh"]).args(wrapper);
        command.arg(env!("CARGO_BIN_EXE_truespd")).args(line.split(' ')).stdin(Stdio::null());
        Said::by(command.current_dir(place.path(".")))
    };
    place.write(OWN, "[output]\nquiet = false\n");
    let said = in_one_line(&shown(&[], "config").done().out);
    for line in
        ["history.keep false /etc/truespd/config.toml, line 2", "output.quiet false", "config.toml, line 2"]
    {
        assert!(said.contains(line), "no '{line}' in: {said}");
    }
    fs::write(&machine, "[history]\nkep = false\n").expect("written");
    shown(&[], "config")
        .refused(&["'/etc/truespd/config.toml', line 2: unknown key kep", "did you mean keep?"]);
    // Those who may not read it are told, and go on.
    fs::set_permissions(&machine, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("own file");
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "env",
        "-u",
        "XDG_CONFIG_HOME",
        "-u",
        "HOME",
    ];
    let copied = Path::new("/usr/bin/setpriv").exists();
    if copied && reachable(Path::new(env!("CARGO_BIN_EXE_truespd"))) {
        let said = in_one_line(&shown(&nobody, "config").done().out);
        assert!(
            said.contains("is not for this user to read, so nothing in it counts: Permission denied"),
            "{said}"
        );
    }
}

/// Whether every user may start it.
fn reachable(program: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    program.ancestors().all(|path| {
        path.metadata().is_ok_and(|about| about.permissions().mode() & 0o001 != 0)
            || path.as_os_str().is_empty()
    })
}
