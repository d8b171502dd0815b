//! Reading lines and cells, to the blank.

use super::{Fault, Outcome, SizeText};

/// The lines of a document, or of its end, and where reading stands.
pub struct Lines<'a> {
    lines: Vec<&'a str>,
    at: usize,
    /// Lines of the document before these.
    before: usize,
}

impl<'a> Lines<'a> {
    /// Lines end with LF, the last one as well.
    pub fn new(text: &'a str) -> Outcome<Self> {
        Self::after_line(0, text)
    }

    /// The lines of a document that follow its first `before` lines.
    pub fn after_line(before: usize, text: &'a str) -> Outcome<Self> {
        let body = text.strip_suffix('\n').ok_or_else(|| Fault {
            line: before + text.lines().count(),
            message: "the last line has no line end".to_string(),
        })?;
        Ok(Lines { lines: body.split('\n').collect(), at: 0, before })
    }

    /// Number of the line read last.
    pub fn number(&self) -> usize {
        self.before + self.at
    }

    /// Reads again after line `number`.
    pub fn go_back_to(&mut self, number: usize) {
        self.at = number - self.before;
    }

    pub fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    /// The next line, whatever it is; `expected` is for the message.
    pub fn line(&mut self, expected: &str) -> Outcome<Line<'a>> {
        let Some(rest) = self.peek() else {
            let message = format!("ends where {expected:?} is expected");
            return Err(Fault { line: self.number() + 1, message });
        };
        self.at += 1;
        if has_control(rest) {
            return Err(Fault { line: self.number(), message: "a control character".to_string() });
        }
        Ok(Line { number: self.number(), rest })
    }

    pub fn exact(&mut self, text: &str) -> Outcome<()> {
        if self.optional(text) { Ok(()) } else { self.line(text)?.fault(&format!("expected {text:?}")) }
    }

    /// The next line if it is exactly this.
    pub fn optional(&mut self, text: &str) -> bool {
        let is_it = self.peek() == Some(text);
        self.at += usize::from(is_it);
        is_it
    }

    /// The rest of the next line, which must begin so.
    pub fn after(&mut self, prefix: &str) -> Outcome<Line<'a>> {
        let mut line = self.line(prefix)?;
        line.literal(prefix)?;
        Ok(line)
    }

    /// The rest of the next line if it begins so.
    pub fn optional_after(&mut self, prefix: &str) -> Option<Line<'a>> {
        self.peek()?.starts_with(prefix).then(|| self.after(prefix).expect("it begins so"))
    }

    /// `prefix`, a number, `suffix`.
    pub fn number_line(&mut self, prefix: &str, suffix: &str) -> Outcome<u64> {
        let mut line = self.after(prefix)?;
        let value = line.uint(0)?;
        line.literal(suffix)?;
        line.end()?;
        Ok(value)
    }

    pub fn end(&self) -> Outcome<()> {
        match self.peek() {
            None => Ok(()),
            Some(line) => Err(Fault { line: self.number() + 1, message: format!("extra line {line:?}") }),
        }
    }
}

/// Control characters but tabs. Bytes are faster to compare than characters.
fn has_control(line: &str) -> bool {
    if line.is_ascii() {
        line.bytes().any(|b| b.is_ascii_control() && b != b'\t')
    } else {
        line.contains(|c: char| c.is_control() && c != '\t')
    }
}

/// What is left of a line.
pub struct Line<'a> {
    pub number: usize,
    pub rest: &'a str,
}

impl<'a> Line<'a> {
    pub fn fault<T>(&self, message: &str) -> Outcome<T> {
        Err(Fault { line: self.number, message: format!("{message}, found {:?}", self.rest) })
    }

    pub fn literal(&mut self, text: &str) -> Outcome<()> {
        if self.optional(text) { Ok(()) } else { self.fault(&format!("expected {text:?}")) }
    }

    pub fn optional(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// The line up to the last occurrence of `stop`, which is taken as well.
    pub fn until_last(&mut self, stop: &str) -> Outcome<&'a str> {
        match self.rest.rfind(stop) {
            Some(at) => {
                let taken = &self.rest[..at];
                self.rest = &self.rest[at + stop.len()..];
                Ok(taken)
            }
            None => self.fault(&format!("expected {stop:?} somewhere")),
        }
    }

    pub fn end(&self) -> Outcome<()> {
        if self.rest.is_empty() { Ok(()) } else { self.fault("expected the end of the line") }
    }

    /// Blanks, then digits and perhaps a point with decimals.
    fn number(&mut self, width: usize, decimals: usize) -> Outcome<&'a str> {
        let body = self.rest.trim_start_matches(' ');
        let blanks = self.rest.len() - body.len();
        let digits = body.bytes().take_while(u8::is_ascii_digit).count();
        let is_canonical = digits == 1 || digits > 1 && !body.starts_with('0');
        let mut length = digits;
        if decimals > 0 {
            let tail = &body[digits..];
            let fraction = tail.bytes().skip(1).take_while(u8::is_ascii_digit).count();
            if !tail.starts_with('.') || fraction != decimals {
                return self.fault(&format!("expected a number with {decimals} decimals"));
            }
            length += 1 + decimals;
        }
        if !is_canonical {
            return self.fault("expected a number");
        }
        if blanks != width.saturating_sub(length) {
            return self.fault(&format!("expected a cell of width {width}"));
        }
        self.rest = &body[length..];
        Ok(&body[..length])
    }

    /// `%<width>u`
    pub fn uint(&mut self, width: usize) -> Outcome<u64> {
        let text = self.number(width, 0)?;
        text.parse().or_else(|_| self.fault("number too big"))
    }

    /// `%<width>.<decimals>f`
    pub fn fixed(&mut self, width: usize, decimals: usize) -> Outcome<f64> {
        let text = self.number(width, decimals)?;
        text.parse().or_else(|_| self.fault("not a number"))
    }

    /// SIZE; with a width, only amounts with a unit are padded.
    pub fn size(&mut self, width: usize) -> Outcome<SizeText> {
        let body = self.rest.trim_start_matches(' ');
        let tail = body.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_float = tail.starts_with('.');
        let unit = tail.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let scale = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
        let Some(&(name, shift)) = scale.iter().find(|(name, _)| unit.starts_with(name)) else {
            let bytes = self.uint(0)?;
            return if bytes < 1024 {
                Ok(SizeText { bytes: bytes as f64, exact: true })
            } else {
                self.fault("an amount above 1023 without a unit before this")
            };
        };
        let amount = if is_float { self.fixed(width, 2)? } else { self.uint(width)? as f64 };
        self.literal(name)?;
        // A fraction just below the next unit may round up to it; a whole number may not reach it.
        let limit = if is_float { 1024.0 } else { 1023.0 };
        if amount < 1.0 || (amount > limit && name != "TiB") {
            return self.fault(&format!("{amount} is not an amount for {name}; before this"));
        }
        Ok(SizeText { bytes: amount * (1u64 << shift) as f64, exact: !is_float })
    }
}
