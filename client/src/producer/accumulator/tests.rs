//! The accumulator against a model of a broker that appends, refuses, forgets to answer and loses connections.

mod model;

use std::time::{Duration, Instant};

use pillion_wire::ErrorCode;
use proptest::prelude::*;

use self::model::{Fault, Model};
use super::super::ProduceError;
use super::super::plan::{Settings, Step};
use super::Accumulator;
use crate::connection::ConnectionError;

#[test]
fn what_is_queued_while_a_request_is_in_flight_forms_the_next_batch() {
    let mut model = Model::new(1);
    model.send(0);
    model.dispatch();
    (1..=10).for_each(|_| model.send(0));
    model.dispatch();
    assert_eq!(model.in_flight(), [1]);
    model.answer(Fault::None);
    model.dispatch();
    assert_eq!(model.in_flight(), [10]);
}

#[test]
fn one_request_carries_batches_of_several_partitions() {
    let mut model = Model::new(3);
    (0..3).for_each(|partition| model.send(partition));
    model.dispatch();
    assert_eq!(model.in_flight(), [3]);
}

#[test]
fn second_batch_waits_until_the_broker_has_acknowledged_the_first() {
    // A broker that holds nothing of the producer takes any sequence number (found with Kafka 4.4 and a topic whose
    // leader was just being elected).
    let mut model = Model::new(1);
    model.send(0);
    model.dispatch();
    (0..3).for_each(|_| model.send_large(0));
    model.dispatch();
    assert_eq!(model.in_flight().len(), 1);
    model.answer(Fault::Refused(ErrorCode::NotLeaderOrFollower));
    model.settle_everything();
    model.assert_log_is_what_was_sent();
}

#[test]
fn full_batches_pipeline_up_to_five_requests() {
    let mut model = Model::new(1);
    model.send(0);
    model.settle_everything();
    (0..8).for_each(|_| model.send_large(0));
    model.dispatch();
    assert_eq!(model.in_flight().len(), 5);
}

#[test]
fn order_is_kept_when_the_first_of_five_is_refused() {
    for code in [ErrorCode::NotLeaderOrFollower, ErrorCode::NotEnoughReplicas, ErrorCode::UnknownTopicOrPartition] {
        let mut model = Model::new(1);
        model.send(0);
        model.settle_everything();
        (0..5).for_each(|_| model.send_large(0));
        model.dispatch();
        model.answer(Fault::Refused(code));
        model.settle_everything();
        model.assert_log_is_what_was_sent();
        assert_eq!(model.identities_used(0), 1, "{code}");
    }
}

#[test]
fn duplicate_sequence_number_counts_as_delivered() {
    let mut model = Model::new(1);
    model.send(0);
    model.dispatch();
    model.answer(Fault::AppendedBut(ErrorCode::DuplicateSequenceNumber));
    model.settle_everything();
    model.assert_log_is_what_was_sent();
}

#[test]
fn refused_record_fails_alone_and_the_ones_behind_it_go_on_under_another_producer_id() {
    let mut model = Model::new(1);
    model.send(0);
    model.settle_everything();
    (0..4).for_each(|_| model.send_large(0));
    model.dispatch();
    model.answer(Fault::Refused(ErrorCode::InvalidRecord));
    model.settle_everything();
    let failed = model.failures();
    assert!(matches!(failed[..], [ProduceError::Broker { code: ErrorCode::InvalidRecord, .. }]), "{failed:?}");
    assert_eq!(model.log(0), [0, 2, 3, 4]);
    assert_eq!(model.identities_used(0), 2);
}

#[test]
fn broker_that_forgot_the_producer_gets_the_batch_under_another_id() {
    for code in [ErrorCode::OutOfOrderSequenceNumber, ErrorCode::UnknownProducerId, ErrorCode::InvalidProducerEpoch] {
        let mut model = Model::new(1);
        model.send(0);
        model.settle_everything();
        model.send(0);
        model.dispatch();
        model.answer(Fault::Refused(code));
        model.settle_everything();
        model.assert_log_is_what_was_sent();
        assert_eq!(model.identities_used(0), 2, "{code}");
    }
}

#[test]
fn broken_sequence_after_an_attempt_of_unknown_outcome_ends_the_producer() {
    let mut model = Model::new(1);
    model.send(0);
    model.settle_everything();
    model.send(0);
    model.dispatch();
    model.lose_connection(0);
    model.pass(Duration::from_secs(2));
    model.dispatch();
    model.answer(Fault::Refused(ErrorCode::OutOfOrderSequenceNumber));
    let failed = model.failures();
    assert!(matches!(failed[..], [ProduceError::Fatal { .. }]), "{failed:?}");
    model.send(0);
    assert!(matches!(model.failures()[..], [_, ProduceError::Fatal { .. }]));
}

#[test]
fn batch_too_large_is_split_and_a_single_record_too_large_fails_alone() {
    let mut model = Model::new(1);
    model.send(0);
    model.settle_everything();
    model.send(0);
    model.dispatch();
    (0..8).for_each(|_| model.send(0));
    model.answer(Fault::None);
    model.dispatch();
    model.answer(Fault::Refused(ErrorCode::MessageTooLarge));
    model.settle_everything();
    model.assert_log_is_what_was_sent();
    model.send(0);
    model.dispatch();
    model.answer(Fault::Refused(ErrorCode::MessageTooLarge));
    model.send(0);
    model.settle_everything();
    assert!(matches!(model.failures()[..], [ProduceError::RecordTooLarge { .. }]));
    assert_eq!(model.log(0), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11]);
}

#[test]
fn record_not_delivered_in_time_fails_and_says_whether_it_may_be_written() {
    for (lost, may_be_written_expected) in [(true, true), (false, false)] {
        let mut model = Model::new(1);
        model.send(0);
        model.dispatch();
        if lost {
            model.lose_connection(0);
        } else {
            model.answer(Fault::Refused(ErrorCode::NotEnoughReplicas));
        }
        model.pass(Duration::from_secs(121));
        model.expire();
        let failed = model.failures();
        let [ProduceError::DeliveryTimeout { may_be_written, .. }] = failed[..] else { panic!("{failed:?}") };
        assert_eq!(may_be_written, may_be_written_expected);
    }
}

#[test]
fn without_sequence_numbers_one_batch_a_partition_is_in_flight() {
    let mut model = Model::with_settings(1, Settings { idempotent: false, ..model::settings() });
    (0..5).for_each(|_| model.send_large(0));
    model.dispatch();
    assert_eq!(model.in_flight().len(), 1);
}

#[test]
fn records_wait_for_linger_unless_a_flush_is_under_way() {
    let settings = Settings { linger: Duration::from_millis(50), ..model::settings() };
    let mut model = Model::with_settings(1, settings);
    model.send(0);
    model.dispatch();
    assert!(model.in_flight().is_empty());
    model.accumulator.begin_flush();
    model.dispatch();
    assert_eq!(model.in_flight(), [1]);
}

#[test]
fn broker_that_is_not_connected_is_wanted() {
    let mut model = Model::new(1);
    model.send(0);
    let Step::Wait(wants) = model.accumulator.next(model.now, &model.cluster, |_| false) else { panic!("sent") };
    assert_eq!(wants.connections, [model::NODE]);
}

#[test]
fn unreadable_answer_fails_the_batch_without_another_attempt() {
    let mut model = Model::new(1);
    model.send(0);
    model.dispatch();
    let source = pillion_wire::DecodeError::TooLarge;
    model.fail_front(&ConnectionError::Decode { what: "Produce", source });
    assert!(matches!(model.failures()[..], [ProduceError::Connection(ConnectionError::Decode { .. })]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is refused or lost on the way, every record ends up in the log once and in order.
    #[test]
    fn log_holds_every_record_once_and_in_order(actions in prop::collection::vec((0_u8..10, 0_i32..3), 1..120)) {
        let mut model = Model::new(3);
        for (action, partition) in actions {
            match action {
                0..=2 => model.send(partition),
                3 => model.send_large(partition),
                4 => model.answer(Fault::None),
                5 => model.answer(Fault::Refused(ErrorCode::NotLeaderOrFollower)),
                6 => model.answer(Fault::AppendedBut(ErrorCode::RequestTimedOut)),
                7 => model.answer(Fault::TooLarge),
                8 => model.lose_connection(partition as usize),
                _ => model.pass(Duration::from_millis(200)),
            }
            model.dispatch();
        }
        model.settle_everything();
        prop_assert!(model.failures().is_empty(), "{:?}", model.failures());
        model.assert_log_is_what_was_sent();
    }
}

#[test]
fn ended_producer_takes_no_records() {
    let mut accumulator = Accumulator::new(model::settings());
    accumulator.end(ProduceError::Closed);
    assert!(accumulator.ended().is_some());
    let Step::Wait(wants) = accumulator.next(Instant::now(), &crate::metadata::Cluster::default(), |_| true) else {
        panic!("sent")
    };
    assert_eq!(wants.wake_at, None);
}
