//! The page for Prometheus: its text format, names and units by its conventions
//! (<https://prometheus.io/docs/practices/naming/>). Counters go up over all time spans and runs of the program.

use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType, Quantile, Summary};
use prometheus::{Encoder, TextEncoder};

use truespd_core::load::live::{Counted, HostRate, HostRates, Phase, Progress};
use truespd_core::result::{self, Document, Grade, LatencySummary, TimeSpanResult};
use truespd_platform::machine::host::unix_time_s;

const NS_PER_S: f64 = 1e9;

const PHASES: [(Phase, &str); 5] = [
    (Phase::Start, "start"),
    (Phase::WarmUp, "warm-up"),
    (Phase::Measurement, "measurement"),
    (Phase::CoolDown, "cool-down"),
    (Phase::End, "end"),
];

/// What the page says of a run, or of a series of runs, at a moment.
#[derive(Debug, Default)]
pub struct Page {
    /// Steps of a series that have begun.
    steps: u64,
    /// Name of the last of them.
    step: String,
    runs: u64,
    pub is_over: bool,
    /// The last progress of the present time span.
    pub progress: Option<Progress>,
    /// I/Os of all time spans that are over.
    before: Counted,
    /// What the page says of the last run that has ended.
    result: Vec<MetricFamily>,
}

impl Page {
    pub fn span_is_over(&mut self, counted: Counted) {
        self.before = self.before.plus(counted);
        self.progress = None;
    }

    pub fn step(&mut self, name: &str) {
        self.steps += 1;
        self.step = name.to_string();
    }

    pub fn result(&mut self, document: &Document) {
        self.runs += 1;
        self.result = result(document);
    }

    pub fn text(&self) -> String {
        let now_unix_s = unix_time_s().unwrap_or(0);
        let mut families = vec![
            gauge(
                "truespd_build_info",
                "Always 1; the version of TrueSpd.",
                [(vec![label("version", env!("CARGO_PKG_VERSION"))], 1.0)],
            ),
            one("truespd_updated_timestamp_seconds", "When this page was written.", now_unix_s as f64),
            one("truespd_running", "1 while runs go on, 0 when they are over.", f64::from(!self.is_over)),
            counter("truespd_runs_total", "Runs that have ended.", self.runs as f64),
        ];
        if self.steps > 0 {
            families.push(gauge(
                "truespd_step",
                "Number of the present step of the series, from 1.",
                [(vec![label("step", &self.step)], self.steps as f64)],
            ));
        }
        families.extend(progress(self.before, self.progress.as_ref()));
        families.extend_from_slice(&self.result);
        let mut page = Vec::new();
        TextEncoder::new().encode(&families, &mut page).expect("writing to memory, and no family is empty");
        String::from_utf8(page).expect("the encoder writes text")
    }
}

/// Where the run is, and all I/Os so far.
fn progress(before: Counted, now: Option<&Progress>) -> Vec<MetricFamily> {
    let counted = now.map_or(before, |now| before.plus(now.counted));
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
    if counted.trims > 0 {
        families.extend(trims(counted));
    }
    let Some(now) = now else { return families };
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

/// A run without trims has none of these.
fn trims(counted: Counted) -> [MetricFamily; 2] {
    let help = "Trims completed, in all phases. truespd_ios_total does not count them; their latencies are in \
                truespd_latency_seconds_total.";
    [
        counter("truespd_trims_total", help, counted.trims as f64),
        counter("truespd_trimmed_bytes_total", "Bytes trimmed.", counted.trimmed_bytes as f64),
    ]
}

/// The hosts of a cluster run, whose sums the other samples are.
fn hosts(of: &HostRates) -> [MetricFamily; 4] {
    [
        one("truespd_hosts", "Hosts of the cluster run.", f64::from(of.hosts)),
        one("truespd_hosts_told", "Hosts that told their rates.", f64::from(of.told)),
        host(
            "truespd_slowest_host_iops",
            "I/Os per second of the slowest host, of those that reported.",
            &of.slowest,
        ),
        host(
            "truespd_fastest_host_iops",
            "I/Os per second of the fastest host, of those that reported.",
            &of.fastest,
        ),
    ]
}

fn host(name: &str, help: &str, rate: &HostRate) -> MetricFamily {
    gauge(name, help, [(vec![label("host", &rate.host)], rate.iops)])
}

/// The last result: its targets, its grade, and the figures of reads and writes.
fn result(document: &Document) -> Vec<MetricFamily> {
    let targets = document.profile.targets();
    let mut targets: Vec<&str> = targets.map(|target| target.path.as_str()).collect();
    targets.dedup();
    let mut families = Vec::new();
    if let Some(unix_s) = document.system.start_unix_s {
        families.push(one(
            "truespd_result_start_timestamp_seconds",
            "When the last run began.",
            unix_s as f64,
        ));
    }
    if !targets.is_empty() {
        let targets = targets.iter().map(|target| (vec![label("target", target)], 1.0));
        families.push(gauge("truespd_result_target_info", "Always 1; the targets of the last run.", targets));
    }
    if let Some(verdict) = &document.verdict {
        let grades = [Grade::Certified, Grade::Suspect, Grade::Invalid];
        let grades = grades.map(|one| (vec![label("verdict", one.word())], f64::from(one == verdict.grade)));
        families.push(gauge(
            "truespd_result_verdict",
            "1 for the verdict on the last run, 0 for the others.",
            grades,
        ));
    }
    let last = document.time_spans.iter().rev().find_map(|span| match span {
        TimeSpanResult::Measured(measured) => Some(result::Summary::of(measured)),
        TimeSpanResult::NotMeasured => None,
    });
    let Some(summary) = last else { return families };
    let mut sums = vec![("read", &summary.read), ("write", &summary.write)];
    sums.extend(summary.trim.as_ref().map(|trims| ("trim", trims)));
    let iops = sums.iter().map(|(name, sum)| (operation(name), sum.iops));
    families.push(gauge("truespd_result_iops", "I/Os per second of the last run.", iops));
    families.push(gauge(
        "truespd_result_bytes_per_second",
        "Bytes per second of the last run.",
        sums.iter().map(|(name, sum)| (operation(name), sum.bytes_per_s)),
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
    let mut metrics = Vec::new();
    for (labels, value) in values {
        let mut gauge = Gauge::default();
        gauge.set_value(value);
        let mut metric = Metric::from_label(labels);
        metric.set_gauge(gauge);
        metrics.push(metric);
    }
    family(name, help, MetricType::GAUGE, metrics)
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
