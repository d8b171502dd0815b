//! What the command line may change beside `-X`: a few settings, and the targets for templates.
//!
//! Source: `command-line.md` §8, `xml.md` §4.4 and §5.

use crate::profile::{Profile, ResultFormat, SteadyRule, Target};

/// Switches given beside `-X`. What is not given leaves the profile as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overrides {
    /// `-v`: can only switch on.
    pub verbose: bool,
    /// `-vs`: can only switch on.
    pub verbose_stats: bool,
    /// `-R`, when it names a format.
    pub result_format: Option<ResultFormat>,
    /// `-z`, for every time span.
    pub rand_seed: Option<u32>,
    /// `-d` in seconds, for every time span.
    pub duration_s: Option<u32>,
    /// `-W` in seconds, for every time span.
    pub warmup_s: Option<u32>,
    /// `-C` in seconds, for every time span.
    pub cooldown_s: Option<u32>,
    /// `--until-steady`, for every time span.
    pub until_steady: Option<SteadyRule>,
    /// `-:`
    pub experiment_flags: Option<u32>,
}

/// Applies the switches to a profile, in every time span.
pub fn apply_overrides(profile: &mut Profile, overrides: &Overrides) {
    profile.verbose |= overrides.verbose;
    profile.verbose_stats |= overrides.verbose_stats;
    replace(&mut profile.result_format, overrides.result_format);
    replace(&mut profile.experiment_flags, overrides.experiment_flags);
    for span in &mut profile.time_spans {
        replace(&mut span.rand_seed, overrides.rand_seed);
        replace(&mut span.duration_s, overrides.duration_s);
        replace(&mut span.warmup_s, overrides.warmup_s);
        replace(&mut span.cooldown_s, overrides.cooldown_s);
        if overrides.until_steady.is_some() {
            span.until_steady = overrides.until_steady;
        }
    }
}

fn replace<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// Replaces the templates `*1`, `*2`, ... of every time span by the targets of the command line.
///
/// Without targets templates stay as they are: fine with `-Rp`, refused by
/// [`validate`](crate::profile::validate()) in a run. On an error the profile is unchanged.
///
/// # Errors
/// Every path that is no template but begins with `*`, every template without a target (once each), and
/// every target that no template uses.
pub fn substitute_templates(profile: &mut Profile, targets: &[String]) -> Result<(), Vec<String>> {
    let mut errors = Vec::new();
    let mut used = vec![false; targets.len()];
    let all = profile.targets();
    for template in all.filter(|target| target.template().is_some()) {
        let path = &template.path;
        let error = match number_of(template) {
            None => format!(
                "the path '{path}' begins with * but is not a template: write *1, *2, ..., or ./{path} for a file of \
                 that name"
            ),
            Some(_) if targets.is_empty() => continue,
            Some(number) => match used.get_mut(number - 1) {
                Some(used) => {
                    *used = true;
                    continue;
                }
                None => format!(
                    "template '{path}' has no target: the command line names {}, give at least {number}",
                    targets.len()
                ),
            },
        };
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    for (index, target) in targets.iter().enumerate().filter(|&(index, _)| !used[index]) {
        let number = index + 1;
        errors.push(format!(
            "target '{target}' would not be used: no path of the profile is the template *{number}"
        ));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
        if let Some(given) = number_of(target).and_then(|number| targets.get(number - 1)) {
            target.path.clone_from(given);
        }
    }
    Ok(())
}

/// The number of a template, from 1.
fn number_of(target: &Target) -> Option<usize> {
    target.template_number().and_then(|number| usize::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::TimeSpan;

    fn profile(spans: &[&[&str]]) -> Profile {
        let target = |path: &&str| Target { path: path.to_string(), ..Target::default() };
        let span =
            |paths: &&[&str]| TimeSpan { targets: paths.iter().map(target).collect(), ..TimeSpan::default() };
        Profile { time_spans: spans.iter().map(span).collect(), ..Profile::default() }
    }

    fn substituted(spans: &[&[&str]], targets: &[&str]) -> Result<Vec<String>, Vec<String>> {
        let mut profile = profile(spans);
        let before = profile.clone();
        let targets: Vec<String> = targets.iter().map(|t| t.to_string()).collect();
        match substitute_templates(&mut profile, &targets) {
            Ok(()) => Ok(profile.time_spans.into_iter().flat_map(|s| s.targets).map(|t| t.path).collect()),
            Err(errors) => {
                assert_eq!(profile, before, "nothing is changed by a refusal");
                Err(errors)
            }
        }
    }

    #[test]
    fn templates_take_targets_by_number_in_every_time_span() {
        let paths = substituted(&[&["*2", "log", "*1"], &["*1"]], &["a", "*1"]);
        assert_eq!(paths, Ok(["*1", "log", "a", "a"].map(str::to_string).to_vec()), "a single pass");
    }

    #[test]
    fn without_targets_templates_stay() {
        assert_eq!(substituted(&[&["*1", "x"]], &[]), Ok(["*1", "x"].map(str::to_string).to_vec()));
    }

    #[test]
    fn everything_that_does_not_fit_is_reported() {
        for path in ["*", "*0", "*00", "*x", "*1x", "**1", "*-1", "*+1", "* 1", "*99999999999999999999"] {
            let errors = substituted(&[&[path]], &[]).expect_err(path);
            assert!(errors.len() == 1 && errors[0].contains(path), "{errors:?}");
        }
        let errors = substituted(&[&["*1", "*4", "*4"]], &["a", "b", "c"]).expect_err("does not fit");
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert!(errors[0].contains("*4") && errors[0].contains("names 3"), "{errors:?}");
        assert!(errors[1].contains("'b'") && errors[2].contains("'c'"), "{errors:?}");
        assert_eq!(substituted(&[&["x"]], &["a"]).expect_err("is not used").len(), 1);
    }

    #[test]
    fn overrides_reach_every_time_span_and_verbose_only_switches_on() {
        let mut changed = profile(&[&["a"], &["b"]]);
        changed.verbose = true;
        let untouched = changed.clone();
        apply_overrides(&mut changed, &Overrides::default());
        assert_eq!(changed, untouched);

        let overrides = Overrides {
            verbose: false,
            verbose_stats: true,
            result_format: Some(ResultFormat::Xml),
            rand_seed: Some(u32::MAX),
            duration_s: Some(3),
            warmup_s: Some(0),
            cooldown_s: Some(7),
            until_steady: Some(SteadyRule::default()),
            experiment_flags: Some(1),
        };
        apply_overrides(&mut changed, &overrides);
        assert!(changed.verbose && changed.verbose_stats);
        assert_eq!((changed.result_format, changed.experiment_flags), (ResultFormat::Xml, 1));
        for span in &changed.time_spans {
            let set = (span.rand_seed, span.duration_s, span.warmup_s, span.cooldown_s);
            assert_eq!(set, (u32::MAX, 3, 0, 7));
            assert_eq!(span.until_steady, overrides.until_steady);
        }
    }
}
