//! The `__transaction_state` that Apache Kafka 4.4 wrote, read and written again; and records made up.

use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::records::{BatchHeader, read_batch};
use proptest::prelude::*;

use super::super::record_codec::{CodecError, TransactionRecord, TransactionValue, decode, encode};
use super::super::state::TransactionState::{self, CompleteAbort, CompleteCommit, Empty, Ongoing, PrepareCommit};
use crate::kafka_fixture::KafkaFixture;

/// Keys and values of a partition's only segment, in order.
fn kafkas_records() -> Vec<(Bytes, Option<Bytes>)> {
    let segment = KafkaFixture::unpack().read("__transaction_state-0/00000000000000000000.log");
    let (segment, mut position, mut records) = (Bytes::from(segment), 0, Vec::new());
    while let Ok(header) = BatchHeader::parse(&segment[position..]) {
        let batch = segment.slice(position..position + header.size());
        position += header.size();
        if !header.is_control() {
            let (_, read) = read_batch(&batch).expect("reads");
            records.extend(read.into_iter().map(|record| (record.key.expect("has a key"), record.value)));
        }
    }
    records
}

#[test]
fn kafkas_records_are_understood_and_written_as_kafka_does() {
    let records = kafkas_records();
    assert!(records.len() > 5, "{}", records.len());
    let mut states = Vec::new();
    for (key, value) in &records {
        let record = decode(key, value.as_ref()).expect("is understood");
        let written = encode(&record).expect("is written");
        assert_eq!(written.key.as_ref(), Some(key));
        if value.as_ref().is_some_and(|value| value[..2] == [0, 1]) {
            let again = decode(written.key.as_ref().expect("has a key"), written.value.as_ref()).expect("reads");
            assert_eq!(again, record);
            states.push((record.transactional_id, record.value.expect("has a value")));
        }
    }
    let of = |state: TransactionState| states.iter().any(|(_, value)| value.state == state);
    assert!([Empty, Ongoing, PrepareCommit, CompleteCommit, CompleteAbort].into_iter().all(of), "{states:?}");
}

#[test]
fn kafkas_bytes_come_out_again() {
    let mut same = 0;
    for (key, value) in kafkas_records() {
        let record = decode(&key, value.as_ref()).expect("is understood");
        // What the next epoch is to be is the one field Kafka keeps and we do not.
        let written = encode(&record).expect("is written");
        if value.as_ref().is_some_and(|value| value[..2] == [0, 1]) {
            assert_eq!(written.value, value, "{record:?}");
            same += 1;
        }
    }
    assert!(same > 5, "{same}");
}

fn value() -> impl Strategy<Value = TransactionValue> {
    let ids = (-1_i64..i64::MAX, -1_i64..i64::MAX, -1_i64..i64::MAX, -1_i16..i16::MAX);
    let times = (any::<i32>(), any::<i64>(), any::<i64>(), 0_i16..3);
    let partitions = proptest::collection::btree_set(("[a-z]{1,9}", any::<i32>()), 0..12);
    (ids, 0_i8..8, times, partitions).prop_map(|(ids, state, times, partitions)| {
        let state = TransactionState::of_number(state).expect("has a name");
        let partitions = partitions.into_iter().map(|(topic, index)| (Arc::from(topic), index));
        TransactionValue {
            producer_id: ids.0,
            previous_producer_id: ids.1,
            next_producer_id: ids.2,
            epoch: ids.3,
            timeout_ms: times.0,
            state,
            partitions: partitions.filter(|_| state != Empty).collect(),
            started_ms: times.1,
            updated_ms: times.2,
            version: times.3,
        }
    })
}

proptest! {
    #[test]
    fn a_record_is_read_as_it_was_written(id in ".{1,60}", value in proptest::option::of(value())) {
        let record = TransactionRecord { transactional_id: id.into(), value };
        let written = encode(&record).expect("is written");
        let read = decode(written.key.as_ref().expect("has a key"), written.value.as_ref());
        prop_assert_eq!(read, Ok(record));
    }

    #[test]
    fn bytes_that_are_no_record_do_no_harm(
        key in proptest::collection::vec(any::<u8>(), 0..40),
        value in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = decode(&key.into(), Some(&value.into()));
    }
}

#[test]
fn what_is_of_another_kind_or_state_is_said_so() {
    let value = TransactionValue { ..super::values::written(super::values::identity(1, 0), Ongoing) };
    let record = TransactionRecord { transactional_id: Arc::from("a"), value: Some(value) };
    let written = encode(&record).expect("is written");
    let (key, value) = (written.key.expect("has a key"), written.value.expect("has a value"));
    let mut other = key.to_vec();
    other[1] = 9;
    assert_eq!(decode(&other.into(), Some(&value)), Err(CodecError::Kind(9)));
    // Behind the version: two ids and an epoch in version 1 as in 0, then the timeout.
    let mut other = value.to_vec();
    let state_at = 2 + 8 + 2 + 4;
    assert_eq!(other[state_at], 1);
    other[state_at] = 77;
    assert_eq!(decode(&key, Some(&other.into())), Err(CodecError::State(77)));
}
