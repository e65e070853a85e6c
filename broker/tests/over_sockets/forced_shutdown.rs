//! A real file system whose power is cut under load: an ext4 on a loop device, shut down by ioctl. Needs root and loop
//! devices; where there are none the tests say so and pass.

use std::fs::{self, File};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::support::{Client, Ext4, History, Load, Producer, ServedProcess, StartingProcess, create_topic};

const ROUNDS: u64 = 8;
const PARTITIONS: i32 = 3;

/// A start takes about half of it.
const START_MICROSECONDS: u64 = 30_000;

fn file_system() -> Option<Ext4> {
    Ext4::try_new().map_err(|reason| println!("skipped: {reason}")).ok()
}

#[test]
fn a_file_system_shut_down_forgets_what_was_not_synced() {
    let Some(mut ext4) = file_system() else { return };
    let (kept, lost) = (ext4.root().join("kept"), ext4.root().join("lost"));
    fs::write(&kept, "kept").expect("writes");
    File::open(&kept).and_then(|file| file.sync_all()).expect("syncs");
    fs::write(&lost, "lost").expect("writes");
    ext4.power().cut();
    ext4.remount();
    assert_eq!(fs::read_to_string(&kept).expect("is there"), "kept");
    assert!(fs::read(&lost).unwrap_or_default().is_empty(), "the shutdown is no power cut");
}

#[test]
fn a_real_power_cut_takes_back_nothing_that_was_acknowledged_or_read() {
    let Some(mut ext4) = file_system() else { return };
    let directory = ext4.root().join("data");
    let history = History::default();
    let mut producers = Vec::new();
    for seed in 0..ROUNDS {
        let served = ServedProcess::start(&directory, &[]);
        let address = served.address;
        let mut client = Client::connect(address);
        if producers.is_empty() {
            create_topic(&mut client, "t", PARTITIONS, &[("segment.bytes", "8000")]);
            let producer = |number| Producer::new(&mut client, "t", number % PARTITIONS);
            producers = (0..2 * PARTITIONS).map(producer).collect();
        }
        history.check(&mut client, "t", &producers);
        let mut random = StdRng::seed_from_u64(seed);
        let batches = random.random_range(1..300);
        let moment = Duration::from_micros(random.random_range(0..3_000));
        println!("round {seed}: shut down {moment:?} after {batches} acknowledged batches");
        let power = ext4.power();
        Load::default().run(address, &mut producers, &history, |load| {
            load.await_acknowledged(batches);
            // Not to wait for anything: the cut shall hit any step of the broker's work.
            std::thread::sleep(moment);
            load.hear_nothing_more();
            power.cut();
            served.kill();
        });
        ext4.remount();
        if random.random() {
            let power = ext4.power();
            let starting = StartingProcess::spawn(&directory, &[]);
            // Nor here: any step of a start, the recovery's first of all.
            std::thread::sleep(Duration::from_micros(random.random_range(0..START_MICROSECONDS)));
            power.cut();
            starting.kill();
            ext4.remount();
        }
    }
    let served = ServedProcess::start(&directory, &[]);
    for producer in &mut producers {
        producer.finish(served.address);
    }
    let mut client = Client::connect(served.address);
    history.check(&mut client, "t", &producers);
    assert!(producers.iter().all(|producer| !producer.acknowledged.is_empty()));
    served.kill();
}
