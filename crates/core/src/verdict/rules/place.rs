//! Where the target is.

use super::{network, paths, programs};
use crate::result::{FindingGrade, LayerKind, Loss};
use crate::verdict::figures::{Details, found, unless_missing};
use crate::verdict::view::RestsOn;
use crate::verdict::{Case, Look, Missing};

/// Memory instead of a disk.
pub fn memory(case: &Case<'_>) -> Look {
    let mut findings = Vec::new();
    for target in case.views() {
        let says = if let Some(layer) = target.layer(LayerKind::MemoryFilesystem) {
            (FindingGrade::Suspect, format!("{} keeps files in memory: no disk is involved.", layer.name))
        } else if let Some(layer) = target.lowest().find(|layer| layer.kind == LayerKind::Memory) {
            (FindingGrade::Remark, format!("{} is a device in memory: no disk is involved.", layer.name))
        } else {
            continue;
        };
        findings.push(found(says.0, says.1).of(Some(target.path())));
    }
    unless_missing(findings, unknown_layers(case))
}

/// A target that somebody removed, replaced, cut or took away under the test.
pub fn lost(case: &Case<'_>) -> Look {
    let (mut findings, mut missing) = (Vec::new(), None);
    for target in case.views() {
        let Some(losses) = target.facts.and_then(|facts| facts.losses.as_ref()) else {
            missing.get_or_insert(Missing(format!("whether '{}' was there to the end", target.path())));
            continue;
        };
        for loss in losses {
            let mut says = loss.sentence(target.path());
            says.push('.');
            let mut finding = found(FindingGrade::Suspect, says).of(Some(target.path()));
            if let Loss::Cut { from_bytes, to_bytes } | Loss::Emptied { from_bytes, to_bytes } = *loss {
                finding = finding
                    .figure("size_before_bytes", from_bytes as f64)
                    .figure("size_after_bytes", to_bytes as f64);
            }
            findings.push(finding);
        }
    }
    unless_missing(findings, missing)
}

/// What is missing where a document does not show the layers.
fn unknown_layers(case: &Case<'_>) -> Option<Missing> {
    let views = case.views();
    views.iter().find(|target| target.rests_on() == RestsOn::Unknown).map(Missing::layers)
}

/// Another machine, or a program, holds the data.
pub fn remote(case: &Case<'_>) -> Look {
    let mut findings = network::proof(case);
    for target in case.views().into_iter().filter(|target| !network::is_counted(case, target)) {
        let of = |kind| target.layers().iter().find(|layer| layer.kind == kind);
        let at = |server: &Option<String>| server.as_ref().map_or(String::new(), |host| format!(" ({host})"));
        let served = paths::served(&target);
        let says = if let Some(layer) = of(LayerKind::RemoteFilesystem) {
            format!(
                "{} is on another machine{}: every I/O crosses the network.",
                layer.name,
                at(&layer.server)
            )
        } else if !served.is_empty() {
            served.join(" ")
        } else if let Some(layer) = of(LayerKind::UserFilesystem) {
            findings.push(programs::remark(case, &target, layer));
            continue;
        } else {
            continue;
        };
        findings.push(found(FindingGrade::Remark, says).of(Some(target.path())));
    }
    unless_missing(findings, unknown_layers(case))
}
