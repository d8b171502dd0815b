//! Whether the figures of a document agree with each other, within what rounding explains.

use std::collections::BTreeSet;

use super::results::CHART_ROWS;
use super::{
    Chart, CpuRow, DistributionGroup, Fault, Outcome, Parsed, RangeText, ResultText, Row, SpanText,
    SystemText, Table, TotalsText,
};

/// Half of the last digit of figures with two and three decimals, and a little for binary fractions.
const HALF_2: f64 = 0.005 + 1e-9;
const HALF_3: f64 = 0.0005 + 1e-9;

fn fault<T>(line: usize, message: impl Into<String>) -> Outcome<T> {
    Err(Fault { line, message: message.into() })
}

fn ensure(holds: bool, line: usize, message: impl Fn() -> String) -> Outcome<()> {
    if holds { Ok(()) } else { fault(line, message()) }
}

pub fn document(parsed: &Parsed) -> Outcome<()> {
    let mut ranges = Vec::new();
    for (span, result) in parsed.profile.spans.iter().zip(&parsed.results) {
        if let Some(result) = result {
            ranges.push(time_span(span, &parsed.system, result)?);
        }
    }
    let with_waits = parsed.results.iter().flatten().filter(|result| result.waits.is_some()).count();
    ensure(with_waits == 0 || with_waits == ranges.len(), 0, || {
        "wait statistics in some time spans only".to_string()
    })?;
    match &parsed.totals {
        None => Ok(()),
        Some(totals) => totals_block(totals, parsed, &ranges),
    }
}

fn time_span(span: &SpanText, system: &SystemText, result: &ResultText) -> Outcome<TimeRange> {
    ensure(result.threads == span.threads(), result.line, || {
        format!("thread count {}, but the parameters say {}", result.threads, span.threads())
    })?;
    let requests = span.pool.map(|(_, requests)| requests).filter(|&requests| requests > 0);
    ensure(result.requests == requests, result.line, || "request count differs from -O".to_string())?;
    cpu(system, &result.cpu, &result.cpu_mean)?;
    let [total, read, write] = &result.tables;
    let served = rows_of_threads(span, total)?;
    let mut time = TimeRange::around(result.time_s);
    for table in [total, read, write] {
        same_rows(total, table)?;
        for row in table.rows.iter().chain([&table.total]) {
            time.narrow(row.line, row.bytes, row.ios, row.mib_per_s, row.ios_per_s)?;
            no_io_no_figures(row)?;
        }
        let parts: Vec<&Row> = table.rows.iter().collect();
        combine(&parts, &table.total)?;
    }
    let all = |table: &Table| -> Vec<Row> { table.rows.iter().chain([&table.total]).cloned().collect() };
    for ((total, read), write) in all(total).iter().zip(&all(read)).zip(&all(write)) {
        combine(&[read, write], total)?;
    }
    for ((read, write), &target) in read.rows.iter().zip(&write.rows).zip(&served) {
        let write_percent = span.targets[target].write_percent;
        ensure(write_percent > 0 || write.ios == 0, write.line, || "writes in a read test".to_string())?;
        ensure(write_percent < 100 || read.ios == 0, read.line, || "reads in a write test".to_string())?;
    }
    distributions(span, result, &served)?;
    charts(result)?;
    waits(result)?;
    Ok(time)
}

fn cpu(system: &SystemText, rows: &[CpuRow], mean: &[f64; 4]) -> Outcome<()> {
    let line = rows.first().map_or(0, |row| row.line);
    for pair in rows.windows(2) {
        let key = |row: &CpuRow| (row.group.unwrap_or(0), row.cpu);
        ensure(key(&pair[0]) < key(&pair[1]), pair[1].line, || "processors in disorder".to_string())?;
    }
    for row in rows {
        let [usage, user, kernel, idle] = row.percent;
        ensure((usage + idle - 100.0).abs() < 0.02 + 1e-6, row.line, || {
            "usage + idle is not 100".to_string()
        })?;
        ensure((user + kernel - usage).abs() < 0.02 + 1e-6, row.line, || {
            "user + kernel is not usage".to_string()
        })?;
    }
    for (column, mean) in mean.iter().enumerate() {
        let sum: f64 = rows.iter().map(|row| row.percent[column]).sum();
        let expected = sum / rows.len() as f64;
        ensure((expected - mean).abs() < 0.01 + 1e-6, line, || {
            format!("avg. {mean} is not the mean {expected}")
        })?;
    }
    let distinct =
        |value: fn(&CpuRow) -> Option<u64>| rows.iter().filter_map(value).collect::<BTreeSet<_>>().len();
    let counts = [
        ("socket", distinct(|row| row.socket), system.sockets, system.sockets > 1),
        ("group", distinct(|row| row.group), system.groups, system.groups > 1),
    ];
    for (name, found, expected, shown) in counts {
        ensure(!shown || found as u64 == expected, line, || format!("{found} {name}s, not {expected}"))?;
    }
    // A node may have memory only.
    let nodes = distinct(|row| row.node) as u64;
    ensure(nodes <= system.nodes, line, || format!("{nodes} nodes, not {}", system.nodes))?;
    if rows.iter().any(|row| row.core.is_some()) {
        let cores: BTreeSet<_> = rows.iter().map(|row| (row.group, row.core)).collect();
        let mut next = std::collections::BTreeMap::new();
        for (group, core) in &cores {
            let next = next.entry(*group).or_insert(0);
            ensure(*core == Some(*next), line, || format!("core {next} of group {group:?} is missing"))?;
            *next += 1;
        }
        ensure(cores.len() as u64 == system.cores, line, || {
            format!("{} cores, not {}", cores.len(), system.cores)
        })?;
    }
    let best = rows.iter().filter_map(|row| row.class).map(|(class, _)| class).max();
    for row in rows {
        let marked = row.class.is_none_or(|(class, is_best)| is_best == (Some(class) == best));
        ensure(marked, row.line, || "P does not mark the highest class".to_string())?;
    }
    ensure(!system.heterogeneous || best > Some(0), line, || "heterogeneous with class 0 only".to_string())
}

/// Which target each row is about; rows must be the threads in order, each with its targets in order.
fn rows_of_threads(span: &SpanText, table: &Table) -> Outcome<Vec<usize>> {
    let matches = |row: &Row, target: usize| {
        let target = &span.targets[target];
        target.is_template || target.path == row.path
    };
    let mut served = Vec::new();
    if span.pool.is_none() {
        let owners = span.targets.iter().enumerate();
        let owners: Vec<usize> = owners
            .flat_map(|(index, t)| std::iter::repeat_n(index, t.threads.unwrap_or(0) as usize))
            .collect();
        ensure(owners.len() == table.rows.len(), table.total.line, || {
            format!("{} rows for {} threads", table.rows.len(), owners.len())
        })?;
        for (index, (row, &target)) in table.rows.iter().zip(&owners).enumerate() {
            let is_right = row.thread == Some(index as u64) && matches(row, target);
            ensure(is_right, row.line, || format!("not the row of thread {index}"))?;
        }
        return Ok(owners);
    }
    let mut rows = table.rows.iter().peekable();
    for thread in 0..span.threads() {
        let mut target = 0;
        let mut count = 0;
        while let Some(row) = rows.next_if(|row| row.thread == Some(thread)) {
            while target < span.targets.len() && !matches(row, target) {
                target += 1;
            }
            ensure(target < span.targets.len(), row.line, || "not a target, or out of order".to_string())?;
            served.push(target);
            target += 1;
            count += 1;
        }
        ensure(count > 0, table.total.line, || format!("thread {thread} has no row"))?;
    }
    ensure(rows.next().is_none(), table.total.line, || "rows of unknown threads".to_string())?;
    Ok(served)
}

/// All three tables have the same rows, and a path has one size.
fn same_rows(model: &Table, table: &Table) -> Outcome<()> {
    ensure(model.rows.len() == table.rows.len(), table.total.line, || {
        "other rows than Total IO".to_string()
    })?;
    for (a, b) in model.rows.iter().zip(&table.rows) {
        let same = a.thread == b.thread && a.path == b.path && a.size == b.size;
        ensure(same, b.line, || "another row than in Total IO".to_string())?;
        let twin = model.rows.iter().find(|row| row.path == a.path);
        ensure(twin.is_none_or(|twin| twin.size == a.size), b.line, || {
            "another size of the same path".to_string()
        })?;
    }
    Ok(())
}

fn no_io_no_figures(row: &Row) -> Outcome<()> {
    let is_idle = row.ios == 0;
    ensure(!is_idle || row.bytes == 0, row.line, || "bytes without I/Os".to_string())?;
    ensure(!is_idle || row.latency_mean.is_none_or(|mean| mean == 0.0), row.line, || {
        "AvgLat without I/Os".to_string()
    })?;
    ensure(!is_idle || row.iops_dev.is_none_or(|dev| dev == 0.0), row.line, || {
        "IopsStdDev without I/Os".to_string()
    })?;
    ensure(row.latency_dev.is_none_or(|dev| dev.is_none() == is_idle), row.line, || {
        "LatStdDev is N/A exactly without I/Os".to_string()
    })
}

/// `whole` is what `parts` are together.
fn combine(parts: &[&Row], whole: &Row) -> Outcome<()> {
    let bytes: u64 = parts.iter().map(|row| row.bytes).sum();
    let ios: u64 = parts.iter().map(|row| row.ios).sum();
    ensure(bytes == whole.bytes, whole.line, || {
        format!("{} bytes, but the parts have {bytes}", whole.bytes)
    })?;
    ensure(ios == whole.ios, whole.line, || format!("{} I/Os, but the parts have {ios}", whole.ios))?;
    let busy: Vec<&&Row> = parts.iter().filter(|row| row.ios > 0).collect();
    if let [only] = busy[..] {
        let same = only.latency_mean == whole.latency_mean
            && only.iops_dev == whole.iops_dev
            && only.latency_dev == whole.latency_dev;
        ensure(same, whole.line, || "figures differ from those of its only part".to_string())?;
    }
    let (Some(mean), Some(Some(dev))) = (whole.latency_mean, whole.latency_dev) else { return Ok(()) };
    // Bounds of the mean and of the mean square over all I/Os, from the rounded figures of the parts.
    let (mut mean_low, mut mean_high, mut square_low, mut square_high) = (0.0, 0.0, 0.0, 0.0);
    for row in busy {
        let weight = row.ios as f64 / ios as f64;
        let (Some(m), Some(Some(s))) = (row.latency_mean, row.latency_dev) else {
            return fault(row.line, "no latency");
        };
        let (m_low, m_high) = ((m - HALF_3).max(0.0), m + HALF_3);
        let (s_low, s_high) = ((s - HALF_3).max(0.0), s + HALF_3);
        mean_low += weight * m_low;
        mean_high += weight * m_high;
        square_low += weight * (m_low * m_low + s_low * s_low);
        square_high += weight * (m_high * m_high + s_high * s_high);
    }
    let is_mean = mean_low - HALF_3 <= mean && mean <= mean_high + HALF_3;
    ensure(is_mean, whole.line, || format!("AvgLat {mean} is not in {mean_low}..{mean_high}"))?;
    let dev_low = (square_low - (mean + HALF_3).powi(2)).max(0.0).sqrt() - HALF_3;
    let dev_high = (square_high - (mean - HALF_3).max(0.0).powi(2)).max(0.0).sqrt() + HALF_3;
    let is_dev = dev_low <= dev && dev <= dev_high;
    ensure(is_dev, whole.line, || format!("LatStdDev {dev} is not in {dev_low}..{dev_high}"))
}

/// Where the exact measured time must lie, from everything that was divided by it.
#[derive(Clone, Copy)]
struct TimeRange {
    low: f64,
    high: f64,
}

impl TimeRange {
    fn around(time_s: f64) -> Self {
        TimeRange { low: (time_s - HALF_2).max(0.0), high: time_s + HALF_2 }
    }

    fn narrow(&mut self, line: usize, bytes: u64, ios: u64, mib_per_s: f64, ios_per_s: f64) -> Outcome<()> {
        for (amount, rate, name) in
            [(bytes as f64 / 1_048_576.0, mib_per_s, "MiB/s"), (ios as f64, ios_per_s, "I/O per s")]
        {
            if amount == 0.0 {
                ensure(rate == 0.0, line, || format!("{name} without I/Os"))?;
                continue;
            }
            let half = HALF_2 + rate * 1e-12;
            self.low = self.low.max(amount / (rate + half));
            if rate > half {
                self.high = self.high.min(amount / (rate - half));
            }
            let fits = self.low <= self.high * (1.0 + 1e-9);
            ensure(fits, line, || format!("{name} {rate} does not fit the measured time"))?;
        }
        Ok(())
    }
}

fn distributions(span: &SpanText, result: &ResultText, served: &[usize]) -> Outcome<()> {
    let table = &result.tables[0];
    let mut wanted: Vec<(&str, u64)> = Vec::new();
    for (row, &target) in table.rows.iter().zip(served) {
        if span.targets[target].has_distribution {
            wanted.push((&row.path, row.thread.unwrap_or(0)));
        }
    }
    let groups = &result.distributions;
    let mut listed: Vec<(&str, u64)> = Vec::new();
    for group in groups {
        for pair in group.users.windows(2) {
            ensure(pair[0].0 < pair[1].0, group.line, || "paths in disorder".to_string())?;
        }
        for (path, threads) in &group.users {
            listed.extend(threads.iter().map(|&thread| (path.as_str(), thread)));
            let size = table.rows.iter().find(|row| row.path == *path).and_then(|row| row.size);
            let end =
                group.ranges.iter().filter_map(|range| range.end).map(|end| end.bytes).fold(0.0, f64::max);
            let fits = size.is_some_and(|size| end <= size.bytes * 1.005);
            ensure(fits, group.line, || format!("ranges beyond the end of {path}"))?;
        }
        inside(&group.ranges)?;
    }
    // A path that is a target twice may be used twice by a thread; sets compare what matters.
    let (wanted, listed): (BTreeSet<_>, BTreeSet<_>) =
        (wanted.into_iter().collect(), listed.into_iter().collect());
    ensure(wanted == listed, result.line, || {
        "effective distributions of other threads or targets".to_string()
    })?;
    for pair in groups.windows(2) {
        let known = !is_after(&pair[0].ranges, &pair[1].ranges);
        ensure(known, pair[1].line, || "effective distributions in disorder".to_string())?;
    }
    let twice = groups.windows(2).find(|pair| same_users(pair));
    ensure(twice.is_none(), result.line, || "a distribution twice".to_string())
}

/// The same ranges would have been one group.
fn same_users(pair: &[DistributionGroup]) -> bool {
    let bounds = |group: &DistributionGroup| -> Vec<_> {
        group.ranges.iter().map(|r| (r.share, r.first, r.end)).collect()
    };
    let exact = |group: &DistributionGroup| {
        group.ranges.iter().all(|r| !r.scaled && r.first.exact && r.end.is_none_or(|end| end.exact))
    };
    exact(&pair[0]) && exact(&pair[1]) && bounds(&pair[0]) == bounds(&pair[1])
}

/// Ranges really used: ascending, apart, none empty, none open.
fn inside(ranges: &[RangeText]) -> Outcome<()> {
    let mut last_end = 0.0;
    for range in ranges {
        let Some(end) = range.end else { return fault(range.line, "an open range was not resolved") };
        // Two decimals may hide a short range.
        let has_length = range.first.bytes < end.bytes || !(range.first.exact && end.exact);
        ensure(has_length, range.line, || "an empty range".to_string())?;
        ensure(range.share > 0.0, range.line, || "a hole among the ranges used".to_string())?;
        ensure(range.first.bytes >= last_end, range.line, || "ranges in disorder".to_string())?;
        last_end = end.bytes;
    }
    Ok(())
}

/// The first list is known to sort behind the second: share, offset, length of the first difference.
fn is_after(a: &[RangeText], b: &[RangeText]) -> bool {
    for (a, b) in a.iter().zip(b) {
        if a.scaled || b.scaled {
            return false;
        }
        if a.share != b.share {
            return a.share > b.share;
        }
        if a.first.bytes != b.first.bytes {
            return a.first.bytes > b.first.bytes;
        }
        let (Some(a_end), Some(b_end)) = (a.end, b.end) else { return false };
        if !(a.first.exact && b.first.exact) {
            return false;
        }
        if a_end.bytes != b_end.bytes {
            return a_end.bytes > b_end.bytes;
        }
        if !(a_end.exact && b_end.exact) {
            return false;
        }
    }
    a.len() > b.len()
}

fn charts(result: &ResultText) -> Outcome<()> {
    let Some((overall, single)) = result.charts.split_last() else { return Ok(()) };
    for chart in &result.charts {
        let ios = |table: &Table| -> u64 {
            let rows =
                table.rows.iter().filter(|row| chart.path.as_ref().is_none_or(|path| *path == row.path));
            rows.map(|row| row.ios).sum()
        };
        let [total, read, write] = &result.tables;
        one_chart(chart, [ios(read), ios(write), ios(total)])?;
    }
    if !single.is_empty() {
        for column in 0..3 {
            for (index, row) in overall.cells.iter().enumerate() {
                // A path without any I/O shows zeros in its total column.
                let cells = single.iter().filter(|chart| column < 2 || chart.cells[14][2] != Some(0.0));
                let cells = cells.filter_map(|chart| chart.cells[index][column]);
                between(row[column], cells, index, overall.line)?;
            }
        }
    }
    let [total, read, write] = &result.tables;
    for (column, table) in [read, write, total].into_iter().enumerate() {
        let (row, cells) = (&table.total, &overall.cells);
        let (Some(low), Some(high), Some(mean)) = (cells[0][column], cells[14][column], row.latency_mean)
        else {
            continue;
        };
        let fits = low - 2.0 * HALF_3 <= mean && mean <= high + 2.0 * HALF_3;
        ensure(fits, row.line, || format!("AvgLat {mean} outside {low}..{high}"))?;
        let dev = row.latency_dev.flatten().unwrap_or(0.0);
        ensure(dev <= (high - low) / 2.0 + 2.0 * HALF_3, row.line, || format!("LatStdDev {dev} is too big"))?;
    }
    Ok(())
}

/// One chart against the numbers of reads, writes and both.
fn one_chart(chart: &Chart, ios: [u64; 3]) -> Outcome<()> {
    for (column, &count) in ios.iter().enumerate() {
        let max = chart.cells[14][column];
        for (index, row) in chart.cells.iter().enumerate() {
            let line = chart.line + 3 + index;
            let is_there = count > 0 || column == 2;
            ensure(row[column].is_some() == is_there, line, || "N/A exactly without such I/Os".to_string())?;
            ensure(count > 0 || column < 2 || row[2] == Some(0.0), line, || {
                "latency without I/Os".to_string()
            })?;
            let before = index.checked_sub(1).and_then(|index| chart.cells[index][column]);
            ensure(before.is_none_or(|before| Some(before) <= row[column]), line, || {
                "percentiles fall".to_string()
            })?;
            let fraction = CHART_ROWS[index].1;
            let is_last = count > 0 && fraction * count as f64 > (count - 1) as f64 + 1e-6;
            ensure(!is_last || row[column] == max, line, || format!("{count} I/Os: must equal max"))?;
        }
    }
    for (index, row) in chart.cells.iter().enumerate() {
        if ios[2] > 0 {
            between(row[2], row[..2].iter().copied().flatten(), index, chart.line + 3 + index)?;
        }
    }
    Ok(())
}

/// A percentile of a union lies between those of its parts; minimum and maximum are theirs.
fn between(whole: Option<f64>, parts: impl Iterator<Item = f64>, index: usize, line: usize) -> Outcome<()> {
    let parts: Vec<f64> = parts.collect();
    let (Some(whole), false) = (whole, parts.is_empty()) else { return Ok(()) };
    let low = parts.iter().copied().fold(f64::INFINITY, f64::min);
    let high = parts.iter().copied().fold(0.0, f64::max);
    // Percentiles of a histogram may be off by 0.1 % and each figure is rounded.
    let slack = 0.001 * high + 2.0 * HALF_3;
    let fits = match (index, parts.len()) {
        (_, 1) => whole == low,
        (0, _) => whole == low,
        (14, _) => whole == high,
        _ => low - slack <= whole && whole <= high + slack,
    };
    ensure(fits, line, || format!("{whole} is not between {low} and {high}"))
}

fn waits(result: &ResultText) -> Outcome<()> {
    let Some(rows) = &result.waits else { return Ok(()) };
    ensure(rows.len() as u64 == result.threads, result.line, || "not one wait row per thread".to_string())?;
    for (index, row) in rows.iter().enumerate() {
        ensure(row.thread == index as u64, row.line, || "threads in disorder".to_string())?;
        let found: u64 = row.found.iter().sum();
        // A throttle wait of no length counts among the looks, so there may be more.
        ensure(found >= row.lookasides, row.line, || {
            format!("{found} outcomes of {} looks", row.lookasides)
        })?;
    }
    Ok(())
}

fn totals_block(totals: &TotalsText, parsed: &Parsed, times: &[TimeRange]) -> Outcome<()> {
    let line = totals.line;
    let measured: Vec<&ResultText> = parsed.results.iter().flatten().collect();
    for (row, table) in totals.rows.iter().zip([2, 1, 0]) {
        let bytes: u64 = measured.iter().map(|result| result.tables[table].total.bytes).sum();
        let ios: u64 = measured.iter().map(|result| result.tables[table].total.ios).sum();
        ensure((row.0, row.1) == (bytes, ios), line, || format!("sums are {bytes} bytes and {ios} I/Os"))?;
    }
    let mut time = TimeRange::around(totals.time_s);
    time.low = time.low.max(times.iter().map(|range| range.low).sum());
    time.high = time.high.min(times.iter().map(|range| range.high).sum::<f64>() + 1e-9);
    ensure(time.low <= time.high + 1e-9, line, || "total test time is not the sum of the times".to_string())?;
    for &(bytes, ios, mib_per_s, ios_per_s) in &totals.rows {
        time.narrow(line, bytes, ios, mib_per_s, ios_per_s)?;
    }
    Ok(())
}
