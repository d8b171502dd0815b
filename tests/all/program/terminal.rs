//! What stays on a terminal.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::devices;
use crate::support::program::Lab;

/// Lines of a terminal after all that was sent to it: line ends, movements and deletions of `indicatif`.
fn screen(sent: &str) -> Vec<String> {
    let mut lines: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0usize, 0usize);
    let mut chars = sent.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => column = 0,
            '\n' => row += 1,
            '\u{1b}' if chars.next_if_eq(&'[').is_some() => {
                let mut number = String::new();
                while let Some(digit) = chars.next_if(|c| c.is_ascii_digit() || *c == ';' || *c == '?') {
                    number.push(digit);
                }
                let count = number.parse().unwrap_or(1);
                match chars.next() {
                    Some('A') => row = row.saturating_sub(count),
                    Some('B') => row += count,
                    Some('K') if number == "2" => lines[row].clear(),
                    Some('K') => lines[row].truncate(column),
                    Some('J') => lines.truncate(row + 1),
                    _ => {}
                }
            }
            c => {
                let line = &mut lines[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = c;
                column += 1;
            }
        }
        lines.resize(lines.len().max(row + 1), Vec::new());
    }
    lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_string()).collect()
}

/// A run that is stopped while it makes a file of which a bar was shown.
#[test]
fn no_bar_stays_when_a_run_is_stopped() {
    if !devices::has_tool("script") || !devices::has_tool("stty") {
        return;
    }
    let lab = Lab::new();
    let sent = lab.path("sent");
    let shell =
        format!("stty cols 70; echo $$ > pid; exec {} -d1 -W0 -c2G big", lab.copy_of_program().display());
    let mut child = Command::new("script")
        .args(["-qefc", &shell])
        .arg(&sent)
        .current_dir(lab.work())
        .env("XDG_STATE_HOME", lab.work().with_file_name("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("script starts");
    let so_far = || fs::read_to_string(&sent).unwrap_or_default();
    let shows_bar = || so_far().contains("writing big ") && so_far().contains("MiB/");
    let since = std::time::Instant::now();
    while !shows_bar() {
        assert!(since.elapsed() < Duration::from_secs(60), "no bar came: {:?}", so_far());
        assert!(child.try_wait().expect("asked").is_none(), "it ended before: {:?}", so_far());
        std::thread::sleep(Duration::from_millis(2));
    }
    let pid = fs::read_to_string(lab.path("pid")).expect("written before").trim().parse().expect("a number");
    kill_process(Pid::from_raw(pid).expect("a process"), Signal::INT).expect("it runs");
    let status = child.wait().expect("it can be waited for");
    assert_eq!(status.code(), Some(1), "nothing was measured");
    let shown = screen(&so_far());
    let from = |words: &str| shown.iter().position(|line| line.starts_with(words));
    let notice = from("*** Interrupted by Ctrl-C.").unwrap_or_else(|| panic!("{shown:#?}"));
    let removed = from("note: removing the unfinished file 'big' (2 GiB)");
    let end = from("stopped before anything was measured");
    assert!(removed.is_some_and(|at| at > notice) && end.is_some_and(|at| at > notice), "{shown:#?}");
    assert!(!shown.iter().any(|line| line.contains("writing big") || line.contains('█')), "{shown:#?}");
    assert!(!lab.path("big").exists());
}
