//! Properties of rows, spreads and outliers on made-up hosts.

use proptest::prelude::*;

use super::*;
use crate::result::{Rank, System, Window};

fn row(place: usize, iops: f64, mean_ns: Option<f64>) -> HostRow {
    HostRow {
        source: place,
        name: format!("host-{place}"),
        rank: None,
        ios: iops as u64,
        bytes: 0,
        iops,
        bytes_per_s: 0.0,
        latency: mean_ns.map(|mean_ns| Times { mean_ns, all: None }),
        response: None,
        late_ns: None,
        grade: None,
    }
}

fn of_rates(rates: &[f64]) -> Vec<HostRow> {
    rates.iter().enumerate().map(|(place, &iops)| row(place, iops, None)).collect()
}

fn off(rates: &[f64]) -> Vec<usize> {
    outliers(&of_rates(rates)).iter().map(|outlier| outlier.row).collect()
}

#[test]
fn noise_is_no_outlier_and_a_slow_host_is() {
    assert_eq!(off(&[10_000.0, 10_001.0, 10_050.0]), [0; 0]);
    assert_eq!(off(&[10_000.0, 10_000.0, 9_001.0]), [0; 0]);
    assert_eq!(off(&[10_000.0, 10_000.0, 8_999.0]), [2]);
    // Which of two is the usual one, nobody knows; and values that scatter widely have no outlier.
    assert_eq!(off(&[10_000.0, 100.0]), [0; 0]);
    assert_eq!(off(&[100.0, 60.0, 20.0]), [0; 0]);
    // The furthest first.
    assert_eq!(off(&[100.0, 100.0, 100.0, 100.0, 50.0, 400.0]), [5, 4]);
    let stopped = outliers(&of_rates(&[100.0, 100.0, 0.0]));
    assert_eq!((stopped[0].row, stopped[0].factor()), (2, f64::INFINITY));
}

#[test]
fn latency_alone_makes_an_outlier() {
    let rows: Vec<HostRow> =
        [1e6, 1e6, 1.05e6, 3e6].iter().enumerate().map(|(i, &ns)| row(i, 100.0, Some(ns))).collect();
    let found = outliers(&rows);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].row, found[0].figure), (3, HostFigure::Latency));
}

#[test]
fn several_sources_on_a_host_have_numbers() {
    let source = |host: &str, local: Option<u32>| Source {
        system: System { computer_name: host.to_string(), ..System::default() },
        rank: local.map(|local| Rank { local, ..Rank::default() }),
        ..Source::default()
    };
    let sources = [
        source("a", Some(1)),
        source("a", Some(0)),
        source("b", Some(0)),
        source("c", None),
        source("c", None),
    ];
    assert_eq!(names(&sources), ["a#1", "a#0", "b", "c#0", "c#1"]);
}

fn totals(ios: u64, mean_ns: Option<f64>) -> SourceTotals {
    let latency = mean_ns.map(|mean_ns| {
        let mut histogram = crate::measure::Histogram::new();
        (0..ios).for_each(|_| histogram.record(mean_ns as u64));
        LatencySummary::of(&histogram).expect("has I/Os")
    });
    SourceTotals { bytes: ios * 4096, ios, latency, response: None }
}

fn span(
    read: SourceTotals,
    write: SourceTotals,
    total: Option<SourceTotals>,
    start_unix_ns: u64,
) -> SourceSpan {
    SourceSpan {
        test_time_s: 2.0,
        window: Some(Window { start_unix_ns, end_unix_ns: start_unix_ns + 2_000_000_000 }),
        common_start: None,
        threads: Some(1),
        targets: Vec::new(),
        engine: String::new(),
        engine_traits: None,
        cpu: Vec::new(),
        read,
        write,
        total,
        series: None,
    }
}

#[test]
fn rows_are_those_of_the_sources() {
    let of = |span: Option<SourceSpan>| Source { time_spans: vec![span], ..Source::default() };
    let older = span(totals(10, Some(1000.0)), totals(30, Some(2000.0)), None, 5_000);
    let reads = span(totals(10, Some(1000.0)), totals(0, None), Some(totals(10, Some(1000.0))), 4_000);
    let document =
        Document { sources: vec![of(Some(older)), of(None), of(Some(reads))], ..Document::default() };
    let rows = rows(&document, 0);
    assert_eq!(rows.iter().map(|row| row.source).collect::<Vec<_>>(), [0, 2]);
    assert_eq!((rows[0].iops, rows[0].bytes_per_s, rows[0].late_ns), (20.0, 81_920.0, Some(1_000)));
    // The mean of two means has weights; percentiles of both together are not known.
    assert_eq!(rows[0].times(), Some(&Times { mean_ns: 1750.0, all: None }));
    let times = rows[1].times().expect("measured");
    assert_eq!(
        (times.mean_ns, times.all.as_ref().map(|all| all.p99_ns), rows[1].late_ns),
        (1000.0, Some(1000), Some(0))
    );
    assert!(super::rows(&document, 1).is_empty() && super::rows(&Document::default(), 0).is_empty());
}

proptest! {
    #[test]
    fn a_spread_holds_its_values(values in prop::collection::vec(0.0..1e9f64, 1..40)) {
        let spread = Spread::of(values.iter().copied()).expect("has values");
        prop_assert!(values.iter().all(|value| (spread.least..=spread.most).contains(value)));
        let below = values.iter().filter(|value| **value < spread.median).count();
        let above = values.iter().filter(|value| **value > spread.median).count();
        prop_assert!(below * 2 <= values.len() && above * 2 <= values.len());
        prop_assert!(spread.ratio().is_none_or(|ratio| ratio >= 1.0));
    }

    /// Neither the order of the hosts nor the unit of the figure matters.
    #[test]
    fn outliers_are_the_same_in_any_order_and_unit(rates in prop::collection::vec(1.0..1e6f64, 0..40)) {
        let found: std::collections::BTreeSet<usize> = off(&rates).into_iter().collect();
        let turned: Vec<f64> = rates.iter().rev().map(|rate| rate * 1024.0).collect();
        let again = off(&turned).into_iter().map(|place| rates.len() - 1 - place).collect();
        prop_assert_eq!(&found, &again);
        prop_assert!(found.len() * 2 <= rates.len());
    }

    /// Every row is shown or left out, and what is left out lies between the ends.
    #[test]
    fn folding_loses_no_row(rates in prop::collection::vec(1.0..1e6f64, 0..100)) {
        let rows = of_rates(&rates);
        let folded = folded(&rows);
        let left = folded.left_out.map_or(0, |(count, _)| count);
        prop_assert_eq!(folded.shown.len() + left, rows.len());
        prop_assert_eq!(left == 0, rows.len() <= ROWS_MAX);
        prop_assert!(rows.len() <= ROWS_MAX || folded.shown.len() <= 2 * ENDS + OFF_MAX);
        if let Some((_, [least, most])) = folded.left_out {
            let hidden = (0..rows.len()).filter(|place| !folded.shown.contains(place));
            prop_assert!(hidden.map(|place| rows[place].iops).all(|iops| (least..=most).contains(&iops)));
            prop_assert!(folded.shown.windows(2).all(|two| rows[two[0]].iops <= rows[two[1]].iops));
        }
    }
}
