//! WriteTxnMarkers (27), versions 1 to 2: markers that another than this broker's coordinator has decided on.
//!
//! An administrator's tool sends it, to end a transaction that hangs (KIP-664). Each partition is answered once its
//! marker is durable: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.

use std::sync::Arc;

use parking_lot::Mutex;
use pillion_wire::ErrorCode;
use pillion_wire::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult,
};
use pillion_wire::messages::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};
use pillion_wire::records::EndTransactionMarker;

use super::blocking;
use crate::broker::BrokerState;
use crate::dispatch::{Call, Flow};
use crate::groups::coordinator::OFFSETS_TOPIC;
use crate::groups::event::TransactionEnd;
use crate::network::Responder;
use crate::partition::AppendError;

/// From this version of transactions on a marker's epoch is one above that of the records.
const EPOCH_BUMP: i8 = 2;

/// The answer, while some markers are not durable.
struct Pending {
    responder: Option<Responder>,
    response: WriteTxnMarkersResponse,
    missing: usize,
}

/// Where a result belongs: marker, topic, partition.
type Place = (usize, usize, usize);

/// Writes them off the event loop: there may be thousands.
pub(crate) fn handle(call: Call, request: WriteTxnMarkersRequest) -> Flow {
    blocking(move || {
        let broker = Arc::clone(&call.broker);
        let response = WriteTxnMarkersResponse { markers: request.markers.iter().map(unanswered).collect() };
        // One more than there are, until all have been begun.
        let pending = Arc::new(Mutex::new(Pending { responder: Some(call.responder), response, missing: 1 }));
        for (marker_place, marker) in request.markers.iter().enumerate() {
            for (topic_place, topic) in marker.topics.iter().enumerate() {
                for (place, index) in topic.partition_indexes.iter().enumerate() {
                    pending.lock().missing += 1;
                    write(&broker, marker, &topic.name, *index, (marker_place, topic_place, place), &pending);
                }
            }
        }
        settle(&pending, None);
    })
}

fn write(
    broker: &Arc<BrokerState>,
    marker: &WritableTxnMarker,
    topic: &str,
    index: i32,
    place: Place,
    pending: &Arc<Mutex<Pending>>,
) {
    let found = broker.topics.by_name(topic).and_then(|topic| topic.partition(index).cloned());
    let Some(partition) = found else {
        return settle(pending, Some((place, ErrorCode::UnknownTopicOrPartition)));
    };
    let (producer_id, commit) = (marker.producer_id, marker.transaction_result);
    let end = EndTransactionMarker { commit, coordinator_epoch: marker.coordinator_epoch };
    let is_epoch_bumped = marker.transaction_version >= EPOCH_BUMP;
    let next_offset = match partition.end_transaction(producer_id, marker.producer_epoch, end, is_epoch_bumped) {
        Ok(next_offset) => next_offset,
        Err(error) => return settle(pending, Some((place, ErrorCode::from(&error)))),
    };
    let (broker, pending, is_of_offsets) = (Arc::clone(broker), Arc::clone(pending), topic == OFFSETS_TOPIC);
    let durable = move |result: Result<(), AppendError>| {
        if is_of_offsets && result.is_ok() {
            let end = TransactionEnd { marker_offset: next_offset - 1, is_committed: commit };
            broker.groups.transaction_ended(index, producer_id, end);
        }
        settle(&pending, Some((place, result.err().map_or(ErrorCode::None, |error| ErrorCode::from(&error)))));
    };
    partition.when_durable(next_offset, Box::new(durable));
}

/// Takes in one result, and answers with the last.
fn settle(pending: &Mutex<Pending>, result: Option<(Place, ErrorCode)>) {
    let mut pending = pending.lock();
    if let Some(((marker, topic, partition), code)) = result {
        pending.response.markers[marker].topics[topic].partitions[partition].error_code = code.code();
    }
    pending.missing -= 1;
    if pending.missing == 0
        && let Some(responder) = pending.responder.take()
    {
        responder.answer(&pending.response);
    }
}

fn unanswered(marker: &WritableTxnMarker) -> WritableTxnMarkerResult {
    let partition = |index: &i32| WritableTxnMarkerPartitionResult { partition_index: *index, error_code: 0 };
    let topic = |topic: &WritableTxnMarkerTopic| WritableTxnMarkerTopicResult {
        name: topic.name.clone(),
        partitions: topic.partition_indexes.iter().map(partition).collect(),
    };
    WritableTxnMarkerResult { producer_id: marker.producer_id, topics: marker.topics.iter().map(topic).collect() }
}
