//! Which loads run against a broker, and in which order.

mod coordinators;
mod load;

use anyhow::{Context, Result};

use self::load::{Load, Planned, target};
use super::names::{
    CONNECTIONS, KIB, PARTITIONS, SIZES, fetch, many_records, null_batches, paced, produce, roundtrip, single_record,
};
use super::phase::Phase;
use super::scale::Scale;
use crate::connection::Connection;
use crate::figures::Figures;
use crate::load::connections::ConnectionsLoad;
use crate::load::fetch::FetchLoad;
use crate::load::partitions::PartitionsLoad;
use crate::load::produce::ProduceLoad;
use crate::load::roundtrip::RoundtripLoad;
use crate::server::{Durability, Server};

/// Loads in their order.
#[derive(Debug)]
pub(super) struct Plan {
    loads: Vec<Planned>,
    /// Run first, and not measured.
    warm_up: Vec<Planned>,
    peak_resident_mb: f64,
}

impl Plan {
    /// Those of one phase.
    pub(super) fn of(phase: Phase, scale: &Scale) -> Self {
        match phase {
            Phase::Written | Phase::Synced => Self::of_durability(phase.durability(), scale),
            Phase::Groups => Self::of_groups(scale),
        }
    }

    fn of_durability(durability: Durability, scale: &Scale) -> Self {
        let mut plan = Self::warm(scale);
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
        plan.coordinators(durability, scale);
        if durability == Durability::Written {
            let count = scale.connections;
            plan.add(CONNECTIONS, Load::Connections(ConnectionsLoad { target: target(), count }));
            // Last: what the partitions take is not part of the loads' peak.
            let load = PartitionsLoad { target: target(), topic_prefix: "many-".to_owned(), count: scale.partitions };
            plan.add(PARTITIONS, Load::Partitions(load));
        }
        plan
    }

    /// Some of every kind, so that what a virtual machine compiles is compiled.
    fn warm(scale: &Scale) -> Self {
        let scale =
            Scale { seconds: scale.warm_seconds / 2.0, single_seconds: scale.warm_seconds / 4.0, ..scale.clone() };
        let mut plan = Self { loads: Vec::new(), warm_up: Vec::new(), peak_resident_mb: 0.0 };
        plan.produce("warm-up".to_owned(), batches(&scale, "warm-up", 1, KIB));
        plan.fetch("warm-up".to_owned(), "warm-up", 1 << 20, &scale);
        plan.delete("warm-up");
        plan.produce("warm-up".to_owned(), single(&scale, "warm-up-single", KIB, 1, 1));
        std::mem::swap(&mut plan.loads, &mut plan.warm_up);
        plan
    }

    /// Those that the null broker is a measure for.
    pub(super) fn of_null(scale: &Scale) -> Self {
        let mut plan = Self { loads: Vec::new(), warm_up: Vec::new(), peak_resident_mb: 0.0 };
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
        for planned in self.warm_up.iter().chain(&self.loads) {
            // What earlier loads have left to be written is not this one's burden.
            rustix::fs::sync();
            let figures = planned.load.run(server.target()).with_context(|| planned.name.clone())?;
            if !matches!(planned.load, Load::Partitions(_)) {
                let peak = server.process().peak_resident_bytes()? as f64 / 1e6;
                self.peak_resident_mb = self.peak_resident_mb.max(peak);
            }
            if self.loads.iter().any(|load| load.name == planned.name) {
                take(&planned.name, figures)?;
            }
            if let Some(topic) = &planned.delete_topic {
                Connection::open(server.address())?.delete_topic(topic)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, name: impl Into<String>, load: Load) {
        self.loads.push(Planned { name: name.into(), load, delete_topic: None });
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
