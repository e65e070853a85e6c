//! Which loads run against a broker, in which order, under which names.

use anyhow::{Context, Result};

use crate::connection::Connection;
use crate::figures::Figures;
use crate::load::Target;
use crate::load::connections::ConnectionsLoad;
use crate::load::fetch::FetchLoad;
use crate::load::partitions::PartitionsLoad;
use crate::load::produce::ProduceLoad;
use crate::load::roundtrip::RoundtripLoad;
use crate::server::{Durability, Server};

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

/// How long everything takes.
#[derive(Debug, Clone)]
pub(super) struct Scale {
    /// Bytes of values that a produce load writes at most.
    produce_bytes: u64,
    /// Records before a load that are not measured: a virtual machine compiles while it runs.
    warmup: u64,
    /// Seconds of a produce or fetch load at most.
    seconds: f64,
    /// Records of a roundtrip load.
    roundtrips: u64,
    /// Seconds of paced and of one-record loads.
    single_seconds: f64,
    /// Idle connections.
    pub(super) connections: usize,
    /// Partitions made and used.
    pub(super) partitions: u32,
    /// Partitions that are made, used and started again; ours only.
    pub(super) many_partitions: Option<u32>,
    /// Seconds of idleness.
    pub(super) idle_seconds: f64,
    /// Seconds for each of the machine's limits.
    pub(super) limit_seconds: f64,
}

impl Scale {
    /// What figures are taken from.
    pub(super) fn full() -> Self {
        Self {
            produce_bytes: 2 << 30,
            warmup: 200_000,
            seconds: 8.0,
            roundtrips: 5_000,
            single_seconds: 5.0,
            connections: 2_000,
            partitions: 1_000,
            many_partitions: Some(10_000),
            idle_seconds: 10.0,
            limit_seconds: 3.0,
        }
    }

    /// A quick look; figures of a virtual machine that has just begun are too low.
    pub(super) fn quick() -> Self {
        Self {
            produce_bytes: 256 << 20,
            warmup: 50_000,
            seconds: 2.0,
            roundtrips: 1_000,
            single_seconds: 1.0,
            connections: 500,
            partitions: 200,
            many_partitions: None,
            idle_seconds: 2.0,
            limit_seconds: 0.5,
        }
    }
}

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

/// One load; its target is set when it runs.
#[derive(Debug, Clone)]
enum Load {
    Produce(ProduceLoad),
    Fetch(FetchLoad),
    Roundtrip(RoundtripLoad),
    Connections(ConnectionsLoad),
    Partitions(PartitionsLoad),
}

#[derive(Debug, Clone)]
struct Planned {
    name: String,
    load: Load,
    /// The topic is not needed any more.
    delete_topic: Option<String>,
}

/// Loads in their order.
#[derive(Debug)]
pub(super) struct Plan {
    loads: Vec<Planned>,
    peak_resident_mb: f64,
}

impl Plan {
    /// Those against a broker with one durability.
    pub(super) fn of(durability: Durability, scale: &Scale) -> Self {
        let mut plan = Self { loads: Vec::new(), peak_resident_mb: 0.0 };
        for size in SIZES {
            let topic = format!("one-{size}");
            plan.produce(produce(durability, 1, size), batches(scale, &topic, 1, size));
            if durability == Durability::Written {
                for mebibytes in [1, 50] {
                    plan.fetch(fetch(mebibytes, size), &topic, mebibytes << 20, scale);
                }
            }
            plan.delete(&topic);
            let topic = format!("six-{size}");
            plan.produce(produce(durability, 6, size), batches(scale, &topic, 6, size));
            plan.delete(&topic);
            plan.produce(single_record(durability, size), single(scale, &format!("single-{size}"), size, 1, 1));
            if durability == Durability::Synced {
                plan.produce(many_records(size), single(scale, &format!("many-{size}"), size, 5, 8));
            }
            plan.roundtrip(durability, 0, size, scale);
            if durability == Durability::Written {
                plan.roundtrip(durability, 1_000, size, scale);
                plan.produce(paced(size), paced_load(scale, &format!("paced-{size}"), size));
            }
        }
        if durability == Durability::Written {
            let count = scale.connections;
            plan.add(CONNECTIONS.to_owned(), Load::Connections(ConnectionsLoad { target: target(), count }));
            // Last: what the partitions take is not part of the loads' peak.
            let load = PartitionsLoad { target: target(), topic_prefix: "many-".to_owned(), count: scale.partitions };
            plan.add(PARTITIONS.to_owned(), Load::Partitions(load));
        }
        plan
    }

    /// Those that the null broker is a measure for.
    pub(super) fn of_null(scale: &Scale) -> Self {
        let mut plan = Self { loads: Vec::new(), peak_resident_mb: 0.0 };
        plan.produce(null_batches(), batches(scale, "null", 1, KIB));
        for size in SIZES {
            plan.produce(single_record(Durability::Written, size), single(scale, "null", size, 1, 1));
        }
        plan
    }

    /// Leaves out what is not wanted, but for what a wanted load reads.
    pub(super) fn retain(&mut self, wants: impl Fn(&str) -> bool) {
        let read: Vec<String> =
            self.loads.iter().filter(|planned| wants(&planned.name)).filter_map(Planned::reads).collect();
        self.loads.retain(|planned| wants(&planned.name) || planned.writes().is_some_and(|topic| read.contains(topic)));
    }

    /// The loads' names in their order.
    #[cfg(test)]
    pub(super) fn names(&self) -> Vec<String> {
        self.loads.iter().map(|planned| planned.name.clone()).collect()
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.loads.is_empty()
    }

    /// The most memory that the broker had during the loads, but for many partitions.
    pub(super) fn peak_resident_mb(&self) -> f64 {
        self.peak_resident_mb
    }

    /// Runs every load and hands its figures on.
    pub(super) fn run(&mut self, server: &Server, mut take: impl FnMut(&str, Figures) -> Result<()>) -> Result<()> {
        for planned in &self.loads {
            // What earlier loads have left to be written is not this one's burden.
            rustix::fs::sync();
            let figures = planned.load.run(server.target()).with_context(|| planned.name.clone())?;
            if !matches!(planned.load, Load::Partitions(_)) {
                let peak = server.process().peak_resident_bytes()? as f64 / 1e6;
                self.peak_resident_mb = self.peak_resident_mb.max(peak);
            }
            take(&planned.name, figures)?;
            if let Some(topic) = &planned.delete_topic {
                Connection::open(server.address())?.delete_topic(topic)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, name: String, load: Load) {
        self.loads.push(Planned { name, load, delete_topic: None });
    }

    fn produce(&mut self, name: String, load: ProduceLoad) {
        self.add(name, Load::Produce(load));
    }

    fn fetch(&mut self, name: String, topic: &str, max_bytes: usize, scale: &Scale) {
        let load = FetchLoad {
            target: target(),
            topic: topic.to_owned(),
            max_bytes,
            connections: 1,
            records: u64::MAX,
            seconds: scale.seconds / 2.0,
            copy: false,
        };
        self.add(name, Load::Fetch(load));
    }

    fn roundtrip(&mut self, durability: Durability, rate: u32, size: usize, scale: &Scale) {
        let load = RoundtripLoad {
            target: target(),
            topic: format!("way-{size}-{rate}"),
            create: true,
            record_size: size,
            count: scale.roundtrips,
            warmup: scale.roundtrips / 2,
            rate: f64::from(rate),
        };
        self.add(roundtrip(durability, rate, size), Load::Roundtrip(load));
    }

    fn delete(&mut self, topic: &str) {
        if let Some(last) = self.loads.last_mut() {
            last.delete_topic = Some(topic.to_owned());
        }
    }
}

impl Planned {
    fn reads(&self) -> Option<String> {
        if let Load::Fetch(load) = &self.load { Some(load.topic.clone()) } else { None }
    }

    fn writes(&self) -> Option<&String> {
        if let Load::Produce(load) = &self.load { Some(&load.topic) } else { None }
    }
}

impl Load {
    fn run(&self, target: Target) -> Result<Figures> {
        match self.clone() {
            Self::Produce(load) => ProduceLoad { target, ..load }.run(),
            Self::Fetch(load) => FetchLoad { target, ..load }.run(),
            Self::Roundtrip(load) => RoundtripLoad { target, ..load }.run(),
            Self::Connections(load) => ConnectionsLoad { target, ..load }.run(),
            Self::Partitions(load) => PartitionsLoad { target, ..load }.run(),
        }
    }
}

/// Stands for the target that is known when a load runs.
fn target() -> Target {
    Target { bootstrap: String::new(), server_pid: None }
}

fn batches(scale: &Scale, topic: &str, partitions: i32, size: usize) -> ProduceLoad {
    ProduceLoad {
        target: target(),
        topic: topic.to_owned(),
        create: true,
        partitions,
        record_size: size,
        batch_records: 100,
        in_flight: 5,
        connections: if partitions == 1 { 1 } else { 4 },
        acks: -1,
        records: scale.produce_bytes / size as u64,
        seconds: scale.seconds,
        warmup: scale.warmup,
        rate: 0.0,
    }
}

fn single(scale: &Scale, topic: &str, size: usize, in_flight: usize, connections: usize) -> ProduceLoad {
    ProduceLoad {
        batch_records: 1,
        in_flight,
        connections,
        records: u64::from(u32::MAX),
        seconds: scale.single_seconds,
        warmup: scale.warmup / 50,
        ..batches(scale, topic, 1, size)
    }
}

fn paced_load(scale: &Scale, topic: &str, size: usize) -> ProduceLoad {
    const RATE: f64 = 20_000.0;
    ProduceLoad {
        batch_records: 10,
        records: (RATE * scale.single_seconds) as u64,
        seconds: f64::from(u16::MAX),
        warmup: scale.warmup / 10,
        rate: RATE,
        ..batches(scale, topic, 1, size)
    }
}
