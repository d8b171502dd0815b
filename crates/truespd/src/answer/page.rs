//! Answers on a page, and the picture that says most of one.

use super::findings::of_series;
use super::html::{details, escaped, first_large, note, paragraph, plain, tiles};
use super::picture::Picture;
use super::{Answer, Block, Commands, Role, Sentence};
use truespd_platform::text::{shell_line, with_micro};

impl Answer {
    /// What a page shows, as HTML.
    pub fn html(&self) -> String {
        self.blocks.iter().map(Block::html).collect()
    }

    /// The picture that says most of it, and a line about it; none where its tables say all.
    pub fn picture(&self) -> Option<(Picture, String)> {
        let picture = self.blocks.iter().find_map(|block| match block {
            Block::Lines(chart) if !chart.is_empty() => Some(Picture::Chart(chart.clone())),
            Block::Bars(bars) if !bars.is_empty() => Some(Picture::Bars(bars.clone())),
            _ => None,
        });
        Some((picture?, self.first_words()))
    }

    /// The first thing that it says, or what was measured where it only has figures.
    fn first_words(&self) -> String {
        let mut about = None;
        for block in &self.blocks {
            let Block::Sentence(Sentence { role, words }) = block else { continue };
            let first = words.lines().next().unwrap_or_default();
            match role {
                Role::Answer | Role::Remark => return first_large(&with_micro(first)),
                Role::About if about.is_none() => about = Some(with_micro(first)),
                _ => {}
            }
        }
        about.unwrap_or_default()
    }
}

impl Block {
    fn html(&self) -> String {
        match self {
            Block::Heading(words) => heading(&first_large(words)),
            Block::Headline(figures) => {
                let shown = figures.iter().map(|(name, figure)| (name, Some(with_micro(figure))));
                tiles(&shown.collect::<Vec<_>>())
            }
            Block::Sentence(sentence) => sentence.html(),
            Block::Verdict(verdict) => of_series(verdict),
            Block::Table(table) => table.html(),
            Block::Heat(heat) => heat.html(),
            Block::Bars(bars) => bars.html(),
            Block::Lines(chart) => chart.html(),
            Block::Commands(commands) => commands.html(),
            Block::Original(text) => details("As the original program prints it", plain(text).trim_end()),
            Block::Folded(summary, inside) => {
                details(&escaped(summary), &inside.iter().map(Block::html).collect::<String>())
            }
        }
    }
}

impl Sentence {
    fn html(&self) -> String {
        let lines: Vec<String> = self.words.lines().map(|line| first_large(&with_micro(line))).collect();
        let words = lines.join("\n");
        match self.role {
            Role::Title => String::new(),
            Role::About => paragraph("subtitle", &with_micro(&self.words)),
            Role::Answer => paragraph("answer", &words),
            Role::Remark => paragraph("", &words),
            Role::Note | Role::Method => note(&words),
        }
    }
}

/// A heading below that of the document.
pub fn heading(words: &str) -> String {
    format!("<h3 class=\"part\">{}</h3>\n", escaped(words))
}

impl Commands {
    fn html(&self) -> String {
        let mut out = String::new();
        for (name, words) in &self.lines {
            if !name.is_empty() {
                out += &format!("# {}\n", escaped(name));
            }
            out += &format!("{}\n", escaped(&format!("diskspd {}", shell_line(words))));
        }
        if out.is_empty() {
            return out;
        }
        format!("{}<pre tabindex=\"0\">{out}</pre>\n", heading(&first_large(&self.title)))
    }
}
