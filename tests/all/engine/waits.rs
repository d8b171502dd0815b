//! Waiting, looking, draining, cancelling and signals, with every engine on a file whose I/Os are held up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::bench::{BLOCK, Bench, DEPTH, Draw, engines, everywhere, of_descriptor};
use crate::support::HANG;
use crate::support::gate::{self, Gate};
use truespd_core::engine::{Completion, Engine, EngineRow, Op};

/// Runs `check` with every asynchronous engine and a file whose I/Os can be held up.
fn gated(names: &[&str], check: impl Fn(&EngineRow, &Gate, &mut Bench) + Sync) {
    let check_one = |row| {
        let Some(gate) = Gate::direct() else { return };
        let mut bench = Bench::new(row, of_descriptor(gate.open(true), gate::FILE_BYTES));
        check(row, &gate, &mut bench);
    };
    for row in engines().into_iter().filter(|row| names.contains(&row.name)) {
        // A thread for each, as workers have: when a ring is closed, the kernel interrupts the next waits
        // of the thread that used it.
        std::thread::scope(|scope| scope.spawn(|| check_one(row)).join()).unwrap_or_else(|panic| {
            std::panic::resume_unwind(panic);
        });
    }
}

const ASYNCHRONOUS: &[&str] = &["io_uring", "libaio", "threads"];
const BY_CALLS: &[&str] = &["io_uring", "libaio", "threads", "psync"];

#[test]
fn looking_never_waits_and_time_limits_hold() {
    gated(ASYNCHRONOUS, |row, gate, bench| {
        gate.close();
        let batch: Vec<_> = (0..DEPTH).map(|s| Bench::io(s, Op::Read, u64::from(s * BLOCK), BLOCK)).collect();
        bench.engine.submit(&batch).expect("submit");
        let mut done = Vec::new();
        let start = Instant::now();
        for _ in 0..100 {
            bench.engine.reap(0, DEPTH, None, &mut done).expect("a look");
        }
        assert!(start.elapsed() < HANG, "{}: a look waited", row.name);
        let start = Instant::now();
        bench.engine.reap(1, DEPTH, Some(Duration::from_millis(60)), &mut done).expect("a wait");
        let waited = start.elapsed();
        assert!(waited >= Duration::from_millis(59), "{}: only {waited:?}", row.name);
        assert!(waited < HANG, "{}: {waited:?}", row.name);
        bench.engine.reap(1, DEPTH, Some(Duration::ZERO), &mut done).expect("a wait of no time");
        assert!(done.is_empty(), "{}", row.name);
        gate.wait_parked(DEPTH as usize);
        gate.open_up();
        while (done.len() as u32) < DEPTH {
            bench.engine.reap(1, DEPTH, None, &mut done).expect("reap");
        }
        assert!(done.iter().all(|c| c.result == Ok(BLOCK)), "{}: {done:?}", row.name);
        assert_eq!(bench.get(5, 2), [5, 5], "{}", row.name);
    });
}

#[test]
fn looks_alone_find_what_is_finished() {
    gated(ASYNCHRONOUS, |row, _, bench| {
        bench.engine.submit(&[Bench::io(3, Op::Read, 0, BLOCK)]).expect("submit");
        let mut done = Vec::new();
        let limit = Instant::now() + HANG;
        while done.is_empty() {
            assert!(Instant::now() < limit, "{}: deferred work never ran", row.name);
            bench.engine.reap(0, DEPTH, None, &mut done).expect("a look");
        }
        assert_eq!(done, [Completion { slot: 3, result: Ok(BLOCK) }], "{}", row.name);
    });
}

#[test]
fn draining_has_a_limit_and_can_be_tried_again() {
    gated(ASYNCHRONOUS, |row, gate, bench| {
        gate.close();
        let batch: Vec<_> =
            (0..DEPTH).map(|s| Bench::io(s, Op::Write, u64::from(s * BLOCK), BLOCK)).collect();
        bench.engine.submit(&batch).expect("submit");
        bench.engine.reap(0, DEPTH, None, &mut Vec::new()).expect("handed over");
        gate.wait_parked(1);
        let start = Instant::now();
        let left = bench.engine.drain(Duration::from_millis(100), &mut Vec::new());
        assert!(start.elapsed() < HANG, "{}: {:?}", row.name, start.elapsed());
        assert_eq!(left, bench.engine.in_flight(), "{}", row.name);
        assert!(left > 0, "{}: nobody answered the writes", row.name);
        gate.open_up();
        assert_eq!(bench.engine.drain(HANG, &mut Vec::new()), 0, "{}", row.name);
    });
}

#[test]
fn memory_outlives_ios_that_never_end() {
    gated(ASYNCHRONOUS, |row, gate, bench| {
        gate.close();
        let Bench { engine, memory, .. } = Bench::new(row, of_descriptor(gate.open(true), gate::FILE_BYTES));
        let mut engine = engine;
        let batch: Vec<_> = (0..DEPTH).map(|s| Bench::io(s, Op::Read, u64::from(s * BLOCK), BLOCK)).collect();
        engine.submit(&batch).expect("submit");
        engine.reap(0, DEPTH, None, &mut Vec::new()).expect("handed over");
        gate.wait_parked(DEPTH as usize);
        let start = Instant::now();
        drop(engine);
        assert!(start.elapsed() < HANG, "{}: dropping waits only so long", row.name);
        assert!(Arc::strong_count(&memory) > 1, "{}: the kernel may still write there", row.name);
        gate.open_up();
        // The late data arrives in memory that is still ours.
        let limit = Instant::now() + HANG;
        while memory.with_slice_mut((9 * BLOCK) as usize, 1, |bytes| bytes[0]) != 9 {
            assert!(Instant::now() < limit, "{}: lost", row.name);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(bench.one(Op::Read, 0, BLOCK), Ok(BLOCK), "{}: others are not touched", row.name);
    });
}

#[test]
fn errors_and_short_transfers_of_the_device_arrive() {
    gated(BY_CALLS, |row, _, bench| {
        let mut one = |op, offset| bench.one(op, offset, BLOCK);
        assert_eq!(one(Op::Read, gate::EIO_RANGE.start + 4096), Err(libc::EIO), "{}", row.name);
        assert_eq!(one(Op::Write, gate::EIO_RANGE.start), Err(libc::EIO), "{}", row.name);
        assert_eq!(one(Op::Write, gate::FULL_OFFSET), Err(libc::ENOSPC), "{}", row.name);
        assert_eq!(one(Op::Read, gate::SHORT_OFFSET), Ok(BLOCK / 2), "{}", row.name);
        assert_eq!(one(Op::Read, 0), Ok(BLOCK), "{}", row.name);
    });
}

#[test]
fn io_uring_cancels_what_would_never_end() {
    let Some(row) = engines().into_iter().find(|row| row.name == "io_uring") else { return };
    let (read_end, _write_end) = gate::pipe();
    let mut bench = Bench::new(row, of_descriptor(read_end, 0));
    let batch: Vec<_> = (0..DEPTH).map(|s| Bench::io(s, Op::Read, 0, BLOCK)).collect();
    bench.engine.submit(&batch).expect("submit");
    bench.engine.reap(0, DEPTH, None, &mut Vec::new()).expect("handed over");
    let start = Instant::now();
    assert_eq!(bench.engine.drain(5 * HANG, &mut Vec::new()), 0);
    assert!(start.elapsed() < HANG, "cancelled, not waited for: {:?}", start.elapsed());
}

/// Sends SIGUSR1, whose handler does nothing, to the calling thread until dropped.
struct Pest {
    end: Arc<AtomicBool>,
    sender: Option<std::thread::JoinHandle<()>>,
}

impl Pest {
    fn every(pause: Duration) -> Self {
        extern "C" fn nothing(_: libc::c_int) {}
        // SAFETY: a handler that does nothing; no SA_RESTART, so that calls are interrupted.
        let tid = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
            libc::gettid()
        };
        let end = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&end);
        let sender = std::thread::spawn(move || {
            while !seen.load(Ordering::SeqCst) {
                std::thread::sleep(pause);
                // SAFETY: takes numbers only; the thread lives until `Pest` is dropped.
                unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, libc::SIGUSR1) };
            }
        });
        Pest { end, sender: Some(sender) }
    }
}

impl Drop for Pest {
    fn drop(&mut self) {
        self.end.store(true, Ordering::SeqCst);
        if let Some(sender) = self.sender.take() {
            let _ = sender.join();
        }
    }
}

#[test]
fn signals_lose_no_completions() {
    const BLOCKS: u64 = 256;
    everywhere(BLOCKS as usize * BLOCK as usize, |row, what, _, file| {
        let _pest = Pest::every(Duration::from_micros(100));
        let mut bench = Bench::new(row, file);
        let mut draw = Draw(4);
        let ios: Vec<_> = (0..3000).map(|_| (Op::Read, draw.below(BLOCKS) * 4096)).collect();
        bench.run(&ios, |_, _, _| {}, |_, _, _, result| assert_eq!(result, Ok(BLOCK), "{what}"));
    });
}

#[test]
fn a_signal_ends_a_wait_without_limit() {
    gated(BY_CALLS, |row, gate, bench| {
        gate.close();
        let pest = Pest::every(Duration::from_millis(20));
        let mut done = Vec::new();
        // `psync` waits in `submit`; either way the worker gets the word.
        bench.engine.submit(&[Bench::io(2, Op::Read, 4096, BLOCK)]).expect("submit");
        bench.engine.reap(1, DEPTH, None, &mut done).expect("reap");
        assert!(done.is_empty(), "{}: {done:?}", row.name);
        assert_eq!(bench.engine.in_flight(), 1, "{}", row.name);
        drop(pest);
        gate.open_up();
        while done.is_empty() {
            bench.engine.reap(1, DEPTH, None, &mut done).expect("reap");
        }
        assert_eq!(done, [Completion { slot: 2, result: Ok(BLOCK) }], "{}", row.name);
    });
}
