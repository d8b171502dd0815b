//! What the drivers of all buses share: the path of a device in sysfs, its model, its queues.

use std::path::Path;

use super::details::LayerDetails;
use super::filesystem::names_in;
use crate::machine::read::{read_number, read_word};

/// What is known of the way to a disk.
#[derive(Debug, Default)]
pub(super) struct Connection {
    /// As in [`super::Layer::transport`].
    pub transport: Option<String>,
    pub model: Option<String>,
    pub firmware: Option<String>,
    pub server: Option<String>,
    pub queue_depth: Option<u32>,
    pub details: Option<LayerDetails>,
    /// Another machine holds the data.
    pub is_network: bool,
}

pub(super) fn parts(dir: &Path) -> impl Iterator<Item = &str> {
    dir.components().filter_map(|c| c.as_os_str().to_str())
}

/// The first part of the path that is `prefix` and a number.
pub(super) fn part_starting(dir: &Path, prefix: &str) -> Option<String> {
    let is_numbered = |part: &&str| part.strip_prefix(prefix).is_some_and(|n| n.parse::<u32>().is_ok());
    parts(dir).find(is_numbered).map(str::to_string)
}

/// Vendor and model; libata and NVMe put a constant in the place of the vendor.
pub(super) fn model(dir: &Path) -> Option<String> {
    let word = |file: &str| read_word(&dir.join("device").join(file)).filter(|w| !w.is_empty());
    let model = word("model").or_else(|| word("name"))?;
    match word("vendor").filter(|v| v != "ATA" && !v.starts_with("0x")) {
        Some(vendor) => Some(format!("{vendor} {model}")),
        None => Some(model),
    }
}

/// Commands of all hardware queues together.
pub(super) fn tags(dir: &Path) -> Option<u32> {
    let queues = dir.join("mq");
    let each =
        names_in(&queues).into_iter().filter_map(|q| read_number::<u32>(&queues.join(q).join("nr_tags")));
    Some(each.sum()).filter(|&sum| sum > 0)
}

/// `10.0.0.5:4420`, `[fd00::5]:4420`.
pub(super) fn endpoint(host: &str, port: &str) -> String {
    if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_addresses_stay_apart_from_ports() {
        assert_eq!(endpoint("10.0.0.5", "4420"), "10.0.0.5:4420");
        assert_eq!(endpoint("fd00::5", "3260"), "[fd00::5]:3260");
        assert_eq!(endpoint("[fd00::5]", "3260"), "[fd00::5]:3260");
    }
}
