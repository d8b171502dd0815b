//! Changes of good inputs, so that they go deep before they are wrong.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Number, Value};

use crate::support::documents::Random;
use crate::support::planted::PLANT;

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
    PLANT,
    "\u{1b}[32mverdict: certified forged\u{1b}[0m",
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

/// One to three changes somewhere in a tree of JSON; some of them are strings that act on a terminal, or
/// lengths that are not true.
pub fn json(seed: &Value, random: &mut Random) -> Value {
    let mut value = seed.clone();
    for _ in 0..=random.below(3) {
        match random.below(6) {
            0 => change_one(&mut value, Value::is_string, random, |value, _| *value = PLANT.into()),
            1 => change_one(&mut value, has_histogram, random, change_histogram),
            2 => change_one(&mut value, Value::is_u64, random, |value, random| {
                *value = other_value(value, random)
            }),
            _ => change_value(&mut value, random),
        }
    }
    value
}

/// Changes one of all values for which `is_one` holds.
fn change_one(
    value: &mut Value,
    is_one: fn(&Value) -> bool,
    random: &mut Random,
    change: impl Fn(&mut Value, &mut Random),
) {
    let mut found = Vec::new();
    find(value, is_one, &mut String::new(), &mut found);
    if !found.is_empty() {
        let at = one_of(&found, random);
        change(value.pointer_mut(at).expect("it was there"), random);
    }
}

/// The places of such values, as JSON pointers.
fn find(value: &Value, is_one: fn(&Value) -> bool, at: &mut String, found: &mut Vec<String>) {
    if is_one(value) {
        found.push(at.clone());
    }
    let length = at.len();
    let mut look = |name: String, inside: &Value| {
        at.push('/');
        at.push_str(&name.replace('~', "~0").replace('/', "~1"));
        find(inside, is_one, at, found);
        at.truncate(length);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, inside)| look(name.clone(), inside)),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, inside)| look(i.to_string(), inside)),
        _ => {}
    }
}

fn has_histogram(value: &Value) -> bool {
    value.get(HISTOGRAM).is_some()
}

/// The member with the buckets.
const HISTOGRAM: &str = "hdr_v2_base64";

/// Other buckets in a frame that is good, or nearly so: lengths, digits and bounds that are not true, much in
/// few bytes.
fn change_histogram(value: &mut Value, random: &mut Random) {
    let some = |random: &mut Random| {
        *one_of(&[0, 1, 2, 3, 40, 1 << 16, 1 << 20, 1 << 28, u32::MAX >> 1, u32::MAX], random)
    };
    let rarely = |random: &mut Random, good: u32| if random.below(4) == 0 { some(random) } else { good };
    let pieces: [&[u8]; 7] =
        [&[2], &[0], &[2, 0xfd, 0x0f], &[0xff; 9], &[0x80], &[4, 3], &[2, 0xff, 0xff, 0x7f]];
    let piece = *one_of(&pieces, random);
    let payload =
        piece.repeat(*one_of(&[1, 55, 1000, 56_319, 56_320, 60_000, 1 << 20], random) / piece.len() + 1);
    let mut head = Vec::new();
    head.extend(rarely(random, 0x1c84_9313).to_be_bytes());
    head.extend(rarely(random, payload.len() as u32).to_be_bytes());
    head.extend(0u32.to_be_bytes());
    head.extend(rarely(random, 3).to_be_bytes());
    head.extend(u64::from(rarely(random, 1)).to_be_bytes());
    head.extend((u64::MAX >> random.below(64)).to_be_bytes());
    head.extend(1f64.to_be_bytes());
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let packed =
        encoder.write_all(&head).and_then(|()| encoder.write_all(&payload)).and_then(|()| encoder.finish());
    let packed = packed.expect("memory takes it");
    let mut bytes = 0x1c84_9314u32.to_be_bytes().to_vec();
    bytes.extend(rarely(random, packed.len() as u32).to_be_bytes());
    bytes.extend(packed);
    // So that it can be good as a whole: as many of the lowest latency.
    let count = payload.iter().filter(|byte| **byte == 2).count();
    value["count"] = count.into();
    for (member, text) in
        [("min_ns", "0"), ("max_ns", "0"), ("sum_ns", "\"0\""), ("sum_squares_ns2", "\"0\"")]
    {
        if random.below(2) == 0 {
            value[member] = serde_json::from_str(text).expect("JSON");
        }
    }
    value[HISTOGRAM] = STANDARD.encode(bytes).into();
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
            match random.below(12) {
                0 => drop(items.remove(at)),
                // Many, as far as the input stays small.
                2 if items[at].to_string().len() < 400 => {
                    let again = items[at].clone();
                    items.extend(std::iter::repeat_n(again, 1 << random.below(8)));
                }
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
