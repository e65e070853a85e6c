//! The rows of the table: the broker's goals, each beside the figure of the load that shows it.
//!
//! Goals are for records of 1 KiB; loads of 200-byte records stand below them with what Kafka does in the same run.

mod coordinators;

use super::goal::Bound::{AtLeast, AtMost};
use super::goal::Goal;
use super::names::{
    BINARY, CONNECTIONS, KIB, MANY_PARTITIONS, PARTITIONS, SIZES, START, fetch, many_records, paced, peak, produce,
    roundtrip, single_record,
};
use super::scale::Scale;
use crate::server::Durability::{self, Synced, Written};

/// What is to be known before the table is read.
pub(super) const FOOTNOTES: &str = "\
Written: acknowledged once in the page cache (Kafka's default, ours with log.durability=async). Synced: acknowledged
once on disk (Kafka with log.flush.interval.messages=1, for its internal topics too; ours by default). Initial delay 0:
group.initial.rebalance.delay.ms, which is 3,000 by default in Kafka and 0 in ours. acks=all, 5 requests in flight on 1
connection unless said. Before anything is measured each broker is kept busy for some seconds, and before each load for
some records. CPU is the broker's, user and system; s/GB are seconds for 10⁹ bytes of record batches. Not measured here:
processor time through librdkafka.";

/// One goal of one figure.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// What was done.
    pub(super) work: String,
    /// The load's name.
    pub(super) load: String,
    /// The figure's name.
    pub(super) figure: &'static str,
    /// The figure's unit.
    pub(super) unit: &'static str,
    /// What it is held against.
    pub(super) goal: Goal,
}

const RATE: (&str, &str) = ("records_per_s", "records/s");
const CPU: (&str, &str) = ("cpu_s_per_gb", "CPU s/GB");
const ACK_P50: (&str, &str) = ("ack_p50_us", "µs ack p50");
const ACK_P99: (&str, &str) = ("ack_p99_us", "µs ack p99");
const WAY_P50: (&str, &str) = ("way_p50_us", "µs p50");
const WAY_P99: (&str, &str) = ("way_p99_us", "µs p99");
const CPU_EACH: (&str, &str) = ("cpu_us_each", "CPU µs each");
const SPEED: (&str, &str) = ("mb_per_s", "MB/s");

/// Every row, in the order of the goals.
pub(super) fn rows(scale: &Scale) -> Vec<Row> {
    let mut rows = Rows(Vec::new());
    rows.whole_process();
    for size in SIZES {
        rows.produce(size);
    }
    for size in SIZES {
        rows.single_records(size);
    }
    for size in SIZES {
        rows.fetch(size);
    }
    for size in SIZES {
        rows.roundtrips(size);
    }
    rows.commits_and_transactions();
    rows.groups(scale);
    rows.many(scale);
    rows.0
}

struct Rows(Vec<Row>);

impl Rows {
    fn add(&mut self, work: &str, load: &str, (figure, unit): (&'static str, &'static str), goal: Goal) {
        self.0.push(Row { work: work.to_owned(), load: load.to_owned(), figure, unit, goal });
    }

    /// A load whose goals hold for records of 1 KiB; other sizes are only shown.
    fn sized(&mut self, load: &str, size: usize, goals: &[((&'static str, &'static str), Goal)]) {
        let mut shown = Vec::new();
        for (figure, goal) in goals {
            if size == KIB {
                self.add(load, load, *figure, *goal);
            } else if !shown.contains(figure) {
                self.add(load, load, *figure, Goal::Open);
                shown.push(*figure);
            }
        }
    }

    fn whole_process(&mut self) {
        self.add("start to first ApiVersions", START, ("start_ms", "ms"), Goal::Value(AtMost, 10.0));
        self.add("start to first ApiVersions", START, ("start_cpu_ms", "CPU ms"), Goal::Value(AtMost, 5.0));
        self.add("idle, resident", START, ("idle_resident_mb", "MB"), Goal::Value(AtMost, 10.0));
        self.add("idle, in 10 s", START, ("idle_cpu_ms_in_10_s", "CPU ms"), Goal::Value(AtMost, 1.0));
        self.add("idle, threads", START, ("idle_threads", "threads"), Goal::Value(AtMost, 6.0));
        for durability in [Written, Synced] {
            let name = peak(durability);
            let work = format!("resident, {name}");
            self.add(&work, &name, ("peak_resident_mb", "MB"), Goal::Value(AtMost, 48.0));
        }
        self.add("binary", BINARY, ("binary_mb", "MB"), Goal::Value(AtMost, 12.0));
    }

    fn produce(&mut self, size: usize) {
        self.sized(
            &produce(Written, 1, size),
            size,
            &[
                (RATE, Goal::OfKafka(AtLeast, 4.0)),
                (CPU, Goal::Value(AtMost, 0.9)),
                (ACK_P50, Goal::Open),
                (ACK_P99, Goal::OfKafka(AtMost, 0.25)),
            ],
        );
        let goals = [(RATE, Goal::OfKafka(AtLeast, 2.5)), (CPU, Goal::Value(AtMost, 0.9))];
        self.sized(&produce(Written, 6, size), size, &goals);
        let goals = [
            (RATE, Goal::OfKafka(AtLeast, 3.0)),
            (SPEED, Goal::OfLimit(AtLeast, 0.9, "fdatasync_4_mib_fallocated_mb_per_s")),
            (CPU, Goal::Value(AtMost, 1.5)),
            (ACK_P50, Goal::Open),
        ];
        for partitions in [1, 6] {
            self.sized(&produce(Synced, partitions, size), size, &goals);
        }
    }

    fn single_records(&mut self, size: usize) {
        let written = [
            (ACK_P50, Goal::OfNull(AtMost, 1.15)),
            (CPU_EACH, Goal::OfNull(AtMost, 1.15)),
            (ACK_P50, Goal::OfKafka(AtMost, 0.65)),
            (CPU_EACH, Goal::OfKafka(AtMost, 0.65)),
        ];
        self.sized(&single_record(Written, size), size, &written);
        self.sized(&single_record(Synced, size), size, &[(ACK_P50, Goal::OfKafka(AtMost, 0.5))]);
        self.sized(&many_records(size), size, &[(RATE, Goal::OfKafka(AtLeast, 20.0)), (ACK_P50, Goal::Open)]);
    }

    fn fetch(&mut self, size: usize) {
        let goals = [(SPEED, Goal::OfKafka(AtLeast, 1.0)), (CPU, Goal::OfKafka(AtMost, 0.9))];
        self.sized(&fetch(1, size), size, &goals);
        self.sized(&fetch(50, size), size, &[(SPEED, Goal::OfKafka(AtLeast, 0.9)), (CPU, Goal::Open)]);
    }

    fn roundtrips(&mut self, size: usize) {
        let way = |durability: Durability, rate| roundtrip(durability, rate, size);
        let goals =
            [(WAY_P50, Goal::OfKafka(AtMost, 0.5)), (WAY_P99, Goal::Open), (CPU_EACH, Goal::OfKafka(AtMost, 0.2))];
        self.sized(&way(Written, 0), size, &goals);
        let goals = [(WAY_P50, Goal::OfKafka(AtMost, 0.5)), (WAY_P99, Goal::OfKafka(AtMost, 0.3))];
        self.sized(&way(Written, 1_000), size, &goals);
        let goals = [(WAY_P50, Goal::OfKafka(AtMost, 0.5)), (WAY_P99, Goal::OfKafka(AtMost, 0.4))];
        self.sized(&way(Synced, 0), size, &goals);
        let goals = [(ACK_P50, Goal::OfKafka(AtMost, 0.5)), (ACK_P99, Goal::OfKafka(AtMost, 0.3))];
        self.sized(&paced(size), size, &goals);
    }

    fn many(&mut self, scale: &Scale) {
        let work = format!("{} idle connections", scale.connections);
        self.add(&work, CONNECTIONS, ("kb_each", "KB each"), Goal::Value(AtMost, 5.0));
        let work = format!("{} partitions, made and written to", scale.partitions);
        // The goal is for 1,000.
        let time = 0.3 * f64::from(scale.partitions) / 1_000.0;
        self.add(&work, PARTITIONS, ("usable_s", "s"), Goal::Value(AtMost, time));
        self.add(&work, PARTITIONS, ("kb_each", "KB each"), Goal::Value(AtMost, 3.0));
        self.add(&work, PARTITIONS, ("cpu_s", "CPU s"), Goal::Open);
        if let Some(count) = scale.many_partitions {
            let work = format!("{count} partitions, made and written to, synced");
            self.add(&work, MANY_PARTITIONS, ("usable_s", "s"), Goal::Open);
            self.add(&work, MANY_PARTITIONS, ("resident_mb", "MB"), Goal::Value(AtMost, 64.0));
            let work = format!("{count} partitions, start after a clean stop");
            self.add(&work, MANY_PARTITIONS, ("restart_s", "s"), Goal::Value(AtMost, 0.5));
            let work = format!("{count} partitions, start after SIGKILL");
            self.add(&work, MANY_PARTITIONS, ("restart_after_kill_s", "s"), Goal::Value(AtMost, 2.0));
        }
    }
}

#[cfg(test)]
mod tests;
