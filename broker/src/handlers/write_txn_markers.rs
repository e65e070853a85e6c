//! WriteTxnMarkers (27), versions 1 to 2: markers that another than this broker's coordinator has decided on.
//!
//! An administrator's tool sends it, to end a transaction that hangs (KIP-664). Each partition is answered once its
//! marker is durable: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult,
};
use pillion_wire::messages::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};
use pillion_wire::records::EndTransactionMarker;

use super::blocking;
use super::gathering::Gathering;
use crate::broker::BrokerState;
use crate::dispatch::{Call, Flow};
use crate::groups::coordinator::OFFSETS_TOPIC;
use crate::groups::event::TransactionEnd;
use crate::partition::AppendError;

/// From this version of transactions on a marker's epoch is one above that of the records.
const EPOCH_BUMP: i8 = 2;

/// Writes them off the event loop: there may be thousands.
pub(crate) fn handle(call: Call, request: WriteTxnMarkersRequest) -> Flow {
    blocking(move || {
        let (broker, responder, markers) = (call.broker, call.responder, request.markers);
        let asked: Vec<_> =
            markers.iter().flat_map(|marker| marker.topics.iter().map(move |topic| (marker, topic))).collect();
        let count = asked.iter().map(|(_, topic)| topic.partition_indexes.len()).sum();
        let answered = markers.clone();
        let codes = Arc::new(Gathering::new(count, move |codes| responder.answer(&response(&answered, codes))));
        let partitions = asked.iter().flat_map(|(marker, topic)| {
            topic.partition_indexes.iter().map(move |index| (*marker, &*topic.name, *index))
        });
        for (place, (marker, topic, index)) in partitions.enumerate() {
            let codes = Arc::clone(&codes);
            write(&broker, marker, topic, index, Box::new(move |code| codes.put(place, code)));
        }
    })
}

fn write(
    broker: &Arc<BrokerState>,
    marker: &WritableTxnMarker,
    topic: &str,
    index: i32,
    settle: Box<dyn FnOnce(ErrorCode) + Send>,
) {
    let found = broker.topics.by_name(topic).and_then(|topic| topic.partition(index).cloned());
    let Some(partition) = found else { return settle(ErrorCode::UnknownTopicOrPartition) };
    let (producer_id, commit) = (marker.producer_id, marker.transaction_result);
    let end = EndTransactionMarker { commit, coordinator_epoch: marker.coordinator_epoch };
    let is_epoch_bumped = marker.transaction_version >= EPOCH_BUMP;
    let next_offset = match partition.end_transaction(producer_id, marker.producer_epoch, end, is_epoch_bumped) {
        Ok(next_offset) => next_offset,
        Err(error) => return settle(ErrorCode::from(&error)),
    };
    let (broker, is_of_offsets) = (Arc::clone(broker), topic == OFFSETS_TOPIC);
    let durable = move |result: Result<(), AppendError>| {
        if is_of_offsets && result.is_ok() {
            let end = TransactionEnd { marker_offset: next_offset - 1, is_committed: commit };
            broker.groups.transaction_ended(index, producer_id, end);
        }
        settle(result.err().map_or(ErrorCode::None, |error| ErrorCode::from(&error)));
    };
    partition.when_durable(next_offset, Box::new(durable));
}

/// The codes, which are in the order of the request's partitions, in the request's form.
fn response(markers: &[WritableTxnMarker], codes: Vec<ErrorCode>) -> WriteTxnMarkersResponse {
    let mut codes = codes.into_iter();
    let mut partition = |index: &i32| WritableTxnMarkerPartitionResult {
        partition_index: *index,
        error_code: codes.next().unwrap_or(ErrorCode::UnknownServerError).code(),
    };
    let mut topic = |topic: &WritableTxnMarkerTopic| WritableTxnMarkerTopicResult {
        name: topic.name.clone(),
        partitions: topic.partition_indexes.iter().map(&mut partition).collect(),
    };
    let marker = |marker: &WritableTxnMarker| WritableTxnMarkerResult {
        producer_id: marker.producer_id,
        topics: marker.topics.iter().map(&mut topic).collect(),
    };
    WriteTxnMarkersResponse { markers: markers.iter().map(marker).collect() }
}
