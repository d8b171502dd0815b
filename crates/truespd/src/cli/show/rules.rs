//! The page of the verdict's rules.

use truespd_platform::text::{hanging, wrap};
use truespd_verdict::doctor::{Check, CheckFn, checks};
use truespd_verdict::{Cause, rules as catalogue};

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

/// Markdown takes `<size>` for a tag.
fn escaped(text: &str) -> String {
    text.replace('<', "\\<")
}

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
    for (cause, rule) in catalogue() {
        let brackets = [rule.worst.word(), rule.meaning.words(), cause.theme.word()].join(", ");
        out.push_str(&format!("\n## {} ({brackets})\n\n", cause.name));
        out.push_str(&wrap(&escaped(cause.about), WIDTH).join("\n"));
        let advice = format!("\n\nAdvice: {}.\n", escaped(cause.advice.trim_end_matches('.')));
        out.push_str(&wrap(&advice, WIDTH).join("\n"));
    }
    out
}

const WIDTH: usize = 110;

const BEGIN: &str = r#"# Before you measure: `truespd doctor`

`truespd doctor` looks for what on this machine will spoil a measurement, and prints for each finding how it is set now,
how it should be, the command that sets it, and the command that sets it back. It changes nothing itself: it opens no
device for writing, loads no module and starts no program.

```
truespd doctor                    the machine and every whole disk
truespd doctor /data/test.dat     the machine and the disks below a file, or a folder
truespd doctor --all              also what is good, one line each
truespd doctor --peak             also what matters only beyond about a million IOPS per processor
truespd doctor --json             the findings for programs (truespd schema doctor)
truespd doctor --require good     exit code 5 when something will spoil a measurement
```

## How to read it

The first line counts. Then come the findings, in this order:

* **Will spoil a measurement**: the result would be wrong, or not that of the disk. Set it right first.
* **May spoil a measurement**: it matters for some measurements. Each finding says for which: every measurement,
  latencies and few outstanding I/Os, measurements through the page cache, or peak IOPS only.
* **Cannot be told**: this user may not read it, or the machine does not tell.

Where a rule of the verdict judges runs by the same thing, the finding has its threshold and names it; `truespd judge
--rules` explains the rules. The doctor looks before a run, the verdict judges what happened in one. `truespd inspect`
tells what lies below a target and what that means for its numbers.

A setting that programs on the machine have all day is part of what they get. If you measure what they get, leave it.
Findings of such settings say so.

## Setting and setting back

Commands are for a shell of root, with the real names of your disks. As another user you get them behind `sudo`. Most
hold until the next boot; the finding tells how to keep it. All of them as a script, and the way back with the values of
today:

```
truespd doctor --script undo > undo.sh    first: what is set now
truespd doctor --script > set.sh          read it before you run it
sh set.sh; diskspd ...; sh undo.sh
```

With `--peak`, scripts and findings take the side of peak IOPS where the two differ (`iostats`, `nomerges`).

## Peak IOPS

Checks that are marked "one-core peak list" are those of fio's `t/one-core-peak.sh`, by which people get the most IOPS
out of one processor. Most of them make no difference below about a million IOPS per processor, and make the machine
unlike one that does other work, so they are looked at only with `--peak`. One of them costs evidence: with `iostats`
off, the verdict cannot tell whether I/O reached the disk.

## Containers

A container shares the kernel of its host: schedulers, governors and most other settings are the host's, and can be set
there only. Limits of control groups, `cpuset` and system-call filters are the container's own. What other containers
and the host do is not visible from inside.

## The checks

This page is what `truespd doctor --checks` prints.
"#;

/// All checks as Markdown.
pub(crate) fn page() -> String {
    let mut out = BEGIN.to_string();
    for (cause, check) in checks() {
        push(&mut out, cause, check);
    }
    out
}

fn push(out: &mut String, cause: &Cause, check: &Check) {
    let of = match check.look {
        CheckFn::Machine(_) => "the machine",
        CheckFn::Disk(_) => "each disk",
        CheckFn::FileSystem(_) => "each file system",
    };
    out.push_str(&format!("\n### {}\n\n", check.id));
    let mut first = check.about.chars();
    let about: String =
        first.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default() + first.as_str();
    let lines = [
        format!("{about} ({of}). Matters for {}.", check.matters_for.words()),
        format!("Complains: {}", check.complains),
        format!("Difference: {}", check.difference),
    ];
    for line in lines {
        out.push_str(&wrap(&line, WIDTH).join("\n"));
        out.push_str("\n\n");
    }
    let mut notes = Vec::new();
    notes.extend(check.production().map(str::to_string));
    notes.extend(cause.rule_name().map(|rule| format!("Rule of the verdict: `{rule}`.")));
    notes.extend(check.one_core_peak.then(|| "On the one-core peak list.".to_string()));
    notes.push(format!("Source: {}.", check.source));
    out.push_str(&wrap(&notes.join(" "), WIDTH).join("\n"));
    out.push('\n');
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

#[cfg(test)]
mod tests_page {
    use super::*;

    #[test]
    fn the_page_is_the_table() {
        let page_now = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.md"));
        let page_now = page_now.expect("the page is there");
        assert!(page_now == page(), "renew it: truespd doctor --checks > docs/doctor.md");
    }
}
