//! Our codec against the `kafka-protocol` crate: for every message, in every version both know, random values are
//! encoded by one and decoded by the other.
//!
//! Equal bytes alone would not notice two swapped fields of one type, so the decoded values are compared by field
//! name, too. What only one side knows is listed in [`GAPS`], and the list is checked.

mod every_message;

use std::fmt::Debug;
use std::ops::RangeInclusive;

use bytes::{Bytes, BytesMut};
use every_message::{encode, every_message, random};
use kafka_protocol::protocol::{Decodable, Encodable, Message as TheirMessage};
use pillion_wire::{Message, Reader, messages};

/// Random values for each version of each message.
const SAMPLES: u64 = 200;

/// Versions that are ours or theirs alone, and why: message, versions, reason. Their schemas are those of Kafka 4.1.
const GAPS: &[(&str, RangeInclusive<i16>, &str)] = &[
    ("ApiVersionsRequest", 5..=5, "KIP-1242 is newer than their schemas"),
    ("ApiVersionsResponse", 5..=5, "KIP-1242 is newer than their schemas"),
    ("DeleteGroupsRequest", 3..=3, "messages for each group are newer than their schemas"),
    ("DeleteGroupsResponse", 3..=3, "messages for each group are newer than their schemas"),
    ("DescribeLogDirsRequest", 5..=5, "KIP-1066 is newer than their schemas"),
    ("DescribeLogDirsResponse", 5..=5, "KIP-1066 is newer than their schemas"),
    ("InitProducerIdResponse", 6..=6, "KIP-939: unstable in Kafka 4.4, which we leave out"),
    ("ListOffsetsRequest", 11..=11, "KIP-1023 is newer than their schemas"),
    ("ListOffsetsResponse", 11..=11, "KIP-1023 is newer than their schemas"),
    ("OffsetCommitRequest", 10..=10, "topic ids were unstable in their schemas; the response, version 10, they have"),
    ("OffsetFetchRequest", 10..=10, "topic ids were unstable in their schemas; the response, version 10, they have"),
    ("TxnOffsetCommitRequest", 6..=6, "KIP-1319 is newer than their schemas"),
    ("TxnOffsetCommitResponse", 6..=6, "KIP-1319 is newer than their schemas"),
    ("WriteTxnMarkersRequest", 2..=2, "KIP-1228 is newer than their schemas"),
    ("WriteTxnMarkersResponse", 2..=2, "KIP-1228 is newer than their schemas"),
];

/// Fields of those versions, which one side prints with their defaults in every version: message, text.
const FIELDS_OF_GAPS: &[(&str, &str)] = &[
    ("ApiVersionsRequest", ", cluster_id: None, node_id: -1"),
    ("DeleteGroupsResponse", ", error_message: None"),
    ("DescribeLogDirsResponse", ", is_cordoned: false"),
    ("InitProducerIdRequest", ", enable_2_pc: false, keep_prepared_txn: false"),
    ("InitProducerIdResponse", ", ongoing_txn_producer_id: -1, ongoing_txn_producer_epoch: -1"),
    ("TxnOffsetCommitRequest", ", topic_id: 00000000-0000-0000-0000-000000000000"),
    // Theirs is called `generation_id`, as before Kafka 4.4.
    ("TxnOffsetCommitRequest", "_or_member_epoch"),
    ("TxnOffsetCommitResponse", ", topic_id: 00000000-0000-0000-0000-000000000000"),
    ("WriteTxnMarkersRequest", ", transaction_version: 0"),
];

/// The message's field names and values, as text without the names of types.
///
/// Theirs prints `unknown_tagged_fields: {}` at the end of each struct and no wrapper around record batches.
fn fields(debug: &str) -> String {
    let mut text = String::new();
    let mut word = String::new();
    let mut rest = debug.chars().peekable();
    let mut unwrapped = Vec::new();
    while let Some(character) = rest.next() {
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
            continue;
        }
        let word = std::mem::take(&mut word);
        match character {
            '"' => {
                text.push_str(&word);
                text.push(character);
                while let Some(quoted) = rest.next() {
                    text.push(quoted);
                    match quoted {
                        '\\' => text.extend(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ' ' if rest.peek() == Some(&'{') => {}
            '(' => {
                let keep = word == "Some";
                unwrapped.push(!keep);
                text.push_str(if keep { "Some(" } else { "" });
            }
            ')' => {
                text.push_str(&word);
                text.push_str(if unwrapped.pop() == Some(true) { "" } else { ")" });
            }
            _ => {
                text.push_str(&word);
                text.push(character);
            }
        }
    }
    text.push_str(&word);
    // A word of Rust's own as a field's name they spell otherwise.
    text.replace(", unknown_tagged_fields:{}", "").replace("unknown_tagged_fields:{}", "").replace("_match:", "match:")
}

/// Our debug output of it hides what may be a password; what they write again is compared all the same.
const HIDDEN: &str = "SaslAuthenticateRequest";

/// Compares the two codecs of one message; returns the versions only one of them has.
fn compare<Ours, Theirs>() -> Vec<i16>
where
    Ours: Message + Debug + PartialEq,
    Theirs: TheirMessage + Encodable + Decodable + Debug,
{
    let theirs = Theirs::VERSIONS.min..=Theirs::VERSIONS.max;
    let (shared, alone): (Vec<i16>, Vec<i16>) = (0..32)
        .filter(|version| Ours::VERSIONS.contains(version) || theirs.contains(version))
        .partition(|version| Ours::VERSIONS.contains(version) && theirs.contains(version));
    assert!(!shared.is_empty(), "{}: no version in common", Ours::NAME);
    for version in shared {
        compare_value::<Ours, Theirs>(&Ours::default(), version);
        for seed in 0..SAMPLES {
            compare_value::<Ours, Theirs>(&Ours::sample(&mut random(seed), version), version);
        }
    }
    alone
}

fn compare_value<Ours, Theirs>(ours: &Ours, version: i16)
where
    Ours: Message + Debug + PartialEq,
    Theirs: Encodable + Decodable + Debug,
{
    let name = Ours::NAME;
    let bytes = encode(ours, version);

    let mut unread = bytes.clone();
    let theirs = match Theirs::decode(&mut unread, version) {
        Ok(theirs) => theirs,
        Err(error) => panic!("{name} version {version}: they cannot read {bytes:?} of {ours:?}: {error}"),
    };
    assert_eq!(unread, Bytes::new(), "{name} version {version}: they leave bytes of {ours:?}");
    let known = |debug: String| {
        FIELDS_OF_GAPS
            .iter()
            .filter(|(message, _)| *message == name)
            .fold(fields(&debug), |text, (_, field)| text.replace(field, ""))
    };
    if name != HIDDEN {
        assert_eq!(known(format!("{theirs:?}")), known(format!("{ours:?}")), "{name} version {version}");
    }

    let mut again = BytesMut::new();
    if let Err(error) = theirs.encode(&mut again, version) {
        panic!("{name} version {version}: they cannot write {theirs:?}: {error}");
    }
    assert_eq!(again, bytes, "{name} version {version}: {ours:?}");

    let again = again.freeze();
    let mut reader = Reader::new(&again);
    match Ours::read(&mut reader, version) {
        Ok(read) => assert_eq!(&read, ours, "{name} version {version}"),
        Err(error) => panic!("{name} version {version}: we cannot read {again:?} of {theirs:?}: {error}"),
    }
    assert_eq!(reader.remaining(), 0, "{name} version {version}: we leave bytes of {theirs:?}");
}

#[test]
fn both_codecs_agree_on_every_message_and_version() {
    let mut alone: Vec<(&str, i16)> = Vec::new();
    macro_rules! compare_each {
        ($($name:ident,)* @ours $($ours:ident,)*) => {
            $(
                let versions = compare::<messages::$name, kafka_protocol::messages::$name>();
                alone.extend(versions.into_iter().map(|version| (stringify!($name), version)));
            )*
        };
    }
    every_message!(compare_each);

    let explained: Vec<(&str, i16)> =
        GAPS.iter().flat_map(|(name, versions, _)| versions.clone().map(move |version| (*name, version))).collect();
    assert_eq!(alone, explained, "versions that only one side knows");
}

macro_rules! names {
    ($($shared:ident,)* @ours $($ours:ident,)*) => { &[$(stringify!($shared),)* $(stringify!($ours),)*] };
}

/// The listed messages' names.
fn names() -> &'static [&'static str] {
    every_message!(names)
}

/// The names that `messages` re-exports, read from its source.
fn exported_names() -> Vec<&'static str> {
    include_str!("../src/messages/mod.rs")
        .split("pub use ")
        .skip(1)
        .filter_map(|line| line.split_once("::")?.1.split_once(';'))
        .flat_map(|(list, _)| list.split(|character: char| !character.is_alphanumeric()))
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn the_list_of_messages_is_complete() {
    let mut listed = names().to_vec();
    let mut exported = exported_names();
    listed.sort_unstable();
    exported.sort_unstable();
    assert_eq!(listed, exported);
}

#[test]
fn fields_are_compared_without_the_names_of_types() {
    #[derive(Debug)]
    #[allow(dead_code, reason = "printed")]
    struct Outer {
        first: Option<Inner>,
        second: Bytes,
    }
    #[derive(Debug)]
    #[allow(dead_code, reason = "printed")]
    struct Inner {
        text: &'static str,
    }
    let value = Outer { first: Some(Inner { text: "a (b) {c} \"d\"" }), second: Bytes::from_static(b"(\\{") };
    let expected = r#"{ first: Some({ text: "a (b) {c} \"d\"" }), second: b"(\\{" }"#;
    assert_eq!(fields(&format!("{value:?}")), expected);
    let wrapped = "Outer { records: Some(Bytes(b\"x\")), unknown_tagged_fields: {} }";
    assert_eq!(fields(wrapped), "{ records: Some(b\"x\") }");
}
