//! The terminal of standard error as a screen, and how it is given back.

use std::io::{self, Stderr};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Hide;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::EnterAlternateScreen;

use super::draw::{Look, draw};
use super::model::Model;
use diskspd::viewer::give_back;
use truespd_core::sys::terminal::Modes;

/// The screen, while it is ours.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    modes: Modes,
}

impl Screen {
    /// Takes the screen. What stood on the terminal comes back when it is dropped. Keys that are typed are
    /// not shown, but Ctrl+C and Ctrl+Z stay signals.
    ///
    /// # Errors
    /// What the system says, e.g. that there is no terminal.
    pub fn take() -> io::Result<Screen> {
        let modes = Modes::of(io::stderr())?;
        modes.without_echo().restore(io::stderr())?;
        let taken = execute!(io::stderr(), EnterAlternateScreen, Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stderr())));
        match taken {
            Ok(terminal) => Ok(Screen { terminal, modes }),
            Err(error) => {
                give_back(&modes);
                Err(error)
            }
        }
    }

    /// Draws what is known.
    ///
    /// # Errors
    /// What the system says, e.g. that the terminal is gone.
    pub fn draw(&mut self, model: &Model, look: &Look) -> io::Result<()> {
        self.terminal.draw(|frame| draw(frame, model, look)).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back(&self.modes);
    }
}
