//! The programs of examples/outbox against a real Postgres and `pillion run`: what each writes arrives once, with the
//! trace of the span that wrote it, and a second delivery has no second effect.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use pillion_test_postgres::Server;
use pillion_tests::program::{self, Program};
use pillion_tests::waiting::{PATIENCE, wait_for};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;
use tokio_postgres::Client;

use super::consumed::{Consumed, group_member, read_to_end, read_until};

const ORDERS: usize = 25;
/// Every fifth order is rolled back.
const COMMITTED: usize = 20;
const TOPIC: &str = "outbox.event.order";

/// A database, and pillion beside it.
struct Shop {
    postgres: Server,
    database: Client,
    pillion: Program,
    _data: TempDir,
}

impl Shop {
    /// `before` are files of examples/outbox/sql, run before pillion sees the database.
    async fn open(before: &[&str]) -> Result<Self> {
        let postgres = Server::start().await?;
        let database = postgres.connect().await?;
        for file in before {
            run_sql(&database, file).await?;
        }
        let data = tempfile::tempdir()?;
        let mut command = program::command("pillion")?;
        command.args(["run", "--listen", "127.0.0.1:0", "--auto-init", "--set", "num.partitions=3"]);
        command.args(["--postgres", &postgres.url()]).arg("--data-dir").arg(data.path());
        let pillion = Program::start("pillion run", command).await?;
        wait_for("the connector to stream", || async {
            let streaming = database.query("SELECT FROM pg_replication_slots WHERE active", &[]).await?;
            Ok((!streaming.is_empty()).then_some(()))
        })
        .await?;
        Ok(Self { postgres, database, pillion, _data: data })
    }

    fn broker(&self) -> &str {
        self.pillion.first_line()
    }

    /// Everything published of orders by now: what was committed before `marker` is there when that is.
    async fn published(&self, marker: &str) -> Result<Vec<Consumed>> {
        let insert =
            "INSERT INTO outbox (id, aggregatetype, aggregateid, type) VALUES (gen_random_uuid(), 'marker', $1, '')";
        self.database.execute(insert, &[&marker]).await?;
        let markers = group_member(self.broker(), marker, &["outbox.event.marker"])?;
        read_until(&markers, |records| records.iter().any(|record| record.key.as_deref() == Some(marker)))
            .await
            .with_context(|| format!("pillion says:\n{}", self.pillion.log()))?;
        read_to_end(self.broker(), TOPIC, 3).await
    }

    async fn count(&self, table: &str) -> Result<usize> {
        let count: i64 = self.database.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await?.get(0);
        Ok(usize::try_from(count)?)
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/outbox")
}

async fn run_sql(database: &Client, file: &str) -> Result<()> {
    let sql = std::fs::read_to_string(examples().join("sql").join(file))?;
    database.batch_execute(&sql).await.with_context(|| format!("{file} fails"))
}

/// What a program prints: an event's id and its `traceparent`.
type Line = (String, String);

/// Runs a program to its end.
async fn run(words: &[String], arguments: &[&str]) -> Result<Vec<Line>> {
    let (program, rest) = words.split_first().context("a command has a first word")?;
    let mut command = Command::new(program);
    command.args(rest).args(arguments).stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let output =
        timeout(PATIENCE, command.output()).await.with_context(|| format!("{words:?} {arguments:?} hangs"))??;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{words:?} {arguments:?} ended with {}:\n{errors}", output.status);
    let lines = String::from_utf8(output.stdout)?;
    let pair = |line: &str| line.split_once('\t').map(|(id, traceparent)| (id.to_owned(), traceparent.to_owned()));
    lines.lines().map(|line| pair(line).with_context(|| format!("{words:?} printed {line:?}"))).collect()
}

/// Sampled, and with or without the flag that says that the trace id is random.
fn is_traceparent(text: &str) -> bool {
    text.len() == 55 && text.starts_with("00-") && (text.ends_with("-01") || text.ends_with("-03"))
}

async fn check(words: &[String], is_traced: bool) -> Result<()> {
    let shop = Shop::open(&["service.sql"]).await?;
    let url = shop.postgres.url();
    let written = run(words, &["write", &url, &ORDERS.to_string()]).await?;
    assert_eq!(written.len(), COMMITTED, "one in five was rolled back");
    assert_eq!(written.iter().collect::<BTreeSet<_>>().len(), COMMITTED);
    for (_, traceparent) in &written {
        assert_eq!(is_traceparent(traceparent), is_traced, "{traceparent:?}");
    }

    let header = |record: &Consumed, name| record.header(name).unwrap_or_default().to_owned();
    let published = shop.published("written").await?;
    let mut arrived: Vec<Line> =
        published.iter().map(|record| (header(record, "id"), header(record, "traceparent"))).collect();
    let mut expected = written.clone();
    arrived.sort();
    expected.sort();
    assert_eq!(arrived, expected, "the committed events, each once, with the writer's span");

    let mut acted_upon = run(words, &["read", &url, shop.broker(), "first", &COMMITTED.to_string()]).await?;
    acted_upon.sort();
    assert_eq!(acted_upon, expected);
    let again = run(words, &["read", &url, shop.broker(), "second", &COMMITTED.to_string()]).await?;
    assert_eq!(again, [], "another group is given every record again, and its inbox knows them");
    assert_eq!((shop.count("orders").await?, shop.count("payments").await?), (COMMITTED, COMMITTED));
    Ok(())
}

/// Builds a program by its script, which fetches what it needs. One at a time: two are built in one folder.
async fn built(kind: &str) -> Result<Vec<String>> {
    static BUILDING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let _alone = BUILDING.lock().await;
    let script = examples().join("build.sh");
    let output = Command::new(&script).arg(kind).stderr(Stdio::inherit()).output().await?;
    ensure!(output.status.success(), "{} {kind} ended with {}", script.display(), output.status);
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
}

/// A Python that has the distribution's psycopg and confluent-kafka; OpenTelemetry it may have or not.
async fn python() -> Option<(String, bool)> {
    for python in ["/usr/bin/python3", "python3"] {
        let imports = |modules: &'static str| async move {
            let mut command = Command::new(python);
            command.args(["-c", modules]).stderr(Stdio::null());
            command.status().await.is_ok_and(|status| status.success())
        };
        if imports("import psycopg, confluent_kafka").await {
            return Some((python.to_owned(), imports("import opentelemetry.sdk.trace").await));
        }
    }
    None
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outbox_in_rust_with_tokio_postgres() -> Result<()> {
    check(&[program::path("outbox-tokio-postgres")?.display().to_string()], true).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outbox_in_python_with_what_the_distribution_has() -> Result<()> {
    let Some((python, is_traced)) = python().await else {
        eprintln!("not run: no Python here has psycopg and confluent-kafka (.ci/test-needs installs them on Debian)");
        return Ok(());
    };
    let program = examples().join("python/outbox.py").display().to_string();
    check(&[python, "-B".to_owned(), program], is_traced).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_statements_of_the_guide_arrive_as_it_says() -> Result<()> {
    let shop = Shop::open(&["service.sql"]).await?;
    for file in ["write.sql", "delete.sql", "message.sql", "prune.sql"] {
        run_sql(&shop.database, file).await?;
    }
    let published = shop.published("written").await?;
    let mut keys: Vec<_> = published.iter().filter_map(|record| record.key.as_deref()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["42", "43", "44"]);
    for record in &published {
        let order = record.key.as_deref().unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(record.value.as_deref().unwrap_or_default())?;
        assert_eq!(value, serde_json::json!({"order": order.parse::<u32>()?, "total": 100}));
        let traceparent = (order != "43").then_some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        assert_eq!((record.header("type"), record.header("traceparent")), (Some("OrderPlaced"), traceparent));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partitioned_outbox_is_published_and_its_old_partitions_dropped() -> Result<()> {
    let shop = Shop::open(&["service.sql", "partitioned.sql"]).await?;
    run_sql(&shop.database, "write.sql").await?;
    let back_then =
        "INSERT INTO outbox VALUES (gen_random_uuid(), 'order', '1', 'OrderPlaced', '{}', NULL, '2026-11-15')";
    shop.database.execute(back_then, &[]).await?;
    assert_eq!(shop.published("written").await?.len(), 2);
    run_sql(&shop.database, "drop.sql").await?;
    run_sql(&shop.database, "delete.sql").await?;
    assert_eq!(shop.published("dropped").await?.len(), 3);
    Ok(())
}

macro_rules! fetched {
    ($($test:ident: $kind:literal;)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        #[ignore = "fetches packages: make outbox-examples"]
        async fn $test() -> Result<()> {
            check(&built($kind).await?, true).await
        }
    )*};
}

fetched! {
    an_outbox_in_rust_with_sqlx: "rust-sqlx";
    an_outbox_in_python_with_opentelemetry: "python";
    an_outbox_in_go: "go";
    an_outbox_in_node: "node";
    an_outbox_in_java_with_jdbc: "java-jdbc";
    an_outbox_in_java_with_spring: "java-spring";
}
