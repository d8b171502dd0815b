//! Reading the values that follow option letters: sizes and whole numbers (`command-line.md` §3).
//!
//! Positions are characters of the value, never bytes, so that odd input cannot break anything.

use std::ops::{Range, RangeInclusive};

use crate::request::is_tag;
use truespd_platform::text::hides;

/// The value of an option as typed, and where it stands.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a> {
    /// What follows the option letters.
    pub text: &'a str,
    /// Index of the argument that holds the option letters.
    pub word: usize,
}

/// What is wrong with a value.
#[derive(Debug, Clone, Default)]
pub struct Slip {
    /// In words, to follow the option as typed.
    pub what: String,
    /// Characters of the value at fault, `None` for the whole argument.
    pub chars: Option<Range<usize>>,
    /// What would be legal, when it is not simply what the row says.
    pub legal: Option<String>,
    pub hint: Option<String>,
    /// An earlier position that it collides with.
    pub earlier: Option<Position>,
}

/// A position in the command line where something was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub word: usize,
    /// Character of the value, `None` for the whole argument.
    pub char: Option<usize>,
}

impl From<usize> for Position {
    fn from(word: usize) -> Self {
        Position { word, char: None }
    }
}

impl Slip {
    pub fn new(what: impl Into<String>) -> Self {
        Slip { what: what.into(), ..Slip::default() }
    }

    pub fn at(mut self, chars: Range<usize>) -> Self {
        self.chars = Some(chars);
        self
    }

    pub fn legal(mut self, legal: impl Into<String>) -> Self {
        self.legal = Some(legal.into());
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn with(mut self, earlier: impl Into<Position>) -> Self {
        self.earlier = Some(earlier.into());
        self
    }
}

pub fn length(text: &str) -> usize {
    text.chars().count()
}

/// The leading decimal digits: their value (`None` above 2^64-1; only meaningful when there are any)
/// and how many they are.
pub fn digits(text: &str) -> (Option<u64>, usize) {
    let mut value = Some(0u64);
    let mut count = 0;
    for digit in text.chars().map_while(|c| c.to_digit(10)) {
        value = value.and_then(|v| v.checked_mul(10)?.checked_add(u64::from(digit)));
        count += 1;
    }
    (value, count)
}

/// What the number of an option counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Count,
    Percent,
    Seconds,
    Milliseconds,
}

/// Lengths of time in milliseconds, by the words that people write behind a number.
const TIMES: &[(&str, u64)] =
    &[("ms", 1), ("s", 1000), ("sec", 1000), ("m", 60_000), ("min", 60_000), ("h", 3_600_000)];

impl Unit {
    /// Milliseconds in one, of times.
    fn milliseconds(self) -> Option<u64> {
        match self {
            Unit::Seconds => Some(1000),
            Unit::Milliseconds => Some(1),
            Unit::Count | Unit::Percent => None,
        }
    }

    /// The word behind a number says what the option counts anyway.
    fn is_called(self, word: &str) -> bool {
        let time = TIMES.iter().find(|(name, _)| *name == word);
        word == "%" && self == Unit::Percent || time.is_some_and(|(_, ms)| self.milliseconds() == Some(*ms))
    }

    fn plural(self) -> &'static str {
        match self {
            Unit::Count => "",
            Unit::Percent => " percent",
            Unit::Seconds => " seconds",
            Unit::Milliseconds => " milliseconds",
        }
    }
}

/// A number as DiskSpd takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    pub value: u64,
    /// The words say that number and nothing else.
    pub is_plain: bool,
}

/// A number within `range`.
///
/// DiskSpd reads blanks, a plus and digits, and ignores what follows (`command-line.md` §3.2). That is done
/// here, too, where it takes what was meant: a fraction that a script has computed (`-g409.6`), the unit of
/// the option (`-d10s`), a blank within the word (`"-d 10"`). Everything else is refused: `-d1m` would be one
/// second, `-o1e3` one request.
pub fn number(text: &str, unit: Unit, range: RangeInclusive<u64>) -> Result<Number, Slip> {
    let unsigned = text.trim_start_matches([' ', '\t']);
    let unsigned = unsigned.strip_prefix('+').unwrap_or(unsigned);
    let (value, count) = digits(unsigned);
    let tail = &unsigned[count..];
    let word = without_fraction(tail);
    if count == 0 || !(word.is_empty() || unit.is_called(word)) {
        return whole(text, range).map(Number::plain).map_err(|slip| match in_unit(unsigned, unit) {
            Some(hint) => slip.hint(hint),
            None => slip,
        });
    }
    match value.filter(|n| range.contains(n)) {
        Some(value) => Ok(Number { value, is_plain: unsigned.len() == text.len() && tail.is_empty() }),
        None if tail.is_empty() => whole(unsigned, range).map(Number::plain),
        None => {
            let number = &unsigned[..count];
            let what = format!("{text} is taken for {number}, which is out of range");
            Err(Slip::new(what).at(0..length(text)).legal(legal_of(&range)))
        }
    }
}

impl Number {
    fn plain(value: u64) -> Self {
        Number { value, is_plain: true }
    }
}

/// What follows `.5` or `,5`.
fn without_fraction(tail: &str) -> &str {
    let Some(fraction) = tail.strip_prefix(['.', ',']) else { return tail };
    let rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() < fraction.len() { rest } else { tail }
}

/// A number with another unit of time, in the unit of the option.
fn in_unit(text: &str, unit: Unit) -> Option<String> {
    let of_unit = unit.milliseconds()?;
    let (number, word) = decimal(text)?;
    let (_, ms) = TIMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word))?;
    let whole = number.times(*ms)?;
    let plural = unit.plural();
    Some(match whole % of_unit {
        0 => format!("write {} for {text}: the option takes{plural}", whole / of_unit),
        _ => format!("{text} is not a whole number of{plural}, which the option takes"),
    })
}

/// A number with a fraction: `digits` / 10^`places`.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    digits: u128,
    places: u32,
}

/// Places of a fraction that are read.
const PLACES_MAX: usize = 9;
/// Characters of a label, a tag or a revision at most.
const WORDS_MAX: usize = 200;

/// The decimal number at the start of a text, and what follows it.
fn decimal(text: &str) -> Option<(Decimal, &str)> {
    let (whole, count) = digits(text);
    if count == 0 {
        return None;
    }
    let whole = whole?;
    let rest = &text[count..];
    let word = without_fraction(rest);
    // The digits behind the point.
    let places = rest.len() - word.len();
    let fraction = if places > 1 { &rest[1..places] } else { "" };
    if fraction.len() > PLACES_MAX {
        return None;
    }
    let places = u32::try_from(fraction.len()).ok()?;
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    Some((Decimal { digits: u128::from(whole) * 10u128.pow(places) + part, places }, word))
}

impl Decimal {
    /// The number times something, when that is whole and fits.
    fn times(self, unit: u64) -> Option<u64> {
        let (product, one) = (self.digits.checked_mul(u128::from(unit))?, 10u128.pow(self.places));
        (product % one == 0).then_some(product / one).and_then(|whole| u64::try_from(whole).ok())
    }

    fn about(self, unit: u64) -> Option<u64> {
        u64::try_from(self.digits.checked_mul(u128::from(unit))? / 10u128.pow(self.places)).ok()
    }
}

fn legal_of(range: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}, digits only", range.start(), range.end())
}

/// A whole number within `range`: digits only, to the end.
pub fn whole(text: &str, range: RangeInclusive<u64>) -> Result<u64, Slip> {
    let legal = legal_of(&range);
    if text.is_empty() {
        return Err(Slip::new("a number is missing").at(0..0).legal(legal));
    }
    let (value, count) = digits(text);
    if let Some(c) = text.chars().nth(count) {
        return Err(not_a_digit(c, count, text, &range).legal(legal));
    }
    match value {
        Some(n) if range.contains(&n) => Ok(n),
        _ => {
            let what = format!("{text} is out of range");
            Err(Slip::new(what).at(0..count).legal(legal))
        }
    }
}

fn not_a_digit(c: char, at: usize, text: &str, range: &RangeInclusive<u64>) -> Slip {
    let slip = match c {
        '-' if at == 0 => Slip::new("a negative number is not allowed here"),
        '+' if at == 0 => Slip::new("a sign is not allowed"),
        _ => Slip::new(format!("'{c}' is not a digit")),
    };
    let number = text.chars().take(at).collect::<String>();
    let tail: String = text.chars().skip(at).collect();
    let in_range = number.parse().is_ok_and(|n: u64| range.contains(&n));
    let slip = slip.at(at..at + 1);
    match tail.as_str() {
        "%" | "s" | "ms" if in_range => slip.hint(format!("leave the unit out: {number}")),
        "k" | "K" | "m" | "M" | "g" | "G" if at > 0 => slip.hint("this option takes no size suffix"),
        _ => slip,
    }
}

pub fn whole32(text: &str, min: u32) -> Result<u32, Slip> {
    let n = whole(text, u64::from(min)..=u64::from(u32::MAX))?;
    Ok(u32::try_from(n).expect("the range ends at 32 bits"))
}

const SIZE_LEGAL: &str = "digits and one suffix of K M G T (2^10, 2^20, 2^30, 2^40) or b (blocks of -b), in \
                          either case: 512, 4K, 20g, 8b";

/// A size at the start of `text`, in bytes, and how many characters it takes.
///
/// Only the characters of `stops` may follow it, for options that go on after a size.
pub fn size_until(text: &str, block_bytes: u64, stops: &[char]) -> Result<(u64, usize), Slip> {
    let (value, count) = digits(text);
    let next = text.chars().nth(count);
    if count == 0 {
        return Err(match next {
            None => Slip::new("a size is missing").at(0..0),
            Some(c) if stops.contains(&c) => Slip::new("a size is missing").at(0..0),
            Some('-' | '+') => Slip::new("a size has no sign").at(0..1),
            Some(c) => Slip::new(format!("'{c}' is not a digit, and a size begins with one")).at(0..1),
        }
        .legal(SIZE_LEGAL));
    }
    let unit = match next {
        None => 1,
        Some(c) if stops.contains(&c) => 1,
        Some('k' | 'K') => 1 << 10,
        Some('m' | 'M') => 1 << 20,
        Some('g' | 'G') => 1 << 30,
        Some('t' | 'T') => 1 << 40,
        Some('b' | 'B') => block_bytes,
        Some(c) => return Err(wrong_suffix(c, count, text)),
    };
    let used = count + usize::from(next.is_some_and(|c| !stops.contains(&c)));
    if let Some(c) = text.chars().nth(used)
        && !stops.contains(&c)
    {
        return Err(after_the_suffix(text, used));
    }
    match value.and_then(|v| v.checked_mul(unit)) {
        Some(bytes) => Ok((bytes, used)),
        None => {
            let typed: String = text.chars().take(used).collect();
            let slip = Slip::new(format!("{typed} does not fit into 64 bits")).at(0..used);
            Err(slip.legal(format!("sizes up to {} bytes", u64::MAX)))
        }
    }
}

fn wrong_suffix(c: char, at: usize, text: &str) -> Slip {
    let slip = Slip::new(format!("'{c}' is not a size suffix")).at(at..at + 1).legal(SIZE_LEGAL);
    match c {
        '.' | ',' => match without_a_fraction(text) {
            Some(whole) => slip.hint(format!("there are no fractions: write {whole}")),
            None => slip.hint("there are no fractions: use the next smaller unit, such as 1536K for 1.5 MiB"),
        },
        'x' | 'X' if text.starts_with('0') => slip.hint("sizes are decimal, there is no hexadecimal form"),
        'e' | 'E' => slip.hint("there is no exponent: write the digits, or use a suffix"),
        'i' => slip.hint("leave the i out"),
        'p' | 'P' => slip.hint("T is the largest unit"),
        _ => slip,
    }
}

/// A size with a fraction in a smaller unit: `1.5G` as `1536M`.
fn without_a_fraction(text: &str) -> Option<String> {
    const UNITS: [(&str, u64); 5] = [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10), ("", 1)];
    let (number, suffix) = decimal(text)?;
    let (_, bytes) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(suffix))?;
    let mut smaller = UNITS.iter().filter(|(_, unit)| unit < bytes);
    let exact = smaller.clone().find_map(|(name, unit)| Some((number.times(bytes / unit)?, *name)));
    match exact.filter(|(count, _)| *count > 0) {
        Some((count, name)) if !name.is_empty() || count < 1 << 20 => Some(format!("{count}{name}")),
        // A number that has no end in binary, like 1.3: the next smaller unit is near enough.
        _ => {
            let (name, unit) = smaller.next()?;
            let count = number.about(bytes / unit)?;
            Some(format!("{count}{name} or {}{name}", count + 1))
        }
    }
}

fn after_the_suffix(text: &str, used: usize) -> Slip {
    let tail: String = text.chars().skip(used).collect();
    let slip =
        Slip::new(format!("'{tail}' follows the size")).at(used..used + length(&tail)).legal(SIZE_LEGAL);
    if ["b", "ib", "i"].contains(&tail.to_ascii_lowercase().as_str()) {
        let number: String = text.chars().take(used).collect();
        return slip.hint(format!("write {number}: a suffix is a single letter, and K already means KiB"));
    }
    slip
}

/// Moves the positions of a slip that was found in a part of the value.
pub fn shifted(mut slip: Slip, by: usize) -> Slip {
    slip.chars = slip.chars.map(|chars| chars.start + by..chars.end + by);
    slip
}

/// A size that takes the whole value.
pub fn size(text: &str, block_bytes: u64) -> Result<u64, Slip> {
    size_until(text, block_bytes, &[]).map(|(bytes, _)| bytes)
}

/// A size above 0 that takes the whole value.
pub fn size_above_zero(text: &str, block_bytes: u64) -> Result<u64, Slip> {
    match size(text, block_bytes)? {
        0 => Err(Slip::new("a size of 0 is not allowed here").at(0..length(text)).legal("a size above 0")),
        bytes => Ok(bytes),
    }
}

/// Reads a label or a revision; the error is what is legal.
pub fn history_label(text: &str) -> Result<String, &'static str> {
    let is_legal = !text.trim().is_empty() && text.trim() == text && text.chars().count() <= WORDS_MAX;
    if is_legal && !text.contains(hides) {
        Ok(text.to_string())
    } else {
        Err("1 to 200 characters, without blanks at the ends, line ends and control characters")
    }
}

/// Reads a tag; the error is what is legal.
pub fn history_tag(text: &str) -> Result<String, &'static str> {
    if is_tag(text) && text.chars().count() <= WORDS_MAX {
        Ok(text.to_string())
    } else {
        Err("a word of letters, digits and . _ : / = -, which begins with a letter or digit: --tag nightly")
    }
}

/// What is legal behind `--precondition`.
pub const PASSES_LEGAL: &str = "a number of passes from 1 to 100 with an x behind it: 2x";

/// The number of `2x`; none where the text is something else.
pub fn passes(text: &str) -> Option<u32> {
    let number = text.strip_suffix('x')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|passes| is_number && (1..=100).contains(passes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("0", 0),
            ("007", 7),
            ("4k", 4096),
            ("4K", 4096),
            ("3m", 3 << 20),
            ("2G", 2 << 30),
            ("1t", 1 << 40),
            ("10b", 81920),
            ("10B", 81920),
            ("18446744073709551615", u64::MAX),
            ("18014398509481983K", 18014398509481983 << 10),
            ("16777215T", 16777215 << 40),
        ] {
            assert_eq!(size(text, 8192).ok(), Some(bytes), "{text}");
        }
    }

    #[test]
    fn refused_sizes_point_at_the_character() {
        for (text, chars) in [
            ("", 0..0),
            ("K", 0..1),
            ("-4k", 0..1),
            ("+4k", 0..1),
            (" 4k", 0..1),
            ("4q", 1..2),
            ("4.5k", 1..2),
            ("0x10", 1..2),
            ("1e9", 1..2),
            ("4KB", 2..3),
            ("4KiB", 2..4),
            ("1GiB", 2..4),
            ("18446744073709551616", 0..20),
            ("30000000000000000000", 0..20),
            ("18014398509481984K", 0..18),
            ("16777216T", 0..9),
            ("\u{664}k", 0..1),
        ] {
            let slip = size(text, 8192).expect_err(text);
            assert_eq!(slip.chars, Some(chars), "{text}: {}", slip.what);
            assert!(slip.legal.is_some(), "{text}");
        }
    }

    #[test]
    fn a_size_may_be_followed_where_the_option_says_so() {
        assert_eq!(size_until("4k:8k", 512, &[':']).ok(), Some((4096, 2)));
        assert_eq!(size_until("4:8", 512, &[':']).ok(), Some((4, 1)));
        assert_eq!(size_until("4kx:8", 512, &[':']).expect_err("x").chars, Some(2..5));
        assert_eq!(size_until(":8", 512, &[':']).expect_err("none").chars, Some(0..0));
    }

    #[test]
    fn whole_numbers_are_strict() {
        assert_eq!(whole("0", 0..=5).ok(), Some(0));
        assert_eq!(whole("005", 0..=5).ok(), Some(5));
        for text in ["", "6", "-1", "+1", " 1", "1 ", "1x", "x", "99999999999999999999999"] {
            assert!(whole(text, 0..=5).is_err(), "{text}");
        }
        assert_eq!(whole32("4294967295", 1).ok(), Some(u32::MAX));
        assert!(whole32("4294967296", 1).is_err());
        assert!(whole32("0", 1).is_err());
    }
}
