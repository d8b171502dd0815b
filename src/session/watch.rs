//! What a series tells of itself while it goes on. Who shows it implements [`Watch`]; nothing here prints.

use std::io;
use std::time::Duration;

use crate::fault::Fault;
use crate::load;
use crate::result::Document;
use crate::session::undo::Undone;
use crate::suite::{Ahead, Step};

/// Sees what goes on. Called from several threads, also from that which hears of signals.
pub trait Watch: Send + Sync {
    /// How often it wants to hear where a run is.
    fn progress_every(&self) -> Option<Duration>;

    /// Something goes on.
    fn see(&self, event: Event<'_>);
}

/// What goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// What comes after the step that begins next.
    Ahead(Ahead),
    /// A step begins.
    Begins(&'a Step),
    /// A step that prepares others is made once more, for runs whose documents are not kept.
    Again(&'a Step),
    /// A pause begins.
    Pause(Duration),
    /// Something of the present run, each note and warning once in a series.
    Run(load::Event),
    /// A step is done.
    Done {
        /// Which.
        step: &'a Step,
        /// What it measured.
        document: &'a Document,
        /// It was made before, by a series that this one goes on with.
        is_kept: bool,
    },
    /// A suite says so, beside what is shown of the present step.
    Told(&'a str),
    /// Ctrl+C: the present run is being ended.
    Stopping,
    /// The runs are over; how, is told by what follows.
    Over,
    /// Why the series could not go on.
    Fault {
        /// Why.
        fault: &'a Fault,
        /// The words of the line that it is about.
        line: Option<&'a [String]>,
    },
    /// What a series that was killed had left.
    Left(&'a Undone),
    /// What this series changed and could not put back.
    NotUndone(&'a Undone),
    /// Nobody cleans up at once if this program is killed.
    NoCaretaker(&'a io::Error),
}
