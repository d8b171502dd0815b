//! Words that people write for a size.

/// The size in DiskSpd's spelling (`1G`), of a word such as `1GB`, `64KiB` or `4k`; none of other words, and
/// of plain numbers.
pub fn meant_size(word: &str) -> Option<String> {
    let end = word.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = word.split_at(end);
    let mut letters = unit.chars().map(|c| c.to_ascii_uppercase());
    let first = letters.next().filter(|c| "KMGT".contains(*c))?;
    let rest: String = letters.collect();
    let is_size = !digits.is_empty() && matches!(rest.as_str(), "" | "B" | "IB");
    is_size.then(|| format!("{digits}{first}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_known_in_all_spellings() {
        for (word, size) in [
            ("1GB", Some("1G")),
            ("64KiB", Some("64K")),
            ("4k", Some("4K")),
            ("10tb", Some("10T")),
            ("16", None),
            ("GB", None),
            ("1GBx", None),
            ("1.5G", None),
            ("x1G", None),
            ("", None),
        ] {
            assert_eq!(meant_size(word).as_deref(), size, "{word}");
        }
    }
}
