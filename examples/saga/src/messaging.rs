//! Events reach a service as records of Kafka topics: each is acted upon in one database transaction, in order, and
//! only then is its offset committed.
//!
//! Invariant: a record's offset is committed only after its effect is durable, or when it is none of this service's
//! business. Delivery is at least once; the inbox makes the effect happen once.

use std::time::Duration;

use anyhow::{Context as _, Result};
use deadpool_postgres::Transaction;
use opentelemetry::trace::TraceContextExt as _;
use rdkafka::consumer::{CommitMode, Consumer as _, StreamConsumer};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::message::{BorrowedMessage, Headers as _, Message};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span, error, info, info_span, warn};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use uuid::Uuid;

use crate::database::{Database, begin, commit};
use crate::events::{Event, EventType};
use crate::{inbox, topics, trace_context};

/// The pauses between attempts at a record while the database is away: doubling from the first to the second.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// What a service listens to.
#[derive(Debug, Clone, Copy)]
pub struct Subscription<'a> {
    /// `host:port[,host:port…]`
    pub bootstrap_servers: &'a str,
    /// The consumer group: instances of one service share it, and so the partitions.
    pub group: &'a str,
    /// The events it reacts to; others on the same topics are passed over.
    pub events: &'a [EventType],
}

/// Calls `react` for each event, once for each, in the order of its partition, until `stop`. `react` runs inside the
/// transaction that notes the event in the inbox; an error undoes both and the record is tried again.
///
/// # Errors
/// When the client refuses its configuration. An unreachable broker or database is waited for.
pub async fn consume(
    subscription: Subscription<'_>,
    database: &Database,
    stop: CancellationToken,
    react: impl AsyncFn(&Transaction<'_>, &Event) -> Result<()>,
) -> Result<()> {
    let Some(consumer) = stop.run_until_cancelled(subscribe(subscription)).await.transpose()? else {
        return Ok(());
    };
    let mut complaints: Vec<Option<RDKafkaErrorCode>> = Vec::new();
    while let Some(received) = stop.run_until_cancelled(consumer.recv()).await {
        let record = match received {
            Ok(record) => record,
            // The client recovers by itself from a broker that is away or a topic that does not exist yet, and
            // reports it again and again.
            Err(error) => {
                if !complaints.contains(&error.rdkafka_error_code()) {
                    warn!("kafka: {error}");
                    complaints.push(error.rdkafka_error_code());
                }
                continue;
            }
        };
        complaints.clear();
        match read(&record, subscription.events) {
            Ok(Some(event)) => {
                let process = until_processed(subscription.group, &record, &event, database, &react);
                if stop.run_until_cancelled(process).await.is_none() {
                    return Ok(());
                }
            }
            Ok(None) => (),
            // No later attempt can read it, so it must not hold up the partition. It stays in the topic.
            Err(error) => error!("passing over {}: {error:#}", position(&record)),
        }
        if let Err(error) = consumer.commit_message(&record, CommitMode::Async) {
            warn!("offset of {} is not committed, it will be delivered again: {error}", position(&record));
        }
    }
    Ok(())
}

async fn subscribe(subscription: Subscription<'_>) -> Result<StreamConsumer> {
    let mut topics: Vec<String> = subscription.events.iter().map(|event_type| event_type.topic()).collect();
    topics.sort();
    topics.dedup();
    // Before subscribing: a consumer notices a topic that appears later only at its next metadata refresh.
    topics::create(subscription.bootstrap_servers, &topics).await?;
    let consumer: StreamConsumer = topics::client(subscription.bootstrap_servers)
        .set("group.id", subscription.group)
        .set("client.id", subscription.group)
        .set("enable.auto.commit", "false")
        .set("isolation.level", "read_committed")
        .set("auto.offset.reset", "earliest")
        // A killed instance's partitions go to another one after this time; the default is 45 s.
        .set("session.timeout.ms", "10000")
        // A partition that joins a running fetch waits for it to end, and one that failed waits for the backoff.
        .set("fetch.wait.max.ms", "100")
        .set("fetch.error.backoff.ms", "100")
        .create()?;
    consumer.subscribe(&topics.iter().map(String::as_str).collect::<Vec<_>>())?;
    Ok(consumer)
}

/// Every attempt has its own span, so that a trace shows the ones that failed. The record is kept until one succeeds:
/// passing over it would lose the event, putting it aside would reorder the events of its order.
async fn until_processed(
    group: &str,
    record: &BorrowedMessage<'_>,
    event: &Event,
    database: &Database,
    react: &impl AsyncFn(&Transaction<'_>, &Event) -> Result<()>,
) {
    let (mut pause, longest_pause) = RETRY_PAUSES;
    let attempt = async || -> Result<()> {
        let outcome = process(event, database, react).await;
        outcome.inspect_err(|error| error!(error = %format_args!("{error:#}")))
    };
    while attempt().instrument(process_span(group, record, event)).await.is_err() {
        tokio::time::sleep(pause).await;
        pause = longest_pause.min(pause * 2);
    }
}

async fn process(
    event: &Event,
    database: &Database,
    react: &impl AsyncFn(&Transaction<'_>, &Event) -> Result<()>,
) -> Result<()> {
    let mut connection = database.connection().await?;
    let transaction = begin(&mut connection).await?;
    if !inbox::is_first_delivery(&transaction, event.id).await? {
        info!("event {} has been processed before", event.id);
        return Ok(());
    }
    react(&transaction, event).await?;
    commit(transaction).await?;
    info!("{} of order {} processed", event.event_type.name(), event.order.order_id);
    Ok(())
}

/// The consumer span: a child of the span that created the event, and linked to it.
fn process_span(group: &str, record: &impl Message, event: &Event) -> Span {
    let span = info_span!(
        "process",
        otel.name = format!("process {}", record.topic()),
        otel.kind = "consumer",
        messaging.system = "kafka",
        messaging.operation.name = "process",
        messaging.operation.type = "process",
        messaging.destination.name = record.topic(),
        messaging.destination.partition.id = record.partition().to_string(),
        messaging.kafka.offset = record.offset(),
        messaging.consumer.group.name = group,
        messaging.message.id = %event.id,
        messaging.kafka.message.key = %event.order.order_id,
        event.type = event.event_type.name(),
    );
    let creation = trace_context::remote(text_headers(record));
    span.add_link(creation.span().span_context().clone());
    // Refused only for a span that is filtered out, which then needs no parent either.
    let _ = span.set_parent(creation);
    span
}

/// The event in a record; `None` for one this service does not react to.
fn read(record: &impl Message, wanted: &[EventType]) -> Result<Option<Event>> {
    let header = |name: &str| text_headers(record).filter(|(key, _)| *key == name).last().map(|(_, value)| value);
    let name = header("type").context("it has no header `type`: let the connector place the column there")?;
    let Some(event_type) = EventType::named(name).filter(|event_type| wanted.contains(event_type)) else {
        return Ok(None);
    };
    let id =
        Uuid::parse_str(header("id").context("it has no header `id`")?).context("its header `id` is not a UUID")?;
    let order = serde_json::from_slice(record.payload().unwrap_or_default()).context("its value is not an order")?;
    Ok(Some(Event { id, event_type, order }))
}

fn text_headers(record: &impl Message) -> impl Iterator<Item = (&str, &str)> {
    let headers = record.headers().into_iter().flat_map(|headers| headers.iter());
    headers.filter_map(|header| Some((header.key, std::str::from_utf8(header.value?).ok()?)))
}

fn position(record: &impl Message) -> String {
    format!("{}-{} at offset {}", record.topic(), record.partition(), record.offset())
}

#[cfg(test)]
mod tests;
