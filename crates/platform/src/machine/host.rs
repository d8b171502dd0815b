//! Name, power policy and clocks of this machine.
//!
//! How the running kernel was built, where it tells: `/boot/config-RELEASE`, `/proc/config.gz`.
//!
//! How the processors save power: frequency, idle states, throttling, battery.
//!
//! Sources: the kernel's `Documentation/admin-guide/pm/cpufreq.rst`, `pm/cpuidle.rst`, `pm/intel_pstate.rst`,
//! `Documentation/power/pm_qos_interface.rst`, `Documentation/ABI/testing/sysfs-class-power`, and
//! `arch/x86/kernel/cpu/mce/therm_throt.c`.
//!
//! Other processes: their state (proc_pid_stat(5)), and which of some programs run (proc_pid_comm(5)).
//!
//! Which processes of the machine this process can look into.
//!
//! Whether this process was started as one of many by MPI's launchers. Told by the environment alone, so that it can be
//! known without MPI: before it is started, and by a program that was built without it.

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fmt, fs};

use flate2::read::GzDecoder;

use crate::machine::roots::Roots;
use crate::machine::roots::{Setting, Value, read_number, read_word};
use crate::machine::topology::parse_cpu_list;
pub use crate::sys::system::{host_name, is_root, kernel_release, uptime_ms};

/// The system's name for people from `/etc/os-release`, e.g. `Debian GNU/Linux 13 (trixie)`; `Linux` where it has none.
pub fn system_name() -> String {
    let text = ["/etc/os-release", "/usr/lib/os-release"]
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok())
        .unwrap_or_default();
    pretty_name(&text).unwrap_or_else(|| "Linux".to_string())
}

/// `PRETTY_NAME` of os-release(5), without control characters.
fn pretty_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let value = value.trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| crate::text::printable(value))
}

/// Frequency governor of the first processor, e.g. `schedutil`; `<unknown>` when the machine shows none
/// (virtual machines, firmware-controlled frequencies).
pub fn power_scheme(roots: &Roots) -> String {
    let path = roots.sys.join("devices/system/cpu/cpu0/cpufreq/scaling_governor");
    read_word(&path).filter(|name| !name.is_empty()).unwrap_or_else(|| "<unknown>".to_string())
}

/// The first processor's name, e.g. `Intel(R) Xeon(R) Platinum 8488C`; `None` where `/proc/cpuinfo` has none (ARM).
pub fn processor_model(roots: &Roots) -> Option<String> {
    let text = std::fs::read_to_string(roots.proc.join("cpuinfo")).ok()?;
    let model =
        text.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == "model name");
    model
        .map(|(_, model)| model.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|name| !name.is_empty())
}

/// What the firmware calls the machine: maker and model of its DMI tables, or the model of its device tree. Empty where
/// it has neither.
///
/// Sources: the kernel's `drivers/firmware/dmi-id.c`; Devicetree Specification 0.4, 2.3.2 (`model`).
pub fn machine_model(roots: &Roots) -> String {
    let maker = firmware_words(&roots.sys.join("class/dmi/id/sys_vendor"));
    let product = firmware_words(&roots.sys.join("class/dmi/id/product_name"));
    if maker.is_empty() && product.is_empty() {
        return firmware_words(&roots.sys.join("firmware/devicetree/base/model"));
    }
    // `Google` makes the `Google Compute Engine`.
    if product.starts_with(&maker) {
        return product;
    }
    format!("{maker} {product}").trim_end().to_string()
}

/// Strings of a device tree end with a zero.
fn firmware_words(path: &Path) -> String {
    let text = read_word(path).unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_end_matches('\0')).collect();
    crate::text::printable(&words.join(" "))
}

/// Which boot this is; the same for all processes until the next.
pub fn boot_id(roots: &Roots) -> Option<String> {
    read_word(&roots.proc.join("sys/kernel/random/boot_id")).filter(|id| !id.is_empty())
}

/// What the kernel keeps time by, e.g. `tsc`, `kvm-clock`, `hpet`; `None` when it does not tell.
pub fn clock_source(roots: &Roots) -> Option<String> {
    let path = roots.sys.join("devices/system/clocksource/clocksource0/current_clocksource");
    read_word(&path).filter(|name| !name.is_empty())
}

/// Seconds since 1970 UTC; `None` when the clock stands before.
pub fn unix_time_s() -> Option<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

/// Nanoseconds since 1970 UTC; `None` when the clock stands before.
pub fn unix_time_ns() -> Option<u64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

/// Local time now as `yyyy-mm-ddThh:mm:ss`, for verbose lines. In the time zone of `TZ` or of the system; UTC where
/// neither names one.
pub fn local_time_now() -> String {
    let now = jiff::Timestamp::from_second(unix_time_s().unwrap_or(0)).unwrap_or_default();
    now.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

/// Longer than any configuration, also unpacked.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// The options of a kernel, `CONFIG_X=y` in lines. `None` where neither file can be read.
pub fn kernel_options(boot: &Path, release: &str, roots: &Roots) -> Option<String> {
    // That of procfs is the running kernel's, whatever lies in /boot.
    unpacked(&roots.proc.join("config.gz"))
        .or_else(|| fs::read_to_string(boot.join(format!("config-{release}"))).ok())
}

fn unpacked(path: &Path) -> Option<String> {
    let mut text = String::new();
    GzDecoder::new(fs::File::open(path).ok()?).take(TEXT_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Whether an option is built in.
pub fn is_on(options: &str, name: &str) -> bool {
    options.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.trim_end() == "=y"))
}

/// A setting that each processor has, in order of their numbers; those without it are left out, and those that are
/// offline: their files are there, and neither reading nor writing works ("Device or resource busy").
pub fn of_each_processor(file: &str, roots: &Roots) -> Vec<Setting> {
    let online =
        read_word(&roots.sys.join("devices/system/cpu/online")).and_then(|list| parse_cpu_list(&list));
    let online = processors(roots)
        .into_iter()
        .filter(|(cpu, _)| online.as_ref().is_none_or(|online| online.contains(cpu)));
    let settings = online.map(|(_, dir)| Setting::read(dir.join(file)));
    settings.filter(|setting| setting.value != Value::Absent).collect()
}

/// A setting of all processors at once, below `devices/system/cpu`.
pub fn of_all_processors(file: &str, roots: &Roots) -> Setting {
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
pub struct IdleState {
    /// Its number, from 0; the higher, the deeper.
    pub number: u32,
    /// The name that the driver gives it, e.g. `C6`.
    pub name: String,
    /// Time to leave it, in microseconds: the longest of all processors.
    pub exit_latency_us: u64,
    /// The switch of each processor: 1 is off.
    pub disable: Vec<Setting>,
}

impl IdleState {
    /// Whether some processor may enter it.
    pub fn is_used(&self) -> bool {
        self.disable.iter().any(|switch| switch.word() != Some("1"))
    }
}

/// The idle states of the processors, the shallowest first.
pub fn idle_states(roots: &Roots) -> Vec<IdleState> {
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
pub fn latency_request_us(roots: &Roots) -> io::Result<Option<u32>> {
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
pub fn times_throttled(roots: &Roots) -> Option<u64> {
    let counts = processors(roots).into_iter().flat_map(|(_, dir)| {
        ["core_throttle_count", "package_throttle_count"].map(|file| dir.join("thermal_throttle").join(file))
    });
    counts.filter_map(|path| read_number::<u64>(&path)).reduce(u64::saturating_add)
}

/// Whether the machine runs from its battery; `None` without one.
pub fn is_on_battery(roots: &Roots) -> Option<bool> {
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

/// State of a process as far as guards care (`proc_pid_stat(5)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// It runs, sleeps or waits for a disk.
    Alive,
    /// It was stopped, by Ctrl+Z, `kill -STOP` or a debugger.
    Stopped,
    /// It has ended, be it that its parent has not noticed yet (a zombie).
    Ended,
}

/// The state of the process with this number.
pub fn state_of(pid: u32, roots: &Roots) -> ProcessState {
    let Ok(stat) = std::fs::read(roots.proc.join(pid.to_string()).join("stat")) else {
        return ProcessState::Ended;
    };
    let stat = String::from_utf8_lossy(&stat);
    // The name of the program, in brackets, may hold brackets and blanks.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    match state {
        Some('T' | 't') => ProcessState::Stopped,
        Some('Z' | 'X') | None => ProcessState::Ended,
        Some(_) => ProcessState::Alive,
    }
}

/// Processes of these programs that do something, with their numbers, in order of these: none that has ended
/// or was stopped. A program is known by the first 15 characters of its name.
pub fn of_programs(names: &[&str], roots: &Roots) -> Vec<(u32, String)> {
    let entries = std::fs::read_dir(&roots.proc).into_iter().flatten().flatten();
    let mut found: Vec<(u32, String)> = entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let name = read_word(&entry.path().join("comm"))?;
            // A recorded tree has no states.
            let acts = names.contains(&name.as_str())
                && (!entry.path().join("stat").exists() || state_of(pid, roots) == ProcessState::Alive);
            acts.then_some((pid, name))
        })
        .collect();
    found.sort();
    found
}

/// How far procfs shows who has what open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Of all processes of the machine.
    All,
    /// Only of the processes of this user.
    OwnUser,
    /// Only of the processes of this container.
    Container,
    /// None: procfs is not there.
    Nothing,
}

/// `CAP_SYS_PTRACE` in `linux/capability.h`: looks into processes of others, also where `hidepid` hides them.
const LOOK_INTO_OTHERS: u64 = 1 << 19;
/// What the first namespaces of a machine are called (`linux/proc_ns.h`).
const FIRST_PROCESSES: &str = "pid:[4026531836]";
const FIRST_USERS: &str = "user:[4026531837]";
const FIRST_GROUPS: &str = "cgroup:[4026531835]";

/// Whether this process runs in a container: in other namespaces than those that the machine began with.
pub fn is_in_container(roots: &Roots) -> bool {
    let first = [("pid", FIRST_PROCESSES), ("user", FIRST_USERS), ("cgroup", FIRST_GROUPS)];
    first.iter().any(|(name, first)| {
        let link = std::fs::read_link(roots.proc.join("self/ns").join(name));
        link.is_ok_and(|link| link != Path::new(first))
    })
}

/// How far this process sees.
pub fn sight(roots: &Roots) -> Sight {
    let own = roots.proc.join("self");
    let is = |name: &str, first: &str| {
        // A recorded tree has none.
        std::fs::read_link(own.join("ns").join(name)).map_or(true, |link| link == Path::new(first))
    };
    let status = std::fs::read_to_string(own.join("status"));
    let rights = status.as_deref().map_or(Rights { may_look: true, is_root: true }, Rights::of);
    if !own.exists() {
        Sight::Nothing
    } else if !rights.may_look && !rights.is_root {
        // The root of a container lacks rights that more root would not give.
        Sight::OwnUser
    } else if !rights.may_look || !is("pid", FIRST_PROCESSES) || !is("user", FIRST_USERS) {
        Sight::Container
    } else {
        Sight::All
    }
}

#[derive(Debug, Clone, Copy)]
struct Rights {
    /// It may look into processes of others.
    may_look: bool,
    is_root: bool,
}

impl Rights {
    /// From the text of `/proc/self/status`.
    fn of(status: &str) -> Self {
        let (mut may_look, mut is_root) = (false, false);
        for line in status.lines() {
            if let Some(digits) = line.strip_prefix("CapEff:") {
                let set = u64::from_str_radix(digits.trim(), 16).unwrap_or(0);
                may_look = set & LOOK_INTO_OTHERS != 0;
            } else if let Some(users) = line.strip_prefix("Uid:") {
                // Real, effective, saved, of the file system.
                is_root = users.split_whitespace().nth(1) == Some("0");
            }
        }
        Rights { may_look, is_root }
    }
}

/// The launcher that started this process, by its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    /// `mpirun` of Open MPI (`OMPI_COMM_WORLD_SIZE`).
    OpenMpi,
    /// `mpirun` of MPICH and of what is derived from it, e.g. Intel MPI: its launcher is called Hydra.
    Mpich,
    /// `srun` of Slurm, with the way in which the processes find each other.
    Srun(Meeting),
    /// Another one that offers this.
    Other(Meeting),
}

/// How processes that were started together find each other. An MPI library needs one that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// PMIx, which Open MPI knows.
    Pmix,
    /// PMI, version 1 or 2: MPICH and what is derived from it.
    Pmi,
    /// None: each process is alone.
    None,
}

/// What a launcher says of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launched {
    /// The innermost launcher, where several are nested.
    pub by: Launcher,
    /// How many processes were started together. An MPI library that then sees fewer ranks is not the launcher's own.
    pub ranks: Option<u32>,
    /// Which of them this is, from 0.
    pub rank: Option<u32>,
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Launcher::OpenMpi => "mpirun of Open MPI",
            Launcher::Mpich => "mpirun of MPICH",
            Launcher::Srun(Meeting::Pmix) => "srun with PMIx",
            Launcher::Srun(Meeting::Pmi) => "srun with PMI",
            Launcher::Srun(Meeting::None) => "srun without PMI (--mpi=none)",
            Launcher::Other(Meeting::Pmix) => "a launcher with PMIx",
            Launcher::Other(Meeting::Pmi | Meeting::None) => "a launcher with PMI",
        })
    }
}

/// What the environment of this process tells; `None` where no launcher is known to have started it.
pub fn launched() -> Option<Launched> {
    told_by(|name| std::env::var(name).ok())
}

/// What an environment tells. The innermost launcher comes first: within a job of Slurm `mpirun` starts its helpers by
/// `srun`, and the processes inherit their variables.
fn told_by(variable: impl Fn(&str) -> Option<String>) -> Option<Launched> {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let meeting = if is_set("PMIX_RANK") {
        Meeting::Pmix
    } else if is_set("PMI_RANK") || is_set("PMI_FD") {
        Meeting::Pmi
    } else {
        Meeting::None
    };
    let (by, ranks, rank) = if is_set("OMPI_COMM_WORLD_SIZE") {
        (Launcher::OpenMpi, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")
    } else if is_set("HYDI_CONTROL_FD") || is_set("MPI_LOCALNRANKS") {
        (Launcher::Mpich, "PMI_SIZE", "PMI_RANK")
    } else if is_set("SLURM_STEP_ID") && is_set("SLURM_STEP_NUM_TASKS") {
        // A batch script has no step, and its SLURM_NTASKS is of what it may start.
        (Launcher::Srun(meeting), "SLURM_STEP_NUM_TASKS", "SLURM_PROCID")
    } else if meeting == Meeting::Pmi {
        (Launcher::Other(meeting), "PMI_SIZE", "PMI_RANK")
    } else if meeting == Meeting::Pmix {
        (Launcher::Other(meeting), "PMIX_SIZE", "PMIX_RANK")
    } else {
        return None;
    };
    let [ranks, rank] = [ranks, rank].map(|name| variable(name)?.trim().parse().ok());
    Some(Launched { by, ranks, rank })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn governor_of_a_recorded_machine() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { sys: dir.path().into(), ..Roots::default() };
        assert_eq!(power_scheme(&roots), "<unknown>");
        let place = dir.path().join("devices/system/cpu/cpu0/cpufreq");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("scaling_governor"), "schedutil\n").unwrap();
        assert_eq!(power_scheme(&roots), "schedutil");
        assert_eq!(clock_source(&roots), None);
        let place = dir.path().join("devices/system/clocksource/clocksource0");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("current_clocksource"), "kvm-clock\n").unwrap();
        assert_eq!(clock_source(&roots).as_deref(), Some("kvm-clock"));
    }

    #[test]
    fn processor_of_a_recorded_machine() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().into(), ..Roots::default() };
        assert_eq!(processor_model(&roots), None);
        for (text, name) in [
            (
                "processor\t: 0\nmodel\t\t: 143\nmodel name\t: A  Processor @ 2 GHz\n",
                Some("A Processor @ 2 GHz"),
            ),
            ("processor\t: 0\nFeatures\t: fp\n", None),
        ] {
            std::fs::write(dir.path().join("cpuinfo"), text).unwrap();
            assert_eq!(processor_model(&roots).as_deref(), name);
        }
    }

    #[test]
    fn a_machine_is_called_what_its_firmware_tells() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { sys: dir.path().into(), ..Roots::default() };
        assert_eq!(machine_model(&roots), "");
        for (folder, files, expected) in [
            (
                "firmware/devicetree/base",
                vec![("model", "Raspberry Pi 4 Model B\0")],
                "Raspberry Pi 4 Model B",
            ),
            ("class/dmi/id", vec![("sys_vendor", "Google\n")], "Google"),
            ("class/dmi/id", vec![("product_name", "Google Compute Engine\n")], "Google Compute Engine"),
            (
                "class/dmi/id",
                vec![("sys_vendor", "Amazon  EC2\n"), ("product_name", "m5.large\n")],
                "Amazon EC2 m5.large",
            ),
            ("class/dmi/id", vec![("sys_vendor", "a\x1bb"), ("product_name", "")], "a\\u{1b}b"),
        ] {
            let folder = dir.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            for (name, text) in files {
                std::fs::write(folder.join(name), text).unwrap();
            }
            assert_eq!(machine_model(&roots), expected);
        }
    }

    #[test]
    fn the_system_has_a_name() {
        let text = "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nVERSION_ID=13\n";
        assert_eq!(pretty_name(text).as_deref(), Some("Debian GNU/Linux 13 (trixie)"));
        assert_eq!(pretty_name("PRETTY_NAME=\n").as_deref(), None);
        assert_eq!(pretty_name("").as_deref(), None);
        assert!(!system_name().is_empty());
    }

    #[test]
    fn names_and_clocks_answer() {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert_eq!(host_name(), name.trim());
        let (a, b) = (uptime_ms(), uptime_ms());
        assert!(a > 0 && a <= b);
        let text = std::fs::read_to_string("/proc/uptime").unwrap();
        let seconds: f64 = text.split(' ').next().unwrap().parse().unwrap();
        assert!((uptime_ms() as f64 / 1000.0 - seconds).abs() < 2.0);
        assert!(unix_time_s().unwrap() > 1_700_000_000);
    }
}

#[cfg(test)]
mod tests_kernel_options {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    #[test]
    fn options_from_either_place() {
        let dir = tempfile::tempdir().expect("a folder");
        let roots = Roots { proc: dir.path().join("proc"), ..Roots::default() };
        fs::create_dir(&roots.proc).expect("a folder");
        assert_eq!(kernel_options(dir.path(), "6.1", &roots), None);
        fs::write(dir.path().join("config-6.1"), "CONFIG_KASAN=y\n# CONFIG_LOCKDEP is not set\n")
            .expect("a file");
        let options = kernel_options(dir.path(), "6.1", &roots).expect("in the folder");
        assert!(is_on(&options, "CONFIG_KASAN") && !is_on(&options, "CONFIG_LOCKDEP"));
        assert!(!is_on(&options, "CONFIG_KAS"));
        let file = fs::File::create(roots.proc.join("config.gz")).expect("a file");
        GzEncoder::new(file, Compression::fast()).write_all(b"CONFIG_LOCKDEP=y\n").expect("it is written");
        assert!(is_on(&kernel_options(dir.path(), "6.1", &roots).expect("in procfs"), "CONFIG_LOCKDEP"));
    }
}

#[cfg(test)]
mod tests_power {
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

#[cfg(test)]
mod tests_process {
    use super::*;

    #[test]
    fn each_state_is_read() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let roots = Roots { proc: dir.path().into(), ..Roots::default() };
        std::fs::create_dir(dir.path().join("7")).expect("it is new");
        let states = [
            ("7 (disk (x) spd) S 1 7 7 0", ProcessState::Alive),
            ("7 (x) R 1", ProcessState::Alive),
            ("7 (x) T 1", ProcessState::Stopped),
            ("7 (x) t 1", ProcessState::Stopped),
            ("7 (x) Z 1", ProcessState::Ended),
            ("", ProcessState::Ended),
        ];
        for (stat, state) in states {
            std::fs::write(dir.path().join("7/stat"), stat).expect("it can be written");
            assert_eq!(state_of(7, &roots), state, "{stat}");
        }
        assert_eq!(state_of(8, &roots), ProcessState::Ended);
        std::fs::write(dir.path().join("7/comm"), "fstrim\n").expect("it can be written");
        assert!(of_programs(&["fstrim", "x"], &roots).is_empty(), "it has ended");
        std::fs::write(dir.path().join("7/stat"), "7 (fstrim) D 1").expect("it can be written");
        assert_eq!(of_programs(&["fstrim", "x"], &roots), [(7, "fstrim".to_string())]);
        assert!(of_programs(&["x"], &roots).is_empty());
        assert_eq!(state_of(std::process::id(), &Roots::default()), ProcessState::Alive);
    }
}

#[cfg(test)]
mod tests_sight {
    use super::*;
    use crate::sys::made::symlink;

    #[test]
    fn rights_and_namespaces_decide() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
        let namespaces = dir.path().join("self/ns");
        std::fs::create_dir_all(&namespaces).unwrap();
        let set = |rights: &str, processes: &str, users: &str| {
            let (user, rights) = rights.split_once(' ').unwrap();
            let status = format!("Name:\tx\nUid:\t9\t{user}\t9\t9\nCapEff:\t{rights}\n");
            std::fs::write(dir.path().join("self/status"), status).unwrap();
            for (name, to) in [("pid", processes), ("user", users)] {
                let _ = std::fs::remove_file(namespaces.join(name));
                symlink(to, namespaces.join(name)).unwrap();
            }
            sight(&roots)
        };
        assert_eq!(sight(&Roots { proc: dir.path().join("none"), ..Roots::default() }), Sight::Nothing);
        const ROOT: &str = "0 000001ffffffffff";
        assert_eq!(set(ROOT, FIRST_PROCESSES, FIRST_USERS), Sight::All);
        assert_eq!(set("7 0000000000000000", FIRST_PROCESSES, FIRST_USERS), Sight::OwnUser);
        // What Docker leaves to the root of a container.
        assert_eq!(set("0 00000000a80425fb", "pid:[4026532255]", FIRST_USERS), Sight::Container);
        assert_eq!(set("7 0000000000000000", "pid:[4026532255]", FIRST_USERS), Sight::OwnUser);
        assert_eq!(set(ROOT, "pid:[4026532255]", FIRST_USERS), Sight::Container);
        assert!(is_in_container(&roots));
        assert_eq!(set(ROOT, FIRST_PROCESSES, FIRST_USERS), Sight::All);
        assert!(!is_in_container(&roots));
        assert_eq!(set(ROOT, FIRST_PROCESSES, "user:[4026532256]"), Sight::Container);
        assert!(is_in_container(&roots));
    }
}

#[cfg(test)]
mod tests_launcher {
    use super::*;

    /// `NAME=value` with blanks between.
    fn told(environment: &str) -> Option<Launched> {
        let variables: Vec<(&str, &str)> =
            environment.split_whitespace().map(|word| word.split_once('=').expect("NAME=value")).collect();
        told_by(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string())
        })
    }

    fn by(by: Launcher, ranks: u32, rank: u32) -> Option<Launched> {
        Some(Launched { by, ranks: Some(ranks), rank: Some(rank) })
    }

    // The environments below are parts of recorded ones: Open MPI 4.1.4, MPICH 4.0.2, Slurm 22.05.

    #[test]
    fn no_launcher() {
        assert_eq!(told("HOME=/root TERM=xterm MPICC=/usr/bin/mpicc"), None);
    }

    #[test]
    fn mpirun_of_both() {
        let open = "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_LOCAL_RANK=1 PMIX_RANK=3";
        assert_eq!(told(open), by(Launcher::OpenMpi, 4, 3));
        let mpich = "HYDI_CONTROL_FD=7 MPI_LOCALNRANKS=2 MPI_LOCALRANKID=1 PMI_FD=8 PMI_RANK=1 PMI_SIZE=2";
        assert_eq!(told(mpich), by(Launcher::Mpich, 2, 1));
    }

    #[test]
    fn srun_and_how_its_tasks_meet() {
        let step = "SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3 SLURM_NTASKS=3 SLURM_PROCID=2";
        let with = |more: &str| told(&format!("{step} {more}"));
        assert_eq!(with("PMIX_RANK=2"), by(Launcher::Srun(Meeting::Pmix), 3, 2));
        assert_eq!(with("PMI_RANK=2 PMI_SIZE=3 PMI_FD=9"), by(Launcher::Srun(Meeting::Pmi), 3, 2));
        assert_eq!(with(""), by(Launcher::Srun(Meeting::None), 3, 2));
    }

    #[test]
    fn a_batch_script_is_not_started_as_one_of_many() {
        assert_eq!(told("SLURM_JOB_ID=5 SLURM_NTASKS=3 SLURM_PROCID=0 SLURM_JOB_NUM_NODES=3"), None);
    }

    #[test]
    fn mpirun_inside_a_job_of_slurm() {
        // The step is that of mpirun's helpers, one on each node.
        let step = "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1";
        let open = told(&format!("{step} OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_RANK=5"));
        assert_eq!(open, by(Launcher::OpenMpi, 8, 5));
        let mpich = told(&format!("{step} MPI_LOCALNRANKS=4 PMI_RANK=5 PMI_SIZE=8"));
        assert_eq!(mpich, by(Launcher::Mpich, 8, 5));
    }

    #[test]
    fn others_and_what_is_no_number() {
        assert_eq!(told("PMI_RANK=1 PMI_SIZE=2"), by(Launcher::Other(Meeting::Pmi), 2, 1));
        let pmix = Launched { by: Launcher::Other(Meeting::Pmix), ranks: None, rank: Some(1) };
        assert_eq!(told("PMIX_RANK=1"), Some(pmix));
        let odd = Launched { by: Launcher::OpenMpi, ranks: None, rank: None };
        assert_eq!(told("OMPI_COMM_WORLD_SIZE=many"), Some(odd));
        assert_eq!(told("OMPI_COMM_WORLD_SIZE="), None);
    }
}
