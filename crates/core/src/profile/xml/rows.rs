//! The machinery behind the tables of elements: a row per element, read in any order, written in table order; and the
//! text of an element or attribute as a number, flag or word.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use roxmltree::Node;

use super::error::{XmlError, quoted};
use super::write::Writer;

pub(super) type Result<T> = std::result::Result<T, XmlError>;

/// An element of the format: a field of a `T`.
pub(super) struct Row<T: 'static> {
    /// Name of the element.
    pub name: &'static str,
    /// Must stand once; all others may stand once.
    pub required: bool,
    /// Refuses what stands there, or puts it into a `T`.
    pub read: fn(&mut T, Element<'_>) -> Result<()>,
    /// Writes nothing where there is nothing to say.
    pub write: fn(&T, &'static str, &mut Writer),
}

/// Flags: `flag!("Verbose", verbose)` is always written, `set_flag!` only when true.
macro_rules! flag {
    ($name:literal, $($field:ident).+) => {
        form($name, |t, e| { t.$($field).+ = e.flag()?; Ok(()) }, |t, name, out| out.leaf(name, t.$($field).+))
    };
}
macro_rules! set_flag {
    ($name:literal, $($field:ident).+) => {
        form($name, |t, e| { t.$($field).+ = e.flag()?; Ok(()) }, |t, name, out| {
            if t.$($field).+ {
                out.leaf(name, true);
            }
        })
    };
}
/// Whole numbers, with their legal range when that is not all of their type: `number!` is always written, `nonzero!`
/// when it is not 0, `optional!` when it is there.
macro_rules! number {
    ($name:literal, $($field:ident).+ : $type:ty) => { number!($name, $($field).+ : $type, 0, <$type>::MAX) };
    ($name:literal, $($field:ident).+ : $type:ty, $least:expr, $most:expr) => {
        form(
            $name,
            |t, e| { t.$($field).+ = e.number($least..=$most as u64, &[])? as $type; Ok(()) },
            |t, name, out| out.leaf(name, t.$($field).+),
        )
    };
}
macro_rules! nonzero {
    ($name:literal, $field:ident) => {
        form(
            $name,
            |t, e| {
                t.$field = e.number(0..=u32::MAX as u64, &[])? as u32;
                Ok(())
            },
            |t, name, out| {
                if t.$field != 0 {
                    out.leaf(name, t.$field);
                }
            },
        )
    };
}
macro_rules! optional {
    ($name:literal, $($field:ident).+ : $type:ty) => { optional!($name, $($field).+ : $type, 0, <$type>::MAX) };
    ($name:literal, $($field:ident).+ : $type:ty, $least:expr, $most:expr) => {
        form(
            $name,
            |t, e| { t.$($field).+ = Some(e.number($least..=$most as u64, &[])? as $type); Ok(()) },
            |t, name, out| {
                if let Some(number) = t.$($field).+ {
                    out.leaf(name, number);
                }
            },
        )
    };
}
/// One of the words of a table; a value without a word is not written.
macro_rules! words {
    ($name:literal, $($field:ident).+, $words:ident) => {
        form(
            $name,
            |t, element| { t.$($field).+ = element.one_of($words, &[])?; Ok(()) },
            |t, name, out| {
                if let Some(word) = $crate::profile::xml::rows::word_of($words, t.$($field).+) {
                    out.leaf(name, word);
                }
            },
        )
    };
}
pub(super) use {flag, nonzero, number, optional, set_flag, words};

/// An element with a form of its own.
pub(super) const fn form<T>(
    name: &'static str,
    read: fn(&mut T, Element<'_>) -> Result<()>,
    write: fn(&T, &'static str, &mut Writer),
) -> Row<T> {
    Row { name, required: false, read, write }
}

pub(super) const fn required<T>(mut row: Row<T>) -> Row<T> {
    row.required = true;
    row
}

/// The element of the format that an element of this name belongs in, where there is a single one.
pub(super) type HomeOf = fn(&str) -> Option<&'static str>;

/// An element of the file.
#[derive(Clone, Copy)]
pub(super) struct Element<'a> {
    node: Node<'a, 'a>,
    /// For messages about an element that stands at the wrong place.
    home_of: HomeOf,
}

impl<'a> Element<'a> {
    /// The one that holds all others.
    ///
    /// # Errors
    /// An element in a namespace: the format has none.
    pub fn outermost(node: Node<'a, 'a>, home_of: HomeOf) -> Result<Self> {
        Element { node, home_of }.in_no_namespace()
    }

    fn in_no_namespace(self) -> Result<Self> {
        match self.node.tag_name().namespace() {
            None => Ok(self),
            Some(name) => Err(self.error(
                format!("the element is in the namespace {}", quoted(name)),
                "elements without namespace: remove xmlns and any prefix".to_string(),
            )),
        }
    }

    pub fn name(self) -> &'a str {
        self.node.tag_name().name()
    }

    /// An error at this element.
    pub fn error(self, reason: impl Into<String>, legal: impl Into<Option<String>>) -> XmlError {
        let text = self.node.document().input_text();
        let mut error = XmlError::at(text, self.node.range().start, reason, legal);
        error.element = self.path();
        error
    }

    fn mismatch(self, what: Mismatch) -> XmlError {
        self.error(what.reason, what.legal)
    }

    /// The element with its parents below the root: `TimeSpans/TimeSpan[2]/Duration`.
    fn path(self) -> String {
        let lineage = self.node.ancestors().filter(Node::is_element);
        let mut steps: Vec<String> = lineage.map(step).collect();
        steps.reverse();
        if steps.len() > 1 {
            steps.remove(0);
        }
        steps.join("/")
    }

    /// Refuses attributes other than these.
    pub fn check_attributes(self, legal: &[&str]) -> Result<()> {
        const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";
        let odd = self.node.attributes().find(|attribute| match attribute.namespace() {
            // Where to find a schema: no part of the format, put there by editors.
            Some(SCHEMA_INSTANCE) => !attribute.name().ends_with("chemaLocation"),
            Some(_) => true,
            None => !legal.contains(&attribute.name()),
        });
        match odd {
            None => Ok(()),
            Some(attribute) => {
                let reason = format!("unknown attribute {}", quoted(attribute.name()));
                let legal = match legal {
                    [] => "no attribute here".to_string(),
                    names => format!("the attributes {}", names.join(", ")),
                };
                Err(self.error(reason, legal))
            }
        }
    }

    /// The child elements; anything else between them but white space and comments is refused.
    pub fn children(self) -> impl Iterator<Item = Result<Element<'a>>> {
        self.node.children().filter_map(move |node| {
            if node.is_element() {
                Some(Element { node, ..self }.in_no_namespace())
            } else if node.is_text() && !node.text().unwrap_or("").chars().all(is_space) {
                let stray = quoted(node.text().unwrap_or("").trim());
                Some(Err(self.error(
                    format!("there is text between elements: {stray}"),
                    "only elements and comments here".to_string(),
                )))
            } else {
                None
            }
        })
    }

    /// A child by name, for errors that name it.
    pub fn child(self, name: &str) -> Option<Element<'a>> {
        self.node
            .children()
            .find(|n| n.is_element() && n.tag_name().name() == name)
            .map(|node| Element { node, ..self })
    }

    /// The text of an element without child elements and with no attributes but these.
    pub fn text(self, attributes: &[&str]) -> Result<Cow<'a, str>> {
        self.check_attributes(attributes)?;
        let mut text = Cow::Borrowed("");
        for node in self.node.children() {
            if node.is_element() {
                let reason = format!("the element {} is inside a value", quoted(node.tag_name().name()));
                return Err(self.error(reason, "plain text here".to_string()));
            }
            if node.is_text()
                && let Some(part) = node.text()
            {
                if text.is_empty() { text = Cow::Borrowed(part) } else { text.to_mut().push_str(part) }
            }
        }
        Ok(text)
    }

    /// The text of a path or name. Line ends that stand in the file around it are the work of a tool that
    /// indents, not part of the name.
    pub fn name_text(self) -> Result<String> {
        let text = self.text(&[])?;
        let raw = match (self.node.first_child(), self.node.last_child()) {
            (Some(first), Some(last)) => {
                &self.node.document().input_text()[first.range().start..last.range().end]
            }
            _ => "",
        };
        let lead = &raw[..raw.len() - raw.trim_start_matches(is_space).len()];
        let tail = &raw[raw.trim_end_matches(is_space).len()..];
        let mut name: &str = &text;
        if lead.contains(['\n', '\r']) {
            name = name.trim_start_matches(is_space);
        }
        if tail.contains(['\n', '\r']) {
            name = name.trim_end_matches(is_space);
        }
        Ok(name.to_string())
    }

    pub fn flag(self) -> Result<bool> {
        flag_of(&self.text(&[])?).map_err(|what| self.mismatch(what))
    }

    /// A whole number.
    pub fn number(self, range: RangeInclusive<u64>, attributes: &[&str]) -> Result<u64> {
        number_of(&self.text(attributes)?, range).map_err(|what| self.mismatch(what))
    }

    /// A value in an attribute; `None` without it.
    pub fn attribute<V>(
        self,
        name: &str,
        read: impl FnOnce(&'a str) -> std::result::Result<V, Mismatch>,
    ) -> Result<Option<V>> {
        let Some(text) = self.node.attribute(name) else { return Ok(None) };
        match read(text) {
            Ok(value) => Ok(Some(value)),
            Err(what) => Err(self.error(format!("attribute {name}: {}", what.reason), what.legal)),
        }
    }

    /// One of some words.
    pub fn one_of<V: Copy>(self, words: &[(&'static str, V)], attributes: &[&str]) -> Result<V> {
        pick(words, &self.text(attributes)?).map_err(|what| self.mismatch(what))
    }
}

/// A step of a path, numbered when there are several of the name.
fn step(node: Node<'_, '_>) -> String {
    let name = node.tag_name().name();
    let shown = quoted(name);
    let shown = shown.trim_matches('"');
    let siblings = node.parent().into_iter().flat_map(|parent| parent.children());
    let alike: Vec<Node<'_, '_>> =
        siblings.filter(|n| n.is_element() && n.tag_name().name() == name).collect();
    match alike.iter().position(|one| *one == node) {
        Some(at) if alike.len() > 1 => format!("{shown}[{}]", at + 1),
        _ => shown.to_string(),
    }
}

/// The word of a value.
pub(super) fn word_of<V: PartialEq>(words: &[(&'static str, V)], value: V) -> Option<&'static str> {
    words.iter().find(|(_, v)| *v == value).map(|&(word, _)| word)
}

/// Reads the children of an element by a table. Each may stand once, in any order.
pub(super) fn read_fields<T>(element: Element<'_>, rows: &[Row<T>], into: &mut T) -> Result<()> {
    element.check_attributes(&[])?;
    let mut seen = vec![false; rows.len()];
    for child in element.children() {
        let child = child?;
        let Some(index) = rows.iter().position(|row| row.name == child.name()) else {
            return Err(unknown(child, element.name(), rows));
        };
        if std::mem::replace(&mut seen[index], true) {
            return Err(child.error("the element appears a second time", "at most once".to_string()));
        }
        (rows[index].read)(into, child)?;
    }
    for (row, seen) in rows.iter().zip(seen) {
        if row.required && !seen {
            let reason = format!("the element {} is missing", row.name);
            return Err(element.error(reason, "exactly one".to_string()));
        }
    }
    Ok(())
}

/// A setting that DiskSpd does not have. It stands in a processing instruction, which readers of DiskSpd's format skip:
/// `<?truespd-arrivals poisson?>`. An element of another name they refuse (`xml.md` §4.1).
pub(super) struct Extension<T: 'static> {
    /// Its name, without the beginning that all have.
    pub name: &'static str,
    /// Refuses the text, or puts it into a `T`.
    pub read: fn(&mut T, &str) -> std::result::Result<(), Mismatch>,
    /// The text; none where the setting is the usual one of DiskSpd.
    pub write: fn(&T) -> Option<String>,
}

/// How the names of our processing instructions begin; those of others mean nothing here.
const EXTENSION: &str = "truespd-";

/// Reads the processing instructions in an element by a table. Each may stand once.
pub(super) fn read_extensions<T>(element: Element<'_>, rows: &[Extension<T>], into: &mut T) -> Result<()> {
    let mut seen = Vec::new();
    for instruction in element.node.children().filter_map(|node| node.pi()) {
        let Some(name) = instruction.target.strip_prefix(EXTENSION) else { continue };
        let said = quoted(instruction.target);
        let Some(row) = rows.iter().find(|row| row.name == name) else {
            let names: Vec<String> = rows.iter().map(|row| format!("{EXTENSION}{}", row.name)).collect();
            let reason = format!("the processing instruction {said} is not known here");
            return Err(element.error(reason, names.join(", ")));
        };
        if seen.contains(&name) {
            let reason = format!("the processing instruction {said} appears a second time");
            return Err(element.error(reason, "at most once".to_string()));
        }
        seen.push(name);
        (row.read)(into, instruction.value.unwrap_or_default().trim()).map_err(|what| {
            element.error(format!("the processing instruction {said}: {}", what.reason), what.legal)
        })?;
    }
    Ok(())
}

/// Writes the settings that are not the usual ones.
pub(super) fn write_extensions<T>(from: &T, rows: &[Extension<T>], out: &mut Writer) {
    for row in rows {
        if let Some(text) = (row.write)(from) {
            out.instruction(&format!("{EXTENSION}{}", row.name), &text);
        }
    }
}

/// The message for a child that does not belong here.
fn unknown<T>(child: Element<'_>, parent: &str, rows: &[Row<T>]) -> XmlError {
    let name = child.name();
    let mut reason = format!("{} is not an element of {parent}", quoted(name));
    if let Some(row) = rows.iter().find(|row| row.name.eq_ignore_ascii_case(name)) {
        reason.push_str(&format!(": letter case matters, write {}", row.name));
    } else if let Some(home) = (child.home_of)(name) {
        reason.push_str(&format!(": it belongs in {home}"));
    } else if let Some(row) =
        rows.iter().filter(|row| is_close(row.name, name)).max_by_key(|row| row.name.len())
    {
        reason.push_str(&format!(": is {} meant?", row.name));
    }
    let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    child.error(reason, names.join(", "))
}

/// One name is the other with something added.
fn is_close(legal: &str, given: &str) -> bool {
    given.len() >= 4 && (given.starts_with(legal) || legal.starts_with(given))
}

/// Reads a list: one or more children of one of the names, and nothing else.
pub(super) fn read_list<'a>(
    element: Element<'a>,
    names: &[&str],
    mut read: impl FnMut(Element<'a>) -> Result<()>,
) -> Result<()> {
    element.check_attributes(&[])?;
    let legal = format!("one or more {}", names.join(", or one or more "));
    let mut first: Option<&str> = None;
    for child in element.children() {
        let child = child?;
        let name = child.name();
        if !names.contains(&name) {
            let mut reason = format!("{} is not an element of {}", quoted(name), element.name());
            if let Some(home) = (element.home_of)(name) {
                reason.push_str(&format!(": it belongs in {home}"));
            }
            return Err(child.error(reason, legal));
        }
        if *first.get_or_insert(name) != name {
            return Err(child.error("two forms of the list are mixed", legal));
        }
        read(child)?;
    }
    match first {
        Some(_) => Ok(()),
        None => Err(element.error("the list is empty", legal)),
    }
}

/// Writes an element with its children, in table order.
pub(super) fn write_group<'r, T: 'static>(
    name: &'static str,
    from: &T,
    rows: impl IntoIterator<Item = &'r Row<T>>,
    out: &mut Writer,
) {
    out.open(name, &[]);
    write_fields(from, rows, out);
    out.close(name);
}

/// Writes children by a table.
pub(super) fn write_fields<'r, T: 'static>(
    from: &T,
    rows: impl IntoIterator<Item = &'r Row<T>>,
    out: &mut Writer,
) {
    for row in rows {
        (row.write)(from, row.name, out);
    }
}

/// Refuses anything in an element but attributes.
pub(super) fn no_content(entry: Element<'_>, attributes: &[&str]) -> Result<()> {
    if entry.text(attributes)?.trim().is_empty() {
        Ok(())
    } else {
        Err(entry.error("the entry has content", "attributes only".to_string()))
    }
}

/// Why a text is not the value wanted: what is wrong, what would be legal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub reason: String,
    pub legal: String,
}

/// White space that XML knows.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// A whole number in decimal digits, white space around and a plus sign before it allowed.
pub(super) fn number_of(text: &str, range: RangeInclusive<u64>) -> std::result::Result<u64, Mismatch> {
    let trimmed = text.trim_matches(is_space);
    let digits = trimmed.strip_prefix('+').unwrap_or(trimmed);
    let legal = format!("a whole number from {} to {}", range.start(), range.end());
    if trimmed.is_empty() {
        return Err(Mismatch { reason: "the number is missing".to_string(), legal });
    }
    let what = match digits.parse::<u64>() {
        _ if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) => no_number(digits),
        Ok(value) if range.contains(&value) => return Ok(value),
        Ok(value) if value < *range.start() => "is too small",
        _ => "is too large",
    };
    Err(Mismatch { reason: format!("{} {what}", quoted(trimmed)), legal })
}

/// What keeps a text from being a number.
fn no_number(text: &str) -> &'static str {
    let tail = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_digits = tail.len() < text.len();
    match tail.chars().next() {
        Some('-') if !has_digits => "is negative",
        Some('.' | ',') if has_digits => "is not a whole number",
        Some('k' | 'K' | 'm' | 'M' | 'g' | 'G' | 't' | 'T' | 'b') if has_digits => {
            "has a suffix: profiles take plain bytes and counts, suffixes are for the command line"
        }
        _ => "is not a number",
    }
}

/// `true` or `1`, `false` or `0`.
///
/// DiskSpd 2.2 lets `1` pass and then treats it as false; here it means what it says.
pub(super) fn flag_of(text: &str) -> std::result::Result<bool, Mismatch> {
    match text.trim_matches(is_space) {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        "" => Err(Mismatch { reason: "the flag is missing".to_string(), legal: "true or false".to_string() }),
        other => Err(Mismatch {
            reason: format!("{} is not a flag", quoted(other)),
            legal: "true or false (or 1 or 0), in small letters".to_string(),
        }),
    }
}

/// A processor mask: hexadecimal with `0x`, or decimal.
pub(super) fn mask_of(text: &str) -> std::result::Result<u64, Mismatch> {
    let trimmed = text.trim_matches(is_space);
    let value = match trimmed.strip_prefix("0x").or_else(|| trimmed.strip_prefix("0X")) {
        // from_str_radix would take a sign.
        Some(digits) if digits.bytes().all(|b| b.is_ascii_hexdigit()) => u64::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None if !trimmed.bytes().all(|b| b.is_ascii_digit()) => None,
        // As in C.
        None if trimmed.len() > 1 && trimmed.starts_with('0') => u64::from_str_radix(trimmed, 8).ok(),
        None => trimmed.parse().ok(),
    };
    value.ok_or_else(|| Mismatch {
        reason: format!("{} is not a mask of processors", quoted(trimmed)),
        legal: "0x and up to 16 hexadecimal digits, one bit per processor".to_string(),
    })
}

/// The value of one of some words.
pub(super) fn pick<V: Copy>(words: &[(&'static str, V)], text: &str) -> std::result::Result<V, Mismatch> {
    words.iter().find(|(word, _)| *word == text).map(|&(_, value)| value).ok_or_else(|| {
        let names: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
        Mismatch {
            reason: format!("{} is not known here", quoted(text)),
            legal: format!("{} (letter case matters)", names.join(", ")),
        }
    })
}

#[cfg(test)]
mod tests_value {
    use super::*;

    const U64: RangeInclusive<u64> = 0..=u64::MAX;

    #[test]
    fn numbers() {
        assert_eq!(number_of("0", U64), Ok(0));
        assert_eq!(number_of(" \t\r\n+0042 ", U64), Ok(42));
        assert_eq!(number_of("18446744073709551615", U64), Ok(u64::MAX));
        assert_eq!(number_of("4294967295", 0..=u32::MAX.into()), Ok(u32::MAX.into()));
        for (text, range, word) in [
            ("", U64, "missing"),
            ("  ", U64, "missing"),
            ("+", U64, "not a number"),
            ("+-1", U64, "negative"),
            ("-1", U64, "negative"),
            ("1.5", U64, "whole"),
            ("64K", U64, "suffix"),
            ("0x10", U64, "not a number"),
            ("1e3", U64, "not a number"),
            ("1 2", U64, "not a number"),
            ("\u{663}", U64, "not a number"),
            ("18446744073709551616", U64, "too large"),
            ("4294967296", 0..=u32::MAX.into(), "too large"),
            ("0", 1..=99, "too small"),
            ("100", 1..=99, "too large"),
        ] {
            let mismatch = number_of(text, range).expect_err(text);
            assert!(mismatch.reason.contains(word), "{text}: {mismatch:?}");
        }
    }

    #[test]
    fn flags() {
        for (text, value) in [("true", true), ("1", true), (" false ", false), ("0", false)] {
            assert_eq!(flag_of(text), Ok(value));
        }
        for text in ["", "yes", "TRUE", "True", "2", "truefalse"] {
            assert!(flag_of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn masks() {
        assert_eq!(mask_of("0xff"), Ok(255));
        assert_eq!(mask_of("0Xffffffffffffffff"), Ok(u64::MAX));
        assert_eq!(mask_of("12"), Ok(12));
        for text in ["", "0x", "ff", "0x1ffffffffffffffff", "0x+1", "-1"] {
            assert!(mask_of(text).is_err(), "{text}");
        }
    }
}
