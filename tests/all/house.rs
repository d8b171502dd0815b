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
        if ["engine", "sys"].contains(&room.as_str()) {
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

/// What opens a path for writing, makes a file, or gives one another name.
const WRITERS: &[&str] = &[
    "OpenOptions",
    "File::options",
    "File::create",
    "fs::write",
    "fs::copy",
    "fs::rename",
    "fs::hard_link",
    "renameat",
    "OFlags::WRONLY",
    "OFlags::RDWR",
    "OFlags::CREATE",
    "OFlags::TMPFILE",
    "O_WRONLY",
    "O_RDWR",
    "O_CREAT",
    "tempfile",
    "open_to_write",
    "open_file_to_write",
    "WriteLeave for",
    "Opening {",
    "open_unlinked",
    "sys::open",
];

/// The files that may name one of them, and what they write. A target is opened by `guard/permit.rs` and made by
/// `guard/make.rs`, and by nothing else.
const MAY_WRITE: &[(&str, &str, &str)] = &[
    ("guard/permit.rs", "WriteLeave for", "the permit"),
    ("guard/permit.rs", "open_to_write", "what the permit is for"),
    ("guard/permit.rs", "open_file_to_write", "what the permit is for"),
    ("guard/make.rs", "File::options", "a file of -c, with the permit to make it"),
    ("guard/mark.rs", "fs::write", "an entry of the registry, in the user's state folder"),
    ("guard/mark.rs", "fs::rename", "an entry of the registry, in the user's state folder"),
    ("machine/storage/mod.rs", "Opening {", "the open that wants the permit"),
    ("machine/storage/mod.rs", "open_to_write", "the open that wants the permit"),
    ("machine/storage/mod.rs", "open_file_to_write", "the open that wants the permit"),
    ("machine/write_cache.rs", "File::options", "the switch of a disk's write cache, in sysfs"),
    ("machine/write_cache.rs", "fs::write", "the switch of a disk's write cache, in sysfs"),
    (
        "load/prepare.rs",
        "sys::open",
        "a nameless file, to ask what direct I/O needs; removes the run's own file",
    ),
    ("load/fill.rs", "Opening {", "opens again what is open for writing; sys refuses anything else"),
    ("engine/mmap.rs", "OFlags::RDWR", "compares with the flags of a file that is open"),
    ("selfcost/callgrind.rs", "tempfile", "a folder for callgrind's own files"),
    ("session/keep.rs", "tempfile", "documents that are kept, in a folder of the person's choice"),
    ("session/outputs.rs", "OpenOptions", "result files, where the person wants them"),
    ("session/outputs.rs", "tempfile", "result files, where the person wants them"),
    ("session/undo.rs", "tempfile", "a journal, in the user's state folder"),
    ("session/undo.rs", "open_unlinked", "a journal, in the user's state folder"),
    ("session/undo/setting.rs", "fs::write", "a disk's setting, in sysfs"),
    ("cli/commands/assess.rs", "fs::write", "a profile, in a folder that the program made"),
    ("cli/commands/workload.rs", "fs::write", "a profile, in a folder that the program made"),
    ("cli/commands/study/places.rs", "fs::write", "an empty file, in a folder that the program made"),
];

/// The code of a file up to its own tests.
fn without_tests(text: &str) -> &str {
    let tests = text.match_indices("#[cfg(test)]\n").find(|(at, mark)| {
        let next = text[at + mark.len()..].lines().next().unwrap_or_default();
        next.contains("mod ") && next.ends_with('{')
    });
    tests.map_or(text, |(at, _)| &text[..at])
}

#[test]
fn only_the_guards_permit_opens_a_target_for_writing() {
    let (mut wrong, mut seen) = (Vec::new(), Vec::new());
    for (room, path, text) in sources() {
        let is_test = path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests");
        if room == "sys" || is_test {
            continue;
        }
        let path = path.to_string_lossy();
        for (number, line) in code_lines(without_tests(&text)) {
            for writer in WRITERS.iter().filter(|writer| line.contains(*writer)) {
                // The guard reads by what `sys::open` has.
                if room == "guard" && *writer == "sys::open" {
                    continue;
                }
                match MAY_WRITE.iter().find(|(file, what, _)| *file == path && what == writer) {
                    Some(known) => seen.push(known),
                    None => wrong.push(format!("{path}:{number}: {writer}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "only a guard::Permit opens for writing:\n{}", wrong.join("\n"));
    let stale: Vec<_> = MAY_WRITE.iter().filter(|known| !seen.contains(known)).collect();
    assert!(stale.is_empty(), "nothing of that is there any more: {stale:?}");
}
