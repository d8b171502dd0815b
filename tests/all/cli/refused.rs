//! The refused lines of the contract (`command-line.md` §11) and what TrueSpd refuses beyond DiskSpd
//! 2.2: each with the characters that are marked and a phrase of the reason.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::support::words::{self, refused};
use diskspd::grammar::parse_os;
use truespd_platform::fault::Refusals;

/// The characters under the main marks of the first problem.
fn marked(refusal: &Refusals) -> String {
    let marks = refusal.all[0].marks.iter().filter(|mark| mark.main);
    let pieces = marks.map(|mark| {
        let word = refusal
            .typed
            .as_ref()
            .and_then(|typed| typed.arguments.get(mark.word))
            .map(String::as_str)
            .unwrap_or_default();
        word.chars().skip(mark.chars.start).take(mark.chars.len()).collect::<String>()
    });
    pieces.collect::<Vec<_>>().join(" ")
}

/// (line, marked characters, phrase of the reason); nothing marked: the place where something is missing.
type Row = (&'static str, &'static str, &'static str);

#[track_caller]
fn check(rows: &[Row]) {
    for (line, culprit, phrase) in rows {
        let refusal = refused(line);
        let what = &refusal.all[0].message;
        assert!(what.contains(phrase), "{line}: no '{phrase}' in\n{refusal}");
        assert_eq!(marked(&refusal), *culprit, "{line}\n{refusal}");
    }
}

#[test]
fn shape_2_to_4() {
    check(&[
        ("-r", "", "no target"),
        ("f -r", "-r", "follows the target"),
        ("f -r g", "-r", "follows the target"),
        ("-q f", "-q", "no such option"),
        ("- f", "-", "no such option"),
        ("--", "", "no target"),
        ("-- ''", "", "empty"),
        ("--helpme", "--helpme", "no such option"),
        ("-b4k ''", "", "empty"),
        ("f ''", "", "empty"),
    ]);
}

#[test]
fn sizes_5_to_13() {
    check(&[
        ("-b f", "", "a size is missing"),
        ("-b4KB f", "B", "follows the size"),
        ("-b4KiB f", "iB", "follows the size"),
        ("-b4.5k f", ".", "is not a size suffix"),
        ("-b0x1000 f", "x", "is not a size suffix"),
        ("-b-4k f", "-", "sign"),
        ("-b+4k f", "+", "sign"),
        ("-b4G f", "4G", "too large"),
        ("-b4294967295 f", "4294967295", "too large"),
        ("-b18446744073709551616 f", "18446744073709551616", "does not fit into 64 bits"),
        ("-b30000000000000000000 f", "30000000000000000000", "does not fit into 64 bits"),
        ("-b99999999999999999999 f", "99999999999999999999", "does not fit into 64 bits"),
        ("-b0 f", "0", "block size is 0"),
        ("-b0 -r8b f", "0", "block size is 0"),
        ("-c f", "", "a size is missing"),
        ("-c1e9 f", "e", "is not a size suffix"),
        ("-c1GB f", "B", "follows the size"),
        ("-c-1 f", "-", "sign"),
        ("-f16777216T f", "16777216T", "does not fit into 64 bits"),
        ("-f18014398509481984K f", "18014398509481984K", "does not fit into 64 bits"),
    ]);
}

#[test]
fn ranges_14_to_24() {
    check(&[
        ("-B f", "", "a size is missing"),
        ("-B:1m f", "", "a size is missing"),
        ("-Bx f", "x", "is not a digit"),
        ("-B5mx f", "x", "follows the size"),
        ("-B5m: f", "", "a size is missing"),
        ("-B5m:j f", "j", "is not a digit"),
        ("-B5m:1x f", "x", "is not a size suffix"),
        ("-B5m:1mx f", "x", "follows the size"),
        ("-B5M:1M:2M f", ":2M", "follows the size"),
        ("-B18446744073709551615:1 f", "18446744073709551615:1", "does not fit into 64 bits"),
        ("-B5m -B6m f", "-B6m", "base offset is given twice"),
        ("-B5m:1m -B5m f", "-B5m", "base offset is given twice"),
        ("-f5m -f6m f", "-f6m", "maximum offset is given twice"),
        ("-B5m:1m -f6m f", "-f6m", "end of the range is given twice"),
        ("-f6m -B5m:1m f", "1m", "end of the range is given twice"),
        ("-B5m -f5m f", "-f5m -B5m", "not above the base offset"),
        ("-B5m -f4m f", "-f4m -B5m", "not above the base offset"),
        ("-B5m:0 f", "0", "length of the range is 0"),
        ("-f f", "", "access hints are missing"),
        ("-fx f", "x", "is not an access hint"),
        ("-fr1 f", "1", "is not an access hint"),
        ("-f1r f", "r", "is not a size suffix"),
    ]);
}

#[test]
fn patterns_25_to_38() {
    check(&[
        ("-r0 f", "0", "size of 0"),
        ("-rx f", "x", "is not a digit"),
        ("-r -r f", "-r", "given twice"),
        ("-r8k -r4k f", "-r4k", "given twice"),
        ("-r -s f", "-s", "already random"),
        ("-s -r f", "-r", "already sequential"),
        ("-r -si f", "-si", "already random"),
        ("-si -r f", "-r", "already sequential"),
        ("-s -s f", "-s", "stride is given twice"),
        ("-s8k -s f", "-s", "stride is given twice"),
        ("-s -si f", "-si", "stride is given twice"),
        ("-sx f", "x", "is not a digit"),
        ("-s8ki f", "i", "follows the size"),
        ("-rs f", "", "a number is missing"),
        ("-rs0 f", "0", "out of range"),
        ("-rs101 f", "101", "out of range"),
        ("-rs50 -rs60 f", "-rs60", "given twice"),
        ("-rs50 -rs100 f", "-rs100", "given twice"),
        ("-rs50 -r8k -r4k f", "-r4k", "alignment are given twice"),
        ("-rs50 -s f", "-s", "already random"),
        ("-s8k -rs50 f", "-rs50", "already sequential"),
        ("-si -T1M -t2 f", "-si -T1M", "exclude each other"),
        ("-si -p f", "-si -p", "exclude each other"),
        ("-p -r f", "-p -r", "exclude each other"),
        ("-T1M -r -t2 f", "-T1M -r", "exclude each other"),
        ("-T1M -rs50 -t2 f", "-T1M -rs50", "exclude each other"),
        ("-T1M f", "-T1M", "needs several threads"),
        ("-T1M -F1 f", "-T1M -F1", "needs several threads"),
        ("-T f", "", "a size is missing"),
        ("-T0 f", "0", "size of 0"),
    ]);
    assert!(refused("-rs50 -s f").to_string().contains("comes from -r<size>"));
    assert!(refused("-s8k -rs50 f").to_string().contains("comes from -r<size>"));
}

#[test]
fn distributions_39_to_51() {
    check(&[
        ("-rdpct90/10 f", "-rdpct90/10", "needs random I/O"),
        ("-rdpct90/10 -s f", "-rdpct90/10 -s", "needs random I/O"),
        ("-rd -r f", "d", "kind of distribution"),
        ("-rdfoo10/1G -r f", "dfoo10/1G", "kind of distribution"),
        ("-rdPCT10/10 -r f", "dPCT10/10", "kind of distribution"),
        ("-rdpct -r f", "", "a pair <io>/<share> is missing"),
        ("-rdpctBAD -r f", "B", "share of I/O is missing"),
        ("-rdpct10 -r f", "", "the / between"),
        ("-rdpct10[ -r f", "[", "the / between"),
        ("-rdpct10/ -r f", "", "a number is missing"),
        ("-rdabs10/ -r f", "", "a size is missing"),
        ("-rdabs10/BAD -r f", "B", "is not a digit"),
        ("-rdpct10/10[ -r f", "[", "is not a digit"),
        ("-rdpct10/10: -r f", "", "a pair <io>/<share> is missing"),
        ("-rdpct101/10 -r f", "101", "above 100"),
        ("-rdpct10/101 -r f", "101", "out of range"),
        ("-rdpct10/0 -r f", "0", "out of range"),
        ("-rdabs10/0 -r f", "0", "size of 0"),
        ("-rdpct10/10:5/x -r f", "x", "is not a digit"),
        ("-rdabs10/10 -r f", "-rdabs10/10", "shorter than the block size"),
        ("-rdpct60/10:60/10 -r f", "-rdpct60/10:60/10", "only 40 % are left"),
        ("-rdabs60/10g:60/10g -r f", "-rdabs60/10g:60/10g", "only 40 % are left"),
        ("-rdpct10/50:10/60 -r f", "-rdpct10/50:10/60", "only 50 % are left"),
        ("-rdpct10/50:10/50 -r f", "-rdpct10/50:10/50", "80 % of the I/O are left over"),
        ("-rdpct50/100 -r f", "-rdpct50/100", "50 % of the I/O are left over"),
        ("-rdpct100/50 -r f", "-rdpct100/50", "cover 50 % of the target"),
        ("-rdpct100/10 -r f", "-rdpct100/10", "cover 10 % of the target"),
    ]);
    for line in ["-rdpct60/10:60/10:5/90 -r f", "-rdabs10/1:60/1g:60/1g -r f"] {
        assert_eq!(refused(line).all.len(), 1, "{line}: only the first cause");
    }
}

#[test]
fn threads_and_rates_52_to_65() {
    check(&[
        ("-t f", "", "a number is missing"),
        ("-t0 f", "0", "out of range"),
        ("-F0 f", "0", "out of range"),
        ("-o0 f", "0", "out of range"),
        ("-O0 f", "0", "out of range"),
        ("-t2 -F2 f", "-F2 -t2", "exclude each other"),
        ("-t4 -F1 f", "-F1 -t4", "exclude each other"),
        ("-p -F2 -O4 f", "-p -O4", "exclude each other"),
        ("-g100 -F2 -O4 f", "-g100 -O4", "exclude each other"),
        ("-i10 -j10 -F2 -O4 f", "-j10 -O4", "exclude each other"),
        ("-g f", "", "a number is missing"),
        ("-gi f", "", "a number is missing"),
        ("--arrivals poisson f", "--arrivals", "without a rate (-g)"),
        ("-g9i --arrivals Poisson f", "Poisson", "is not an arrival process"),
        ("--mix 4K:60,64K:30 f", "4K:60,64K:30", "sum to 90 %: they must sum to 100"),
        ("--mix 4K:60,64K:60 f", "4K:60,64K:60", "sum to 120 %"),
        ("--mix 4K:60,4K:40 f", "4K:60,4K:40", "stands twice"),
        ("--mix 4K f", "4K", "has no percentage"),
        ("--mix 4K:60, f", "", "a size is missing"),
        ("--mix 4K:0,8K:100 f", "0", "is not a percentage above 0"),
        ("--mix 0:50,8K:50 f", "0:50,8K:50", "a size of the mix is 0 bytes"),
        ("--mix 4K:-60,8K:160 f", "-60", "is not a percentage"),
        ("-b4K --mix 4K:60,64K:40 f", "--mix", "already given (-b)"),
        ("--mix 4K:60,64K:40 -b4K f", "-b4K", "already given (--mix)"),
        ("--mix 4K:60,64K:40 -si -t2 f", "--mix -si", "exclude each other"),
        ("--mix 4K:60,64K:40 -p f", "--mix -p", "exclude each other"),
        ("--until-steady -d0 f", "--until-steady -d0", "-d0 measures nothing"),
        ("--until-steady -D300 f", "--until-steady -D300", "not made of whole intervals"),
        ("--steady-rule rounds f", "rounds", "'rounds' is none of window=<n>, rounds=<n>"),
        ("--steady-rule rounds=4 f", "rounds=4", "it must be from 5"),
        ("--steady-rule range=0 f", "range=0", "it must be from 1 to 100"),
        ("--until-steady=5 f", "5", "takes no value"),
        ("--flush-every 0 -w9 f", "0", "is not a number of writes"),
        ("--flush-every 1:meta -w9 f", "1:meta", "is not a number of writes"),
        ("--flush-every 9 f", "--flush-every", "needs writes"),
        ("--flush-every 9 -w9 -Sm f", "--flush-every -Sm", "exclude each other"),
        ("--trim 0 f", "0", "is out of range"),
        ("--trim 101 f", "101", "is out of range"),
        ("--trim x f", "x", ""),
        ("--trim 100 -w1 f", "--trim -w1", "leaves no I/O that could write"),
        ("--trim 9 -Sm f", "--trim -Sm", "exclude each other"),
        ("--trim 9 -x f", "--trim -x", "exclude each other"),
        ("--flush-every 9 -w9 -x f", "--flush-every -x", "exclude each other"),
        ("--mix 4K:60,64K:40 -x f", "--mix -x", "exclude each other"),
        ("--zipf 0 f", "0", "is not an exponent"),
        ("--zipf 20.1 f", "20.1", "is not an exponent"),
        ("--zipf x f", "x", "is not an exponent"),
        ("--zipf 0.9 -s f", "--zipf -s", "exclude each other"),
        ("--zipf 0.9 -si -t2 f", "--zipf -si", "exclude each other"),
        ("--zipf 0.9 -r -rdpct10/10 f", "--zipf -rdpct10/10", "exclude each other"),
        ("-g0 f", "0", "out of range"),
        ("-g0i f", "0", "out of range"),
        ("-gi100 f", "i", "is not a digit"),
        ("-g100x f", "x", "is not a digit"),
        ("-g1K f", "K", "is not a digit"),
        ("-g-5 f", "-", "negative"),
        ("-x -g100 f", "-g100 -x", "exclude each other"),
        ("-i10 f", "-i10", "go together"),
        ("-j10 f", "-j10", "go together"),
        ("-i0 -j10 f", "0", "out of range"),
        ("-j0 -i10 f", "0", "out of range"),
        ("-i f", "", "a number is missing"),
        ("-w f", "", "a number is missing"),
        ("-w101 f", "101", "out of range"),
        ("-w-1 f", "-", "negative"),
        ("-d-1 f", "-", "negative"),
        ("-W-1 f", "-", "negative"),
        ("-C-1 f", "-", "negative"),
        ("-z12x f", "x", "is not a digit"),
        ("-z0x10 f", "x", "is not a digit"),
        ("-I0 f", "0", "out of range"),
        ("-I4 f", "4", "out of range"),
    ]);
}

#[test]
fn caching_66_to_72() {
    check(&[
        ("-Sub f", "b", "'u' has already set the cache mode"),
        ("-Sru f", "u", "'r' has already set the cache mode"),
        ("-Shw f", "w", "'h' has already set write-through"),
        ("-Sbb f", "b", "'b' has already set the cache mode"),
        ("-Sww f", "w", "'w' has already set write-through"),
        ("-Smu f", "u", "'m' has already set memory mapping"),
        ("-Sum f", "m", "'u' has already set unbuffered"),
        ("-Shm f", "m", "'h' has already set unbuffered"),
        ("-Sm -h f", "-h", "'m' has already set memory mapping"),
        ("-h -Sm f", "m", "'h' has already set unbuffered"),
        ("-S -Su f", "u", "'u' has already set the cache mode"),
        ("-Sb -h f", "-h", "'b' has already set the cache mode"),
        ("-h -Suw f", "u", "'h' has already set the cache mode"),
        ("-Sw -h f", "-h", "'w' has already set write-through"),
        ("-h -Sw f", "w", "'h' has already set write-through"),
        ("-Sx f", "x", "is not a cache letter"),
        ("-SU f", "U", "is not a cache letter"),
        ("-Syy f", "y", "'y' has already set BypassIO"),
        ("-Nv f", "-Nv", "needs memory mapped I/O"),
        ("-N -Sm f", "", "kind of flush is missing"),
        ("-Nvn -Sm f", "vn", "is not a kind of flush"),
        ("-Nq -Sm f", "q", "is not a kind of flush"),
        ("-x -Sm f", "-x -Sm", "exclude each other"),
    ]);
}

#[test]
fn data_and_affinity_73_to_80() {
    check(&[
        ("-Z0 f", "0", "empty"),
        ("-Zx f", "x", "takes no value"),
        ("-Zr1M f", "1M", "takes no value"),
        ("-Z1Mx f", "x", "follows the size"),
        ("-Z4k f", "-Z4k", "smaller than the block size"),
        ("-Z1M -b2M f", "-Z1M -b2M", "smaller than the block size"),
        ("-ag0,0,g1 f", "g1", "group without any processor"),
        ("-a1, f", "", "processor number is missing"),
        ("-ag1,0, f", "", "processor number is missing"),
        ("-ag0, f", "", "processor number is missing"),
        ("-ag0,,1 f", "", "processor number is missing"),
        ("-agg f", "g", "not expected"),
        ("-ag,0,1 f", "", "group number is missing"),
        ("-a,1 f", "", "processor number is missing"),
        ("-a1,,2 f", "", "processor number is missing"),
        ("-ax f", "x", "not expected"),
        ("-a1g0,2 f", "g", "not expected"),
        ("-a4294967296 f", "4294967296", "out of range"),
        ("-a65536 f", "65536", "out of range"),
        ("-ag1,256 f", "256", "out of range"),
        ("-ag70000,1 f", "70000", "out of range"),
        ("-a3-1 f", "3-1", "runs backwards"),
        ("-a3- f", "", "processor number is missing"),
        ("-a-3 f", "", "processor number is missing"),
        ("-n -a0 f", "-n -a0", "exclude each other"),
        ("-a0 -n f", "-n -a0", "exclude each other"),
        ("-n -ag1 f", "-n -ag1", "exclude each other"),
    ]);
}

#[test]
fn reports_81_to_84() {
    check(&[
        ("-R f", "", "result format is missing"),
        ("-RXML f", "XML", "is not a result format"),
        ("-Rxmlp f", "xmlp", "is not a result format"),
        ("-Rjsn f", "jsn", "is not a result format"),
        ("-Rpjson f", "json", "is not a result format"),
        ("-vx f", "x", "takes no value"),
        ("-vss f", "s", "takes no value"),
        ("-y f", "-y", "no such option"),
        ("-yx f", "-yx", "no such option"),
        ("-ys f", "", "name of the event is missing"),
        ("-e f", "", "name of a trace is missing"),
        ("-eFOO f", "FOO", "is not a trace"),
        ("-edisk_io f", "disk_io", "is not a trace"),
    ]);
}

#[test]
fn xml_profiles_85_to_88() {
    check(&[
        ("-Xp.xml -b4k", "-b4k", "XML profile"),
        ("-Xp.xml -t2", "-t2", "XML profile"),
        ("-Xp.xml -L", "-L", "XML profile"),
        ("-Xp.xml -P", "-P", "XML profile"),
        ("-Xp.xml -n", "-n", "XML profile"),
        ("-Xp.xml -yrGo", "-yrGo", "XML profile"),
        ("-Xp.xml '-?'", "-?", "XML profile"),
        ("-Xp.xml -D", "-D", "XML profile"),
        ("-t2 -Xp.xml", "-t2", "XML profile"),
        ("-b4k -Xp.xml", "-b4k", "XML profile"),
        ("-Xp.xml -q", "-q", "no such option"),
        ("-Xp.xml -Xq.xml", "-Xq.xml", "two XML profiles"),
        ("-X", "", "file of the XML profile is missing"),
        ("-Xp.xml f -d1", "-d1", "follows the target"),
        ("'*1'", "*1", "not replaced by a target"),
        ("f '*1'", "*1", "not replaced by a target"),
    ]);
}

#[test]
fn strict_integers() {
    for letter in ["C", "d", "D", "F", "g", "i", "I", "j", "o", "O", "P", "t", "w", "W", "rs", "z", ":", "oc"]
    {
        for value in ["abc", "10x", "1 ", "0x1", "1.", ".5", "1.5x", "1e3", "-1", "+", " "] {
            refused(&format!("'-{letter}{value}' f"));
        }
        for value in ["4294967296", "99999999999999999999"] {
            // DiskSpd takes a seed that is too large for the largest.
            assert_eq!(
                words::read(&format!("-{letter}{value} f")).is_ok(),
                letter == "z",
                "-{letter}{value}"
            );
        }
    }
    for letter in ["d", "F", "t", "o", "O", "i", "j", "I", "oc"] {
        check(&[(Box::leak(format!("-{letter} f").into_boxed_str()), "", "a number is missing")]);
    }
    check(&[
        ("-w101% f", "101%", "out of range"),
        ("-t0.5 f", "0.5", "0.5 is taken for 0, which is out of range"),
        ("-W 5 f", "", "a number is missing"),
        ("-c1M -C 5 f", "", "a number is missing"),
    ]);
}

/// A number in another unit means something else to DiskSpd: the right number is told.
#[test]
fn numbers_in_another_unit() {
    for (line, hint) in [
        ("-d1m f", "write 60 for 1m: the option takes seconds"),
        ("-d1.5h f", "write 5400 for 1.5h: the option takes seconds"),
        ("-W2min f", "write 120 for 2min"),
        ("-d500ms f", "500ms is not a whole number of seconds"),
        ("-d2000ms f", "write 2 for 2000ms"),
        ("-D1s f", "write 1000 for 1s: the option takes milliseconds"),
        ("-j0.5s -i1 f", "write 500 for 0.5s"),
        ("-c1.5G f", "there are no fractions: write 1536M"),
        ("-b4.5k f", "there are no fractions: write 4608"),
        ("-f0.5t f", "there are no fractions: write 512G"),
        ("-c1.3G f", "there are no fractions: write 1331M or 1332M"),
        ("-c1.5 f", "there are no fractions: use the next smaller unit"),
        ("-o1k f", "takes no size suffix"),
    ] {
        let refusal = refused(line);
        assert!(refusal.all[0].hints.iter().any(|said| said.contains(hint)), "{line}\n{refusal}");
    }
}

#[test]
fn strict_tails() {
    for letter in ["v", "vs", "Zr"] {
        let line = format!("'-{letter}foo' f");
        let refusal = refused(&line);
        assert_eq!(marked(&refusal), "foo", "{line}\n{refusal}");
    }
    check(&[
        ("--recreate=yes f", "yes", "takes no value"),
        ("--verdict=all f", "all", "takes no value"),
        ("--progress=10 f", "10", "takes no value"),
        ("--quiet=all f", "all", "takes no value"),
        ("--json - --csv - f", "--csv", "standard output gets the result as json already"),
        ("--metrics - f", "-", "standard output is for the result"),
        ("--events= f", "", "the path of the file is missing"),
        ("-Rcsv --json - f", "--json", "standard output gets the result as csv already"),
    ]);
}

#[test]
fn help_of_what_is_no_option() {
    for (line, hint) in [
        ("--help overwirte", "did you mean --overwrite?"),
        ("--help=verdikt", "did you mean --verdict?"),
        ("--help iodepth", "here: -o<n>"),
        ("--help q", "all options: --help"),
    ] {
        let refusal = refused(line);
        assert!(refusal.all[0].message.contains("is not an option"), "{refusal}");
        assert!(refusal.all[0].hints.iter().any(|said| said.contains(hint)), "{line}\n{refusal}");
    }
}

#[test]
fn long_options_that_were_meant_otherwise() {
    for (line, hint) in [
        ("--overwirte f f", "did you mean --overwrite?"),
        ("--verdct f", "did you mean --verdict?"),
        ("--jsn=x f", "did you mean --json?"),
        ("--quite f", "did you mean --quiet?"),
        ("--rw=randread f", "--rw is a word of fio; here: -r -w0"),
        ("--bs=4k f", "here: -b4k"),
        ("--bs 4k f", "here: -b4k"),
        ("--iodepth=32 f", "here: -o32"),
        ("--numjobs=4 f", "here: -t4"),
        ("--runtime=60 f", "here: -d60"),
        ("--size=1G f", "here: -c<size> makes a file"),
        ("--direct=1 f", "here: -Su"),
        ("--ioengine=libaio f", "here: --engine libaio"),
        ("--filename=/dev/x", "the last word of the line"),
        ("-direct=1 f", "here: -Su"),
        ("-ioengine=libaio f", "here: --engine libaio"),
        ("-time_based f", "--time_based is a word of fio"),
        ("-fsync=1 f", "--flush-every <n>"),
    ] {
        let refusal = refused(line);
        assert!(refusal.all[0].message.contains("there is no such option"), "{refusal}");
        assert!(refusal.all[0].hints.iter().any(|said| said.contains(hint)), "{line}\n{refusal}");
    }
    for line in [
        "--rw=randread --bs=4k --iodepth=32 f",
        "--rw randread --bs 4k --iodepth 32 f",
        "-rw=randread -bs=4k -iodepth=32 f",
        "-t4 -rw=randread -bs=4k -iodepth=32 f",
    ] {
        let hints = refused(line).all[0].hints.join("\n");
        for words in ["here: -r -w0", "here: -b4k", "here: -o32"] {
            assert!(hints.contains(words), "{line}: {words}\n{hints}");
        }
    }
    let far = refused("--frobnicate f").to_string();
    assert!(!far.contains("did you mean") && !far.contains("fio"), "{far}");
}

/// A name that is no disk's is no disk that -c could make.
#[test]
fn a_word_that_is_no_disk_has_one_refusal() {
    for line in ["-c1M '#1/testfile.dat'", "-c1M '#x'", "-c1M '#1\\testfile.dat'"] {
        let refusal = refused(line);
        assert!(
            refusal.all.len() == 1 && refusal.all[0].message.contains("is not a disk number"),
            "{refusal}"
        );
    }
}

/// -g counts bytes per millisecond, and people think in seconds.
#[test]
fn a_rate_with_a_suffix_is_said_in_bytes_per_millisecond() {
    for (line, hint) in
        [("-g10M f", "10 MiB/s is -g10486"), ("-g1k f", "1 KiB/s is -g2"), ("-g2G f", "2 GiB/s is -g2147484")]
    {
        let refusal = refused(line);
        assert!(refusal.all[0].hints.iter().any(|said| said.ends_with(hint)), "{line}: {refusal}");
    }
    assert!(!refused("-g10Mi f").to_string().contains("MiB/s"));
}

#[test]
fn strict_combinations() {
    check(&[
        ("-i10 -j10 -x f", "-j10 -x", "exclude each other"),
        ("-c64K -B4K f", "-c64K -B4K", "needs 69632"),
        ("-c1M -t3 -T1M f", "-c1M -T1M", "needs 2162688"),
        ("-c1G '#1'", "-c1G #1", "creates files"),
        ("-c1G '#1x'", "#1x", "is not a disk number: "),
        ("'#x'", "#x", "is not a disk number: "),
        ("'#1junk'", "#1junk", "is not a disk number: "),
        ("'#99999999999'", "#99999999999", "is not a disk number: "),
        ("X:", "X:", "Windows volume"),
        ("a b: c", "b:", "Windows volume"),
        ("-Rp '*foo'", "*foo", "is not a template: "),
        ("-Rp '*0'", "*0", "is not a template: "),
        ("-n -ap f", "-ap -n", "would have no effect"),
        ("-aE -aE f", "E", "given twice"),
        ("-acup f", "u", "is not a placement"),
        ("-ap -ae f", "e", "given twice"),
        ("-acx f", "x", "is not a placement"),
        ("-au f", "u", "is not a placement"),
        ("-bs f", "", "kind of separation"),
        ("-bsx f", "x", "kind of separation"),
        ("-u0 f", "0", "out of range"),
        ("-u65537 f", "65537", "out of range"),
        ("-u0p f", "0", "out of range"),
        ("-un101p f", "101", "out of range"),
        ("-up f", "", "a number is missing"),
        ("-oc0 f", "0", "out of range"),
        ("-Rs f", "-Rs", "is not the only argument"),
        ("--compat 2.3 -Rs f", "-Rs", "is not the only argument"),
        ("-Rs -Rstext", "-Rs", "is not the only argument"),
        ("-b4k -Rsxml", "-Rsxml", "is not the only argument"),
        ("-Rsjson", "json", "is not a result format"),
        ("--engine psync", "", "no target"),
        ("--engine f", "f", "there is no engine"),
        ("--engine sim:speed=9 f", "speed=9", "there is no parameter"),
        ("--engine null:x f", "x", "this engine has no parameters"),
        ("--engine", "", "is not the name of an engine"),
        ("--engine -b4k f", "", "is not the name of an engine"),
        ("--engine PSYNC f", "PSYNC", "is not the name of an engine"),
        ("--overwrite= f", "", "path of the target is missing"),
        ("--unchecked= f", "", "path of the target is missing"),
        ("--quick-check=yes f", "yes", "takes no value"),
        ("--compat 2.4 f", "2.4", "is not a release of DiskSpd that is known"),
        ("--compat= f", "", "is not a release of DiskSpd that is known"),
        ("--require good f", "good", "cannot be required"),
        ("--require=invalid f", "invalid", "cannot be required"),
        ("--require -L f", "", "what is required is missing"),
    ]);
    // Fine where nothing is meaningless.
    for line in
        ["'#'", "'#0'", "./X:", "XY:", "x:y", "-i4 -j1 -t4 -si f", "-c68K -B4K f", "-c2162688 -t3 -T1M f"]
    {
        words::run(line);
    }
}

#[test]
fn a_dash_of_another_kind_is_explained() {
    for dash in
        ['\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{2212}', '\u{ff0d}']
    {
        let line = format!("-r {dash}b4k f");
        let refusal = refused(&line);
        assert_eq!(marked(&refusal), dash.to_string());
        assert!(refusal.to_string().contains("type -b4k"), "{refusal}");
    }
    refused("f \u{2013}r");
}

#[test]
fn usual_slips_get_a_hint() {
    for (line, hint) in [
        ("-b 4k -r f", "-b4k"),
        ("-b 4k f", "-b4k"),
        ("-w 50 f", "-w50"),
        ("-r 4k -b4k f", "-r4k"),
        ("-X p.xml", "-Xp.xml"),
        ("-R xml f", "-Rxml"),
        ("-b=4k f", "-b4k"),
        ("-t:4 f", "-t4"),
        ("-b4KB f", "4K"),
        ("-b4KiB f", "4K"),
        ("/b4k -r f", "-b4k"),
        ("f -r", "in front of f"),
        ("f -file", "./-file"),
        ("f --recreate", "before the targets"),
        ("-w f", "-w0"),
        ("-rxml f", "-Rxml"),
        ("-RXML f", "-Rxml"),
        ("-edisk_io f", "-eDISK_IO"),
        ("-SU f", "-Su"),
        ("-A0 f", "-a0"),
        ("-help", "--help"),
        ("-version", "--version"),
        ("--HELP", "--help"),
        ("-h", "-Sh"),
        ("-s8ki f", "-si<size>"),
        ("-g1K f", "-g2"),
        ("-o4k f", "no size suffix"),
        ("-b1.5M f", "fractions"),
        ("-b0x1000 f", "decimal"),
        ("-a1g0,2 f", "comma"),
        ("-ag0,0,g1 f", "-ag1"),
        ("- f", "./-name"),
        ("f -q", "-- before the targets"),
        ("--hlep", "--help"),
        ("--engine psync", "taken as the value"),
        ("--overwrite", "--overwrite=VALUE"),
        ("X:", "/dev/disk/by-id"),
    ] {
        let text = refused(line).to_string();
        assert!(text.contains(hint), "{line}: no '{hint}' in\n{text}");
        assert!(text.contains("hint:") || text.contains("./X:"), "{line}\n{text}");
    }
}

#[test]
fn hints_do_not_mislead() {
    for (line, wrong) in
        [("-b4q f", "case sensitive"), ("-vfoo f", "argument of its own"), ("-b f", "follows its letter")]
    {
        let text = refused(line).to_string();
        assert!(!text.contains(wrong), "{line}\n{text}");
    }
}

#[test]
fn every_problem_of_a_profile_is_told_once() {
    let refusal = refused("-p -r -T1M -x -g100 a b c");
    let texts: Vec<&str> = refusal.all.iter().map(|refusal| refusal.message.as_str()).collect();
    assert_eq!(texts.len(), 3, "{refusal}");
    let refusal = refused("-t2 -N -f5x f");
    assert_eq!(refusal.all.len(), 1, "reading stops at the first error: {refusal}");
    let refusal = refused("-t2 -g10 -x f");
    assert!(
        refusal.to_string().contains("\nWARNING: target access pattern will not be sequential, consider -si")
    );
}

#[test]
fn arguments_that_are_no_text_are_refused_in_words() {
    let args = [OsString::from("-b4k"), OsString::from_vec(vec![b'f', 0xff, b'x'])];
    let text = parse_os(&args, "diskspd", &|| 0).expect_err("not UTF-8").to_string();
    assert!(text.starts_with("ERROR: argument 2 is not UTF-8"), "{text}");
    assert!(parse_os(&args[..1], "diskspd", &|| 0).expect_err("no target").to_string().contains("no target"));
}
