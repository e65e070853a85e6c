//! The broker's own spans, as a collector gets them.

use std::time::Duration;

use anyhow::{Context, Result};
use pillion_tests::otlp::OtlpReceiver;
use pillion_tests::program::{self, Program};
use pillion_tests::waiting::wait_for;
use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};

const TRACE_ID: [u8; 16] = *b"\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";

#[tokio::test(flavor = "multi_thread")]
async fn a_sampled_record_brings_the_brokers_write_and_sync_into_its_trace() -> Result<()> {
    let receiver = OtlpReceiver::start().await?;
    let data = tempfile::tempdir()?;
    let mut command = program::command("pillion")?;
    command.arg("broker").arg("--data-dir").arg(data.path()).args(["--listen", "127.0.0.1:0"]);
    command.args(["--set", "telemetry.broker.spans=sampled"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint()).env("OTEL_BSP_SCHEDULE_DELAY", "100");
    // The record's sender has decided: the ratio of roots says nothing about its trace.
    command.env("OTEL_TRACES_SAMPLER", "parentbased_traceidratio").env("OTEL_TRACES_SAMPLER_ARG", "0");
    let broker = Program::start("pillion broker", command).await?;
    let producer: FutureProducer = ClientConfig::new().set("bootstrap.servers", broker.first_line()).create()?;
    for flags in ["00", "01"] {
        let traceparent = format!("{PARENT}-{flags}");
        let headers = OwnedHeaders::new().insert(Header { key: "traceparent", value: Some(&traceparent) });
        let record = FutureRecord::to("orders").key("1").payload("{}").headers(headers);
        producer.send(record, Duration::from_secs(30)).await.map_err(|(error, _)| error)?;
    }
    let spans = wait_for("the broker's spans", || async {
        let spans = receiver.trace(&TRACE_ID);
        Ok((spans.len() >= 2).then_some(spans))
    })
    .await?;
    let find = |name: &str| spans.iter().find(|span| span.span.name == name).with_context(|| format!("span {name}"));
    let (append, sync) = (find("append orders")?, find("fsync orders")?);
    assert_eq!(spans.len(), 2, "the unsampled record has none");
    assert_eq!(append.span.parent_span_id, b"\x00\xf0\x67\xaa\x0b\xa9\x02\xb7");
    assert_eq!(append.attribute("messaging.kafka.offset").as_deref(), Some("1"));
    assert_eq!(sync.span.parent_span_id, append.span.span_id);
    Ok(())
}
