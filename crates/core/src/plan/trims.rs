//! What an engine and a target must offer for trims (`--trim`).

use super::requirements::sizes;
use crate::engine::{self, EngineRow};
use crate::profile::{Size, Target};
use truespd_platform::fault::Refusal;
use truespd_platform::machine::device::{BlockDevice, DiscardLimits};
use truespd_platform::machine::namespace::Namespace;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{TargetFacts, TargetKind};

/// Refuses trims by an engine that has none. `engine` is that of `--engine`.
///
/// # Errors
/// Which engines can trim.
pub fn check_trim_engine(target: &Target, engine: Option<&'static EngineRow>) -> Result<(), Refusal> {
    let Some(row) = engine.filter(|row| target.trims() && !row.trims) else { return Ok(()) };
    let words = format!("--engine {} cannot trim (--trim): it has no such operation", row.name);
    let can = engine::TABLE.iter().filter(|row| row.trims && row.moves_data && !row.sends_commands);
    let can: Vec<&str> = can.map(|row| row.name).collect();
    Err(Refusal::machine(&["--trim", "-engine"], None, words).hint(format!("use one of {}", can.join(", "))))
}

/// Refuses trims that the target cannot take. What is not refused may still be worth a warning: then it is returned.
/// `engine` is that of `--engine`.
///
/// # Errors
/// Why the target takes no such trims, and what would be legal.
pub fn check_trims(
    target: &Target,
    facts: &TargetFacts,
    engine: Option<&'static EngineRow>,
    roots: &Roots,
) -> Result<Option<String>, Refusal> {
    if !target.trims() || engine.is_some_and(|row| !row.moves_data) {
        return Ok(None);
    }
    if let Some(namespace) = &facts.namespace {
        return check_namespace(target, namespace, roots);
    }
    match facts.kind {
        TargetKind::Regular => check_file(target, facts),
        TargetKind::Block => check_device(target, facts, engine, roots),
    }
}

fn refused(target: &Target, words: String) -> Refusal {
    Refusal::machine(&["--trim"], Some(&target.path), words)
}

fn check_namespace(target: &Target, namespace: &Namespace, roots: &Roots) -> Result<Option<String>, Refusal> {
    let (path, disk) = (&target.path, namespace.disk.node_name());
    let takes_trims = namespace
        .takes_trims(roots)
        .map_err(|error| refused(target, format!("'{path}' may take no trims (--trim): {error}")))?;
    if !takes_trims {
        let words = format!(
            "'{path}' takes no trims (--trim): its drive has no Dataset Management command (bit 2 of ONCS is 0)"
        );
        return Err(refused(target, words).hint("leave --trim out, or test another drive"));
    }
    if let Some(longest) = namespace.trim_bytes_max().filter(|&longest| target.block_bytes > longest) {
        let words = format!(
            "block size {} (-b) is more than one NVMe command of '{path}' trims, which is {} \
             (queue/discard_max_hw_bytes); nothing splits a command",
            Size(target.block_bytes),
            Size(longest)
        );
        return Err(Refusal::machine(&["-b", "--trim"], Some(path), words)
            .hint(format!("use smaller blocks, or test its block device /dev/{disk}")));
    }
    Ok(namespace.disk.discards().and_then(|limits| odd_units(target, limits)))
}

fn check_file(target: &Target, facts: &TargetFacts) -> Result<Option<String>, Refusal> {
    let Some(filesystem) = &facts.filesystem else { return Ok(None) };
    let path = &target.path;
    if !filesystem.makes_holes() {
        let words = format!(
            "'{path}' is on {}, which makes no holes in files: nothing of a file can be trimmed there (--trim)",
            filesystem.name
        );
        return Err(refused(target, words).hint("use a file on another file system, or a block device"));
    }
    let is_apart = filesystem.is_remote || filesystem.block_bytes == 0;
    let odd = if is_apart { None } else { odd_size(target, filesystem.block_bytes) };
    Ok(odd.map(|(switch, bytes)| {
        format!(
            "'{path}': {} frees whole blocks of {}, and {} ({switch}) is no multiple of that: of such a trim it \
             overwrites parts of blocks with zeros instead of freeing them",
            filesystem.name,
            Size(filesystem.block_bytes),
            Size(bytes)
        )
    }))
}

fn check_device(
    target: &Target,
    facts: &TargetFacts,
    engine: Option<&'static EngineRow>,
    roots: &Roots,
) -> Result<Option<String>, Refusal> {
    let path = &target.path;
    let limits = BlockDevice::find(facts.device, roots).and_then(|device| device.discards());
    if limits.is_some_and(|limits| limits.max_bytes == 0) {
        let words = format!("'{path}' takes no trims (--trim): its queue/discard_max_bytes is 0");
        return Err(refused(target, words).hint(
            "leave --trim out, or test a device that takes them (lsblk --discard: DISC-MAX is not 0B)",
        ));
    }
    if engine.is_some_and(|row| row.name == "io_uring")
        && let Err(error) = engine::ring_trims_devices()
    {
        return Err(refused(target, format!("'{path}' cannot be trimmed by --engine io_uring: {error}")));
    }
    if target.writes_data() && !target.is_direct() {
        let words = format!(
            "'{path}' is a device that this test writes through the page cache: the kernel refuses to trim blocks that \
             are still to be written from there (--trim)"
        );
        return Err(refused(target, words).hint("add -Su, or -Sh for writes that are durable"));
    }
    let sector_bytes = facts.sectors.map_or(1, |sectors| u64::from(sectors.logical_bytes));
    if let Some((switch, bytes)) = odd_size(target, sector_bytes) {
        let words = format!(
            "trims of '{path}' begin and end at multiples of {sector_bytes} bytes, which {bytes} ({switch}) is not"
        );
        return Err(refused(target, words).hint(format!("use multiples of {sector_bytes}")));
    }
    Ok(limits.and_then(|limits| odd_units(target, limits)))
}

/// A warning of trims that are no multiple of what the device frees.
fn odd_units(target: &Target, limits: DiscardLimits) -> Option<String> {
    let (switch, bytes) = odd_size(target, limits.granularity_bytes)?;
    Some(format!(
        "'{}' frees whole units of {} (queue/discard_granularity), and {} ({switch}) is no multiple of that: the \
         device may free nothing of such a trim, and the figures of the trims are then those of the command alone",
        target.path,
        Size(limits.granularity_bytes),
        Size(bytes)
    ))
}

/// A size or a place of the trims that is no multiple of a unit, with the switch that says it.
fn odd_size(target: &Target, unit_bytes: u64) -> Option<(&'static str, u64)> {
    let all = sizes(target).into_iter().map(|(switch, _, bytes)| (switch, bytes));
    let mut odd = all.filter(|(_, bytes)| !bytes.is_multiple_of(unit_bytes.max(1)));
    odd.next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::CacheMode;
    use truespd_platform::machine::device::DeviceNumber;
    use truespd_platform::machine::storage::{Filesystem, facts_of};

    fn target(edit: impl Fn(&mut Target)) -> Target {
        let mut target = Target {
            path: "t".into(),
            block_bytes: 65_536,
            trim_percent: 20,
            cache: CacheMode::DisableOsCache,
            ..Target::default()
        };
        edit(&mut target);
        target
    }

    #[test]
    fn engines_without_trims_are_refused_and_the_others_named() {
        for row in engine::TABLE {
            let checked = check_trim_engine(&target(|_| ()), Some(row));
            assert_eq!(checked.is_ok(), row.trims, "{}", row.name);
            assert!(check_trim_engine(&target(|t| t.trim_percent = 0), Some(row)).is_ok());
        }
        let refused = check_trim_engine(&target(|_| ()), engine::find("libaio")).expect_err("it cannot");
        assert!(refused.message.contains("--engine libaio cannot trim"), "{refused:?}");
        assert!(refused.hints[0].contains("io_uring, threads, psync"), "{refused:?}");
    }

    /// A disk as sysfs shows it, with these limits.
    fn disk(max_bytes: &str, granularity: &str) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let roots = Roots { sys: at("sys"), proc: at("proc"), dev: at("dev") };
        let queue = at("sys/dev/block/8:0/queue");
        std::fs::create_dir_all(&queue).unwrap();
        std::fs::write(queue.join("discard_max_bytes"), max_bytes).unwrap();
        std::fs::write(queue.join("discard_granularity"), granularity).unwrap();
        (dir, roots)
    }

    /// What is known of some file, as a base for others.
    fn some_facts() -> TargetFacts {
        let file = tempfile::NamedTempFile::new().unwrap();
        facts_of(file.as_file(), file.path(), &Roots::default()).unwrap()
    }

    #[test]
    fn devices_without_trims_and_odd_sizes() {
        let facts = TargetFacts {
            kind: TargetKind::Block,
            device: DeviceNumber { major: 8, minor: 0 },
            sectors: Some(truespd_platform::machine::device::SectorSizes {
                logical_bytes: 512,
                physical_bytes: 512,
            }),
            filesystem: None,
            ..some_facts()
        };
        let check = |target: &Target, max: &str, granularity: &str| {
            let (_dir, roots) = disk(max, granularity);
            check_trims(target, &facts, None, &roots)
        };
        let none = check(&target(|_| ()), "0\n", "0\n").expect_err("none");
        assert!(none.message.contains("discard_max_bytes is 0"), "{none:?}");
        assert_eq!(check(&target(|_| ()), "1048576\n", "65536\n").unwrap(), None);
        let warning = check(&target(|t| t.base_bytes = 4096), "1048576\n", "65536\n").unwrap();
        assert!(warning.unwrap().contains("4KiB (-B) is no multiple"));
        let cached = target(|t| (t.cache, t.write_percent) = (CacheMode::Cached, 50));
        assert!(check(&cached, "1048576\n", "512\n").expect_err("cached").message.contains("page cache"));
        let odd = check(&target(|t| t.block_bytes = 1000), "1048576\n", "512\n").expect_err("odd");
        assert!(odd.message.contains("multiples of 512 bytes, which 1000 (-b)"), "{odd:?}");
        // Without trims nobody asks.
        assert_eq!(check(&target(|t| t.trim_percent = 0), "0\n", "0\n").unwrap(), None);
    }

    #[test]
    fn file_systems_without_holes() {
        let on = |name: &str, target: &Target| {
            let filesystem = Filesystem {
                name: name.into(),
                source: None,
                mount_point: None,
                mount_options: None,
                is_remote: false,
                is_memory: false,
                block_bytes: 4096,
            };
            let facts =
                TargetFacts { kind: TargetKind::Regular, filesystem: Some(filesystem), ..some_facts() };
            check_trims(target, &facts, None, &Roots::default())
        };
        assert!(on("9p", &target(|_| ())).expect_err("none").message.contains("makes no holes"));
        assert_eq!(on("another", &target(|_| ())).unwrap(), None);
        assert!(
            on("another", &target(|t| t.block_bytes = 512))
                .unwrap()
                .unwrap()
                .contains("blocks of 4KiB, and 512")
        );
    }
}
