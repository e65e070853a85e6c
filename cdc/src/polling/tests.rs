//! Polling a real Postgres, without a cluster to publish to.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use pillion_test_postgres::Server;
use tokio_postgres::Client;

use super::window::Window;
use super::*;
use crate::pgoutput::{Cell, Message};

const TABLE: &str = "create table outbox (id bigserial primary key, aggregatetype text, aggregateid text, type text,
    payload jsonb, created_at timestamptz default clock_timestamp(), txid xid8 default pg_current_xact_id());
    create index on outbox (txid)";

fn options() -> Options {
    Options {
        tables: vec!["public.outbox".parse().unwrap()],
        event_id: "id".to_owned(),
        column: None,
        transaction_column: None,
        interval: Duration::from_millis(5),
        row_bytes_max: 1 << 20,
        publish_existing: true,
    }
}

/// A connector's side of a session: what it would write down.
struct Reader {
    session: PollingSession,
    progress: Resumed,
    relations: BTreeMap<u32, String>,
    begun: Lsn,
    counted: u64,
    /// Id and payload of each row, in the order they came in.
    rows: Vec<(String, String)>,
}

impl Reader {
    async fn open(server: &Server, options: Options, progress: Resumed) -> Result<Reader> {
        Reader::open_at(&server.url(), options, progress).await
    }

    async fn open_at(url: &str, options: Options, progress: Resumed) -> Result<Reader> {
        let mut reader = Reader::unstarted(url, options, progress).await?;
        reader.session.start(reader.progress.clone());
        Ok(reader)
    }

    async fn unstarted(url: &str, options: Options, progress: Resumed) -> Result<Reader> {
        let mut source = PollingSource { url: url.parse()?, name: "pillion".to_owned(), options, auto_init: false };
        let session = until_free(&mut source).await?.1;
        Ok(Reader { session, progress, relations: BTreeMap::new(), begun: Lsn::ZERO, counted: 0, rows: Vec::new() })
    }

    /// Takes one event; rows that the connector would pass over are passed over.
    async fn take(&mut self) -> Result<()> {
        let next = tokio::time::timeout(Duration::from_secs(60), self.session.next()).await;
        match next.map_err(|_| anyhow::anyhow!("nothing came; {} rows did", self.rows.len()))?? {
            ReplicationEvent::Snapshot(state) => self.progress.state = state,
            ReplicationEvent::KeepAlive { wal_end, .. } => self.progress.end = wal_end,
            ReplicationEvent::Message(message) => self.message(message),
        }
        Ok(())
    }

    fn message(&mut self, message: Message) {
        match message {
            Message::Begin { commit_lsn, .. } => {
                assert!(commit_lsn >= self.progress.end, "windows go forward");
                self.counted = 0;
                self.begun = commit_lsn;
            }
            Message::Relation(relation) => drop(self.relations.insert(relation.id, relation.name)),
            Message::Insert { relation_id, row } => {
                assert!(self.relations.contains_key(&relation_id), "described first");
                self.counted += 1;
                if (self.begun, self.counted) <= (self.progress.commit, self.progress.ordinal) {
                    return;
                }
                let text = |index: usize| match &row[index] {
                    Cell::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
                    _ => String::new(),
                };
                self.rows.push((text(0), text(4)));
                (self.progress.commit, self.progress.ordinal) = (self.begun, self.counted);
                self.progress.last_event_id = Some(text(0).into());
            }
            Message::Commit { end_lsn, .. } => self.progress.end = end_lsn,
            other => panic!("{other:?}"),
        }
    }

    async fn until(&mut self, rows: usize) -> Result<()> {
        while self.rows.len() < rows {
            self.take().await?;
        }
        Ok(())
    }

    fn ids(&self) -> Vec<&str> {
        self.rows.iter().map(|(id, _)| id.as_str()).collect()
    }
}

/// The server notices a moment later that an earlier session is gone.
async fn until_free(source: &mut PollingSource) -> Result<(ServerIdentity, PollingSession)> {
    loop {
        match source.open(None).await {
            Err(ReplicationError::SlotBusy { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
            opened => return Ok(opened?),
        }
    }
}

async fn insert(client: &Client, count: usize) -> Result<()> {
    for _ in 0..count {
        client.batch_execute("insert into outbox (aggregateid, payload) values ('a', '1')").await?;
    }
    Ok(())
}

/// One writer: transactions that take their id early, wait, lock a key, write its next event, sometimes under a
/// savepoint, sometimes in vain, and wait again before they commit.
async fn write(client: Client, seed: u64, transactions: usize) -> Result<()> {
    let mut random = seed;
    let mut next = move |bound: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % bound
    };
    for _ in 0..transactions {
        let key = next(24);
        let (early, late) = (next(3), next(4));
        let savepoint = if next(3) == 0 { "savepoint s;" } else { "" };
        let end = if next(8) == 0 { "rollback" } else { "commit" };
        client
            .batch_execute(&format!(
                "begin; insert into inbox values (default); select pg_sleep(0.001 * {early});
                 {savepoint} update key set n = n + 1 where id = {key};
                 insert into outbox (aggregateid, payload) select id, n::text::jsonb from key where id = {key};
                 select pg_sleep(0.002 * {late}); {end}"
            ))
            .await?;
    }
    Ok(())
}

/// 64 writers, and a reader that is replaced by a new one now and then, in the middle of a window too.
async fn check_writers(options: Options) -> Result<()> {
    const WRITERS: u64 = 64;
    let server = Server::start().await?;
    let client = server.connect().await?;
    client
        .batch_execute(&format!(
            "{TABLE}; create table inbox (id bigserial); create table key (id int primary key, n int);
             insert into key select g, 0 from generate_series(0, 23) g"
        ))
        .await?;
    let mut writers = tokio::task::JoinSet::new();
    for seed in 0..WRITERS {
        let client = server.connect().await?;
        writers.spawn(write(client, seed, 25));
    }
    let mut reader = Reader::open(&server, options.clone(), Resumed::default()).await?;
    let mut stop_at = 97;
    let mut is_written = false;
    loop {
        if !is_written && writers.is_empty() {
            is_written = true;
        }
        while let Some(written) = writers.try_join_next() {
            written??;
        }
        let expected: i64 = client.query_one("select count(*) from outbox", &[]).await?.get(0);
        if is_written && reader.rows.len() as i64 >= expected {
            break;
        }
        if reader.rows.len() >= stop_at {
            stop_at += 97;
            let Reader { session, progress, rows, .. } = reader;
            session.close().await;
            reader = Reader::open(&server, options.clone(), progress).await?;
            reader.rows = rows;
        }
        let before = reader.rows.len();
        while reader.rows.len() == before && (!is_written || (before as i64) < expected) {
            let taken = tokio::time::timeout(Duration::from_millis(50), reader.take()).await;
            match taken {
                Ok(taken) => taken?,
                Err(_) => break,
            }
        }
    }
    let published: BTreeSet<&str> = reader.ids().into_iter().collect();
    assert_eq!(published.len(), reader.rows.len(), "none twice");
    let rows = client.query("select id::text, aggregateid, payload::text from outbox order by id", &[]).await?;
    let all: BTreeMap<String, (String, i64)> =
        rows.iter().map(|row| (row.get(0), (row.get(1), row.get::<_, String>(2).parse().unwrap()))).collect();
    assert!(all.len() > 1000, "{}", all.len());
    assert!(all.keys().all(|id| published.contains(id.as_str())), "none lost");
    let mut last: BTreeMap<&str, i64> = BTreeMap::new();
    for id in reader.ids() {
        let (key, number) = &all[id];
        let before = last.insert(key, *number);
        assert!(before.is_none_or(|before| before < *number), "key {key}: {number} after {before:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_64_writers_by_timestamp_no_row_is_lost_none_comes_twice_and_keys_keep_their_order() -> Result<()> {
    check_writers(Options { column: Some("created_at".to_owned()), ..options() }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_64_writers_by_id_and_an_indexed_transaction_column_likewise() -> Result<()> {
    check_writers(Options { transaction_column: Some("txid".to_owned()), ..options() }).await
}

#[tokio::test]
async fn a_window_that_was_published_in_part_is_completed_though_rows_of_it_are_deleted() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client.batch_execute(TABLE).await?;
    for (deleted, expected) in [
        ("false", vec!["4", "5"]),
        ("id = 2", vec!["4", "5"]),
        ("id <= 2", vec!["4", "5"]),
        ("id <= 3", vec!["4", "5"]),
        ("id <= 4", vec!["5"]),
        ("id <= 5", vec![]),
    ] {
        client.batch_execute("truncate outbox restart identity").await?;
        insert(&client, 5).await?;
        let mut reader = Reader::open(&server, options(), Resumed::default()).await?;
        reader.until(3).await?;
        let progress = reader.progress.clone();
        assert!(progress.end <= progress.commit, "in the middle");
        reader.session.close().await;
        // Younger rows than the window's are none of its business.
        client
            .batch_execute(&format!("insert into outbox (payload) values ('6'); delete from outbox where {deleted}"))
            .await?;
        let mut reader = Reader::open(&server, options(), progress).await?;
        reader.until(expected.len() + 1).await?;
        assert_eq!(reader.ids(), [expected, vec!["6"]].concat(), "{deleted}");
    }
    Ok(())
}

#[tokio::test]
async fn rows_that_were_there_before_are_left_out_and_those_committed_since_are_not() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client.batch_execute(TABLE).await?;
    insert(&client, 2).await?;
    let late = server.connect().await?;
    late.batch_execute("begin; savepoint s; insert into outbox (payload) values ('3')").await?;
    insert(&client, 1).await?;
    let mut reader =
        Reader::open(&server, Options { publish_existing: false, ..options() }, Resumed::default()).await?;
    while reader.progress.end == Lsn::ZERO {
        reader.take().await?;
    }
    let progress = reader.progress.clone();
    reader.session.close().await;
    late.batch_execute("commit").await?;
    insert(&client, 1).await?;
    let mut reader = Reader::open(&server, options(), progress).await?;
    reader.until(2).await?;
    assert_eq!(reader.ids(), ["3", "5"]);
    Ok(())
}

#[tokio::test]
async fn a_transaction_that_stays_open_holds_up_nobody_else() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client.batch_execute(TABLE).await?;
    let slow = server.connect().await?;
    slow.batch_execute("begin; insert into outbox (payload) values ('1')").await?;
    let mut reader = Reader::open(&server, options(), Resumed::default()).await?;
    for count in 1..=5 {
        insert(&client, 1).await?;
        reader.until(count).await?;
    }
    slow.batch_execute("commit").await?;
    reader.until(6).await?;
    assert_eq!(reader.ids(), ["2", "3", "4", "5", "6", "1"]);
    Ok(())
}

#[tokio::test]
async fn a_role_that_may_only_select_is_enough_and_a_second_poller_waits() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client
        .batch_execute(&format!(
            "{TABLE}; create table parts (like outbox including defaults) partition by range (id);
             create table part_1 partition of parts for values from (1) to (100);
             create table part_2 partition of parts for values from (100) to (maxvalue);
             create role reader login; grant select on outbox, parts to reader"
        ))
        .await?;
    let both = || Options { tables: vec!["outbox".parse().unwrap(), "parts".parse().unwrap()], ..options() };
    let url = server.url().replace("postgres@", "reader@");
    let mut reader = Reader::open_at(&url, both(), Resumed::default()).await?;
    client.batch_execute("insert into parts (id) values (150), (50); insert into outbox (id) values (7)").await?;
    reader.until(3).await?;
    assert_eq!(reader.ids(), ["7", "50", "150"]);
    assert_eq!(reader.relations.values().map(String::as_str).collect::<BTreeSet<_>>(), ["outbox", "parts"].into());

    let mut second = PollingSource { url: url.parse()?, name: "pillion".to_owned(), options: both(), auto_init: false };
    let Err(ReplicationError::SlotBusy { reason }) = second.open(None).await else { bail!("two have one name") };
    assert!(reason.contains("polls this database as pillion"), "{reason}");
    reader.session.close().await;
    let (of_reader, _session) = until_free(&mut second).await?;
    let expected = client.query_one("select system_identifier::text from pg_control_system()", &[]).await?;
    assert_eq!((of_reader.system_id, of_reader.timeline), (expected.get(0), 1));
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_polled_says_why() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client.batch_execute(&format!("{TABLE}; create role stranger login")).await?;
    insert(&client, 1).await?;
    let stranger = server.url().replace("postgres@", "stranger@");
    let seen = |horizon| window::Seen { horizon, ..window::Seen::default() };
    let ahead = Window { number: 1, before: seen(0), after: seen(1 << 40) }.to_text();
    let of_another_mode = Resumed { end: Lsn::new(7), ..Resumed::default() };
    for (url, options, progress, expected) in [
        (stranger, options(), Resumed::default(), "permission denied for table outbox"),
        (
            server.url(),
            Options { tables: vec!["lost".parse()?], ..options() },
            Resumed::default(),
            "public.lost does not exist",
        ),
        (server.url(), Options { column: Some("at".to_owned()), ..options() }, Resumed::default(), "no column at"),
        (server.url(), Options { row_bytes_max: 10, ..options() }, Resumed::default(), "more than max.row.bytes (10)"),
        (server.url(), options(), of_another_mode, "not one of polling"),
        (server.url(), options(), Resumed { state: Some(ahead), ..Resumed::default() }, "failed over with a loss"),
    ] {
        let mut reader = Reader::open_at(&url, options, progress).await?;
        let error = loop {
            if let Err(error) = reader.take().await {
                break error.to_string();
            }
        };
        assert!(error.contains(expected), "{expected} in {error}");
        reader.session.close().await;
    }
    Ok(())
}

#[tokio::test]
async fn no_row_is_published_that_a_crash_could_take_back() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client.batch_execute(TABLE).await?;
    client.batch_execute("alter system set wal_writer_delay = '1s'").await?;
    client.batch_execute("select pg_reload_conf(); set synchronous_commit = off").await?;
    let mut reader = Reader::open(&server, options(), Resumed::default()).await?;
    for count in 1..=3 {
        insert(&client, 1).await?;
        let written: String = client.query_one("select pg_current_wal_insert_lsn()::text", &[]).await?.get(0);
        reader.until(count).await?;
        let is_flushed = format!("select pg_current_wal_flush_lsn() >= '{written}'");
        assert!(client.query_one(&is_flushed, &[]).await?.get::<_, bool>(0), "row {count}");
    }
    Ok(())
}

#[tokio::test]
async fn ids_that_are_given_out_again_after_a_crash_lose_no_row() -> Result<()> {
    let mut server = Server::start().await?;
    server.connect().await?.batch_execute(TABLE).await?;
    server.connect().await?.batch_execute("alter system set wal_writer_delay = '10s'").await?;
    let mut progress = Resumed::default();
    // The server may write its log at any time: then ids are not given out again, and it is tried anew.
    for _ in 0..10 {
        let client = server.connect().await?;
        client.batch_execute("select pg_reload_conf()").await?;
        insert(&client, 1).await?;
        let mut burnt = 0;
        for _ in 0..20 {
            // That these came and went is not on the disk yet.
            burnt = client.query_one("select pg_current_xact_id()::text::int8", &[]).await?.get::<_, i64>(0);
        }
        let mut reader = Reader::unstarted(&server.url(), options(), progress).await?;
        reader.session.waiting.as_mut().unwrap().0.knows_flush = false;
        reader.session.start(reader.progress.clone());
        reader.until(1).await?;
        progress = reader.progress.clone();
        server.kill()?;
        server.restart().await?;
        reader.session.close().await;
        let client = server.connect().await?;
        insert(&client, 2).await?;
        let next = "select min(txid::text::int8) from (select txid from outbox order by id desc limit 2) t";
        let next: i64 = client.query_one(next, &[]).await?.get(0);
        let mut reader = Reader::open(&server, options(), progress).await?;
        reader.until(2).await?;
        progress = reader.progress.clone();
        reader.session.close().await;
        if next <= burnt {
            return Ok(());
        }
    }
    bail!("no id was given out again")
}
