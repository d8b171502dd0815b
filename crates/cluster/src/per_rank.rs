//! What is different on each rank: words in braces (`{host}`, `{rank}`, `{local}`, `{n}`), and with `--shard` the
//! stretch of a target.

use truespd_core::profile::{Profile, Target};
use truespd_platform::fault::{Caret, Refusal, RefusalKind};
use truespd_platform::text::{printable, size};

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
pub const LEGAL: &str = "{host} (name of the host), {rank} (number of the rank, from 0), {local} (its number on its \
    host, from 0), {n} (number of ranks); {{ and }} stand for braces";

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
        words.iter().enumerate().map(|(index, word)| self.replace(index, word)).collect()
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
                        return Err(unknown_name(
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

fn unknown_name(word: &str, name: &str, is_closed: bool, mark: Caret) -> Refusal {
    let what = if is_closed {
        format!("'{word}': {{{name}}} means nothing here")
    } else {
        format!("'{word}': the closing brace is missing")
    };
    Refusal::command_line(what).at([mark]).legal(LEGAL)
}

/// Gives every target of the profile the stretch of one rank. `size_of` tells the size of a target that is there.
///
/// What is tested (from `-B`, up to `-f` or the end) is cut into as many equal stretches as there are ranks,
/// each a whole number of blocks; the rest at the end is not tested.
///
/// # Errors
/// A target whose size is not known, or with less than one block for each rank.
pub fn shard(
    profile: &mut Profile,
    rank: u32,
    ranks: u32,
    size_of: &dyn Fn(&Target) -> Option<u64>,
) -> Result<(), Vec<Refusal>> {
    let mut refusals = Vec::new();
    let targets = profile.time_spans.iter_mut().flat_map(|span| &mut span.targets);
    for target in targets {
        let known = target.create_bytes.filter(|&bytes| bytes > 0).or_else(|| size_of(target));
        match known.ok_or_else(|| unknown_size(target)).and_then(|size| stretch(target, size, rank, ranks)) {
            Ok((base_bytes, max_bytes)) => (target.base_bytes, target.max_bytes) = (base_bytes, max_bytes),
            Err(refusal) if refusals.contains(&refusal) => {}
            Err(refusal) => refusals.push(refusal),
        }
    }
    if refusals.is_empty() { Ok(()) } else { Err(refusals) }
}

/// Begin and end of the stretch, as `-B` and `-f` mean them.
fn stretch(target: &Target, size_bytes: u64, rank: u32, ranks: u32) -> Result<(u64, u64), Refusal> {
    let end = if target.max_bytes > 0 { target.max_bytes.min(size_bytes) } else { size_bytes };
    let whole = end.saturating_sub(target.base_bytes);
    let blocks = whole / u64::from(ranks.max(1)) / target.block_bytes.max(1);
    if blocks == 0 {
        let message = format!(
            "'{}': {} are not enough for {ranks} ranks with blocks of {} (--shard)",
            printable(&target.path),
            size(whole),
            size(target.block_bytes)
        );
        return Err(Refusal::new(RefusalKind::Target, message)
            .on(&target.path)
            .hint("use a larger file, or fewer ranks"));
    }
    let length = blocks * target.block_bytes;
    let base = target.base_bytes + u64::from(rank) * length;
    Ok((base, base + length))
}

fn unknown_size(target: &Target) -> Refusal {
    let message = format!(
        "'{}': its size is not known, so it cannot be cut into stretches (--shard)",
        printable(&target.path)
    );
    Refusal::new(RefusalKind::Target, message)
        .on(&target.path)
        .hint("make the file with -c<size>, or check its path")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use truespd_core::profile::TimeSpan;

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

    fn profile(target: Target) -> Profile {
        Profile {
            time_spans: vec![TimeSpan { targets: vec![target], ..TimeSpan::default() }],
            ..Profile::default()
        }
    }

    fn sharded(
        target: &Target,
        rank: u32,
        ranks: u32,
        size: Option<u64>,
    ) -> Result<(u64, u64), Vec<Refusal>> {
        let mut profile = profile(target.clone());
        shard(&mut profile, rank, ranks, &|_| size)?;
        let target = &profile.time_spans[0].targets[0];
        Ok((target.base_bytes, target.max_bytes))
    }

    proptest! {
        #[test]
        fn stretches_are_equal_whole_and_apart(
            block in prop::sample::select(vec![512u64, 4096, 65536]),
            base in 0u64..1 << 20,
            limit in prop::sample::select(vec![0u64, 3 << 20, 1 << 40]),
            size in (8u64 << 20)..(1 << 30),
            ranks in 1u32..64,
        ) {
            let target = Target { block_bytes: block, base_bytes: base, max_bytes: limit, ..Target::default() };
            let all: Result<Vec<_>, _> = (0..ranks).map(|rank| sharded(&target, rank, ranks, Some(size))).collect();
            if let Ok(all) = all {
                prop_assert_eq!(all[0].0, base);
                for two in all.windows(2) {
                    prop_assert_eq!(two[0].1, two[1].0, "side by side");
                }
                let length = all[0].1 - all[0].0;
                prop_assert!(length > 0 && length % block == 0);
                prop_assert!(all.iter().all(|(begin, end)| end - begin == length));
                let end = if limit > 0 { limit.min(size) } else { size };
                prop_assert!(all[all.len() - 1].1 <= end);
                prop_assert!(end - all[all.len() - 1].1 < block * u64::from(ranks), "less than a block \
                    each is left over");
            }
        }
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        let target = Target { block_bytes: 4096, ..Target::default() };
        assert!(sharded(&target, 0, 4, Some(4 * 4096)).is_ok());
        let refusals = sharded(&target, 0, 4, Some(4 * 4096 - 1)).expect_err("too small");
        assert!(refusals[0].message.contains("not enough for 4 ranks"), "{}", refusals[0].message);
        let refusals = sharded(&target, 0, 4, None).expect_err("no size");
        assert!(refusals[0].message.contains("size is not known"), "{}", refusals[0].message);
        let made = Target { create_bytes: Some(1 << 20), ..target };
        assert_eq!(sharded(&made, 3, 4, None), Ok((768 << 10, 1 << 20)));
    }
}
