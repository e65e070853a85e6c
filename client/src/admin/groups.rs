//! ListGroups, DescribeGroups, DeleteGroups, OffsetDelete, and OffsetFetch of all that a group has committed.
//!
//! Groups are listed by every broker, each its own; everything else is asked of the group's coordinator.

use pillion_wire::ErrorCode;
use pillion_wire::messages::delete_groups::DeletableGroupResult;
use pillion_wire::messages::describe_groups::{DescribedGroup, DescribedGroupMember};
use pillion_wire::messages::offset_delete::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use pillion_wire::messages::{
    DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest, OffsetDeleteRequest, OffsetDeleteResponse,
};

use super::{Admin, AdminError, GroupDescription, GroupListing, GroupMember, GroupOutcome, Route, refused};
use crate::committed::CommittedOffset;
use crate::coordinator::CoordinatorKind;
use crate::group::{self, GroupError, TopicPartition};

impl Admin {
    /// All groups of the cluster, in the order of their names.
    ///
    /// # Errors
    /// [`AdminError::Refused`] when a broker does not list its groups; [`AdminError::Client`] when one did not answer:
    /// its groups would be missing.
    pub async fn list_groups(&self) -> Result<Vec<GroupListing>, AdminError> {
        let brokers: Vec<i32> = self.client.metadata.cluster().brokers.keys().copied().collect();
        let mut groups = Vec::new();
        for broker in brokers {
            let request = ListGroupsRequest::default();
            let code = |code: i16| ErrorCode::from_code(code);
            let response = self.ask(Route::Broker(broker), &request, |response| code(response.error_code)).await?;
            refused("ListGroups", &format!("broker {broker}"), response.error_code, None)?;
            groups.extend(response.groups.into_iter().map(|listed| GroupListing {
                group_id: listed.group_id,
                protocol_type: listed.protocol_type,
                state: listed.group_state,
                kind: listed.group_type,
                coordinator: broker,
            }));
        }
        groups.sort_unstable_by(|one, other| one.group_id.cmp(&other.group_id));
        // A group that moved while brokers were asked is listed by both.
        groups.dedup_by(|one, other| one.group_id == other.group_id);
        Ok(groups)
    }

    /// A group's state and members. One that nobody knows is described as dead, as brokers before Kafka 4 do.
    ///
    /// # Errors
    /// [`AdminError::Refused`]: GROUP_ID_NOT_FOUND for a group that is not there or uses the newer protocol (KIP-848);
    /// [`AdminError::Client`] when the coordinator did not answer.
    pub async fn describe_group(&self, group_id: &str) -> Result<GroupDescription, AdminError> {
        const API: &str = "DescribeGroups";
        let request = DescribeGroupsRequest { groups: vec![group_id.to_owned()], ..DescribeGroupsRequest::default() };
        let first = |groups: &[DescribedGroup]| groups.first().map_or(0, |group| group.error_code);
        let response = self.ask_coordinator(group_id, |_| request.clone(), |answer| first(&answer.groups)).await?;
        let coordinator = self.client.coordinators.find(&self.client, CoordinatorKind::Group, group_id).await?.id;
        let described = response.groups.into_iter().next();
        let described = described.ok_or(AdminError::NotAnswered { api: API, resource: group_id.to_owned() })?;
        refused(API, group_id, described.error_code, described.error_message)?;
        Ok(GroupDescription {
            group_id: described.group_id,
            state: described.group_state,
            protocol_type: described.protocol_type,
            protocol: described.protocol_data,
            coordinator,
            members: described.members.into_iter().map(member).collect(),
        })
    }

    /// All that a group has committed, in the order of topics and partitions. What an open transaction may replace is
    /// shown as it was before.
    ///
    /// # Errors
    /// [`AdminError::Refused`], [`AdminError::Client`] when the coordinator did not answer.
    pub async fn group_offsets(&self, group_id: &str) -> Result<Vec<CommittedOffset>, AdminError> {
        let wait = self.client.config.request_timeout;
        let found = group::committed_all(&self.client, group_id, wait).await;
        let mut offsets = found.map_err(|error| of_group(error, group_id))?;
        offsets.sort_unstable_by(|one, other| (&one.topic, one.partition).cmp(&(&other.topic, other.partition)));
        Ok(offsets)
    }

    /// Deletes groups without members, with all they have committed. The outcomes come in the order of `groups`.
    ///
    /// # Errors
    /// [`AdminError::Client`] when a coordinator did not answer; what is wrong with a single group, such as
    /// NON_EMPTY_GROUP, stands in its outcome.
    pub async fn delete_groups(&self, groups: Vec<String>) -> Result<Vec<GroupOutcome>, AdminError> {
        const API: &str = "DeleteGroups";
        let mut outcomes = Vec::with_capacity(groups.len());
        for group_id in groups {
            let request = DeleteGroupsRequest { groups_names: vec![group_id.clone()] };
            let first = |results: &[DeletableGroupResult]| results.first().map_or(0, |result| result.error_code);
            let response =
                self.ask_coordinator(&group_id, |_| request.clone(), |answer| first(&answer.results)).await?;
            let result = match response.results.into_iter().next() {
                Some(result) => refused(API, &group_id, result.error_code, result.error_message),
                None => Err(AdminError::NotAnswered { api: API, resource: group_id.clone() }),
            };
            outcomes.push(GroupOutcome { group_id, result });
        }
        Ok(outcomes)
    }

    /// Deletes what a group has committed of some partitions; it must not be reading their topics.
    ///
    /// # Errors
    /// [`AdminError::Refused`] for the first that is not deleted, as GROUP_SUBSCRIBED_TO_TOPIC; the others are.
    /// [`AdminError::Client`] when the coordinator did not answer.
    pub async fn delete_group_offsets(&self, group_id: &str, partitions: &[TopicPartition]) -> Result<(), AdminError> {
        const API: &str = "OffsetDelete";
        let mut topics: Vec<OffsetDeleteRequestTopic> = Vec::new();
        for TopicPartition { topic, partition } in partitions {
            let entry = OffsetDeleteRequestPartition { partition_index: *partition };
            match topics.iter_mut().find(|known| known.name == *topic) {
                Some(known) => known.partitions.push(entry),
                None => topics.push(OffsetDeleteRequestTopic { name: topic.clone(), partitions: vec![entry] }),
            }
        }
        let request = OffsetDeleteRequest { group_id: group_id.to_owned(), topics };
        let response: OffsetDeleteResponse = self
            .ask_coordinator(group_id, |_| request.clone(), |answer: &OffsetDeleteResponse| answer.error_code)
            .await?;
        refused(API, group_id, response.error_code, None)?;
        for topic in response.topics {
            for answer in topic.partitions {
                let name = format!("{}-{} in {group_id}", topic.name, answer.partition_index);
                refused(API, &name, answer.error_code, None)?;
            }
        }
        Ok(())
    }

    /// Asks a group's coordinator, trying again while it is elected or loading; other errors are the caller's to read.
    async fn ask_coordinator<R: pillion_wire::Request>(
        &self,
        group_id: &str,
        build: impl Fn(i16) -> R,
        code: impl Fn(&R::Response) -> i16,
    ) -> Result<R::Response, AdminError> {
        let passing = |response: &R::Response| {
            let code = ErrorCode::from_code(code(response));
            let passes = matches!(
                code,
                ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable | ErrorCode::CoordinatorLoadInProgress
            );
            passes.then_some(code)
        };
        let asked = group::ask(&self.client, group_id, build, passing, self.client.config.request_timeout).await;
        match asked.map_err(|error| of_group(error, group_id))? {
            Ok(response) => Ok(response),
            Err(code) => Err(refusal(R::API, group_id, code)),
        }
    }
}

fn member(described: DescribedGroupMember) -> GroupMember {
    // What another kind of group puts there is none of the consumers' protocol.
    let assigned = group::decode_assignment(&described.member_assignment).unwrap_or_default();
    GroupMember {
        member_id: described.member_id,
        instance_id: described.group_instance_id,
        client_id: described.client_id,
        client_host: described.client_host,
        assigned: assigned.into_iter().collect(),
    }
}

fn refusal(api: &'static str, group_id: &str, code: ErrorCode) -> AdminError {
    AdminError::Refused { api, resource: format!("group {group_id}"), code, message: None }
}

fn of_group(error: GroupError, group_id: &str) -> AdminError {
    match error {
        GroupError::Client(error) => AdminError::Client(error),
        GroupError::Refused { api, code } => refusal(api, group_id, code),
        other => refusal("OffsetFetch", group_id, other.error_code().unwrap_or(ErrorCode::UnknownServerError)),
    }
}
