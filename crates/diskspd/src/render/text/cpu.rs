//! Use of the processors (`text-output.md` §7).

use super::shown;
use truespd_core::result::{CpuUse, System};

/// An optional column before `CPU`; border and blanks below are as wide as its header.
struct Lead {
    header: &'static str,
    shown: bool,
}

/// The table: one row per processor, then the plain mean.
pub(super) fn table(out: &mut String, system: &System, cpu: &[CpuUse]) {
    let topology = &system.topology;
    let class_max = topology.efficiency_class_max();
    let leads = [
        Lead { header: "Socket | ", shown: topology.sockets > 1 },
        Lead { header: "Node | ", shown: topology.nodes > 1 },
        Lead { header: "Group | ", shown: topology.groups > 1 },
        Lead { header: "Core | ", shown: topology.has_smt() },
        Lead { header: "Class | ", shown: class_max > 0 },
    ];
    let lead: String = leads.iter().filter(|lead| lead.shown).map(|lead| lead.header).collect();
    let border = "-".repeat(lead.len() + 40);

    line!(out);
    line!(out, "{lead}CPU |  Usage |  User  | Kernel |  Idle");
    line!(out, "{border}");
    for (processor, used) in topology.processors.iter().zip(cpu) {
        let class_mark = if processor.efficiency_class == class_max { 'P' } else { ' ' };
        let cells = [
            format!("{:7}| ", processor.socket),
            format!("{:5}| ", processor.node),
            format!("{:6}| ", processor.group),
            format!("{:5}| ", processor.core),
            format!("{:5}{class_mark}| ", processor.efficiency_class),
        ];
        for (cell, lead) in cells.iter().zip(&leads) {
            if lead.shown {
                out.push_str(cell);
            }
        }
        line!(out, "{:4}|{}", processor.number, percentages(used));
    }
    line!(out, "{border}");
    line!(out, "{:width$}avg.|{}", "", percentages(&mean(cpu)), width = lead.len());
}

/// The four figures of a row.
fn percentages(used: &CpuUse) -> String {
    let [usage, user, kernel, idle] = [used.usage(), used.user, used.kernel, used.idle].map(shown);
    format!(" {usage:6.2}%| {user:6.2}%| {kernel:6.2}%| {idle:6.2}%")
}

/// Plain mean over the processors.
fn mean(cpu: &[CpuUse]) -> CpuUse {
    let count = cpu.len().max(1) as f64;
    let mean_of = |figure: fn(&CpuUse) -> f64| cpu.iter().map(figure).sum::<f64>() / count;
    CpuUse { user: mean_of(|c| c.user), kernel: mean_of(|c| c.kernel), idle: mean_of(|c| c.idle) }
}
