//! `table.expand.json.payload`: a payload's JSON as Debezium's JsonConverter (schemas off) writes the struct made of it.
//!
//! Debezium infers a schema from the document, copies the document into it and writes that. What the schema has no
//! place for is lost, and that is the contract here too: compact text in the document's order, no null members (unless
//! `table.json.payload.null.behavior=optional_bytes`), no empty arrays as members, decimals as doubles, and every object
//! of one array with the members of all of them, null where it has none itself.
//!
//! Three documents in which Debezium goes wrong come out whole here. An array at the top and a number beyond 64 bits
//! make a record no converter of theirs can write, which stops it. Members of the same name whose types differ from
//! object to object do so too, or lose what the first schema found did not have. And where the members of an array's
//! objects differ, theirs come in an order that changes from one start to the next; ours come as they first appear.

use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::error::RouteError;
use super::json;
use super::options::JsonNull;

#[cfg(test)]
mod tests;

/// The expanded text; none for what Debezium leaves the string it is: text that does not begin with `{` or `[`, an
/// empty array, and documents with an array of several types, of nulls only, or of an empty array first, or with a
/// member without a name.
///
/// # Errors
/// [`RouteError::Json`] for text that begins so and is not JSON, or is nested more than 127 deep, or has a number
/// beyond the range of a double.
pub(super) fn expand(text: &str, nulls: JsonNull) -> Result<Option<String>, RouteError> {
    if !text.starts_with(['{', '[']) {
        return Ok(None);
    }
    let document: Json = serde_json::from_str(text).map_err(|error| RouteError::Json { reason: error.to_string() })?;
    let Ok(Some(shape)) = Shape::of(&document, nulls) else { return Ok(None) };
    let mut expanded = String::with_capacity(text.len());
    write_shaped(&mut expanded, &document, &shape);
    Ok(Some(expanded))
}

/// A document whose objects keep their order; of a name that repeats, the last value counts.
enum Json {
    Null,
    Boolean(bool),
    Integer(i64),
    /// Beyond 63 bits.
    Large(u64),
    Double(f64),
    String(String),
    Array(Vec<Json>),
    Object(IndexMap<String, Json>),
}

/// What Debezium's schema would say of a value.
enum Shape<'j> {
    /// A null that `optional_bytes` keeps.
    Null,
    Plain,
    Array(Box<Shape<'j>>),
    Object(IndexMap<&'j str, Shape<'j>>),
}

/// Debezium has no schema for this document.
struct NoSchema;

#[derive(PartialEq, Eq)]
enum Type {
    Boolean,
    Integer32,
    Integer64,
    Double,
    String,
    Array,
    Object,
}

impl<'j> Shape<'j> {
    /// None for a value that is left out.
    fn of(value: &'j Json, nulls: JsonNull) -> Result<Option<Shape<'j>>, NoSchema> {
        match value {
            Json::Null => Ok((nulls == JsonNull::OptionalBytes).then_some(Shape::Null)),
            Json::Array(items) if items.is_empty() => Ok(None),
            Json::Array(items) => Ok(Some(Shape::Array(Box::new(Shape::of_items(items, nulls)?)))),
            Json::Object(members) => {
                let mut shapes = IndexMap::with_capacity(members.len());
                for (name, member) in members {
                    if name.is_empty() {
                        return Err(NoSchema);
                    }
                    if let Some(shape) = Shape::of(member, nulls)? {
                        shapes.insert(name.as_str(), shape);
                    }
                }
                Ok(Some(Shape::Object(shapes)))
            }
            _ => Ok(Some(Shape::Plain)),
        }
    }

    fn of_items(items: &'j [Json], nulls: JsonNull) -> Result<Shape<'j>, NoSchema> {
        let mut present = items.iter().filter(|item| !matches!(item, Json::Null));
        let Some(first) = present.next() else {
            return Shape::of(&Json::Null, nulls)?.ok_or(NoSchema);
        };
        let mut shape = Shape::of(first, nulls)?.ok_or(NoSchema)?;
        for item in present {
            if Type::of(item) != Type::of(first) {
                return Err(NoSchema);
            }
            match Shape::of(item, nulls) {
                Ok(Some(other)) => shape = shape.merged(other),
                // Of arrays in an array, Debezium looks into the first only.
                Ok(None) => {}
                Err(NoSchema) if matches!(item, Json::Array(_)) => {}
                Err(NoSchema) => return Err(NoSchema),
            }
        }
        Ok(shape)
    }

    /// Every member of both; what stands first, decides its place.
    fn merged(self, other: Shape<'j>) -> Shape<'j> {
        match (self, other) {
            (Shape::Object(mut members), Shape::Object(others)) => {
                for (name, other) in others {
                    let shape = match members.get_mut(name) {
                        Some(shape) => std::mem::replace(shape, Shape::Null).merged(other),
                        None => other,
                    };
                    members.insert(name, shape);
                }
                Shape::Object(members)
            }
            (Shape::Array(items), Shape::Array(others)) => Shape::Array(Box::new(items.merged(*others))),
            (Shape::Null, other) => other,
            (shape, _) => shape,
        }
    }
}

impl Type {
    fn of(value: &Json) -> Option<Type> {
        Some(match value {
            Json::Null => return None,
            Json::Boolean(_) => Type::Boolean,
            Json::Integer(number) if i32::try_from(*number).is_ok() => Type::Integer32,
            Json::Integer(_) => Type::Integer64,
            Json::Large(_) | Json::Double(_) => Type::Double,
            Json::String(_) => Type::String,
            Json::Array(_) => Type::Array,
            Json::Object(_) => Type::Object,
        })
    }
}

fn write_shaped(text: &mut String, value: &Json, shape: &Shape<'_>) {
    match (value, shape) {
        (Json::Object(members), Shape::Object(shapes)) => {
            let members = shapes.iter().map(|(name, shape)| (*name, members.get(*name).map(|member| (member, shape))));
            write_object(text, members, |text, member| match member {
                Some((member, shape)) => write_shaped(text, member, shape),
                None => text.push_str("null"),
            });
        }
        (Json::Array(items), Shape::Array(shape)) => {
            write_array(text, items, |text, item| write_shaped(text, item, shape))
        }
        (value, _) => write(text, value),
    }
}

fn write(text: &mut String, value: &Json) {
    match value {
        Json::Null => text.push_str("null"),
        Json::Boolean(value) => text.push_str(if *value { "true" } else { "false" }),
        Json::Integer(number) => text.push_str(&number.to_string()),
        Json::Large(number) => text.push_str(&number.to_string()),
        Json::Double(number) => text.push_str(&json::double_text(*number)),
        Json::String(value) => json::push_string(text, value),
        Json::Array(items) => write_array(text, items, write),
        Json::Object(members) => {
            write_object(text, members.iter().map(|(name, member)| (name.as_str(), member)), write)
        }
    }
}

fn write_array(text: &mut String, items: &[Json], mut write: impl FnMut(&mut String, &Json)) {
    text.push('[');
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            text.push(',');
        }
        write(text, item);
    }
    text.push(']');
}

fn write_object<'m, M>(
    text: &mut String,
    members: impl Iterator<Item = (&'m str, M)>,
    mut write: impl FnMut(&mut String, M),
) {
    text.push('{');
    for (position, (name, member)) in members.enumerate() {
        if position > 0 {
            text.push(',');
        }
        json::push_string(text, name);
        text.push(':');
        write(text, member);
    }
    text.push('}');
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Boolean(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(i64::try_from(number).map_or(Json::Large(number), Json::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Json::Double(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = IndexMap::new();
        while let Some((name, member)) = members.next_entry()? {
            object.insert(name, member);
        }
        Ok(Json::Object(object))
    }
}
