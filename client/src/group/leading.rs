//! The leader's part: reads what the members sent, looks their topics up, and shares the partitions out.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pillion_wire::messages::JoinGroupResponse;
use pillion_wire::messages::sync_group::SyncGroupRequestAssignment;

use super::assignor::{Assignor, Member};
use super::protocol::{decode_member, encode_assignment};
use crate::client::ClientShared;
use crate::connection::ConnectionError;
use crate::error::ClientError;

const ALL: [Assignor; 4] = [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky, Assignor::CooperativeSticky];

/// What a leader brings to its sync.
pub(super) struct Led {
    /// Every member's share; none when the group keeps the assignment it has (KIP-814).
    pub(super) assignments: Vec<SyncGroupRequestAssignment>,
    /// Partitions of every topic the group reads; 0 of one that is not there.
    pub(super) counts: BTreeMap<String, i32>,
}

/// Shares the partitions out that the members of a generation want.
pub(super) async fn assign(
    client: &ClientShared,
    joined: &JoinGroupResponse,
    wait: Duration,
) -> Result<Led, ClientError> {
    let chosen = joined.protocol_name.as_deref().unwrap_or_default();
    let Some(assignor) = ALL.into_iter().find(|assignor| assignor.name() == chosen) else {
        // The coordinator chooses among what every member named, this one included.
        return Err(ConnectionError::NotAnswered { what: "JoinGroup" }.into());
    };
    let members: Vec<Member> = joined.members.iter().map(|member| read(assignor, member)).collect();
    let topics: BTreeSet<String> = members.iter().flat_map(|member| member.topics.iter().cloned()).collect();
    let counts = look_up(client, &topics, wait).await?;
    if joined.skip_assignment {
        return Ok(Led { assignments: Vec::new(), counts });
    }
    let shares = assignor.assign(&members, &counts);
    let encode = |(member, share): (&Member, _)| {
        let assignment = encode_assignment(&share);
        let assignment = assignment.map_err(|source| ConnectionError::Encode { what: "SyncGroup", source })?;
        Ok(SyncGroupRequestAssignment { member_id: member.id.clone(), assignment })
    };
    let assignments = members.iter().zip(shares).map(encode).collect::<Result<_, ClientError>>()?;
    Ok(Led { assignments, counts })
}

/// Partitions of topics as far as they are known now; 0 of one that is not there.
pub(super) fn counts<'a>(client: &ClientShared, topics: impl Iterator<Item = &'a String>) -> BTreeMap<String, i32> {
    let cluster = client.metadata.cluster();
    let count = |topic: &String| {
        let found = cluster.topic(topic).filter(|found| found.error.is_ok());
        found.map_or(0, |found| i32::try_from(found.partitions.len()).unwrap_or(i32::MAX))
    };
    topics.map(|topic| (topic.clone(), count(topic))).collect()
}

/// As [`counts`]; topics that are not known are asked for once before.
async fn look_up(
    client: &ClientShared,
    topics: &BTreeSet<String>,
    wait: Duration,
) -> Result<BTreeMap<String, i32>, ClientError> {
    topics.iter().for_each(|topic| client.metadata.track(topic, false));
    let known = counts(client, topics.iter());
    if known.values().all(|count| *count > 0) {
        return Ok(known);
    }
    let asked = tokio::time::timeout(wait, client.metadata.served(client.metadata.request())).await;
    if let Ok(asked) = asked {
        asked?;
    }
    Ok(counts(client, topics.iter()))
}

/// A member whose subscription cannot be read gets nothing, rather than that nobody gets anything.
fn read(assignor: Assignor, member: &pillion_wire::messages::join_group::JoinGroupResponseMember) -> Member {
    let name = (member.member_id.as_str(), member.group_instance_id.as_deref());
    decode_member(assignor, name, &member.metadata).unwrap_or_else(|error| {
        tracing::warn!(member = name.0, error = &error as &dyn std::error::Error, "subscription cannot be read");
        Member { id: member.member_id.clone(), instance_id: member.group_instance_id.clone(), ..Member::default() }
    })
}
