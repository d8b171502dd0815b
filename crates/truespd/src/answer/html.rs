//! What a page is written with: text as HTML that shows it and nothing else, and lists of names.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use truespd_core::result::{DirectionSummary, Grade, LatencySummary};
use truespd_platform::text::{duration_ns, number, printable, rate, with_micro};

/// Text for an element or a quoted attribute. Characters that hide something are shown as escapes.
pub fn escaped(text: &str) -> String {
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
pub fn data(name: &str, json: &str) -> String {
    match json.len() {
        ..=PLAIN_MAX => format!(" data-{name}='{}'", escaped_json(json)),
        _ => format!(" data-packed-{name}=\"{}\"", packed(json.as_bytes())),
    }
}

/// A paragraph of a class of the style sheet; usual words have none.
pub fn paragraph(class: &str, words: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<p{class}>{}</p>\n", words.lines().map(escaped).collect::<Vec<_>>().join("<br>"))
}

/// A paragraph that not everybody reads.
pub fn note(words: &str) -> String {
    paragraph("note", words)
}

/// What is folded up; both are HTML.
pub fn details(summary: &str, inside: &str) -> String {
    format!("<details><summary>{summary}</summary>{inside}</details>\n")
}

/// A pair or a part of a page, folded up.
pub fn folded(name: &str, inside: &str) -> String {
    format!("<details class=\"pair\"><summary>{}</summary>{inside}</details>\n", escaped(name))
}

/// Figures that a reader wants first, with their names; what stands in a second line is small.
pub fn tiles<N: AsRef<str>>(all: &[(N, Option<String>)]) -> String {
    let mut out = String::from("<dl class=\"tiles\">");
    for (name, value) in all {
        out += &format!("<div><dt>{}</dt>", escaped(name.as_ref()));
        out += &match value {
            Some(value) => match value.split_once('\n') {
                Some((value, more)) => {
                    format!("<dd>{}<small>{}</small></dd></div>", escaped(value), escaped(more))
                }
                None => format!("<dd>{}</dd></div>", escaped(value)),
            },
            None => "<dd class=\"none\">not measured (-L)</dd></div>".to_string(),
        };
    }
    out + "</dl>\n"
}

/// Text as it is printed on a terminal.
pub fn plain(text: &str) -> String {
    let lines: String = with_micro(text).lines().map(|line| escaped(line) + "\n").collect();
    format!("<pre class=\"table\" tabindex=\"0\">{lines}</pre>\n")
}

/// A table: its caption, its head, and rows whose first cell is their heading. All cells are text.
pub fn table(caption: &str, head: &[String], rows: &[Vec<String>]) -> String {
    let mut out = String::new();
    if !head.is_empty() {
        let cells: String =
            head.iter().map(|cell| format!("<th scope=\"col\">{}</th>", escaped(cell))).collect();
        out += &format!("<thead><tr>{cells}</tr></thead>");
    }
    out += "<tbody>";
    for row in rows {
        for (place, cell) in row.iter().map(|cell| escaped(cell)).enumerate() {
            out += &match place {
                0 => format!("<tr><th scope=\"row\">{cell}</th>"),
                _ => format!("<td>{cell}</td>"),
            };
        }
        out += "</tr>";
    }
    // People who use the keyboard must reach what is scrolled.
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption>{out}\
         </tbody></table></div>\n",
        escaped(caption)
    )
}

/// The grade as an element with a frame.
pub fn badge(grade: Grade) -> String {
    grade_element("badge", grade)
}

/// The grade as a word of a table.
pub fn grade_word(grade: Grade) -> String {
    grade_element("grade", grade)
}

fn grade_element(class: &str, grade: Grade) -> String {
    let sign = match grade {
        Grade::Certified => "✓",
        Grade::Suspect => "?",
        Grade::Invalid => "✗",
    };
    let word = grade.word();
    format!("<strong class=\"{class} {word}\"><span aria-hidden=\"true\">{sign}</span> {word}</strong>")
}

/// Names of a list at most.
const NAMED_MAX: usize = 6;

/// `a`, `a and b`, `a, b and c`, `a, b, c, d, e, f and 3 more`.
pub fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_string(),
        [first @ .., last] if names.len() <= NAMED_MAX => format!("{} and {last}", first.join(", ")),
        all => format!("{} and {} more", all[..NAMED_MAX].join(", "), all.len() - NAMED_MAX),
    }
}

/// Equal things with the names of all that have them, in the order of the first.
pub fn collapsed<T: PartialEq, N>(all: impl IntoIterator<Item = (N, T)>) -> Vec<(Vec<N>, T)> {
    let mut found: Vec<(Vec<N>, T)> = Vec::new();
    for (name, thing) in all {
        match found.iter_mut().find(|(_, other)| *other == thing) {
            Some((names, _)) => names.push(name),
            None => found.push((vec![name], thing)),
        }
    }
    found
}

/// Each of them once, in the order of the first.
pub fn once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    collapsed(all.into_iter().map(|one| ((), one))).into_iter().map(|(_, one)| one).collect()
}

/// A sentence begins with a capital letter.
pub fn first_large(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

pub fn packed(bytes: &[u8]) -> String {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let bytes = packed.write_all(bytes).and_then(|()| packed.finish());
    STANDARD.encode(bytes.expect("writing to memory cannot fail"))
}

/// A time in the unit that suits it: `10 ns`, `94 µs`, `16.6 ms`.
pub fn latency_words(ns: f64) -> String {
    if ns < 1000.0 { format!("{ns:.0} ns") } else { with_micro(&duration_ns(ns)) }
}

/// The latencies that count: from when the rate (`-g`) wanted the I/O, where there is one.
pub fn times(sum: &DirectionSummary) -> Option<(&LatencySummary, &'static str)> {
    let response = sum.response.as_ref().map(|times| (times, "response time"));
    response.or(sum.latency.as_ref().map(|times| (times, "latency")))
}

pub const FIGURES: [&str; 7] = ["IOPS", "throughput", "mean", "p50", "p99", "p99.9", "longest"];

pub fn figures(sum: &DirectionSummary) -> [String; 7] {
    let mut latencies = [(); 5].map(|()| "-".to_string());
    if let Some((times, _)) = times(sum) {
        let [p50, p99, p99_9, max] =
            [times.p50_ns, times.p99_ns, times.p99_9_ns, times.max_ns].map(|ns| ns as f64);
        latencies = [times.mean_ns, p50, p99, p99_9, max].map(latency_words);
    }
    let [mean, p50, p99, p99_9, max] = latencies;
    [number(sum.iops), rate(sum.bytes_per_s), mean, p50, p99, p99_9, max]
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

    #[test]
    fn names_are_listed_as_in_speech() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        assert_eq!(listed(&names[..0]), "");
        assert_eq!(listed(&names[..1]), "a");
        assert_eq!(listed(&names[..2]), "a and b");
        assert_eq!(listed(&names[..6]), "a, b, c, d, e and f");
        assert_eq!(listed(&names), "a, b, c, d, e, f and 2 more");
    }

    #[test]
    fn equal_things_are_told_once() {
        let found = collapsed([("a", 1), ("b", 2), ("c", 1)]);
        assert_eq!(found, [(vec!["a", "c"], 1), (vec!["b"], 2)]);
    }
}
