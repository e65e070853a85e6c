//! Reading as a member of a group: what is printed is committed.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use anyhow::Result;
use pillion_client::{
    Admin, Client, CommittedOffset, GroupConfig, GroupConsumer, GroupError, Offset, Polled, TopicPartition,
};
use tokio_util::sync::CancellationToken;

use super::printing::Printer;

/// How long one poll waits for records.
const POLL_WAIT: Duration = Duration::from_millis(500);
/// How often what was printed is committed; what a crash within it repeats.
const COMMIT_INTERVAL: Duration = Duration::from_secs(5);

/// Reads and prints until enough records, the end of what is assigned (`exits_at_end`), or `stop`; then commits and
/// leaves the group.
pub(super) async fn read(
    client: &Client,
    config: GroupConfig,
    exits_at_end: bool,
    printer: &mut Printer,
    stop: &CancellationToken,
) -> Result<()> {
    let mut member = Member {
        consumer: client.group_consumer(config)?,
        admin: client.admin(),
        printed: BTreeMap::new(),
        ends: exits_at_end.then(BTreeMap::new),
        committed_at: Instant::now(),
    };
    let outcome = member.read(printer, stop).await;
    let committed = member.commit().await;
    member.consumer.close().await?;
    outcome.and(committed)
}

struct Member {
    consumer: GroupConsumer,
    admin: Admin,
    /// Where to go on behind what was printed and is not committed yet.
    printed: BTreeMap<TopicPartition, (i64, i32)>,
    /// Where the partitions held ended when they were assigned; `None` when there is no end.
    ends: Option<BTreeMap<TopicPartition, i64>>,
    committed_at: Instant,
}

impl Member {
    async fn read(&mut self, printer: &mut Printer, stop: &CancellationToken) -> Result<()> {
        while printer.left > 0 && !self.is_at_end() {
            let polled = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                polled = self.consumer.poll(POLL_WAIT) => polled?,
            };
            match polled {
                Polled::Records(records) => {
                    let mut stdout = BufWriter::new(std::io::stdout().lock());
                    for record in &records {
                        if printer.print(&mut stdout, record)? {
                            let place = TopicPartition::new(&*record.topic, record.partition);
                            self.printed.insert(place, (record.offset + 1, record.leader_epoch));
                        }
                    }
                    stdout.flush()?;
                }
                Polled::Assigned(added) => self.note_ends(&added).await?,
                Polled::Revoked(_) => self.commit().await?,
                Polled::Lost(lost) => self.printed.retain(|held, _| !lost.contains(held)),
            }
            if self.committed_at.elapsed() >= COMMIT_INTERVAL {
                self.commit().await?;
            }
        }
        Ok(())
    }

    async fn note_ends(&mut self, added: &[TopicPartition]) -> Result<()> {
        let Some(ends) = &mut self.ends else { return Ok(()) };
        let mut topics: Vec<&str> = added.iter().map(|one| one.topic.as_str()).collect();
        topics.dedup();
        for topic in topics {
            for listed in self.admin.list_offsets(topic, Offset::Latest).await? {
                ends.insert(TopicPartition::new(topic, listed.partition), listed.offset.unwrap_or(0));
            }
        }
        Ok(())
    }

    /// Whether everything held has been read up to its end. A member that holds nothing yet is not.
    fn is_at_end(&self) -> bool {
        let Some(ends) = &self.ends else { return false };
        let held = self.consumer.assignment();
        let positions = self.consumer.positions();
        let at_end = |held: &TopicPartition| {
            let position = positions.iter().find(|one| one.topic == held.topic && one.partition == held.partition);
            ends.get(held).is_some_and(|end| *end == 0 || position.is_some_and(|position| position.offset >= *end))
        };
        !held.is_empty() && held.iter().all(at_end)
    }

    async fn commit(&mut self) -> Result<()> {
        let offset = |(place, (offset, leader_epoch)): (&TopicPartition, &(i64, i32))| CommittedOffset {
            topic: place.topic.clone(),
            partition: place.partition,
            offset: *offset,
            leader_epoch: *leader_epoch,
            metadata: None,
        };
        let offsets: Vec<_> = self.printed.iter().map(offset).collect();
        self.committed_at = Instant::now();
        match self.consumer.commit_offsets(offsets).await {
            Ok(()) => self.printed.clear(),
            // What is kept is committed once the rebalance is over; what goes to others they read again.
            Err(GroupError::Rebalancing | GroupError::NotOfGeneration { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
