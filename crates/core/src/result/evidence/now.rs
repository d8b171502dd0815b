//! The machine at a moment before a run.

use serde::Serialize;

use super::{ClockFacts, DiskActivity, HostActivity};

/// The machine at this moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineNow {
    /// Processors online.
    pub processors: u32,
    /// Of these, the ones this process may use.
    pub processors_allowed: u32,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The clock that stamps of a run would come from, and how it ran during the look.
    pub clock: ClockFacts,
    /// What the kernel keeps time by.
    pub clock_source: Option<String>,
    /// Share of the time since boot that the hypervisor gave to others, in percent.
    pub steal_since_boot_percent: Option<f64>,
    /// Tasks that waited, over the last ten seconds.
    pub stalled: Option<Stalled>,
    /// Length of the look in nanoseconds; what follows is about it.
    pub window_ns: u64,
    /// Use of the processors, in percent.
    pub busy_percent: Option<f64>,
    /// The lowest devices under the targets; this process did nothing on them meanwhile.
    pub disks: Vec<DiskActivity>,
    /// The rest, as a run's evidence would hold it.
    pub host: HostActivity,
}

impl MachineNow {
    /// A machine on which nothing disturbs a test, for tests.
    #[doc(hidden)]
    pub fn quiet() -> Self {
        let disk = DiskActivity { name: "vda".into(), window_ns: 200_000_000, ..DiskActivity::default() };
        MachineNow {
            processors: 4,
            processors_allowed: 4,
            memory_bytes: Some(8 << 30),
            clock: ClockFacts {
                name: "TSC".into(),
                stamp_cost_ns: 15.2,
                why_not_counter: None,
                drift_ppm: 0.3,
            },
            clock_source: Some("tsc".into()),
            steal_since_boot_percent: Some(0.4),
            stalled: Some(Stalled { cpu_some_percent: 2.0, io_some_percent: 60.0, ..Stalled::default() }),
            window_ns: 200_000_000,
            busy_percent: Some(12.7),
            disks: vec![disk],
            host: HostActivity { memory_available_bytes: Some(6 << 30), ..HostActivity::default() },
        }
    }
}

/// Share of the last ten seconds that tasks waited, in percent (PSI).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Stalled {
    /// Some task waited for a processor.
    pub cpu_some_percent: f64,
    /// Some task waited for I/O.
    pub io_some_percent: f64,
    /// All tasks that could run waited for I/O.
    pub io_full_percent: f64,
    /// Some task waited for memory.
    pub memory_some_percent: f64,
    /// All tasks that could run waited for memory.
    pub memory_full_percent: f64,
}
