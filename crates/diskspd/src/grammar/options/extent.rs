//! Size and range of the target: `-b -B -f -c` (`command-line.md` §5.1), and the hints of `-f`.

use super::super::draft::Draft;
use crate::grammar::value::{Slip, Value, length, size, size_until};
use truespd_core::profile::BLOCK_BYTES_MAX;

pub fn block(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let legal = format!("a block size of 1 to {BLOCK_BYTES_MAX} bytes");
    // Inside -b the suffix b means the block size known so far (`command-line.md` §3.1).
    match size(v.text, d.target.block_bytes)? {
        0 => Err(Slip::new("the block size is 0").at(0..length(v.text)).legal(legal)),
        bytes if bytes > BLOCK_BYTES_MAX => {
            Err(Slip::new(format!("the block size of {bytes} bytes is too large"))
                .at(0..length(v.text))
                .legal(legal))
        }
        bytes => {
            d.target.block_bytes = bytes;
            Ok(())
        }
    }
}

pub fn base(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if let Some(earlier) = d.base {
        return Err(Slip::new("the base offset is given twice").with(earlier));
    }
    let block_bytes = d.target.block_bytes;
    let (base_bytes, used) = size_until(v.text, block_bytes, &[':'])?;
    if used < length(v.text) {
        let start = used + 1;
        let rest: String = v.text.chars().skip(start).collect();
        let length_bytes = size(&rest, block_bytes).map_err(|slip| shifted(slip, start))?;
        let whole = start..length(v.text);
        if length_bytes == 0 && base_bytes > 0 {
            return Err(Slip::new("the length of the range is 0")
                .at(whole)
                .legal("a length above 0, or no length"));
        }
        if length_bytes == 0 {
            d.taken(&format!("-B{}", v.text), "the whole target");
        }
        if let Some(earlier) = d.maximum {
            return Err(Slip::new("the end of the range is given twice, by a length and by -f")
                .at(whole)
                .with(earlier)
                .hint("give -f<end>, counted from the start of the target, or -B<base>:<length>"));
        }
        let Some(end) = base_bytes.checked_add(length_bytes) else {
            return Err(Slip::new("base plus length does not fit into 64 bits")
                .at(0..length(v.text))
                .legal(format!("a range that ends at {} or before", u64::MAX)));
        };
        d.target.max_bytes = end;
        d.maximum = Some(v.word);
    }
    d.target.base_bytes = base_bytes;
    d.base = Some(v.word);
    Ok(())
}

/// Moves the positions of a slip that was found in a part of the value.
pub fn shifted(mut slip: Slip, by: usize) -> Slip {
    slip.chars = slip.chars.map(|chars| chars.start + by..chars.end + by);
    slip
}

pub fn maximum(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if let Some(earlier) = d.maximum {
        let what = if d.base == Some(earlier) {
            "the end of the range is given twice, by -f and by the length of -B"
        } else {
            "the maximum offset is given twice"
        };
        return Err(Slip::new(what).with(earlier));
    }
    let bytes = size(v.text, d.target.block_bytes)?;
    if bytes == 0 {
        d.taken(&format!("-f{}", v.text), "no limit");
    }
    d.target.max_bytes = bytes;
    d.maximum = Some(v.word);
    Ok(())
}

pub fn access_hints(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    const LEGAL: &str = "-f<size>, a maximum offset that begins with a digit, or -f and the letters r, s, t";
    if v.text.is_empty() {
        return Err(Slip::new("a maximum offset or access hints are missing").at(0..0).legal(LEGAL));
    }
    for (i, letter) in v.text.chars().enumerate() {
        match letter {
            'r' => d.target.random_access = true,
            's' => d.target.sequential_scan = true,
            't' => d.target.temporary_file = true,
            _ => {
                return Err(Slip::new(format!("'{letter}' is not an access hint")).at(i..i + 1).legal(LEGAL));
            }
        }
    }
    if d.target.temporary_file {
        d.note("-ft (temporary file) has no counterpart on Linux and is only kept in the profile");
    }
    if d.target.random_access && d.target.sequential_scan {
        d.note("-fr and -fs are both given: Linux keeps one hint, random access (-fr)");
    }
    Ok(())
}

pub fn create(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let bytes = size(v.text, d.target.block_bytes)?;
    if bytes == 0 {
        d.taken(&format!("-c{}", v.text), "nothing to create");
    }
    d.target.create_bytes = Some(bytes).filter(|&bytes| bytes > 0);
    Ok(())
}
