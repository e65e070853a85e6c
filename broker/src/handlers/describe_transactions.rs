//! DescribeTransactions (65), version 0: how transactional ids stand (KIP-664).
//!
//! What is told is durable. An id nobody has used is answered with TRANSACTIONAL_ID_NOT_FOUND.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_transactions::{TopicData, TransactionState};
use pillion_wire::messages::{DescribeTransactionsRequest, DescribeTransactionsResponse};

use super::gathering::Gathering;
use crate::dispatch::{Call, Flow};
use crate::transactions::record_codec::TransactionValue;
use crate::transactions::shard::TransactionShard;

/// Answers once all that is told is durable.
pub(crate) fn handle(call: Call, mut request: DescribeTransactionsRequest) -> Flow {
    // What is named again is not told again: a transaction may have very many partitions.
    let mut seen = HashSet::new();
    request.transactional_ids.retain(|transactional_id| seen.insert(transactional_id.clone()));
    let responder = call.responder;
    let states = Arc::new(Gathering::new(request.transactional_ids.len(), move |transaction_states| {
        responder.answer(&DescribeTransactionsResponse { transaction_states, ..Default::default() });
    }));
    for (place, transactional_id) in request.transactional_ids.into_iter().enumerate() {
        let shard = match call.broker.transactions.shard(&transactional_id) {
            _ if transactional_id.is_empty() => {
                states.put(place, refusal(transactional_id, ErrorCode::InvalidRequest));
                continue;
            }
            Ok(shard) => shard,
            Err(error) => {
                states.put(place, refusal(transactional_id, error));
                continue;
            }
        };
        let (states, id, described) = (Arc::clone(&states), transactional_id.clone(), transactional_id.clone());
        let respond = move |seen: Result<Option<TransactionValue>, ErrorCode>| {
            let state = match seen {
                Ok(Some(value)) => state(transactional_id, &value),
                Ok(None) => refusal(transactional_id, ErrorCode::TransactionalIdNotFound),
                Err(error) => refusal(transactional_id, error),
            };
            states.put(place, state);
        };
        let must_wait = |core: &TransactionShard| core.is_write_under_way(Some(&id));
        shard.read(must_wait, move |core| core.describe(&described), respond);
    }
    Flow::Done
}

fn state(transactional_id: String, value: &TransactionValue) -> TransactionState {
    let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in &value.partitions {
        topics.entry(topic).or_default().push(*partition);
    }
    let topic = |(topic, partitions): (&str, Vec<i32>)| TopicData { topic: topic.to_owned(), partitions };
    TransactionState {
        error_code: ErrorCode::None.code(),
        transactional_id,
        transaction_state: value.state.name().to_owned(),
        transaction_timeout_ms: value.timeout_ms,
        transaction_start_time_ms: value.started_ms,
        producer_id: value.producer_id,
        producer_epoch: value.epoch,
        topics: topics.into_iter().map(topic).collect(),
    }
}

fn refusal(transactional_id: String, error: ErrorCode) -> TransactionState {
    TransactionState { error_code: error.code(), transactional_id, ..TransactionState::default() }
}
