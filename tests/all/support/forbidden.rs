//! Programs to which a filter of system calls forbids some, as container runtimes do (seccomp).

use std::os::unix::process::CommandExt;
use std::process::Command;

use super::needs::{Need, not_run};

/// Whether calls can be forbidden here; says so when not.
pub fn can_forbid() -> bool {
    let mut command = Command::new("true");
    forbid(&mut command, &[libc::SYS_io_uring_setup], libc::EPERM);
    let can = command.status().is_ok();
    if !can {
        not_run(Need::SeccompFilter);
    }
    can
}

/// The command and what it starts get the error for each of these calls, and none of them is made.
pub fn forbid(command: &mut Command, calls: &[libc::c_long], errno: i32) {
    let step = |code: u32, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    // The number of the call is the first member of what the filter sees (seccomp(2)).
    let mut steps = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for call in calls {
        steps.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, *call as u32));
        steps.push(step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | errno as u32));
    }
    steps.push(step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW));
    // SAFETY: two system calls between fork and exec; what they read was made before.
    unsafe {
        command.pre_exec(move || {
            let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_ptr().cast_mut() };
            let refused = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0;
            if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
        })
    };
}
