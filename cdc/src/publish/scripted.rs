//! A cluster whose verdicts on records and commits are written down in a test.

use std::collections::{HashSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{Cluster, Delivered, PublishError, Publisher};
use crate::progress::{Progress, SourceName};
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

/// What the cluster does with a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitVerdict {
    Commit,
    /// Committed once the test says so.
    Hold,
    /// Nothing comes of it.
    Lose,
    /// Committed, and nobody is told.
    LoseAnswer,
}

/// Tells what became of a commit.
pub(crate) type OutcomeSender = oneshot::Sender<Result<(), PublishError>>;

/// A cluster whose verdicts are written down; once they are used up it stores and commits.
#[derive(Clone, Default)]
pub(crate) struct ScriptedCluster {
    pub(crate) verdicts: Arc<Mutex<VecDeque<Verdict>>>,
    pub(crate) commit_verdicts: Arc<Mutex<VecDeque<CommitVerdict>>>,
    /// Whether records are seen only once they are committed.
    pub(crate) is_transactional: bool,
    /// What readers see.
    pub(crate) stored: Arc<Mutex<Vec<OutboxEvent>>>,
    pub(crate) progress: Arc<Mutex<Option<Progress>>>,
    /// How many records each commit held.
    pub(crate) commits: Arc<Mutex<Vec<usize>>>,
    pub(crate) held_commits: Arc<Mutex<VecDeque<OutcomeSender>>>,
    pub(crate) connections: Arc<Mutex<usize>>,
    pub(crate) topics: Arc<Mutex<Vec<String>>>,
    /// Nobody answers.
    pub(crate) is_away: bool,
    /// What is flushed never leaves, and is gone when that is given up.
    pub(crate) flushes_hang: Arc<Mutex<bool>>,
    /// Flushes that hang.
    pub(crate) hanging: Arc<Mutex<usize>>,
}

pub(crate) struct ScriptedPublisher {
    cluster: ScriptedCluster,
    known: HashSet<String>,
    held: Vec<oneshot::Sender<Result<Delivered, PublishError>>>,
    open: Vec<OutboxEvent>,
    /// A record of the open transaction was not stored.
    doomed: Option<Verdict>,
    progress: Option<Progress>,
}

pub(crate) struct Acknowledgement<T>(oneshot::Receiver<Result<T, PublishError>>);

impl<T> Future for Acknowledgement<T> {
    type Output = Result<T, PublishError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|result| result.expect("the sender is kept"))
    }
}

/// A failure that is known only after more has been sent.
fn later<T: Send + 'static>(sender: oneshot::Sender<Result<T, PublishError>>, failure: PublishError) {
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let _ = sender.send(Err(failure));
    });
}

fn gone() -> PublishError {
    PublishError::Unavailable("the broker is gone".into())
}

impl Cluster for ScriptedCluster {
    type Publisher = ScriptedPublisher;

    async fn connect(&self, _source: &SourceName) -> Result<ScriptedPublisher, PublishError> {
        if self.is_away {
            std::future::pending::<()>().await;
        }
        *self.connections.lock() += 1;
        let progress = self.progress.lock().clone();
        Ok(ScriptedPublisher {
            cluster: self.clone(),
            known: HashSet::new(),
            held: Vec::new(),
            open: Vec::new(),
            doomed: None,
            progress,
        })
    }
}

impl Publisher for ScriptedPublisher {
    type Acknowledgement = Acknowledgement<Delivered>;
    type Outcome = Acknowledgement<()>;

    fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    async fn ensure_topic(&mut self, topic: &str) -> Result<(), PublishError> {
        self.cluster.topics.lock().push(topic.to_owned());
        self.known.insert(topic.to_owned());
        Ok(())
    }

    async fn send(
        &mut self,
        event: OutboxEvent,
        wants_acknowledgement: bool,
    ) -> Result<Option<Acknowledgement<Delivered>>, PublishError> {
        assert!(self.known.contains(&*event.topic), "the topic was made first");
        let (sender, receiver) = oneshot::channel();
        let verdict = self.cluster.verdicts.lock().pop_front().unwrap_or(Verdict::Store);
        match verdict {
            Verdict::Store => {
                let offset = if self.cluster.is_transactional {
                    self.open.push(event);
                    self.open.len()
                } else {
                    let mut stored = self.cluster.stored.lock();
                    stored.push(event);
                    stored.len()
                };
                assert!(sender.send(Ok(Delivered { partition: 0, offset: offset as i64 })).is_ok());
            }
            Verdict::Hold => self.held.push(sender),
            Verdict::Lose | Verdict::Refuse => {
                self.doomed = self.doomed.or(Some(verdict));
                let refusal = || PublishError::RecordRefused("too large".into());
                later(sender, if verdict == Verdict::Lose { gone() } else { refusal() });
            }
        }
        Ok((wants_acknowledgement || !self.cluster.is_transactional).then_some(Acknowledgement(receiver)))
    }

    async fn flush(&mut self) -> Result<(), PublishError> {
        if *self.cluster.flushes_hang.lock() {
            self.open.clear();
            *self.cluster.hanging.lock() += 1;
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn commit(&mut self, progress: &Progress) -> Result<Acknowledgement<()>, PublishError> {
        let (sender, receiver) = oneshot::channel();
        if !self.cluster.is_transactional {
            assert!(sender.send(Ok(())).is_ok());
            return Ok(Acknowledgement(receiver));
        }
        let open = std::mem::take(&mut self.open);
        let doomed = self.doomed.take();
        let verdict = match doomed {
            Some(_) => CommitVerdict::Lose,
            None => self.cluster.commit_verdicts.lock().pop_front().unwrap_or(CommitVerdict::Commit),
        };
        if verdict != CommitVerdict::Lose {
            self.cluster.commits.lock().push(open.len());
            self.cluster.stored.lock().extend(open);
            *self.cluster.progress.lock() = Some(progress.clone());
        }
        match verdict {
            CommitVerdict::Commit => assert!(sender.send(Ok(())).is_ok()),
            CommitVerdict::Hold => self.cluster.held_commits.lock().push_back(sender),
            CommitVerdict::Lose if doomed == Some(Verdict::Refuse) => {
                later(sender, PublishError::TransactionRefused("too large".into()));
            }
            CommitVerdict::Lose | CommitVerdict::LoseAnswer => later(sender, gone()),
        }
        Ok(Acknowledgement(receiver))
    }

    fn abort(&mut self) {
        self.open.clear();
        self.doomed = None;
    }

    async fn close(self) {}
}
