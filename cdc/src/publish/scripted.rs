//! A cluster whose verdicts on records are written down in a test.

use std::collections::{HashSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{Cluster, Delivered, PublishError, Publisher};
use crate::router::OutboxEvent;

/// What the cluster does with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Store,
    /// Not acknowledged, ever.
    Hold,
    Lose,
    Refuse,
}

/// A cluster whose verdicts on records are written down; once they are used up it stores.
#[derive(Clone, Default)]
pub(crate) struct ScriptedCluster {
    pub(crate) verdicts: Arc<Mutex<VecDeque<Verdict>>>,
    pub(crate) stored: Arc<Mutex<Vec<OutboxEvent>>>,
    pub(crate) connections: Arc<Mutex<usize>>,
    pub(crate) topics: Arc<Mutex<Vec<String>>>,
    /// Nobody answers.
    pub(crate) is_away: bool,
}

pub(crate) struct ScriptedPublisher {
    cluster: ScriptedCluster,
    known: Mutex<HashSet<String>>,
    held: Mutex<Vec<oneshot::Sender<Result<Delivered, PublishError>>>>,
}

pub(crate) struct Acknowledgement(oneshot::Receiver<Result<Delivered, PublishError>>);

impl Future for Acknowledgement {
    type Output = Result<Delivered, PublishError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|result| result.expect("the sender is kept"))
    }
}

impl Cluster for ScriptedCluster {
    type Publisher = ScriptedPublisher;

    async fn connect(&self) -> Result<ScriptedPublisher, PublishError> {
        if self.is_away {
            std::future::pending::<()>().await;
        }
        *self.connections.lock() += 1;
        Ok(ScriptedPublisher { cluster: self.clone(), known: Mutex::default(), held: Mutex::default() })
    }
}

impl Publisher for ScriptedPublisher {
    type Acknowledgement = Acknowledgement;

    async fn ensure_topic(&self, topic: &str) -> Result<(), PublishError> {
        self.cluster.topics.lock().push(topic.to_owned());
        self.known.lock().insert(topic.to_owned());
        Ok(())
    }

    async fn send(&self, event: OutboxEvent) -> Result<Acknowledgement, PublishError> {
        assert!(self.known.lock().contains(&*event.topic), "the topic was made first");
        let (sender, receiver) = oneshot::channel();
        let verdict = self.cluster.verdicts.lock().pop_front().unwrap_or(Verdict::Store);
        let failure = match verdict {
            Verdict::Store => {
                let mut stored = self.cluster.stored.lock();
                stored.push(event);
                assert!(sender.send(Ok(Delivered { partition: 0, offset: stored.len() as i64 })).is_ok());
                return Ok(Acknowledgement(receiver));
            }
            Verdict::Hold => {
                self.held.lock().push(sender);
                return Ok(Acknowledgement(receiver));
            }
            Verdict::Lose => PublishError::Unavailable("the broker is gone".into()),
            Verdict::Refuse => PublishError::RecordRefused("too large".into()),
        };
        // A failure is known only after later records have been sent.
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let _ = sender.send(Err(failure));
        });
        Ok(Acknowledgement(receiver))
    }

    async fn close(self) {}
}
