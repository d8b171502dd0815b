//! Caching: `-S -h -N` (`command-line.md` §5.5, §6). Three independent properties, each settable once
//! over all arguments: cache mode, write-through, mapped.

use super::super::draft::Draft;
use super::alone;
use crate::grammar::value::{Position, Slip, Value, length};
use truespd_core::profile::{CacheMode, FlushMode};

const LEGAL: &str = "-S and one of the sets b, h, m, r, u, w, bm, bw, mr, mw, rw, uw, bmw, mrw in any order; -S \
                     alone is -Su";

pub fn cache(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if v.text.is_empty() {
        return letter(d, 'u', Position::from(v.word));
    }
    for (i, c) in v.text.chars().enumerate() {
        letter(d, c, Position { word: v.word, char: Some(i) })?;
    }
    Ok(())
}

/// `-h`, the old name of `-Sh`.
pub fn all_off(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    alone(d, v, "-h");
    letter(d, 'h', Position::from(v.word))
}

fn letter(d: &mut Draft, c: char, here: Position) -> Result<(), Slip> {
    let state = &mut d.cache;
    match c {
        'b' | 'u' | 'r' | 'h' => {
            if let Some((_, by, earlier)) = state.mode {
                return Err(clash(c, here, by, earlier, "the cache mode"));
            }
            if c == 'h'
                && let Some((by, earlier)) = state.write_through
            {
                return Err(clash(c, here, by, earlier, "write-through"));
            }
            if (c == 'h' || c == 'u')
                && let Some((by, earlier)) = state.mapped
            {
                return Err(clash(c, here, by, earlier, "memory mapping, which needs the page cache"));
            }
            let mode = match c {
                'b' => CacheMode::Cached,
                'r' => CacheMode::DisableLocalCache,
                _ => CacheMode::DisableOsCache,
            };
            state.mode = Some((mode, c, here));
            if c == 'h' {
                state.write_through = Some((c, here));
            }
        }
        'w' => {
            if let Some((by, earlier)) = state.write_through {
                return Err(clash(c, here, by, earlier, "write-through"));
            }
            state.write_through = Some((c, here));
        }
        'm' => {
            if let Some((by, earlier)) = state.mapped {
                return Err(clash(c, here, by, earlier, "memory mapping"));
            }
            if let Some((CacheMode::DisableOsCache, by, earlier)) = state.mode {
                return Err(clash(c, here, by, earlier, "unbuffered I/O, which a mapping cannot have"));
            }
            state.mapped = Some((c, here));
        }
        'y' | 'Y' => {
            if let Some((by, earlier)) = state.bypass {
                return Err(clash(c, here, by, earlier, "BypassIO"));
            }
            state.bypass = Some((c, here));
            d.note("-Sy and -SY ask for BypassIO of Windows, which Linux does not have: they change nothing");
        }
        _ => {
            let at = here.char.unwrap_or(0);
            return Err(Slip::new(format!("'{c}' is not a cache letter")).at(at..at + 1).legal(LEGAL));
        }
    }
    Ok(())
}

fn clash(c: char, here: Position, by: char, earlier: Position, property: &str) -> Slip {
    let slip = Slip::new(format!("'{c}' cannot be added: '{by}' has already set {property}"))
        .with(earlier)
        .legal(LEGAL);
    match here.char {
        Some(i) => slip.at(i..i + 1),
        None => slip,
    }
}

pub fn flush(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    // The case does not matter in 2.2 (`command-line.md` §1).
    d.target.flush = Some(match v.text {
        "v" | "V" => FlushMode::ViewOfFile,
        "n" | "N" => FlushMode::NonVolatileMemory,
        "i" | "I" => FlushMode::NonVolatileMemoryNoDrain,
        text => {
            let what =
                if text.is_empty() { "the kind of flush is missing" } else { "this is not a kind of flush" };
            return Err(Slip::new(what).at(0..length(text)).legal("exactly one of -Nv, -Nn, -Ni"));
        }
    });
    Ok(())
}
