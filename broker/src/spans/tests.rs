//! Which batches get spans, whose they are, and what they tell.

use std::sync::mpsc;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use pillion_wire::records::{BatchBuilder, Compression, Record, RecordHeader};

use super::*;
use crate::disk::SimulatedDisk;
use crate::partition::tests::partition;

const SAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const SAME_TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01";
const OTHER_TRACE: &str = "00-22222222222222222222222222222222-3333333333333333-01";
const UNSAMPLED: &str = "00-44444444444444444444444444444444-5555555555555555-00";

fn batch_of(contexts: &[Option<&str>], compression: Compression) -> (BatchHeader, Bytes) {
    let mut builder = BatchBuilder::new(compression);
    for context in contexts {
        let header = |name: &str, value: &str| RecordHeader { key: name.into(), value: Some(value.to_owned().into()) };
        let mut headers = vec![header("id", "1")];
        headers.extend(context.map(|context| header("traceparent", context)));
        builder.push(&Record { value: Some(Bytes::from_static(b"{}")), headers, ..Record::default() });
    }
    let batch = builder.build(None).expect("builds");
    (BatchHeader::verify(&batch).expect("whole"), batch)
}

struct Recorder {
    spans: BrokerSpans,
    exporter: InMemorySpanExporter,
}

impl Recorder {
    fn new(settings: &[(&str, &str)]) -> Self {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let tracer = BoxedTracer::new(Box::new(provider.tracer("test")));
        Self { spans: BrokerSpans::with_tracer(&config(settings), Some(tracer)), exporter }
    }

    /// Appends a batch as a produce request does; the spans it gets, the outer one last.
    fn append(&self, durability: Durability, (header, batch): (BatchHeader, Bytes)) -> Vec<SpanData> {
        let partition = partition(&SimulatedDisk::new(), durability);
        let begun = self.spans.begin(&header, &batch);
        let appended = partition.append(&batch, header).expect("appends");
        let written = begun.map(|begun| begun.written(&partition, appended));
        let (tell, told) = mpsc::channel();
        let durable = move |result| {
            if let Some(written) = written {
                written.finish(result);
            }
            tell.send(()).expect("somebody waits");
        };
        partition.when_durable(appended.next_offset, Box::new(durable));
        told.recv().expect("it becomes durable");
        self.exporter.get_finished_spans().expect("spans")
    }
}

fn config(settings: &[(&str, &str)]) -> BrokerConfig {
    let mut config = BrokerConfig::new("", "");
    for (key, value) in settings {
        config.set(key, value).expect("a setting");
    }
    config
}

fn appended(mode: &str, contexts: &[Option<&str>]) -> Vec<SpanData> {
    let recorder = Recorder::new(&[("telemetry.broker.spans", mode)]);
    recorder.append(Durability::Sync, batch_of(contexts, Compression::None))
}

fn trace_id(traceparent: &str) -> &str {
    &traceparent[3..35]
}

#[test]
fn nothing_is_told_unless_asked_for() {
    let recorder = Recorder::new(&[]);
    assert!(recorder.append(Durability::Sync, batch_of(&[Some(SAMPLED)], Compression::None)).is_empty());
}

#[test]
fn a_sampled_record_alone_has_the_batchs_write_and_sync_in_its_trace() {
    let spans = appended("sampled", &[Some(SAMPLED)]);
    let [sync, append] = spans.as_slice() else { panic!("two spans, not {spans:?}") };
    assert_eq!((append.name.as_ref(), sync.name.as_ref()), ("append t", "fsync t"));
    assert_eq!(append.span_context.trace_id().to_string(), trace_id(SAMPLED));
    assert_eq!(append.parent_span_id.to_string(), "00f067aa0ba902b7");
    assert_eq!(append.links.links[0].span_context.span_id().to_string(), "00f067aa0ba902b7");
    assert_eq!(sync.parent_span_id, append.span_context.span_id());
    assert!(append.start_time <= sync.start_time && sync.end_time == append.end_time);
    let attribute = |name: &str| {
        let found = append.attributes.iter().find(|attribute| attribute.key.as_str() == name);
        found.map(|attribute| attribute.value.to_string()).unwrap_or_default()
    };
    assert_eq!(attribute("messaging.destination.name"), "t");
    assert_eq!(attribute("messaging.destination.partition.id"), "0");
    assert_eq!(attribute("messaging.kafka.offset"), "0");
    assert_eq!(attribute("messaging.batch.message_count"), "1");
}

#[test]
fn records_of_one_trace_share_it_and_those_of_several_are_linked() {
    let spans = appended("sampled", &[None, Some(SAMPLED), Some(UNSAMPLED), Some(SAME_TRACE)]);
    let append = spans.last().expect("a span");
    assert_eq!(append.span_context.trace_id().to_string(), trace_id(SAMPLED));
    assert_eq!(append.links.links.len(), 2);

    let spans = appended("sampled", &[Some(SAMPLED), Some(OTHER_TRACE)]);
    let append = spans.last().expect("a span");
    let linked: Vec<_> = append.links.iter().map(|link| link.span_context.trace_id().to_string()).collect();
    assert_eq!(linked, [trace_id(SAMPLED), trace_id(OTHER_TRACE)]);
    assert!(!linked.contains(&append.span_context.trace_id().to_string()), "it is a trace of its own");
}

#[test]
fn links_are_bounded() {
    let spans = appended("sampled", &[Some(SAMPLED); 300]);
    assert_eq!(spans.last().expect("a span").links.links.len(), 128);
}

#[test]
fn batches_without_a_sampled_record_or_that_cannot_be_looked_into_get_no_span() {
    assert!(appended("sampled", &[None, Some(UNSAMPLED), Some("no context")]).is_empty());
    let recorder = Recorder::new(&[("telemetry.broker.spans", "sampled")]);
    assert!(recorder.append(Durability::Sync, batch_of(&[Some(SAMPLED); 20], Compression::Gzip)).is_empty());
}

#[test]
fn a_slow_batch_is_told_whether_its_records_are_sampled_or_not_and_a_quick_one_is_not() {
    for (slow_ms, spans) in [("0", 2), ("3600000", 0)] {
        let settings = [("telemetry.broker.spans", "slow"), ("telemetry.broker.slow.ms", slow_ms)];
        for context in [None, Some(UNSAMPLED), Some(SAMPLED)] {
            let found = Recorder::new(&settings).append(Durability::Sync, batch_of(&[context], Compression::None));
            assert_eq!(found.len(), spans, "{slow_ms} ms, {context:?}");
        }
    }
}

#[test]
fn without_syncs_only_the_write_is_told() {
    let recorder = Recorder::new(&[("telemetry.broker.spans", "sampled"), ("log.durability", "async")]);
    let spans = recorder.append(Durability::Async, batch_of(&[Some(SAMPLED)], Compression::None));
    assert_eq!(spans.iter().map(|span| span.name.as_ref()).collect::<Vec<_>>(), ["append t"]);
}

#[test]
fn the_mode_changes_while_the_broker_runs() {
    let recorder = Recorder::new(&[]);
    recorder.spans.apply(&config(&[("telemetry.broker.spans", "sampled")]));
    assert_eq!(recorder.append(Durability::Sync, batch_of(&[Some(SAMPLED)], Compression::None)).len(), 2);
    recorder.spans.apply(&config(&[]));
    assert_eq!(recorder.append(Durability::Sync, batch_of(&[Some(SAMPLED)], Compression::None)).len(), 2);
}

#[test]
fn without_an_exporter_there_is_nothing_to_do() {
    let spans = BrokerSpans::with_tracer(&config(&[("telemetry.broker.spans", "sampled")]), None);
    let (header, batch) = batch_of(&[Some(SAMPLED)], Compression::None);
    assert!(spans.begin(&header, &batch).is_none());
}
