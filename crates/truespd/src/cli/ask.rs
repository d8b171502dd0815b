//! Questions to the person at the terminal.

use std::io::{BufRead, IsTerminal};

use diskspd::console::say;

/// Whether somebody is there who can be asked.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal()
}

/// Asks on standard error for a yes; anything else, and the end of the input, is a no.
pub(crate) fn agrees(question: &str) -> bool {
    say(&format!("{question} Type yes to agree: "));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && ["yes", "y"].contains(&answer.trim().to_lowercase().as_str())
}
