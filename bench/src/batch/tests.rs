use bytes::Bytes;
use pillion_wire::frame::encode_response;
use pillion_wire::messages::produce::{PartitionProduceResponse, ProduceResponse, TopicProduceResponse};
use pillion_wire::records::{BatchHeader, HEADER_BYTES, read_batch};

use super::*;

#[test]
fn a_pool_holds_different_whole_batches_of_one_size() {
    let pool = BatchShape { records: 100, value_bytes: 200 }.pool().unwrap();
    assert!(pool.len() > 1);
    assert_ne!(pool[0], pool[1]);
    for batch in &pool {
        assert_eq!(batch.len(), pool[0].len());
        let (header, records) = read_batch(batch).unwrap();
        assert_eq!((header.record_count, records.len()), (100, 100));
        assert!(records.iter().all(|record| record.value.as_ref().is_some_and(|value| value.len() == 200)));
    }
}

#[test]
fn a_produce_frame_carries_the_batch_and_the_correlation_id() {
    for value_bytes in [10, 5_000] {
        let batch = BatchShape { records: 1, value_bytes }.build().unwrap();
        let parts: Vec<Bytes> = ProduceFrame::new("topic", 3, -1, &batch).unwrap().parts(77).collect();
        let frame = parts.concat();
        assert_eq!(frame.len(), 4 + i32::from_be_bytes(frame[..4].try_into().unwrap()) as usize);
        assert_eq!(frame[8..12], 77i32.to_be_bytes());
        let at = frame.windows(batch.len()).position(|window| window == batch).unwrap();
        BatchHeader::verify(&frame[at..]).unwrap();
        assert!(frame.len() < batch.len() + HEADER_BYTES + 40);
    }
}

#[test]
fn an_answer_is_read_as_the_protocol_has_it() {
    let partition = PartitionProduceResponse { index: 4, error_code: 6, base_offset: 1 << 40, ..Default::default() };
    for name in ["t", "a-topic-with-a-longer-name"] {
        let topic = TopicProduceResponse {
            name: name.to_owned(),
            partition_responses: vec![partition.clone()],
            ..Default::default()
        };
        let response = ProduceResponse { responses: vec![topic], ..Default::default() };
        let frame = into_bytes(encode_response(&response, PRODUCE_VERSION, 9).unwrap()).concat();
        let expected = ProduceAnswer { correlation_id: 9, partition: 4, error_code: 6, base_offset: 1 << 40 };
        assert_eq!(ProduceAnswer::parse(&frame[4..], name), Some(expected));
        assert_eq!(ProduceAnswer::parse(&frame[4..20], name), None);
    }
}
