//! Bytes that Apache Kafka 4.4's own Java classes wrote, against ours.
//!
//! They cover what the differential test cannot: whole frames with their headers, the versions its crate lacks, and
//! the record formats of `__consumer_offsets`.

mod frames_and_bodies;
mod group_records;

use std::fmt::Debug;

use bytes::Bytes;
use pillion_wire::{Message, Reader, Writer};
use uuid::Uuid;

/// The topic id in all the captures.
const TOPIC_ID: Uuid = Uuid::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10);

/// Bytes from hexadecimal digits; anything else in the text is there for the reader.
fn bytes(hexadecimal: &str) -> Bytes {
    let digits: Vec<u8> = hexadecimal.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// `message` becomes the captured bytes of `version`, and they become it.
fn check<M: Message + Debug + PartialEq>(version: i16, captured: &str, message: &M) {
    check_lossy(version, captured, message, message);
}

/// `message` becomes the captured bytes of `version`, and they become `decoded`: what the version keeps of it.
fn check_lossy<M: Message + Debug + PartialEq>(version: i16, captured: &str, message: &M, decoded: &M) {
    let captured = bytes(captured);
    let mut writer = Writer::new();
    assert_eq!(message.write(&mut writer, version), Ok(()), "{} version {version}: {message:?}", M::NAME);
    assert_eq!(writer.into_bytes(), captured, "{} version {version}: {message:?}", M::NAME);

    let mut reader = Reader::new(&captured);
    assert_eq!(M::read(&mut reader, version).as_ref(), Ok(decoded), "{} version {version}", M::NAME);
    assert_eq!(reader.remaining(), 0, "{} version {version}: bytes left", M::NAME);
}
