//! Settings as text: which texts are values, and how a value is written.
//!
//! Values are written as Kafka writes them back: trimmed, numbers without a plus sign, lists without repetitions.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use pillion_wire::records::{Compression, TimestampType};

use super::values::CleanupPolicy;

/// A whole number within a range.
pub(super) fn whole<T: FromStr + PartialOrd>(text: &str, range: &RangeInclusive<T>) -> Option<T> {
    text.parse().ok().filter(|number| range.contains(number))
}

/// A share.
pub(super) fn fraction(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number| (0.0..=1.0).contains(number))
}

/// A fraction as Java writes it, always with a point.
pub(super) fn show_fraction(number: f64) -> String {
    format!("{number:?}")
}

/// true or false, in whatever case.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// gzip's level: −1 for its own default, else 1 to 9.
pub(super) fn gzip_level(text: &str) -> Option<i32> {
    text.parse().ok().filter(|level| *level == -1 || (1..=9).contains(level))
}

/// The parts of a list, none of them twice; `None` when one of several is empty.
pub(crate) fn list(text: &str) -> Option<Vec<&str>> {
    let mut parts: Vec<&str> = Vec::new();
    if text.trim().is_empty() {
        return Some(parts);
    }
    for part in text.split(',').map(str::trim) {
        if part.is_empty() {
            return None;
        }
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    Some(parts)
}

/// delete, compact, both or neither, and the list as it is kept: in the order it was given.
pub(super) fn cleanup_policy(text: &str) -> Option<(CleanupPolicy, String)> {
    let parts = list(text)?;
    let known = parts.iter().all(|part| matches!(*part, "delete" | "compact"));
    let has = |policy| parts.contains(&policy);
    known.then(|| (CleanupPolicy { delete: has("delete"), compact: has("compact") }, parts.join(",")))
}

/// A policy as text.
pub(super) fn show_cleanup_policy(policy: CleanupPolicy) -> String {
    match (policy.delete, policy.compact) {
        (true, true) => "compact,delete",
        (true, false) => "delete",
        (false, true) => "compact",
        (false, false) => "",
    }
    .to_owned()
}

/// `*`, nothing, or `partition:broker` pairs: Kafka's list of throttled replicas.
pub(super) fn throttled_replicas(text: &str) -> Option<String> {
    let parts = list(text)?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_pair = |part: &&str| part.split_once(':').is_some_and(|(left, right)| is_number(left) && is_number(right));
    (parts == ["*"] || parts.iter().all(is_pair)).then(|| parts.join(","))
}

const CODECS: [(&str, Option<Compression>); 6] = [
    ("producer", None),
    ("uncompressed", Some(Compression::None)),
    ("gzip", Some(Compression::Gzip)),
    ("snappy", Some(Compression::Snappy)),
    ("lz4", Some(Compression::Lz4)),
    ("zstd", Some(Compression::Zstd)),
];

/// The codec that batches are kept in; `None` inside for the producer's own.
pub(super) fn compression(text: &str) -> Option<Option<Compression>> {
    CODECS.iter().find(|(name, _)| *name == text).map(|(_, codec)| *codec)
}

/// A codec's name.
pub(super) fn show_compression(codec: Option<Compression>) -> String {
    CODECS.iter().find(|(_, known)| *known == codec).map_or_else(String::new, |(name, _)| (*name).to_owned())
}

/// Who sets timestamps.
pub(super) fn timestamp_type(text: &str) -> Option<TimestampType> {
    match text {
        "CreateTime" => Some(TimestampType::CreateTime),
        "LogAppendTime" => Some(TimestampType::LogAppendTime),
        _ => None,
    }
}

/// Its name.
pub(super) fn show_timestamp_type(timestamp_type: TimestampType) -> String {
    match timestamp_type {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    }
    .to_owned()
}

/// Any value that is only kept.
pub(super) fn kept<T: Display>(value: Option<T>) -> Option<String> {
    value.map(|value| value.to_string())
}
