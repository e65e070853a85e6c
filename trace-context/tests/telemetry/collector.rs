//! An OTLP gRPC receiver inside the test process: keeps what it is sent, and lets tests wait for it.

use std::net::SocketAddr;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use tokio::sync::watch;
use tonic::codec::CompressionEncoding;
use tonic::metadata::MetadataMap;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

/// How long a condition may take to come true before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// What one request brought.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) resource_spans: Vec<ResourceSpans>,
    pub(crate) metadata: MetadataMap,
}

impl Received {
    /// All spans of the request.
    pub(crate) fn spans(&self) -> impl Iterator<Item = &Span> {
        self.resource_spans.iter().flat_map(|resource| &resource.scope_spans).flat_map(|scope| &scope.spans)
    }

    /// A string attribute of the request's first resource.
    pub(crate) fn resource_attribute(&self, key: &str) -> Option<&str> {
        string_of(&self.resource_spans.first()?.resource.as_ref()?.attributes, key)
    }
}

/// The string value of `key`.
pub(crate) fn string_of<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let attribute = attributes.iter().find(|attribute| attribute.key == key)?;
    match attribute.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}

/// A running receiver; ends with the test's runtime.
pub(crate) struct Collector {
    address: SocketAddr,
    received: watch::Receiver<Vec<Received>>,
}

struct Service(watch::Sender<Vec<Received>>);

#[tonic::async_trait]
impl TraceService for Service {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let (metadata, _, message) = request.into_parts();
        self.0.send_modify(|all| all.push(Received { resource_spans: message.resource_spans, metadata }));
        Ok(Response::new(ExportTraceServiceResponse { partial_success: None }))
    }
}

impl Collector {
    /// Listens on a port of its own choice.
    pub(crate) async fn start() -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    /// Listens at a given address.
    pub(crate) async fn start_at(address: SocketAddr) -> Self {
        Self::serve(address, Server::builder())
    }

    /// Listens with TLS on a port of its own choice.
    pub(crate) async fn start_with_tls(tls: ServerTlsConfig) -> Self {
        Self::serve(SocketAddr::from(([127, 0, 0, 1], 0)), Server::builder().tls_config(tls).unwrap())
    }

    fn serve(address: SocketAddr, mut server: Server) -> Self {
        let incoming = TcpIncoming::bind(address).unwrap();
        let address = incoming.local_addr().unwrap();
        let (sender, received) = watch::channel(Vec::new());
        let service = TraceServiceServer::new(Service(sender)).accept_compressed(CompressionEncoding::Gzip);
        tokio::spawn(server.add_service(service).serve_with_incoming(incoming));
        Self { address, received }
    }

    /// `http://…` as `OTEL_EXPORTER_OTLP_ENDPOINT` takes it.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port it listens on.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Waits until `count` spans have come; all requests so far.
    pub(crate) async fn received(&mut self, count: usize) -> Vec<Received> {
        let has_come = |all: &Vec<Received>| all.iter().flat_map(Received::spans).count() >= count;
        let waited = tokio::time::timeout(PATIENCE, self.received.wait_for(has_come)).await;
        waited.expect("the spans did not come").expect("the collector ended").clone()
    }
}
