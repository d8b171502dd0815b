//! Command line, input parameters, system information.

use super::cursor::{Line, Lines};
use super::results::{absolute_range, check_shares};
use super::{Outcome, ProfileText, RangeText, SizeText, SpanText, SystemText, TargetText};

pub fn profile(lines: &mut Lines) -> Outcome<ProfileText> {
    lines.exact("")?;
    let command_line = lines.after("Command Line: ")?;
    if command_line.rest.is_empty() {
        return command_line.fault("no program name");
    }
    let command_line = command_line.rest.to_string();
    lines.exact("")?;
    let experiment_flags = match lines.optional_after("Experiment Flags: 0x") {
        None => None,
        Some(line) => Some(experiment(lines, line)?),
    };
    lines.exact("Input parameters:")?;
    lines.exact("")?;
    let verbose = lines.optional("\tusing verbose mode");
    let mut spans = Vec::new();
    while lines.peek().is_some_and(|line| line.starts_with("\ttimespan:")) {
        spans.push(span(lines, spans.len() as u64 + 1)?);
    }
    if spans.is_empty() {
        return lines.line("\ttimespan:   1")?.fault("expected a time span");
    }
    Ok(ProfileText { command_line, experiment_flags, verbose, spans })
}

fn experiment(lines: &mut Lines, mut line: Line) -> Outcome<u64> {
    let hex = line.rest.split(' ').next().unwrap_or("").to_string();
    line.literal(&hex)?;
    line.literal(" (")?;
    let value = line.uint(0)?;
    line.literal(")")?;
    line.end()?;
    if value == 0 || hex != format!("{value:x}") {
        return line.fault(&format!("{hex} and {value} are not the same flags"));
    }
    lines.exact("")?;
    Ok(value)
}

fn span(lines: &mut Lines, number: u64) -> Outcome<SpanText> {
    lines.exact(&format!("\ttimespan: {number:3}"))?;
    lines.exact("\t-------------")?;
    let duration_s = lines.number_line("\tduration: ", "s")?;
    let warmup_s = lines.number_line("\twarm up time: ", "s")?;
    let cooldown_s = lines.number_line("\tcool down time: ", "s")?;
    let affinity_disabled = lines.optional("\taffinity disabled");
    let latency = lines.optional("\tmeasuring latency");
    let interval_ms = optional_number(lines, "\tgathering IOPS at intervals of ", "ms")?;
    let seed = lines.number_line("\trandom seed: ", "")?;
    let pool = match optional_number(lines, "\tthread pool with ", " threads")? {
        None => None,
        Some(threads) => {
            Some((threads, lines.number_line("\tnumber of outstanding I/O operations per thread: ", "")?))
        }
    };
    let affinity = match lines.optional_after("\tadvanced affinity round robin (group/core): ") {
        None => Vec::new(),
        Some(line) => affinity(line)?,
    };
    let random_write_data = lines.optional("\tgenerating random data for each write IO");
    if random_write_data {
        lines.exact("\t  WARNING: this increases the CPU cost of issuing writes and should only")?;
        lines.exact("\t           be compared to other results using the -Zr flag")?;
    }
    let mut span = SpanText {
        duration_s,
        warmup_s,
        cooldown_s,
        affinity_disabled,
        latency,
        interval_ms,
        seed,
        pool,
        affinity,
        random_write_data,
        targets: Vec::new(),
    };
    while let Some(line) = lines.optional_after("\tpath: ") {
        let target = target(lines, line, &span)?;
        span.targets.push(target);
    }
    if span.targets.is_empty() {
        return lines.line("\tpath: ")?.fault("expected a target");
    }
    lines.exact("")?;
    Ok(span)
}

fn optional_number(lines: &mut Lines, prefix: &str, suffix: &str) -> Outcome<Option<u64>> {
    let is_there = lines.peek().is_some_and(|line| line.starts_with(prefix));
    is_there.then(|| lines.number_line(prefix, suffix)).transpose()
}

fn affinity(mut line: Line) -> Outcome<Vec<(u64, u64)>> {
    let mut list = Vec::new();
    loop {
        let group = line.uint(0)?;
        line.literal("/")?;
        list.push((group, line.uint(0)?));
        if line.rest.is_empty() {
            return Ok(list);
        }
        line.literal(", ")?;
    }
}

/// The lines of a target, each kept as written.
struct TargetLines<'l, 'a> {
    lines: &'l mut Lines<'a>,
    kept: Vec<String>,
}

impl TargetLines<'_, '_> {
    fn keep(&mut self) {
        if let Some(line) = self.lines.peek() {
            self.kept.push(line.trim_start_matches('\t').to_string());
        }
    }

    fn optional(&mut self, text: &str) -> bool {
        let text = format!("\t\t{text}");
        if self.lines.peek() == Some(&text) {
            self.keep();
        }
        self.lines.optional(&text)
    }

    fn one_of(&mut self, texts: &[&str]) -> Outcome<usize> {
        for (index, text) in texts.iter().enumerate() {
            if self.optional(text) {
                return Ok(index);
            }
        }
        self.lines.line(texts[0])?.fault(&format!("expected one of {texts:?}"))
    }

    fn number(&mut self, prefix: &str, suffix: &str) -> Outcome<u64> {
        self.keep();
        self.lines.number_line(&format!("\t\t{prefix}"), suffix)
    }

    fn size(&mut self, prefix: &str, suffix: &str) -> Outcome<SizeText> {
        self.keep();
        let mut line = self.lines.after(&format!("\t\t{prefix}"))?;
        let size = line.size(0)?;
        line.literal(suffix)?;
        line.end()?;
        Ok(size)
    }

    fn begins(&self, prefix: &str) -> bool {
        self.lines.peek().is_some_and(|line| line.starts_with(&format!("\t\t{prefix}")))
    }

    /// A size line, if there, that is never zero.
    fn optional_size(&mut self, prefix: &str) -> Outcome<bool> {
        if !self.begins(prefix) {
            return Ok(false);
        }
        let size = self.size(prefix, "")?;
        if size.bytes > 0.0 {
            return Ok(true);
        }
        Err(super::Fault { line: self.lines.number(), message: format!("{prefix}0 is never written") })
    }
}

fn target(lines: &mut Lines, mut line: Line, span: &SpanText) -> Outcome<TargetText> {
    let is_template = line.optional("template target ");
    line.literal("'")?;
    let path = line.until_last("'")?.to_string();
    line.end()?;
    let mut t = TargetLines { lines, kept: Vec::new() };
    t.number("think time: ", "ms")?;
    t.number("burst size: ", "")?;
    caches_and_buffers(&mut t)?;
    t.optional("using parallel async I/O");
    let write_percent = mix(&mut t)?;
    let block = t.size("block size: ", "")?;
    pattern(&mut t)?;
    let (mut outstanding, mut weight) = (None, None);
    if span.has_request_pool() {
        weight = Some(t.number("relative IO weight in thread pool: ", "")?);
    } else {
        outstanding = Some(t.number("number of outstanding I/O operations per thread: ", "")?);
    }
    t.optional_size("base file offset: ")?;
    t.optional_size("max file size: ")?;
    t.optional_size("thread stride size: ")?;
    for name in ["FILE_FLAG_SEQUENTIAL_SCAN", "FILE_FLAG_RANDOM_ACCESS", "FILE_ATTRIBUTE_TEMPORARY"] {
        t.optional(&format!("using {name} hint"));
    }
    let mut threads = None;
    if span.pool.is_none() {
        threads = Some(t.number("threads per file: ", "")?);
        if outstanding.is_some_and(|count| count > 1) {
            t.one_of(&["using I/O Completion Ports", "using completion routines (ReadFileEx/WriteFileEx)"])?;
        }
    }
    t.one_of(&["IO priority: normal", "IO priority: low", "IO priority: very low", "IO priority: unknown"])?;
    if t.begins("throughput rate-limited to ") {
        let line = t.lines.peek().unwrap_or("");
        let suffix = if line.ends_with(" IOPS") { " IOPS" } else { " B/ms" };
        t.number("throughput rate-limited to ", suffix)?;
    }
    let has_distribution = t.optional("IO Distribution:");
    if has_distribution {
        distribution(&mut t)?;
    }
    let lines = t.kept;
    let text = TargetText {
        path,
        is_template,
        lines,
        write_percent,
        block,
        outstanding,
        weight,
        threads,
        has_distribution,
    };
    Ok(text)
}

fn caches_and_buffers(t: &mut TargetLines) -> Outcome<()> {
    let software = t.one_of(&[
        "using software cache",
        "local software cache disabled, remote cache enabled",
        "software cache disabled",
    ])?;
    let hardware = t.one_of(&[
        "using hardware write cache, writethrough off",
        "hardware write cache disabled, writethrough on",
        "hardware and software write caches disabled, writethrough on",
    ])?;
    if hardware != 0 && (software == 2) != (hardware == 1) {
        return Err(super::Fault {
            line: t.lines.number(),
            message: "this write-through line belongs to another cache mode".to_string(),
        });
    }
    for flush in [
        "",
        ", flush mode: FlushViewOfFile",
        ", flush mode: FlushNonVolatileMemory",
        ", flush mode: FlushNonVolatileMemory with no drain",
    ] {
        if t.optional(&format!("memory mapped I/O enabled{flush}")) {
            break;
        }
    }
    t.optional("zeroing write buffers");
    if t.optional_size("write buffer size: ")? && !t.optional("write buffer source: random fill") {
        t.keep();
        let mut line = t.lines.after("\t\twrite buffer source: '")?;
        line.until_last("'")?;
        line.end()?;
    }
    Ok(())
}

/// The share of writes.
fn mix(t: &mut TargetLines) -> Outcome<u64> {
    if t.optional("performing read test") {
        return Ok(0);
    }
    if t.optional("performing write test") {
        return Ok(100);
    }
    t.keep();
    let mut line = t.lines.after("\t\tperforming mix test (read/write ratio: ")?;
    let read = line.uint(0)?;
    line.literal("/")?;
    let write = line.uint(0)?;
    line.literal(")")?;
    line.end()?;
    if read + write == 100 && read > 0 && write > 0 { Ok(write) } else { line.fault("not a mix of 100%") }
}

fn pattern(t: &mut TargetLines) -> Outcome<()> {
    for prefix in [
        "using random I/O (alignment: ",
        "using sequential I/O (stride: ",
        "using interlocked sequential I/O (stride: ",
    ] {
        if t.begins(prefix) {
            t.size(prefix, ")")?;
            return Ok(());
        }
    }
    t.keep();
    let mut line = t.lines.after("\t\tusing mixed random/sequential I/O (")?;
    let percent = line.uint(0)?;
    line.literal("% random) (alignment/stride: ")?;
    line.size(0)?;
    line.literal(")")?;
    line.end()?;
    if (1..=99).contains(&percent) { Ok(()) } else { line.fault("a mix has 1 to 99 percent") }
}

/// The ranges asked for: without gaps from 0, shares of 100%.
fn distribution(t: &mut TargetLines) -> Outcome<()> {
    let mut ranges: Vec<RangeText> = Vec::new();
    let mut kinds = Vec::new();
    while t.begins("   ") {
        t.keep();
        let line = t.lines.after("\t\t")?;
        let is_percent = line.rest.ends_with(" of target");
        kinds.push(is_percent);
        ranges.push(if is_percent { percent_range(line)? } else { absolute_range(line)? });
    }
    let fault = |message: &str| {
        Err(super::Fault { line: t.lines.number(), message: format!("{message} in the distribution before") })
    };
    if kinds.iter().any(|&kind| kind != kinds[0]) {
        return fault("percent and bytes");
    }
    let zero = SizeText { bytes: 0.0, exact: true };
    if ranges.first().is_none_or(|range| range.first != zero) {
        return fault("nothing at 0");
    }
    if ranges.windows(2).any(|pair| pair[0].end != Some(pair[1].first)) {
        return fault("a gap");
    }
    let whole = SizeText { bytes: 100.0, exact: true };
    if kinds[0] && ranges.last().is_some_and(|range| range.end != Some(whole)) {
        return fault("not all of the target");
    }
    check_shares(&ranges)
}

fn percent_range(mut line: Line) -> Outcome<RangeText> {
    let number = line.number;
    line.literal("   ")?;
    let share = line.uint(3)? as f64;
    line.literal("% of IO => [")?;
    let first = SizeText { bytes: line.uint(2)? as f64, exact: true };
    line.literal("% - ")?;
    let end = SizeText { bytes: line.uint(3)? as f64, exact: true };
    line.literal("%) of target")?;
    line.end()?;
    Ok(RangeText { line: number, share, scaled: false, first, end: Some(end) })
}

pub fn system(lines: &mut Lines) -> Outcome<SystemText> {
    lines.exact("System information:")?;
    lines.exact("")?;
    let computer_name = lines.after("\tcomputer name: ")?.rest.to_string();
    let start = lines.after("\tstart time: ")?;
    let start_time = start.rest.to_string();
    if !start_time.is_empty() {
        moment(start)?;
    }
    lines.exact("")?;
    let mut counts = [0; 5];
    for (count, name) in counts.iter_mut().zip(["cpu", "core", "group", "node", "socket"]) {
        *count = lines.number_line(&format!("\t{name} count:\t\t"), "")?;
        if *count == 0 {
            return Err(super::Fault { line: lines.number(), message: format!("{name} count is 0") });
        }
    }
    let heterogeneous = lines.after("\theterogeneous cores:\t")?;
    if !["y", "n"].contains(&heterogeneous.rest) {
        return heterogeneous.fault("expected y or n");
    }
    lines.exact("")?;
    let power_scheme = lines.after("\tactive power scheme:\t")?;
    if power_scheme.rest.is_empty() {
        return power_scheme.fault("no power scheme");
    }
    let [cpus, cores, groups, nodes, sockets] = counts;
    Ok(SystemText {
        computer_name,
        start_time,
        cpus,
        cores,
        groups,
        nodes,
        sockets,
        heterogeneous: heterogeneous.rest == "y",
        power_scheme: power_scheme.rest.to_string(),
    })
}

/// `%u/%02u/%02u %02u:%02u:%02u UTC`
fn moment(mut line: Line) -> Outcome<()> {
    line.uint(0)?;
    for (before, low, high) in [("/", 1, 12), ("/", 1, 31), (" ", 0, 23), (":", 0, 59), (":", 0, 60)] {
        line.literal(before)?;
        let Some((two, rest)) = line.rest.split_at_checked(2) else {
            return line.fault("expected two digits");
        };
        match two.parse::<u32>() {
            Ok(value) if (low..=high).contains(&value) && !two.starts_with('+') => line.rest = rest,
            _ => return line.fault("expected two digits of a moment"),
        }
    }
    line.literal(" UTC")?;
    line.end()
}
