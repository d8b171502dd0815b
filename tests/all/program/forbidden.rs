//! Machines where a filter forbids system calls, as in containers: what is said then.

use crate::support::forbidden::{can_forbid, forbid};
use crate::support::program::{Lab, Ran, Running};
use crate::support::runner::has_engine;

const RUN: &str = "-v -c1M -b4K -d1 -W0 -r -o4 -Su -L f";

/// A run to which the calls are forbidden.
fn without(calls: &[libc::c_long], errno: i32, words: &str) -> Ran {
    let lab = Lab::new();
    let mut command = lab.command(words);
    forbid(&mut command, calls, errno);
    Running::new(command, words).finish()
}

/// Scripts that search standard error for the word "error" must not stop at a note.
#[test]
fn notes_about_forbidden_calls_do_not_say_error() {
    if !can_forbid() {
        return;
    }
    let rows: [(&[libc::c_long], i32, &str); 12] = [
        (
            &[libc::SYS_io_uring_setup],
            libc::EPERM,
            "note: io_uring not used: a system-call filter forbids it, as container runtimes do by default (Operation \
             not permitted)\n",
        ),
        (
            &[libc::SYS_io_uring_setup, libc::SYS_io_setup],
            libc::EPERM,
            "note: libaio not used: a system-call filter forbids it (Operation not permitted)\n",
        ),
        (&[libc::SYS_io_uring_setup], libc::ENOSYS, "Function not implemented"),
        (&[libc::SYS_io_uring_register], libc::EPERM, "files not registered: Operation not permitted"),
        (&[libc::SYS_io_uring_register], libc::ENOMEM, "buffers not registered: "),
        (&[libc::SYS_perf_event_open], libc::EACCES, "verdict: "),
        (&[libc::SYS_statx], libc::EPERM, ""),
        (&[libc::SYS_fallocate], libc::EOPNOTSUPP, "verdict: "),
        (&[libc::SYS_fsetxattr, libc::SYS_fgetxattr], libc::EPERM, "verdict: "),
        (&[libc::SYS_ioctl], libc::EPERM, "verdict: "),
        (&[libc::SYS_sched_getaffinity], libc::EPERM, ""),
        (&[libc::SYS_prctl, libc::SYS_mlock, libc::SYS_madvise], libc::EPERM, "verdict: "),
    ];
    let has_uring = has_engine("io_uring");
    std::thread::scope(|scope| {
        for (calls, errno, says) in rows {
            if calls == [libc::SYS_io_uring_register] && !has_uring {
                continue;
            }
            scope.spawn(move || {
                let ran = without(calls, errno, RUN).says(&[says]);
                for line in ran.stderr.lines().filter(|_| ran.status.success()) {
                    assert!(!line.to_lowercase().contains("error"), "{line}\n{ran}");
                }
            });
        }
    });
}

/// The way out is named: leaving the choice of processors to the kernel.
#[test]
fn where_threads_may_not_be_bound_n_is_named() {
    if !can_forbid() {
        return;
    }
    let calls = [libc::SYS_sched_setaffinity];
    let ran = without(&calls, libc::EPERM, RUN).expect_code(1);
    let ran = ran.says(&["could not bind a thread to processor", "Operation not permitted; "]);
    drop(ran.says(&["use -n without -a, which lets the kernel choose the processors"]));
    without(&calls, libc::EPERM, &format!("-n {RUN}")).expect_code(0);
}
