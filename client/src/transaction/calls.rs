//! Requests to coordinators on behalf of a transaction, tried again until they are answered for good or the time is
//! over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pillion_wire::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest, TxnOffsetCommitRequest,
};
use pillion_wire::{ErrorCode, Request as WireRequest};

use super::error::{AbortCause, TransactionError};
use super::machine::{End, Failure, Protocol};
use super::requests::{self, GroupOffsets};
use super::verdict::{Call, Verdict, judge};
use crate::client::ClientShared;
use crate::connection::ConnectionError;
use crate::coordinator::CoordinatorKind;
use crate::error::ClientError;
use crate::producer::{CONCURRENT_BACKOFF, Dispatch, Identity};

/// The feature that tells which protocol is spoken.
const FEATURE: &str = "transaction.version";
/// The level of it from which version 2 is spoken.
const SECOND: i16 = 2;
/// EndTxn and TxnOffsetCommit mean version 2 from here on, and AddPartitionsToTxn is for brokers from 4 on.
const END_TXN_V2: i16 = 5;
const TXN_OFFSET_COMMIT_V2: i16 = 5;
const ADD_PARTITIONS_NEWEST: i16 = 3;

/// What asks the coordinators.
pub(super) struct Calls {
    pub(super) client: Arc<ClientShared>,
    pub(super) dispatch: Arc<Dispatch>,
    pub(super) transactional_id: String,
    pub(super) transaction_timeout_ms: i32,
    /// How long a request is tried.
    pub(super) max_block: Duration,
}

/// A request that failed for good.
pub(super) enum CallError {
    /// The coordinator refused it.
    Refused {
        api: &'static str,
        code: ErrorCode,
        verdict: Verdict,
    },
    /// It was not answered in time.
    Unreachable {
        api: &'static str,
        waited: Duration,
        source: Option<Box<ClientError>>,
    },
    /// No broker can answer it.
    Unsupported(ConnectionError),
    Closed,
}

/// What a request is asked in: oldest and newest version.
type Versions = (i16, i16);

impl Calls {
    /// Gets a producer id; with `present` the same one in its next epoch (KIP-360). What was open is aborted.
    pub(super) async fn initialize(&self, present: Option<Identity>) -> Result<(Identity, Protocol), CallError> {
        let request = InitProducerIdRequest {
            transactional_id: Some(self.transactional_id.clone()),
            transaction_timeout_ms: self.transaction_timeout_ms,
            producer_id: present.map_or(-1, |present| present.id),
            producer_epoch: present.map_or(-1, |present| present.epoch),
        };
        let build = |_| request.clone();
        let (response, protocol) =
            self.transaction(Call::Initialize, (0, i16::MAX), build, |answer| vec![answer.error_code]).await?;
        Ok((Identity { id: response.producer_id, epoch: response.producer_epoch }, protocol))
    }

    /// Adds partitions to the transaction (version 1).
    pub(super) async fn add_partitions(
        &self,
        identity: Identity,
        partitions: &[(Arc<str>, i32)],
    ) -> Result<(), CallError> {
        let build = |_| requests::add_partitions(&self.transactional_id, identity, partitions);
        let codes = requests::add_partitions_codes;
        let versions = (0, ADD_PARTITIONS_NEWEST);
        self.transaction::<AddPartitionsToTxnRequest>(Call::AddPartitions, versions, build, codes).await.map(drop)
    }

    /// Commits a group's offsets with the transaction.
    pub(super) async fn commit_offsets(
        &self,
        identity: Identity,
        protocol: Protocol,
        offsets: &GroupOffsets,
    ) -> Result<(), CallError> {
        let group_id = offsets.group.group_id.as_str();
        let mut versions = (TXN_OFFSET_COMMIT_V2, TXN_OFFSET_COMMIT_V2);
        if protocol == Protocol::V1 {
            let request = AddOffsetsToTxnRequest {
                transactional_id: self.transactional_id.clone(),
                producer_id: identity.id,
                producer_epoch: identity.epoch,
                group_id: group_id.to_owned(),
            };
            let build = |_| request.clone();
            self.transaction(Call::AddOffsets, (0, i16::MAX), build, |answer| vec![answer.error_code]).await?;
            versions = (0, TXN_OFFSET_COMMIT_V2 - 1);
        }
        let build = |version| requests::commit_offsets(&self.transactional_id, identity, offsets, version);
        let codes = requests::commit_offsets_codes;
        let coordinator = (CoordinatorKind::Group, group_id);
        self.call::<TxnOffsetCommitRequest>(Call::CommitOffsets, coordinator, versions, build, codes).await.map(drop)
    }

    /// Ends the transaction; gives the identity of the next one.
    pub(super) async fn end(
        &self,
        identity: Identity,
        protocol: Protocol,
        end: End,
    ) -> Result<(Identity, Protocol), CallError> {
        let request = EndTxnRequest {
            transactional_id: self.transactional_id.clone(),
            producer_id: identity.id,
            producer_epoch: identity.epoch,
            committed: end == End::Commit,
        };
        let versions = match protocol {
            Protocol::V1 => (0, END_TXN_V2 - 1),
            Protocol::V2 => (END_TXN_V2, END_TXN_V2),
        };
        let build = |_| request.clone();
        let (response, next) = self.transaction(Call::End, versions, build, |answer| vec![answer.error_code]).await?;
        let identity = match protocol {
            // An epoch that is used up brings another id with it.
            Protocol::V2 if response.producer_id >= 0 => {
                Identity { id: response.producer_id, epoch: response.producer_epoch }
            }
            _ => identity,
        };
        Ok((identity, next))
    }

    async fn transaction<R: WireRequest>(
        &self,
        call: Call,
        versions: Versions,
        build: impl Fn(i16) -> R,
        codes: impl Fn(&R::Response) -> Vec<i16>,
    ) -> Result<(R::Response, Protocol), CallError> {
        let coordinator = (CoordinatorKind::Transaction, self.transactional_id.as_str());
        self.call(call, coordinator, versions, build, codes).await
    }

    /// Asks a coordinator until it answers for good; gives the protocol its cluster speaks, too.
    async fn call<R: WireRequest>(
        &self,
        call: Call,
        coordinator: (CoordinatorKind, &str),
        versions: Versions,
        build: impl Fn(i16) -> R,
        codes: impl Fn(&R::Response) -> Vec<i16>,
    ) -> Result<(R::Response, Protocol), CallError> {
        let started = Instant::now();
        let (mut failures, mut collisions) = (0, 0);
        loop {
            let left = self.max_block.saturating_sub(started.elapsed());
            let attempt = tokio::time::timeout(left, self.attempt(coordinator, versions, &build)).await;
            if self.client.connector.cancelled.is_cancelled() {
                return Err(CallError::Closed);
            }
            let last = match attempt {
                Ok(Ok((response, protocol, node))) => {
                    let judged = codes(&response).into_iter().map(ErrorCode::from_code);
                    let judged = judged.map(|code| (judge(call, code), code)).max_by_key(|(verdict, _)| *verdict);
                    let (verdict, code) = judged.unwrap_or((Verdict::Done, ErrorCode::None));
                    match verdict {
                        Verdict::Done => return Ok((response, protocol)),
                        Verdict::Concurrent => collisions += 1,
                        Verdict::Retry | Verdict::NotAttempted => failures += 1,
                        Verdict::FindAgain => {
                            failures += 1;
                            self.client.coordinators.forget(coordinator.0, coordinator.1, node);
                        }
                        _ => return Err(CallError::Refused { api: R::API, code, verdict }),
                    }
                    Some(ClientError::Broker { api: R::API, code, message: None })
                }
                Ok(Err(ClientError::Connection(error))) if !may_pass(&error) => {
                    return Err(CallError::Unsupported(error));
                }
                Ok(Err(ClientError::Broker { api, code, .. })) if !code.is_retriable() => {
                    return Err(CallError::Refused { api, code, verdict: judge(call, code) });
                }
                Ok(Err(error)) => {
                    failures += 1;
                    Some(error)
                }
                Err(_) => None,
            };
            let pause = match last.as_ref().and_then(ClientError::error_code) {
                Some(ErrorCode::ConcurrentTransactions) => CONCURRENT_BACKOFF.jittered(collisions),
                _ => self.client.connector.backoff.jittered(failures),
            };
            if started.elapsed() + pause >= self.max_block {
                let (waited, source) = (self.max_block, last.map(Box::new));
                return Err(CallError::Unreachable { api: R::API, waited, source });
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Asks once; gives the answering broker, too.
    async fn attempt<R: WireRequest>(
        &self,
        (kind, key): (CoordinatorKind, &str),
        versions: Versions,
        build: &impl Fn(i16) -> R,
    ) -> Result<(R::Response, Protocol, i32), ClientError> {
        let broker = self.client.coordinators.find(&self.client, kind, key).await?;
        let asked = async {
            let connection = self.dispatch.pool().connection(&broker).await?;
            let response = connection.request_by(versions, build).await?;
            let second = connection.finalized_feature(FEATURE) >= SECOND;
            Ok((response, if second { Protocol::V2 } else { Protocol::V1 }, broker.id))
        };
        asked.await.map_err(|error: ConnectionError| {
            // It may have moved.
            self.client.coordinators.forget(kind, key, broker.id);
            error.into()
        })
    }

    /// What a failed request means for the transaction.
    pub(super) fn failure(&self, error: CallError) -> Failure {
        match error {
            CallError::Refused { api, code, verdict: Verdict::Abortable } => {
                Failure::Abortable { cause: AbortCause::Request { api, code }.into(), refused: true }
            }
            CallError::Unreachable { api, waited, source } => {
                Failure::Abortable { cause: AbortCause::Unreachable { api, waited, source }.into(), refused: false }
            }
            CallError::Refused { code: ErrorCode::InvalidTxnState, .. } => Failure::NoTransaction(self.fatal(error)),
            error => Failure::Fatal(self.fatal(error)),
        }
    }

    /// The error of a request that the producer cannot go on behind.
    pub(super) fn fatal(&self, error: CallError) -> TransactionError {
        let transactional_id = self.transactional_id.clone();
        match error {
            CallError::Refused { api, code, verdict } => self.refusal(api, code, verdict),
            CallError::Unreachable { waited, source, .. } => {
                TransactionError::OutcomeUnknown { transactional_id, waited, source }
            }
            CallError::Unsupported(source) => TransactionError::Unsupported { transactional_id, source },
            CallError::Closed => TransactionError::Closed,
        }
    }

    /// The error of a refusal that the producer cannot go on behind.
    pub(super) fn refusal(&self, api: &'static str, code: ErrorCode, verdict: Verdict) -> TransactionError {
        let transactional_id = self.transactional_id.clone();
        match verdict {
            Verdict::Fenced => TransactionError::Fenced { transactional_id, api, code },
            Verdict::Refused => {
                let message = requests::advice(code).map(str::to_owned);
                TransactionError::Refused { transactional_id, api, code, message }
            }
            _ => TransactionError::Broken { transactional_id, api, code },
        }
    }
}

/// Whether another attempt may succeed; a connection closed from this side is made anew.
fn may_pass(error: &ConnectionError) -> bool {
    error.is_retriable() || matches!(error, ConnectionError::Closed { .. })
}
