//! Other runs of this program that have the same target.

use std::fmt;
use std::fs::File;

use super::decision::Guard;
use super::hold::told_of;
use super::locks::RunLocks;
use super::openers::{self, RunSeen};
use crate::fault::Refusal;
use crate::machine::roots::Roots;
use crate::sys::identity::Identity;
use crate::text::printable;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherRun {
    /// Number of its process; `None` when this user may not see it.
    pub process: Option<u32>,
    /// Its command line as it would be typed; `None` when it cannot be read.
    pub command_line: Option<String>,
    /// It writes the target; otherwise it reads.
    pub writes: bool,
}

impl fmt::Display for OtherRun {
    /// For example: process 4711 (diskspd -w100 f)
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.process, &self.command_line) {
            (Some(id), Some(line)) => write!(f, "process {id} ({})", printable(line)),
            (Some(id), None) => write!(f, "process {id}"),
            (None, _) => f.write_str("a process that is not visible to this user"),
        }
    }
}

/// Who the runs are that test the target, by what their locks tell.
pub(super) fn named(told: RunLocks, target: Identity, roots: &Roots) -> Vec<OtherRun> {
    if !told.is_tested() && !told.is_covered {
        return Vec::new();
    }
    // What cannot be named is told without a name.
    let mut runs = each_once(openers::runs_on(target, roots).unwrap_or_default());
    let is_told = |writes: bool| runs.iter().any(|run| run.writes == writes);
    if told.is_tested() && (runs.is_empty() || (told.writes && !is_told(true))) {
        runs.push(OtherRun { process: None, command_line: None, writes: told.writes });
    }
    runs
}

/// The runs that do more than look.
fn each_once(seen: Vec<RunSeen>) -> Vec<OtherRun> {
    let mut runs: Vec<OtherRun> = Vec::new();
    for RunSeen { process, command_line, told, .. } in seen.into_iter().filter(|run| run.told.is_tested()) {
        match runs.iter_mut().find(|run| run.process == Some(process)) {
            Some(known) => known.writes |= told.writes,
            None => runs.push(OtherRun { process: Some(process), command_line, writes: told.writes }),
        }
    }
    runs
}

impl Guard<'_> {
    /// May this run have the open target beside others? It may not when it, or one of them, wants it for itself
    /// (`--exclusive`).
    ///
    /// # Errors
    /// Who has it.
    pub fn check_runs(&self, typed: &str, file: &File) -> Result<(), Refusal> {
        match Identity::of(file) {
            Ok(target) => self.refuse_runs(typed, target, told_of(file)),
            // What it is, is asked again when it is opened for the test.
            Err(_) => Ok(()),
        }
    }

    pub(super) fn refuse_runs(&self, typed: &str, target: Identity, told: RunLocks) -> Result<(), Refusal> {
        let may_matter = self.consent.exclusive || told.is_alone || told.is_covered;
        if !may_matter || !(told.is_there || told.is_covered || told.is_proven) {
            return Ok(());
        }
        // A reader of the file can say anything, and shall keep nobody out.
        let mut runs = openers::runs_on(target, self.roots).unwrap_or_default();
        runs.retain(|run| run.is_proven);
        let is_hidden = runs.is_empty() && told.is_proven;
        let is_alone = runs.iter().any(|run| run.told.is_alone) || (is_hidden && told.is_alone);
        if !is_alone && !(self.consent.exclusive && (is_hidden || !runs.is_empty())) {
            return Ok(());
        }
        let hidden = OtherRun { process: None, command_line: None, writes: true };
        let mut who: Vec<String> = each_once(runs).iter().map(OtherRun::to_string).collect();
        who.extend(is_hidden.then(|| hidden.to_string()));
        let who = if who.is_empty() { "one that is just starting".to_string() } else { who.join(", ") };
        let words = format!("'{typed}' is being tested by another run of TrueSpd: {who}");
        let refusal = Refusal::guard(typed, words).about(&["-exclusive"]);
        Err(if is_alone {
            refusal.hint("that run has it for itself (--exclusive); wait until it ends")
        } else {
            refusal.hint("wait until it ends, or leave out --exclusive to test beside it")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::guard::hold::Hold;
    use crate::sys::made::{open_file_info, symlink};

    /// What the kernel tells of a descriptor by which a run reads or writes the file.
    fn told_by_a_run(target: &Path, writes: bool) -> String {
        let file = File::open(target).unwrap();
        let _hold = if writes {
            Hold::take(&file, target).map(|mut hold| {
                hold.say(crate::guard::locks::RunLock::Writes);
                hold
            })
        } else {
            Hold::attend(&file, target)
        };
        open_file_info(&file)
    }

    #[test]
    fn runs_are_named_once_and_one_that_is_not_seen_is_told_besides() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let target = at("target");
        fs::write(&target, "data").unwrap();
        let infos = [false, true].map(|writes| told_by_a_run(&target, writes));
        let identity = Identity::at(&target).unwrap();
        let seen = |proc: &str, told: RunLocks, processes: &[(u32, &[bool])]| {
            let roots = Roots { proc: at(proc), ..Roots::default() };
            fs::create_dir_all(roots.proc.join("self")).unwrap();
            for (id, descriptors) in processes {
                let place = |name: &str| roots.proc.join(id.to_string()).join(name);
                fs::create_dir_all(place("fd")).and_then(|()| fs::create_dir_all(place("fdinfo"))).unwrap();
                fs::write(place("cmdline"), format!("diskspd\0f{id}\0")).unwrap();
                for (number, writes) in descriptors.iter().enumerate() {
                    symlink(&target, place("fd").join(number.to_string())).unwrap();
                    fs::write(place("fdinfo").join(number.to_string()), &infos[usize::from(*writes)])
                        .unwrap();
                }
            }
            let mut runs = named(told, identity, &roots);
            runs.sort_by_key(|run| run.process.unwrap_or(u32::MAX));
            runs
        };
        // Numbers that no process has.
        let (one, two) = (4_194_305, 4_194_306);
        let run = |process: u32, writes| {
            let command_line = Some(format!("diskspd f{process}"));
            OtherRun { process: Some(process), command_line, writes }
        };
        let nobody = |writes| OtherRun { process: None, command_line: None, writes };
        let reads = RunLocks { is_there: true, reads: true, ..RunLocks::default() };
        let writes = RunLocks { writes: true, ..reads };
        let both = [(one, &[false, true, false][..]), (two, &[false][..])];
        assert_eq!(seen("a", writes, &both), [run(one, true), run(two, false)]);
        assert_eq!(seen("b", writes, &both[1..]), [run(two, false), nobody(true)]);
        assert_eq!(seen("c", reads, &both[1..]), [run(two, false)]);
        assert_eq!(seen("d", reads, &[]), [nobody(false)]);
    }

    #[test]
    fn words() {
        let run = OtherRun { process: Some(7), command_line: Some("diskspd -w100 f".into()), writes: true };
        assert_eq!(run.to_string(), "process 7 (diskspd -w100 f)");
        let hidden = OtherRun { process: None, command_line: None, writes: true };
        assert_eq!(hidden.to_string(), "a process that is not visible to this user");
    }

    #[test]
    fn a_run_that_nobody_names_is_told_all_the_same() {
        let target = Identity::from((1, 2));
        let roots = Roots { proc: "/no/such/place".into(), ..Roots::default() };
        assert_eq!(named(RunLocks::default(), target, &roots), []);
        let told = RunLocks { is_there: true, writes: true, ..RunLocks::default() };
        let nobody = OtherRun { process: None, command_line: None, writes: true };
        assert_eq!(named(told, target, &roots), [nobody]);
        let looks = RunLocks { is_there: true, ..RunLocks::default() };
        assert_eq!(named(looks, target, &roots), [], "it may be refused yet");
    }
}
