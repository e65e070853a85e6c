use std::collections::BTreeSet;
use std::time::Duration;

use pgwire_replication::{ReplicationClient, ReplicationConfig};
use pillion_test_postgres::Server;

use super::{made_at, slot_made_at, slot_state, until_slot_is_free};
use crate::control::Control;
use crate::lsn::Lsn;
use crate::outbox::{Setup, Source, apply_with, init_sql};
use crate::postgres_url::PostgresUrl;

fn source() -> Source {
    Source {
        tables: vec!["outbox".parse().unwrap()],
        publication: "Pillion \"outbox\"".to_owned(),
        slot: "pillion".to_owned(),
    }
}

#[test]
fn the_record_of_a_slot_is_read_for_that_slot_only() {
    let comment = "pillion: slot pillion made at 16/B374D848";
    assert_eq!(made_at(comment, "pillion"), Some(Lsn::new(0x16_B374_D848)));
    for other in ["", "events of the shop", "pillion: slot other made at 0/1", "pillion: slot pillion made at noon"] {
        assert_eq!(made_at(other, "pillion"), None, "{other}");
    }
}

#[tokio::test]
async fn a_slot_that_init_makes_is_known_to_be_new_until_somebody_reads_from_it() {
    let server = Server::start().await.unwrap();
    let url: PostgresUrl = server.url().parse().unwrap();
    let control = Control::connect(&url).await.unwrap();
    assert_eq!(slot_made_at(&control, &source()).await.unwrap(), None);
    assert_eq!(slot_state(&control, "pillion").await.unwrap(), None);

    apply_with(&control, &source(), &Setup::default()).await.unwrap();
    let state = slot_state(&control, "pillion").await.unwrap().unwrap();
    assert_eq!(
        (state.kind.as_str(), state.plugin.as_str(), state.database.as_str()),
        ("logical", "pgoutput", "postgres")
    );
    assert_eq!((state.wal_status.as_deref(), state.active_pid, state.is_lost()), (Some("reserved"), None, false));
    assert!(state.restart.unwrap() <= state.confirmed_flush);
    assert_eq!(slot_made_at(&control, &source()).await.unwrap(), Some(state.confirmed_flush));

    // Run again, as psql would run what is printed, it neither makes a slot nor records one.
    let moved = "create table t (); select pg_replication_slot_advance('pillion', pg_current_wal_lsn())";
    control.client().batch_execute(moved).await.unwrap();
    for statement in init_sql(&source(), &Setup::default()).split("\n\n") {
        control.client().batch_execute(statement).await.unwrap();
    }
    let now = slot_state(&control, "pillion").await.unwrap().unwrap();
    assert!(now.confirmed_flush > state.confirmed_flush);
    assert_eq!(slot_made_at(&control, &source()).await.unwrap(), Some(state.confirmed_flush));

    // Somebody else's slot of the same name has another position; a slot of another name is not on record.
    let recreated =
        "select pg_drop_replication_slot('pillion'); select pg_create_logical_replication_slot('pillion', 'pgoutput')";
    control.client().batch_execute(recreated).await.unwrap();
    let recreated = slot_state(&control, "pillion").await.unwrap().unwrap();
    assert_ne!(slot_made_at(&control, &source()).await.unwrap(), Some(recreated.confirmed_flush));
    let other = Source { slot: "other".to_owned(), ..source() };
    assert_eq!(slot_made_at(&control, &other).await.unwrap(), None);
}

#[tokio::test]
async fn a_slot_whose_making_cannot_be_recorded_is_not_left_behind() {
    let server = Server::start().await.unwrap();
    let client = server.connect().await.unwrap();
    client
        .batch_execute(
            "create table outbox (id uuid); create publication \"Pillion \"\"outbox\"\"\" for table outbox;
            create role somebody login replication",
        )
        .await
        .unwrap();
    let url: PostgresUrl = server.url().replace("postgres@", "somebody@").parse().unwrap();
    let control = Control::connect(&url).await.unwrap();
    let error = apply_with(&control, &source(), &Setup::default()).await.unwrap_err();
    assert!(crate::causes::text(&error).contains("must be owner of publication"), "{error:?}");
    assert_eq!(slot_state(&control, "pillion").await.unwrap(), None);
}

#[tokio::test]
async fn waiting_for_a_slot_ends_when_its_holder_leaves() {
    let server = Server::start().await.unwrap();
    let url: PostgresUrl = server.url().parse().unwrap();
    let control = Control::connect(&url).await.unwrap();
    until_slot_is_free(&control, "pillion").await.unwrap();
    apply_with(&control, &source(), &Setup::default()).await.unwrap();
    let publication = crate::quoting::identifier(&source().publication);
    let config = ReplicationConfig::new(url.host(), url.user(), "", url.database(), "pillion", publication);
    let mut holder = ReplicationClient::connect(config.with_port(url.port())).await.unwrap();
    holder.wait_started().await.unwrap();
    assert!(slot_state(&control, "pillion").await.unwrap().unwrap().active_pid.is_some());

    let waiting = tokio::spawn(async move { until_slot_is_free(&control, "pillion").await });
    // While it is held, the wait asks again and again.
    let client = server.connect().await.unwrap();
    let mut asked = BTreeSet::new();
    while asked.len() < 3 {
        let query = "select state_change::text from pg_stat_activity where application_name = 'pillion'";
        asked.insert(client.query_one(query, &[]).await.unwrap().get::<_, String>(0));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!waiting.is_finished());
    holder.shutdown().await.unwrap();
    waiting.await.unwrap().unwrap();
}
