//! Retention, deletion of records and compaction of a partition in use.

use std::sync::atomic::AtomicBool;
use std::thread;

use super::*;
use crate::disk::HeldSyncs;
use crate::log::LogError;
use crate::log::compaction::CompactionError;

const NOW_MS: i64 = 1_000_000;

/// Appends `count` records, each of another key, and waits until they are durable.
fn fill(partition: &Arc<Partition>, count: i64) {
    let mut last = 0;
    for number in 0..count {
        let mut builder = BatchBuilder::new(Compression::None);
        let key = Some(Bytes::from(format!("key {number}")));
        builder.push(&Record { key, value: Some(Bytes::from(vec![1; 300])), ..Record::default() });
        let batch = builder.build(None).expect("builds");
        let header = BatchHeader::verify(&batch).expect("whole");
        last = partition.append(&batch, header).expect("appends").next_offset;
    }
    wait_until_durable(partition, last);
}

/// Deletes below `offset`, as if where the log starts had been written down.
fn delete_records(partition: &Arc<Partition>, offset: i64) -> Result<i64, LogError> {
    let start = partition.plan_start(offset);
    partition.end_plan(true);
    start
}

fn wait_until_durable(partition: &Arc<Partition>, offset: i64) {
    let (tell, told) = mpsc::channel();
    partition.when_durable(offset, Box::new(move |result| tell.send(result.is_ok()).expect("sends")));
    assert!(told.recv_timeout(LONG).expect("is told"), "it is durable");
}

fn wait_until_held(held: &HeldSyncs) {
    let began = Instant::now();
    while held.waiting() == 0 {
        assert!(began.elapsed() < LONG, "nothing is synced");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether the partition answers, rather than waits for whoever holds it.
fn answers(partition: &Arc<Partition>) -> bool {
    let (tell, told) = mpsc::channel();
    let partition = Arc::clone(partition);
    thread::spawn(move || tell.send(partition.offsets().log_end_offset));
    told.recv_timeout(Duration::from_secs(2)).is_ok()
}

#[test]
fn the_partition_answers_while_the_names_of_deleted_segments_are_synced() {
    let disk = SimulatedDisk::new();
    let partition = partition(&disk, Durability::Sync);
    fill(&partition, 60);
    assert_eq!(delete_records(&partition, 40).expect("deletes"), 40);
    let held = disk.hold_syncs_of("/data/t-0");
    let removing = Arc::clone(&partition);
    let removing = thread::spawn(move || removing.remove_segments(NOW_MS));
    wait_until_held(&held);
    assert!(answers(&partition));
    assert_eq!(partition.checkpoint().log_start_offset, Some(40), "until they are, the start is written down");
    held.release();
    assert!(removing.join().expect("ends").expect("removes") > 1);
}

#[test]
fn a_start_that_could_not_be_written_down_is_nobodys() {
    let partition = partition(&SimulatedDisk::new(), Durability::Sync);
    fill(&partition, 60);
    for (offset, is_durable, expected) in [(40, false, 0), (20, true, 20), (30, false, 20), (-1, true, 60)] {
        let planned = partition.plan_start(offset).expect("plans");
        assert_eq!(partition.checkpoint().log_start_offset, Some(planned), "it is to be written down");
        assert!(partition.offsets().log_start_offset < planned, "and not to be seen before");
        partition.end_plan(is_durable);
        assert_eq!(partition.offsets().log_start_offset, expected, "planned at {offset}");
        assert_eq!(partition.checkpoint().log_start_offset.unwrap_or(0), expected, "planned at {offset}");
    }
}

#[test]
fn thousands_of_segments_are_deleted_in_the_end() {
    let disk = SimulatedDisk::new();
    let config = LogConfig { segment_bytes: 14, file_delete_delay_ms: 0, ..config() };
    let partition = partition_with(&disk, Durability::Sync, config);
    fill(&partition, 500);
    assert_eq!(delete_records(&partition, -1).expect("deletes"), 500);
    assert_eq!(partition.remove_segments(NOW_MS).expect("removes"), 499, "all but the active one");
    let left = disk.list(&PathBuf::from("/data/t-0")).expect("lists");
    assert!(left.len() <= 6, "their files are gone: {left:?}");
}

fn compacted() -> LogConfig {
    LogConfig { compact: true, min_cleanable_dirty_ratio: 0.0, ..config() }
}

/// A partition whose recovery point has passed a roll, so that something may be compacted.
fn filled(disk: &SimulatedDisk) -> Arc<Partition> {
    let partition = partition_with(disk, Durability::Sync, compacted());
    fill(&partition, 61);
    partition.write_checkpoint().expect("saves the epochs that the recovery point waits for");
    wait_until_recovery_point(&partition, 40);
    partition.checkpoint_written(&partition.checkpoint());
    assert!(partition.cleanable(NOW_MS).is_some());
    partition
}

#[test]
fn the_partition_answers_while_the_names_of_compacted_segments_are_synced() {
    let disk = SimulatedDisk::new();
    let partition = filled(&disk);
    let cleaned = disk.hold_syncs_of("/data/t-0/00000000000000000000.log.cleaned");
    let compacting = Arc::clone(&partition);
    let compacting = thread::spawn(move || compacting.compact(1 << 20, NOW_MS, &AtomicBool::new(false)));
    wait_until_held(&cleaned);
    let names = disk.hold_syncs_of("/data/t-0");
    cleaned.release();
    wait_until_held(&names);
    assert!(answers(&partition));
    names.release();
    assert!(compacting.join().expect("ends").expect("compacts"));
}

#[test]
fn retention_that_is_quicker_than_compaction_only_ends_its_round() {
    let disk = SimulatedDisk::new();
    let partition = filled(&disk);
    let cleaned = disk.hold_syncs_of("/data/t-0/00000000000000000000.log.cleaned");
    let compacting = Arc::clone(&partition);
    let compacting = thread::spawn(move || compacting.compact(1 << 20, NOW_MS, &AtomicBool::new(false)));
    wait_until_held(&cleaned);
    delete_records(&partition, 30).expect("deletes");
    assert!(partition.remove_segments(NOW_MS).expect("removes") > 0);
    cleaned.release();
    assert!(matches!(compacting.join().expect("ends"), Err(CompactionError::Stopped)));
    assert!(partition.compact(1 << 20, NOW_MS, &AtomicBool::new(false)).expect("compacts what is left"));
    let slice = partition.read(30, 1, ReadFrom::Disk, Isolation::ReadUncommitted).expect("reads");
    assert!(slice.is_some());
    assert!(partition.read(29, 1, ReadFrom::Disk, Isolation::ReadUncommitted).is_err());
}

fn wait_until_recovery_point(partition: &Arc<Partition>, wanted: i64) {
    let began = Instant::now();
    while partition.checkpoint().recovery_point < wanted {
        assert!(began.elapsed() < LONG, "it stays at {}", partition.checkpoint().recovery_point);
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_recovery_point_passes_a_roll_once_the_epochs_are_written_though_nothing_more_is_appended() {
    for durability in [Durability::Sync, Durability::Async] {
        let partition = partition(&SimulatedDisk::new(), durability);
        fill(&partition, 20);
        assert_eq!(partition.checkpoint().recovery_point, 0, "the epochs are not written down yet");
        partition.write_checkpoint().expect("writes");
        wait_until_recovery_point(&partition, 10);
        let before = partition.checkpoint().recovery_point;
        fill(&partition, 20);
        wait_until_recovery_point(&partition, before + 1);
    }
}

#[test]
fn a_checkpoint_made_while_a_sync_runs_is_synced_too() {
    let disk = SimulatedDisk::new();
    let config = LogConfig { segment_bytes: 1 << 20, ..config() };
    let partition = partition_with(&disk, Durability::Sync, config);
    fill(&partition, 1_000);
    let held = disk.hold_syncs_of("/data/t-0/00000000000000000000.log");
    append(&partition);
    wait_until_held(&held);
    partition.write_checkpoint().expect("writes");
    held.release();
    wait_until_recovery_point(&partition, 1_001);
}

#[test]
fn a_deleted_partition_never_shows_what_was_made_under_its_name() {
    let disk = SimulatedDisk::new();
    let deleted = partition(&disk, Durability::Sync);
    fill(&deleted, 3);
    deleted.delete();
    disk.rename(&PathBuf::from("/data/t-0"), &PathBuf::from("/data/t-0-delete")).expect("renames");
    fill(&partition(&disk, Durability::Sync), 3);
    for from in [ReadFrom::Disk, ReadFrom::Memory] {
        let read = deleted.read(0, 1 << 20, from, Isolation::ReadUncommitted);
        assert!(matches!(read, Err(LogError::Deleted)));
    }
    assert!(matches!(delete_records(&deleted, 1), Err(LogError::Deleted)));
}

#[test]
fn no_records_are_deleted_of_a_partition_that_is_offline() {
    let disk = SimulatedDisk::new();
    let partition = partition(&disk, Durability::Sync);
    fill(&partition, 3);
    disk.fail_syncs(true);
    let next_offset = append(&partition).next_offset;
    let (tell, told) = mpsc::channel();
    partition.when_durable(next_offset, Box::new(move |result| tell.send(result.is_ok()).expect("sends")));
    assert!(!told.recv_timeout(LONG).expect("is told"));
    assert!(matches!(delete_records(&partition, 2), Err(LogError::Offline(_))));
}

#[test]
fn after_a_failed_sync_a_start_believes_only_what_was_synced_whatever_was_shown() {
    let disk = SimulatedDisk::new();
    let config = LogConfig { flush_messages: 5, ..config() };
    let before = partition_with(&disk, Durability::Async, config);
    fill(&before, 5);
    let began = Instant::now();
    while before.state.lock().durable_end < 5 {
        assert!(began.elapsed() < LONG, "it is never synced");
        thread::sleep(Duration::from_millis(1));
    }
    disk.fail_syncs_of("/data/t-0/00000000000000000000.log", true);
    fill(&before, 5);
    while before.state.lock().closed.is_none() {
        assert!(began.elapsed() < LONG, "it is never taken offline");
        thread::sleep(Duration::from_millis(1));
    }
    disk.fail_syncs_of("/data/t-0/00000000000000000000.log", false);
    assert_eq!(before.offsets().high_watermark, 10, "they were shown");
    assert_eq!(partition(&disk, Durability::Async).offsets().log_end_offset, 5);
}

#[test]
fn whichever_operation_of_a_compaction_fails_the_partition_is_whole_or_offline_and_so_is_the_next_start() {
    let mut went_offline = 0;
    for operation in 1.. {
        let disk = SimulatedDisk::new();
        let partition = filled(&disk);
        let end = partition.offsets().log_end_offset;
        let before = disk.operations();
        disk.fail_nth_operation(before + operation);
        let outcome = partition.compact(1 << 20, NOW_MS, &AtomicBool::new(false));
        if disk.operations() < before + operation {
            assert!(outcome.expect("nothing failed"));
            break;
        }
        if partition.is_offline() {
            went_offline += 1;
        } else {
            assert_readable(&partition, end, operation);
        }
        partition.shared.scheduler.stop();
        let again = partition_with(&disk, Durability::Sync, compacted());
        assert_eq!(again.offsets().log_end_offset, end, "operation {operation}");
        assert_readable(&again, end, operation);
    }
    assert!(went_offline > 0, "some operations cannot be taken back");
}

/// Every offset below `end` is answered by the batch that holds it, or by the next one.
fn assert_readable(partition: &Arc<Partition>, end: i64, operation: u64) {
    for offset in 0..end {
        let slice = partition.read(offset, 1, ReadFrom::Disk, Isolation::ReadUncommitted);
        let slice = slice.unwrap_or_else(|error| panic!("operation {operation}, offset {offset}: {error}"));
        let slice = slice.unwrap_or_else(|| panic!("operation {operation}: nothing at offset {offset}"));
        let mut bytes = vec![0; slice.length];
        slice.file.read_at(slice.position, &mut bytes).expect("reads");
        assert!(BatchHeader::verify(&bytes).expect("a whole batch").last_offset() >= offset, "operation {operation}");
    }
}
