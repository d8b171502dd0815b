//! Both streams in one file or pipe: the result as programs read it, and below a text all that is said beside it.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use super::beside::{OVERLAP, TALKATIVE, quiet_environment, quieter, table};
use crate::support::program::{INTERRUPTED, Lab, Running};
use crate::support::{killed, strict_text, strict_xml};
use rustix::process::Signal;

/// What a run left in one place that got both streams.
struct Left {
    way: &'static str,
    text: String,
    /// The text result in a file of its own, for a run that was asked for it.
    result: String,
}

/// What the words leave, by each way that wrappers use.
fn merged(lab: &Lab, words: &str, code: i32) -> Vec<Left> {
    merged_by(&|| lab.command(&format!("{words} f")), lab, code)
}

fn merged_by(made: &dyn Fn() -> Command, lab: &Lab, code: i32) -> Vec<Left> {
    let command = || {
        let mut command = made();
        quiet_environment(&mut command);
        command
    };
    let ended = |way: &str, status: std::process::ExitStatus, text: &str| {
        assert_eq!(status.code(), Some(code), "{way}: {text}");
    };
    let left = |way, text| {
        let result = std::fs::read_to_string(lab.path("r.txt")).unwrap_or_default();
        Left { way, text, result }
    };
    let mut all = Vec::new();
    // subprocess.run(..., stdout=PIPE, stderr=STDOUT), and a service whose streams are one socket.
    let (pipe_reader, pipe) = std::io::pipe().expect("a pipe");
    let (socket_reader, socket) = UnixStream::pair().expect("a socket");
    let ends: [(&str, OwnedFd, OwnedFd); 2] =
        [("one pipe", pipe_reader.into(), pipe.into()), ("one socket", socket_reader.into(), socket.into())];
    for (way, reader, writer) in ends {
        let mut started = command();
        let mut child = started
            .stderr(writer.try_clone().expect("a descriptor"))
            .stdout(writer)
            .spawn()
            .expect("it starts");
        // It ends when nobody holds its other end.
        drop(started);
        let mut text = String::new();
        File::from(reader).read_to_string(&mut text).expect("text");
        ended(way, child.wait().expect("it ends"), &text);
        all.push(left(way, text));
    }
    // One file, opened once and opened twice; without `append`, each of the two has a position of its own.
    for (way, is_twice, appends) in [
        ("one file", false, true),
        ("one file, opened twice", true, true),
        ("one file, opened twice, each from its beginning", true, false),
    ] {
        let path = lab.path("both");
        drop(File::create(&path).expect("a file"));
        let open = || File::options().write(true).append(appends).open(&path).expect("a file");
        let out = open();
        let err = if is_twice { open() } else { out.try_clone().expect("a descriptor") };
        let status = command().stdout(out).stderr(err).status().expect("it starts");
        let text = std::fs::read_to_string(&path).expect("text");
        ended(way, status, &text);
        all.push(left(way, text));
    }
    // By a shell. Its pipe ends with the code of the last program, as most scripts see it.
    for (way, redirection) in [
        (">f 2>&1", ">both 2>&1"),
        (">f 2>f", ">both 2>both"),
        (">>f 2>&1", ">both; \"$0\" \"$@\" >>both 2>&1"),
        ("2>&1 | cat", "2>&1 | cat >both; exit 0"),
        ("2>&1 | tee", "2>&1 | tee both >/dev/null; exit 0"),
    ] {
        let own = command();
        let line = if redirection.starts_with(">both; ") {
            redirection.to_string()
        } else {
            format!("\"$0\" \"$@\" {redirection}")
        };
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).arg(own.get_program()).args(own.get_args()).stdin(Stdio::null());
        shell.current_dir(lab.work()).env_remove("TRUESPD_QUIET");
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let output = shell.output().expect("it starts");
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{way}: {output:?}");
        let text = String::from_utf8(lab.read("both")).expect("text");
        if !line.contains('|') {
            ended(way, output.status, &text);
        }
        all.push(left(way, text));
    }
    all
}

impl Left {
    /// The lines below the text result, which comes first.
    fn below(&self) -> &str {
        let Left { way, text, result } = self;
        assert!(!result.is_empty(), "{way}: no file of the result");
        self.below_of(text.strip_prefix(result))
    }

    fn below_of<'a>(&self, rest: Option<&'a str>) -> &'a str {
        let Left { way, text, result } = self;
        let rest = rest.unwrap_or_else(|| panic!("{way}: not the result first\n{text}"));
        // A result without a line end gets one.
        let above = if result.ends_with('\n') { "\n" } else { "\n\n" };
        rest.strip_prefix(above).unwrap_or_else(|| panic!("{way}: no blank line below the result\n{text}"))
    }
}

/// Notes, then warnings, then the verdict; errors last.
fn kinds(below: &str) -> Vec<&str> {
    let kind = |line: &'_ str| match line {
        line if line.starts_with("note: ") => "note",
        line if line.starts_with("WARNING: ") => "warning",
        line if line.starts_with("verdict: ") => "verdict",
        line if line.starts_with("ERROR: ") || line.contains("rror") => "error",
        _ => "other",
    };
    let mut kinds: Vec<&str> = below.lines().map(kind).collect();
    kinds.dedup();
    kinds
}

#[test]
fn both_streams_in_one_file() {
    let lab = Lab::new();
    for left in merged(&lab, &format!("{TALKATIVE} -Rxml"), 0) {
        let Left { way, text, .. } = &left;
        assert!(text.starts_with("<Results>") && text.ends_with("</Results>"), "{way}:\n{text}");
        strict_xml::check(text).unwrap_or_else(|fault| panic!("{way}: {fault}\n{text}"));
    }
    // What -v and -P ask for stands in front of a text, as DiskSpd has it there.
    for left in merged(&lab, &format!("{TALKATIVE} --text r.txt"), 0) {
        let Left { way, text, .. } = &left;
        let (before, _) = text.split_once("\nCommand Line: ").expect("a result");
        assert!(before.contains(": thread 1: ") && before.ends_with("..."), "{way}:\n{text}");
        assert!(!before.contains("note: ") && !before.contains("WARNING: "), "{way}:\n{text}");
        let below = left.below_of(text[before.len()..].strip_prefix(&left.result));
        assert!(below.contains("note: engine: sim"), "-v asks for all notes\n{way}:\n{text}");
    }
    // A command that measures nothing has messages as well.
    for left in merged(&lab, "-c1M -b4K -g409.6 -Rp", 0) {
        let Left { way, text, .. } = &left;
        let (profile, below) = text.split_once("\n\nWARNING: ").unwrap_or_else(|| panic!("{way}:\n{text}"));
        assert!(profile.starts_with("\nCommand Line: "), "{way}:\n{text}");
        assert!(below.starts_with("-g409.6 is taken for -g409"), "{way}:\n{text}");
    }
}

#[test]
fn messages_stand_below_the_text_where_both_streams_are_one() {
    let lab = Lab::new();
    for left in merged(&lab, &format!("{} -g409.6 --text r.txt", quieter()), 0) {
        let Left { way, text, .. } = &left;
        let below = left.below();
        assert_eq!(kinds(below), ["note", "warning", "verdict"], "{way}:\n{text}");
        assert!(below.contains(OVERLAP) && below.contains("WARNING: -g409.6 is taken for"), "{way}:\n{text}");
        assert!(below.contains("note: all threads start at the same offset"), "{way}:\n{text}");
        let verdict = below.lines().last().expect("lines");
        assert!(verdict.starts_with("verdict: invalid: simulated: "), "{way}:\n{text}");
    }
    // All of the verdict where that is asked for.
    for left in merged(&lab, &format!("{} --verdict --text r.txt", quieter()), 0) {
        let Left { way, text, .. } = &left;
        let below = left.below();
        let (_, verdict) = below.split_once("verdict: ").expect("it is there");
        assert!(verdict.contains(" checked\n") && !verdict.contains("WARNING: "), "{way}:\n{text}");
    }
    // An unmet requirement is a verdict, not an error.
    for left in merged(&lab, &format!("{} --require certified --text r.txt", quieter()), 5) {
        let Left { way, text, .. } = &left;
        assert_eq!(kinds(left.below()), ["note", "warning", "verdict"], "{way}:\n{text}");
    }
    // --quiet leaves what DiskSpd prints, and nothing where it prints nothing.
    for left in merged(&lab, &format!("--quiet {} --text r.txt", quieter()), 0) {
        let Left { way, text, .. } = &left;
        assert_eq!(left.below(), OVERLAP, "{way}:\n{text}");
    }
    const PLAIN: &str = "--quiet -c1M -b4K -d1 -W0 --engine sim:latency=1ms --text r.txt";
    for left in merged(&lab, PLAIN, 0) {
        let Left { way, text, .. } = &left;
        assert_eq!(text, &left.result, "{way}");
    }
}

/// `truespd run` has the verdict under its result. Notes and warnings come between.
#[test]
fn the_verdict_of_truespd_run_stays_the_last_word() {
    let lab = Lab::new();
    let words = format!("run --no-history {} -g409.6", quieter());
    let line = format!("{words} --text r.txt f");
    for left in merged_by(&|| killed::truespd(&lab, &line), &lab, 0) {
        let Left { way, text, .. } = &left;
        let below = left.below();
        let (before, verdict) = below.split_once("verdict: ").unwrap_or_else(|| panic!("{way}:\n{text}"));
        assert_eq!(kinds(before), ["note", "warning"], "{way}:\n{text}");
        assert!(verdict.starts_with("invalid") && verdict.contains("simulated"), "{way}:\n{text}");
    }
    let line = format!("{words} -Rxml --verdict --require certified f");
    for left in merged_by(&|| killed::truespd(&lab, &line), &lab, 5) {
        let Left { way, text, .. } = &left;
        strict_xml::check(text).unwrap_or_else(|fault| panic!("{way}: {fault}\n{text}"));
    }
}

#[test]
fn programs_read_their_format_where_both_streams_are_one() {
    let lab = Lab::new();
    for (words, code) in [("", 0), ("--verdict", 0), ("--require certified", 5), ("--progress", 0)] {
        for left in merged(&lab, &format!("{TALKATIVE} -g409.6 -Rxml {words}"), code) {
            let Left { way, text, .. } = &left;
            assert!(text.ends_with("</Results>"), "{way} {words}:\n{text}");
            strict_xml::check(text).unwrap_or_else(|fault| panic!("{way} {words}: {fault}\n{text}"));
        }
        for left in merged(&lab, &format!("{TALKATIVE} -Rjson {words}"), code) {
            let Left { way, text, .. } = &left;
            let read = truespd_core::result::json::read(text.as_bytes());
            assert!(read.is_ok(), "{way} {words}: {read:?}\n{text}");
        }
        for left in merged(&lab, &format!("{TALKATIVE} -Rcsv {words}"), code) {
            let Left { way, text, .. } = &left;
            let rows = table(text);
            assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{way} {words}:\n{text}");
        }
    }
}

/// What went wrong is said in every format, and last.
#[test]
fn errors_stand_last_where_both_streams_are_one() {
    let lab = Lab::new();
    let failing = quieter().replace("sim:latency=1ms", "sim:error=eio#9");
    for left in merged(&lab, &format!("{failing} -g409.6 --text r.txt"), 1) {
        let Left { way, text, .. } = &left;
        let below = left.below();
        assert_eq!(kinds(below), ["note", "warning", "error"], "{way}:\n{text}");
        assert!(below.ends_with("\nError generating I/O requests\n"), "{way}:\n{text}");
    }
    for left in merged(&lab, &format!("{failing} -g409.6 --verdict -Rxml"), 1) {
        let Left { way, text, .. } = &left;
        let (result, errors) = text.split_once("</Results>\n").unwrap_or_else(|| panic!("{way}:\n{text}"));
        assert!(result.starts_with("<Results>") && errors.starts_with("ERROR: "), "{way}:\n{text}");
        assert!(errors.ends_with("\n\nError generating I/O requests\n"), "{way}:\n{text}");
    }
    // A refusal stands alone, and below what was said before it.
    for format in ["", "-Rxml"] {
        for left in merged(&lab, &format!("-b4Q {format}"), 3) {
            let Left { way, text, .. } = &left;
            assert!(text.starts_with("ERROR: "), "{way} {format}:\n{text}");
        }
        for left in merged_by(&|| lab.command(&format!("-d1 {format} missing")), &lab, 1) {
            let Left { way, text, .. } = &left;
            assert!(text.starts_with("ERROR: Error opening file: missing [2]"), "{way} {format}:\n{text}");
            assert!(text.ends_with("Error generating I/O requests\n"), "{way} {format}:\n{text}");
        }
    }
    for left in merged_by(&|| lab.command("-d1 -g409.6 missing"), &lab, 1) {
        let Left { way, text, .. } = &left;
        assert!(text.starts_with("WARNING: -g409.6 is taken for -g409"), "{way}:\n{text}");
        assert!(text.contains("\nERROR: Error opening file: missing [2]"), "{way}:\n{text}");
    }
}

/// A line of Windows in a log: the reason that nothing ran is in the log, too.
#[test]
fn a_slash_for_a_dash_is_told_where_both_streams_are_one() {
    let lab = Lab::new();
    for format in ["", "-Rxml", "--quiet"] {
        for left in merged_by(&|| lab.command(&format!("{format} /b4K f")), &lab, 1) {
            let Left { way, text, .. } = &left;
            assert!(text.contains("hint:  on Linux a path begins with /"), "{way} {format}:\n{text}");
            assert!(text.contains("write -b4K for /b4K"), "{way} {format}:\n{text}");
        }
    }
}

/// Starts a run whose streams are one file, and stops it when it measures. What is in the file.
fn interrupted(words: &str) -> String {
    let lab = Lab::new();
    lab.write("both", b"");
    let line = format!("exec \"$0\" {words} -c1M -b4K -d600 -W0 -g4 --events ev f >both 2>&1");
    let mut shell = lab.command_behind(&["sh", "-c", &line], "");
    quiet_environment(&mut shell);
    let running = Running::new(shell, &line);
    running.wait_until("it measures", || {
        std::fs::read_to_string(lab.path("ev")).is_ok_and(|events| events.contains("\"progress\""))
    });
    running.signal(Signal::INT);
    running.finish().expect_code(0);
    String::from_utf8(lab.read("both")).expect("text")
}

#[test]
fn a_run_that_is_stopped_shows_what_waited() {
    let text = interrupted("-t2");
    let (before, result) = text.split_once(INTERRUPTED).unwrap_or_else(|| panic!("no notice\n{text}"));
    // A busy machine takes its time, and says at once what it waits for.
    assert!(before.is_empty() || before.starts_with("note: stopping; "), "{text}");
    let (result, below) = result.split_once("\n\nnote: ").unwrap_or_else(|| panic!("{text}"));
    strict_text::parse(&format!("{result}\n")).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert!(below.contains(OVERLAP), "{text}");
    assert!(below.lines().last().is_some_and(|line| line.starts_with("verdict: ")), "{text}");
    let text = interrupted("-t2 -Rxml");
    assert!(text.ends_with("</Results>"), "{text}");
    strict_xml::check(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
}
