//! Each topic, its partitions added up.

use pillion_broker::{BrokerSnapshot, TopicSnapshot};

use crate::exposition::{Exposition, Kind};

/// Writes the topics' numbers.
pub(super) fn write(exposition: &mut Exposition, seen: &BrokerSnapshot) {
    let mut each = |kind, name, help: &str, value: fn(&TopicSnapshot) -> u64| {
        let mut family = exposition.family(kind, name, help);
        for topic in &seen.topics {
            family.series(&[("topic", &topic.name)], value(topic));
        }
    };
    each(Kind::Gauge, "pillion_topic_partitions", "Partitions of the topic.", |topic| topic.partitions as u64);
    each(Kind::Gauge, "pillion_topic_size_bytes", "Bytes of the topic's logs.", |topic| topic.log_bytes);
    each(
        Kind::Gauge,
        "pillion_topic_log_start_offset",
        "Offsets that the topic's logs start at, added up over its partitions.",
        |topic| topic.log_start_offsets.unsigned_abs(),
    );
    each(
        Kind::Gauge,
        "pillion_topic_high_watermark",
        "Offsets up to which the topic can be read, added up over its partitions.",
        |topic| topic.high_watermarks.unsigned_abs(),
    );
    each(
        Kind::Counter,
        "pillion_topic_appended_records_total",
        "Records appended to the topic, transaction markers among them.",
        |topic| topic.appended_records,
    );
    each(
        Kind::Counter,
        "pillion_topic_appended_bytes_total",
        "Bytes of batches appended to the topic, as they are stored.",
        |topic| topic.appended_bytes,
    );
    each(
        Kind::Counter,
        "pillion_topic_fetched_bytes_total",
        "Bytes of the topic's batches sent to those who fetch; nobody looks how many records are in them.",
        |topic| topic.fetched_bytes,
    );
    exposition.gauge(
        "pillion_topics_without_series",
        "Topics that have no series of their own: there are more than a scrape lists.",
        seen.topic_count - seen.topics.len(),
    );
}
