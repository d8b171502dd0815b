//! What the doctor found: as text for people, as scripts, and the page of all checks.

pub(crate) use crate::cli::show::rules::page;
use truespd_front::show::Style;
use truespd_platform::text::{hanging, printable, shell_word, wrap};
use truespd_verdict::doctor::{Finding, Lasts, Report, State, Subject, SubjectKind};

const INDENT: usize = 6;
/// Where words behind `set:` begin.
const LABEL: usize = 8;

/// One line of counts, then the findings, the worst first.
pub(crate) fn text(report: &Report, shows_all: bool, style: Style) -> String {
    let mut text = wrap(&summary(report), style.columns).join("\n");
    text.push('\n');
    for words in remarks(report) {
        text.push_str(&hanging("", &words, style.columns));
    }
    let sections = [
        (State::Spoils, "Will spoil a measurement"),
        (State::MaySpoil, "May spoil a measurement"),
        (State::Unknown, "Cannot be told"),
    ];
    for (state, title) in sections {
        let found = merged(report, state);
        if found.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{title}\n"));
        for (number, finding) in found.iter().enumerate() {
            match state {
                State::Unknown => push_short(&mut text, finding, style.columns),
                _ => {
                    text.push_str(if number > 0 { "\n" } else { "" });
                    push_finding(&mut text, finding, report.is_root, style.columns);
                }
            }
        }
    }
    if shows_all {
        for (state, title) in [(State::Good, "Good"), (State::DoesNotApply, "Not here")] {
            let found = merged(report, state);
            if !found.is_empty() {
                text.push_str(&format!("\n{title}\n"));
            }
            found.iter().for_each(|finding| push_short(&mut text, finding, style.columns));
        }
    }
    text
}

/// `3 things will spoil a measurement, 5 may, 24 are good, 2 cannot be told without root.`
fn summary(report: &Report) -> String {
    let counts = &report.counts;
    let mut parts = vec![match counts.spoils {
        0 => "Nothing will spoil a measurement".to_string(),
        1 => "1 thing will spoil a measurement".to_string(),
        many => format!("{many} things will spoil a measurement"),
    }];
    parts.push(format!(
        "{} may",
        if counts.may_spoil == 0 { "none".to_string() } else { counts.may_spoil.to_string() }
    ));
    parts.push(format!("{} {} good", counts.good, if counts.good == 1 { "is" } else { "are" }));
    if counts.unknown > 0 {
        let without = if report.is_root { "" } else { " without root" };
        parts.push(format!("{} cannot be told{without}", counts.unknown));
    }
    format!("{}.", parts.join(", "))
}

fn remarks(report: &Report) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.push(match report.disks.as_slice() {
        [] => "No disk was found to look at.".to_string(),
        [disk] => format!("Looked at the machine and at {}.", printable(disk)),
        disks => format!("Looked at the machine and at {}.", printable(&disks.join(", "))),
    });
    remarks.extend(report.beyond.iter().map(|words| printable(words).to_string()));
    if report.is_container {
        remarks.push(
            "This is a container: the settings of the kernel and of disks are the host's, and are set there."
                .to_string(),
        );
    }
    if report.for_peak_only > 0 {
        let things = if report.for_peak_only == 1 {
            "1 more thing matters"
        } else {
            &format!("{} more things matter", report.for_peak_only)
        };
        remarks.push(format!("{things} only beyond about a million IOPS per processor: --peak shows them."));
    }
    remarks
}

/// Findings of a state, those that say the same of several disks as one.
fn merged(report: &Report, state: State) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for finding in report.findings.iter().filter(|finding| finding.state == state) {
        match found.iter_mut().find(|other| say_the_same(other, finding)) {
            Some(other) => {
                other.subject.name = format!("{}, {}", other.subject.name, finding.subject.name);
                other.set.extend(finding.set.iter().cloned());
                other.set_back.extend(finding.set_back.iter().cloned());
            }
            None => found.push(finding.clone()),
        }
    }
    found
}

fn say_the_same(one: &Finding, other: &Finding) -> bool {
    one.check == other.check
        && one.subject.kind == other.subject.kind
        && (&one.says, &one.now, &one.wanted, one.matters_for)
            == (&other.says, &other.now, &other.wanted, other.matters_for)
}

/// `scheduler (vda)`.
fn name(finding: &Finding) -> String {
    let Subject { kind, name } = &finding.subject;
    match kind {
        SubjectKind::Machine => finding.check.clone(),
        SubjectKind::Disk | SubjectKind::FileSystem => format!("{} ({name})", finding.check),
    }
}

/// `bfq -> none`.
fn course(finding: &Finding) -> String {
    match (&finding.now, &finding.wanted) {
        (Some(now), Some(wanted)) => format!("{now} -> {wanted}"),
        (Some(now), None) => now.clone(),
        (None, Some(wanted)) => format!("-> {wanted}"),
        (None, None) => String::new(),
    }
}

fn push_short(text: &mut String, finding: &Finding, columns: usize) {
    let now = finding.now.as_ref().map(|now| format!("{now}. ")).unwrap_or_default();
    let words = format!("{}: {now}{}", name(finding), finding.says);
    text.push_str(&hanging("  ", &printable(&words), columns));
}

fn push_finding(text: &mut String, finding: &Finding, is_root: bool, columns: usize) {
    let mark = if finding.one_core_peak { " [one-core peak list]" } else { "" };
    let head = format!("{}: {}{mark}", name(finding), course(finding));
    text.push_str(&hanging("  ", &printable(&head), columns));
    let lead = " ".repeat(INDENT);
    let rule = finding.rule.as_ref().map(|rule| format!(" (rule {rule} of the verdict)")).unwrap_or_default();
    let difference =
        format!("Matters for {}: {}", finding.matters_for.words(), uncapitalised(&finding.difference));
    for words in [format!("{}{rule}", finding.says), difference] {
        text.push_str(&hanging(&lead, &printable(&words), columns));
    }
    if let Some(production) = &finding.production
        && (!finding.set.is_empty() || finding.permanent.is_some())
    {
        text.push_str(&hanging(&lead, &printable(production), columns));
    }
    // Commands stay in one line, to be copied.
    for (label, lines) in [("set", &finding.set), ("back", &finding.set_back)] {
        for line in lines {
            text.push_str(&format!("{lead}{label:<LABEL$}{}\n", printable(&typed(line, finding, is_root))));
        }
    }
    let lasts = finding.lasts.map(|lasts| format!("lasts {}", lasts.words()));
    let keep = finding.permanent.as_ref().map(|permanent| {
        if finding.set.is_empty() { permanent.clone() } else { format!("to keep it: {permanent}") }
    });
    let (label, words) = match (lasts, keep) {
        (Some(lasts), Some(keep)) => ("", format!("{lasts}; {keep}")),
        (Some(lasts), None) => ("", lasts),
        (None, Some(keep)) => ("set by", keep),
        (None, None) => return,
    };
    text.push_str(&hanging(&format!("{lead}{label:<LABEL$}"), &printable(&words), columns));
}

/// A sentence behind a colon. Names and abbreviations stay as they are.
fn uncapitalised(sentence: &str) -> String {
    let mut chars = sentence.chars();
    let first = chars.next().map(|first| first.to_lowercase().collect::<String>()).unwrap_or_default();
    let is_word = chars.as_str().split(' ').next().is_some_and(|rest| rest.chars().all(char::is_lowercase));
    if is_word { format!("{first}{}", chars.as_str()) } else { sentence.to_string() }
}

/// A command as this user types it.
fn typed(line: &str, finding: &Finding, is_root: bool) -> String {
    match finding.lasts {
        _ if is_root => line.to_string(),
        // The number of this shell ($$) would be another one's.
        Some(Lasts::InThisShell) => format!("sudo {line}"),
        _ if line.contains(['>', ';']) => format!("sudo sh -c {}", shell_word(line)),
        _ => format!("sudo {line}"),
    }
}

/// Findings that commands change.
fn changeable(report: &Report) -> impl DoubleEndedIterator<Item = &Finding> {
    report.findings.iter().filter(|finding| finding.state.is_complaint() && !finding.set.is_empty())
}

const TWICE: &str = "# Read it first: each line is for one finding of `truespd doctor`. It changes what programs on \
     this machine get.\n";

/// The commands that set everything as wanted.
pub(crate) fn script(report: &Report) -> String {
    let mut out = format!(
        "#!/bin/sh\n# Sets what may or will spoil a measurement. Run it as root (sh FILE).\n{TWICE}\
         # The way back: `truespd doctor --script undo`, printed before this one runs; its lines stand here behind \
         \"back:\".\n"
    );
    let mut changes = 0;
    for finding in changeable(report) {
        let (name, course) = (printable(&name(finding)), printable(&course(finding)));
        out.push_str(&format!("\n# {name}: {course} (for {})\n", finding.matters_for.words()));
        for line in &finding.set {
            out.push_str(&lines_of(line, finding));
        }
        finding.set_back.iter().for_each(|line| out.push_str(&format!("# back: {}\n", printable(line))));
        changes += 1;
    }
    if changes == 0 {
        out.push_str("\n# There is nothing to set.\n");
    }
    out
}

/// The commands that set everything back to what it is now.
pub(crate) fn script_back(report: &Report) -> String {
    let mut out =
        "#!/bin/sh\n# Sets back what `truespd doctor --script set` changes, to the values of when this was \
         printed. Run it as root \
                   (sh FILE).\n"
            .to_string();
    let mut changes = 0;
    for finding in changeable(report).rev() {
        let now = finding.now.as_deref().unwrap_or_default();
        out.push_str(&format!("\n# {}: back to {}\n", printable(&name(finding)), printable(now)));
        finding.set_back.iter().rev().for_each(|line| out.push_str(&lines_of(line, finding)));
        changes += 1;
    }
    if changes == 0 {
        out.push_str("\n# There is nothing to set back.\n");
    }
    out
}

/// What holds in one shell only would be lost with the script's own.
fn lines_of(line: &str, finding: &Finding) -> String {
    match finding.lasts {
        Some(Lasts::InThisShell) => format!("# in the shell that runs the test: {}\n", printable(line)),
        _ => format!("{}\n", printable(line)),
    }
}

#[cfg(test)]
mod tests;
