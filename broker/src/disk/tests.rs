use std::io::IoSlice;
use std::path::Path;

use super::*;

fn write(file: &dyn DiskFile, offset: u64, bytes: &[u8]) {
    file.write_at(offset, &mut [IoSlice::new(bytes)]).expect("writes");
}

fn read(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    disk.read_small(path, 1 << 20).expect("reads").unwrap_or_default()
}

#[test]
fn both_disks_write_read_rename_and_remove_alike() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let disks: [(&dyn Disk, &Path); 2] = [(&RealDisk, folder.path()), (&SimulatedDisk::new(), Path::new("/root"))];
    for (disk, root) in disks {
        let inner = root.join("a/b");
        disk.create_directory(&inner).expect("makes");
        let file = disk.open(&inner.join("f")).expect("opens");
        file.write_at(2, &mut [IoSlice::new(b"cd"), IoSlice::new(b""), IoSlice::new(b"ef")]).expect("writes");
        write(&*file, 0, b"ab");
        let mut buffer = [0; 10];
        assert_eq!(file.read_at(1, &mut buffer).expect("reads"), 5);
        assert_eq!(&buffer[..5], b"bcdef");
        file.grow(100).expect("grows");
        assert_eq!(file.length().expect("length"), 100);
        file.truncate(6).expect("cuts");
        assert_eq!(file.length().expect("length"), 6);
        assert_eq!(disk.length_of(&inner.join("f")).expect("looks"), Some(6));
        for nothing in [&inner, &inner.join("g")] {
            assert_eq!(disk.length_of(nothing).expect("looks"), None);
        }
        let missing = disk.open_existing(&inner.join("g")).err().expect("there is none");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert_eq!(disk.open_existing(&inner.join("f")).expect("opens").length().expect("length"), 6);
        disk.rename(&inner, &root.join("c")).expect("renames");
        assert_eq!(read(disk, &root.join("c/f")), b"abcdef");
        assert!(disk.list(&root.join("a")).expect("lists").is_empty());
        disk.replace_small(&root.join("c/f"), b"new").expect("replaces");
        assert_eq!(read(disk, &root.join("c/f")), b"new");
        assert!(disk.read_small(&root.join("c/f"), 2).is_err());
        disk.remove(&root.join("c")).expect("removes");
        disk.remove(&root.join("c")).expect("is gone already");
        assert_eq!(disk.read_small(&root.join("c/f"), 10).expect("reads"), None);
        let lock = disk.lock(&root.join(".lock")).expect("locks");
        assert!(disk.lock(&root.join(".lock")).is_err(), "a second lock is refused");
        drop(lock);
        drop(disk.lock(&root.join(".lock")).expect("locks again"));
    }
}

#[test]
fn both_disks_map_the_beginning_of_a_file() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let disks: [(&dyn Disk, &Path); 2] = [(&RealDisk, folder.path()), (&SimulatedDisk::new(), Path::new("/root"))];
    for (disk, root) in disks {
        disk.create_directory(root).expect("makes");
        let path = root.join("f");
        let file = disk.open(&path).expect("opens");
        assert!(file.map(0).expect("an empty file has an empty beginning").is_empty());
        let bytes: Vec<u8> = (0..10_000_u32).map(|number| number as u8).collect();
        write(&*file, 0, &bytes);
        let short = file.map(10_001).expect_err("the file is shorter");
        assert_eq!(short.kind(), io::ErrorKind::UnexpectedEof);
        assert!(file.map(0).expect("maps").is_empty());
        let (all, some) = (file.map(10_000).expect("maps"), file.map(5001).expect("maps"));
        disk.rename(&path, &root.join("g")).expect("renames");
        disk.remove(&root.join("g")).expect("removes");
        drop(file);
        assert!(all[..] == bytes && some[..] == bytes[..5001]);
    }
}

#[test]
fn a_crash_keeps_what_was_synced_and_may_lose_the_rest() {
    let (mut lost, mut kept) = (0, 0);
    for seed in 0..200 {
        let disk = SimulatedDisk::new();
        let root = Path::new("/d");
        disk.create_directory(root).expect("makes");
        let file = disk.open(&root.join("f")).expect("opens");
        write(&*file, 0, &[1; 1000]);
        file.sync().expect("syncs");
        disk.sync_directory(root).expect("syncs");
        write(&*file, 1000, &[2; 2000]);
        disk.crash(seed);
        assert!(file.sync().is_err(), "a file from before the crash is dead");
        let content = read(&disk, &root.join("f"));
        assert_eq!(content[..1000], [1; 1000], "seed {seed}");
        assert!((1000..=3000).contains(&content.len()));
        let survivors = content[1000..].iter().filter(|byte| **byte == 2).count();
        if survivors > 0 {
            kept += 1
        }
        if survivors < 2000 {
            lost += 1
        }
    }
    assert!(lost > 0 && kept > 0, "{lost} lost, {kept} kept");
}

#[test]
fn a_name_without_a_directory_sync_may_vanish() {
    let survivors = (0..100).filter(|seed| {
        let disk = SimulatedDisk::new();
        disk.create_directory(Path::new("/d")).expect("makes");
        disk.open(Path::new("/d/f")).expect("opens").sync().expect("syncs");
        disk.crash(*seed);
        disk.read_small(Path::new("/d/f"), 10).expect("reads").is_some()
    });
    assert!((1..100).contains(&survivors.count()));
}
