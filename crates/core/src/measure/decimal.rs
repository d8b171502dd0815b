//! 128-bit whole numbers in documents: decimal text, because common readers of JSON hold numbers in
//! 53 bits.

use serde::{Deserialize, Deserializer, Serializer, de};

/// Writes a number as decimal text.
pub fn serialize<S: Serializer>(number: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

/// Reads a number from decimal text.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
    parse(&text)
}

fn parse<E: de::Error>(text: &str) -> Result<u128, E> {
    text.parse().map_err(|_| E::custom(format!("'{text}' is not a whole number of at most 128 bits")))
}

/// The same for lists.
pub mod list {
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes numbers as decimal texts.
    pub fn serialize<S: Serializer>(numbers: &[u128], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(numbers.iter().map(ToString::to_string))
    }

    /// Reads numbers from decimal texts.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u128>, D::Error> {
        let texts = Vec::<std::borrow::Cow<str>>::deserialize(deserializer)?;
        texts.iter().map(|text| super::parse(text)).collect()
    }
}
