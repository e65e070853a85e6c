//! From a line to a record.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use pillion_client::{Header, ProducerRecord};
use serde::Deserialize;

/// What all records have in common, and how a line is read.
pub(super) struct Template {
    pub(super) topic: Arc<str>,
    pub(super) partition: Option<i32>,
    pub(super) key: Option<Bytes>,
    pub(super) headers: Vec<Header>,
    /// Whether an empty value is null.
    pub(super) null_empty: bool,
    pub(super) form: Form,
}

/// How a line is read.
pub(super) enum Form {
    /// It is the value.
    Value,
    /// Key and value with this text between.
    KeyAndValue(String),
    /// As `pillion consume --json` prints a record.
    Json,
}

/// A line of JSON.
#[derive(Deserialize)]
struct Document {
    key: Option<Text>,
    value: Option<Text>,
    timestamp: Option<i64>,
    #[serde(default)]
    headers: Vec<DocumentHeader>,
}

#[derive(Deserialize)]
struct DocumentHeader {
    key: String,
    value: Option<Text>,
}

/// Text, or bytes that are none.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Hexadecimal { hex: String },
}

impl Text {
    fn bytes(self) -> Result<Bytes> {
        match self {
            Self::Plain(text) => Ok(text.into()),
            Self::Hexadecimal { hex } => {
                let pair = |pair: &[u8]| {
                    let digit = |byte: u8| char::from(byte).to_digit(16);
                    let [high, low] = pair else { return None };
                    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
                };
                let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(pair).collect();
                Ok(bytes.context("hex is an even number of hexadecimal digits")?.into())
            }
        }
    }
}

impl Template {
    /// The record of one line.
    pub(super) fn record(&self, line: Vec<u8>) -> Result<ProducerRecord> {
        let line = Bytes::from(line);
        let (key, value) = match &self.form {
            Form::Json => return self.read_json(&line),
            Form::Value => (self.key.clone(), line),
            Form::KeyAndValue(separator) => {
                let Some(at) = find(&line, separator.as_bytes()) else {
                    bail!("a line has no key separator {separator:?}: {:?}", beginning(&line));
                };
                (Some(line.slice(..at)), line.slice(at + separator.len()..))
            }
        };
        let value = (!(self.null_empty && value.is_empty())).then_some(value);
        Ok(self.with(key, value, None, Vec::new()))
    }

    fn read_json(&self, line: &Bytes) -> Result<ProducerRecord> {
        let wrong = || format!("a line is no JSON object as `pillion consume --json` prints it: {:?}", beginning(line));
        let document: Document = serde_json::from_slice(line).with_context(wrong)?;
        let bytes = |text: Option<Text>| text.map(Text::bytes).transpose().with_context(wrong);
        let mut headers = Vec::with_capacity(document.headers.len());
        for header in document.headers {
            headers.push(Header { key: header.key.as_str().into(), value: bytes(header.value)? });
        }
        Ok(self.with(bytes(document.key)?, bytes(document.value)?, document.timestamp, headers))
    }

    fn with(
        &self,
        key: Option<Bytes>,
        value: Option<Bytes>,
        timestamp_ms: Option<i64>,
        mut headers: Vec<Header>,
    ) -> ProducerRecord {
        headers.extend(self.headers.iter().cloned());
        ProducerRecord { topic: self.topic.clone(), partition: self.partition, key, value, headers, timestamp_ms }
    }
}

/// What a person recognises a line by.
fn beginning(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned()
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len().max(1)).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(form: Form) -> Template {
        let headers = vec![Header { key: "source".into(), value: None }];
        Template { topic: "t".into(), partition: None, key: None, headers, null_empty: true, form }
    }

    #[test]
    fn a_line_is_split_at_its_first_separator() {
        let record = template(Form::KeyAndValue(":".to_owned())).record(b"7:a:b".to_vec()).unwrap();
        assert_eq!((record.key.as_deref(), record.value.as_deref()), (Some(&b"7"[..]), Some(&b"a:b"[..])));
        let record = template(Form::KeyAndValue(":".to_owned())).record(b"7:".to_vec()).unwrap();
        assert_eq!(record.value, None, "an empty value is null");
        assert!(template(Form::KeyAndValue(":".to_owned())).record(b"7".to_vec()).is_err());
    }

    #[test]
    fn a_record_printed_as_json_is_read_back() {
        let line = br#"{"topic":"x","offset":9,"timestamp":5,"key":{"hex":"00ff"},"value":"v","headers":[{"key":"h","value":null}]}"#;
        let record = template(Form::Json).record(line.to_vec()).unwrap();
        assert_eq!((record.key.as_deref(), record.value.as_deref()), (Some(&b"\x00\xff"[..]), Some(&b"v"[..])));
        assert_eq!((record.timestamp_ms, &*record.topic), (Some(5), "t"));
        let names: Vec<&str> = record.headers.iter().map(|header| &*header.key).collect();
        assert_eq!(names, ["h", "source"]);
        for wrong in ["", "[]", "{\"key\":1}", "{\"key\":{\"hex\":\"0\"}}", "{\"key\":{\"hex\":\"zz\"}}"] {
            assert!(template(Form::Json).record(wrong.as_bytes().to_vec()).is_err(), "{wrong}");
        }
    }
}
