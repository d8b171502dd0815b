//! The list of deliberate differences from DiskSpd 2.2, row by row: what its third column says is what the
//! program does.

use std::path::Path;

use crate::support::words::{read, run};
use diskspd::grammar::parse::Invocation;
use truespd_core::profile::{Profile, Severity, validate, xml};

const DIFFERENCES: &str = include_str!("../../data/deliberate-differences.md");

/// The rows of the table below a heading, as their cells.
fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let section = DIFFERENCES.split("\n## ").find(|section| section.starts_with(heading));
    let section = section.unwrap_or_else(|| panic!("no section {heading}"));
    let cells = |row: &'static str| row.trim_matches('|').split(" | ").map(str::trim).collect();
    // The head and the line below it are no rows.
    let rows: Vec<_> = section.lines().filter(|line| line.starts_with("| ")).skip(1).map(cells).collect();
    assert!(rows.len() > 2, "{heading}: {rows:?}");
    rows
}

/// What a cell holds in backquotes.
fn quoted(cell: &'static str) -> Vec<&'static str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn lines_end_as_the_tables_say() {
    let mut lines = 0;
    for heading in ["Values", "Options and how they go together", "Additions and Linux", "DiskSpd 2.3"] {
        for row in rows(heading) {
            for line in quoted(row[0]) {
                lines += 1;
                let outcome = match read(line) {
                    Err(_) => "refused",
                    Ok(Invocation::SetEvents(_)) => "sets the event",
                    Ok(Invocation::Help | Invocation::ShortHelp) => "help",
                    Ok(Invocation::HelpOf(_)) => "explains the option",
                    Ok(Invocation::Version) => "version",
                    Ok(Invocation::Run(request)) if !request.reinterpreted.is_empty() => "told",
                    Ok(_) => "accepted",
                };
                assert!(row[2].starts_with(outcome), "{line}: {outcome}, but the table says {}", row[2]);
            }
        }
    }
    assert!(lines > 80, "{lines}");
}

#[test]
fn profiles_are_written_as_the_table_says() {
    for row in rows("XML profiles as they are written") {
        for line in quoted(row[0]) {
            let written = xml::write(&run(line).profile, 0);
            for wanted in quoted(row[2]) {
                assert!(written.contains(wanted), "{line}: no {wanted} in\n{written}");
            }
            for of_diskspd in quoted(row[1]) {
                assert!(!written.contains(of_diskspd), "{line}: {of_diskspd} in\n{written}");
            }
        }
    }
}

/// A profile with the element in the place of the one that has its name.
fn with(element: &str) -> String {
    let base = xml::write(&run("-b4K -r -L -D -c1M f").profile, 0);
    let name = element[1..].split('>').next().expect("an element");
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    // Of two with one name the last: that of the target.
    let start = base.rfind(&open).unwrap_or_else(|| panic!("no {open} in\n{base}"));
    let end = start + base[start..].find(&close).expect("it ends") + close.len();
    format!("{}{element}{}", &base[..start], &base[end..])
}

#[test]
fn profiles_are_read_as_the_table_says() {
    let is_fine = |profile: &Profile| {
        !validate(profile, true).iter().any(|finding| finding.severity == Severity::Error)
    };
    assert!(xml::read(&with("<WriteRatio>50</WriteRatio>")).is_ok_and(|profile| is_fine(&profile)));
    for row in rows("XML profiles as they are read") {
        for element in quoted(row[0]) {
            let outcome = match xml::read(&with(element)) {
                Ok(profile) if is_fine(&profile) => "accepted",
                _ => "refused",
            };
            assert!(row[2].starts_with(outcome), "{element}: {outcome}, but the table says {}", row[2]);
        }
    }
}

#[test]
fn each_difference_of_results_has_a_test() {
    let root = Path::new(crate::support::ROOT);
    let mut sources = String::new();
    for folder in ["crates", "tests/all"] {
        read_all(&root.join(folder), &mut sources);
    }
    for row in rows("Results and what stands beside them") {
        for test in quoted(row[4]) {
            let is_there = sources.contains(&format!("#[test]\nfn {test}()"))
                || sources.contains(&format!("#[test]\n    fn {test}()"));
            assert!(is_there, "{}: there is no test {test}", row[0]);
        }
    }
}

fn read_all(folder: &Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read_all(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&std::fs::read_to_string(&path).expect("text"));
        }
    }
}
