//! The target and how it is accessed: size and range (`-b -B -f -c`), access pattern (`-r -rs -rd -s -si -T`) and
//! caching (`-S -h -N`); `command-line.md` §5.1, §5.2, §5.5, §6.

use super::row::{ignored, percentage, share};
use crate::grammar::row::Draft;
use crate::grammar::value::{
    Position, Slip, Value, digits, length, shifted, size, size_above_zero, size_until,
};
use truespd_core::profile::loads::{ZIPF_MAX, check_mix};
use truespd_core::profile::{
    BLOCK_BYTES_MAX, CacheMode, Decimal, Distribution, DistributionKind, DistributionRange, FlushMode,
    MixPart,
};

const ONE_SIZE: &str = "-b<size> for I/Os of one size, or --mix for several";

pub fn block(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if let Some(earlier) = d.mix {
        return Err(Slip::new("the sizes are already given (--mix)").with(earlier).legal(ONE_SIZE));
    }
    d.block = Some(v.word);
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

/// `--mix <size>:<percent>[,...]`
pub fn mix(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if let Some(earlier) = d.block {
        return Err(Slip::new("the size is already given (-b)").with(earlier).legal(ONE_SIZE));
    }
    if let Some(earlier) = d.mix {
        return Err(Slip::new("the sizes are given twice").with(earlier).legal("one --mix"));
    }
    let (mut parts, mut start) = (Vec::new(), 0);
    for part in v.text.split(',') {
        parts.push(mix_part(part, d.target.block_bytes).map_err(|slip| shifted(slip, start))?);
        start += length(part) + 1;
    }
    check_mix(&parts).map_err(|why| Slip::new(why.to_string()).at(0..length(v.text)).legal(MIX_LEGAL))?;
    d.target.block_bytes = parts.iter().map(|part| part.block_bytes).max().unwrap_or(d.target.block_bytes);
    d.target.mix = parts;
    d.mix = Some(v.word);
    Ok(())
}

const MIX_LEGAL: &str = "sizes with their percentages of the I/Os, which sum to 100: --mix 4K:60,64K:40";

fn mix_part(text: &str, block_bytes: u64) -> Result<MixPart, Slip> {
    let (bytes, used) = size_until(text, block_bytes, &[':'])?;
    let percent: String = text.chars().skip(used + 1).collect();
    if percent.is_empty() {
        let what = format!("the size {text} has no percentage");
        return Err(Slip::new(what).at(0..length(text)).legal(MIX_LEGAL));
    }
    let Some(percent) = Decimal::read(&percent) else {
        let what = format!("'{percent}' is not a percentage above 0");
        return Err(Slip::new(what).at(used + 1..length(text)).legal(MIX_LEGAL));
    };
    Ok(MixPart { block_bytes: bytes, percent })
}

pub fn zipf(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let exponent = Decimal::read(v.text).filter(|exponent| exponent.get() <= ZIPF_MAX);
    if exponent.is_none() {
        let what = match v.text {
            "" => "the exponent is missing".to_string(),
            text => format!("'{text}' is not an exponent of Zipf's law"),
        };
        let legal = format!("a decimal number above 0, {ZIPF_MAX} at most: --zipf 0.9");
        return Err(Slip::new(what).at(0..length(v.text)).legal(legal));
    }
    d.target.zipf = exponent;
    Ok(())
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
            d.reinterpret(&format!("-B{}", v.text), "the whole target");
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
        d.reinterpret(&format!("-f{}", v.text), "no limit");
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
        d.reinterpret(&format!("-c{}", v.text), "nothing to create");
    }
    d.target.create_bytes = Some(bytes).filter(|&bytes| bytes > 0);
    Ok(())
}

const ONE_PATTERN: &str = "random (-r, -rs) and sequential (-s) exclude each other; the alignment of random and mixed \
                           I/O comes from -r<size>";

pub fn random(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if v.text.starts_with('d') {
        return Err(Slip::new("the kind of distribution is missing or unknown")
            .at(0..length(v.text))
            .legal("-rdpct<io>/<target>[:...] in percent, or -rdabs<io>/<size>[:...], in lower case"));
    }
    if let Some(earlier) = d.sequential {
        return Err(Slip::new("the pattern is already sequential (-s)").with(earlier).legal(ONE_PATTERN));
    }
    if let Some(earlier) = d.random {
        return Err(Slip::new("random I/O and its alignment are given twice")
            .with(earlier)
            .legal("one -r[<size>]"));
    }
    if !v.text.is_empty() {
        d.alignment_bytes = Some(size_above_zero(v.text, d.target.block_bytes)?);
    }
    d.random = Some(v.word);
    Ok(())
}

pub fn mixed(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if let Some(earlier) = d.sequential {
        return Err(Slip::new("the pattern is already sequential (-s)").with(earlier).legal(ONE_PATTERN));
    }
    if let Some((earlier, percent)) = d.mixed
        && percent != 100
    {
        return Err(Slip::new("the share of random I/O is given twice").with(earlier).legal("one -rs<pct>"));
    }
    let percent = percentage(d, v, "-rs", 1, "1 to 100 percent of random I/O")?;
    d.mixed = Some((v.word, percent));
    Ok(())
}

/// `-s`, or with `interlocked` `-si`.
pub fn stride(d: &mut Draft, v: &Value, interlocked: bool) -> Result<(), Slip> {
    if let Some(earlier) = d.random.or(d.mixed.map(|(word, _)| word)) {
        return Err(Slip::new("the pattern is already random (-r, -rs)").with(earlier).legal(ONE_PATTERN));
    }
    if let Some(earlier) = d.sequential {
        return Err(Slip::new("the sequential stride is given twice")
            .with(earlier)
            .legal("one -s[i][<size>]"));
    }
    if !v.text.is_empty() {
        let bytes = size(v.text, d.target.block_bytes).map_err(|slip| {
            if v.text.ends_with('i') { slip.hint("the i comes first: -si<size>") } else { slip }
        })?;
        // A stride of 0 stands for the default, one block.
        d.stride_bytes = Some(bytes).filter(|&bytes| bytes > 0);
    }
    d.sequential = Some(v.word);
    d.target.interlocked = interlocked;
    Ok(())
}

/// Pairs `<io>/<share>` separated by colons; a later option replaces an earlier one.
pub fn distribution(d: &mut Draft, v: &Value, kind: DistributionKind) -> Result<(), Slip> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for pair in v.text.split(':') {
        ranges.push(range(pair, kind, d.target.block_bytes).map_err(|slip| shifted(slip, start))?);
        start += length(pair) + 1;
    }
    let mut distribution = Distribution { kind, ranges };
    distribution.add_tail();
    d.target.distribution = Some(distribution);
    Ok(())
}

fn range(pair: &str, kind: DistributionKind, block_bytes: u64) -> Result<DistributionRange, Slip> {
    const LEGAL: &str =
        "pairs of I/O share (0 to 100) and target share, separated by colons: 90/10:0/10:5/20";
    let (share, count) = digits(pair);
    let found = pair.chars().nth(count);
    if count == 0 {
        let what =
            if pair.is_empty() { "a pair <io>/<share> is missing" } else { "the share of I/O is missing" };
        return Err(Slip::new(what).at(0..usize::from(found.is_some())).legal(LEGAL));
    }
    if found != Some('/') {
        return Err(Slip::new("the / between I/O share and target share is missing")
            .at(count..count + usize::from(found.is_some()))
            .legal(LEGAL));
    }
    let Some(io_percent) = share.filter(|&n| n <= 100) else {
        return Err(Slip::new("the share of I/O is above 100 %")
            .at(0..count)
            .legal("0 to 100 percent of the I/O"));
    };
    let start = count + 1;
    let rest: String = pair.chars().skip(start).collect();
    let span = span(&rest, kind, block_bytes).map_err(|slip| shifted(slip, start))?;
    let io_percent = u32::try_from(io_percent).expect("at most 100");
    Ok(DistributionRange { io_percent, span })
}

fn span(text: &str, kind: DistributionKind, block_bytes: u64) -> Result<u64, Slip> {
    match kind {
        DistributionKind::Percent => share(text, 1, "1 to 100 percent of the target").map(u64::from),
        DistributionKind::Absolute => size_above_zero(text, block_bytes),
    }
}

const CACHE_LEGAL: &str = "-S and one of the sets b, h, m, r, u, w, bm, bw, mr, mw, rw, uw, bmw, mrw in any order; -S \
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
    ignored(d, v, "-h");
    letter(d, 'h', Position::from(v.word))
}

fn letter(d: &mut Draft, c: char, here: Position) -> Result<(), Slip> {
    let state = &mut d.cache;
    let mode = match c {
        'b' => Some(CacheMode::Cached),
        'r' => Some(CacheMode::DisableLocalCache),
        'u' | 'h' => Some(CacheMode::DisableOsCache),
        'w' | 'm' | 'y' | 'Y' => None,
        _ => {
            let at = here.char.unwrap_or(0);
            return Err(Slip::new(format!("'{c}' is not a cache letter")).at(at..at + 1).legal(CACHE_LEGAL));
        }
    };
    let is_unbuffered = mode == Some(CacheMode::DisableOsCache);
    if mode.is_some() {
        refuse_clash(c, here, state.mode.map(|(_, by, at)| (by, at)), "the cache mode")?;
    }
    if matches!(c, 'h' | 'w') {
        refuse_clash(c, here, state.write_through, "write-through")?;
    }
    if is_unbuffered {
        refuse_clash(c, here, state.mapped, "memory mapping, which needs the page cache")?;
    }
    match c {
        'm' => {
            refuse_clash(c, here, state.mapped, "memory mapping")?;
            if let Some((CacheMode::DisableOsCache, by, at)) = state.mode {
                refuse_clash(c, here, Some((by, at)), "unbuffered I/O, which a mapping cannot have")?;
            }
            state.mapped = Some((c, here));
        }
        'y' | 'Y' => {
            refuse_clash(c, here, state.bypass, "BypassIO")?;
            state.bypass = Some((c, here));
            d.note("-Sy and -SY ask for BypassIO of Windows, which Linux does not have: they change nothing");
            return Ok(());
        }
        _ => {}
    }
    if let Some(mode) = mode {
        state.mode = Some((mode, c, here));
    }
    if matches!(c, 'h' | 'w') {
        state.write_through = Some((c, here));
    }
    Ok(())
}

/// Refuses a letter for a property that an earlier letter has set.
fn refuse_clash(c: char, here: Position, set: Option<(char, Position)>, property: &str) -> Result<(), Slip> {
    let Some((by, earlier)) = set else { return Ok(()) };
    let what = format!("'{c}' cannot be added: '{by}' has already set {property}");
    let slip = Slip::new(what).with(earlier).legal(CACHE_LEGAL);
    Err(match here.char {
        Some(i) => slip.at(i..i + 1),
        None => slip,
    })
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

pub fn thread_stride(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.target.thread_stride_bytes = size_above_zero(v.text, d.target.block_bytes)?;
    Ok(())
}
