//! DiskSpd's words as a shell completes them: what may stand behind a dash, and what may follow a letter.

use diskspd::grammar::rows::Offers;
use diskspd::grammar::rows::{self, Row};

/// Options that nobody wants offered: a shell takes `-?` for a pattern, and `-:` is for those who work on DiskSpd.
const UNOFFERED: &[&str] = &["?", ":"];

/// The letters of an option, or a long option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Switch {
    /// `-b`, `--json`.
    pub word: String,
    /// What it does, in a few words.
    pub about: String,
    /// It is not complete without more characters or another word.
    pub needs_value: bool,
    /// Its values, each with what it does.
    pub values: Vec<(String, String)>,
    /// Its value is a path.
    pub takes_path: bool,
    /// A comma behind its value leads to a path.
    pub has_path_behind_comma: bool,
}

impl Switch {
    /// Its value is another word.
    pub fn is_long(&self) -> bool {
        self.word.starts_with("--")
    }

    pub fn leads_to_path(&self) -> bool {
        self.takes_path || self.has_path_behind_comma
    }

    /// The word with each value behind it: `-b4K`.
    pub fn glued(&self) -> impl Iterator<Item = (String, &str)> {
        self.values.iter().map(|(value, about)| (format!("{}{value}", self.word), about.as_str()))
    }
}

/// All options that are offered, in the order of the help; rows of the same letters are one.
pub(super) fn switches() -> Vec<Switch> {
    let mut all: Vec<Switch> = Vec::new();
    for row in rows::all().filter(|row| !UNOFFERED.contains(&row.name)) {
        let one = switch(row);
        match all.iter_mut().find(|other| other.word == one.word) {
            None => all.push(one),
            Some(other) => {
                other.about = format!("{}; or: {}", other.about, one.about);
                other.needs_value &= one.needs_value;
                other.values.extend(one.values);
                other.takes_path |= one.takes_path;
                other.has_path_behind_comma |= one.has_path_behind_comma;
            }
        }
    }
    all
}

fn switch(row: &Row) -> Switch {
    let known = row.offers.values();
    // What the letters alone mean, where that is another thing than all of them.
    let alone = known.iter().find(|(value, _)| value.is_empty());
    let about = alone.map_or_else(|| first_words(row.help), |(_, about)| about.to_string());
    let mut values = Vec::new();
    for (value, meaning) in known {
        if !value.is_empty() {
            let meaning = if meaning.is_empty() { about.as_str() } else { meaning };
            values.push((value.to_string(), meaning.to_string()));
        }
    }
    Switch {
        word: format!("-{}", row.name),
        needs_value: !row.value.is_empty() && !row.value.starts_with('['),
        values,
        takes_path: row.offers.is_path(),
        has_path_behind_comma: matches!(row.offers, Offers::UsualThenFile(_)),
        about,
    }
}

/// The first sentence, without what follows a semicolon or a colon.
fn first_words(help: &str) -> String {
    let end = [". ", "; ", ": "].iter().filter_map(|end| help.find(end)).min().unwrap_or(help.len());
    help[..end].trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_offered_but_those_that_nobody_wants() {
        let all = switches();
        for row in rows::all() {
            let word = format!("-{}", row.name);
            let is_offered = all.iter().any(|switch| switch.word == word);
            assert_eq!(is_offered, !UNOFFERED.contains(&row.name), "{word}");
        }
    }

    #[test]
    fn a_switch_knows_whether_it_is_complete() {
        let all = switches();
        let of = |word: &str| all.iter().find(|switch| switch.word == word).expect(word).clone();
        assert!(of("-b").needs_value && of("-f").needs_value && of("--json").needs_value);
        assert!(
            !of("-S").needs_value
                && !of("-Z").needs_value
                && !of("-L").needs_value
                && !of("--live").needs_value
        );
        assert!(of("-X").takes_path && of("-Z").has_path_behind_comma && of("--store").takes_path);
        let words: Vec<String> = of("-f").glued().map(|(word, _)| word).collect();
        assert!(words.contains(&"-f1G".to_string()) && words.contains(&"-fr".to_string()), "{words:?}");
        assert!(all.iter().all(|switch| !switch.about.is_empty() && !switch.about.contains('\n')));
    }
}
