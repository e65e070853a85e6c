//! A database that is not ready, and what the connector says about it.

use anyhow::Result;
use pillion_cdc::checks::{self, CheckFailure};
use pillion_cdc::{ConnectorConfig, ConnectorError, PostgresUrl, State, outbox};

use crate::recorder::Recorder;
use crate::{config, id, insert, start, until};
use pillion_test_postgres::Server;

async fn failures(server: &Server, config: &ConnectorConfig) -> Result<Vec<CheckFailure>> {
    Ok(checks::run(&server.url().parse()?, &config.source()).await?)
}

#[tokio::test]
async fn each_missing_part_is_named_with_its_fix_until_nothing_is_missing() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let mut config = config(&server);
    config.auto_init = false;
    let found = failures(&server, &config).await?;
    assert!(matches!(&found[..], [CheckFailure::NoPublication { .. }, CheckFailure::NoSlot { .. }]), "{found:?}");
    let error = start(config.clone(), &Recorder::default()).task.await?.unwrap_err();
    assert!(matches!(&error, ConnectorError::Checks(list) if list.len() == 2), "{error}");
    assert!(error.to_string().contains("pillion outbox init"), "{error}");

    client.batch_execute("create publication pillion_outbox with (publish = 'update')").await?;
    client.batch_execute("select pg_create_logical_replication_slot('pillion', 'test_decoding')").await?;
    let found = failures(&server, &config).await?;
    assert!(
        matches!(
            &found[..],
            [CheckFailure::NoInserts { .. }, CheckFailure::NoTable { .. }, CheckFailure::OtherSlot { .. }]
        ),
        "{found:?}"
    );

    client.batch_execute("create table outbox (id int, at int) partition by range (at)").await?;
    client.batch_execute("alter publication pillion_outbox set (publish = 'insert')").await?;
    client.batch_execute("select pg_drop_replication_slot('pillion')").await?;
    let found = failures(&server, &config).await?;
    assert!(matches!(&found[..], [CheckFailure::NotViaRoot { .. }, CheckFailure::NoSlot { .. }]), "{found:?}");

    client.batch_execute("drop table outbox; create table outbox (id int)").await?;
    let found = failures(&server, &config).await?;
    assert!(matches!(&found[..], [CheckFailure::NotPublished { .. }, CheckFailure::NoSlot { .. }]), "{found:?}");

    client.batch_execute("drop table outbox").await?;
    let setup = outbox::Setup { role: Some("relay".to_owned()), partitions: None };
    for _ in 0..2 {
        outbox::apply(&server.url().parse()?, &config.source(), &setup).await?;
        assert_eq!(failures(&server, &config).await?, []);
    }
    Ok(())
}

#[tokio::test]
async fn the_role_that_init_makes_is_enough_and_an_ordinary_one_is_not() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let mut config = config(&server);
    config.auto_init = false;
    let setup = outbox::Setup { role: Some("relay".to_owned()), partitions: None };
    outbox::apply(&config.postgres, &config.source(), &setup).await?;
    client.batch_execute("create role ordinary login").await?;

    config.postgres = server.url().replace("postgres@", "ordinary@").parse()?;
    let error = start(config.clone(), &Recorder::default()).task.await?.unwrap_err();
    assert!(error.to_string().contains(r#"ALTER ROLE "ordinary" REPLICATION"#), "{error}");

    config.postgres = server.url().replace("postgres@", "relay@").parse()?;
    let recorder = Recorder::default();
    let running = start(config, &recorder);
    running.until_streaming().await;
    insert(&client, "outbox", 1).await?;
    recorder.until_id(&id(1)).await;
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn a_table_that_is_no_outbox_is_refused_by_name() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client.batch_execute("create table outbox (id uuid primary key, payload jsonb)").await?;
    let running = start(config(&server), &Recorder::default());
    running.until_streaming().await;
    client.batch_execute("insert into outbox values (gen_random_uuid(), '{}')").await?;
    let error = running.task.await?.unwrap_err();
    assert!(matches!(error, ConnectorError::Table(_)), "{error}");
    assert!(error.to_string().contains("public.outbox has no column `aggregateid`"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_wrong_database_is_refused_and_a_server_that_is_away_is_waited_for() -> Result<()> {
    let mut server = Server::start().await?;
    let mut wrong = config(&server);
    wrong.postgres = server.url().replace("/postgres", "/nowhere").parse()?;
    let error = start(wrong, &Recorder::default()).task.await?.unwrap_err();
    assert!(matches!(error, ConnectorError::Postgres(_)), "{error}");

    server.kill()?;
    let recorder = Recorder::default();
    let running = start(config(&server), &recorder);
    until("the reason", || running.status.snapshot().last_error.is_some()).await;
    assert_eq!(running.status.snapshot().state, State::WaitingForPostgres);
    server.restart().await?;
    running.until_streaming().await;
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn scram_passwords_work_and_wrong_ones_are_refused_without_being_printed() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client
        .batch_execute(
            "set password_encryption = 'scram-sha-256'; create role relay login replication superuser password 's3cr3t';
            create function hba() returns text language sql as $$ select current_setting('hba_file') $$",
        )
        .await?;
    let hba: String = client.query_one("select hba()", &[]).await?.try_get(0)?;
    std::fs::write(hba, "host all postgres 127.0.0.1/32 trust\nhost all relay 127.0.0.1/32 scram-sha-256\n")?;
    client.batch_execute("select pg_reload_conf()").await?;
    let url = |password: &str| -> PostgresUrl {
        server.url().replace("postgres@", &format!("relay{password}@")).parse().unwrap()
    };
    for wrong in [":wr0ng", ""] {
        let mut config = config(&server);
        config.postgres = url(wrong);
        let error = start(config, &Recorder::default()).task.await?.unwrap_err();
        assert!(matches!(error, ConnectorError::Postgres(_)), "{error}");
        assert!(!format!("{error:?}").contains("wr0ng"), "{error:?}");
    }
    let mut config = config(&server);
    config.postgres = url(":s3cr3t");
    let recorder = Recorder::default();
    let running = start(config, &recorder);
    running.until_streaming().await;
    insert(&client, "outbox", 1).await?;
    recorder.until_id(&id(1)).await;
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn two_connectors_may_set_the_same_database_up_at_once() -> Result<()> {
    for _ in 0..5 {
        let server = Server::start().await?;
        let recorder = Recorder::default();
        let both = [start(config(&server), &recorder), start(config(&server), &recorder)];
        let state = |at: usize| {
            let running = &both[at];
            assert!(!running.task.is_finished(), "{:?}", running.status.snapshot());
            running.status.snapshot().state
        };
        until("one to stream and the other to stand by", || {
            let states = [state(0), state(1)];
            states.contains(&State::Streaming) && states.contains(&State::Standby)
        })
        .await;
        for running in both {
            running.stop().await?;
        }
    }
    Ok(())
}
