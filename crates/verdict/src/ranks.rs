//! Ranks of one run on one host: each says what it did on which disk, so that none takes the others for strangers.

use std::collections::BTreeMap;

use super::cases;
use super::view::Direction;
use truespd_core::result::{Completed, Document, TimeSpanResult};

/// What completed in a time span, by the kernel's names of the lowest disks.
pub type DoneOnDisks = BTreeMap<String, Completed>;

/// What completed on each disk, for each time span of the document; nothing where its disks are not known. Of several
/// disks below a target each has an equal part, because nothing tells which of them an I/O went to.
pub fn done_on_disks(document: &Document) -> Vec<DoneOnDisks> {
    let mut done = vec![DoneOnDisks::new(); document.time_spans.len()];
    for (number, case) in cases(document) {
        let of_span = &mut done[number as usize - 1];
        for group in case.groups().unwrap_or_default() {
            let seconds_each = case.seconds() / group.disks.len() as f64;
            let [read, write] = Direction::BOTH.map(|way| group.done(way));
            let each = Completed {
                reads: (read.ios * seconds_each).round() as u64,
                read_bytes: (read.bytes * seconds_each).round() as u64,
                writes: (write.ios * seconds_each).round() as u64,
                write_bytes: (write.bytes * seconds_each).round() as u64,
            };
            for disk in &group.disks {
                of_span.entry(disk.name.clone()).or_default().add(&each);
            }
        }
    }
    done
}

/// Notes in a document what the other ranks of its host did on its disks.
pub fn note_other_ranks(document: &mut Document, others: &[DoneOnDisks]) {
    for (result, others) in document.time_spans.iter_mut().zip(others) {
        let TimeSpanResult::Measured(measured) = result else { continue };
        for disk in &mut measured.evidence.disks {
            disk.other_ranks = others.get(&disk.name).copied();
        }
    }
}

/// Adds what one rank did to what others did.
pub fn add_done(sum: &mut Vec<DoneOnDisks>, of_rank: &[DoneOnDisks]) {
    if sum.len() < of_rank.len() {
        sum.resize(of_rank.len(), DoneOnDisks::new());
    }
    for (sum, of_rank) in sum.iter_mut().zip(of_rank) {
        for (disk, done) in of_rank {
            sum.entry(disk.clone()).or_default().add(done);
        }
    }
}
