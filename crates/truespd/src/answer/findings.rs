//! Findings of a verdict on a page: the name of each opens what it says.

use super::html::{badge, escaped};
use super::verdict::SeriesVerdict;
use truespd_core::result::FindingGrade;
use truespd_platform::text::with_micro;

pub struct Reason {
    pub grade: FindingGrade,
    pub rule: String,
    /// The runs that have it, what it says and what to do, as HTML.
    pub body: String,
}

/// The names of what was found, each of which opens what it says. The first is open where the verdict is invalid.
/// Remarks share one item, and so do rules without evidence (`unchecked`, which is such an item).
pub fn finding_list(reasons: Vec<Reason>, unchecked: &str) -> String {
    let (mut items, mut remarks, mut count) = (String::new(), String::new(), 0);
    for Reason { grade, rule, body } in reasons {
        let rule = escaped(&rule);
        if grade.is_remark() {
            remarks += &format!("<li><strong>{rule}</strong>{body}</li>");
            count += 1;
            continue;
        }
        let open = if grade == FindingGrade::Invalid && items.is_empty() { " open" } else { "" };
        let word = grade.word();
        items +=
            &format!("<li class=\"{word}\"><details{open}><summary>{rule}</summary>{body}</details></li>");
    }
    if count > 0 {
        let words = if count == 1 { "1 remark".to_string() } else { format!("{count} remarks") };
        items += &folded_item(&words, &remarks);
    }
    items += unchecked;
    if items.is_empty() { items } else { format!("<ul class=\"findings\">{items}</ul>\n") }
}

/// An item that opens a list; both are HTML.
pub fn folded_item(words: &str, items: &str) -> String {
    format!("<li><details><summary>{words}</summary><ul>{items}</ul></details></li>")
}

/// `of`: the runs that have it. `says` is HTML.
pub fn reason(grade: FindingGrade, rule: &str, of: &str, says: &str, advice: &str) -> Reason {
    let advice = match advice {
        "" => String::new(),
        advice => format!("<p><em>What to do:</em> {}</p>", escaped(&with_micro(advice))),
    };
    // Remarks are called so together.
    let mut kind = String::new();
    if !grade.is_remark() || !of.is_empty() {
        kind = format!("<p class=\"kind\">{}{}</p>", grade.word(), escaped(of));
    }
    Reason { grade, rule: rule.to_string(), body: format!("{kind}{says}{advice}") }
}

/// What the verdicts of a series say together.
pub fn of_series(verdict: &SeriesVerdict) -> String {
    let grade = verdict.grade.map_or("not judged".to_string(), badge);
    let mut reasons = Vec::new();
    for found in &verdict.findings {
        let of = format!(", {}", found.runs_words(verdict.runs));
        let says = format!("<p>{}</p>", escaped(&with_micro(&found.says)));
        reasons.push(reason(found.grade, &found.rule, &of, &says, &found.advice));
    }
    let lead = match verdict.runs {
        1 => "verdict".to_string(),
        runs => format!("worst verdict of {runs} runs"),
    };
    format!("<p class=\"verdict\">{lead}: {grade}</p>\n{}", finding_list(reasons, ""))
}
