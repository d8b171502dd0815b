//! How a job makes its writes durable.

use super::engines::Engine;
use super::ini::Setting;
use super::keys::{Flush, Job, Key, find};
use super::pattern::Pattern;
use truespd_core::profile::FlushEvery;

/// When writes are durable: without it, a line tests the page cache where the job tests the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Durability {
    /// Each write is durable when it ends.
    pub of_each_write: bool,
    /// A separate flush after every N writes.
    pub flush_every: Option<FlushEvery>,
}

impl Durability {
    /// Whether each write has a flush behind it.
    pub fn flushes_each_write(&self) -> bool {
        self.flush_every.is_some_and(|flush| flush.writes == 1)
    }
}

pub(super) fn is_about_durability(key: &str) -> bool {
    key == "sync" || matches!(find(key), Some((_, Key::Flush(..))))
}

/// What comes nearest to a flush that cannot be said.
const NEAREST: &str = "-Sw: every write is durable";

/// Reads all keys that speak of it; `writes`: the job writes to storage.
pub(super) fn durability(job: &mut Job, engine: Engine, pattern: &Pattern, writes: bool) -> Durability {
    let mut found = Durability { of_each_write: opens_for_sync(job, writes), flush_every: None };
    let flushes = job.take_flushes();
    // -Smw is the flush of each mapped write, and there is no other.
    found.of_each_write |=
        writes && flushes.iter().any(|(setting, flush, _)| is_with_write(*flush, setting, engine));
    // The most frequent one comes first; of two, that is fsync, as in fio.
    let most_often = flushes.iter().filter_map(|(setting, flush, _)| flush_every(*flush, setting));
    let most_often = most_often.min_by_key(|flush| flush.writes);
    for (setting, flush, why) in flushes {
        let every = flush_every(flush, &setting);
        if !writes {
            job.needless(&setting);
        } else if let Some(name) = &setting.unset {
            job.unsaid(Some(&setting), &format!("the variable {name} is not set"), NEAREST);
        } else if setting.bytes(false) == Some(0) {
            job.off(&setting);
        } else if is_with_write(flush, &setting, engine) {
            job.differs(Some(&setting), "every write is durable, no separate flush");
        } else if found.of_each_write {
            job.differs(Some(&setting), "every write is durable already, so this flush is left out");
        } else if every.is_some() && engine == Engine::Mapped {
            job.unsaid(
                Some(&setting),
                "no flush goes with memory mapped I/O",
                "-Smw: every write is durable",
            );
        } else if every.is_some() && every == most_often && found.flush_every.is_none() {
            found.flush_every = every;
            if pattern.reads {
                job.differs(Some(&setting), "fio flushes after reads, too; here only writes count");
            }
        } else if most_often.is_some_and(|flush| flush.writes == 1) {
            job.differs(Some(&setting), "each write is flushed already, so this flush is left out");
        } else {
            job.unsaid(Some(&setting), why, NEAREST);
        }
    }
    found
}

/// What `sync` says: whether files are opened so that each write is durable.
fn opens_for_sync(job: &mut Job, writes: bool) -> bool {
    let Some(setting) = job.take("sync") else { return false };
    if let Some(name) = &setting.unset {
        lost_sync(job, &setting, &format!("the variable {name} is not set"), writes);
        return false;
    }
    match setting.value.as_deref().unwrap_or("1") {
        "0" | "none" => {
            job.off(&setting);
            false
        }
        "dsync" => true,
        "1" | "sync" => {
            let why =
                "fio opens with O_SYNC, which also writes the times of the file; -Sw opens with O_DSYNC";
            job.differs(Some(&setting), why);
            true
        }
        _ => {
            lost_sync(job, &setting, "this is none of none, sync and dsync", writes);
            false
        }
    }
}

fn lost_sync(job: &mut Job, setting: &Setting, why: &str, writes: bool) {
    if writes {
        job.unsaid(Some(setting), why, NEAREST);
    } else {
        job.needless(setting);
    }
}

/// Whether each write is durable by itself.
fn is_with_write(flush: Flush, setting: &Setting, engine: Engine) -> bool {
    match flush {
        Flush::WithEachWrite => setting.is_yes() == Some(true),
        Flush::AfterWrites => engine == Engine::Mapped && setting.plain_number() == Some(1),
        Flush::Otherwise => false,
    }
}

/// A flush after so many writes; none where the setting says no such number.
fn flush_every(flush: Flush, setting: &Setting) -> Option<FlushEvery> {
    let writes = if flush == Flush::AfterWrites { setting.plain_number()? } else { return None };
    let writes = u32::try_from(writes).ok().filter(|&writes| writes > 0)?;
    Some(FlushEvery { writes, data_only: setting.key == "fdatasync" })
}
