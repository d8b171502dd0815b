//! `truespd import`: whatever it prints is what `diskspd` takes, and every key is said or told.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::history::tools::{Place, Said};

fn jobs() -> Vec<PathBuf> {
    let folder = Path::new(crate::support::ROOT).join("tests/data/fio");
    let entries =
        fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry").path());
    let mut jobs: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "fio")).collect();
    // fio's own, where they are installed or unpacked; they are not ours to copy.
    let others = ["/usr/share/doc/fio/examples", "/usr/share/fio/examples"]
        .into_iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    jobs.extend(
        others
            .flatten()
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "fio")),
    );
    jobs.sort();
    assert!(jobs.len() >= 3);
    jobs
}

/// The lines for `diskspd` in a script.
fn lines(script: &str) -> Vec<&str> {
    script.lines().filter_map(|line| line.strip_prefix("diskspd ")).collect()
}

#[test]
fn what_it_prints_is_what_diskspd_takes() {
    let place = Place::new();
    let diskspd = |line: &str| Said::by(&mut place.program(crate::support::program::diskspd(), line)).done();
    let mut count = 0;
    for job in jobs() {
        let name = job.display();
        let said = place.said(&format!("import {name}"));
        let script = match said.code {
            Some(3) => {
                said.refused(&["no job of this file can be written as a line of diskspd", "# no line: "]);
                String::new()
            }
            _ => said.done().out,
        };
        assert!(
            script
                .lines()
                .all(|line| line.is_empty() || line.starts_with("# ") || line.starts_with("diskspd ")),
            "{script}"
        );
        for line in lines(&script) {
            diskspd(&format!("-Rpxml {line}"));
            count += 1;
        }
        let profile = place.said(&format!("import --profile p.xml {name}"));
        if profile.code == Some(0) {
            let [line] = lines(&profile.out)[..] else { panic!("one line: {}", profile.out) };
            diskspd(&format!("{line} -Rpxml"));
        } else {
            profile.refused(&["no job of this file can be written as a profile of diskspd"]);
        }
    }
    assert!(count >= 5, "{count} lines");
    assert!(
        fs::read_dir(place.path("."))
            .expect("a folder")
            .all(|entry| entry.expect("an entry").file_name() == "p.xml")
    );
}

#[test]
fn every_key_is_said_or_told() {
    let place = Place::new();
    let script =
        place.out(&format!("import --lossy {}/tests/data/fio/everything-else.fio", crate::support::ROOT));
    let text = fs::read_to_string(Path::new(crate::support::ROOT).join("tests/data/fio/everything-else.fio"))
        .expect("there");
    // These become options, which the lines show.
    let said = [
        "include common.inc",
        "bssplit=4k/60:64k/40",
        "kb_base=1024",
        "stonewall",
        "filename=parts.dat",
        "offset_increment=16m",
        "numjobs=3",
        "size=16m",
        "rw=read",
        "rate=2m",
        "offset=4k",
        "percentage_random=50",
        "filename=/dev/sdz",
        "rw=randtrim",
    ];
    let said: BTreeSet<&str> = said.into_iter().collect();
    for key in text.lines().filter(|line| !line.is_empty() && !line.starts_with('[')) {
        assert!(said.contains(key) || script.contains(key), "{key} is dropped:\n{script}");
    }
    for words in [
        "--mix 4K:60,64K:40 ",
        " --trim 100 ",
        "-rs50",
        "# no line: none of these jobs can be written as one",
    ] {
        assert!(script.contains(words), "no '{words}' in:\n{script}");
    }
}

/// A script without a line would do nothing, and seem to have done it well.
#[test]
fn a_file_of_which_no_job_can_be_said_is_refused() {
    let place = Place::new();
    let job =
        place.write("none.fio", "[a]\nioengine=rdma\nfilename=x\n[b]\nstonewall\nrw=erase\nfilename=y\n");
    let reasons =
        ["ioengine=rdma: this engine tests no file", "rw=erase: only reads, writes and trims are possible"];
    place.said(&format!("import {}", job.display())).refused(&reasons);
    place
        .said(&format!("import --profile p.xml {}", job.display()))
        .refused(&["no job of this file can be written as a profile of diskspd"]);
    assert!(!place.path("p.xml").exists());
}

#[test]
fn jobs_at_the_same_time_are_one_profile() {
    let place = Place::new();
    let job = format!("{}/tests/data/fio/database.fio", crate::support::ROOT);
    place
        .said(&format!("import {job}"))
        .refused(&["truespd import --profile FILE.xml", "an XML profile says what a line cannot"]);
    let said = place.said(&format!("import --profile job.xml {job}")).done();
    assert_eq!(lines(&said.out), ["-Xjob.xml --engine libaio"]);
    let profile = fs::read_to_string(place.path("job.xml")).expect("written");
    for words in [
        "<Path>./pages.0.0</Path>",
        "<Path>./pages.1.0</Path>",
        "<Path>./log.0.0</Path>",
        "<WriteRatio>30</WriteRatio>",
        "<Duration>5</Duration>",
    ] {
        assert!(profile.contains(words), "no {words} in:\n{profile}");
    }
    assert_eq!(profile.matches("<TimeSpan>").count(), 1);
    assert_eq!(place.out(&format!("import --profile - {job}")), profile);
    let corners = format!("{}/tests/data/fio/four-corners.fio", crate::support::ROOT);
    assert_eq!(lines(&place.out(&format!("import {corners}"))).len(), 4);
    assert_eq!(place.out(&format!("import --profile - {corners}")).matches("<TimeSpan>").count(), 4);
}

#[test]
fn an_imported_line_runs() {
    let place = Place::new();
    let job = place
        .write("small.fio", "[small]\nrw=randrw\nrwmixread=75\nbs=16k\nsize=16m\nruntime=1\ntime_based\n");
    let script = place.out(&format!("import {}", job.display()));
    let [line] = lines(&script)[..] else { panic!("{script}") };
    let said =
        Said::by(&mut place.program(crate::support::program::diskspd(), &format!("-Rjson {line}"))).done();
    let result: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    let text = result.to_string();
    assert!(text.contains("\"block_bytes\":16384") && text.contains("\"write_percent\":25"), "{text}");
    assert_eq!(fs::metadata(place.path("small.0.0")).expect("made").len(), 16 << 20);
}

#[test]
fn what_cannot_be_said_can_be_an_exit_code() {
    let place = Place::new();
    let fine = place.write("fine.fio", "[a]\nfilename=f\nsize=1m\nruntime=1\ntime_based\ninvalidate=0\n");
    place.said(&format!("import --strict {}", fine.display())).done();
    let job = place.write("job.fio", "[a]\nfilename=f\nsize=1m\nverify=md5\n");
    let said = place.said(&format!("import --strict {}", job.display()));
    assert_eq!(said.code, Some(5));
    assert!(said.err.contains("1 thing of") && said.out.contains("# not said: "), "{}{}", said.err, said.out);
    assert!(said.out.contains(":4: verify=md5: the check of fio is not imported"), "{}", said.out);
}

/// etcd's recipe, and those of databases: a line without the flushes would test the page cache.
#[test]
fn flushes_are_said_or_there_is_no_line() {
    let place = Place::new();
    let keys = "rw=write\nioengine=sync\nsize=1m\nbs=2300\n";
    let etcd =
        place.write("etcd.fio", format!("[global]\nfdatasync=1\n[etcd]\n{keys}")).display().to_string();
    let said = place.said(&format!("import --strict {etcd}")).done();
    assert!(lines(&said.out)[0].contains(" --flush-every 1:data "), "{}", said.out);
    assert!(!said.out.contains("-Sw"), "{}", said.out);
    let profile = place.out(&format!("import --profile - {etcd}"));
    assert!(profile.contains("1:data"), "{profile}");
    for key in ["fsync_on_close=1", "end_fsync=1"] {
        let text = format!("[global]\n{key}\n[log]\n{keys}");
        let job = place.write("log.fio", text.clone()).display().to_string();
        place.said(&format!("import {job}")).refused(&[
            "no job of this file can be written as a line of diskspd",
            "with --lossy, lines go without the flushes that cannot be said",
            &format!(":2: {key}: "),
            "the whole job is left out, without --lossy; nearest: -Sw: every write is durable",
        ]);
        place
            .said(&format!("import --profile p.xml {job}"))
            .refused(&["no job of this file can be written as a profile of diskspd"]);
        assert!(!place.path("p.xml").exists());
        let lossy = place.said(&format!("import --lossy {job}")).done();
        assert!(lines(&lossy.out).len() == 1 && !lossy.out.contains("-Sw "), "{}", lossy.out);
        assert!(
            lossy.out.contains(&format!(":2: {key}: ")) && lossy.err.contains("1 thing of"),
            "{}",
            lossy.err
        );
        assert_eq!(place.said(&format!("import --lossy --strict {job}")).code, Some(5));
        place.said(&format!("import --lossy --profile p.xml {job}")).done();
        fs::remove_file(place.path("p.xml")).expect("written");
        // Another job of the file has its line.
        let job =
            place.write("both.fio", format!("{text}[read]\nstonewall\nsize=1m\n")).display().to_string();
        let said = place.said(&format!("import {job}")).done();
        assert!(lines(&said.out).len() == 1 && said.out.contains("# no line: "), "{}", said.out);
        assert_eq!(place.said(&format!("import --strict {job}")).code, Some(5));
    }
}

/// A limit or a pause that is dropped lets the line run many times faster than the job.
#[test]
fn a_load_is_said_or_there_is_no_line() {
    let place = Place::new();
    for key in
        ["thinktime=500us", "rw=randrw\nrate_iops=90,10", "read_iolog=x", "rw=read:-4k", "create_only=1"]
    {
        let job = place.write("job.fio", format!("[a]\nsize=1m\n{key}\n")).display().to_string();
        let typed = key.rsplit('\n').next().unwrap_or_default();
        place.said(&format!("import {job}")).refused(&[
            "no job of this file can be written as a line of diskspd",
            "with --lossy, lines go without what cannot be said",
            &format!(":{}: {typed}: ", if key.contains('\n') { 4 } else { 3 }),
        ]);
        let lossy = place.said(&format!("import --lossy {job}")).done();
        assert!(lines(&lossy.out).len() == 1 && lossy.out.contains(&format!("{typed}: ")), "{}", lossy.out);
    }
}

/// The forms in which command lines of fio are published.
#[test]
fn command_lines_of_fio_are_taken() {
    let place = Place::new();
    let words =
        "--name=a --rw=randread --bs=8k --size=1m --runtime=3 --time_based --iodepth 4 --ioengine=libaio";
    let line = "-b8K -r -w0 -o4 -t1 -c1M -d3 -W0 -n -L --engine libaio a.0.0";
    for import in [
        format!("import -- fio {words}"),
        format!("import -- {words}"),
        format!("import --strict -- {words}"),
    ] {
        assert_eq!(lines(&place.said(&import).done().out), [line], "{import}");
    }
    let text = format!("# as it is published\nsudo fio {}\n", words.replace(" --", " \\\n  --"));
    place.write("job.sh", &text);
    assert_eq!(lines(&place.out("import job.sh")), [line]);
    // A job file on the command line is below its options.
    place.write("job.fio", "[b]\nsize=2m\n");
    let said = place.said("import -- fio --bs=16k job.fio").done();
    assert!(lines(&said.out)[0].starts_with("-b16K ") && said.out.contains("b.0.0"), "{}", said.out);
    place.said("import -- fio --name=a --rw").refused(&["--rw has no value"]);
    place.said("import -- fio --size=1m").refused(&["there is no job in it", "--name=job"]);
    place
        .said("import -- fio --name=a --size=1m --name=b --size=2m")
        .refused(&["truespd import --profile FILE.xml -- fio --name=a --size=1m --name=b --size=2m"]);
}

/// A share wants the size of what is there, and of a file that is there it is known.
#[test]
fn a_share_of_a_file_that_is_there_is_its_part() {
    let place = Place::new();
    fs::write(place.path("data"), vec![0; 1 << 20]).expect("written");
    let job = place.write("job.fio", "[a]\nfilename=data\nsize=25%\n").display().to_string();
    let said = place.said(&format!("import {job}")).done();
    assert!(lines(&said.out)[0].contains(" -f256K "), "{}", said.out);
    fs::remove_file(place.path("data")).expect("there");
    place.said(&format!("import {job}")).refused(&["size=25%: a share of the file wants its size"]);
}

/// A profile runs with one engine.
#[test]
fn engines_that_differ_are_counted_for_a_profile() {
    let place = Place::new();
    let keys = "filename=f\nsize=1m\nruntime=1\ntime_based\n";
    let text = format!("[a]\n{keys}[b]\nstonewall\nioengine=libaio\n{keys}");
    let job = place.write("job.fio", &text).display().to_string();
    place.said(&format!("import --strict {job}")).done();
    let said = place.said(&format!("import --strict --profile p.xml {job}"));
    assert_eq!(said.code, Some(5));
    assert!(said.err.contains("1 thing of") && said.out.contains("different engines"), "{}", said.out);
}

/// The line for a profile can be typed as it stands.
#[test]
fn a_profile_is_told_with_the_job_file_as_it_is_given() {
    let place = Place::new();
    place.write("-x.fio", "[a]\nsize=1m\n[b]\nsize=2m\n");
    place.said("import -- -x.fio").refused(&["truespd import --profile FILE.xml ./-x.fio"]);
}

#[test]
fn what_is_no_job_file_is_refused() {
    let place = Place::new();
    let file = |name: &str, text: &str| place.write(name, text).display().to_string();
    for (job, says) in [
        (file("a", "bs=4k\n"), "a:1, a line outside of a section: bs=4k"),
        (file("b", ""), "there is no job in it"),
        (file("c", "[a]\ninclude none\n"), "'none' cannot be read"),
        ("/no/such/file".into(), "cannot be read: No such file or directory"),
        (place.path(".").display().to_string(), "Is a directory"),
    ] {
        place.said(&format!("import {job}")).refused(&[says]);
    }
    fs::write(place.path("latin"), b"; caf\xe9\n[a] # \xfc\nsize=1m\n").expect("written");
    place.said("import latin").done();
    fs::write(place.path("raw"), [0xff, 0xfe, 0]).expect("written");
    place.said("import raw").refused(&["cannot be read: it is no text in UTF-8"]);
    // A part of a file would be other jobs.
    file("large", &format!("[a]\nsize=1m\n{}rw=write\n", "#\n".repeat(600_000)));
    place.said("import large").refused(&["cannot be read: it is larger than 1024 KiB"]);
    file("a2", "[a]\nsize=1m\n");
    place.said("import --profile none/p.xml a2").refused(&["--profile none/p.xml: "]);
    let job = file("job.fio", "[a]\nsize=1m\n");
    place.said(&format!("import --profile {job} {job}")).refused(&["--profile names the job file itself"]);
    assert_eq!(fs::read_to_string(place.path("job.fio")).expect("there"), "[a]\nsize=1m\n");
}
