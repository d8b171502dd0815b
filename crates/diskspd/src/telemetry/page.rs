//! The page for Prometheus: its text format, names and units by its conventions
//! (<https://prometheus.io/docs/practices/naming/>). Counters go up over all time spans and runs of the program.

use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType, Quantile, Summary};
use prometheus::{Encoder, TextEncoder};

use super::status::{Ended, Status};
use truespd_core::load::live::{HostRate, HostRates, Phase};
use truespd_core::result::{DirectionSummary, Grade, LatencySummary};

const NS_PER_S: f64 = 1e9;

const PHASES: [(Phase, &str); 5] = [
    (Phase::Start, "start"),
    (Phase::WarmUp, "warm-up"),
    (Phase::Measurement, "measurement"),
    (Phase::CoolDown, "cool-down"),
    (Phase::End, "end"),
];

pub fn text(status: &Status) -> String {
    let mut families = vec![
        gauge(
            "truespd_build_info",
            "Always 1; the version of TrueSpd.",
            [(vec![label("version", env!("CARGO_PKG_VERSION"))], 1.0)],
        ),
        one("truespd_updated_timestamp_seconds", "When this page was written.", Status::now_unix_s() as f64),
        one("truespd_running", "1 while runs go on, 0 when they are over.", f64::from(status.is_running)),
        counter("truespd_runs_total", "Runs that have ended.", status.runs as f64),
    ];
    families.extend(step(status));
    families.extend(progress(status));
    if let Some(ended) = &status.result {
        families.extend(result(ended));
    }
    let mut page = Vec::new();
    TextEncoder::new().encode(&families, &mut page).expect("writing to memory, and no family is empty");
    String::from_utf8(page).expect("the encoder writes text")
}

fn step(status: &Status) -> Option<MetricFamily> {
    let (count, name) = status.step.as_ref()?;
    let labels = vec![label("step", name)];
    Some(gauge(
        "truespd_step",
        "Number of the present step of the series, from 1.",
        [(labels, *count as f64)],
    ))
}

/// Where the run is, and all I/Os so far.
fn progress(status: &Status) -> Vec<MetricFamily> {
    let counted = status.counted();
    let mut families = vec![
        counter("truespd_ios_total", "I/Os completed, in all phases.", counted.ios as f64),
        counter("truespd_transferred_bytes_total", "Bytes read and written.", counted.bytes as f64),
        counter(
            "truespd_latency_seconds_total",
            "Sum of the latencies of all I/Os. Its rate is the mean number of I/Os in flight; divided by the rate of \
             truespd_ios_total it is the mean latency.",
            counted.in_flight_ns as f64 / NS_PER_S,
        ),
    ];
    let Some(now) = &status.progress else { return families };
    let phases = PHASES.map(|(phase, name)| (vec![label("phase", name)], f64::from(phase == now.phase)));
    families.extend([
        gauge("truespd_phase", "1 for the phase that the time span is in, 0 for the others.", phases),
        one("truespd_time_span", "Number of the time span, from 1.", now.span as f64),
        one("truespd_time_spans", "Time spans of the profile.", now.spans as f64),
        one("truespd_elapsed_seconds", "Since the time span began.", now.elapsed_ns as f64 / NS_PER_S),
        one(
            "truespd_planned_seconds",
            "From the beginning of the time span to the end of its cool-down.",
            now.planned_ns as f64 / NS_PER_S,
        ),
        one("truespd_left_seconds", "Until the last time span ends.", now.left_ns as f64 / NS_PER_S),
    ]);
    families.extend(now.hosts.as_deref().into_iter().flat_map(hosts));
    families
}

/// The hosts of a cluster run, whose sums the other samples are.
fn hosts(of: &HostRates) -> [MetricFamily; 4] {
    let rate = |name, help, of: &HostRate| gauge(name, help, [(vec![label("host", &of.host)], of.iops)]);
    [
        one("truespd_hosts", "Hosts of the cluster run.", f64::from(of.hosts)),
        one("truespd_hosts_told", "Hosts that told their rates.", f64::from(of.told)),
        rate(
            "truespd_slowest_host_iops",
            "I/Os per second of the slowest host, of those that reported.",
            &of.slowest,
        ),
        rate(
            "truespd_fastest_host_iops",
            "I/Os per second of the fastest host, of those that reported.",
            &of.fastest,
        ),
    ]
}

/// The last result: its targets, its grade, and the figures of reads and writes.
fn result(ended: &Ended) -> Vec<MetricFamily> {
    let targets = ended.targets.iter().map(|target| (vec![label("target", target)], 1.0));
    let mut families = Vec::new();
    if let Some(unix_s) = ended.unix_s {
        families.push(one(
            "truespd_result_start_timestamp_seconds",
            "When the last run began.",
            unix_s as f64,
        ));
    }
    if !ended.targets.is_empty() {
        families.push(gauge("truespd_result_target_info", "Always 1; the targets of the last run.", targets));
    }
    if let Some(grade) = ended.grade {
        let grades = [Grade::Certified, Grade::Suspect, Grade::Invalid];
        let grades = grades.map(|one| (vec![label("verdict", one.word())], f64::from(one == grade)));
        families.push(gauge(
            "truespd_result_verdict",
            "1 for the verdict on the last run, 0 for the others.",
            grades,
        ));
    }
    let Some(summary) = &ended.summary else { return families };
    let sums = [("read", &summary.read), ("write", &summary.write)];
    let of_sums =
        |figure: fn(&DirectionSummary) -> f64| sums.map(|(name, sum)| (operation(name), figure(sum)));
    families.push(gauge("truespd_result_iops", "I/Os per second of the last run.", of_sums(|sum| sum.iops)));
    families.push(gauge(
        "truespd_result_bytes_per_second",
        "Bytes per second of the last run.",
        of_sums(|sum| sum.bytes_per_s),
    ));
    let latencies = sums.iter().filter_map(|(name, sum)| Some((*name, sum.ios, sum.latency.as_ref()?)));
    let latencies: Vec<Metric> = latencies.map(|(name, ios, of)| latency(name, ios, of)).collect();
    if !latencies.is_empty() {
        let help = "Latencies of the last run (-L).";
        families.push(family("truespd_result_latency_seconds", help, MetricType::SUMMARY, latencies));
    }
    families
}

fn latency(name: &str, ios: u64, of: &LatencySummary) -> Metric {
    let quantiles = [
        (0.5, of.p50_ns),
        (0.9, of.p90_ns),
        (0.95, of.p95_ns),
        (0.99, of.p99_ns),
        (0.999, of.p99_9_ns),
        (0.9999, of.p99_99_ns),
        (1.0, of.max_ns),
    ];
    let quantiles = quantiles.map(|(part, ns)| {
        let mut quantile = Quantile::default();
        quantile.set_quantile(part);
        quantile.set_value(ns as f64 / NS_PER_S);
        quantile
    });
    let mut summary = Summary::default();
    summary.set_sample_count(ios);
    summary.set_sample_sum(of.mean_ns * ios as f64 / NS_PER_S);
    summary.set_quantile(quantiles.into());
    let mut metric = Metric::from_label(operation(name));
    metric.set_summary(summary);
    metric
}

fn operation(name: &str) -> Vec<LabelPair> {
    vec![label("operation", name)]
}

fn label(name: &str, value: &str) -> LabelPair {
    let mut label = LabelPair::default();
    label.set_name(name.to_string());
    label.set_value(value.to_string());
    label
}

fn one(name: &str, help: &str, value: f64) -> MetricFamily {
    gauge(name, help, [(Vec::new(), value)])
}

fn gauge(name: &str, help: &str, values: impl IntoIterator<Item = (Vec<LabelPair>, f64)>) -> MetricFamily {
    let metric = |(labels, value): (Vec<LabelPair>, f64)| {
        let mut gauge = Gauge::default();
        gauge.set_value(value);
        let mut metric = Metric::from_label(labels);
        metric.set_gauge(gauge);
        metric
    };
    family(name, help, MetricType::GAUGE, values.into_iter().map(metric).collect())
}

fn counter(name: &str, help: &str, value: f64) -> MetricFamily {
    let mut counter = Counter::default();
    counter.set_value(value);
    let mut metric = Metric::from_label(Vec::new());
    metric.set_counter(counter);
    family(name, help, MetricType::COUNTER, vec![metric])
}

fn family(name: &str, help: &str, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name.to_string());
    family.set_help(help.to_string());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}
