//! The command line against words that nobody would type: no panic, always the same answer, and every
//! accepted line keeps the rules.

use crate::support::words;
use diskspd::grammar::parse::{Invocation, parse};
use proptest::prelude::*;
use truespd_core::profile::{Severity, validate};

/// Characters that mean something somewhere in the grammar, and some that mean trouble.
const ALPHABET: &[char] = &[
    '-',
    '-',
    '-',
    '/',
    ':',
    ',',
    '=',
    '#',
    '*',
    '?',
    '.',
    ' ',
    '0',
    '1',
    '2',
    '9',
    'a',
    'b',
    'B',
    'c',
    'C',
    'd',
    'D',
    'e',
    'E',
    'f',
    'F',
    'g',
    'h',
    'i',
    'I',
    'j',
    'k',
    'K',
    'l',
    'L',
    'm',
    'M',
    'n',
    'N',
    'o',
    'O',
    'p',
    'P',
    'r',
    'R',
    's',
    'S',
    't',
    'T',
    'u',
    'v',
    'w',
    'W',
    'x',
    'X',
    'y',
    'z',
    'Z',
    'G',
    'Y',
    '\u{2013}',
    '\u{2212}',
    '\u{e9}',
    '\u{301}',
    '\u{6f22}',
    '\u{1f600}',
    '\u{200b}',
    '\u{202e}',
    '\u{7}',
    '\n',
    '\0',
    '\u{664}',
];

/// Starts of words that lead deep into the grammar.
const STARTS: &[&str] = &[
    "-b",
    "-B",
    "-f",
    "-c",
    "-s",
    "-si",
    "-r",
    "-rs",
    "-rdpct",
    "-rdabs",
    "-rdpct10/",
    "-rdabs1/1:",
    "-T",
    "-w",
    "-Z",
    "-Z1,",
    "-t",
    "-F",
    "-o",
    "-O",
    "-a",
    "-ag",
    "-a0-",
    "-ag0,",
    "-ac",
    "-S",
    "-N",
    "-g",
    "-i",
    "-j",
    "-:",
    "-d",
    "-W",
    "-C",
    "-z",
    "-D",
    "-R",
    "-Rp",
    "-Rs",
    "-P",
    "-v",
    "-I",
    "-ys",
    "-ye",
    "-e",
    "-X",
    "-u",
    "-un",
    "-oc",
    "-bs",
    "--",
    "--engine",
    "--engine=",
    "--overwrite=",
    "--help",
    "",
];

fn letters(longest: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(ALPHABET), 0..=longest)
        .prop_map(|chars| chars.into_iter().collect())
}

fn word() -> impl Strategy<Value = String> {
    (prop::sample::select(STARTS), letters(6)).prop_map(|(start, tail)| format!("{start}{tail}"))
}

/// Options that are legal alone, in combinations that may not be.
const OPTIONS: &[&str] = &[
    "-b4k",
    "-b8K",
    "-b2b",
    "-B1M",
    "-B1M:64M",
    "-f64M",
    "-frs",
    "-c1G",
    "-s",
    "-s8k",
    "-si",
    "-r",
    "-r4k",
    "-rs50",
    "-rdpct90/10",
    "-rdabs90/1G",
    "-p",
    "-T1M",
    "-w30",
    "-Z",
    "-Zr",
    "-Z1M",
    "-t4",
    "-F2",
    "-o8",
    "-O4",
    "-x",
    "-u8",
    "-oc4",
    "-bsn",
    "-a0,1",
    "-ag1",
    "-acs",
    "-n",
    "-S",
    "-Sh",
    "-Sw",
    "-Sm",
    "-h",
    "-Nv",
    "-g100",
    "-g10i",
    "-i100",
    "-j10",
    "-:1",
    "-d5",
    "-W0",
    "-C1",
    "-z",
    "-z7",
    "-L",
    "-D100",
    "-P",
    "-v",
    "-vs",
    "-Rxml",
    "-Rp",
    "-l",
    "-I1",
    "-ysA",
    "-yrB",
    "-eDISK_IO",
    "--recreate",
    "--verdict",
    "--require=suspect",
    "--engine=null",
];

fn check(args: &[String]) -> Result<(), TestCaseError> {
    let answer = parse(args, "diskspd", &|| words::BOOT_MS);
    prop_assert_eq!(&answer, &parse(args, "diskspd", &|| words::BOOT_MS));
    match answer {
        Ok(Invocation::Run(request)) if request.profile_file.is_none() => {
            let findings = validate(&request.profile, !request.profile_only);
            prop_assert!(findings.iter().all(|finding| finding.severity == Severity::Warning));
            prop_assert_eq!(request.profile.time_spans.len(), 1);
            prop_assert!(!request.profile.time_spans[0].targets.is_empty());
        }
        Ok(_) => {}
        Err(refusal) => {
            let text = refusal.to_string();
            prop_assert!(text.starts_with("ERROR: "));
            prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{:?}", text);
            prop_assert!(!refusal.all.is_empty());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_words_never_break_it(args in prop::collection::vec(word(), 0..6)) {
        check(&args)?;
    }

    #[test]
    fn random_letters_never_break_it(args in prop::collection::vec(letters(12), 0..4)) {
        check(&args)?;
    }

    #[test]
    fn random_combinations_keep_the_rules(
        options in prop::collection::vec(prop::sample::select(OPTIONS), 0..7),
        targets in prop::collection::vec(prop::sample::select(vec!["f", "g", "#1", "*1", "X:", ""]), 0..3),
    ) {
        let args: Vec<String> = options.iter().chain(&targets).map(|word| word.to_string()).collect();
        check(&args)?;
    }
}
