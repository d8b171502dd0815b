//! Processors as masks of their groups, as DiskSpd 2.3 tells them (`release-2.3.md` §1.2, §5.2, §6).

use std::fmt;

use super::{AffinityItem, ProcessorId, TimeSpan};

/// Processors that a mask can name.
pub(super) const GROUP_LEN: u32 = 64;

/// Some processors of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupMask {
    /// Number of the group.
    pub group: u32,
    /// A bit for each processor; 0 stands for the whole group.
    pub mask: u64,
}

impl GroupMask {
    /// Numbers within the group: `0-3,7`, and `*` for the whole group.
    pub fn numbers(self) -> String {
        if self.mask == 0 {
            return "*".to_string();
        }
        let bits = (0..GROUP_LEN).filter(|bit| self.mask >> bit & 1 == 1);
        ranges(bits)
    }

    /// With the group where there are several of them: `0/0-3`.
    pub fn words(self, has_groups: bool) -> String {
        if has_groups { format!("{}/{}", self.group, self.numbers()) } else { self.numbers() }
    }

    fn takes(self, id: ProcessorId) -> bool {
        self.group == id.group && self.mask != 0 && self.mask < 1 << id.processor
    }
}

/// The mask as XML has it: `0x1e`.
impl fmt::Display for GroupMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.mask)
    }
}

/// Masks with a blank between, with groups where there are several of them.
pub fn mask_words(masks: &[GroupMask], has_groups: bool) -> String {
    let words: Vec<String> = masks.iter().map(|mask| mask.words(has_groups)).collect();
    words.join(" ")
}

/// Ascending numbers, neighbours as a range: `0-3,7`.
pub fn ranges(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let mut words = Vec::new();
    for (first, last) in runs {
        words.push(if first == last { first.to_string() } else { format!("{first}-{last}") });
    }
    words.join(",")
}

/// Processors in the order given, as masks: each joins the last mask while it lies above all of it.
pub fn joined(ids: impl IntoIterator<Item = ProcessorId>) -> Vec<GroupMask> {
    let mut masks = Vec::new();
    for id in ids {
        join(&mut masks, id);
    }
    masks
}

fn join(masks: &mut Vec<GroupMask>, id: ProcessorId) {
    let id = within_group(id, GROUP_LEN - 1);
    match masks.last_mut() {
        Some(last) if last.takes(id) => last.mask |= 1 << id.processor,
        _ => masks.push(GroupMask { group: id.group, mask: 1 << id.processor }),
    }
}

/// A Linux processor whose number goes beyond `number_max`, named by the group that it is in.
pub(super) fn within_group(id: ProcessorId, number_max: u32) -> ProcessorId {
    if id.processor > number_max {
        ProcessorId { group: id.cpu() / GROUP_LEN, processor: id.cpu() % GROUP_LEN }
    } else {
        id
    }
}

impl TimeSpan {
    /// The affinity list as masks, in the order given.
    pub fn affinity_masks(&self) -> Vec<GroupMask> {
        let mut masks = Vec::new();
        let mut at = 0;
        for item in self.affinity_items() {
            match item {
                AffinityItem::WholeGroup(group) => masks.push(GroupMask { group, mask: 0 }),
                AffinityItem::Processor(id) if self.affinity_mask_starts.contains(&at) => {
                    masks.extend(joined([id]));
                    at += 1;
                }
                AffinityItem::Processor(id) => {
                    join(&mut masks, id);
                    at += 1;
                }
            }
        }
        masks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::WholeGroup;

    fn list(numbers: &[u32]) -> Vec<ProcessorId> {
        numbers.iter().map(|&processor| ProcessorId { group: 0, processor }).collect()
    }

    fn span(numbers: &[u32]) -> TimeSpan {
        TimeSpan { affinity: list(numbers), ..TimeSpan::default() }
    }

    fn words(span: &TimeSpan) -> String {
        mask_words(&span.affinity_masks(), true)
    }

    #[test]
    fn processors_join_the_last_mask_while_they_ascend() {
        assert_eq!(words(&span(&[2, 5, 7])), "0/2,5,7");
        assert_eq!(words(&span(&[5, 3])), "0/5 0/3");
        assert_eq!(words(&span(&[3, 3])), "0/3 0/3");
        assert_eq!(words(&span(&[0, 1, 2, 3, 63, 64])), "0/0-3,63 1/0", "Linux goes on counting");
        assert_eq!(words(&span(&[])), "");
    }

    #[test]
    fn a_whole_group_is_a_mask_of_its_own() {
        let affinity_groups = vec![WholeGroup { group: 1, position: 0 }];
        let span = TimeSpan { affinity: list(&[0]), affinity_groups, ..TimeSpan::default() };
        assert_eq!(words(&span), "1/* 0/0");
        assert_eq!(mask_words(&span.affinity_masks(), false), "* 0");
    }

    #[test]
    fn masks_that_were_given_stay_apart() {
        let affinity_mask_starts = vec![1];
        let span = TimeSpan { affinity: list(&[0, 1, 2]), affinity_mask_starts, ..TimeSpan::default() };
        assert_eq!(words(&span), "0/0 0/1-2");
    }
}
