//! Which names a topic may have (Kafka's `Topic.validate`).

use thiserror::Error;

/// Characters in a name.
const LENGTH_MAX: usize = 249;

/// Names whose folders are the broker's own catalogue, and Kafka's.
const RESERVED: [&str; 2] = ["__pillion_catalogue", "__cluster_metadata"];

/// A name no topic may have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "topic name is not allowed: it has 1 to 249 characters of a-z, A-Z, 0-9, '.', '_' and '-', and is not '.', '..' or that of the metadata"
)]
pub(crate) struct InvalidTopicName;

/// Checks a name.
///
/// # Errors
/// [`InvalidTopicName`].
pub(crate) fn check_topic_name(name: &str) -> Result<(), InvalidTopicName> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let valid = (1..=LENGTH_MAX).contains(&name.len()) && name.bytes().all(allowed) && name != "." && name != "..";
    let valid = valid && !RESERVED.contains(&name);
    if valid { Ok(()) } else { Err(InvalidTopicName) }
}
