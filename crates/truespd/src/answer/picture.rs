//! The picture that says most of a result, in a file of its own: for chats, tickets and slides.
//!
//! It is SVG with its own colours and words around it, on white, for readers that know no style sheet of ours. PNG is
//! made of it by `resvg`, with the letters of DejaVu Sans, so that it is the same on a machine without fonts.

use super::bars::{self, Bars};
use super::chart::{Chart, Drawn};
use super::html::escaped;
use png::{BitDepth, ColorType, Encoder};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use truespd_platform::text::{columns_of, start_of};

#[derive(Debug, Clone)]
pub enum Picture {
    Chart(Box<Chart>),
    Bars(Bars),
}

/// The words that stand around a picture.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Words {
    pub title: String,
    /// Lines below the title: figures, and the verdict.
    pub lines: Vec<String>,
}

const EDGE: f64 = 24.0;
const TITLE: f64 = 34.0;
const ABOVE: f64 = 12.0;
/// Height of a line below it.
const LINE: f64 = 20.0;
/// Columns of a title that has room.
const TITLE_COLUMNS: usize = 86;
/// Columns of a line that has room.
const LINE_COLUMNS: usize = 130;
/// Lines of the legend, at most.
const LEGEND_LINES: usize = 3;
/// Room for a character of the legend.
const LEGEND_CHARACTER: f64 = 8.0;
/// Pixels for a unit of the picture: sharp on screens with small pixels.
const SCALE: f32 = 2.0;

/// The classes that charts and bars use, with the colours of light pages.
const STYLE: &str = "\
    text{font-size:12px;fill:#566273} .title{font-size:20px;font-weight:bold;fill:#1c2430} \
    .words{font-size:13px;fill:#1c2430} .brand{font-size:11px} \
    .over{paint-order:stroke;stroke:#ffffff;stroke-width:4px} .name{font-size:12px} \
    .head{font-size:13px;font-weight:bold} .test{font-size:14px;fill:#1c2430} \
    .figure{font-size:19px;font-weight:bold;fill:#1c2430} .doubt{fill:#8a4b00;font-weight:bold} \
    .grid{stroke:#dde2e8} .axis{stroke:#566273} .phase{fill:#e9edf2} \
    .mark{stroke:#b3261e;stroke-dasharray:4 3} .level{stroke:#1c2430;stroke-dasharray:6 4} \
    .track{fill:#f6f7f9;stroke:#dde2e8} .bar{fill-opacity:0.3} \
    .line{fill:none;stroke-width:1.8;stroke-linejoin:round} .few{stroke-dasharray:3 4} \
    .band{fill-opacity:0.12;stroke-opacity:0.45;stroke-width:0.8}";
/// The colours of lines, as in the style sheet of pages.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#00835f", "#a8588a", "#8a6d00", "#3a8fc4", "#4d4d4d", "#7a4fb5"];

impl From<Chart> for Picture {
    fn from(chart: Chart) -> Self {
        Picture::Chart(Box::new(chart))
    }
}

impl From<Bars> for Picture {
    fn from(bars: Bars) -> Self {
        Picture::Bars(bars)
    }
}

impl Picture {
    /// As SVG that stands alone; none without a value.
    pub fn svg(&self, words: &Words) -> Option<String> {
        let (inside, width, height) = match self {
            Picture::Chart(chart) if chart.is_empty() => return None,
            Picture::Chart(chart) => with_legend(chart),
            Picture::Bars(bars) if bars.is_empty() => return None,
            Picture::Bars(bars) => {
                let (height, inside) = bars.wide();
                (inside, bars::WIDE, height)
            }
        };
        let top = EDGE + TITLE + LINE * words.lines.len() as f64 + ABOVE;
        let (all_width, all_height) = (width + 2.0 * EDGE, top + height + LINE + EDGE);
        let colours: String = COLOURS
            .iter()
            .enumerate()
            .map(|(place, colour)| {
                format!(
                    " .s{place} .line,.s{place} .band{{stroke:{colour}}} .s{place} .band,.s{place} .bar,\
                     .s{place} circle,.s{place} .key{{fill:{colour}}}"
                )
            })
            .collect();
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all_width}\" height=\"{all_height}\" \
             viewBox=\"0 0 {all_width} {all_height}\" font-family=\"'DejaVu Sans',system-ui,sans-serif\">\
             <!-- TrueSpd --><style>{STYLE}{colours}</style>\
             <rect width=\"{all_width}\" height=\"{all_height}\" fill=\"#ffffff\"/>"
        );
        let (y, title) = (EDGE + 16.0, escaped(&start_of(&words.title, TITLE_COLUMNS)));
        out += &format!("<text class=\"title\" x=\"{EDGE}\" y=\"{y}\">{title}</text>");
        for (place, line) in words.lines.iter().enumerate() {
            let y = EDGE + TITLE + LINE * place as f64 + 10.0;
            let line = escaped(&start_of(line, LINE_COLUMNS));
            out += &format!("<text class=\"words\" x=\"{EDGE}\" y=\"{y}\">{line}</text>");
        }
        let (right, bottom) = (all_width - EDGE, all_height - EDGE + 8.0);
        let version = env!("CARGO_PKG_VERSION");
        Some(
            out + &format!(
                "<g transform=\"translate({EDGE} {top})\">{inside}</g>\
                 <text class=\"brand\" x=\"{right}\" y=\"{bottom}\" text-anchor=\"end\">TrueSpd {version}</text>\
                 </svg>\n"
            ),
        )
    }

    /// As PNG, twice as large as the SVG; none without a value.
    pub fn png(&self, words: &Words) -> Option<Vec<u8>> {
        let svg = self.svg(words)?;
        let mut options = Options { font_family: "DejaVu Sans".into(), ..Options::default() };
        for font in [dejavu::sans::regular(), dejavu::sans::bold()] {
            options.fontdb_mut().load_font_data(font.to_vec());
        }
        let tree = Tree::from_str(&svg, &options).expect("a picture of ours is SVG");
        let [width, height] =
            [tree.size().width(), tree.size().height()].map(|side| (side * SCALE).ceil() as u32);
        let mut pixels = Pixmap::new(width, height).expect("a picture has a size");
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        let mut out = Vec::new();
        let mut encoder = Encoder::new(&mut out, width, height);
        encoder.set_color(ColorType::Rgba);
        encoder.set_depth(BitDepth::Eight);
        // It tells the picture from those of others when it is to be replaced.
        encoder.add_text_chunk("Software".into(), "TrueSpd".into()).expect("the words are Latin-1");
        let written = encoder.write_header().and_then(|mut writer| {
            // The ground is opaque, so no colour has been multiplied by less than 1.
            writer.write_image_data(pixels.data())?;
            writer.finish()
        });
        written.expect("writing to memory cannot fail");
        Some(out)
    }
}

/// The chart below its title and the names of its lines, with its width and height.
fn with_legend(chart: &Chart) -> (String, f64, f64) {
    let Drawn { width, height, inside, .. } = chart.wide();
    let mut out = format!("<text class=\"test\" x=\"0\" y=\"12\">{}</text>", escaped(&chart.title));
    let (mut x, mut y) = (0.0, LINE + 10.0);
    let names = chart.legend();
    for (place, (class, name)) in names.iter().enumerate() {
        let room = LEGEND_CHARACTER * columns_of(name) as f64 + 42.0;
        if x > 0.0 && x + room > width {
            (x, y) = (0.0, y + LINE);
        }
        if y > LINE * LEGEND_LINES as f64 + 10.0 {
            let more = names.len() - place;
            out += &format!("<text class=\"words\" x=\"0\" y=\"{y}\">and {more} more</text>");
            break;
        }
        let (key_y, words_x) = (y - 6.0, x + 24.0);
        out += &format!(
            "<g class=\"{class}\"><rect class=\"key\" x=\"{x}\" y=\"{key_y}\" width=\"18\" height=\"4\" rx=\"2\"/></g>\
             <text class=\"words\" x=\"{words_x}\" y=\"{y}\">{}</text>",
            escaped(name)
        );
        x += room;
    }
    let top = y + LINE - 6.0;
    (format!("{out}<g transform=\"translate(0 {top})\">{inside}</g>"), width, height + top)
}

#[cfg(test)]
mod tests {
    use super::super::axis::Point;
    use super::super::chart::Series;
    use super::*;
    use truespd_platform::text::number;

    fn chart(points: Vec<Point>) -> Picture {
        let mut chart = Chart::new("Rates", "time", "IOPS", number, number);
        chart.series.push(Series::new("<reads>", points));
        chart.into()
    }

    #[test]
    fn a_picture_is_whole_and_shows_hostile_words() {
        let picture = chart(vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)]);
        let words = Words { title: "<a & b>".into(), lines: vec!["suspect".into()] };
        let svg = picture.svg(&words).expect("it has points");
        let read = roxmltree::Document::parse(&svg).expect("XML");
        let texts: Vec<&str> = read.descendants().filter_map(|node| node.text()).collect();
        assert!(
            texts.contains(&"<a & b>") && texts.contains(&"<reads>") && texts.contains(&"suspect"),
            "{svg}"
        );
        assert!(!svg.contains("var(") && !svg.contains("href"), "it needs nothing else: {svg}");
        let png = picture.png(&words).expect("it has points");
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
        // The letters are drawn: more than the two lines and the grid.
        let without = picture.png(&Words::default()).expect("it has points");
        assert!(png.len() > without.len() + 500, "{} and {}", png.len(), without.len());
    }

    #[test]
    fn many_lines_are_named_as_far_as_there_is_room() {
        let mut chart = Chart::new("Rates", "time", "IOPS", number, number);
        for run in 0..100 {
            let points = vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)];
            chart.series.push(Series::new(format!("the run with number {run}"), points));
        }
        let svg = Picture::from(chart).svg(&Words::default()).expect("it has points");
        let more = svg.split("and ").nth(1).and_then(|rest| rest.split(" more").next()).expect("a last line");
        let named = svg.matches("the run with number").count();
        assert_eq!(named + more.parse::<usize>().expect("a number"), 100, "{named}");
    }

    #[test]
    fn without_values_there_is_no_picture() {
        assert_eq!(chart(Vec::new()).svg(&Words::default()), None);
    }
}
