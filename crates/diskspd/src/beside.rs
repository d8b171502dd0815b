//! What may stand beside a result, on standard error.
//!
//! DiskSpd's own standard error is empty when a run succeeds and nothing warned. Programs that start it rely on that:
//! some take any word there for a failure, others merge it into standard output (`2>&1`) and read the result from what
//! comes out. So each kind of words has its conditions here, in one place. Errors have none: they are always told.

use crate::config;
use truespd_core::sys::terminal;

/// Words beside a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// What an option asks for as it goes on: `-v`, `-P`.
    Asked,
    /// How far something is.
    Progress,
    /// A fact to know.
    Note,
    /// A warning that DiskSpd does not have.
    Warning,
    /// A warning that DiskSpd 2.2 prints in the same case, in its words (`text-output.md` §13.2).
    WarningOfDiskSpd,
    /// The verdict in a line.
    Verdict,
    /// Where the result is kept.
    Kept,
}

/// Which of them are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All.
    All,
    /// What DiskSpd itself would print.
    AsDiskSpd,
    /// Standard error goes where the result goes: in front of a text what options ask for, where DiskSpd
    /// prints it; beside a format that programs read, nothing.
    Merged { is_text: bool },
}

/// What is told beside the result of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside(Extent);

impl Beside {
    /// For the streams, the environment and the configuration of this process. `is_quiet`: `--quiet` was
    /// given. `is_text`: standard output gets the result as text.
    pub fn of_process(is_quiet: bool, is_text: bool) -> Self {
        let is_merged = terminal::are_merged(std::io::stdout(), std::io::stderr());
        let is_quiet = is_quiet || config::in_force().is_quiet();
        Beside(match () {
            () if is_merged => Extent::Merged { is_text },
            () if is_quiet => Extent::AsDiskSpd,
            () => Extent::All,
        })
    }

    /// Whether such words are told.
    pub fn tells(self, told: Told) -> bool {
        match self.0 {
            Extent::All => true,
            Extent::AsDiskSpd => matches!(told, Told::Asked | Told::WarningOfDiskSpd),
            Extent::Merged { is_text } => is_text && told == Told::Asked,
        }
    }

    /// The result and these words end in one place, which is no terminal.
    pub fn is_merged(self) -> bool {
        matches!(self.0, Extent::Merged { .. })
    }
}

impl Told {
    /// How a line of such words begins.
    pub fn lead(self) -> &'static str {
        match self {
            Told::Note => "note: ",
            Told::Warning | Told::WarningOfDiskSpd => "WARNING: ",
            Told::Asked | Told::Progress | Told::Verdict | Told::Kept => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: [Told; 7] = [
        Told::Asked,
        Told::Progress,
        Told::Note,
        Told::Warning,
        Told::WarningOfDiskSpd,
        Told::Verdict,
        Told::Kept,
    ];

    fn told(extent: Extent) -> Vec<Told> {
        EVERYTHING.into_iter().filter(|told| Beside(extent).tells(*told)).collect()
    }

    #[test]
    fn each_extent_tells_what_it_says() {
        assert_eq!(told(Extent::All), EVERYTHING);
        assert_eq!(told(Extent::AsDiskSpd), [Told::Asked, Told::WarningOfDiskSpd]);
        assert_eq!(told(Extent::Merged { is_text: true }), [Told::Asked]);
        assert_eq!(told(Extent::Merged { is_text: false }), []);
    }
}
