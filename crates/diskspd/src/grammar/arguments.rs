//! The arguments split into options and targets.

use crate::grammar::draft::Draft;
use crate::grammar::rows::{self, Row};
use crate::grammar::value::{Value, length};
use truespd_core::fault::{Mark, Refusal, Refusals};

/// An option as it stands in the arguments.
#[derive(Debug, Clone, Copy)]
pub struct Word<'a> {
    /// Index of the argument with the letters.
    pub index: usize,
    /// Its row, if there is one.
    pub row: Option<&'static Row>,
    /// The value.
    pub value: &'a str,
    /// Index of the argument with the value: the next one for `--name value`.
    pub value_index: usize,
    /// Characters of that argument before the value.
    pub lead: usize,
}

/// Options and targets of a command line.
pub struct Arguments<'a> {
    pub program: &'a str,
    pub args: &'a [String],
    pub words: Vec<Word<'a>>,
    /// Index of the first target; the number of arguments when there is none.
    pub targets: usize,
    /// `--` stands before the targets: whatever they look like, they are no options.
    pub has_end_of_options: bool,
}

impl<'a> Arguments<'a> {
    /// Finds the options, each with its value, and where the targets begin.
    pub fn split(args: &'a [String], program: &'a str) -> Self {
        let mut words = Vec::new();
        let mut index = 0;
        let mut has_end_of_options = false;
        while let Some(option) = args.get(index).and_then(|arg| arg.strip_prefix('-')) {
            if option == "-" {
                has_end_of_options = true;
                index += 1;
                break;
            }
            let word = Word::new(index, option, args.get(index + 1));
            index = word.value_index.max(index) + 1;
            words.push(word);
        }
        Arguments { program, args, words, targets: index.min(args.len()), has_end_of_options }
    }

    /// The word that names an XML profile.
    pub fn profile_file(&self) -> Option<&Word<'a>> {
        self.words.iter().find(|word| word.row.is_some_and(|row| row.name == "X"))
    }

    /// A mark under a whole argument.
    pub fn mark_all(&self, index: usize, main: bool) -> Mark {
        Mark { word: index, chars: 0..length(&self.args[index]), main }
    }

    /// One refusal with the words.
    pub fn refusal(&self, refusal: Refusal) -> Refusals {
        Refusals::from(refusal).of(self.program, self.args)
    }
}

impl<'a> Word<'a> {
    /// `option` is the argument without its dash, `next` the argument behind it.
    fn new(index: usize, option: &'a str, next: Option<&'a String>) -> Self {
        let row = rows::find(option);
        let mut word = Word { index, row, value: "", value_index: index, lead: 1 + length(option) };
        match row {
            None => {
                word.value = option;
                word.lead = 1;
            }
            Some(row) if !row.is_long() => {
                word.value = option.strip_prefix(row.name).unwrap_or_default();
                word.lead = 1 + length(row.name);
            }
            Some(row) => {
                if let Some((name, value)) = option.split_once('=') {
                    word.value = value;
                    word.lead = 2 + length(name);
                } else if let Some(next) =
                    // A dash alone is standard output.
                    next.filter(|next| {
                        !row.value.is_empty() && (!next.starts_with('-') || *next == "-")
                    })
                {
                    word.value = next;
                    word.value_index = index + 1;
                    word.lead = 0;
                }
            }
        }
        word
    }
}

/// Whether a single option word would be accepted on its own.
pub fn is_option(word: &str) -> bool {
    let args = [word.to_string()];
    let line = Arguments::split(&args, "");
    let [word] = line.words.as_slice() else { return false };
    let Some(row) = word.row else { return false };
    let mut draft = Draft::new(&|| 0);
    // What DiskSpd takes for something else is not what anybody means.
    (row.parse)(&mut draft, &Value { text: word.value, word: 0 }).is_ok() && draft.taken.is_empty()
}
