//! When writes are durable: files that are opened to write through, and flushes.
//!
//! Without it, a line tests the page cache where the job tests the disk. So it is said, or the job is left out.

use super::ini::Setting;
use super::job::Job;
use super::pattern::Pattern;
use super::table::{self, Flush};
use super::value::{bytes, is_yes};

/// What a job says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Durability {
    /// Each write is durable when it ends.
    pub of_each_write: bool,
    /// A flush makes it so, which follows the write.
    pub by_flush: bool,
    /// The line can say what the job does, or need not.
    pub is_said: bool,
}

/// Whether a key speaks of it.
pub(super) fn is_about_it(key: &str) -> bool {
    key == "sync" || matches!(table::find(key), Some((_, table::Job::Flush(..))))
}

/// Reads all keys that speak of it; `writes`: the job writes to storage. Where something cannot be said, the
/// job is to be left out unless `is_lossy`.
pub(super) fn durability(job: &mut Job, pattern: &Pattern, writes: bool, is_lossy: bool) -> Durability {
    let opened = opened(job, writes, is_lossy);
    let mut found = opened;
    let flushes = job.take_flushes();
    let by_flush = |(setting, flush, _): &(Setting, Flush, _)| is_of_each_write(*flush, setting);
    if writes && flushes.iter().any(by_flush) {
        found = Durability { of_each_write: true, by_flush: true, is_said: opened.is_said };
    }
    for (setting, flush, why) in flushes {
        if !writes {
            job.needless(&setting);
        } else if let Some(name) = &setting.unset {
            found.is_said &= is_lossy;
            lost(job, &setting, &format!("the variable {name} is not set"), is_lossy);
        } else if setting.value.as_deref().and_then(|text| bytes(text, false)) == Some(0) {
            job.off(&setting);
        } else if is_of_each_write(flush, &setting) {
            job.differs(Some(&setting), &words(&setting, pattern));
        } else if found.of_each_write {
            job.differs(Some(&setting), "every write is durable already; this flush beside it is left out");
        } else {
            found.is_said &= is_lossy;
            lost(job, &setting, why, is_lossy);
        }
    }
    found
}

/// What `sync` says: how files are opened.
fn opened(job: &mut Job, writes: bool, is_lossy: bool) -> Durability {
    let mut found = Durability { of_each_write: false, by_flush: false, is_said: true };
    let Some(setting) = job.take("sync") else { return found };
    if let Some(name) = &setting.unset {
        found.is_said = is_lossy || !writes;
        lost(job, &setting, &format!("the variable {name} is not set"), !writes || is_lossy);
        return found;
    }
    match setting.value.as_deref().unwrap_or("1") {
        "0" | "none" => job.off(&setting),
        "dsync" => found.of_each_write = true,
        "1" | "sync" => {
            found.of_each_write = true;
            job.differs(
                Some(&setting),
                "fio opens with O_SYNC, which also writes times of the file; w of -S is O_DSYNC",
            );
        }
        _ => {
            found.is_said = is_lossy || !writes;
            lost(job, &setting, "this is none of none, sync and dsync", !writes || is_lossy);
        }
    }
    found
}

/// Something cannot be said, and the job is left out for it, unless lines may go without.
fn lost(job: &mut Job, setting: &Setting, why: &str, may_go: bool) {
    let nearest = "-Sw: every write is durable";
    if may_go {
        job.unsaid(Some(setting), why, nearest);
    } else {
        job.lost(
            Some(setting),
            &format!(
                "{why}, and a line without it would test something else; the whole job is left out, without --lossy"
            ),
            nearest,
        );
    }
}

/// Whether this flush follows each write.
fn is_of_each_write(flush: Flush, setting: &Setting) -> bool {
    let value = setting.value.as_deref();
    match flush {
        Flush::AfterWrites => value.and_then(|text| bytes(text, false)) == Some(1),
        Flush::WithEachWrite => is_yes(value) == Some(true),
        Flush::Otherwise => false,
    }
}

/// What differs where each write is flushed by itself.
fn words(setting: &Setting, pattern: &Pattern) -> String {
    let mut words = "every write is durable, no separate flush".to_string();
    if setting.key == "fsync" {
        words.push_str("; fsync also writes times of the file, and w of -S does not");
    }
    if pattern.reads {
        words.push_str("; fio flushes after reads, too");
    }
    words
}
