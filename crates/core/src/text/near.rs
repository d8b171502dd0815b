//! The word that was probably meant.

/// The candidate nearest to what was typed, if it is near enough to be meant.
pub fn nearest<'c>(typed: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let typed: Vec<char> = typed.chars().collect();
    // One slip in three letters; a beginning may go on as it likes.
    let allowed = (typed.len() / 3).max(1);
    let distance_to = |candidate: &'c str| {
        let letters: Vec<char> = candidate.chars().collect();
        let is_beginning = typed.len() >= 3 && letters.starts_with(&typed);
        let distance = if is_beginning { 1 } else { distance(&typed, &letters) };
        (distance, candidate)
    };
    let (distance, candidate) = candidates.map(distance_to).min_by_key(|(distance, _)| *distance)?;
    (distance <= allowed).then_some(candidate)
}

/// Letters to add, to leave out, to change, or to swap with the next one (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    // Of the last two rows of the table, and the present one.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 6] = ["overwrite", "verdict", "json", "xml", "recreate", "require"];

    fn near(typed: &str) -> Option<&'static str> {
        nearest(typed, WORDS.into_iter())
    }

    #[test]
    fn slips_of_the_finger_are_seen() {
        for (typed, meant) in [
            ("overwirte", "overwrite"),
            ("over", "overwrite"),
            ("verdit", "verdict"),
            ("jsn", "json"),
            ("josn", "json"),
            ("rqeuire", "require"),
            ("xml", "xml"),
        ] {
            assert_eq!(near(typed), Some(meant), "{typed}");
        }
    }

    #[test]
    fn other_words_are_not() {
        for typed in ["", "o", "rw", "filename", "direct", "runtime"] {
            assert_eq!(near(typed), None, "{typed}");
        }
        assert_eq!(nearest("json", std::iter::empty()), None);
    }

    #[test]
    fn a_distance_counts_slips() {
        let of = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(
            (of("", ""), of("a", ""), of("", "ab"), of("ab", "ba"), of("abc", "abd")),
            (0, 1, 2, 1, 1)
        );
        assert_eq!(of("kitten", "sitting"), 3);
    }
}
