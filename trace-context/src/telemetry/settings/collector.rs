//! Where one signal goes and how: the variables of the OTLP exporter, `OTEL_EXPORTER_OTLP_{SIGNAL_,}…`.
//!
//! The signal's own variable comes before the one for all signals. With `http/protobuf` the latter's endpoint is a base,
//! to which `v1/traces`, `v1/metrics` or `v1/logs` is added; the signal's own is taken as it is (OTLP exporter
//! specification, "Endpoint URLs for OTLP/HTTP"). With `grpc` the endpoint has no path.

use std::path::PathBuf;
use std::time::Duration;

use super::values::{Endpoint, Environment};

/// Endpoint of gRPC when an exporter is asked for and no endpoint is.
pub const DEFAULT_ENDPOINT: &str = "http://localhost:4317";
/// The same of `http/protobuf`, without the signal's path.
const DEFAULT_HTTP_ENDPOINT: &str = "http://localhost:4318";

/// A kind of telemetry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// Spans.
    Traces,
    /// Metrics.
    Metrics,
}

impl Signal {
    /// As variables spell it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Traces => "TRACES",
            Self::Metrics => "METRICS",
        }
    }

    /// What `http/protobuf` adds to a base endpoint.
    fn path(self) -> &'static str {
        match self {
            Self::Traces => "v1/traces",
            Self::Metrics => "v1/metrics",
        }
    }
}

/// How the collector is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// gRPC; usually port 4317. The default.
    Grpc,
    /// Protobuf in HTTP/1.1 requests; usually port 4318.
    HttpProtobuf,
}

/// One collector, as one signal is sent to it.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectorSettings {
    /// gRPC or HTTP.
    pub protocol: Protocol,
    /// `http://host:port` or `https://host:port`; with [`Protocol::HttpProtobuf`] the whole URL, path and all.
    pub endpoint: String,
    /// How the collector is trusted; `None` with `http`.
    pub tls: Option<TlsSettings>,
    /// Sent with every request, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Whether requests are compressed with gzip.
    pub gzip: bool,
    /// One request may take this long, with its retries.
    pub timeout: Duration,
}

/// TLS to the collector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// PEM file with the authorities to trust (`OTEL_EXPORTER_OTLP_CERTIFICATE`); `None`: those of the system.
    pub certificate: Option<PathBuf>,
    /// PEM files with our own certificate and its key (`OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE`, `…_CLIENT_KEY`).
    pub client: Option<(PathBuf, PathBuf)>,
}

/// Reads what a signal's exporter is told.
pub(super) fn read(environment: &mut Environment<'_>, signal: Signal) -> CollectorSettings {
    const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

    let protocol = protocol(environment, signal);
    let endpoint = endpoint(environment, signal, protocol);
    let tls = endpoint.starts_with("https://").then(|| tls(environment, signal));
    let headers = match environment.signal(signal, "HEADERS") {
        None => Vec::new(),
        Some((variable, _)) => environment.headers(&variable).unwrap_or_default(),
    };
    let gzip = match environment.signal(signal, "COMPRESSION") {
        None => false,
        Some((variable, _)) => environment.choice(&variable, &[("gzip", true), ("none", false)]).unwrap_or(false),
    };
    let timeout = match environment.signal(signal, "TIMEOUT") {
        None => DEFAULT_TIMEOUT,
        Some((variable, _)) => environment.milliseconds(&variable).unwrap_or(DEFAULT_TIMEOUT),
    };
    CollectorSettings { protocol, endpoint, tls, headers, gzip, timeout }
}

fn protocol(environment: &mut Environment<'_>, signal: Signal) -> Protocol {
    match environment.signal(signal, "PROTOCOL") {
        None => Protocol::Grpc,
        Some((_, name)) if name.eq_ignore_ascii_case("grpc") => Protocol::Grpc,
        Some((_, name)) if name.eq_ignore_ascii_case("http/protobuf") => Protocol::HttpProtobuf,
        Some((variable, name)) => {
            environment.refuse(format!(
                "{variable} is '{name}', which is not built in: use grpc (the collector's port 4317, usually) or \
                 http/protobuf (4318)"
            ));
            Protocol::Grpc
        }
    }
}

fn endpoint(environment: &mut Environment<'_>, signal: Signal, protocol: Protocol) -> String {
    let found = environment.endpoint(signal);
    match (protocol, found) {
        (Protocol::Grpc, None) => DEFAULT_ENDPOINT.to_owned(),
        (Protocol::Grpc, Some(endpoint)) => endpoint.url,
        (Protocol::HttpProtobuf, None) => format!("{DEFAULT_HTTP_ENDPOINT}/{}", signal.path()),
        (Protocol::HttpProtobuf, Some(Endpoint { url, is_for_one_signal: true })) => url,
        (Protocol::HttpProtobuf, Some(Endpoint { url, is_for_one_signal: false })) => {
            format!("{}/{}", url.trim_end_matches('/'), signal.path())
        }
    }
}

fn tls(environment: &mut Environment<'_>, signal: Signal) -> TlsSettings {
    let path = |suffix: &str| environment.signal(signal, suffix).map(|(_, path)| PathBuf::from(path));
    let (certificate, own, key) = (path("CERTIFICATE"), path("CLIENT_CERTIFICATE"), path("CLIENT_KEY"));
    if own.is_some() != key.is_some() {
        environment.refuse(
            "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY belong together: set both or none"
                .to_owned(),
        );
    }
    TlsSettings { certificate, client: own.zip(key) }
}
