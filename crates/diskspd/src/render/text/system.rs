//! System information (`text-output.md` §5).

use super::super::utc::utc;
use super::OneLine;
use truespd_core::result::System;

/// The block, without the empty line that the results add.
pub(super) fn system(out: &mut String, system: &System) {
    let topology = &system.topology;
    line!(out, "System information:");
    line!(out);
    line!(out, "\tcomputer name: {}", OneLine(&system.computer_name));
    line!(out, "\tstart time: {}", system.start_unix_s.map(utc).unwrap_or_default());
    line!(out);
    line!(out, "\tcpu count:\t\t{}", topology.processors.len());
    line!(out, "\tcore count:\t\t{}", topology.cores());
    line!(out, "\tgroup count:\t\t{}", topology.groups);
    line!(out, "\tnode count:\t\t{}", topology.nodes);
    line!(out, "\tsocket count:\t\t{}", topology.sockets);
    line!(out, "\theterogeneous cores:\t{}", if topology.efficiency_class_max() > 0 { 'y' } else { 'n' });
    line!(out);
    line!(out, "\tactive power scheme:\t{}", OneLine(&system.power_scheme));
}
