//! Power cuts and kills on the simulated disk, under load: what was acknowledged or read is there after each of them.
//!
//! A kill leaves bytes that no sync has covered: the next start may show them only once it has synced them, or the
//! power cut behind it takes back what consumers read.

mod machine;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::support::{History, Load, Producer, batch, create_topic, delete_topic, list_offset, metadata, produce};
use machine::Machine;

const MACHINES: u64 = 12;
const CRASHES: u64 = 6;
const PARTITIONS: i32 = 2;

#[test]
fn neither_power_cut_nor_kill_takes_back_what_was_acknowledged_or_read() {
    for seed in 0..MACHINES {
        let mut random = StdRng::seed_from_u64(seed);
        let mut machine = Machine::new();
        let history = History::default();
        let mut broker = machine.start();
        let mut client = broker.client();
        // Small segments: crashes fall between segments too.
        create_topic(&mut client, "t", PARTITIONS, &[("segment.bytes", "2000")]);
        let producer = |number| Producer::new(&mut client, "t", number % PARTITIONS);
        let mut producers: Vec<_> = (0..3).map(producer).collect();
        for crash in 0..CRASHES {
            println!("machine {seed}, crash {crash}");
            // Some come so early that recovery has just been read from, and nothing else was written.
            let batches = if random.random_ratio(1, 4) { 0 } else { random.random_range(1..60) };
            let is_killed_only = random.random_ratio(1, 3);
            let crash_seed = random.random();
            Load::default().run(broker.address, &mut producers, &history, |load| {
                load.await_acknowledged(batches);
                if is_killed_only {
                    machine.kill()
                } else {
                    machine.crash(crash_seed)
                }
                broker.abandon();
            });
            machine = machine.rebooted();
            broker = machine.start();
            history.check(&mut broker.client(), "t", &producers);
        }
        for producer in &mut producers {
            producer.finish(broker.address);
        }
        history.check(&mut broker.client(), "t", &producers);
    }
}

#[test]
fn topics_made_and_deleted_survive_power_cuts() {
    for seed in 0..20 {
        let machine = Machine::new();
        let broker = machine.start();
        let mut client = broker.client();
        let id = create_topic(&mut client, "kept", 2, &[]);
        create_topic(&mut client, "deleted", 1, &[]);
        assert_eq!(produce(&mut client, "deleted", 0, batch(&["x"])).error_code, 0);
        delete_topic(&mut client, "deleted");
        machine.crash(seed);
        broker.abandon();
        let machine = machine.rebooted();
        let broker = machine.start();
        let mut client = broker.client();
        let topics = metadata(&mut client, &["kept", "deleted"]).topics;
        assert_eq!((topics[0].topic_id, topics[1].error_code), (id, 3), "seed {seed}");
        create_topic(&mut client, "deleted", 1, &[]);
        let offset = list_offset(&mut client, "deleted", 0, -1).offset;
        assert_eq!(offset, 0, "seed {seed}: the new topic has the old one's records");
    }
}
