//! DescribeTransactions (65), version 0: how transactional ids stand (KIP-664).
//!
//! What is told is durable. An id nobody has used is answered with TRANSACTIONAL_ID_NOT_FOUND.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_transactions::{TopicData, TransactionState};
use pillion_wire::messages::{DescribeTransactionsRequest, DescribeTransactionsResponse};

use crate::dispatch::{Call, Flow};
use crate::network::Responder;
use crate::transactions::record_codec::TransactionValue;
use crate::transactions::shard::TransactionShard;

/// The answer, while some ids are missing in it.
struct Pending {
    responder: Option<Responder>,
    states: Vec<TransactionState>,
    missing: usize,
}

/// Answers once all that is told is durable.
pub(crate) fn handle(call: Call, mut request: DescribeTransactionsRequest) -> Flow {
    // What is named again is not told again: a transaction may have very many partitions.
    let mut seen = HashSet::new();
    request.transactional_ids.retain(|transactional_id| seen.insert(transactional_id.clone()));
    let missing = request.transactional_ids.len();
    if missing == 0 {
        return call.answer(&DescribeTransactionsResponse::default());
    }
    let states = vec![TransactionState::default(); missing];
    let pending = Arc::new(Mutex::new(Pending { responder: Some(call.responder), states, missing }));
    for (place, transactional_id) in request.transactional_ids.into_iter().enumerate() {
        let shard = match call.broker.transactions.shard(&transactional_id) {
            Ok(shard) => shard,
            Err(error) => {
                settle(&pending, place, refusal(transactional_id, error));
                continue;
            }
        };
        let (pending, id, described) = (Arc::clone(&pending), transactional_id.clone(), transactional_id.clone());
        let respond = move |seen: Result<Option<TransactionValue>, ErrorCode>| {
            let state = match seen {
                Ok(Some(value)) => state(transactional_id, &value),
                Ok(None) => refusal(transactional_id, ErrorCode::TransactionalIdNotFound),
                Err(error) => refusal(transactional_id, error),
            };
            settle(&pending, place, state);
        };
        let must_wait = |core: &TransactionShard| core.is_write_under_way(Some(&id));
        shard.read(must_wait, move |core| core.describe(&described), respond);
    }
    Flow::Done
}

fn settle(pending: &Mutex<Pending>, place: usize, state: TransactionState) {
    let mut pending = pending.lock();
    pending.states[place] = state;
    pending.missing -= 1;
    if pending.missing == 0
        && let Some(responder) = pending.responder.take()
    {
        let transaction_states = std::mem::take(&mut pending.states);
        responder.answer(&DescribeTransactionsResponse { transaction_states, ..Default::default() });
    }
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
