use pillion_wire::ErrorCode;

use super::{Call, Verdict, judge, judge_record};

const CALLS: [Call; 5] = [Call::Initialize, Call::AddPartitions, Call::AddOffsets, Call::CommitOffsets, Call::End];

fn check(calls: &[Call], verdict: Verdict, codes: &[ErrorCode]) {
    for (call, code) in calls.iter().flat_map(|call| codes.iter().map(move |code| (*call, *code))) {
        assert_eq!(judge(call, code), verdict, "{call:?} {code}");
    }
}

#[test]
fn errors_fall_into_the_classes_of_kip_1050() {
    check(&CALLS, Verdict::Done, &[ErrorCode::None]);
    check(&CALLS, Verdict::Concurrent, &[ErrorCode::ConcurrentTransactions]);
    check(&CALLS, Verdict::FindAgain, &[ErrorCode::NotCoordinator, ErrorCode::CoordinatorNotAvailable]);
    let retriable =
        [ErrorCode::CoordinatorLoadInProgress, ErrorCode::UnknownTopicOrPartition, ErrorCode::RequestTimedOut];
    check(&CALLS, Verdict::Retry, &retriable);
    check(&CALLS[1..], Verdict::Abortable, &[ErrorCode::TransactionAbortable, ErrorCode::TopicAuthorizationFailed]);
    let member = [ErrorCode::UnknownMemberId, ErrorCode::IllegalGeneration, ErrorCode::FencedInstanceId];
    check(&[Call::CommitOffsets], Verdict::Abortable, &member);
    check(&CALLS, Verdict::Fenced, &[ErrorCode::ProducerFenced, ErrorCode::InvalidProducerEpoch]);
    check(&CALLS, Verdict::Broken, &[ErrorCode::InvalidTxnState, ErrorCode::InvalidProducerIdMapping]);
    let refused = [ErrorCode::TransactionalIdAuthorizationFailed, ErrorCode::InvalidTransactionTimeout];
    check(&CALLS, Verdict::Refused, &refused);
    check(&CALLS, Verdict::Broken, &[ErrorCode::UnknownServerError]);
}

#[test]
fn refused_record_can_be_aborted_unless_its_producer_cannot_go_on() {
    for code in [ErrorCode::MessageTooLarge, ErrorCode::InvalidProducerEpoch, ErrorCode::OutOfOrderSequenceNumber] {
        assert_eq!(judge_record(Some(code)), Verdict::Abortable, "{code}");
    }
    assert_eq!(judge_record(None), Verdict::Abortable);
    assert_eq!(judge_record(Some(ErrorCode::ProducerFenced)), Verdict::Fenced);
    assert_eq!(judge_record(Some(ErrorCode::ClusterAuthorizationFailed)), Verdict::Refused);
}

#[test]
fn of_several_answers_the_one_that_ends_most_counts() {
    let codes = [ErrorCode::None, ErrorCode::OperationNotAttempted, ErrorCode::TopicAuthorizationFailed];
    let worst = codes.into_iter().map(|code| judge(Call::AddPartitions, code)).max();
    assert_eq!(worst, Some(Verdict::Abortable));
}
