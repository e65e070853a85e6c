use pillion_wire::records::read_batch;

use super::*;

#[test]
fn a_marked_batch_is_whole_and_unlike_any_other() {
    let pattern = BatchShape { records: 3, value_bytes: 50 }.build().unwrap();
    let at = first_value(&pattern).unwrap();
    let (batch, checksum) = marked(&pattern, at, 4, 77);
    let (header, records) = read_batch(&batch).unwrap();
    assert_eq!(header.checksum, checksum);
    let (_, before) = read_batch(&pattern).unwrap();
    let value = |records: &[pillion_wire::records::Record], index: usize| records[index].value.clone().unwrap();
    assert_eq!(value(&records, 0)[..4], 4i32.to_be_bytes());
    assert_eq!(value(&records, 0)[4..12], 77u64.to_be_bytes());
    assert_eq!(value(&records, 0)[12..], value(&before, 0)[12..]);
    assert_eq!(records[1..], before[1..]);
    assert_ne!(marked(&pattern, at, 4, 78).1, checksum);
    assert_ne!(marked(&pattern, at, 5, 77).1, checksum);
}
