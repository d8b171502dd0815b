//! JSON Schemas of the documents, generated from their types. They need the feature `schema`: the drop-in publishes
//! none, and is compiled in three quarters of the time without them.

use super::envelope::{self, DocumentKind};
use super::json::{self, indented};
use super::metrics::Metric;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// The schema of results of runs, as [`json::write`] writes them.
pub fn of_results() -> String {
    of::<json::Envelope<'static>>()
}

/// The schema of documents of another kind, as [`envelope::write`] writes them.
pub fn of_kind<T: DocumentKind + JsonSchema>() -> String {
    of::<envelope::Envelope<'static, T>>()
}

fn of<T: JsonSchema>() -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    indented(&generator.into_root_schema_for::<T>())
}

impl<T: DocumentKind + JsonSchema> JsonSchema for envelope::Envelope<'_, T> {
    fn schema_name() -> Cow<'static, str> {
        "Envelope".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut member = generator.subschema_for::<T>();
        member.insert("description".into(), T::MEMBER_ABOUT.into());
        json_schema!({
            "title": T::TITLE,
            "description": T::ABOUT,
            "type": "object",
            "properties": {
                "format": {
                    "description": format!("Always `{}`.", T::FORMAT),
                    "type": "string",
                    "const": T::FORMAT,
                },
                "format_version": {
                    "description": T::VERSION_ABOUT,
                    "type": "integer",
                    "format": "uint32",
                    "const": T::VERSION,
                    "minimum": 0,
                },
                T::MEMBER: member,
            },
            "required": ["format", "format_version", T::MEMBER],
        })
    }
}

/// Of those that `ab` offers: its documents have no others.
impl JsonSchema for Metric {
    fn schema_name() -> Cow<'static, str> {
        "Metric".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        one_of(Metric::compared())
    }
}

/// The schema of a member in which any metric may stand.
pub fn any_metric(_: &mut SchemaGenerator) -> Schema {
    one_of(Metric::all())
}

fn one_of(metrics: impl Iterator<Item = Metric>) -> Schema {
    let rows: Vec<Schema> = metrics
        .map(|metric| json_schema!({ "description": metric.about(), "type": "string", "const": metric.id() }))
        .collect();
    json_schema!({ "description": "A figure of a run.", "oneOf": rows })
}
