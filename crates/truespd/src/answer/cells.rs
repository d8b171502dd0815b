//! The cells of a heat map: how many I/Os each slice of time has in each bucket of latencies.
//!
//! They are a picture for light and one for dark pages, and numbers for the script and the table: a rectangle for
//! each cell would make a page of an hour larger than all else in it, and a picture has a byte or less for each.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use png::{BitDepth, ColorType, Compression, Encoder, Filter};

use super::axis::{Axis, Point};
use super::html::{data, escaped};
use truespd_core::measure::slices;
use truespd_core::measure::slices::Slice;
use truespd_platform::text::{grouped, percent};

const SHADES: usize = 24;
/// The lines over the cells.
pub const PERCENTILES: [f64; 2] = [0.5, 0.99];
/// Fewer rows than this would be bars rather than cells: then there is room above and below.
const ROWS_MIN: usize = 12;

/// A shade's colours from few I/Os to many: three stops, for light pages and for dark ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hue {
    day: [[u8; 3]; 3],
    night: [[u8; 3]; 3],
}

/// As the first line of a chart.
pub const BLUE: Hue = Hue {
    day: [[0xd6, 0xe8, 0xf5], [0x2f, 0x8f, 0xcb], [0x00, 0x2b, 0x4d]],
    night: [[0x1d, 0x3a, 0x52], [0x3a, 0x97, 0xd3], [0xe2, 0xf4, 0xff]],
};
pub const ORANGE: Hue = Hue {
    day: [[0xfb, 0xe3, 0xd0], [0xe0, 0x72, 0x1c], [0x55, 0x1f, 0x00]],
    night: [[0x4a, 0x2b, 0x16], [0xe6, 0x7e, 0x26], [0xff, 0xf0, 0xdf]],
};

/// The cells of a chart: how many I/Os each slice of time has in each bucket of latencies.
#[derive(Debug, Clone)]
pub struct Cells {
    /// Unlike that of all others on the page.
    pub id: String,
    pub what: String,
    pub hue: Hue,
    /// Seconds from one column to the next; the first begins at 0.
    pub column_s: f64,
    /// Where the last column ends, in seconds: it may be cut short.
    pub end_s: f64,
    /// I/Os by coarse bucket, a column for each slice of time.
    pub columns: Vec<Slice>,
}

impl Cells {
    /// How many columns share a point of a line with so many points at most.
    pub fn joined(&self, points_max: usize) -> usize {
        self.columns.len().div_ceil(points_max.max(1)).max(1)
    }

    /// A percentile over time, in nanoseconds, with so many points at most; none where no I/O completed.
    pub fn percentiles(&self, fraction: f64, points_max: usize) -> Vec<Point> {
        let joined = self.joined(points_max);
        let mut points = Vec::new();
        for (place, columns) in self.columns.chunks(joined).enumerate() {
            let mut all = Slice::default();
            columns.iter().for_each(|column| all.add(column));
            if let Some(ns) = all.percentile_ns(fraction) {
                let first = (place * joined) as f64 * self.column_s;
                let end = (first + columns.len() as f64 * self.column_s).min(self.end_s.max(first));
                points.push(Point::at((first + end) / 2.0, ns));
            }
        }
        points
    }

    /// The most I/Os in one cell; 0 without any.
    pub fn most(&self) -> u64 {
        self.columns.iter().flat_map(Slice::buckets).map(|(_, count)| count).max().unwrap_or(0)
    }

    /// The buckets that have a row, in ascending order.
    fn rows(&self) -> Range<usize> {
        let (mut first, mut end) = (slices::BUCKETS, 0);
        for (bucket, _) in self.columns.iter().flat_map(Slice::buckets) {
            (first, end) = (first.min(bucket), end.max(bucket + 1));
        }
        let first = if end == 0 { 0 } else { first };
        let missing = ROWS_MIN.saturating_sub(end - first);
        let first = first.saturating_sub(missing / 2);
        let end = end.max(first + ROWS_MIN).min(slices::BUCKETS);
        first.min(end.saturating_sub(ROWS_MIN))..end
    }

    /// The y axis: each bucket takes the same room.
    pub fn axis(&self) -> Axis {
        let rows = self.rows();
        Axis::buckets(slices::low_ns(rows.start) as f64, slices::low_ns(rows.end) as f64)
    }

    /// The shade of a cell, 0 without I/Os. Evenly, a single I/O would not be seen; by logarithms alone, all
    /// of the busy cells would look alike. The square of the logarithm shows both.
    fn shade(count: u64, most: u64) -> u8 {
        let part = if most > 1 { (count as f64).ln() / (most as f64).ln() } else { 1.0 };
        if count == 0 { 0 } else { 1 + (part * part * (SHADES - 1) as f64).round() as u8 }
    }

    /// What the pictures of a chart use: not shown itself.
    pub fn symbol(&self) -> String {
        let (rows, width, most) = (self.rows(), self.columns.len(), self.most());
        let mut pixels = vec![0; width * rows.len()];
        for (column, slice) in self.columns.iter().enumerate() {
            for (bucket, count) in slice.buckets() {
                // Low latencies are at the bottom, and pictures begin at the top.
                pixels[(rows.end - 1 - bucket) * width + column] = Self::shade(count, most);
            }
        }
        let mut images = String::new();
        let height = rows.len();
        for (class, stops) in [("day", &self.hue.day), ("night", &self.hue.night)] {
            let png = STANDARD.encode(picture(width, &pixels, &shades(stops)));
            images += &format!(
                "<image class=\"{class}\" width=\"{width}\" height=\"{height}\" preserveAspectRatio=\"none\" \
                 href=\"data:image/png;base64,{png}\"/>"
            );
        }
        // The last column is drawn as far as it was measured.
        let shown = (self.end_s / self.column_s).min(width as f64).max(0.01);
        format!(
            "<svg class=\"store\" aria-hidden=\"true\"><symbol id=\"{}\" viewBox=\"0 0 {shown:.3} {height}\" \
             preserveAspectRatio=\"none\">{images}</symbol></svg>",
            escaped(&self.id)
        )
    }

    /// The picture in a plot that reaches from `top` to `bottom`.
    pub fn draw(&self, at_x: impl Fn(f64) -> f64, top: f64, bottom: f64) -> String {
        let end_s = self.end_s.min(self.columns.len() as f64 * self.column_s);
        let (id, x, height) = (escaped(&self.id), at_x(0.0), bottom - top);
        let width = at_x(end_s) - x;
        format!("<use href=\"#{id}\" x=\"{x:.2}\" y=\"{top}\" width=\"{width:.2}\" height=\"{height:.2}\"/>")
    }

    /// The scale of the shades, for the legend.
    pub fn scale(&self) -> String {
        let mut ramps = String::new();
        for (class, stops) in [("day", &self.hue.day), ("night", &self.hue.night)] {
            let stops = stops.map(|[r, g, b]| format!("#{r:02x}{g:02x}{b:02x}")).join(",");
            ramps += &format!(
                "<span class=\"ramp {class}\" style=\"background:linear-gradient(90deg,{stops})\"></span>"
            );
        }
        let (most, what) = (grouped(self.most()), escaped(&self.what));
        format!("<li class=\"shades\">1{ramps}{most} {what} in a cell</li>")
    }

    /// For the script: the counts of each column from its first row on, the words of the rows' limits, where
    /// the columns lie along the x axis, and what is counted.
    pub fn attributes(&self, x: &Axis, show_x: fn(f64) -> String, show_y: fn(f64) -> String) -> String {
        let rows = self.rows();
        let mut counts = Vec::new();
        for slice in &self.columns {
            let first = slice.buckets().next().map_or(rows.start, |(bucket, _)| bucket);
            let mut column = vec![(first - rows.start) as u64];
            for (bucket, count) in slice.buckets() {
                column.resize(1 + bucket - first, 0);
                column.push(count);
            }
            counts.push(column);
        }
        let counts = serde_json::json!(counts).to_string();
        let limits: Vec<String> =
            (rows.start..=rows.end).map(|bucket| show_y(slices::low_ns(bucket) as f64)).collect();
        let (mut moments, mut places) = (Vec::new(), Vec::new());
        for column in 0..=self.columns.len() {
            let end = (column as f64 * self.column_s).min(self.end_s);
            moments.push(show_x(end));
            places.push(format!("{:.4}", x.part(end)));
        }
        format!(
            " data-what=\"{}\"{} data-limits=\"{}\" data-moments=\"{}\" data-places=\"{}\"",
            escaped(&self.what),
            data("cells", &counts),
            escaped(&limits.join("|")),
            escaped(&moments.join("|")),
            places.join("|")
        )
    }

    /// Heads of further columns of the table.
    pub fn table_head(&self) -> Vec<String> {
        vec![self.what.clone(), "slowest below".into(), "in the fullest cell".into()]
    }

    /// Further cells of a row of the table, for the column in whose middle `x` lies.
    pub fn table_row(&self, x: f64, show_y: fn(f64) -> String) -> Vec<String> {
        let column = (x / self.column_s).max(0.0) as usize;
        let Some(slice) = self.columns.get(column).filter(|slice| slice.count() > 0) else {
            return vec!["-".into(); 3];
        };
        let [slowest, (fullest, count)] = [
            slice.buckets().next_back().unwrap_or_default(),
            slice.buckets().max_by_key(|(_, count)| *count).unwrap_or_default(),
        ];
        let [above, low, high] =
            [slowest.0 + 1, fullest, fullest + 1].map(|bucket| show_y(slices::low_ns(bucket) as f64));
        let share = percent(count as f64 / slice.count() as f64);
        vec![grouped(slice.count()), above, format!("{low} to {high}: {share}")]
    }
}

/// From the first stop by the second to the third.
fn shades(stops: &[[u8; 3]; 3]) -> Vec<[u8; 3]> {
    let mut shades = Vec::new();
    for number in 0..SHADES {
        let at = number as f64 / (SHADES - 1) as f64 * 2.0;
        let (from, to) = if at <= 1.0 { (stops[0], stops[1]) } else { (stops[1], stops[2]) };
        let part = if at <= 1.0 { at } else { at - 1.0 };
        shades.push(std::array::from_fn(|channel| {
            let (from, to) = (f64::from(from[channel]), f64::from(to[channel]));
            (from + (to - from) * part).round() as u8
        }));
    }
    shades
}

/// A picture, row by row from the top. Colour 0 is transparent; `colours` holds red, green and blue of 1 and up.
///
/// # Panics
/// When the pixels do not fill the rows, or there are more than 255 colours.
fn picture(width: usize, pixels: &[u8], colours: &[[u8; 3]]) -> Vec<u8> {
    assert!(
        width > 0 && pixels.len().is_multiple_of(width) && colours.len() < 256,
        "a picture has whole rows"
    );
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, width as u32, (pixels.len() / width) as u32);
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_palette([&[[0; 3]], colours].concat().concat());
    encoder.set_trns(vec![0]);
    encoder.set_compression(Compression::High);
    encoder.set_filter(Filter::NoFilter);
    let written = encoder.write_header().and_then(|mut image| image.write_image_data(pixels));
    written.expect("writing to memory cannot fail");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(counts: &[(usize, u64)]) -> Slice {
        let mut all = [0; slices::BUCKETS];
        counts.iter().for_each(|&(bucket, count)| all[bucket] = count);
        Slice::of(&all)
    }

    fn cells(columns: Vec<Slice>) -> Cells {
        let end_s = columns.len() as f64 * 2.0;
        Cells { id: "heat".into(), what: "reads".into(), hue: BLUE, column_s: 2.0, end_s, columns }
    }

    #[test]
    fn few_rows_get_room_around_and_all_buckets_fit() {
        assert_eq!(cells(vec![slice(&[(40, 1), (41, 2)])]).rows(), 35..47);
        assert_eq!(cells(vec![slice(&[(40, 1)]), slice(&[(80, 2)])]).rows(), 40..81);
        assert_eq!(cells(vec![slice(&[(0, 1)])]).rows(), 0..12);
        let last = slices::BUCKETS - 1;
        assert_eq!(cells(vec![slice(&[(last, 1)])]).rows(), last - 11..last + 1);
        assert_eq!(cells(vec![slice(&[])]).most(), 0);
    }

    #[test]
    fn every_count_has_a_shade_and_the_most_the_last() {
        assert_eq!([0, 1, 1000].map(|count| Cells::shade(count, 1000)), [0, 1, SHADES as u8]);
        assert_eq!(Cells::shade(1, 1), SHADES as u8);
        assert_eq!(Cells::shade(u64::MAX, u64::MAX), SHADES as u8);
        for hue in [BLUE, ORANGE] {
            let made = shades(&hue.day);
            assert_eq!((made[0], made[SHADES - 1]), (hue.day[0], hue.day[2]));
        }
    }

    #[test]
    fn the_script_gets_counts_and_words() {
        let cells = cells(vec![slice(&[(40, 3), (42, 1)]), slice(&[]), slice(&[(43, 9)])]);
        let made =
            cells.attributes(&Axis::exact(-2.0, 6.0, 1.0), |x| format!("{x} s"), |y| format!("{y:.0}"));
        assert!(made.contains("data-cells='[[4,3,0,1],[0],[7,9]]'"), "{made}");
        assert!(made.contains("data-moments=\"0 s|2 s|4 s|6 s\""), "{made}");
        assert!(made.contains("data-places=\"0.2500|0.5000|0.7500|1.0000\""), "{made}");
        assert!(made.contains("data-limits=\"262144|"), "{made}");
    }

    #[test]
    fn rows_of_the_table_tell_what_a_column_holds() {
        let cells = cells(vec![slice(&[(4, 3), (8, 1)]), slice(&[])]);
        let show: fn(f64) -> String = |ns| format!("{ns:.0}");
        assert_eq!(cells.table_row(1.0, show), ["4", "2560", "1024 to 1280: 75 %"]);
        assert_eq!(cells.table_row(3.0, show), ["-"; 3]);
    }

    #[test]
    fn a_picture_has_its_colours_and_pixels() {
        let made = picture(3, &[0, 1, 2, 2, 1, 0], &[[1, 2, 3], [4, 5, 6]]);
        let mut read = png::Decoder::new(std::io::Cursor::new(&made)).read_info().expect("a picture");
        let info = read.info();
        assert_eq!((info.width, info.height, info.trns.as_deref()), (3, 2, Some(&[0][..])));
        assert_eq!(info.palette.as_deref(), Some(&[0, 0, 0, 1, 2, 3, 4, 5, 6][..]));
        let mut pixels = [9; 6];
        read.next_frame(&mut pixels).expect("all rows");
        assert_eq!(pixels, [0, 1, 2, 2, 1, 0]);
    }

    #[test]
    #[should_panic(expected = "whole rows")]
    fn half_rows_are_a_mistake() {
        picture(3, &[0, 1], &[[0; 3]]);
    }
}
