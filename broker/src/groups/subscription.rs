//! The topics in a consumer's subscription: the one thing the broker reads in what members tell each other.
//!
//! Needed to keep the offsets of topics that are still read, however old they are.

use bytes::Bytes;
use pillion_wire::messages::consumer_protocol::ConsumerProtocolSubscription;
use pillion_wire::{Message, Reader};

/// The topic names, or `None` where the bytes are no subscription. Every version begins as version 0 does, so later
/// ones are read as that.
pub(super) fn subscribed_topics(metadata: &Bytes) -> Option<Vec<String>> {
    let mut reader = Reader::new(metadata);
    let _version = reader.get_i16().ok()?;
    ConsumerProtocolSubscription::read(&mut reader, 0).ok().map(|subscription| subscription.topics)
}

#[cfg(test)]
mod tests;
