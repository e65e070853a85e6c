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
    committed: Arc<Mutex<Option<Progress>>>,
    accepting: Arc<watch::Sender<bool>>,
}

/// A connection to it: what was sent is recorded when it is committed.
pub(crate) struct RecorderConnection {
    recorder: Recorder,
    open: Vec<OutboxEvent>,
    progress: Option<Progress>,
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder { events: Arc::default(), committed: Arc::default(), accepting: Arc::new(watch::Sender::new(true)) }
    }
}

impl Recorder {
    /// Everything so far, in order.
    pub(crate) fn events(&self) -> Vec<OutboxEvent> {
        self.events.lock().expect("no test panics in here").clone()
    }

    /// The last progress that was committed.
    pub(crate) fn progress(&self) -> Option<Progress> {
        self.committed.lock().expect("no test panics in here").clone()
    }

    /// A cluster that holds this progress record, and no events.
    pub(crate) fn that_has(progress: Option<Progress>) -> Recorder {
        let recorder = Recorder::default();
        *recorder.committed.lock().expect("no test panics in here") = progress;
        recorder
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
    type Publisher = RecorderConnection;

    async fn connect(&self, _source: &SourceName) -> Result<RecorderConnection, PublishError> {
        let progress = self.committed.lock().expect("no test panics in here").clone();
        Ok(RecorderConnection { recorder: self.clone(), open: Vec::new(), progress })
    }
}

impl Publisher for RecorderConnection {
    type Acknowledgement = Ready<Result<Delivered, PublishError>>;
    type Outcome = Ready<Result<(), PublishError>>;

    fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    async fn ensure_topic(&mut self, _topic: &str) -> Result<(), PublishError> {
        Ok(())
    }

    async fn send(
        &mut self,
        event: OutboxEvent,
        _wants_acknowledgement: bool,
    ) -> Result<Option<Self::Acknowledgement>, PublishError> {
        let mut accepting = self.recorder.accepting.subscribe();
        accepting.wait_for(|accepting| *accepting).await.expect("the sender is kept");
        self.open.push(event);
        Ok(Some(ready(Ok(Delivered { partition: 0, offset: 0 }))))
    }

    async fn flush(&mut self) -> Result<(), PublishError> {
        Ok(())
    }

    async fn commit(&mut self, progress: &Progress) -> Result<Self::Outcome, PublishError> {
        self.recorder.events.lock().expect("no test panics in here").append(&mut self.open);
        *self.recorder.committed.lock().expect("no test panics in here") = Some(progress.clone());
        Ok(ready(Ok(())))
    }

    fn abort(&mut self) {
        self.open.clear();
    }

    async fn close(self) {}
}
