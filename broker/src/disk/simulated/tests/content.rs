use super::*;

#[test]
fn one_seed_leaves_the_same_each_time() {
    for seed in 0..20 {
        let left = |_| {
            let disk = disk();
            let file = synced(&disk, "f", &[1; 3000]);
            write(&*file, 100, &[2; 5000]).expect("writes");
            disk.open(Path::new("/d/g")).expect("opens");
            disk.crash(seed);
            (read(&disk, "f"), read(&disk, "g"))
        };
        assert_eq!(left(()), left(()), "seed {seed}");
    }
}

#[test]
fn unsynced_blocks_survive_each_by_itself_and_some_are_torn() {
    let left = leftovers(|disk| {
        let file = synced(disk, "f", &[1; 2048]);
        write(&*file, 0, &[2; 2048]).expect("writes");
    });
    let left: Vec<_> = left.into_iter().map(|left| left.expect("its name is durable")).collect();
    assert!(left.iter().all(|bytes| bytes.len() == 2048 && bytes.iter().all(|byte| [1, 2].contains(byte))));
    let blocks = |bytes: &[u8]| bytes.chunks(512).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let is_torn = |block: &Vec<u8>| block.first() != block.last();
    for block in left.iter().flat_map(|bytes| blocks(bytes)).filter(is_torn) {
        assert!(block.is_sorted_by(|one, next| one >= next), "a torn block is new before it is old");
    }
    assert!(left.iter().any(|bytes| blocks(bytes).iter().any(is_torn)), "some are torn");
    for wanted in [[1, 1, 1, 1], [2, 2, 2, 2], [1, 2, 1, 2], [2, 1, 1, 1]] {
        let whole = wanted.map(|byte| vec![byte; 512]);
        assert!(left.iter().any(|bytes| blocks(bytes) == whole), "{wanted:?} never survives");
    }
}

#[test]
fn a_version_between_two_syncs_may_be_the_one_on_disk() {
    let left = leftovers(|disk| {
        let file = synced(disk, "f", b"synced");
        write(&*file, 0, b"second").expect("writes");
        write(&*file, 0, b"third!").expect("writes");
    });
    for version in ["synced", "second", "third!"] {
        assert!(left.contains(&Some(version.into())), "{version}");
    }
}

#[test]
fn growth_may_be_lost_and_is_zeroes_when_it_is_not() {
    let left = leftovers(|disk| {
        synced(disk, "f", b"abc").grow(5000).expect("grows");
    });
    let lengths: BTreeSet<_> = left.iter().flatten().map(Vec::len).collect();
    assert!(lengths.contains(&3) && lengths.contains(&5000), "{lengths:?}");
    for bytes in left.iter().flatten() {
        assert!(bytes.starts_with(b"abc") && bytes[3..].iter().all(|byte| *byte == 0));
    }
    let left = leftovers(|disk| {
        let file = synced(disk, "f", b"abc");
        file.grow(5000).expect("grows");
        file.sync().expect("syncs");
    });
    assert_eq!(left.into_iter().flatten().map(|bytes| bytes.len()).collect::<Vec<_>>(), [5000]);
}

#[test]
fn bytes_cut_off_come_back_after_a_crash_until_the_cut_is_synced() {
    let cut_and_grown = |disk: &SimulatedDisk| {
        let file = synced(disk, "f", &[1; 2000]);
        file.truncate(700).expect("cuts");
        file.grow(2000).expect("grows");
        file
    };
    let disk = disk();
    cut_and_grown(&disk);
    let expected = [vec![1; 700], vec![0; 1300]].concat();
    assert_eq!(read(&disk, "f").as_ref(), Some(&expected), "processes see zeroes");
    let left = leftovers(|disk| drop(cut_and_grown(disk)));
    let lefts = || left.iter().flatten();
    assert!(lefts().any(|bytes| *bytes == [1; 2000]), "nothing of the cut was on disk");
    assert!(lefts().any(|bytes| *bytes == expected), "all was");
    assert!(lefts().any(|bytes| bytes.len() == 700), "the cut was, the growth was not");
    assert!(lefts().any(|bytes| bytes.len() > 1536 && bytes[1024] == 0 && bytes[1536] == 1), "a part was");
    assert!(lefts().all(|bytes| bytes[..700] == [1; 700]));
    let left = leftovers(|disk| cut_and_grown(disk).sync().expect("syncs"));
    assert_eq!(left.into_iter().collect::<Vec<_>>(), [Some(expected)]);
}

#[test]
fn a_file_that_grows_after_a_crash_has_zeroes_behind_its_old_end() {
    for seed in 0..SEEDS {
        let disk = disk();
        let file = synced(&disk, "f", &[1; 100]);
        write(&*file, 100, &[2; 1000]).expect("writes");
        disk.crash(seed);
        let length = read(&disk, "f").expect("is there").len();
        disk.open(Path::new("/d/f")).expect("opens").grow(2000).expect("grows");
        assert!(read(&disk, "f").expect("is there")[length..].iter().all(|byte| *byte == 0), "seed {seed}");
    }
}

#[test]
fn a_second_sync_does_not_save_what_the_first_failed_to() {
    let left = leftovers(|disk| {
        let file = synced(disk, "f", &[1; 1024]);
        write(&*file, 0, &[2; 512]).expect("writes");
        disk.fail_syncs(true);
        assert!(file.sync().is_err());
        disk.fail_syncs(false);
        write(&*file, 512, &[3; 512]).expect("writes");
        file.sync().expect("syncs");
    });
    assert!(left.iter().flatten().all(|bytes| bytes[512..] == [3; 512]), "the second sync covers what came later");
    assert!(left.iter().flatten().any(|bytes| bytes[..512] == [1; 512]), "the first one's bytes may be lost");
    assert!(left.iter().flatten().any(|bytes| bytes[..512] == [2; 512]), "and may not");
}

#[test]
fn a_flipped_bit_is_seen_at_once_and_after_a_crash() {
    for is_synced in [false, true] {
        let disk = disk();
        let file = synced(&disk, "f", &[0; 600]);
        if !is_synced {
            write(&*file, 0, &[0; 600]).expect("writes");
        }
        disk.flip_bit("/d/f", 599, 7).expect("flips");
        assert!(disk.flip_bit("/d/f", 600, 0).is_err() && disk.flip_bit("/d/g", 0, 0).is_err());
        let expected = [vec![0; 599], vec![0x80]].concat();
        assert_eq!(read(&disk, "f").as_ref(), Some(&expected));
        disk.crash(1);
        assert_eq!(read(&disk, "f").as_ref(), Some(&expected));
    }
}
