//! What a mark is worth: who put it there, and what happened to the file while a run wrote it.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::makers::Mapped;
use crate::support::devices::{Mount, text};
use crate::support::killed::{self, registry};
use crate::support::needs::{Need, has, not_run};
use crate::support::program::{Lab, Ran, Running};
use crate::support::words::in_one_line;
use truespd_core::guard::mark::{MarkPlace, MarkState, Marks};

const MIB: usize = 1 << 20;
const WRITE: &str = "-d1 -W0 -b4K -o1 -g64 -w100";

fn write_test(lab: &Lab, path: &Path) -> Ran {
    lab.run(&format!("{WRITE} {}", path.display()))
}

fn ours(lab: &Lab) {
    lab.run("-c1M -d1 -W0 -b4K -g64 ours").expect_code(0);
}

/// A run of a part of our file, during which something happens.
fn run_while(lab: &Lab, words: &str, happens: impl FnOnce()) -> Ran {
    let mut running = lab.start(&format!("-d600 -W0 -b4K -w100 -v -P1 {words}"));
    running.wait_for_ios();
    happens();
    assert!(running.is_running());
    running.signal(Signal::INT);
    running.finish().expect_code(0)
}

#[test]
fn a_program_that_has_the_file_open_when_a_run_ends_may_have_written_it() {
    let lab = Lab::new();
    ours(&lab);
    let file = || File::options().write(true).open(lab.path("ours")).expect("writable");
    keeps_it_from_being_ours(&lab, || Box::new(file()));
}

/// The kernel changes no time for what is written through it later.
#[test]
fn a_program_that_has_the_file_mapped_when_a_run_ends_may_have_written_it() {
    let lab = Lab::new();
    ours(&lab);
    keeps_it_from_being_ours(&lab, || Box::new(Mapped::new(&lab.path("ours"))));
}

/// Something that this process has of the file when a run of it ends.
fn keeps_it_from_being_ours(lab: &Lab, has: impl Fn() -> Box<dyn std::any::Any>) {
    let mut kept = None;
    let ran = run_while(lab, "ours", || kept = Some(has()));
    let says = in_one_line(&ran.stderr);
    let process = format!("process {} (", std::process::id());
    assert!(says.contains("when the run ended") && says.contains(&process), "{ran}");
    assert!(says.contains("the next write test of it needs --overwrite"), "{ran}");
    drop(kept);
    let ran = write_test(lab, Path::new("ours")).expect_code(4);
    assert!(in_one_line(&ran.stderr).contains("something else wrote to it since"), "{ran}");
}

#[test]
fn a_reader_and_a_file_that_is_named_twice_do_no_harm() {
    let lab = Lab::new();
    ours(&lab);
    let mut reader = None;
    let ran = run_while(&lab, "-B256K -f768K ours ours", || {
        reader = Some(File::open(lab.path("ours")).expect("readable"));
    });
    assert!(!ran.stderr.contains("somebody else's data"), "{ran}");
    write_test(&lab, Path::new("ours")).expect_code(0);
    drop(reader);
}

#[test]
fn a_file_that_is_cut_during_a_run_is_told() {
    let lab = Lab::new();
    ours(&lab);
    let ran = run_while(&lab, "-B512K ours", || {
        let file = File::options().write(true).open(lab.path("ours")).expect("writable");
        file.set_len(2 * MIB as u64).and_then(|()| file.write_all_at(b"thesis", 1_500_000)).expect("room");
    });
    assert!(in_one_line(&ran.stderr).contains("something else changed its size during the run"), "{ran}");
    write_test(&lab, Path::new("ours")).expect_code(4);
}

/// A user who may not write a file could otherwise have root overwrite it.
#[test]
fn a_mark_that_another_user_put_there_does_not_count() {
    if !has(&[Need::LoopDevices, Need::Tool("setpriv")]) {
        return;
    }
    let lab = Lab::new();
    let mount = Mount::new(&["-t", "ramfs", "none"]);
    let precious = mount.point.join("precious");
    fs::write(&precious, vec![7; MIB]).expect("room");
    std::os::unix::fs::symlink(&precious, lab.path("linked")).expect("a link");
    // What the entry has to be, made elsewhere.
    let elsewhere = lab.path("elsewhere");
    let file = File::open(&precious).expect("it is there");
    let Ok(MarkPlace::Registry(entry)) = Marks::with_registry(&elsewhere).mark(&file, MarkState::Complete)
    else {
        return not_run(Need::NoAttributes);
    };
    let forged = registry(&lab).join(entry.file_name().expect("it has one"));
    fs::create_dir_all(registry(&lab)).expect("a folder");
    let allow = |mode| fs::set_permissions(registry(&lab), fs::Permissions::from_mode(mode)).expect("ours");
    allow(0o777);
    fs::copy(&entry, lab.path("forged")).expect("room");
    fs::set_permissions(lab.path("forged"), fs::Permissions::from_mode(0o644)).expect("ours");
    // Everybody has to reach the folder.
    for folder in [lab.work(), lab.work().with_file_name("")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("ours");
    }
    for folder in registry(&lab).ancestors().take(3).skip(1) {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("ours");
    }
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "cp"];
    let copied = Command::new("setpriv").args(nobody).arg(lab.path("forged")).arg(&forged).status();
    assert!(copied.expect("it starts").success(), "nobody puts an entry there");
    let refused = |why: &str| {
        let ran = write_test(&lab, Path::new("linked")).expect_code(4);
        let told = in_one_line(&ran.stderr);
        assert!(told.contains("was not made by TrueSpd") && told.contains(why), "no '{why}': {ran}");
        let inspected = killed::run(&lab, "inspect linked").expect_code(0);
        assert!(in_one_line(&inspected.stdout).contains(why), "no '{why}': {inspected}");
    };
    refused("is ignored: other users may write to the folder");
    allow(0o700);
    refused("is ignored: it belongs to another user");
    let told = lab.run(&format!("{WRITE} --overwrite linked linked")).expect_code(0).stderr;
    assert!(in_one_line(&told).contains("is ignored: it belongs to another user"), "{told}");
    // The same entry, of this user.
    fs::remove_file(&forged).and_then(|()| fs::write(&precious, vec![7; MIB])).expect("root may");
    let own = Marks::with_registry(&registry(&lab)).mark(&file, MarkState::Complete);
    assert_eq!(own, Ok(MarkPlace::Registry(forged)), "{}", text(&precious));
    write_test(&lab, Path::new("linked")).expect_code(0);
}

/// In an image of a container: the file below stays as it is.
#[test]
fn a_write_to_a_file_of_a_lower_layer_goes_to_a_copy() {
    if !has(&[Need::Mounts]) {
        return;
    }
    let Some(lab) = Lab::on_disk() else { return };
    fs::create_dir(lab.path("lower")).expect("a folder");
    lab.write("lower/data", &vec![7; MIB]);
    let Some(overlay) = Mount::by_overlay(&lab.work(), true) else { return };
    let path = text(&overlay.point.join("data")).to_string();
    lab.run(&format!("{WRITE} --overwrite {path} {path}")).expect_code(0);
    assert!(lab.read("lower/data") == vec![7; MIB] && lab.path("upper/data").exists());
}

#[test]
fn folders_of_the_state_are_for_their_user_whatever_the_umask() {
    for umask in ["000", "022", "077", "277"] {
        let lab = Lab::new();
        // Made before, because the umask may not let its maker write it.
        lab.run("-c1M -b4K -d1 -W0 -g64 f").expect_code(0);
        fs::remove_dir_all(killed::state(&lab)).expect("its mark may be there");
        let line = "-b4K -w50 -d1 -W0 -g64 --verify f";
        let shell = format!("umask {umask}; exec \"$0\" \"$@\"");
        Running::new(lab.command_behind(&["sh", "-c", &shell], line), line).finish().expect_code(0);
        for folder in ["truespd", "truespd/verify"] {
            let about = fs::metadata(killed::state(&lab).join(folder)).expect("it was made");
            assert_eq!(about.permissions().mode() & 0o7777, 0o700, "{folder}, umask {umask}");
        }
    }
}
