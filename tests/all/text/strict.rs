//! The text result under a strict reader: every combination of options, and proof that the reader is strict.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::documents::{MIXES, Machine, Mix, Pool, Ranges, Recipe, document, recipes};
use crate::support::strict_text::{before_blocks, parse, parse_profile, parse_system};
use diskspd::render::{profile_text, system_text, text};

fn data(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(crate::support::ROOT).join("tests/data").join(folder);
    let entries = fs::read_dir(folder).expect("test data is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entry is readable").path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().expect("a file").to_string_lossy().into_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("test data is text").replace("\r\n", "\n")
}

#[test]
fn the_samples_are_accepted() {
    let mut count = 0;
    for path in data("samples") {
        if let Err(fault) = parse(&read(&path)) {
            panic!("{}: {fault}", name(&path));
        }
        count += 1;
    }
    assert_eq!(count, 4);
}

/// The reader is not of one mind with our renderer only: it accepts what the original printed.
#[test]
fn recorded_runs_of_the_original_are_accepted() {
    let mut runs = 0;
    let mut profiles = 0;
    for path in data("genuine/out") {
        // The recording machine reported no NUMA node; a system has at least one.
        let text = read(&path).replace("node count:\t\t0", "node count:\t\t1");
        // Progress dots precede the document on the same stream.
        let text = text.trim_start_matches('.').to_string();
        let outcome = if text.contains("System information:") {
            runs += 1;
            parse(&text).map(|_| ())
        } else {
            profiles += 1;
            parse_profile(&text).map(|_| ())
        };
        if let Err(fault) = outcome {
            panic!("{}: {fault}", name(&path));
        }
    }
    assert!(runs >= 20 && profiles >= 20, "{runs} runs, {profiles} profiles");
}

const SPANS: [&[bool]; 8] = [
    &[true],
    &[false],
    &[true, true],
    &[false, true],
    &[true, false],
    &[false, false],
    &[true, true, true],
    &[true, false, true],
];

#[test]
fn every_combination_is_read_strictly() {
    let recipes = recipes(&SPANS, |recipe, spans, index| {
        recipe.spans = spans;
        recipe.mix = MIXES[index / 3 % MIXES.len()];
    });
    assert_eq!(recipes.len(), 3072);
    for (seed, recipe) in recipes.iter().enumerate() {
        let document = document(recipe, seed as u64);
        let text = text(&document);
        let parsed = match parse(&text) {
            Ok(parsed) => parsed,
            Err(fault) => panic!("{recipe:?}\n{fault}\n{text}"),
        };
        assert_eq!(parsed.results.len(), recipe.spans.len());
        for (result, was_measured) in parsed.results.iter().zip(recipe.spans) {
            assert_eq!(result.is_some(), *was_measured);
            let Some(result) = result else { continue };
            assert_eq!(result.waits.is_some(), recipe.waits);
            assert_eq!(!result.charts.is_empty(), recipe.latency);
            assert_eq!(!result.distributions.is_empty(), recipe.ranges != Ranges::None);
        }
        let mut words = text.split(|c: char| !c.is_alphabetic());
        assert!(words.all(|word| !["nan", "inf"].contains(&word.to_lowercase().as_str())), "{text}");
        let profile = profile_text(&document.command_line, &document.profile, &document.system);
        let system = system_text(&document.system, document.profile.release);
        assert!(text.starts_with(&(profile.clone() + &system)), "the parts are the beginning of the whole");
        assert_eq!(parse_profile(&profile), Ok(parsed.profile));
        assert_eq!(parse_system(&system), Ok(parsed.system));
    }
}

/// Documents whose mutations are tried: each must be accepted as it is.
fn good_documents() -> Vec<String> {
    let mut rich = document(&Recipe::RICH, 1);
    rich.profile.experiment_flags = 0x1f;
    let pool = document(
        &Recipe { pool: Pool::Requests, ranges: Ranges::Percent, spans: &[true], ..Recipe::RICH },
        2,
    );
    let plain = Recipe {
        latency: false,
        iops: false,
        waits: false,
        ranges: Ranges::Clipped,
        machine: Machine::Smt,
        mix: Mix::Writes,
        spans: &[true, true],
        ..Recipe::RICH
    };
    let failed = Recipe { spans: &[false], ..Recipe::RICH };
    let mut texts: Vec<String> =
        [&rich, &pool, &document(&plain, 3), &document(&failed, 4)].map(text).into_iter().collect();
    texts.extend(data("samples").iter().map(|path| read(path)));
    for good in &texts {
        if let Err(fault) = parse(good) {
            panic!("{fault}\n{good}");
        }
    }
    texts
}

fn rejected(lines: &[&str]) -> bool {
    parse(&(lines.join("\n") + "\n")).is_err()
}

fn lines_of(good: &str) -> Vec<&str> {
    good.strip_suffix('\n').expect("ends with a line end").split('\n').collect()
}

#[test]
fn a_line_twice_is_rejected() {
    for good in good_documents() {
        let lines = lines_of(&good);
        for index in 0..lines.len() {
            let mut mutated = lines.clone();
            mutated.insert(index, lines[index]);
            assert!(rejected(&mutated), "line {} twice: {:?}", index + 1, lines[index]);
        }
    }
}

#[test]
fn an_extra_line_is_rejected() {
    for good in good_documents() {
        let lines = lines_of(&good);
        for extra in ["", "note", "\t\tnote", "-----"] {
            for index in 0..=lines.len() {
                let mut mutated = lines.clone();
                mutated.insert(index, extra);
                assert!(rejected(&mutated), "{extra:?} before line {}", index + 1);
            }
        }
    }
}

/// Lines that stand for an option and nothing else: without one, the document is that of another run.
fn stands_alone(line: &str, is_measured: bool) -> bool {
    let line = line.trim_start_matches('\t');
    line.starts_with("throughput rate-limited")
        || line == "using parallel async I/O"
        || (!is_measured && (line == "measuring latency" || line.starts_with("gathering IOPS")))
}

#[test]
fn a_missing_line_is_rejected() {
    let mut tried = 0;
    let mut accepted = Vec::new();
    for good in good_documents() {
        let lines = lines_of(&good);
        for index in 0..lines.len() {
            let mut mutated = lines.clone();
            let dropped = mutated.remove(index);
            let number = lines[..index].iter().filter(|line| line.starts_with("\ttimespan:")).count();
            let not_measured =
                format!("Results for timespan {number}:\n{:*<79}\nThe test was interrupted", "");
            let is_measured = !good.contains(&not_measured);
            tried += 1;
            if !rejected(&mutated) {
                assert!(stands_alone(dropped, is_measured), "line {} dropped: {dropped:?}", index + 1);
                accepted.push(dropped.to_string());
            }
        }
    }
    assert!(tried > 500 && accepted.len() * 100 <= tried, "{} of {tried}: {accepted:?}", accepted.len());
}

#[test]
fn lines_in_another_order_are_rejected() {
    for good in good_documents() {
        let lines = lines_of(&good);
        for (index, pair) in lines.windows(2).enumerate() {
            let mut mutated = lines.clone();
            mutated.swap(index, index + 1);
            assert!(
                pair[0] == pair[1] || rejected(&mutated),
                "lines {} and the next swapped: {pair:?}",
                index + 1
            );
        }
    }
}

/// Start and end of the block that begins with this line: up to the next empty line.
fn block<'a>(good: &'a str, title: &str) -> (usize, &'a str) {
    let start = good.find(&format!("\n{title}\n")).expect("the block is there") + 1;
    let tail = &good[start..];
    (start, &tail[..tail.find("\n\n").map_or(tail.len(), |end| end + 1)])
}

#[test]
fn tables_in_another_order_are_rejected() {
    for good in good_documents().iter().filter(|good| good.contains("actual test time")) {
        for (a, b) in [("Total IO", "Read IO"), ("Read IO", "Write IO"), ("Total IO", "Write IO")] {
            let (a_at, a_text) = block(good, a);
            let (b_at, b_text) = block(good, b);
            let mutated = [
                &good[..a_at],
                b_text,
                &good[a_at + a_text.len()..b_at],
                a_text,
                &good[b_at + b_text.len()..],
            ];
            assert!(parse(&mutated.concat()).is_err(), "{a} and {b} swapped");
            let titles_only = good.replacen(&format!("\n{a}\n"), &format!("\n{b}\n"), 1);
            assert!(parse(&titles_only).is_err(), "{a} called {b}");
        }
        let (at, text) = block(good, "Read IO");
        let without = format!("{}{}", &good[..at], &good[at + text.len() + 1..]);
        assert!(parse(&without).is_err(), "no Read IO");
    }
}

#[test]
fn a_changed_character_is_rejected() {
    for good in good_documents() {
        let blocks = before_blocks(&good).expect("is accepted");
        let start = good.find("Results for timespan 1:").expect("results");
        for (offset, character) in good[start..].char_indices() {
            let at = start + offset;
            // Reading on from the block gives the same answer: no block looks beyond the empty line before the next.
            let (begin, begun) = blocks.iter().rfind(|(begin, _)| *begin < at).expect("a block");
            let parse = |rest: String| begun.parse_rest(&rest);
            let (before, after) = (&good[*begin..at], &good[at + character.len_utf8()..]);
            // Anything but a digit is the format's own (names apart); a blank or dash more shows in the next test.
            if "-*|%.:".contains(character) {
                let in_name = after
                    .lines()
                    .next()
                    .is_some_and(|rest| rest.starts_with("bin") || rest.starts_with("dat"));
                assert!(
                    in_name || parse(format!("{before}{after}")).is_err(),
                    "dropped {character:?} at {at}"
                );
                assert!(
                    parse(format!("{before}{character}{character}{after}")).is_err() || in_name,
                    "twice at {at}"
                );
            }
            if character == ' ' {
                let line_start = before.rfind('\n').map_or(0, |end| end + 1);
                let in_name = before[line_start..].contains('/') && !before.ends_with("| ");
                assert!(
                    in_name || parse(format!("{before}{after}")).is_err(),
                    "blank dropped at {at}: {after:.30}"
                );
                assert!(
                    in_name || parse(format!("{before}  {after}")).is_err(),
                    "blank twice at {at}: {after:.30}"
                );
            }
        }
        for (index, line) in lines_of(&good).iter().enumerate() {
            let mut mutated = lines_of(&good);
            let longer = format!("{line} ");
            mutated[index] = &longer;
            let is_free = ["Command Line: ", "\tcomputer name: ", "\tactive power scheme:\t"];
            let is_free = is_free.iter().any(|name| line.starts_with(name));
            assert!(is_free || rejected(&mutated), "blank after line {}: {line:?}", index + 1);
        }
    }
}

/// Counts are exact sums of each other: no digit of bytes or I/Os can change alone.
#[test]
fn a_changed_count_is_rejected() {
    for good in good_documents() {
        let lines = lines_of(&good);
        for (index, line) in lines.iter().enumerate() {
            let is_row = line.ends_with(')') && line.starts_with("    ") && line.contains(" | ");
            let is_sum =
                ["total: ", "total  |", "write  |", "read   |"].iter().any(|label| line.starts_with(label));
            if !is_row && !is_sum {
                continue;
            }
            // Cells of a table or of the totals: bytes end in column 24, I/Os in column 39.
            for column in 9..39 {
                let Some(digit @ '0'..='9') = line[column..].chars().next() else { continue };
                let other = if digit == '9' { '8' } else { '9' };
                let changed = format!("{}{other}{}", &line[..column], &line[column + 1..]);
                let mut mutated = lines.clone();
                mutated[index] = &changed;
                assert!(rejected(&mutated), "line {}: {changed:?}", index + 1);
            }
        }
    }
}

#[test]
fn figures_that_are_not_numbers_are_rejected() {
    for good in good_documents() {
        let lines = lines_of(&good);
        for (index, line) in lines.iter().enumerate() {
            for bad in ["NaN", "nan", "inf", "-nan(ind)", "-1.00", "1e3"] {
                let Some(point) = line.find('.').filter(|_| line.contains('|')) else { continue };
                let Some(end) = line[point + 1..].find(|c: char| !c.is_ascii_digit()) else { continue };
                let end = point + 1 + end;
                let start = line[..point].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
                if start == point || end == point + 1 {
                    continue;
                }
                let width = end - start;
                let changed = format!("{}{bad:>width$}{}", &line[..start], &line[end..]);
                let mut mutated = lines.clone();
                mutated[index] = &changed;
                assert!(rejected(&mutated), "line {}: {changed:?}", index + 1);
            }
        }
        assert!(parse(&good.replace('\n', "\r\n")).is_err(), "CRLF");
        assert!(parse(&good[1..]).is_err(), "no empty first line");
        assert!(parse(&good[..good.len() - 1]).is_err(), "no line end at the end");
    }
}
