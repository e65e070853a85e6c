//! What the simulation of logs found, told in short.

use super::*;
use crate::log::CleanedGroup;
use crate::log::compaction::CompactionError;

#[test]
fn segments_deleted_at_a_clean_start_do_not_come_back() {
    for seed in 0..20 {
        let disk = SimulatedDisk::new();
        let mut log = open(&disk, OPENING);
        plain(&mut log, 0);
        log.roll(0).expect("rolls");
        plain(&mut log, 0);
        log.close().expect("closes");
        let opening = Opening { recovery_point: 2, log_start_offset: 1, ..OPENING };
        let log = open(&disk, Opening { clean: true, ..opening });
        // The checkpoint file need not say any more where the log starts.
        assert_eq!(log.moved_start(), None);
        disk.crash(seed);
        let log = open(&disk, Opening { log_start_offset: 0, ..opening });
        assert_eq!(log.log_start_offset(), 1, "seed {seed}");
    }
}

#[test]
fn a_segment_rolled_behind_the_recovery_point_is_cut_to_its_batches() {
    for seed in 0..30 {
        let disk = SimulatedDisk::new();
        let mut log = open(&disk, OPENING);
        (0..3).for_each(|number| {
            plain(&mut log, number);
        });
        log.prepare_checkpoint().expect("writes");
        let unsaved = log.unsaved_epochs().expect("are not saved");
        unsaved.save(&disk).expect("saves");
        log.epochs_saved(&unsaved);
        log.sync().expect("syncs");
        assert_eq!(log.recovery_point(), 3);
        // The roll cuts what the file was grown ahead, which no sync covers.
        log.roll(0).expect("rolls");
        plain(&mut log, 3);
        disk.crash(seed);
        let log = open(&disk, Opening { recovery_point: 3, ..OPENING });
        let found = bases(&log, log.end());
        assert!(found.starts_with(&[0, 1, 2]), "seed {seed}: {found:?}");
    }
}

#[test]
fn aborted_transactions_of_several_segments_are_found_after_a_crash() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, OPENING);
    for producer_id in [1, 2] {
        transactional(&mut log, producer_id, "k");
        abort(&mut log, producer_id);
        log.roll(0).expect("rolls");
    }
    plain(&mut log, 0);
    log.sync().expect("syncs");
    let aborted = |log: &Log| log.view_aborted(0).aborted(0, 4).expect("reads");
    let before = aborted(&log);
    assert_eq!(before.len(), 2);
    disk.crash(3);
    assert_eq!(aborted(&open(&disk, OPENING)), before);
}

#[test]
fn records_before_the_logs_start_are_not_found_by_their_timestamps() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, OPENING);
    append(&mut log, &[(100, "a"), (10, "b"), (20, "c")], None);
    plain(&mut log, 30);
    log.roll(0).expect("rolls");
    plain(&mut log, 100);
    log.advance_log_start(1);
    assert_eq!(first_at_or_after(&log, 25).map(|found| found.offset), Some(3));
    assert_eq!(first_at_or_after(&log, 90).map(|found| found.offset), Some(4));
}

#[test]
fn a_transaction_once_forgotten_with_its_deleted_records_does_not_come_back_from_a_later_snapshot() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, OPENING);
    transactional(&mut log, 2, "k");
    for timestamp in [0, 0] {
        log.roll(0).expect("rolls");
        plain(&mut log, timestamp);
    }
    log.sync().expect("syncs");
    // A crash left zeroes of the snapshot that would be read, and the transaction's records are deleted.
    write(&disk, "00000000000000000001.snapshot", &[0; 40]);
    let log = open(&disk, Opening { log_start_offset: 1, ..OPENING });
    assert_eq!(log.first_unstable_offset(), None);
    let log = open(&disk, Opening { log_start_offset: 2, ..OPENING });
    assert_eq!(log.first_unstable_offset(), None);
}

fn compacting() -> LogConfig {
    LogConfig { compact: true, min_cleanable_dirty_ratio: 0.0, ..config() }
}

/// Makes all that was appended durable, and a start not look at it again.
fn check_in(log: &mut Log) {
    let unsaved = log.unsaved_epochs().expect("are not saved");
    unsaved.save(log.files.disk()).expect("saves");
    log.epochs_saved(&unsaved);
    log.prepare_checkpoint().expect("writes");
    log.sync().expect("syncs");
    log.high_watermark_moved(log.next_offset());
    log.recovery_point_written(log.recovery_point());
}

fn compact(log: &mut Log) -> Result<(), CompactionError> {
    let round = log.begin_round(log.next_offset(), 0).expect("is due");
    let mut swap_in = |group: &CleanedGroup| {
        log.swap_in(group, 0).map_err(|error| CompactionError::Write { source: std::io::Error::other(error) })
    };
    round.run(1 << 20, &|| true, &mut swap_in).map(|_| ())
}

#[test]
fn a_compaction_cut_anywhere_leaves_no_segment_with_the_indexes_of_another() {
    for seed in 0..600 {
        let disk = SimulatedDisk::new();
        let mut log = try_open(&disk, compacting(), OPENING).expect("opens");
        for number in 0..9 {
            append(&mut log, &[(number * 10, "a"), (number * 10, ["b", "c", "d"][number as usize % 3])], None);
            if number % 3 == 2 {
                log.roll(0).expect("rolls");
            }
        }
        check_in(&mut log);
        let opening = Opening { recovery_point: log.recovery_point(), ..OPENING };
        disk.cut_power_at(disk.operations() + 1 + seed % 40);
        let _ = compact(&mut log);
        disk.crash(seed);
        let log = try_open(&disk, compacting(), opening).expect("opens");
        assert_eq!(log.next_offset(), 18, "seed {seed}");
        let found = bases(&log, log.end());
        assert!(found.is_sorted_by(|one, next| one < next), "seed {seed}: {found:?}");
        for base in found {
            let at = log.position_of(base, ReadFrom::Disk).expect("reads");
            assert_eq!(at.offset, base, "seed {seed}");
            let found = first_at_or_after(&log, base * 5).expect("is there");
            assert_eq!(found.timestamp, base * 5, "seed {seed}");
        }
    }
}

#[test]
fn a_compacted_log_whose_recovery_point_is_lost_keeps_all_there_is_also_at_the_start_after_that() {
    let disk = SimulatedDisk::new();
    let mut log = try_open(&disk, compacting(), OPENING).expect("opens");
    for key in ["a", "b", "a", "b", "c"] {
        append(&mut log, &[(0, key)], None);
    }
    log.roll(0).expect("rolls");
    plain(&mut log, 0);
    check_in(&mut log);
    compact(&mut log).expect("compacts");
    assert_eq!(bases(&log, log.end()), [2, 3, 4, 5]);
    // By now it is not compacted any more.
    let log = open(&disk, Opening { is_known: false, ..OPENING });
    assert_eq!(bases(&log, log.end()), [2, 3, 4, 5]);
    disk.crash(1);
    let log = open(&disk, Opening { recovery_point: log.recovery_point(), ..OPENING });
    assert_eq!(bases(&log, log.end()), [2, 3, 4, 5]);
}

#[test]
fn records_of_a_transaction_are_not_compacted_while_a_crash_may_take_its_marker() {
    let mut log = try_open(&SimulatedDisk::new(), compacting(), OPENING).expect("opens");
    transactional(&mut log, 2, "a");
    log.roll(0).expect("rolls");
    plain(&mut log, 0);
    check_in(&mut log);
    abort(&mut log, 2);
    // With log.durability=async what is written is readable.
    log.high_watermark_moved(log.next_offset());
    assert_eq!(log.first_unstable_offset(), None);
    assert!(log.begin_round(log.next_offset(), 0).is_none());
    log.sync().expect("syncs");
    assert!(log.begin_round(log.next_offset(), 0).is_some());
}

/// A compacted log of the given producer's aborted record between two of others, all but the marker below the bound.
fn compacted(disk: &SimulatedDisk) -> (Log, LogPosition) {
    let mut log = try_open(disk, compacting(), OPENING).expect("opens");
    append(&mut log, &[(0, "a"), (0, "b")], None);
    append(&mut log, &[(0, "b")], None);
    transactional(&mut log, 2, "a");
    let high_watermark = log.end();
    log.roll(0).expect("rolls");
    abort(&mut log, 2);
    check_in(&mut log);
    compact(&mut log).expect("compacts");
    (log, high_watermark)
}

#[test]
fn a_record_aborted_behind_the_cleaned_section_replaces_no_other() {
    let (log, _) = compacted(&SimulatedDisk::new());
    assert!(bases(&log, log.end()).starts_with(&[0, 2]), "the first batch still holds the latest record of a");
}

#[test]
fn a_reader_up_to_the_end_of_a_segment_reads_it_whole_after_compaction() {
    let (log, high_watermark) = compacted(&SimulatedDisk::new());
    assert_eq!(high_watermark.offset, 4);
    let slice = log.read(0, high_watermark, 1 << 20, ReadFrom::Disk).expect("reads").expect("has bytes");
    assert_eq!(slice.length as u64, slice.file.length().expect("is there"));
}
