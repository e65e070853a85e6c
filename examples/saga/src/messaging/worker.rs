//! One worker: its keys' events, one after another, each tried until it is done or parked.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::mpsc;
use tracing::{Instrument as _, error, warn};

use super::progress::Place;
use super::spans::process_span;
use super::{Event, Finished, Parked, Process};
use crate::database::is_passing;

/// The pauses between attempts: doubling from the first to the second.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// How often an event is refused for its own sake before it is parked. What passes by itself, such as a database that
/// is away, is not counted: it says nothing about the event.
const REFUSALS_MAX: u32 = 3;

/// Events worked on together: one transaction of as many is not yet a long one.
const TOGETHER_MAX: usize = 32;

/// What a worker is given.
pub(super) struct Task {
    pub(super) place: Place,
    /// The event, or what is no event.
    pub(super) work: Result<Event, Parked>,
}

/// Works on the events of some keys.
pub(super) struct Worker<P> {
    pub(super) group: &'static str,
    pub(super) process: Arc<P>,
    pub(super) finished: Arc<Finished>,
}

impl<P: Process> Worker<P> {
    /// Works until the queue is closed. Dropped at any point it leaves nothing half done: what is not finished comes
    /// again.
    pub(super) async fn run(self, mut queue: mpsc::Receiver<Task>) {
        let mut tasks = Vec::with_capacity(TOGETHER_MAX);
        // What has come meanwhile is worked on together: the more there is to do, the less each costs.
        while queue.recv_many(&mut tasks, TOGETHER_MAX).await > 0 {
            let events: Vec<&Event> = tasks.iter().filter_map(|task| task.work.as_ref().ok()).collect();
            let are_done = events.len() > 1 && self.together(&events).await;
            for Task { place, work } in tasks.drain(..) {
                match work {
                    Ok(_) if are_done => (),
                    Ok(event) => self.until_done(&event).await,
                    Err(parked) => self.until_parked(&parked).await,
                }
                self.finished.finish(place);
            }
        }
    }

    /// Once; what fails here shows which one it is when each is tried by itself.
    async fn together(&self, events: &[&Event]) -> bool {
        let outcome = self.process.process_together(self.group, events).await;
        outcome.unwrap_or_else(|error| {
            warn!("{} events are not processed together, but each by itself: {error:#}", events.len());
            false
        })
    }

    /// Every attempt has its own span, so that a trace shows the ones that failed. Meanwhile the later events of the
    /// same key wait: passing over this one would reorder them.
    async fn until_done(&self, event: &Event) {
        let (mut pause, longest_pause) = RETRY_PAUSES;
        let mut refusals = 0;
        loop {
            let attempt = async {
                let outcome = self.process.process(event).await;
                outcome.inspect_err(|error| error!(error = %format_args!("{error:#}")))
            };
            let Err(error) = attempt.instrument(process_span(self.group, event)).await else { return };
            if !is_passing(&error) {
                refusals += 1;
            }
            if refusals == REFUSALS_MAX {
                return self.until_parked(&Parked::event(event, &error)).await;
            }
            tokio::time::sleep(pause).await;
            pause = longest_pause.min(pause * 2);
        }
    }

    /// Parking itself must not lose the record either.
    async fn until_parked(&self, parked: &Parked) {
        let (mut pause, longest_pause) = RETRY_PAUSES;
        let Parked { topic, partition, offset, reason, .. } = parked;
        while let Err(error) = self.process.park(parked).await {
            warn!("{topic}-{partition} at offset {offset} is not parked yet: {error:#}");
            tokio::time::sleep(pause).await;
            pause = longest_pause.min(pause * 2);
        }
        error!("parked {topic}-{partition} at offset {offset}, a person must look at it: {reason}");
    }
}
