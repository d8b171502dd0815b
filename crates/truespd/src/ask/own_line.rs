//! Lines of a person's own on targets of theirs: what `find-max`, `sweep` and `workload beside` share.

use crate::runner::place::{FILE_BYTES_MIN, Place};
use crate::runner::{Ahead, Ended, Series};
use diskspd::grammar::parse;
use diskspd::grammar::parse::{Invocation, not_in_suites};
use std::path::PathBuf;
use truespd_core::profile::{Release, TimeSpan};
use truespd_front::config;
use truespd_platform::fault::{Refusal, Refusals};
use truespd_platform::text::{split_line, typed_size};

/// Measured time and warm-up of a run where the line has none, in seconds.
const DURATION_S: u32 = 10;
const WARMUP_S: u32 = 2;
const PROGRAM: &str = "diskspd";
const FILE: &str = "data";
/// Size of a test file unless told otherwise.
const FILE_BYTES: u64 = 1 << 30;

/// The targets of a line: directories, in which files are made, and files and devices that are there.
pub(crate) struct Targets {
    places: Vec<Place>,
    /// Size of each file that is made.
    size_bytes: u64,
}

impl Targets {
    /// Finds them. `size_bytes` is what `--size` says, and `overwrite` each `--overwrite`.
    ///
    /// # Errors
    /// A target that cannot be tested, or an option that it has no use for.
    pub fn find(typed: &[String], size_bytes: Option<u64>, overwrite: &[String]) -> Result<Self, Refusal> {
        let mut places = Vec::new();
        for typed in typed {
            places.push(Place::find(typed)?);
        }
        let made = places.iter().filter(|place| place.is_directory()).count();
        if made == 0 && size_bytes.is_some() {
            let message = "--size is for files that are created in a directory; existing files and devices keep their \
                size";
            return Err(Refusal::command_line(message));
        }
        let size_bytes = size_bytes.unwrap_or(FILE_BYTES);
        for place in &places {
            if place.is_directory() {
                place.check_room(size_bytes, made as u64, FILE_BYTES_MIN)?;
            } else if place.size_bytes() == Some(0) {
                let message =
                    "an empty file cannot be tested; name its directory, and a test file is created there";
                return Err(Refusal::command_line(message));
            }
            if made == places.len() {
                place.check_overwrite(overwrite)?;
            }
        }
        Ok(Targets { places, size_bytes })
    }

    /// How many files are made, and their bytes.
    pub fn made(&self) -> (usize, u64) {
        let made = self.places.iter().filter(|place| place.is_directory()).count();
        (made, self.size_bytes.saturating_mul(made as u64))
    }

    /// Bytes of all targets, those that are made among them.
    pub fn all_bytes(&self) -> u64 {
        let sizes = self.places.iter().map(|place| place.size_bytes().unwrap_or(self.size_bytes));
        sizes.fold(0, u64::saturating_add)
    }

    /// Where files of the series' own may be made.
    pub fn folder(&self) -> PathBuf {
        self.places.first().map_or_else(std::env::temp_dir, Place::folder)
    }

    /// The directories, files and devices themselves.
    pub fn places(&self) -> Vec<String> {
        self.places.iter().map(Place::word).collect()
    }

    /// Words of the line; the files in directories are still to be made.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for place in &self.places {
            words.push(if place.is_directory() { place.file(FILE) } else { place.word() });
        }
        words
    }

    /// The word of a line that makes the files in directories again; none where a target is there already, which -c
    /// would make anew.
    pub fn creation(&self) -> Option<String> {
        let is_made = self.places.iter().all(Place::is_directory);
        is_made.then(|| format!("-c{}", typed_size(self.size_bytes)))
    }

    /// Checks that what is there may be written, where the line `writes`, and makes the files in directories; words of
    /// the line. `ahead` is what follows.
    ///
    /// # Errors
    /// Why it may not be written, or could not be made.
    pub fn make(
        &self,
        series: &mut Series,
        suite: &str,
        writes: bool,
        ahead: Ahead,
    ) -> Result<Vec<String>, Ended> {
        for place in self.places.iter().filter(|place| writes && !place.is_directory()) {
            series.check_write(&place.word())?;
        }
        let (mut words, mut made) = (Vec::new(), Vec::new());
        for place in &self.places {
            if place.is_directory() {
                let file = series.scratch(&place.folder(), suite, &[FILE])?.file(FILE);
                made.push(file.clone());
                words.push(file);
            } else {
                words.push(place.word());
            }
        }
        series.later(ahead);
        for file in &made {
            series.fill(file, self.size_bytes)?;
        }
        series.later(Ahead::default());
        Ok(words)
    }
}

/// A person's own line of a suite, with the release of DiskSpd that the variable or the configuration names: a document
/// holds the line, and so it tells what was meant. Lines of our own suites are those of 2.2, whatever is set.
///
/// # Errors
/// The variable names no release.
pub(crate) fn with_release(line: Vec<String>) -> Result<Vec<String>, Refusal> {
    const OPTION: &str = "--compat";
    let release = config::in_force().release()?;
    if release == Release::default() || line.iter().any(|word| word.split('=').next() == Some(OPTION)) {
        return Ok(line);
    }
    let mut words = vec![OPTION.to_string(), release.word().to_string()];
    words.extend(line);
    Ok(words)
}

/// What messages call the line of a command that takes one.
pub(crate) const LINE: &str = "LINE";
const ARRIVALS_OPTION: &str = "--arrivals";

/// Why a line is refused; `who` is what messages call it, here and below.
pub(crate) fn refused(who: &str, why: &str) -> Refusal {
    Refusal::command_line(format!("{who}: {why}"))
}

/// The words of a line as it was typed.
///
/// # Errors
/// An open quote, or a release in the configuration that is none.
pub(crate) fn typed_words(who: &str, line: &str) -> Result<Vec<String>, Refusal> {
    let words = split_line(line).map_err(|open| refused(who, &format!("the quote {open} is not closed")))?;
    if words.iter().any(|word| word.starts_with("-X")) {
        return Err(refused(who, "-X is not possible here; give the options of one load"));
    }
    with_release(words)
}

/// Whether one of the words is the option with a number.
pub fn has_number(words: &[String], letter: char) -> bool {
    words.iter().any(|word| {
        let mut chars = word.chars();
        // With a slash it would be a path.
        chars.next() == Some('-')
            && chars.next() == Some(letter)
            && chars.next().is_some_and(|c| c.is_ascii_digit())
    })
}

/// The words with latencies and times, where they have none.
pub(crate) fn completed(own: Vec<String>) -> Vec<String> {
    let mut line = Vec::new();
    if !own.iter().any(|word| word == "-L") {
        line.push("-L".to_string());
    }
    for (letter, seconds) in [('d', DURATION_S), ('W', WARMUP_S)] {
        if !has_number(&own, letter) {
            line.push(format!("-{letter}{seconds}"));
        }
    }
    line.extend(own);
    line
}

/// The words without --arrivals, and what that says: `usual` where it is not there.
///
/// # Errors
/// The option without its word.
pub(crate) fn without_arrivals(
    who: &str,
    typed: &[String],
    usual: &str,
) -> Result<(Vec<String>, String), Refusal> {
    let (mut line, mut arrivals) = (Vec::new(), usual.to_string());
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        if word == ARRIVALS_OPTION {
            let legal = "--arrivals needs a word: even or poisson";
            arrivals = words.next().ok_or_else(|| refused(who, legal))?.clone();
        } else if let Some(value) = word.strip_prefix(ARRIVALS_OPTION).and_then(|rest| rest.strip_prefix('='))
        {
            arrivals = value.to_string();
        } else {
            line.push(word.clone());
        }
    }
    Ok((line, arrivals))
}

/// Words that give a line the smallest rate: whether it can have one is told before anything is made.
pub(crate) fn smallest_rate(arrivals: &str) -> [String; 3] {
    ["-g1i", ARRIVALS_OPTION, arrivals].map(str::to_string)
}

/// What a line means to `diskspd` on targets.
///
/// # Errors
/// Why it is no load, or one that cannot be repeated on these targets.
pub(crate) fn span(
    who: &str,
    line: &[String],
    rate: &[String],
    targets: &[String],
) -> Result<TimeSpan, Refusals> {
    let words: Vec<String> = line.iter().chain(rate).chain(targets).cloned().collect();
    let Invocation::Run(request) = parse(&words, PROGRAM, &|| 0).map_err(|why| why.behind(who))? else {
        return Err(refused(who, "these options run nothing").into());
    };
    if let Some(why) = not_in_suites(&words) {
        return Err(refused(who, &why).into());
    }
    let [span] = &request.profile.time_spans[..] else {
        return Err(refused(who, "this line does not run a load").into());
    };
    if span.targets.len() != targets.len() {
        return Err(refused(
            who,
            "targets stand behind the line, as arguments of their own; remove them from it",
        )
        .into());
    }
    if span.targets.iter().any(|target| target.create_bytes.is_some()) {
        let why = "-c would make the file anew in every run; name a directory as target, and give --size";
        return Err(refused(who, why).into());
    }
    Ok(span.clone())
}

/// I/Os of all threads that are outstanding at once, at most.
pub(crate) fn outstanding(span: &TimeSpan) -> u64 {
    if span.is_pool() {
        return u64::from(span.thread_count) * u64::from(span.request_count);
    }
    let mut own = 0;
    let mut each = 0;
    for target in &span.targets {
        own += u64::from(target.threads_per_file) * u64::from(target.request_count);
        each += u64::from(target.request_count);
    }
    if span.thread_count == 0 { own } else { u64::from(span.thread_count) * each }
}

/// What a rate per thread is multiplied with: threads times targets.
pub(crate) fn streams(span: &TimeSpan) -> u64 {
    match span.thread_count {
        0 => span.threads_total(),
        threads => u64::from(threads) * span.targets.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span_of(line: &str) -> TimeSpan {
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        match parse(&words, PROGRAM, &|| 0) {
            Ok(Invocation::Run(request)) => request.profile.time_spans[0].clone(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn arrivals_are_the_persons_choice() {
        let words = |line: &str| split_line(line).unwrap();
        let split = |line: &str| without_arrivals(LINE, &words(line), "poisson").unwrap();
        assert_eq!(split("-r --arrivals even -L"), (words("-r -L"), "even".to_string()));
        assert_eq!(split("-r --arrivals=even"), (words("-r"), "even".to_string()));
        assert_eq!(split("-r"), (words("-r"), "poisson".to_string()));
        assert!(without_arrivals(LINE, &words("--arrivals"), "even").is_err());
    }

    #[test]
    fn outstanding_ios_are_those_of_all_threads() {
        assert_eq!(outstanding(&span_of("-t4 -o8 a")), 32);
        assert_eq!(outstanding(&span_of("-t4 -o8 a b")), 64);
        assert_eq!(outstanding(&span_of("-F4 -o8 a b")), 64);
        assert_eq!(outstanding(&span_of("-F4 -O8 a b")), 32, "over all targets");
        assert_eq!([streams(&span_of("-t4 a b")), streams(&span_of("-F4 a b"))], [8, 8]);
    }
}
