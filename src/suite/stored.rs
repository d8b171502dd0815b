//! Documents that suites make of their own, as JSON, and their schemas.

use schemars::JsonSchema;
use serde::Serialize;

/// A document, indented: people compare them line by line.
pub fn json<T: Serialize>(document: &T) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("figures, text and lists are always JSON");
    text.push('\n');
    text
}

/// The JSON Schema of such documents, generated from the types.
pub fn schema<T: JsonSchema>() -> String {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    json(&generator.into_root_schema_for::<T>())
}
