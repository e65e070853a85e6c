//! From an INSERT in the outbox to the record at a consumer.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use pillion_cdc::outbox::Probe;
use pillion_client::{Assignment, Client, ClientConfig, ConsumerConfig, IsolationLevel, NewTopic, Offset};

use super::figures::Figures;
use crate::cli::connectors::{Chosen, ConnectorsFlags};
use crate::cli::process::{self, Kind};

/// How long a row may be on its way.
const PATIENCE: Duration = Duration::from_secs(30);

/// Insert rows into an outbox and wait until a consumer has each, one after another
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion bench outbox --postgres URL --bootstrap 127.0.0.1:9092
  pillion bench outbox --config pillion.toml --json

A connector must be running for this outbox, with the standard columns and routing. The rows
are of aggregate type pillion-bench and are deleted again, as is their topic. The latency is from
before the INSERT, which is a transaction, to a reader of committed records.")]
pub(super) struct Outbox {
    /// How many
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    records: u64,
    /// Print JSON
    #[arg(short = 'J', long)]
    json: bool,
    #[command(flatten)]
    connectors: ConnectorsFlags,
}

impl Outbox {
    pub(super) fn execute(self) -> Result<()> {
        let one = self.connectors.one()?;
        process::run(Kind::Tool, async {
            let config = ClientConfig {
                bootstrap_servers: one.config.bootstrap_servers.clone(),
                security: one.config.security.clone(),
                ..ClientConfig::default()
            };
            let client = Client::connect(config).await.context("no connection to the cluster")?;
            let measured = measure(&client, &one, self.records).await;
            client.shutdown().await;
            measured?.write(self.json)
        })
    }
}

async fn measure(client: &Client, one: &Chosen, records: u64) -> Result<Figures> {
    let config = &one.config;
    let table = config.tables.first().context("the connector has a table")?;
    let probe = Probe::connect(&config.postgres, table).await.context("cannot ask the database")?;
    let topic = format!("outbox.event.{}", Probe::AGGREGATE_TYPE);
    let admin = client.admin();
    admin.create_topics(vec![NewTopic::new(&topic)], PATIENCE).await?;
    let measured = trips(client, &probe, &topic, records).await;
    probe.remove().await.context("rows of the measurement are left in the outbox")?;
    admin.delete_topics(vec![topic], PATIENCE).await?;
    measured
}

async fn trips(client: &Client, probe: &Probe, topic: &str, records: u64) -> Result<Figures> {
    let committed = ConsumerConfig { isolation_level: IsolationLevel::ReadCommitted, ..ConsumerConfig::default() };
    let mut consumer = client.consumer(committed);
    let ends = client.admin().list_offsets(topic, Offset::Latest).await?;
    let assignment = |end: &pillion_client::ListedOffset| {
        let start = Offset::At(end.offset.unwrap_or(0));
        Assignment { topic: topic.to_owned(), partition: end.partition, start }
    };
    consumer.assign(ends.iter().map(assignment).collect()).await?;
    let (mut latencies, mut started, mut bytes) = (Vec::new(), Instant::now(), 0);
    // The first one finds connections to be made, and counts for nothing.
    for number in 0..=records {
        let sent = Instant::now();
        let id = probe.insert().await.context("cannot insert into the outbox")?;
        let size = arrival(&mut consumer, id.as_bytes()).await?;
        if number == 0 {
            started = Instant::now();
            continue;
        }
        latencies.push(sent.elapsed());
        bytes += size;
    }
    Ok(Figures { what: "outbox", records, bytes, elapsed: started.elapsed(), latencies })
}

/// Waits for the event of an id; its value's length.
async fn arrival(consumer: &mut pillion_client::Consumer, id: &[u8]) -> Result<u64> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        for record in consumer.poll(deadline.saturating_duration_since(Instant::now())).await? {
            let is_it = |header: &pillion_client::Header| &*header.key == "id" && header.value.as_deref() == Some(id);
            if record.headers.iter().any(is_it) {
                return Ok(record.value.map_or(0, |value| value.len() as u64));
            }
        }
        if Instant::now() >= deadline {
            bail!(
                "a row did not arrive within {} s; is the connector running? `pillion outbox status` shows it",
                PATIENCE.as_secs()
            );
        }
    }
}
