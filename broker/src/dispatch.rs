//! The table of APIs, and how a frame finds its handler.
//!
//! One table is the source of everything said about an API: its key, the versions advertised and served, what an
//! authorizer will ask, and the handler.

use std::future::Future;
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::frame::{API_VERSIONS_KEY, RequestHeader};
use pillion_wire::{DecodeError, Message, Reader, messages};
use thiserror::Error;
use tokio::time::Instant;

use crate::broker::BrokerState;
use crate::handlers;
use crate::network::session::{Principal, Session};
use crate::network::{Frame, MemoryShare, Responder};

/// What an authorizer will be asked whether a principal may do it (Kafka's `AclOperation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Anyone may.
    Unchecked,
    /// Read records, or commit offsets.
    Read,
    /// Write records.
    Write,
    /// Make topics.
    Create,
    /// Change topics.
    Alter,
    /// Delete topics, records or groups.
    Delete,
    /// See that something exists.
    Describe,
    /// See configurations.
    DescribeConfigs,
    /// Change configurations.
    AlterConfigs,
    /// Get a producer id.
    IdempotentWrite,
}

/// What an operation is on (Kafka's `ResourceType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    /// The broker as a whole.
    Cluster,
    /// The topics the request names.
    Topic,
    /// The group the request names.
    Group,
    /// The transactional id the request names.
    TransactionalId,
}

/// One API.
pub(crate) struct Api {
    /// Its key on the wire.
    pub(crate) key: i16,
    /// Its name.
    pub(crate) name: &'static str,
    /// Versions that ApiVersions tells of.
    pub(crate) advertised: RangeInclusive<i16>,
    /// Versions that are answered.
    pub(crate) served: RangeInclusive<i16>,
    /// What its principal must be allowed to do.
    pub(crate) operation: Operation,
    /// On what.
    pub(crate) resource: Resource,
    flexible_from: i16,
    handle: fn(Call) -> Result<Flow, DecodeError>,
}

macro_rules! api {
    ($request:ident, $operation:ident on $resource:ident, $handle:path) => {
        api!($request, $operation on $resource, $handle, advertised from *messages::$request::VERSIONS.start())
    };
    ($request:ident, $operation:ident on $resource:ident, $handle:path, advertised from $first:expr) => {
        api!($request, $operation on $resource, $handle, $first..=*messages::$request::VERSIONS.end())
    };
    ($request:ident, $operation:ident on $resource:ident, $handle:path, $advertised:expr) => {
        Api {
            key: <messages::$request as pillion_wire::ApiMessage>::KEY,
            name: <messages::$request as pillion_wire::ApiMessage>::API,
            advertised: $advertised,
            served: *messages::$request::VERSIONS.start()..=*$advertised.end(),
            operation: Operation::$operation,
            resource: Resource::$resource,
            flexible_from: messages::$request::FLEXIBLE_FROM,
            handle: |call| {
                let request = call.decode::<messages::$request>()?;
                Ok($handle(call, request))
            },
        }
    };
}

/// Every API this broker answers, by key.
pub(crate) static APIS: &[Api] = &[
    // Versions 0 to 2 are advertised and refused: older librdkafka turns compression off otherwise (KAFKA-18659).
    api!(ProduceRequest, Write on Topic, handlers::produce::handle, advertised from 0),
    api!(FetchRequest, Read on Topic, handlers::fetch::handle),
    api!(ListOffsetsRequest, Describe on Topic, handlers::list_offsets::handle),
    api!(MetadataRequest, Describe on Topic, handlers::metadata::handle),
    api!(OffsetCommitRequest, Read on Group, handlers::offset_commit::handle),
    api!(OffsetFetchRequest, Describe on Group, handlers::offset_fetch::handle),
    api!(FindCoordinatorRequest, Describe on Group, handlers::find_coordinator::handle),
    api!(JoinGroupRequest, Read on Group, handlers::join_group::handle),
    api!(HeartbeatRequest, Read on Group, handlers::heartbeat::handle),
    api!(LeaveGroupRequest, Read on Group, handlers::leave_group::handle),
    api!(SyncGroupRequest, Read on Group, handlers::sync_group::handle),
    api!(DescribeGroupsRequest, Describe on Group, handlers::describe_groups::handle),
    api!(ListGroupsRequest, Describe on Cluster, handlers::list_groups::handle),
    api!(ApiVersionsRequest, Unchecked on Cluster, handlers::api_versions::handle),
    api!(CreateTopicsRequest, Create on Topic, handlers::create_topics::handle),
    api!(DeleteTopicsRequest, Delete on Topic, handlers::delete_topics::handle),
    api!(DeleteRecordsRequest, Delete on Topic, handlers::delete_records::handle),
    api!(InitProducerIdRequest, IdempotentWrite on Cluster, handlers::init_producer_id::handle),
    api!(OffsetForLeaderEpochRequest, Describe on Topic, handlers::offset_for_leader_epoch::handle),
    api!(AddPartitionsToTxnRequest, Write on TransactionalId, handlers::add_partitions_to_txn::handle),
    api!(AddOffsetsToTxnRequest, Write on TransactionalId, handlers::add_offsets_to_txn::handle),
    api!(EndTxnRequest, Write on TransactionalId, handlers::end_txn::handle),
    api!(WriteTxnMarkersRequest, Alter on Cluster, handlers::write_txn_markers::handle),
    api!(TxnOffsetCommitRequest, Read on Group, handlers::txn_offset_commit::handle),
    api!(DescribeAclsRequest, Describe on Cluster, handlers::describe_acls::handle),
    api!(DescribeConfigsRequest, DescribeConfigs on Topic, handlers::describe_configs::handle),
    api!(AlterConfigsRequest, AlterConfigs on Topic, handlers::alter_configs::handle),
    api!(AlterReplicaLogDirsRequest, Alter on Cluster, handlers::alter_replica_log_dirs::handle),
    api!(DescribeLogDirsRequest, Describe on Cluster, handlers::describe_log_dirs::handle),
    api!(CreatePartitionsRequest, Alter on Topic, handlers::create_partitions::handle),
    api!(DescribeDelegationTokenRequest, Describe on Cluster, handlers::describe_delegation_token::handle),
    api!(DeleteGroupsRequest, Delete on Group, handlers::delete_groups::handle),
    api!(ElectLeadersRequest, Alter on Cluster, handlers::elect_leaders::handle),
    api!(IncrementalAlterConfigsRequest, AlterConfigs on Topic, handlers::incremental_alter_configs::handle),
    api!(AlterPartitionReassignmentsRequest, Alter on Cluster, handlers::alter_partition_reassignments::handle),
    api!(ListPartitionReassignmentsRequest, Describe on Cluster, handlers::list_partition_reassignments::handle),
    api!(OffsetDeleteRequest, Delete on Group, handlers::offset_delete::handle),
    api!(DescribeClientQuotasRequest, DescribeConfigs on Cluster, handlers::describe_client_quotas::handle),
    api!(DescribeUserScramCredentialsRequest, Describe on Cluster, handlers::describe_user_scram_credentials::handle),
    api!(DescribeQuorumRequest, Describe on Cluster, handlers::describe_quorum::handle),
    api!(UpdateFeaturesRequest, Alter on Cluster, handlers::update_features::handle),
    api!(DescribeClusterRequest, Describe on Cluster, handlers::describe_cluster::handle),
    api!(DescribeProducersRequest, Read on Topic, handlers::describe_producers::handle),
    api!(DescribeTransactionsRequest, Describe on TransactionalId, handlers::describe_transactions::handle),
    api!(ListTransactionsRequest, Describe on TransactionalId, handlers::list_transactions::handle),
    api!(ListConfigResourcesRequest, DescribeConfigs on Cluster, handlers::list_config_resources::handle),
    api!(DescribeTopicPartitionsRequest, Describe on Topic, handlers::describe_topic_partitions::handle),
];

/// A request on its way to its handler.
pub(crate) struct Call {
    pub(crate) broker: Arc<BrokerState>,
    pub(crate) session: Session,
    pub(crate) header: RequestHeader,
    pub(crate) responder: Responder,
    body: Bytes,
    /// A large request's share of the memory for requests; free again once the handler has done with the call.
    _memory: Option<MemoryShare>,
}

impl Call {
    fn decode<M: Message>(&self) -> Result<M, DecodeError> {
        M::read(&mut Reader::for_request(&self.body), self.header.api_version)
    }

    /// The request's version.
    pub(crate) fn version(&self) -> i16 {
        self.header.api_version
    }

    /// Answers at once.
    pub(crate) fn answer<M: pillion_wire::ApiMessage>(self, response: &M) -> Flow {
        self.responder.answer(response);
        Flow::Done
    }
}

/// How a connection goes on after a handler returns.
pub(crate) enum Flow {
    /// With the next request: this one is answered, or someone holds its responder.
    Done,
    /// After this work, before the next request is read.
    Wait(Pin<Box<dyn Future<Output = ()> + Send>>),
    /// With the next request, minding this one's deadline.
    Parked(Arc<dyn Parked>),
}

/// A request that waits for something, at most until a deadline.
pub(crate) trait Parked: Send + Sync {
    /// When it must be answered with what there is.
    fn deadline(&self) -> Instant;
    /// Whether it has been answered.
    fn is_done(&self) -> bool;
    /// Answers it with what there is.
    fn expire(&self);
    /// Gives it up: its connection is gone.
    fn abandon(&self);
}

/// A frame that no handler gets; the connection is closed.
#[derive(Debug, Error)]
pub(crate) enum DispatchError {
    /// The header does not parse.
    #[error("request header: {0}")]
    Header(#[source] DecodeError),
    /// No such API here.
    #[error("API key {0} is not known")]
    UnknownApi(i16),
    /// Not a version of it.
    #[error("{api} version {version} is not served")]
    UnsupportedVersion {
        /// The API's name.
        api: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// The principal may not use the API at all.
    #[error("{principal} may not {operation:?} {resource:?}")]
    Denied {
        /// Who asked.
        principal: Principal,
        /// For what.
        operation: Operation,
        /// On what.
        resource: Resource,
    },
    /// The body does not parse.
    #[error("{api} version {version}: {source}")]
    Body {
        /// The API's name.
        api: &'static str,
        /// The version claimed.
        version: i16,
        /// What is wrong with it.
        #[source]
        source: DecodeError,
    },
}

/// What every request is asked before its handler sees it. Without authentication everyone may do everything; which
/// topics and groups a principal may touch will be asked by the handlers, who know their names.
fn is_allowed(principal: &Principal, _operation: Operation, _resource: Resource) -> bool {
    match principal {
        Principal::Anonymous => true,
    }
}

/// What a frame asks for, its body not yet read.
pub(crate) struct Parsed {
    /// Its header.
    pub(crate) header: RequestHeader,
    /// Its API, which need not be served in the version asked for.
    pub(crate) api: &'static Api,
    /// Its place in the table.
    pub(crate) place: usize,
    /// Where the body begins, in a version that is served.
    pub(crate) body: Option<Bytes>,
}

/// Reads a frame's header, and its tagged fields where the version is served.
///
/// # Errors
/// [`DispatchError::Header`], [`DispatchError::UnknownApi`].
pub(crate) fn parse(frame: &Bytes) -> Result<Parsed, DispatchError> {
    let mut reader = Reader::for_request(frame);
    let header = RequestHeader::decode(&mut reader).map_err(DispatchError::Header)?;
    let found = APIS.iter().enumerate().find(|(_, api)| api.key == header.api_key);
    let (place, api) = found.ok_or(DispatchError::UnknownApi(header.api_key))?;
    if !api.served.contains(&header.api_version) {
        return Ok(Parsed { header, api, place, body: None });
    }
    if header.api_version >= api.flexible_from {
        RequestHeader::skip_tagged_fields(&mut reader).map_err(DispatchError::Header)?;
    }
    let body = Some(frame.slice(reader.position()..));
    Ok(Parsed { header, api, place, body })
}

/// Parses a frame and calls its handler.
///
/// # Errors
/// [`DispatchError`]; the connection must be closed then.
pub(crate) fn dispatch(
    broker: &Arc<BrokerState>,
    session: &Session,
    queue: &Arc<crate::network::ResponseQueue>,
    frame: Frame,
) -> Result<Flow, DispatchError> {
    let Parsed { header, api, place, body } = parse(&frame.bytes)?;
    let version = header.api_version;
    let (principal, operation, resource) = (&session.principal, api.operation, api.resource);
    if !is_allowed(principal, operation, resource) {
        return Err(DispatchError::Denied { principal: principal.clone(), operation, resource });
    }
    let responder = || Responder::new(Arc::clone(queue), place, header.correlation_id, version);
    let Some(body) = body else {
        if api.key == API_VERSIONS_KEY {
            // A client newer than this broker is told in version 0 what it may ask (KIP-511).
            handlers::api_versions::answer_unsupported(responder());
            return Ok(Flow::Done);
        }
        return Err(DispatchError::UnsupportedVersion { api: api.name, version });
    };
    let responder = responder();
    let (broker, session) = (Arc::clone(broker), session.clone());
    let call = Call { broker, session, responder, header, body, _memory: frame.memory };
    (api.handle)(call).map_err(|source| DispatchError::Body { api: api.name, version, source })
}
