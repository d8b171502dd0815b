//! What each host of a sum did: a row for each of its sources, how far the rows are apart, and which stand off.
//!
//! Plain figures from the document alone. Nothing is averaged over hosts: percentiles are those of each source's own
//! histogram.

use std::collections::BTreeMap;

use super::{Document, Grade, LatencySummary, Source, SourceSpan, SourceTotals};

/// With more rows than this, people see the slowest, the fastest and those that stand off.
pub const ROWS_MAX: usize = 32;
/// Rows that are shown of either end then.
const ENDS: usize = 5;
/// Rows that stand off and are shown, the furthest first.
const OFF_MAX: usize = 10;

/// Fewer rows tell no usual value that one could stand off from.
const ROWS_MIN: usize = 3;
/// A row stands off by so many standard deviations, as far as the median of the deviations tells them, ...
const OFF_DEVIATIONS: f64 = 5.0;
/// ... and by this part of the median: equal hosts scatter, too.
const OFF_PART: f64 = 0.1;
/// The median of the absolute deviations of a normal distribution, in standard deviations, inverted.
const MAD_TO_DEVIATION: f64 = 1.4826;

/// What one source did in one time span.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRow {
    /// Its place in [`Document::sources`], from 0.
    pub source: usize,
    /// Its host; with several sources on one host, `host#0`, `host#1`.
    pub name: String,
    /// Its rank in a cluster run.
    pub rank: Option<u32>,
    /// I/Os completed, reads and writes together.
    pub ios: u64,
    /// Bytes, read and written together.
    pub bytes: u64,
    /// I/Os per second of its own measured time.
    pub iops: f64,
    /// Bytes per second of its own measured time.
    pub bytes_per_s: f64,
    /// Latencies, where the run measured them (`-L`).
    pub latency: Option<Times>,
    /// Latencies from the intended start, of the I/Os on targets with a rate (`-g`).
    pub response: Option<Times>,
    /// How long after the agreed instant its threads were let go; without one, how long after the first of
    /// all it began to measure. Nanoseconds.
    pub late_ns: Option<u64>,
    /// What the rules said of it.
    pub grade: Option<Grade>,
}

/// Latencies of one source in a time span.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// Mean of reads and writes together, in nanoseconds.
    pub mean_ns: f64,
    /// All figures; none when the document has them of reads and writes apart only.
    pub all: Option<LatencySummary>,
}

impl HostRow {
    /// The latencies that count: from when the rate (`-g`) wanted the I/O, where there is one.
    pub fn times(&self) -> Option<&Times> {
        self.response.as_ref().or(self.latency.as_ref())
    }
}

/// The rows of a time span, from 0, in the order of the sources. None for the result of one run.
pub fn rows(document: &Document, time_span: usize) -> Vec<HostRow> {
    let spans = document.sources.iter().map(|source| source.time_spans.get(time_span)?.as_ref());
    let begins = spans.clone().flatten().filter_map(SourceSpan::common_window);
    let first_ns = begins.map(|window| window.start_unix_ns).min();
    let rows = document.sources.iter().zip(names(&document.sources)).zip(spans).enumerate();
    rows.filter_map(|(place, ((source, name), span))| Some(row(place, source, name, span?, first_ns)))
        .collect()
}

fn row(place: usize, source: &Source, name: String, span: &SourceSpan, first_ns: Option<u64>) -> HostRow {
    let SourceSpan { read, write, .. } = span;
    let (ios, bytes) = (read.ios.saturating_add(write.ios), read.bytes.saturating_add(write.bytes));
    let [iops, bytes_per_s] =
        [ios, bytes].map(|count| if span.test_time_s > 0.0 { count as f64 / span.test_time_s } else { 0.0 });
    let began = span.common_window().map(|window| window.start_unix_ns);
    let behind = began.zip(first_ns).map(|(began, first)| began - first);
    HostRow {
        source: place,
        name,
        rank: source.rank.as_ref().map(|rank| rank.rank),
        ios,
        bytes,
        iops,
        bytes_per_s,
        latency: times(span, |sum| sum.latency.as_ref()),
        response: times(span, |sum| sum.response.as_ref()),
        late_ns: span.common_start.map(|start| start.late_ns).or(behind),
        grade: source.verdict.as_ref().map(|verdict| verdict.grade),
    }
}

fn times(span: &SourceSpan, of: fn(&SourceTotals) -> Option<&LatencySummary>) -> Option<Times> {
    // Of sums from before there was a total.
    let only = match (&span.total, of(&span.read), of(&span.write)) {
        (Some(total), ..) => of(total),
        (None, Some(read), Some(write)) => {
            let (reads, writes) = (span.read.ios as f64, span.write.ios as f64);
            let mean_ns = (read.mean_ns * reads + write.mean_ns * writes) / (reads + writes).max(1.0);
            return Some(Times { mean_ns, all: None });
        }
        (None, read, write) => read.or(write),
    };
    only.map(|all| Times { mean_ns: all.mean_ns, all: Some(all.clone()) })
}

/// What each source is called: its host, and with several on one host the number of each.
pub fn names(sources: &[Source]) -> Vec<String> {
    let mut on_host = BTreeMap::<&str, u32>::new();
    for source in sources {
        *on_host.entry(&source.system.computer_name).or_default() += 1;
    }
    let mut met = BTreeMap::<&str, u32>::new();
    let mut names = Vec::with_capacity(sources.len());
    for source in sources {
        let host = source.system.computer_name.as_str();
        let number = met.entry(host).or_default();
        names.push(match (on_host[host], &source.rank) {
            (1, _) => host.to_string(),
            (_, Some(rank)) => format!("{host}#{}", rank.local),
            (_, None) => format!("{host}#{number}"),
        });
        *number += 1;
    }
    names
}

/// How far values are apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The smallest.
    pub least: f64,
    /// The one in the middle.
    pub median: f64,
    /// The largest.
    pub most: f64,
}

impl Spread {
    /// Of any number of values; none without one.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Some(Spread { least: *values.first()?, median: median(&values), most: *values.last()? })
    }

    /// The largest as a multiple of the smallest; none when that is 0.
    pub fn ratio(&self) -> Option<f64> {
        (self.least > 0.0).then(|| self.most / self.least)
    }
}

/// Of sorted values, at least one.
fn median(sorted: &[f64]) -> f64 {
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    low + (high - low) / 2.0
}

/// A figure by which hosts are held against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostFigure {
    /// I/Os per second, reads and writes together.
    Iops,
    /// Mean latency, from the intended start where there is one.
    Latency,
}

impl HostFigure {
    /// All figures, as they are looked at.
    pub const ALL: [HostFigure; 2] = [HostFigure::Iops, HostFigure::Latency];

    /// Of a row; none when it was not measured.
    pub fn of(self, row: &HostRow) -> Option<f64> {
        match self {
            HostFigure::Iops => Some(row.iops),
            HostFigure::Latency => row.times().map(|times| times.mean_ns),
        }
    }
}

/// A row that stands off from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// The row's place among those that were given.
    pub row: usize,
    /// The figure that is far from the others.
    pub figure: HostFigure,
    /// Its value, in the unit of the figure.
    pub value: f64,
    /// That of the row in the middle.
    pub median: f64,
}

impl Outlier {
    /// How many times the median its value is, or the median is its value: 1 or more.
    pub fn factor(&self) -> f64 {
        let (less, more) = (self.value.min(self.median), self.value.max(self.median));
        if less > 0.0 { more / less } else { f64::INFINITY }
    }
}

/// Rows that stand off from the others, by the median and the median of the deviations from it, the furthest first; at
/// equal distance in the order of the rows.
pub fn outliers(rows: &[HostRow]) -> Vec<Outlier> {
    let mut found: Vec<Outlier> =
        HostFigure::ALL.iter().flat_map(|&figure| outliers_in(rows, figure)).collect();
    found.sort_by(|a, b| b.factor().total_cmp(&a.factor()).then(a.row.cmp(&b.row)));
    found
}

fn outliers_in(rows: &[HostRow], figure: HostFigure) -> Vec<Outlier> {
    let values: Vec<(usize, f64)> =
        rows.iter().enumerate().filter_map(|(place, row)| Some((place, figure.of(row)?))).collect();
    if values.len() < ROWS_MIN {
        return Vec::new();
    }
    let Some(spread) = Spread::of(values.iter().map(|(_, value)| *value)) else { return Vec::new() };
    let median = spread.median;
    let deviations = values.iter().map(|(_, value)| (value - median).abs());
    let mad = Spread::of(deviations).map_or(0.0, |spread| spread.median);
    let usual = (OFF_DEVIATIONS * MAD_TO_DEVIATION * mad).max(OFF_PART * median.abs());
    let off = values.into_iter().filter(|(_, value)| (value - median).abs() > usual);
    off.map(|(row, value)| Outlier { row, figure, value, median }).collect()
}

/// Which rows people see of many.
#[derive(Debug, Clone, PartialEq)]
pub struct Folded {
    /// The rows to show, as places among those that were given: all of few in their order, of many by their rate.
    pub shown: Vec<usize>,
    /// How many are left out, and between which rates (I/Os per second) they are; none when all are shown.
    pub left_out: Option<(usize, [f64; 2])>,
}

/// All rows while they are [`ROWS_MAX`]; of more the slowest, the fastest, and those that stand off.
pub fn folded(rows: &[HostRow]) -> Folded {
    if rows.len() <= ROWS_MAX {
        return Folded { shown: (0..rows.len()).collect(), left_out: None };
    }
    let mut by_rate: Vec<usize> = (0..rows.len()).collect();
    by_rate.sort_by(|&a, &b| rows[a].iops.total_cmp(&rows[b].iops).then(a.cmp(&b)));
    let mut is_shown = vec![false; rows.len()];
    let ends = by_rate.iter().take(ENDS).chain(by_rate.iter().rev().take(ENDS));
    ends.for_each(|&place| is_shown[place] = true);
    outliers(rows).iter().take(OFF_MAX).for_each(|outlier| is_shown[outlier.row] = true);
    let (shown, left): (Vec<usize>, Vec<usize>) = by_rate.into_iter().partition(|&place| is_shown[place]);
    let between = Spread::of(left.iter().map(|&place| rows[place].iops));
    Folded { shown, left_out: between.map(|between| (left.len(), [between.least, between.most])) }
}

#[cfg(test)]
mod tests;
