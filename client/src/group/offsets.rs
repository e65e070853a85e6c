//! A group's committed offsets: fetched and committed at the group's coordinator, tried again within a time.

use std::time::{Duration, Instant};

use pillion_wire::messages::{OffsetCommitRequest, OffsetFetchRequest};
use pillion_wire::{ErrorCode, Request};

use super::assignor::TopicPartition;
use super::error::GroupError;
use super::requests;
use crate::client::ClientShared;
use crate::committed::{CommittedOffset, GroupMetadata};
use crate::coordinator::{CoordinatorKind, wants_lookup};
use crate::error::ClientError;

/// Commits offsets. Goes by the client's own connections, for a join may hold the member's up for minutes.
///
/// # Errors
/// [`GroupError::NotOfGeneration`], [`GroupError::Rebalancing`], [`GroupError::NotCommitted`]; [`GroupError::Client`]
/// when the coordinator could not be reached within `wait`.
pub(crate) async fn commit(
    client: &ClientShared,
    group: &GroupMetadata,
    offsets: &[CommittedOffset],
    wait: Duration,
) -> Result<(), GroupError> {
    if offsets.is_empty() {
        return Ok(());
    }
    let request = requests::commit(group, offsets);
    let build = |_| request.clone();
    let code = |response: &<OffsetCommitRequest as Request>::Response| requests::commit_failure(response);
    match ask(client, &group.group_id, build, code, wait).await? {
        Ok(_) => Ok(()),
        Err(code @ (ErrorCode::UnknownMemberId | ErrorCode::IllegalGeneration)) => {
            Err(GroupError::NotOfGeneration { code })
        }
        Err(ErrorCode::FencedInstanceId) => Err(GroupError::InstanceFenced),
        Err(ErrorCode::RebalanceInProgress) => Err(GroupError::Rebalancing),
        Err(code) => Err(GroupError::NotCommitted { code }),
    }
}

/// What a group has committed of some partitions; those without an offset are left out.
///
/// # Errors
/// [`GroupError::Refused`]; [`GroupError::Client`] when the coordinator could not be reached, or an open transaction
/// holds an offset back, for `wait`.
pub(crate) async fn committed(
    client: &ClientShared,
    group_id: &str,
    partitions: &[TopicPartition],
    wait: Duration,
) -> Result<Vec<CommittedOffset>, GroupError> {
    fetch(client, group_id, |version| requests::fetch(group_id, partitions, version), wait).await
}

/// All that a group has committed, also where an open transaction may replace it.
///
/// # Errors
/// As [`committed`].
pub(crate) async fn committed_all(
    client: &ClientShared,
    group_id: &str,
    wait: Duration,
) -> Result<Vec<CommittedOffset>, GroupError> {
    fetch(client, group_id, |version| requests::fetch_all(group_id, version), wait).await
}

async fn fetch(
    client: &ClientShared,
    group_id: &str,
    build: impl Fn(i16) -> OffsetFetchRequest,
    wait: Duration,
) -> Result<Vec<CommittedOffset>, GroupError> {
    let code = |response: &<OffsetFetchRequest as Request>::Response| requests::fetched(response.clone()).err();
    let refused = |code| GroupError::Refused { api: "OffsetFetch", code };
    let response = ask(client, group_id, build, code, wait).await?.map_err(refused)?;
    requests::fetched(response).map_err(refused)
}

/// Asks a group's coordinator until it answers for good; the inner error is its own, as `code` reads it.
///
/// # Errors
/// [`GroupError::Client`] when the coordinator could not be reached within `wait`.
pub(crate) async fn ask<R: Request>(
    client: &ClientShared,
    group_id: &str,
    build: impl Fn(i16) -> R,
    code: impl Fn(&R::Response) -> Option<ErrorCode>,
    wait: Duration,
) -> Result<Result<R::Response, ErrorCode>, GroupError> {
    let started = Instant::now();
    let mut failures = 0;
    loop {
        let attempt = async {
            let broker = client.coordinators.find(client, CoordinatorKind::Group, group_id).await?;
            let asked = async {
                let connection = client.control.connection(&broker).await?;
                connection.request_by((0, requests::OFFSETS_NEWEST), &build).await
            };
            let response = asked.await.inspect_err(|_| forget(client, group_id, broker.id))?;
            let code = code(&response);
            if code.is_some_and(wants_lookup) {
                forget(client, group_id, broker.id);
            }
            Ok::<_, ClientError>((response, code))
        };
        let left = wait.saturating_sub(started.elapsed());
        let failure = match tokio::time::timeout(left, attempt).await {
            Ok(Ok((response, None))) => return Ok(Ok(response)),
            Ok(Ok((_, Some(code)))) if !code.is_retriable() => return Ok(Err(code)),
            Ok(Ok((_, Some(code)))) => Some(ClientError::Broker { api: R::API, code, message: None }),
            Ok(Err(ClientError::Broker { code, .. })) if !code.is_retriable() => return Ok(Err(code)),
            Ok(Err(ClientError::Connection(error))) if !error.is_retriable() => return Err(error.into()),
            Ok(Err(ClientError::Closed)) => return Err(ClientError::Closed.into()),
            Ok(Err(error)) => Some(error),
            Err(_) => None,
        };
        failures += 1;
        let pause = client.connector.backoff.jittered(failures);
        if started.elapsed() + pause >= wait {
            let error = ClientError::TimedOut { what: R::API, waited: wait, source: failure.map(Box::new) };
            return Err(error.into());
        }
        tokio::time::sleep(pause).await;
    }
}

fn forget(client: &ClientShared, group_id: &str, node: i32) {
    client.coordinators.forget(CoordinatorKind::Group, group_id, node);
}
