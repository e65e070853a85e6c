use std::time::Duration;

use pillion_client::{ErrorCode, ProduceError};

use super::of_produce;
use crate::publish::PublishError;

fn refused(code: ErrorCode) -> PublishError {
    of_produce(ProduceError::Broker { topic: "t".to_owned(), partition: 0, code, message: None })
}

#[test]
fn a_record_that_is_too_large_is_that_records_fault() {
    let error = of_produce(ProduceError::RecordTooLarge { bytes: 2, limit: 1 });
    assert!(matches!(error, PublishError::RecordRefused(_)));
    assert!(matches!(refused(ErrorCode::MessageTooLarge), PublishError::RecordRefused(_)));
}

#[test]
fn a_refused_batch_is_nobodys_to_skip() {
    assert!(matches!(refused(ErrorCode::InvalidRecord), PublishError::Refused(_)));
    assert!(matches!(refused(ErrorCode::TopicAuthorizationFailed), PublishError::Refused(_)));
}

#[test]
fn everything_else_is_tried_again_with_a_new_producer() {
    for code in [ErrorCode::NotEnoughReplicas, ErrorCode::KafkaStorageError, ErrorCode::UnknownTopicOrPartition] {
        assert!(matches!(refused(code), PublishError::Unavailable(_)), "{code:?}");
    }
    let timeout = ProduceError::DeliveryTimeout { waited: Duration::ZERO, may_be_written: true, last: None };
    assert!(matches!(of_produce(timeout), PublishError::Unavailable(_)));
    let fatal = ProduceError::Fatal { topic: "t".to_owned(), partition: 0, code: ErrorCode::OutOfOrderSequenceNumber };
    assert!(matches!(of_produce(fatal), PublishError::Unavailable(_)));
}
