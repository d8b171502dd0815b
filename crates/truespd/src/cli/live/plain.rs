//! The events as lines, where there is no screen.

use jiff::tz::TimeZone;

use super::{Message, Model, Outcome, filling, message_lead, place, seconds, sums, trims_only};
use crate::runner::view::Throughput;
use truespd_core::load::live::Phase;
use truespd_front::show::{hosts, phase_words, trimmed, trims};
use truespd_front::telemetry::{At, Happened, Heard, Span, Sum};
use truespd_platform::text::{number, printable, program_line};

/// From one line of the progress to the next, by the times of the events.
const EVERY_S: f64 = 10.0;

#[derive(Debug)]
pub(super) struct Plain {
    zone: TimeZone,
    /// When the progress was told last.
    told: Option<(Option<Phase>, jiff::Timestamp)>,
}

impl Plain {
    pub fn new(zone: TimeZone) -> Self {
        Plain { zone, told: None }
    }

    /// The line for an event that `model` has just taken; none for most of the progress.
    pub fn line(&mut self, heard: &Heard, model: &Model) -> Option<String> {
        let throughput = model.throughput();
        let words = match &heard.happened {
            Happened::Begin { command_line } => program_line(command_line),
            Happened::Step { name, .. } => format!("begins: {name}"),
            Happened::Fill { path, done_bytes, total_bytes } => {
                self.is_due(None, heard).then(|| filling(path, *done_bytes, *total_bytes).0)?
            }
            Happened::Progress(at) => self.is_due(Some(at.phase), heard).then(|| progress(at, throughput))?,
            Happened::Result(_) => model.results.last().map(|one| outcome(one, throughput))?,
            Happened::End => "over".into(),
            _ => message(model.messages.back()?),
        };
        let time = heard.time.to_zoned(self.zone.clone()).strftime("%H:%M:%S");
        Some(format!("{time}  {}\n", printable(&words)))
    }

    /// Whether a line is due, which is also said to be told then.
    fn is_due(&mut self, phase: Option<Phase>, heard: &Heard) -> bool {
        let is_due = self.told.is_none_or(|(before, at)| {
            before != phase || heard.time.duration_since(at).as_secs_f64() >= EVERY_S
        });
        if is_due {
            self.told = Some((phase, heard.time));
        }
        is_due
    }
}

fn message(message: &Message) -> String {
    format!("{}{}", message_lead(message.weight), message.says)
}

fn progress(at: &At, throughput: Throughput) -> String {
    if matches!(at.phase, Phase::Start | Phase::End) {
        return phase_words(at.phase).into();
    }
    let mut words = place(at);
    let of_data = if trims_only(at) { None } else { at.iops.zip(at.bytes_per_s) };
    if let Some((iops, bytes_per_s)) = of_data {
        words.push_str(&format!(", {} IOPS, {}", number(iops), throughput(bytes_per_s)));
    }
    let of_trims = at.trim.and_then(|trim| trim.iops.zip(trim.bytes_per_s));
    if let Some((per_s, bytes_per_s)) = of_trims {
        words.push_str(&format!(", {}, {}", trims(per_s), trimmed(bytes_per_s, throughput)));
    }
    if let Some(latency_s) = at.latency_mean_s {
        words.push_str(&format!(", mean latency {}", seconds(latency_s)));
    }
    if let Some(of) = &at.hosts {
        words.push_str(&format!(", {}", hosts(of).whole()));
    }
    words
}

/// What came of a watched series, for people: a line for each run.
pub(super) fn summary(model: &Model) -> String {
    model.results.iter().map(|one| printable(&outcome(one, model.throughput())) + "\n").collect()
}

fn outcome(one: &Outcome, throughput: Throughput) -> String {
    let spans: Vec<String> = one.result.time_spans.iter().map(|of| span(of, throughput)).collect();
    let figures = if spans.is_empty() { "nothing was measured".to_string() } else { spans.join("; ") };
    let grade = one.result.verdict.map_or("not judged", |grade| grade.word());
    let why = one.result.findings.first().filter(|found| !found.grade.is_remark());
    let why = why.map_or(String::new(), |found| format!(": {}: {}", found.rule, found.says));
    let lead = one.name.as_ref().map_or("result: ".into(), |name| format!("{name}: "));
    format!("{lead}{figures}, {grade}{why}")
}

/// The figures of reads, of writes and of trims; of reads or writes alone without their name.
fn span(span: &Span, throughput: Throughput) -> String {
    match sums(span)[..] {
        [] => figures(&span.read, throughput),
        [(_, sum)] if span.trim.is_none() => figures(sum, throughput),
        ref all => {
            let all = all.iter().map(|(name, sum)| format!("{name} {}", figures(sum, throughput)));
            all.collect::<Vec<String>>().join(", ")
        }
    }
}

fn figures(sum: &Sum, throughput: Throughput) -> String {
    let mut words = format!("{} IOPS, {}", number(sum.iops), throughput(sum.bytes_per_s));
    let latencies = [("mean", sum.latency_mean_s), ("p99", sum.latency_p99_s)];
    for (name, latency_s) in latencies {
        if let Some(latency_s) = latency_s {
            words.push_str(&format!(", {name} {}", seconds(latency_s)));
        }
    }
    words
}
