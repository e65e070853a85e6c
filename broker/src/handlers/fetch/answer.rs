//! Brings what a search found into an answer, and sends it.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::messages::FetchResponse;
use pillion_wire::messages::fetch::{
    AbortedTransaction, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
};
use pillion_wire::{ErrorCode, Records};

use super::cold::{self, Part};
use super::context::{Context, FetchState};
use super::search::{Found, Place, Search};
use crate::broker::BrokerState;
use crate::log::{LogSlice, ReadFrom};
use crate::network::Responder;
use crate::network::listener::Listener;
use crate::partition::Isolation;

/// The first version whose answers tell who leads (KIP-951).
const LEADERS_SINCE: i16 = 16;

/// Whom an answer is for, and on whose behalf.
pub(super) struct Origin {
    pub(super) broker: Arc<BrokerState>,
    pub(super) context: Context,
    /// The listener the request came in by.
    pub(super) listener: Arc<Listener>,
}

/// Takes what is in memory; false when what comes first is not, and nothing has been taken. What is not in memory
/// further behind is left for the next answer, which will look for it first.
pub(super) fn take_from_memory(state: &FetchState, search: &mut Search, slices: &mut Vec<LogSlice>) -> bool {
    let mut has_records = false;
    for place in search.order() {
        let part = match &search.places[place].found {
            Found::Cold => None,
            Found::Slice { slice, more } => match cold::in_memory(slice) {
                Ok(Some(part)) => {
                    if let Part::File(sent) = &part
                        && (*more || sent.length < slice.length)
                    {
                        cold::read_ahead_behind(state, sent);
                    }
                    Some(Ok(part))
                }
                Ok(None) => {
                    // It will be there when the next answer looks for it.
                    if has_records {
                        cold::read_ahead_behind(state, &LogSlice { length: 0, ..slice.clone() });
                    }
                    None
                }
                Err(error) => Some(Err(error)),
            },
            _ => continue,
        };
        match part {
            None if !has_records => return false,
            None => search.put(place, Found::Nothing),
            Some(part) => {
                has_records = true;
                take(search, place, part, slices);
            }
        }
    }
    true
}

/// Takes what is in memory and what the disk brings. Blocks.
pub(super) fn take_from_disk(search: &mut Search, slices: &mut Vec<LogSlice>) {
    let mut budget = cold::COLD_BYTES;
    for place in search.order() {
        if matches!(search.places[place].found, Found::Cold) && budget > 0 {
            search.look(place, ReadFrom::Disk);
        }
        let part = match &search.places[place].found {
            Found::Slice { slice, .. } if budget > 0 => Some(cold::from_disk(slice, &mut budget)),
            Found::Slice { slice, .. } => cold::in_memory(slice).transpose(),
            _ => continue,
        };
        match part {
            None => search.put(place, Found::Nothing),
            Some(part) => take(search, place, part, slices),
        }
    }
}

fn take(search: &mut Search, place: usize, part: io::Result<Part>, slices: &mut Vec<LogSlice>) {
    let found = match part {
        Ok(part) => Found::Records(part.into_records(slices)),
        Err(error) => {
            let wanted = &search.places[place].wanted;
            let (topic, partition, offset) = (&wanted.topic.name, wanted.partition, wanted.fetch_offset);
            tracing::error!(topic, partition, offset, %error, "cannot read a segment");
            Found::Refused(ErrorCode::KafkaStorageError)
        }
    };
    search.put(place, found);
}

/// Sends what was taken.
pub(super) fn send(responder: Responder, origin: &Origin, mut search: Search, slices: &[LogSlice]) {
    let session_id = match origin.context.tell(&origin.broker.fetches, &mut search) {
        Ok(session_id) => session_id,
        Err(code) => return responder.answer(&refusal(code)),
    };
    let mut response = FetchResponse { session_id, ..FetchResponse::default() };
    let isolation = search.isolation;
    let mut topic = None;
    for place in search.places.into_iter().filter(|place| place.is_told) {
        place.count_bytes();
        let same = topic.as_ref().is_some_and(|topic| place.wanted.topic.is_same(topic));
        if !same {
            let wanted = &place.wanted.topic;
            response.responses.push(FetchableTopicResponse {
                topic: wanted.name.clone(),
                topic_id: wanted.id,
                partitions: Vec::new(),
            });
            topic = Some(Arc::clone(wanted));
        }
        if let Some(response) = response.responses.last_mut() {
            response.partitions.push(data(place, isolation));
        }
    }
    if responder.version() >= LEADERS_SINCE {
        tell_leader(&mut response, origin);
    }
    responder.answer_with_slices(&response, slices);
}

/// Tells clients with an older leader epoch the one in force, so that they need not ask for metadata.
fn tell_leader(response: &mut FetchResponse, Origin { broker, listener, .. }: &Origin) {
    let partitions = response.responses.iter_mut().flat_map(|topic| &mut topic.partitions);
    for fenced in partitions.filter(|data| data.error_code == ErrorCode::FencedLeaderEpoch.code()) {
        let (leader_id, leader_epoch) = (broker.config.node_id, broker.leader_epoch());
        fenced.current_leader = LeaderIdAndEpoch { leader_id, leader_epoch };
        if response.node_endpoints.is_empty() {
            let (host, port) = (listener.advertised_host.clone(), i32::from(listener.advertised_port));
            response.node_endpoints.push(NodeEndpoint { node_id: leader_id, host, port, rack: None });
        }
    }
}

/// The answer to a request that its session refuses.
pub(super) fn refusal(code: ErrorCode) -> FetchResponse {
    FetchResponse { error_code: code.code(), ..FetchResponse::default() }
}

fn data(place: Place, isolation: Isolation) -> PartitionData {
    let marks = place.marks;
    let aborted = place.aborted(isolation);
    let mut data = PartitionData {
        partition_index: place.wanted.partition,
        high_watermark: marks.high_watermark,
        last_stable_offset: marks.last_stable_offset,
        log_start_offset: marks.log_start_offset,
        records: Some(Records::Bytes(Bytes::new())),
        ..PartitionData::default()
    };
    match place.found {
        Found::Records(records) => data.records = Some(records),
        Found::Refused(code) => data.error_code = code.code(),
        Found::Diverging(diverging) => data.diverging_epoch = diverging,
        Found::Nothing | Found::Cold | Found::Slice { .. } => {}
    }
    match aborted {
        Ok(aborted) => data.aborted_transactions = aborted.map(|aborted| aborted.iter().map(in_answer).collect()),
        // Without the list a reader would take aborted records for committed ones.
        Err(error) => {
            tracing::error!(%error, "cannot read a transaction index");
            (data.error_code, data.records) = (ErrorCode::from(&error).code(), None);
        }
    }
    data
}

fn in_answer(aborted: &crate::log::AbortedTransaction) -> AbortedTransaction {
    AbortedTransaction { producer_id: aborted.producer_id, first_offset: aborted.first_offset }
}
