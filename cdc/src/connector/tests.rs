//! The connector against a scripted server and a scripted cluster: what is published, what is confirmed, and what a
//! failure at each point does to both. Real servers are in this crate's `tests` folder.

mod exactly_once;

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{ConnectorError, run};
use crate::config::{ConnectorConfig, Delivery, OnError};
use crate::lsn::Lsn;
use crate::pgoutput::{Cell, Column, Message, Operation, Relation};
use crate::publish::scripted::{ScriptedCluster, Verdict};
use crate::replication::scripted::{Record, ScriptedSource, Step};
use crate::replication::{ReplicationError, ReplicationEvent};
use crate::router::OutboxEvent;
use crate::status::State;

fn relation() -> Step {
    let columns = ["id", "aggregatetype", "aggregateid", "type", "payload", "tracingspancontext"];
    let columns = columns.map(|name| Column { name: name.to_owned(), type_id: 25, type_modifier: -1 }).to_vec();
    Message::Relation(Relation { id: 1, schema: "public".to_owned(), name: "outbox".to_owned(), columns }).into()
}

fn begin(lsn: u64) -> Step {
    Message::Begin { commit_lsn: Lsn::new(lsn), commit_time_micros: 5_000, transaction_id: 1 }.into()
}

fn row_of(aggregate_type: &str, id: &str) -> Step {
    let text = |text: &str| Cell::Text(Bytes::copy_from_slice(text.as_bytes()));
    let row = vec![text(id), text(aggregate_type), text("42"), text("Created"), text("{}"), Cell::Null];
    Message::Insert { relation_id: 1, row }.into()
}

fn row(id: &str) -> Step {
    row_of("order", id)
}

fn commit(lsn: u64) -> Step {
    let (commit_lsn, end_lsn) = (Lsn::new(lsn), Lsn::new(lsn + 1));
    Message::Commit { commit_lsn, end_lsn, commit_time_micros: 5_000 }.into()
}

fn keepalive(lsn: u64) -> Step {
    Step::Event(ReplicationEvent::KeepAlive { wal_end: Lsn::new(lsn), is_urgent: false })
}

fn lost() -> ReplicationError {
    ReplicationError::Lost("the connection broke".into())
}

/// One transaction a row: ends at 11, 21, …
fn transactions(ids: &[&str]) -> Vec<Step> {
    let mut steps = vec![relation()];
    for (at, id) in ids.iter().enumerate() {
        let lsn = (at as u64 + 1) * 10;
        steps.extend([begin(lsn), row(id), commit(lsn)]);
    }
    steps
}

/// A connector at work.
struct Running {
    task: JoinHandle<Result<(), ConnectorError>>,
    cancelled: CancellationToken,
    record: Arc<Mutex<Record>>,
    cluster: ScriptedCluster,
    config: ConnectorConfig,
}

fn start(
    sessions: Vec<Result<Vec<Step>, ReplicationError>>,
    verdicts: &[Verdict],
    adjust: impl FnOnce(&mut ConnectorConfig),
) -> Running {
    let postgres = "postgresql://me@localhost/shop".parse().unwrap();
    let mut config = ConnectorConfig::new(postgres, vec!["localhost:9092".to_owned()]);
    config.delivery = Delivery::AtLeastOnce;
    adjust(&mut config);
    let source = ScriptedSource::new(sessions);
    let record = Arc::clone(&source.record);
    let is_transactional = config.delivery == Delivery::ExactlyOnce;
    let cluster = ScriptedCluster { is_transactional, ..ScriptedCluster::default() };
    cluster.verdicts.lock().extend(verdicts);
    let cancelled = CancellationToken::new();
    let task = tokio::spawn(run::run(config.clone(), source, cluster.clone(), cancelled.clone()));
    Running { task, cancelled, record, cluster, config }
}

impl Running {
    fn stored(&self) -> Vec<String> {
        let id = |event: &OutboxEvent| String::from_utf8(event.id().expect("an id").to_vec()).unwrap();
        self.cluster.stored.lock().iter().map(id).collect()
    }

    fn confirmed(&self) -> Option<u64> {
        self.record.lock().confirmed.last().map(|lsn| lsn.as_u64())
    }

    /// Time is paused, so this waits for conditions without waiting.
    async fn until(&self, condition: impl Fn(&Running) -> bool) {
        for _ in 0..100_000 {
            if condition(self) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        panic!("stored {:?}, {:?}", self.stored(), self.record.lock());
    }

    async fn stop(self) -> Result<(), ConnectorError> {
        self.cancelled.cancel();
        self.task.await.expect("no panic")
    }
}

#[tokio::test(start_paused = true)]
async fn rows_are_published_in_order_and_confirmed_at_the_end_of_their_transaction() {
    let steps = vec![relation(), begin(10), row("a"), row("b"), commit(10), begin(20), row("c"), commit(20)];
    let running = start(vec![Ok(steps)], &[], |_| {});
    running.until(|running| running.confirmed() == Some(21)).await;
    assert_eq!(running.stored(), ["a", "b", "c"]);
    assert_eq!(*running.cluster.topics.lock(), ["outbox.event.order"], "made once");
    assert_eq!(running.cluster.stored.lock()[0].timestamp_ms, 5);
    let status = running.config.status.snapshot();
    assert_eq!((status.rows_published, status.confirmed_lsn), (3, Lsn::new(21)));
    let record = Arc::clone(&running.record);
    running.stop().await.unwrap();
    assert_eq!(record.lock().closed, 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_confirmed_before_the_acknowledgement() {
    let running = start(vec![Ok(transactions(&["a", "b"]))], &[Verdict::Store, Verdict::Hold], |_| {});
    running.until(|running| running.confirmed() == Some(11)).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(running.confirmed(), Some(11));
    let record = Arc::clone(&running.record);
    running.stop().await.unwrap();
    assert_eq!(record.lock().confirmed, [Lsn::new(11)], "leaving confirms no more either");
}

#[tokio::test(start_paused = true)]
async fn keepalives_are_confirmed_when_nothing_is_pending() {
    let mut steps = transactions(&["a", "b"]);
    steps.push(keepalive(500));
    let running = start(vec![Ok(steps)], &[], |_| {});
    running.until(|running| running.confirmed() == Some(500)).await;
    running.stop().await.unwrap();

    let mut steps = transactions(&["a", "b"]);
    steps.push(keepalive(500));
    let running = start(vec![Ok(steps)], &[Verdict::Store, Verdict::Hold], |_| {});
    running.until(|running| running.confirmed() == Some(11)).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(running.confirmed(), Some(11), "a row is pending");
}

#[tokio::test(start_paused = true)]
async fn a_keepalive_within_a_transaction_confirms_nothing() {
    let steps = vec![relation(), begin(10), row("a"), keepalive(500), row("b")];
    let running = start(vec![Ok(steps)], &[], |_| {});
    running.until(|running| running.stored().len() == 2).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(running.confirmed(), None);
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_resumed_after_what_the_broker_acknowledged() {
    let mut first = transactions(&["a", "b"]);
    first.extend([begin(30), row("cut off"), Step::Fail(lost())]);
    let second = vec![relation(), begin(30), row("c"), commit(30)];
    let running = start(vec![Ok(first), Err(lost()), Ok(second)], &[], |_| {});
    running.until(|running| running.confirmed() == Some(31)).await;
    assert_eq!(running.record.lock().started, [Lsn::ZERO, Lsn::new(21)]);
    assert_eq!(running.stored(), ["a", "b", "cut off", "c"]);
    assert_eq!(*running.cluster.connections.lock(), 1, "the broker's connection is kept");
}

#[tokio::test(start_paused = true)]
async fn an_undelivered_record_starts_over_with_a_new_publisher_from_the_confirmed_position() {
    let first = transactions(&["a", "b", "c"]);
    let second = vec![relation(), begin(20), row("b"), commit(20), begin(30), row("c"), commit(30)];
    let running = start(vec![Ok(first), Ok(second)], &[Verdict::Store, Verdict::Lose, Verdict::Store], |_| {});
    running.until(|running| running.confirmed() == Some(31)).await;
    let record = running.record.lock();
    assert_eq!(record.started, [Lsn::ZERO, Lsn::new(11)], "c was acknowledged, and yet not confirmed past b");
    assert_eq!(record.confirmed, [Lsn::new(11), Lsn::new(21), Lsn::new(31)]);
    drop(record);
    assert_eq!(running.stored(), ["a", "c", "b", "c"]);
    assert_eq!(*running.cluster.connections.lock(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_poison_row_stops_the_connector_with_position_and_reason() {
    let mut steps = transactions(&["a"]);
    steps.extend([begin(20), row("b"), row_of("not a topic/", "c"), commit(20), begin(30), row("d"), commit(30)]);
    let running = start(vec![Ok(steps)], &[], |_| {});
    let (record, cluster) = (Arc::clone(&running.record), running.cluster.clone());
    let error = running.task.await.unwrap().unwrap_err();
    let text = crate::causes::text(&error);
    for part in ["row 2 of the transaction at 0/14 in public.outbox (id c)", "on.error=skip", "not a topic/"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(record.lock().confirmed, [Lsn::new(11)]);
    assert_eq!(cluster.stored.lock().len(), 2, "the rows before it are published");
}

#[tokio::test(start_paused = true)]
async fn a_record_the_broker_refuses_stops_the_connector_and_lets_no_position_pass() {
    let verdicts = [Verdict::Store, Verdict::Refuse];
    let running = start(vec![Ok(transactions(&["a", "b", "c"]))], &verdicts, |_| {});
    let (record, cluster) = (Arc::clone(&running.record), running.cluster.clone());
    let error = running.task.await.unwrap().unwrap_err();
    assert!(matches!(error, ConnectorError::Row { .. }), "{error}");
    assert_eq!(cluster.stored.lock().len(), 2, "c was stored");
    assert_eq!(record.lock().confirmed, [Lsn::new(11)]);
}

#[tokio::test(start_paused = true)]
async fn poison_rows_are_left_out_if_asked() {
    let mut steps = transactions(&["a"]);
    steps.extend([begin(20), row_of("not a topic/", "b"), commit(20), begin(30), row("c"), row("d"), commit(30)]);
    let verdicts = [Verdict::Store, Verdict::Refuse];
    let running = start(vec![Ok(steps)], &verdicts, |config| config.on_error = OnError::Skip);
    running.until(|running| running.confirmed() == Some(31)).await;
    assert_eq!(running.stored(), ["a", "d"]);
    assert_eq!(running.config.status.snapshot().rows_skipped, 2);
}

#[tokio::test(start_paused = true)]
async fn bytes_in_flight_are_bounded() {
    let ids: Vec<String> = (0..5_000).map(|id| id.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let verdicts = vec![Verdict::Hold; 5_000];
    let running = start(vec![Ok(transactions(&ids))], &verdicts, |config| config.bytes_in_flight_max = 64 * 1024);
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let sent = 5_000 - running.cluster.verdicts.lock().len();
    assert!((64..=64 * 1024 / 256).contains(&sent), "{sent} records sent");
}

#[tokio::test(start_paused = true)]
async fn updates_follow_the_option_and_deletes_are_nothing() {
    let operation = |operation| Step::from(Message::Other { operation, relation_ids: vec![1] });
    let steps = || {
        vec![
            relation(),
            begin(10),
            operation(Operation::Delete),
            operation(Operation::Update),
            operation(Operation::Truncate),
            row("a"),
            commit(10),
        ]
    };
    let running = start(vec![Ok(steps())], &[], |_| {});
    running.until(|running| running.confirmed() == Some(11)).await;
    assert_eq!(running.stored(), ["a"]);

    let running = start(vec![Ok(steps())], &[], |config| config.set("table.op.invalid.behavior", "fatal").unwrap());
    let error = running.task.await.unwrap().unwrap_err();
    assert!(matches!(error, ConnectorError::InvalidOperation { operation: "UPDATE", .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn rows_of_tables_not_included_are_ignored() {
    let mut steps = transactions(&["a"]);
    let other = Relation { id: 2, schema: "public".to_owned(), name: "other".to_owned(), columns: Vec::new() };
    let insert = Message::Insert { relation_id: 2, row: Vec::new() };
    steps.extend([begin(20), Message::Relation(other).into(), insert.into(), commit(20)]);
    let running = start(vec![Ok(steps)], &[], |_| {});
    running.until(|running| running.confirmed() == Some(21)).await;
    assert_eq!(running.stored(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn emitted_messages_count_as_rows_when_they_belong_to_a_transaction() {
    let emitted = |transactional, prefix: &str, id: &str| {
        let content = format!(r#"{{"id":"{id}","aggregatetype":"order"}}"#);
        let prefix = prefix.to_owned();
        Step::from(Message::Emitted { transactional, lsn: Lsn::new(5), prefix, content: content.into() })
    };
    let steps = vec![begin(10), emitted(true, "outbox", "a"), emitted(true, "else", "b"), commit(10)];
    let running = start(vec![Ok(steps)], &[], |_| {});
    running.until(|running| running.confirmed() == Some(11)).await;
    assert_eq!(running.stored(), ["a"]);

    let running = start(vec![Ok(vec![emitted(false, "outbox", "a")])], &[], |_| {});
    let error = running.task.await.unwrap().unwrap_err();
    assert!(crate::causes::text(&error).contains("pass true"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_final_only_once_a_new_session_is_refused_too() {
    let refused = || ReplicationError::Refused { reason: "publication does not exist".to_owned(), hint: "" };
    let running = start(vec![Ok(vec![Step::Fail(refused())]), Ok(transactions(&["a"]))], &[], |_| {});
    running.until(|running| running.confirmed() == Some(11)).await;
    running.stop().await.unwrap();

    let sessions = vec![Ok(vec![Step::Fail(refused())]), Ok(vec![Step::Fail(refused())])];
    let error = start(sessions, &[], |_| {}).task.await.unwrap().unwrap_err();
    assert!(matches!(error, ConnectorError::Postgres(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_does_not_answer_is_said_before_its_timeout() {
    let source = ScriptedSource::new(vec![Ok(Vec::new())]);
    let postgres = "postgresql://me@localhost/shop".parse().unwrap();
    let config = ConnectorConfig::new(postgres, vec!["localhost:9092".to_owned()]);
    let (status, cancelled) = (config.status.clone(), CancellationToken::new());
    let cluster = ScriptedCluster { is_away: true, ..ScriptedCluster::default() };
    let task = tokio::spawn(run::run(config, source, cluster, cancelled.clone()));
    while status.snapshot().last_error.is_none() {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(status.snapshot().state, State::WaitingForBroker);
    cancelled.cancel();
    task.await.unwrap().unwrap();
    assert_eq!(status.snapshot().state, State::Stopped);
}

#[tokio::test(start_paused = true)]
async fn what_will_not_pass_stops_at_once() {
    for error in [
        ReplicationError::Refused { reason: "no".to_owned(), hint: "" },
        ReplicationError::RowTooLarge { bytes: 2, limit: 1 },
    ] {
        let running = start(vec![Err(error), Ok(Vec::new())], &[], |_| {});
        assert!(matches!(running.task.await.unwrap(), Err(ConnectorError::Postgres(_))));
    }
}
