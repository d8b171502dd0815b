//! What has been read so far, before it becomes a profile.

use super::value::Position;
use crate::request::{LongOptions, ProfileFile, Request};
use truespd_core::profile::{CacheMode, EventNames, Profile, ResultFormat, Target, TimeSpan};

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
pub struct Draft<'a> {
    pub boot_ms: &'a dyn Fn() -> u64,
    pub progress_ios: u32,
    pub etw: Option<truespd_core::profile::Etw>,
    pub span: TimeSpan,
    pub target: Target,
    pub overrides: ProfileFile,
    pub is_seed_of_moment: bool,
    pub profile_file: Option<usize>,
    pub profile_only: bool,
    pub system_information: Option<ResultFormat>,
    pub stop: Option<Stop>,
    pub events: EventNames,
    pub set_events: Vec<String>,
    pub long: LongOptions,
    pub taken: Vec<String>,
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

impl<'a> Draft<'a> {
    pub fn new(boot_ms: &'a dyn Fn() -> u64) -> Self {
        Draft {
            boot_ms,
            progress_ios: 0,
            etw: None,
            span: TimeSpan::default(),
            target: Target::default(),
            overrides: ProfileFile::default(),
            is_seed_of_moment: false,
            profile_file: None,
            profile_only: false,
            system_information: None,
            stop: None,
            events: EventNames::default(),
            set_events: Vec::new(),
            long: LongOptions::default(),
            taken: Vec::new(),
            notes: Vec::new(),
            base: None,
            maximum: None,
            random: None,
            mixed: None,
            sequential: None,
            alignment_bytes: None,
            stride_bytes: None,
            cache: CacheState::default(),
            placement: PlacementState::default(),
        }
    }

    /// Adds a note once.
    pub fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_string());
        }
    }

    /// Tells that DiskSpd, and so TrueSpd, takes these words for others.
    pub fn taken(&mut self, typed: &str, meant: &str) {
        let words = format!("{typed} is taken for {meant}, as DiskSpd takes it");
        if !self.taken.contains(&words) {
            self.taken.push(words);
        }
    }

    /// The request to run the options on `targets`, or the profile file with `targets` for its templates.
    pub fn finish(self, targets: &[String]) -> Request {
        let from_file = self.profile_file.is_some();
        let profile = if from_file { Profile::default() } else { self.profile(targets) };
        let profile_file = from_file.then(|| ProfileFile { targets: targets.to_vec(), ..self.overrides });
        Request {
            profile,
            profile_only: self.profile_only,
            events: self.events,
            options: self.long,
            profile_file,
            is_seed_of_moment: self.is_seed_of_moment,
            findings_warnings: Vec::new(),
            taken: self.taken,
            notes: self.notes,
        }
    }

    fn profile(&self, targets: &[String]) -> Profile {
        let given = &self.overrides;
        let mut span = self.span.clone();
        span.duration_s = given.duration_s.unwrap_or(span.duration_s);
        span.warmup_s = given.warmup_s.unwrap_or(span.warmup_s);
        span.cooldown_s = given.cooldown_s.unwrap_or(span.cooldown_s);
        span.rand_seed = given.seed.unwrap_or(span.rand_seed);
        let target = self.target();
        span.targets = targets.iter().map(|path| Target { path: path.clone(), ..target.clone() }).collect();
        Profile {
            progress_ios: self.progress_ios,
            result_format: given.result_format.unwrap_or_default(),
            verbose: given.verbose,
            verbose_stats: given.verbose_stats,
            experiment_flags: given.experiment_flags.unwrap_or(0),
            etw: self.etw,
            time_spans: vec![span],
            ..Profile::default()
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
