//! `--require` of the suites: what the answer must be for the exit code to stay 0.

use truespd_core::result::Grade;

/// One thing that is required of a suite's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Required {
    /// The verdict of every run is this or better.
    Grade(Grade),
    /// Every figure is valid and within its limit (`assess`).
    Pass,
    /// B is shown to be better than A, or not to differ from it by more than the margin (`ab`).
    NotWorse,
    /// B is shown to be better than A (`ab`).
    Better,
}

impl Required {
    pub fn word(self) -> &'static str {
        match self {
            Required::Grade(grade) => grade.word(),
            Required::Pass => "pass",
            Required::NotWorse => "not-worse",
            Required::Better => "better",
        }
    }
}

/// A word that is not legal after `--require`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("legal: {}", legal.join(", "))]
pub struct UnknownWord {
    pub legal: Vec<&'static str>,
}

/// The grades that can be required.
const GRADES: [Grade; 2] = [Grade::Certified, Grade::Suspect];

/// A grade that can be required.
///
/// # Errors
/// [`UnknownWord`].
pub fn grade(text: &str) -> Result<Grade, UnknownWord> {
    let found = GRADES.into_iter().find(|grade| grade.word() == text);
    found.ok_or_else(|| UnknownWord { legal: GRADES.map(Grade::word).to_vec() })
}

/// A word of `--require` for a suite that knows `own` beside the grades.
///
/// # Errors
/// [`UnknownWord`].
pub fn required(text: &str, own: &[Required]) -> Result<Required, UnknownWord> {
    let found = own.iter().copied().find(|required| required.word() == text);
    found.map_or_else(|| grade(text).map(Required::Grade), Ok).map_err(|mut unknown| {
        unknown.legal.extend(own.iter().map(|required| required.word()));
        unknown
    })
}

/// The same for a suite without words of its own.
///
/// # Errors
/// [`UnknownWord`].
pub fn required_grade(text: &str) -> Result<Required, UnknownWord> {
    required(text, &[])
}

/// The answer of a suite to `--require`.
pub struct Answer<'a> {
    /// It ran to its end.
    pub is_complete: bool,
    /// The worst verdict of its runs; none when none was judged.
    pub grade: Option<Grade>,
    /// Why a requirement that only this suite has is not met; none when it is.
    pub lacks: &'a dyn Fn(Required) -> Option<String>,
}

impl Answer<'_> {
    fn lack(&self, required: Required) -> Option<String> {
        match (required, self.grade) {
            _ if !self.is_complete => Some("the series did not run to its end".to_string()),
            (Required::Grade(_), None) => Some("no run was judged".to_string()),
            (Required::Grade(least), Some(grade)) if grade > least => {
                Some(format!("the verdict is {}", grade.word()))
            }
            (Required::Grade(_), Some(_)) => None,
            (own, _) => (self.lacks)(own),
        }
    }

    /// The requirements that are not met, each with the reason.
    pub fn lacking(&self, required: &[Required]) -> Vec<(Required, String)> {
        required.iter().filter_map(|&one| Some((one, self.lack(one)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUSPECT: Required = Required::Grade(Grade::Suspect);

    #[test]
    fn each_suite_knows_its_own_words() {
        assert_eq!(required_grade("suspect"), Ok(SUSPECT));
        assert_eq!(required("pass", &[Required::Pass]), Ok(Required::Pass));
        assert_eq!(required_grade("pass").unwrap_err().to_string(), "legal: certified, suspect");
        assert_eq!(grade("invalid").unwrap_err().to_string(), "legal: certified, suspect");
        let own = [Required::NotWorse, Required::Better];
        assert_eq!(
            required("invalid", &own).unwrap_err().to_string(),
            "legal: certified, suspect, not-worse, better"
        );
    }

    #[test]
    fn what_is_required_and_not_so_is_told() {
        let lacks = |required| (required == Required::Better).then(|| "it is not".to_string());
        let answer = |is_complete, grade| Answer { is_complete, grade, lacks: &lacks };
        let lacks_some = |answer: &Answer<'_>, required: &[Required]| !answer.lacking(required).is_empty();
        let suspect = answer(true, Some(Grade::Suspect));
        for (required, is_lacking) in [
            (vec![], false),
            (vec![SUSPECT], false),
            (vec![Required::Grade(Grade::Certified)], true),
            (vec![Required::NotWorse], false),
            (vec![SUSPECT, Required::Better], true),
        ] {
            assert_eq!(lacks_some(&suspect, &required), is_lacking, "{required:?}");
        }
        assert!(lacks_some(&answer(true, Some(Grade::Invalid)), &[SUSPECT]));
        assert!(lacks_some(&answer(true, None), &[SUSPECT]));
        assert!(!lacks_some(&answer(true, None), &[]));
        assert!(lacks_some(&answer(false, Some(Grade::Certified)), &[SUSPECT]));
        assert_eq!(suspect.lacking(&[Required::Better]), [(Required::Better, "it is not".to_string())]);
    }
}
