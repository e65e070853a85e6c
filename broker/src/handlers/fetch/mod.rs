//! Fetch (1), versions 4 to 18: batches below the high watermark, as they lie in the log.
//!
//! A fetch that finds fewer than `min_bytes` is parked: it costs memory only, and whoever moves a high watermark
//! answers it. Bytes are first looked for in memory; what is not there is read on a blocking thread. Small answers
//! are read and sent in one call, larger ones by sendfile. Left out: fetch sessions (KIP-227): every request is
//! whole, session id 0 tells the client so, and one that claims a session hears that it is unknown.

mod answer;
mod evaluate;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pillion_wire::ErrorCode;
use pillion_wire::messages::{FetchRequest, FetchResponse};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::broker::BrokerState;
use crate::dispatch::{Call, Flow, Parked};
use crate::log::ReadFrom;
use crate::network::Responder;
use crate::partition::HighWatermarkWatcher;
use evaluate::Evaluation;

/// The session epoch of a client that wants none.
const FINAL_EPOCH: i32 = -1;

/// Answers at once, or when there is enough to answer.
pub(crate) fn handle(call: Call, request: FetchRequest) -> Flow {
    if request.session_id != 0 && request.session_epoch != FINAL_EPOCH {
        let error_code = ErrorCode::FetchSessionIdNotFound.code();
        return call.answer(&FetchResponse { error_code, ..FetchResponse::default() });
    }
    let wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
    let fetch = Arc::new(PendingFetch {
        deadline: Instant::now() + wait,
        version: call.version(),
        broker: Arc::clone(&call.broker),
        responder: Mutex::new(Some(call.responder)),
        runtime: Handle::current(),
        request,
    });
    if fetch.try_answer(wait.is_zero()) {
        return Flow::Done;
    }
    let parked = Arc::new(ParkedFetch(Arc::clone(&fetch)));
    for partition in fetch.partitions() {
        partition.watch(Arc::clone(&parked) as Arc<dyn HighWatermarkWatcher>);
    }
    // A high watermark that moved before the watch was set would otherwise be missed.
    if fetch.try_answer(false) { Flow::Done } else { Flow::Parked(parked) }
}

/// A fetch that has not been answered.
struct PendingFetch {
    broker: Arc<BrokerState>,
    version: i16,
    request: FetchRequest,
    deadline: Instant,
    responder: Mutex<Option<Responder>>,
    runtime: Handle,
}

impl PendingFetch {
    /// Answers when there is enough, or `anyhow`; whether it has been answered, or soon will be.
    fn try_answer(self: &Arc<Self>, anyhow: bool) -> bool {
        if self.is_answered() {
            return true;
        }
        let evaluation = self.evaluate(ReadFrom::Memory);
        if !anyhow && !evaluation.is_enough(self.request.min_bytes) {
            return false;
        }
        let Some(responder) = self.responder.lock().take() else { return true };
        let answered =
            if evaluation.not_cached { Err(responder) } else { answer::send(responder, evaluation, ReadFrom::Memory) };
        if let Err(responder) = answered {
            let fetch = Arc::clone(self);
            self.runtime.spawn_blocking(move || {
                let evaluation = fetch.evaluate(ReadFrom::Disk);
                // From the disk there is always an answer: an error, if nothing else.
                let _ = answer::send(responder, evaluation, ReadFrom::Disk);
            });
        }
        true
    }

    fn is_answered(&self) -> bool {
        self.responder.lock().is_none()
    }

    fn evaluate(&self, from: ReadFrom) -> Evaluation {
        evaluate::evaluate(&self.broker, &self.request, self.version, from)
    }

    fn partitions(&self) -> Vec<Arc<crate::partition::Partition>> {
        let topics = self.broker.topics.snapshot();
        let asked = self.request.topics.iter();
        let topic = |asked| Some((evaluate::find_topic(&topics, asked)?, asked));
        let held = asked.filter_map(topic).flat_map(|(topic, asked)| {
            asked.partitions.iter().filter_map(|partition| topic.partition(partition.partition).cloned())
        });
        held.collect()
    }
}

/// A pending fetch as partitions and its connection see it.
struct ParkedFetch(Arc<PendingFetch>);

impl HighWatermarkWatcher for ParkedFetch {
    fn is_done(&self) -> bool {
        self.0.is_answered()
    }

    fn moved(&self) {
        self.0.try_answer(false);
    }
}

impl Parked for ParkedFetch {
    fn deadline(&self) -> Instant {
        self.0.deadline
    }

    fn is_done(&self) -> bool {
        self.0.is_answered()
    }

    fn expire(&self) {
        self.0.try_answer(true);
    }

    /// Partitions drop it only with their next watcher; the socket, which a responder holds open, goes now.
    fn abandon(&self) {
        drop(self.0.responder.lock().take());
    }
}
