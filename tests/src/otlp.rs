//! An OTLP receiver in the test's process: keeps every span it is sent.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// A span and who sent it.
#[derive(Debug, Clone)]
pub struct ReceivedSpan {
    /// `service.name` of the sender.
    pub service: String,
    /// The span.
    pub span: Span,
}

impl ReceivedSpan {
    /// An attribute's value as text.
    #[must_use]
    pub fn attribute(&self, key: &str) -> Option<String> {
        text_of(&self.span.attributes, key)
    }

    /// `service: span name`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}: {}", self.service, self.span.name)
    }
}

/// A receiver; it ends with the test's runtime.
#[derive(Clone)]
pub struct OtlpReceiver {
    address: SocketAddr,
    spans: Arc<Mutex<Vec<ReceivedSpan>>>,
}

impl OtlpReceiver {
    /// Listens on a free port.
    ///
    /// # Errors
    /// When no port is to be had.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let receiver = Self { address: listener.local_addr()?, spans: Arc::default() };
        let service = TraceServiceServer::new(receiver.clone());
        let serving = tonic::transport::Server::builder().add_service(service);
        tokio::spawn(serving.serve_with_incoming(TcpIncoming::from(listener)));
        Ok(receiver)
    }

    /// What OTEL_EXPORTER_OTLP_ENDPOINT is to be.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every span, as far as they have come.
    #[must_use]
    pub fn all(&self) -> Vec<ReceivedSpan> {
        self.spans.lock().map(|spans| spans.clone()).unwrap_or_default()
    }

    /// The spans of one trace, as far as they have come.
    #[must_use]
    pub fn trace(&self, trace_id: &[u8]) -> Vec<ReceivedSpan> {
        let spans = self.spans.lock().map(|spans| spans.clone()).unwrap_or_default();
        spans.into_iter().filter(|received| received.span.trace_id == trace_id).collect()
    }
}

#[tonic::async_trait]
impl TraceService for OtlpReceiver {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        for resource in request.into_inner().resource_spans {
            let attributes = resource.resource.map(|resource| resource.attributes).unwrap_or_default();
            let service = text_of(&attributes, "service.name").unwrap_or_default();
            let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            if let Ok(mut kept) = self.spans.lock() {
                kept.extend(spans.map(|span| ReceivedSpan { service: service.clone(), span }));
            }
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn text_of(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match &found.value {
        Some(AnyValue { value: Some(Value::StringValue(text)) }) => Some(text.clone()),
        Some(AnyValue { value: Some(Value::IntValue(number)) }) => Some(number.to_string()),
        _ => None,
    }
}
