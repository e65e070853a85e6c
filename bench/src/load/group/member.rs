//! One member of a classic group, on a connection of its own: it joins, takes its share, heartbeats and leaves.
//!
//! As every consumer since KIP-394 it asks for an id first and joins with it. Whoever leads hands out equal shares of
//! one topic, whose partitions need not exist.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use pillion_wire::ErrorCode;
use pillion_wire::codec::{decode_versioned, encode_versioned};
use pillion_wire::messages::consumer_protocol::TopicPartition;
use pillion_wire::messages::join_group::{JoinGroupRequestProtocol, JoinGroupResponse};
use pillion_wire::messages::leave_group::MemberIdentity;
use pillion_wire::messages::sync_group::SyncGroupRequestAssignment;
use pillion_wire::messages::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest,
    SyncGroupRequest,
};

use super::shares::{Share, share_out};
use crate::connection::{ANSWER_WAIT_MAX, Connection, error_name};
use crate::coordinator::{self, Kind};

const JOIN_VERSION: i16 = 9;
const SYNC_VERSION: i16 = 5;
const HEARTBEAT_VERSION: i16 = 4;
const LEAVE_VERSION: i16 = 5;
/// The version of subscriptions: the last without racks.
const SUBSCRIPTION_VERSION: i16 = 2;
/// The version of assignments: all have the same fields.
const ASSIGNMENT_VERSION: i16 = 0;
/// The kind of group that consumers make.
const PROTOCOL_TYPE: &str = "consumer";
/// How long members may take to join again; less than any answer may take.
const REBALANCE_TIMEOUT: Duration = Duration::from_secs(30);

/// How a group hands partitions over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Assignor {
    /// Members let everything go before they join again.
    Eager,
    /// Members keep what they have; what shall move is let go, and one more generation gives it out (KIP-429).
    Cooperative,
}

impl Assignor {
    fn name(self) -> &'static str {
        match self {
            Self::Eager => "range",
            Self::Cooperative => "cooperative-sticky",
        }
    }
}

/// What all members of a group have in common.
#[derive(Debug, Clone)]
pub(crate) struct GroupShape {
    /// The group's name.
    pub(crate) name: String,
    /// The topic its members want.
    pub(crate) topic: String,
    /// Partitions shared out.
    pub(crate) partitions: i32,
    /// How.
    pub(crate) assignor: Assignor,
    /// How long a member may be silent.
    pub(crate) session_timeout: Duration,
}

impl GroupShape {
    /// A group with Kafka's default session timeout.
    pub(crate) fn new(name: &str, topic: &str, partitions: i32, assignor: Assignor) -> Self {
        let session_timeout = Duration::from_secs(45);
        Self { name: name.to_owned(), topic: topic.to_owned(), partitions, assignor, session_timeout }
    }
}

/// A member, or one that is going to be.
#[derive(Debug)]
pub(crate) struct Member {
    connection: Connection,
    group: GroupShape,
    id: String,
    generation: i32,
    share: Vec<i32>,
}

impl Member {
    /// Connects and greets.
    pub(crate) fn open(address: &str, group: GroupShape) -> Result<Self> {
        let mut connection = Connection::open(address)?;
        connection.greet()?;
        Ok(Self { connection, group, id: String::new(), generation: -1, share: Vec::new() })
    }

    /// Looks for the group's coordinator until there is one.
    pub(crate) fn find_coordinator(&mut self) -> Result<()> {
        coordinator::find(&mut self.connection, Kind::Group, &self.group.name)
    }

    /// Its connection.
    pub(crate) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Its id; empty before it has joined.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The generation it is in; −1 before it has joined.
    pub(crate) fn generation(&self) -> i32 {
        self.generation
    }

    /// The partitions it has.
    pub(crate) fn share(&self) -> &[i32] {
        &self.share
    }

    /// Joins, or joins again, until it has its share of a generation. Answers whether it had to let go of partitions
    /// that are still to be handed out, so that it must enter once more.
    pub(crate) fn enter(&mut self) -> Result<bool> {
        let deadline = Instant::now() + ANSWER_WAIT_MAX;
        if self.group.assignor == Assignor::Eager {
            self.share.clear();
        }
        while Instant::now() < deadline {
            let Some(joined) = self.join()? else { continue };
            let Some(share) = self.sync(&joined)? else { continue };
            let has_lost = self.share.iter().any(|partition| !share.contains(partition));
            self.share = share;
            return Ok(has_lost);
        }
        bail!("a member of {} found no generation to be in", self.group.name)
    }

    /// One JoinGroup; `None` when it is to be repeated.
    fn join(&mut self) -> Result<Option<JoinGroupResponse>> {
        let request = JoinGroupRequest {
            group_id: self.group.name.clone(),
            session_timeout_ms: milliseconds(self.group.session_timeout)?,
            rebalance_timeout_ms: milliseconds(REBALANCE_TIMEOUT)?,
            member_id: self.id.clone(),
            protocol_type: PROTOCOL_TYPE.to_owned(),
            protocols: vec![JoinGroupRequestProtocol {
                name: self.group.assignor.name().to_owned(),
                metadata: self.subscription()?,
            }],
            ..JoinGroupRequest::default()
        };
        let joined =
            coordinator::ask(&mut self.connection, &request, JOIN_VERSION, |response| Some(response.error_code))?
                .response;
        match ErrorCode::from_code(joined.error_code) {
            ErrorCode::None => {
                self.id.clone_from(&joined.member_id);
                self.generation = joined.generation_id;
                Ok(Some(joined))
            }
            ErrorCode::MemberIdRequired => {
                self.id = joined.member_id;
                Ok(None)
            }
            other => self.bear(other, joined.error_code).map(|()| None).context("JoinGroup"),
        }
    }

    /// SyncGroup, with everybody's share if this member leads; `None` when it is to join again.
    fn sync(&mut self, joined: &JoinGroupResponse) -> Result<Option<Vec<i32>>> {
        let is_leader = joined.leader == self.id && !joined.skip_assignment;
        let request = SyncGroupRequest {
            group_id: self.group.name.clone(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            protocol_type: joined.protocol_type.clone(),
            protocol_name: joined.protocol_name.clone(),
            assignments: if is_leader { self.assignments(joined)? } else { Vec::new() },
            ..SyncGroupRequest::default()
        };
        let synced =
            coordinator::ask(&mut self.connection, &request, SYNC_VERSION, |response| Some(response.error_code))?
                .response;
        match ErrorCode::from_code(synced.error_code) {
            ErrorCode::None => Ok(Some(self.read_share(&synced.assignment)?)),
            other => self.bear(other, synced.error_code).map(|()| None).context("SyncGroup"),
        }
    }

    /// Heartbeats. Answers whether all is well; otherwise the member must enter again.
    pub(crate) fn heartbeat(&mut self) -> Result<bool> {
        let request = HeartbeatRequest {
            group_id: self.group.name.clone(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            ..HeartbeatRequest::default()
        };
        let code = self.connection.ask(&request, HEARTBEAT_VERSION)?.error_code;
        match ErrorCode::from_code(code) {
            ErrorCode::None => Ok(true),
            other => self.bear(other, code).map(|()| false).context("Heartbeat"),
        }
    }

    /// Leaves.
    pub(crate) fn leave(mut self) -> Result<()> {
        let member = MemberIdentity { member_id: self.id.clone(), ..MemberIdentity::default() };
        let request = LeaveGroupRequest {
            group_id: self.group.name.clone(),
            members: vec![member],
            ..LeaveGroupRequest::default()
        };
        let response = self.connection.ask(&request, LEAVE_VERSION)?;
        let code = response.members.first().map_or(response.error_code, |member| member.error_code);
        ensure!(code == 0, "LeaveGroup: {}", error_name(code));
        Ok(())
    }

    /// Takes note of an error after which a member joins again; fails for any other.
    fn bear(&mut self, error: ErrorCode, code: i16) -> Result<()> {
        match error {
            ErrorCode::RebalanceInProgress => {}
            ErrorCode::IllegalGeneration => self.generation = -1,
            ErrorCode::UnknownMemberId => {
                self.id.clear();
                self.generation = -1;
                self.share.clear();
            }
            _ => bail!("{}", error_name(code)),
        }
        Ok(())
    }

    fn subscription(&self) -> Result<Bytes> {
        let subscription = ConsumerProtocolSubscription {
            topics: vec![self.group.topic.clone()],
            owned_partitions: self.of_topic(self.share.clone()),
            generation_id: self.generation,
            ..ConsumerProtocolSubscription::default()
        };
        Ok(encode_versioned(&subscription, SUBSCRIPTION_VERSION)?)
    }

    fn of_topic(&self, partitions: Vec<i32>) -> Vec<TopicPartition> {
        if partitions.is_empty() {
            return Vec::new();
        }
        vec![TopicPartition { topic: self.group.topic.clone(), partitions }]
    }

    fn assignments(&self, joined: &JoinGroupResponse) -> Result<Vec<SyncGroupRequestAssignment>> {
        let members = joined.members.iter().map(|member| {
            let (_, subscription): (_, ConsumerProtocolSubscription) = decode_versioned(&member.metadata)?;
            Ok((member.member_id.clone(), flat(subscription.owned_partitions)))
        });
        let members = members.collect::<Result<Vec<Share>>>()?;
        let withhold = self.group.assignor == Assignor::Cooperative;
        let shares = share_out(self.group.partitions, members, withhold).into_iter().map(|(member_id, share)| {
            let assigned_partitions = self.of_topic(share);
            let assignment = ConsumerProtocolAssignment { assigned_partitions, user_data: None };
            let assignment = encode_versioned(&assignment, ASSIGNMENT_VERSION)?;
            Ok(SyncGroupRequestAssignment { member_id, assignment })
        });
        shares.collect()
    }

    fn read_share(&self, assignment: &Bytes) -> Result<Vec<i32>> {
        ensure!(!assignment.is_empty(), "{} has no share for its member {}", self.group.name, self.id);
        let (_, assignment): (_, ConsumerProtocolAssignment) = decode_versioned(assignment)?;
        Ok(flat(assignment.assigned_partitions))
    }
}

fn flat(topics: Vec<TopicPartition>) -> Vec<i32> {
    topics.into_iter().flat_map(|topic| topic.partitions).collect()
}

fn milliseconds(time: Duration) -> Result<i32> {
    Ok(i32::try_from(time.as_millis())?)
}
