//! Name, power policy and clocks of this machine.
//!
//! How the running kernel was built, where it tells: `/boot/config-RELEASE`, `/proc/config.gz`.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use flate2::read::GzDecoder;

use super::roots::Roots;
use super::setting::read_word;

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
pub(crate) fn kernel_options(boot: &Path, release: &str, roots: &Roots) -> Option<String> {
    // That of procfs is the running kernel's, whatever lies in /boot.
    let own = || {
        let mut text = String::new();
        let file = fs::File::open(roots.proc.join("config.gz")).ok()?;
        GzDecoder::new(file).take(TEXT_BYTES_MAX).read_to_string(&mut text).ok()?;
        Some(text)
    };
    own().or_else(|| fs::read_to_string(boot.join(format!("config-{release}"))).ok())
}

/// Whether an option is built in.
pub fn is_on(options: &str, name: &str) -> bool {
    options.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.trim_end() == "=y"))
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
