//! Values as the protocol writes them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A JSON value. A number with a point or an exponent is a float, any other an integer; objects
/// keep the order of their entries, because the inputs of a case are counted in it.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) enum WrittenValue {
    #[default]
    Null,
    Truth(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<WrittenValue>),
    Object(Vec<(String, WrittenValue)>),
}

impl WrittenValue {
    /// The entry of an object.
    pub(crate) fn get(&self, name: &str) -> Option<&WrittenValue> {
        self.entries().iter().find_map(|(key, value)| (key == name).then_some(value))
    }

    /// The only entry of an object, if it has this name.
    pub(crate) fn only(&self, name: &str) -> Option<&WrittenValue> {
        match self.entries() {
            [(key, value)] if key == name => Some(value),
            _ => None,
        }
    }

    /// The entries of an object; anything else has none.
    pub(crate) fn entries(&self) -> &[(String, WrittenValue)] {
        if let WrittenValue::Object(entries) = self { entries } else { &[] }
    }

    /// The items of a list; anything else has none.
    pub(crate) fn items(&self) -> &[WrittenValue] {
        if let WrittenValue::List(items) = self { items } else { &[] }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let WrittenValue::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn integer(&self) -> Option<i64> {
        if let WrittenValue::Integer(number) = self { Some(*number) } else { None }
    }

    /// A number; those that JSON cannot write are `{"float": "inf"}` and the like.
    pub(crate) fn float(&self) -> Option<f64> {
        match self {
            WrittenValue::Float(number) => Some(*number),
            _ => self.only("float")?.text()?.parse().ok(),
        }
    }
}

impl<'de> Deserialize<'de> for WrittenValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WrittenValue, D::Error> {
        deserializer.deserialize_any(WrittenVisitor)
    }
}

struct WrittenVisitor;

impl<'de> Visitor<'de> for WrittenVisitor {
    type Value = WrittenValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of the protocol")
    }

    fn visit_unit<E>(self) -> Result<WrittenValue, E> {
        Ok(WrittenValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<WrittenValue, E> {
        Ok(WrittenValue::Truth(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<WrittenValue, E> {
        Ok(WrittenValue::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<WrittenValue, E> {
        let value = i64::try_from(value).map_err(|_| E::custom("an integer beyond 64 bits"))?;
        Ok(WrittenValue::Integer(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<WrittenValue, E> {
        Ok(WrittenValue::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<WrittenValue, E> {
        Ok(WrittenValue::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<WrittenValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(WrittenValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<WrittenValue, A::Error> {
        let mut object = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            object.push(entry);
        }
        Ok(WrittenValue::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_with_a_point_or_an_exponent_is_a_float() {
        let read = |text: &str| serde_json::from_str::<WrittenValue>(text).expect("it is JSON");
        assert_eq!(read("3"), WrittenValue::Integer(3));
        assert_eq!(read("-3.0"), WrittenValue::Float(-3.0));
        assert_eq!(read("1e5"), WrittenValue::Float(1e5));
        assert_eq!(read(r#"{"float": "-inf"}"#).float(), Some(f64::NEG_INFINITY));
        assert!(read(r#"{"float": "nan"}"#).float().is_some_and(f64::is_nan));
    }

    #[test]
    fn entries_keep_their_order() {
        let object: WrittenValue = serde_json::from_str(r#"{"z": 1, "a": 2}"#).expect("it is JSON");
        let names: Vec<&str> = object.entries().iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["z", "a"]);
    }
}
