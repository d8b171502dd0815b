//! What a workload says: what it is, what its search found, and the figures of its runs.

use super::{Outcome, Row, Run};
use crate::answer::table::{Cell, Column, Table};
use crate::answer::{Answer, Commands, SeriesVerdict};
use crate::ask::find_max::answer::{push_answer, push_rates};
use crate::ask::{Common, OF_RESPONSES, SuiteDocument, show_latency};
use truespd_core::result::Part;
use truespd_core::result::metrics::Metric;
use truespd_platform::text::table::Room;
use truespd_platform::text::{number, percent, rate};

impl SuiteDocument for Outcome {
    fn title(&self) -> String {
        format!("Workload {}{}", self.workload, self.common.ran_on.words())
    }

    fn has_figures(&self) -> bool {
        self.runs.iter().any(|run| !run.rows.is_empty())
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        vec![("", &self.verdict)]
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for run in &self.runs {
            parts.extend(run.rows.iter().filter_map(|row| row.part(run)));
        }
        parts.extend(self.found());
        Part::apart(parts)
    }

    fn answer(&self) -> Answer {
        of(self)
    }
}

fn of(outcome: &Outcome) -> Answer {
    let mut answer = Answer::default();
    let source =
        if outcome.source.is_empty() { String::new() } else { format!("\nsource: {}", outcome.source) };
    answer.about(format!("{}: {}{source}", outcome.workload, outcome.about));
    if let Some(search) = &outcome.search {
        push_answer(&mut answer, search);
    }
    for sentence in outcome.of_flushes() {
        answer.says(sentence);
    }
    answer.push(outcome.verdict.clone());
    if let Some(search) = &outcome.search {
        push_rates(&mut answer, search);
    }
    for run in &outcome.runs {
        answer.push(table(run));
    }
    if outcome.runs.iter().flat_map(|run| &run.rows).any(|row| row.is_response) {
        answer.note(OF_RESPONSES);
    }
    let lines = outcome.runs.iter().map(|run| (run.name.clone(), run.line.clone()));
    answer.push(Commands::to_repeat(lines.collect()));
    answer
}

fn time(row: &Row, metric: Metric) -> Cell {
    let ns = row.latency.as_ref().and_then(|latency| metric.of_latencies(latency));
    Cell::figure(ns, show_latency(row.is_response))
}

fn table(run: &Run) -> Table {
    let cpu = run.cpu_usage_percent;
    let busy = cpu.map_or(String::new(), |cpu| format!(", processors {} in use", percent(cpu / 100.0)));
    let columns = vec![
        Column::words("", Room::Start(16, 1)),
        Column::words("", Room::Stays),
        Column::numbers("IOPS", Room::Stays),
        Column::numbers("throughput", Room::Goes(2)),
        Column::numbers("mean", Room::Stays),
        Column::numbers("p50", Room::Goes(4)),
        Column::numbers("p99", Room::Stays),
        Column::numbers("longest", Room::Goes(3)),
        Column::words("verdict", Room::Stays),
    ];
    let mut table = Table::of(format!("{}{busy}", run.name), columns);
    for row in &run.rows {
        let mut cells = vec![
            Cell::Text(row.what.clone()),
            Cell::Text(row.direction.clone()),
            Cell::Figure(row.iops, number),
            Cell::Figure(row.bytes_per_s, rate),
        ];
        for metric in [Metric::MEAN, Metric::P50, Metric::P99, Metric::MAX] {
            cells.push(time(row, metric));
        }
        cells.push(Cell::Grade(run.grade));
        table.rows.push(cells);
    }
    table
}
