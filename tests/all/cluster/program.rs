//! `truespd cluster` as a person meets it without several hosts: no launcher, one rank, no package for MPI.
//! With several ranks `ci/cluster` runs it under real launchers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use truespd_core::result::json;

use crate::support::killed::{run, truespd};
use crate::support::program::{Lab, Ran, Running, copy_to_run};

/// What mpirun of Open MPI tells the processes that it starts.
fn launched(lab: &Lab, line: &str, ranks: &str, rank: &str) -> Ran {
    let mut command = truespd(lab, line);
    command.env("OMPI_COMM_WORLD_SIZE", ranks).env("OMPI_COMM_WORLD_RANK", rank);
    Running::new(command, line).finish()
}

fn alone(lab: &Lab, line: &str) -> Ran {
    launched(lab, line, "1", "0")
}

/// Documents that ranks left.
fn left(lab: &Lab) -> Vec<PathBuf> {
    let folders = lab.names().into_iter().filter(|name| name.starts_with("truespd-cluster-"));
    let inside = |folder: String| {
        fs::read_dir(lab.path(&folder)).expect("a folder").map(|entry| entry.expect("an entry").path())
    };
    folders.flat_map(inside).collect()
}

#[test]
fn without_a_launcher_it_says_how_to_start_and_does_nothing() {
    let lab = Lab::new();
    let ran = run(&lab, "cluster run -c1M -d1 -W0 f");
    ran.refused(
        3,
        &["must be started by MPI", "mpirun -np 3 --host a,b,c truespd cluster run", "mpirun -np 1"],
    );
    assert!(lab.names().is_empty(), "{:?}", lab.names());
}

#[test]
fn help_needs_no_launcher() {
    let lab = Lab::new();
    for line in ["cluster --help", "cluster run --help", "cluster run -?"] {
        let ran = run(&lab, line).expect_code(0);
        for words in [
            "--shard",
            "--patience",
            "{host}",
            "{rank}",
            "{local}",
            "{n} for the number of ranks",
            "cluster mark",
        ] {
            assert!(ran.stdout.contains(words), "{line}: {words}\n{ran}");
        }
    }
    run(&lab, "cluster").expect_code(3);
    assert!(run(&lab, "cluster mark --help").expect_code(0).stdout.contains("CrystalDiskMark"));
    run(&lab, "cluster sing").refused(3, &["no such cluster run", "run, mark, workload"]);
}

#[test]
fn what_is_missing_for_an_mpi_library_is_named_by_its_package() {
    let lab = Lab::new();
    // A folder of the test's own: objects may lie beside the program that was built.
    let program = lab.path("truespd");
    copy_to_run(Path::new(env!("CARGO_BIN_EXE_truespd")), &program);
    let rank = |rank: &str| {
        let line = "cluster run -c1M -d1 -W0 f{rank}";
        let mut command = Command::new(&program);
        command.args(line.split(' ')).current_dir(lab.work()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("OMPI_COMM_WORLD_SIZE", "3").env("OMPI_COMM_WORLD_RANK", rank);
        Running::new(command, line).finish()
    };
    rank("0").refused(3, &["started 3 ranks", "apt install ./truespd-mpi-openmpi_*.deb", "dnf install"]);
    // Rank 0 may have it.
    rank("2").refused(3, &["host ", "apt install ./truespd-mpi-openmpi_*.deb"]);
    fs::write(lab.path("libtruespd-mpi-openmpi.so"), "no object").expect("written");
    let damaged = rank("0");
    damaged.refused(3, &["libtruespd-mpi-openmpi.so' cannot be loaded"]);
    assert_eq!(lab.names(), ["libtruespd-mpi-openmpi.so", "truespd"]);
}

#[test]
fn one_rank_is_a_run_like_any_other_and_leaves_its_document() {
    let lab = Lab::new();
    let ran =
        alone(&lab, "cluster run -c1M -b4K -d1 -W0 -L --json sum.json {local}of{n}.{rank}").expect_code(0);
    assert_eq!(ran.stdout.matches("Results for timespan 1:").count(), 1, "{ran}");
    assert!(lab.names().contains(&"0of1.0".to_string()), "{:?}", lab.names());
    let [document] = &left(&lab)[..] else { panic!("one document: {:?}", left(&lab)) };
    let name = document.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(name.starts_with("rank-0000-") && name.ends_with(".json"), "{name}");
    let read = json::read(&fs::read(document).expect("readable")).expect("a document");
    let rank = read.rank.as_ref().expect("a rank");
    assert_eq!((rank.rank, rank.ranks, rank.local), (0, 1, 0));
    let start = read.measured().next().expect("measured").evidence.common_start.expect("an agreed start");
    assert!(u128::from(start.late_ns) < crate::support::HANG.as_nanos(), "{start:?}");
    assert_eq!(fs::read(document).unwrap(), lab.read("sum.json"), "it is its own sum");
}

#[test]
fn what_is_refused_leaves_nothing() {
    let lab = Lab::new();
    for (line, code, words) in [
        ("cluster run -d1 -W0 missing{rank}", 1, &["missing0", "No such file"][..]),
        ("cluster run -d1 -W0 -bx f", 3, &["'x' is not a digit"][..]),
        (
            "cluster run -d1 -W0 f{hosts}",
            3,
            &["{hosts} means nothing here", "{rank} (number of the rank"][..],
        ),
        ("cluster run --patience 1 -d1 f", 3, &["1 is not in 3..=3600"][..]),
        (
            "cluster run --documents no/such/folder -c1M -d1 -W0 f",
            3,
            &["--documents no/such/folder", "no file can be made in no/such"][..],
        ),
        ("cluster run --ranks-per-host 2 -c1M -d1 -W0 f", 3, &["has 1 rank, not 2"][..]),
        ("cluster run -Rs", 3, &["needs a line that tests something"][..]),
        ("cluster run --shard", 3, &["there is no command line to run"][..]),
        ("cluster mark --shard .", 3, &["--shard and --shared are for truespd cluster run"][..]),
        ("cluster mark --keep k --resume .", 3, &["--resume does not go with a cluster run"][..]),
    ] {
        let ran = alone(&lab, line).expect_code(code);
        assert_eq!(ran.stdout, "", "{line}");
        assert!(words.iter().all(|words| ran.stderr.contains(words)), "{line}: {words:?}\n{ran}");
        assert!(lab.names().is_empty(), "{line}: {:?}", lab.names());
    }
}

#[test]
fn a_shard_is_a_stretch_of_the_file() {
    let lab = Lab::new();
    let ran = alone(&lab, "cluster run --shard -c1M -b4K -w100 -d1 -W0 -B64K f").expect_code(0);
    assert!(
        ran.stdout.contains("base file offset: 64KiB") && ran.stdout.contains("max file size: 1MiB"),
        "{ran}"
    );
}

#[test]
fn a_suite_of_one_rank_keeps_the_document_of_each_run() {
    let lab = Lab::new();
    let line = "cluster mark --test RND4K-Q1T1 --only read --loops 1 --size 16M --measure 1 --interval 0 --json m.json .";
    let ran = alone(&lab, line).expect_code(0);
    assert!(ran.stdout.contains("RND    4KiB"), "{ran}");
    assert_eq!(left(&lab).len(), 2, "one discarded run, one that counts: {:?}", left(&lab));
    let only =
        lab.names().into_iter().filter(|name| !name.starts_with("truespd-cluster-")).collect::<Vec<_>>();
    assert_eq!(only, ["m.json"], "its files are gone");
}
