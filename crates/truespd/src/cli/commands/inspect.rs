//! `truespd inspect`: the evidence that a run would collect about its targets, shown before the run.
//!
//! Opens read-only and for a moment; writes nothing, anywhere.

use crate::cli::show::inspect as show;
use crate::cli::show::inspect::{Inspected, Inspection, WriteTest, push_item, push_layers};
use clap::Args;
use serde::Serialize;
use std::path::Path;
use truespd_core::guard::mark::Marks;
use truespd_core::guard::{Consent, Guard, Range, users};
use truespd_core::load::{before, facts};
use truespd_core::result::json::indented;
use truespd_core::result::{Layer, Limit};
use truespd_front::console::tell;
use truespd_front::program::print;
use truespd_front::show::fitting_stdout;
use truespd_platform::fault::{ExitCode, Refusal};
use truespd_platform::machine::device::BlockDevice;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{OpenedTarget, ReadFlags, by_id, resolve, whole_disks};
use truespd_platform::machine::{chain, storage};
use truespd_verdict::inspect::{FreeSpace, OfTarget, limit_words, of_machine, of_target};

/// Show what is known of files and devices before a run: the layers down to the disks, what the target
/// holds, caches, limits, other users of the disks, whether a write test is allowed, and what that means
/// for the numbers. Without a target: the machine's disks, what stands on each, and who uses it
///
/// Opens targets read-only and changes nothing. Watches the disks and the machine for 0.2 s. The list of
/// disks opens none of them.
#[derive(Debug, Args)]
pub(crate) struct InspectArguments {
    /// Files or block devices, as for a run; `#n` is the n-th whole disk. Without any, all disks are listed
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Print the facts as JSON
    #[arg(long)]
    json: bool,
}

/// `truespd inspect`.
pub(crate) fn run(arguments: &InspectArguments) -> ExitCode {
    let roots = Roots::default();
    if arguments.targets.is_empty() {
        let disks = disks(&roots);
        let text = if arguments.json { json(&disks) } else { fitting_stdout(text(&disks)) };
        return print(&text, ExitCode::Done);
    }
    let mut found = Vec::new();
    let mut refused = None;
    for typed in &arguments.targets {
        match open(typed, &roots) {
            Ok(opened) => found.push((typed.as_str(), opened)),
            Err(refusal) => refused = Some(tell(refusal)),
        }
    }
    if let Some(code) = refused {
        return code;
    }
    let inspection = inspection(&found, &roots);
    let text = if arguments.json { show::json(&inspection) } else { fitting_stdout(show::text(&inspection)) };
    print(&text, ExitCode::Done)
}

/// The whole disks with what stands on them. Nothing is opened.
fn disks(roots: &Roots) -> Disks {
    let (mut disks, mut chains) = (Vec::new(), Vec::new());
    for (number, name) in whole_disks(roots).iter().enumerate() {
        let Some(device) = BlockDevice::named(name, roots) else { continue };
        let chain = chain::on_disk(&device, roots);
        let node = roots.dev.join(device.node_name());
        let users = device.number().map_or_else(Vec::new, |number| users(number, roots));
        disks.push(Disk {
            number,
            path: node.exists().then(|| node.display().to_string()),
            by_id: by_id(&node, roots).map(|path| path.display().to_string()),
            layers: chain.iter().map(facts::of_layer).collect(),
            in_use: users.into_iter().map(|user| user.words).collect(),
        });
        chains.push(chain);
    }
    Disks::new(disks, facts::limits(chains.iter().map(Vec::as_slice), roots))
}

fn open(typed: &str, roots: &Roots) -> Result<OpenedTarget, Refusal> {
    let path = resolve(typed, roots)?.path;
    storage::open(&path, ReadFlags::CACHED, roots).map_err(Refusal::from)
}

fn inspection(found: &[(&str, OpenedTarget)], roots: &Roots) -> Inspection {
    let mut targets: Vec<before::Inspected<'_>> =
        found.iter().map(|(typed, opened)| before::Inspected::new(typed, opened, roots)).collect();
    // First, before the reads below can be seen in the counters.
    let machine = before::watch(&targets, roots);
    before::look(&mut targets);
    let limits = facts::limits(targets.iter().map(before::Inspected::chain), roots);
    let mut inspected = Vec::new();
    for ((typed, opened), target) in found.iter().zip(&targets) {
        let write_test = write_test(typed, opened, roots);
        let facts = target.facts();
        let free = target
            .room()
            .map(|room| FreeSpace { free_bytes: room.free_bytes, is_read_only: room.is_read_only });
        let OfTarget { sentences, beginning } = of_target(&facts, free, &machine, &limits);
        inspected.push(Inspected {
            facts,
            free_bytes: free.map(|free| free.free_bytes),
            write_test,
            know: sentences,
            suggested: beginning.line,
            makes_file: beginning.makes_file,
        });
    }
    let know = of_machine(&machine, &limits);
    Inspection::new(inspected, limits, machine, know)
}

fn write_test(typed: &str, opened: &OpenedTarget, roots: &Roots) -> WriteTest {
    let marks = Marks::of_this_user();
    let guard = Guard { consent: Consent::default(), marks: &marks, roots };
    let path: &Path = &opened.facts.path;
    match guard.check(typed, path, &opened.file, &opened.facts, Range::ALL) {
        Ok(passed) => WriteTest {
            allowed: true,
            refusal: String::new(),
            hints: Vec::new(),
            unseen: passed.unseen.map(|unseen| unseen.to_string()),
            missed: passed.looked.map(|looked| looked.to_string()),
        },
        Err(refusal) => {
            // The hints are shown one by one.
            WriteTest {
                allowed: false,
                refusal: refusal.without_hints(),
                hints: refusal.all_hints().cloned().collect(),
                unseen: None,
                missed: None,
            }
        }
    }
}

/// All whole disks, in the order of their numbers.
#[derive(Debug, Serialize)]
pub(crate) struct Disks {
    format: &'static str,
    /// Within a version members are only added.
    format_version: u32,
    disks: Vec<Disk>,
    /// Limits in force for this process, as a run's evidence would hold them.
    limits: Vec<Limit>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Disk {
    /// `#n` as a target.
    pub(crate) number: usize,
    /// Its path; none when there is no node.
    pub(crate) path: Option<String>,
    /// The same by a name that stays.
    pub(crate) by_id: Option<String>,
    /// The disk first, then what stands on it. `below` of each are those of the list that it stands on.
    pub(crate) layers: Vec<Layer>,
    /// Who is seen to use it, its partitions or what is built on them; empty when nobody is.
    pub(crate) in_use: Vec<String>,
}

impl Disks {
    /// With the version that this program writes.
    pub(crate) fn new(disks: Vec<Disk>, limits: Vec<Limit>) -> Self {
        Disks { format: "truespd-disks", format_version: 1, disks, limits }
    }
}

/// Users that are named, at most.
const USERS_MAX: usize = 3;

/// All of it as JSON.
pub(crate) fn json(disks: &Disks) -> String {
    indented(disks)
}

/// A paragraph for each disk.
pub(crate) fn text(disks: &Disks) -> String {
    if disks.disks.is_empty() {
        return "This machine shows no disks, as in most containers. Name a file instead: truespd inspect FILE\n"
            .to_string();
    }
    let texts: Vec<String> = disks.disks.iter().map(|disk| paragraph(disk, &disks.limits)).collect();
    texts.join("\n")
}

fn paragraph(disk: &Disk, limits: &[Limit]) -> String {
    let mut text = String::new();
    let lead = format!("#{} ", disk.number);
    let rest = " ".repeat(lead.len());
    push_layers(&mut text, &upside_down(&disk.layers), &lead, &rest);
    for limit in limits {
        if disk.layers.iter().any(|layer| limit.device.as_ref() == Some(&layer.name)) {
            push_item(&mut text, &format!("{rest}limit: "), &format!("at most {}", limit_words(limit)));
        }
    }
    push_item(&mut text, &rest, &users_words(&disk.in_use));
    text
}

fn users_words(users: &[String]) -> String {
    let named = users.iter().take(USERS_MAX).cloned().collect::<Vec<_>>().join("; ");
    match (users.len(), users.len().saturating_sub(USERS_MAX)) {
        (0, _) => "nobody is seen to use it".to_string(),
        (_, 0) => format!("in use: {named}"),
        (_, more) => format!("in use: {named}; and {more} more"),
    }
}

/// The same layers with what stands on each in the place of what it stands on.
fn upside_down(layers: &[Layer]) -> Vec<Layer> {
    let mut upside_down = Vec::new();
    for (number, layer) in (0..).zip(layers) {
        let above = (0..).zip(layers).filter(|(_, other)| other.below.contains(&number));
        upside_down.push(Layer { below: above.map(|(above, _)| above).collect(), ..layer.clone() });
    }
    upside_down
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::{LayerKind, LimitKind};

    fn layer(kind: LayerKind, name: &str, below: &[u32]) -> Layer {
        Layer { kind, name: name.into(), below: below.to_vec(), ..Layer::default() }
    }

    #[test]
    fn a_disk_with_what_stands_on_it() {
        let disk = Layer {
            model: Some("WDC WD4003FRYZ-0".into()),
            firmware: Some("01.01K02".into()),
            transport: Some("sata".into()),
            size_bytes: Some(4 << 40),
            scheduler: Some("mq-deadline".into()),
            write_cache: Some("write back".into()),
            rotational: Some(true),
            ..layer(LayerKind::Disk, "sda", &[])
        };
        let filesystem = Layer {
            mount_point: Some("/srv".into()),
            mount_source: Some("/dev/sda1".into()),
            detail: Some("also at /home".into()),
            ..layer(LayerKind::Filesystem, "ext4", &[1])
        };
        let layers = vec![disk, layer(LayerKind::Partition, "sda1", &[0]), filesystem];
        let limit = Limit {
            by: "io.max".into(),
            group: "/x".into(),
            device: Some("sda".into()),
            what: LimitKind::ReadIops,
            value: 1920,
        };
        let other = Limit { device: Some("sdb".into()), ..limit.clone() };
        let in_use = ["a", "b", "c", "d", "e"].map(|user| format!("it is used by {user}")).to_vec();
        let first = Disk { number: 0, path: None, by_id: None, layers, in_use };
        let empty = vec![layer(LayerKind::Disk, "sdb", &[])];
        let second = Disk { number: 10, path: None, by_id: None, layers: empty, in_use: Vec::new() };
        assert_eq!(
            text(&Disks::new(vec![first, second], vec![limit, other])),
            "#0 disk sda: WDC WD4003FRYZ-0, firmware 01.01K02, sata, 4 TiB
   │  rotating, as it reports
   │  write cache in use (write back)
   │  scheduler mq-deadline
   └─ partition sda1
      └─ file system ext4 at /srv from /dev/sda1: also at /home
   limit: at most 1,920 reads/s on sda (io.max of cgroup /x)
   in use: it is used by a; it is used by b; it is used by c; and 2 more

#10 disk sdb
    limit: at most 1,920 reads/s on sdb (io.max of cgroup /x)
    nobody is seen to use it
"
        );
    }

    #[test]
    fn no_disks_is_told() {
        assert!(text(&Disks::new(Vec::new(), Vec::new())).contains("shows no disks"));
    }
}
