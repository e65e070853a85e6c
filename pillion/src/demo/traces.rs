//! The demo's own trace view: takes in the spans of its services and of its own process, and shows them in a browser.
//!
//! ```text
//! services, own process ─ OTLP: POST /v1/traces ─ store (bounded, oldest out) ─ /api/traces ─ page /traces
//! ```
//! By HTTP with protobuf, not gRPC: the page needs an HTTP/1.1 server anyway, and every exporter here speaks it, so that
//! one port does for all and the binary carries no HTTP/2 server. On a thread and an event loop of its own, which end
//! after everything that sends spans has ended.
//!
//! Invariant: it listens on this machine only, and what it keeps is bounded, whatever it is sent.

mod intake;
mod routes;
mod store;
mod view;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use pillion_trace_context::telemetry::{CollectorSettings, ExportSettings, Protocol, TelemetrySettings};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use store::Store;

/// A span is on the page this soon after it has ended: a person is waiting for it.
const SENT_EVERY: Duration = Duration::from_millis(200);

/// The running view; it ends when dropped.
#[derive(Debug)]
pub(crate) struct TraceView {
    address: TraceAddress,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

/// Where the view is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceAddress(SocketAddr);

impl TraceView {
    /// Starts the view, unless traces go elsewhere or nobody wants them.
    ///
    /// # Errors
    /// When no port or no thread is to be had.
    pub(crate) fn start_if_wanted(settings: &TelemetrySettings) -> Result<Option<Self>> {
        let says = |name: &str, value: &str| std::env::var(name).is_ok_and(|said| said.eq_ignore_ascii_case(value));
        let is_unwanted = says("OTEL_SDK_DISABLED", "true") || says("OTEL_TRACES_EXPORTER", "none");
        if settings.export.is_some() || is_unwanted { Ok(None) } else { Self::start().map(Some) }
    }

    fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot start the trace view's event loop")?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
        let listener = listener.context("the trace view finds no free port")?;
        let address = TraceAddress(listener.local_addr()?);
        let stop = CancellationToken::new();
        let told = stop.clone();
        let work = move || {
            let router = routes::router(Arc::new(Mutex::new(Store::default())));
            runtime.block_on(async {
                tokio::select! {
                    served = axum::serve(listener, router) => {
                        if let Err(error) = served {
                            tracing::warn!(%error, "the trace view has ended");
                        }
                    }
                    () = told.cancelled() => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name("trace-view".to_owned()).spawn(work);
        let thread = thread.context("cannot start the trace view's thread")?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it is.
    pub(crate) fn address(&self) -> TraceAddress {
        self.address
    }

    /// Lets this process's own spans come here.
    pub(crate) fn take_spans_of(&self, settings: &mut TelemetrySettings) {
        let collector = CollectorSettings {
            protocol: Protocol::HttpProtobuf,
            endpoint: self.address.endpoint(),
            tls: None,
            headers: Vec::new(),
            gzip: false,
            timeout: Duration::from_secs(1),
        };
        let export = ExportSettings { collector, queue_size: 4096, batch_size: 512, schedule_delay: SENT_EVERY };
        settings.export = Some(export);
    }
}

impl Drop for TraceView {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            tracing::warn!("the trace view's thread panicked");
        }
    }
}

impl TraceAddress {
    /// The page for a person.
    pub(crate) fn page(self) -> String {
        format!("http://{}/traces", self.0)
    }

    /// What makes a service send its spans here.
    pub(crate) fn environment(self) -> [(&'static str, String); 3] {
        [
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", self.endpoint()),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf".to_owned()),
            ("OTEL_BSP_SCHEDULE_DELAY", SENT_EVERY.as_millis().to_string()),
        ]
    }

    fn endpoint(self) -> String {
        format!("http://{}/v1/traces", self.0)
    }
}

#[cfg(test)]
mod tests;
