//! What both programs share: their command line, traces that go nowhere but into the rows, and the Kafka consumer.
//!
//! ```text
//! PROGRAM write POSTGRES ORDERS                  places orders; every fifth is rolled back
//! PROGRAM read POSTGRES BOOTSTRAP GROUP RECORDS  takes payment for each once; ends after so many records
//! ```
//!
//! Both print `event id <tab> traceparent`: of each event committed, and of each acted upon.

use anyhow::{Context as _, Result, bail};
use opentelemetry::trace::{TraceContextExt as _, TracerProvider as _};
use opentelemetry_sdk::trace::SdkTracerProvider;
use rdkafka::ClientConfig;
use rdkafka::consumer::{Consumer as _, StreamConsumer};
use rdkafka::message::{BorrowedMessage, Headers as _, Message as _};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use uuid::Uuid;

/// Where the events of orders arrive.
pub const TOPIC: &str = "outbox.event.order";

/// What a program is asked to do.
#[derive(Debug)]
pub enum Order {
    /// Place so many orders in the database.
    Write {
        /// The database's URL.
        postgres: String,
        /// Orders, those rolled back included.
        orders: i64,
    },
    /// Act upon the events of orders.
    Read {
        /// The database's URL.
        postgres: String,
        /// `host:port`
        bootstrap: String,
        /// The consumer group.
        group: String,
        /// Records after which to end.
        records: usize,
    },
}

/// Reads the command line, and lets every `tracing` span have a trace id.
///
/// # Errors
/// When the command line is another.
pub fn begin() -> Result<Order> {
    let tracer = SdkTracerProvider::builder().build().tracer("example");
    tracing_subscriber::registry().with(tracing_opentelemetry::layer().with_tracer(tracer)).init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", postgres, orders] => Ok(Order::Write { postgres: (*postgres).to_owned(), orders: orders.parse()? }),
        ["read", postgres, bootstrap, group, records] => Ok(Order::Read {
            postgres: (*postgres).to_owned(),
            bootstrap: (*bootstrap).to_owned(),
            group: (*group).to_owned(),
            records: records.parse()?,
        }),
        _ => bail!("usage: write POSTGRES ORDERS, or read POSTGRES BOOTSTRAP GROUP RECORDS"),
    }
}

// region: consumer
/// A consumer that leaves out what was not committed, begins with the first record, and commits offsets when told.
///
/// # Errors
/// When the client refuses its configuration.
pub fn consumer(bootstrap: &str, group: &str) -> Result<StreamConsumer> {
    let consumer: StreamConsumer = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("group.id", group)
        .set("isolation.level", "read_committed") // librdkafka's default; Java's is read_uncommitted
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", "false")
        .create()?;
    consumer.subscribe(&[TOPIC])?;
    Ok(consumer)
}
// endregion

/// A header's text.
///
/// # Errors
/// When there is none, or it is no text.
pub fn header<'a>(record: &'a BorrowedMessage<'_>, name: &str) -> Result<&'a str> {
    let mut headers = record.headers().into_iter().flat_map(|headers| headers.iter());
    let header = headers.find(|header| header.key == name).and_then(|header| header.value);
    Ok(std::str::from_utf8(header.with_context(|| format!("a record without the header {name}"))?)?)
}

/// The event's id, from the record's header `id`.
///
/// # Errors
/// When there is none.
pub fn event_id(record: &BorrowedMessage<'_>) -> Result<Uuid> {
    Ok(header(record, "id")?.parse()?)
}

/// The order's id, from the record's key.
///
/// # Errors
/// When it is no number.
pub fn order_id(record: &BorrowedMessage<'_>) -> Result<i64> {
    Ok(std::str::from_utf8(record.key().context("a record without a key")?)?.parse()?)
}

/// The `traceparent` of a span.
#[must_use]
pub fn traceparent(span: &tracing::Span) -> String {
    let context = span.context();
    let span = context.span();
    let span = span.span_context();
    format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags().to_u8())
}
