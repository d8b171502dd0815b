//! The pages of `docs` and beside it: their links lead somewhere, `docs/SUMMARY.md` has every page, and the
//! command lines that they show are accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use diskspd::grammar::parse::{Invocation, parse};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::contract::{files, pages, plain, read, root};
use crate::support::words::{BOOT_MS, words};

const SUMMARY: &str = "docs/SUMMARY.md";
/// Pages about how the program works, and of things that other programs do.
const NOT_FOR_USERS: [&str; 5] =
    ["docs/design", "docs/contract", "tests/data", "CONTRIBUTING.md", "ARCHITECTURE.md"];

/// What of a page is looked at, each with the number of its line.
#[derive(Default)]
struct Page {
    /// Of links and images.
    links: Vec<(usize, String)>,
    /// Names that links may use for its headings.
    anchors: BTreeSet<String>,
    /// Command lines: lines of blocks of code for a shell, and code within text.
    lines: Vec<(usize, String)>,
    /// Tags that a browser would take for HTML.
    html: Vec<(usize, String)>,
}

fn page(text: &str) -> Page {
    let line_at = |at: usize| text[..at].matches('\n').count() + 1;
    let mut page = Page::default();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut heading: Option<String> = None;
    let mut shell = false;
    for (event, place) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let line = line_at(place.start);
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let name = anchor(&heading.take().expect("one began"));
                let before = times.entry(name.clone()).or_default();
                page.anchors.insert(if *before == 0 { name } else { format!("{name}-{before}") });
                *before += 1;
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push((line, dest_url.to_string()));
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let CodeBlockKind::Fenced(kind) = kind else { continue };
                shell = ["", "sh"].contains(&&*kind);
            }
            Event::End(TagEnd::CodeBlock) => shell = false,
            Event::Text(code) if shell => {
                page.lines.extend(commands(&code).map(|(at, command)| (line + at, command)));
            }
            Event::Text(words) => heading.iter_mut().for_each(|h| h.push_str(&words)),
            Event::Code(code) => {
                heading.iter_mut().for_each(|h| h.push_str(&code));
                page.lines.push((line, code.to_string()));
            }
            Event::Html(tag) | Event::InlineHtml(tag) => page.html.push((line, tag.to_string())),
            _ => {}
        }
    }
    page
}

/// The name that GitHub and mdBook give to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The commands of a block, without a prompt, comments, and what the shell does with them.
fn commands(block: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    block.lines().enumerate().map(|(index, line)| {
        let line = line.strip_prefix("$ ").unwrap_or(line);
        let mut quote = None;
        let mut before = ' ';
        let end = line.char_indices().find(|&(at, c)| {
            match quote {
                Some(open) if c == open => quote = None,
                None if c == '\'' || c == '"' => quote = Some(c),
                _ => {}
            }
            let rest = &line[at..];
            let ends = ["#", ">", "|", "&", ";", "2>", "3>", "< "].iter().any(|s| rest.starts_with(s));
            let ends = quote.is_none() && before == ' ' && ends;
            before = c;
            ends
        });
        (index, line[..end.map_or(line.len(), |(at, _)| at)].trim().to_string())
    })
}

fn for_users() -> impl Iterator<Item = PathBuf> {
    pages().into_iter().filter(|page| !NOT_FOR_USERS.iter().any(|folder| page.starts_with(folder)))
}

#[test]
fn links_lead_somewhere() {
    let all: BTreeMap<PathBuf, Page> = pages().into_iter().map(|p| (p.clone(), page(&read(&p)))).collect();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, page) in &all {
        // A chapter of the list may have no page.
        let relative = page.links.iter().filter(|(_, link)| !link.contains("://") && !link.is_empty());
        for (line, link) in relative {
            count += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let beside = path.parent().unwrap_or(Path::new(""));
            let target = if file.is_empty() { path.clone() } else { plain(&beside.join(file)) };
            let at = format!("{}:{line}", path.display());
            if link.starts_with("mailto:") {
                wrong.push(format!("{at}: this project has no mail address"));
            } else if !root().join(&target).exists() {
                wrong.push(format!("{at}: there is no {}", target.display()));
            } else if !anchor.is_empty() && !all.get(&target).is_some_and(|p| p.anchors.contains(anchor)) {
                wrong.push(format!("{at}: {} has no heading #{anchor}", target.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "the walk found {count} links");
}

#[test]
fn the_summary_has_every_page() {
    let summary = page(&read(Path::new(SUMMARY)));
    let listed: Vec<PathBuf> =
        summary.links.iter().map(|(_, link)| plain(&Path::new("docs").join(link))).collect();
    let lost: Vec<_> = files("docs", &[".md"])
        .into_iter()
        .filter(|page| page != Path::new(SUMMARY) && !listed.contains(page))
        .collect();
    assert!(lost.is_empty(), "{SUMMARY} lacks {lost:?}");
    for page in &listed {
        assert_eq!(listed.iter().filter(|other| *other == page).count(), 1, "{} twice", page.display());
    }
}

/// What a tool reads that does not know the list: every link to a page of Markdown is in it, so it is on the site.
#[test]
fn pages_link_to_pages_of_the_site() {
    let summary = page(&read(Path::new(SUMMARY)));
    let mut listed: BTreeSet<PathBuf> =
        summary.links.iter().map(|(_, link)| plain(&Path::new("docs").join(link))).collect();
    listed.extend([PathBuf::from("README.md"), PathBuf::from(SUMMARY)]);
    let mut wrong = Vec::new();
    for path in listed.iter().filter(|path| path.extension().is_some_and(|e| e == "md")) {
        for (line, link) in page(&read(path)).links {
            let file = link.split('#').next().unwrap_or("");
            if file.ends_with(".md") && !file.contains("://") {
                let target = plain(&path.parent().unwrap_or(Path::new("")).join(file));
                if !listed.contains(&target) {
                    wrong.push(format!("{}:{line}: {SUMMARY} lacks {}", path.display(), target.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lines_of_diskspd_are_accepted() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in for_users() {
        for (line, command) in page(&read(&path)).lines {
            let at = format!("{}:{line}: {command}", path.display());
            let words = words(&command);
            // Also behind `cargo run --bin`, a container engine, or a loop of the shell.
            let of_diskspd = words.iter().position(|word| word == "diskspd");
            let of_run = words.windows(2).position(|two| two == ["truespd", "run"]).map(|at| at + 1);
            let Some(program) = of_diskspd.or(of_run) else { continue };
            let typed = program + 1 + usize::from(words.get(program + 1).is_some_and(|word| word == "--"));
            // The name of the program, with no option or one that text is about, or a line that text leaves out.
            let rest = words.get(typed..).unwrap_or_default();
            if rest.len() < 2 || !rest[0].starts_with('-') || command.ends_with(" ...") {
                continue;
            }
            count += 1;
            match parse(rest, "diskspd", &|| BOOT_MS) {
                Err(refusal) => wrong.push(format!("{at}: {refusal}")),
                Ok(Invocation::Run(request)) if !request.reinterpreted.is_empty() => {
                    wrong.push(format!("{at}: {:?}", request.reinterpreted));
                }
                Ok(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 40, "the walk found {count} lines");
}

/// Options of other subcommands are those that their help names.
#[test]
fn options_of_truespd_exist() {
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    let mut help_of = |words: &str| {
        let help = helps.entry(words.to_string()).or_insert_with(|| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_truespd"));
            let ran = command.args(words.split(' ')).arg("--help").output().expect("the program starts");
            String::from_utf8_lossy(if ran.status.success() { &ran.stdout } else { b"" }).into_owned()
        });
        help.clone()
    };
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in for_users() {
        for (line, command) in page(&read(&path)).lines {
            let words = words(&command);
            let ["truespd", of, rest @ ..] = &words.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
                continue;
            };
            // The words of a run are looked at above, those of a cluster's run go to other programs. A name in capitals
            // stands for any.
            let is_name = of.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !of.starts_with('-');
            if !is_name || ["run", "cluster"].contains(of) {
                continue;
            }
            count += 1;
            let at = format!("{}:{line}: {command}", path.display());
            let of = match rest.first() {
                Some(second)
                    if ["history", "study"].contains(of) && !second.starts_with('-')
                        || (*of, *second) == ("workload", "beside") =>
                {
                    // One of several that are named together.
                    format!("{of} {}", second.split('|').next().unwrap_or(second))
                }
                _ => (*of).to_string(),
            };
            let help = help_of(&of);
            if help.is_empty() {
                wrong.push(format!("{at}: there is no truespd {of}"));
            }
            for option in rest.iter().filter(|word| word.starts_with("--") && word.len() > 2) {
                let option = option.split('=').next().unwrap_or(option);
                // A point may stand in a name, and behind it.
                let mut words = help.split(|c: char| !c.is_ascii_alphanumeric() && !"-.".contains(c));
                let is_there = words.any(|word| word.trim_end_matches('.') == option);
                if !is_there && !help.is_empty() {
                    wrong.push(format!("{at}: truespd {of} has no {option}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 40, "the walk found {count} lines");
}

/// `-T<size>` outside of backquotes is a tag to a browser, and not to be seen. Not of pages that hold what
/// the program says.
#[test]
fn pages_have_no_tags() {
    let said = [Path::new("tests/data/guard-situations.md")];
    let mut wrong = Vec::new();
    for path in pages().into_iter().filter(|page| !said.contains(&page.as_path())) {
        for (line, tag) in page(&read(&path)).html {
            wrong.push(format!("{}:{line}: {tag} needs backquotes", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pages_are_read_as_github_reads_them() {
    let text = "# Is it: `a b`?\n## Twice\n```\n# no heading\n$ diskspd -b4K 'a b' 2>&1 | head  # more\n```\n## Twice\n\
                [a](b.md#c) ![d](e.png) [f]\n\n| `truespd mark` | -T<size> |\n\n```text\ndiskspd\n```\n\n[f]: g.md\n";
    let page = page(text);
    assert_eq!(page.anchors.into_iter().collect::<Vec<_>>(), ["is-it-a-b", "twice", "twice-1"]);
    let links = ["b.md#c", "e.png", "g.md"].map(|link| (8, link.to_string()));
    assert_eq!(page.links, links);
    let lines: Vec<_> = page.lines.iter().map(|(line, words)| (*line, words.as_str())).collect();
    assert_eq!(lines, [(1, "a b"), (4, ""), (5, "diskspd -b4K 'a b'"), (10, "truespd mark")]);
    assert_eq!(page.html, [(10, "<size>".to_string())]);
}
