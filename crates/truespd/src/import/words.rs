//! Command lines of fio: `fio --name=job --rw=read ...`, in a text or as words.

use super::ini::{At, NoJobFile, Outside, Reader, SHOWN_MAX, Section, wrong};
use super::keys::takes_value;
use truespd_platform::text::{split_line, start_of};

/// Reads the jobs of a file.
pub(super) fn read(file: &str, text: &str, outside: &Outside<'_>) -> Result<Vec<Section>, NoJobFile> {
    let mut reader = Reader::new(outside);
    if is_command(text) {
        reader.script(file, text)?;
    } else {
        reader.file(file, text, 0)?;
    }
    reader.jobs(file, "a job begins with its name in brackets: [name]")
}

/// Reads the jobs of one command line.
pub(super) fn read_words(
    file: &str,
    words: &[String],
    outside: &Outside<'_>,
) -> Result<Vec<Section>, NoJobFile> {
    let mut reader = Reader::new(outside);
    reader.command(words, &At { file: file.to_string(), line: 1 })?;
    reader.jobs(file, NO_JOB)
}

const NO_JOB: &str = "a job begins with its name: --name=job";

/// What each line of a text with command lines is.
const LINES: &str =
    "each line is a command of fio: fio --name=job --rw=read --size=1g; a \\ at its end goes on";

/// Whether a text holds command lines, and no sections.
fn is_command(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    first.is_some_and(|line| {
        let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
        words_of_fio(&words).is_some()
    })
}

/// Whether a word stands before the name of a program.
fn is_before_program(word: &str) -> bool {
    matches!(word, "$" | "sudo" | "time") || (word.contains('=') && !word.starts_with(['-', '[']))
}

/// Whether the words of the job end before this one: a comment, or what the shell does with the output.
fn is_end(word: &str) -> bool {
    word.starts_with(['#', '|', '>']) || word.starts_with("2>")
}

/// The words behind `fio`; none where this is another command.
fn words_of_fio(words: &[String]) -> Option<&[String]> {
    let start = words.iter().position(|word| !is_before_program(word))?;
    let rest = &words[start..];
    let first = rest.first()?;
    if first == "fio" || first.ends_with("/fio") {
        return Some(&rest[1..]);
    }
    // Without the name of the program, only an option shows what it is.
    if first.starts_with("--") && start == 0 { Some(rest) } else { None }
}

/// A variable of the shell as fio writes it: `$NAME` is `${NAME}`.
fn with_braces(line: &str) -> String {
    let mut out = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(c);
        let is_name = chars.peek().is_some_and(|next| next.is_ascii_alphabetic() || *next == '_');
        if c != '$' || !is_name {
            continue;
        }
        out.push('{');
        while let Some(next) = chars.peek().copied() {
            if !next.is_ascii_alphanumeric() && next != '_' {
                break;
            }
            out.extend(chars.next());
        }
        out.push('}');
    }
    out
}

impl Reader<'_> {
    /// Reads a text with command lines, which run one after the other.
    fn script(&mut self, file: &str, text: &str) -> Result<(), NoJobFile> {
        let mut whole = String::new();
        let mut first = 1;
        for (number, line) in text.lines().enumerate() {
            if whole.is_empty() {
                first = number + 1;
            }
            let line = line.trim_end();
            match line.strip_suffix('\\') {
                Some(part) => {
                    whole.push_str(part);
                    whole.push(' ');
                }
                None => {
                    whole.push_str(line);
                    self.script_line(
                        &std::mem::take(&mut whole),
                        &At { file: file.to_string(), line: first },
                    )?;
                }
            }
        }
        self.script_line(&whole, &At { file: file.to_string(), line: first })
    }

    fn script_line(&mut self, line: &str, at: &At) -> Result<(), NoJobFile> {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            return Ok(());
        }
        // A semicolon ends a command also just behind a word.
        let line = line.replace("; ", " ; ");
        let line = line.trim_end_matches(';');
        let words = match split_line(&with_braces(line)) {
            Ok(words) => words,
            Err(quote) => {
                let what = format!("the quote {quote} has no end: {}", start_of(line, SHOWN_MAX));
                return wrong(at, what, Some(LINES));
            }
        };
        let end = words.iter().position(|word| is_end(word)).unwrap_or(words.len());
        for words in words[..end].split(|word| matches!(word.as_str(), ";" | "&&")) {
            if words.is_empty() {
                continue;
            }
            if words_of_fio(words).is_none() {
                let what = format!("this is no command of fio: {}", start_of(&words.join(" "), SHOWN_MAX));
                return wrong(at, what, Some(LINES));
            }
            self.command(words, at)?;
        }
        Ok(())
    }

    /// Reads one command line. What stands before the first name goes for all jobs, as in fio.
    fn command(&mut self, words: &[String], at: &At) -> Result<(), NoJobFile> {
        let words = words_of_fio(words).unwrap_or(words);
        self.begin_command();
        let mut files = Vec::new();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let Some(option) =
                word.strip_prefix('-').map(|option| option.strip_prefix('-').unwrap_or(option))
            else {
                files.push(word);
                continue;
            };
            let (key, value) = match option.split_once('=') {
                Some((key, value)) => (key, Some(value)),
                None if takes_value(option) => match rest.next() {
                    Some(value) => (option, Some(value.as_str())),
                    None => {
                        let what = format!("{word} has no value");
                        return wrong(at, what, Some("write it behind =, such as --rw=read"));
                    }
                },
                None => (option, None),
            };
            match (key, value) {
                ("name", Some(name)) => self.section(name, at)?,
                _ => self.key(key, value, at),
            }
        }
        for file in files {
            self.job_file(file, at)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_from_sections() {
        for text in [
            "fio --name=a",
            "# GCP\n\nsudo fio --name=a \\\n --rw=read",
            "$ /usr/bin/fio --name=a",
            "--name=a",
            "DIR=/x fio --name a",
        ] {
            assert!(is_command(text), "{text}");
        }
        for text in ["[a]\nrw=read", "; fio\n[fio]\n", "bs=4k", "", "fiox --name=a", "ls"] {
            assert!(!is_command(text), "{text}");
        }
    }

    #[test]
    fn variables_of_a_shell_are_those_of_fio() {
        assert_eq!(with_braces("--directory=$DIR/x ${A} $1 $"), "--directory=${DIR}/x ${A} $1 $");
    }
}
