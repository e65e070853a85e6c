//! The broker as a whole.

use pillion_broker::BrokerSnapshot;

use crate::exposition::{Exposition, Kind};

/// Writes the broker's numbers.
pub(super) fn write(exposition: &mut Exposition, seen: &BrokerSnapshot) {
    requests(exposition, seen);
    log(exposition, seen);
    exposition.gauge("pillion_broker_topics", "Topics, internal ones too.", seen.topic_count);
    exposition.gauge("pillion_broker_partitions", "Partitions.", seen.partition_count);
    exposition.gauge(
        "pillion_broker_offline_partitions",
        "Partitions that are not written: their log is damaged, or a sync failed.",
        seen.offline_partition_count,
    );
    exposition.gauge("pillion_broker_groups", "Consumer groups.", seen.group_count);
    exposition.gauge(
        "pillion_broker_open_transactions",
        "Transactions that have begun and not ended.",
        seen.open_transactions,
    );
    if let Some(disk) = seen.disk {
        exposition.gauge("pillion_disk_free_bytes", "Free space of the data directory's disk.", disk.free_bytes);
        exposition.gauge("pillion_disk_size_bytes", "Size of the data directory's disk.", disk.total_bytes);
        exposition.gauge(
            "pillion_disk_free_min_bytes",
            "Free space below which producers are refused.",
            disk.free_bytes_min,
        );
    }
}

fn requests(exposition: &mut Exposition, seen: &BrokerSnapshot) {
    let mut latency = exposition.family(
        Kind::Histogram,
        "pillion_broker_request_duration_seconds",
        "From when a request was read to when its answer was there, by API; a fetch's wait for records is in it.",
    );
    for api in &seen.apis {
        latency.histogram(&[("api", api.name)], &api.latency);
    }
    let network = &seen.network;
    exposition.counter("pillion_broker_received_bytes_total", "Bytes read from connections.", network.received_bytes);
    exposition.counter("pillion_broker_sent_bytes_total", "Bytes written to connections.", network.sent_bytes);
    exposition.gauge("pillion_broker_connections", "Connections.", network.connections_open);
    exposition.counter("pillion_broker_connections_opened_total", "Connections accepted.", network.connections_opened);
    exposition.counter(
        "pillion_broker_connections_refused_total",
        "Connections turned away because of max.connections or max.connections.per.ip.",
        network.connections_refused,
    );
    exposition.counter(
        "pillion_broker_protocol_errors_total",
        "Connections closed because of what they sent.",
        network.protocol_errors,
    );
    exposition.gauge(
        "pillion_broker_request_memory_bytes",
        "Memory of large requests that are being received or worked on.",
        network.request_bytes,
    );
}

fn log(exposition: &mut Exposition, seen: &BrokerSnapshot) {
    exposition.counter(
        "pillion_log_appended_records_total",
        "Records appended to all logs, transaction markers and the broker's own among them.",
        seen.appended_records,
    );
    exposition.counter(
        "pillion_log_appended_bytes_total",
        "Bytes of batches appended to all logs, as they are stored.",
        seen.appended_bytes,
    );
    exposition.counter(
        "pillion_log_fetched_bytes_total",
        "Bytes of batches sent to those who fetch.",
        seen.fetched_bytes,
    );
    exposition.gauge("pillion_log_size_bytes", "Bytes of all logs.", seen.log_bytes);
    exposition.gauge("pillion_log_unsynced_bytes", "Bytes written and not synced yet.", seen.unsynced_bytes);
    exposition
        .family(
            Kind::Histogram,
            "pillion_log_sync_duration_seconds",
            "How long it took to sync a partition; one sync serves every append before it.",
        )
        .histogram(&[], &seen.syncs);
    exposition.counter(
        "pillion_log_sync_failures_total",
        "Syncs that failed; each took a partition offline.",
        seen.sync_failures,
    );
}
