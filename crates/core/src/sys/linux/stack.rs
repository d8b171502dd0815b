//! Room on the stack for the main thread, whatever the limit of the shell says (`ulimit -s`).

use std::io;
use std::panic::resume_unwind;
use std::thread;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What systems usually give.
const STACK_BYTES: u64 = 8 << 20;
/// Sets the stacks of threads that name none: far too little or far too much of it would end the program.
const THREAD_STACKS: &str = "RUST_MIN_STACK";

/// Runs the main function with room for it: the limit of the stack is raised where this user may, and else
/// `body` runs in a thread whose stack is memory like any other. Beyond the limit, the kernel would end the
/// program with a signal and no word. To be called first.
///
/// # Errors
/// There is no memory for the thread; `body` did not run.
pub fn with_room<R: Send>(body: impl FnOnce() -> R + Send) -> io::Result<R> {
    if std::env::var_os(THREAD_STACKS).is_some() {
        // SAFETY: nothing else runs yet that could look at the environment.
        unsafe { std::env::remove_var(THREAD_STACKS) };
    }
    if has_room() || is_raised() {
        return Ok(body());
    }
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("program".into()).stack_size(STACK_BYTES as usize);
        let program = builder.spawn_scoped(scope, body)?;
        program.join().map_err(|panic| resume_unwind(panic))
    })
}

fn has_room() -> bool {
    getrlimit(Resource::Stack).current.is_none_or(|bytes| bytes >= STACK_BYTES)
}

/// The kernel looks at the limit when the stack grows, so raising it is enough. Above the hard limit only root may.
fn is_raised() -> bool {
    let hard = getrlimit(Resource::Stack).maximum.map(|bytes| bytes.max(STACK_BYTES));
    setrlimit(Resource::Stack, Rlimit { current: Some(STACK_BYTES), maximum: hard }).is_ok()
}
