//! What every finding is made with.

use super::{Look, Missing};
use crate::result::{Figure, Finding, FindingGrade};
use crate::text::printable;

/// A finding about the run as a whole, with what is so. [`super::judge`] fills in the rest. Words of a stored
/// document may be anybody's.
pub fn found(grade: FindingGrade, says: String) -> Finding {
    Finding { grade, says: printable(&says), ..Finding::default() }
}

/// The findings, unless there are none and evidence is missing for one target at least.
pub fn unless_missing(findings: Vec<Finding>, missing: Option<Missing>) -> Look {
    match missing {
        Some(missing) if findings.is_empty() => Err(missing),
        _ => Ok(findings),
    }
}

/// What can be added to a finding.
pub trait Details {
    /// The target it is about.
    fn of(self, target: Option<&str>) -> Self;
    /// A number that it rests on; one that is not finite is left out.
    fn figure(self, name: &str, value: f64) -> Self;
    /// Advice that fits better than that of the rule.
    fn advise(self, advice: &str) -> Self;
}

impl Details for Finding {
    fn of(mut self, target: Option<&str>) -> Self {
        self.target = target.map(str::to_string);
        self
    }

    fn figure(mut self, name: &str, value: f64) -> Self {
        if value.is_finite() {
            self.figures.push(Figure { name: name.to_string(), value });
        }
        self
    }

    fn advise(mut self, advice: &str) -> Self {
        self.advice = advice.to_string();
        self
    }
}

/// `part / whole`; 0 when there is no whole.
pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 && part.is_finite() && whole.is_finite() { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_finite() {
        let finding = found(FindingGrade::Suspect, String::new()).figure("a", f64::NAN).figure("b", 1.0);
        assert_eq!(finding.figures.len(), 1);
        assert_eq!((ratio(1.0, 0.0), ratio(f64::NAN, 1.0), ratio(1.0, 4.0)), (0.0, 0.0, 0.25));
    }
}
