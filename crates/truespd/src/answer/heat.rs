//! A table of numbers whose cells are shaded by how large they are, without a script.

use super::html::escaped;

/// Percent of the shade's colour in the cell of the largest number: words stay readable on light and dark pages.
const MOST_PERCENT: f64 = 50.0;

/// A table over two switches.
pub struct HeatTable {
    pub caption: String,
    /// Names of the columns, but for that of the rows' names.
    pub head: Vec<String>,
    pub rows: Vec<(String, Vec<Option<HeatCell>>)>,
}

/// A number in words, and its part of the largest of all, from 0 to 1.
pub struct HeatCell {
    pub words: String,
    pub part: f64,
}

impl HeatTable {
    pub fn html(&self) -> String {
        let (mut head, mut body) = (String::new(), String::new());
        for name in &self.head {
            head += &format!("<th scope=\"col\">{}</th>", escaped(name));
        }
        for (name, cells) in &self.rows {
            body += &format!("<tr><th scope=\"row\">{}</th>", escaped(name));
            for cell in cells {
                body += &match cell {
                    Some(HeatCell { words, part }) => format!(
                        "<td style=\"--part:{:.0}%\">{}</td>",
                        part.clamp(0.0, 1.0) * MOST_PERCENT,
                        escaped(words)
                    ),
                    None => "<td class=\"none\">not measured</td>".to_string(),
                };
            }
            body += "</tr>";
        }
        // People who use the keyboard must reach what is scrolled.
        format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table class=\"heat\">\
             <caption>{0}</caption><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>\n",
            escaped(&self.caption)
        )
    }
}
