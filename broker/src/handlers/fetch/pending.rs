//! A fetch from its request to its answer.
//!
//! A fetch that finds fewer than `min_bytes` is parked: it costs memory only. Its connection holds it; partitions know
//! it weakly, each by the place it has in the fetch, so that a high watermark that moves costs a look at one partition.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::answer::{self, Origin};
use super::search::Search;
use crate::dispatch::Parked;
use crate::log::ReadFrom;
use crate::network::Responder;
use crate::partition::HighWatermarkWatcher;

/// A fetch that has not been answered, or no longer is pending.
pub(super) struct PendingFetch {
    pub(super) origin: Arc<Origin>,
    pub(super) bytes_min: usize,
    pub(super) deadline: Instant,
    pub(super) runtime: Handle,
    /// Apart from the rest, for partitions ask under their locks.
    pub(super) is_done: Arc<AtomicBool>,
    /// Empty once it is answered.
    pub(super) waiting: Mutex<Option<Waiting>>,
}

/// What a pending fetch has so far.
pub(super) struct Waiting {
    pub(super) search: Search,
    pub(super) responder: Responder,
}

/// A parked fetch as one of its partitions sees it.
struct Watch {
    fetch: Weak<PendingFetch>,
    place: usize,
    is_done: Arc<AtomicBool>,
}

impl PendingFetch {
    /// Answers if there is enough; whether it has been answered, or soon will be.
    pub(super) fn try_answer(&self) -> bool {
        self.answer_if(|search, bytes_min| search.is_enough(bytes_min))
    }

    /// Has every partition tell of its moves. One that moved before it was told to is looked at once more.
    pub(super) fn watch(self: &Arc<Self>) -> bool {
        let partitions = match &*self.waiting.lock() {
            None => return true,
            Some(waiting) => {
                let partitions = waiting.search.partitions();
                partitions.map(|(place, partition)| (place, Arc::clone(partition))).collect::<Vec<_>>()
            }
        };
        for (place, partition) in partitions {
            let (fetch, is_done) = (Arc::downgrade(self), Arc::clone(&self.is_done));
            partition.watch(Arc::new(Watch { fetch, place, is_done }));
        }
        self.answer_if(|search, bytes_min| {
            search.refresh();
            search.is_enough(bytes_min)
        })
    }

    fn answer_if(&self, is_enough: impl FnOnce(&mut Search, usize) -> bool) -> bool {
        let mut waiting = self.waiting.lock();
        let Some(found) = waiting.as_mut() else { return true };
        if !is_enough(&mut found.search, self.bytes_min) {
            return false;
        }
        let Some(Waiting { search, responder }) = waiting.take() else { return true };
        drop(waiting);
        self.is_done.store(true, Ordering::Release);
        self.answer(responder, search);
        true
    }

    fn answer(&self, responder: Responder, mut search: Search) {
        let mut slices = Vec::new();
        if answer::take_from_memory(&self.origin.broker.fetches, &mut search, &mut slices)
            && !search.looks_for_aborted()
        {
            answer::send(responder, &self.origin, search, &slices);
            return;
        }
        let (origin, runtime) = (Arc::clone(&self.origin), self.runtime.clone());
        self.runtime.spawn(async move {
            // It is never closed.
            let Ok(permit) = Arc::clone(&origin.broker.fetches.cold_reads).acquire_owned().await else { return };
            if responder.is_closed() {
                return;
            }
            runtime.spawn_blocking(move || {
                answer::take_from_disk(&mut search, &mut slices);
                answer::send(responder, &origin, search, &slices);
                drop(permit);
            });
        });
    }
}

impl HighWatermarkWatcher for Watch {
    fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    fn moved(&self) {
        let Some(fetch) = self.fetch.upgrade() else { return };
        fetch.answer_if(|search, bytes_min| {
            if search.may_grow(self.place) {
                search.look(self.place, ReadFrom::Memory);
            }
            search.is_enough(bytes_min)
        });
    }
}

impl Parked for PendingFetch {
    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    fn expire(&self) {
        self.answer_if(|search, _| {
            search.refresh();
            true
        });
    }

    /// Partitions drop their watches only with their next one; the socket, which a responder holds open, goes now.
    fn abandon(&self) {
        self.is_done.store(true, Ordering::Release);
        drop(self.waiting.lock().take());
    }
}
