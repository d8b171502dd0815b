//! Command lines for the tests of the command line.

use diskspd::grammar::parse::{Invocation, parse};
use diskspd::request::Request;
use truespd_platform::fault::Refusals;

/// Milliseconds since boot in the tests; more than 32 bits.
pub const BOOT_MS: u64 = (7 << 32) + 123_456;

/// A text without its line breaks: where a terminal's line is full depends on the words before it.
pub fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Splits a line at blanks, as a shell would; single quotes keep blanks and empty words.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Reads a line.
pub fn read(line: &str) -> Result<Invocation, Refusals> {
    parse(&words(line), "diskspd", &|| BOOT_MS)
}

/// Reads a line that must be accepted and run.
pub fn run(line: &str) -> Request {
    match read(line) {
        Ok(Invocation::Run(request)) => *request,
        Ok(other) => panic!("{line}: {other:?}"),
        Err(refusal) => panic!("{line}\n{refusal}"),
    }
}

/// Reads a line that must be refused, and checks what every refusal promises.
pub fn refused(line: &str) -> Refusals {
    match read(line) {
        Err(refusal) => {
            let text = refusal.to_string();
            assert!(text.starts_with("ERROR: ") && text.ends_with('\n'), "{line}\n{text}");
            assert!(!refusal.all.is_empty(), "{line}");
            refusal
        }
        Ok(other) => panic!("accepted: {line}\n{other:?}"),
    }
}
