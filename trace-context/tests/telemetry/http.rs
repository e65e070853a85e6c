//! Spans by HTTP with protobuf: what is sent, what is sent again, and what is dropped.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::read::GzDecoder;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use opentelemetry::trace::{Span as _, Tracer};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use pillion_trace_context::telemetry::{SpanCounts, SpanPipeline, TelemetrySettings};
use prost::Message;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{self, ServerConfig};

use crate::export::certificate;

/// One request as it came.
pub(crate) struct Asked {
    pub(crate) path: String,
    headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A collector that answers what it is told to, in this order, then 200.
pub(crate) struct HttpCollector {
    pub(crate) address: SocketAddr,
    pub(crate) asked: mpsc::UnboundedReceiver<Asked>,
    connections: Arc<AtomicUsize>,
}

impl HttpCollector {
    pub(crate) async fn start(answers: &'static [(StatusCode, &'static str)]) -> Self {
        Self::start_with(answers, None).await
    }

    async fn start_with(answers: &'static [(StatusCode, &'static str)], tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, asked) = mpsc::unbounded_channel();
        let (connections, answered) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let (sender, answered, tls) = (sender.clone(), Arc::clone(&answered), tls.clone());
                tokio::spawn(serve(stream, tls, move |request| {
                    let (sender, answered) = (sender.clone(), Arc::clone(&answered));
                    async move { answer(request, &sender, answers, &answered).await }
                }));
            }
        });
        Self { address, asked, connections }
    }
}

async fn serve<A>(stream: TcpStream, tls: Option<TlsAcceptor>, answer: impl Fn(Request<Incoming>) -> A)
where
    A: Future<Output = Result<Response<Full<Bytes>>, Infallible>>,
{
    let http = hyper::server::conn::http1::Builder::new();
    // A client that does not trust this collector breaks off.
    let _ = match tls {
        None => http.serve_connection(TokioIo::new(stream), service_fn(answer)).await.ok(),
        Some(tls) => match tls.accept(stream).await {
            Ok(stream) => http.serve_connection(TokioIo::new(stream), service_fn(answer)).await.ok(),
            Err(_) => None,
        },
    };
}

async fn answer(
    request: Request<Incoming>,
    sender: &mpsc::UnboundedSender<Asked>,
    answers: &[(StatusCode, &'static str)],
    answered: &AtomicUsize,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    let _ = sender.send(Asked { path: head.uri.to_string(), headers: head.headers, body });
    let (status, text) = answers.get(answered.fetch_add(1, Ordering::Relaxed)).copied().unwrap_or((StatusCode::OK, ""));
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert("retry-after", "0".parse().unwrap());
    Ok(response)
}

fn start(endpoint: &str, variables: &[(&str, &str)]) -> SpanPipeline {
    let settings = TelemetrySettings::from_lookup("pillion", "1.2.3", |name| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(endpoint.to_owned()),
        "OTEL_EXPORTER_OTLP_PROTOCOL" => Some("http/protobuf".to_owned()),
        _ => variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned()),
    });
    SpanPipeline::start(&settings.unwrap()).unwrap().expect("an endpoint is set")
}

/// Ends a span, and waits until it is delivered or dropped.
async fn send(pipeline: SpanPipeline, name: &'static str) -> SpanPipeline {
    let sent = tokio::task::spawn_blocking(move || {
        pipeline.tracer().start(name).end();
        assert!(pipeline.flush());
        pipeline
    });
    sent.await.unwrap()
}

fn names(body: &[u8]) -> Vec<String> {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).map(|span| span.name).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_go_to_the_path_for_traces_with_the_headers_asked_for_over_one_connection() {
    let mut collector = HttpCollector::start(&[]).await;
    let endpoint = format!("http://{}/otlp", collector.address);
    let mut pipeline = start(&endpoint, &[("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b")]);
    for name in ["first", "second"] {
        pipeline = send(pipeline, name).await;
        let asked = collector.asked.recv().await.unwrap();
        assert_eq!(asked.path, "/otlp/v1/traces");
        assert_eq!(asked.headers["content-type"], "application/x-protobuf");
        assert_eq!(asked.headers["api-key"], "a b");
        assert_eq!(names(&asked.body), [name]);
    }
    assert_eq!(pipeline.counts(), SpanCounts { exported: 2, dropped: 0 });
    assert_eq!(collector.connections.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compressed_requests_say_so() {
    let mut collector = HttpCollector::start(&[]).await;
    let endpoint = format!("http://{}", collector.address);
    let _pipeline = send(start(&endpoint, &[("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")]), "small").await;
    let asked = collector.asked.recv().await.unwrap();
    assert_eq!(asked.headers["content-encoding"], "gzip");
    let mut body = Vec::new();
    std::io::Read::read_to_end(&mut GzDecoder::new(&*asked.body), &mut body).unwrap();
    assert_eq!(names(&body), ["small"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_collector_is_asked_again_and_one_that_refuses_is_not() {
    const BUSY: (StatusCode, &str) = (StatusCode::SERVICE_UNAVAILABLE, "later");
    let mut collector =
        HttpCollector::start(&[BUSY, BUSY, (StatusCode::OK, ""), (StatusCode::BAD_REQUEST, "no")]).await;
    let endpoint = format!("http://{}", collector.address);
    let pipeline = send(start(&endpoint, &[]), "patient").await;
    assert_eq!(pipeline.counts(), SpanCounts { exported: 1, dropped: 0 });
    let pipeline = send(pipeline, "refused").await;
    assert_eq!(pipeline.counts(), SpanCounts { exported: 1, dropped: 1 });
    for expected in ["patient", "patient", "patient", "refused"] {
        assert_eq!(names(&collector.asked.recv().await.unwrap().body), [expected]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_are_dropped_and_counted_when_nobody_listens_or_nobody_answers() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [closed, silent.local_addr().unwrap()] {
        let pipeline = start(&format!("http://{address}"), &[]);
        pipeline.tracer().start("lost").end();
        let counts = tokio::task::spawn_blocking(move || pipeline.shutdown()).await.unwrap();
        assert_eq!(counts, SpanCounts { exported: 0, dropped: 1 });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_collector_is_trusted_by_its_certificate_alone() {
    let (certificate_text, key) = certificate("localhost");
    let directory = tempfile::tempdir().unwrap();
    let (trusted, other) = (directory.path().join("collector.pem"), directory.path().join("other.pem"));
    std::fs::write(&trusted, &certificate_text).unwrap();
    std::fs::write(&other, certificate("localhost").0).unwrap();
    let collector = HttpCollector::start_with(&[], Some(acceptor(&certificate_text, &key))).await;
    let endpoint = format!("https://localhost:{}", collector.address.port());
    for (authority, counts) in
        [(&trusted, SpanCounts { exported: 1, dropped: 0 }), (&other, SpanCounts { exported: 0, dropped: 1 })]
    {
        let variable = ("OTEL_EXPORTER_OTLP_CERTIFICATE", authority.to_str().unwrap());
        let pipeline = send(start(&endpoint, &[variable]), "secret").await;
        assert_eq!(pipeline.counts(), counts, "{}", authority.display());
    }
}

fn acceptor(certificate: &str, key: &str) -> TlsAcceptor {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    TlsAcceptor::from(Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap()))
}
