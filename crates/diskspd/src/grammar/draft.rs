//! What has been read so far, before it becomes a profile.

use super::value::Position;
use crate::request::{LongOptions, ProfileFile, Request, seed_of_moment};
use truespd_core::profile::xml::{Overrides, apply_overrides};
use truespd_core::profile::{CacheMode, Etw, EventNames, Profile, ResultFormat, Target, TimeSpan};

/// What ends the reading early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Help,
    Version,
}

/// The properties of `-S` and `-h`, each settable once over all of them (`command-line.md` §6).
#[derive(Debug, Clone, Copy, Default)]
pub struct CacheState {
    pub mode: Option<(CacheMode, char, Position)>,
    pub write_through: Option<(char, Position)>,
    pub mapped: Option<(char, Position)>,
    pub bypass: Option<(char, Position)>,
}

/// The properties of `-ac`, `-as`, `-ap` and so on, each settable once.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlacementState {
    pub cores: Option<Position>,
    pub groups: Option<Position>,
    pub efficiency: Option<Position>,
}

/// Options read so far. Fields of `span` and `target` are filled directly where the last option counts;
/// the other fields hold which argument set them, because a second one is refused.
#[derive(Default)]
pub struct Draft {
    pub progress_ios: u32,
    pub etw: Option<Etw>,
    pub span: TimeSpan,
    pub target: Target,
    pub overrides: Overrides,
    pub is_seed_of_moment: bool,
    pub profile_file: Option<usize>,
    pub profile_path: String,
    pub profile_only: bool,
    pub system_information: Option<ResultFormat>,
    pub stop: Option<Stop>,
    pub events: EventNames,
    pub set_events: Vec<String>,
    pub long: LongOptions,
    pub reinterpreted: Vec<String>,
    pub notes: Vec<String>,

    pub base: Option<usize>,
    pub maximum: Option<usize>,
    pub random: Option<usize>,
    pub mixed: Option<(usize, u32)>,
    pub sequential: Option<usize>,
    pub alignment_bytes: Option<u64>,
    pub stride_bytes: Option<u64>,
    pub cache: CacheState,
    pub placement: PlacementState,
}

impl Draft {
    pub fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_string());
        }
    }

    /// Tells that DiskSpd, and so TrueSpd, takes these words for others.
    pub fn reinterpret(&mut self, typed: &str, meant: &str) {
        let words = format!("{typed} is taken for {meant}, as DiskSpd takes it");
        if !self.reinterpreted.contains(&words) {
            self.reinterpreted.push(words);
        }
    }

    /// The request to run the options on `targets`, or the profile file with `targets` for its templates. `boot_ms`
    /// gives the milliseconds since boot, for a bare `-z`.
    pub fn finish(mut self, targets: &[String], boot_ms: &dyn Fn() -> u64) -> Request {
        if self.is_seed_of_moment {
            self.overrides.rand_seed = Some(seed_of_moment(boot_ms()));
        }
        let mut profile = Profile::default();
        let mut profile_file = None;
        if self.profile_file.is_some() {
            let (path, overrides, targets) = (self.profile_path, self.overrides, targets.to_vec());
            profile_file = Some(ProfileFile { path, overrides, targets });
        } else {
            let target = self.target();
            self.span.targets =
                targets.iter().map(|path| Target { path: path.clone(), ..target.clone() }).collect();
            profile.progress_ios = self.progress_ios;
            profile.etw = self.etw;
            profile.time_spans = vec![self.span];
            apply_overrides(&mut profile, &self.overrides);
        }
        Request {
            profile,
            profile_only: self.profile_only,
            events: self.events,
            options: self.long,
            profile_file,
            is_seed_of_moment: self.is_seed_of_moment,
            findings_warnings: Vec::new(),
            reinterpreted: self.reinterpreted,
            notes: self.notes,
        }
    }

    fn target(&self) -> Target {
        let mut target = self.target.clone();
        target.random_percent = match self.mixed {
            Some((_, percent)) => percent,
            None if self.random.is_some() => 100,
            None => 0,
        };
        target.stride_bytes =
            if target.random_percent > 0 { self.alignment_bytes } else { self.stride_bytes };
        target.cache = self.cache.mode.map_or(CacheMode::Cached, |(mode, ..)| mode);
        target.write_through = self.cache.write_through.is_some();
        target.memory_mapped = self.cache.mapped.is_some();
        target
    }
}
