//! Lines of a shell: words quoted so that they can be pasted, and lines split into words.
//!
//! By hand, not with `shell-words` (1.1) or `shlex` (1.3), which are alive and cannot do this: both read `#` at the
//! beginning of a word as a comment, and `#1` is DiskSpd's name of a disk. Both quote characters that stand in
//! usual options (`=`, `%`, `,`), which would change every printed line.

/// A path as it can be pasted into a shell.
pub fn shell_word(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%=".contains(c);
    if path.chars().all(is_plain) && !path.is_empty() {
        path.to_string()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

/// Words of a command line as they can be pasted into a shell.
pub fn shell_line(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// The words of a document's command line as a person would type them: the program by its name, with its subcommand
/// (`truespd run` is one word of a document), and not by its path. What looks otherwise, as in a document that somebody
/// made up, is one quoted word.
pub fn program_line(words: &[String]) -> String {
    let Some((program, options)) = words.split_first() else { return String::new() };
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || [' ', '-', '_', '.'].contains(&c));
    let name = if is_plain { name.to_string() } else { shell_word(name) };
    [name, shell_line(options)].join(" ").trim_end().to_string()
}

/// Splits a line at blanks as a shell would, without its variables and patterns: quotes hold words together,
/// a backslash takes the next character as it is.
///
/// # Errors
/// The quote that has no end.
pub fn split_line(line: &str) -> Result<Vec<String>, char> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(open) => Err(open),
        None => {
            words.extend(word);
            Ok(words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        split_line(line).unwrap()
    }

    #[test]
    fn a_line_can_be_typed_again() {
        let line = |all: &[&str]| program_line(&all.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(line(&["/opt/bin/truespd run", "-b4K", "a b"]), "truespd run -b4K 'a b'");
        assert_eq!(line(&["diskspd"]), "diskspd");
        assert_eq!(line(&["x; rm -r *", "-b4K"]), "'x; rm -r *' -b4K");
        assert_eq!(line(&[]), "");
    }

    #[test]
    fn lines_are_split_as_a_shell_does() {
        assert_eq!(words("  -b4K\t'a b'  \"c'd\" e\\ f '' "), ["-b4K", "a b", "c'd", "e f", ""]);
        assert_eq!(words("x'y'z \"a\\\"b\" 'c\\d'"), ["xyz", "a\"b", "c\\d"]);
        assert!(words("").is_empty());
        assert_eq!(split_line("a 'b"), Err('\''));
    }

    #[test]
    fn disks_are_no_comments_and_options_stay_plain() {
        assert_eq!(words("-w30 #1 #2"), ["-w30", "#1", "#2"]);
        let line = ["-ag0,1".to_string(), "a b".into(), "it's".into(), "#1".into(), String::new()];
        assert_eq!(shell_line(&line), "-ag0,1 'a b' 'it'\\''s' '#1' ''");
        assert_eq!(words(&shell_line(&line)), line);
    }
}
