//! XML out: elements a line each, two blanks per level, text escaped.

use crate::profile::Release;
use std::fmt::{self, Display, Write as _};
use truespd_platform::text::hides;

/// Attributes of an element in the order of writing.
pub type Attributes<'a> = &'a [(&'static str, &'a dyn Display)];

/// Writes elements, one per line. Whoever opens an element closes it.
///
/// Texts and attribute values are escaped. Characters that XML cannot hold at all (control characters,
/// which Linux allows in paths) become U+FFFD, so that the document stays well-formed.
#[derive(Debug)]
pub struct Writer {
    out: String,
    depth: usize,
    release: Release,
}

impl Writer {
    /// A writer whose first line is `depth` levels deep.
    pub fn new(depth: usize) -> Self {
        Writer::of_release(Release::default(), depth)
    }

    /// The same for what has the form of a release of DiskSpd.
    pub fn of_release(release: Release, depth: usize) -> Self {
        Writer { out: String::new(), depth, release }
    }

    /// The release whose form is written.
    pub fn release(&self) -> Release {
        self.release
    }

    /// `<name a="1">`; what follows is one level deeper.
    pub fn open(&mut self, name: &str, attributes: Attributes<'_>) {
        self.start(name, attributes);
        self.out.push_str(">\n");
        self.depth += 1;
    }

    /// `</name>`
    pub fn close(&mut self, name: &str) {
        self.depth -= 1;
        self.indent();
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push_str(">\n");
    }

    /// `<name>value</name>`, also for an empty value.
    pub fn leaf(&mut self, name: &str, value: impl Display) {
        self.leaf_with(name, &[], value);
    }

    /// `<name a="1">value</name>`
    pub fn leaf_with(&mut self, name: &str, attributes: Attributes<'_>, value: impl Display) {
        self.start(name, attributes);
        self.out.push('>');
        self.text(&value);
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push_str(">\n");
    }

    /// `<name a="1"/>`
    pub fn empty(&mut self, name: &str, attributes: Attributes<'_>) {
        self.start(name, attributes);
        self.out.push_str("/>\n");
    }

    /// `<?target value?>`; neither may hold `?>`.
    pub fn instruction(&mut self, target: &str, value: &str) {
        self.indent();
        self.out.push_str(&format!("<?{target} {value}?>\n"));
    }

    /// Lines that another writer made.
    pub fn lines(&mut self, lines: &str) {
        self.out.push_str(lines);
    }

    /// Levels open here.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The text written.
    pub fn finish(self) -> String {
        self.out
    }

    fn start(&mut self, name: &str, attributes: Attributes<'_>) {
        self.indent();
        self.out.push('<');
        self.out.push_str(name);
        for (name, value) in attributes {
            self.out.push(' ');
            self.out.push_str(name);
            self.out.push_str("=\"");
            self.text(value);
            self.out.push('"');
        }
    }

    fn indent(&mut self) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
    }

    fn text(&mut self, value: &dyn Display) {
        // Writing to a `String` cannot fail.
        let _ = write!(Escaped(&mut self.out), "{value}");
    }
}

/// Escapes what is written through it.
struct Escaped<'a>(&'a mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                // A reader would turn these into blanks or other line ends if they stood as they are.
                '\t' => self.0.push_str("&#9;"),
                '\n' => self.0.push_str("&#10;"),
                '\r' => self.0.push_str("&#13;"),
                '\0'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => self.0.push('\u{fffd}'),
                // Readers get it as it is, terminals do not.
                _ if hides(c) => write!(self.0, "&#x{:X};", u32::from(c))?,
                _ => self.0.push(c),
            }
        }
        Ok(())
    }
}
