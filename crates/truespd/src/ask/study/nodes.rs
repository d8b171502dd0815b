//! Runs that were made on several nodes, each beside the first.

use crate::ask::Spread;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use truespd_core::measure::estimate::{student_beyond, student_quantile};
use truespd_core::profile::Profile;
use truespd_core::result::metrics::{Metric, NoFigure};
use truespd_core::result::{Document, Grade, Layer};

#[derive(Debug, Clone, PartialEq)]
pub struct Runs {
    /// What the person calls it.
    pub name: String,
    /// The figure of each run.
    pub figures: Vec<f64>,
    /// The figures are of response times.
    pub is_response: bool,
    /// The worst verdict of the runs; none when no run was judged.
    pub grade: Option<Grade>,
    /// Whether the node has a copy of the data; none where the kernel did not know.
    pub has_copy: Option<bool>,
}

impl Runs {
    /// Of documents.
    ///
    /// # Errors
    /// Why a document has no such figure.
    pub fn of(name: &str, documents: &[Document], metric: Metric) -> Result<Self, NoFigure> {
        let mut figures = Vec::new();
        for document in documents {
            figures.push(metric.of(document)?);
        }
        let verdicts = documents.iter().filter_map(|document| document.verdict.as_ref());
        Ok(Runs {
            name: name.to_string(),
            figures,
            is_response: documents.iter().any(|document| metric.is_response(document)),
            grade: verdicts.map(|verdict| verdict.grade).max(),
            has_copy: has_copy(documents),
        })
    }
}

/// Whether the node of these runs has a copy of what they tested: DRBD tells it.
fn has_copy(documents: &[Document]) -> Option<bool> {
    let mut has_copy = None;
    for measured in documents.iter().flat_map(Document::measured) {
        for replica in measured.evidence.targets.iter().flat_map(|t| &t.layers).filter_map(Layer::replica) {
            if replica.disk.is_some() {
                has_copy = Some(has_copy.unwrap_or(true) && !replica.is_diskless());
            }
        }
    }
    has_copy
}

/// Which nodes have a copy of the data, in a sentence; `None` where the kernel of none of them knew.
pub fn copies_words(nodes: &[Node]) -> Option<String> {
    let [with, without] = [true, false].map(|has_copy| {
        let nodes = nodes.iter().filter(|node| node.has_copy == Some(has_copy));
        nodes.map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ")
    });
    match (with.as_str(), without.as_str()) {
        ("", "") => None,
        (with, "") => Some(format!("DRBD keeps a copy of the data on these nodes: {with}.")),
        ("", without) => Some(format!("DRBD keeps no copy of the data on these nodes: {without}.")),
        (with, without) => Some(format!(
            "DRBD keeps a copy of the data on these nodes: {with}. It keeps none on these, so every I/O of theirs \
             crosses the network: {without}."
        )),
    }
}

/// What two documents that should be of the same run have different, in words for the middle of a sentence; none when
/// they are of the same. Targets' paths and sizes to make, seeds, and what is only shown may differ.
pub fn differs(one: &Document, other: &Document) -> Option<String> {
    let [one, other] =
        [one, other].map(|document| serde_json::to_value(comparable(&document.profile)).unwrap_or_default());
    let mut found = Vec::new();
    collect("", &one, &other, &mut found);
    if found.is_empty() {
        return None;
    }
    let more = found.len().saturating_sub(DIFFERENCES_SHOWN);
    found.truncate(DIFFERENCES_SHOWN);
    let words = found.join(", ");
    Some(if more == 0 { words } else { format!("{words} and {more} more") })
}

const DIFFERENCES_SHOWN: usize = 3;

/// The profile as it is the same in all runs of a line.
fn comparable(profile: &Profile) -> Profile {
    let mut profile = Profile { time_spans: profile.time_spans.clone(), ..Profile::default() };
    for span in &mut profile.time_spans {
        span.rand_seed = 0;
        for target in &mut span.targets {
            target.path.clear();
            target.create_bytes = None;
        }
    }
    profile
}

/// Members and values that differ: `targets[0].block_bytes (4096 and 8192)`.
fn collect(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            for (name, value) in a {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(&path, value, b.get(name).unwrap_or(&Value::Null), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (one, other)) in a.iter().zip(b).enumerate() {
                collect(&format!("{path}[{index}]"), one, other, found);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            found.push(format!("{path} ({} and {} of them)", a.len(), b.len()));
        }
        _ if one != other => found.push(format!("{path} ({one} and {other})")),
        _ => {}
    }
}

/// A node beside the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// What the person calls it.
    pub name: String,
    /// What is compared.
    pub metric: Metric,
    /// The figure in its runs.
    pub figures: Spread,
    /// Latencies are response times: they count from when the rate (-g) wanted the I/O.
    #[serde(default)]
    pub is_response: bool,
    /// The worst verdict of its runs; none when no run was judged.
    pub grade: Option<Grade>,
    /// Whether the node has a copy of the data, by DRBD; none where the kernel did not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_copy: Option<bool>,
    /// How it differs from the first node; none for that one, and with fewer than two runs of each.
    pub difference: Option<Difference>,
}

/// How a node differs from the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Its figure over that of the first.
    pub ratio: f64,
    /// Begin of the 95 % interval.
    pub ratio_low: f64,
    /// End of the 95 % interval.
    pub ratio_high: f64,
    /// Probability of such a difference between nodes that are the same.
    pub p: f64,
}

/// All nodes beside the first; those without runs are left out.
pub fn compare_nodes(nodes: &[Runs], metric: Metric) -> Vec<Node> {
    let mut compared = Vec::new();
    for (place, runs) in nodes.iter().enumerate() {
        let Some(figures) = Spread::of(runs.figures.iter().copied()) else { continue };
        let difference = if place > 0 { welch(&nodes[0].figures, &runs.figures) } else { None };
        let Runs { is_response, grade, has_copy, .. } = *runs;
        let name = runs.name.clone();
        compared.push(Node { name, metric, figures, is_response, grade, has_copy, difference });
    }
    compared
}

/// Welch's test of the logarithms.
fn welch(a: &[f64], b: &[f64]) -> Option<Difference> {
    let ((mean_a, a_var), (mean_b, b_var)) = (log_mean(a)?, log_mean(b)?);
    let difference = mean_b - mean_a;
    let error = (a_var + b_var).sqrt();
    let (half, p) = if error > 0.0 {
        let [a_part, b_part] =
            [(a_var, a), (b_var, b)].map(|(variance, of)| variance * variance / (of.len() as f64 - 1.0));
        let freedom = error.powi(4) / (a_part + b_part);
        let t = difference.abs() / error;
        (error * student_quantile(0.05, freedom), 2.0 * student_beyond(t, freedom))
    } else {
        (0.0, if difference == 0.0 { 1.0 } else { 0.0 })
    };
    let [ratio, ratio_low, ratio_high] = [difference, difference - half, difference + half].map(f64::exp);
    Some(Difference { ratio, ratio_low, ratio_high, p })
}

/// Mean of the logarithms and its variance; none of fewer than two figures.
fn log_mean(figures: &[f64]) -> Option<(f64, f64)> {
    let count = figures.len() as f64;
    let mean = figures.iter().map(|x| x.ln()).sum::<f64>() / count;
    let squares = figures.iter().map(|x| (x.ln() - mean).powi(2)).sum::<f64>();
    (figures.len() > 1).then(|| (mean, squares / (count - 1.0) / count))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use truespd_core::profile::{Target, TimeSpan};
    use truespd_core::result::{LayerDetails, Measured, Replica, TargetFacts, TimeSpanResult};

    pub fn runs(name: &str, figures: &[f64]) -> Runs {
        let figures = figures.to_vec();
        Runs { name: name.into(), figures, is_response: false, grade: Some(Grade::Suspect), has_copy: None }
    }

    #[test]
    fn nodes_are_told_apart_when_their_scatter_allows() {
        let nodes = [
            runs("owner", &[1000.0, 1010.0, 990.0, 1005.0]),
            runs("other", &[800.0, 805.0, 795.0, 802.0]),
            runs("same", &[1001.0, 1012.0, 988.0]),
            runs("once", &[900.0]),
            runs("none", &[]),
        ];
        let compared = compare_nodes(&nodes, Metric::IOPS);
        assert_eq!(compared.len(), 4);
        let other = compared[1].difference.unwrap();
        assert!((other.ratio - 0.8).abs() < 0.002 && other.ratio_high < 0.82 && other.p < 1e-5, "{other:?}");
        let same = compared[2].difference.unwrap();
        assert!(same.ratio_low < 1.0 && 1.0 < same.ratio_high && same.p > 0.5, "{same:?}");
        assert_eq!((compared[0].difference, compared[3].difference), (None, None));
        assert_eq!(
            welch(&[2.0, 2.0], &[3.0, 3.0]).map(|d| (d.p, d.ratio_low == d.ratio_high)),
            Some((0.0, true))
        );
    }

    #[test]
    fn who_has_a_copy_is_told_where_drbd_tells_it() {
        let document = |disk: Option<&str>| {
            let replica = disk.map(|disk| Replica { disk: Some(disk.into()), ..Replica::default() });
            let details = Some(LayerDetails { replica, ..LayerDetails::default() });
            let layers = vec![Layer::default(), Layer { details, ..Layer::default() }];
            let mut measured = Measured::default();
            measured.evidence.targets = vec![TargetFacts { layers, ..TargetFacts::default() }];
            let time_spans = vec![TimeSpanResult::Measured(Box::new(measured))];
            Document { time_spans, ..Document::default() }
        };
        let has =
            |disks: &[Option<&str>]| has_copy(&disks.iter().map(|disk| document(*disk)).collect::<Vec<_>>());
        assert_eq!(has(&[Some("UpToDate"), Some("UpToDate")]), Some(true));
        assert_eq!(has(&[Some("UpToDate"), Some("Diskless")]), Some(false), "not in all runs");
        assert_eq!(has(&[None]), None);
        let node = |name: &str, has_copy| Runs { has_copy, ..runs(name, &[1.0, 2.0]) };
        let words = |nodes: &[Runs]| copies_words(&compare_nodes(nodes, Metric::IOPS));
        assert_eq!(words(&[node("a", None)]), None);
        assert_eq!(
            words(&[node("a", Some(true)), node("b", Some(true)), node("c", Some(false))]).as_deref(),
            Some(
                "DRBD keeps a copy of the data on these nodes: a, b. It keeps none on these, so every I/O \
                 of theirs crosses the network: c."
            )
        );
    }

    #[test]
    fn who_was_not_judged_has_no_grade() {
        let node = Runs { grade: None, ..runs("node", &[1.0, 2.0]) };
        let nodes = compare_nodes(&[node, runs("other", &[1.0])], Metric::IOPS);
        assert_eq!(nodes[0].grade, None);
        assert_eq!(Runs::of("none", &[], Metric::IOPS).map(|runs| runs.grade), Ok(None));
    }

    #[test]
    fn what_is_of_another_run_is_named() {
        let document = |change: fn(&mut TimeSpan, &mut Target)| {
            let (mut span, mut target) =
                (TimeSpan::default(), Target { path: "a".into(), ..Target::default() });
            change(&mut span, &mut target);
            span.targets = vec![target];
            Document {
                profile: Profile { time_spans: vec![span], ..Profile::default() },
                ..Document::default()
            }
        };
        let first = document(|_, _| {});
        let same = document(|span, target| {
            span.rand_seed = 7;
            target.path = "b".into();
            target.create_bytes = Some(1 << 30);
        });
        assert_eq!(differs(&first, &same), None);
        let writes = document(|span, target| {
            span.duration_s = 3;
            target.write_percent = 100;
        });
        let words = differs(&first, &writes).unwrap();
        assert!(words.contains("duration_s (10 and 3)"), "{words}");
        assert!(words.contains("targets[0].write_percent (0 and 100)"), "{words}");
        let mut two = document(|_, _| {});
        two.profile.time_spans[0].targets.push(Target::default());
        assert!(differs(&first, &two).unwrap().contains("(1 and 2 of them)"));
    }

    /// Against a worked example: logarithms 1, 2, 3 and 2, 4, 6 have t = 1.549 with 2.94 degrees of freedom.
    #[test]
    fn welch_is_welch() {
        let e = |logs: [f64; 3]| logs.map(f64::exp);
        let d = welch(&e([1.0, 2.0, 3.0]), &e([2.0, 4.0, 6.0])).unwrap();
        assert!((d.ratio.ln() - 2.0).abs() < 1e-12);
        assert!((d.p - 2.0 * student_beyond(1.549_19, 2.941_18)).abs() < 1e-4, "{d:?}");
    }
}
