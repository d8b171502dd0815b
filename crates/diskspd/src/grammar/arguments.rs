//! The arguments split into options and targets.

use crate::grammar::draft::Draft;
use crate::grammar::rows::{self, Row};
use crate::grammar::value::{Value, length};
use truespd_core::fault::{Caret, Refusal, Refusals};

/// An option as it stands in the arguments.
#[derive(Debug, Clone, Copy)]
pub struct Arg<'a> {
    /// Index of the argument with the letters.
    pub index: usize,
    /// Its row, if there is one.
    pub row: Option<&'static Row>,
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
    pub options: Vec<Arg<'a>>,
    /// Index of the first target; the number of arguments when there is none.
    pub targets: usize,
    /// `--` stands before the targets: whatever they look like, they are no options.
    pub has_end_of_options: bool,
}

impl<'a> Arguments<'a> {
    /// Finds the options, each with its value, and where the targets begin.
    pub fn split(args: &'a [String], program: &'a str) -> Self {
        let mut options = Vec::new();
        let mut index = 0;
        let mut has_end_of_options = false;
        while let Some(option) = args.get(index).and_then(|arg| arg.strip_prefix('-')) {
            if option == "-" {
                has_end_of_options = true;
                index += 1;
                break;
            }
            let option = Arg::new(index, option, args.get(index + 1));
            index = option.value_index.max(index) + 1;
            options.push(option);
        }
        Arguments { program, args, options, targets: index.min(args.len()), has_end_of_options }
    }

    /// The option that names an XML profile.
    pub fn profile_file(&self) -> Option<&Arg<'a>> {
        self.options.iter().find(|option| option.row.is_some_and(|row| row.name == "X"))
    }

    /// The last option that a finding about this switch is about.
    pub fn option_about(&self, switch: &str) -> Option<&Arg<'a>> {
        self.options.iter().rev().find(|option| option.row.is_some_and(|row| row.is_about(switch)))
    }

    /// A caret under a whole argument.
    pub fn mark_all(&self, index: usize, main: bool) -> Caret {
        Caret { word: index, chars: 0..length(&self.args[index]), main }
    }

    /// One refusal with the words.
    pub fn refusal(&self, refusal: Refusal) -> Refusals {
        Refusals::from(refusal).of(self.program, self.args)
    }
}

impl<'a> Arg<'a> {
    /// `option` is the argument without its dash, `next` the argument behind it.
    fn new(index: usize, option: &'a str, next: Option<&'a String>) -> Self {
        let row = rows::find(option);
        let letters = row.filter(|row| !row.is_long()).map_or("", |row| row.name);
        if row.is_none_or(|row| !row.is_long()) {
            let value = option.strip_prefix(letters).unwrap_or_default();
            return Arg { index, row, value, value_index: index, lead: 1 + length(letters) };
        }
        if let Some((name, value)) = option.split_once('=') {
            return Arg { index, row, value, value_index: index, lead: 2 + length(name) };
        }
        let takes_value = row.is_some_and(|row| !row.value.is_empty());
        match next {
            // A dash alone is standard output.
            Some(next) if takes_value && (!next.starts_with('-') || next == "-") => {
                Arg { index, row, value: next, value_index: index + 1, lead: 0 }
            }
            _ => Arg { index, row, value: "", value_index: index, lead: 1 + length(option) },
        }
    }
}

/// Whether a single option word would be accepted on its own.
pub fn is_option(word: &str) -> bool {
    let args = [word.to_string()];
    let line = Arguments::split(&args, "");
    let [option] = line.options.as_slice() else { return false };
    let Some(row) = option.row else { return false };
    let mut draft = Draft::default();
    // What DiskSpd takes for something else is not what anybody means.
    row.read(&mut draft, &Value { text: option.value, word: 0 }).is_ok() && draft.reinterpreted.is_empty()
}
