//! Lists of names in sentences, and things that are told once.

/// Names of a list at most.
const NAMED_MAX: usize = 6;

/// `a`, `a and b`, `a, b and c`, `a, b, c, d, e, f and 3 more`.
pub(super) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_string(),
        [first @ .., last] if names.len() <= NAMED_MAX => format!("{} and {last}", first.join(", ")),
        all => format!("{} and {} more", all[..NAMED_MAX].join(", "), all.len() - NAMED_MAX),
    }
}

/// Equal things with the names of all that have them, in the order of the first.
pub(super) fn collapsed<T: PartialEq, N>(all: impl IntoIterator<Item = (N, T)>) -> Vec<(Vec<N>, T)> {
    let mut found: Vec<(Vec<N>, T)> = Vec::new();
    for (name, thing) in all {
        match found.iter_mut().find(|(_, other)| *other == thing) {
            Some((names, _)) => names.push(name),
            None => found.push((vec![name], thing)),
        }
    }
    found
}

/// Each of them once, in the order of the first.
pub(super) fn once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    collapsed(all.into_iter().map(|one| ((), one))).into_iter().map(|(_, one)| one).collect()
}

/// A sentence begins with a capital letter.
pub(super) fn first_large(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_as_in_speech() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        assert_eq!(listed(&names[..0]), "");
        assert_eq!(listed(&names[..1]), "a");
        assert_eq!(listed(&names[..2]), "a and b");
        assert_eq!(listed(&names[..6]), "a, b, c, d, e and f");
        assert_eq!(listed(&names), "a, b, c, d, e, f and 2 more");
    }

    #[test]
    fn equal_things_are_told_once() {
        let found = collapsed([("a", 1), ("b", 2), ("c", 1)]);
        assert_eq!(found, [(vec!["a", "c"], 1), (vec!["b"], 2)]);
    }
}
