//! `truespd sweep` on the simulated device and on real files: the knee, refusals, and that nothing stays.

use crate::support::killed::{assert_renders, journals, scratch_folders, truespd};
use crate::support::program::{Lab, Ran, Running};

/// Eight channels of 1 ms each: 8,000 I/Os per second, from 8 outstanding I/Os on.
const EIGHT: &str = "--engine sim:latency=1ms,channels=8 -b4K -r -d1 -W0";

fn sweep(lab: &Lab, line: &str, rest: &str) -> Ran {
    let mut command = truespd(lab, "");
    command.arg("sweep").arg(line).args(rest.split_whitespace());
    Running::new(command, &format!("sweep '{line}' {rest}")).finish()
}

#[test]
fn the_knee_of_a_known_law_is_found() {
    let lab = Lab::new();
    lab.write("f", &[0; 1 << 20]);
    let ran = sweep(&lab, EIGHT, "f --over o=1..64 --json out.json --csv out.csv").expect_code(0);
    assert!(ran.stderr.contains("7 points, 3 to 10 runs of 1 s each until the error is 5 %"), "{ran}");
    for says in [
        "plateau: 7,992 IOPS at -o8.\n",
        "knee: 8 I/Os outstanding, mean latency 1 ms; beyond, more I/Os add only latency.\n",
        "what bounds it: what is below the test: it had more I/Os to do, and completed no more.\n",
        "smallest line that reaches 95 % of the plateau:\n  diskspd -o8 -L --engine sim:latency=1ms,channels=8 -b4K -r \
         -d1 -W0 ",
    ] {
        assert!(ran.stdout.replace("\n", " ").contains(&says.replace("\n", " ")), "{says}\n{ran}");
    }
    assert_renders(&lab, &ran, "out.json");
    let stored: serde_json::Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    assert_eq!(stored["format"], "truespd-sweep");
    let points = stored["sweep"]["points"].as_array().expect("points");
    assert_eq!((points.len(), points[3]["outstanding"].as_u64()), (7, Some(8)));
    let mut places: Vec<u64> = Vec::new();
    for run in points.iter().flat_map(|point| point["runs"].as_array().expect("runs")) {
        places.push(run["place"].as_u64().expect("a number"));
    }
    assert!(!places.is_sorted(), "the order is random: {places:?}");
    places.sort_unstable();
    assert_eq!(places, (0..21).collect::<Vec<u64>>(), "three rounds");
    let again = &stored["sweep"]["again"];
    assert_eq!(
        (again["has_changed"].as_bool(), again["iops"].as_f64()),
        (Some(false), again["first_iops"].as_f64())
    );
    let csv = String::from_utf8(lab.read("out.csv")).expect("text");
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows.len() == 8 && rows[0].starts_with("-o,outstanding,threads,iops,"), "{csv}");
    assert!(rows[4].starts_with("8,8,1,7992.000,7992.000,7992.000,32735232.000,1000"), "{csv}");
    assert_eq!(lab.names(), ["f", "out.csv", "out.json"]);
    sweep(&lab, EIGHT, "f --over o=1,2 --json out.json --csv out.csv").expect_code(0);
    assert_eq!(String::from_utf8(lab.read("out.csv")).expect("text").lines().count(), 3, "replaced");
}

#[test]
fn threads_and_depth_are_one_ramp_and_other_switches_divide_it() {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 --engine sim:latency=1ms f").expect_code(0);
    // Each thread has a simulated device of its own.
    let line = "--engine sim:latency=1ms,channels=2 -r -d1 -W0";
    let ran = sweep(&lab, line, "f --over o=1..8 --over t=1,2 --over b=4K,8K").expect_code(0);
    for size in ["4K", "8K"] {
        assert!(ran.stdout.contains(&format!("-b{size}: plateau: 3,996 IOPS at ")), "{ran}");
        assert!(ran.stdout.contains(&format!("-b{size}: knee: 4 I/Os outstanding")), "{ran}");
    }
    assert!(ran.stdout.contains("diskspd -o2 -t2 -b4K "), "the smallest line: {ran}");
    // The rate still grows.
    let open = sweep(&lab, EIGHT, "f --over o=1..4").expect_code(0);
    assert!(open.stdout.contains("no plateau: the rate still grows at the last step, 3,996 IOPS"), "{open}");
    // Sizes are a ramp of their own, by bytes.
    let capped = "--engine sim:latency=1ms -r -o1 -d1 -W0";
    let sizes = sweep(&lab, capped, "f --over b=4K..16K").expect_code(0);
    assert!(
        sizes.stdout.contains("no plateau: the rate still grows at the last step, 15.6 MiB/s with 16 KiB"),
        "{sizes}"
    );
    // What is no ramp has a table.
    let writes = sweep(&lab, EIGHT, "f --over w=0..100+50").expect_code(0);
    assert!(!writes.stdout.contains("plateau") && writes.stdout.contains(" -w "), "{writes}");
}

#[test]
fn a_budget_ends_it_and_is_told() {
    let lab = Lab::new();
    lab.write("f", &[0; 1 << 20]);
    // Each run counts as 1.5 s: 5 of 12, and the first point again.
    let ran = sweep(&lab, EIGHT, "f --over o=1..8 --budget 0.15 --json out.json").expect_code(0);
    assert!(ran.stdout.contains("The budget was spent before every point was known to 5 %."), "{ran}");
    let stored: serde_json::Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    let points = stored["sweep"]["points"].as_array().expect("points");
    let runs: usize = points.iter().map(|point| point["runs"].as_array().expect("runs").len()).sum();
    assert_eq!((runs, stored["sweep"]["is_out_of_time"].as_bool()), (5, Some(true)));
}

#[test]
fn what_cannot_be_swept_is_refused_before_anything_is_made() {
    let lab = Lab::new();
    lab.write("f", &[7; 1 << 20]);
    for (line, rest, says) in [
        ("-b4K", "f", "nothing is varied; say which switch and which values: --over o=1..256"),
        ("-b4K", "f --over o", "a switch, = and its values are needed; legal: o=1..256 (doubled each time)"),
        ("-b4K", "f --over json=a,b", "'json' cannot be varied"),
        (
            "-r",
            "f --over mix=4K:100,64K:100",
            "values of mix have commas, so a list of them is separated by ;",
        ),
        ("-r", "f --over zipf=0.6..1.2", "is not a range of whole numbers; give a list"),
        ("-b4K", "f --over d=1..8", "'d' cannot be varied; legal: o t F O b "),
        ("-b4K", "f --over quack=1..8", "'quack' cannot be varied"),
        ("-b4K -o8", "f --over o=1..8", "-o is varied by the sweep; remove it from the line"),
        ("-b4K", "f --over o=1..8 --over o=1", "-o is varied already"),
        ("-b4K", "f --over o=1..200+1 --over t=1..60+1", "these ranges make 12000 points"),
        ("-b4K", "f --over w=0..200+50", "150 is out of range"),
        ("-b4K -s", "f --over zipf=0.9", "exclude each other"),
        ("-b4K", "f --over o=1..8 --budget 0.1", "every point once takes"),
        ("-b4K -c1G", "f --over o=1..8", "name a directory as target"),
        ("-b4K -d0", "f --over o=1..8", "needs measured time"),
        ("-b4K -Xp.xml", "f --over o=1..8", "-X is not possible here"),
        ("-b4K f", "f --over o=1..8", "targets stand behind the line"),
        ("-b4K", "f --size 16M --over o=1..8", "--size is for files that are created"),
    ] {
        let ran = sweep(&lab, line, rest).expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(says), "{says}: {ran}");
    }
    let guarded = sweep(&lab, "-b4K -w100", "f --over o=1..8").expect_code(4);
    assert!(guarded.stdout.is_empty(), "the file is somebody's: {guarded}");
    assert_eq!(lab.names(), ["f"]);
    assert_eq!(lab.read("f"), [7; 1 << 20], "nothing was written");
}

#[test]
fn two_switches_have_a_table_and_a_third_divides_it() {
    let lab = Lab::new();
    lab.write("f", &[0; 1 << 20]);
    let rest =
        "f --over mix=4K:100;4K:50,64K:50 --over zipf=0.6,0.9 --over o=1,2 --json out.json --csv out.csv";
    let ran = sweep(&lab, "--engine sim:latency=1ms,channels=8 -r -d1 -W0", rest).expect_code(0);
    let table = "IOPS over --mix and --zipf, -o2\n\
                 \x20                   --zipf 0.6  --zipf 0.9\n\
                 \x20     --mix 4K:100      1,998!      1,998!\n\
                 --mix 4K:50,64K:50      1,998!      1,998!\n\
                 ! invalid: these are not the storage's figures\n";
    assert!(ran.stdout.contains(table), "{ran}");
    assert!(ran.stdout.contains("IOPS over --mix and --zipf, -o1\n"), "{ran}");
    let csv = String::from_utf8(lab.read("out.csv")).expect("text");
    assert!(csv.contains("\n\"4K:50,64K:50\",0.9,2,2,1,1998.000,"), "{csv}");
    let page = truespd(&lab, "report out.json -o out.html");
    Running::new(page, "report").finish().expect_code(0);
    let page = String::from_utf8(lab.read("out.html")).expect("text");
    assert_eq!(page.matches("<table class=\"heat\">").count(), 2, "{page}");
    let row = "<th scope=\"row\">--mix 4K:50,64K:50</th><td style=\"--part:50%\">1,998!</td>";
    assert!(page.contains(row), "{page}");
    assert!(page.contains("<td style=\"--part:25%\">999!</td>"), "shades of all tables are alike: {page}");
}

/// What is to be written is told before as far as it is known, then before each run.
#[test]
fn what_is_written_and_what_is_left_are_told() {
    let lab = Lab::new();
    let plan = |line: &str, rest: &str| {
        let ran = sweep(&lab, line, &format!(". --size 16M --over o=1,2 {rest} --print")).expect_code(0);
        assert_eq!(ran.stdout.lines().count(), 2, "{ran}");
        assert!(ran.stdout.contains(" -c16M "), "a line that is repeated makes its file: {ran}");
        ran.stderr
    };
    let reads = plan("-b4K -r -d1 -W0", "");
    assert_eq!(
        reads,
        "2 points, 3 to 10 runs of 1 s each until the error is 5 %: 11 s to 32 s; making the test file writes 16 MiB\n"
    );
    let writes = plan("-b4K -r -w50 -d1 -W1", "");
    assert!(
        writes.contains("; how much the runs write is known after the first one, and told before"),
        "{writes}"
    );
    // 100 writes of 4 KiB in each of 2 seconds, in 21 runs.
    let paced = plan("-b4K -r -w50 -g100i -t2 -d1 -W1", "--precondition 2x");
    assert!(paced.contains("; the runs write 16.4 MiB at most, by their rate (-g);"), "{paced}");
    assert!(paced.contains("; --precondition writes 32 MiB at most\n"), "{paced}");
    let steady = plan("-b4K -r -d10 -W2", "--until-steady");
    assert!(
        steady.contains("runs of 52 s to 5 min each until the error is 5 %: 7 min to 89 min;"),
        "{steady}"
    );
    let budget = plan("-b4K -r -d10 -W2", "--budget 1");
    assert!(budget.contains("of 12 s each until the error is 5 %: 60 s at most;"), "{budget}");
    let ran = sweep(&lab, "-b4K -r -w100 -g50i -d1 -W0", ". --size 16M --over o=1,2").expect_code(0);
    assert!(ran.stderr.contains("round 1, point 1 of 2, 0:11 left usually\n"), "{ran}");
    assert!(ran.stderr.contains("round 1, point 2 of 2, runs wrote 1"), "{ran}");
    assert!(ran.stderr.contains(" after round 3, 0:0"), "{ran}");
    assert!(ran.stderr.contains("the first point again, runs wrote "), "{ran}");
}

/// A folder, a real engine, an interruption's leftovers: nothing stays, and what was kept is not run again.
#[test]
fn a_folder_is_left_as_it_was_and_a_sweep_goes_on() {
    let lab = Lab::new();
    let line = "-b4K -r -d1 -W0";
    let rest = ". --size 16M --over o=1,2 --keep kept --precision 50";
    let ran = sweep(&lab, line, rest).expect_code(0);
    assert!(ran.stdout.contains(" -o ") || ran.stdout.contains("-o "), "{ran}");
    assert!(scratch_folders(&lab).is_empty() && journals(&lab).is_empty(), "{ran}");
    let again = sweep(&lab, line, &format!("{rest} --resume")).expect_code(0);
    assert!(again.stderr.matches("kept from before").count() >= 7, "{again}");
    let printed = sweep(&lab, line, ". --over o=1,2 --print").expect_code(0);
    assert_eq!(printed.stdout.lines().count(), 2, "{printed}");
}
