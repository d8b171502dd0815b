//! A line of a person's own on targets of theirs: what `find-max` and `sweep` share.

use crate::cli::commands::ab::{fill, has_number, unwanted};
use crate::cli::commands::config::with_release;
use crate::series::Series;
use crate::series::place::{FILE_BYTES_MIN, Place};
use crate::suite::{Ahead, Ended};
use diskspd::grammar::parse;
use diskspd::grammar::parse::Invocation;
use truespd_core::fault::{Refusal, Refusals};
use truespd_core::profile::TimeSpan;
use truespd_core::text::split_line;

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
            fill(series, file, self.size_bytes)?;
        }
        series.later(Ahead::default());
        Ok(words)
    }
}

pub(crate) fn refused(why: &str) -> Refusal {
    Refusal::command_line(format!("LINE: {why}"))
}

/// The words of a line as it was typed.
///
/// # Errors
/// An open quote, or a release in the configuration that is none.
pub(crate) fn typed_words(line: &str) -> Result<Vec<String>, Refusal> {
    let words = split_line(line)
        .map_err(|open| Refusal::command_line(format!("LINE: the quote {open} is not closed")))?;
    with_release(words)
}

/// The words with latencies and times, where they have none.
///
/// # Errors
/// A profile in their place.
pub(crate) fn completed(own: Vec<String>) -> Result<Vec<String>, Refusal> {
    if own.iter().any(|word| word.starts_with("-X")) {
        return Err(refused("-X is not possible here; give the options of one load"));
    }
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
    Ok(line)
}

/// What a line means to `diskspd` on targets.
pub(crate) fn span(line: &[String], rate: &[String], targets: &[String]) -> Result<TimeSpan, Refusals> {
    let words: Vec<String> = line.iter().chain(rate).chain(targets).cloned().collect();
    let Invocation::Run(request) = parse(&words, PROGRAM, &|| 0).map_err(|why| why.behind("LINE"))? else {
        return Err(refused("these options run nothing").into());
    };
    if let Some(why) = unwanted(&request) {
        return Err(refused(why).into());
    }
    let [span] = &request.profile.time_spans[..] else {
        return Err(refused("this line does not run a load").into());
    };
    if span.targets.len() != targets.len() {
        return Err(
            refused("targets stand behind the line, as arguments of their own; remove them from it").into()
        );
    }
    if span.targets.iter().any(|target| target.create_bytes.is_some()) {
        let why = "-c would make the file anew in every run; name a directory as target, and give --size";
        return Err(refused(why).into());
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
    fn outstanding_ios_are_those_of_all_threads() {
        assert_eq!(outstanding(&span_of("-t4 -o8 a")), 32);
        assert_eq!(outstanding(&span_of("-t4 -o8 a b")), 64);
        assert_eq!(outstanding(&span_of("-F4 -o8 a b")), 64);
        assert_eq!(outstanding(&span_of("-F4 -O8 a b")), 32, "over all targets");
        assert_eq!([streams(&span_of("-t4 a b")), streams(&span_of("-F4 a b"))], [8, 8]);
    }
}
