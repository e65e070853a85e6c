//! DeleteTopics (20), versions 1 to 6: deletes topics by name, from version 6 also by id.
//!
//! The broker's own topics are refused with INVALID_REQUEST: consumer groups would lose their offsets in use. So is,
//! once, what is named twice, be it by its name and its id.

use std::collections::HashSet;
use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::delete_topics::{DeletableTopicResult, DeleteTopicState};
use pillion_wire::messages::{DeleteTopicsRequest, DeleteTopicsResponse};
use uuid::Uuid;

use super::blocking;
use super::config_resources::{Refusal, coded, once, times_named};
use crate::broker::BrokerState;
use crate::catalogue::{Topic, TopicsSnapshot};
use crate::dispatch::{Call, Flow};
use crate::error_codes::in_words;

/// Deletes the topics and answers once that is durable.
pub(crate) fn handle(call: Call, mut request: DeleteTopicsRequest) -> Flow {
    let named = request.topic_names.drain(..).map(|name| DeleteTopicState { name: Some(name), ..Default::default() });
    request.topics.extend(named);
    blocking(move || {
        let responses = delete_all(&call.broker, &request.topics);
        call.answer(&DeleteTopicsResponse { throttle_time_ms: 0, responses });
    })
}

/// A topic as it was asked for, or, where there is one, as it is.
type Key = (Option<String>, Uuid);

fn delete_all(broker: &BrokerState, asked: &[DeleteTopicState]) -> Vec<DeletableTopicResult> {
    let topics = broker.topics.snapshot();
    let found: Vec<_> = asked.iter().map(|asked| find(&topics, asked)).collect();
    let key = |(asked, found): (&DeleteTopicState, &Result<Arc<Topic>, Refusal>)| match found {
        Ok(topic) => (Some(topic.name.to_string()), topic.id),
        Err(_) => (asked.name.clone(), asked.topic_id),
    };
    let keys: Vec<Key> = asked.iter().zip(&found).map(key).collect();
    let named = times_named(keys.iter().cloned());
    let mut seen = HashSet::new();
    let each = keys.into_iter().zip(found).filter(|(key, _)| seen.insert(key.clone()));
    let result = |(key, found): (Key, Result<Arc<Topic>, Refusal>)| {
        let outcome = once(&named, &key).and_then(|()| delete(broker, &*found?));
        let (error_code, error_message) = coded(outcome);
        let (name, topic_id) = key;
        DeletableTopicResult { name, topic_id, error_code, error_message }
    };
    each.map(result).collect()
}

fn find(topics: &TopicsSnapshot, asked: &DeleteTopicState) -> Result<Arc<Topic>, Refusal> {
    let found = match (&asked.name, asked.topic_id.is_nil()) {
        (Some(name), true) => topics.by_name(name).ok_or(ErrorCode::UnknownTopicOrPartition),
        (None, false) => topics.by_id(&asked.topic_id).ok_or(ErrorCode::UnknownTopicId),
        _ => return Err((ErrorCode::InvalidRequest, "a topic is named by its name or by its id".to_owned())),
    };
    found.cloned().map_err(|code| (code, "topic does not exist".to_owned()))
}

fn delete(broker: &BrokerState, topic: &Topic) -> Result<(), Refusal> {
    if topic.is_internal() {
        return Err((ErrorCode::InvalidRequest, "the broker needs this topic itself".to_owned()));
    }
    broker.delete_topic(&topic.name).map_err(|error| {
        tracing::warn!(topic = %topic.name, error = in_words(&error), "cannot delete a topic");
        ((&error).into(), in_words(&error))
    })
}
