//! The simulated device keeps its laws: service times, channels, rate limit, faults, and the clock.

use std::time::{Duration, Instant};

use truespd_core::engine::{self, AnyEngine, Completion, Engine, EngineFile, Io, IoError, Op, Setup};

const FILE_BYTES: u64 = 64 << 20;

fn sim(parameters: &str, depth: u32) -> AnyEngine {
    let file = std::fs::File::open("/dev/null").expect("readable");
    let setup = Setup {
        depth,
        files: vec![EngineFile { handle: file.into(), size_bytes: FILE_BYTES, ioprio: 0, map: None }],
        regions: Vec::new(),
        registered_buffers: false,
        trims: false,
        parameters: parameters.to_string(),
    };
    let row = engine::find("sim").expect("in the table");
    engine::open(row, setup).expect(parameters).1.engine
}

fn io(slot: u32, op: Op, offset: u64) -> Io {
    Io { slot, file: 0, region: 0, op, len: 4096, region_offset: 0, offset }
}

fn now(engine: &dyn Engine) -> u64 {
    engine.virtual_now_ns().expect("it has its own clock")
}

fn reap(engine: &mut dyn Engine, min: u32) -> Vec<Completion> {
    let mut done = Vec::new();
    engine.reap(min, u32::MAX, None, &mut done).expect("reap");
    done
}

/// Keeps `depth` I/Os in flight until `count` are finished: (nanoseconds, sum of latencies).
fn load(parameters: &str, depth: u32, count: u64) -> (u64, u64) {
    let mut engine = sim(parameters, depth);
    let mut issued = vec![0; depth as usize];
    let (mut finished, mut latency_ns) = (0, 0);
    let all: Vec<_> = (0..depth).map(|slot| io(slot, Op::Read, 0)).collect();
    engine.submit(&all).expect("submit");
    while finished < count {
        for completion in reap(&mut engine, 1) {
            let slot = completion.slot as usize;
            latency_ns += now(&engine) - issued[slot];
            issued[slot] = now(&engine);
            finished += 1;
            engine.submit(&[io(completion.slot, Op::Read, 0)]).expect("submit");
        }
    }
    (now(&engine), latency_ns)
}

#[test]
fn one_at_a_time_takes_the_latency_each() {
    assert_eq!(load("latency=100us", 1, 1000), (100_000_000, 100_000_000));
}

#[test]
fn channels_bound_the_parallelism_and_the_rest_queues() {
    // 8 at a time, 100 us each: 80 000 per second; 32 in flight wait four services.
    let (time_ns, latency_ns) = load("latency=100us,channels=8", 32, 80_000);
    assert_eq!(time_ns, 1_000_000_000);
    let mean_ns = latency_ns / 80_000;
    assert!((399_000..=400_000).contains(&mean_ns), "{mean_ns}");
    // Without a bound all 32 run at once.
    assert_eq!(load("latency=100us", 32, 320_000).0, 1_000_000_000);
}

#[test]
fn the_rate_limit_spaces_starts_evenly() {
    let (time_ns, _) = load("latency=100us,iops=2000", 16, 2000);
    assert!((999_500_000 - 16 * 500_000..=1_000_100_000).contains(&time_ns), "{time_ns}");
    let mut engine = sim("latency=0ns,iops=1000", 4);
    let all: Vec<_> = (0..4).map(|slot| io(slot, Op::Write, 0)).collect();
    engine.submit(&all).expect("submit");
    for n in 0..4 {
        let done = reap(&mut engine, 1);
        assert_eq!((done.len(), done[0].slot, now(&engine)), (1, n, u64::from(n) * 1_000_000));
    }
}

#[test]
fn jitter_keeps_the_mean_and_has_its_law() {
    const COUNT: u64 = 200_000;
    for (law, spread_of_mean) in [("exp", 1.0), ("uniform", 1.0 / 12f64.sqrt())] {
        let mut engine = sim(&format!("latency=100us,jitter={law},seed=3"), 1);
        let (mut sum, mut squares, mut before) = (0.0, 0.0, 0);
        for _ in 0..COUNT {
            engine.submit(&[io(0, Op::Read, 0)]).expect("submit");
            reap(&mut engine, 1);
            let service = (now(&engine) - before) as f64;
            before = now(&engine);
            sum += service;
            squares += service * service;
        }
        let mean = sum / COUNT as f64;
        let deviation = (squares / COUNT as f64 - mean * mean).sqrt();
        assert!((mean / 100_000.0 - 1.0).abs() < 0.01, "{law}: mean {mean}");
        assert!(
            (deviation / (100_000.0 * spread_of_mean) - 1.0).abs() < 0.02,
            "{law}: deviation {deviation}"
        );
    }
}

#[test]
fn the_same_parameters_give_the_same_run() {
    let parameters = "latency=100us,jitter=exp,channels=3,seed=11";
    assert_eq!(load(parameters, 16, 5000), load(parameters, 16, 5000));
    assert_ne!(load(parameters, 16, 5000), load("latency=100us,jitter=exp,channels=3,seed=12", 16, 5000));
}

#[test]
fn faults_hit_where_they_are_told_to() {
    let parameters = "latency=10us,error=eio@1M+64K,short=512#3,error=enospc%5,stall=1ms@8M+1";
    let mut engine = sim(parameters, 1);
    let mut one = |op, offset| {
        let before = now(&engine);
        engine.submit(&[io(0, op, offset)]).expect("submit");
        let done = reap(&mut engine, 1);
        assert_eq!(done.len(), 1);
        (done[0].result.map_err(IoError::number), now(&engine) - before)
    };
    assert_eq!(one(Op::Read, 0), (Ok(4096), 10_000));
    assert_eq!(one(Op::Read, (1 << 20) + 65535), (Err(libc::EIO), 10_000));
    assert_eq!(one(Op::Write, 0), (Ok(512), 10_000), "the third");
    assert_eq!(one(Op::Read, 8 << 20), (Ok(4096), 1_010_000));
    assert_eq!(one(Op::Write, 0), (Err(libc::ENOSPC), 10_000), "the fifth");
    assert_eq!(one(Op::Read, FILE_BYTES - 100), (Ok(100), 10_000), "the end of the file");
    assert_eq!(one(Op::Read, FILE_BYTES), (Ok(0), 10_000));
    assert_eq!(one(Op::Write, FILE_BYTES), (Ok(4096), 10_000), "writes make it longer");
}

#[test]
fn time_passes_only_where_it_should() {
    let mut engine = sim("latency=100us,write_latency=300us,cpu=2us", 4);
    engine.submit(&[io(0, Op::Read, 0), io(1, Op::Write, 0), io(2, Op::Read, 0)]).expect("submit");
    assert_eq!(now(&engine), 6_000, "three times the cost of submitting");
    assert!(reap(&mut engine, 0).is_empty());
    assert_eq!(now(&engine), 6_000, "a look takes no time");
    let mut done = Vec::new();
    engine.reap(1, 4, Some(Duration::from_micros(50)), &mut done).expect("reap");
    assert_eq!((done.len(), now(&engine)), (0, 56_000), "the limit came first");
    engine.advance_virtual(101_999);
    assert!(reap(&mut engine, 0).is_empty());
    engine.advance_virtual(102_000);
    engine.advance_virtual(5);
    assert_eq!(reap(&mut engine, 0), [Completion { slot: 0, result: Ok(4096) }]);
    assert_eq!(now(&engine), 102_000, "time never goes back");
    engine.reap(2, 1, None, &mut done).expect("reap");
    assert_eq!((done.len(), done[0].slot, now(&engine)), (1, 2, 304_000), "waits for two, gives one");
    assert_eq!(engine.in_flight(), 1);
    assert_eq!(engine.drain(Duration::from_secs(1), &mut Vec::new()), 0);
}

#[test]
fn a_hung_io_survives_a_drain_with_a_limit() {
    let mut engine = sim("latency=1ms,stall=forever#2", 4);
    engine.submit(&[io(0, Op::Read, 0), io(1, Op::Read, 0), io(2, Op::Read, 0)]).expect("submit");
    assert_eq!(reap(&mut engine, 2).len(), 2);
    let mut done = Vec::new();
    let start = Instant::now();
    engine.reap(1, 4, Some(Duration::from_secs(3600)), &mut done).expect("reap");
    assert!(done.is_empty() && start.elapsed() < crate::support::HANG, "an hour of virtual time");
    assert_eq!(engine.drain(Duration::from_secs(10), &mut Vec::new()), 1);
    assert_eq!(engine.in_flight(), 1);
    assert_eq!(now(&engine), 3_610_001_000_000);
}
