//! Files that were damaged or removed while the broker was down: the partition says so, and the others are served.

use crate::support::{TestBroker, batch, create_topic, fetch, list_offset, metadata, produce, read_all};

const STORAGE_ERROR: i16 = 56;

#[test]
fn a_partition_that_lost_what_was_on_disk_is_offline_and_the_others_are_served() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |partition: &str, file: &str| directory.path().join(partition).join(file);
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 4, &[("segment.bytes", "200")]);
    for partition in 0..4 {
        for _ in 0..5 {
            produce(&mut client, "t", partition, batch(&[&"x".repeat(100)]));
        }
    }
    broker.stop();
    let last = path("t-1", "00000000000000000004.log");
    let whole = std::fs::read(&last).expect("the last segment is there");
    std::fs::write(&last, &whole[..whole.len() - 1]).expect("cuts it");
    std::fs::remove_dir_all(directory.path().join("t-2")).expect("removes it");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    for partition in [0, 3] {
        assert_eq!(read_all(&mut client, "t", partition).len(), 5);
        assert_eq!(produce(&mut client, "t", partition, batch(&["more"])).base_offset, 5);
    }
    for partition in [1, 2] {
        assert_eq!(produce(&mut client, "t", partition, batch(&["lost"])).error_code, STORAGE_ERROR);
        assert_eq!(fetch(&mut client, "t", partition, 0).error_code, STORAGE_ERROR);
    }
    assert_eq!(metadata(&mut client, &["t"]).topics[0].partitions.len(), 4);
    broker.stop();
    // Put back, it is served again with all that was acknowledged; what lost nothing never noticed.
    std::fs::write(&last, &whole).expect("puts it back");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    assert_eq!(read_all(&mut client, "t", 1).len(), 5);
    assert_eq!(list_offset(&mut client, "t", 0, -1).offset, 6);
    assert_eq!(produce(&mut client, "t", 2, batch(&["lost"])).error_code, STORAGE_ERROR, "still away");
}

#[test]
fn indexes_that_are_missing_or_wrong_are_made_again() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |file: &str| directory.path().join("t-0").join(file);
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[("segment.bytes", "2000"), ("index.interval.bytes", "300")]);
    for _ in 0..40 {
        produce(&mut client, "t", 0, batch(&[&"x".repeat(100)]));
    }
    broker.stop();
    let index = |place: usize, kind: &str| {
        let entries = std::fs::read_dir(directory.path().join("t-0")).expect("is there");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("reads").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == kind));
        paths.sort();
        paths.swap_remove(place)
    };
    let before = std::fs::read(index(1, "index")).expect("reads");
    assert!(before.len() > 16, "there are entries");
    std::fs::remove_file(index(0, "index")).expect("removes it");
    std::fs::write(index(0, "timeindex"), vec![0xff; 24]).expect("fills it with rubbish");
    std::fs::write(index(1, "index"), vec![0xff; before.len()]).expect("fills it with rubbish");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    for offset in [0, 7, 13, 20, 39] {
        assert_eq!(fetch(&mut client, "t", 0, offset).error_code, 0, "offset {offset}");
    }
    assert_eq!(read_all(&mut client, "t", 0).len(), 40);
    broker.stop();
    assert_eq!(std::fs::read(index(1, "index")).expect("reads"), before);
    assert!(path("00000000000000000000.index").exists());
}
