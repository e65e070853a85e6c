use bytes::Bytes;
use pillion_wire::records::{BatchBuilder, BatchProducer, Compression, Record, STAMPED_BYTES};

use super::*;

/// The header of a batch of producer `id` that holds the offsets `base..=last`.
fn header(id: i64, base: i64, last: i64) -> BatchHeader {
    let mut builder = BatchBuilder::new(Compression::None);
    (base..=last).for_each(|_| builder.push(&Record::default()));
    let producer = BatchProducer { id, epoch: 0, base_sequence: 0, transactional: true };
    let batch = builder.build(Some(producer)).unwrap();
    let mut stamped = BatchHeader::parse(&batch).unwrap().stamp(base, 0).to_vec();
    stamped.extend_from_slice(&batch[STAMPED_BYTES..]);
    BatchHeader::parse(&Bytes::from(stamped)).unwrap()
}

fn aborted(producer_id: i64, first_offset: i64, last_offset: i64) -> AbortedTransaction {
    AbortedTransaction { producer_id, first_offset, last_offset, last_stable_offset: last_offset + 1 }
}

#[test]
fn the_data_of_an_aborted_transaction_goes_and_its_marker_a_cleaning_later() {
    let mut first = CleanedTransactions::default();
    first.add_aborted([aborted(1, 0, 5)]);
    assert!(first.data_batch(&header(1, 0, 2)));
    assert!(!first.data_batch(&header(2, 3, 3)));
    assert!(!first.control_batch(&header(2, 4, 4), Marker::Commit), "data of the transaction was met");
    assert!(!first.control_batch(&header(1, 5, 5), Marker::Abort));
    assert_eq!(first.take_retained(), [aborted(1, 0, 5)]);
    assert!(first.take_retained().is_empty());

    let mut second = CleanedTransactions::default();
    second.add_aborted([aborted(1, 0, 5)]);
    assert!(second.control_batch(&header(2, 4, 4), Marker::Commit), "compaction has removed all its records");
    assert!(second.control_batch(&header(1, 5, 5), Marker::Abort));
    assert!(second.take_retained().is_empty());
}

#[test]
fn a_producers_next_transaction_is_its_own() {
    let mut transactions = CleanedTransactions::default();
    transactions.add_aborted([aborted(1, 0, 3), aborted(1, 6, 8)]);
    assert!(transactions.data_batch(&header(1, 0, 2)));
    assert!(!transactions.control_batch(&header(1, 3, 3), Marker::Abort));
    assert!(!transactions.data_batch(&header(1, 4, 4)));
    assert!(!transactions.control_batch(&header(1, 5, 5), Marker::Commit));
    assert!(transactions.data_batch(&header(1, 6, 7)));
    assert!(!transactions.control_batch(&header(1, 8, 8), Marker::Abort));
    assert!(!transactions.data_batch(&header(1, 9, 9)));
}

#[test]
fn a_transaction_given_again_by_a_later_segment_does_not_come_back() {
    let mut transactions = CleanedTransactions::default();
    transactions.add_aborted([aborted(1, 0, 3)]);
    assert!(transactions.data_batch(&header(1, 0, 1)));
    transactions.add_aborted([aborted(1, 0, 3)]);
    assert!(transactions.data_batch(&header(1, 2, 2)));
    assert!(!transactions.control_batch(&header(1, 3, 3), Marker::Abort));
    transactions.add_aborted([aborted(1, 0, 3)]);
    assert!(!transactions.data_batch(&header(1, 4, 4)), "it is of a later, committed transaction");
}

#[test]
fn an_aborted_transaction_whose_marker_is_gone_takes_nothing_with_it() {
    let mut transactions = CleanedTransactions::default();
    transactions.add_aborted([aborted(1, 0, 3)]);
    assert!(transactions.data_batch(&header(1, 0, 1)));
    assert!(!transactions.data_batch(&header(1, 5, 5)), "it lies behind where the marker stood");
    transactions.add_aborted([aborted(1, 6, 8)]);
    assert!(transactions.data_batch(&header(1, 6, 7)));
}

#[test]
fn data_outside_a_transaction_is_nobodys() {
    let mut transactions = CleanedTransactions::default();
    transactions.add_aborted([aborted(1, 0, 3)]);
    let plain = BatchHeader { attributes: 0, ..header(1, 1, 1) };
    assert!(!transactions.data_batch(&plain));
    assert!(transactions.control_batch(&header(1, 3, 3), Marker::Abort), "no batch of it was met");
}

#[test]
fn control_records_of_other_types_stay() {
    let mut transactions = CleanedTransactions::default();
    assert!(!transactions.control_batch(&header(1, 0, 0), Marker::Other));
    assert!(transactions.control_batch(&header(1, 1, 1), Marker::Removed));
}
