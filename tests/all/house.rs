//! The rules of the house (ARCHITECTURE.md): who may use whom, where `unsafe` may stand, file lengths.

use std::fs;
use std::path::{Path, PathBuf};

/// Module and the modules it may use.
const ROOMS: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("fault", &["text"]),
    ("sys", &["text"]),
    ("profile", &["text"]),
    ("machine", &["fault", "sys", "text"]),
    ("measure", &["sys", "machine"]),
    ("engine", &["sys", "machine"]),
    ("access", &["profile"]),
    ("result", &["profile", "measure", "machine", "sys"]),
    ("request", &["profile", "result"]),
    ("plan", &["profile", "access", "engine", "machine", "fault", "text", "sys"]),
    ("guard", &["profile", "machine", "fault", "text", "sys"]),
    (
        "load",
        &[
            "plan", "guard", "access", "engine", "measure", "result", "profile", "machine", "fault", "text",
            "sys",
        ],
    ),
    ("selfcost", &["load", "fault", "access", "measure", "profile", "machine", "sys"]),
    ("verdict", &["result", "profile", "measure", "text"]),
    ("render", &["result", "profile", "measure", "text"]),
    ("suite", &["request", "fault", "result", "profile", "measure", "machine", "text", "sys"]),
    (
        "session",
        &[
            "cli", "suite", "render", "request", "verdict", "engine", "result", "load", "profile", "guard",
            "machine", "fault", "text", "sys",
        ],
    ),
    (
        "cli",
        &[
            "session", "suite", "render", "request", "selfcost", "verdict", "load", "guard", "plan",
            "result", "access", "engine", "measure", "machine", "profile", "fault", "text", "sys",
        ],
    ),
];

const LINES_MAX: usize = 800;

fn sources() -> Vec<(String, PathBuf, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut stack = vec![src.clone()];
    let mut found = Vec::new();
    while let Some(dir) = stack.pop() {
        for entry in fs::read_dir(&dir).expect("source folder is readable") {
            let path = entry.expect("entry is readable").path();
            if path.is_dir() {
                stack.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let inside = path.strip_prefix(&src).expect("below src");
                let first = inside.components().next().expect("has a name").as_os_str().to_string_lossy();
                let room = first.trim_end_matches(".rs").to_string();
                let text = fs::read_to_string(&path).expect("source is text");
                found.push((room, inside.to_path_buf(), text));
            }
        }
    }
    assert!(found.len() > 10, "the walk found the sources");
    found
}

/// Code without comments, so that prose may name modules.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(i, line)| {
        let line = line.split("//").next().unwrap_or("");
        (!line.trim().is_empty()).then_some((i + 1, line))
    })
}

/// The rooms named by `crate::room` paths of a line, also inside `use crate::{a::b, c}`.
fn rooms_named(line: &str) -> Vec<String> {
    let mut named = Vec::new();
    for tail in line.split("crate::").skip(1) {
        let names: Vec<&str> =
            if let Some(list) = tail.strip_prefix('{') { list.split(',').collect() } else { vec![tail] };
        for name in names {
            let name: String = name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            named.push(name);
        }
    }
    named
}

#[test]
fn arrows_point_down() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else {
            assert!(["lib", "bin"].contains(&room.as_str()), "{room} is not in the table of rooms");
            continue;
        };
        for (number, line) in code_lines(&text) {
            for other in rooms_named(line) {
                let is_room = ROOMS.iter().any(|(name, _)| *name == other);
                if is_room && other != room && !allowed.contains(&other.as_str()) {
                    wrong.push(format!("{}:{number}: {room} may not use {other}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_arrow_test_sees_arrows() {
    assert_eq!(rooms_named("use crate::machine::topology;"), ["machine"]);
    assert_eq!(rooms_named("use crate::{load::run, plan};"), ["load", "plan"]);
    assert_eq!(rooms_named("let x = crate::engine::TABLE.len();"), ["engine"]);
    assert!(rooms_named("use std::fs;").is_empty());
}

#[test]
fn unsafe_stays_in_engine_and_sys() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        if ["engine", "sys", "guard", "machine"].contains(&room.as_str()) {
            continue;
        }
        for (number, line) in code_lines(&text) {
            // The keyword, not the word in a message.
            if ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe trait", "(unsafe("]
                .iter()
                .any(|form| line.contains(form))
            {
                wrong.push(format!("{}:{number}: {line}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn target_os_is_asked_at_mod_lines_only() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        let is_mod_file = (room == "engine" || room == "sys") && path.ends_with("mod.rs");
        for (number, line) in code_lines(&text) {
            if line.contains("target_os") && !is_mod_file {
                wrong.push(format!("{}:{number}: {line}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_stay_readable() {
    let long: Vec<String> = sources()
        .into_iter()
        .filter(|(_, _, text)| text.lines().count() > LINES_MAX)
        .map(|(_, path, text)| format!("{}: {} lines", path.display(), text.lines().count()))
        .collect();
    assert!(long.is_empty(), "over {LINES_MAX} lines:\n{}", long.join("\n"));
}
