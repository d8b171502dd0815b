//! No circles of files within a room (ARCHITECTURE.md): files that use each other in a ring can only be
//! understood all at once.
//!
//! A file uses another when one of its paths names something that is defined there; a name that a file only hands on
//! (`pub use`) counts for the file that defines it. What is compiled for tests only does not count.
//!
//! A module that only hands on (`pub use`) what a child of it defines does not use the child.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::house::{OF_ONE_ROOM, is_for_tests, sources};

/// The files, by the path of their module: `["cli", "grammar"]` for `cli/grammar/mod.rs`.
type Files = BTreeMap<Vec<String>, File>;

/// What a file offers and what it uses.
#[derive(Debug, Default)]
struct File {
    /// As it is shown.
    name: String,
    /// Names that `use` brings in, with the path that each stands for.
    imports: BTreeMap<String, Vec<String>>,
    /// Every path that it names, from the crate on.
    paths: Vec<Vec<String>>,
}

/// Words and signs of the code: without comments, literals and what is compiled for tests only.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
    let rest = |at: usize, what: &str| chars[at..].iter().copied().take(what.len()).eq(what.chars());
    let behind = |from: usize, what: &str| {
        (from..chars.len()).find(|&at| rest(at, what)).map_or(chars.len(), |at| at + what.len())
    };
    let (mut found, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        let end = match chars[at] {
            '/' if rest(at, "//") => behind(at, "\n"),
            '/' if rest(at, "/*") => behind(at, "*/"),
            'r' if rest(at, "r\"") => behind(at + 2, "\""),
            'r' if rest(at, "r#\"") => behind(at + 3, "\"#"),
            '"' => {
                let mut end = at + 1;
                while end < chars.len() && chars[end] != '"' {
                    end += if chars[end] == '\\' { 2 } else { 1 };
                }
                end + 1
            }
            // A character; a lifetime has no quote behind it.
            '\'' if chars.get(at + 1) == Some(&'\\') => behind(at + 3, "'"),
            '\'' if chars.get(at + 2) == Some(&'\'') => at + 3,
            c if is_word(&c) => {
                let end = at + chars[at..].iter().take_while(|c| is_word(c)).count();
                found.push(chars[at..end].iter().collect());
                end
            }
            ':' if rest(at, "::") => {
                found.push("::".to_string());
                at + 2
            }
            c => {
                found.extend((!c.is_whitespace()).then(|| c.to_string()));
                at + 1
            }
        };
        at = end;
    }
    without_test_items(&found)
}

/// Leaves out what stands behind `#[cfg(test)]`, up to its semicolon or its last bracket.
fn without_test_items(tokens: &[String]) -> Vec<String> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
        if !tokens[at..].iter().take(mark.len()).eq(mark.iter()) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let mut depth = 0;
        at += mark.len();
        while at < tokens.len() {
            let token = tokens[at].as_str();
            at += 1;
            match token {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            if depth == 0 && [";", "}"].contains(&token) {
                break;
            }
        }
    }
    kept
}

/// The path from the crate on that `words` stand for in `module`; none when they begin outside of our crates, of which
/// no two have a room of the same name.
fn absolute(module: &[String], words: &[String]) -> Option<Vec<String>> {
    let ups = words.iter().take_while(|word| *word == "super").count();
    let (base, rest) = match words.first()?.as_str() {
        "crate" if OF_ONE_ROOM.contains(&module[0].as_str()) => (&module[..1], &words[1..]),
        name if name == "crate" || name.starts_with("truespd_") => (&[][..], &words[1..]),
        "self" => (module, &words[1..]),
        "super" => (&module[..module.len().checked_sub(ups)?], &words[ups..]),
        _ => return None,
    };
    Some([base, rest].concat())
}

/// The paths of a tree of `use` that begins at `at`, each with the name that it gets, and where the tree ends.
fn use_tree(tokens: &[String], mut at: usize, lead: &[String]) -> (Vec<(Vec<String>, String)>, usize) {
    let mut path = lead.to_vec();
    while at < tokens.len() {
        match tokens[at].as_str() {
            "::" => at += 1,
            "{" => {
                let mut found = Vec::new();
                at += 1;
                while at < tokens.len() && tokens[at] != "}" {
                    let (inner, end) = use_tree(tokens, at, &path);
                    found.extend(inner);
                    at = if tokens.get(end).is_some_and(|token| token == ",") { end + 1 } else { end };
                }
                return (found, at + 1);
            }
            "as" => {
                return (vec![(path, tokens[at + 1].clone())], at + 2);
            }
            "," | ";" | "}" => break,
            "self" if !path.is_empty() && path.last().is_some_and(|word| word != "super") => at += 1,
            word => {
                path.push(word.to_string());
                at += 1;
            }
        }
    }
    let name = path.last().cloned().unwrap_or_default();
    (vec![(path, name)], at)
}

/// Reads a file of the module.
fn read(name: &str, module: &[String], text: &str) -> File {
    let tokens = tokens(text);
    let mut file = File { name: name.to_string(), ..File::default() };
    let mut code = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] == "use" {
            let is_handed_on =
                code.last().is_some_and(|before: &String| ["pub", ")"].contains(&before.as_str()));
            let (found, end) = use_tree(&tokens, at + 1, &[]);
            for (words, name) in found {
                // A path without a keyword may begin at a child.
                let path = absolute(module, &words).unwrap_or_else(|| [module, &words[..]].concat());
                file.imports.insert(name, path.clone());
                if !is_handed_on {
                    file.paths.push(path);
                }
            }
            at = end;
        } else {
            code.push(tokens[at].clone());
            at += 1;
        }
    }
    let mut at = 0;
    while at < code.len() {
        let mut words = vec![code[at].clone()];
        at += 1;
        while at + 1 < code.len()
            && code[at] == "::"
            && code[at + 1].chars().all(|c| c.is_alphanumeric() || c == '_')
        {
            words.push(code[at + 1].clone());
            at += 2;
        }
        if words.len() > 1 {
            let imported = || Some([&file.imports.get(&words[0])?[..], &words[1..]].concat());
            let path = absolute(module, &words).or_else(imported);
            file.paths.push(path.unwrap_or_else(|| [module, &words[..]].concat()));
        }
    }
    file
}

/// The module of the file in which a thing is defined: names that a file only hands on are followed. None for
/// a path that names a module and nothing of it.
fn defined_in<'a>(files: &'a Files, path: &[String], depth: u32) -> Option<&'a [String]> {
    let length = (1..=path.len()).rev().find(|&length| files.contains_key(&path[..length]))?;
    let (module, file) = files.get_key_value(&path[..length])?;
    let next = path.get(length)?;
    match file.imports.get(next) {
        Some(real) if depth > 0 && real != path => {
            let whole = [&real[..], &path[length + 1..]].concat();
            defined_in(files, &whole, depth - 1)
        }
        _ => Some(module),
    }
}

/// Files by name, each with the files of its room that it uses.
fn graph(sources: &[(String, String)]) -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Files::new();
    for (name, text) in sources {
        let path = name.trim_end_matches(".rs").trim_end_matches("/mod").trim_end_matches("/lib");
        let module: Vec<String> = path.split('/').map(str::to_string).collect();
        files.insert(module.clone(), read(name, &module, text));
    }
    let mut graph = BTreeMap::new();
    for (module, file) in &files {
        let used = file.paths.iter().filter_map(|path| defined_in(&files, path, 8));
        let used = used.filter(|other| other[0] == module[0] && *other != module);
        graph.insert(file.name.clone(), used.map(|other| files[other].name.clone()).collect());
    }
    graph
}

/// Files that reach each other, in groups.
fn circles(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&String> = graph[from].iter().collect();
        while let Some(name) = open.pop() {
            if seen.insert(name.clone()) {
                open.extend(&graph[name]);
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        graph.keys().map(|name| (name, reached(name))).collect();
    let mut found: Vec<Vec<String>> = Vec::new();
    for name in graph.keys().filter(|name| reached[name].contains(*name)) {
        if !found.iter().flatten().any(|known| known == name) {
            found.push(
                graph
                    .keys()
                    .filter(|other| reached[name].contains(*other) && reached[other].contains(name))
                    .cloned()
                    .collect(),
            );
        }
    }
    found
}

#[test]
fn no_files_of_a_room_stand_in_a_circle() {
    // The root of `bus` has the error that its modules return.
    let is_code = |name: &str| !["lib.rs", "bus/lib.rs"].contains(&name) && !is_for_tests(Path::new(name));
    let named = sources().into_iter().map(|(_, path, text)| (path.to_string_lossy().into_owned(), text));
    let found = circles(&graph(&named.filter(|(name, _)| is_code(name)).collect::<Vec<_>>()));
    let lines: Vec<String> = found.iter().map(|files| files.join(", ")).collect();
    assert!(lines.is_empty(), "these files use each other:\n{}", lines.join("\n"));
}

/// The circles of a room of these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<_> = files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
    circles(&graph(&files)).iter().map(|files| files.join(" ")).collect()
}

#[test]
fn the_test_of_circles_sees_circles() {
    let b = ("r/b.rs", "use crate::r::c;\nfn b() { c::c() }");
    for (a, c) in [
        ("use crate::r::b::b;", "use crate::r::a::a;"),
        ("use super::{x::Y, b::{self, b}};", "use super::a;\nfn c() { a::a() }"),
        ("fn a() { crate::r::b::b() }", "fn c(a: super::a::A<'_>) { '\"'; let _ = \"x\"; }"),
        // Names that the room hands on.
        ("use crate::r::handed;", "use crate::r::A;"),
    ] {
        let room = ("r/mod.rs", "mod a; mod b; mod c;\npub use a::A;\npub use b::b as handed;");
        let files = [room, ("r/a.rs", a), b, ("r/c.rs", c)];
        assert_eq!(circles_of(&files), ["r/a.rs r/b.rs r/c.rs"], "{a} {c}");
    }
    let two = [("r/a.rs", "use super::b::B;"), ("r/b.rs", "use super::a::A;")];
    let other =
        [("r/c.rs", "use super::d::D;"), ("r/d.rs", "use super::c::C;"), ("r/e.rs", "use super::a::A;")];
    assert_eq!(circles_of(&[two.as_slice(), &other].concat()), ["r/a.rs r/b.rs", "r/c.rs r/d.rs"]);
    let child = [("r/mod.rs", "mod a;\nstruct Shared;\nfn r() { a::a() }"), ("r/a.rs", "use super::Shared;")];
    assert_eq!(circles_of(&child), ["r/a.rs r/mod.rs"], "a module and its child");
}

#[test]
fn the_test_of_circles_sees_what_is_none() {
    for b in [
        "use super::c::C;",
        "// use super::a::A;\n/* use super::a::A; */\nconst WORDS: &str = \"crate::r::a::A\";",
        "#[cfg(test)]\nmod tests {\n    use super::super::a::A;\n}",
        "#[cfg(test)]\nuse super::a::A;\nuse super::c::C;",
        // The same name in another room.
        "use crate::other::a::A;",
        "use crate::r::C;",
        "use super::a;",
    ] {
        let room = ("r/mod.rs", "mod a; mod b; mod c;\npub use c::C;");
        let files = [room, ("r/a.rs", "use super::b::B;"), ("r/b.rs", b), ("r/c.rs", ""), ("other/a.rs", "")];
        assert!(circles_of(&files).is_empty(), "{b}: {:?}", circles_of(&files));
    }
    let handed_on = [
        ("r/mod.rs", "mod a;\nmod t;\npub use t::Shared;\nfn r() { a::a() }"),
        ("r/a.rs", "use super::Shared;"),
        ("r/t.rs", "struct Shared;"),
    ];
    assert!(circles_of(&handed_on).is_empty(), "{:?}", circles_of(&handed_on));
    let of_another_crate = [
        ("r/mod.rs", "mod a;\npub use truespd_platform::other::b::B as C;\nfn r() { a::a() }"),
        ("r/a.rs", "use super::C;"),
        ("other/b.rs", "struct B;"),
    ];
    assert!(circles_of(&of_another_crate).is_empty(), "{:?}", circles_of(&of_another_crate));
    let shown = [("r/mod.rs", "mod a;\npub use a::a;\nstruct Shared;"), ("r/a.rs", "use super::Shared;")];
    assert!(circles_of(&shown).is_empty(), "{:?}", circles_of(&shown));
}
