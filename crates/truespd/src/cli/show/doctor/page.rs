//! The page of all checks, which is what `docs/doctor.md` holds.

use truespd_core::text::wrap;
use truespd_core::verdict::Cause;
use truespd_core::verdict::doctor::{Check, CheckFn, checks};

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
there only. Limits of control groups, `cpuset` and system-call filters are the container's own. What other containers and
the host do is not visible from inside.

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
    fn the_page_is_the_table() {
        let page_now = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.md"));
        let page_now = page_now.expect("the page is there");
        assert!(page_now == page(), "renew it: truespd doctor --checks > docs/doctor.md");
    }
}
