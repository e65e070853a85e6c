//! DescribeTopicPartitions (75), version 0: topics and their partitions in pages, by name (KIP-966).
//!
//! A page holds at least one partition and at most `max.request.partition.size.limit`'s default, whatever the client
//! asks for. A cursor must name a topic that was asked for; one that is gone by now is passed over.

use std::collections::BTreeSet;

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use pillion_wire::messages::{DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse};

use super::permitted_operations::ON_TOPIC;
use crate::broker::BrokerState;
use crate::catalogue::{Topic, TopicsSnapshot, check_topic_name};
use crate::dispatch::{Call, Flow};

/// Partitions of one page.
const PAGE_MAX: usize = 2_000;

/// Answers.
pub(crate) fn handle(call: Call, request: DescribeTopicPartitionsRequest) -> Flow {
    let broker = &call.broker;
    let topics = broker.topics.snapshot();
    let names = match names(&request, &topics) {
        Ok(names) => names,
        Err(code) => return call.answer(&refused(&request, code)),
    };
    let limit = usize::try_from(request.response_partition_limit).unwrap_or(0).clamp(1, PAGE_MAX);
    let mut page = Page { left: limit, topics: Vec::new(), next: None };
    let begin = request.cursor.as_ref();
    for name in names {
        let first = begin.filter(|cursor| cursor.topic_name == name).map_or(0, |cursor| cursor.partition_index);
        if !page.add(broker, &topics, name, first) {
            break;
        }
    }
    let Page { topics, next, .. } = page;
    call.answer(&DescribeTopicPartitionsResponse { throttle_time_ms: 0, topics, next_cursor: next })
}

/// The topics from the cursor on, by name, each once.
fn names<'a>(
    request: &'a DescribeTopicPartitionsRequest,
    topics: &'a TopicsSnapshot,
) -> Result<BTreeSet<&'a str>, ErrorCode> {
    let named = request.topics.iter().map(|topic| topic.name.as_str());
    let mut names: BTreeSet<_> =
        if request.topics.is_empty() { topics.all().map(|topic| &*topic.name).collect() } else { named.collect() };
    if let Some(cursor) = &request.cursor {
        let is_unasked = !request.topics.is_empty() && !names.contains(cursor.topic_name.as_str());
        if cursor.partition_index < 0 || is_unasked {
            return Err(ErrorCode::InvalidRequest);
        }
        names = names.split_off(cursor.topic_name.as_str());
    }
    Ok(names)
}

/// The answer to a request that makes no sense: every topic with the error.
fn refused(request: &DescribeTopicPartitionsRequest, code: ErrorCode) -> DescribeTopicPartitionsResponse {
    let topic = |name: &String| DescribeTopicPartitionsResponseTopic {
        error_code: code.code(),
        name: Some(name.clone()),
        ..DescribeTopicPartitionsResponseTopic::default()
    };
    let topics = request.topics.iter().map(|topic| &topic.name).map(topic).collect();
    DescribeTopicPartitionsResponse { topics, ..DescribeTopicPartitionsResponse::default() }
}

/// A page being filled.
struct Page {
    /// Partitions it still has room for.
    left: usize,
    topics: Vec<DescribeTopicPartitionsResponseTopic>,
    next: Option<Cursor>,
}

impl Page {
    /// Adds a topic from a partition on; false when the page ends before the topic does.
    fn add(&mut self, broker: &BrokerState, topics: &TopicsSnapshot, name: &str, first: i32) -> bool {
        let cursor = |partition_index| Some(Cursor { topic_name: name.to_owned(), partition_index });
        if self.left == 0 {
            self.next = cursor(0);
            return false;
        }
        let Some(topic) = topics.by_name(name) else {
            self.topics.push(missing(name));
            return true;
        };
        let shown = topic.partitions.iter().map(|held| held.index()).filter(|index| *index >= first);
        let shown: Vec<_> = shown.take(self.left).collect();
        self.left -= shown.len();
        let next = shown.last().map_or(first, |last| last + 1);
        self.topics.push(describe(broker, topic, &shown));
        if topic.partition(next).is_some() {
            self.next = cursor(next);
        }
        self.next.is_none()
    }
}

fn describe(broker: &BrokerState, topic: &Topic, indexes: &[i32]) -> DescribeTopicPartitionsResponseTopic {
    let node = broker.config.node_id;
    let partition = |index: &i32| DescribeTopicPartitionsResponsePartition {
        partition_index: *index,
        leader_id: node,
        leader_epoch: broker.leader_epoch(),
        replica_nodes: vec![node],
        isr_nodes: vec![node],
        eligible_leader_replicas: Some(Vec::new()),
        last_known_elr: Some(Vec::new()),
        ..DescribeTopicPartitionsResponsePartition::default()
    };
    DescribeTopicPartitionsResponseTopic {
        name: Some(topic.name.to_string()),
        topic_id: topic.id,
        is_internal: topic.is_internal(),
        partitions: indexes.iter().map(partition).collect(),
        topic_authorized_operations: ON_TOPIC,
        ..DescribeTopicPartitionsResponseTopic::default()
    }
}

fn missing(name: &str) -> DescribeTopicPartitionsResponseTopic {
    let is_valid = check_topic_name(name).is_ok();
    let code = if is_valid { ErrorCode::UnknownTopicOrPartition } else { ErrorCode::InvalidTopicException };
    DescribeTopicPartitionsResponseTopic {
        error_code: code.code(),
        name: Some(name.to_owned()),
        topic_authorized_operations: ON_TOPIC,
        ..DescribeTopicPartitionsResponseTopic::default()
    }
}
