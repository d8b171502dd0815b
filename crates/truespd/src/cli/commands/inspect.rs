//! `truespd inspect`: the evidence that a run would collect about its targets, shown before the run.
//!
//! Opens read-only and for a moment; writes nothing, anywhere.

use std::path::Path;

use clap::Args;

use crate::cli::show::disks::{self as list, Disk, Disks};
use crate::cli::show::inspect::{self as show, Inspected, Inspection, WriteTest};
use diskspd::console::tell;
use diskspd::program::{ExitCode, print};
use diskspd::show::verdict::fitting_stdout;
use truespd_core::fault::Refusal;
use truespd_core::guard::mark::Marks;
use truespd_core::guard::{Consent, Guard, Range, users};
use truespd_core::load::before;
use truespd_core::load::facts;
use truespd_core::machine::device::BlockDevice;
use truespd_core::machine::roots::Roots;
use truespd_core::machine::storage::{OpenedTarget, ReadFlags, by_id, resolve, whole_disks};
use truespd_core::machine::{chain, storage};
use truespd_core::verdict::inspect::{FreeSpace, OfTarget, of_machine, of_target};

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
        let text = if arguments.json { list::json(&disks) } else { fitting_stdout(list::text(&disks)) };
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
    let names = whole_disks(roots);
    let found: Vec<_> = names.iter().map(|name| BlockDevice::named(name, roots)).collect();
    let layers = |device: &Option<BlockDevice>| {
        device.as_ref().map_or_else(Vec::new, |device| chain::on_disk(device, roots))
    };
    let chains: Vec<Vec<chain::Layer>> = found.iter().map(layers).collect();
    let of = |(number, (device, chain)): (usize, (&Option<BlockDevice>, &Vec<chain::Layer>))| {
        let device = device.as_ref()?;
        let node = roots.dev.join(device.node_name());
        let users = device.number().map_or_else(Vec::new, |number| users(number, roots));
        Some(Disk {
            number,
            path: node.exists().then(|| node.display().to_string()),
            by_id: by_id(&node, roots).map(|path| path.display().to_string()),
            layers: chain.iter().map(facts::of_layer).collect(),
            in_use: users.into_iter().map(|user| user.words).collect(),
        })
    };
    let disks = found.iter().zip(&chains).enumerate().filter_map(of).collect();
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
    let about = |((typed, opened), target): (&(&str, OpenedTarget), &before::Inspected<'_>)| {
        let write_test = write_test(typed, opened, roots);
        let facts = target.facts();
        let free = target
            .room()
            .map(|room| FreeSpace { free_bytes: room.free_bytes, is_read_only: room.is_read_only });
        let OfTarget { sentences, beginning } = of_target(&facts, free, &machine, &limits);
        Inspected {
            facts,
            free_bytes: free.map(|free| free.free_bytes),
            write_test,
            know: sentences,
            suggested: beginning.line,
            makes_file: beginning.makes_file,
        }
    };
    let targets = found.iter().zip(&targets).map(about).collect();
    let know = of_machine(&machine, &limits);
    Inspection::new(targets, limits, machine, know)
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
