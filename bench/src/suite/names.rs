//! The names of the suite's loads, under which results are kept and rows find them.

use crate::server::Durability;

/// Bytes of a record's value in the first of the two kinds of every load.
pub(super) const KIB: usize = 1024;
/// Bytes of a record's value: those that every produce, fetch and roundtrip load is run with.
pub(super) const SIZES: [usize; 2] = [KIB, 200];
/// Name of the start and of the idleness behind it.
pub(super) const START: &str = "start and idleness";
/// Name of the size of the binary.
pub(super) const BINARY: &str = "binary";
/// Name of idle connections.
pub(super) const CONNECTIONS: &str = "idle connections";
/// Name of a thousand partitions.
pub(super) const PARTITIONS: &str = "partitions";
/// Name of ten thousand partitions, started again.
pub(super) const MANY_PARTITIONS: &str = "many partitions";

/// Producers that commit transactions at once, where there is more than one.
pub(super) const MANY_PRODUCERS: usize = 100;
/// Name of the start of groups by a broker as it is by default.
pub(super) const GROUP_START_DEFAULT: &str = "first member of a new group, by default";
/// Name of the start of groups that do not wait for more members.
pub(super) const GROUP_START: &str = "first member of a new group, initial delay 0";
/// Name of transactions as they were before KIP-890.
pub(super) const OLDER_TRANSACTIONS: &str = "transaction of one record of 1 KiB, synced, 1 producer, older protocol";
/// Name of a group of very many members.
pub(super) const GROUP_SIZE: &str = "members of one group";

/// A durability's name.
pub(super) fn name_of(durability: Durability) -> &'static str {
    match durability {
        Durability::Written => "written",
        Durability::Synced => "synced",
    }
}

/// A record size's name.
pub(super) fn size_name(bytes: usize) -> String {
    if bytes.is_multiple_of(KIB) { format!("{} KiB", bytes / KIB) } else { format!("{bytes} B") }
}

/// Name of produce loads with batches of 100.
pub(super) fn produce(durability: Durability, partitions: i32, size: usize) -> String {
    let connections = if partitions == 1 { "1 partition" } else { "6 partitions, 4 connections" };
    format!("produce, {}, {connections}, 100 × {} a batch", name_of(durability), size_name(size))
}

/// Name of fetch loads.
pub(super) fn fetch(mebibytes: usize, size: usize) -> String {
    format!("fetch, cached, {mebibytes} MiB an answer, batches of 100 × {}", size_name(size))
}

/// Name of loads of one record a request, one in flight.
pub(super) fn single_record(durability: Durability, size: usize) -> String {
    format!("one record of {} a request, {}, 1 in flight", size_name(size), name_of(durability))
}

/// Name of loads of one record a request, many in flight.
pub(super) fn many_records(size: usize) -> String {
    format!("one record of {} a request, synced, 5 in flight × 8 connections", size_name(size))
}

/// Name of roundtrip loads.
pub(super) fn roundtrip(durability: Durability, rate: u32, size: usize) -> String {
    let pace = if rate == 0 { "sequential".to_owned() } else { format!("{rate} a second") };
    format!("record's way to a long poll, {}, {} each, {pace}", name_of(durability), size_name(size))
}

/// Name of the paced produce load.
pub(super) fn paced(size: usize) -> String {
    format!("20,000 records/s, written, 10 × {} a batch", size_name(size))
}

/// Name of the most memory that all loads of a durability took.
pub(super) fn peak(durability: Durability) -> String {
    format!("peak under the {} loads", name_of(durability))
}

/// Name of what the null broker is asked at full speed.
pub(super) fn null_batches() -> String {
    produce(Durability::Written, 1, KIB)
}

/// Name of commits of offsets.
pub(super) fn commits(durability: Durability) -> &'static str {
    match durability {
        Durability::Written => "offset commit, written, 1 in flight",
        Durability::Synced => "offset commit, synced, 1 in flight",
    }
}

/// Name of transactions by one producer or by [`MANY_PRODUCERS`].
pub(super) fn transactions(durability: Durability, producers: usize) -> &'static str {
    match (durability, producers) {
        (Durability::Written, 1) => "transaction of one record of 1 KiB, written, 1 producer",
        (Durability::Synced, 1) => "transaction of one record of 1 KiB, synced, 1 producer",
        (Durability::Written, _) => "transaction of one record of 1 KiB, written, 100 producers, 6 partitions",
        (Durability::Synced, _) => "transaction of one record of 1 KiB, synced, 100 producers, 6 partitions",
    }
}

/// Name of a third member's coming.
pub(super) fn rebalance(cooperative: bool) -> &'static str {
    if cooperative { "third member of a group, cooperative" } else { "third member of a group, eager" }
}
