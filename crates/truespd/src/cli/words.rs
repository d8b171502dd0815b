//! Options and targets of DiskSpd that a person gives to a suite as one word.

use crate::series::place::absolute;
use diskspd::grammar::parse;
use diskspd::grammar::parse::Invocation;
use diskspd::grammar::parse::Lines;
use diskspd::grammar::parse::refuse_findings;
use diskspd::request::{Grammar, Line, Request};
use truespd_core::fault::{Refusal, Refusals};

/// What is added to the lines of a comparison where they do not have it.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// `-d`.
    pub seconds: u32,
    /// `-W`.
    pub warm_up: u32,
    /// `-L`.
    pub needs_latency: bool,
}

/// A variant of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// As it is run.
    pub line: Line,
    /// Warm-up, measured time and cool-down in seconds.
    pub seconds: f64,
    /// Paths of its targets, also of those in a profile.
    pub targets: Vec<String>,
    /// Those of them that it writes.
    pub written: Vec<String>,
    /// The profile of `-X`.
    pub profile_file: Option<String>,
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

/// The command line of a variant: the words typed after `option`, on `target` when there is one. The length
/// of a run and what the metric needs are added where the words do not have them.
///
/// # Errors
/// Why it cannot be run; each reason follows the option.
pub fn variant(
    option: &str,
    typed: Vec<String>,
    target: Option<&str>,
    wanted: Wanted,
) -> Result<Variant, Refusals> {
    let has_profile = typed.iter().any(|word| word.starts_with("-X"));
    let mut words = Vec::new();
    if !has_profile && !has_number(&typed, 'd') {
        words.push(format!("-d{}", wanted.seconds));
    }
    if !has_profile && !has_number(&typed, 'W') {
        words.push(format!("-W{}", wanted.warm_up));
    }
    let has_latency = typed.iter().any(|word| word == "-L");
    if !has_profile && wanted.needs_latency && !has_latency {
        words.push("-L".to_string());
    }
    words.extend(typed);
    let targets_expected = target.map(|target| {
        words.push(target.to_string());
        1
    });
    let refused = |why: &str| Refusals::from(Refusal::command_line(format!("{option}: {why}")));
    let of_option = |refusals: Refusals| refusals.behind(option);
    let mut request = match parse(&words, "diskspd", &|| 0) {
        Ok(Invocation::Run(request)) => request,
        Ok(_) => return Err(refused("these options run nothing")),
        Err(refusals) => return Err(of_option(refusals)),
    };
    if let Some(why) = unwanted(&request) {
        return Err(refused(why));
    }
    request
        .load_profile()
        .map_err(|error| {
            error.refusals(|profile, findings| refuse_findings(&words, "diskspd", profile, findings))
        })
        .map_err(of_option)?;
    let [span] = &request.profile.time_spans[..] else {
        return Err(refused("the profile has several time spans; compare one at a time"));
    };
    if targets_expected.is_some_and(|expected| span.targets.len() != expected) {
        return Err(refused("a target is given already; leave it out, or leave out --file"));
    }
    if targets_expected.is_some() && span.targets.iter().any(|target| target.create_bytes.is_some()) {
        return Err(refused(
            "-c (FileSize in a profile) would create the file of --file again, so one variant would test the file that \
             the other one made; leave it out, and give --size",
        ));
    }
    let written = span.targets.iter().filter(|target| target.writes());
    // Targets come last.
    let last = request.profile_file.as_ref().map_or(span.targets.len(), |file| file.targets.len());
    let options = words.len().saturating_sub(last);
    words[options..].iter_mut().for_each(|word| *word = absolute(std::mem::take(word)));
    Ok(Variant {
        seconds: f64::from(span.duration_s) + f64::from(span.warmup_s) + f64::from(span.cooldown_s),
        targets: span.targets.iter().map(|target| target.path.clone()).collect(),
        written: written.map(|target| target.path.clone()).collect(),
        profile_file: request.profile_file.as_ref().map(|file| file.path.clone()),
        line: line(words).map_err(of_option)?,
    })
}

/// Parses the words again, now that their targets have absolute paths.
fn line(words: Vec<String>) -> Result<Line, Refusals> {
    Lines { program: "diskspd".into() }.line(words)
}

/// Why a request cannot be a run of a series.
pub fn unwanted(request: &Request) -> Option<&'static str> {
    let options = &request.options;
    let rows = [
        (request.profile_only, "-Rp runs nothing"),
        (
            !options.outputs.is_empty(),
            "result files (--json, --xml, --text, --csv) are not possible here; --keep FOLDER keeps the document of every run",
        ),
        (options.require.is_some(), "--require is for single runs"),
        (
            options.history.is_given(),
            "give options of the history (--label, --tag, ...) to the command itself, whose document is kept",
        ),
        (
            !options.overwrite.is_empty(),
            "give --overwrite as an option of the command itself, where it counts for all runs",
        ),
        (!options.unchecked.is_empty(), "--unchecked is for single runs"),
        (!options.maps.is_empty(), "--map is for single runs; name the target as it is called here"),
    ];
    rows.iter().find(|(is_there, _)| *is_there).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(needs_latency: bool) -> Wanted {
        Wanted { seconds: 3, warm_up: 1, needs_latency }
    }

    fn words(line: &str) -> Vec<String> {
        truespd_core::text::split_line(line).unwrap()
    }

    #[test]
    fn runs_are_short_unless_the_words_say_otherwise() {
        let variant =
            |line: &str, needs_latency, target| variant("--a", words(line), target, wanted(needs_latency));
        let plain = variant("-b4K -r", false, Some("/m/f")).unwrap();
        assert_eq!((plain.line.words().join(" ").as_str(), plain.seconds), ("-d3 -W1 -b4K -r /m/f", 4.0));
        let own = variant("-d7 -W2 -C1 /f", true, None).unwrap();
        assert_eq!((own.line.words().join(" ").as_str(), own.seconds), ("-L -d7 -W2 -C1 /f", 10.0));
        assert_eq!(variant("-L /f", true, None).unwrap().line.words().join(" "), "-d3 -W1 -L /f");
        // The file below /d1 sets no time.
        assert_eq!(variant("-r /d1", false, None).unwrap().line.words().join(" "), "-d3 -W1 -r /d1");
    }

    #[test]
    fn targets_are_named_as_from_anywhere() {
        let variant = |line: &str| variant("--a", words(line), None, wanted(false)).unwrap();
        let line = variant("-w30 --engine psync f #1 g");
        let here = std::env::current_dir().unwrap();
        let shown = |name: &str| here.join(name).to_string_lossy().into_owned();
        assert_eq!(
            line.line.words(),
            ["-d3", "-W1", "-w30", "--engine", "psync", &shown("f"), "#1", &shown("g")].map(str::to_string)
        );
        assert_eq!((line.targets.len(), line.written.len(), line.profile_file), (3, 3, None));
    }

    #[test]
    fn what_cannot_be_compared_is_refused_in_words() {
        let refused =
            |line: &str, target| variant("--b", words(line), target, wanted(false)).unwrap_err().to_string();
        for (line, target, says) in [
            ("-b4K other", Some("f"), "leave out --file"),
            ("-b4K -c1G", Some("f"), "-c (FileSize in a profile) would create the file of --file again"),
            ("-b4K", None, "--b"),
            ("-Rp f", None, "runs nothing"),
            ("--json x f", None, "--keep"),
            ("--overwrite f f", None, "option of the command itself"),
            ("--unchecked f f", None, "--unchecked is for single runs"),
            ("--require certified f", None, "single runs"),
            ("-bX f", None, "-bX"),
            ("-?", None, "run nothing"),
        ] {
            let words = refused(line, target);
            assert!(words.contains(says) && words.starts_with("ERROR: --b:"), "{line}: {words}");
        }
    }
}
