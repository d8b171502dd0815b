//! `sim`: a simulated device with a virtual clock, for tests of everything above the engines.
//!
//! I/Os start in the order of submission, as soon as one of the channels is free and the rate limit
//! allows, and take the service time. Time passes only in `submit` (by the cost per I/O), in `reap` that
//! has to wait, and in `advance_virtual`; the same parameters and calls give the same result, bit for bit.
//! No data is moved. Reads end at the end of the file, writes do not.
//!
//! [`Spec`] is its parameters: `latency=100us,channels=8,error=eio@1M+64K,...`.
//!
//! `null`: every I/O is finished at the next `reap`, without a system call and without data. What is left of a run is
//! the cost of the tool itself. It takes the batch path of the asynchronous engines (`is_inline` is false),
//! because that is the path whose cost is to be known.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::ftl::{Drive, FastArea, Flash, drive_of};
use super::transfer::check_setup;
use super::{Completion, Engine, EngineError, Io, IoError, Op, Result, Setup};
use truespd_platform::sys::signals;

/// Virtual time at which a hung I/O ends.
const NEVER: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct Sim {
    spec: Spec,
    sizes: Vec<u64>,
    /// The drive that each file is; empty without `ftl=` and `slc=`.
    drives: Vec<Drive>,
    now_ns: u64,
    random: SplitMix,
    count: u64,
    /// When each channel that has been used is free again. Hung I/Os occupy none.
    busy_until: BinaryHeap<Reverse<u64>>,
    /// Earliest start of the next I/O under the rate limit.
    next_start_ns: u64,
    /// By end, then by order of submission.
    in_flight: BinaryHeap<Reverse<(u64, u64, Completion)>>,
}

/// Checks the parameters without opening anything.
pub(super) fn check_parameters(text: &str) -> Result {
    Spec::parse(text).map(|_| ())
}

pub(super) fn open(setup: Setup) -> Result<(Sim, Vec<String>)> {
    check_setup(NAME, &setup, u32::MAX)?;
    let spec = Spec::parse(&setup.parameters)?;
    let is_drive = spec.flash.is_some() || spec.fast_area.is_some();
    let drives = if is_drive { setup.files.iter().map(drive_of).collect() } else { Vec::new() };
    let engine = Sim {
        drives,
        sizes: setup.files.iter().map(|f| f.size_bytes).collect(),
        now_ns: 0,
        random: SplitMix(spec.seed),
        count: 0,
        busy_until: BinaryHeap::new(),
        next_start_ns: 0,
        in_flight: BinaryHeap::with_capacity(setup.depth as usize),
        spec,
    };
    Ok((engine, Vec::new()))
}

impl Sim {
    fn issue(&mut self, io: &Io) {
        self.count += 1;
        self.now_ns += self.spec.cpu_ns;
        let mut result = Ok(self.bytes_inside(io));
        let mut service_ns = self.service_time(io.op);
        if io.op == Op::Write
            && let Some(drive) = self.drives.get(io.file as usize)
        {
            let mut drive = drive.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(flash) = self.spec.flash {
                service_ns = drive.write(flash, io.offset, io.len, service_ns);
            }
            if let Some(area) = self.spec.fast_area {
                service_ns = drive.write_fast(area, io.len, service_ns, Instant::now());
            }
        }
        for (fault, place) in &self.spec.faults {
            if !place.hits(self.count, io.offset, io.len, || self.random.next()) {
                continue;
            }
            match *fault {
                Fault::Error(error) => result = Err(error),
                Fault::Short(len) => result = result.map(|n| n.min(len)),
                Fault::Stall(Some(more)) => service_ns = service_ns.saturating_add(more),
                Fault::Stall(None) => service_ns = NEVER,
            }
        }
        let end_ns = if service_ns == NEVER { NEVER } else { self.serve(service_ns) };
        self.in_flight.push(Reverse((end_ns, self.count, Completion { slot: io.slot, result })));
    }

    /// Gives the I/O a channel and a place under the rate limit; when it ends.
    fn serve(&mut self, service_ns: u64) -> u64 {
        let mut start_ns = self.now_ns.max(self.next_start_ns);
        if self.busy_until.len() >= self.spec.channels as usize
            && let Some(Reverse(free_ns)) = self.busy_until.pop()
        {
            start_ns = start_ns.max(free_ns);
        }
        self.next_start_ns = start_ns.saturating_add(self.spec.spacing_ns);
        let end_ns = start_ns.saturating_add(service_ns).min(NEVER - 1);
        if self.spec.channels < u32::MAX {
            self.busy_until.push(Reverse(end_ns));
        }
        end_ns
    }

    fn bytes_inside(&self, io: &Io) -> u32 {
        match io.op {
            Op::Write | Op::Flush | Op::FlushData => io.len,
            Op::Trim => 0,
            Op::Read => {
                let left = self.sizes[io.file as usize].saturating_sub(io.offset);
                u32::try_from(left).map_or(io.len, |left| left.min(io.len))
            }
        }
    }

    fn service_time(&mut self, op: Op) -> u64 {
        let latency_ns = match op {
            Op::Read => self.spec.read_latency_ns,
            Op::Write => self.spec.write_latency_ns,
            Op::Flush | Op::FlushData => self.spec.flush_latency_ns,
            Op::Trim => self.spec.trim_latency_ns,
        };
        match self.spec.jitter {
            Jitter::None => latency_ns,
            // 1 - u is in (0, 1].
            Jitter::Exponential => (-(1.0 - self.random.fraction()).ln() * latency_ns as f64) as u64,
            Jitter::Uniform => ((0.5 + self.random.fraction()) * latency_ns as f64) as u64,
            // Never below two thirds of the mean.
            Jitter::Pareto => (latency_ns as f64 / 1.5 / (1.0 - self.random.fraction()).cbrt()) as u64,
        }
    }

    /// When the `n`-th of the I/Os in flight ends, counted from 1.
    fn nth_end(&self, n: usize) -> u64 {
        let mut ends: Vec<u64> = self.in_flight.iter().map(|Reverse((end_ns, ..))| *end_ns).collect();
        let n = n.min(ends.len()) - 1;
        *ends.select_nth_unstable(n).1
    }

    /// Lets time pass until `min` I/Os are finished or the time limit is over.
    fn wait(&mut self, min: u32, timeout: Option<Duration>) {
        let end_ns = match min {
            // The common case needs no sorting.
            1 => self.in_flight.peek().map_or(NEVER, |Reverse((end_ns, ..))| *end_ns),
            n => self.nth_end(n as usize),
        };
        let limit_ns =
            timeout.map(|t| self.now_ns.saturating_add(u64::try_from(t.as_nanos()).unwrap_or(NEVER)));
        match limit_ns {
            Some(limit_ns) => self.now_ns = self.now_ns.max(end_ns.min(limit_ns)),
            // A hung device: only a signal ends the wait, as with the engines that are real.
            None if end_ns == NEVER => signals::wait_for_any(),
            None => self.now_ns = self.now_ns.max(end_ns),
        }
    }
}

impl Engine for Sim {
    fn submit(&mut self, ios: &[Io]) -> Result {
        for io in ios {
            self.issue(io);
        }
        Ok(())
    }

    fn reap(&mut self, min: u32, max: u32, timeout: Option<Duration>, done: &mut Vec<Completion>) -> Result {
        if min > 0 && !self.in_flight.is_empty() {
            self.wait(min, timeout);
        }
        for _ in 0..max {
            match self.in_flight.peek() {
                Some(Reverse((end_ns, _, finished))) if *end_ns <= self.now_ns => {
                    done.push(*finished);
                    self.in_flight.pop();
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn in_flight(&self) -> u32 {
        self.in_flight.len() as u32
    }

    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32 {
        let until_ns =
            self.now_ns.saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(NEVER)).min(NEVER - 1);
        while let Some(Reverse((end_ns, _, finished))) = self.in_flight.peek() {
            if *end_ns > until_ns {
                self.now_ns = until_ns;
                break;
            }
            self.now_ns = self.now_ns.max(*end_ns);
            done.push(*finished);
            self.in_flight.pop();
        }
        self.in_flight()
    }

    fn virtual_now_ns(&self) -> Option<u64> {
        Some(self.now_ns)
    }

    fn advance_virtual(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }
}

/// Vigna's SplitMix64: one word of state, good enough for service times.
#[derive(Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub(super) const NAME: &str = "sim";

/// One line on every parameter of `sim`, for help and refusals.
pub const KEYS: &str = "latency=TIME, write_latency=TIME, flush_latency=TIME, trim_latency=TIME, \
    jitter=none|exp|uniform|pareto, channels=N, iops=N, cpu=TIME, seed=N, ftl=TIME+SPARE (a flash drive: a \
    write takes write_latency while it is fresh, TIME once it was written at random), slc=TIME+SIZE+RATE (a \
    fast area of SIZE: a write takes TIME once it is full, and a rest empties RATE bytes of it per second), \
    error=KIND[WHERE], short=SIZE[WHERE], stall=TIME|forever[WHERE]; TIME is a number with ns, us, ms or s; \
    WHERE is @OFFSET+LENGTH (I/Os that touch that range), #N (the N-th I/O), %N (every N-th) or ~N (one in \
    N at random); sizes take K, M, G, T";

/// Names of the errors that can be injected.
const ERRORS: &[(&str, IoError)] = &[
    ("eio", IoError::IO),
    ("enodata", IoError::NO_DATA),
    ("enospc", IoError::NO_SPACE),
    ("edquot", IoError::DISK_QUOTA),
    ("erofs", IoError::READ_ONLY),
    ("einval", IoError::INVALID),
    ("eagain", IoError::AGAIN),
    ("etimedout", IoError::TIMED_OUT),
    ("enxio", IoError::NO_ADDRESS),
    ("enolink", IoError::NO_LINK),
    ("eremoteio", IoError::REMOTE_IO),
    ("eilseq", IoError::CHECKSUM),
    ("estale", IoError::STALE),
];

/// How service times spread around the latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Jitter {
    None,
    /// Exponential with the latency as mean.
    Exponential,
    /// Uniform between half and one and a half times the latency.
    Uniform,
    /// A long tail: Pareto's law of index 3 with the latency as mean.
    Pareto,
}

/// Which I/Os a fault hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    Everywhere,
    /// Those that touch a byte of the range.
    Range {
        start: u64,
        len: u64,
    },
    /// The N-th I/O of the engine, counted from 1.
    Nth(u64),
    Each(u64),
    /// One in N at random.
    OneIn(u64),
}

impl Where {
    /// Whether it hits an I/O; `draw` gives a random number.
    pub(super) fn hits(self, number: u64, offset: u64, len: u32, draw: impl FnOnce() -> u64) -> bool {
        match self {
            Where::Everywhere => true,
            Where::Range { start, len: range } => {
                offset < start.saturating_add(range) && start < offset.saturating_add(u64::from(len))
            }
            Where::Nth(n) => number == n,
            Where::Each(n) => number.is_multiple_of(n),
            Where::OneIn(n) => draw().is_multiple_of(n),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The I/O fails with it.
    Error(IoError),
    /// At most this many bytes are moved.
    Short(u32),
    /// The I/O takes this much longer; nothing: it never ends.
    Stall(Option<u64>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spec {
    pub read_latency_ns: u64,
    pub write_latency_ns: u64,
    pub flush_latency_ns: u64,
    pub trim_latency_ns: u64,
    pub jitter: Jitter,
    /// I/Os served at the same time.
    pub channels: u32,
    /// Shortest time between two starts of service, in nanoseconds; 0 = no rate limit.
    pub spacing_ns: u64,
    /// Time that submitting one I/O takes.
    pub cpu_ns: u64,
    pub seed: u64,
    /// It is a flash drive.
    pub flash: Option<Flash>,
    /// It has a fast area.
    pub fast_area: Option<FastArea>,
    pub faults: Vec<(Fault, Where)>,
}

/// Latencies that were given; without one, writes take as long as reads, and flushes and trims as long as writes.
#[derive(Debug, Default)]
struct OwnLatencies {
    write_ns: Option<u64>,
    flush_ns: Option<u64>,
    trim_ns: Option<u64>,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            read_latency_ns: 100_000,
            write_latency_ns: 100_000,
            flush_latency_ns: 100_000,
            trim_latency_ns: 100_000,
            jitter: Jitter::None,
            channels: u32::MAX,
            spacing_ns: 0,
            cpu_ns: 0,
            seed: 0,
            flash: None,
            fast_area: None,
            faults: Vec::new(),
        }
    }
}

impl Spec {
    /// Reads the parameters.
    ///
    /// # Errors
    /// Names the parameter, what is wrong with it, and all legal keys.
    pub(super) fn parse(text: &str) -> Result<Spec> {
        let mut spec = Spec::default();
        let mut own = OwnLatencies::default();
        for item in text.split(',').filter(|item| !item.is_empty()) {
            spec.take(item, &mut own).map_err(|problem| EngineError::Parameter {
                engine: NAME,
                item: item.to_string(),
                problem,
                legal: KEYS,
            })?;
        }
        spec.write_latency_ns = own.write_ns.unwrap_or(spec.read_latency_ns);
        spec.flush_latency_ns = own.flush_ns.unwrap_or(spec.write_latency_ns);
        spec.trim_latency_ns = own.trim_ns.unwrap_or(spec.write_latency_ns);
        let latencies_ns = [spec.read_latency_ns, spec.write_latency_ns, spec.trim_latency_ns];
        let some_take_no_time = latencies_ns.contains(&0);
        if some_take_no_time && spec.cpu_ns == 0 && spec.spacing_ns == 0 {
            return Err(EngineError::Setup {
                engine: NAME,
                action: format!("reading the parameters \"{text}\""),
                error: "I/Os that take no time would let simulated time stand still and the run never end; give a \
                        latency above 0, or a processor time per I/O (cpu=)"
                    .into(),
            });
        }
        Ok(spec)
    }

    fn take(&mut self, item: &str, own: &mut OwnLatencies) -> Result<(), String> {
        let (key, value) = item.split_once('=').ok_or("a value is missing")?;
        match key {
            "latency" => self.read_latency_ns = time(value)?,
            "write_latency" => own.write_ns = Some(time(value)?),
            "flush_latency" => own.flush_ns = Some(time(value)?),
            "trim_latency" => own.trim_ns = Some(time(value)?),
            "jitter" => {
                self.jitter = match value {
                    "none" => Jitter::None,
                    "exp" => Jitter::Exponential,
                    "uniform" => Jitter::Uniform,
                    "pareto" => Jitter::Pareto,
                    _ => return Err(format!("\"{value}\" is not one of none, exp, uniform, pareto")),
                }
            }
            "channels" => self.channels = positive(value)?.try_into().map_err(|_| "too many channels")?,
            "iops" => self.spacing_ns = (1_000_000_000 / positive(value)?).max(1),
            "cpu" => self.cpu_ns = time(value)?,
            "seed" => self.seed = number(value)?,
            "ftl" => {
                let (slow, spare) = value.split_once('+').ok_or("a drive is written TIME+SPARE: 1ms+64M")?;
                self.flash = Some(Flash { slow_ns: time(slow)?, spare_bytes: size(spare)? });
            }
            "slc" => {
                let parts: Vec<&str> = value.split('+').collect();
                let [slow, area, rate] = parts[..] else {
                    return Err("a fast area is written TIME+SIZE+RATE: 4ms+64M+1M".to_string());
                };
                self.fast_area = Some(FastArea {
                    slow_ns: time(slow)?,
                    size_bytes: size(area)?,
                    emptied_bytes: size(rate)?,
                });
            }
            "error" | "short" | "stall" => self.faults.push(fault(key, value)?),
            _ => return Err(format!("there is no parameter \"{key}\"")),
        }
        Ok(())
    }
}

/// A fault with the place it hits.
fn fault(key: &str, value: &str) -> Result<(Fault, Where), String> {
    let split = value.find(['@', '#', '%', '~']).unwrap_or(value.len());
    let (what, place) = value.split_at(split);
    let fault = match key {
        "error" => {
            let known = ERRORS.iter().find(|(name, _)| name.eq_ignore_ascii_case(what));
            let (_, error) = known.ok_or_else(|| {
                let names: Vec<&str> = ERRORS.iter().map(|(name, _)| *name).collect();
                format!("\"{what}\" is not one of the errors {}", names.join(", "))
            })?;
            Fault::Error(*error)
        }
        "short" => Fault::Short(size(what)?.try_into().map_err(|_| "a transfer must be smaller than 4 GiB")?),
        _ if what == "forever" => Fault::Stall(None),
        _ => Fault::Stall(Some(time(what)?)),
    };
    Ok((fault, locate(place)?))
}

fn locate(place: &str) -> Result<Where, String> {
    let Some(kind) = place.chars().next() else { return Ok(Where::Everywhere) };
    let rest = &place[1..];
    match kind {
        '#' => Ok(Where::Nth(positive(rest)?)),
        '%' => Ok(Where::Each(positive(rest)?)),
        '~' => Ok(Where::OneIn(positive(rest)?)),
        _ => {
            let (start, len) = rest.split_once('+').ok_or("a range is written @OFFSET+LENGTH")?;
            Ok(Where::Range { start: size(start)?, len: size(len)? })
        }
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("\"{text}\" is not a whole number"))
}

fn positive(text: &str) -> Result<u64, String> {
    match number(text)? {
        0 => Err("0 is not allowed".into()),
        n => Ok(n),
    }
}

fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = with_unit(text);
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        unit => return Err(format!("\"{unit}\" is not one of the units K, M, G, T")),
    };
    number?.checked_mul(1 << shift).ok_or_else(|| format!("{text} is too large"))
}

fn time(text: &str) -> Result<u64, String> {
    let (number, unit) = with_unit(text);
    let unit_ns = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "" => return Err(format!("\"{text}\" has no unit (ns, us, ms, s)")),
        unit => return Err(format!("\"{unit}\" is not one of the units ns, us, ms, s")),
    };
    number?.checked_mul(unit_ns).ok_or_else(|| format!("{text} is too long"))
}

/// A number and the letters behind it.
fn with_unit(text: &str) -> (Result<u64, String>, &str) {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    (number(digits), &text[digits.len()..])
}

pub(super) const NULL_NAME: &str = "null";

#[derive(Debug)]
pub(super) struct Null {
    /// Taken and not yet returned are those from `next` on.
    taken: Vec<Completion>,
    next: usize,
}

pub(super) fn open_null(setup: Setup) -> Result<(Null, Vec<String>)> {
    check_setup(NULL_NAME, &setup, u32::MAX)?;
    // A batch can arrive while the rest of the previous one is still to be returned.
    let taken = Vec::with_capacity(setup.depth as usize * 2);
    Ok((Null { taken, next: 0 }, Vec::new()))
}

impl Engine for Null {
    #[inline]
    fn submit(&mut self, ios: &[Io]) -> Result {
        if self.taken.len() + ios.len() > self.taken.capacity() {
            self.taken.drain(..self.next);
            self.next = 0;
        }
        for io in ios {
            self.taken.push(Completion { slot: io.slot, result: Ok(io.len) });
        }
        Ok(())
    }

    #[inline]
    fn reap(
        &mut self,
        _min: u32,
        max: u32,
        _timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result {
        let count = (self.taken.len() - self.next).min(max as usize);
        // One by one: for the few there are, a call that copies memory costs more.
        for completion in &self.taken[self.next..self.next + count] {
            done.push(*completion);
        }
        self.next += count;
        if self.next == self.taken.len() {
            self.taken.clear();
            self.next = 0;
        }
        Ok(())
    }

    #[inline(always)]
    fn exchange(
        &mut self,
        ios: &[Io],
        min: u32,
        max: u32,
        timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result {
        if !self.taken.is_empty() || ios.len() > max as usize {
            self.submit(ios)?;
            return self.reap(min, max, timeout, done);
        }
        // Nothing is left over from before and nothing will be: no need to keep them in between.
        for io in ios {
            done.push(Completion { slot: io.slot, result: Ok(io.len) });
        }
        Ok(())
    }

    fn in_flight(&self) -> u32 {
        (self.taken.len() - self.next) as u32
    }

    fn drain(&mut self, _limit: Duration, done: &mut Vec<Completion>) -> u32 {
        done.extend(self.taken.drain(..).skip(self.next));
        self.next = 0;
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_stands_still_is_refused() {
        for text in ["latency=0ns", "write_latency=0us", "latency=0s,channels=4"] {
            let words = Spec::parse(text).unwrap_err().to_string();
            assert!(words.contains("never end"), "{words}");
        }
        assert!(Spec::parse("latency=0ns,cpu=1us").is_ok());
        assert!(Spec::parse("latency=0ns,iops=1000").is_ok());
    }

    #[test]
    fn everything_at_once() {
        let spec = Spec::parse(
            "latency=250us,write_latency=2ms,jitter=exp,channels=8,iops=2000,cpu=300ns,seed=7,ftl=2ms+64M,error=eio@1M+64K,\
             short=512#3,stall=forever%10,stall=1s,stall=5ms~200",
        )
        .expect("legal");
        assert_eq!((spec.read_latency_ns, spec.write_latency_ns), (250_000, 2_000_000));
        assert_eq!((spec.jitter, spec.channels, spec.spacing_ns), (Jitter::Exponential, 8, 500_000));
        assert_eq!((spec.cpu_ns, spec.seed), (300, 7));
        assert_eq!(spec.flash, Some(Flash { slow_ns: 2_000_000, spare_bytes: 64 << 20 }));
        let place = Where::Range { start: 1 << 20, len: 64 << 10 };
        assert_eq!(
            spec.faults,
            [
                (Fault::Error(IoError::IO), place),
                (Fault::Short(512), Where::Nth(3)),
                (Fault::Stall(None), Where::Each(10)),
                (Fault::Stall(Some(1_000_000_000)), Where::Everywhere),
                (Fault::Stall(Some(5_000_000)), Where::OneIn(200)),
            ]
        );
        assert_eq!(Spec::parse("").expect("all have defaults"), Spec::default());
        assert_eq!(Spec::parse("latency=1us").expect("legal").write_latency_ns, 1000, "writes follow reads");
    }

    #[test]
    fn mistakes_are_named_with_what_is_legal() {
        for (text, says) in [
            ("latency", "a value is missing"),
            ("latency=100", "no unit"),
            ("latency=5min", "min"),
            ("latency=99999999999s", "too long"),
            ("latencz=1us", "no parameter \"latencz\""),
            ("channels=0", "0 is not allowed"),
            ("iops=-1", "not a whole number"),
            ("jitter=normal", "is not one of none, exp, uniform, pareto"),
            ("error=ebroken", "is not one of the errors eio"),
            ("error=eio@1M", "@OFFSET+LENGTH"),
            ("error=eio@1X+1", "is not one of the units K, M, G, T"),
            ("ftl=1ms", "TIME+SPARE"),
            ("slc=1ms+64M", "TIME+SIZE+RATE"),
            ("short=8G", "smaller than 4 GiB"),
            ("stall=1s#0", "0 is not allowed"),
        ] {
            let told = Spec::parse(text).expect_err(text).to_string();
            assert!(told.contains(says) && told.contains(text), "{text}: {told}");
            assert!(told.contains("latency=TIME"), "legal keys are named: {told}");
        }
    }

    #[test]
    fn ranges_hit_what_touches_them() {
        let place = Where::Range { start: 100, len: 10 };
        for (offset, len, hit) in
            [(90, 10, false), (90, 11, true), (109, 1, true), (110, 5, false), (0, 500, true)]
        {
            assert_eq!(place.hits(1, offset, len, || 0), hit, "{offset}+{len}");
        }
        let hits = |place: Where, number| place.hits(number, 0, 1, || number);
        assert!(hits(Where::Nth(2), 2) && !hits(Where::Nth(2), 4));
        assert!(hits(Where::Each(2), 4) && !hits(Where::Each(2), 5));
        assert!(hits(Where::OneIn(3), 6) && !hits(Where::OneIn(3), 7));
    }
}

#[cfg(test)]
mod tests_null {
    use super::*;
    use crate::engine::Op;

    #[test]
    fn an_exchange_is_a_submission_and_then_a_look() {
        let setup = Setup {
            depth: 4,
            files: Vec::new(),
            regions: Vec::new(),
            registered_buffers: false,
            trims: false,
            parameters: String::new(),
        };
        let (mut engine, _) = open_null(setup).expect("null needs nothing");
        let ios: Vec<Io> = (0..4)
            .map(|slot| Io {
                slot,
                file: 0,
                region: 0,
                op: Op::Read,
                len: 512 + slot,
                region_offset: 0,
                offset: 0,
            })
            .collect();
        let mut exchange = |ios: &[Io], max: u32| {
            let mut done = Vec::new();
            engine.exchange(ios, 0, max, None, &mut done).expect("never fails");
            assert!(done.iter().all(|c: &Completion| c.result == Ok(512 + c.slot)));
            (done.iter().map(|c| c.slot).collect::<Vec<_>>(), engine.in_flight())
        };
        assert_eq!(exchange(&ios[..2], 2), (vec![0, 1], 0));
        assert_eq!(exchange(&ios[..3], 2), (vec![0, 1], 1), "no more than asked for");
        assert_eq!(exchange(&ios[3..], 16), (vec![2, 3], 0), "what was left over comes first");
        assert_eq!(exchange(&[], 16), (vec![], 0));
    }
}
