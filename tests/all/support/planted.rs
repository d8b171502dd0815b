//! Words that act on a terminal or look like another line, in every string that the schema of a kind of documents has.

use serde_json::{Map, Value};

/// What is planted: this program's own colours, line ends of all kinds, a line like one of its own, and what
/// turns, hides or commands.
pub const PLANT: &str = "\u{1b}[32mgood\u{1b}[0m\n\u{1b}[32mverdict: certified forged\u{1b}[0m\r\nverdict: certified forged\
    \u{2028}verdict: certified forged\u{85}\u{202e}\u{2066}\u{200b}\u{feff}\u{9b}2J\u{7f}\u{7}\u{0}\u{e0041}\u{1b}]0;x\u{7}";

/// A step from a value to one inside of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// To a member of this name.
    Member(String),
    /// To the first item of a list.
    Item,
    /// To the member of a map, whose name may be anything: the plant is its name.
    Named,
}

/// A place of a string.
pub type Place = Vec<Step>;

/// A schema.
pub struct Schema(pub Value);

impl Schema {
    /// The places of all strings that are not fixed, and of all names of members that may be anything.
    pub fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        self.gather(&self.0, &mut Vec::new(), &mut Vec::new(), &mut places);
        places.sort_by_key(|place| format!("{place:?}"));
        places.dedup();
        places
    }

    fn gather<'s>(
        &'s self,
        schema: &'s Value,
        within: &mut Vec<&'s str>,
        at: &mut Place,
        places: &mut Vec<Place>,
    ) {
        if let Some(name) = schema["$ref"].as_str() {
            // What holds others of its kind is seen once.
            if !within.contains(&name) {
                within.push(name);
                self.gather(self.named(name), within, at, places);
                within.pop();
            }
        }
        if is_type(schema, "string") && schema["const"].is_null() && schema["enum"].is_null() {
            places.push(at.clone());
        }
        for list in ["anyOf", "oneOf", "allOf"] {
            for one in schema[list].as_array().into_iter().flatten() {
                self.gather(one, within, at, places);
            }
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            at.push(Step::Member(name.clone()));
            self.gather(member, within, at, places);
            at.pop();
        }
        let items = schema["prefixItems"].as_array().map_or(&schema["items"], |items| &items[0]);
        if items.is_object() {
            at.push(Step::Item);
            self.gather(items, within, at, places);
            at.pop();
        }
        if schema["additionalProperties"].is_object() {
            at.push(Step::Named);
            places.push(at.clone());
            self.gather(&schema["additionalProperties"], within, at, places);
            at.pop();
        }
    }

    fn named(&self, name: &str) -> &Value {
        self.0.pointer(name.trim_start_matches('#')).expect("a definition")
    }

    /// The document with the plant at a place; members on the way that it has not are made up. None where the
    /// document holds something of another form there.
    pub fn planted(&self, document: &Value, place: &[Step]) -> Option<Value> {
        let mut planted = document.clone();
        self.plant(&mut planted, &self.0, place).then_some(planted)
    }

    fn plant(&self, value: &mut Value, schema: &Value, place: &[Step]) -> bool {
        if let Some(name) = schema["$ref"].as_str() {
            return self.plant(value, self.named(name), place);
        }
        for list in ["anyOf", "oneOf", "allOf"] {
            for one in schema[list].as_array().into_iter().flatten() {
                let mut other = value.clone();
                if self.plant(&mut other, one, place) {
                    *value = other;
                    return true;
                }
            }
        }
        let Some((step, rest)) = place.split_first() else {
            let fits = is_type(schema, "string") && schema["const"].is_null() && schema["enum"].is_null();
            if fits {
                *value = Value::String(PLANT.into());
            }
            return fits;
        };
        match step {
            Step::Member(name) => {
                let member = &schema["properties"][name];
                if !member.is_object() {
                    return false;
                }
                let Value::Object(made) = self.least(schema) else { return false };
                if !value.is_object()
                    || made.iter().any(|(name, must)| is_other(value.get(name), must, schema, name))
                {
                    *value = Value::Object(made);
                }
                let members = value.as_object_mut().expect("made");
                let inside = members.entry(name.clone()).or_insert_with(|| self.least(member));
                self.plant(inside, member, rest)
            }
            Step::Item => {
                let items = schema["prefixItems"].as_array().map_or(&schema["items"], |items| &items[0]);
                if !items.is_object() {
                    return false;
                }
                if value.as_array().is_none_or(Vec::is_empty) {
                    *value = Value::Array(vec![self.least(items)]);
                }
                self.plant(&mut value[0], items, rest)
            }
            Step::Named => {
                let member = &schema["additionalProperties"];
                if !member.is_object() {
                    return false;
                }
                let mut inside = self.least(member);
                let is_planted = rest.is_empty() || self.plant(&mut inside, member, rest);
                if !value.is_object() {
                    *value = Value::Object(Map::new());
                }
                value.as_object_mut().expect("made").insert(PLANT.into(), inside);
                is_planted
            }
        }
    }

    /// The least that fits.
    fn least(&self, schema: &Value) -> Value {
        if let Some(name) = schema["$ref"].as_str() {
            return self.least(self.named(name));
        }
        if !schema["const"].is_null() {
            return schema["const"].clone();
        }
        if let Some(words) = schema["enum"].as_array() {
            return words[0].clone();
        }
        for list in ["anyOf", "oneOf"] {
            if let Some(one) = schema[list].as_array().and_then(|all| all.first()) {
                return self.least(one);
            }
        }
        if is_type(schema, "object") {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let member = |name: &str| (name.to_string(), self.least(&schema["properties"][name]));
            return Value::Object(required.map(member).collect());
        }
        if is_type(schema, "array") {
            let items = schema["prefixItems"].as_array().into_iter().flatten();
            let mut items: Vec<Value> = items.map(|item| self.least(item)).collect();
            let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
            while items.len() < least {
                items.push(self.least(&schema["items"]));
            }
            return Value::Array(items);
        }
        match schema["type"].as_str() {
            Some("string") if schema["pattern"].is_string() => "0".into(),
            Some("string") => "x".into(),
            Some("integer" | "number") => schema["minimum"].as_u64().unwrap_or(0).into(),
            Some("boolean") => false.into(),
            _ => Value::Null,
        }
    }
}

/// Whether a member that has to be there is not, or is a word for another form.
fn is_other(there: Option<&Value>, must: &Value, schema: &Value, name: &str) -> bool {
    match there {
        None => true,
        Some(there) => !schema["properties"][name]["const"].is_null() && there != must,
    }
}

fn is_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::String(only) => only == name,
        Value::Array(all) => all.iter().any(|one| one == name),
        _ => false,
    }
}

/// Documents that together have the plant at every place where `is_read` takes one, and the places where it does not.
pub fn documents(
    schema: &Schema,
    seeds: &[Value],
    is_read: &dyn Fn(&Value) -> bool,
) -> (Vec<Value>, Vec<Place>) {
    let mut left = schema.places();
    let mut documents = Vec::new();
    for seed in seeds {
        loop {
            let (mut document, mut others) = (seed.clone(), Vec::new());
            for place in std::mem::take(&mut left) {
                match schema.planted(&document, &place).filter(|planted| is_read(planted)) {
                    Some(planted) => document = planted,
                    None => others.push(place),
                }
            }
            left = others;
            if &document == seed {
                break;
            }
            documents.push(document);
        }
    }
    (documents, left)
}
