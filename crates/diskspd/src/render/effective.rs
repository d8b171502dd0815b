//! The processors that threads really had, as 2.3 tells them (`release-2.3.md` §2, §5.4).

use super::figures::line;
use super::system::id;
use truespd_core::profile::masks::{joined, mask_words};
use truespd_core::profile::{GroupMask, ProcessorId};
use truespd_core::result::{Measured, System};

/// The processors in the order of their threads, as masks.
pub(super) struct Effective {
    pub masks: Vec<GroupMask>,
    /// Those of the fastest cores and those of all others, where threads had both.
    pub mixed: Option<[Vec<GroupMask>; 2]>,
}

impl Effective {
    /// `None` when threads were not bound, or the document does not tell.
    pub fn of(system: &System, measured: &Measured) -> Option<Self> {
        let cpus = &measured.in_effect.as_ref()?.processors;
        let class_max = system.topology.efficiency_class_max();
        let (mut all, mut fast, mut slow) = (Vec::new(), Vec::new(), Vec::new());
        for &cpu in cpus {
            let known = system.topology.processors.iter().find(|processor| processor.cpu == cpu);
            let place = known.map_or(ProcessorId { group: 0, processor: cpu }, id);
            all.push(place);
            match known {
                Some(processor) if processor.efficiency_class == class_max => fast.push(place),
                _ => slow.push(place),
            }
        }
        if all.is_empty() {
            return None;
        }
        let is_mixed = class_max > 0 && !fast.is_empty() && !slow.is_empty();
        Some(Effective { masks: joined(all), mixed: is_mixed.then(|| [joined(fast), joined(slow)]) })
    }
}

/// The lines between the counts of threads and the processor table.
pub(super) fn effective_text(out: &mut String, system: &System, measured: &Measured) {
    let Some(Effective { masks, mixed }) = Effective::of(system, measured) else { return };
    let has_groups = system.topology.groups > 1;
    let form = if has_groups { "group/cpu" } else { "cpu" };
    line!(out);
    line!(out, "effective affinity ({form}): {}", mask_words(&masks, has_groups));
    if let Some([fast, slow]) = mixed {
        line!(out);
        line!(out, "NOTE: thread assignment spans different core types (P-core and E-core).");
        line!(out, "      Performance results may reflect mixed core capabilities.");
        line!(out, "      P-core cpus: {}", mask_words(&fast, has_groups));
        line!(out, "      E-core cpus: {}", mask_words(&slow, has_groups));
    }
}
