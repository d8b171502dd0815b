//! How much load: threads, requests, mix, data, rate (`command-line.md` §5.3, §5.4, §5.6, §14).

use super::super::draft::Draft;
use super::pattern::{percentage, share};
use super::{alone, nothing, read, read32};
use crate::grammar::value::{self, Slip, Unit, Value, digits, length, size_until, whole, whole32};
use truespd_core::profile::{Batch, IoPriority, RingOptions, Throughput};

pub fn threads_per_target(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.target.threads_per_file = read32(d, v, "-t", Unit::Count, 1)?;
    Ok(())
}

pub fn threads_total(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.span.thread_count = read32(d, v, "-F", Unit::Count, 1)?;
    Ok(())
}

pub fn requests_per_target(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.target.request_count = read32(d, v, "-o", Unit::Count, 1)?;
    Ok(())
}

pub fn requests_per_thread(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.span.request_count = read32(d, v, "-O", Unit::Count, 1)?;
    Ok(())
}

pub fn completion_routines(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    alone(d, v, "-x");
    d.span.completion_routines = true;
    Ok(())
}

pub fn completion_batch(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.span.completion_batch = Some(whole32(v.text, 1)?);
    Ok(())
}

pub fn buffer_separation(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.span.pack_buffers = match v.text {
        "n" => {
            d.note("-bsn (buffers not separated) is only kept in the profile: threads always have their own");
            true
        }
        "p" => false,
        text => {
            return Err(Slip::new("the kind of separation is missing or unknown")
                .at(0..length(text))
                .legal("-bsn (none) or -bsp (separated, the default)"));
        }
    };
    Ok(())
}

/// `-u[n]<batch>[p]`; without a batch 25 percent, DiskSpd 2.3's default.
pub fn ring(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let unregistered = v.text.starts_with('n');
    let start = usize::from(unregistered);
    let batch: String = v.text.chars().skip(start).collect();
    let batch = if batch.is_empty() {
        Ok(Batch::Percent(25))
    } else if let Some(percent) = batch.strip_suffix('p') {
        share(percent, 1, "a batch of 1 to 100 percent: -u25p").map(Batch::Percent)
    } else {
        whole(&batch, 1..=65535)
            .map(|n| Batch::Count(u32::try_from(n).expect("at most 65535")))
            .map_err(|slip| slip.legal("a batch of 1 to 65535 requests (-u8), or 1 to 100 percent (-u25p)"))
    };
    let batch = batch.map_err(|slip| super::extent::shifted(slip, start))?;
    d.span.ring = Some(RingOptions { registered_buffers: !unregistered, batch });
    Ok(())
}

pub fn write_percent(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    const LEGAL: &str = "0 to 100 percent of writes: -w0 only reads, -w100 only writes";
    d.target.write_percent = percentage(d, v, "-w", 0, LEGAL).map_err(|slip| match v.text {
        "" => slip.hint("for reads only write -w0, or leave -w out"),
        _ => slip,
    })?;
    Ok(())
}

pub fn zero_data(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    nothing(v).map_err(|slip| slip.legal(DATA_LEGAL))?;
    d.target.zero_write_buffers = true;
    Ok(())
}

const DATA_LEGAL: &str =
    "-Z (zeros), -Zr (random for each write), -Z<size>[,<file>] (a random or file-filled source)";

pub fn random_data(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    nothing(v)
        .map_err(|slip| slip.legal(DATA_LEGAL).hint("for a random source of that size leave the r out"))?;
    d.span.random_write_data = true;
    Ok(())
}

pub fn source_data(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let (bytes, used) = size_until(v.text, d.target.block_bytes, &[','])?;
    if bytes == 0 {
        return Err(Slip::new("the source of write data is empty").at(0..used).legal("a size above 0"));
    }
    d.target.write_source_bytes = bytes;
    // Everything behind the first comma is the name, further commas included.
    let file: String = v.text.chars().skip(used + 1).collect();
    d.target.write_source_path = Some(file).filter(|file| !file.is_empty());
    Ok(())
}

pub fn rate(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    const LEGAL: &str = "a rate above 0: -g<n> bytes per millisecond, or -g<n>i I/Os per second, digits only";
    let (number, is_iops) = match v.text.strip_suffix('i') {
        Some(number) => (number, true),
        None => (v.text, false),
    };
    let read = value::number(number, Unit::Count, 1..=u64::from(u32::MAX)).map_err(|slip| {
        let (value, count) = digits(number);
        let tail: String = number.chars().skip(count).collect();
        let slip = slip.legal(LEGAL);
        let unit = match tail.as_str() {
            "k" | "K" => 1u64 << 10,
            "m" | "M" => 1 << 20,
            "g" | "G" => 1 << 30,
            _ => return slip,
        };
        match value.and_then(|n| n.checked_mul(unit)) {
            Some(bytes) => {
                slip.hint(format!("-g takes no size suffix: -g{bytes} is {number} bytes per millisecond"))
            }
            None => slip,
        }
    })?;
    let n = read.value;
    if !read.is_plain {
        d.taken(&format!("-g{}", v.text), &format!("-g{n}{}", if is_iops { "i" } else { "" }));
    }
    d.target.throughput = Some(if is_iops { Throughput::Iops(n) } else { Throughput::BytesPerMs(n) });
    Ok(())
}

pub fn burst(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.target.burst_ios = Some(read32(d, v, "-i", Unit::Count, 1)?);
    Ok(())
}

pub fn pause(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.target.think_ms = Some(read32(d, v, "-j", Unit::Milliseconds, 1)?);
    Ok(())
}

pub fn large_pages(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    alone(d, v, "-l");
    d.target.large_pages = true;
    Ok(())
}

pub fn priority(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    const LEGAL: &str = "1 (very low), 2 (low) or 3 (normal)";
    d.target.priority = match read(d, v, "-I", Unit::Count, 1..=3).map_err(|slip| slip.legal(LEGAL))? {
        1 => IoPriority::VeryLow,
        2 => IoPriority::Low,
        _ => IoPriority::Normal,
    };
    Ok(())
}
