//! Starts the demo's parts in order, and stops them in the opposite one.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use pillion_broker::BrokerConfig;
use pillion_cdc::{ConnectorConfig, State, Status, TableName};
use pillion_client::{Assignment, Client, ClientConfig, Consumer, ConsumerConfig, ErrorCode, NewTopic, Offset};
use tokio_postgres::NoTls;

use super::services::{Programs, Services, Surroundings};
use super::{DemoOptions, TraceAddress};
use crate::config::Configuration;
use crate::embedded_postgres::EmbeddedPostgres;
use crate::sidecar::Sidecar;

/// The services' database.
const DATABASE: &str = "shop";

/// The services' schemas, each with an outbox.
const SCHEMAS: [&str; 3] = ["orders", "payments", "inventory"];

/// Where their events arrive.
pub(super) const TOPICS: [&str; 3] = ["outbox.event.order", "outbox.event.payment", "outbox.event.stock"];

/// As many as the services would make.
const PARTITIONS: i32 = 3;

/// Bound of a request to the broker.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Bound of the connector's way to its first position.
const STREAMING_PATIENCE: Duration = Duration::from_secs(60);

/// What has been started so far.
#[derive(Default)]
pub(super) struct Started {
    postgres: Option<EmbeddedPostgres>,
    sidecar: Option<Sidecar>,
    services: Option<Services>,
}

/// What the show needs.
pub(super) struct Stage {
    /// `host:port` of the broker.
    pub(super) broker: String,
    /// Of the services' database.
    pub(super) database_url: String,
    pub(super) client: Client,
    /// Reads every partition of [`TOPICS`] from where it ended.
    pub(super) consumer: Consumer,
    /// Whether to end after the two orders.
    pub(super) once: bool,
    /// Where traces are shown.
    pub(super) traces: Option<TraceAddress>,
}

impl Started {
    /// The services; there once set up.
    pub(super) fn services(&self) -> Option<&Services> {
        self.services.as_ref()
    }

    /// Waits until a part ends by itself, which is always an error.
    pub(super) async fn ended(&mut self) -> Result<()> {
        let (Some(services), Some(sidecar), Some(postgres)) =
            (self.services.as_mut(), self.sidecar.as_mut(), self.postgres.as_mut())
        else {
            bail!("the demo is not set up");
        };
        tokio::select! {
            ended = services.ended() => ended,
            ended = sidecar.ended() => ended,
            ended = postgres.ended() => ended,
        }
    }

    /// Stops services, connector, broker and PostgreSQL, and removes what was temporary. Goes on after an error.
    pub(super) async fn stop(self) -> Result<()> {
        let mut outcome = Ok(());
        if let Some(services) = self.services {
            outcome = services.stop().await;
        }
        if let Some(sidecar) = self.sidecar {
            outcome = outcome.and(sidecar.stop().await);
        }
        if let Some(postgres) = self.postgres {
            outcome = outcome.and(postgres.stop().await);
        }
        outcome
    }
}

/// Starts everything, telling each step on standard output.
pub(super) async fn set_up(started: &mut Started, options: DemoOptions, programs: &Programs) -> Result<Stage> {
    let step = Step::begin();
    let postgres = started.postgres.insert(EmbeddedPostgres::start(options.postgres).await?);
    // What is temporary lives in PostgreSQL's temporary directory and goes with it.
    let directory = options.data_directory.as_deref().unwrap_or(postgres.directory()).to_owned();
    make_database(&postgres.url("postgres")).await?;
    let database_url = postgres.url(DATABASE);
    step.done(&format!("PostgreSQL {}, log in {}", postgres.version(), postgres.log_path().display()));

    let step = Step::begin();
    let mut surroundings = Surroundings {
        database_url: database_url.clone(),
        bootstrap_servers: String::new(),
        log_directory: directory.clone(),
        traces: options.traces,
    };
    programs.make_tables(&surroundings).await?;
    step.done("tables of order, payment and inventory, each with an outbox");

    let step = Step::begin();
    let status = Status::default();
    let configuration = configuration(&directory.join("broker"), &options.listen, &database_url, status.clone())?;
    let sidecar = started.sidecar.insert(Sidecar::start(configuration).await?);
    let broker = sidecar.broker_address().context("the broker has an address")?.to_string();
    tokio::select! {
        streaming = wait_until_streaming(&status) => streaming?,
        ended = sidecar.ended() => ended?,
    }
    step.done(&format!("broker on {broker}, connector streaming"));

    let step = Step::begin();
    surroundings.bootstrap_servers.clone_from(&broker);
    let (client, consumer) = watch(&broker).await?;
    let services = started.services.insert(programs.start(&surroundings).await?);
    let addresses: Vec<String> = services.list().map(|(name, address, _)| format!("{name} on {address}")).collect();
    step.done(&addresses.join(", "));
    Ok(Stage { broker, database_url, client, consumer, once: options.once, traces: options.traces })
}

/// Tells a step with the time it took.
struct Step {
    begun: Instant,
}

impl Step {
    fn begin() -> Self {
        Self { begun: Instant::now() }
    }

    fn done(self, what: &str) {
        println!("  {:>5.1} s  {what}", self.begun.elapsed().as_secs_f64());
    }
}

/// Makes the services' database unless a kept cluster has it already.
async fn make_database(url: &str) -> Result<()> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.context("cannot log in to PostgreSQL")?;
    let connection = tokio::spawn(connection);
    let known = client.query_opt("SELECT FROM pg_database WHERE datname = $1", &[&DATABASE]).await?;
    if known.is_none() {
        client.batch_execute(&format!("CREATE DATABASE {DATABASE}")).await.context("cannot make the database")?;
    }
    drop(client);
    connection.await.context("the connection to PostgreSQL broke off")??;
    Ok(())
}

/// Broker and connector as `pillion run` would have them, but for what the demo needs; the environment has no say.
fn configuration(data: &Path, listen: &str, database_url: &str, status: Status) -> Result<Configuration> {
    let postgres = database_url.parse().context("the embedded PostgreSQL has an address")?;
    let mut connector = ConnectorConfig::new(postgres, Vec::new());
    connector.tables =
        SCHEMAS.map(|schema| TableName { schema: schema.to_owned(), name: "outbox".to_owned() }).to_vec();
    connector.auto_init = true;
    connector.status = status;
    Ok(Configuration {
        broker: Some(BrokerConfig::new(PathBuf::from(data), listen)),
        connector: Some(connector),
        named_connectors: Vec::new(),
        is_bootstrap_given: false,
        console: pillion_console::ConsoleConfig::default(),
        log_level: None,
        warnings: Vec::new(),
    })
}

/// Only what is committed after the slot was made is published, so nothing may be ordered before.
async fn wait_until_streaming(status: &Status) -> Result<()> {
    let deadline = Instant::now() + STREAMING_PATIENCE;
    loop {
        let snapshot = status.snapshot();
        if snapshot.state == State::Streaming {
            return Ok(());
        }
        if Instant::now() > deadline {
            let reason = snapshot.last_error.unwrap_or_else(|| "no reason given".to_owned());
            bail!("the connector is still {:?} after {STREAMING_PATIENCE:?}: {reason}", snapshot.state);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Makes the topics and a consumer at the end of each partition.
async fn watch(broker: &str) -> Result<(Client, Consumer)> {
    let config = ClientConfig {
        bootstrap_servers: vec![broker.to_owned()],
        client_id: "pillion-demo".to_owned(),
        request_timeout: REQUEST_TIMEOUT,
        ..ClientConfig::default()
    };
    let client = Client::connect(config).await?;
    let admin = client.admin();
    let topics = TOPICS.map(|name| NewTopic { partitions: PARTITIONS, ..NewTopic::new(name) });
    for outcome in admin.create_topics(topics.to_vec(), REQUEST_TIMEOUT).await? {
        match outcome.result {
            Err(error) if error.error_code() != Some(ErrorCode::TopicAlreadyExists) => return Err(error.into()),
            _ => {}
        }
    }
    let mut assignments = Vec::new();
    for topic in TOPICS {
        for listed in admin.list_offsets(topic, Offset::Latest).await? {
            let end = listed.offset.with_context(|| format!("{topic}-{} has no end", listed.partition))?;
            let (topic, partition, start) = (topic.to_owned(), listed.partition, Offset::At(end));
            assignments.push(Assignment { topic, partition, start });
        }
    }
    let mut consumer = client.consumer(ConsumerConfig::default());
    consumer.assign(assignments).await?;
    Ok((client, consumer))
}
