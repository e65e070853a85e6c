//! OTLP by HTTP: a protobuf message as the body of a POST, over one kept connection.
//!
//! Written on hyper, which gRPC has in the binary anyway. As the protocol asks, a collector that is busy (429, 502, 503,
//! 504) is asked again after the time it names, or after one, two, four … seconds; the caller's deadline ends that.
//! Invariant: of an answer at most [`ANSWER_BYTES_MAX`] are looked at.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{
    CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT,
};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use prost::Message;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_rustls::TlsConnector;

use super::TelemetryError;
use super::settings::CollectorSettings;
use super::tls;

/// Bytes of an answer: a collector says nothing longer that is worth reading.
const ANSWER_BYTES_MAX: usize = 16 * 1024;
/// The first pause before a busy collector is asked again, and the longest.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A collector's URL for one signal.
pub(super) struct OtlpHttp {
    uri: Uri,
    headers: HeaderMap,
    gzip: bool,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    /// The connection of the last request, if it can take another one.
    kept: Mutex<Option<SendRequest<Full<Bytes>>>>,
}

/// Why one attempt did not succeed.
enum Failure {
    /// The collector asks to come again, after this time if it names one.
    Busy(Option<Duration>, String),
    /// It is not to be tried again.
    Final(String),
}

impl std::fmt::Debug for OtlpHttp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The headers are secrets.
        formatter.debug_struct("OtlpHttp").field("uri", &self.uri).finish_non_exhaustive()
    }
}

impl OtlpHttp {
    /// Reads certificates, connects to nothing.
    ///
    /// # Errors
    /// When a certificate or key cannot be read, or the URL has no host.
    pub(super) fn new(settings: &CollectorSettings) -> Result<Self, TelemetryError> {
        let no_host = || TelemetryError::Endpoint { endpoint: settings.endpoint.clone() };
        let uri: Uri = settings.endpoint.parse().map_err(|_| no_host())?;
        let host = bare_host(&uri).ok_or_else(no_host)?.to_owned();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("pillion/", env!("CARGO_PKG_VERSION"))));
        let authority = uri.authority().ok_or_else(no_host)?;
        headers.insert(HOST, HeaderValue::from_str(authority.as_str()).map_err(|_| no_host())?);
        if settings.gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        for (name, value) in &settings.headers {
            // The settings hold only pairs that can be sent.
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                headers.insert(name, value);
            }
        }
        let tls = match &settings.tls {
            None => None,
            Some(tls) => {
                let name = ServerName::try_from(host).map_err(|_| no_host())?;
                Some((TlsConnector::from(Arc::new(tls::client_config(tls)?)), name))
            }
        };
        Ok(Self { uri, headers, gzip: settings.gzip, tls, kept: Mutex::default() })
    }

    /// Sends a message; ends when the collector has taken or refused it. The caller sets a deadline by dropping this.
    ///
    /// # Errors
    /// Why the collector does not have it, for a person.
    pub(super) async fn send(&self, message: &impl Message) -> Result<(), String> {
        let body = self.encode(message).map_err(|error| error.to_string())?;
        let mut pause = RETRY_PAUSES.0;
        loop {
            let asked_for = match self.try_once(body.clone()).await {
                Ok(()) => return Ok(()),
                Err(Failure::Final(reason)) => return Err(reason),
                Err(Failure::Busy(asked_for, reason)) => {
                    tracing::debug!(reason, "the collector is busy");
                    asked_for
                }
            };
            tokio::time::sleep(asked_for.unwrap_or(pause).min(RETRY_PAUSES.1)).await;
            pause = (pause * 2).min(RETRY_PAUSES.1);
        }
    }

    fn encode(&self, message: &impl Message) -> std::io::Result<Bytes> {
        let bytes = message.encode_to_vec();
        if !self.gzip {
            return Ok(bytes.into());
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&bytes)?;
        Ok(encoder.finish()?.into())
    }

    async fn try_once(&self, body: Bytes) -> Result<(), Failure> {
        let mut kept = self.kept.lock().await;
        let answer = match kept.take() {
            // A kept connection may have been closed meanwhile: then a new one is tried, once.
            Some(connection) => match self.request(connection, body.clone()).await {
                Ok(answer) => answer,
                Err(_) => self.request(self.connect().await?, body).await.map_err(Failure::Final)?,
            },
            None => self.request(self.connect().await?, body).await.map_err(Failure::Final)?,
        };
        let (connection, answer) = answer;
        let (head, body) = answer.into_parts();
        let told = read_answer(body).await;
        // Not to be used again with half an answer left in it.
        *kept = told.is_some().then_some(connection);
        drop(kept);
        if head.status.is_success() {
            return Ok(());
        }
        Err(refusal(head.status, &head.headers, &told.unwrap_or_default()))
    }

    async fn request(
        &self,
        mut connection: SendRequest<Full<Bytes>>,
        body: Bytes,
    ) -> Result<(SendRequest<Full<Bytes>>, Response<Incoming>), String> {
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::post(path).body(Full::new(body)).map_err(|error| error.to_string())?;
        *request.headers_mut() = self.headers.clone();
        connection.ready().await.map_err(|error| error.to_string())?;
        let answer = connection.send_request(request).await.map_err(|error| error.to_string())?;
        Ok((connection, answer))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let failed = |error: std::io::Error| Failure::Final(format!("cannot connect: {error}"));
        let port = self.uri.port_u16().unwrap_or(if self.tls.is_some() { 443 } else { 80 });
        let stream = TcpStream::connect((bare_host(&self.uri).unwrap_or_default(), port)).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let begun = match &self.tls {
            None => start(TokioIo::new(stream)).await,
            Some((connector, name)) => {
                start(TokioIo::new(connector.connect(name.clone(), stream).await.map_err(failed)?)).await
            }
        };
        begun.map_err(|error| Failure::Final(error.to_string()))
    }
}

/// Starts HTTP on a stream; a task of its own moves the bytes until the connection ends.
async fn start<T>(stream: T) -> hyper::Result<SendRequest<Full<Bytes>>>
where
    T: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(stream).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "the connection to the collector ended");
        }
    });
    Ok(sender)
}

/// The whole answer; `None` where it is too long or breaks off, and the connection of no more use.
async fn read_answer(mut body: Incoming) -> Option<Vec<u8>> {
    let mut answer = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.ok()?.into_data() {
            if answer.len() + data.len() > ANSWER_BYTES_MAX {
                return None;
            }
            answer.extend_from_slice(&data);
        }
    }
    Some(answer)
}

fn refusal(status: StatusCode, headers: &HeaderMap, answer: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(&answer[..answer.len().min(200)]).escape_debug().to_string();
    let reason = format!("the collector answered {status} {text}").trim_end().to_owned();
    let is_busy = matches!(status.as_u16(), 429 | 502..=504);
    if !is_busy {
        return Failure::Final(reason);
    }
    let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    Failure::Busy(seconds.map(Duration::from_secs), reason)
}

/// The host without the brackets of an IPv6 address.
fn bare_host(uri: &Uri) -> Option<&str> {
    let host = uri.host()?;
    Some(host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host))
}
