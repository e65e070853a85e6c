//! What the doctor finds, one bad precondition at a time, against a real Postgres.

use anyhow::Result;
use pillion_cdc::ConnectorConfig;
use pillion_cdc::checks::{self, Check, Finding, Verdict};
use pillion_cdc::outbox::{self, Setup};
use pillion_test_postgres::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::Client;

use crate::recorder::Recorder;
use crate::{config, start};

/// A database that is ready, and a connector's configuration for it.
async fn ready() -> Result<(Server, Client, ConnectorConfig)> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let config = config(&server);
    outbox::apply(&config.postgres, &config.source(), &Setup::default()).await?;
    Ok((server, client, config))
}

/// The worst of what is said about `check`.
async fn worst(config: &ConnectorConfig, check: Check) -> Finding {
    let findings = checks::examine_database(config).await;
    findings
        .into_iter()
        .filter(|found| found.check == check)
        .max_by_key(|found| found.verdict)
        .expect("it is looked at")
}

async fn assert_says(config: &ConnectorConfig, check: Check, verdict: Verdict, expected: &str) {
    let findings = checks::examine_database(config).await;
    let of_check: Vec<&Finding> = findings.iter().filter(|found| found.check == check).collect();
    let is_said = of_check.iter().any(|found| found.verdict == verdict && found.message.contains(expected));
    assert!(is_said && of_check.iter().all(|found| found.verdict <= verdict), "{verdict} {expected}: {of_check:?}");
}

#[tokio::test]
async fn a_database_that_init_has_prepared_passes() -> Result<()> {
    let (_server, client, config) = ready().await?;
    client.batch_execute("alter system set max_slot_wal_keep_size = '1GB'").await?;
    client.batch_execute("select pg_reload_conf()").await?;
    let findings = checks::examine_database(&config).await;
    assert!(findings.iter().all(|found| found.verdict == Verdict::Passed), "{findings:#?}");
    assert_eq!(findings.len(), 10);
    // A connector that runs is no obstacle, and is named.
    let running = start(config.clone(), &Recorder::default());
    running.until_streaming().await;
    assert_says(&config, Check::Slot, Verdict::Passed, "streamed from by pillion pillion (process").await;
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn a_database_that_is_away_leaves_the_rest_unsaid() -> Result<()> {
    let (mut server, _client, config) = ready().await?;
    server.kill()?;
    let findings = checks::examine_database(&config).await;
    assert_eq!(findings[0].verdict, Verdict::Failed);
    assert!(findings[0].message.contains("cannot connect to postgresql://postgres@127.0.0.1"), "{findings:?}");
    assert!(findings[1..].iter().all(|found| found.verdict == Verdict::Skipped), "{findings:?}");
    Ok(())
}

#[tokio::test]
async fn a_role_that_may_not_replicate_is_told_what_grants_it() -> Result<()> {
    let (server, client, mut config) = ready().await?;
    client.batch_execute("create role ordinary login").await?;
    config.postgres = server.url().replace("postgres@", "ordinary@").parse()?;
    assert_says(&config, Check::Role, Verdict::Failed, "GRANT rds_replication").await;
    assert_says(&config, Check::Replication, Verdict::Skipped, "").await;
    // As RDS has it: membership in a role that stands for the attribute. Here Postgres itself still refuses.
    client.batch_execute("create role rds_replication; grant rds_replication to ordinary").await?;
    assert_says(&config, Check::Role, Verdict::Passed, "").await;
    assert_says(&config, Check::Replication, Verdict::Failed, "ALTER ROLE").await;
    Ok(())
}

#[tokio::test]
async fn slots_and_sessions_that_are_all_taken_are_counted() -> Result<()> {
    let (_server, client, mut config) = ready().await?;
    client
        .batch_execute(
            "select pg_create_logical_replication_slot('other_' || n, 'pgoutput') from generate_series(1, 9) n",
        )
        .await?;
    assert_says(&config, Check::Capacity, Verdict::Passed, "").await;
    config.slot = "missing".to_owned();
    assert_says(&config, Check::Capacity, Verdict::Failed, "all 10 replication slots").await;
    assert_says(&config, Check::Slot, Verdict::Failed, "pillion outbox init").await;
    Ok(())
}

#[tokio::test]
async fn publications_and_tables_that_leave_rows_out_are_named() -> Result<()> {
    let (_server, client, config) = ready().await?;
    client.batch_execute("alter publication pillion_outbox set (publish = 'delete')").await?;
    assert_says(&config, Check::Publication, Verdict::Failed, "SET (publish = 'insert')").await;
    client.batch_execute("alter publication pillion_outbox set (publish = 'insert')").await?;
    client.batch_execute("alter publication pillion_outbox drop table outbox").await?;
    assert_says(&config, Check::Tables, Verdict::Failed, "ADD TABLE").await;
    client.batch_execute("alter publication pillion_outbox add table outbox where (type <> 'Test')").await?;
    assert_says(&config, Check::Tables, Verdict::Warning, "never published").await;
    client.batch_execute("alter publication pillion_outbox set table outbox (id, aggregatetype)").await?;
    assert_says(&config, Check::Columns, Verdict::Failed, "has no column `aggregateid`").await;
    client.batch_execute("drop publication pillion_outbox").await?;
    assert_says(&config, Check::Publication, Verdict::Failed, "does not exist").await;
    Ok(())
}

#[tokio::test]
async fn a_partitioned_table_must_be_published_by_its_root() -> Result<()> {
    let (_server, client, config) = ready().await?;
    client.batch_execute("drop table outbox").await?;
    assert_says(&config, Check::Tables, Verdict::Failed, "does not exist").await;
    let setup = Setup { partitions: Some(outbox::Interval::Day), ..Setup::default() };
    outbox::apply(&config.postgres, &config.source(), &setup).await?;
    assert_says(&config, Check::Tables, Verdict::Passed, "").await;
    client.batch_execute("alter publication pillion_outbox set (publish_via_partition_root = false)").await?;
    assert_says(&config, Check::Tables, Verdict::Failed, "SET (publish_via_partition_root = true)").await;
    Ok(())
}

#[tokio::test]
async fn columns_that_will_not_do_are_named_with_their_types() -> Result<()> {
    let (_server, client, mut config) = ready().await?;
    client
        .batch_execute(
            "alter table outbox alter column tracingspancontext type varchar(255), add at date, add body int[]",
        )
        .await?;
    assert_says(&config, Check::Columns, Verdict::Warning, r#"ALTER COLUMN "tracingspancontext" TYPE text"#).await;
    config.set("table.field.event.payload", "body")?;
    assert_says(&config, Check::Columns, Verdict::Warning, "as Postgres prints it").await;
    config.set("table.field.event.timestamp", "at")?;
    assert_says(&config, Check::Columns, Verdict::Failed, "is date").await;
    config.set("table.field.event.key", "customer")?;
    assert_says(&config, Check::Columns, Verdict::Failed, "table.field.event.key names").await;
    Ok(())
}

#[tokio::test]
async fn a_slot_of_another_kind_or_database_is_none_of_ours() -> Result<()> {
    let (server, client, mut config) = ready().await?;
    client.batch_execute("select pg_create_physical_replication_slot('standby')").await?;
    client.batch_execute("create database elsewhere").await?;
    client.batch_execute("select pg_create_logical_replication_slot('decoder', 'test_decoding')").await?;
    for (slot, expected) in [("standby", "a physical slot"), ("decoder", "a test_decoding slot of database postgres")] {
        config.slot = slot.to_owned();
        assert_says(&config, Check::Slot, Verdict::Failed, expected).await;
    }
    config.slot = "pillion".to_owned();
    config.postgres = format!("{}elsewhere", server.url().trim_end_matches("postgres")).parse()?;
    assert_says(
        &config,
        Check::Slot,
        Verdict::Failed,
        "of database postgres, not a pgoutput slot of database elsewhere",
    )
    .await;
    Ok(())
}

/// Writes log until the slot of the ready database has lost what it needs.
pub(crate) async fn lose_the_slot(client: &Client) -> Result<()> {
    client.batch_execute("alter system set max_slot_wal_keep_size = '1MB'").await?;
    client.batch_execute("select pg_reload_conf()").await?;
    let status = "select wal_status from pg_replication_slots where slot_name = 'pillion'";
    for _ in 0..20 {
        client.batch_execute("create table if not exists busy (n int)").await?;
        client.batch_execute("insert into busy select generate_series(1, 1000)").await?;
        client.batch_execute("select pg_switch_wal()").await?;
        client.batch_execute("checkpoint").await?;
        if client.query_one(status, &[]).await?.try_get::<_, String>(0)? == "lost" {
            return Ok(());
        }
    }
    anyhow::bail!("the slot keeps its log")
}

#[tokio::test]
async fn a_slot_that_postgres_gave_up_is_told_from_all_others_and_so_is_the_way_on() -> Result<()> {
    let (_server, client, config) = ready().await?;
    assert_says(&config, Check::Settings, Verdict::Warning, "max_slot_wal_keep_size is -1").await;
    lose_the_slot(&client).await?;
    assert_says(&config, Check::Slot, Verdict::Failed, "max_slot_wal_keep_size allows").await;
    let error = start(config.clone(), &Recorder::default()).task.await?.unwrap_err().to_string();
    for expected in
        ["is invalidated", "pg_drop_replication_slot('pillion')", "outbox republish --from 0/", "--adopt-slot"]
    {
        assert!(error.contains(expected), "{expected}: {error}");
    }
    Ok(())
}

#[tokio::test]
async fn settings_that_end_a_stream_for_nothing_are_warned_of() -> Result<()> {
    let (_server, client, config) = ready().await?;
    for (setting, expected) in [("'2s'", "2000 ms"), ("0", "holds the slot until TCP gives up")] {
        client.batch_execute(&format!("alter system set wal_sender_timeout = {setting}")).await?;
        client.batch_execute("alter system set max_slot_wal_keep_size = '1GB'").await?;
        client.batch_execute("select pg_reload_conf()").await?;
        while !worst(&config, Check::Settings).await.message.contains(expected) {}
    }
    Ok(())
}

#[tokio::test]
async fn pg_hba_that_lets_the_role_in_nowhere_is_told_what_line_would() -> Result<()> {
    let (server, client, mut config) = ready().await?;
    client.batch_execute("create role relay login replication").await?;
    config.postgres = server.url().replace("postgres@", "relay@").parse()?;
    assert_says(&config, Check::Connection, Verdict::Passed, "PostgreSQL").await;
    let hba: String = client.query_one("select current_setting('hba_file')", &[]).await?.try_get(0)?;
    std::fs::write(hba, "host all postgres 127.0.0.1/32 trust\n")?;
    client.batch_execute("select pg_reload_conf()").await?;
    while worst(&config, Check::Connection).await.verdict != Verdict::Failed {}
    assert_says(&config, Check::Connection, Verdict::Failed, "`host` line of pg_hba.conf").await;
    Ok(())
}

/// A pooler in front of `port`, as PgBouncer is before 1.23: it knows no replication.
async fn pooler(port: u16) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let own = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pool(client, port));
        }
    });
    Ok(own)
}

async fn pool(mut client: TcpStream, port: u16) -> Result<()> {
    let mut startup = vec![0; 4];
    loop {
        client.read_exact(&mut startup[..4]).await?;
        let length = u32::from_be_bytes(startup[..4].try_into()?) as usize;
        startup.resize(length, 0);
        client.read_exact(&mut startup[4..]).await?;
        if startup[4..8] != [4, 210, 22, 47] {
            break;
        }
        client.write_all(b"N").await?;
    }
    if startup.windows(11).any(|window| window == b"replication") {
        let fields = b"SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: replication\0\0";
        client.write_all(b"E").await?;
        client.write_all(&(fields.len() as u32 + 4).to_be_bytes()).await?;
        client.write_all(fields).await?;
        return Ok(());
    }
    let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
    server.write_all(&startup).await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

#[tokio::test]
async fn a_pooler_in_between_is_recognised() -> Result<()> {
    let (server, _client, mut config) = ready().await?;
    let port = config.postgres.port();
    let pooled = pooler(port).await?;
    config.postgres = server.url().replace(&format!(":{port}/"), &format!(":{pooled}/")).parse()?;
    assert_says(&config, Check::Connection, Verdict::Passed, "PostgreSQL").await;
    assert_says(&config, Check::Replication, Verdict::Failed, "PgBouncer").await;
    Ok(())
}
