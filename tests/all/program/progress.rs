//! What a person sees of a run while it goes on.

use crate::support::program::Lab;
use crate::support::pty::{Ended, On, OnTerminal};

fn lab_with_file() -> Lab {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 -g1 f").expect_code(0);
    lab
}

/// Rows that tell the progress.
fn progress(ended: &Ended) -> Vec<&String> {
    let starts = ["preparing", "warm-up", "measuring", "cool-down", "waiting for", "writing", "time span"];
    let is_progress = |row: &&String| starts.iter().any(|start| row.starts_with(start));
    ended.screen.drawn.iter().filter(is_progress).collect()
}

/// Messages are broken at blanks, by the program and never by the terminal.
#[test]
fn messages_fit_the_terminal() {
    let lab = lab_with_file();
    for columns in [80, 40] {
        for line in ["-b4KB f", "-d1 -W0 missing", "-w100 -W0 -d1 --overwrite= f", "-W0 -d1 -b4K --verdict f"]
        {
            let ended = OnTerminal::start(lab.command(line), columns, On::Stderr).finish();
            let rows = ended.screen.rows();
            assert_eq!(ended.screen.broken, 0, "{line}: {rows:#?}");
            assert!(rows.iter().all(|row| row.chars().count() <= columns), "{line}: {rows:#?}");
            assert!(rows.len() > 1, "{line}: {rows:#?}");
        }
    }
    // What a program reads is a line.
    let refused = lab.run("-d1 -W0 missing").stderr;
    assert_eq!(refused.lines().filter(|line| line.starts_with("ERROR: ")).count(), 1, "{refused}");
}

/// Nothing of the progress is left on the screen, and none of it ever broke a row.
#[track_caller]
fn assert_gone(ended: &Ended, columns: usize) {
    let drawn = progress(ended);
    for row in &drawn {
        assert!(row.chars().count() < columns, "{row}");
        assert!(!ended.screen.rows().contains(row), "still there: {row}\n{}", ended.screen.text());
    }
    assert!(!ended.screen.text().contains(" left"), "{}", ended.screen.text());
}

#[test]
fn one_line_changes_on_a_terminal_and_is_gone_before_the_result() {
    let lab = lab_with_file();
    for columns in [80, 40] {
        // The line changes once a second: a busy machine draws none in a warm-up of one.
        let line = "-b4K -r -o4 -W2 -d3 --engine=null f";
        let ended = OnTerminal::start(lab.command(line), columns, On::Stderr).finish();
        assert!(ended.status.success(), "{}", ended.screen.text());
        assert_gone(&ended, columns);
        let drawn = progress(&ended);
        assert_eq!(drawn[0], "preparing");
        assert!(drawn.iter().any(|row| row.starts_with("warm-up, 0:0")), "{drawn:?}");
        let with_rates =
            drawn.iter().filter(|row| row.starts_with("measuring, 0:0") && row.contains(" IOPS"));
        let with_rates: Vec<_> = with_rates.collect();
        assert!(!with_rates.is_empty(), "{drawn:?}");
        if columns == 80 {
            // A busy machine may not have begun when the first one is drawn.
            let mut begun = with_rates.iter().filter(|row| !row.contains(" 0 IOPS"));
            assert!(begun.all(|row| row.contains("iB/s, mean latency ")), "{drawn:?}");
        }
        // A busy machine is warned of.
        let first = ["WARNING: ", "note: ", "verdict: "];
        let text = ended.screen.text();
        assert!(first.iter().any(|word| text.starts_with(word)), "{text}");
        assert!(ended.stdout.contains("Total IO"), "the result is not on the terminal");
    }
}

#[test]
fn a_file_that_is_written_is_told_in_one_line_too() {
    let Some(lab) = Lab::on_disk() else { return };
    let name = format!("{}.dat", "name".repeat(12));
    for columns in [80, 40] {
        let line = format!("-c256M -b64K -W0 -d1 --recreate --engine=null {name}");
        let ended = OnTerminal::start(lab.command(&line), columns, On::Stderr).finish();
        assert!(ended.status.success(), "{}", ended.screen.text());
        assert_gone(&ended, columns);
        let drawn = progress(&ended);
        let is_told = |row: &&&String| {
            row.starts_with("writing '\u{2026}") && row.contains(".dat', ") && row.contains(" %")
        };
        assert!(drawn.iter().any(|row| is_told(&row)), "{drawn:?}");
    }
}

#[test]
fn it_is_gone_before_a_refusal_and_after_ctrl_c() {
    let lab = lab_with_file();
    let refused = OnTerminal::start(lab.command("-d1 -W0 missing"), 80, On::Both).finish();
    assert_gone(&refused, 80);
    assert!(refused.screen.rows().iter().any(|row| row.starts_with("ERROR: ")), "{}", refused.screen.text());

    let mut running = OnTerminal::start(lab.command("-b4K -W0 -d600 --engine=null f"), 80, On::Both);
    running.wait_for("measuring, ");
    running.type_in("\u{3}");
    let stopped = running.finish();
    assert!(stopped.status.success(), "{}", stopped.screen.text());
    assert_gone(&stopped, 80);
    let rows = stopped.screen.rows();
    assert!(rows.iter().any(|row| row.starts_with("*** Interrupted by Ctrl-C.")), "{rows:?}");
    assert!(rows.iter().any(|row| row.starts_with("total: ")), "{rows:?}");
}

/// A run that is stopped while it makes a file, which is told in a line that changes.
#[test]
fn nothing_stays_when_a_run_is_stopped_while_it_makes_a_file() {
    let lab = Lab::new();
    let mut running = OnTerminal::start(lab.command("-d1 -W0 -c2G big"), 70, On::Both);
    running.wait_for("writing 'big', ");
    running.type_in("\u{3}");
    let ended = running.finish();
    assert_eq!(ended.status.code(), Some(1), "nothing was measured\n{}", ended.screen.text());
    assert_gone(&ended, 70);
    let shown = ended.screen.rows();
    let from = |words: &str| shown.iter().position(|line| line.starts_with(words));
    let notice = from("*** Interrupted by Ctrl-C.").unwrap_or_else(|| panic!("{shown:#?}"));
    let removed = from("note: removing the unfinished file 'big' (2 GiB)");
    let end = from("stopped before anything was measured");
    assert!(removed.is_some_and(|at| at > notice) && end.is_some_and(|at| at > notice), "{shown:#?}");
    assert!(!lab.path("big").exists());
}

#[test]
fn dots_and_dumb_terminals_have_no_line_that_changes() {
    let lab = lab_with_file();
    let dots = OnTerminal::start(lab.command("-b4K -W1 -d2 -P1 -g5i f"), 80, On::Stderr).finish();
    assert_eq!(progress(&dots), Vec::<&String>::new(), "{}", dots.screen.text());
    assert!(dots.screen.text().starts_with("..."), "{}", dots.screen.text());
    let mut dumb = lab.command("-v -b4K -W1 -d2 -g5i f");
    dumb.env("TERM", "dumb");
    // The terminal sets its own name, so the program gets it behind `env`.
    let mut command = std::process::Command::new("env");
    command.args(["TERM=dumb"]).arg(dumb.get_program()).args(dumb.get_args()).current_dir(lab.work());
    command.envs(dumb.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = OnTerminal::start(command, 80, On::Stderr).finish();
    assert_eq!(progress(&ended), Vec::<&String>::new(), "{}", ended.screen.text());
    assert!(ended.screen.text().contains("starting measurements"), "{}", ended.screen.text());
}

#[test]
fn no_terminal_shows_nothing_unless_progress_asks_for_lines() {
    let lab = lab_with_file();
    let ran = lab.run("-b4K -W0 -d2 -g100i f").expect_code(0);
    assert!(!ran.stderr.contains("progress") && !ran.stderr.contains('\r'), "{ran}");
    let ran = lab.run("-b4K -W1 -d11 -g100i --progress f").expect_code(0);
    let told: Vec<&str> = ran.stderr.lines().filter_map(|line| line.strip_prefix("progress: ")).collect();
    assert!(!ran.stderr.contains(['\r', '\u{1b}']), "{ran}");
    assert!(told[0].starts_with("warm-up, 0:1") || told[0].starts_with("measuring, 0:"), "{ran}");
    // The line of the start holds rates, too, where the machine was too busy to tell it at once.
    let rates: Vec<&&str> = told[1..].iter().filter(|line| line.contains(" IOPS, ")).collect();
    assert_eq!(rates.len(), 1, "one after ten of twelve seconds\n{ran}");
    assert!(rates[0].starts_with("measuring, 0:0"), "{ran}");
}
