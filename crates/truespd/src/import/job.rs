//! A job while it is read: keys that nobody has taken yet, and what became of the others.

use std::collections::BTreeMap;

use super::ini::{At, Section, Setting};
use super::table::{self, Flush};
use super::value::{bytes, is_yes};

/// What a remark is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It cannot be said.
    Unsaid,
    /// It cannot be said, and a line without it would test something else: the job is left out, unless that is allowed.
    Lost,
    /// It is said, and means something else.
    Differs,
    /// It needs no word.
    Needless,
}

/// What became of a key that is not simply an option.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Remark {
    /// What it is about.
    pub kind: Kind,
    /// The line of the job file; none where it says nothing, which means something.
    pub at: Option<At>,
    /// The line as it was written, or nothing.
    pub typed: String,
    /// Why, or what differs.
    pub why: String,
    /// What comes nearest, or nothing.
    pub nearest: String,
}

/// A job while it is read: keys that nobody has taken yet.
pub(super) struct Job {
    /// Its name.
    pub name: String,
    /// `k` is 1000.
    pub is_si: bool,
    settings: BTreeMap<&'static str, Setting>,
    /// Other lines with files: fio takes those of all of them.
    files_before: Vec<Setting>,
    unknown: Vec<Setting>,
    remarks: Vec<Remark>,
}

/// Keys whose 0 names something and switches nothing off.
const ZERO_IS_ONE_OF_MANY: [&str; 8] = [
    "buffer_pattern",
    "cpumask",
    "gid",
    "gpu_dev_id",
    "gtod_cpu",
    "numa_cpu_nodes",
    "sqthread_poll_cpu",
    "uid",
];

impl Job {
    pub fn new(section: &Section) -> Self {
        let mut job = Job {
            name: section.name.clone(),
            is_si: false,
            settings: BTreeMap::new(),
            files_before: Vec::new(),
            unknown: Vec::new(),
            remarks: Vec::new(),
        };
        for setting in &section.settings {
            match table::find(&setting.key) {
                // The last one counts.
                Some((name, _)) => {
                    let before = job.settings.insert(name, setting.clone());
                    job.files_before.extend(before.filter(|_| name == "filename"));
                }
                None => job.unknown.push(setting.clone()),
            }
        }
        job
    }

    /// What a key is set to; the key is dealt with.
    pub fn take(&mut self, key: &str) -> Option<Setting> {
        self.settings.remove(key)
    }

    /// The key has no meaning for this job, in fio either.
    pub fn forget(&mut self, key: &str) {
        if let Some(setting) = self.take(key) {
            self.needless(&setting);
        }
    }

    /// The setting has no meaning for this job, in fio either.
    pub fn needless(&mut self, setting: &Setting) {
        self.remark(Kind::Needless, Some(setting), "it changes nothing in this job", "");
    }

    /// Something cannot be said.
    pub fn unsaid(&mut self, setting: Option<&Setting>, why: &str, nearest: &str) {
        self.remark(Kind::Unsaid, setting, why, nearest);
    }

    /// Something cannot be said, and the job is left out for it.
    pub fn lost(&mut self, setting: Option<&Setting>, why: &str, nearest: &str) {
        self.remark(Kind::Lost, setting, why, nearest);
    }

    /// The setting switches off what is off here anyway.
    pub fn off(&mut self, setting: &Setting) {
        self.remark(Kind::Needless, Some(setting), "it is off here, too", "");
    }

    /// Something means something else.
    pub fn differs(&mut self, setting: Option<&Setting>, why: &str) {
        self.remark(Kind::Differs, setting, why, "");
    }

    fn remark(&mut self, kind: Kind, setting: Option<&Setting>, why: &str, nearest: &str) {
        self.remarks.push(Remark {
            kind,
            at: setting.map(|setting| setting.at.clone()),
            typed: setting.map(Setting::shown).unwrap_or_default(),
            why: why.to_string(),
            nearest: nearest.to_string(),
        });
    }

    /// A whole number; what is none is told.
    pub fn number(&mut self, key: &str, usual: u64) -> u64 {
        let Some(setting) = self.take(key) else { return usual };
        let number = setting.value.as_deref().and_then(|text| bytes(text, self.is_si));
        if number.is_none() {
            self.unsaid(Some(&setting), "this is no number", "");
        }
        number.unwrap_or(usual)
    }

    pub fn flag(&mut self, key: &str, usual: bool) -> bool {
        let Some(setting) = self.take(key) else { return usual };
        let flag = is_yes(setting.value.as_deref());
        if flag.is_none() {
            self.unsaid(Some(&setting), "this is neither 0 nor 1", "");
        }
        flag.unwrap_or(usual)
    }

    /// The keys whose variables are not set.
    pub fn unset(&self) -> Vec<&'static str> {
        let unset = self.settings.iter().filter(|(_, setting)| setting.unset.is_some());
        unset.map(|(key, _)| *key).collect()
    }

    /// The keys that make writes durable, each with why it cannot always be said.
    pub fn take_flushes(&mut self) -> Vec<(Setting, Flush, &'static str)> {
        let keys: Vec<&'static str> = self.settings.keys().copied().collect();
        let mut flushes = Vec::new();
        for key in keys {
            if let Some((_, table::Job::Flush(flush, why))) = table::find(key)
                && let Some(setting) = self.take(key)
            {
                flushes.push((setting, flush, why));
            }
        }
        flushes
    }

    /// All lines with files.
    pub fn take_files(&mut self) -> Vec<Setting> {
        let mut files = std::mem::take(&mut self.files_before);
        files.extend(self.take("filename"));
        files
    }

    /// What a key is set to, which stays to be dealt with.
    pub fn look(&self, key: &str) -> Option<Setting> {
        self.settings.get(key).cloned()
    }

    /// What became of all keys, also of those that nobody took; the job is said, or left out.
    pub fn remarks(mut self, is_said: bool) -> Vec<Remark> {
        self.rest(is_said);
        self.remarks.sort_by(|a, b| (a.kind as u8, &a.at).cmp(&(b.kind as u8, &b.at)));
        self.remarks
    }

    fn rest(&mut self, is_said: bool) {
        for (_, setting) in std::mem::take(&mut self.settings) {
            let is_off = match setting.value.as_deref() {
                Some("none") => setting.key != "fallocate",
                value => !ZERO_IS_ONE_OF_MANY.contains(&setting.key.as_str()) && is_yes(value) == Some(false),
            };
            match table::find(&setting.key).map(|(_, job)| job) {
                Some(table::Job::Needless(why)) => self.remark(Kind::Needless, Some(&setting), why, ""),
                // Off is what it is here anyway.
                Some(table::Job::Unsaid(_, _)) if is_off => {
                    self.off(&setting);
                }
                Some(table::Job::Unsaid(why, nearest)) => self.unsaid(Some(&setting), why, nearest),
                _ if is_said => {
                    self.remark(Kind::Needless, Some(&setting), "it changes nothing in this job", "")
                }
                _ => self.unsaid(Some(&setting), "the job is left out", ""),
            }
        }
        for setting in std::mem::take(&mut self.files_before) {
            self.unsaid(Some(&setting), "the job is left out", "");
        }
        for setting in std::mem::take(&mut self.unknown) {
            self.unsaid(Some(&setting), table::why_unknown(&setting.key), "");
        }
    }
}
