//! One file an API: its versions, what it does, what it leaves out.

pub(crate) mod add_offsets_to_txn;
pub(crate) mod add_partitions_to_txn;
pub(crate) mod alter_configs;
pub(crate) mod alter_partition_reassignments;
pub(crate) mod alter_replica_log_dirs;
pub(crate) mod api_versions;
mod commit_outcome;
mod config_resources;
pub(crate) mod create_partitions;
pub(crate) mod create_topics;
pub(crate) mod delete_groups;
pub(crate) mod delete_records;
pub(crate) mod delete_topics;
pub(crate) mod describe_acls;
pub(crate) mod describe_client_quotas;
pub(crate) mod describe_cluster;
pub(crate) mod describe_configs;
pub(crate) mod describe_delegation_token;
pub(crate) mod describe_groups;
pub(crate) mod describe_log_dirs;
pub(crate) mod describe_producers;
pub(crate) mod describe_quorum;
pub(crate) mod describe_topic_partitions;
pub(crate) mod describe_transactions;
pub(crate) mod describe_user_scram_credentials;
pub(crate) mod elect_leaders;
pub(crate) mod end_txn;
pub(crate) mod fetch;
pub(crate) mod find_coordinator;
mod gathering;
pub(crate) mod heartbeat;
pub(crate) mod incremental_alter_configs;
pub(crate) mod init_producer_id;
pub(crate) mod join_group;
pub(crate) mod leader_epoch;
pub(crate) mod leave_group;
pub(crate) mod list_config_resources;
pub(crate) mod list_groups;
pub(crate) mod list_offsets;
pub(crate) mod list_partition_reassignments;
pub(crate) mod list_transactions;
pub(crate) mod metadata;
pub(crate) mod offset_commit;
pub(crate) mod offset_delete;
pub(crate) mod offset_fetch;
pub(crate) mod offset_for_leader_epoch;
mod permitted_operations;
pub(crate) mod produce;
pub(crate) mod sync_group;
pub(crate) mod txn_offset_commit;
pub(crate) mod update_features;
pub(crate) mod write_txn_markers;

use std::future::Future;

use pillion_wire::ErrorCode;

use crate::dispatch::Flow;

/// Runs work that may block off the event loop, and keeps the connection's next request back until it is done.
pub(crate) fn blocking(work: impl FnOnce() + Send + 'static) -> Flow {
    waiting(off_the_loop(work))
}

/// Runs work that may block off the event loop.
pub(crate) async fn off_the_loop(work: impl FnOnce() + Send + 'static) {
    if tokio::task::spawn_blocking(work).await.is_err() {
        tracing::error!("a request's work panicked; its connection is closed");
    }
}

/// Keeps the connection's next request back until `work` is done.
pub(crate) fn waiting(work: impl Future<Output = ()> + Send + 'static) -> Flow {
    Flow::Wait(Box::pin(work))
}

/// What a producer that was replaced is told: clients from before KIP-588 know only INVALID_PRODUCER_EPOCH. `since` is
/// the first version that has PRODUCER_FENCED.
fn fenced_since(since: i16, version: i16, error: ErrorCode) -> ErrorCode {
    if error == ErrorCode::ProducerFenced && version < since { ErrorCode::InvalidProducerEpoch } else { error }
}
