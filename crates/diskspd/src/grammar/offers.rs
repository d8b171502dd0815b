//! What a shell may offer behind an option: its values, where they are known.

use crate::render;
use truespd_core::engine;

/// Values of an option, for completion. The parser does not use them.
#[derive(Debug, Clone, Copy)]
pub enum Offers {
    /// It takes none, or only the person knows it.
    Nothing,
    /// Legal values, each with what it does; an empty one stands for the option alone.
    Words(&'static [(&'static str, &'static str)]),
    /// Usual values among many.
    Usual(&'static [&'static str]),
    /// A file.
    File,
    /// Usual values; behind one of them and a comma, a file.
    UsualThenFile(&'static [&'static str]),
    /// A file or device that is tested.
    Target,
    /// The engines of this program.
    Engines,
    /// The formats of a result.
    Formats,
}

impl Offers {
    /// The values, each with what it does (empty where the option itself says it).
    pub fn values(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Offers::Nothing | Offers::File | Offers::Target => Vec::new(),
            Offers::Words(words) => words.to_vec(),
            Offers::Usual(usual) | Offers::UsualThenFile(usual) => {
                usual.iter().map(|one| (*one, "")).collect()
            }
            Offers::Engines => engine::TABLE.iter().map(|row| (row.name, row.summary)).collect(),
            Offers::Formats => render::FORMATS.iter().map(|row| (row.name, row.summary)).collect(),
        }
    }

    /// The whole value is a path.
    pub fn is_path(self) -> bool {
        matches!(self, Offers::File | Offers::Target)
    }
}

pub(super) const BLOCKS: Offers =
    Offers::Usual(&["512", "4K", "8K", "16K", "32K", "64K", "128K", "256K", "512K", "1M", "2M", "4M", "8M"]);
pub(super) const FILE_SIZES: Offers = Offers::Usual(&["1G", "4G", "10G", "32G", "100G"]);
pub(super) const STEPS: Offers = Offers::Usual(&["4K", "64K", "1M"]);
pub(super) const MIXED: Offers = Offers::Usual(&["10", "25", "50", "75", "90"]);
pub(super) const WRITES: Offers = Offers::Usual(&["0", "10", "25", "30", "50", "70", "100"]);
pub(super) const THREADS: Offers = Offers::Usual(&["1", "2", "4", "8", "16", "32"]);
pub(super) const DEPTHS: Offers = Offers::Usual(&["1", "2", "4", "8", "16", "32", "64", "128", "256"]);
pub(super) const BATCHES: Offers = Offers::Usual(&["1", "4", "16", "32"]);
pub(super) const RATES: Offers = Offers::Usual(&["100i", "1000i", "10000i", "100000i", "102400", "1048576"]);
pub(super) const SECONDS: Offers = Offers::Usual(&["5", "10", "30", "60", "300", "600", "3600"]);
pub(super) const PAUSES: Offers = Offers::Usual(&["0", "5", "10", "30", "60"]);
pub(super) const INTERVALS: Offers = Offers::Usual(&["100", "250", "500", "1000"]);
pub(super) const SOURCES: Offers = Offers::UsualThenFile(&["1M", "20M", "100M", "1G"]);
pub(super) const PROCESSORS: Offers = Offers::Usual(&["0", "0,1", "0-3", "g0"]);
pub(super) const TEXT_OR_XML: Offers = Offers::Words(&[("text", "as text"), ("xml", "as XML")]);

pub(super) const HINTS: Offers = Offers::Words(&[
    ("r", "random"),
    ("s", "sequential scan"),
    ("t", "temporary file: only kept in the profile"),
    ("rs", "random and sequential scan: random counts"),
]);
pub(super) const PLACEMENTS: Offers = Offers::Words(&[
    ("c", "a thread per core first"),
    ("s", "spread over groups"),
    ("p", "performance cores first within each group"),
    ("P", "performance cores first over all groups"),
    ("e", "efficiency cores first within each group"),
    ("E", "efficiency cores first over all groups"),
    ("up", "in order of number"),
    ("cs", "a thread per core first, spread over groups"),
]);
pub(super) const CACHING: Offers = Offers::Words(&[
    ("", "unbuffered, as -Su"),
    ("b", "cached (the default)"),
    ("h", "unbuffered and write-through: O_DIRECT and O_DSYNC"),
    ("m", "memory mapped"),
    ("r", "without client cache: O_DIRECT on network file systems only"),
    ("u", "unbuffered: O_DIRECT"),
    ("w", "cached and write-through: O_DSYNC"),
    ("bm", "memory mapped, as m"),
    ("bw", "cached and write-through, as w"),
    ("mr", "memory mapped, without client cache"),
    ("mw", "memory mapped and write-through"),
    ("rw", "without client cache, write-through"),
    ("uw", "unbuffered and write-through, as h"),
    ("bmw", "memory mapped and write-through, as mw"),
    ("mrw", "memory mapped, without client cache, write-through"),
]);
pub(super) const FLUSHES: Offers = Offers::Words(&[
    ("v", "msync"),
    ("n", "cache-line write-back and fence, on DAX files"),
    ("i", "cache-line write-back without fence, on DAX files"),
]);
pub(super) const SEPARATION: Offers =
    Offers::Words(&[("p", "separated (the default)"), ("n", "packed: only kept in the profile")]);
pub(super) const PRIORITIES: Offers = Offers::Words(&[
    ("1", "very low: idle class"),
    ("2", "low: best effort, level 7"),
    ("3", "normal (the default)"),
]);
pub(super) const GRADES: Offers =
    Offers::Words(&[("certified", "nothing speaks against the result"), ("suspect", "certified or suspect")]);
pub(super) const TRACES: Offers = Offers::Words(&[
    ("PROCESS", ""),
    ("THREAD", ""),
    ("IMAGE_LOAD", ""),
    ("DISK_IO", ""),
    ("MEMORY_PAGE_FAULTS", ""),
    ("MEMORY_HARD_FAULTS", ""),
    ("NETWORK", ""),
    ("REGISTRY", ""),
]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::arguments::is_option;
    use crate::grammar::rows::{self, Row};

    fn with(row: &Row, value: &str) -> String {
        let gap = if row.is_long() { "=" } else { "" };
        format!("-{}{gap}{value}", row.name)
    }

    #[test]
    fn every_offered_value_is_legal() {
        let mut seen = 0;
        for row in rows::all() {
            for (value, _) in row.offers.values() {
                let word = with(row, value);
                assert!(is_option(&word), "{word}");
                assert_eq!(
                    rows::find(&word[1..]).map(Row::form),
                    Some(row.form()),
                    "{word} is of another row"
                );
                seen += 1;
            }
        }
        assert!(seen > 100, "{seen}");
    }

    #[test]
    fn every_set_of_cache_letters_is_offered() {
        let offered: Vec<&str> = CACHING.values().iter().map(|(value, _)| *value).collect();
        let letters = ["b", "h", "m", "r", "u", "w"];
        for set in 1..64_u32 {
            let word: String = letters
                .iter()
                .enumerate()
                .filter(|(i, _)| set >> i & 1 == 1)
                .map(|(_, letter)| *letter)
                .collect();
            assert_eq!(is_option(&format!("-S{word}")), offered.contains(&word.as_str()), "-S{word}");
        }
    }

    #[test]
    fn what_is_known_of_values_is_offered_and_files_are_files() {
        for row in rows::all() {
            let form = row.form();
            match row.offers {
                Offers::Nothing => {
                    assert!(!row.value.contains('|') || row.name == "u", "{form} offers nothing")
                }
                Offers::File => assert!(row.value.to_uppercase().contains("FILE"), "{form}"),
                Offers::Target => assert_eq!(row.value, "PATH", "{form}"),
                _ => assert!(!row.value.is_empty(), "{form}"),
            }
            if row.value.to_uppercase().contains("FILE") || row.value == "PATH" {
                assert!(row.offers.is_path() || matches!(row.offers, Offers::UsualThenFile(_)), "{form}");
            }
        }
    }
}
