//! Terminals.

use std::os::fd::AsFd;

/// Columns of the terminal behind a stream; `None` when it is none, or does not tell.
pub fn columns(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_file_has_no_columns() {
        let file = tempfile::tempfile().expect("a file can be made");
        assert_eq!(super::columns(&file), None);
    }
}
