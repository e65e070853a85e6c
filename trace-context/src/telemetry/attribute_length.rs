//! The limit on the length of texts in attributes, which the SDK does not know.

use opentelemetry::{Array, KeyValue, StringValue, Value};

/// Cuts texts to `characters`, those in arrays too.
pub(super) fn limit(attributes: &mut [KeyValue], characters: usize) {
    for attribute in attributes {
        match &mut attribute.value {
            Value::String(text) => cut(text, characters),
            Value::Array(Array::String(texts)) => texts.iter_mut().for_each(|text| cut(text, characters)),
            _ => {}
        }
    }
}

fn cut(text: &mut StringValue, characters: usize) {
    if let Some((end, _)) = text.as_str().char_indices().nth(characters) {
        *text = text.as_str()[..end].to_owned().into();
    }
}

#[cfg(test)]
mod tests;
