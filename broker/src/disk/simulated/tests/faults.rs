use std::time::Duration;

use super::*;

#[test]
fn a_full_disk_takes_what_fits() {
    let disk = disk();
    let file = synced(&disk, "f", b"abc");
    disk.fill_after(5);
    let free = |disk: &SimulatedDisk| disk.space(Path::new("/d")).expect("tells").free;
    assert_eq!(free(&disk), 5);
    assert_eq!(write(&*file, 3, b"defghijk").map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
    assert_eq!(read(&disk, "f").as_deref(), Some(&b"abcdefgh"[..]));
    assert_eq!(file.grow(9).map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
    write(&*file, 0, b"ABCDEFGH").expect("what is there can be written over");
    assert_eq!((free(&disk), file.length().expect("length")), (0, 8));
    file.truncate(6).expect("cuts");
    assert_eq!(free(&disk), 2);
    write(&*file, 6, b"xy").expect("there is room again");
    disk.set_capacity(100);
    assert_eq!(disk.space(Path::new("/d")).expect("tells"), Space { free: 92, total: 100 });
    disk.remove(Path::new("/d/f")).expect("removes");
    assert_eq!(free(&disk), 100);
}

#[test]
fn only_the_chosen_operation_fails() {
    for number in 1..=9 {
        let disk = disk();
        let file = synced(&disk, "f", b"");
        synced(&disk, "g", b"");
        let before = disk.operations();
        disk.fail_nth_operation(before + number);
        let done = [
            write(&*file, 0, b"abcd").is_ok(),
            file.sync().is_ok(),
            file.grow(9).is_ok(),
            file.truncate(4).is_ok(),
            disk.rename(Path::new("/d/g"), Path::new("/d/h")).is_ok(),
            disk.sync_directory(Path::new("/d")).is_ok(),
            disk.remove(Path::new("/d/f")).is_ok(),
            disk.open(Path::new("/d/i")).is_ok(),
        ];
        assert_eq!(disk.operations() - before, 8);
        let failed: Vec<_> = (1..).zip(done).filter(|(_, done)| !done).map(|(number, _)| number).collect();
        assert_eq!(failed, if number == 9 { vec![] } else { vec![number] });
    }
}

#[test]
fn the_power_goes_at_every_operation() {
    let root = Path::new("/d");
    let act = |disk: &SimulatedDisk| {
        let file = disk.open(&root.join("f"))?;
        write(&*file, 0, b"old")?;
        file.sync()?;
        disk.sync_directory(root)?;
        disk.replace_small(&root.join("f"), b"new")
    };
    let whole = disk();
    let before = whole.operations();
    act(&whole).expect("there is power");
    let operations = whole.operations() - before;
    assert_eq!(operations, 9, "made, written, synced, name synced; made, written, synced, renamed, name synced");
    let mut left = BTreeSet::new();
    for number in 1..=operations {
        for seed in 0..50 {
            let disk = disk();
            disk.cut_power_at(disk.operations() + number);
            assert!(!disk.is_cut());
            assert!(act(&disk).is_err());
            assert!(disk.is_cut());
            assert!(disk.read_small(root, 9).is_err() && disk.list(root).is_err(), "there is no power to read with");
            disk.crash(seed);
            let content = read(&disk, "f");
            let is_whole = content.as_ref().is_some_and(|content| content == b"old" || content == b"new");
            assert!(is_whole || number <= 4, "cut at {number}, seed {seed}: {content:?}");
            left.insert((number, content));
            act(&disk).expect("there is power again");
        }
    }
    for (number, content) in [(1, None), (2, None), (4, Some("old")), (8, Some("old")), (8, Some("new"))] {
        assert!(left.contains(&(number, content.map(Into::into))), "cut at {number} never leaves {content:?}");
    }
}

#[test]
fn faults_are_for_a_path_and_what_is_below_it() {
    let disk = disk();
    for directory in ["/d/a", "/d/ab"] {
        disk.create_directory(Path::new(directory)).expect("makes");
    }
    let [a, ab] = ["/d/a/f", "/d/ab/f"].map(|path| disk.open(Path::new(path)).expect("opens"));
    disk.fail_syncs_of("/d/a", true);
    assert!(a.sync().is_err() && disk.sync_directory(Path::new("/d/a")).is_err());
    assert!(ab.sync().is_ok() && disk.sync_directory(Path::new("/d/ab")).is_ok());
    disk.fail_syncs_of("/d/a", false);
    assert!(a.sync().is_ok());
    disk.fail_writes_of("/d/a/f", true);
    assert_eq!(write(&*a, 0, b"abcd").map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
    assert!(a.length().expect("length") < 4 && write(&*ab, 0, b"abcd").is_ok());
    disk.fail_reads_of("/d/ab", true);
    assert!(ab.read_at(0, &mut [0; 4]).is_err() && ab.map(4).is_err() && a.read_at(0, &mut [0; 4]).is_ok());
    disk.fail_reads_of("/d/ab", false);
    disk.cool(true);
    assert_eq!(ab.read_cached_at(0, &mut [0; 4]).map_err(|error| error.kind()), Err(io::ErrorKind::WouldBlock));
    assert_eq!(ab.read_at(0, &mut [0; 4]).expect("reads"), 4);
}

/// Waits until a condition holds.
fn eventually(condition: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("it did not happen");
}

#[test]
fn a_sync_held_up_holds_up_no_other_and_covers_what_was_written_before_it() {
    for seed in 0..20 {
        let disk = disk();
        let (slow, quick) = (synced(&disk, "slow", &[1; 512]), synced(&disk, "quick", b""));
        write(&*slow, 0, &[2; 512]).expect("writes");
        let held = disk.hold_syncs_of("/d/slow");
        std::thread::scope(|scope| {
            let syncing = scope.spawn(|| slow.sync());
            eventually(|| held.waiting() == 1);
            quick.sync().expect("the other is not held up");
            write(&*slow, 0, &[3; 512]).expect("nor is a write");
            assert!(!syncing.is_finished());
            held.release();
            syncing.join().expect("joins").expect("syncs");
        });
        disk.crash(seed);
        let left = read(&disk, "slow").expect("is there");
        assert!(!left.contains(&1), "seed {seed}: what was written before the sync is durable");
    }
}

#[test]
fn a_crash_ends_a_sync_held_up() {
    let disk = disk();
    let file = synced(&disk, "f", b"");
    let held = disk.hold_syncs_of("/d");
    std::thread::scope(|scope| {
        let syncing = [scope.spawn(|| file.sync()), scope.spawn(|| disk.sync_directory(Path::new("/d")))];
        eventually(|| held.waiting() == 2);
        disk.crash(1);
        for syncing in syncing {
            assert!(syncing.join().expect("joins").is_err());
        }
    });
}
