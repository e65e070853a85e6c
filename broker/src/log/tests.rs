mod damage;
mod durability;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::records::{BatchBuilder, BatchHeader, BatchProducer, Compression, Record};

use super::*;
use crate::disk::{Disk, FileKind, OpenFiles, SimulatedDisk};

const DIRECTORY: &str = "/data/t-0";

fn config() -> LogConfig {
    LogConfig { segment_bytes: 2_000, grow_ahead_bytes: 4096, file_delete_delay_ms: 0, ..LogConfig::default() }
}

fn open(disk: &SimulatedDisk, clean: bool) -> Log {
    open_with(disk, clean, 0, config())
}

/// Opens the log as a start of the broker does: what recovery found is synced.
fn open_with(disk: &SimulatedDisk, clean: bool, recovery_point: i64, config: LogConfig) -> Log {
    disk.create_directory(Path::new("/data")).expect("makes");
    let files = Arc::new(OpenFiles::new(Arc::new(disk.clone()), 8));
    let opening = Opening { clean, recovery_point, is_known: true, log_start_offset: 0, cleaned_to: None, now_ms: 0 };
    let log = Log::open(files, Path::new(DIRECTORY), Uuid::from_u128(7), Arc::new(config), opening).expect("opens");
    disk.sync_all(Path::new("/data")).expect("syncs");
    log
}

/// The first record of at least `timestamp` below `end_offset`.
fn first_at_or_after(log: &Log, timestamp: i64, end_offset: i64) -> Option<TimestampedOffset> {
    log.view_timestamp(timestamp).first_at_or_after(timestamp, log.log_start_offset(), end_offset).expect("reads")
}

fn batch(first_timestamp: i64, count: i64, producer: Option<BatchProducer>) -> (Bytes, BatchHeader) {
    let mut builder = BatchBuilder::new(Compression::None);
    for number in 0..count {
        let value = Some(Bytes::from(vec![7; 100]));
        builder.push(&Record { timestamp: first_timestamp + number, value, ..Record::default() });
    }
    let batch = builder.build(producer).expect("builds");
    let header = BatchHeader::verify(&batch).expect("is whole");
    (batch, header)
}

fn append(log: &mut Log, timestamp: i64, count: i64) -> Appended {
    let (batch, header) = batch(timestamp, count, None);
    log.append(&batch, header, 0, 0).expect("appends")
}

fn read(log: &Log, offset: i64, bytes_max: usize) -> Bytes {
    let slice = log.read(offset, log.end(), bytes_max, ReadFrom::Disk).expect("reads").expect("has bytes");
    let mut bytes = vec![0; slice.length];
    assert_eq!(slice.file.read_at(slice.position, &mut bytes).expect("reads"), slice.length);
    bytes.into()
}

#[test]
fn a_read_gives_the_whole_batch_that_holds_the_offset() {
    let mut log = open(&SimulatedDisk::new(), false);
    for number in 0..40 {
        assert_eq!(append(&mut log, number * 10, 3).base_offset, number * 3);
    }
    assert!(log.segments.len() > 3, "segments rolled");
    for offset in 0..120 {
        let header = BatchHeader::verify(&read(&log, offset, 1)).expect("a whole batch");
        assert!((header.base_offset..=header.last_offset()).contains(&offset), "offset {offset}: {header:?}");
    }
    assert!(log.read(120, log.end(), 100, ReadFrom::Disk).expect("in range").is_none());
    for outside in [-1, 121] {
        assert!(matches!(log.read(outside, log.end(), 100, ReadFrom::Disk), Err(LogError::OffsetOutOfRange { .. })));
    }
}

#[test]
fn a_read_never_passes_its_end() {
    let mut log = open(&SimulatedDisk::new(), false);
    append(&mut log, 0, 2);
    let end = log.end();
    append(&mut log, 0, 2);
    let slice = log.read(0, end, 1 << 20, ReadFrom::Disk).expect("reads").expect("has bytes");
    assert_eq!(slice.length as u64, end.position);
    assert!(log.read(2, end, 1 << 20, ReadFrom::Disk).expect("reads").is_none());
}

#[test]
fn a_log_comes_back_after_a_clean_stop_and_after_a_crash_behind_a_sync() {
    for clean in [true, false] {
        let disk = SimulatedDisk::new();
        let mut log = open(&disk, false);
        (0..30).for_each(|number| {
            append(&mut log, number, 3);
        });
        if clean {
            log.close().expect("closes");
        } else {
            log.sync().expect("syncs");
            disk.crash(11);
        }
        drop(log);
        let mut log = open(&disk, clean);
        assert_eq!((log.log_start_offset(), log.next_offset()), (0, 90));
        assert_eq!(append(&mut log, 0, 1).base_offset, 90);
    }
}

#[test]
fn whatever_a_crash_keeps_what_was_synced_is_there_and_the_rest_ends_at_a_whole_batch() {
    for seed in 0..300 {
        let disk = SimulatedDisk::new();
        let mut log = open(&disk, false);
        let synced = 1 + seed % 25;
        (0..synced).for_each(|number| {
            append(&mut log, number as i64, 3);
        });
        log.sync().expect("syncs");
        (0..seed % 17).for_each(|number| {
            append(&mut log, number as i64, 2);
        });
        disk.crash(seed);
        let mut log = open(&disk, false);
        let end = log.next_offset();
        assert!(end >= 3 * synced as i64 && end <= (3 * synced + 2 * (seed % 17)) as i64, "seed {seed}: end {end}");
        for offset in 0..end {
            BatchHeader::verify(&read(&log, offset, 1)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
        assert_eq!(append(&mut log, 0, 1).base_offset, end, "seed {seed}");
        // What recovery kept, it synced: a second crash takes nothing of it.
        disk.crash(seed + 1);
        assert!(open(&disk, false).next_offset() >= end, "seed {seed}");
    }
}

#[test]
fn the_last_batch_cut_at_every_byte_is_dropped_and_the_others_stay() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, false);
    append(&mut log, 0, 2);
    let first = log.end().position;
    append(&mut log, 0, 2);
    let whole = log.end().position;
    log.close().expect("closes");
    let path = Path::new("/data/t-0/00000000000000000000.log");
    let content = disk.read_small(path, 1 << 20).expect("reads").expect("is there");
    for length in first..whole {
        disk.replace_small(path, &content[..length as usize]).expect("cuts");
        assert_eq!(open(&disk, false).next_offset(), 2, "cut at {length}");
        for bit in 0..8 {
            let mut flipped = content.clone();
            flipped[length as usize] ^= 1 << bit;
            disk.replace_small(path, &flipped).expect("flips");
            let end = open(&disk, false).next_offset();
            // A batch's offset and leader epoch stand outside its checksum.
            let unchecked = (first..first + 8).contains(&length) || (first + 12..first + 16).contains(&length);
            assert!(end == 2 || unchecked, "bit {bit} of byte {length} flipped: end {end}");
        }
    }
}

#[test]
fn a_failed_write_leaves_the_log_as_it_was() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, false);
    append(&mut log, 0, 2);
    disk.fail_writes(true);
    let (bytes, header) = batch(0, 2, None);
    assert!(log.append(&bytes, header, 0, 0).is_err());
    disk.fail_writes(false);
    assert_eq!(append(&mut log, 0, 2).base_offset, 2);
    assert_eq!(BatchHeader::verify(&read(&log, 3, 1)).expect("whole").base_offset, 2);
}

#[test]
fn timestamps_are_found_inside_a_batch() {
    let mut log = open(&SimulatedDisk::new(), false);
    (0..30).for_each(|number| {
        append(&mut log, number * 100, 5);
    });
    let found = |timestamp| first_at_or_after(&log, timestamp, log.next_offset()).map(|found| found.offset);
    assert_eq!(found(0), Some(0));
    assert_eq!(found(1203), Some(63));
    assert_eq!(found(1205), Some(65));
    assert_eq!(found(2905), None);
    assert_eq!(first_at_or_after(&log, 1203, 63), None);
    let largest = log.max_timestamp().expect("has one");
    let last = first_at_or_after(&log, largest, log.next_offset()).expect("is there");
    assert_eq!((last.offset, last.timestamp), (149, 2904));
}

#[test]
fn leader_epochs_are_known_by_offset_and_survive() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, false);
    for epoch in [0, 0, 2, 5] {
        let (bytes, header) = batch(0, 2, None);
        log.append(&bytes, header, epoch, 0).expect("appends");
    }
    log.close().expect("closes");
    let log = open(&disk, true);
    assert_eq!(log.latest_epoch(), 5);
    assert_eq!([0, 3, 4, 6, 7].map(|offset| log.epoch_at(offset)), [0, 0, 2, 5, 5]);
    assert_eq!(
        [0, 1, 2, 4, 5, 9].map(|epoch| log.end_of_epoch(epoch)),
        [Some((0, 4)), Some((0, 4)), Some((2, 6)), Some((2, 6)), Some((5, 8)), Some((5, 8)),]
    );
    assert_eq!(log.end_of_epoch(-1), None);
}

#[test]
fn a_producers_sequence_is_held_and_survives() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, false);
    let producer = |epoch, base_sequence| Some(BatchProducer { id: 9, epoch, base_sequence, transactional: false });
    let header = |epoch, base_sequence| batch(0, 2, producer(epoch, base_sequence)).1;
    for number in 0..6 {
        let (bytes, header) = batch(0, 2, producer(1, 100 + number * 2));
        assert_eq!(log.producers().check(&header), Ok(Verdict::Append));
        log.append(&bytes, header, 0, 0).expect("appends");
    }
    log.close().expect("closes");
    let log = open(&disk, true);
    let check = |header| log.producers().check(&header);
    assert_eq!(check(header(1, 112)), Ok(Verdict::Append));
    assert_eq!(check(header(1, 102)), Ok(Verdict::Duplicate { base_offset: 2, last_offset: 3 }));
    assert_eq!(check(header(1, 110)), Ok(Verdict::Duplicate { base_offset: 10, last_offset: 11 }));
    assert_eq!(
        check(header(1, 100)),
        Err(SequenceError::OutOfOrder { sequence: 100, expected: 112 }),
        "the sixth back"
    );
    assert_eq!(check(header(1, 114)), Err(SequenceError::OutOfOrder { sequence: 114, expected: 112 }));
    assert_eq!(check(header(0, 112)), Err(SequenceError::StaleEpoch { epoch: 0, current: 1 }));
    assert_eq!(check(header(2, 0)), Ok(Verdict::Append));
    assert_eq!(check(header(2, 1)), Err(SequenceError::OutOfOrder { sequence: 1, expected: 0 }));
}

#[test]
fn after_a_failed_sync_a_start_cuts_the_log_at_its_durable_end() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, false);
    append(&mut log, 0, 2);
    log.sync().expect("syncs");
    append(&mut log, 0, 2);
    log.mark_sync_failed(2).expect("is noted down");
    drop(log);
    let mut log = open(&disk, false);
    assert_eq!(log.next_offset(), 2, "what the failed sync did not cover is gone");
    assert_eq!(append(&mut log, 0, 2).base_offset, 2);
    log.sync().expect("syncs");
    drop(log);
    assert_eq!(open(&disk, false).next_offset(), 4, "the next start cuts nothing");
}
