//! The releases of DiskSpd: whose forms results and profiles have, and whose defaults a profile takes
//! (`release-2.3.md`).

use serde::{Deserialize, Serialize};

use super::{EfficiencyOrder, Profile, TimeSpan};

/// A release of DiskSpd (`--compat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Release {
    #[default]
    #[serde(rename = "2.2")]
    #[allow(missing_docs)]
    V2_2,
    #[serde(rename = "2.3")]
    #[allow(missing_docs)]
    V2_3,
}

impl Release {
    /// What people write for them, the usual one first.
    pub const WORDS: [&str; 2] = ["2.2", "2.3"];

    /// The release of this word.
    pub fn of_word(word: &str) -> Option<Release> {
        match word {
            "2.2" => Some(Release::V2_2),
            "2.3" => Some(Release::V2_3),
            _ => None,
        }
    }

    /// What people write for it, and documents say: `2.3`.
    pub fn word(self) -> &'static str {
        match self {
            Release::V2_2 => "2.2",
            Release::V2_3 => "2.3",
        }
    }

    pub(super) fn is_usual(&self) -> bool {
        *self == Release::default()
    }
}

/// How the buffers of threads lie in memory (`-bs`, `release-2.3.md` §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferSeparation {
    /// `-bsn`: wherever the system puts them.
    SystemDefault,
    /// `-bsp`: so far apart that no two of them share sets of a cache or tables of pages.
    Apart,
}

/// A line of a cache where the machine tells none, in bytes.
const LINE_BYTES_USUAL: u64 = 64;

impl BufferSeparation {
    /// Distance between the beginnings of buffers in bytes; 0 for none. `line_bytes` is the largest line of any cache,
    /// `None` when it is not known.
    pub fn bytes(self, page_bytes: u64, line_bytes: Option<u64>) -> u64 {
        let line_bytes = line_bytes.filter(|bytes| *bytes > 0).unwrap_or(LINE_BYTES_USUAL);
        match self {
            BufferSeparation::SystemDefault => 0,
            BufferSeparation::Apart => {
                (line_bytes / 8).saturating_mul(page_bytes / 8).saturating_mul(page_bytes)
            }
        }
    }
}

impl TimeSpan {
    /// What was asked for; `None` for nothing.
    pub fn buffer_separation(&self) -> Option<BufferSeparation> {
        if self.separate_buffers {
            Some(BufferSeparation::Apart)
        } else if self.pack_buffers {
            Some(BufferSeparation::SystemDefault)
        } else {
            None
        }
    }

    /// Asks for it in place of what was asked before.
    pub fn separate(&mut self, wanted: BufferSeparation) {
        self.separate_buffers = wanted == BufferSeparation::Apart;
        self.pack_buffers = wanted == BufferSeparation::SystemDefault;
    }

    /// 2.3 puts P-cores first and buffers apart where nothing else is asked for.
    fn take_defaults_of_2_3(&mut self) {
        if !self.disable_affinity && self.placement.efficiency == EfficiencyOrder::Unset {
            self.placement.efficiency = EfficiencyOrder::PerformanceFirst;
        }
        if self.buffer_separation().is_none() {
            self.separate(BufferSeparation::Apart);
        }
    }
}

impl Profile {
    /// Takes the defaults of a release for what is not asked for, and its forms. Those of 2.2 are what a profile has
    /// anyway.
    pub fn take_release(&mut self, release: Release) {
        self.release = release;
        if release == Release::V2_3 {
            self.time_spans.iter_mut().for_each(TimeSpan::take_defaults_of_2_3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_documents() {
        for word in Release::WORDS {
            let release = Release::of_word(word).expect("a release");
            assert_eq!(release.word(), word);
            assert_eq!(serde_json::to_string(&release).expect("JSON"), format!("\"{word}\""));
        }
        assert_eq!(Release::of_word("2.4"), None);
    }

    #[test]
    fn distances_of_buffers() {
        for (page, line, mib) in [
            (4096, Some(64), 16),
            (4096, Some(128), 32),
            (8192, Some(128), 128),
            (4096, None, 16),
            (4096, Some(0), 16),
        ] {
            assert_eq!(BufferSeparation::Apart.bytes(page, line), mib << 20);
        }
        assert_eq!(BufferSeparation::SystemDefault.bytes(4096, Some(64)), 0);
        assert_eq!(BufferSeparation::Apart.bytes(u64::MAX, Some(u64::MAX)), u64::MAX);
    }

    #[test]
    fn what_is_asked_for_stays_with_the_defaults_of_2_3() {
        let mut asked = TimeSpan::default();
        asked.separate(BufferSeparation::SystemDefault);
        asked.placement.efficiency = EfficiencyOrder::Unordered;
        let floating = TimeSpan { disable_affinity: true, ..TimeSpan::default() };
        let mut profile = Profile { time_spans: vec![asked.clone(), floating], ..Profile::default() };
        profile.take_release(Release::V2_2);
        assert_eq!(profile.time_spans[1].buffer_separation(), None);
        profile.take_release(Release::V2_3);
        assert_eq!(profile.time_spans[0], asked);
        let floating = &profile.time_spans[1];
        assert!(!floating.placement.is_asked());
        assert_eq!(floating.buffer_separation(), Some(BufferSeparation::Apart));
        let usual = Profile { time_spans: vec![TimeSpan::default()], ..Profile::default() };
        let mut taken = usual.clone();
        taken.take_release(Release::V2_3);
        assert_eq!(taken.time_spans[0].placement.efficiency, EfficiencyOrder::PerformanceFirst);
        assert_eq!((taken.release, usual.release), (Release::V2_3, Release::V2_2));
    }
}
