//! How the processors save power: frequency, idle states, throttling, battery.
//!
//! Sources: the kernel's `Documentation/admin-guide/pm/cpufreq.rst`, `pm/cpuidle.rst`, `pm/intel_pstate.rst`,
//! `Documentation/power/pm_qos_interface.rst`, `Documentation/ABI/testing/sysfs-class-power`, and
//! `arch/x86/kernel/cpu/mce/therm_throt.c`.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;

use super::roots::Roots;
use super::setting::{Setting, Value};
use super::setting::{read_number, read_word};
use super::topology::parse_cpu_list;

/// A setting that each processor has, in order of their numbers; those without it are left out, and those that are
/// offline: their files are there, and neither reading nor writing works ("Device or resource busy").
pub(crate) fn of_each_processor(file: &str, roots: &Roots) -> Vec<Setting> {
    let online =
        read_word(&roots.sys.join("devices/system/cpu/online")).and_then(|list| parse_cpu_list(&list));
    let is_online = |cpu: &u32| online.as_ref().is_none_or(|online| online.contains(cpu));
    let online = processors(roots).into_iter().filter(|(cpu, _)| is_online(cpu));
    let settings = online.map(|(_, dir)| Setting::read(dir.join(file)));
    settings.filter(|setting| setting.value != Value::Absent).collect()
}

/// A setting of all processors at once, below `devices/system/cpu`.
pub(crate) fn of_all_processors(file: &str, roots: &Roots) -> Setting {
    Setting::read(roots.sys.join("devices/system/cpu").join(file))
}

fn processors(roots: &Roots) -> Vec<(u32, PathBuf)> {
    numbered(roots.sys.join("devices/system/cpu"), "cpu")
}

/// Folders whose names are `prefix` and a number, by that number.
fn numbered(folder: PathBuf, prefix: &str) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((number, entry.path()))
        })
        .collect();
    found.sort();
    found
}

/// A state in which a processor waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IdleState {
    /// Its number, from 0; the higher, the deeper.
    pub number: u32,
    pub name: String,
    /// Time to leave it, in microseconds: the longest of all processors.
    pub exit_latency_us: u64,
    /// The switch of each processor: 1 is off.
    pub disable: Vec<Setting>,
}

impl IdleState {
    /// Whether some processor may enter it.
    pub(crate) fn is_used(&self) -> bool {
        self.disable.iter().any(|switch| switch.word() != Some("1"))
    }
}

/// The idle states of the processors, the shallowest first.
pub(crate) fn idle_states(roots: &Roots) -> Vec<IdleState> {
    let mut states: Vec<IdleState> = Vec::new();
    for (_, processor) in processors(roots) {
        for (number, dir) in numbered(processor.join("cpuidle"), "state") {
            let exit_latency_us = read_number(&dir.join("latency")).unwrap_or(0);
            let disable = Setting::read(dir.join("disable"));
            match states.iter_mut().find(|state| state.number == number) {
                Some(state) => {
                    state.exit_latency_us = state.exit_latency_us.max(exit_latency_us);
                    state.disable.push(disable);
                }
                None => {
                    let name = read_word(&dir.join("name")).unwrap_or_else(|| format!("state{number}"));
                    states.push(IdleState { number, name, exit_latency_us, disable: vec![disable] });
                }
            }
        }
    }
    states.sort_by_key(|state| state.number);
    states
}

/// The longest time in microseconds that leaving an idle state may take, as programs ask for it that hold
/// `/dev/cpu_dma_latency` open; `None` where the kernel has no such file. Reading it asks for nothing.
///
/// # Errors
/// Others than root may not read it.
pub(crate) fn latency_request_us(roots: &Roots) -> io::Result<Option<u32>> {
    let mut bytes = [0; 4];
    let read =
        fs::File::open(roots.dev.join("cpu_dma_latency")).and_then(|mut file| file.read_exact(&mut bytes));
    match read {
        Ok(()) => Ok(u32::try_from(i32::from_ne_bytes(bytes)).ok()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// How often processors were slowed down because they were hot, since boot. `None` where the processor does not count.
pub(crate) fn times_throttled(roots: &Roots) -> Option<u64> {
    let counts = processors(roots).into_iter().flat_map(|(_, dir)| {
        ["core_throttle_count", "package_throttle_count"].map(|file| dir.join("thermal_throttle").join(file))
    });
    counts.filter_map(|path| read_number::<u64>(&path)).reduce(u64::saturating_add)
}

/// Whether the machine runs from its battery; `None` without one.
pub(crate) fn is_on_battery(roots: &Roots) -> Option<bool> {
    let supplies = fs::read_dir(roots.sys.join("class/power_supply")).into_iter().flatten().flatten();
    let mut found = None;
    for dir in supplies.map(|entry| entry.path()) {
        // Mice and headsets have batteries, too.
        let is_of_machine = read_word(&dir.join("scope")).as_deref() != Some("Device");
        if is_of_machine && read_word(&dir.join("type")).as_deref() == Some("Battery") {
            let is_discharging = read_word(&dir.join("status")).as_deref() == Some("Discharging");
            found = Some(found.unwrap_or(false) || is_discharging);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let at = |name: &str| dir.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        (dir, roots)
    }

    #[test]
    fn processors_are_read_in_order_of_their_numbers() {
        let file = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        let names = [file(10), file(2), file(0)];
        let files: Vec<(&str, &[u8])> =
            names.iter().map(|name| (name.as_str(), &b"powersave\n"[..])).collect();
        let (_dir, roots) = tree(&files);
        fs::create_dir_all(roots.sys.join("devices/system/cpu/cpuidle")).expect("a folder");
        let found = of_each_processor("cpufreq/scaling_governor", &roots);
        assert_eq!(found.len(), 3);
        assert!(found[2].path.ends_with("cpu10/cpufreq/scaling_governor"), "{found:?}");
        assert!(of_each_processor("cpufreq/none", &roots).is_empty());
        fs::write(roots.sys.join("devices/system/cpu/online"), "0-2\n").expect("a file");
        let online = of_each_processor("cpufreq/scaling_governor", &roots);
        assert_eq!(online.len(), 2, "processor 10 is offline: {online:?}");
    }

    #[test]
    fn idle_states_of_all_processors_are_one() {
        let (_dir, roots) = tree(&[
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", b"133\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/name", b"C6\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/disable", b"1\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", b"0\n"),
            ("sys/devices/system/cpu/cpu1/cpuidle/state1/latency", b"140\n"),
            ("sys/devices/system/cpu/cpu1/cpuidle/state1/disable", b"0\n"),
        ]);
        let states = idle_states(&roots);
        let told: Vec<_> = states.iter().map(|s| (s.number, s.name.as_str(), s.exit_latency_us)).collect();
        assert_eq!(told, [(0, "state0", 0), (1, "C6", 140)]);
        assert!(states[1].is_used(), "by the second processor");
    }

    #[test]
    fn requests_battery_and_throttling() {
        let (dir, roots) = tree(&[
            ("dev/cpu_dma_latency", &5i32.to_ne_bytes()),
            ("sys/class/power_supply/BAT0/type", b"Battery\n"),
            ("sys/class/power_supply/BAT0/status", b"Discharging\n"),
            ("sys/class/power_supply/hid-1/type", b"Battery\n"),
            ("sys/class/power_supply/hid-1/scope", b"Device\n"),
            ("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", b"3\n"),
            ("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", b"4\n"),
        ]);
        assert_eq!(latency_request_us(&roots).ok(), Some(Some(5)));
        assert_eq!((is_on_battery(&roots), times_throttled(&roots)), (Some(true), Some(7)));
        let (_bare, roots) = tree(&[]);
        assert_eq!(latency_request_us(&roots).ok(), Some(None));
        assert_eq!((is_on_battery(&roots), times_throttled(&roots)), (None, None));
        drop(dir);
    }
}
