//! A broker for tests that serves ApiVersions and Metadata, behind TLS and SASL as its rules say.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use bytes::Bytes;
use pillion_wire::messages::api_versions::ApiVersion;
use pillion_wire::messages::metadata::MetadataResponseBroker;
use pillion_wire::messages::{
    ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse, SaslAuthenticateRequest,
    SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
use pillion_wire::{ApiMessage, Chunk, ErrorCode, Message, Reader, frame};
use ring::{digest, hmac, pbkdf2};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// The one user there is.
pub(crate) const USER: &str = "alice";
pub(crate) const PASSWORD: &str = "s3cr3t";

/// How the broker behaves.
#[derive(Clone, Default)]
pub(crate) struct Rules {
    /// Its mechanisms; without any it serves everyone.
    pub(crate) mechanisms: Vec<&'static str>,
    /// How long an authentication holds; 0 is forever.
    pub(crate) lifetime_ms: i64,
    /// Said instead of the mechanism's tokens, in turn.
    pub(crate) tokens: Vec<&'static str>,
    /// Bytes of the answer to SaslAuthenticate that are sent; all of them when 0.
    pub(crate) cut: usize,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// The host it tells clients to come to.
    pub(crate) advertised: Option<&'static str>,
}

/// What the broker has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) authentications: usize,
    /// Requests other than authentication's while one was under way, or without one.
    pub(crate) strays: usize,
}

pub(crate) struct GuardedBroker {
    port: u16,
    seen: Arc<Mutex<Seen>>,
    _task: JoinSet<()>,
}

impl GuardedBroker {
    pub(crate) async fn start(rules: Rules) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut task = JoinSet::new();
        let shared = seen.clone();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let session =
                    Session { rules: rules.clone(), seen: shared.clone(), port, step: Step::Stranger, said: 0 };
                connections.spawn(async move {
                    stream.set_nodelay(true).unwrap();
                    match session.rules.tls.clone() {
                        None => session.serve(stream).await,
                        Some(tls) => {
                            if let Ok(stream) = TlsAcceptor::from(tls).accept(stream).await {
                                session.serve(stream).await;
                            }
                        }
                    }
                });
            }
        });
        Self { port, seen, _task: task }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn seen<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().unwrap())
    }
}

/// How far a connection has come.
enum Step {
    Stranger,
    /// The mechanism is chosen.
    Chosen(String),
    /// Behind the first SCRAM message: what was said so far, without the last message.
    Challenged(String),
    Friend,
}

struct Session {
    rules: Rules,
    seen: Arc<Mutex<Seen>>,
    port: u16,
    step: Step,
    said: usize,
}

impl Session {
    async fn serve(mut self, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        while let Ok(length) = stream.read_i32().await {
            // A plaintext listener takes the beginning of a TLS session for a frame too long, and closes.
            if !(0..=1 << 20).contains(&length) {
                return;
            }
            let mut request = vec![0; length as usize];
            if stream.read_exact(&mut request).await.is_err() {
                return;
            }
            let Some(answer) = self.handle(&Bytes::from(request)) else { return };
            if stream.write_all(&answer).await.is_err() || stream.flush().await.is_err() {
                return;
            }
        }
    }

    fn handle(&mut self, request: &Bytes) -> Option<Vec<u8>> {
        let mut reader = Reader::new(request);
        let header = frame::RequestHeader::decode(&mut reader).unwrap();
        let (version, id) = (header.api_version, header.correlation_id);
        match header.api_key {
            ApiVersionsRequest::KEY => Some(api_versions(version, id)),
            SaslHandshakeRequest::KEY => {
                let asked = body::<SaslHandshakeRequest>(&mut reader, version).mechanism;
                let is_enabled = self.rules.mechanisms.contains(&asked.as_str());
                let code = match self.rules.mechanisms.len() {
                    0 => ErrorCode::IllegalSaslState,
                    _ if is_enabled => ErrorCode::None,
                    _ => ErrorCode::UnsupportedSaslMechanism,
                };
                if is_enabled {
                    self.step = Step::Chosen(asked);
                }
                let mechanisms = self.rules.mechanisms.iter().map(|&name| name.to_owned()).collect();
                Some(answer(&SaslHandshakeResponse { error_code: code.code(), mechanisms }, version, id))
            }
            SaslAuthenticateRequest::KEY => {
                let token = body::<SaslAuthenticateRequest>(&mut reader, version).auth_bytes;
                let response = self.authenticate(std::str::from_utf8(&token).unwrap());
                let mut bytes = answer(&response, version, id);
                if self.rules.cut > 0 {
                    bytes.truncate(4 + self.rules.cut);
                    bytes[..4].copy_from_slice(&(self.rules.cut as i32).to_be_bytes());
                }
                Some(bytes)
            }
            MetadataRequest::KEY => {
                if !self.rules.mechanisms.is_empty() && !matches!(self.step, Step::Friend) {
                    self.seen.lock().unwrap().strays += 1;
                    return None;
                }
                let host = self.rules.advertised.unwrap_or("127.0.0.1").to_owned();
                let brokers = vec![MetadataResponseBroker { node_id: 1, host, port: i32::from(self.port), rack: None }];
                Some(answer(&MetadataResponse { brokers, controller_id: 1, ..Default::default() }, version, id))
            }
            other => panic!("request of API {other}"),
        }
    }

    fn authenticate(&mut self, token: &str) -> SaslAuthenticateResponse {
        if let Some(instead) = self.rules.tokens.get(self.said) {
            self.said += 1;
            return SaslAuthenticateResponse {
                auth_bytes: Bytes::from_static(instead.as_bytes()),
                ..Default::default()
            };
        }
        let (next, said) = match &self.step {
            Step::Chosen(mechanism) if mechanism == "PLAIN" => {
                (Step::Friend, (token == format!("\0{USER}\0{PASSWORD}")).then(String::new))
            }
            Step::Chosen(_) => {
                let bare = token.strip_prefix("n,,").unwrap();
                let nonce = bare.split_once(",r=").unwrap().1;
                let first = format!("r={nonce}srv,s={},i=4096", BASE64.encode("salt"));
                (Step::Challenged(format!("{bare},{first}")), Some(first))
            }
            Step::Challenged(said) => (Step::Friend, prove(said, token)),
            Step::Stranger | Step::Friend => panic!("a token without a handshake"),
        };
        let Some(said) = said else {
            let error_message = Some("Authentication failed: Invalid username or password".to_owned());
            let error_code = ErrorCode::SaslAuthenticationFailed.code();
            return SaslAuthenticateResponse { error_code, error_message, ..Default::default() };
        };
        let mut response = SaslAuthenticateResponse { auth_bytes: said.into(), ..Default::default() };
        if matches!(next, Step::Friend) {
            response.session_lifetime_ms = self.rules.lifetime_ms;
            self.seen.lock().unwrap().authentications += 1;
        }
        self.step = next;
        response
    }
}

/// The server's last SCRAM-SHA-256 message, when the client's proof is good.
fn prove(said: &str, client_final: &str) -> Option<String> {
    let sign = |key: &[u8], text: &[u8]| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
    let (without_proof, proof) = client_final.rsplit_once(",p=").unwrap();
    let said = format!("{said},{without_proof}");
    let mut salted = [0; 32];
    let rounds = std::num::NonZeroU32::new(4096).unwrap();
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, b"salt", PASSWORD.as_bytes(), &mut salted);
    let client_key = sign(&salted, b"Client Key");
    let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());
    let signature = sign(stored_key.as_ref(), said.as_bytes());
    let expected: Vec<u8> = client_key.as_ref().iter().zip(signature.as_ref()).map(|(a, b)| a ^ b).collect();
    let server_key = sign(&salted, b"Server Key");
    let signature = sign(server_key.as_ref(), said.as_bytes());
    (BASE64.decode(proof).unwrap() == expected).then(|| format!("v={}", BASE64.encode(signature)))
}

fn api_versions(version: i16, id: i32) -> Vec<u8> {
    let api = |api_key, min_version, max_version| ApiVersion { api_key, min_version, max_version };
    let api_keys = vec![api(3, 1, 9), api(17, 0, 1), api(18, 0, 3), api(36, 0, 2)];
    answer(&ApiVersionsResponse { api_keys, finalized_features_epoch: -1, ..Default::default() }, version, id)
}

fn body<M: Message>(reader: &mut Reader<'_>, version: i16) -> M {
    if M::is_flexible(version) {
        frame::RequestHeader::skip_tagged_fields(reader).unwrap();
    }
    M::read(reader, version).unwrap()
}

fn answer<M: ApiMessage>(response: &M, version: i16, id: i32) -> Vec<u8> {
    let chunks = frame::encode_response(response, version, id).unwrap();
    let bytes = chunks.into_iter().map(|chunk| match chunk {
        Chunk::Bytes(bytes) => bytes,
        _ => unreachable!("all is in memory"),
    });
    bytes.flatten().collect()
}
