//! Words of a command line that are different on each rank: `{host}`, `{rank}`, `{local}` and `{n}`.

use truespd_core::fault::{Caret, Refusal};

/// What the words stand for on one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values<'a> {
    /// `{host}`: name of the host.
    pub host: &'a str,
    /// `{rank}`: number of the rank, from 0.
    pub rank: u32,
    /// `{local}`: number of the rank among those of its host, from 0.
    pub local: u32,
    /// `{n}`: ranks of the run.
    pub ranks: u32,
}

/// What is legal between braces, for messages.
pub const LEGAL: &str = "{host} (name of the host), {rank} (number of the rank, from 0), {local} (its number on its host, \
                         from 0), {n} (number of ranks); {{ and }} stand for braces";

impl Values<'_> {
    fn of(&self, name: &str) -> Option<String> {
        Some(match name {
            "host" => self.host.to_string(),
            "rank" => self.rank.to_string(),
            "local" => self.local.to_string(),
            "n" => self.ranks.to_string(),
            _ => return None,
        })
    }

    /// The words of a command line on this rank.
    ///
    /// # Errors
    /// What stands between braces and means nothing, marked in its word.
    pub fn replaced(&self, words: &[String]) -> Result<Vec<String>, Refusal> {
        let replaced = |(index, word): (usize, &String)| self.replace(index, word);
        words.iter().enumerate().map(replaced).collect()
    }

    fn replace(&self, index: usize, word: &str) -> Result<String, Refusal> {
        let chars: Vec<char> = word.chars().collect();
        let mut text = String::new();
        let mut at = 0;
        while at < chars.len() {
            match (chars[at], chars.get(at + 1)) {
                (brace @ ('{' | '}'), Some(next)) if *next == brace => {
                    text.push(brace);
                    at += 2;
                }
                ('{', _) => {
                    let end = chars[at..].iter().position(|c| *c == '}').map(|length| at + length);
                    let name: String = chars[at + 1..end.unwrap_or(chars.len())].iter().collect();
                    let Some((end, value)) = end.zip(self.of(&name)) else {
                        let until = end.map_or(chars.len(), |end| end + 1);
                        return Err(unknown(
                            word,
                            &name,
                            end.is_some(),
                            Caret { word: index, chars: at..until, main: true },
                        ));
                    };
                    text.push_str(&value);
                    at = end + 1;
                }
                (c, _) => {
                    text.push(c);
                    at += 1;
                }
            }
        }
        Ok(text)
    }
}

fn unknown(word: &str, name: &str, is_closed: bool, mark: Caret) -> Refusal {
    let what = if is_closed {
        format!("'{word}': {{{name}}} means nothing here")
    } else {
        format!("'{word}': the closing brace is missing")
    };
    Refusal::command_line(what).at([mark]).legal(LEGAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: Values<'static> = Values { host: "b", rank: 7, local: 1, ranks: 12 };

    fn replaced(word: &str) -> Result<String, Refusal> {
        VALUES.replaced(&[word.to_string()]).map(|words| words.concat())
    }

    #[test]
    fn each_word_has_its_value() {
        for (word, value) in [
            ("/d/{host}.{rank}", "/d/b.7"),
            ("{local}of{n}", "1of12"),
            ("plain", "plain"),
            ("{{rank}}", "{rank}"),
            ("a}b", "a}b"),
            ("", ""),
        ] {
            assert_eq!(replaced(word).as_deref(), Ok(value), "{word}");
        }
    }

    #[test]
    fn anything_else_is_refused_where_it_stands() {
        for (word, chars) in [("x{hosts}y", 1..8), ("ä{}", 1..3), ("{rank", 0..5)] {
            let refusal = replaced(word).expect_err(word);
            assert_eq!(refusal.marks[0].chars, chars, "{word}");
            assert!(refusal.legal[0].contains("{rank}"), "{word}");
        }
    }
}
