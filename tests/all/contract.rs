//! What comments and pages cite is there: sections of the contract (`docs/contract/README.md`), headings of other
//! pages and files. Paths that pages name exist.
//!
//! A citation is a page, then sections: `io-semantics.md` §7.3, §7.4. A heading, or the bold words that begin a
//! paragraph, may follow in quotation marks: `io-semantics.md` §1, "Pool mode". Inside a page of the contract a section
//! alone means that page.

use crate::support::words::in_one_line;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

const SECTION: char = '\u{a7}';
const CONTRACT: &str = "docs/contract";

pub(crate) fn root() -> &'static Path {
    Path::new(crate::support::ROOT)
}

/// Files below a folder of the repository whose name ends with one of `endings`, by their path from the root.
pub(crate) fn files(folder: &str, endings: &[&str]) -> BTreeSet<PathBuf> {
    let mut stack = vec![root().join(folder)];
    let mut found = BTreeSet::new();
    while let Some(dir) = stack.pop() {
        for entry in fs::read_dir(&dir).expect("folder is readable") {
            let path = entry.expect("entry is readable").path();
            let name = path.to_string_lossy().into_owned();
            if path.is_dir() {
                stack.push(path);
            } else if endings.iter().any(|e| name.ends_with(e)) {
                found.insert(path.strip_prefix(root()).expect("below the root").to_path_buf());
            }
        }
    }
    found
}

/// The Markdown pages that people read.
pub(crate) fn pages() -> BTreeSet<PathBuf> {
    let mut pages = BTreeSet::new();
    for folder in ["docs", "tests/data", "contrib"] {
        pages.extend(files(folder, &[".md"]));
    }
    for page in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"] {
        pages.insert(PathBuf::from(page));
    }
    assert!(pages.len() > 20, "the walk found the pages");
    pages
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A run of text that belongs together, with the number of its first line.
struct Block {
    line: usize,
    text: String,
}

/// Lines that belong together become one block; `None` ends a block.
fn blocks<'a>(lines: impl Iterator<Item = Option<&'a str>>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (index, line) in lines.enumerate() {
        match line {
            None => open = false,
            Some(text) if open => {
                let block = blocks.last_mut().expect("one is open");
                block.text.push('\n');
                block.text.push_str(text);
            }
            Some(text) => {
                blocks.push(Block { line: index + 1, text: text.to_string() });
                open = true;
            }
        }
    }
    blocks
}

/// The comments of a source file. Strings are what the program says, and cite nothing.
fn comments(text: &str) -> Vec<Block> {
    blocks(text.lines().map(|line| {
        let comment = line.trim_start().strip_prefix("//")?;
        let comment = comment.strip_prefix(['/', '!']).unwrap_or(comment);
        Some(comment)
    }))
}

/// The paragraphs of a page, without what stands between fences.
fn paragraphs(text: &str) -> Vec<Block> {
    let mut fenced = false;
    blocks(text.lines().map(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence && !line.trim().is_empty()).then_some(line)
    }))
}

/// One citation of a block: a page, and perhaps a section or a heading of it.
#[derive(Debug, PartialEq)]
struct Citation {
    /// As written, `None` where a section stands alone.
    page: Option<String>,
    /// `7.3`.
    section: Option<String>,
    /// What stands in quotation marks behind the page or its sections.
    heading: Option<String>,
    /// Something follows that looks like a heading and is not in quotation marks.
    loose: bool,
}

fn is_path_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./".contains(c)
}

/// The page at the start of `text`, and how many bytes it takes.
fn page_here(text: &str) -> Option<(&str, usize)> {
    let end = text.find(|c| !is_path_char(c)).unwrap_or(text.len());
    let page = text[..end].trim_end_matches('.');
    let name = page.rsplit('/').next().unwrap_or(page);
    (name.len() > 3 && name.ends_with(".md") && !page.starts_with("//")).then_some((page, page.len()))
}

/// The section at the start of `text`, and how many bytes it takes.
fn section_here(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_prefix(SECTION)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let section = rest[..end].trim_end_matches('.');
    Some((section, SECTION.len_utf8() + section.len()))
}

/// What may stand between two sections of one page.
fn connector(text: &str) -> usize {
    let mut rest = text;
    loop {
        let shorter = rest.trim_start_matches([',', ' ', '\n', '`']);
        let shorter = ["and ", "to "].iter().find_map(|word| shorter.strip_prefix(word)).unwrap_or(shorter);
        if shorter.len() == rest.len() {
            return text.len() - rest.len();
        }
        rest = shorter;
    }
}

/// Sections of `page` at the start of `text`, then a heading; how many bytes they take.
fn sections_and_heading(page: Option<&str>, text: &str, found: &mut Vec<Citation>) -> usize {
    let cite = |section: Option<&str>| Citation {
        page: page.map(str::to_string),
        section: section.map(str::to_string),
        heading: None,
        loose: false,
    };
    let mut at = 0;
    let mut cited = false;
    loop {
        let skip = connector(&text[at..]);
        let Some((section, length)) = section_here(&text[at + skip..]) else { break };
        found.push(cite(Some(section)));
        cited = true;
        at += skip + length;
    }
    if !cited {
        found.push(cite(None));
    }
    let last = found.last_mut().expect("one was pushed");
    let tail = text[at..].strip_prefix('`').unwrap_or(&text[at..]);
    if let Some(tail) = tail.strip_prefix(',') {
        let tail = tail.trim_start();
        match tail.strip_prefix('"').and_then(|t| t.split_once('"')) {
            Some((heading, _)) => last.heading = Some(in_one_line(heading)),
            None => last.loose = tail.starts_with(|c: char| c.is_ascii_uppercase()),
        }
    }
    at
}

fn citations(text: &str) -> Vec<Citation> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut before = ' ';
    while let Some(c) = text[at..].chars().next() {
        let here = &text[at..];
        if c == SECTION {
            at += sections_and_heading(None, here, &mut found).max(c.len_utf8());
        } else if let Some((page, length)) = page_here(here).filter(|_| !is_path_char(before)) {
            at += length + sections_and_heading(Some(page), &here[length..], &mut found);
        } else {
            at += c.len_utf8();
        }
        before = c;
    }
    found
}

/// Resolves `.` and `..`, so that one file has one name.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The file a citation means: a page of the contract, a path from the root, or one from where it is cited.
fn resolve(page: &str, from: &Path) -> Option<PathBuf> {
    let beside = from.parent().unwrap_or(Path::new(""));
    [Path::new(CONTRACT), Path::new(""), beside]
        .iter()
        .map(|folder| plain(&folder.join(page)))
        .find(|path| root().join(path).is_file())
}

/// Headings of a page outside of fences, without their marks.
fn headings(text: &str) -> Vec<String> {
    let plain = |line: &str| line.trim_start_matches('#').trim().replace('`', "");
    let mut fenced = false;
    let mut headings = Vec::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if !fenced && line.starts_with('#') {
            headings.push(plain(line));
        }
    }
    headings
}

fn has_section(text: &str, section: &str) -> bool {
    headings(text).iter().any(|heading| {
        let number = heading.split(' ').next().unwrap_or("");
        number.trim_end_matches('.') == section && !section.is_empty()
    })
}

/// A heading that begins with these words, or a paragraph that begins with them in bold.
fn has_heading(text: &str, words: &str) -> bool {
    let wanted = words.to_lowercase();
    let bold = text.lines().filter_map(|line| line.trim_start_matches(['*', '-', ' ']).split_once("**"));
    headings(text).into_iter().chain(bold.map(|(lead, _)| lead.to_string())).any(|heading| {
        let unnumbered = heading.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start();
        unnumbered.to_lowercase().starts_with(&wanted)
    })
}

/// What is wrong with one citation, if anything is.
fn fault(citation: &Citation, from: &Path) -> Option<String> {
    let page = match &citation.page {
        Some(page) => resolve(page, from).ok_or_else(|| format!("there is no {page}")),
        None if from.starts_with(CONTRACT) => Ok(from.to_path_buf()),
        None => Err("a section without its page".to_string()),
    };
    let page = match page {
        Ok(page) => page,
        Err(fault) => return Some(fault),
    };
    let text = read(&page);
    if let Some(section) = citation.section.as_deref().filter(|section| !has_section(&text, section)) {
        return Some(format!("{} has no section {section}", page.display()));
    }
    if let Some(words) = citation.heading.as_deref().filter(|words| !has_heading(&text, words)) {
        return Some(format!("{} has no heading \"{words}\"", page.display()));
    }
    let loose = citation.loose && from.extension().is_some_and(|e| e == "rs");
    loose.then(|| format!("a heading of {} belongs in quotation marks", page.display()))
}

#[test]
fn citations_resolve() {
    let mut wrong = Vec::new();
    let mut sections = 0;
    let mut sources = files("crates", &[".rs"]);
    sources.extend(files("tests", &[".rs"]));
    for path in sources.iter().chain(&pages()) {
        let text = read(path);
        let blocks =
            if path.extension().is_some_and(|e| e == "rs") { comments(&text) } else { paragraphs(&text) };
        for block in blocks {
            for citation in citations(&block.text) {
                sections += usize::from(citation.section.is_some());
                if let Some(fault) = fault(&citation, path) {
                    wrong.push(format!("{}:{}: {fault}", path.display(), block.line));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(sections > 100, "the walk found the citations");
}

#[test]
fn the_citation_test_sees_citations() {
    let cite = |page: Option<&str>, section: Option<&str>| Citation {
        page: page.map(str::to_string),
        section: section.map(str::to_string),
        heading: None,
        loose: false,
    };
    let s = SECTION;
    let page = Some("xml.md");
    assert_eq!(
        citations(&format!("see (`xml.md` {s}1 and {s}3 to {s}5,\n{s}4.2). More")),
        ["1", "3", "5", "4.2"].map(|section| cite(page, Some(section)))
    );
    assert_eq!(citations("(`docs/xml.md`)."), [cite(Some("docs/xml.md"), None)]);
    assert_eq!(citations(&format!("alone {s}7")), [cite(None, Some("7"))]);
    let quoted = citations(&format!("`xml.md` {s}1, \"Pool\nmode\""));
    assert_eq!(quoted[0].heading.as_deref(), Some("Pool mode"));
    assert!(citations("(xml.md, Errors)")[0].loose);
    assert!(citations("https://host/xml.md and *.md").is_empty());
    assert_eq!(comments("/// a\n/// b\nlet x = 1;\n// c").len(), 2);

    let here = Path::new("crates/core/src/lib.rs");
    assert!(fault(&cite(Some("command-line.md"), Some("5.2")), here).is_none());
    assert!(fault(&cite(Some("command-line.md"), Some("99")), here).is_some());
    assert!(fault(&cite(Some("nowhere.md"), None), here).is_some());
    assert!(fault(&cite(None, Some("1")), here).is_some());
}

/// Paths of this repository that a page names in backticks, without patterns.
fn named_paths(text: &str) -> Vec<(usize, String)> {
    let ours = ["crates/", "tests/", "docs/", "schema/", "profiles/", "bench/", "ci/", ".ci/"];
    let mut paths = Vec::new();
    for block in paragraphs(text) {
        for (index, line) in block.text.lines().enumerate() {
            let spans = line.split('`').skip(1).step_by(2);
            let paths_here =
                spans.filter(|s| ours.iter().any(|o| s.starts_with(o)) && s.chars().all(is_path_char));
            paths.extend(paths_here.map(|path| (block.line + index, path.to_string())));
        }
    }
    paths
}

#[test]
fn named_paths_exist() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        for (line, path) in named_paths(&read(&page)) {
            count += 1;
            if !root().join(&path).exists() {
                wrong.push(format!("{}:{line}: there is no {path}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 20, "the walk found the paths");
}
