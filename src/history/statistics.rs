//! How a figure is distributed over the runs of each environment, and where one run stands among its equals.

use std::collections::BTreeMap;

use rusqlite::ToSql;
use serde::Serialize;
use statrs::statistics::{Data, Max, Min, OrderStatistics};

use super::entry::Entry;
use super::error::HistoryError;
use super::open::Store;
use super::query::Filter;
use crate::result::metrics::{Better, Metric};

/// What makes an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    /// The host.
    Host,
    /// Models of the disks.
    Model,
    /// Versions of their firmware.
    Firmware,
    /// The targets.
    Target,
    /// The label.
    Label,
    /// The revision that the person gave.
    Revision,
}

impl Environment {
    /// All, with their names on the command line.
    pub const ALL: [(Environment, &'static str); 6] = [
        (Environment::Host, "host"),
        (Environment::Model, "model"),
        (Environment::Firmware, "firmware"),
        (Environment::Target, "target"),
        (Environment::Label, "label"),
        (Environment::Revision, "revision"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(one, _)| *one == self).map_or("", |(_, name)| name)
    }

    /// Where it stands in the file; several disks or targets are one value.
    fn column(self) -> &'static str {
        match self {
            Environment::Host => "d.host",
            Environment::Model => {
                "(SELECT group_concat(coalesce(model, name), ', ') FROM device WHERE document = d.number)"
            }
            Environment::Firmware => {
                "(SELECT group_concat(firmware, ', ') FROM device WHERE document = d.number)"
            }
            Environment::Target => "(SELECT group_concat(path, ', ') FROM target WHERE document = d.number)",
            Environment::Label => "d.label",
            Environment::Revision => "d.revision",
        }
    }
}

/// A distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Number of runs.
    pub runs: usize,
    /// Lowest.
    pub min: f64,
    /// A quarter of the runs are below.
    pub lower_quartile: f64,
    /// Half of the runs are below.
    pub median: f64,
    /// Three quarters of the runs are below.
    pub upper_quartile: f64,
    /// Highest.
    pub max: f64,
}

/// The runs of one profile in one environment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The values of what makes the environment, in the order asked for; none where a document does not tell.
    pub environment: Vec<Option<String>>,
    /// Hash of the profile: runs of different tests are no distribution.
    pub profile: String,
    /// Command line of the newest of its runs.
    pub command: String,
    /// Its figures.
    pub spread: Spread,
    /// Every figure, the newest first.
    #[serde(skip)]
    values: Vec<(i64, f64)>,
}

/// Where one run stands among the others of its group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rank {
    /// Its id.
    pub id: String,
    /// Its figure.
    pub value: f64,
    /// The other runs with the same profile in the same environment; none when there are none.
    pub others: Option<Spread>,
    /// The part of them, in percent, that are worse; equal ones count half.
    pub better_than_percent: Option<f64>,
}

/// What makes a group: its environment, and the hash of its profile.
type Key = (Vec<Option<String>>, String);

/// The runs of a group, the newest first.
#[derive(Default)]
struct Runs {
    /// Command line of the newest.
    command: String,
    /// Numbers of the documents with their figures.
    values: Vec<(i64, f64)>,
}

impl Spread {
    fn of(values: &[(i64, f64)]) -> Spread {
        let mut data = Data::new(values.iter().map(|(_, value)| *value).collect::<Vec<f64>>());
        Spread {
            runs: values.len(),
            min: data.min(),
            lower_quartile: data.lower_quartile(),
            median: data.median(),
            upper_quartile: data.upper_quartile(),
            max: data.max(),
        }
    }
}

impl Store {
    /// The distributions of a metric over the runs of a filter, in the order of their environments. Each profile is a group
    /// of its own.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn statistics(
        &self,
        filter: &Filter,
        by: &[Environment],
        metric: Metric,
    ) -> Result<Vec<Group>, HistoryError> {
        let (condition, values) = filter.condition();
        let metric_id = metric.id();
        let mut values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        values.push(&metric_id);
        let columns: String = by.iter().map(|one| format!(", {}", one.column())).collect();
        let query = format!(
            "SELECT d.number, d.profile, d.command, f.value{columns} FROM document d \
             JOIN figure f ON f.document = d.number AND f.metric = ?{} {condition} ORDER BY d.time_s DESC, d.number DESC",
            values.len(),
        );
        let read = || -> rusqlite::Result<BTreeMap<Key, Runs>> {
            let mut groups = BTreeMap::new();
            let mut statement = self.db.prepare(&query)?;
            let mut rows = statement.query(values.as_slice())?;
            while let Some(row) = rows.next()? {
                let environment =
                    (4..4 + by.len()).map(|column| row.get(column)).collect::<Result<_, _>>()?;
                let profile: Option<String> = row.get(1)?;
                let runs: &mut Runs = groups.entry((environment, profile.unwrap_or_default())).or_default();
                if runs.values.is_empty() {
                    runs.command = row.get(2)?;
                }
                runs.values.push((row.get(0)?, row.get(3)?));
            }
            Ok(groups)
        };
        let groups = read().map_err(|error| self.fault(error))?;
        let group = |((environment, profile), Runs { command, values }): (Key, Runs)| {
            let spread = Spread::of(&values);
            Group { environment, profile, command, spread, values }
        };
        Ok(groups.into_iter().map(group).collect())
    }
}

impl Group {
    /// Whether the document is one of its runs.
    pub fn has(&self, entry: &Entry) -> bool {
        self.values.iter().any(|(number, _)| *number == entry.number)
    }
}

impl Rank {
    /// Where `entry` stands in the groups of [`Store::statistics`]; none when it has no such figure, or is in none of them.
    pub fn of(entry: &Entry, groups: &[Group], metric: Metric) -> Option<Rank> {
        let is_its = |(number, _): &&(i64, f64)| *number == entry.number;
        let group = groups.iter().find(|group| group.has(entry))?;
        let (_, value) = *group.values.iter().find(is_its)?;
        let others: Vec<(i64, f64)> = group.values.iter().filter(|one| !is_its(one)).copied().collect();
        let points = |other: f64| match (metric.better(), other.total_cmp(&value)) {
            (_, std::cmp::Ordering::Equal) => 0.5,
            (Better::Higher, std::cmp::Ordering::Less) | (Better::Lower, std::cmp::Ordering::Greater) => 1.0,
            _ => 0.0,
        };
        let sum: f64 = others.iter().map(|(_, other)| points(*other)).sum();
        let has_others = !others.is_empty();
        Some(Rank {
            id: entry.id.clone(),
            value,
            others: has_others.then(|| Spread::of(&others)),
            better_than_percent: has_others.then(|| sum / others.len() as f64 * 100.0),
        })
    }
}
