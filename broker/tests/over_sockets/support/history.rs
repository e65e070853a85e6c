//! What clients saw, held against what a partition holds in the end.

use std::collections::BTreeMap;
use std::sync::Mutex;

use pillion_wire::records::Record;

use super::{Client, Producer, read_all};

/// Values by partition and offset, as consumers saw them.
#[derive(Default)]
pub(crate) struct History {
    seen: Mutex<BTreeMap<(i32, i64), String>>,
}

impl History {
    /// Notes a record that a consumer got; an offset has one value for ever.
    pub(crate) fn note(&self, partition: i32, record: &Record) {
        let value = text(record);
        let mut seen = self.seen.lock().expect("no other test thread failed");
        let before = seen.entry((partition, record.offset)).or_insert_with(|| value.clone());
        assert_eq!(*before, value, "offset {} of partition {partition} has two values", record.offset);
    }

    /// Reads everything and checks: no record that anyone saw or was acknowledged is missing or elsewhere, none is
    /// there twice, every producer's are in its order.
    pub(crate) fn check(&self, client: &mut Client, topic: &str, producers: &[Producer]) {
        let mut partitions: Vec<_> = producers.iter().map(|producer| producer.partition).collect();
        partitions.sort_unstable();
        partitions.dedup();
        let mut places = BTreeMap::new();
        for partition in partitions {
            let records = read_all(client, topic, partition);
            for (record, expected) in records.iter().zip(0..) {
                assert_eq!(record.offset, expected, "offsets of partition {partition} have a gap");
                self.note(partition, record);
                let before = places.insert(text(record), (partition, record.offset));
                assert_eq!(before, None, "{} is there twice", text(record));
            }
        }
        for ((partition, offset), value) in &*self.seen.lock().expect("no other test thread failed") {
            assert_eq!(places.get(value), Some(&(*partition, *offset)), "{value} was read and taken back");
        }
        for producer in producers {
            for (offset, value) in &producer.acknowledged {
                assert_eq!(
                    places.get(value),
                    Some(&(producer.partition, *offset)),
                    "{value} was acknowledged at {offset}"
                );
            }
            let offsets: Vec<_> = producer.acknowledged.iter().map(|(offset, _)| *offset).collect();
            assert!(offsets.is_sorted(), "a producer's records are out of order");
        }
    }
}

fn text(record: &Record) -> String {
    String::from_utf8_lossy(record.value.as_deref().unwrap_or_default()).into_owned()
}
