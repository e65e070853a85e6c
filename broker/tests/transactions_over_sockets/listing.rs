//! ListOffsets of a `read_committed` reader beside open and ended transactions, as Apache Kafka 4.4 answers.

use super::producer::{ID, batch_at, broker, end, init, list_committed, write};
use super::support::{batch_of, create_topic, list_offset, produce, record};

use pillion_wire::records::Compression;

/// The record with the largest timestamp.
const MAX_TIMESTAMP: i64 = -3;

#[test]
fn the_largest_timestamp_is_not_told_while_its_transaction_is_open() {
    let (_broker, mut client) = broker();
    create_topic(&mut client, "orders", 1, &[]);
    let plain = |timestamp| batch_of(&[record("plain", timestamp)], Compression::None, None);
    assert_eq!(list_committed(&mut client, "orders", 0, MAX_TIMESTAMP), (-1, 0), "there is none");
    assert_eq!(produce(&mut client, "orders", 0, plain(3_000)).error_code, 0);
    let producer = init(&mut client, ID, 5);
    // Younger than what is open: it is told, for the reader can see it.
    assert_eq!(write(&mut client, "orders", 0, batch_at(producer, 0, &["open"], 2_000), 12).0, 0);
    assert_eq!(list_committed(&mut client, "orders", 0, MAX_TIMESTAMP), (0, 0));
    // Older: there is no answer that the reader could see.
    assert_eq!(write(&mut client, "orders", 0, batch_at(producer, 1, &["open"], 5_000), 12).0, 0);
    assert_eq!(list_committed(&mut client, "orders", 0, MAX_TIMESTAMP), (-1, 0));
    assert_eq!(list_offset(&mut client, "orders", 0, MAX_TIMESTAMP).offset, 2, "uncommitted readers see it");
    // Nor of what is behind the open transaction, committed or not.
    assert_eq!(produce(&mut client, "orders", 0, plain(6_000)).error_code, 0);
    assert_eq!(list_committed(&mut client, "orders", 0, MAX_TIMESTAMP), (-1, 0));
    end(&mut client, producer, true, 5);
    // The marker, written now, has the largest.
    assert_eq!(list_committed(&mut client, "orders", 0, MAX_TIMESTAMP), (4, 0));
    assert_eq!(list_offset(&mut client, "orders", 0, MAX_TIMESTAMP).offset, 4);
}
