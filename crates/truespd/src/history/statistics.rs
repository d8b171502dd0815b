//! How a figure is distributed over the results of each environment, and where one stands among its equals.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rusqlite::params_from_iter;
use serde::Serialize;
use statrs::statistics::{Data, Max, Min, OrderStatistics};

use super::HistoryError;
use super::entry::Entry;
use super::open::Store;
use super::store::Filter;
use truespd_core::result::metrics::{Better, Metric};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    Host,
    Model,
    Firmware,
    Target,
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

/// Where runs have their figures, and tests of suites theirs: what makes a group, its command line, and the figure.
const SOURCES: [&str; 2] = [
    "d.kind, NULL, coalesce(d.profile, ''), d.command, f.value{columns} FROM document d \
     JOIN figure f ON f.document = d.number AND f.metric = {metric}",
    "d.kind, p.name, p.profile, coalesce(nullif(p.command, ''), d.command), f.value{columns} FROM document d \
     JOIN part p ON p.document = d.number \
     JOIN part_figure f ON f.document = p.document AND f.place = p.place AND f.metric = {metric}",
];
/// The first column of an environment in them.
const FIRST_COLUMN: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    pub runs: usize,
    pub min: f64,
    /// A quarter of them are below.
    pub lower_quartile: f64,
    /// Half of them are below.
    pub median: f64,
    /// Three quarters of them are below.
    pub upper_quartile: f64,
    pub max: f64,
}

/// The results of one test in one environment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The values of what makes the environment, in the order asked for; none where a document does not tell.
    pub environment: Vec<Option<String>>,
    /// Kind of document: `result`, or the name of a suite.
    pub kind: String,
    /// Which test of the suite; none for runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Hash of the profile: results of different tests are no distribution.
    pub profile: String,
    /// Command line of the newest of them.
    pub command: String,
    pub spread: Spread,
    /// Every figure, the newest first.
    #[serde(skip)]
    values: Vec<(i64, f64)>,
}

/// Where one result stands among the others of its group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rank {
    pub id: String,
    /// Which of its tests; none for runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    pub value: f64,
    /// The others with the same profile in the same environment; none when there are none.
    pub others: Option<Spread>,
    /// The part of them, in percent, that are worse; equal ones count half.
    pub better_than_percent: Option<f64>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    environment: Vec<Option<String>>,
    kind: String,
    part: Option<String>,
    profile: String,
}

/// The results of a group, the newest first.
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
    /// The distributions of a metric over the results of a filter, in the order of their environments. Each
    /// test is a group of its own: a profile, of suites one with its name.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn statistics(
        &self,
        filter: &Filter,
        by: &[Environment],
        metric: Metric,
    ) -> Result<Vec<Group>, HistoryError> {
        let mut groups: BTreeMap<Key, Runs> = BTreeMap::new();
        for source in SOURCES {
            self.gather(source, filter, by, metric, &mut groups).map_err(|error| self.fault(error))?;
        }
        // A suite of this profile has tests of others.
        let wanted = filter.profile.as_deref().unwrap_or_default().to_lowercase();
        groups.retain(|key, _| key.profile.starts_with(&wanted));
        let mut all = Vec::new();
        for (Key { environment, kind, part, profile }, Runs { command, values }) in groups {
            let spread = Spread::of(&values);
            all.push(Group { environment, kind, part, profile, command, spread, values });
        }
        Ok(all)
    }

    /// Adds the figures that stand in one of [`SOURCES`].
    fn gather(
        &self,
        source: &str,
        filter: &Filter,
        by: &[Environment],
        metric: Metric,
        groups: &mut BTreeMap<Key, Runs>,
    ) -> rusqlite::Result<()> {
        let (condition, mut values) = filter.condition();
        values.push(metric.id().to_string().into());
        let columns: String = by.iter().map(|one| format!(", {}", one.column())).collect();
        let source = source.replace("{columns}", &columns).replace("{metric}", &format!("?{}", values.len()));
        let query = format!("SELECT d.number, {source} {condition} ORDER BY d.time_s DESC, d.number DESC");
        let mut statement = self.db.prepare(&query)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let columns = FIRST_COLUMN..FIRST_COLUMN + by.len();
            let key = Key {
                environment: columns.map(|column| row.get(column)).collect::<Result<_, _>>()?,
                kind: row.get(1)?,
                part: row.get(2)?,
                profile: row.get(3)?,
            };
            let runs: &mut Runs = groups.entry(key).or_default();
            if runs.values.is_empty() {
                runs.command = row.get(4)?;
            }
            runs.values.push((row.get(0)?, row.get(5)?));
        }
        Ok(())
    }
}

impl Group {
    /// Whether the document is one of its results.
    pub fn has(&self, entry: &Entry) -> bool {
        self.values.iter().any(|(number, _)| *number == entry.number)
    }
}

impl Rank {
    /// Where `entry` stands in the groups of [`Store::statistics`], once for each of its tests; empty when it
    /// has no such figure, or is in none of them.
    pub fn of(entry: &Entry, groups: &[Group], metric: Metric) -> Vec<Rank> {
        groups.iter().filter_map(|group| Self::within(entry, group, metric)).collect()
    }

    fn within(entry: &Entry, group: &Group, metric: Metric) -> Option<Rank> {
        let (_, value) = *group.values.iter().find(|(number, _)| *number == entry.number)?;
        let mut others = group.values.clone();
        others.retain(|(number, _)| *number != entry.number);
        let (mut worse, mut equal) = (0, 0);
        for (_, other) in &others {
            match (metric.better(), other.total_cmp(&value)) {
                (_, Ordering::Equal) => equal += 1,
                (Better::Higher, Ordering::Less) | (Better::Lower, Ordering::Greater) => worse += 1,
                _ => {}
            }
        }
        let (id, part) = (entry.id.clone(), group.part.clone());
        if others.is_empty() {
            return Some(Rank { id, part, value, others: None, better_than_percent: None });
        }
        let better_than = (f64::from(worse) + 0.5 * f64::from(equal)) / others.len() as f64;
        let others = Some(Spread::of(&others));
        Some(Rank { id, part, value, others, better_than_percent: Some(better_than * 100.0) })
    }
}
