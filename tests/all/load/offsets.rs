//! Where I/Os really go, from the words of the command line to the calls of the engine: the vectors of
//! `io-semantics.md` §4 and §9, and the limits of the tested range.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::support::runner::{Place, no_stop, run};
use truespd_core::engine::{
    self, AnyEngine, Completion, Engine, EngineError, EngineRow, Io, Op, Opened, Setup,
};

const KIB: u64 = 1024;
const MIB: u64 = 1 << 20;

/// I/Os by run (the engine's parameters) and thread.
static LOG: Mutex<BTreeMap<(String, u32), Vec<Io>>> = Mutex::new(BTreeMap::new());

/// The simulated device, with a list of what was submitted. Its parameters begin with the name of the run.
static RECORDER: EngineRow = EngineRow {
    name: "recorder",
    summary: "writes down what is submitted",
    needs: "nothing",
    asynchronous: true,
    needs_direct: false,
    moves_data: false,
    sends_commands: false,
    simulates_time: true,
    polls: false,
    trims: true,
    depth_max: u32::MAX,
    probe: || Ok(()),
    open,
};

#[derive(Debug)]
struct Recorder {
    key: (String, u32),
    sim: AnyEngine,
    ios: Vec<Io>,
}

fn open(mut setup: Setup) -> Result<Opened, EngineError> {
    let (run, parameters) = setup.parameters.split_once('|').expect("run|parameters");
    // Workers are named by their numbers.
    let name = std::thread::current().name().expect("named").to_string();
    let key = (run.to_string(), name.trim_start_matches("diskspd-").parse().expect("a number"));
    setup.parameters = parameters.to_string();
    let sim = engine::open(engine::find("sim").expect("in the table"), setup)?.1;
    Ok(Opened {
        engine: AnyEngine::new(Recorder { key, sim: sim.engine, ios: Vec::new() }),
        notes: sim.notes,
    })
}

impl Drop for Recorder {
    fn drop(&mut self) {
        LOG.lock().expect("not poisoned").insert(self.key.clone(), std::mem::take(&mut self.ios));
    }
}

impl Engine for Recorder {
    fn submit(&mut self, ios: &[Io]) -> Result<(), EngineError> {
        self.ios.extend(ios);
        self.sim.submit(ios)
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        self.sim.reap(min, max, timeout, done)
    }

    fn in_flight(&self) -> u32 {
        self.sim.in_flight()
    }

    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32 {
        self.sim.drain(limit, done)
    }

    fn virtual_now_ns(&self) -> Option<u64> {
        self.sim.virtual_now_ns()
    }

    fn advance_virtual(&mut self, now_ns: u64) {
        self.sim.advance_virtual(now_ns);
    }
}

/// The I/Os of each thread in a second of I/Os of `latency` on a file of `size` bytes.
fn recorded(size: u64, latency: &str, words: &str) -> Vec<Vec<Io>> {
    let place = Place::new(size);
    // The path of the temporary directory is different for every call.
    let key = place.path();
    let profile = place.profile(&format!("{words} -W0 -d1 FILE"));
    let outcome = run(&profile, &RECORDER, &format!("{key}|latency={latency}"), &no_stop());
    assert!(outcome.report.failures.is_empty(), "{words}: {:?}", outcome.report.failures);
    let mut log = LOG.lock().expect("not poisoned");
    let threads = outcome.measured().threads.len() as u32;
    (0..threads).map(|thread| log.remove(&(key.clone(), thread)).expect("recorded")).collect()
}

fn offsets(ios: &[Io]) -> Vec<u64> {
    ios.iter().map(|io| io.offset).collect()
}

/// The first offsets of the only thread, with `r` or `w`.
fn typed(ios: &[Io], count: usize) -> String {
    let word = |io: &Io| format!("{}{}", io.offset, if io.op == Op::Read { 'r' } else { 'w' });
    ios[..count].iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_vectors_of_random_offsets_and_types() {
    for (words, expected) in [
        (
            "-r",
            "1032192r 208896r 151552r 430080r 466944r 90112r 397312r 430080r 131072r 315392r 679936r 1036288r",
        ),
        (
            "-r -z1",
            "393216r 405504r 184320r 245760r 856064r 110592r 782336r 483328r 192512r 249856r 495616r 16384r",
        ),
        ("-r -w50", "208896r 430080w 90112w 430080r 315392w 1036288w 655360r 417792w 290816r 45056r"),
        (
            "-rs50",
            "1032192r 1036288r 466944r 471040r 430080r 434176r 679936r 684032r 655360r 659456r 663552r 290816r",
        ),
        (
            "-rs50 -w50",
            "1032192r 466944r 430080r 679936r 655360r 659456r 290816r 167936r 397312w 401408w 520192w",
        ),
    ] {
        // Neither latency nor the content of writes may change an offset.
        for more in ["", " -L", " -Zr", " -Z1M", " -D100 -L"] {
            let ios = recorded(MIB, "20ms", &format!("{words} -b4K -o1{more}")).remove(0);
            assert_eq!(typed(&ios, expected.split(' ').count()), expected, "{words}{more}");
        }
    }
}

#[test]
fn the_vector_of_sequential_writes() {
    let ios = recorded(MIB, "20ms", "-s -w30 -b4K -o1").remove(0);
    assert_eq!(offsets(&ios[..16]), (0..16).map(|i| i * 4 * KIB).collect::<Vec<_>>());
    let writes: Vec<u64> = ios[..16].iter().filter(|io| io.op == Op::Write).map(|io| io.offset).collect();
    // 45056 is not in the contract's list, but its other vectors take the same draw for a write (see
    // `access::sequence`).
    assert_eq!(writes, [12288, 32768, 45056, 49152, 61440]);
}

#[test]
fn threads_draw_from_seeds_of_their_own() {
    let threads = recorded(MIB, "20ms", "-r -b4K -o1 -t2");
    assert_eq!(offsets(&threads[0][..3]), [1032192, 208896, 151552], "seed 0");
    assert_eq!(offsets(&threads[1][..3]), [393216, 405504, 184320], "seed 1");
    let later = recorded(MIB, "20ms", "-r -b4K -o1 -z1");
    assert_eq!(offsets(&later[0]), offsets(&threads[1]));
}

#[test]
fn the_vectors_of_sequential_offsets() {
    // Size, words, thread, offsets: `io-semantics.md` §4.1.
    let rows: &[(u64, &str, usize, &[u64])] = &[
        (3000, "-B1000 -b1000 -s500", 0, &[1000, 1500, 2000, 1000]),
        (3000, "-b1000 -s500 -T250 -t2", 0, &[0, 500, 1000, 1500, 2000, 0, 500]),
        (3000, "-b1000 -s500 -T250 -t2", 1, &[250, 750, 1250, 1750, 250, 750]),
        (3000, "-b1000 -s500 -T750 -t2", 1, &[750, 1250, 1750, 250, 750, 1250]),
        (3000, "-b1000 -s250 -T500 -t2", 1, &[500, 750, 1000, 1250, 1500, 1750, 2000, 0, 250, 500]),
        (3000, "-b200 -s200 -T500 -t2", 0, &[0, 200, 400]),
        (MIB, "-b64K -s", 0, &[0, 65536, 131072]),
        (64 * KIB, "-b4K -T13K -t2", 1, &[13312, 17408]),
        (36 * KIB, "-b4K -s12K -T4K -t3", 0, &[0, 12288, 24576, 0]),
        (36 * KIB, "-b4K -s12K -T4K -t3", 1, &[4096, 16384, 28672, 4096]),
        (36 * KIB, "-b4K -s12K -T4K -t3", 2, &[8192, 20480, 32768, 8192]),
        (64 * KIB, "-b4K -B8K -f24K", 0, &[8192, 12288, 16384, 20480, 8192]),
        (64 * KIB, "-b4K -B8K -f26000b", 0, &[8192, 12288, 16384, 20480, 8192]),
    ];
    for (size, words, thread, expected) in rows {
        let words = words.replace("26000b", "26000");
        let ios = &recorded(*size, "20ms", &format!("{words} -o1"))[*thread];
        assert_eq!(offsets(&ios[..expected.len()]), *expected, "{words}, thread {thread}");
    }
    // Whole laps, and where they wrap.
    for (size, words, thread, first_lap_end, next) in [
        (3000, "-b200 -s200 -T500 -t2", 0, 2800, 0),
        (3000, "-b200 -s200 -T500 -t2", 1, 2700, 100),
        (MIB, "-b64K -s", 0, 983_040, 0),
        (MIB - 1, "-b64K -s", 0, 917_504, 0),
        (MIB + 4096, "-b4K -s64K", 0, 1_048_576, 0),
        (MIB + 4095, "-b4K -s64K", 0, 983_040, 0),
        (64 * KIB, "-b4K -T13K -t2", 1, 58_368, 1024),
    ] {
        let ios = &recorded(size, "20ms", &format!("{words} -o1"))[thread];
        let wrap = ios.windows(2).find(|pair| pair[1].offset < pair[0].offset).expect("wraps");
        assert_eq!((wrap[0].offset, wrap[1].offset), (first_lap_end, next), "{words}, thread {thread}");
    }
}

#[test]
fn slots_share_a_sequential_offset_and_walk_alone_with_p() {
    let ios = recorded(MIB, "20ms", "-s -b4K -o4").remove(0);
    assert_eq!(offsets(&ios[..12]), (0..12).map(|i| i * 4 * KIB).collect::<Vec<_>>());
    let ios = recorded(3000, "20ms", "-B1000 -b1000 -s500 -p -o2").remove(0);
    for slot in 0..2 {
        let own: Vec<u64> = ios.iter().filter(|io| io.slot == slot).map(|io| io.offset).take(5).collect();
        assert_eq!(own, [1000, 1500, 2000, 1000, 1500]);
    }
}

#[test]
fn interlocked_threads_never_read_a_block_twice_in_a_lap() {
    // 20 ms an I/O and two slots: each of three threads issues 100 I/Os in a second.
    let threads = recorded(18 * KIB, "20ms", "-si -b4K -o2 -t3");
    let all: Vec<u64> = threads.iter().flat_map(|ios| offsets(ios)).collect();
    let laps: Vec<u64> = (0..all.len() as u64).map(|i| i % 4 * 4 * KIB).collect();
    assert_eq!(all, laps, "one after the other, simulated threads take turns");
    assert!(
        threads.iter().all(|ios| ios.len() == 100),
        "{:?}",
        threads.iter().map(Vec::len).collect::<Vec<_>>()
    );
    let ios = recorded(18 * KIB, "20ms", "-si6K -b4K -o1").remove(0);
    assert_eq!(offsets(&ios[..4]), [0, 6144, 12288, 0]);
}

#[test]
fn no_io_leaves_the_tested_range() {
    for (size, words, first, end) in [
        (MIB + 511, "-r -b4K", 0, MIB + 511),
        (MIB, "-r4K -b64K -B12K", 12 * KIB, MIB),
        (MIB, "-r512 -b4K -B64K -f200K", 64 * KIB, 200 * KIB),
        (MIB, "-rs30 -b8K -B16K -f100000", 16 * KIB, 100_000),
        (MIB, "-r -b4K -rdpct90/10:5/20", 0, MIB),
        (MIB, "-r4K -b64K -rdabs10/512K", 0, MIB),
        (MIB, "-s4K -b64K -T20K -t3", 0, MIB),
        (MIB, "-b1M -o8", 0, MIB),
        (MIB, "-p -b20000 -o3 -B100", 100, MIB),
    ] {
        let threads = recorded(size, "100us", &format!("{words} -w40"));
        let mut places = std::collections::BTreeSet::new();
        for io in threads.iter().flatten() {
            assert!(io.offset >= first && io.offset + u64::from(io.len) <= end, "{words}: {io:?}");
            places.insert(io.offset);
        }
        assert!(words.contains("-b1M") || places.len() > 3, "{words}: {} places", places.len());
    }
}

#[test]
fn buffers_of_slots_never_overlap() {
    for words in ["-r -b4K -o5 -w50", "-r -b4K -o5 -w50 -Su", "-r -b3000 -o3 -w50", "-r -b4K -o3 -w50 -Zr"] {
        let ios = recorded(MIB, "1ms", words).remove(0);
        let mut areas: BTreeMap<(u32, u64), u32> = BTreeMap::new();
        for io in &ios {
            let slot = *areas.entry((io.region, io.region_offset)).or_insert(io.slot);
            assert_eq!(slot, io.slot, "{words}: two slots share a place");
        }
        let list: Vec<((u32, u64), u32)> = areas.into_iter().collect();
        for pair in list.windows(2).filter(|pair| pair[0].0.0 == pair[1].0.0) {
            assert!(pair[0].0.1 + u64::from(ios[0].len) <= pair[1].0.1, "{words}: {pair:?} overlap");
        }
        assert!(list.len() >= 6, "{words}: reads and writes of every slot: {list:?}");
    }
}
