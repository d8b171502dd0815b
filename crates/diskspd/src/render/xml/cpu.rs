//! Use of the processors (`xml.md` §2.4).

use super::Fixed;
use truespd_core::profile::xml::Writer;
use truespd_core::result::{CpuUse, System};

/// One element per processor, then the plain mean over them.
pub(super) fn utilization(out: &mut Writer, system: &System, cpu: &[CpuUse]) {
    let cpu: Vec<CpuUse> = cpu.iter().copied().map(idle_without_ticks).collect();
    out.open("CpuUtilization", &[]);
    for (processor, used) in system.topology.processors.iter().zip(&cpu) {
        out.open("CPU", &[]);
        for (name, number) in [
            ("Socket", processor.socket),
            ("Node", processor.node),
            ("Group", processor.group),
            ("Core", processor.core),
            ("EfficiencyClass", processor.efficiency_class),
            ("Id", processor.number),
        ] {
            out.leaf(name, number);
        }
        percentages(out, used);
        out.close("CPU");
    }
    out.open("Average", &[]);
    percentages(out, &mean(&cpu));
    out.close("Average");
    out.close("CpuUtilization");
}

/// A processor that counted no time at all was idle: its shares would be quotients by zero.
fn idle_without_ticks(used: CpuUse) -> CpuUse {
    if [used.user, used.kernel, used.idle].iter().all(|share| share.is_finite()) {
        used
    } else {
        CpuUse { user: 0.0, kernel: 0.0, idle: 100.0 }
    }
}

fn percentages(out: &mut Writer, used: &CpuUse) {
    for (name, percent) in [
        ("UsagePercent", used.usage()),
        ("UserPercent", used.user),
        ("KernelPercent", used.kernel),
        ("IdlePercent", used.idle),
    ] {
        out.leaf(name, Fixed(percent, 2));
    }
}

fn mean(cpu: &[CpuUse]) -> CpuUse {
    let count = cpu.len().max(1) as f64;
    let mean_of = |figure: fn(&CpuUse) -> f64| cpu.iter().map(figure).sum::<f64>() / count;
    CpuUse { user: mean_of(|c| c.user), kernel: mean_of(|c| c.kernel), idle: mean_of(|c| c.idle) }
}
