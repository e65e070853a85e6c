//! A tracer and its way to the collector. The process has one by [`init`](super::init); tests make their own.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::TelemetryResourceDetector;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider, TracerProviderBuilder};
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use super::TelemetryError;
use super::export_thread::{ExportThread, SharedExport};
use super::layers;
use super::settings::{SamplerSetting, SpanLimits, TelemetrySettings};
use super::span_queue::{SpanCounts, SpanQueue};
use crate::conventions::{SCHEMA_URL, SERVICE_NAME};

/// Longest time a shutdown takes, the collector answering or not.
pub const SHUTDOWN_LIMIT: Duration = Duration::from_secs(1);

/// A tracer whose spans go to an OTLP collector, with their own thread. Ends itself when dropped.
#[derive(Debug)]
pub struct SpanPipeline {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    /// Makes spans that somebody has decided to record; `None` where the sampler says never.
    decided: Option<SdkTracer>,
    queue: Arc<SpanQueue>,
    endpoint: String,
}

impl SpanPipeline {
    /// Starts the export, or answers `None` where the settings want none. Connects when the first spans are sent.
    pub fn start(settings: &TelemetrySettings) -> Result<Option<Self>, TelemetryError> {
        let Some(export) = &settings.export else {
            return Ok(None);
        };
        let resource = resource(settings);
        let queue = Arc::new(SpanQueue::new(export.queue_size, export.batch_size));
        let thread = Arc::new(ExportThread::start(Arc::clone(&queue), export, &resource)?);
        let of = |sampler, processor| {
            let builder = SdkTracerProvider::builder().with_resource(resource.clone()).with_sampler(sampler);
            with_limits(builder, &settings.limits).with_span_processor(processor).build()
        };
        let value_characters = settings.limits.value_characters;
        let owner = SharedExport { thread: Arc::clone(&thread), is_owner: true, value_characters };
        let provider = of(sampler(settings.sampler), owner);
        let scope = InstrumentationScope::builder("pillion")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(SCHEMA_URL)
            .build();
        let tracer = provider.tracer_with_scope(scope.clone());
        let is_never = settings.sampler == SamplerSetting::AlwaysOff;
        let decided = (!is_never).then(|| {
            let guest = SharedExport { thread, is_owner: false, value_characters };
            of(Sampler::AlwaysOn, guest).tracer_with_scope(scope)
        });
        Ok(Some(Self { provider, tracer, decided, queue, endpoint: export.collector.endpoint.clone() }))
    }

    /// Starts spans without `tracing`, with the times the caller knows.
    pub fn tracer(&self) -> &SdkTracer {
        &self.tracer
    }

    /// Starts spans that are recorded whatever the sampler would say of them, for those who have decided already: by a
    /// sampled record in a batch, or by how long something took. `None` with the sampler `always_off`.
    pub fn decided_tracer(&self) -> Option<&SdkTracer> {
        self.decided.as_ref()
    }

    /// What makes tracers of other scopes.
    pub fn provider(&self) -> &SdkTracerProvider {
        &self.provider
    }

    /// A `tracing` layer that makes spans of level `INFO` and above, with their events, spans of this pipeline, but for
    /// those of the libraries the export itself uses.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        layers::spans(self.tracer.clone())
    }

    /// Where spans go.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Spans delivered and dropped so far.
    pub fn counts(&self) -> SpanCounts {
        self.queue.counts()
    }

    /// Waits until the spans ended so far are delivered or dropped; false if that took longer than a request may
    /// (`OTEL_EXPORTER_OTLP_TIMEOUT`) or the pipeline is shut down. Blocks the calling thread.
    pub fn flush(&self) -> bool {
        self.provider.force_flush().is_ok()
    }

    /// Sends what waits, for at most [`SHUTDOWN_LIMIT`], and ends the export thread. A second call does nothing.
    pub fn shutdown(&self) -> SpanCounts {
        // A failure means that the time ran out: what is left shows in the counts.
        let _ = self.provider.shutdown_with_timeout(SHUTDOWN_LIMIT);
        self.counts()
    }
}

impl Drop for SpanPipeline {
    fn drop(&mut self) {
        self.shutdown();
    }
}

pub(super) fn resource(settings: &TelemetrySettings) -> Resource {
    let attributes = settings.resource_attributes.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    Resource::builder_empty()
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_attributes(attributes)
        .with_attribute(KeyValue::new(SERVICE_NAME, settings.service_name.clone()))
        .build()
}

fn with_limits(builder: TracerProviderBuilder, limits: &SpanLimits) -> TracerProviderBuilder {
    builder
        .with_max_attributes_per_span(limits.attributes)
        .with_max_events_per_span(limits.events)
        .with_max_links_per_span(limits.links)
        .with_max_attributes_per_event(limits.event_attributes)
        .with_max_attributes_per_link(limits.link_attributes)
}

fn sampler(setting: SamplerSetting) -> Sampler {
    let parent_based = |root| Sampler::ParentBased(Box::new(root));
    match setting {
        SamplerSetting::AlwaysOn => Sampler::AlwaysOn,
        SamplerSetting::AlwaysOff => Sampler::AlwaysOff,
        SamplerSetting::TraceIdRatio(ratio) => Sampler::TraceIdRatioBased(ratio),
        SamplerSetting::ParentBasedAlwaysOn => parent_based(Sampler::AlwaysOn),
        SamplerSetting::ParentBasedAlwaysOff => parent_based(Sampler::AlwaysOff),
        SamplerSetting::ParentBasedTraceIdRatio(ratio) => parent_based(Sampler::TraceIdRatioBased(ratio)),
    }
}
