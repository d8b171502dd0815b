//! What `truespd verify` found, as text.

use truespd_core::result::{ReadBack, WrongRange};
use truespd_core::verify::Fault;
use truespd_platform::text::{bytes, duration_ns, grouped, printable, rate};

/// Wrong ranges that are shown; the JSON has more.
const SHOWN: usize = 10;

/// The answer, the numbers behind it, and the first wrong places.
pub fn text(found: &ReadBack) -> String {
    let wrong = found.wrong_blocks();
    let path = printable(&found.path);
    let mut out = if found.written_blocks == 0 && found.is_by_log {
        format!("'{path}': the log knows no durable block, so there is nothing to read back\n")
    } else if found.written_blocks == 0 {
        format!("'{path}': the test wrote nothing, so there is nothing to read back\n")
    } else if wrong == 0 && found.acknowledged_blocks == 0 {
        format!("'{path}': no write was acknowledged, so nothing must be there\n")
    } else if wrong == 0 && found.is_by_log {
        format!(
            "'{path}': all {} blocks that the log knows as durable hold what they must\n",
            grouped(found.flushed_blocks)
        )
    } else if wrong == 0 {
        format!(
            "'{path}': all {} acknowledged blocks hold what they must\n",
            grouped(found.acknowledged_blocks)
        )
    } else {
        let kinds: Vec<String> = found
            .wrong
            .iter()
            .map(|count| format!("{} {}", grouped(count.blocks), count.fault.word()))
            .collect();
        let noun = if wrong == 1 { "block is" } else { "blocks are" };
        format!("'{path}': {} {noun} WRONG: {}\n", grouped(wrong), kinds.join(", "))
    };
    if found.is_by_log {
        out.push_str(&format!(
            "{} blocks of {} hold the last write that the log knows, or a later one\n",
            grouped(found.newest_blocks),
            bytes(found.block_bytes as f64)
        ));
    } else {
        out.push_str(&by_map(found));
    }
    let read_bytes = (found.written_blocks * found.block_bytes) as f64;
    let by = if found.is_direct {
        "past the page cache"
    } else {
        "through the page cache, which was dropped before"
    };
    let per_s = read_bytes / found.elapsed_s.max(1e-9);
    out.push_str(&format!("read {} {by}, at {}\n", bytes(read_bytes), rate(per_s)));
    if !found.run_ended && !found.is_by_log {
        out.push_str("the test was killed: the map is what it had told by then\n");
    }
    for range in found.ranges.iter().take(SHOWN) {
        out.push_str(&line(range));
    }
    if found.ranges.len() > SHOWN {
        out.push_str(&format!(
            "  and {} more places; --json has them\n",
            grouped((found.ranges.len() - SHOWN) as u64)
        ));
    }
    out
}

fn by_map(found: &ReadBack) -> String {
    let mut out = format!(
        "{} blocks of {} were written: {} acknowledged, {} of them flushed\n",
        grouped(found.written_blocks),
        bytes(found.block_bytes as f64),
        grouped(found.acknowledged_blocks),
        grouped(found.flushed_blocks)
    );
    out.push_str(&format!("{} hold the last write", grouped(found.newest_blocks)));
    if found.older_blocks > 0 {
        out.push_str(&format!(
            "; {} an older one or none, which may be: the last one was not flushed, or not completed",
            grouped(found.older_blocks)
        ));
    }
    out.push('\n');
    out
}

fn line(range: &WrongRange) -> String {
    let mut words = format!(
        "  {} at byte {}, {}",
        range.fault.word(),
        grouped(range.offset_bytes),
        bytes(range.length_bytes as f64)
    );
    let is_older = matches!(range.fault, Fault::Missing | Fault::Torn);
    if let (true, Some(found), Some(expected)) = (is_older, range.found_generation, range.expected_generation)
    {
        words.push_str(&format!(": write {found} of the block is there, at least write {expected} must be"));
    }
    if range.fault == Fault::Misplaced
        && let Some(offset) = range.found_offset_bytes
    {
        words.push_str(&format!("; it was written for byte {}", grouped(offset)));
    }
    // Another run has a clock of its own, and what is damaged may say anything.
    if let (true, Some(written_s)) = (is_older || range.fault == Fault::Misplaced, range.found_written_s) {
        words.push_str(&format!(", {} after the test began", duration_ns(written_s * 1e9)));
    }
    words.push('\n');
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::FaultCount;

    #[test]
    fn the_answer_comes_first() {
        let mut found = ReadBack {
            path: "f".into(),
            map: "m".into(),
            is_by_log: false,
            run_ended: true,
            is_direct: true,
            block_bytes: 4096,
            blocks: 100,
            written_blocks: 50,
            acknowledged_blocks: 50,
            flushed_blocks: 50,
            newest_blocks: 50,
            older_blocks: 0,
            wrong: Vec::new(),
            ranges: Vec::new(),
            elapsed_s: 1.0,
        };
        assert!(text(&found).starts_with("'f': all 50 acknowledged blocks hold what they must\n"));
        let by_log = ReadBack { is_by_log: true, ..found.clone() };
        assert!(text(&by_log).starts_with("'f': all 50 blocks that the log knows as durable hold"));
        let none = ReadBack { written_blocks: 0, ..by_log };
        assert!(text(&none).starts_with("'f': the log knows no durable block"));
        let written = ReadBack { written_blocks: 0, ..found.clone() };
        assert!(text(&written).starts_with("'f': the test wrote nothing"));
        let unknown = ReadBack { acknowledged_blocks: 0, ..found.clone() };
        assert!(text(&unknown).starts_with("'f': no write was acknowledged"));
        found.wrong.push(FaultCount { fault: Fault::Missing, blocks: 1 });
        found.ranges.push(WrongRange {
            offset_bytes: 8192,
            length_bytes: 4096,
            fault: Fault::Missing,
            expected_generation: Some(3),
            found_generation: Some(2),
            found_offset_bytes: Some(8192),
            found_written_s: Some(0.5),
            found_thread: Some(0),
        });
        let text = text(&found);
        assert!(text.starts_with("'f': 1 block is WRONG: 1 missing\n"), "{text}");
        let wrong = "missing at byte 8,192, 4 KiB: write 2 of the block is there, at least write 3 must be, 500 ms after \
                     the test began\n";
        assert!(text.ends_with(wrong), "{text}");
    }
}
