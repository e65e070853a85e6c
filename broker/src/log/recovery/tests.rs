//! Directories as crashes, other programs and earlier versions leave them.

mod stories;

use std::io::IoSlice;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use pillion_wire::records::{
    BatchBuilder, BatchHeader, BatchProducer, Compression, EndTransactionMarker, Record, control_batch,
};

use super::*;
use crate::disk::{Disk, SimulatedDisk};
use crate::log::{LogPosition, ReadFrom, TimestampedOffset};

const DIRECTORY: &str = "/data/t-0";
const OPENING: Opening =
    Opening { clean: false, recovery_point: 0, is_known: true, log_start_offset: 0, cleaned_to: None, now_ms: 0 };

fn config() -> LogConfig {
    LogConfig { segment_bytes: 1 << 20, index_interval_bytes: 0, file_delete_delay_ms: 0, ..LogConfig::default() }
}

fn try_open(disk: &SimulatedDisk, config: LogConfig, opening: Opening) -> Result<Log, LogError> {
    disk.create_directory(Path::new("/data")).expect("makes");
    let files = Arc::new(OpenFiles::new(Arc::new(disk.clone()), 8));
    let log = Log::open(files, Path::new(DIRECTORY), Uuid::nil(), Arc::new(config), opening)?;
    if !opening.clean {
        disk.sync_all(Path::new("/data")).expect("syncs");
    }
    Ok(log)
}

fn open(disk: &SimulatedDisk, opening: Opening) -> Log {
    try_open(disk, config(), opening).expect("opens")
}

fn append(log: &mut Log, records: &[(i64, &str)], producer: Option<BatchProducer>) -> i64 {
    let mut builder = BatchBuilder::new(Compression::None);
    for (timestamp, key) in records {
        let (key, value) = (Some(Bytes::from((*key).to_owned())), Some(Bytes::from(vec![7; 50])));
        builder.push(&Record { timestamp: *timestamp, key, value, ..Record::default() });
    }
    let batch = builder.build(producer).expect("builds");
    let header = BatchHeader::verify(&batch).expect("is whole");
    log.append(&batch, header, 0, 0).expect("appends").base_offset
}

fn plain(log: &mut Log, timestamp: i64) -> i64 {
    append(log, &[(timestamp, "k")], None)
}

fn transactional(log: &mut Log, producer_id: i64, key: &str) -> i64 {
    let producer = BatchProducer { id: producer_id, epoch: 0, base_sequence: -1, transactional: true };
    append(log, &[(0, key)], Some(producer))
}

fn abort(log: &mut Log, producer_id: i64) -> i64 {
    let marker = EndTransactionMarker { commit: false, coordinator_epoch: 0 };
    let batch = control_batch(producer_id, 0, 0, marker);
    let header = BatchHeader::verify(&batch).expect("is whole");
    log.append_marker(&batch, header, &marker, 0, 0).expect("appends").base_offset
}

/// Base offsets of all batches, each of which is whole.
fn bases(log: &Log, end: LogPosition) -> Vec<i64> {
    let (mut offset, mut found) = (log.log_start_offset(), Vec::new());
    while let Some(slice) = log.read(offset, end, 1, ReadFrom::Disk).expect("reads") {
        let mut bytes = vec![0; slice.length];
        assert_eq!(slice.file.read_at(slice.position, &mut bytes).expect("reads"), slice.length);
        let header = BatchHeader::verify(&bytes).expect("whole");
        found.push(header.base_offset);
        offset = header.next_offset();
    }
    found
}

fn first_at_or_after(log: &Log, timestamp: i64) -> Option<TimestampedOffset> {
    let view = log.view_timestamp(timestamp);
    view.first_at_or_after(timestamp, log.log_start_offset(), log.next_offset()).expect("reads")
}

fn path(name: &str) -> PathBuf {
    Path::new(DIRECTORY).join(name)
}

fn names(disk: &SimulatedDisk) -> Vec<String> {
    let mut names: Vec<_> =
        disk.list(Path::new(DIRECTORY)).expect("lists").into_iter().map(|entry| entry.name).collect();
    names.sort();
    names
}

fn write(disk: &SimulatedDisk, name: &str, content: &[u8]) {
    disk.replace_small(&path(name), content).expect("writes");
}

/// Ten batches with timestamps 0, 10 and so on, in one segment, stopped cleanly.
fn ten_batches() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, OPENING);
    for number in 0..10 {
        assert_eq!(plain(&mut log, number * 10), number);
    }
    log.close().expect("closes");
    disk
}

/// What is done to a file, given by its name.
type Damage<'a> = &'a dyn Fn(&SimulatedDisk, &str);

#[test]
fn indexes_that_are_missing_or_wrong_are_made_again() {
    let index = "00000000000000000000.index";
    let times = "00000000000000000000.timeindex";
    let whole =
        |disk: &SimulatedDisk, name: &str| disk.read_small(&path(name), 1 << 16).expect("reads").expect("is there");
    let damages: [Damage<'_>; 5] = [
        &|disk, name| disk.remove(&path(name)).expect("removes"),
        &|disk, name| write(disk, name, &[0xAB; 77]),
        &|disk, name| write(disk, name, &[0; 960]),
        &|disk, name| write(disk, name, &[whole(disk, name), vec![0xFF; 48]].concat()),
        &|disk, name| write(disk, name, &whole(disk, name)[..13]),
    ];
    for (number, damage) in damages.iter().enumerate() {
        for damaged in [&[index][..], &[times], &[index, times]] {
            let disk = ten_batches();
            damaged.iter().for_each(|name| damage(&disk, name));
            let mut log = open(&disk, OPENING);
            assert_eq!(bases(&log, log.end()), (0..10).collect::<Vec<_>>(), "damage {number} of {damaged:?}");
            for offset in 0..10 {
                let found = first_at_or_after(&log, offset * 10 - 5).map(|found| found.offset);
                assert_eq!(found, Some(offset), "damage {number} of {damaged:?}");
            }
            assert_eq!(plain(&mut log, 100), 10);
            log.close().expect("closes");
            let log = open(&disk, Opening { clean: true, recovery_point: 11, ..OPENING });
            assert_eq!(bases(&log, log.end()).len(), 11);
        }
    }
}

#[test]
fn what_interrupted_changes_left_is_cleared() {
    let disk = ten_batches();
    let before = names(&disk);
    for left in
        ["00000000000000000000.log.cleaned", "00000000000000000003.log.deleted", "00000000000000000003.index.swap"]
    {
        write(&disk, left, b"half");
    }
    let file = disk.open(&path("leader-epoch-checkpoint.tmp")).expect("opens");
    file.write_at(0, &mut [IoSlice::new(b"half")]).expect("writes");
    let log = open(&disk, Opening { recovery_point: 10, ..OPENING });
    assert_eq!(bases(&log, log.end()).len(), 10);
    assert_eq!(names(&disk), before);
}

#[test]
fn zeroes_and_old_bytes_behind_the_last_batch_are_cut() {
    let name = "00000000000000000000.log";
    let disk = ten_batches();
    let content = disk.read_small(&path(name), 1 << 16).expect("reads").expect("is there");
    let batch_bytes = content.len() / 10;
    // A batch from before: whole, with an offset that does not follow.
    for tail in [&[0; 5_000][..], &content[batch_bytes..2 * batch_bytes], &content[..30]] {
        write(&disk, name, &[&content, tail].concat());
        let mut log = open(&disk, OPENING);
        assert_eq!(log.next_offset(), 10);
        assert_eq!(disk.length_of(&path(name)).expect("is there"), Some(content.len() as u64));
        assert_eq!(plain(&mut log, 0), 10);
    }
}

#[test]
fn a_directory_that_is_gone_is_told_of_where_a_recovery_point_is_known() {
    let disk = SimulatedDisk::new();
    let opened = try_open(&disk, config(), Opening { recovery_point: 7, ..OPENING });
    assert!(matches!(opened, Err(LogError::Shortened { found: 0, expected: 7, .. })));
}

#[test]
fn damage_below_the_recovery_point_is_told_of_and_nothing_is_cut() {
    // The last batch's magic, and a byte of its record, which a clean start does not look at.
    for (clean, byte) in [(true, 16), (false, 16), (false, 80)] {
        let (disk, file) = (ten_batches(), path("00000000000000000000.log"));
        let length = disk.length_of(&file).expect("looks").expect("is there");
        disk.flip_bit(&file, length / 10 * 9 + byte, 3).expect("flips");
        let before = disk.read_small(&file, 1 << 16).expect("reads");
        let opened = try_open(&disk, config(), Opening { clean, recovery_point: 10, ..OPENING });
        let error = opened.err().expect("is damaged");
        assert!(std::error::Error::source(&error).expect("says where").to_string().contains("damaged"), "{error:?}");
        assert_eq!(disk.read_small(&file, 1 << 16).expect("reads"), before, "clean {clean}, byte {byte}");
    }
}

#[test]
fn of_segments_put_aside_only_the_last_few_are_kept() {
    let disk = ten_batches();
    for base in 11..31 {
        write(&disk, &format!("{base:020}.log"), b"behind the log's end");
        assert_eq!(open(&disk, OPENING).next_offset(), 10);
    }
    let kept: Vec<_> = names(&disk).into_iter().filter(|name| name.ends_with(".quarantined")).collect();
    assert_eq!(kept.len(), 8);
    assert_eq!(kept.last().map(String::as_str), Some("00000000000000000030.log.quarantined"));
}

#[test]
fn time_indexes_only_grow_when_the_clock_goes_back() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, OPENING);
    for timestamp in [50, 40, 60, 10, 60, 70, 5] {
        plain(&mut log, timestamp);
    }
    log.close().expect("closes");
    let times = disk.read_small(&path("00000000000000000000.timeindex"), 1 << 16).expect("reads").expect("is there");
    let timestamps: Vec<_> = times.chunks(12).map(|entry| entry[7]).collect();
    assert_eq!(timestamps, [50, 60, 70]);
    let found = [45, 55, 61, 71].map(|timestamp| first_at_or_after(&log, timestamp).map(|found| found.offset));
    assert_eq!(found, [Some(0), Some(2), Some(5), None]);
}

#[test]
fn a_reader_finishes_with_a_segment_that_retention_deleted() {
    let disk = SimulatedDisk::new();
    let mut log = open(&disk, OPENING);
    plain(&mut log, 0);
    log.roll(0).expect("rolls");
    plain(&mut log, 0);
    log.sync().expect("syncs");
    let slice = log.read(0, log.end(), 1, ReadFrom::Disk).expect("reads").expect("has bytes");
    log.advance_log_start(1);
    assert_eq!(log.remove_segments_below_start(0).expect("removes"), 1);
    assert!(!names(&disk).contains(&"00000000000000000000.log".to_owned()));
    let mut bytes = vec![0; slice.length];
    assert_eq!(slice.file.read_at(slice.position, &mut bytes).expect("reads"), slice.length);
    assert_eq!(BatchHeader::verify(&bytes).expect("whole").base_offset, 0);
}
