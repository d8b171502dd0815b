//! Which engine is taken when none is named, and what is told about those that cannot be had.

use std::sync::Arc;

use super::bench::{make_file, open_flags};
use crate::support::needs::{Need, not_run};
use truespd_core::engine::{self, EngineError, EngineRow, LADDER, Setup};
use truespd_platform::sys::buffer::IoBuffer;

const MISSING: EngineRow = EngineRow {
    name: "missing",
    summary: "",
    needs: "",
    asynchronous: true,
    needs_direct: false,
    moves_data: true,
    sends_commands: false,
    simulates_time: false,
    polls: false,
    trims: true,
    depth_max: u32::MAX,
    probe: || Ok(()),
    open: |_| {
        Err(EngineError::Unavailable {
            engine: "missing",
            reason: "the test says so".into(),
            advice: "Nothing".into(),
        })
    },
};

const FAILING: EngineRow = EngineRow {
    name: "failing",
    open: |_| {
        let action = "opening".into();
        Err(EngineError::Setup { engine: "failing", action, error: "no descriptors".into() })
    },
    ..MISSING
};

const PICKY: EngineRow = EngineRow { name: "picky", needs_direct: true, ..PSYNC_LIKE };
const PSYNC_LIKE: EngineRow = EngineRow {
    name: "plain",
    open: |setup| (engine::find("psync").expect("in the table").open)(setup),
    ..MISSING
};

static TO_PLAIN: [EngineRow; 3] = [MISSING, PICKY, PSYNC_LIKE];
static TO_NOTHING: [EngineRow; 2] = [MISSING, MISSING];
static TO_FAILURE: [EngineRow; 2] = [FAILING, PSYNC_LIKE];

#[test]
fn the_ladder_steps_down_and_tells() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    make_file(&path, 64 * 1024, 0);
    let setup = |flags, depth| Setup {
        depth,
        files: vec![open_flags(&path, true, flags).expect("open")],
        regions: vec![Arc::new(IoBuffer::new(4096).expect("memory"))],
        registered_buffers: false,
        trims: false,
        parameters: String::new(),
    };
    let (row, opened) = engine::step_down(&TO_PLAIN, setup(0, 4)).expect("the last one");
    assert_eq!(row.name, "plain");
    assert_eq!(opened.notes.len(), 2, "{:?}", opened.notes);
    assert!(opened.notes[0].contains("missing not used: the test says so"), "{:?}", opened.notes);
    assert!(opened.notes[1].contains("picky not used: it would block"), "{:?}", opened.notes);
    match open_flags(&path, true, libc::O_DIRECT) {
        Ok(_) => {
            let (row, _) = engine::step_down(&TO_PLAIN, setup(libc::O_DIRECT, 4)).expect("the second");
            assert_eq!(row.name, "picky");
        }
        Err(_) => not_run(Need::DirectIo),
    }
    let error = engine::step_down(&TO_NOTHING, setup(0, 4)).expect_err("there is none");
    assert!(matches!(error, EngineError::Unavailable { .. }), "{error}");
    let error = engine::step_down(&TO_FAILURE, setup(0, 4)).expect_err("another would fail as well");
    assert!(matches!(error, EngineError::Setup { .. }), "{error}");
    assert_eq!(engine::open_ladder(setup(0, 1)).expect("opens").0.name, "psync");
    assert!(engine::open_ladder(setup(0, 2)).expect("opens").0.asynchronous);
    let names: Vec<_> = LADDER.iter().map(|row| row.name).collect();
    assert_eq!(names, ["io_uring", "libaio", "threads"]);
}
