//! Text to HTML that shows it and nothing else, and tables.

use super::embed::packed;
use truespd_core::text::printable;

/// Text for an element or a quoted attribute. Characters that hide something are shown as escapes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// JSON for an attribute in single quotes: those in double quotes would need an escape for each quote of the JSON.
fn escaped_json(json: &str) -> String {
    escaped(json).replace("&quot;", "\"")
}

/// JSON that is longer than this is packed.
const PLAIN_MAX: usize = 4096;

/// An attribute for the script: `data-NAME` holds the JSON, or `data-packed-NAME` holds it as gzip in base64
/// where it is long.
pub(super) fn data(name: &str, json: &str) -> String {
    match json.len() {
        ..=PLAIN_MAX => format!(" data-{name}='{}'", escaped_json(json)),
        _ => format!(" data-packed-{name}=\"{}\"", packed(json.as_bytes())),
    }
}

/// [`escaped`] line by line, for text with tables.
pub(super) fn escaped_lines(text: &str) -> String {
    text.lines().map(|line| escaped(line) + "\n").collect()
}

/// A table: its caption, its head, and rows whose first cell is their heading. All cells are text.
pub(super) fn table(caption: &str, head: &[String], rows: &[Vec<String>]) -> String {
    let cells = |tag: &str, cells: &[String]| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{}>", escaped(cell), &tag[..2])).collect()
    };
    let body = rows.iter().filter_map(|row| row.split_first()).map(|(first, rest)| {
        format!("<tr><th scope=\"row\">{}</th>{}</tr>", escaped(first), cells("td", rest))
    });
    let head = match head {
        [] => String::new(),
        head => format!("<thead><tr>{}</tr></thead>", cells("th scope=\"col\"", head)),
    };
    // People who use the keyboard must reach what is scrolled.
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption>{head}\
         <tbody>{1}</tbody></table></div>\n",
        escaped(caption),
        body.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_name_is_markup() {
        assert_eq!(
            escaped("</script><a b='c' d=\"e\">&\u{1b}"),
            "&lt;/script&gt;&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;\\u{1b}"
        );
        assert_eq!(escaped_json("[\"<'&\"]"), "[\"&lt;&#39;&amp;\"]");
        let table = table("a<b", &["<i>".into(), "n".into()], &[vec!["<u>".into(), "&".into()]]);
        assert!(table.contains("<th scope=\"col\">&lt;i&gt;</th>"), "{table}");
        assert!(table.contains("<th scope=\"row\">&lt;u&gt;</th><td>&amp;</td>"), "{table}");
    }
}
