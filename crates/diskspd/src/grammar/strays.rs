//! Targets that look like something else: options without a dash, sizes, words of fio.

use crate::grammar::arguments::{Arguments, is_option};
use crate::grammar::fio::said_here;
use truespd_core::fault::{Refusal, RefusalKind, Refusals};
use truespd_core::text::meant_size;

/// What a target was probably meant to be: `o32` is `-o32`.
pub fn meant(target: &str) -> Option<String> {
    if target.contains(['/', '.', '\\']) || target.starts_with(['-', '#', '*']) {
        return None;
    }
    if target.contains('=') {
        return said_here(target, None).map(|words| words.trim_start_matches('-').to_string());
    }
    if let Some(size) = meant_size(target) {
        return Some(format!(
            "a size follows the letter of its option: -c{size} makes a file of that size, -b{size} is the size of an I/O"
        ));
    }
    let option = format!("-{target}");
    let has_value = target.chars().nth(1).is_some_and(|c| c.is_ascii_digit()) || target.starts_with('S');
    (has_value && target.len() > 1 && is_option(&option)).then(|| format!("the option is written {option}"))
}

/// Refuses a line whose `-c` would make a file for a word that was meant otherwise: others beside it are
/// targets, and no file has this name.
pub fn refuse_strays(args: &[String], program: &str) -> Option<Refusals> {
    let line = Arguments::split(args, program);
    let targets = &line.args[line.targets..];
    if line.has_end_of_options || targets.iter().all(|target| meant(target).is_some()) {
        return None;
    }
    let mut refusals = Vec::new();
    for (at, target) in targets.iter().enumerate() {
        let Some(hint) = meant(target) else { continue };
        if std::fs::symlink_metadata(target).is_ok() {
            continue;
        }
        let what = format!("'{target}' stands where targets stand, and no file has this name");
        refusals.push(
            Refusal::new(RefusalKind::CommandLine, what)
                .at([line.mark_all(line.targets + at, true)])
                .legal("files and devices behind the options")
                .hint(hint)
                .hint(format!("for a new file of just this name write ./{target}")),
        );
    }
    (!refusals.is_empty()).then(|| Refusals::from(refusals).of(program, args))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_targets_are_known() {
        for (word, says) in [
            ("o32", "the option is written -o32"),
            ("t4", "-t4"),
            ("b4K", "-b4K"),
            ("w100", "-w100"),
            ("Sh", "-Sh"),
            ("1GB", "-c1G makes a file of that size"),
            ("4k", "-b4K is the size of an I/O"),
            ("bs=4k", "-b4k"),
            ("rw=randread", "-r -w0"),
        ] {
            let meant = meant(word).unwrap_or_default();
            assert!(meant.contains(says), "{word}: {meant}");
        }
        for word in
            ["f", "x", "r", "test", "data", "o32.dat", "./o32", "#1", "-o32", "disk1", "a=b", "Daten", "S"]
        {
            assert_eq!(meant(word), None, "{word}");
        }
    }
}
