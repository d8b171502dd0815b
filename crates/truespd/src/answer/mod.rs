//! What an answer to a question is made of. It is made once, from the question's document, and has four drawers: text
//! for a terminal, HTML for a page, a picture, and comma-separated values.

pub mod axis;
pub mod bars;
pub mod cells;
pub mod chart;
pub mod findings;
pub mod heat;
pub mod html;
pub mod page;
pub mod picture;
pub mod rounds;
pub mod shown;
pub mod table;
mod terminal;
mod verdict;

pub use shown::{Findings, Shown};
pub use verdict::{Advice, Of, RuleResult, SeriesVerdict, doubt, doubts_text, word};

use bars::Bars;
use chart::Chart;
use heat::Heat;
use table::Table;

/// An answer to a question: blocks in the order of a page.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub blocks: Vec<Block>,
}

/// A part of an answer. What a drawer cannot draw of it, it leaves out.
#[derive(Debug, Clone)]
pub enum Block {
    /// A section of the answer begins, whose blocks belong together.
    Heading(String),
    /// Figures that a reader wants first, with their names. A second line of a figure says what else is known of it:
    /// its interval, or what it rests on.
    Headline(Vec<(String, String)>),
    Sentence(Sentence),
    Verdict(SeriesVerdict),
    Table(Table),
    Heat(Heat),
    Bars(Bars),
    Lines(Box<Chart>),
    Commands(Commands),
    /// What the program prints whose tests these are.
    Original(String),
    /// Blocks that a page folds up below these words.
    Folded(String, Vec<Block>),
}

/// A sentence or two, in lines where they belong together.
#[derive(Debug, Clone)]
pub struct Sentence {
    pub role: Role,
    pub words: String,
}

/// What a sentence is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It says what this is and where it ran. A page has that as its heading.
    Title,
    /// It says what was measured, and with which line.
    About,
    /// It is what the question asks for, in words.
    Answer,
    /// It says what else follows from the figures.
    Remark,
    /// How figures are to be read.
    Note,
    /// It says how the tests differ from those of the original program. A terminal shows it where it shows what that
    /// program prints.
    Method,
}

/// Lines of `diskspd`, each with its name, which may be empty.
#[derive(Debug, Clone)]
pub struct Commands {
    pub title: String,
    pub lines: Vec<(String, Vec<String>)>,
    /// They answer the question. Others only repeat what was done, and `--print` shows them before.
    pub is_answer: bool,
}

impl Commands {
    /// The lines that were run.
    pub fn to_repeat(lines: Vec<(String, Vec<String>)>) -> Self {
        Commands { title: "to repeat it".to_string(), lines, is_answer: false }
    }
}

impl Answer {
    pub fn push(&mut self, block: impl Into<Block>) {
        self.blocks.push(block.into());
    }

    /// Says what this is and where it ran.
    pub fn title(&mut self, words: impl Into<String>) {
        self.push(Sentence { role: Role::Title, words: words.into() });
    }

    /// Says what was measured, and with which line.
    pub fn about(&mut self, words: impl Into<String>) {
        self.push(Sentence { role: Role::About, words: words.into() });
    }

    /// Says what answers the question.
    pub fn says(&mut self, words: impl Into<String>) {
        self.push(Sentence { role: Role::Answer, words: words.into() });
    }

    pub fn remark(&mut self, words: impl Into<String>) {
        self.push(Sentence { role: Role::Remark, words: words.into() });
    }

    pub fn note(&mut self, words: impl Into<String>) {
        self.push(Sentence { role: Role::Note, words: words.into() });
    }

    /// Says how the tests differ from those of the original program.
    pub fn method(&mut self, words: impl Into<String>) {
        self.push(Sentence { role: Role::Method, words: words.into() });
    }

    /// The rows of the first table that has any, as comma-separated values; empty where none has.
    pub fn csv(&self) -> String {
        let mut tables = self.blocks.iter().filter_map(|block| match block {
            Block::Table(table) if table.has_values() => Some(table),
            _ => None,
        });
        tables.next().map_or(String::new(), Table::csv)
    }
}

impl From<Sentence> for Block {
    fn from(sentence: Sentence) -> Self {
        Block::Sentence(sentence)
    }
}

impl From<SeriesVerdict> for Block {
    fn from(verdict: SeriesVerdict) -> Self {
        Block::Verdict(verdict)
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Block::Table(table)
    }
}

impl From<Heat> for Block {
    fn from(heat: Heat) -> Self {
        Block::Heat(heat)
    }
}

impl From<Bars> for Block {
    fn from(bars: Bars) -> Self {
        Block::Bars(bars)
    }
}

impl From<Chart> for Block {
    fn from(chart: Chart) -> Self {
        Block::Lines(Box::new(chart))
    }
}

impl From<Commands> for Block {
    fn from(commands: Commands) -> Self {
        Block::Commands(commands)
    }
}
