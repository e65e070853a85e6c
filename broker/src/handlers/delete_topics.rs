//! DeleteTopics (20), versions 1 to 6: deletes topics by name, from version 6 also by id.
//!
//! The broker's own topics are refused with INVALID_REQUEST: consumer groups would lose their offsets in use.

use pillion_wire::ErrorCode;
use pillion_wire::messages::delete_topics::{DeletableTopicResult, DeleteTopicState};
use pillion_wire::messages::{DeleteTopicsRequest, DeleteTopicsResponse};

use super::blocking;
use crate::broker::BrokerState;
use crate::dispatch::{Call, Flow};

/// Deletes the topics and answers once that is durable.
pub(crate) fn handle(call: Call, mut request: DeleteTopicsRequest) -> Flow {
    let named = request.topic_names.drain(..).map(|name| DeleteTopicState { name: Some(name), ..Default::default() });
    request.topics.extend(named);
    blocking(move || {
        let responses = request.topics.into_iter().map(|asked| delete(&call.broker, asked)).collect();
        call.answer(&DeleteTopicsResponse { throttle_time_ms: 0, responses });
    })
}

fn delete(broker: &BrokerState, asked: DeleteTopicState) -> DeletableTopicResult {
    let topics = broker.topics.snapshot();
    let found = match &asked.name {
        Some(name) => topics.by_name(name),
        None => topics.by_id(&asked.topic_id),
    };
    let (name, topic_id) = match found {
        Some(topic) => (Some(topic.name.to_string()), topic.id),
        None => (asked.name.clone(), asked.topic_id),
    };
    let error = match found {
        Some(topic) if topic.is_internal() => {
            Some((ErrorCode::InvalidRequest, "the broker needs this topic itself".to_owned()))
        }
        Some(topic) => broker.delete_topic(&topic.name).err().map(|error| {
            tracing::warn!(topic = %topic.name, %error, "cannot delete a topic");
            ((&error).into(), error.to_string())
        }),
        None if asked.name.is_none() => Some((ErrorCode::UnknownTopicId, "no topic has this id".to_owned())),
        None => Some((ErrorCode::UnknownTopicOrPartition, "topic does not exist".to_owned())),
    };
    let (code, message) = error.map_or((ErrorCode::None, None), |(code, message)| (code, Some(message)));
    DeletableTopicResult { name, topic_id, error_code: code.code(), error_message: message }
}
