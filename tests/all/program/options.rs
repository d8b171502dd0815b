//! Option combinations on real files: each result under the strict reader, with the figures that the
//! options promise.

use std::fs;

use crate::support::killed;
use crate::support::program::{Lab, rows_of, target_lines, with_ios};
use crate::support::strict_text::ResultText;
use crate::support::strict_xml;
use truespd_core::guard::mark::{MarkState, Marks};

/// Seconds that every run here measures.
const SECONDS: f64 = 1.0;

/// A laboratory with files that a write test may use.
fn lab_with(names: &[&str]) -> Lab {
    let lab = Lab::new();
    for name in names {
        lab.run(&format!("-c4M -b64K -d1 -W0 -g1 {name}")).expect_code(0);
    }
    lab
}

fn total_ios(result: &ResultText) -> u64 {
    result.tables[0].total.ios
}

/// Columns and charts appear with their switches, in every combination of them.
#[test]
fn statistics_switches() {
    let lab = lab_with(&["a"]);
    std::thread::scope(|scope| {
        for bits in 0..16 {
            let lab = &lab;
            scope.spawn(move || {
                let switch = |bit: u32, word: &str| {
                    if bits >> bit & 1 == 1 { format!("{word} ") } else { String::new() }
                };
                let words =
                    [switch(0, "-L"), switch(1, "-D250"), switch(2, "-vs"), switch(3, "-P1")].concat();
                let line = format!("-d1 -W0 -b4K -r -w50 -t2 {words}a");
                let ran = with_ios(1, || lab.run(&line)).expect_code(0);
                let dots = ran.stdout.len() - ran.stdout.trim_start_matches('.').len();
                assert_eq!(dots, 0, "standard output holds nothing but the result\n{ran}");
                assert_eq!(ran.stderr.contains(".."), bits >> 3 & 1 == 1, "{ran}");
                let parsed = ran.text();
                let result = parsed.results[0].as_ref().expect("measured");
                assert_eq!(result.tables[0].total.latency_mean.is_some(), bits & 1 == 1, "{line}");
                assert_eq!(result.tables[0].total.iops_dev.is_some(), bits >> 1 & 1 == 1, "{line}");
                assert_eq!(result.charts.is_empty(), bits & 1 == 0, "{line}");
                assert_eq!(result.waits.is_some(), bits >> 2 & 1 == 1, "{line}");
                assert_eq!(result.threads, 2, "{line}");
            });
        }
    });
}

/// The same under the strict reader of XML results.
#[test]
fn results_as_xml() {
    let lab = lab_with(&["a", "b"]);
    std::thread::scope(|scope| {
        for words in [
            "-b4K -r a",
            "-b4K -r -L -D100 -vs -t2 -w30 a b",
            "-b4K -r -F3 -L -D -w100 a b",
            "-b4K -r -F2 -O5 -D250 -vs -w50 a b",
            "-b4K -r -rdpct90/10:0/10:5/20 -L -t2 a",
            "-b4K -rs40 -rdabs60/1M:40/1M -D -w10 a b",
            "-b64K -si -t2 -Sh -L a",
            "-b4K -g100i -Sm -w20 -L a",
            "-b8K -W1 -C1 -r -v -P100 a",
        ] {
            let lab = &lab;
            scope.spawn(move || {
                let line = if words.contains("-W") { words.to_string() } else { format!("-W0 {words}") };
                let ran = lab.run(&format!("-Rxml -d1 {line}")).expect_code(0);
                strict_xml::check(&ran.stdout).unwrap_or_else(|fault| panic!("{fault}\n{ran}"));
                assert!(ran.stdout.contains("<TestTimeSeconds>1.00</TestTimeSeconds>"), "{ran}");
            });
        }
    });
}

#[test]
fn verbose_goes_to_standard_error() {
    let lab = lab_with(&["a"]);
    let ran = lab.run("-v -d1 -W0 -b4K -r a").expect_code(0);
    assert!(ran.text().profile.verbose);
    ran.says(&["starting measurements", "target 'a': "]);
}

/// What each way of walking shows in the parameters.
#[test]
fn access_patterns() {
    let lab = lab_with(&["a"]);
    let cases: &[(&str, &str)] = &[
        ("-s", "using sequential I/O (stride: 4KiB)"),
        ("-s8K", "using sequential I/O (stride: 8KiB)"),
        ("-si -t2", "using interlocked sequential I/O (stride: 4KiB)"),
        ("-p -o4", "using parallel async I/O"),
        ("-T1M -t3", "thread stride size: 1MiB"),
        ("-r", "using random I/O (alignment: 4KiB)"),
        ("-r512", "using random I/O (alignment: 512)"),
        ("-rs30", "using mixed random/sequential I/O (30% random) (alignment/stride: 4KiB)"),
        ("-r -rdpct90/10:0/10:5/20", "IO Distribution:"),
        ("-rs50 -rdabs60/1M:40/1M", "IO Distribution:"),
        ("-x -o8", "using completion routines (ReadFileEx/WriteFileEx)"),
        ("-g500i", "throughput rate-limited"),
        ("-i5 -j10", "burst size: 5"),
        ("-I1", "IO priority: very low"),
        ("-I2 -o1", "IO priority: low"),
        ("-B1M -f2M", "base file offset: 1MiB"),
        ("-n -t2", ""),
        ("-a0", ""),
        ("-frs", "using FILE_FLAG_SEQUENTIAL_SCAN hint"),
        ("-Z -w100", "zeroing write buffers"),
        ("-Zr -w30", ""),
        ("-Z64K -w30", "write buffer size: 64KiB"),
    ];
    std::thread::scope(|scope| {
        for &(words, shown) in cases {
            let lab = &lab;
            scope.spawn(move || {
                let line = format!("-d1 -W0 -b4K -L -D100 {words} a");
                let parsed = with_ios(1, || lab.run(&line)).expect_code(0).text();
                let found = shown.is_empty() || target_lines(&parsed).iter().any(|l| l.contains(shown));
                assert!(found, "{line}: {:?}", target_lines(&parsed));
                assert!(total_ios(parsed.results[0].as_ref().expect("measured")) > 0, "{line}");
            });
        }
    });
}

#[test]
fn several_targets_and_threads() {
    let lab = lab_with(&["a", "b"]);
    let result = lab.result("-d1 -W0 -b4K -r -t3 -w20 -L -D a b");
    assert_eq!(result.threads, 6);
    assert!(rows_of(&result, "a").count() == 3 && rows_of(&result, "b").count() == 3);
    assert!(result.tables[0].rows.iter().all(|row| row.ios > 0), "{:?}", result.tables[0]);

    let result = lab.result("-d1 -W0 -b4K -r -F3 -w20 -L -D a b");
    assert_eq!((result.threads, result.requests), (3, None));
    assert!(rows_of(&result, "a").count() == 3 && rows_of(&result, "b").count() == 3);
    assert!(result.tables[0].rows.iter().all(|row| row.ios > 0), "{:?}", result.tables[0]);

    let result = lab.result("-d1 -W0 -b4K -r -F2 -O6 -w20 -L a b");
    assert_eq!((result.threads, result.requests), (2, Some(6)));
    // Every I/O picks its target by equal weights.
    let share = rows_of(&result, "a").map(|r| r.ios).sum::<u64>() as f64 / total_ios(&result) as f64;
    assert!(total_ios(&result) < 1000 || (0.4..0.6).contains(&share), "{share}");
}

#[test]
fn rates() {
    let lab = lab_with(&["a", "b"]);
    // The limit is one of each thread and target. In simulated time each is one I/O below it: the first waits for its
    // turn, too, and the last is still under way.
    for (words, limits) in [
        ("-b4K -g200i", &[200][..]),
        ("-b4K -g100i -t2", &[100, 100]),
        ("-b64K -g6554", &[100]),
        ("-b4K -g50i -t2 -o4 -w50", &[50, 50]),
    ] {
        let line = format!("-d1 -W0 -r {words} a");
        let exact: u64 = limits.iter().map(|limit| limit - 1).sum();
        assert_eq!(total_ios(&lab.result(&format!("--engine sim {line}"))), exact, "{words}");
        // A machine that stands still for a while issues fewer, never more.
        let (found, expected) = (total_ios(&lab.result(&line)) as f64 / SECONDS, limits.iter().sum::<u64>());
        assert!(found <= expected as f64 * 1.02 + 1.0, "{words}: {found}");
    }
    for (engine, legal) in [("--engine sim", 99..=99), ("", 0..=103)] {
        let result = lab.result(&format!("{engine} -d1 -W0 -b4K -r -g100i a b"));
        for path in ["a", "b"] {
            let found: u64 = rows_of(&result, path).map(|r| r.ios).sum();
            assert!(legal.contains(&found), "{engine} {path}: {found}");
        }
    }
    // Ten I/Os, then a pause of 100 ms.
    for (engine, legal) in [("--engine sim", 100..=100), ("", 1..=100)] {
        let found = total_ios(&lab.result(&format!("{engine} -d1 -W0 -b4K -r -o1 -i10 -j100 a")));
        assert!(legal.contains(&found), "{engine} {found}");
    }
}

#[test]
fn cache_modes() {
    let lab = lab_with(&["a"]);
    let cases: &[(&str, &[&str])] = &[
        ("", &["using software cache", "using hardware write cache, writethrough off"]),
        ("-S", &["software cache disabled", "using hardware write cache, writethrough off"]),
        ("-Su", &["software cache disabled", "using hardware write cache, writethrough off"]),
        ("-Sh", &["software cache disabled", "hardware write cache disabled, writethrough on"]),
        ("-h", &["software cache disabled", "hardware write cache disabled, writethrough on"]),
        ("-Sw", &["using software cache", "hardware and software write caches disabled, writethrough on"]),
        ("-Sm", &["memory mapped I/O enabled"]),
        ("-Smw", &["memory mapped I/O enabled"]),
        ("-Sm -Nv", &["memory mapped I/O enabled, flush mode: FlushViewOfFile"]),
    ];
    for (words, shown) in cases {
        let line = format!("-d1 -W0 -b4K -r -o4 -w30 -L {words} a");
        let parsed = with_ios(1, || lab.run(&line)).expect_code(0).text();
        for shown in *shown {
            assert!(target_lines(&parsed).iter().any(|l| l == shown), "{line}: {:?}", target_lines(&parsed));
        }
        assert!(total_ios(parsed.results[0].as_ref().expect("measured")) > 0, "{line}");
    }
}

#[test]
fn what_cannot_be_had_is_said_in_words() {
    let lab = lab_with(&["a"]);
    lab.run("-d1 -W0 -Sr a").not_opened(&["remote file systems only"]);
    // The file lies on a disk and not on persistent memory.
    lab.run("-d1 -W0 -w50 -Sm -Nn a").expect_code(1).says(&["ERROR: ", "persistent memory"]);
    lab.run("-d1 -W0 -w50 -Sm -Ni a").expect_code(1).says(&["ERROR: "]);
    lab.run("-d1 -W0 -a9999 a").refused(3, &["-a9999", "^"]);
    lab.run("-d1 -W0 -b1000 -Su a").refused(3, &["-b1000", "needs multiples of"]);
    let free = fs::read_to_string("/proc/meminfo").expect("/proc is there");
    let free = free.lines().find_map(|l| l.strip_prefix("HugePages_Free:"));
    if free.is_none_or(|count| count.trim() == "0") {
        lab.run("-d1 -W0 -l a").refused(3, &["large pages", "vm.nr_hugepages"]);
    }
}

const SENTINEL: u8 = 0xee;

/// Fills a file of ours with a sentinel.
fn sentinel(lab: &Lab, name: &str) -> usize {
    let bytes = fs::metadata(lab.path(name)).expect("the file is there").len() as usize;
    crate::support::program::set_bytes(&lab.path(name), 0, &vec![SENTINEL; bytes]);
    let (marks, file) = marked(lab, name);
    marks.mark(&file, MarkState::Complete).expect("it can be marked");
    bytes
}

fn marked(lab: &Lab, name: &str) -> (Marks, fs::File) {
    let file = fs::File::open(lab.path(name)).expect("the file is there");
    (Marks::with_registry(&killed::registry(lab)), file)
}

/// Every byte in [B, min(S, M)) may change and none outside; all inside are reached.
#[test]
fn writes_stay_in_their_range() {
    let (base, end) = (1 << 20, 3 << 20);
    for words in [
        "-s -o4",
        "-r -o8",
        "-r512 -o8 -t2",
        "-rs50 -o4",
        "-si -t2",
        "-p -o2",
        "-T64K -t2",
        "-r -rdpct50/10:50/90",
        "-s -o2 -Sm",
        "-s -o1 -Su",
        "-r -o8 -Sh",
        "-r -Zr",
        "-s -Z",
    ] {
        let lab = lab_with(&["a"]);
        sentinel(&lab, "a");
        let result = lab.result(&format!("-d1 -W0 -b64K -w100 -B1M:2M {words} a"));
        let bytes = lab.read("a");
        let is_sentinel = |part: &[u8]| part.iter().all(|&b| b == SENTINEL);
        assert!(is_sentinel(&bytes[..base]), "{words}: written below the base");
        assert!(is_sentinel(&bytes[end..]), "{words}: written beyond the end");
        let (marks, file) = marked(&lab, "a");
        assert!(marks.is_ours(&file), "{words}: a run takes its own writes for somebody else's");
        let untouched = bytes[base..end].chunks(65536).filter(|c| is_sentinel(c)).count();
        // Enough I/Os to reach every block many times.
        assert!(
            total_ios(&result) < 1000 || untouched == 0,
            "{words}: {untouched} blocks were never written"
        );
        assert!(untouched < 32, "{words}: nothing was written");
    }
}

/// `-f` ends the range, and a file that is no multiple of the block has a tail that is left alone.
#[test]
fn writes_end_with_the_last_whole_block() {
    let lab = Lab::new();
    lab.run("-c1000000 -b4K -d1 -W0 -g1 odd").expect_code(0);
    sentinel(&lab, "odd");
    lab.result("-d1 -W0 -b64K -w100 -s -o4 odd");
    let bytes = lab.read("odd");
    assert_eq!(bytes.len(), 1_000_000, "a test never changes the size");
    let whole = 1_000_000 / 65536 * 65536;
    assert!(bytes[whole..].iter().all(|&b| b == SENTINEL), "the tail was written");
    sentinel(&lab, "odd");
    lab.result("-d1 -W0 -b4K -w100 -r -o4 -f256K odd");
    assert!(lab.read("odd")[256 << 10..].iter().all(|&b| b == SENTINEL), "written beyond -f");
}

#[test]
fn read_tests_change_nothing() {
    let lab = Lab::new();
    let content: Vec<u8> = (0..1 << 20).map(|i: u32| (i / 7) as u8).collect();
    let path = lab.write("foreign", &content);
    let mut permissions = fs::metadata(&path).expect("the file is there").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).expect("permissions can be set");
    let modified = || fs::metadata(&path).expect("the file is there").modified().expect("a time");
    let before = modified();
    for words in ["-r", "-s -Su", "-r -Sm", "-r -Sh -t2 -o8", "-F2 -O4 -r"] {
        lab.result(&format!("-d1 -W0 -b4K -w0 {words} foreign"));
    }
    assert_eq!(lab.read("foreign"), content);
    assert_eq!(modified(), before);
    assert_eq!(lab.names(), ["foreign"]);
}

/// Bytes that a write test leaves behind are what -Z says.
#[test]
fn write_content() {
    let lab = lab_with(&["a"]);
    let run = |words: &str| {
        sentinel(&lab, "a");
        // Four blocks, so that also a machine that hardly writes has been at each.
        lab.result_with_ios(&format!("-d1 -W0 -b64K -w100 -s -o4 -f256K {words} a"), 4);
        lab.read("a")[..256 << 10].to_vec()
    };
    let zeros = run("-Z");
    assert!(zeros.iter().all(|&b| b == 0), "-Z writes zeros");
    let pattern = run("");
    assert!(pattern.chunks(65536).all(|c| c.iter().enumerate().all(|(i, &b)| b == i as u8)), "0, 1, ... 255");
    for words in ["-Zr", "-Z1M"] {
        let random = run(words);
        let mut counts = [0u32; 256];
        random.iter().for_each(|&b| counts[usize::from(b)] += 1);
        let even = random.len() as f64 / 256.0;
        let is_even = counts.iter().all(|&c| (f64::from(c) - even).abs() < even * 0.25);
        assert!(is_even, "{words}: bytes of random content are evenly spread");
    }
    lab.write("source", b"0123456789");
    let ours = run("-Z64K,source");
    let found: std::collections::BTreeSet<u8> = ours.iter().copied().collect();
    assert!(found.iter().all(|b| b.is_ascii_digit() || *b == 0) && found.len() >= 10, "{found:?}");
}

/// Depth seen by the device in steady state: o x threads, told on standard error.
#[test]
fn depth_is_reached() {
    let lab = lab_with(&["a"]);
    let ran = lab.run("-v -d1 -W0 -b4K -r -o8 -t2 -L -Su a").expect_code(0);
    let tail =
        ran.stderr.split("queue depth: asked for 16, reached ").nth(1).unwrap_or_else(|| panic!("{ran}"));
    let reached: f64 = tail.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{ran}"));
    // A busy processor issues late.
    assert!(reached > 0.0 && reached <= 16.2, "{ran}");
    lab.run("-v --engine sim -d1 -W0 -b4K -r -o8 -t2 -L a")
        .expect_code(0)
        .says(&["queue depth: asked for 16, reached 16.00 on average"]);
}
