//! Files that are not as they were written, below what a start looks at.

use super::*;

fn three_segments(disk: &SimulatedDisk) -> Log {
    let small = LogConfig { index_interval_bytes: 0, ..config() };
    let mut log = open_with(disk, false, 0, small);
    while append(&mut log, 0, 3).next_offset < 36 {}
    assert!(log.segments.len() > 2);
    log.close().expect("closes");
    log
}

#[test]
fn a_wrong_index_entry_hides_no_batch() {
    let disk = SimulatedDisk::new();
    let log = three_segments(&disk);
    let index = log.files.path(0, FileKind::OffsetIndex);
    let before: Vec<_> = (0..36).map(|offset| read(&log, offset, 1)).collect();
    for byte in 0..disk.length_of(&index).expect("looks").expect("is there") {
        for bit in 0..8 {
            disk.flip_bit(&index, byte, bit).expect("flips");
            for offset in 0..36 {
                assert_eq!(read(&log, offset, 1), before[offset as usize], "bit {bit} of byte {byte}, offset {offset}");
            }
            disk.flip_bit(&index, byte, bit).expect("flips back");
        }
    }
}

#[test]
fn a_batch_whose_header_denies_its_last_records_is_told_of_by_whoever_asks_for_them() {
    let disk = SimulatedDisk::new();
    let log = three_segments(&disk);
    let (file, second) = (log.files.path(0, FileKind::Log), read(&log, 0, 1).len() as u64);
    // Its last offset delta is 2, and then 0.
    disk.flip_bit(&file, second + 26, 1).expect("flips");
    for offset in [4, 5] {
        let found = log.read(offset, log.end(), 1, ReadFrom::Disk);
        assert!(matches!(found, Err(LogError::Damaged { position, .. }) if position == second), "offset {offset}");
        assert!(matches!(log.read(offset, log.end(), 1, ReadFrom::Memory), Err(LogError::NotCached)));
    }
    assert_eq!(BatchHeader::verify(&read(&log, 6, 1)).expect("whole").base_offset, 6);
}

#[test]
fn a_log_that_ends_behind_where_it_was_stopped_cleanly_is_damaged() {
    let disk = SimulatedDisk::new();
    let mut log = three_segments(&disk);
    let last = log.end();
    append(&mut log, 0, 3);
    log.close().expect("closes");
    // The last batch's last offset delta: a clean start reads headers only.
    let file = log.files.path(last.segment, FileKind::Log);
    let at = if log.end().segment == last.segment { last.position } else { 0 };
    let file = if at == 0 { log.files.path(log.end().segment, FileKind::Log) } else { file };
    disk.flip_bit(&file, at + 24, 0).expect("flips");
    let files = Arc::new(OpenFiles::new(Arc::new(disk.clone()), 8));
    let opening =
        Opening { clean: true, recovery_point: 39, is_known: true, log_start_offset: 0, cleaned_to: None, now_ms: 0 };
    let opened = Log::open(files, Path::new(DIRECTORY), Uuid::from_u128(7), Arc::new(config()), opening);
    assert!(matches!(opened, Err(LogError::Shortened { expected: 39, .. })));
}
