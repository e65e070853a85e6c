//! Bytes captured from PostgreSQL 15 (`pg_logical_slot_peek_binary_changes`), their truncations, and noise.

use bytes::Bytes;
use proptest::prelude::*;

use super::{Cell, Column, DecodeError, Message, Operation, Relation, decode};
use crate::lsn::Lsn;

const BEGIN: &str = "420000000001530d600003047503504806000002d9";
const COMMIT: &str = "43000000000001530d600000000001530d900003047503504806";
const RELATION: &str = "52000040007075626c6963006f7574626f78006400060169640000000b86ffffffff00616767726567617465747970650000000413000001030061676772656761746569640000000413000001030074797065000000041300000103007061796c6f61640000000edaffffffff0074726163696e677370616e636f6e746578740000000019ffffffff";
const INSERT: &str = "49000040004e0006740000002432323232323232322d323232322d323232322d323232322d32323232323232323232323274000000056f726465727400000002343374000000094f72646572506169646e6e";
const EMITTED: &str = "4d010000000001530dd86f7574626f78000000000a7b226964223a2231227d";
const TYPE: &str = "59000040087075626c6963006d6f6f6400";
const UPDATE_WITH_OLD_KEY: &str = "550000400d4b00037400000001316e6e4e000374000000013274000000026f6b740000000178";
const UPDATE: &str = "550000400d4e000374000000013274000000026f6b740000000179";
const DELETE: &str = "440000400d4b00037400000001326e6e";
const TRUNCATE: &str = "5400000001000000400d";
const ORIGIN: &str = "4f0000000000001234656c7365776865726500";

const ALL: [&str; 11] =
    [BEGIN, COMMIT, RELATION, INSERT, EMITTED, TYPE, UPDATE_WITH_OLD_KEY, UPDATE, DELETE, TRUNCATE, ORIGIN];

fn bytes(hex: &str) -> Bytes {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal")).collect()
}

fn text(value: &'static str) -> Cell {
    Cell::Text(Bytes::from_static(value.as_bytes()))
}

#[test]
fn transaction_boundaries_carry_positions_and_unix_time() {
    let commit_time_micros = 1_796_010_343_409_670;
    assert_eq!(
        decode(bytes(BEGIN)),
        Ok(Message::Begin { commit_lsn: Lsn::new(0x153_0D60), commit_time_micros, transaction_id: 729 })
    );
    assert_eq!(
        decode(bytes(COMMIT)),
        Ok(Message::Commit { commit_lsn: Lsn::new(0x153_0D60), end_lsn: Lsn::new(0x153_0D90), commit_time_micros })
    );
}

#[test]
fn relation_lists_columns_in_row_order() {
    let column = |name: &str, type_id| {
        // varchar(255): four bytes more than its length.
        let type_modifier = if type_id == 1043 { 259 } else { -1 };
        Column { name: name.to_owned(), type_id, type_modifier }
    };
    assert_eq!(
        decode(bytes(RELATION)),
        Ok(Message::Relation(Relation {
            id: 0x4000,
            schema: "public".to_owned(),
            name: "outbox".to_owned(),
            columns: vec![
                column("id", 2950),
                column("aggregatetype", 1043),
                column("aggregateid", 1043),
                column("type", 1043),
                column("payload", 3802),
                column("tracingspancontext", 25),
            ],
        }))
    );
}

#[test]
fn insert_carries_values_as_text_and_null() {
    let row = vec![
        text("22222222-2222-2222-2222-222222222222"),
        text("order"),
        text("43"),
        text("OrderPaid"),
        Cell::Null,
        Cell::Null,
    ];
    assert_eq!(decode(bytes(INSERT)), Ok(Message::Insert { relation_id: 0x4000, row }));
}

#[test]
fn emitted_message_carries_prefix_and_content() {
    assert_eq!(
        decode(bytes(EMITTED)),
        Ok(Message::Emitted {
            transactional: true,
            lsn: Lsn::new(0x153_0DD8),
            prefix: "outbox".to_owned(),
            content: Bytes::from_static(br#"{"id":"1"}"#),
        })
    );
}

#[test]
fn other_operations_are_recognised_with_their_tables() {
    for (hex, operation) in [
        (UPDATE, Operation::Update),
        (UPDATE_WITH_OLD_KEY, Operation::Update),
        (DELETE, Operation::Delete),
        (TRUNCATE, Operation::Truncate),
    ] {
        assert_eq!(decode(bytes(hex)), Ok(Message::Other { operation, relation_ids: vec![0x400D] }), "{hex}");
    }
}

#[test]
fn types_and_origins_are_read() {
    assert_eq!(
        decode(bytes(TYPE)),
        Ok(Message::Type { id: 0x4008, schema: "public".to_owned(), name: "mood".to_owned() })
    );
    assert_eq!(
        decode(bytes(ORIGIN)),
        Ok(Message::Origin { commit_lsn: Lsn::new(0x1234), name: "elsewhere".to_owned() })
    );
}

#[test]
fn every_cut_of_every_message_is_refused() {
    for hex in ALL {
        let whole = bytes(hex);
        for length in 0..whole.len() {
            assert!(decode(whole.slice(..length)).is_err(), "{hex} cut to {length} bytes");
        }
        let mut longer = whole.to_vec();
        longer.push(0);
        assert!(
            matches!(decode(longer.into()), Err(DecodeError::TrailingBytes { count: 1, .. })),
            "{hex} with one byte more"
        );
    }
}

#[test]
fn streamed_transactions_of_later_versions_are_refused_by_tag() {
    for tag in *b"SEcAbPKrp" {
        assert_eq!(decode(Bytes::copy_from_slice(&[tag, 0, 0, 0, 0])), Err(DecodeError::UnknownTag(tag)));
    }
}

#[test]
fn a_length_beyond_the_message_is_refused_without_allocating_it() {
    let row_value_of_two_gigabytes = bytes("49000040004e0001747fffffff");
    assert_eq!(decode(row_value_of_two_gigabytes), Err(DecodeError::Truncated { tag: 'I', field: "value" }));
    let two_billion_tables = bytes("547fffffff00");
    assert_eq!(decode(two_billion_tables), Err(DecodeError::Truncated { tag: 'T', field: "relation" }));
    let negative = bytes("49000040004e000174ffffffff");
    assert_eq!(decode(negative), Err(DecodeError::Impossible { tag: 'I', field: "value", value: -1 }));
}

proptest! {
    #[test]
    fn random_bytes_never_panic(noise in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(noise.into());
    }

    #[test]
    fn flipped_bytes_never_panic(which in 0..ALL.len(), at: prop::sample::Index, value: u8) {
        let mut message = bytes(ALL[which]).to_vec();
        let at = at.index(message.len());
        message[at] = value;
        let _ = decode(message.into());
    }
}
