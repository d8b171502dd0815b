//! How a device is reserved: what is waited for, what is shared with another run, and what is taken over from it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::layout::known_to_the_kernel;
use crate::support::HANG;
use crate::support::devices::{Loop, text};
use crate::support::needs::{Need, has};
use rustix::fs::{Mode, OFlags};
use truespd_core::guard::mark::Marks;
use truespd_core::guard::{Consent, Custody, Guard, Permit, Range};
use truespd_platform::fault::Failure;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{ReadFlags, open};

const MIB: u64 = 1 << 20;

fn permit(node: &Path, custody: &mut Custody) -> Result<Permit, Failure> {
    permit_with(Consent::default(), node, custody)
}

fn permit_with(word: Consent<'_>, node: &Path, custody: &mut Custody) -> Result<Permit, Failure> {
    let (dir, roots) = (tempfile::tempdir().expect("a temporary directory"), Roots::default());
    let marks = Marks::with_registry(dir.path());
    let guard = Guard { consent: word, marks: &marks, roots: &roots };
    let look = open(node, ReadFlags::CACHED, &roots).expect("a device");
    guard.permit(text(node), &look, Range::ALL, custody)
}

fn refused(node: &Path, says: &str) {
    let words = permit(node, &mut Custody::default()).expect_err("it is in use").to_string();
    assert!(words.contains(says), "no '{says}' in: {words}");
}

/// As a program opens a device that it wants for itself.
fn claim(node: &Path) -> File {
    let limit = Instant::now() + HANG;
    loop {
        // A child of another test may hold a copy of a descriptor until its exec.
        match rustix::fs::open(node, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => return file.into(),
            Err(error) => assert!(Instant::now() < limit, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A program that has the device open for writing for so long.
fn writer(node: &Path, seconds: &str) -> Child {
    let file = File::options().write(true).open(node).expect("a device");
    Command::new("sleep").arg(seconds).stdout(Stdio::from(file)).spawn().expect("sleep starts")
}

#[test]
fn what_has_a_device_for_a_moment_does_not_keep_a_test_from_it() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(8 * MIB);
    std::thread::scope(|scope| {
        let claimed = claim(&device.node);
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            drop(claimed);
        });
        permit(&device.node, &mut Custody::default()).expect("it is waited for");
    });
    let claimed = claim(&device.node);
    refused(&device.node, "it is in exclusive use, and the kernel does not tell by what");
    drop(claimed);
    let mut short = writer(&device.node, "0.7");
    permit(&device.node, &mut Custody::default()).expect("it is waited for");
    short.wait().expect("it ends");
    let mut long = writer(&device.node, "60");
    let says = format!("process {} (sleep) has it open for writing", long.id());
    refused(&device.node, &says);
    long.kill().and_then(|()| long.wait()).expect("it ends");
}

#[test]
fn a_device_is_shared_with_another_run_and_taken_over_when_that_ends() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(8 * MIB);
    let [mut first, mut second, mut third] = [(); 3].map(|()| Custody::default());
    let identity = permit(&device.node, &mut first).expect("it is free").identity();
    for later in [&mut second, &mut third] {
        permit(&device.node, later).expect("it is shared");
        assert!(!later.is_settled() && later.settle().is_none(), "the first one has it");
    }
    assert!(first.is_settled() && first.settle().is_none());
    drop(first);
    let limit = Instant::now() + HANG;
    while !second.is_settled() {
        assert_eq!(second.settle(), None, "nobody else wants it");
        assert!(Instant::now() < limit, "it was not taken over");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(third.settle().is_none() && !third.is_settled(), "the second one has it");
    assert!(third.told(identity).writes, "what it said is said again");
    refused_to_claim(&device.node);
    // Somebody else is faster.
    drop(second);
    let _claimed = claim(&device.node);
    assert_eq!(third.settle(), Some(identity));
}

/// The device is kept from all other programs.
fn refused_to_claim(node: &Path) {
    let claimed = rustix::fs::open(node, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty());
    assert_eq!(claimed.map(drop), Err(rustix::io::Errno::BUSY));
}

#[test]
fn a_disk_and_its_partition_are_not_shared() {
    let table = "label: gpt\nsize=8192\nsize=8192\n";
    let Some((device, _partitions, nodes)) = known_to_the_kernel(table, 2) else { return };
    let mut own = Custody::default();
    permit(&nodes[0], &mut own).expect("it is blank");
    let name = device.name();
    refused(
        &device.node,
        &format!("its partition {name}p1 is being tested by this or another run of TrueSpd"),
    );
    permit(&nodes[1], &mut Custody::default()).expect("its neighbour is another device");
    drop(own);
    let held = hold_of(&device.node);
    refused(&nodes[0], &format!("the whole disk {name} is being tested by this or another run of TrueSpd"));
    drop(held);
}

/// The whole disk has partitions that the kernel knows, so that it needs a word.
fn hold_of(node: &Path) -> Custody {
    let mut own = Custody::default();
    let again = [text(node).to_string()];
    permit_with(Consent { overwrite: &again, ..Consent::default() }, node, &mut own).expect("nobody has it");
    own
}

#[test]
fn what_a_run_wrote_to_a_device_is_its_own_and_nobody_elses() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (device, other) = (Loop::new(8 * MIB), Loop::new(8 * MIB));
    let mut own = Custody::default();
    permit(&device.node, &mut own).expect("it is blank");
    let write = |node: &Path| {
        let file = File::options().write(true).open(node).expect("a device");
        file.write_all_at(b"data", 0).and_then(|()| file.sync_all()).expect("written");
    };
    write(&device.node);
    write(&other.node);
    let holds = |answer: Result<Permit, Failure>| {
        let words = answer.expect_err("it holds data").to_string();
        assert!(words.contains("it holds data of an unknown kind"), "{words}");
    };
    holds(permit(&device.node, &mut own));
    own.devices_are_written();
    permit(&device.node, &mut own).expect("its own data");
    holds(permit(&other.node, &mut own));
    // A later time span asks for uses all the same.
    let mut writer = writer(&device.node, "60");
    let words = permit(&device.node, &mut own).expect_err("it is in use").to_string();
    assert!(words.contains("(sleep) has it open for writing"), "{words}");
    writer.kill().and_then(|()| writer.wait()).expect("it ends");
    drop(own);
    holds(permit(&device.node, &mut Custody::default()));
}
