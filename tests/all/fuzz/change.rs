//! Changes of good inputs, so that they go deep before they are wrong.

use serde_json::{Number, Value};

use crate::support::documents::Random;

/// Numbers at which something may end.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "100",
    "101",
    "255",
    "256",
    "512",
    "4095",
    "4096",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "0.5",
    "1e308",
    "1e-308",
    "1e999",
    "NaN",
    "inf",
    "0x10",
    "00",
    "1,000",
    "4K",
    "4k",
    "64K",
    "1M",
    "1G",
    "1T",
    "1E",
    "16777215T",
    "1b",
    "+1",
];

/// Texts that mean something to a terminal, a shell, a table or a parser.
const TEXTS: &[&str] = &[
    "",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\u{1b}[31m",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{feff}",
    "\u{9b}",
    "\u{0}",
    "\"",
    "'",
    "<",
    "&",
    "]]>",
    "<!--",
    "%s%n",
    "$(id)",
    "`",
    ";",
    ",",
    "=1+1",
    "@x",
    "\\",
    "/",
    "..",
    "//",
    "\u{10ffff}",
    "\u{e9}\u{301}",
    "\u{6f22}",
    "-",
    "--",
    "#0",
    "*1",
    "C:",
];

/// One of `all`; they may not be empty.
pub fn one_of<'a, T>(all: &'a [T], random: &mut Random) -> &'a T {
    &all[random.below(all.len() as u64) as usize]
}

fn place(length: usize, random: &mut Random) -> usize {
    random.below(length as u64 + 1) as usize
}

/// One to four small changes of a text; what `others` have may come in.
pub fn text(seed: impl AsRef<str>, others: &[String], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.as_ref().as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        change_bytes(&mut bytes, others, random);
    }
    bytes
}

fn change_bytes(bytes: &mut Vec<u8>, others: &[String], random: &mut Random) {
    let at = place(bytes.len(), random);
    let end = (at + 1 + random.below(12) as usize).min(bytes.len());
    match random.below(10) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 => drop(bytes.drain(at..end)),
        2 => put(bytes, at..at, one_of(NUMBERS, random).as_bytes()),
        3 => put(bytes, at..at, one_of(TEXTS, random).as_bytes()),
        4 => {
            let again = bytes[at..end].to_vec();
            put(bytes, at..at, &again);
        }
        5 => bytes.truncate(at),
        6 => {
            // A piece of another input.
            let other = one_of(others, random).as_bytes();
            let from = place(other.len(), random);
            let to = (from + random.below(60) as usize).min(other.len());
            put(bytes, at..end, &other[from..to]);
        }
        7 => swap_lines(bytes, random),
        _ => {
            // A number in place of a number.
            let digits = (at..bytes.len()).find(|&i| bytes[i].is_ascii_digit());
            let Some(start) = digits else { return };
            let length = bytes[start..].iter().take_while(|b| b.is_ascii_digit()).count();
            put(bytes, start..start + length, one_of(NUMBERS, random).as_bytes());
        }
    }
}

fn put(bytes: &mut Vec<u8>, place: std::ops::Range<usize>, new: &[u8]) {
    bytes.splice(place, new.iter().copied());
}

fn swap_lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<Vec<u8>> = bytes.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
    let (a, b) = (random.below(lines.len() as u64) as usize, random.below(lines.len() as u64) as usize);
    match random.below(3) {
        0 => lines.swap(a, b),
        1 => lines.insert(a, lines[b].clone()),
        _ => drop(lines.remove(a)),
    }
    *bytes = lines.join(&b'\n');
}

/// A command line from the words of others, some of them changed.
pub fn words(seed: &[String], all: &[Vec<String>], random: &mut Random) -> Vec<String> {
    let mut words = seed.to_vec();
    for _ in 0..=random.below(3) {
        let at = place(words.len(), random);
        let other = one_of(&one_of(all, random)[..], random).clone();
        match random.below(6) {
            0 => words.insert(at, other),
            1 if at < words.len() => drop(words.remove(at)),
            2 if at < words.len() => words[at] = other,
            3 if at < words.len() => {
                let again = words[at].clone();
                words.push(again);
            }
            _ if at < words.len() => {
                let changed = text(&words[at], &[other], random);
                words[at] = String::from_utf8_lossy(&changed).into_owned();
            }
            _ => {}
        }
    }
    words
}

/// One to three changes somewhere in a tree of JSON.
pub fn json(seed: &Value, random: &mut Random) -> Value {
    let mut value = seed.clone();
    for _ in 0..=random.below(3) {
        change_value(&mut value, random);
    }
    value
}

fn change_value(value: &mut Value, random: &mut Random) {
    let deeper = random.below(12) > 0;
    match value {
        Value::Object(members) if deeper && !members.is_empty() => {
            let at = random.below(members.len() as u64) as usize;
            let name = members.keys().nth(at).expect("counted").clone();
            match random.below(14) {
                0 => drop(members.remove(&name)),
                1 => {
                    let moved = members.remove(&name).expect("its name");
                    members.insert(one_of(TEXTS, random).to_string(), moved);
                }
                _ => change_value(&mut members[&name], random),
            }
        }
        Value::Array(items) if deeper && !items.is_empty() => {
            let at = random.below(items.len() as u64) as usize;
            match random.below(10) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, items[at].clone()),
                _ => change_value(&mut items[at], random),
            }
        }
        _ => *value = other_value(value, random),
    }
}

fn other_value(value: &Value, random: &mut Random) -> Value {
    match random.below(6) {
        0 => Value::Null,
        1 => Value::Bool(random.below(2) == 0),
        2 => Value::String(one_of(TEXTS, random).to_string()),
        3 => Value::Array(vec![value.clone(), value.clone()]),
        4 => value.as_u64().map_or(Value::Null, |number| number.wrapping_mul(random.next()).into()),
        _ => {
            let number = one_of(NUMBERS, random);
            number.parse::<Number>().map_or_else(|_| Value::String(number.to_string()), Value::Number)
        }
    }
}
