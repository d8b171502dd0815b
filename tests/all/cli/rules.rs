//! How options go together: the letters of `-S`, conflicts, order, repetition (`command-line.md` §4, §6,
//! §7), and the error group of the recorded runs of DiskSpd 2.2.

use crate::support::words::{read, refused, run};
use diskspd::grammar::parse::Invocation;
use truespd_core::profile::{CacheMode, Throughput};

/// Legal sets of `command-line.md` §6, sorted.
const LEGAL_SETS: &[&str] = &["b", "h", "m", "r", "u", "w", "bm", "bw", "mr", "mw", "rw", "uw", "bmw", "mrw"];

/// All words over `letters` of 1 to `longest` letters.
fn all_words(letters: &[char], longest: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut last = vec![String::new()];
    for _ in 0..longest {
        last = last.iter().flat_map(|word| letters.iter().map(move |c| format!("{word}{c}"))).collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// Every way to spread `letters` over arguments: each gap between letters is a border or not.
fn spread(letters: &str) -> Vec<Vec<String>> {
    let letters: Vec<char> = letters.chars().collect();
    (0..1u32 << (letters.len() - 1))
        .map(|borders| {
            let mut arguments = vec![String::from(letters[0])];
            for (i, c) in letters.iter().enumerate().skip(1) {
                if borders & (1 << (i - 1)) != 0 {
                    arguments.push(String::new());
                }
                arguments.last_mut().expect("there is one").push(*c);
            }
            arguments
        })
        .collect()
}

#[test]
fn cache_letters_exhaustively() {
    let (mut accepted, mut lines) = (0, 0);
    for word in all_words(&['b', 'h', 'm', 'r', 'u', 'w'], 4) {
        let mut sorted: Vec<char> = word.chars().collect();
        sorted.sort_unstable();
        let sorted: String = sorted.into_iter().collect();
        let legal = LEGAL_SETS.contains(&sorted.as_str());
        for arguments in spread(&word) {
            // An argument of h alone may also be written -h, u alone also -S.
            let spellings = [
                arguments.iter().map(|a| format!("-S{a}")).collect::<Vec<_>>(),
                arguments.iter().map(|a| if a == "h" { "-h".into() } else { format!("-S{a}") }).collect(),
                arguments.iter().map(|a| if a == "u" { "-S".into() } else { format!("-S{a}") }).collect(),
            ];
            for spelling in spellings {
                let line = format!("{} f", spelling.join(" "));
                lines += 1;
                match read(&line) {
                    Ok(Invocation::Run(request)) => {
                        assert!(legal, "accepted: {line}");
                        accepted += 1;
                        let target = &request.profile.time_spans[0].targets[0];
                        let has = |c| word.contains(c);
                        let mode = match () {
                            _ if has('u') || has('h') => CacheMode::DisableOsCache,
                            _ if has('r') => CacheMode::DisableLocalCache,
                            _ => CacheMode::Cached,
                        };
                        assert_eq!(target.cache, mode, "{line}");
                        assert_eq!(target.write_through, has('w') || has('h'), "{line}");
                        assert_eq!(target.memory_mapped, has('m'), "{line}");
                    }
                    Ok(other) => panic!("{line}: {other:?}"),
                    Err(refusal) => {
                        assert!(!legal, "{line}\n{refusal}");
                        let what = &refusal.all[0].message;
                        assert!(what.contains("cannot be added") && what.contains("already set"), "{what}");
                    }
                }
            }
        }
    }
    // 6 single letters, 6 pairs in 2 orders and 2 spreadings, 2 triples in 6 orders and 4 spreadings.
    assert_eq!(accepted, 3 * (6 + 6 * 2 * 2 + 2 * 6 * 4));
    assert_eq!(lines, 3 * (6 + 36 * 2 + 216 * 4 + 1296 * 8));
}

/// The switches of `command-line.md` §7 as typed, with what they need beside them to be legal alone.
const SWITCHES: &[(&str, &str)] = &[
    ("-rd", "-rdpct90/10"),
    ("-r", "-r"),
    ("-rs", "-rs50"),
    ("-s", "-s"),
    ("-si", "-si"),
    ("-T", "-T1M"),
    ("-p", "-p"),
    ("-O", "-F2 -O4"),
    ("-g", "-g100"),
    ("-j", "-i100 -j10"),
    ("-x", "-x"),
    ("-Sm", "-Sm"),
];

/// Pairs that are refused: the table of `command-line.md` §7, and the Strict ones below it.
const CONFLICTS: &[(&str, &str)] = &[
    ("-rd", "-s"),
    ("-rd", "-si"),
    ("-rd", "-T"),
    ("-rd", "-p"),
    ("-r", "-s"),
    ("-r", "-si"),
    ("-r", "-T"),
    ("-r", "-p"),
    ("-rs", "-s"),
    ("-rs", "-si"),
    ("-rs", "-T"),
    ("-rs", "-p"),
    ("-s", "-si"),
    ("-si", "-T"),
    ("-si", "-p"),
    ("-p", "-O"),
    ("-O", "-g"),
    ("-O", "-j"),
    ("-g", "-x"),
    ("-j", "-x"),
    ("-x", "-Sm"),
];

#[test]
fn conflicts_exhaustively_and_in_both_orders() {
    for (i, (a, typed_a)) in SWITCHES.iter().enumerate() {
        for (b, typed_b) in &SWITCHES[i + 1..] {
            let conflict = CONFLICTS.contains(&(a, b));
            let names = [*a, *b];
            // -rd needs random I/O and -T several threads; neither decides anything else here.
            let patterns = ["-r", "-rs", "-s", "-si", "-T", "-p"];
            let needs_random = names.contains(&"-rd") && !patterns.iter().any(|p| names.contains(p));
            let random = if needs_random { "-r" } else { "" };
            let threads = if names.contains(&"-O") { "" } else { "-t2" };
            for line in [
                format!("{threads} {random} {typed_a} {typed_b} f g"),
                format!("{typed_b} {typed_a} {random} {threads} f g"),
            ] {
                match read(&line) {
                    Ok(_) => assert!(!conflict, "accepted: {line}"),
                    Err(refusal) => assert!(conflict, "{line}\n{refusal}"),
                }
            }
        }
    }
}

#[test]
fn targets_are_scanned_before_anything_else() {
    assert!(refused("-b4Q f -r").all[0].message.contains("follows the target"));
    assert!(refused("-q f -r").all[0].message.contains("follows the target"));
    assert!(refused("f '-?'").all[0].message.contains("follows the target"));
}

#[test]
fn the_first_pass_comes_before_the_second() {
    // Unknown options and -t belong to the second pass, -b to the first.
    assert!(refused("-q -b4Q f").all[0].message.starts_with("-b4Q"));
    assert!(refused("-t0 -dx f").all[0].message.starts_with("-dx"));
    assert!(refused("-t0 -q f").all[0].message.starts_with("-t0"));
    assert!(refused("-q -t0 f").all[0].message.starts_with("-q"));
}

#[test]
fn help_acts_only_when_the_second_pass_reaches_it() {
    for (help, said) in [("'-?'", Invocation::Help), ("--help", Invocation::ShortHelp)] {
        refused(&format!("-L -t0 {help}"));
        refused(&format!("{help} -L -b4Q"));
        assert_eq!(read(&format!("{help} -L -t0")), Ok(said));
    }
}

#[test]
fn events_never_act_on_a_refused_line() {
    for line in ["-yeGo -q", "-yeGo -t0 f", "-ysA -yeGo -r -s f"] {
        refused(line);
    }
    let events = run("-ysA -yfB -yrC -ypD -ysE f").events;
    assert_eq!(events.start.as_deref(), Some("E"));
    assert_eq!(events.finish.as_deref(), Some("B"));
    assert_eq!(events.wait.as_deref(), Some("C"));
    assert_eq!(events.stop.as_deref(), Some("D"));
}

#[test]
fn conflicts_are_told_at_the_second_option() {
    for (line, word) in [("-r -s f", 1), ("-s -r f", 1), ("-L -Su -h f", 2), ("-B1m:1m -f5m f", 1)] {
        let refusal = refused(line);
        assert_eq!(refusal.all[0].marks[0].word, word, "{refusal}");
        assert_eq!(refusal.all[0].marks[1].word, word - 1, "the other one is shown, too: {refusal}");
    }
}

#[test]
fn order_of_options_does_not_matter_otherwise() {
    let options =
        ["-b8k", "-r4b", "-w30", "-t3", "-o5", "-Suw", "-L", "-D100", "-Z1M", "-B1b:64M", "-a1,2", "-z7"];
    let forward = run(&format!("{} f g", options.join(" ")));
    for start in 0..options.len() {
        let mut turned = options.to_vec();
        turned.rotate_left(start);
        assert_eq!(run(&format!("{} f g", turned.join(" "))), forward);
        turned.reverse();
        assert_eq!(run(&format!("{} f g", turned.join(" "))), forward);
    }
}

#[test]
fn repeated_options_of_which_the_last_wins() {
    for (both, last) in [
        ("-b4k -b8k", "-b8k"),
        ("-c1M -c2M", "-c2M"),
        ("-C1 -C2", "-C2"),
        ("-d1 -d2", "-d2"),
        ("-D100 -D200", "-D200"),
        ("-si -F2 -F3", "-si -F3"),
        ("-g1 -g2i", "-g2i"),
        ("-j1 -i1 -i2 -j2", "-i2 -j2"),
        ("-I1 -I2", "-I2"),
        ("-Sm -Nv -Nn", "-Sm -Nn"),
        ("-o1 -o2", "-o2"),
        ("-F2 -r -O1 -O2", "-F2 -r -O2"),
        ("-P1 -P2", "-P2"),
        ("-r -t1 -t2", "-r -t2"),
        ("-t2 -T1M -T2M", "-t2 -T2M"),
        ("-w1 -w2", "-w2"),
        ("-W1 -W2", "-W2"),
        ("-z1 -z2", "-z2"),
        ("-:1 -:0", "-:0"),
        ("-Rxml -Rtext", "-Rtext"),
        ("-Rpxml -Rtext", "-Rptext"),
        ("-r -rdpct90/10 -rdabs90/1g", "-r -rdabs90/1g"),
        ("-Z1M,x -Z2M", "-Z2M"),
        ("-rs100 -rs50", "-rs50"),
        ("-rs100 -rs100", "-rs100"),
        ("-u8 -un9", "-un9"),
        ("-oc1 -oc2", "-oc2"),
        ("--engine psync --engine null", "--engine null"),
    ] {
        assert_eq!(run(&format!("{both} f")), run(&format!("{last} f")), "{both}");
    }
}

#[test]
fn repeated_options_that_add_up_or_change_nothing() {
    for (apart, together) in [
        ("-a1 -a2,3", "-a1,2,3"),
        ("-fr -fs", "-frs"),
        ("-Sb -Sm -Sw", "-Sbmw"),
        ("-v -vs -v", "-vs -v"),
        ("-l -l", "-l"),
        ("-L -L", "-L"),
        ("-n -n", "-n"),
        ("-p -p", "-p"),
        ("-x -x", "-x"),
        ("-eDISK_IO -eDISK_IO", "-eDISK_IO"),
    ] {
        assert_eq!(run(&format!("{apart} f")), run(&format!("{together} f")), "{apart}");
    }
    let span = run("-Z -Zr -Z1M f").profile.time_spans.remove(0);
    let target = &span.targets[0];
    assert_eq!(
        (target.zero_write_buffers, span.random_write_data, target.write_source_bytes),
        (true, true, 1 << 20)
    );
}

#[test]
fn repeated_options_that_are_refused() {
    for line in
        ["-B1m -B1m", "-f1m -f1m", "-B1m:1m -f3m", "-r -r", "-s -s", "-rs50 -rs50", "-Su -Su", "-Xp -Xp"]
    {
        refused(&format!("{line} f"));
    }
}

#[test]
fn block_sizes_inside_other_sizes() {
    let target = |line: &str| run(line).profile.time_spans.remove(0).targets.remove(0);
    assert_eq!(target("-f4b -b4k f").max_bytes, 16384, "the last -b counts everywhere");
    assert_eq!(target("-b8k -f4b -b4k f").max_bytes, 16384);
    assert_eq!(target("-b4k -b2b -b2b f").block_bytes, 16384, "inside -b the size so far");
    assert_eq!(target("-b1M -g4096i f").throughput, Some(Throughput::Iops(4096)), "no 32-bit overflow");
}

#[test]
fn what_follows_two_dashes_is_a_target() {
    for (line, paths) in [
        ("-b4k -- -r", &["-r"][..]),
        ("-- f -- -b4k", &["f", "--", "-b4k"]),
        ("--engine psync -- --json", &["--json"]),
        ("-- '\u{2013}r'", &["\u{2013}r"]),
    ] {
        let span = run(line).profile.time_spans.remove(0);
        let found: Vec<&str> = span.targets.iter().map(|target| target.path.as_str()).collect();
        assert_eq!(found, paths, "{line}");
    }
}

/// `exit<TAB>arguments`, as recorded from DiskSpd 2.2.
const RECORDED: &str = include_str!("../../data/diskspd-2.2-lines.tsv");
/// Deliberate differences; a line of its table names an argument vector in backquotes.
const DIFFERENCES: &str = include_str!("../../data/deliberate-differences.md");

/// Lines refused by DiskSpd 2.2 for reasons that only the machine or a file can tell.
const NEED_THE_MACHINE: &[&str] = &["-a0,9 -c1M -d1 -W0 t.dat", "-Xtemplate.xml a.dat", "-Xtruncated.xml"];

#[test]
fn recorded_lines_end_as_in_diskspd_unless_listed() {
    let mut counts = [0, 0, 0];
    for row in RECORDED.lines() {
        let (exit, line) = row.split_once('\t').expect("exit code, tab, arguments");
        let refused_there = exit == "3";
        let refused_here = match read(line) {
            Err(_) | Ok(Invocation::NoArguments) => true,
            Ok(_) => false,
        };
        let typed = format!("`{line}`");
        let is_refused = |row: &str| row.split(" | ").nth(2).is_some_and(|here| here.starts_with("refused"));
        let listed = DIFFERENCES.lines().any(|row| row.contains(&typed) && is_refused(row));
        if NEED_THE_MACHINE.contains(&line) {
            assert!(refused_there && !refused_here, "{line}");
            counts[2] += 1;
        } else if listed {
            assert_ne!(refused_there, refused_here, "listed as a difference, but the same: {line}");
            counts[1] += 1;
        } else {
            assert_eq!(refused_there, refused_here, "{line}");
            counts[0] += 1;
        }
    }
    assert!(counts[0] > 100 && counts[1] == 2 && counts[2] == NEED_THE_MACHINE.len(), "{counts:?}");
}
