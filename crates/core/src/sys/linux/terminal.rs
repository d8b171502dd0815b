//! Terminals and other streams.

use std::io;
use std::os::fd::AsFd;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Columns of the terminal behind a stream; `None` when it is none, or does not tell.
pub fn columns(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Whether two streams lead to the same file, pipe or socket (`2>&1`) and that is no terminal, where people
/// can tell one from the other.
pub fn are_merged(a: impl AsFd, b: impl AsFd) -> bool {
    let place = |stream| rustix::fs::fstat(stream).ok().map(|about| (about.st_dev, about.st_ino));
    let one = place(a.as_fd());
    one.is_some() && one == place(b.as_fd()) && !rustix::termios::isatty(a)
}

/// Whether this process may draw on the terminal behind a stream: its job is the one in the foreground.
pub fn is_ours(stream: impl AsFd) -> bool {
    rustix::termios::tcgetpgrp(stream).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// How a terminal treats keys, to be put back later.
#[derive(Debug, Clone)]
pub struct Modes(Termios);

impl Modes {
    /// Those of the terminal behind a stream.
    ///
    /// # Errors
    /// What the system says, e.g. that it is no terminal.
    pub fn of(stream: impl AsFd) -> io::Result<Modes> {
        Ok(Modes(tcgetattr(stream)?))
    }

    /// Puts them back.
    ///
    /// # Errors
    /// What the system says.
    pub fn restore(&self, stream: impl AsFd) -> io::Result<()> {
        Ok(tcsetattr(stream, OptionalActions::Now, &self.0)?)
    }

    /// The same, but keys that are typed are not shown. Ctrl+C, Ctrl+Z and the like do what they do otherwise.
    pub fn without_echo(&self) -> Modes {
        let mut modes = self.0.clone();
        modes.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
        Modes(modes)
    }
}

#[cfg(test)]
mod tests {
    use super::{Modes, are_merged, is_ours};

    #[test]
    fn streams_are_merged_where_they_end_in_one_place() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let open = |name: &str| std::fs::File::create(dir.path().join(name)).expect("a file can be made");
        let (a, again, b) = (open("a"), open("a"), open("b"));
        assert!(are_merged(&a, &again) && are_merged(&a, a.try_clone().expect("a descriptor is left")));
        assert!(!are_merged(&a, &b));
        let ((_read, write), (_other_read, other)) = (pipe(), pipe());
        assert!(are_merged(&write, &write) && !are_merged(&write, &other));
    }

    fn pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
        std::io::pipe().expect("a pipe can be made")
    }

    #[test]
    fn a_file_has_no_columns() {
        let file = tempfile::tempfile().expect("a file can be made");
        assert_eq!(super::columns(&file), None);
        assert!(Modes::of(&file).is_err() && !is_ours(&file));
    }
}
