//! A check of the doctor, and what it answers.

use super::change::Change;
use super::host::{Disk, HostView, MountedFileSystem};
use super::report::{Finding, Purpose, State, Subject, SubjectKind};
use truespd_platform::machine::roots::{Setting, Value};

/// What a measurement is no longer like, for settings that programs on the machine have all day.
const AS_PROGRAMS: &str = "Programs on this machine have it as it is now: leave it to measure what they get.";

/// One thing that is looked at before a run.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Place among the checks, the first one first.
    pub order: u16,
    /// Name, which stays the same.
    pub id: &'static str,
    /// What it looks at, without a full stop.
    pub about: &'static str,
    /// Which measurements it matters for, unless an answer says otherwise.
    pub matters_for: Purpose,
    /// It is on the list of fio's `t/one-core-peak.sh`.
    pub one_core_peak: bool,
    /// Programs on the machine have it all day, so that a measurement with it set is unlike theirs.
    pub unlike_production: bool,
    /// When it complains, with its thresholds in words.
    pub complains: &'static str,
    /// What difference it makes, and to whom.
    pub difference: &'static str,
    /// Manual pages and files that tell more of it.
    pub source: &'static str,
    /// What answers, by what it looks at.
    pub look: CheckFn,
}

/// The function of a check, by what it looks at.
#[derive(Debug, Clone, Copy)]
pub enum CheckFn {
    /// The machine: asked once.
    Machine(fn(&HostView) -> CheckResult),
    /// Each disk that has requests of its own to drive.
    Disk(fn(&HostView, &Disk) -> CheckResult),
    /// Each file system that is looked at.
    FileSystem(fn(&HostView, &MountedFileSystem) -> CheckResult),
}

const fn row(order: u16, id: &'static str, matters_for: Purpose, look: CheckFn) -> Check {
    Check {
        order,
        id,
        matters_for,
        look,
        about: "",
        one_core_peak: false,
        unlike_production: false,
        complains: "",
        difference: "",
        source: "",
    }
}

pub(crate) const fn machine(
    order: u16,
    id: &'static str,
    matters_for: Purpose,
    look: fn(&HostView) -> CheckResult,
) -> Check {
    row(order, id, matters_for, CheckFn::Machine(look))
}

pub(crate) const fn each_disk(
    order: u16,
    id: &'static str,
    matters_for: Purpose,
    look: fn(&HostView, &Disk) -> CheckResult,
) -> Check {
    row(order, id, matters_for, CheckFn::Disk(look))
}

pub(crate) const fn each_filesystem(
    order: u16,
    id: &'static str,
    matters_for: Purpose,
    look: fn(&HostView, &MountedFileSystem) -> CheckResult,
) -> Check {
    row(order, id, matters_for, CheckFn::FileSystem(look))
}

impl Check {
    pub(crate) const fn one_core_peak(self) -> Self {
        Check { one_core_peak: true, ..self }
    }

    pub(crate) const fn unlike_production(self) -> Self {
        Check { unlike_production: true, ..self }
    }

    /// What a measurement is no longer like when it is set as wanted.
    pub fn production(&self) -> Option<&'static str> {
        self.unlike_production.then_some(AS_PROGRAMS)
    }

    /// What it says of all its subjects.
    pub fn ask(&self, host: &HostView) -> Vec<Answer> {
        let mut all = Vec::new();
        match self.look {
            CheckFn::Machine(look) => add(&mut all, SubjectKind::Machine, "", look(host)),
            CheckFn::Disk(look) => {
                for disk in &host.disks {
                    add(&mut all, SubjectKind::Disk, disk.name(), look(host, disk));
                }
            }
            CheckFn::FileSystem(look) => {
                for one in &host.filesystems {
                    add(&mut all, SubjectKind::FileSystem, &one.point.to_string_lossy(), look(host, one));
                }
            }
        }
        all
    }

    /// Which measurements an answer matters for.
    pub fn purpose_of(&self, answer: &Answer) -> Purpose {
        answer.matters_for.unwrap_or(self.matters_for)
    }

    /// An answer with all that the row says of it. `rule` judges results by the same thing.
    pub(super) fn finding(&self, answer: &Answer, rule: Option<&str>) -> Finding {
        let Answer { state, change, .. } = answer.clone();
        Finding {
            check: self.id.to_string(),
            about: self.about.to_string(),
            rule: rule.map(str::to_string),
            matters_for: self.purpose_of(answer),
            one_core_peak: self.one_core_peak,
            state,
            subject: answer.subject.clone(),
            says: answer.says.clone(),
            now: answer.now.clone(),
            wanted: answer.wanted.clone(),
            lasts: if change.set.is_empty() { None } else { change.lasts },
            set: change.set,
            set_back: change.back,
            permanent: change.permanent,
            difference: self.difference.to_string(),
            production: if state.is_complaint() { self.production().map(str::to_string) } else { None },
            source: self.source.to_string(),
        }
    }
}

impl From<NoAnswer> for Answer {
    fn from(none: NoAnswer) -> Self {
        Answer::new(none.state, none.why)
    }
}

/// Adds the answers about a subject.
fn add(all: &mut Vec<Answer>, kind: SubjectKind, name: &str, result: CheckResult) {
    let subject = Subject { kind, name: name.to_string() };
    let mut answer = result.unwrap_or_else(Answer::from);
    let more = std::mem::take(&mut answer.more);
    for answer in [answer].into_iter().chain(more) {
        all.push(Answer { subject: subject.clone(), ..answer });
    }
}

/// What a check says of one subject, or why it has nothing to say.
pub(crate) type CheckResult = Result<Answer, NoAnswer>;

/// Why there is nothing to say.
#[derive(Debug, Clone)]
pub struct NoAnswer {
    state: State,
    why: String,
}

impl NoAnswer {
    /// This process cannot tell.
    pub(crate) fn unknown(why: impl Into<String>) -> Self {
        NoAnswer { state: State::Unknown, why: why.into() }
    }

    /// The machine or disk has no such thing.
    pub(crate) fn absent(why: impl Into<String>) -> Self {
        NoAnswer { state: State::DoesNotApply, why: why.into() }
    }

    /// For a setting that has no value: why it cannot be read, or `absent` where there is none.
    pub(crate) fn unread(setting: &Setting, absent: &str) -> Self {
        match &setting.value {
            Value::Unreadable(why) => Self::unknown(format!("{}: {why}.", setting.path.display())),
            Value::Is(_) | Value::Absent => Self::absent(absent),
        }
    }
}

/// What a check says of one subject.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Filled in by [`Check::ask`].
    pub subject: Subject,
    /// Whether it is as it should be.
    pub state: State,
    /// Which measurements it matters for, where that is not what the row says.
    pub matters_for: Option<Purpose>,
    /// What is so and why, in sentences.
    pub says: String,
    /// The value that it has now.
    pub now: Option<String>,
    /// The value that is best for the measurements it matters for.
    pub wanted: Option<String>,
    /// The commands that set it so, and back.
    pub change: Change,
    /// About other parts of the subject, or for other measurements; taken out by [`Check::ask`].
    more: Vec<Answer>,
}

impl Answer {
    fn new(state: State, says: impl Into<String>) -> Self {
        Answer { state, says: says.into(), ..Answer::default() }
    }

    pub(crate) fn good(says: impl Into<String>) -> Self {
        Self::new(State::Good, says)
    }

    pub(crate) fn may_spoil(says: impl Into<String>) -> Self {
        Self::new(State::MaySpoil, says)
    }

    pub(crate) fn spoils(says: impl Into<String>) -> Self {
        Self::new(State::Spoils, says)
    }

    /// The answers about each part of a subject; of no part, `absent`.
    pub(crate) fn of_parts(parts: impl IntoIterator<Item = Answer>, absent: &str) -> CheckResult {
        let first_and_more = parts.into_iter().reduce(Answer::and);
        first_and_more.ok_or_else(|| NoAnswer::absent(absent))
    }

    /// And this one.
    #[must_use]
    pub(crate) fn and(mut self, other: Answer) -> Self {
        self.more.push(other);
        self
    }

    #[must_use]
    pub(crate) fn now(self, now: impl Into<String>) -> Self {
        Answer { now: Some(now.into()), ..self }
    }

    #[must_use]
    pub(crate) fn wanted(self, wanted: impl Into<String>) -> Self {
        Answer { wanted: Some(wanted.into()), ..self }
    }

    #[must_use]
    pub(crate) fn change(self, change: Change) -> Self {
        Answer { change, ..self }
    }

    #[must_use]
    pub(crate) fn only_for(self, purpose: Purpose) -> Self {
        Answer { matters_for: Some(purpose), ..self }
    }
}
