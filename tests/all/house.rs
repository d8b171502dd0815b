//! The rules of the house (ARCHITECTURE.md): who may use whom, where a system may be named, where `unsafe` may stand,
//! file lengths.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates. Cargo keeps the arrows between them.
const CRATES: &[&str] =
    &["platform", "core", "verdict", "diskspd", "front", "bus", "cluster", "truespd", "mpi"];

/// Crates of one room, which has the name of the crate.
pub(crate) const OF_ONE_ROOM: &[&str] = &["verdict", "bus", "cluster", "mpi"];

/// The rooms of each crate, and the rooms of the same crate that each may use.
const ROOMS: &[(&str, &[&str])] = &[
    // platform
    ("text", &[]),
    ("fault", &["text"]),
    ("sys", &["text"]),
    ("machine", &["fault", "sys", "text"]),
    // core
    ("profile", &[]),
    ("measure", &[]),
    ("engine", &[]),
    ("access", &["profile"]),
    ("verify", &[]),
    ("result", &["profile", "measure", "verify"]),
    ("plan", &["profile", "access", "engine"]),
    ("guard", &["profile"]),
    ("load", &["plan", "guard", "access", "engine", "measure", "result", "profile", "verify"]),
    // verdict
    ("verdict", &[]),
    // diskspd
    ("request", &[]),
    ("render", &[]),
    ("run", &["render", "request"]),
    ("grammar", &["render", "request", "run"]),
    // front
    ("telemetry", &[]),
    ("viewer", &["telemetry"]),
    ("config", &[]),
    ("show", &["config"]),
    ("console", &["config", "show", "viewer"]),
    ("keeping", &["config"]),
    ("program", &["config", "console", "keeping", "show", "telemetry", "viewer"]),
    // truespd
    ("import", &[]),
    ("selfcost", &[]),
    ("history", &[]),
    ("answer", &[]),
    ("runner", &["answer"]),
    ("ask", &["answer", "history", "runner"]),
    ("compare", &["ask"]),
    ("report", &["answer", "ask", "compare"]),
    ("cli", &["answer", "ask", "compare", "history", "import", "report", "runner", "selfcost"]),
];

/// Rooms that may not use all of the crates below, and what each may use of `platform` and `core`.
const OF_CRATES_BELOW: &[(&str, &[&str])] = &[
    ("profile", &["text"]),
    ("access", &["sys"]),
    ("engine", &["machine", "sys"]),
    ("measure", &["machine", "sys"]),
    ("verify", &["fault", "machine", "sys"]),
    ("result", &["machine", "sys", "text"]),
    ("verdict", &["engine", "measure", "profile", "result", "verify", "fault", "machine", "sys", "text"]),
];

const LINES_MAX: usize = 800;

/// Every source file of the crates: its room, its path, and its text. The path begins with the room.
pub(crate) fn sources() -> Vec<(String, PathBuf, String)> {
    let mut found = Vec::new();
    for name in CRATES {
        let src = Path::new(crate::support::ROOT).join("crates").join(name).join("src");
        let mut stack = vec![src.clone()];
        while let Some(dir) = stack.pop() {
            for entry in fs::read_dir(&dir).expect("source folder is readable") {
                let path = entry.expect("entry is readable").path();
                if path.is_dir() {
                    stack.push(path);
                } else if path.extension().is_some_and(|e| e == "rs") {
                    let mut inside = path.strip_prefix(&src).expect("below src").to_path_buf();
                    if OF_ONE_ROOM.contains(name) {
                        inside = Path::new(name).join(inside);
                    }
                    let first = inside.components().next().expect("has a name").as_os_str().to_string_lossy();
                    let room = first.trim_end_matches(".rs").to_string();
                    let text = fs::read_to_string(&path).expect("source is text");
                    found.push((room, inside, text));
                }
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

/// The rooms named by paths of a line that begin with `lead`, also inside `use crate::{a::b, c}`.
fn rooms_named(line: &str, lead: &str) -> Vec<String> {
    let mut named = Vec::new();
    for tail in line.split(lead).skip(1) {
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
            assert!(
                ["lib", "main", "bus", "cluster", "mpi"].contains(&room.as_str()),
                "{room} is not in the table of rooms"
            );
            continue;
        };
        let of_crates = OF_CRATES_BELOW.iter().find(|(name, _)| *name == room);
        for (number, line) in code_lines(&text) {
            let mut check = |other: String, allowed: &[&str]| {
                let is_room = ROOMS.iter().any(|(name, _)| *name == other);
                if is_room && other != room && !allowed.contains(&other.as_str()) {
                    wrong.push(format!("{}:{number}: {room} may not use {other}", path.display()));
                }
            };
            rooms_named(line, "crate::").into_iter().for_each(|other| check(other, allowed));
            if let Some((_, allowed)) = of_crates {
                let named = ["truespd_platform::", "truespd_core::"].map(|lead| rooms_named(line, lead));
                named.into_iter().flatten().for_each(|other| check(other, allowed));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_arrow_test_sees_arrows() {
    assert_eq!(rooms_named("use crate::ask::ab;", "crate::"), ["ask"]);
    assert_eq!(rooms_named("use crate::{load::run, plan};", "crate::"), ["load", "plan"]);
    assert_eq!(rooms_named("let x = crate::engine::TABLE.len();", "crate::"), ["engine"]);
    assert_eq!(rooms_named("use truespd_platform::machine::topology;", "truespd_platform::"), ["machine"]);
    assert!(rooms_named("use std::fs;", "crate::").is_empty());
}

/// Engines that call one system by themselves. The others, and what engines share, do not.
const ENGINES_OF_LINUX: &[&str] = &[
    "engine/aio.rs",
    "engine/mmap.rs",
    "engine/nvme.rs",
    "engine/threads.rs",
    "engine/ring.rs",
    "engine/uring.rs",
];

/// What belongs to one system, or is a crate of one system.
const OF_ONE_SYSTEM: &[&str] =
    &["rustix", "libc", "std::os", "signal_hook", "libloading", "io_uring::", "mpi::ffi", "target_os"];

/// Whether a line names a crate or a path as such, and not a longer word.
fn names(line: &str, what: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(what).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + what.len()..].chars().next();
        !before.is_some_and(is_word) && (what.ends_with(':') || !after.is_some_and(is_word))
    })
}

#[test]
fn one_system_is_named_in_sys_and_its_engines_only() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        if ["sys", "bus", "mpi"].contains(&room.as_str())
            || ENGINES_OF_LINUX.iter().any(|engine| path == Path::new(engine))
        {
            continue;
        }
        for (number, line) in code_lines(&text) {
            for what in OF_ONE_SYSTEM.iter().filter(|what| names(line, what)) {
                // `engine` may choose its engines by system, as `sys` does.
                if *what == "target_os" && path == Path::new("engine/mod.rs") {
                    continue;
                }
                wrong.push(format!("{}:{number}: {what} belongs below sys", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_list_of_engines_is_not_longer_than_needed() {
    for engine in ENGINES_OF_LINUX {
        let (_, _, text) =
            sources().into_iter().find(|(_, path, _)| path == Path::new(engine)).expect(engine);
        let needs = code_lines(&text).any(|(_, line)| OF_ONE_SYSTEM.iter().any(|what| names(line, what)));
        assert!(needs, "{engine} names no system: take it off the list");
    }
}

#[test]
fn the_system_test_sees_names() {
    assert!(names("use std::os::unix::fs::FileExt;", "std::os"));
    assert!(names("let x = libc::EIO;", "libc") && names("use libc;", "libc"));
    assert!(names("use io_uring::{opcode};", "io_uring::"));
    assert!(!names("const NAME: &str = \"io_uring\";", "io_uring::"));
    assert!(!names("let glibc = 2;", "libc") && !names("mod rustix_like;", "rustix"));
}

#[test]
fn unsafe_stays_in_engine_and_sys() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        if ["engine", "sys", "bus", "mpi"].contains(&room.as_str()) {
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

/// A system is asked for where modules are chosen and nowhere else: the line below each question is a `mod`, a `use`
/// or another attribute.
#[test]
fn target_os_is_asked_at_mod_lines_only() {
    let mut wrong = Vec::new();
    for (_, path, text) in sources() {
        let lines: Vec<_> = code_lines(&text).collect();
        let is_choice = |line: &str| {
            let line = line.trim_start().trim_start_matches("pub").trim_start_matches("(crate)").trim_start();
            ["mod ", "use ", "#["].iter().any(|start| line.starts_with(start))
        };
        let is_mod_file = ["sys/mod.rs", "engine/mod.rs"].iter().any(|file| path == Path::new(file));
        for (at, (number, line)) in
            lines.iter().enumerate().filter(|(_, (_, line))| line.contains("target_os"))
        {
            let next = lines.get(at + 1).map_or("", |(_, next)| next);
            if !is_mod_file || !line.starts_with("#[cfg(") || !is_choice(next) {
                wrong.push(format!("{}:{number}: {line}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a system calls its file systems and limits is a fact of `machine` and `sys`.
#[test]
fn plan_names_no_file_system_and_no_limit_of_a_kernel() {
    const NAMES: &[&str] = &[
        "ext2",
        "ext3",
        "ext4",
        "xfs",
        "btrfs",
        "bcachefs",
        "f2fs",
        "zfs",
        "tmpfs",
        "ramfs",
        "overlay",
        "nfs",
        "nfs4",
        "cifs",
        "fuse",
        "ntfs",
        "ntfs3",
        "vfat",
        "aio-max-nr",
        "memlock",
        "nofile",
        "rlimit",
        "ulimit",
        "max_map_count",
        "sysctl",
        "0x7fff_f000",
    ];
    let mut wrong = Vec::new();
    for (_, path, text) in sources().into_iter().filter(|(room, ..)| room == "plan") {
        for (number, line) in code_lines(&text) {
            let line = line.to_lowercase();
            wrong.extend(
                NAMES
                    .iter()
                    .filter(|name| names(&line, name))
                    .map(|name| format!("{}:{number}: {name}", path.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tools and `.gitignore` skip folders of that name.
#[test]
fn no_folder_is_called_target() {
    let wrong: Vec<PathBuf> = sources()
        .into_iter()
        .map(|(_, path, _)| path)
        .filter(|path| path.parent().is_some_and(|folder| folder.iter().any(|name| name == "target")))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
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
    "open_stream",
    "make_entry",
    "make_folders",
    "make_nameless",
    "open_to_fill",
    "rename_entry",
    "Destination::Open",
    "ReadOptions {",
    "Connection::open",
];

/// The files that may name one of them, and what they write. A target is opened by `guard/permit.rs` and made by
/// `guard/make.rs`, and by nothing else.
const MAY_WRITE: &[(&str, &str, &str)] = &[
    ("guard/permit.rs", "WriteLeave for", "the permit"),
    ("guard/permit.rs", "open_to_write", "what the permit is for"),
    ("guard/permit.rs", "open_file_to_write", "what the permit is for"),
    ("guard/make.rs", "open_to_fill", "a file of -c, with the permit to make it"),
    ("machine/storage/facts.rs", "Opening {", "the open that wants the permit"),
    ("machine/storage/mod.rs", "open_to_write", "the open that wants the permit"),
    ("machine/storage/mod.rs", "open_file_to_write", "the open that wants the permit"),
    ("machine/drive.rs", "File::options", "the switch of a disk's write cache, in sysfs"),
    ("machine/drive.rs", "fs::write", "the switch of a disk's write cache, in sysfs"),
    (
        "load/prepare.rs",
        "make_nameless",
        "a nameless file, to ask what direct I/O needs and how long a file may be",
    ),
    ("load/fill.rs", "Opening {", "opens again what is open for writing; sys refuses anything else"),
    ("machine/beneath.rs", "ReadOptions {", "reads a file in a layer of overlayfs"),
    ("verify/place.rs", "make_entry", "the map or the log of a verified target, new and empty"),
    ("engine/mmap.rs", "OFlags::RDWR", "compares with the flags of a file that is open"),
    ("selfcost/callgrind.rs", "tempfile", "a folder for callgrind's own files"),
    ("history/open.rs", "Connection::open", "the file of the history"),
    ("history/open.rs", "File::options", "the file of the history, new and empty"),
    ("history/beside.rs", "make_entry", "documents, in the folder beside a page"),
    ("history/shared.rs", "make_entry", "results and the marker, in a folder that is shared"),
    ("history/shared.rs", "rename_entry", "results and the marker, given their names"),
    ("guard/make.rs", "make_folders", "the folders of a file of -c"),
    ("guard/path.rs", "Destination::Open", "open for questions: refuses it, or asks whether it has a name"),
    ("runner/keep.rs", "Destination::Open", "refuses it"),
    ("runner/keep.rs", "make_folders", "the folder of kept documents"),
    ("cli/commands/generated.rs", "make_folders", "the folder of generated files"),
    ("run/outputs.rs", "Destination::Open", "standard output, or what the shell opened for a result"),
    ("run/outputs.rs", "open_stream", "a pipe or character device that a result goes to"),
    ("run/unfinished.rs", "make_entry", "results and kept documents, beside their place"),
    ("run/unfinished.rs", "rename_entry", "results and kept documents, given their names"),
    ("runner/undo.rs", "tempfile", "a journal, in the user's state folder"),
    ("runner/undo.rs", "open_unlinked", "a journal, in the user's state folder"),
    ("runner/undo/settle.rs", "fs::write", "a disk's setting, in sysfs"),
    ("ask/command.rs", "fs::write", "a profile, in a folder that the program made"),
    ("runner/place.rs", "File::options", "a suite's own file in a folder that the program made, new"),
];

/// Whether all of a file is for tests.
pub(crate) fn is_for_tests(path: &Path) -> bool {
    path.iter().any(|part| part.to_string_lossy().starts_with("tests"))
}

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
        if room == "sys" || is_for_tests(&path) {
            continue;
        }
        let path = path.to_string_lossy();
        for (number, line) in code_lines(without_tests(&text)) {
            for writer in WRITERS.iter().filter(|writer| line.contains(*writer)) {
                // The guard reads by what `sys::file` has.
                if room == "guard" && *writer == "ReadOptions {" {
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

/// Numbers of lines in which a function for others begins that has a sentence for its error. Functions for
/// the parent alone (`pub(super)`) are a file's own matter.
fn string_errors(text: &str) -> Vec<usize> {
    let lines: Vec<(usize, &str)> = code_lines(without_tests(text)).collect();
    let begins = |line: &str| {
        let line = line.trim_start();
        ["pub fn ", "pub(crate) fn ", "pub const fn "].iter().any(|form| line.starts_with(form))
    };
    let signature = |at: usize| {
        let mut words = String::new();
        for (_, line) in &lines[at..] {
            words.push_str(line.trim());
            if line.trim_end().ends_with(['{', ';']) {
                break;
            }
        }
        words
    };
    let has_sentence = |words: &str| {
        let result = words.rsplit("->").next().unwrap_or_default();
        words.contains("->") && result.contains("Result<") && result.contains(", String>")
    };
    let numbers = (0..lines.len()).filter(|&at| begins(lines[at].1) && has_sentence(&signature(at)));
    numbers.map(|at| lines[at].0).collect()
}

#[test]
fn errors_are_no_sentences() {
    let mut wrong = Vec::new();
    for (_, path, text) in sources() {
        let name = path.to_string_lossy().into_owned();
        if is_for_tests(&path) {
            continue;
        }
        let found = string_errors(&text).into_iter();
        wrong.extend(found.map(|number| format!("{name}:{number}: an error that is a sentence")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_error_test_sees_signatures() {
    assert_eq!(string_errors("pub fn a() -> Result<(), String> {\n}\n"), [1]);
    assert_eq!(string_errors("\npub(crate) fn a(\n    b: u8,\n) -> Result<Vec<u8>, String> {\n}\n"), [2]);
    for good in [
        "fn a() -> Result<(), String> {\n}\n",
        "pub fn a() -> Result<String, Refusal> {\n}\n",
        "pub fn a(b: impl Fn() -> Result<(), String>) -> u8 {\n}\n",
        "#[cfg(test)]\nmod tests {\n    pub fn a() -> Result<(), String> {\n    }\n}\n",
    ] {
        assert!(string_errors(good).is_empty(), "{good}");
    }
}

#[test]
fn only_cli_prints() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        if PRINTING_ROOMS.contains(&room.as_str()) || is_for_tests(&path) {
            continue;
        }
        let own = without_tests(&text);
        for (number, line) in code_lines(own) {
            let prints = ["print!(", "println!(", "dbg!(", "stdout()", "stderr()"];
            if prints.iter().any(|form| line.contains(form)) && !PRINTS.contains(&&*path.to_string_lossy()) {
                wrong.push(format!("{}:{number}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rooms that speak to people.
const PRINTING_ROOMS: &[&str] = &["cli", "console", "main", "program", "show", "viewer"];

/// Where standard streams are written to. Everything else goes through them, where
/// [`truespd_platform::text::printable_text`] takes out what would act on a terminal.
const WRITES_STREAMS: &[(&str, &str)] = &[
    ("console.rs", "what passes on to the streams"),
    ("viewer.rs", "what the console kept back while the screen was taken; events for the view"),
    ("cli/commands/bench_self.rs", "numbers, for this program itself"),
];

#[test]
fn words_reach_the_terminal_one_way_only() {
    let mut wrong = Vec::new();
    for (_, path, text) in sources().into_iter().filter(|(room, ..)| PRINTING_ROOMS.contains(&room.as_str()))
    {
        let name = path.to_string_lossy().into_owned();
        if is_for_tests(&path) || WRITES_STREAMS.iter().any(|(file, _)| *file == name) {
            continue;
        }
        for (number, line) in code_lines(without_tests(&text)) {
            let forms =
                ["print!(", "println!(", "stdout().lock()", "stderr().lock()", ".write_all(", "write!(std"];
            if forms.iter().any(|form| line.contains(form)) {
                wrong.push(format!("{name}:{number}: {}", line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "use console::say, say_line, write_out:\n{}", wrong.join("\n"));
}

/// Files of other rooms that use standard output or standard error: the caretaker of a killed series says to its parent
/// that it watches, and questions and the view of a series ask whether a person looks at a terminal.
const PRINTS: &[&str] = &["ask/command.rs", "runner/undo.rs", "runner/view.rs"];

#[test]
fn the_exit_code_follows_from_the_kind_in_one_place() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        if is_for_tests(&path) || room == "fault" || room == "main" {
            continue;
        }
        let own = without_tests(&text);
        for (number, line) in code_lines(own) {
            let named = ["Failed", "Refused", "Guarded", "NotTrusted", "Unread"]
                .map(|name| format!("ExitCode::{name}"));
            if named.iter().any(|name| line.contains(name)) {
                wrong.push(format!("{}:{number}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Calls that look into a text for a literal.
const LOOKING: [&str; 9] = [
    ".contains(",
    ".starts_with(",
    ".ends_with(",
    ".find(",
    ".rfind(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".split_once(",
    ".rsplit_once(",
];

/// Files that may look for words with blanks, what they look for, and whose words these are.
const OUTSIDE_WORDS: &[(&str, &[&str], &str)] = &[
    (
        "result/legacy.rs",
        &[""],
        "documents of before told in sentences what are members today: the one reader of them",
    ),
    (
        "result/chain.rs",
        &["write back", "write through"],
        "the kernel's words for a cache, beside the member",
    ),
    ("machine/host.rs", &["model name"], "/proc/cpuinfo"),
    ("guard/devices.rs", &[" (deleted)"], "the kernel's mark of a deleted file"),
    ("sys/linux/error.rs", &[" (os error "], "std's text of errno"),
    ("profile/xml/error.rs", &[" (os error "], "std's text of errno"),
    ("profile/xml/read.rs", &[" at "], "roxmltree's text of an error"),
    ("selfcost/callgrind.rs", &["totals: "], "valgrind's file"),
    ("loading.rs", &[": cannot open shared object file"], "the text of the system's loader"),
    ("cli/commands/answer.rs", &["error: "], "clap's text of an error"),
    ("cli/completions/shells.rs", &["if [ "], "clap_complete's script"),
    ("ask/study/options.rs", &["truespd "], "the command line in a document, as it was typed"),
];

/// The code of a file without its tests and comments.
fn code_without_tests(path: &Path, text: &str) -> String {
    let code = if is_for_tests(path) { "" } else { without_tests(text) };
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The literal that `text` begins with, behind blanks and what may stand around it.
fn leading_literal(text: &str) -> Option<&str> {
    let text = text.trim_start_matches([' ', '\n', '&', '(', '[']);
    let text = ["format!(", "Some("].iter().find_map(|begin| text.strip_prefix(begin)).unwrap_or(text);
    let text = text.trim_start().strip_prefix('"')?;
    let mut is_escaped = false;
    let end = text.find(|c| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    Some(&text[..end?])
}

/// The literals that code compares with or looks for: in calls, comparisons, arms of a `match`, and in lists of words
/// that are each looked for.
fn literals_looked_for(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for looking in LOOKING.iter().chain(&["== ", "!= "]) {
        found.extend(code.split(looking).skip(1).filter_map(leading_literal));
    }
    for line in code.lines() {
        if line.contains(" =>") {
            found.extend(
                line.split(" =>")
                    .next()
                    .into_iter()
                    .flat_map(|arm| arm.split('|'))
                    .filter_map(leading_literal),
            );
        }
    }
    for (at, _) in code.match_indices(".any(|").chain(code.match_indices(".find_map(|")) {
        let (before, after) = code.split_at(at);
        let list = before.strip_suffix(".iter()").unwrap_or(before).strip_suffix(']');
        let list = list.and_then(|list| list.rsplit_once('[')).map_or("", |(_, list)| list);
        let looks = after.lines().next().is_some_and(|line| LOOKING.iter().any(|call| line.contains(call)));
        if looks {
            found.extend(list.split(',').filter_map(leading_literal));
        }
    }
    found.into_iter().map(str::to_string).collect()
}

/// Words of people, not a name or a sign.
fn is_words(literal: &str) -> bool {
    literal.contains(' ') && literal.contains(|c: char| c.is_alphabetic())
}

/// Rooms speak to each other in types: what one room says in a sentence, no other takes apart.
#[test]
fn no_room_matches_on_words_of_another() {
    let mut wrong = Vec::new();
    for (_, path, text) in sources() {
        let may: Vec<&str> = OUTSIDE_WORDS
            .iter()
            .filter(|(file, ..)| path.ends_with(file))
            .flat_map(|(_, literals, _)| literals.iter().copied())
            .collect();
        let literals = literals_looked_for(&code_without_tests(&path, &text));
        for literal in literals.iter().filter(|literal| is_words(literal)) {
            if !may.iter().any(|part| literal.contains(part)) {
                wrong.push(format!("{}: looks for \"{literal}\"", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "make these members or enums (ARCHITECTURE.md):\n{}", wrong.join("\n"));
}

/// The sentence about a layer is for people: whoever judges reads its members.
#[test]
fn no_room_looks_into_the_sentence_about_a_layer() {
    for (_, path, text) in sources() {
        let code = code_without_tests(&path, &text);
        for statement in code.split([';', '{', '}']).filter(|part| part.contains(".detail")) {
            let looks = LOOKING.iter().any(|call| statement.contains(call));
            assert!(!looks || path.ends_with("result/legacy.rs"), "{}: {statement}", path.display());
        }
    }
}

/// What an engine is, its row tells and the document stores.
#[test]
fn no_engine_is_known_by_name_where_results_are_judged() {
    for (room, path, text) in sources() {
        // Drivers of the kernel have names of engines, too.
        let names_drivers = path.ends_with("verdict/causes/disk.rs");
        if !["verdict", "render", "ask"].contains(&room.as_str()) || names_drivers {
            continue;
        }
        // A column of values counts threads, and a ramp of a sweep raises their number.
        let code = code_without_tests(&path, &text)
            .replace("Column::value(\"threads\")", "")
            .replace("(\"threads\", &[\"t=1..64\"])", "");
        for row in truespd_core::engine::TABLE {
            assert!(!code.contains(&format!("\"{}\"", row.name)), "{}: \"{}\"", path.display(), row.name);
        }
    }
}

/// Lines that this house had.
#[test]
fn the_test_of_words_sees_words() {
    for (line, words) in [
        (r#"words.contains("degraded by")"#, "degraded by"),
        (r#"    || words.contains(" running")"#, " running"),
        (r#"layer.detail.as_deref().is_some_and(|words| words.contains(", thin"))"#, ", thin"),
        (r#"is_some_and(|d| d.starts_with("LVM ") && d.ends_with(", thin"))"#, "LVM "),
        (r#".filter(|d| d.contains(" paths ("))?;"#, " paths ("),
        (r#"match words.contains("ERROR: ") {"#, "ERROR: "),
        (r#"words_of(layer).contains(&format!(", {word}"))"#, ", {word}"),
        (r#"["integrity ", "vdo "].iter().any(|word| words.starts_with(word))"#, "vdo "),
        (r#"layer.write_cache.as_deref() == Some("write back")"#, "write back"),
        (r#"        "write through" => 1,"#, "write through"),
        ("words\n    .contains(\n        \"is \\\"so\\\"\",", "is \\\"so\\\""),
    ] {
        let found = literals_looked_for(line);
        assert!(found.iter().any(|literal| literal == words && is_words(literal)), "{line}: {found:?}");
    }
    for line in [
        r#"text.split_once("-->")"#,
        r#"line.strip_prefix("flags:")"#,
        r#"Some(path) => format!("the path {path}"),"#,
        r#"names.iter().any(|n| n.contains(part))"#,
    ] {
        assert!(!literals_looked_for(line).iter().any(|literal| is_words(literal)), "{line}");
    }
}
