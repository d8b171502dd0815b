//! How much of an answer a terminal shows, and what it draws with letters.

use truespd_front::show::Style;

/// Eighths of a column, from the left.
const EIGHTHS: [&str; 8] =
    ["", "\u{258f}", "\u{258e}", "\u{258d}", "\u{258c}", "\u{258b}", "\u{258a}", "\u{2589}"];
/// Eighths of a line's height.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How the text of a suite's document is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    pub style: Style,
    /// With bars, for a terminal.
    pub has_bars: bool,
    /// With what the original program prints: CrystalDiskMark's text, winsat's lines.
    pub has_original: bool,
    pub findings: Findings,
}

/// How the findings of a series are told to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Findings {
    /// Each with its sentence and its advice.
    Whole,
    /// Their names in one line, and what shows the rest.
    Names { rest: &'static str },
}

impl Shown {
    /// All of it, as a file has it.
    pub fn whole(style: Style) -> Self {
        Shown { style, has_bars: false, has_original: true, findings: Findings::Whole }
    }
}

/// A bar that fills this share of `columns`. It is an eighth of a column long at least, so that every bar is seen.
pub fn bar(share: f64, columns: usize) -> String {
    let eighths = ((share.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize).max(1);
    "\u{2588}".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Draws values as heights in up to `columns` columns, each of which is the mean of its values. The heights begin at 0,
/// so that a steady rate looks steady. Returns the smallest and the largest mean too; none without a value above 0.
pub fn sparkline(values: &[f64], columns: usize) -> Option<(String, [f64; 2])> {
    let columns = values.len().min(columns);
    let mut means = Vec::new();
    for column in 0..columns {
        let (from, to) = (column * values.len() / columns, (column + 1) * values.len() / columns);
        let part = &values[from..to.max(from + 1)];
        means.push(part.iter().sum::<f64>() / part.len() as f64);
    }
    let most = means.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let heights = means.iter().map(|mean| HEIGHTS[((mean / most * 8.0).ceil() as usize).clamp(1, 8) - 1]);
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    Some((heights.collect(), [least, most]))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn shown(columns: usize, has_bars: bool) -> Shown {
        let style = Style { columns, has_colour: false };
        Shown { style, has_bars, has_original: false, findings: Findings::Whole }
    }

    #[test]
    fn bars_and_heights_begin_at_nothing() {
        assert_eq!([0.0, 0.5, 1.0, 2.0].map(|share| bar(share, 4)), ["▏", "██", "████", "████"]);
        let spark = |values: &[f64]| sparkline(values, 4);
        assert_eq!(spark(&[4.0, 1.0, 2.0]), Some(("█▂▄".into(), [1.0, 4.0])));
        assert_eq!(spark(&[1.0, 3.0, 4.0, 4.0, 8.0, 8.0, 8.0, 8.0]), Some(("▂▄██".into(), [2.0, 8.0])));
        assert_eq!((spark(&[]), spark(&[0.0])), (None, None));
    }
}
