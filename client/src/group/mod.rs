//! Consuming as a member of a group, which shares the partitions of its topics out among its members (the classic
//! protocol; Kafka's Java client and librdkafka understand the same assignors).
//!
//! ```text
//! poll ─ records ← Consumer (fetches, positions)
//!   │  ─ assigned, revoked, lost ← View ← Membership (pure) ⇄ Task: join, sync, heartbeat, leave, assign as leader
//!   └─ released → Task
//! ```
//!
//! The task does all that belongs to membership while the caller works. Taking partitions away waits for the caller:
//! a poll says what is revoked, the next one lets it go, and in between what was read of it can be committed.
//!
//! **Invariant:** records are handed out only of partitions that the member was assigned and has told the caller of.

mod assignor;
mod config;
mod error;
mod leading;
mod machine;
mod offsets;
mod protocol;
mod requests;
mod task;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};

pub use assignor::{Assignor, TopicPartition};
pub use config::{GroupConfig, OffsetReset, Polled};
pub use error::GroupError;

pub(crate) use offsets::{ask, commit, committed, committed_all};
pub(crate) use protocol::decode_assignment;

use machine::{Partitions, View};
use task::{Command, LastPoll, Task};

use crate::client::ClientShared;
use crate::committed::{CommittedOffset, GroupMetadata};
use crate::consumer::{Assignment, Consumer};
use crate::error::ClientError;
use crate::offsets::Offset;

/// Commands the task has not taken yet, at most; more wait.
const COMMANDS_MAX: usize = 16;

/// A member of a consumer group. One task polls it; dropped, it leaves the group.
pub struct GroupConsumer {
    client: Arc<ClientShared>,
    config: Arc<GroupConfig>,
    consumer: Consumer,
    commands: mpsc::Sender<Command>,
    views: watch::Receiver<View>,
    last_poll: Arc<LastPoll>,
    /// What the caller was told that it holds.
    held: BTreeSet<TopicPartition>,
    /// What it was told to let go, which the next poll does.
    releasing: Option<(u64, Partitions)>,
    /// Losses it was told of.
    losses: u64,
    committed_at: Instant,
}

impl GroupConsumer {
    pub(crate) fn start(client: Arc<ClientShared>, config: GroupConfig) -> Result<Self, GroupError> {
        if let Some(what) = config.fault() {
            return Err(GroupError::Configuration { what });
        }
        let config = Arc::new(config);
        let last_poll = Arc::new(LastPoll::now());
        let (commands, received) = mpsc::channel(COMMANDS_MAX);
        let (published, views) = watch::channel(View { generation: -1, ..View::default() });
        let task = Task::new(client.clone(), config.clone(), last_poll.clone(), received, published);
        client.connector.tasks.spawn(task.run());
        Ok(Self {
            consumer: Consumer::new(client.clone(), config.consumer.clone()),
            client,
            config,
            commands,
            views,
            last_poll,
            held: BTreeSet::new(),
            releasing: None,
            losses: 0,
            committed_at: Instant::now(),
        })
    }

    /// Reads other topics from the next rebalance on.
    ///
    /// # Errors
    /// What the member is out of its group for, for good.
    pub async fn subscribe(&mut self, topics: Vec<String>) -> Result<(), GroupError> {
        self.tell(Command::Subscribed(topics)).await
    }

    /// Records as soon as there are some, or what a rebalance changes; empty records after `max_wait`.
    ///
    /// Letting go of what the poll before said is revoked is the first thing a poll does. Dropping it in the middle
    /// loses nothing.
    ///
    /// # Errors
    /// [`GroupError::Refused`], [`GroupError::InstanceFenced`] end the member. [`GroupError::NoOffset`] until
    /// [`GroupConsumer::seek`], and what [`Consumer::poll`] fails with.
    pub async fn poll(&mut self, max_wait: Duration) -> Result<Polled, GroupError> {
        let deadline = Instant::now() + max_wait;
        self.last_poll.note();
        self.let_go().await?;
        loop {
            let view = self.views.borrow_and_update().clone();
            if let Some(polled) = self.follow(&view, deadline).await? {
                return Ok(polled);
            }
            self.commit_if_due();
            let left = deadline.saturating_duration_since(Instant::now());
            let polled = tokio::select! {
                biased;
                changed = self.views.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return Err(self.ended()),
                },
                polled = self.consumer.poll(left) => polled,
            };
            match polled {
                Ok(records) if records.is_empty() && Instant::now() < deadline => {}
                Ok(records) => return Ok(Polled::Records(records)),
                Err(error) => self.reset(error)?,
            }
        }
    }

    /// Commits how far the partitions held have been handed out.
    ///
    /// # Errors
    /// [`GroupError::NotOfGeneration`], [`GroupError::Rebalancing`], [`GroupError::NotCommitted`]; [`GroupError::Client`]
    /// when the coordinator could not be reached within the request timeout.
    pub async fn commit(&self) -> Result<(), GroupError> {
        self.commit_offsets(self.positions()).await
    }

    /// Commits offsets of the caller's own.
    ///
    /// # Errors
    /// As [`GroupConsumer::commit`].
    pub async fn commit_offsets(&self, offsets: Vec<CommittedOffset>) -> Result<(), GroupError> {
        let wait = self.client.config.request_timeout;
        commit(&self.client, &self.metadata(), &offsets, wait).await
    }

    /// As [`GroupConsumer::commit`], beside the caller: what is to be committed is settled now, the outcome comes with
    /// the answer. Nobody needs to wait for it.
    pub fn commit_later(&self) -> oneshot::Receiver<Result<(), GroupError>> {
        let (sender, receiver) = oneshot::channel();
        let (client, group, offsets) = (self.client.clone(), self.metadata(), self.positions());
        self.client.connector.tasks.spawn(async move {
            let outcome = commit(&client, &group, &offsets, client.config.request_timeout).await;
            if let Err(error) = &outcome {
                tracing::debug!(error = error as &dyn std::error::Error, "offsets were not committed");
            }
            // Nobody may be waiting.
            let _ = sender.send(outcome);
        });
        receiver
    }

    /// What the group has committed of some partitions; those without an offset are left out.
    ///
    /// # Errors
    /// [`GroupError::Refused`], [`GroupError::Client`].
    pub async fn committed(&self, partitions: &[TopicPartition]) -> Result<Vec<CommittedOffset>, GroupError> {
        committed(&self.client, &self.config.group_id, partitions, self.client.config.request_timeout).await
    }

    /// How far each partition held has been handed out, as it would be committed.
    #[must_use]
    pub fn positions(&self) -> Vec<CommittedOffset> {
        let position = |(topic, partition, offset, leader_epoch): (Arc<str>, i32, i64, i32)| CommittedOffset {
            topic: topic.to_string(),
            partition,
            offset,
            leader_epoch,
            metadata: None,
        };
        let known = self.consumer.positions().into_iter().filter(|(_, _, offset, _)| *offset != NOWHERE);
        known.map(position).collect()
    }

    /// Goes on at another offset of a partition held.
    ///
    /// # Errors
    /// [`ClientError::UnknownPartition`] when it is not held.
    pub fn seek(&mut self, topic: &str, partition: i32, offset: Offset) -> Result<(), GroupError> {
        Ok(self.consumer.seek(topic, partition, offset)?)
    }

    /// The partitions held.
    #[must_use]
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.held.iter().cloned().collect()
    }

    /// Who the member is, for offsets committed by a transaction ([`crate::Transaction::send_offsets`]).
    #[must_use]
    pub fn metadata(&self) -> GroupMetadata {
        let view = self.views.borrow();
        GroupMetadata {
            group_id: self.config.group_id.clone(),
            generation_id: view.generation,
            member_id: view.member_id.clone(),
            group_instance_id: self.config.group_instance_id.clone(),
        }
    }

    /// Leaves the group, so that others take over at once; a static member keeps its place. Commits before when the
    /// configuration has it committed automatically.
    ///
    /// # Errors
    /// As [`GroupConsumer::commit`]; it has left all the same.
    pub async fn close(mut self) -> Result<(), GroupError> {
        let committed = match self.config.auto_commit_interval {
            Some(_) => self.commit().await,
            None => Ok(()),
        };
        let _ = self.commands.send(Command::Leave).await;
        // The task ends behind its leave, and the view's sender with it.
        while self.views.changed().await.is_ok() {}
        committed
    }

    /// Does what the caller was told of with the poll before.
    async fn let_go(&mut self) -> Result<(), GroupError> {
        if let Some((number, partitions)) = self.releasing.clone() {
            self.tell(Command::Released(number)).await?;
            self.take_away(&partitions);
            self.releasing = None;
        }
        Ok(())
    }

    /// Brings the caller up to the view; `None` when it is.
    async fn follow(&mut self, view: &View, deadline: Instant) -> Result<Option<Polled>, GroupError> {
        if let Some(failed) = &view.failed {
            return Err(failed.clone());
        }
        if view.losses != self.losses {
            self.losses = view.losses;
            self.releasing = None;
            let lost = std::mem::take(&mut self.held);
            self.take_away(&lost);
            if !lost.is_empty() {
                return Ok(Some(Polled::Lost(lost.into_iter().collect())));
            }
        }
        if view.out {
            self.tell(Command::Polled).await?;
        }
        if let Some((number, partitions)) = &view.release {
            let told: Vec<TopicPartition> = partitions.intersection(&self.held).cloned().collect();
            if self.config.auto_commit_interval.is_some() && !told.is_empty() {
                self.commit_beside().await;
            }
            self.releasing = Some((*number, partitions.clone()));
            if !told.is_empty() {
                return Ok(Some(Polled::Revoked(told)));
            }
            self.let_go().await?;
        }
        let added: Vec<TopicPartition> = view.assigned.difference(&self.held).cloned().collect();
        if added.is_empty() {
            return Ok(None);
        }
        let begun = tokio::time::timeout_at(deadline.into(), self.begin(&added)).await;
        match begun {
            Ok(begun) => begun.map(|()| Some(Polled::Assigned(added))),
            Err(_) => Ok(Some(Polled::Records(Vec::new()))),
        }
    }

    /// Reads partitions from what is committed, or where the configuration says.
    async fn begin(&mut self, added: &[TopicPartition]) -> Result<(), GroupError> {
        let wait = self.client.config.request_timeout;
        let found = committed(&self.client, &self.config.group_id, added, wait).await?;
        let start = |partition: &TopicPartition| {
            let found =
                found.iter().find(|found| found.topic == partition.topic && found.partition == partition.partition);
            match (found, self.config.offset_reset) {
                (Some(found), _) => Offset::At(found.offset),
                (None, OffsetReset::Earliest) => Offset::Earliest,
                (None, OffsetReset::Latest) => Offset::Latest,
                // Told by the first fetch, as for an offset that is out of range.
                (None, OffsetReset::None) => Offset::At(NOWHERE),
            }
        };
        let assignment = |partition: &TopicPartition| Assignment {
            topic: partition.topic.clone(),
            partition: partition.partition,
            start: start(partition),
        };
        self.consumer.add(added.iter().map(assignment).collect()).await?;
        self.held.extend(added.iter().cloned());
        Ok(())
    }

    fn take_away(&mut self, partitions: &BTreeSet<TopicPartition>) {
        self.held.retain(|held| !partitions.contains(held));
        let is_taken = |topic: &str, number: i32| partitions.contains(&TopicPartition::new(topic, number));
        self.consumer.remove(is_taken);
    }

    /// Goes on behind an offset that is not in the log, where the configuration says.
    fn reset(&mut self, error: ClientError) -> Result<(), GroupError> {
        let (topic, partition, start) = match (&error, self.config.offset_reset) {
            (ClientError::OffsetOutOfRange { topic, partition, offset: NOWHERE }, OffsetReset::None) => {
                return Err(GroupError::NoOffset { topic: topic.clone(), partition: *partition });
            }
            (_, OffsetReset::None) => return Err(error.into()),
            (ClientError::OffsetOutOfRange { topic, partition, .. }, OffsetReset::Earliest) => {
                (topic, *partition, Offset::Earliest)
            }
            (ClientError::OffsetOutOfRange { topic, partition, .. }, OffsetReset::Latest) => {
                (topic, *partition, Offset::Latest)
            }
            // What was read up to there is what the log holds still (KIP-320).
            (ClientError::LogTruncated { topic, partition, end_offset, .. }, _) => {
                (topic, *partition, Offset::At(*end_offset))
            }
            _ => return Err(error.into()),
        };
        tracing::info!(error = &error as &dyn std::error::Error, to = ?start, "position is reset");
        Ok(self.consumer.seek(topic, partition, start)?)
    }

    fn commit_if_due(&mut self) {
        let Some(every) = self.config.auto_commit_interval else { return };
        if self.committed_at.elapsed() >= every && !self.held.is_empty() {
            self.committed_at = Instant::now();
            drop(self.commit_later());
        }
    }

    /// Commits before something is let go; a failure is not the poll's.
    async fn commit_beside(&self) {
        if let Err(error) = self.commit().await {
            tracing::debug!(error = &error as &dyn std::error::Error, "offsets were not committed");
        }
    }

    async fn tell(&self, command: Command) -> Result<(), GroupError> {
        self.commands.send(command).await.map_err(|_| self.ended())
    }

    fn ended(&self) -> GroupError {
        self.views.borrow().failed.clone().unwrap_or_else(|| ClientError::Closed.into())
    }
}

/// An offset no log has, for a partition that is to begin nowhere.
const NOWHERE: i64 = i64::MAX;

impl std::fmt::Debug for GroupConsumer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = &self.config.group_id;
        formatter.debug_struct("GroupConsumer").field("group_id", id).field("held", &self.held).finish_non_exhaustive()
    }
}
