//! Fetch (1), versions 4 to 18: batches below the high watermark, as they lie in the log.
//!
//! A request stands for itself, or says what has changed since its session's last (KIP-227, `session.rs`). What it
//! asks for is searched for in memory (`search.rs`); too little is waited for (`pending.rs`), what is not in memory is
//! brought there by a blocking thread (`cold.rs`). Small answers are read and sent in one call, larger ones by
//! sendfile. A client that believes in an older leader epoch is told the one in force, from version 16 on (KIP-951).
//! Left out: what only replicas ask for.

mod answer;
mod cold;
mod context;
mod pending;
mod search;
mod session;
mod sessions;
mod wanted;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pillion_wire::messages::FetchRequest;
use tokio::runtime::Handle;
use tokio::time::Instant;

pub(crate) use context::FetchState;

use crate::dispatch::{Call, Flow};
use crate::partition::Isolation;
use answer::Origin;
use context::Asked;
use pending::{PendingFetch, Waiting};
use search::Search;

/// Answers at once, or when there is enough to answer.
pub(crate) fn handle(call: Call, mut request: FetchRequest) -> Flow {
    let asked = call.broker.fetches.begin(call.session.id, call.version(), &mut request);
    let Asked { wanted, first, context } = match asked {
        Ok(asked) => asked,
        Err(code) => return call.answer(&answer::refusal(code)),
    };
    let bytes = |asked: i32| usize::try_from(asked).unwrap_or(0);
    let bytes_max = bytes(request.max_bytes).min(call.broker.config.fetch_bytes_max);
    let isolation = Isolation::from_level(request.isolation_level);
    let search = Search::new(&call.broker, (wanted, first), bytes_max, isolation);
    let wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
    let fetch = Arc::new(PendingFetch {
        // Nobody waits for what cannot be sent, nor for time that there is none of.
        bytes_min: if wait.is_zero() { 0 } else { bytes(request.min_bytes).min(bytes_max) },
        deadline: Instant::now() + wait,
        origin: Arc::new(Origin { broker: call.broker, context, listener: call.session.listener }),
        runtime: Handle::current(),
        is_done: Arc::default(),
        waiting: Mutex::new(Some(Waiting { search, responder: call.responder })),
    });
    if fetch.try_answer() || fetch.watch() { Flow::Done } else { Flow::Parked(fetch) }
}
