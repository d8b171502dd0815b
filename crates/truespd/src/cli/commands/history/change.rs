//! `truespd history label|tag|note|rm`: what a person says about kept results.

use clap::{ArgGroup, Args};

use super::at::{At, Done};
use crate::cli::commands::keeping;
use crate::history::{Entry, Store};
use diskspd::program::{ExitCode, print};
use truespd_core::fault::Refusal;
use truespd_core::text::printable;

/// Give a kept result a name, or take it away
///
/// Several results may share a label: they are one group for comparisons.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true))]
pub(crate) struct LabelArguments {
    /// Id, beginning of an id, or label
    #[arg(value_name = "DOCUMENT")]
    document: String,
    /// The name
    #[arg(value_name = "NAME", group = "what", value_parser = keeping::label)]
    name: Option<String>,
    /// Take the label away
    #[arg(long, group = "what")]
    remove: bool,
}

/// Add tags to kept results and remove others: `history tag 3f7k2q1 +night -draft`
#[derive(Debug, Args)]
pub(crate) struct TagArguments {
    /// Id, beginning of an id, or label: then of all results with it
    #[arg(value_name = "DOCUMENT")]
    document: String,
    /// +TAG or TAG adds it, -TAG removes it
    #[arg(required = true, value_name = "+TAG|-TAG", allow_hyphen_values = true, value_parser = tag_change)]
    changes: Vec<TagChange>,
}

/// Write a sentence to a kept result, or take it away
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true))]
pub(crate) struct NoteArguments {
    /// Id, beginning of an id, or label
    #[arg(value_name = "DOCUMENT")]
    document: String,
    /// The sentence
    #[arg(value_name = "TEXT", group = "what", value_parser = keeping::label)]
    text: Option<String>,
    /// Take the note away
    #[arg(long, group = "what")]
    remove: bool,
}

/// Remove kept results for good
#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// Ids or beginnings of ids; a label counts where one result has it
    #[arg(required = true, value_name = "DOCUMENT")]
    documents: Vec<String>,
}

/// A tag to add or to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TagChange {
    Add(String),
    Remove(String),
}

fn tag_change(text: &str) -> Result<TagChange, Refusal> {
    match text.strip_prefix('-') {
        Some(tag) => keeping::tag(tag).map(TagChange::Remove),
        None => keeping::tag(text.strip_prefix('+').unwrap_or(text)).map(TagChange::Add),
    }
}

pub(super) fn label(at: &At, arguments: &LabelArguments) -> Done {
    let (mut store, entry) = one(at, &arguments.document)?;
    store.set_label(&entry, arguments.name.as_deref()).map_err(Refusal::from)?;
    Ok(said(&[entry], |_| arguments.name.as_ref().map_or("no label".into(), |name| format!("label {name}"))))
}

pub(super) fn note(at: &At, arguments: &NoteArguments) -> Done {
    let (mut store, entry) = one(at, &arguments.document)?;
    store.set_note(&entry, arguments.text.as_deref()).map_err(Refusal::from)?;
    Ok(said(&[entry], |_| arguments.text.as_ref().map_or("no note".into(), |text| format!("note: {text}"))))
}

pub(super) fn tag(at: &At, arguments: &TagArguments) -> Done {
    let mut store = at.to_change(&arguments.document)?;
    let entries = store.find(&arguments.document).map_err(Refusal::from)?;
    let (mut add, mut remove) = (Vec::new(), Vec::new());
    for change in &arguments.changes {
        match change {
            TagChange::Add(tag) => add.push(tag.clone()),
            TagChange::Remove(tag) => remove.push(tag.clone()),
        }
    }
    store.tag(&entries, &add, &remove).map_err(Refusal::from)?;
    let now = store.find(&arguments.document).map_err(Refusal::from)?;
    let words = |entry: &Entry| match entry.given.tags.as_slice() {
        [] => "no tags".to_string(),
        tags => format!("tags {}", tags.join(" ")),
    };
    Ok(said(&now, words))
}

pub(super) fn remove(at: &At, arguments: &RemoveArguments) -> Done {
    let mut store = at.to_change(&arguments.documents[0])?;
    // All are found before the first is removed.
    let found = arguments.documents.iter().map(|word| store.find_one(word).map_err(Refusal::from));
    let entries: Vec<Entry> = found.collect::<Result<_, _>>()?;
    store.remove(&entries).map_err(Refusal::from)?;
    Ok(said(&entries, |_| "removed".to_string()))
}

fn one(at: &At, word: &str) -> Result<(Store, Entry), Refusal> {
    let store = at.to_change(word)?;
    let entry = store.find_one(word)?;
    Ok((store, entry))
}

/// A line for each.
fn said(entries: &[Entry], words: impl Fn(&Entry) -> String) -> ExitCode {
    let line = |entry: &Entry| format!("{}\n", printable(&format!("{}: {}", entry.id, words(entry))));
    print(&entries.iter().map(line).collect::<String>(), ExitCode::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_added_and_removed_by_their_sign() {
        assert_eq!(tag_change("+a"), Ok(TagChange::Add("a".into())));
        assert_eq!(tag_change("a-b"), Ok(TagChange::Add("a-b".into())));
        assert_eq!(tag_change("-a"), Ok(TagChange::Remove("a".into())));
        for none in ["", "+", "-", "--a", "a b"] {
            assert!(tag_change(none).is_err(), "{none}");
        }
    }
}
