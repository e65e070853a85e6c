//! Partitions: many are made and one record is written to each; what does one cost in time and memory?

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use pillion_wire::Records;
use pillion_wire::messages::ProduceRequest;
use pillion_wire::messages::produce::{PartitionProduceData, TopicProduceData};

use super::Target;
use crate::batch::BatchShape;
use crate::connection::{ANSWER_WAIT_MAX, Connection, PRODUCE_VERSION, error_name};
use crate::figures::Figures;
use crate::process::Meter;

/// Partitions of one topic, and of one produce request.
const PARTITIONS_A_TOPIC: u32 = 100;
/// How long memory is given to settle.
const SETTLE: Duration = Duration::from_secs(1);

/// Make many partitions and write one record of 100 bytes to each
#[derive(Debug, Clone, Args)]
pub(crate) struct PartitionsLoad {
    #[command(flatten)]
    pub(crate) target: Target,
    /// What the topics' names begin with; each topic has 100 partitions
    #[arg(long, default_value = "bench-partitions-")]
    pub(crate) topic_prefix: String,
    /// Partitions; a multiple of 100
    #[arg(long, default_value_t = 1_000)]
    pub(crate) count: u32,
}

impl PartitionsLoad {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Figures> {
        ensure!(self.count > 0 && self.count.is_multiple_of(PARTITIONS_A_TOPIC), "a multiple of {PARTITIONS_A_TOPIC}");
        let server = self.target.process();
        let before = server.map(|server| server.resident_bytes()).transpose()?;
        let mut connection = Connection::open(&self.target.bootstrap)?;
        connection.greet()?;
        let meter = Meter::start(server)?;
        for topic in 0..self.topics() {
            connection.create_topic(&self.topic(topic), PARTITIONS_A_TOPIC as i32, &[])?;
        }
        let created = meter.read()?;
        for topic in 0..self.topics() {
            self.touch(&mut connection, &self.topic(topic))?;
        }
        let used = meter.read()?;
        let mut figures = Figures::default();
        figures.add("partitions", f64::from(self.count));
        figures.add("create_s", created.time.as_secs_f64());
        figures.add("usable_s", used.time.as_secs_f64());
        if let (Some(server), Some(before), Some(cpu)) = (server, before, used.server_cpu) {
            thread::sleep(SETTLE);
            let after = server.resident_bytes()?;
            figures.add("cpu_s", cpu.as_secs_f64());
            figures.add("kb_each", (after as f64 - before as f64) / 1e3 / f64::from(self.count));
            figures.add("resident_mb", after as f64 / 1e6);
        }
        Ok(figures)
    }

    fn topics(&self) -> u32 {
        self.count / PARTITIONS_A_TOPIC
    }

    fn topic(&self, number: u32) -> String {
        format!("{}{number}", self.topic_prefix)
    }

    /// Checks that every partition serves and holds its record.
    pub(crate) fn check(&self, connection: &mut Connection) -> Result<()> {
        for topic in 0..self.topics() {
            let name = self.topic(topic);
            let ends = connection.end_offsets(&name, PARTITIONS_A_TOPIC as i32)?;
            ensure!(ends.iter().all(|end| *end == 1), "{name} has lost a record: its end offsets are {ends:?}");
        }
        Ok(())
    }

    /// One request with a batch for each of the topic's partitions; repeated for those that are not ready yet.
    fn touch(&self, connection: &mut Connection, topic: &str) -> Result<()> {
        let batch = BatchShape { records: 1, value_bytes: 100 }.build()?;
        let deadline = Instant::now() + ANSWER_WAIT_MAX;
        let mut untouched: Vec<i32> = (0..PARTITIONS_A_TOPIC as i32).collect();
        while !untouched.is_empty() {
            let partition_data = untouched.iter().map(|partition| PartitionProduceData {
                index: *partition,
                records: Some(Records::from(batch.clone())),
            });
            let topic_data = vec![TopicProduceData {
                name: topic.to_owned(),
                partition_data: partition_data.collect(),
                ..TopicProduceData::default()
            }];
            let request = ProduceRequest { acks: -1, timeout_ms: 30_000, topic_data, ..ProduceRequest::default() };
            let response = connection.ask(&request, PRODUCE_VERSION)?;
            let answers = &response.responses.first().context("Produce answered nothing")?.partition_responses;
            let refused: Vec<_> = answers.iter().filter(|answer| answer.error_code != 0).collect();
            if let Some(refused) = refused.first().filter(|_| Instant::now() > deadline) {
                bail!("{topic}-{}: {}", refused.index, error_name(refused.error_code));
            }
            untouched = refused.iter().map(|answer| answer.index).collect();
        }
        Ok(())
    }
}
