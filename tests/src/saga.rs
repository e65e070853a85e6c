//! The example saga on real parts: a Postgres with a database a service, pillion with a connector a database, and the
//! services as child processes.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use pillion_test_postgres::Server;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_postgres::{Client, NoTls};

use crate::program::{self, Program};
use crate::waiting::wait_for;

/// Services with a database of their own, and thus an outbox.
pub const WITH_STATE: [&str; 3] = ["order", "payment", "inventory"];
/// All of them, in the order they are started.
pub const SERVICES: [&str; 4] = ["order", "payment", "inventory", "mailer"];
/// What a finished saga is called.
const FINAL: [&str; 3] = ["COMPLETED", "COMPENSATED", "ABORTED"];

/// What differs from one test to another.
#[derive(Debug, Clone, Default)]
pub struct SagaOptions {
    /// Where spans go.
    pub otlp_endpoint: Option<String>,
    /// Variables of one service: service, name, value.
    pub variables: Vec<(&'static str, &'static str, String)>,
    /// Addresses that stand before Postgres for one service: service, `host:port`.
    pub detours: Vec<(&'static str, String)>,
}

/// Everything at work.
pub struct Saga {
    /// The one server with every service's database.
    pub postgres: Server,
    options: SagaOptions,
    data: TempDir,
    broker: String,
    pillion: Program,
    services: HashMap<&'static str, Program>,
}

impl Saga {
    /// Makes the databases and starts everything.
    ///
    /// # Errors
    /// When a part does not start, with its log.
    pub async fn start(postgres: Server, options: SagaOptions) -> Result<Self> {
        let admin = postgres.connect().await?;
        for service in WITH_STATE {
            admin.batch_execute(&format!("CREATE DATABASE {}", database(service))).await?;
        }
        let data = tempfile::tempdir()?;
        for service in WITH_STATE {
            let migrated = command(&postgres, &options, "", data.path(), service)?.arg("--migrate").output().await?;
            ensure!(migrated.status.success(), "{service}: {}", String::from_utf8_lossy(&migrated.stderr));
        }
        let pillion = start_pillion(&postgres, &options, data.path()).await?;
        let broker = pillion.first_line().to_owned();
        let mut saga = Self { postgres, options, data, broker, pillion, services: HashMap::new() };
        for service in SERVICES {
            saga.start_service(service).await?;
        }
        Ok(saga)
    }

    /// `host:port` of the broker.
    #[must_use]
    pub fn broker(&self) -> &str {
        &self.broker
    }

    /// Where the mailer's mails are.
    #[must_use]
    pub fn mails(&self) -> std::path::PathBuf {
        self.data.path().join("mails")
    }

    /// The end of what a service, or `pillion`, logged.
    #[must_use]
    pub fn log(&self, name: &str) -> String {
        if name == "pillion" {
            self.pillion.log()
        } else {
            self.services.get(name).map(Program::log).unwrap_or_default()
        }
    }

    /// A connection to a service's database.
    ///
    /// # Errors
    /// When Postgres refuses.
    pub async fn database(&self, service: &str) -> Result<Client> {
        let (client, connection) = tokio_postgres::connect(&database_url(&self.postgres, service), NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Starts a service that is not running.
    ///
    /// # Errors
    /// When it does not start, with its log.
    pub async fn start_service(&mut self, service: &'static str) -> Result<()> {
        let command = command(&self.postgres, &self.options, &self.broker, self.data.path(), service)?;
        self.services.insert(service, Program::start(service, command).await?);
        Ok(())
    }

    /// SIGKILL.
    ///
    /// # Errors
    /// When it is not running.
    pub async fn kill_service(&mut self, service: &str) -> Result<()> {
        self.services.remove(service).context("the service runs")?.kill().await
    }

    /// SIGTERM, and waits for a clean end.
    ///
    /// # Errors
    /// When it does not end, or not with exit code 0.
    pub async fn stop_service(&mut self, service: &str) -> Result<()> {
        self.services.remove(service).context("the service runs")?.terminate().await
    }

    /// A request to a service: status and JSON of the answer.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn request(
        &self,
        service: &str,
        method_and_path: &str,
        headers: &[&str],
        body: Option<&Value>,
    ) -> Result<(u16, Value)> {
        let address = self.services.get(service).context("the service runs")?.first_line();
        let body = body.map(Value::to_string).unwrap_or_default();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let request = format!(
            "{method_and_path} HTTP/1.1\r\nhost: {service}\r\ncontent-type: application/json\r\n{headers}\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let (head, body) = answer.split_once("\r\n\r\n").context("an answer has a body")?;
        let status = head.split(' ').nth(1).context("an answer has a status")?.parse()?;
        Ok((status, serde_json::from_str(body).unwrap_or(Value::Null)))
    }

    /// Places an order of one; answers its id.
    ///
    /// # Errors
    /// When it is not taken.
    pub async fn place(&self, style: &str, customer: &str, sku: &str) -> Result<String> {
        let order = json!({"customer": customer, "sku": sku, "quantity": 1, "amountCents": 1000, "style": style});
        let (status, answer) = self.request("order", "POST /orders", &[], Some(&order)).await?;
        ensure!(status == 202, "{status} {answer}\n{}", self.log("order"));
        Ok(answer["orderId"].as_str().context("an order has an id")?.to_owned())
    }

    /// `GET /orders/{id}`.
    ///
    /// # Errors
    /// When there is none.
    pub async fn order(&self, id: &str) -> Result<Value> {
        let (status, answer) = self.request("order", &format!("GET /orders/{id}"), &[], None).await?;
        ensure!(status == 200, "{status} {answer}");
        Ok(answer)
    }

    /// The order once its saga has ended.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ended(&self, id: &str) -> Result<Value> {
        let awaited = format!("the saga of {id} to end");
        let ended = wait_for(&awaited, || async {
            let order = self.order(id).await?;
            Ok(order["saga"]["state"].as_str().is_some_and(|state| FINAL.contains(&state)).then_some(order))
        });
        match ended.await {
            Ok(order) => Ok(order),
            Err(error) => {
                let logs: String = SERVICES.iter().map(|name| format!("\n== {name}\n{}", self.log(name))).collect();
                Err(error.context(format!("{}{logs}\n== pillion\n{}", self.order(id).await?, self.log("pillion"))))
            }
        }
    }
}

fn database(service: &str) -> String {
    format!("shop_{service}")
}

fn database_url(postgres: &Server, service: &str) -> String {
    postgres.url().trim_end_matches("postgres").to_owned() + &database(service)
}

fn command(
    postgres: &Server,
    options: &SagaOptions,
    broker: &str,
    data: &std::path::Path,
    service: &str,
) -> Result<tokio::process::Command> {
    let mut command = program::service(service)?;
    command.env("KAFKA_BOOTSTRAP_SERVERS", broker).env("MAIL_DIRECTORY", data.join("mails"));
    if WITH_STATE.contains(&service) {
        let mut url = database_url(postgres, service);
        if let Some((_, address)) = options.detours.iter().find(|(name, _)| *name == service) {
            let (_, path) = url.rsplit_once('/').context("a URL has a path")?;
            url = format!("postgresql://postgres@{address}/{path}");
        }
        command.env("DATABASE_URL", url);
    }
    if let Some(endpoint) = &options.otlp_endpoint {
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).env("OTEL_BSP_SCHEDULE_DELAY", "100");
    }
    for (_, name, value) in options.variables.iter().filter(|(of, ..)| *of == service) {
        command.env(name, value);
    }
    Ok(command)
}

/// Broker and a connector for each database, in one process.
async fn start_pillion(postgres: &Server, options: &SagaOptions, data: &std::path::Path) -> Result<Program> {
    let mut text = "auto.init = true\n\"num.partitions\" = 3\n".to_owned();
    for service in WITH_STATE {
        text += &format!("[connector.{service}]\n\"postgres.url\" = \"{}\"\n", database_url(postgres, service));
    }
    let file = data.join("pillion.toml");
    std::fs::write(&file, text)?;
    let mut command = program::command("pillion")?;
    command.arg("run").arg("--config").arg(&file);
    command.arg("--data-dir").arg(data.join("broker")).args(["--listen", "127.0.0.1:0"]);
    // What else is on the machine's disk is no part of a test.
    command.args(["--set", "log.min.free.bytes=0"]);
    if let Some(endpoint) = &options.otlp_endpoint {
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).env("OTEL_BSP_SCHEDULE_DELAY", "100");
    }
    let pillion = Program::start("pillion run", command).await?;
    // Only what is committed after its slot was made is published.
    let client = postgres.connect().await?;
    let slots = "SELECT count(*) FROM pg_replication_slots WHERE active";
    let all_active = wait_for("the connectors to stream", || async {
        let active: i64 = client.query_one(slots, &[]).await?.get(0);
        Ok((usize::try_from(active)? == WITH_STATE.len()).then_some(()))
    });
    all_active.await.with_context(|| pillion.log())?;
    Ok(pillion)
}
