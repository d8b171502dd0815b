//! TrueSpd's own long options.

use crate::grammar::draft::Draft;
use crate::grammar::value::{Slip, Value, history_label, history_tag, length};
use crate::request::{EngineChoice, Output};
use crate::run::required::grade;
use truespd_core::engine::{self, EngineError};
use truespd_core::text::foreign::{BadPathMap, PathMap};
use truespd_core::text::printable;

pub fn engine(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let (name, parameters) = v.text.split_once(':').unwrap_or((v.text, ""));
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(Slip::new(format!("'{name}' is not the name of an engine"))
            .at(0..length(name))
            .legal("a name in lower case, and parameters after a colon: --engine psync"));
    }
    let Some(row) = engine::find(name) else {
        let names: Vec<&str> = engine::TABLE.iter().map(|row| row.name).collect();
        return Err(Slip::new(format!("there is no engine '{name}'"))
            .at(0..length(name))
            .legal(names.join(", ")));
    };
    if let Err(error) = engine::check_parameters(row, parameters) {
        let start = length(name);
        let what = match &error {
            // What is legal is shown on a line of its own.
            EngineError::Parameter { engine, item, problem, .. } => {
                format!("{engine}: reading the parameter \"{item}\": {problem}")
            }
            other => other.to_string(),
        };
        return Err(Slip::new(what).at((start + 1).min(length(v.text))..length(v.text)).legal(
            if row.simulates_time {
                engine::SIM_PARAMETERS.to_string()
            } else {
                format!("--engine {name}, without a colon")
            },
        ));
    }
    d.long.engine = Some(EngineChoice { name: name.to_string(), parameters: parameters.to_string() });
    Ok(())
}

const MAP_LEGAL: &str = "'C:\\=/mnt/c', '\\\\server\\share=/mnt/share', '%TEMP%=/tmp', in quotes: the shell takes \\ \
                         away outside of them";

pub fn map(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let map: PathMap = v
        .text
        .parse()
        .map_err(|why: BadPathMap| Slip::new(why.to_string()).at(0..length(v.text)).legal(MAP_LEGAL))?;
    if d.long.maps.iter().any(|known| known.prefix.eq_ignore_ascii_case(&map.prefix)) {
        return Err(Slip::new("there is a folder for this beginning already").at(0..length(&map.prefix)));
    }
    d.long.maps.push(map);
    Ok(())
}

pub fn output(d: &mut Draft, v: &Value, format: &'static str) -> Result<(), Slip> {
    if v.text.is_empty() {
        return Err(Slip::new("the path of the file is missing").at(0..0));
    }
    if v.text == "-" {
        return on_stdout(d, format);
    }
    let path = v.text.to_string();
    if d.long.outputs.iter().any(|known| known.path == path) {
        return Err(
            Slip::new("another result is already to be written to this file").legal("a file for each result")
        );
    }
    d.long.outputs.push(Output { format, path });
    Ok(())
}

/// Puts a format on standard output instead of the text.
fn on_stdout(d: &mut Draft, format: &'static str) -> Result<(), Slip> {
    if let Some(other) = d.long.stdout.replace(format).filter(|other| *other != format) {
        return Err(Slip::new(format!("standard output gets the result as {other} already"))
            .legal("one format on standard output (-), and a file for each other one"));
    }
    Ok(())
}

pub fn require(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let grade = grade(v.text).map_err(|unknown| {
        let what = match v.text {
            "" => "the worst grade that is a success is missing".to_string(),
            text => format!("'{text}' is not a grade that can be required"),
        };
        Slip::new(what).at(0..length(v.text)).legal(unknown.legal.join(" or "))
    })?;
    d.long.require = Some(grade);
    Ok(())
}

/// The path of a file that is no result.
pub fn path(v: &Value) -> Result<String, Slip> {
    match v.text {
        "" => Err(Slip::new("the path of the file is missing").at(0..0)),
        "-" => Err(Slip::new("standard output is for the result").at(0..1).legal("the path of a file")),
        path => Ok(path.to_string()),
    }
}

pub fn tag(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let tag = words(v, history_tag)?;
    if !d.long.history.tags.contains(&tag) {
        d.long.history.tags.push(tag);
    }
    Ok(())
}

pub fn label(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.long.history.label = Some(words(v, history_label)?);
    Ok(())
}

pub fn revision(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.long.history.revision = Some(words(v, history_label)?);
    Ok(())
}

/// Reads what a person says about a document.
fn words(v: &Value, read: fn(&str) -> Result<String, &'static str>) -> Result<String, Slip> {
    read(v.text).map_err(|legal| {
        let what = match v.text {
            "" => "the words are missing".to_string(),
            text => format!("'{}' cannot be kept with a result", printable(text)),
        };
        Slip::new(what).at(0..length(v.text)).legal(legal)
    })
}
