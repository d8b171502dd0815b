//! Hardware queues and the processors that answer for them, in words.

use truespd_core::result::HardwareQueue;
use truespd_core::text::grouped;

/// More queues than this are told together.
const QUEUES_MAX: usize = 4;

/// A line for each queue; of many, one for those that are as they should be and one for each other, up to a
/// few. None when it is of no queue known who answers.
pub(super) fn words(queues: &[HardwareQueue]) -> Vec<String> {
    if queues.iter().all(|queue| queue.irq.is_none()) {
        return Vec::new();
    }
    if queues.len() <= QUEUES_MAX {
        return queues.iter().map(line).collect();
    }
    let is_own =
        |queue: &&HardwareQueue| !queue.answered_by.is_empty() && queue.processors.holds(&queue.answered_by);
    let own = queues.iter().filter(is_own).count();
    let mut lines = vec![format!(
        "{} hardware queues, {} with interrupts answered by a processor that uses the queue",
        grouped(queues.len() as u64),
        if own == queues.len() {
            "each".to_string()
        } else {
            format!("{} of them each", grouped(own as u64))
        }
    )];
    let others: Vec<&HardwareQueue> = queues.iter().filter(|queue| !is_own(queue)).collect();
    lines.extend(others.iter().take(QUEUES_MAX).map(|queue| line(queue)));
    if let Some(more) = others.len().checked_sub(QUEUES_MAX).filter(|&more| more > 0) {
        lines.push(format!("and {} more such queues", grouped(more as u64)));
    }
    lines
}

/// `queue 0: processors 0-1, interrupts answered by processor 1 (irq 27)`.
fn line(queue: &HardwareQueue) -> String {
    let processors = if queue.processors.is_empty() {
        "no processor that is online".to_string()
    } else {
        queue.processors.words()
    };
    let answered = match (queue.irq, queue.answered_by.is_empty()) {
        (Some(irq), false) => {
            format!("interrupts answered by {} (irq {irq})", queue.answered_by.words())
        }
        _ => "no interrupt is known (a queue for polling has none)".to_string(),
    };
    format!("queue {}: {processors}, {answered}", queue.number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::CpuSet;

    fn queue(number: u32, processors: &[u32], by: &[u32]) -> HardwareQueue {
        HardwareQueue {
            number,
            processors: CpuSet::new(processors.to_vec()),
            irq: by.first().map(|_| 30 + number),
            answered_by: CpuSet::new(by.to_vec()),
        }
    }

    #[test]
    fn few_queues_are_told_one_by_one() {
        let told = words(&[queue(0, &[0, 1], &[1]), queue(1, &[2], &[]), queue(2, &[], &[0])]);
        let expected = [
            "queue 0: processors 0-1, interrupts answered by processor 1 (irq 30)",
            "queue 1: processor 2, no interrupt is known (a queue for polling has none)",
            "queue 2: no processor that is online, interrupts answered by processor 0 (irq 32)",
        ];
        assert_eq!(told, expected);
        assert_eq!(words(&[]), [""; 0]);
    }

    #[test]
    fn many_queues_are_told_together_but_for_those_that_differ() {
        let mut queues: Vec<HardwareQueue> = (0..8).map(|i| queue(i, &[i], &[i])).collect();
        let all = "8 hardware queues, each with interrupts answered by a processor that uses the queue";
        assert_eq!(words(&queues), [all]);
        queues[3] = queue(3, &[3], &[0]);
        let told = words(&queues);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("8 hardware queues, 7 of them"), "{told:?}");
        assert_eq!(told[1], "queue 3: processor 3, interrupts answered by processor 0 (irq 33)");
        let mut polled: Vec<HardwareQueue> = (0..9).map(|i| queue(i, &[i], &[])).collect();
        assert_eq!(words(&polled), [""; 0], "nothing is known");
        polled[0] = queue(0, &[0], &[0]);
        let told = words(&polled);
        assert!(told[0].starts_with("9 hardware queues, 1 of them each with"), "{told:?}");
        assert_eq!(told.last().map(String::as_str), Some("and 4 more such queues"));
    }
}
