//! What a test after SNIA's PTS is going to do, before a person agrees to it.

use super::run::{PASSES, Pts};
use super::table::End;
use crate::runner::duration_words;
use truespd_platform::text::{bytes, part_percent, shell_word, size};

/// The rate for which times and bytes are told that follow from the drive's own.
const BYTES_PER_S: f64 = 1e9;

impl Pts {
    /// What it takes and writes, a line for each thing; `is_device` tells whether the target can be purged.
    pub fn plan_lines(&self, is_device: bool) -> Vec<String> {
        let mut lines = vec![format!(
            "SNIA PTS 2.0.2, {} test, {}, on '{}' ({})",
            self.test.title,
            self.class.edition(),
            self.target,
            size(self.head.capacity_bytes)
        )];
        lines.extend(self.purge_lines(is_device));
        let before = self.preconditioning_bytes();
        if before > 0 {
            let times = if self.parts.len() > 1 { format!("{} x ", self.parts.len()) } else { String::new() };
            lines.push(format!(
                "preconditioning: writes {times}{PASSES} x {} = {}; at 1 GB/s that takes {}",
                size(self.head.capacity_bytes),
                bytes(before as f64),
                duration_words(before as f64 / BYTES_PER_S)
            ));
        } else {
            lines.push("preconditioning: none before the rounds".to_string());
        }
        let mut most_bytes = Some(before as f64);
        for part in &self.parts {
            for stage in part.stages {
                let (least, most) = self.rounds(stage);
                let cells = self.cells(stage).len();
                let rounds = if least == most { most.to_string() } else { format!("{least} to {most}") };
                lines.push(format!(
                    "{}: {rounds} x {cells} runs: {}",
                    part.titled(stage.name),
                    self.stage_length(stage).words()
                ));
                match stage.end {
                    End::Written { capacities, .. } => {
                        let bytes = self.head.capacity_bytes.saturating_mul(capacities) as f64;
                        lines.push(format!(
                            "  until {capacities} x the capacity has been written, {}",
                            size(bytes as u64)
                        ));
                        most_bytes = most_bytes.map(|sum| sum + bytes);
                    }
                    End::Steady(_) | End::Times(_) => most_bytes = None,
                }
            }
        }
        if self.parts.iter().map(|part| part.stages.len()).sum::<usize>() > 1 {
            lines.push(format!("all runs without preconditioning: {}", self.length().words()));
        }
        lines.push(self.wear_words(before as f64, most_bytes));
        lines
    }

    /// Bytes written, and their part of the rated endurance.
    fn wear_words(&self, before: f64, at_most: Option<f64>) -> String {
        let [least, most] = self.writing_s().map(|seconds| before + seconds * BYTES_PER_S);
        let (told, known) = match at_most {
            Some(all) => (format!("writes {} at most", bytes(all)), [all, all]),
            None if least == most => (
                format!("writes about {} if the drive writes 1 GB/s all the time", bytes(most)),
                [least, most],
            ),
            None => (
                format!(
                    "writes about {} to {} if the drive writes 1 GB/s all the time",
                    bytes(least),
                    bytes(most)
                ),
                [least, most],
            ),
        };
        let Some(endurance) = self.head.endurance_bytes else {
            return format!(
                "{told}; share of the rated endurance: not known (give it with --endurance 1400TB)"
            );
        };
        let [low, high] = known.map(|written| part_percent(written / endurance as f64));
        if low == high {
            return format!("{told}: {high} of the rated endurance of {}", bytes(endurance as f64));
        }
        format!("{told}: {low} to {high} of the rated endurance of {}", bytes(endurance as f64))
    }

    /// How the drive is purged, which is never done here.
    fn purge_lines(&self, is_device: bool) -> Vec<String> {
        if let Some(words) = &self.head.purge {
            return vec![format!("purge: done before, as --purged says: {words}")];
        }
        if !is_device {
            return vec!["purge: a file cannot be purged".to_string()];
        }
        let device = shell_word(&self.target);
        let base = self.target.rsplit('/').next().unwrap_or_default();
        let commands = if ["nvm", "ng"].iter().any(|name| base.starts_with(name)) {
            format!("nvme format {device} --ses=1, or nvme sanitize {device} --sanact=2")
        } else if base.starts_with("sd") {
            format!(
                "blkdiscard {device}, or the drive's own: hdparm --security-erase (SATA), sg_sanitize (SAS)"
            )
        } else {
            format!("blkdiscard {device}")
        };
        vec![
            format!(
                "purge: not done here. Purge the drive before, which destroys everything on it: {commands}"
            ),
            "  then tell what was done: --purged 'nvme format --ses=1'".to_string(),
        ]
    }
}
