//! The page of the verdict's rules.

use truespd_core::text::{hanging, wrap};
use truespd_core::verdict::rules as catalogue;

/// What stands above the rules: paragraphs, and items of lists behind their mark.
const INTRODUCTION: &[(&str, &str)] = &[
    (
        "",
        "This page is what `truespd judge --rules` prints. The grade of a result is the worst grade that a rule \
         gives it:",
    ),
    ("* ", "`certified`: the rules had the evidence they need and found nothing."),
    ("* ", "`suspect`: the numbers are right for what ran, but may not mean what you think."),
    ("* ", "`invalid`: the numbers do not describe the target."),
    (
        "",
        "A rule may also add a remark, which does not change the grade. A rule that lacks evidence says which \
         evidence it lacks.",
    ),
    (
        "",
        "The brackets of each heading name the worst grade, what a finding means for the number, and the cause. \
         Findings of one grade \
         stand in the order of what they mean, and the first one is what the verdict's line tells:",
    ),
    ("* ", "`another number`: it is the number of something else, such as a cache, or of a part of the run."),
    ("* ", "`other load`: something else used, or changed, what was measured meanwhile."),
    (
        "* ",
        "`held back`: it is right for what ran, and the test itself, the machine's settings or a limit held it back.",
    ),
    ("* ", "`seen`: it is seen in the numbers, or worth knowing beside them."),
    (
        "",
        "Findings that mean the same stand in the order of their causes: the run itself, processor, neighbours, \
         machine, limit, target, \
         cache, content, and symptoms last, because any of the others may explain them.",
    ),
    (
        "",
        "With fewer than 100 I/Os, rules about rates, shares and means do not speak, because the I/Os in flight at \
         the start and the end \
         would decide. Ten large I/Os of 64 MiB together are enough to compare them with the counters of disks and \
         servers.",
    ),
];

/// All rules as Markdown, which is what `docs/verdict-rules.md` holds.
pub fn rules() -> String {
    const WIDTH: usize = 110;
    let mut out = String::from("# Rules of the verdict\n");
    let mut before = "none";
    for (lead, words) in INTRODUCTION {
        // Items of a list follow each other.
        if lead.is_empty() || *lead != before {
            out.push('\n');
        }
        out.push_str(&hanging(lead, words, WIDTH));
        before = lead;
    }
    // Markdown takes `<size>` for a tag.
    let escaped = |text: &str| text.replace('<', "\\<");
    for (cause, rule) in catalogue() {
        let brackets = [rule.worst.word(), rule.meaning.words(), cause.theme.word()].join(", ");
        out.push_str(&format!("\n## {} ({brackets})\n\n", cause.name));
        out.push_str(&wrap(&escaped(cause.about), WIDTH).join("\n"));
        let advice = format!("\n\nAdvice: {}.\n", escaped(cause.advice.trim_end_matches('.')));
        out.push_str(&wrap(&advice, WIDTH).join("\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_rules_is_the_table() {
        let page =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verdict-rules.md"));
        let page = page.expect("the page is there");
        assert!(page == rules(), "renew it: truespd judge --rules > docs/verdict-rules.md");
    }
}
