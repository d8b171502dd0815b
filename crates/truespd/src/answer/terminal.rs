//! Answers on a terminal: what was measured, then the figures, and last the answer and the verdict, where the eye is.

use super::shown::Shown;
use super::verdict::doubts_text;
use super::{Answer, Block, Commands, Role, Sentence};
use truespd_core::result::Grade;
use truespd_platform::text::table::aligned;
use truespd_platform::text::{hanging, printable, shell_line};

/// Where a block stands in the text of its section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Original,
    About,
    Figures,
    Answer,
    Verdict,
}

const PLACES: [Place; 5] = [Place::Original, Place::About, Place::Figures, Place::Answer, Place::Verdict];

impl Block {
    fn is_heading(&self) -> bool {
        matches!(self, Block::Heading(_))
    }

    /// None: it stands on pages only.
    fn place(&self) -> Option<Place> {
        Some(match self {
            Block::Original(_) | Block::Sentence(Sentence { role: Role::Method, .. }) => Place::Original,
            Block::Sentence(Sentence { role: Role::Title | Role::About, .. }) => Place::About,
            Block::Bars(bars) if bars.is_of_pages => return None,
            Block::Table(_) | Block::Heat(_) | Block::Bars(_) | Block::Headline(_) => Place::Figures,
            Block::Lines(chart) if chart.has_sparkline => Place::Figures,
            Block::Sentence(Sentence { role: Role::Note, .. }) => Place::Figures,
            Block::Sentence(_) | Block::Folded(..) => Place::Answer,
            Block::Commands(commands) if commands.is_answer => Place::Answer,
            Block::Verdict(_) => Place::Verdict,
            Block::Lines(_) | Block::Commands(_) | Block::Heading(_) => return None,
        })
    }

    fn text(&self, shown: Shown) -> String {
        let columns = shown.style.columns;
        match self {
            _ if self.place() == Some(Place::Original) && !shown.has_original => String::new(),
            Block::Original(text) => text.clone(),
            Block::Heading(_) => String::new(),
            // A file or a pipe has each sentence in one line, for those who search it.
            Block::Sentence(sentence) if !shown.has_bars => sentence.text(usize::MAX),
            Block::Sentence(sentence) => sentence.text(columns),
            Block::Headline(figures) => headline(figures),
            Block::Table(table) => table.text(shown),
            Block::Heat(heat) => heat.text(shown),
            Block::Bars(bars) => bars.text(shown),
            Block::Lines(chart) if shown.has_bars => chart.sparklines(columns),
            Block::Lines(_) => String::new(),
            Block::Commands(commands) => commands.text(),
            Block::Verdict(verdict) => verdict.shown(shown),
            Block::Folded(_, inside) => inside.iter().map(|block| block.text(shown)).collect(),
        }
    }

    fn grades(&self) -> Vec<Grade> {
        match self {
            Block::Heat(heat) => heat.grades(),
            Block::Bars(bars) => bars.grades(),
            Block::Table(table) => table.doubts(),
            _ => Vec::new(),
        }
    }
}

/// What stands in the second line of a figure is behind it in brackets.
fn headline(figures: &[(String, String)]) -> String {
    let mut rows = Vec::new();
    for (name, figure) in figures {
        let (figure, more) = match figure.split_once('\n') {
            Some((figure, more)) => (figure, format!("({more})")),
            None => (figure.as_str(), String::new()),
        };
        rows.push(vec![name.clone(), figure.to_string(), more]);
    }
    aligned(rows, &[false; 3])
}

impl Sentence {
    fn text(&self, columns: usize) -> String {
        self.words.lines().map(|line| hanging("", &printable(line), columns)).collect()
    }
}

impl Commands {
    /// Each line in one piece, to be copied.
    fn text(&self) -> String {
        let mut out = format!("{}:\n", self.title);
        for (name, words) in &self.lines {
            if !name.is_empty() {
                out += &format!("  # {}\n", printable(name));
            }
            out += &format!("  diskspd {}\n", printable(&shell_line(words)));
        }
        out
    }
}

impl Answer {
    /// As text; what a heading stands above is a section of its own. What stands before all headings is of the whole:
    /// its answer and its verdict come last.
    pub fn text(&self, shown: Shown) -> String {
        let first = self.blocks.iter().position(Block::is_heading).unwrap_or(self.blocks.len());
        let (whole, parts) = self.blocks.split_at(first);
        let mut sections = vec![section_text(whole, &PLACES[..3], shown)];
        for section in parts.chunk_by(|_, next| !next.is_heading()) {
            let mut text = section_text(section, &PLACES, shown);
            if let (Some(Block::Heading(words)), false) = (section.first(), text.is_empty()) {
                text.insert_str(0, &format!("== {}\n", printable(words)));
            }
            sections.push(text);
        }
        sections.push(section_text(whole, &PLACES[3..], shown));
        sections.retain(|section| !section.is_empty());
        sections.join("\n")
    }
}

/// An empty line stands between what differs in kind, and before each table.
fn section_text(blocks: &[Block], places: &[Place], shown: Shown) -> String {
    let mut out = String::new();
    for &place in places {
        let mut texts = Vec::new();
        let mut grades = Vec::new();
        for block in blocks.iter().filter(|block| block.place() == Some(place)) {
            let text = block.text(shown);
            let is_below = matches!(block, Block::Sentence(_)) || place != Place::Figures;
            if !text.is_empty() {
                let gap = if texts.is_empty() || is_below { "" } else { "\n" };
                texts.push(format!("{gap}{text}"));
            }
            grades.extend(block.grades());
        }
        texts.push(doubts_text(grades.iter().copied(), shown.style.columns));
        let texts = texts.concat();
        let gap = if out.is_empty() || texts.is_empty() { "" } else { "\n" };
        out += &format!("{gap}{texts}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::SeriesVerdict;
    use super::super::shown::tests::shown;
    use super::*;

    #[test]
    fn the_answer_stands_below_the_figures() {
        let mut answer = Answer::default();
        answer.about("-b4K");
        answer.says("it is fast");
        answer.push(SeriesVerdict::default());
        let figures = [("IOPS", "7\n6 to 8"), ("mean", "1 ms")];
        answer.push(Block::Headline(figures.map(|(name, figure)| (name.into(), figure.into())).into()));
        answer.push(Block::Heading("a page shows its chart".into()));
        answer.push(Block::Heading("second".into()));
        answer.says("it is slow");
        assert_eq!(
            answer.text(shown(40, true)),
            "-b4K\n\nIOPS  7     (6 to 8)\nmean  1 ms\n\n== second\nit is slow\n\nit is fast\n\nverdict: not judged\n"
        );
    }

    #[test]
    fn the_original_program_stands_first_where_it_is_wanted() {
        let mut answer = Answer::default();
        answer.title("what it is");
        answer.says("it is fast");
        answer.push(Block::Original("> 7\n".into()));
        answer.method("as far as is known");
        assert_eq!(answer.text(shown(40, true)), "what it is\n\nit is fast\n");
        let whole = Shown { has_original: true, ..shown(40, true) };
        assert_eq!(answer.text(whole), "> 7\nas far as is known\n\nwhat it is\n\nit is fast\n");
        let html = answer.html();
        assert!(!html.contains("hat it is"), "it is the heading of the page: {html}");
        assert!(html.contains("&gt; 7") && html.contains("As far as"), "{html}");
    }
}
