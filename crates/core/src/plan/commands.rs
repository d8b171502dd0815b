//! What a target and an engine must have in common when NVMe commands are sent (`--engine nvme`, `/dev/ngXnY`).

use crate::engine::EngineRow;
use crate::profile::{IoPriority, Size, Target};
use truespd_platform::fault::Refusal;
use truespd_platform::machine::device::BlockDevice;
use truespd_platform::machine::namespace::{Namespace, nodes_of};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{TargetFacts, TargetKind};
use truespd_platform::text::printable;

/// What is asked for, as far as it decides: a target, and the engine of `--engine`.
#[derive(Debug, Clone, Copy)]
struct Asked<'a> {
    target: &'a Target,
    engine: Option<&'static EngineRow>,
}

/// Refuses an engine that cannot serve the target, and what commands do not have: a page cache, priorities,
/// I/Os that are split. `engine` is that of `--engine`.
///
/// # Errors
/// What is wrong, and which device or engine would do.
pub fn check_commands(
    target: &Target,
    facts: &TargetFacts,
    engine: Option<&'static EngineRow>,
    roots: &Roots,
) -> Result<(), Refusal> {
    let asked = Asked { target, engine };
    match &facts.namespace {
        Some(namespace) => asked.by_commands(namespace, namespace.transfer_bytes_max()),
        None => asked.without_commands(|| instead(facts, roots)),
    }
}

/// The same for a file of `-c`, which may not be there yet.
///
/// # Errors
/// As [`check_commands`].
pub fn check_commands_of_file(target: &Target, engine: Option<&'static EngineRow>) -> Result<(), Refusal> {
    Asked { target, engine }.without_commands(|| FILE.to_string())
}

/// Refuses threads that would serve targets of both kinds: one ring carries entries of one length. `kinds`
/// tells of each target of the time span whether it takes commands.
///
/// # Errors
/// What to do instead.
pub fn check_one_kind(kinds: &[bool], is_pool: bool) -> Result<(), Refusal> {
    if !is_pool || !kinds.contains(&true) || !kinds.contains(&false) {
        return Ok(());
    }
    let words = "with -F each thread serves all targets, and one thread cannot send NVMe commands (/dev/ngXnY) and \
                 make other \
                 I/O as well";
    Err(Refusal::machine(&["-F"], None, words.to_string())
        .hint("give each target threads of its own (-t), or test the block devices of the namespaces"))
}

const FILE: &str =
    "for a file leave out --engine nvme; for a whole namespace name its character device (ls /dev/ng*)";

/// What to give in the place of a target that takes no commands.
fn instead(facts: &TargetFacts, roots: &Roots) -> String {
    let device = match facts.kind {
        TargetKind::Block => BlockDevice::find(facts.device, roots),
        TargetKind::Regular => None,
    };
    let nodes = device.as_ref().map(|device| nodes_of(device, roots)).unwrap_or_default();
    match (facts.kind, nodes.first()) {
        (TargetKind::Regular, _) => FILE.to_string(),
        (TargetKind::Block, None) => {
            "it is not an NVMe namespace that takes commands; leave out --engine nvme".to_string()
        }
        (TargetKind::Block, Some((node, _))) => {
            let disk = device.as_ref().filter(|device| device.is_partition());
            let only = disk.map_or("", |_| ", which is the whole disk (-B and -f test a part of it)");
            format!("its character device is {}{only}", printable(&roots.dev.join(node).to_string_lossy()))
        }
    }
}

impl Asked<'_> {
    fn refused(&self, switch: &'static str, words: String) -> Refusal {
        Refusal::machine(&[switch], Some(&self.target.path), words)
    }

    fn without_commands(&self, instead: impl FnOnce() -> String) -> Result<(), Refusal> {
        let Some(row) = self.engine.filter(|row| row.sends_commands) else { return Ok(()) };
        let words = format!(
            "--engine {} sends commands to the character device of an NVMe namespace (/dev/ngXnY), and '{}' is none",
            row.name, self.target.path
        );
        Err(self.refused("-engine", words).hint(instead()))
    }

    fn by_commands(&self, namespace: &Namespace, longest: Option<u64>) -> Result<(), Refusal> {
        let (target, path) = (self.target, &self.target.path);
        let disk = format!("/dev/{}", namespace.disk.node_name());
        if let Some(row) = self.engine.filter(|row| row.moves_data && !row.sends_commands) {
            let words =
                format!("'{path}' takes NVMe commands only, which --engine {} does not send", row.name);
            return Err(self
                .refused("-engine", words)
                .hint(format!("leave out --engine, or test its block device {disk}")));
        }
        if !target.is_direct() && !target.memory_mapped {
            let words = format!("'{path}' takes NVMe commands, which never use the page cache");
            return Err(self.refused("-S", words).hint(format!(
                "add -Su, or -Sh for writes that are durable when they complete; {disk} can be tested through the \
                 page cache"
            )));
        }
        if target.priority != IoPriority::Normal {
            let words = format!("'{path}' takes NVMe commands, which carry no I/O priority (-I)");
            return Err(self
                .refused("-I", words)
                .hint(format!("leave out -I, or test its block device {disk}")));
        }
        // A trim transfers nothing.
        let longest = if target.trim_percent < 100 { longest } else { None };
        match longest.filter(|&longest| target.block_bytes > longest) {
            None => Ok(()),
            Some(longest) => {
                let words = format!(
                    "block size {} (-b) is more than one NVMe command of '{path}' transfers, which is {}; nothing \
                     splits a \
                     command",
                    Size(target.block_bytes),
                    Size(longest)
                );
                Err(self
                    .refused("-b", words)
                    .hint(format!("use smaller blocks, or test its block device {disk}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine;
    use crate::profile::CacheMode;
    use truespd_platform::machine::device::DeviceNumber;

    fn namespace() -> Namespace {
        // Any disk will do: only its name is told.
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let roots = Roots { sys: at("sys"), proc: at("proc"), dev: at("dev") };
        let disk = roots.sys.join("class/block/nvme0n1");
        std::fs::create_dir_all(&disk).unwrap();
        std::fs::write(disk.join("dev"), "259:0\n").unwrap();
        Namespace {
            name: "ng0n1".into(),
            number: DeviceNumber { major: 241, minor: 0 },
            id: 1,
            disk: BlockDevice::named("nvme0n1", &roots).unwrap(),
            block_bytes: 512,
        }
    }

    fn told(engine: Option<&str>, edit: impl Fn(&mut Target)) -> Option<(&'static str, String)> {
        let mut target =
            Target { path: "/dev/ng0n1".into(), cache: CacheMode::DisableOsCache, ..Target::default() };
        target.block_bytes = 4096;
        edit(&mut target);
        let engine = engine.map(|name| engine::find(name).expect("in the table"));
        let refusal = Asked { target: &target, engine }.by_commands(&namespace(), Some(512 << 10)).err()?;
        Some((refusal.switches[0], refusal.to_string()))
    }

    #[test]
    fn what_commands_do_not_have_is_refused() {
        for engine in [None, Some("nvme"), Some("nvme_poll"), Some("null"), Some("sim")] {
            assert_eq!(told(engine, |_| ()), None, "{engine:?}");
        }
        assert_eq!(told(None, |t| t.block_bytes = 512 << 10), None);
        let refused = |engine, edit: &dyn Fn(&mut Target)| told(engine, edit).expect("refused");
        let (switch, words) = refused(Some("io_uring"), &|_| ());
        assert!(switch == "-engine" && words.contains("test its block device /dev/nvme0n1"), "{words}");
        let (switch, words) = refused(None, &|t| t.cache = CacheMode::Cached);
        assert!(switch == "-S" && words.contains("add -Su, or -Sh"), "{words}");
        let (switch, words) = refused(None, &|t| t.priority = IoPriority::Low);
        assert!(switch == "-I" && words.contains("no I/O priority"), "{words}");
        let (switch, words) = refused(None, &|t| t.block_bytes = (512 << 10) + 512);
        assert!(switch == "-b" && words.contains("which is 512KiB"), "{words}");
    }

    #[test]
    fn commands_go_to_nothing_else() {
        let target = Target { path: "file".into(), ..Target::default() };
        for row in engine::TABLE {
            let refusal = check_commands_of_file(&target, Some(row)).err();
            assert_eq!(refusal.is_some(), row.sends_commands, "{}: {refusal:?}", row.name);
            let says = |refusal: Refusal| refusal.to_string().contains("ls /dev/ng*");
            assert!(refusal.is_none_or(says), "{}", row.name);
        }
        assert!(check_commands_of_file(&target, None).is_ok());
    }

    #[test]
    fn a_thread_serves_one_kind() {
        for (kinds, is_pool, is_legal) in [
            (&[true, false][..], true, false),
            (&[true, false], false, true),
            (&[true, true], true, true),
            (&[false], true, true),
        ] {
            assert_eq!(check_one_kind(kinds, is_pool).is_ok(), is_legal, "{kinds:?} {is_pool}");
        }
    }
}
