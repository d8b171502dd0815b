//! What keeps a target or a stream from being used is named as what it is, and never waited for in silence.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::killed;
use crate::support::needs::{Need, has, not_run};
use crate::support::program::{Lab, Ran, Running};

/// Holds a lease on a file as a file server does that ignores its client, until it is killed or so many
/// seconds have passed.
struct Holder(Child);

impl Holder {
    /// None where the file system has no leases.
    fn of(lab: &Lab, name: &str, kind: &str, seconds: f32) -> Option<Holder> {
        let script = format!(
            "import fcntl,os,signal,sys,time\n\
             signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
             fd = os.open(sys.argv[1], os.O_RDONLY)\n\
             try:\n    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.{kind})\n\
             except OSError as error:\n    print(error, flush=True)\n\
             else:\n    print('held', flush=True)\n\
             time.sleep({seconds})\n"
        );
        let mut command = Command::new("python3");
        command.args(["-c", &script]).arg(lab.path(name)).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3 starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it speaks");
        let holder = Holder(child);
        (line == "held\n").then_some(holder)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_lease_is_named_and_not_waited_for() {
    if !has(&[Need::Tool("python3")]) {
        return;
    }
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 -g64 f").expect_code(0);
    let Some(holder) = Holder::of(&lab, "f", "F_WRLCK", 600.0) else {
        return not_run(Need::Leases);
    };
    // Whoever waits for a lease gets the file in the end, and is not refused.
    let refused = |ran: Ran| {
        assert!(matches!(ran.status.code(), Some(1 | 3)), "{ran}");
        assert_eq!(ran.stdout, "", "{ran}");
        ran.says(&["ERROR: ", "holds a lease on"]);
    };
    for words in ["-w0", "-w100", "-w0 -Su", "-Sm", "-c1M", "-c1M -w100"] {
        refused(lab.run(&format!("-d1 -W0 -b4K {words} f")));
    }
    for line in ["inspect f", "render f"] {
        refused(killed::run(&lab, line));
    }
    drop(holder);
    // One that lets go of it, as a file server does, is waited for.
    lab.write("g", &[7; 1 << 20]);
    let _holder = Holder::of(&lab, "g", "F_WRLCK", 1.0).expect("as before");
    lab.run("-d1 -W0 -b4K -g64 g").expect_code(0);
}

/// A filter of system calls that forbids `fcntl` says nothing about standard output.
#[test]
fn a_forbidden_question_is_no_closed_output() {
    if !has(&[Need::Tool("python3")]) || !cfg!(target_arch = "x86_64") {
        return not_run(Need::X86);
    }
    // SECCOMP_RET_ERRNO | EPERM for system call 72; everything else is allowed.
    const FILTER: &str = "import ctypes,os,struct,sys\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        rules = [(0x20,0,0,0),(0x15,0,1,72),(6,0,0,0x50001),(6,0,0,0x7fff0000)]\n\
        code = b''.join(struct.pack('HBBI', *rule) for rule in rules)\n\
        room = ctypes.create_string_buffer(code)\n\
        filter = struct.pack('HxxxxxxQ', len(rules), ctypes.addressof(room))\n\
        assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filter, 0, 0) == 0\n\
        os.execv(sys.argv[1], sys.argv[1:])\n";
    let program = env!("CARGO_BIN_EXE_truespd");
    let output = Command::new("python3").args(["-c", FILTER, program, "schema"]).output().expect("it starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(output.stdout.starts_with(b"{"), "{stderr}");
    // What is closed is still told.
    let line = ["-c", "\"$0\" schema >&-", program];
    let closed = Command::new("sh").args(line).output().expect("a shell");
    let stderr = String::from_utf8_lossy(&closed.stderr);
    assert!(closed.status.code() == Some(3) && stderr.contains("standard output is closed"), "{stderr}");
}

/// Root of a container may not look through `/proc` either; elsewhere root may.
#[test]
fn the_way_through_another_process_is_named() {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 -g64 f").expect_code(0);
    let path = format!("/proc/1/root{}", lab.path("f").display());
    if fs::metadata(&path).is_ok() {
        return not_run(Need::ClosedProcesses);
    }
    for words in ["-w0", "-w100", "-c1M"] {
        let line = format!("-d1 -W0 -b4K {words} {path}");
        let ran = Running::new(lab.command(&line), &line).finish();
        assert!(matches!(ran.status.code(), Some(1 | 3)) && ran.stdout.is_empty(), "{ran}");
        ran.says(&["leads through /proc of another process"]).says_not(&["run as root"]);
    }
}
