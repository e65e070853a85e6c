mod upkeep;

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use bytes::Bytes;
use pillion_wire::records::{BatchBuilder, BatchHeader, BatchProducer, Compression, Record};

use uuid::Uuid;

use super::*;
use crate::disk::{Disk, SimulatedDisk};
use crate::log::{Appended, LogConfig, Opening, ReadFrom};

const LONG: Duration = Duration::from_secs(20);

fn config() -> LogConfig {
    LogConfig { segment_bytes: 4096, grow_ahead_bytes: 4096, ..LogConfig::default() }
}

/// An empty partition `t-0`.
pub(crate) fn partition(disk: &SimulatedDisk, durability: Durability) -> Arc<Partition> {
    partition_with(disk, durability, config())
}

fn partition_with(disk: &SimulatedDisk, durability: Durability, config: LogConfig) -> Arc<Partition> {
    disk.create_directory(&PathBuf::from("/data")).expect("makes");
    let files = Arc::new(OpenFiles::new(Arc::new(disk.clone()), 16));
    let opening =
        Opening { clean: false, recovery_point: 0, is_known: true, log_start_offset: 0, cleaned_to: None, now_ms: 0 };
    let directory = PathBuf::from("/data/t-0");
    let log = Log::open(Arc::clone(&files), &directory, Uuid::nil(), Arc::new(config), opening).expect("opens");
    disk.sync_all(&directory).expect("syncs");
    let shared = Arc::new(PartitionShared {
        files,
        scheduler: SyncScheduler::default(),
        dirty: DirtyBytes::default(),
        space: SpaceGuard::new("/data".into(), None),
        metrics: Arc::default(),
        durability,
        leader_epoch: 0,
    });
    Arc::new(Partition::new("t".into(), 0, false, log, shared))
}

fn batch(producer: Option<BatchProducer>) -> (Bytes, BatchHeader) {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(&Record { value: Some(Bytes::from(vec![1; 300])), ..Record::default() });
    let batch = builder.build(producer).expect("builds");
    let header = BatchHeader::verify(&batch).expect("whole");
    (batch, header)
}

fn append(partition: &Arc<Partition>) -> Appended {
    let (batch, header) = batch(None);
    partition.append(&batch, header).expect("appends")
}

#[test]
fn an_append_is_told_durable_only_once_it_survives_a_crash() {
    for seed in 0..40 {
        let disk = SimulatedDisk::new();
        let before = partition(&disk, Durability::Sync);
        let (tell, told) = mpsc::channel();
        for _ in 0..30 {
            let next_offset = append(&before).next_offset;
            let tell = tell.clone();
            before.when_durable(
                next_offset,
                Box::new(move |result| tell.send(result.map(|()| next_offset)).expect("sends")),
            );
        }
        let last = told.recv_timeout(LONG).expect("is told").expect("is durable");
        let high_watermark = before.offsets().high_watermark;
        disk.crash(seed);
        let after = partition(&disk, Durability::Sync).offsets();
        assert!(after.log_end_offset >= last.max(high_watermark), "seed {seed}: {after:?}");
        before.shared.scheduler.stop();
    }
}

#[test]
fn nothing_above_the_high_watermark_is_read() {
    let disk = SimulatedDisk::new();
    let partition = partition(&disk, Durability::Sync);
    let first = append(&partition).next_offset;
    let (tell, told) = mpsc::channel();
    partition.when_durable(first, Box::new(move |result| tell.send(result.is_ok()).expect("sends")));
    assert!(told.recv_timeout(LONG).expect("is told"));
    disk.fail_syncs(true);
    let second = append(&partition).next_offset;
    let (tell, told) = mpsc::channel();
    partition.when_durable(second, Box::new(move |result| tell.send(result.is_ok()).expect("sends")));
    assert!(!told.recv_timeout(LONG).expect("is told"), "an unsynced append is reported as failed");
    let slice = partition
        .read(0, 1 << 20, ReadFrom::Memory, Isolation::ReadUncommitted)
        .expect("reads")
        .expect("has the first batch");
    assert_eq!(slice.length, batch(None).0.len());
    assert!(partition.read(first, 1 << 20, ReadFrom::Memory, Isolation::ReadUncommitted).expect("reads").is_none());
    disk.fail_syncs(false);
    let (batch, header) = batch(None);
    assert!(
        matches!(partition.append(&batch, header), Err(AppendError::Offline)),
        "a failed sync is never tried again"
    );
}

#[test]
fn async_durability_shows_what_is_written() {
    let partition = partition(&SimulatedDisk::new(), Durability::Async);
    let appended = append(&partition);
    assert_eq!(partition.offsets().high_watermark, appended.next_offset);
}

#[test]
fn a_duplicate_answers_with_its_first_place_once_that_is_durable() {
    let partition = partition(&SimulatedDisk::new(), Durability::Sync);
    let (bytes, header) = batch(Some(BatchProducer { id: 1, epoch: 0, base_sequence: 0, transactional: false }));
    let first = partition.append(&bytes, header).expect("appends");
    let again = partition.append(&bytes, header).expect("is known");
    assert_eq!(first, again);
    let (tell, told) = mpsc::channel();
    partition.when_durable(again.next_offset, Box::new(move |result| tell.send(result.is_ok()).expect("sends")));
    assert!(told.recv_timeout(LONG).expect("is told"));
    assert_eq!(partition.offsets().log_end_offset, 1);
}

struct Counter(mpsc::Sender<()>);

impl HighWatermarkWatcher for Counter {
    fn is_done(&self) -> bool {
        false
    }

    fn moved(&self) {
        let _ = self.0.send(());
    }
}

#[test]
fn watchers_are_told_when_the_high_watermark_moves() {
    let partition = partition(&SimulatedDisk::new(), Durability::Sync);
    let (tell, told) = mpsc::channel();
    partition.watch(Arc::new(Counter(tell)));
    let next_offset = append(&partition).next_offset;
    told.recv_timeout(LONG).expect("is told");
    assert_eq!(partition.offsets().high_watermark, next_offset);
}

#[test]
fn an_idle_idempotent_producer_expires_and_then_produces() {
    let partition = partition(&SimulatedDisk::new(), Durability::Sync);
    let of = |base_sequence| {
        let producer = BatchProducer { id: 7, epoch: 0, base_sequence, transactional: false };
        let (batch, header) = batch(Some(producer));
        partition.append(&batch, header).map(|appended| appended.base_offset)
    };
    assert_eq!(of(0).ok(), Some(0));
    assert!(of(7).is_err(), "a batch is missing, as far as is known");
    partition.expire(i64::MAX, 1_000);
    assert_eq!(of(7).ok(), Some(1), "nothing is known of what came before");
    assert_eq!(of(8).ok(), Some(2), "and from here on it is held to its sequence");
    assert!(of(8).is_ok_and(|offset| offset == 2));
    assert!(of(11).is_err());
}
