//! A row of the table of checks, and what a check answers.

use super::change::Change;
use super::finding::{Finding, Purpose, State, Subject, SubjectKind};
use super::view::{Disk, MountedFileSystem, View};
use crate::machine::setting::{Setting, Value};

/// One thing that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Name, which stays the same.
    pub id: &'static str,
    /// What it looks at.
    pub about: &'static str,
    /// Which measurements it matters for, unless an answer says otherwise.
    pub matters_for: Purpose,
    /// It is on the list of fio's `t/one-core-peak.sh`.
    pub one_core_peak: bool,
    /// The rule of the verdict that judges runs by the same thing.
    pub rule: Option<&'static str>,
    /// When it complains.
    pub complains: &'static str,
    /// What difference it makes, and to whom.
    pub difference: &'static str,
    /// What a measurement is no longer like when it is set as wanted.
    pub production: Option<&'static str>,
    /// Where this is from.
    pub source: &'static str,
    /// How it looks.
    pub look: Look,
}

/// What a check looks at.
#[derive(Debug, Clone, Copy)]
pub enum Look {
    /// The machine, once.
    Machine(fn(&View) -> Vec<Answer>),
    /// Each disk that has requests of its own to drive.
    Disk(fn(&View, &Disk) -> Vec<Answer>),
    /// Each file system.
    FileSystem(fn(&View, &MountedFileSystem) -> Vec<Answer>),
}

impl Check {
    /// What it says of all its subjects.
    pub fn ask(&self, view: &View) -> Vec<Answer> {
        let of = |kind, name: &str, answers: Vec<Answer>| {
            let subject = Subject { kind, name: name.to_string() };
            answers
                .into_iter()
                .map(|answer| Answer { subject: subject.clone(), ..answer })
                .collect::<Vec<_>>()
        };
        match self.look {
            Look::Machine(look) => of(SubjectKind::Machine, "", look(view)),
            Look::Disk(look) => {
                let disks = view.disks.iter();
                disks.flat_map(|disk| of(SubjectKind::Disk, disk.name(), look(view, disk))).collect()
            }
            Look::FileSystem(look) => {
                let all = view.filesystems.iter();
                all.flat_map(|one| of(SubjectKind::FileSystem, &one.point.to_string_lossy(), look(view, one)))
                    .collect()
            }
        }
    }

    /// Which measurements an answer matters for.
    pub fn purpose_of(&self, answer: &Answer) -> Purpose {
        answer.matters_for.unwrap_or(self.matters_for)
    }

    /// An answer with all that the row says of it.
    pub fn finding(&self, answer: &Answer) -> Finding {
        let is_complaint = answer.state.is_complaint();
        let change = answer.change.clone();
        Finding {
            check: self.id.to_string(),
            about: self.about.to_string(),
            rule: self.rule.map(str::to_string),
            matters_for: self.purpose_of(answer),
            one_core_peak: self.one_core_peak,
            state: answer.state,
            subject: answer.subject.clone(),
            says: answer.says.clone(),
            now: answer.now.clone(),
            wanted: answer.wanted.clone(),
            lasts: change.lasts.filter(|_| !change.set.is_empty()),
            set: change.set,
            set_back: change.back,
            permanent: change.permanent,
            difference: self.difference.to_string(),
            production: self.production.filter(|_| is_complaint).map(str::to_string),
            source: self.source.to_string(),
        }
    }
}

/// What a check says of one subject.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Of what; filled in by [`Check::ask`].
    pub subject: Subject,
    /// What was found.
    pub state: State,
    /// Which measurements it matters for, where that is not what the row says.
    pub matters_for: Option<Purpose>,
    /// Why.
    pub says: String,
    /// How it is set.
    pub now: Option<String>,
    /// How it should be.
    pub wanted: Option<String>,
    /// How it is set otherwise.
    pub change: Change,
}

impl Answer {
    fn of(state: State, says: impl Into<String>) -> Self {
        Answer { state, says: says.into(), ..Answer::default() }
    }

    /// It is as it should be.
    pub fn good(says: impl Into<String>) -> Self {
        Self::of(State::Good, says)
    }

    /// It spoils some measurements.
    pub fn may_spoil(says: impl Into<String>) -> Self {
        Self::of(State::MaySpoil, says)
    }

    /// It spoils a measurement.
    pub fn spoils(says: impl Into<String>) -> Self {
        Self::of(State::Spoils, says)
    }

    /// It cannot be told, and why.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::of(State::Unknown, why)
    }

    /// The machine or disk has no such thing.
    pub fn absent(why: impl Into<String>) -> Self {
        Self::of(State::DoesNotApply, why)
    }

    /// What a setting says that says nothing: `absent` where there is none.
    pub fn unread(setting: &Setting, absent: &str) -> Self {
        match &setting.value {
            Value::Unreadable(why) => Self::unknown(format!("{}: {why}.", setting.path.display())),
            Value::Is(_) | Value::Absent => Self::absent(absent),
        }
    }

    /// With the value now.
    #[must_use]
    pub fn now(self, now: impl Into<String>) -> Self {
        Answer { now: Some(now.into()), ..self }
    }

    /// With the value that is wanted.
    #[must_use]
    pub fn wanted(self, wanted: impl Into<String>) -> Self {
        Answer { wanted: Some(wanted.into()), ..self }
    }

    /// With the commands that change it.
    #[must_use]
    pub fn change(self, change: Change) -> Self {
        Answer { change, ..self }
    }

    /// It matters for these measurements.
    #[must_use]
    pub fn only_for(self, purpose: Purpose) -> Self {
        Answer { matters_for: Some(purpose), ..self }
    }
}
