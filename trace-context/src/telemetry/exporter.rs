//! What carries spans to the collector: OTLP by gRPC, or by HTTP with protobuf.

use std::path::PathBuf;

use opentelemetry_otlp::{Compression, WithExportConfig, WithTonicConfig};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tonic::metadata::{AsciiMetadataKey, MetadataMap};
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use super::TelemetryError;
use super::otlp_http::OtlpHttp;
use super::settings::{CollectorSettings, Protocol, TlsSettings};

/// One way to the collector. Connects when it first has something to send.
#[derive(Debug)]
pub(super) enum SpanExporter {
    Grpc(opentelemetry_otlp::SpanExporter),
    Http { collector: OtlpHttp, resource: Box<ResourceAttributesWithSchema> },
}

impl SpanExporter {
    /// Builds it; to be called, and used, inside of a tokio runtime.
    pub(super) fn build(settings: &CollectorSettings, resource: &Resource) -> Result<Self, TelemetryError> {
        match settings.protocol {
            Protocol::Grpc => {
                let mut exporter = grpc(settings)?;
                exporter.set_resource(resource);
                Ok(Self::Grpc(exporter))
            }
            Protocol::HttpProtobuf => {
                Ok(Self::Http { collector: OtlpHttp::new(settings)?, resource: Box::new(resource.into()) })
            }
        }
    }

    /// Sends a batch.
    ///
    /// # Errors
    /// Why the collector does not have it, for a person.
    pub(super) async fn export(&self, batch: Vec<SpanData>) -> Result<(), String> {
        match self {
            Self::Grpc(exporter) => exporter.export(batch).await.map_err(|error| error.to_string()),
            Self::Http { collector, resource } => {
                let resource_spans = group_spans_by_resource_and_scope(batch, resource);
                collector.send(&ExportTraceServiceRequest { resource_spans }).await
            }
        }
    }
}

fn grpc(settings: &CollectorSettings) -> Result<opentelemetry_otlp::SpanExporter, TelemetryError> {
    let builder = over_grpc(opentelemetry_otlp::SpanExporter::builder().with_tonic(), settings)?;
    builder.build().map_err(|source| TelemetryError::Exporter { endpoint: settings.endpoint.clone(), source })
}

/// An exporter's builder, of spans or of metrics, with where and how to reach the collector by gRPC.
pub(super) fn over_grpc<B: WithExportConfig + WithTonicConfig>(
    builder: B,
    settings: &CollectorSettings,
) -> Result<B, TelemetryError> {
    let mut builder =
        builder.with_endpoint(&settings.endpoint).with_timeout(settings.timeout).with_metadata(metadata(settings));
    if settings.gzip {
        builder = builder.with_compression(Compression::Gzip);
    }
    if let Some(tls) = &settings.tls {
        builder = builder.with_tls_config(tls_config(tls)?);
    }
    Ok(builder)
}

/// The headers of gRPC's requests.
fn metadata(settings: &CollectorSettings) -> MetadataMap {
    let mut metadata = MetadataMap::new();
    for (name, value) in &settings.headers {
        // The settings hold only pairs that can be sent.
        if let (Ok(name), Ok(value)) = (AsciiMetadataKey::from_bytes(name.as_bytes()), value.parse()) {
            metadata.insert(name, value);
        }
    }
    metadata
}

/// TLS of gRPC's connection.
fn tls_config(settings: &TlsSettings) -> Result<ClientTlsConfig, TelemetryError> {
    let read = |path: &PathBuf| {
        std::fs::read(path).map_err(|source| TelemetryError::Certificate { path: path.clone(), source })
    };
    let mut config = ClientTlsConfig::new();
    config = match &settings.certificate {
        Some(path) => config.ca_certificate(Certificate::from_pem(read(path)?)),
        None => config.with_native_roots(),
    };
    if let Some((certificate, key)) = &settings.client {
        config = config.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    Ok(config)
}
