//! Manual pages: every command has one, and the tools that show pages have nothing against them.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::{Command, Output, Stdio};

use crate::house::sources;
use crate::support::killed::truespd;
use crate::support::needs::{Need, has};
use crate::support::program::Lab;
use crate::support::pty::{On, OnTerminal};

/// The only thing that mandoc may miss: a page has the version that it describes, and no date.
const NO_DATE: &str = "WARNING: missing date, using \"\": TH";
/// Columns of text on a terminal of 80.
const COLUMNS: usize = 78;

fn run(lab: &Lab, line: &str) -> Output {
    truespd(lab, line).output().expect("truespd starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

fn page(lab: &Lab, name: &str) -> String {
    let ran = run(lab, &format!("manual {name}"));
    assert!(ran.status.success() && ran.stderr.is_empty(), "{name}: {ran:?}");
    text(&ran.stdout)
}

/// Names of all pages.
fn names(lab: &Lab) -> Vec<String> {
    let list = text(&run(lab, "manual").stdout);
    let lines = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with(' '));
    lines.map(|line| line.split(' ').next().expect("a name").to_string()).collect()
}

/// What mandoc says of a page; none where it is not installed.
fn mandoc(arguments: &[&str], page: &str) -> Option<String> {
    let mut command = Command::new("mandoc");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    has(&[Need::Tool("mandoc")]).then_some(())?;
    let mut child = command.spawn().expect("mandoc starts");
    child.stdin.take().expect("a pipe").write_all(page.as_bytes()).expect("mandoc reads");
    Some(text(&child.wait_with_output().expect("mandoc ends").stdout))
}

/// On a terminal nobody reads the language of troff.
#[test]
fn a_terminal_shows_the_page_formatted() {
    let lab = Lab::new();
    let folder = lab.path("nothing");
    fs::create_dir(&folder).expect("a folder");
    for has_viewer in [true, false] {
        let mut command = truespd(&lab, "manual truespd-ab");
        command.env("MANPAGER", "cat").env("PAGER", "cat");
        if !has_viewer {
            command.env("PATH", &folder);
        }
        let ended = OnTerminal::start(command, 80, On::Both).finish();
        let shown = ended.screen.text();
        assert!(shown.contains("compare two variants of a run in turns"), "{has_viewer}:\n{shown}");
        assert!(!shown.contains(".SH") && !shown.contains("\\fB"), "{has_viewer}:\n{shown}");
        assert!(ended.status.success(), "{has_viewer}: {shown}");
    }
    // Without man, the pager that man would open.
    for name in ["sh", "cat"] {
        symlink(format!("/bin/{name}"), folder.join(name)).expect("a link");
    }
    let mut command = truespd(&lab, "manual truespd-ab");
    command.env("MANPAGER", "cat -n").env("PATH", &folder);
    let shown = OnTerminal::start(command, 80, On::Both).finish().screen.text();
    assert!(shown.contains("compare two variants") && shown.contains("     1"), "{shown}");
    assert!(page(&lab, "truespd-ab").contains("\n.SH SYNOPSIS\n"));
}

#[test]
fn mandoc_finds_nothing_wrong() {
    let lab = Lab::new();
    let names = names(&lab);
    assert!(names.len() > 30, "{names:?}");
    for name in &names {
        let Some(said) = mandoc(&["-Tlint", "-Wall"], &page(&lab, name)) else { return };
        let wrong: Vec<&str> = said.lines().filter(|line| !line.ends_with(NO_DATE)).collect();
        assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn pages_fit_80_columns() {
    let lab = Lab::new();
    for name in names(&lab) {
        let Some(shown) = mandoc(&["-Tascii", "-O", "width=78"], &page(&lab, &name)) else { return };
        for line in shown.lines() {
            // A letter, a backspace and the letter again is bold.
            let columns = line.chars().count() - 2 * line.matches('\u{8}').count();
            // A path or a list of values without a blank keeps its length, and so does a heading.
            let is_one_word = !line.trim().contains(' ') || line.contains("(1)");
            assert!(columns <= COLUMNS || is_one_word, "{name}: {columns}: {line}");
        }
    }
}

#[test]
fn the_pages_have_the_usual_sections() {
    let lab = Lab::new();
    let titles = |name: &str| -> Vec<String> {
        page(&lab, name)
            .lines()
            .filter_map(|line| line.strip_prefix(".SH "))
            .map(|t| t.replace('"', ""))
            .collect()
    };
    for name in ["diskspd", "truespd-run"] {
        let wanted = [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "ENGINES",
            "VERDICT",
            "LINUX",
            "EXIT STATUS",
            "ENVIRONMENT",
            "FILES",
            "EXAMPLES",
            "SEE ALSO",
        ];
        assert_eq!(titles(name), wanted, "{name}");
    }
    for name in names(&lab) {
        let titles = titles(&name);
        for wanted in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"] {
            assert!(titles.iter().any(|title| title == wanted), "{name} has no {wanted}: {titles:?}");
        }
    }
}

/// Whoever looks for the configuration finds its files, its variables, and a line for each key.
#[test]
fn the_page_of_the_configuration_lists_its_keys() {
    let lab = Lab::new();
    let config = page(&lab, "truespd-config").replace("\\-", "-");
    for line in [
        ".SH ENVIRONMENT",
        ".SH FILES",
        "\\fI/etc/truespd/config.toml, \\(ti/.config/truespd/config.toml\\fR",
        "\\fB[history]\\fR",
        "\\fBkeep = true\\fR",
        "\\fBfolder = \"/path/dir\"\\fR",
        "Print help.",
    ] {
        assert!(config.lines().any(|found| found == line), "no '{line}' in:\n{config}");
    }
    // What follows the examples of the help is no example.
    let import = page(&lab, "truespd-import");
    let (before, examples) = import.split_once(".SH EXAMPLES").expect("it has examples");
    let (_, notes) = before.split_once(".SH NOTES").expect("it has notes");
    assert!(notes.contains("Variables (${NAME})") && !examples.contains("Variables"), "{import}");
    let history = page(&lab, "truespd-history-list");
    assert!(history.contains(".SH FILES") && history.contains("TRUESPD_STORE"), "{history}");
}

/// A variable that the program reads is in the manual.
#[test]
fn every_variable_is_told() {
    // Between the processes of a rank; of tests.
    const OWN: &[&str] = &["TRUESPD_RANK_OF", "TRUESPD_TEST_EVENT_DIR"];
    let lab = Lab::new();
    let page = page(&lab, "diskspd");
    let mut seen = 0;
    for (_, path, source) in sources() {
        for word in source.split('"').filter(|word| word.starts_with("TRUESPD_") && !OWN.contains(word)) {
            let is_name = word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            assert!(!is_name || page.contains(word), "{}: {word} is not in diskspd(1)", path.display());
            seen += usize::from(is_name);
        }
    }
    assert!(seen >= 3, "{seen}");
}

#[test]
fn a_folder_gets_what_is_printed() {
    let lab = Lab::new();
    for _ in 0..2 {
        let ran = run(&lab, "manual --folder new/share/man");
        assert!(ran.status.success() && ran.stdout.is_empty() && ran.stderr.is_empty(), "{ran:?}");
        // What stood there is replaced.
        let file = lab.path("new/share/man/man1/truespd-ab.1");
        assert_eq!(fs::read_to_string(&file).expect("a page"), page(&lab, "truespd-ab"));
        let old = ".TH TRUESPD-AB 1 \"\" \"TrueSpd 0.0.1\" \"TrueSpd Manual\"\n.nh\n";
        fs::write(&file, old).expect("it can be written");
    }
    let mut files: Vec<String> = fs::read_dir(lab.path("new/share/man/man1"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut wanted: Vec<String> = names(&lab).iter().map(|name| format!("{name}.1")).collect();
    wanted.sort();
    assert_eq!(files, wanted);
    // Notes of a person are kept, and then no other page is written either.
    fs::create_dir_all(lab.path("other/man1")).expect("a folder");
    lab.write("other/man1/truespd-run.1", b"notes on truespd and diskspd");
    let ran = run(&lab, "manual --folder other");
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
    assert!(
        text(&ran.stderr).contains("this file does not hold a page or script of this program"),
        "{ran:?}"
    );
    assert_eq!(fs::read_dir(lab.path("other/man1")).expect("a folder").count(), 1);
    lab.write("file", b"x");
    let ran = run(&lab, "manual --folder file");
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    assert!(text(&ran.stderr).starts_with("ERROR: could not make the folder 'file/man1': "), "{ran:?}");
    assert_eq!(lab.read("file"), b"x");
}

#[test]
fn a_page_that_is_not_there_is_refused() {
    let lab = Lab::new();
    for (name, near) in [("ab", "truespd-ab"), ("diskspt", "diskspd"), ("truespd-histroy", "truespd-history")]
    {
        let ran = run(&lab, &format!("manual {name}"));
        assert_eq!((ran.status.code(), text(&ran.stdout).as_str()), (Some(3), ""), "{ran:?}");
        assert!(text(&ran.stderr).contains(&format!("did you mean {near}?")), "{ran:?}");
    }
    let ran = run(&lab, "manual diskspd --folder x");
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
    assert!(lab.names().is_empty());
}
