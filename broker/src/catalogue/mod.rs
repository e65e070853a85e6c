//! The catalogue: which topics there are, kept in a log of its own, `__pillion_catalogue-0`.
//!
//! Every change is a record, synced before anyone sees its effect, and replayed at start. The latest record of a key
//! counts; a null value takes the key away. Keys are text: `topic/NAME`, `broker-config/NODE`, `leader-epoch`,
//! `producer-ids`.

mod broker_configs;
mod error;
mod name;
mod record;
#[cfg(test)]
mod tests;
mod topics;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use pillion_wire::records::{BatchBuilder, BatchHeader, Compression, Record, read_batch};
use uuid::Uuid;

pub use error::CatalogueError;
pub(crate) use name::check_topic_name;
pub(crate) use record::{ConfigEntry, TopicRecord};
use record::{LeaderEpochRecord, ProducerIdsRecord};
pub(crate) use topics::{Topic, Topics, TopicsSnapshot, is_internal};

use crate::disk::OpenFiles;
use crate::log::compaction::CompactionError;
use crate::log::{CleanedGroup, Log, LogConfig, LogError, Opening, ReadFrom};

/// Its directory. Never `__cluster_metadata-0`, which is Kafka's own and means something else.
pub(crate) const DIRECTORY: &str = "__pillion_catalogue-0";
const LEADER_EPOCH_KEY: &str = "leader-epoch";
const PRODUCER_IDS_KEY: &str = "producer-ids";
const TOPIC_PREFIX: &str = "topic/";
/// Producer ids made durable at once: a crash wastes at most so many.
const PRODUCER_IDS_BLOCK: i64 = 1_000;

/// The catalogue's log and what it says.
pub(crate) struct Catalogue {
    state: Mutex<State>,
}

struct State {
    log: Log,
    entries: BTreeMap<String, Bytes>,
    leader_epoch: i32,
    next_producer_id: i64,
    /// End of the block of producer ids that is durable.
    producer_ids_end: i64,
    /// A sync failed: no later one makes up for it, so nothing more is written before the next start.
    offline: bool,
}

impl Catalogue {
    /// Opens and replays the catalogue in a data directory. Blocks.
    ///
    /// # Errors
    /// [`CatalogueError`] when it cannot be read, or was written by a newer version.
    pub(crate) fn open(files: &Arc<OpenFiles>, data: &Path, clean: bool) -> Result<Self, CatalogueError> {
        let opening = Opening {
            clean,
            recovery_point: 0,
            is_known: false,
            log_start_offset: 0,
            cleaned_to: None,
            now_ms: crate::clock::now_ms(),
        };
        let log = Log::open(Arc::clone(files), &data.join(DIRECTORY), Uuid::nil(), Arc::new(log_config()), opening)?;
        let entries = replay(&log)?;
        let leader_epoch = record::read::<LeaderEpochRecord>(entries.get(LEADER_EPOCH_KEY))?;
        let producer_ids = record::read::<ProducerIdsRecord>(entries.get(PRODUCER_IDS_KEY))?;
        let next_producer_id = producer_ids.map_or_else(first_producer_id, |record| record.next_producer_id);
        let state = State {
            log,
            entries,
            leader_epoch: leader_epoch.map_or(0, |record| record.leader_epoch),
            next_producer_id,
            producer_ids_end: next_producer_id,
            offline: false,
        };
        Ok(Self { state: Mutex::new(state) })
    }

    /// The topics it holds, with their names.
    ///
    /// # Errors
    /// [`CatalogueError`] when a record is not readable.
    pub(crate) fn topics(&self) -> Result<Vec<(String, TopicRecord)>, CatalogueError> {
        let state = self.state.lock();
        let topics = state.entries.range(TOPIC_PREFIX.to_owned()..);
        let topics = topics.map_while(|(key, value)| Some((key.strip_prefix(TOPIC_PREFIX)?.to_owned(), value)));
        topics
            .filter_map(|(name, value)| Some(record::read(Some(value)).transpose()?.map(|record| (name, record))))
            .collect()
    }

    /// Whether nothing was ever written to it: the data directory is new, or another program's.
    pub(crate) fn is_new(&self) -> bool {
        self.state.lock().log.next_offset() == 0
    }

    /// The epoch to write in. After an unclean stop it is a new one, durable before this returns: a consumer that
    /// read past what survived is then told to truncate instead of silently skipping. Blocks.
    ///
    /// # Errors
    /// [`CatalogueError`] when it cannot be written.
    pub(crate) fn begin_leader_epoch(&self, clean: bool) -> Result<i32, CatalogueError> {
        let mut state = self.state.lock();
        let is_new = state.log.next_offset() == 0;
        if !clean && !is_new {
            let leader_epoch = state.leader_epoch + 1;
            state.write([(LEADER_EPOCH_KEY.to_owned(), Some(record::write(&LeaderEpochRecord { leader_epoch })?))])?;
            state.leader_epoch = leader_epoch;
        }
        Ok(state.leader_epoch)
    }

    /// Makes topics and records given as null for deletion durable, all or none. Blocks.
    ///
    /// # Errors
    /// [`CatalogueError`] when it cannot be written.
    pub(crate) fn put_topics(
        &self,
        topics: impl IntoIterator<Item = (String, Option<TopicRecord>)>,
    ) -> Result<(), CatalogueError> {
        let changes = topics.into_iter().map(|(name, topic)| {
            let value = topic.map(|topic| record::write(&topic)).transpose()?;
            Ok((format!("{TOPIC_PREFIX}{name}"), value))
        });
        let changes = changes.collect::<Result<Vec<_>, CatalogueError>>()?;
        self.state.lock().write(changes)
    }

    /// Takes over what another program kept in the data directory, as one durable batch, all or nothing. The epoch
    /// begins where that program's ended, producer ids above its own. Blocks.
    ///
    /// # Errors
    /// [`CatalogueError`] when it cannot be written.
    pub(crate) fn adopt(
        &self,
        topics: impl IntoIterator<Item = (String, TopicRecord)>,
        leader_epoch: i32,
        next_producer_id: i64,
    ) -> Result<(), CatalogueError> {
        let next_producer_id = first_producer_id().max(next_producer_id);
        let mut changes = vec![
            (LEADER_EPOCH_KEY.to_owned(), Some(record::write(&LeaderEpochRecord { leader_epoch })?)),
            (PRODUCER_IDS_KEY.to_owned(), Some(record::write(&ProducerIdsRecord { next_producer_id })?)),
        ];
        for (name, topic) in topics {
            changes.push((format!("{TOPIC_PREFIX}{name}"), Some(record::write(&topic)?)));
        }
        let mut state = self.state.lock();
        state.write(changes)?;
        state.leader_epoch = leader_epoch;
        state.next_producer_id = next_producer_id;
        state.producer_ids_end = next_producer_id;
        Ok(())
    }

    /// A producer id that was never given out before. Blocks once in a block.
    ///
    /// # Errors
    /// [`CatalogueError`] when the next block cannot be made durable.
    pub(crate) fn next_producer_id(&self) -> Result<i64, CatalogueError> {
        let mut state = self.state.lock();
        if state.next_producer_id == state.producer_ids_end {
            let next_producer_id = state.producer_ids_end + PRODUCER_IDS_BLOCK;
            let value = record::write(&ProducerIdsRecord { next_producer_id })?;
            state.write([(PRODUCER_IDS_KEY.to_owned(), Some(value))])?;
            state.producer_ids_end = next_producer_id;
        }
        let id = state.next_producer_id;
        state.next_producer_id += 1;
        Ok(id)
    }

    /// Compacts the log when it is time to. Blocks; changes wait meanwhile, for the log is small.
    ///
    /// # Errors
    /// [`CompactionError`]; the log is whole all the same.
    pub(crate) fn compact(&self, dedupe_buffer_bytes: usize) -> Result<(), CompactionError> {
        let mut state = self.state.lock();
        let failed = |error: LogError| CompactionError::Write { source: std::io::Error::other(error) };
        if state.offline {
            return Ok(());
        }
        let log = &mut state.log;
        let now_ms = crate::clock::now_ms();
        log.save_epochs().map_err(failed)?;
        log.remove_due(now_ms).map_err(|source| CompactionError::Write { source })?;
        // No checkpoint file speaks of this log: a start reads all of it, and expects what compaction leaves.
        log.recovery_point_written(log.recovery_point());
        let Some(round) = log.begin_round(log.next_offset(), now_ms) else { return Ok(()) };
        let mut swap_in = |group: &CleanedGroup| log.swap_in(group, now_ms).map_err(failed);
        let (end, _) = round.run(dedupe_buffer_bytes, &|| true, &mut swap_in)?;
        log.cleaned_to(end);
        Ok(())
    }

    /// Trims and syncs the log for a clean stop. Blocks.
    ///
    /// # Errors
    /// [`CatalogueError`] when it cannot be written.
    pub(crate) fn close(&self) -> Result<(), CatalogueError> {
        let mut state = self.state.lock();
        if state.offline {
            return Err(CatalogueError::Offline);
        }
        Ok(state.log.close()?)
    }
}

/// Where a catalogue's producer ids begin. Kafka counts from 0, and takes a batch whose id and sequence its log holds for
/// one sent again: it would acknowledge and drop it. So that logs can be carried from one broker to another, each
/// catalogue begins somewhere of its own, far above what Kafka gives out, and below 2^53, up to which clients that keep
/// numbers as fractions are exact.
fn first_producer_id() -> i64 {
    1 << 52 | i64::from(rand::random::<u32>()) << 20
}

/// Settings of the catalogue's own log, compiled in: they must be known before anything can be read.
fn log_config() -> LogConfig {
    LogConfig {
        segment_bytes: 1 << 20,
        grow_ahead_bytes: 64 * 1024,
        delete: false,
        compact: true,
        ..LogConfig::default()
    }
}

impl State {
    /// Appends one batch of changes and syncs it, then takes it in.
    fn write(&mut self, changes: impl IntoIterator<Item = (String, Option<Bytes>)>) -> Result<(), CatalogueError> {
        let changes: Vec<_> = changes.into_iter().collect();
        // A batch without records would end the log for whoever reads it back.
        if changes.is_empty() {
            return Ok(());
        }
        let mut builder = BatchBuilder::new(Compression::None);
        let timestamp = crate::clock::now_ms();
        for (key, value) in &changes {
            let key = Some(Bytes::from(key.clone()));
            builder.push(&Record { timestamp, key, value: value.clone(), ..Record::default() });
        }
        if self.offline {
            return Err(CatalogueError::Offline);
        }
        let batch = builder.build(None)?;
        let header = BatchHeader::parse(&batch)?;
        let durable_end = self.log.next_offset();
        self.log.append(&batch, header, self.leader_epoch, timestamp)?;
        if let Err(error) = self.log.sync() {
            self.offline = true;
            if let Err(error) = self.log.mark_sync_failed(durable_end) {
                tracing::error!(%error, "cannot note down up to where the catalogue is durable");
            }
            return Err(error.into());
        }
        for (key, value) in changes {
            apply(&mut self.entries, key, value);
        }
        Ok(())
    }
}

fn apply(entries: &mut BTreeMap<String, Bytes>, key: String, value: Option<Bytes>) {
    match value {
        Some(value) => entries.insert(key, value),
        None => entries.remove(&key),
    };
}

/// The latest value of every key.
fn replay(log: &Log) -> Result<BTreeMap<String, Bytes>, CatalogueError> {
    let mut entries = BTreeMap::new();
    let mut offset = log.log_start_offset();
    while let Some(slice) = log.read(offset, log.end(), 1, ReadFrom::Disk)? {
        let mut batch = vec![0; slice.length];
        let read = slice.file.read_at(slice.position, &mut batch);
        read.map_err(|source| LogError::Io { path: DIRECTORY.into(), source })?;
        let (header, records) = read_batch(&Bytes::from(batch))?;
        for record in records {
            let key = record.key.unwrap_or_default();
            apply(&mut entries, String::from_utf8_lossy(&key).into_owned(), record.value);
        }
        offset = header.next_offset();
    }
    Ok(entries)
}
