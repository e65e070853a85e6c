use super::*;

#[test]
fn a_rename_is_there_whole_or_not_at_all() {
    for seed in 0..SEEDS {
        let disk = disk();
        synced(&disk, "f", b"old");
        synced(&disk, "g", b"new");
        disk.rename(Path::new("/d/g"), Path::new("/d/f")).expect("renames");
        disk.crash(seed);
        let found = (read(&disk, "f").expect("f is there"), read(&disk, "g"));
        let whole = [(b"old".to_vec(), Some(b"new".to_vec())), (b"new".to_vec(), None)];
        assert!(whole.contains(&found), "seed {seed}: {found:?}");
    }
    let left = leftovers(|disk| {
        synced(disk, "f", b"old");
        disk.replace_small(Path::new("/d/f"), b"new").expect("replaces");
    });
    assert_eq!(left.into_iter().collect::<Vec<_>>(), [Some(b"new".to_vec())]);
}

#[test]
fn a_directory_is_durable_with_the_one_above_it_and_takes_its_files_along() {
    let survivors = (0..100).filter(|seed| {
        let disk = disk();
        let inner = Path::new("/d/inner");
        disk.create_directory(inner).expect("makes");
        disk.open(&inner.join("f")).expect("opens").sync().expect("syncs");
        disk.sync_directory(inner).expect("syncs");
        disk.crash(*seed);
        disk.length_of(&inner.join("f")).expect("looks").is_some()
    });
    assert!((1..100).contains(&survivors.count()), "the directory's own name was not synced");
    for seed in 0..100 {
        let disk = disk();
        disk.create_directory(Path::new("/d/a")).expect("makes");
        disk.open(Path::new("/d/a/f")).expect("opens");
        disk.sync_directory(Path::new("/d/a")).expect("syncs");
        disk.rename(Path::new("/d/a"), Path::new("/d/b")).expect("renames");
        disk.sync_directory(Path::new("/d")).expect("syncs");
        disk.crash(seed);
        assert_eq!(disk.list(Path::new("/d")).expect("lists").len(), 1);
        assert_eq!(disk.length_of(Path::new("/d/b/f")).expect("looks"), Some(0));
    }
}

#[test]
fn a_sync_of_everything_covers_files_and_names() {
    for seed in 0..50 {
        let disk = disk();
        disk.create_directory(Path::new("/d/a")).expect("makes");
        write(&*disk.open(Path::new("/d/a/f")).expect("opens"), 0, b"kept").expect("writes");
        disk.sync_all(Path::new("/d")).expect("syncs");
        disk.crash(seed);
        assert_eq!(disk.read_small(Path::new("/d/a/f"), 9).expect("reads").as_deref(), Some(&b"kept"[..]));
    }
    let disk = disk();
    disk.fail_syncs_of("/d/a", true);
    assert!(disk.sync_all(Path::new("/d")).is_err());
}

#[test]
fn renaming_is_as_strict_as_the_operating_systems() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let disks: [(&dyn Disk, &Path); 2] = [(&crate::disk::RealDisk, folder.path()), (&disk(), Path::new("/d"))];
    for (disk, root) in disks {
        let path = |name: &str| root.join(name);
        for directory in ["empty", "full"] {
            disk.create_directory(&path(directory)).expect("makes");
        }
        for file in ["f", "full/f"] {
            disk.open(&path(file)).expect("opens");
        }
        let kind = |from, to| disk.rename(&path(from), &path(to)).map_err(|error| error.kind());
        assert_eq!(kind("missing", "f"), Err(io::ErrorKind::NotFound));
        assert_eq!(kind("f", "missing/f"), Err(io::ErrorKind::NotFound));
        assert_eq!(kind("f", "empty"), Err(io::ErrorKind::IsADirectory));
        assert_eq!(kind("empty", "f"), Err(io::ErrorKind::NotADirectory));
        assert_eq!(kind("empty", "full"), Err(io::ErrorKind::DirectoryNotEmpty));
        assert_eq!(kind("f", "f"), Ok(()));
        assert_eq!(kind("full", "empty"), Ok(()));
        assert!(disk.length_of(&path("empty/f")).expect("looks").is_some());
        assert!(disk.open(&path("empty")).is_err(), "a directory is no file");
        assert!(disk.sync_directory(&path("full")).is_err(), "it is called otherwise now");
    }
}

#[test]
fn a_lock_is_free_after_a_crash_and_its_old_holder_does_not_free_it() {
    let disk = disk();
    let path = Path::new("/d/.lock");
    let before = disk.lock(path).expect("locks");
    disk.crash(1);
    let after = disk.lock(path).expect("locks again");
    drop(before);
    assert!(disk.lock(path).is_err());
    drop(after);
    assert!(disk.lock(path).is_ok());
}
