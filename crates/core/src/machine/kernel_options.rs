//! How the running kernel was built, where it tells: `/boot/config-RELEASE`, `/proc/config.gz`.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

use super::roots::Roots;

/// Longer than any configuration, also unpacked.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// The options of a kernel, `CONFIG_X=y` in lines. `None` where neither file can be read.
pub fn kernel_options(boot: &Path, release: &str, roots: &Roots) -> Option<String> {
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
