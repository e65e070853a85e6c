//! TxnOffsetCommit (28), versions 0 to 6: where a group goes on reading, once the producer's transaction is committed.
//!
//! Answered once the offsets are durable; they are pending then, until a marker in the group's partition of
//! `__consumer_offsets` ends the transaction. From version 3 on the member that read is checked as in OffsetCommit
//! (KIP-447). Up to version 4 AddOffsetsToTxn has made the partition part of the transaction; from version 5 on this
//! does (KIP-890). From version 6 on topics are named by id (KIP-1319). Topics and partitions that do not exist are
//! refused one by one.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::txn_offset_commit::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic, TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
};
use pillion_wire::messages::{TxnOffsetCommitRequest, TxnOffsetCommitResponse};
use tokio::sync::oneshot;

use super::commit_outcome::{AskedPartition, AskedTopic, Naming, Outcome, TopicResult, fill, sort};
use super::waiting;
use crate::broker::BrokerState;
use crate::dispatch::{Call, Flow};
use crate::groups::action::Answer;
use crate::groups::coordinator::{HostedShard, OFFSETS_TOPIC};
use crate::groups::event::{Commit, PartitionOffset, Producer, WaiterId};
use crate::network::Responder;
use crate::transactions::event::ProducerIdentity;

/// The first version that makes the group's partition part of the transaction.
const ADDS: i16 = 5;
/// The first version that names topics by id, and knows GROUP_ID_NOT_FOUND.
const BY_ID: i16 = 6;
/// The first version that knows TRANSACTION_ABORTABLE.
const ABORTABLE_SINCE: i16 = 4;
/// How often a commit is tried whose partition gets other producers' markers all the time.
const TRIES_MAX: usize = 1_000;
/// The first version that knows COORDINATOR_LOAD_IN_PROGRESS; before, it is COORDINATOR_NOT_AVAILABLE.
const KNOWS_LOADING: i16 = 2;

/// Commits what exists, and answers with the rest refused.
pub(crate) fn handle(call: Call, mut request: TxnOffsetCommitRequest) -> Flow {
    let version = call.version();
    let topics = call.broker.topics.snapshot();
    let naming = if version >= BY_ID { Naming::ById } else { Naming::ByName };
    let asked = std::mem::take(&mut request.topics).into_iter().map(asked_topic);
    let (outcomes, offsets) = sort(&topics, naming, None, asked);
    let answering = Answering { responder: call.responder, version, outcomes };
    if offsets.is_empty() {
        answering.answer(Ok(&[]));
        return Flow::Done;
    }
    if request.group_id.is_empty() {
        answering.answer(Err(ErrorCode::InvalidGroupId));
        return Flow::Done;
    }
    let broker = call.broker;
    waiting(async move {
        let committed = commit_in_transaction(&broker, &request, version, offsets).await;
        answering.answer(committed.as_deref().map_err(|error| *error));
    })
}

/// Asks the transaction coordinator, then the group; once more if the transaction ended in between.
async fn commit_in_transaction(
    broker: &BrokerState,
    request: &TxnOffsetCommitRequest,
    version: i16,
    offsets: Vec<PartitionOffset>,
) -> Result<Vec<ErrorCode>, ErrorCode> {
    if request.producer_id < 0 {
        return Err(ErrorCode::InvalidProducerIdMapping);
    }
    if request.producer_epoch < 0 {
        return Err(ErrorCode::InvalidProducerEpoch);
    }
    let shard = broker.groups.shard(&request.group_id)?;
    for _ in 0..TRIES_MAX {
        // From before the question, so that a marker written after the answer is noticed.
        let guard = shard.guard(request.producer_id, request.producer_epoch);
        if guard.is_some() {
            take_part(broker, request, version).await.map_err(|error| in_version(error, version))?;
        }
        let producer = Producer { id: request.producer_id, epoch: request.producer_epoch, guard };
        let results = commit(shard, request, version, producer, offsets.clone()).await?;
        if results.first() != Some(&ErrorCode::ConcurrentTransactions) {
            return Ok(results);
        }
    }
    Err(in_version(ErrorCode::ConcurrentTransactions, version))
}

/// Has the transaction coordinator say that the group's partition is part of the producer's transaction, or, from
/// version 5 on, make it so.
async fn take_part(broker: &BrokerState, request: &TxnOffsetCommitRequest, version: i16) -> Result<(), ErrorCode> {
    let offsets = (Arc::from(OFFSETS_TOPIC), broker.groups.partition_of(&request.group_id)?);
    let transactional_id: Arc<str> = Arc::from(&*request.transactional_id);
    let producer = ProducerIdentity { id: request.producer_id, epoch: request.producer_epoch };
    if version >= ADDS {
        broker.transactions.add(&transactional_id, producer, vec![offsets]).await
    } else {
        broker.transactions.shard(&transactional_id)?.verify(&transactional_id, producer, &offsets)
    }
}

/// What the transaction coordinator says, in words a client of this version makes the right thing of.
fn in_version(error: ErrorCode, version: i16) -> ErrorCode {
    match error {
        ErrorCode::ProducerFenced => ErrorCode::InvalidProducerEpoch,
        ErrorCode::InvalidTxnState if version >= ABORTABLE_SINCE => ErrorCode::TransactionAbortable,
        ErrorCode::ConcurrentTransactions if version >= ADDS => error,
        ErrorCode::ConcurrentTransactions | ErrorCode::CoordinatorLoadInProgress | ErrorCode::NotCoordinator => {
            ErrorCode::CoordinatorNotAvailable
        }
        error => error,
    }
}

async fn commit(
    shard: &Arc<HostedShard>,
    request: &TxnOffsetCommitRequest,
    version: i16,
    producer: Producer,
    offsets: Vec<PartitionOffset>,
) -> Result<Vec<ErrorCode>, ErrorCode> {
    let group_id: Arc<str> = Arc::from(request.group_id.as_str());
    let commit = |waiter: WaiterId| Commit {
        waiter,
        member_id: Arc::from(request.member_id.as_str()),
        group_instance_id: request.group_instance_id.as_deref().map(Arc::from),
        generation: request.generation_id_or_member_epoch,
        producer: Some(producer),
        knows_group_id_not_found: version >= BY_ID,
        offsets,
    };
    let (tell, told) = oneshot::channel();
    let reply = move |outcome| {
        let _ = tell.send(outcome);
    };
    shard.commit(&group_id, commit, Box::new(reply));
    match told.await {
        Ok(Ok(Answer::Commit(results))) => Ok(results),
        Ok(Err(error)) => Err(error),
        Ok(Ok(_)) | Err(_) => Err(ErrorCode::CoordinatorNotAvailable),
    }
}

fn asked_topic(topic: TxnOffsetCommitRequestTopic) -> AskedTopic {
    let partition = |partition: TxnOffsetCommitRequestPartition| AskedPartition {
        index: partition.partition_index,
        offset: partition.committed_offset,
        leader_epoch: partition.committed_leader_epoch,
        metadata: partition.committed_metadata,
    };
    let partitions = topic.partitions.into_iter().map(partition).collect();
    AskedTopic { name: topic.name, topic_id: topic.topic_id, partitions }
}

/// Who is answered, and what is known of the answer.
struct Answering {
    responder: Responder,
    version: i16,
    outcomes: Vec<Outcome>,
}

impl Answering {
    fn answer(self, results: Result<&[ErrorCode], ErrorCode>) {
        let results = results.map_err(|error| match error {
            ErrorCode::CoordinatorLoadInProgress if self.version < KNOWS_LOADING => ErrorCode::CoordinatorNotAvailable,
            error => error,
        });
        let partition =
            |(partition_index, error_code)| TxnOffsetCommitResponsePartition { partition_index, error_code };
        let topic = |TopicResult { name, topic_id, partitions }| TxnOffsetCommitResponseTopic {
            name,
            topic_id,
            partitions: partitions.into_iter().map(partition).collect(),
        };
        let topics = fill(self.outcomes, results).into_iter().map(topic).collect();
        self.responder.answer(&TxnOffsetCommitResponse { throttle_time_ms: 0, topics });
    }
}
