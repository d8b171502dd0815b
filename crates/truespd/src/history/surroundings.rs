//! What a document tells of the machine and the settings, beyond the facts that have columns. It is read from the
//! document where a table of many results is made, and only as far as it is wanted: an unknown form says nothing.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::entry::found_text;

/// What DiskSpd prints for what it does not know.
const UNKNOWN: &str = "<unknown>";
const ENGINE: &str = "engine";

/// The machine and the settings of a result; empty is what its document does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surroundings {
    pub kernel: String,
    /// What the firmware calls the machine.
    pub machine_model: String,
    /// Name of the first processor.
    pub processor: String,
    /// How many processors the machine has; 0 where nothing is told.
    pub processors: usize,
    pub memory_bytes: Option<u64>,
    /// Type of the file system of the first target.
    pub filesystem: String,
    /// Kinds of the layers of the first target, from the top.
    pub layers: Vec<String>,
    /// Settings with their values, as a person calls them.
    pub settings: Vec<(&'static str, String)>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Told {
    result: ToldResult,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToldResult {
    system: ToldSystem,
    time_spans: Vec<ToldSpan>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToldSystem {
    machine_model: String,
    processor_name: String,
    topology: ToldTopology,
    power_scheme: String,
    kernel_release: String,
    memory_bytes: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToldTopology {
    processors: Vec<IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToldSpan {
    measured: Option<ToldMeasured>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToldMeasured {
    engine: String,
    evidence: ToldEvidence,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToldEvidence {
    targets: Vec<ToldTarget>,
    host: Option<ToldHost>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToldTarget {
    filesystem: Option<String>,
    mount_options: Option<String>,
    scheduler: Option<String>,
    write_cache: Option<String>,
    layers: Vec<ToldLayer>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToldLayer {
    kind: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToldHost {
    governors: Vec<String>,
}

impl Surroundings {
    /// Of a document of this kind; those of suites tell the kernel only.
    pub fn of(kind: &str, document: &[u8]) -> Self {
        if kind != "result" {
            let value: Value = serde_json::from_slice(document).unwrap_or_default();
            return Surroundings { kernel: found_text(&value, "kernel_release"), ..Self::default() };
        }
        let told: Told = serde_json::from_slice(document).unwrap_or_default();
        Self::of_result(told.result)
    }

    fn of_result(ToldResult { system, time_spans }: ToldResult) -> Self {
        let measured = time_spans.into_iter().find_map(|span| span.measured).unwrap_or_default();
        let target = measured.evidence.targets.into_iter().next().unwrap_or_default();
        let governors = measured.evidence.host.unwrap_or_default().governors;
        let governor = if governors.is_empty() { system.power_scheme } else { governors.join(", ") };
        let mut settings = Vec::new();
        for (name, value) in [
            (ENGINE, Some(measured.engine)),
            ("scheduler", target.scheduler),
            ("write cache", target.write_cache),
            ("governor", Some(governor)),
            ("mount options", target.mount_options),
        ] {
            let value = value.unwrap_or_default();
            if !value.is_empty() && value != UNKNOWN {
                settings.push((name, value));
            }
        }
        Surroundings {
            kernel: system.kernel_release,
            machine_model: system.machine_model,
            processor: system.processor_name,
            processors: system.topology.processors.len(),
            memory_bytes: system.memory_bytes,
            filesystem: target.filesystem.unwrap_or_default(),
            layers: target.layers.into_iter().map(|layer| layer.kind).collect(),
            settings,
        }
    }

    /// Whether I/O went the same way, as far as both tell: by one engine, through the same file system and layers.
    pub fn is_same_way(&self, other: &Surroundings) -> bool {
        let engines = [self.setting(ENGINE), other.setting(ENGINE)];
        let is_one_engine = engines[0] == engines[1] || engines.contains(&"");
        is_one_engine && self.filesystem == other.filesystem && self.layers == other.layers
    }

    fn setting(&self, wanted: &str) -> &str {
        self.settings.iter().find(|(name, _)| *name == wanted).map_or("", |(_, value)| value)
    }

    /// Whether nothing tells that these are of two machines.
    pub fn may_be_machine_of(&self, other: &Surroundings) -> bool {
        let mut is_like =
            self.processors == 0 || other.processors == 0 || self.processors == other.processors;
        for (a, b) in [(&self.machine_model, &other.machine_model), (&self.processor, &other.processor)] {
            is_like &= a.is_empty() || b.is_empty() || a == b;
        }
        is_like
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_is_empty() {
        for document in ["", "{", "[]", "{\"result\":{\"system\":7}}", "{\"result\":{}}"] {
            assert_eq!(
                Surroundings::of("result", document.as_bytes()),
                Surroundings::default(),
                "{document}"
            );
            assert_eq!(Surroundings::of("mark", document.as_bytes()), Surroundings::default(), "{document}");
        }
    }

    #[test]
    fn settings_are_those_of_the_first_target() {
        let document = br#"{"result":{"system":{"kernel_release":"6.1","power_scheme":"<unknown>","memory_bytes":5,
            "machine_model":"A B","topology":{"processors":[{},{}]}},"time_spans":[{"measured":{"engine":"io_uring","evidence":{"targets":[
            {"filesystem":"ext4","scheduler":"none"},{"filesystem":"xfs"}]}}}]}}"#;
        let told = Surroundings::of("result", document);
        assert_eq!((told.kernel.as_str(), told.processors, told.memory_bytes), ("6.1", 2, Some(5)));
        assert_eq!((told.filesystem.as_str(), told.machine_model.as_str()), ("ext4", "A B"));
        assert_eq!(told.settings, [("engine", "io_uring".to_string()), ("scheduler", "none".to_string())]);
    }
}
