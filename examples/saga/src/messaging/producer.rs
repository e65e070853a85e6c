//! Publishing without an outbox, for a service without a database: what it publishes follows from what it consumed, so
//! that after a crash the same is published again, under the same id.

use std::time::Duration;

use anyhow::{Context as _, Result};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use serde::Serialize;
use tracing::info_span;
use uuid::Uuid;

use super::{EventKind, Parked};
use crate::traced::Traced as _;
use crate::{topics, trace_context};

/// How long a full send buffer is waited for.
const QUEUE_LIMIT: Duration = Duration::from_secs(5);

/// A Kafka producer. Cheap to clone.
#[derive(Clone)]
pub struct Producer {
    client: FutureProducer,
}

impl Producer {
    /// Connects lazily: a broker that is away is no error yet.
    ///
    /// # Errors
    /// When the client refuses its configuration.
    pub fn new(bootstrap_servers: &str, client_id: &str) -> Result<Producer> {
        let client = topics::client(bootstrap_servers)
            .set("client.id", client_id)
            // Neither lost nor repeated nor reordered by a retry.
            .set("enable.idempotence", "true")
            .set("delivery.timeout.ms", "10000")
            // As the connector and every Java client place keys; librdkafka's own way is another.
            .set("partitioner", "murmur2_random")
            // The default waits 5 ms for more.
            .set("linger.ms", "0")
            .create()?;
        Ok(Producer { client })
    }

    /// Publishes one event and waits until the broker has it durably. Its header `traceparent` is that of the span
    /// around it. Answers its partition and offset.
    ///
    /// # Errors
    /// When the broker does not take it within ten seconds; it may have it all the same.
    pub async fn publish(&self, id: Uuid, kind: EventKind, key: &str, payload: &impl Serialize) -> Result<(i32, i64)> {
        let payload = serde_json::to_vec(payload)?;
        let headers = [("id", id.to_string()), ("type", kind.name.to_owned())];
        self.send(&kind.topic(), key, &payload, &headers).await
    }

    /// Puts a record aside, in the topic `<group>.parked`.
    ///
    /// # Errors
    /// As [`Producer::publish`].
    pub async fn park(&self, group: &str, parked: &Parked) -> Result<()> {
        let Parked { topic, partition, offset, name, key, payload, reason, .. } = parked;
        let headers = [
            ("type", name.clone()),
            ("reason", reason.clone()),
            ("origin", format!("{topic}-{partition} at offset {offset}")),
        ];
        self.send(&format!("{group}.parked"), key, payload, &headers).await.map(drop)
    }

    async fn send(&self, topic: &str, key: &str, payload: &[u8], headers: &[(&str, String)]) -> Result<(i32, i64)> {
        let span = info_span!(
            "send",
            otel.name = format!("send {topic}"),
            otel.kind = "producer",
            messaging.system = "kafka",
            messaging.operation.name = "send",
            messaging.operation.type = "send",
            messaging.destination.name = topic,
            messaging.kafka.message.key = key,
        );
        let send = async {
            let fields = trace_context::current_fields();
            let all = headers.iter().map(|(name, value)| (*name, value)).chain(fields.iter().map(|(n, v)| (*n, v)));
            let headers = all.fold(OwnedHeaders::new(), |headers, (key, value)| {
                headers.insert(Header { key, value: Some(value.as_str()) })
            });
            let record = FutureRecord::to(topic).key(key).payload(payload).headers(headers);
            let sent = self.client.send(record, QUEUE_LIMIT).await;
            let sent = sent.map_err(|(error, _)| error).with_context(|| format!("cannot publish to {topic}"))?;
            anyhow::Ok((sent.partition, sent.offset))
        };
        send.traced(span).await
    }
}
