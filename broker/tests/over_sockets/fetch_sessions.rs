//! Fetch sessions (KIP-227): what a client need not repeat, and what it is not told again. What is asserted here is
//! what Kafka 4.4 answers, except that a connection has one session at most.

mod session;

use std::collections::BTreeMap;

use pillion_wire::messages::fetch::FetchTopic;
use pillion_wire::messages::{FetchRequest, FetchResponse};
use uuid::Uuid;

use crate::support::{
    Client, Fetched, TestBroker, batch, create_topic, delete_topic, eventually, list_offset, produce, produce_request,
    read_all, records_of,
};
use session::{Session, spoken};

const EPOCH_WRONG: i16 = 71;
const SESSION_UNKNOWN: i16 = 70;

fn topic(settings: &[(&str, &str)], partitions: i32) -> (TestBroker, Client) {
    let broker = TestBroker::fresh(settings);
    let mut client = broker.client();
    create_topic(&mut client, "t", partitions, &[]);
    (broker, client)
}

#[test]
fn an_answer_speaks_of_what_has_changed() {
    let (_broker, mut client) = topic(&[], 3);
    for partition in 0..3 {
        produce(&mut client, "t", partition, batch(&["x"]));
    }
    let all = [(0, 0, true), (1, 0, true), (2, 0, true)];
    let (mut session, answer) = Session::open(&mut client, &[(0, 0), (1, 0), (2, 0)]);
    assert!(session.id > 0);
    assert_eq!(spoken(&answer), all);
    assert_eq!(spoken(&session.fetch(&mut client, &[], &[])), all, "records are sent until the client reads on");
    assert_eq!(spoken(&session.fetch(&mut client, &[(0, 1), (1, 1)], &[])), [(2, 0, true)]);
    let rests = session.fetch(&mut client, &[(2, 1)], &[]);
    assert_eq!((rests.error_code, rests.session_id, spoken(&rests)), (0, session.id, Vec::new()));
    produce(&mut client, "t", 1, batch(&["y"]));
    let moved = session.fetch(&mut client, &[], &[]);
    assert_eq!(spoken(&moved), [(1, 0, true)]);
    assert_eq!(moved.responses[0].partitions[0].high_watermark, 2);
    assert_eq!(spoken(&session.fetch(&mut client, &[(1, 2)], &[])), []);
    // An error is told each time; when it is over the offsets are told once more.
    assert_eq!(spoken(&session.fetch(&mut client, &[(1, 99)], &[0])), [(1, 1, false)]);
    assert_eq!(spoken(&session.fetch(&mut client, &[], &[])), [(1, 1, false)]);
    assert_eq!(spoken(&session.fetch(&mut client, &[(1, 2)], &[])), [(1, 0, false)]);
    assert_eq!(spoken(&session.fetch(&mut client, &[], &[])), []);
    produce(&mut client, "t", 0, batch(&["z"]));
    assert_eq!(spoken(&session.fetch(&mut client, &[], &[])), [], "what is forgotten is not spoken of");
}

#[test]
fn numbers_and_epochs_must_be_right() {
    let (_broker, mut client) = topic(&[], 1);
    let (mut session, _) = Session::open(&mut client, &[(0, 0)]);
    for (id, epoch, code) in [
        (session.id, 2, EPOCH_WRONG),
        (session.id, i32::MAX, EPOCH_WRONG),
        (session.id, -2, EPOCH_WRONG),
        (session.id ^ 1, 1, SESSION_UNKNOWN),
        (0, 1, SESSION_UNKNOWN),
        (-1, 1, SESSION_UNKNOWN),
    ] {
        let mut wrong = Session { id, epoch, version: 12, topic_id: Uuid::nil() };
        let answer = wrong.fetch(&mut client, &[], &[]);
        assert_eq!((answer.error_code, answer.session_id, answer.responses.len()), (code, 0, 0), "{id} {epoch}");
    }
    assert_eq!(session.fetch(&mut client, &[], &[]).error_code, 0, "the session is not harmed");
    session.version = 13;
    assert_eq!(session.fetch(&mut client, &[], &[]).error_code, 106, "names do not become ids");
}

#[test]
fn a_session_ends_when_it_is_told_to() {
    let (_broker, mut client) = topic(&[], 2);
    type End = fn(&mut Session, &mut Client) -> FetchResponse;
    let ends: [(&str, End); 4] = [
        ("the last epoch", |session, client| {
            session.epoch = -1;
            session.fetch(client, &[(0, 0)], &[])
        }),
        ("a new session", |session, client| {
            session.epoch = 0;
            session.fetch(client, &[(0, 0)], &[])
        }),
        ("another session of the connection", |_, client| Session::open(client, &[(0, 0)]).1),
        ("the last partition forgotten", |session, client| session.fetch(client, &[(1, 0)], &[0, 1])),
    ];
    for (what, end) in ends {
        let (mut session, _) = Session::open(&mut client, &[(0, 0)]);
        session.fetch(&mut client, &[], &[]);
        let answer = end(&mut session, &mut client);
        assert_eq!(answer.error_code, 0, "{what}");
        assert_ne!(answer.session_id, session.id, "{what}");
        session.epoch = 2;
        assert_eq!(session.fetch(&mut client, &[], &[]).error_code, SESSION_UNKNOWN, "{what}");
    }
}

#[test]
fn a_client_that_opens_a_session_with_every_request_takes_no_others() {
    let (broker, mut client) = topic(&[("max.incremental.fetch.session.cache.slots", "2")], 1);
    let mut other = broker.client();
    let (mut session, _) = Session::open(&mut other, &[(0, 0)]);
    for _ in 0..20 {
        assert_ne!(Session::open(&mut client, &[(0, 0)]).0.id, 0);
    }
    assert_eq!(session.fetch(&mut other, &[], &[]).error_code, 0);
    let mut third = broker.client();
    let (without, answer) = Session::open(&mut third, &[(0, 0)]);
    assert_eq!((without.id, answer.responses.len()), (0, 1), "without a slot a client is answered, without a session");
    drop(client);
    eventually("a slot being free", || Session::open(&mut third, &[(0, 0)]).0.id != 0);
    assert_eq!(session.fetch(&mut other, &[], &[]).error_code, 0);
}

#[test]
fn a_client_that_did_not_wait_for_an_answer_gets_none_to_go_on_from() {
    let (broker, mut client) = topic(&[], 1);
    let (mut session, _) = Session::open(&mut client, &[(0, 0)]);
    let mut waits = session.request(&[], &[]);
    waits.max_wait_ms = 600_000;
    client.send(&waits, 12);
    let next = session.request(&[], &[]);
    client.send(&next, 12);
    // The second one has been taken in once this is there: requests are handled in order.
    client.send(&produce_request("t", 0, batch(&["x"])), 12);
    let late = client.receive::<FetchRequest>(12);
    assert_eq!((late.error_code, late.responses.len()), (EPOCH_WRONG, 0));
    let answer = client.receive::<FetchRequest>(12);
    assert_eq!((answer.error_code, answer.session_id), (0, session.id));
    drop(broker);
}

#[test]
fn a_parked_fetch_of_a_session_speaks_of_the_partition_that_woke_it() {
    let (broker, mut client) = topic(&[], 50);
    let partitions: Vec<_> = (0..50).map(|partition| (partition, 0)).collect();
    let mut waiting = broker.client();
    let (mut session, answer) = Session::open(&mut waiting, &partitions);
    assert_eq!(spoken(&answer).len(), 50);
    for (partition, offset) in [(7, 0), (49, 0), (7, 1), (0, 0)] {
        let mut request = session.request(&[], &[]);
        request.max_wait_ms = 600_000;
        waiting.send(&request, 12);
        produce(&mut client, "t", partition, batch(&["x"]));
        let answer = waiting.receive::<FetchRequest>(12);
        assert_eq!(spoken(&answer), [(partition, 0, true)]);
        assert_eq!(records_of(&answer.responses[0].partitions[0].bytes(), offset)[0].offset, offset);
        assert_eq!(spoken(&session.fetch(&mut waiting, &[(partition, offset + 1)], &[])), []);
    }
}

#[test]
fn a_topic_made_again_is_another_one() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    let id = create_topic(&mut client, "t", 1, &[]);
    let (mut session, answer) = Session::open_with(&mut client, 13, id, &[(0, 0)]);
    assert_eq!((answer.responses[0].topic_id, spoken(&answer)), (id, vec![(0, 0, false)]));
    delete_topic(&mut client, "t");
    assert_eq!(spoken(&session.fetch(&mut client, &[], &[])), [(0, 3, false)], "gone");
    create_topic(&mut client, "t", 1, &[]);
    assert_eq!(spoken(&session.fetch(&mut client, &[], &[])), [(0, 103, false)], "of the same name, with another id");
    let (_, answer) = Session::open_with(&mut client, 13, id, &[(0, 0)]);
    assert_eq!(spoken(&answer), [(0, 100, false)], "never heard of");
}

#[test]
fn a_parked_fetch_by_id_hears_that_its_topic_is_deleted() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    let id = create_topic(&mut client, "t", 2, &[]);
    create_topic(&mut client, "other", 1, &[]);
    let mut waiting = broker.client();
    let (mut session, _) = Session::open_with(&mut waiting, 13, id, &[(0, 0), (1, 0)]);
    let mut request = session.request(&[], &[]);
    request.max_wait_ms = 600_000;
    waiting.send(&request, 13);
    waiting.send(&produce_request("other", 0, batch(&["x"])), 12);
    eventually("the produce", || list_offset(&mut client, "other", 0, -1).offset == 1);
    delete_topic(&mut client, "t");
    let answer = waiting.receive::<FetchRequest>(13);
    assert!(spoken(&answer).contains(&(0, 3, false)), "{:?}", spoken(&answer));
}

#[test]
fn partitions_behind_the_limit_get_their_turn() {
    let (_broker, mut client) = topic(&[], 5);
    for partition in 0..5 {
        // Partition 2 has nothing.
        for _ in 0..if partition == 2 { 0 } else { 50 } {
            produce(&mut client, "t", partition, batch(&["x"]));
        }
    }
    let partitions: Vec<_> = (0..5).map(|partition| (partition, 0)).collect();
    for epoch in [0, -1] {
        let mut session = Session { id: 0, epoch, version: 12, topic_id: Uuid::nil() };
        let mut served = BTreeMap::new();
        for round in 0..12 {
            let mut request = session.request(if epoch == 0 && round > 0 { &[] } else { &partitions }, &[]);
            request.max_bytes = 1;
            if epoch == -1 {
                session.epoch = -1;
            }
            let answer = client.call(&request, 12);
            session.id = answer.session_id;
            let with_records = spoken(&answer).into_iter().filter(|(_, _, has_records)| *has_records);
            let with_records: Vec<_> = with_records.collect();
            assert_eq!(with_records.len(), 1, "one batch is one partition's");
            *served.entry(with_records[0].0).or_insert(0) += 1;
        }
        assert_eq!(served, BTreeMap::from([(0, 3), (1, 3), (3, 3), (4, 3)]), "session epoch {epoch}");
    }
}

#[test]
fn a_session_reads_every_record_once_and_in_order() {
    const PARTITIONS: i32 = 6;
    let (_broker, mut client) = topic(&[], PARTITIONS);
    let mut read: Vec<Vec<_>> = vec![Vec::new(); PARTITIONS as usize];
    let partitions: Vec<_> = (0..PARTITIONS).map(|partition| (partition, 0)).collect();
    let (mut session, _) = Session::open(&mut client, &partitions);
    let mut produced = 0;
    let mut rested = false;
    let mut changed = Vec::new();
    while produced < 60 || !rested {
        if produced < 60 {
            // Some partitions get much more than others.
            let partition = (produced * produced) % PARTITIONS;
            produce(&mut client, "t", partition, batch(&[&format!("{produced}"), "and another one"]));
            produced += 1;
        }
        let mut request = session.request(&changed, &[]);
        request.max_bytes = 300;
        let answer = client.call(&request, 12);
        assert_eq!(answer.error_code, 0);
        changed.clear();
        for data in answer.responses.iter().flat_map(|topic: &_| &topic.partitions) {
            let read = &mut read[data.partition_index as usize];
            let records = records_of(&data.bytes(), read.len() as i64);
            read.extend(records);
            changed.push((data.partition_index, read.len() as i64));
        }
        rested = answer.responses.is_empty();
    }
    for (read, partition) in read.iter().zip(0..) {
        assert_eq!(*read, read_all(&mut client, "t", partition), "partition {partition}");
    }
}

#[test]
fn topics_of_one_session_are_told_apart() {
    let (_broker, mut client) = topic(&[], 2);
    create_topic(&mut client, "another", 2, &[]);
    let mut session = Session { id: 0, epoch: 0, version: 12, topic_id: Uuid::nil() };
    let mut request = session.request(&[(0, 0), (1, 0)], &[]);
    let another = FetchTopic { topic: "another".to_owned(), ..request.topics[0].clone() };
    request.topics.push(another);
    session.id = client.call(&request, 12).session_id;
    produce(&mut client, "another", 1, batch(&["x"]));
    let answer = session.fetch(&mut client, &[], &[]);
    assert_eq!((answer.responses[0].topic.as_str(), spoken(&answer)), ("another", vec![(1, 0, true)]));
}
