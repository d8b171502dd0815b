//! The marks of the files that a time span writes: before its first write and after its last.

use std::ops::Range;
use std::time::Duration;

use super::targets::TargetState;
use crate::guard::mark::{Ended, Marks, Whose, Writing};
use crate::guard::writers_of_file;
use crate::machine::roots::Roots;
use crate::sys::identity::Identity;

/// The files of a time span that are marked as being written, each once.
pub struct Written<'t>(Vec<(&'t TargetState, Writing)>);

/// Notes in the marks of our files that a run writes them for at most `longest`. The sentences say which
/// files are taken because they hold nothing.
pub fn begin<'t>(targets: &'t [TargetState], marks: &Marks, longest: Duration) -> (Written<'t>, Vec<String>) {
    let (mut written, mut sentences): (Vec<(&TargetState, Writing)>, _) = (Vec::new(), Vec::new());
    for state in targets.iter().filter(|state| state.is_marked()) {
        let is_known = written.iter().any(|(other, _)| other.identity() == state.identity());
        if is_known {
            continue;
        }
        let tested = tested_ranges(targets, state.identity());
        let Some(writing) = marks.begin_writing(state.file(), longest, &tested) else { continue };
        if writing.whose == Whose::Nobodys && writing.unmarked.is_none() {
            sentences.push(format!(
                "'{}' holds nothing, so it is taken without --overwrite and marked as a test file of TrueSpd",
                state.typed
            ));
        }
        written.push((state, writing));
    }
    (Written(written), sentences)
}

/// What the targets that are this file may write of it, together.
fn tested_ranges(targets: &[TargetState], file: Identity) -> Vec<Range<u64>> {
    let of_file = targets.iter().filter(|state| state.identity() == file);
    let tested = |state: &TargetState| {
        let range = &state.ranges.range;
        range.base_bytes()..range.base_bytes().saturating_add(range.usable_bytes())
    };
    of_file.map(tested).collect()
}

impl Written<'_> {
    /// Renews the marks after the last write. The sentences are warnings: which files no longer count as ours, and why.
    pub fn end(self, marks: &Marks, roots: &Roots) -> Vec<String> {
        self.0.iter().filter_map(|(state, writing)| end_one(state, writing, marks, roots)).collect()
    }
}

fn end_one(state: &TargetState, writing: &Writing, marks: &Marks, roots: &Roots) -> Option<String> {
    let writers = writers_of_file(state.file(), roots);
    let ended = marks.end_writing(state.file(), writing, !writers.is_empty());
    // If the mark cannot be renewed, a later write test asks for -c or --overwrite. Nothing is lost.
    let why = match (ended.ok()?, writers.first()) {
        (Ended::Shared, Some(opener)) => format!("when the run ended, {opener}"),
        (Ended::Shared, None) => {
            "something else wrote to it during the run, outside of the tested range".to_string()
        }
        (Ended::Resized, _) => "something else changed its size during the run".to_string(),
        (Ended::Ours | Ended::StillWritten, _) => return None,
    };
    let typed = &state.typed;
    Some(format!(
        "'{typed}' may hold somebody else's data now: {why}; it no longer counts as a test file, so the next write test \
         of it needs --overwrite"
    ))
}
