//! A cluster that keeps what it is given in memory, so that these tests need no broker.

use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pillion_cdc::publish::{Cluster, Delivered, PublishError, Publisher};
use pillion_cdc::router::OutboxEvent;
use pillion_cdc::{Progress, SourceName};
use tokio::sync::watch;

const TIMEOUT: Duration = Duration::from_secs(60);

/// What was published. Clones share it.
#[derive(Clone)]
pub(crate) struct Recorder {
    events: Arc<Mutex<Vec<OutboxEvent>>>,
    accepting: Arc<watch::Sender<bool>>,
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder { events: Arc::default(), accepting: Arc::new(watch::Sender::new(true)) }
    }
}

impl Recorder {
    /// Everything so far, in order.
    pub(crate) fn events(&self) -> Vec<OutboxEvent> {
        self.events.lock().expect("no test panics in here").clone()
    }

    /// A broker that is away takes nothing, and sending waits for it.
    pub(crate) fn accept(&self, accepting: bool) {
        self.accepting.send_replace(accepting);
    }

    /// Waits until an event with this id was published.
    pub(crate) async fn until_id(&self, id: &str) -> Vec<OutboxEvent> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let events = self.events();
            if events.iter().any(|event| event.id().is_some_and(|found| found == id)) {
                return events;
            }
            assert!(Instant::now() < deadline, "{id} was not published; {} events were", events.len());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Cluster for Recorder {
    type Publisher = Recorder;

    async fn connect(&self, _source: &SourceName) -> Result<Recorder, PublishError> {
        Ok(self.clone())
    }
}

impl Publisher for Recorder {
    type Acknowledgement = Ready<Result<Delivered, PublishError>>;
    type Outcome = Ready<Result<(), PublishError>>;

    fn progress(&self) -> Option<&Progress> {
        None
    }

    async fn ensure_topic(&mut self, _topic: &str) -> Result<(), PublishError> {
        Ok(())
    }

    async fn send(
        &mut self,
        event: OutboxEvent,
        _wants_acknowledgement: bool,
    ) -> Result<Option<Self::Acknowledgement>, PublishError> {
        let mut accepting = self.accepting.subscribe();
        accepting.wait_for(|accepting| *accepting).await.expect("the sender is kept");
        let mut events = self.events.lock().expect("no test panics in here");
        events.push(event);
        let offset = i64::try_from(events.len()).expect("few events");
        Ok(Some(ready(Ok(Delivered { partition: 0, offset }))))
    }

    async fn commit(&mut self, _progress: &Progress) -> Result<Self::Outcome, PublishError> {
        Ok(ready(Ok(())))
    }

    fn abort(&mut self) {}

    async fn close(self) {}
}
