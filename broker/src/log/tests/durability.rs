//! What a start finds written down, and what of it a crash or a full disk may take.

use super::*;
use crate::checkpoints::Checkpoints;

fn append_of(log: &mut Log, producer: i64, base_sequence: i32) {
    let producer = BatchProducer { id: producer, epoch: 0, base_sequence, transactional: false };
    let (batch, header) = batch(0, 1, Some(producer));
    log.append(&batch, header, 0, 0).expect("appends");
}

fn snapshots(disk: &SimulatedDisk) -> usize {
    let entries = disk.list(Path::new(DIRECTORY)).expect("lists");
    entries.iter().filter(|entry| entry.name.ends_with(".snapshot")).count()
}

#[test]
fn the_snapshot_that_the_checkpoint_file_still_speaks_of_outlives_the_next_one() {
    let disk = SimulatedDisk::new();
    let large = LogConfig { segment_bytes: 1 << 20, ..config() };
    let mut log = open_with(&disk, false, 0, large);
    log.append(&batch(0, 1, None).0, batch(0, 1, None).1, 0, 0).expect("appends");
    log.save_epochs().expect("saves");
    let mut written = Vec::new();
    for number in 0..5 {
        append_of(&mut log, 7, number);
        log.prepare_checkpoint().expect("writes");
        log.sync().expect("syncs");
        written.push(log.recovery_point());
        if number < 4 {
            log.recovery_point_written(log.recovery_point());
        }
    }
    assert_eq!(snapshots(&disk), 2, "the newest and the one before");
    disk.crash(3);
    let log = open_with(&disk, false, written[3], large);
    assert_eq!(log.snapshot_offset, written[3], "nothing before it is looked at again");
    assert_eq!(log.producers().len(), 1);
    assert_eq!(snapshots(&disk), 1, "no start leaves any behind");
}

#[test]
fn a_sealed_segment_ends_with_its_last_batch_though_the_disk_filled_up_while_it_grew() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, false);
    append(&mut log, 0, 2);
    // What a file system may leave of a growth that had no room for all of it.
    let path = log.files.path(0, FileKind::Log);
    disk.open(&path).expect("opens").grow(30_000).expect("grows");
    disk.fill_after(0);
    log.config = Arc::new(LogConfig { segment_bytes: 1 << 20, grow_ahead_bytes: 1 << 20, ..config() });
    while append(&mut log, 0, 2).next_offset < 160 {}
    disk.fill_after(1 << 20);
    log.roll(0).expect("rolls");
    let sealed = &log.segments[0];
    assert_eq!(disk.length_of(&path).expect("looks"), Some(sealed.size));
}

/// Opens the log as a start does whose checkpoint file says that it starts at `start`.
fn open_from(disk: &SimulatedDisk, start: i64, clean: bool) -> Result<Log, LogError> {
    let files = Arc::new(OpenFiles::new(Arc::new(disk.clone()), 8));
    let opening = Opening { log_start_offset: start, clean, ..Checkpoints::default().opening("t", 0) };
    Log::open(files, Path::new(DIRECTORY), Uuid::nil(), Arc::new(config()), opening)
}

#[test]
fn a_log_whose_deleted_records_were_never_synced_goes_on_at_its_start() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, false);
    while append(&mut log, 0, 2).next_offset < 40 {}
    log.sync().expect("syncs");
    // With log.durability=async records up to 60 were written, and deleted, before a crash took them.
    assert!(matches!(open_from(&disk, 60, true), Err(LogError::Shortened { .. })), "a clean stop loses nothing");
    let mut log = open_from(&disk, 60, false).expect("opens");
    assert_eq!((log.log_start_offset(), log.next_offset(), log.size()), (60, 60, 0));
    assert_eq!(append(&mut log, 0, 2).base_offset, 60);
    log.close().expect("closes");
    let log = open_from(&disk, 60, true).expect("opens");
    assert_eq!((log.log_start_offset(), log.next_offset()), (60, 62));
    let names: Vec<_> = disk.list(Path::new(DIRECTORY)).expect("lists").into_iter().map(|entry| entry.name).collect();
    assert!(!names.contains(&"00000000000000000000.log".to_owned()), "what was deleted is gone: {names:?}");
}

#[test]
fn damage_in_a_sealed_segment_is_not_cut_away_with_what_follows_when_its_index_is_made_again() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, false);
    while append(&mut log, 0, 2).next_offset < 60 {}
    log.close().expect("closes");
    let (sealed, index) = (log.files.path(0, FileKind::Log), log.files.path(0, FileKind::OffsetIndex));
    let (size, second) = (log.segments[0].size, read(&log, 0, 1).len() as u64);
    disk.remove(&index).expect("removes");
    assert_eq!(open(&disk, true).next_offset(), 60, "only the index is missing");
    disk.remove(&index).expect("removes");
    disk.open(&sealed).expect("opens").grow(size + 100).expect("grows");
    assert_eq!(open(&disk, true).next_offset(), 60, "zeroes behind the last batch are nobody's");
    disk.remove(&index).expect("removes");
    // The second batch's magic.
    disk.flip_bit(&sealed, second + 16, 7).expect("flips");
    let damaged = open_from(&disk, 0, true).err().expect("is damaged");
    assert!(std::error::Error::source(&damaged).expect("says why").to_string().contains("damaged"), "{damaged:?}");
    assert_eq!(disk.length_of(&sealed).expect("looks"), Some(size), "nothing is cut");
}

#[test]
fn a_sealed_index_that_was_grown_ahead_and_never_cut_is_made_again() {
    let disk = SimulatedDisk::new();
    let small = LogConfig { index_interval_bytes: 300, ..config() };
    let mut log = open_with(&disk, false, 0, small);
    for number in 0..60 {
        append(&mut log, 1_000 + number, 1);
    }
    log.close().expect("closes");
    let entries = log.segments[0].offsets.len();
    // As Kafka leaves them when the power is cut: it grows indexes to their full size.
    for (kind, length) in [(FileKind::OffsetIndex, 8 * 1_000), (FileKind::TimeIndex, 12 * 1_000)] {
        disk.open(&log.files.path(0, kind)).expect("opens").grow(length).expect("grows");
        let log = open_with(&disk, false, 60, small);
        assert_eq!(log.segments[0].offsets.len(), entries);
        assert_eq!(first_at_or_after(&log, 1_005, 60).expect("is there").offset, 5);
        assert_eq!(BatchHeader::verify(&read(&log, 5, 1)).expect("whole").base_offset, 5);
    }
}

#[test]
fn a_logs_start_stays_written_down_until_its_deletions_are_on_disk() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, false);
    while append(&mut log, 0, 2).next_offset < 60 {}
    log.sync().expect("syncs");
    let start = log.segments[2].base_offset;
    log.advance_log_start(start);
    disk.fail_syncs(true);
    assert!(log.remove_segments_below_start(0).is_err());
    assert_eq!(log.moved_start(), Some(start), "a crash may bring the segments back");
    disk.fail_syncs(false);
    log.remove_segments_below_start(0).expect("tries again");
    assert_eq!(log.moved_start(), None, "the first segment tells it from now on");
}

#[test]
fn no_segment_is_deleted_before_the_name_of_the_next_one_is_on_disk() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, false);
    append(&mut log, 0, 2);
    log.sync().expect("syncs");
    log.roll(0).expect("rolls");
    append(&mut log, 0, 2);
    log.advance_log_start(2);
    assert!(log.has_segments_below_start());
    assert_eq!(log.remove_segments_below_start(0).expect("waits"), 0);
    log.sync().expect("syncs");
    assert_eq!(log.remove_segments_below_start(0).expect("removes"), 1);
}

#[test]
fn the_recovery_point_waits_for_leader_epochs_though_the_logs_start_has_passed_them() {
    let mut log = open(&SimulatedDisk::new(), false);
    append(&mut log, 0, 2);
    log.save_epochs().expect("saves");
    let (batch, header) = batch(0, 2, None);
    log.append(&batch, header, 1, 0).expect("appends");
    log.roll(0).expect("rolls");
    append(&mut log, 0, 2);
    // Not written down yet: a crash may take it back.
    log.advance_log_start(4);
    log.sync().expect("syncs");
    assert_eq!(log.recovery_point(), 0);
    log.save_epochs().expect("saves");
    assert_eq!(log.recovery_point(), 4);
}

#[test]
fn an_index_without_its_segment_is_not_taken_for_that_of_the_next_one() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, false);
    while append(&mut log, 0, 2).next_offset < 60 {}
    log.close().expect("closes");
    let aborted = AbortedTransaction { producer_id: 1, first_offset: 60, last_offset: 61, last_stable_offset: 62 };
    let path = log.files.path(60, FileKind::TransactionIndex);
    disk.replace_small(&path, &aborted.encode()).expect("writes");
    let mut log = open(&disk, false);
    log.roll(0).expect("rolls");
    append(&mut log, 0, 4);
    log.close().expect("closes");
    let log = open(&disk, true);
    assert_eq!(log.segments.last().expect("has one").base_offset, 60);
    assert_eq!(log.view_aborted(60).aborted(60, 64).expect("reads"), []);
}

#[test]
fn a_topic_id_that_a_crash_made_zeroes_of_is_written_again() {
    let disk = SimulatedDisk::new();
    let open = || {
        let files = Arc::new(OpenFiles::new(Arc::new(disk.clone()), 8));
        let opening = Checkpoints::default().opening("t", 0);
        Log::open(files, Path::new(DIRECTORY), Uuid::from_u128(5), Arc::new(config()), opening).expect("opens")
    };
    let mut log = open();
    append(&mut log, 0, 2);
    log.close().expect("closes");
    let path = log.files.path_of("partition.metadata");
    let whole = disk.read_small(&path, 100).expect("reads").expect("is there");
    for damaged in [vec![0; whole.len()], Vec::new(), vec![7; 100]] {
        disk.replace_small(&path, &damaged).expect("writes");
        open();
        assert_eq!(disk.read_small(&path, 100).expect("reads"), Some(whole.clone()));
    }
}
