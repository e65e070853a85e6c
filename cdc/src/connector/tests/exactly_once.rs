//! Exactly once: what readers of committed records see, and what is kept as progress, when each step fails.

use super::{Running, begin, commit, keepalive, lost, relation, row, row_of, start, transactions};
use crate::config::{Delivery, OnError};
use crate::connector::ConnectorError;
use crate::lsn::Lsn;
use crate::publish::scripted::{CommitVerdict, Verdict};
use crate::replication::ReplicationError;
use crate::replication::scripted::Step;

type Sessions = Vec<Result<Vec<Step>, ReplicationError>>;

fn exactly_once(sessions: Sessions, verdicts: &[Verdict], commits: &[CommitVerdict], on_error: OnError) -> Running {
    let running = start(sessions, verdicts, |config| {
        config.delivery = Delivery::ExactlyOnce;
        config.on_error = on_error;
    });
    running.cluster.commit_verdicts.lock().extend(commits);
    running
}

fn progress(running: &Running) -> Option<(u64, u64, u64)> {
    let progress = running.cluster.progress.lock().clone()?;
    Some((progress.commit_lsn.as_u64(), progress.ordinal, progress.end_lsn.as_u64()))
}

#[tokio::test(start_paused = true)]
async fn a_transaction_is_committed_with_the_progress_it_amounts_to() {
    let steps = vec![relation(), begin(10), row("a"), row("b"), commit(10)];
    let running = exactly_once(vec![Ok(steps)], &[], &[], OnError::Stop);
    running.until(|running| running.confirmed() == Some(11)).await;
    assert_eq!(running.stored(), ["a", "b"]);
    assert_eq!(progress(&running), Some((10, 2, 11)));
    let kept = running.cluster.progress.lock().clone().unwrap();
    assert_eq!((kept.last_event_id.as_deref(), kept.system_id.as_str(), kept.timeline), (Some(&b"b"[..]), "7", 1));
    let status = running.config.status.snapshot();
    assert_eq!((status.rows_published, status.transactions, status.commits), (2, 1, 1));
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn transactions_that_come_while_one_is_committed_share_the_next_commit() {
    let running =
        exactly_once(vec![Ok(transactions(&["a", "b", "c", "d"]))], &[], &[CommitVerdict::Hold], OnError::Stop);
    running.until(|running| !running.cluster.held_commits.lock().is_empty()).await;
    let first = running.cluster.commits.lock().clone();
    let held = running.cluster.held_commits.lock().pop_front().unwrap();
    assert!(held.send(Ok(())).is_ok());
    running.until(|running| running.confirmed() == Some(41)).await;
    assert_eq!(running.stored(), ["a", "b", "c", "d"]);
    let commits = running.cluster.commits.lock().clone();
    assert!(commits.len() <= 2, "{first:?}, then {commits:?}");
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_confirmed_before_the_outcome() {
    let running = exactly_once(vec![Ok(transactions(&["a"]))], &[], &[CommitVerdict::Hold], OnError::Stop);
    running.until(|running| !running.cluster.held_commits.lock().is_empty()).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert!(running.confirmed().is_none_or(|lsn| lsn == 0), "{:?}", running.confirmed());
}

#[tokio::test(start_paused = true)]
async fn stopped_while_records_are_handed_over_commits_none_of_them() {
    let running = exactly_once(vec![Ok(transactions(&["a", "b"]))], &[], &[], OnError::Stop);
    *running.cluster.flushes_hang.lock() = true;
    running.until(|running| *running.cluster.hanging.lock() > 0).await;
    let cluster = running.cluster.clone();
    running.stop().await.unwrap();
    assert_eq!(*cluster.progress.lock(), None, "rows that may not have been sent would count as published");
    assert!(cluster.stored.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_a_commit_repeats_nothing() {
    let sessions = || vec![Ok(transactions(&["a", "b"])), Ok(transactions(&["a", "b", "c"]))];
    let running = exactly_once(sessions(), &[], &[CommitVerdict::LoseAnswer], OnError::Stop);
    running.until(|running| running.confirmed() == Some(31)).await;
    assert_eq!(running.stored(), ["a", "b", "c"]);
    assert_eq!(*running.cluster.connections.lock(), 2, "a new publisher reads the truth");
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lost_commit_loses_nothing() {
    let sessions = || vec![Ok(transactions(&["a", "b"])), Ok(transactions(&["a", "b", "c"]))];
    let running = exactly_once(sessions(), &[], &[CommitVerdict::Lose], OnError::Stop);
    running.until(|running| running.confirmed() == Some(31)).await;
    assert_eq!(running.stored(), ["a", "b", "c"]);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_undelivered_record_takes_its_transaction_with_it_and_all_come_again() {
    let sessions = || vec![Ok(transactions(&["a", "b"])), Ok(transactions(&["a", "b"]))];
    let running = exactly_once(sessions(), &[Verdict::Store, Verdict::Lose], &[], OnError::Stop);
    running.until(|running| running.confirmed() == Some(21)).await;
    assert_eq!(running.stored(), ["a", "b"]);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_session_lost_in_the_middle_of_a_transaction_publishes_nothing_of_it_until_it_is_whole() {
    let mut first = transactions(&["a"]);
    first.extend([begin(20), row("b"), row("c"), Step::Fail(lost())]);
    let mut second = transactions(&["a"]);
    second.extend([begin(20), row("b"), row("c"), row("d"), commit(20)]);
    let running = exactly_once(vec![Ok(first), Ok(second)], &[], &[], OnError::Stop);
    running.until(|running| running.confirmed() == Some(21)).await;
    assert_eq!(running.stored(), ["a", "b", "c", "d"]);
    assert_eq!(*running.cluster.connections.lock(), 1, "the broker's connection is kept");
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_process_published_is_passed_over() {
    let first = exactly_once(vec![Ok(transactions(&["a", "b"]))], &[], &[], OnError::Stop);
    first.until(|running| running.confirmed() == Some(21)).await;
    let kept = first.cluster.progress.lock().clone();
    first.stop().await.unwrap();

    let second = exactly_once(vec![Ok(transactions(&["a", "b", "c"]))], &[], &[], OnError::Stop);
    *second.cluster.progress.lock() = kept;
    second.until(|running| running.confirmed() == Some(31)).await;
    assert_eq!(second.stored(), ["c"]);
    second.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_takes_too_long_is_split_at_a_row_and_resumed_there() {
    let long = || vec![relation(), begin(10), row("a"), row("b")];
    let running = exactly_once(vec![Ok(long())], &[], &[], OnError::Stop);
    running.until(|running| running.stored().len() == 2).await;
    assert_eq!(progress(&running), Some((10, 2, 0)));
    assert!(running.confirmed().is_none_or(|lsn| lsn == 0), "the slot is not told of half a transaction");
    let kept = running.cluster.progress.lock().clone();
    running.stop().await.unwrap();

    let mut whole = long();
    whole.extend([row("c"), commit(10)]);
    let running = exactly_once(vec![Ok(whole)], &[], &[], OnError::Stop);
    *running.cluster.progress.lock() = kept;
    running.until(|running| running.confirmed() == Some(11)).await;
    assert_eq!(running.stored(), ["c"]);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn another_event_where_the_last_published_one_stood_halts_the_connector() {
    let running = exactly_once(vec![Ok(transactions(&["a"]))], &[], &[], OnError::Stop);
    running.until(|running| running.confirmed() == Some(11)).await;
    let kept = running.cluster.progress.lock().clone().map(|mut progress| {
        progress.end_lsn = Lsn::new(5);
        progress
    });
    running.stop().await.unwrap();

    let running = exactly_once(vec![Ok(transactions(&["x"]))], &[], &[], OnError::Stop);
    *running.cluster.progress.lock() = kept;
    let error = running.task.await.unwrap().unwrap_err();
    assert!(matches!(error, ConnectorError::OtherEvent { .. }), "{error}");
    assert!(error.to_string().contains("id a, and is x now"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_idle_position_is_written_down_before_it_is_confirmed() {
    let mut steps = transactions(&["a"]);
    steps.push(keepalive(500));
    let running = exactly_once(vec![Ok(steps)], &[], &[], OnError::Stop);
    running.until(|running| running.confirmed() == Some(500)).await;
    let (_, _, end_lsn) = progress(&running).unwrap();
    assert_eq!(end_lsn, 500);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn idle_positions_are_written_down_seldom() {
    let steps = (0..1000).map(|lsn| keepalive(100 + lsn)).collect();
    let running = exactly_once(vec![Ok(steps)], &[], &[], OnError::Stop);
    running.until(|running| running.confirmed() == Some(1099)).await;
    assert!(running.cluster.commits.lock().len() <= 2, "{:?}", running.cluster.commits.lock());
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn rows_before_a_poison_row_are_committed_and_it_is_named() {
    let mut steps = transactions(&["a"]);
    steps.extend([begin(20), row("b"), row_of("not a topic/", "c"), row("d"), commit(20)]);
    let running = exactly_once(vec![Ok(steps)], &[], &[], OnError::Stop);
    let cluster = running.cluster.clone();
    let error = running.task.await.unwrap().unwrap_err();
    assert!(matches!(error, ConnectorError::Row { .. }), "{error}");
    let stored: Vec<_> = cluster.stored.lock().iter().map(|event| event.id().unwrap().to_vec()).collect();
    assert_eq!(stored, [b"a", b"b"]);
    let progress = cluster.progress.lock().clone().unwrap();
    assert_eq!((progress.commit_lsn.as_u64(), progress.ordinal, progress.end_lsn.as_u64()), (20, 1, 11));
}

#[tokio::test(start_paused = true)]
async fn a_record_the_broker_refuses_is_left_out_and_its_neighbours_come_once() {
    let running = exactly_once(thrice(), &B_IS_REFUSED_TWICE, &[], OnError::Skip);
    running.until(|running| running.confirmed() == Some(11)).await;
    assert_eq!(running.stored(), ["a", "c"]);
    assert_eq!(running.config.status.snapshot().rows_skipped, 1);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_record_the_broker_refuses_stops_the_connector_behind_the_rows_before_it() {
    let running = exactly_once(thrice(), &B_IS_REFUSED_TWICE, &[], OnError::Stop);
    let cluster = running.cluster.clone();
    let error = running.task.await.unwrap().unwrap_err();
    assert!(crate::causes::text(&error).contains("too large"), "{error}");
    assert_eq!(cluster.stored.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_record_the_broker_refuses_goes_to_the_dead_letter_topic_in_its_place() {
    let running = exactly_once(thrice(), &B_IS_REFUSED_TWICE, &[], OnError::DeadLetter);
    running.until(|running| running.confirmed() == Some(11)).await;
    assert_eq!(topics(&running), ["outbox.event.order", "outbox.dead-letter", "outbox.event.order"]);
    running.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_refused_dead_letter_stops_the_connector() {
    let verdicts = [&B_IS_REFUSED_TWICE[..], &B_IS_REFUSED_TWICE[..]].concat();
    let running =
        exactly_once([thrice(), thrice()].into_iter().flatten().collect(), &verdicts, &[], OnError::DeadLetter);
    let error = running.task.await.unwrap().unwrap_err();
    assert!(matches!(error, ConnectorError::Row { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn rows_no_record_can_be_made_of_go_to_the_dead_letter_topic_in_their_place() {
    let steps = vec![relation(), begin(10), row("a"), row_of("not a topic/", "b"), row("c"), commit(10)];
    let running = exactly_once(vec![Ok(steps)], &[], &[], OnError::DeadLetter);
    running.until(|running| running.confirmed() == Some(11)).await;
    assert_eq!(topics(&running), ["outbox.event.order", "outbox.dead-letter", "outbox.event.order"]);
    assert_eq!(progress(&running), Some((10, 3, 11)));
    assert_eq!(running.config.status.snapshot().dead_letters, 1);
    running.stop().await.unwrap();
}

/// Once to find out that a row is refused, once to find out which, once more to go on.
fn thrice() -> Sessions {
    let steps = || Ok(vec![relation(), begin(10), row("a"), row("b"), row("c"), commit(10)]);
    vec![steps(), steps(), steps()]
}

const B_IS_REFUSED_TWICE: [Verdict; 6] =
    [Verdict::Store, Verdict::Refuse, Verdict::Store, Verdict::Store, Verdict::Refuse, Verdict::Store];

fn topics(running: &Running) -> Vec<String> {
    running.cluster.stored.lock().iter().map(|event| event.topic.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn rows_that_the_slots_former_owner_published_are_left_out_until_there_is_a_record() {
    // Rows stand at 1, 2, 3 in the scripted log; each session counts anew.
    let first = || vec![relation(), begin(10), row("a"), row("b"), row("c"), commit(10)];
    let second = vec![relation(), begin(20), row("d"), commit(20)];
    let mut steps = first();
    steps.push(Step::Fail(lost()));
    let running = start(vec![Ok(steps), Ok(second)], &[], |config| {
        config.delivery = Delivery::ExactlyOnce;
        config.set("slot.start.lsn", "0/2").unwrap();
    });
    running.until(|running| running.confirmed() == Some(21)).await;
    assert_eq!(running.stored(), ["c", "d"]);
    assert_eq!(progress(&running), Some((20, 1, 21)));
    running.stop().await.unwrap();
}
