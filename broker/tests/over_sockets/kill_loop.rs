//! SIGKILL at any moment loses no acknowledged record and makes none twice.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::support::{Client, History, Load, Producer, ServedProcess, StartingProcess, create_topic};

const ROUNDS: u64 = 10;
const PRODUCERS: i32 = 4;

/// A start takes about half of it.
const START_MICROSECONDS: u64 = 30_000;

#[test]
fn killed_at_random_moments_a_broker_keeps_what_it_acknowledged() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let history = History::default();
    let mut producers = Vec::new();
    for seed in 0..ROUNDS {
        let served = ServedProcess::start(directory.path(), &[]);
        let address = served.address;
        let mut client = Client::connect(address);
        if producers.is_empty() {
            create_topic(&mut client, "t", PRODUCERS / 2, &[("segment.bytes", "8000")]);
            let producer = |number| Producer::new(&mut client, "t", number % (PRODUCERS / 2));
            producers = (0..PRODUCERS).map(producer).collect();
        }
        history.check(&mut client, "t", &producers);
        let mut random = StdRng::seed_from_u64(seed);
        let batches = random.random_range(1..400);
        let moment = Duration::from_micros(random.random_range(0..3_000));
        println!("round {seed}: killed {moment:?} after {batches} acknowledged batches");
        Load::default().run(address, &mut producers, &history, |load| {
            load.await_acknowledged(batches);
            // Not to wait for anything: the kill shall hit any step of the broker's work.
            std::thread::sleep(moment);
            served.kill();
        });
        for _ in 0..random.random_range(0..3) {
            let starting = StartingProcess::spawn(directory.path(), &[]);
            // Nor here: any step of a start, the recovery's first of all.
            std::thread::sleep(Duration::from_micros(random.random_range(0..START_MICROSECONDS)));
            starting.kill();
        }
    }
    let served = ServedProcess::start(directory.path(), &[]);
    for producer in &mut producers {
        producer.finish(served.address);
    }
    let mut client = Client::connect(served.address);
    history.check(&mut client, "t", &producers);
    assert!(producers.iter().all(|producer| !producer.acknowledged.is_empty()));
}
