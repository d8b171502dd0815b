//! Slips of newcomers: words of other programs, options without a dash, paths of Windows. Each is refused
//! with what to do.

use crate::support::killed;
use crate::support::program::Lab;
use crate::support::words::in_one_line;

/// `{0}` is a path.
const PROFILE: &str = "<Profile><TimeSpans><TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets><Target><Path>{0}</Path>\
     <FileSize>1048576</FileSize><BlockSize>4096</BlockSize></Target></Targets></TimeSpan></TimeSpans></Profile>";

const WINDOWS: &[(&str, &str)] = &[
    (r"C:\x.dat", r"--map 'C:\=/mnt/c'"),
    (r"C:\dir\x.dat", r"--map 'C:\=/mnt/c'"),
    (r"\\server\share\x", r"--map '\\server\share=/mnt/c'"),
    ("d:/x.dat", "--map 'd:/=/mnt/c'"),
    (r"%TEMP%\x.dat", "--map '%TEMP%=/mnt/c'"),
    (r"..\x.dat", "../x.dat"),
    ("C:ClusterStoragetest01.dat", "put the path in '...'"),
    (r"\\.\PhysicalDrive1", "a disk is written '#1', in quotes"),
    (r"\.PhysicalDrive7", "a disk is written '#7', in quotes"),
];

/// A command line with words that hold backslashes.
fn diskspd(lab: &Lab, words: &[&str]) -> std::process::Output {
    let mut command = lab.command("");
    command.args(words).output().expect("diskspd starts")
}

fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).into_owned();
    in_one_line(&text)
}

#[test]
fn a_path_of_windows_makes_no_file_here() {
    let lab = Lab::new();
    for (path, way_out) in WINDOWS {
        lab.write("p.xml", PROFILE.replace("{0}", path).as_bytes());
        let names = lab.names();
        for words in [vec!["-Xp.xml"], vec!["-c1M", "-d1", "-W0", path], vec!["-d1", "-W0", path]] {
            let ran = diskspd(&lab, &words);
            let told = text(&ran.stderr);
            assert_eq!((ran.status.code(), ran.stdout.len()), (Some(3), 0), "{words:?}: {told}");
            assert!(told.contains("ERROR: ") && told.contains(path) && told.contains(way_out), "{told}");
            assert!(!told.contains("is taken as the name of a file"), "{told}");
        }
        assert_eq!(lab.names(), names, "{path}");
    }
    // What is there is tested, and told.
    lab.write(r"C:\x.dat", &[7; 1 << 20]);
    lab.write(
        "p.xml",
        PROFILE.replace("{0}", r"C:\x.dat").replace("<FileSize>1048576</FileSize>", "").as_bytes(),
    );
    for words in [vec!["-Xp.xml"], vec!["-d1", "-W0", r"C:\x.dat"]] {
        let ran = diskspd(&lab, &words);
        let told = text(&ran.stderr);
        assert_eq!(ran.status.code(), Some(0), "{told}");
        assert!(told.contains(r"'C:\x.dat' is taken as the name of a file here"), "{told}");
    }
}

#[test]
fn a_folder_stands_for_a_path_of_windows() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("c")).expect("a folder");
    lab.write("p.xml", PROFILE.replace("{0}", r"C:\Dir\x.dat").as_bytes());
    let done = |words: &[&str]| {
        let ran = diskspd(&lab, words);
        assert_eq!(ran.status.code(), Some(0), "{words:?}: {}", text(&ran.stderr));
    };
    done(&["-Xp.xml", "--map", r"c:\=c"]);
    assert!(lab.path("c/Dir/x.dat").is_file());
    done(&[
        "--map",
        r"\\S\share=c",
        "--map",
        r"C:\=c",
        "-c1M",
        "-d1",
        "-W0",
        r"C:\y.dat",
        r"\\s\Share\z.dat",
    ]);
    assert!(lab.path("c/y.dat").is_file() && lab.path("c/z.dat").is_file());
    lab.write("c/source.bin", &[1; 1 << 16]);
    done(&["--map", r"C:\=c", "-c1M", "-d1", "-W0", "-w100", "-b4K", r"-Z64K,C:\source.bin", "w.dat"]);
    let names = lab.names();
    for (words, says) in [
        (vec!["--map", r"E:\=c", "-Xp.xml"], r"begins with E:\"),
        (vec!["--map", r"E:\=c", "-c1M", "y.dat"], r"begins with E:\"),
        (vec!["--map", r"C:\Di=c", "-Xp.xml"], r"begins with C:\Di"),
        (vec!["--map", "/a=c", "y.dat"], "no path of Windows"),
        (vec!["--map", r"C:\", "y.dat"], "with = between them"),
        (vec!["--map", r"C:\=c", "--map", r"c:\=d", "-Xp.xml"], "already"),
        (vec!["--map", r"C:\=c", "-c1M", "-d1", "C:ClusterStoragetest01.dat"], r"begins with C:\"),
    ] {
        let ran = diskspd(&lab, &words);
        let told = text(&ran.stderr);
        assert_eq!((ran.status.code(), ran.stdout.len()), (Some(3), 0), "{words:?}: {told}");
        assert!(told.contains(says), "{words:?}: {told}");
    }
    assert_eq!(lab.names(), names);
}

#[test]
fn a_number_of_a_disk_is_written_in_quotes() {
    let lab = Lab::new();
    drop(lab.run("-b4K -r").refused(3, &["there is no target", "a disk is written '#5', in quotes"]));
    lab.write("p.xml", PROFILE.replace("{0}", "*1").as_bytes());
    drop(lab.run("-Xp.xml").refused(3, &["a disk is written '#5', in quotes"]));
}

#[test]
fn words_that_are_no_targets_make_no_files() {
    let lab = Lab::new();
    for (line, says) in [
        ("-c1M -b4K -r o32 f.dat", "the option is written -o32"),
        ("-c1M -b4K f.dat t4", "the option is written -t4"),
        ("-c1M 1GB f.dat", "-c1G makes a file of that size"),
        ("-c1M rw=randread f.dat", "-r -w0"),
    ] {
        let ran =
            lab.run(line).refused(3, &["no file has this name", "for a new file of just this name write ./"]);
        drop(ran.says(&[says]));
    }
    assert!(lab.names().is_empty());
    drop(lab.run("-b4K -d1 o32").not_opened(&["the option is written -o32"]));
    drop(lab.run("-b4K -d1 1GB").not_opened(&["-c1G makes a file of that size"]));
    // All of them could be files.
    drop(lab.run("-c1M -d1 -W0 d1 o32").expect_code(0));
    drop(lab.run("-b4K --force f.dat").refused(3, &["--overwrite PATH names the file or device"]));
}

#[test]
fn words_of_other_programs_lead_to_ours() {
    let lab = Lab::new();
    for (line, says) in [
        ("winsat disk -ran", "truespd assess [DIR|DEVICE] does what 'winsat disk' did"),
        ("cdm", "truespd mark [DIR|DEVICE]"),
        ("crystaldiskmark", "truespd mark [DIR|DEVICE]"),
        ("benchmark", "truespd mark [DIR|DEVICE] runs a set of tests"),
        ("fio job.fio", "truespd import job.fio"),
        ("diskspd -b4K f", "truespd run takes the words of diskspd"),
        ("-b4K -r f", "truespd run -b4K ... FILE"),
        ("f.dat", "truespd run -b4K -r f.dat"),
        ("vdi", "truespd workload vdi"),
        ("scrub", "truespd workload beside 'FOREGROUND' 'BACKGROUND' TARGET"),
        ("inspct", "did you mean truespd inspect?"),
        ("history delete x", "perhaps truespd history rm"),
        ("--force", "options stand behind the command"),
        ("mark -r1", "perhaps --loops 1"),
        ("mark -c1G", "perhaps --size 1G"),
        ("mark --force", "--overwrite PATH names the file or device"),
        ("mark 1GB", "--size 1G"),
        ("mark . 1GB", "--size 1G"),
        ("mark --loop 2", "did you mean --loops?"),
        ("assess --force", "--overwrite PATH names the file or device"),
        ("cluster mark --force", "--overwrite PATH names the file or device"),
        ("ab --a '-b4K' --b '-b8K' testfile.dat", "--a '-b4K -r testfile.dat'"),
        ("ab testfile.dat", "--a '-b4K -r testfile.dat'"),
        ("ab", "both are a line of diskspd without its name"),
        ("ab -r1", "stand in the words of each variant"),
    ] {
        let ran = killed::run(&lab, line).refused(3, &[]);
        let told = in_one_line(&ran.stderr);
        assert!(told.contains(says), "{line}: {ran}");
        assert!(!told.contains("tip: ") && !told.contains("For more information"), "{line}: {ran}");
        assert!(line == "mark 1GB" || ran.stderr.contains('^') && told.contains("legal: "), "{line}: {ran}");
    }
    assert!(lab.names().is_empty());
}
