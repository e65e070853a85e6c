//! Starts the demo's parts in order, and stops them in the opposite one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use pillion_broker::{BrokerConfig, BrokerSpanMode};
use pillion_cdc::{ConnectorConfig, State, Status};
use pillion_client::{Assignment, Client, ClientConfig, Consumer, ConsumerConfig, ErrorCode, NewTopic, Offset};
use tokio_postgres::NoTls;

use super::detour::Detour;
use super::fault::{self, Fault};
use super::services::{PROGRAMS, Programs, ServiceProgram, Services, Surroundings};
use super::{DemoOptions, TraceAddress};
use crate::config::{Configuration, NamedConnector};
use crate::embedded_postgres::EmbeddedPostgres;
use crate::sidecar::Sidecar;

/// Where their events and commands arrive.
pub(super) const TOPICS: [&str; 9] = [
    "outbox.event.customer",
    "outbox.event.loyalty",
    "outbox.event.order",
    "outbox.event.payment",
    "outbox.event.stock",
    "outbox.event.mail",
    "outbox.event.payment-command",
    "outbox.event.stock-command",
    "outbox.event.mail-command",
];

/// As many as the services would make.
pub(super) const PARTITIONS: i32 = 3;

/// Below this much free space the broker refuses records. By default it is five per cent of the disk, which on a full
/// laptop would be no demo.
const FREE_BYTES_MIN: u64 = 64 * 1024 * 1024;

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
    /// Of the services' databases, by the service's name.
    pub(super) database_urls: HashMap<&'static str, String>,
    /// The way to a database that can be closed, where the fault needs one.
    pub(super) detour: Option<Detour>,
    /// What is to go wrong.
    pub(super) fault: Option<Fault>,
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
    make_databases(&postgres.url("postgres")).await?;
    let databases = PROGRAMS.iter().filter_map(|program| Some((program.name, postgres.url(program.database?))));
    let database_urls: HashMap<&str, String> = databases.collect();
    step.done(&format!("PostgreSQL {}, log in {}", postgres.version(), postgres.log_path().display()));

    let step = Step::begin();
    let mut surroundings = Surroundings {
        database_urls: database_urls.clone(),
        bootstrap_servers: String::new(),
        log_directory: directory.clone(),
        variables: fault::variables(options.fault).to_vec(),
        traces: options.traces,
    };
    let detour = match options.fault.and_then(Fault::detour) {
        Some(service) => Some(make_detour(&mut surroundings, service).await?),
        None => None,
    };
    programs.make_tables(&surroundings).await?;
    let names: Vec<&str> =
        PROGRAMS.iter().filter(|program| program.database.is_some()).map(|program| program.name).collect();
    step.done(&format!("a database each for {}", names.join(", ")));

    let step = Step::begin();
    let (mut configuration, statuses) = configuration(&directory.join("broker"), &options.listen, &database_urls)?;
    // Whoever looks at a trace sees the broker's part of the time, too.
    if let Some(broker) = configuration.broker.as_mut().filter(|_| options.traces.is_some()) {
        broker.span_mode = BrokerSpanMode::Sampled;
    }
    let sidecar = started.sidecar.insert(Sidecar::start(configuration).await?);
    let broker = sidecar.broker_address().context("the broker has an address")?.to_string();
    tokio::select! {
        streaming = wait_until_streaming(&statuses) => streaming?,
        ended = sidecar.ended() => ended?,
    }
    step.done(&format!("broker on {broker}, {} connectors streaming", statuses.len()));

    let step = Step::begin();
    surroundings.bootstrap_servers.clone_from(&broker);
    let (client, consumer) = watch(&broker).await?;
    let services = started.services.insert(programs.start(&surroundings).await?);
    let addresses: Vec<String> = services.list().map(|(name, address, _)| format!("{name} on {address}")).collect();
    step.done(&addresses.join(", "));
    Ok(Stage {
        broker,
        database_urls,
        detour,
        fault: options.fault,
        client,
        consumer,
        once: options.once,
        traces: options.traces,
    })
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

/// Makes the services' databases unless a kept cluster has them already.
async fn make_databases(url: &str) -> Result<()> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.context("cannot log in to PostgreSQL")?;
    let connection = tokio::spawn(connection);
    for database in PROGRAMS.iter().filter_map(|program| program.database) {
        let known = client.query_opt("SELECT FROM pg_database WHERE datname = $1", &[&database]).await?;
        if known.is_none() {
            client.batch_execute(&format!("CREATE DATABASE {database}")).await.context("cannot make a database")?;
        }
    }
    drop(client);
    connection.await.context("the connection to PostgreSQL broke off")??;
    Ok(())
}

/// Sends one service to its database by a way that can be closed.
async fn make_detour(surroundings: &mut Surroundings, service: &'static str) -> Result<Detour> {
    let url = surroundings.database_urls.get_mut(service).context("the service has a database")?;
    let (before, rest) = url.split_once('@').context("a URL has a user")?;
    let (server, database) = rest.split_once('/').context("a URL has a database")?;
    let detour = Detour::start(server.to_owned()).await?;
    *url = format!("{before}@{}/{database}", detour.address());
    Ok(detour)
}

/// Broker and a connector for each database, as `pillion run` would have them, but for what the demo needs; the
/// environment has no say.
fn configuration(
    data: &Path,
    listen: &str,
    database_urls: &HashMap<&'static str, String>,
) -> Result<(Configuration, Vec<Status>)> {
    let mut named_connectors = Vec::new();
    let mut statuses = Vec::new();
    for ServiceProgram { name, .. } in PROGRAMS.iter().filter(|program| program.has_outbox) {
        let url = database_urls.get(name).context("a service with an outbox has a database")?;
        let postgres = url.parse().context("the embedded PostgreSQL has an address")?;
        let mut config = ConnectorConfig::new(postgres, Vec::new());
        config.slot = format!("pillion_{name}");
        config.publication = format!("pillion_outbox_{name}");
        config.client_id = format!("pillion-cdc-{name}");
        config.auto_init = true;
        config.status = Status::default();
        statuses.push(config.status.clone());
        named_connectors.push(NamedConnector { name: (*name).to_owned(), config, is_bootstrap_given: false });
    }
    let mut broker = BrokerConfig::new(PathBuf::from(data), listen);
    broker.free_bytes_min = Some(FREE_BYTES_MIN);
    let configuration = Configuration {
        broker: Some(broker),
        connector: None,
        named_connectors,
        is_bootstrap_given: false,
        console: pillion_console::ConsoleConfig::default(),
        log_level: None,
        warnings: Vec::new(),
    };
    Ok((configuration, statuses))
}

/// Only what is committed after its slot was made is published, so nothing may be ordered before.
async fn wait_until_streaming(statuses: &[Status]) -> Result<()> {
    let deadline = Instant::now() + STREAMING_PATIENCE;
    loop {
        let waiting = statuses.iter().map(Status::snapshot).find(|snapshot| snapshot.state != State::Streaming);
        let Some(snapshot) = waiting else { return Ok(()) };
        if Instant::now() > deadline {
            let reason = snapshot.last_error.unwrap_or_else(|| "no reason given".to_owned());
            bail!("a connector is still {:?} after {STREAMING_PATIENCE:?}: {reason}", snapshot.state);
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
