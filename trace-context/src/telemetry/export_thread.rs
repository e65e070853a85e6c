//! The thread that sends spans: a span queue at one end, an OTLP exporter at the other.
//!
//! It has a one-thread tokio runtime of its own. On the application's runtime a shutdown, which waits for the last
//! request, could wait for a task that only its own thread would run. Telemetry is suppressed on this thread, so that
//! a request's own spans never become spans to send.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use opentelemetry::Context;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use parking_lot::Mutex;

use super::TelemetryError;
use super::attribute_length;
use super::exporter::SpanExporter;
use super::settings::{CollectorSettings, ExportSettings};
use super::span_queue::SpanQueue;

/// Part of a shutdown's time left for ending the thread once sending has stopped.
const ENDING_SHARE: u32 = 5;

/// The running export. Ended by a shutdown, which joins it.
#[derive(Debug)]
pub(super) struct ExportThread {
    queue: Arc<SpanQueue>,
    flush_limit: Duration,
    thread: Mutex<Option<RunningThread>>,
}

#[derive(Debug)]
struct RunningThread {
    handle: JoinHandle<()>,
    ended: Receiver<()>,
}

impl ExportThread {
    /// Starts the thread; waits only until the exporter is built, which connects to nothing yet.
    pub(super) fn start(
        queue: Arc<SpanQueue>,
        settings: &ExportSettings,
        resource: &Resource,
    ) -> Result<Self, TelemetryError> {
        let (started_sender, started) = sync_channel(1);
        let (ended_sender, ended) = sync_channel(1);
        let thread_queue = Arc::clone(&queue);
        let thread_settings = settings.clone();
        let thread_resource = resource.clone();
        let handle = std::thread::Builder::new()
            .name("pillion-otlp".to_owned())
            .spawn(move || {
                let _suppressed = Context::enter_telemetry_suppressed_scope();
                match prepare(&thread_settings.collector, &thread_resource) {
                    Ok((runtime, exporter)) => {
                        let _ = started_sender.send(Ok(()));
                        runtime.block_on(Export::new(&thread_queue, exporter, &thread_settings).run());
                        // A name look-up may hang in a blocking thread: nobody waits for it.
                        runtime.shutdown_background();
                    }
                    Err(error) => drop(started_sender.send(Err(error))),
                }
                let _ = ended_sender.send(());
            })
            .map_err(TelemetryError::Thread)?;
        started.recv().expect("the export thread answers before it ends")?;
        let timeout = settings.collector.timeout;
        let flush_limit = timeout + timeout / ENDING_SHARE;
        Ok(Self { queue, flush_limit, thread: Mutex::new(Some(RunningThread { handle, ended })) })
    }
}

impl ExportThread {
    fn flush(&self) -> OTelSdkResult {
        let (sender, done) = sync_channel(1);
        if !self.queue.request_flush(sender) {
            return Err(OTelSdkError::AlreadyShutdown);
        }
        done.recv_timeout(self.flush_limit).map_err(|_| OTelSdkError::Timeout(self.flush_limit))
    }

    fn shut_down(&self, timeout: Duration) -> OTelSdkResult {
        let Some(thread) = self.thread.lock().take() else {
            return Err(OTelSdkError::AlreadyShutdown);
        };
        self.queue.close(Instant::now() + timeout - timeout / ENDING_SHARE);
        match thread.ended.recv_timeout(timeout) {
            // The thread has nothing left to do but return.
            Ok(()) | Err(RecvTimeoutError::Disconnected) => thread
                .handle
                .join()
                .map_err(|_| OTelSdkError::InternalFailure("the span export thread panicked".to_owned())),
            Err(RecvTimeoutError::Timeout) => Err(OTelSdkError::Timeout(timeout)),
        }
    }
}

/// The export thread as the SDK's span processor. Several tracer providers may share one; its owner's shutdown ends it.
#[derive(Debug)]
pub(super) struct SharedExport {
    pub(super) thread: Arc<ExportThread>,
    pub(super) is_owner: bool,
    /// Longest text of an attribute, in characters.
    pub(super) value_characters: Option<u32>,
}

impl SpanProcessor for SharedExport {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, mut span: SpanData) {
        if !span.span_context.is_sampled() {
            return;
        }
        if let Some(limit) = self.value_characters {
            attribute_length::limit(&mut span.attributes, limit as usize);
        }
        self.thread.queue.push(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.thread.flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        if self.is_owner { self.thread.shut_down(timeout) } else { Ok(()) }
    }
}

fn prepare(
    settings: &CollectorSettings,
    resource: &Resource,
) -> Result<(tokio::runtime::Runtime, SpanExporter), TelemetryError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(1)
        .build()
        .map_err(TelemetryError::Thread)?;
    // gRPC's lazy channel spawns its worker where it is built.
    let entered = runtime.enter();
    let exporter = SpanExporter::build(settings, resource)?;
    drop(entered);
    Ok((runtime, exporter))
}

/// One run of the export, from start to shutdown.
struct Export<'a> {
    queue: &'a SpanQueue,
    exporter: SpanExporter,
    settings: &'a ExportSettings,
    /// The collector's failure has been told and not yet its recovery.
    is_out: bool,
    is_overflow_told: bool,
}

impl<'a> Export<'a> {
    fn new(queue: &'a SpanQueue, exporter: SpanExporter, settings: &'a ExportSettings) -> Self {
        Self { queue, exporter, settings, is_out: false, is_overflow_told: false }
    }

    async fn run(mut self) {
        loop {
            tokio::select! {
                _ = self.queue.closed() => {}
                () = self.queue.woken() => {}
                () = tokio::time::sleep(self.settings.schedule_delay) => {}
            }
            // Read before the queue is emptied: what is pushed before the close is sent in this last round.
            let is_last_round = self.queue.is_closed();
            let flushes = self.queue.take_flushes();
            let mut remaining = self.queue.length();
            while remaining > 0 {
                let batch = self.queue.take_batch();
                remaining = remaining.saturating_sub(batch.len());
                self.deliver(batch).await;
            }
            for flush in flushes {
                let _ = flush.try_send(());
            }
            self.tell_overflow();
            if is_last_round {
                return self.tell_losses();
            }
        }
    }

    /// Sends one batch, or drops it: a collector that is away never makes spans pile up here.
    async fn deliver(&mut self, batch: Vec<SpanData>) {
        let (spans, timeout) = (batch.len(), self.settings.collector.timeout);
        let outcome = tokio::select! {
            biased;
            () = deadline_passed(self.queue) => Err("telemetry is shut down".to_owned()),
            outcome = tokio::time::timeout(timeout, self.exporter.export(batch)) => match outcome {
                Ok(result) => result,
                Err(_) => Err(format!("no answer within {timeout:?}")),
            },
        };
        match outcome {
            Ok(()) => {
                self.queue.count_exported(spans);
                self.tell_recovery();
            }
            Err(reason) => {
                self.queue.count_dropped(spans);
                self.tell_failure(&reason);
            }
        }
    }

    /// One warning for each time the collector goes away.
    fn tell_failure(&mut self, reason: &str) {
        if !self.is_out {
            self.is_out = true;
            let endpoint = self.settings.collector.endpoint.as_str();
            tracing::warn!(endpoint, reason, "the collector takes no spans: they are dropped until it does");
        }
    }

    fn tell_recovery(&mut self) {
        if self.is_out {
            self.is_out = false;
            let dropped = self.queue.counts().dropped;
            tracing::info!(
                endpoint = self.settings.collector.endpoint.as_str(),
                dropped,
                "the collector takes spans again"
            );
        }
    }

    fn tell_losses(&self) {
        let dropped = self.queue.counts().dropped;
        if dropped > 0 {
            tracing::info!(dropped, "some spans have not reached the collector");
        }
    }

    fn tell_overflow(&mut self) {
        if self.queue.take_overflow() && !self.is_overflow_told && !self.is_out {
            self.is_overflow_told = true;
            let queue_size = self.settings.queue_size;
            tracing::warn!(
                queue_size,
                "spans end faster than they are sent and are dropped: raise OTEL_BSP_MAX_QUEUE_SIZE"
            );
        }
    }
}

async fn deadline_passed(queue: &SpanQueue) {
    let deadline = queue.closed().await;
    tokio::time::sleep_until(deadline.into()).await;
}
