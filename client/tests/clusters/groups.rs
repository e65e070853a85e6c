//! Members of consumer groups.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pillion_client::{
    Assignor, Client, ErrorCode, GroupConfig, GroupConsumer, GroupError, GroupMetadata, IsolationLevel, OffsetReset,
    Polled, ProducerConfig, TopicPartition, TransactionErrorClass, TransactionalConfig,
};

use crate::cluster::{Cluster, PATIENCE, new_topic, numbers, record, unique, value};

fn config(group: &str, topic: &str) -> GroupConfig {
    GroupConfig {
        offset_reset: OffsetReset::Earliest,
        session_timeout: Duration::from_secs(6),
        heartbeat_interval: Duration::from_millis(100),
        ..GroupConfig::new(group, vec![topic.to_owned()])
    }
}

/// A member and what it was given so far.
struct Member {
    consumer: GroupConsumer,
    held: BTreeSet<TopicPartition>,
    records: Vec<(i32, String)>,
    events: Vec<&'static str>,
}

impl Member {
    fn start(client: &Client, config: GroupConfig) -> Self {
        let consumer = client.group_consumer(config).unwrap();
        Self { consumer, held: BTreeSet::new(), records: Vec::new(), events: Vec::new() }
    }

    /// Polls once; commits what is about to be taken away.
    async fn poll(&mut self) {
        match self.consumer.poll(Duration::from_millis(20)).await.unwrap() {
            Polled::Records(records) => {
                for record in records {
                    let partition = TopicPartition::new(&*record.topic, record.partition);
                    assert!(self.held.contains(&partition), "a record of {partition}, which is not held");
                    self.records.push((record.partition, value(&record)));
                }
            }
            Polled::Assigned(added) => {
                self.events.push("assigned");
                added.into_iter().for_each(|partition| assert!(self.held.insert(partition)));
            }
            Polled::Revoked(revoked) => {
                self.events.push("revoked");
                self.consumer.commit().await.unwrap();
                revoked.iter().for_each(|partition| assert!(self.held.remove(partition)));
            }
            Polled::Lost(lost) => {
                self.events.push("lost");
                lost.iter().for_each(|partition| assert!(self.held.remove(partition)));
            }
        }
        assert!(self.consumer.assignment().into_iter().collect::<BTreeSet<_>>().is_superset(&self.held));
    }
}

/// Polls members in turn until a condition holds.
async fn poll_until(members: &mut [Member], mut done: impl FnMut(&[Member]) -> bool) {
    let polling = async {
        while !done(members) {
            for member in members.iter_mut() {
                member.poll().await;
            }
        }
    };
    tokio::time::timeout(PATIENCE, polling).await.expect("the group gets there");
}

async fn produce(client: &Client, topic: &str, partitions: i32, range: std::ops::Range<u64>) {
    let producer = client.producer(ProducerConfig::default());
    for number in range {
        for partition in 0..partitions {
            drop(producer.send(record(topic, partition, number)).await.unwrap());
        }
    }
    producer.flush().await.unwrap();
}

fn read(members: &[Member]) -> usize {
    members.iter().map(|member| member.records.len()).sum()
}

/// Each partition's values in the order they were read in by whoever held it.
fn by_partition(members: &[Member]) -> BTreeMap<i32, Vec<String>> {
    let mut found: BTreeMap<i32, Vec<String>> = BTreeMap::new();
    for (partition, value) in members.iter().flat_map(|member| &member.records) {
        found.entry(*partition).or_default().push(value.clone());
    }
    found
}

fn sizes(members: &[Member]) -> Vec<usize> {
    members.iter().map(|member| member.held.len()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn member_goes_on_where_the_one_before_committed() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "group-resume", 3).await;
    let group = unique("group");
    produce(&client, &topic, 3, 0..100).await;
    let mut members = [Member::start(&client, config(&group, &topic))];
    poll_until(&mut members, |members| read(members) == 300).await;
    let [member] = members;
    member.consumer.commit().await.unwrap();
    member.consumer.close().await.unwrap();

    produce(&client, &topic, 3, 100..150).await;
    let mut members = [Member::start(&client, config(&group, &topic))];
    poll_until(&mut members, |members| read(members) == 150).await;
    for values in by_partition(&members).values() {
        assert_eq!(*values, numbers(100..150));
    }
    client.shutdown().await;
}

/// Members join a running group, share its partitions, leave it again; every record is read once, in order.
async fn check_rebalances(assignor: Assignor) {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "group-shares", 6).await;
    let group = unique("group");
    let config = || GroupConfig { assignors: vec![assignor], ..config(&group, &topic) };
    let mut members = vec![Member::start(&client, config())];
    produce(&client, &topic, 6, 0..50).await;
    poll_until(&mut members, |members| read(members) == 300).await;
    assert_eq!(sizes(&members), [6]);

    members.extend([Member::start(&client, config()), Member::start(&client, config())]);
    poll_until(&mut members, |members| sizes(members) == [2, 2, 2]).await;
    produce(&client, &topic, 6, 50..100).await;
    poll_until(&mut members, |members| read(members) == 600).await;

    let first = members.remove(0).records;
    // Dropped, it has left. What it had read and not committed is read again.
    poll_until(&mut members, |members| sizes(members) == [3, 3]).await;
    produce(&client, &topic, 6, 100..150).await;
    let distinct = |members: &[Member]| {
        let others = members.iter().flat_map(|member| &member.records);
        first.iter().chain(others).cloned().collect::<BTreeSet<_>>()
    };
    poll_until(&mut members, |members| distinct(members).len() == 900).await;
    let expected = (0..6).flat_map(|partition| numbers(0..150).into_iter().map(move |number| (partition, number)));
    assert_eq!(distinct(&members), expected.collect());
    for member in &members {
        let again = member.records.iter().collect::<BTreeSet<_>>().len();
        assert_eq!(again, member.records.len(), "a member read a record twice");
    }
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_share_partitions_by_range() {
    check_rebalances(Assignor::Range).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_share_partitions_by_round_robin() {
    check_rebalances(Assignor::RoundRobin).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_share_partitions_stickily() {
    check_rebalances(Assignor::Sticky).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_share_partitions_cooperatively() {
    check_rebalances(Assignor::CooperativeSticky).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cooperative_member_keeps_what_does_not_move_and_nothing_is_read_twice() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "group-cooperative", 4).await;
    let group = unique("group");
    let mut members = vec![Member::start(&client, config(&group, &topic))];
    poll_until(&mut members, |members| sizes(members) == [4]).await;
    let kept_before = members[0].held.clone();
    members.push(Member::start(&client, config(&group, &topic)));
    let (mut produced, mut smallest) = (0, 4);
    while sizes(&members) != [2, 2] {
        produce(&client, &topic, 4, produced..produced + 1).await;
        produced += 1;
        for member in &mut members {
            member.poll().await;
        }
        smallest = smallest.min(members[0].held.len());
    }
    assert_eq!(smallest, 2, "what stays is never given up");
    assert!(members[0].held.is_subset(&kept_before));
    poll_until(&mut members, |members| read(members) as u64 == produced * 4).await;
    for values in by_partition(&members).values_mut() {
        values.sort_by_key(|value| value.parse::<u64>().unwrap());
        assert_eq!(*values, numbers(0..produced));
    }
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn static_member_comes_back_to_its_partitions_without_a_rebalance() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "group-static", 4).await;
    let group = unique("group");
    let fixed = |name: &str| GroupConfig { group_instance_id: Some(name.to_owned()), ..config(&group, &topic) };
    let mut members = vec![Member::start(&client, fixed("one")), Member::start(&client, fixed("two"))];
    poll_until(&mut members, |members| sizes(members) == [2, 2]).await;
    let before = members[1].held.clone();
    let events = members[0].events.clone();
    members.remove(1).consumer.close().await.unwrap();
    members.push(Member::start(&client, fixed("two")));
    poll_until(&mut members, |members| sizes(members) == [2, 2]).await;
    assert_eq!(members[1].held, before);
    assert_eq!(members[0].events, events, "the other member noticed");

    // Another one of the same name takes its place over.
    let mut successor = Member::start(&client, fixed("two"));
    let fenced = async {
        loop {
            successor.poll().await;
            if let Err(error) = members[1].consumer.poll(Duration::from_millis(20)).await {
                break error;
            }
        }
    };
    let error = tokio::time::timeout(PATIENCE, fenced).await.expect("the older one is told");
    assert!(matches!(error, GroupError::InstanceFenced), "{error}");
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_of_a_member_that_died_go_to_the_others_after_its_session() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "group-died", 2).await;
    let group = unique("group");
    let doomed = cluster.client().await;
    let mut members =
        vec![Member::start(&client, config(&group, &topic)), Member::start(&doomed, config(&group, &topic))];
    poll_until(&mut members, |members| sizes(members) == [1, 1]).await;
    doomed.shutdown().await;
    members.pop();
    poll_until(&mut members, |members| sizes(members) == [2]).await;
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn member_that_is_not_polled_loses_its_partitions_and_gets_them_back() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "group-overdue", 1).await;
    let group = unique("group");
    let max_poll_interval = Duration::from_millis(300);
    let mut members = vec![Member::start(&client, GroupConfig { max_poll_interval, ..config(&group, &topic) })];
    poll_until(&mut members, |members| sizes(members) == [1]).await;
    members.push(Member::start(&client, config(&group, &topic)));
    // Only the second polls, until it has what the first lost.
    poll_until(&mut members[1..], |members| sizes(members) == [1]).await;
    members.remove(1).consumer.close().await.unwrap();
    poll_until(&mut members, |members| members[0].events.ends_with(&["lost", "assigned"])).await;
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_added_to_a_topic_are_shared_out() {
    let cluster = Cluster::start().await;
    let mut short = cluster.config();
    short.metadata_max_age = Duration::from_millis(200);
    let client = Client::connect(short).await.unwrap();
    let topic = unique("group-later");
    let group = unique("group");
    // The topic is not there yet when its reader comes.
    let mut members = [Member::start(&client, config(&group, &topic))];
    for _ in 0..5 {
        members[0].poll().await;
    }
    let spec = pillion_client::NewTopic { partitions: 2, ..pillion_client::NewTopic::new(topic.clone()) };
    client.admin().create_topics(vec![spec], PATIENCE).await.unwrap().remove(0).result.unwrap();
    poll_until(&mut members, |members| sizes(members) == [2]).await;
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_are_committed_by_themselves_when_asked_for() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "group-auto", 1).await;
    let group = unique("group");
    produce(&client, &topic, 1, 0..10).await;
    let auto = GroupConfig { auto_commit_interval: Some(Duration::from_millis(10)), ..config(&group, &topic) };
    let mut members = [Member::start(&client, auto)];
    poll_until(&mut members, |members| read(members) == 10).await;
    let partition = [TopicPartition::new(&*topic, 0)];
    let committed = async {
        loop {
            members[0].poll().await;
            let found = members[0].consumer.committed(&partition).await.unwrap();
            if found.first().is_some_and(|found| found.offset == 10) {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, committed).await.expect("it is committed");
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_committed_offset_and_without_a_reset_the_reader_is_told() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "group-nowhere", 1).await;
    let group = unique("group");
    produce(&client, &topic, 1, 0..3).await;
    let mut consumer =
        client.group_consumer(GroupConfig { offset_reset: OffsetReset::None, ..config(&group, &topic) }).unwrap();
    let error = loop {
        if let Err(error) = consumer.poll(PATIENCE).await {
            break error;
        }
    };
    assert!(matches!(error, GroupError::NoOffset { partition: 0, .. }), "{error}");
    consumer.commit().await.unwrap();
    assert!(consumer.committed(&[TopicPartition::new(&*topic, 0)]).await.unwrap().is_empty());
    consumer.seek(&topic, 0, pillion_client::Offset::At(1)).unwrap();
    let records = loop {
        match consumer.poll(PATIENCE).await {
            Ok(Polled::Records(records)) if !records.is_empty() => break records,
            _ => {}
        }
    };
    assert_eq!(records[0].offset, 1);
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configuration_that_cannot_work_is_told_at_once() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let broken = [
        GroupConfig::new("", vec![]),
        GroupConfig { assignors: vec![], ..GroupConfig::new("group", vec![]) },
        GroupConfig { heartbeat_interval: Duration::from_secs(60), ..GroupConfig::new("group", vec![]) },
    ];
    for broken in broken {
        assert!(matches!(client.group_consumer(broken), Err(GroupError::Configuration { .. })));
    }
    let refused = GroupConfig { session_timeout: Duration::from_secs(86_400), ..config(&unique("group"), "any") };
    let error = client.group_consumer(refused).unwrap().poll(PATIENCE).await.unwrap_err();
    assert_eq!(error.error_code(), Some(ErrorCode::InvalidSessionTimeout), "{error}");
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_of_a_transaction_are_committed_with_it_or_not_at_all() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let source = new_topic(&client, "group-source", 2).await;
    let sink = new_topic(&client, "group-sink", 1).await;
    let group = unique("group");
    produce(&client, &source, 2, 0..10).await;
    let mut members = [Member::start(&client, config(&group, &source))];
    poll_until(&mut members, |members| read(members) == 20).await;
    let consumer = &members[0].consumer;
    let partitions = [TopicPartition::new(&*source, 0), TopicPartition::new(&*source, 1)];
    let producer = client.transactional_producer(TransactionalConfig::new(unique("id"))).await.unwrap();

    let mut transaction = producer.begin().await.unwrap();
    drop(transaction.send(record(&sink, 0, "aborted")).await.unwrap());
    transaction.send_offsets(consumer.positions(), &consumer.metadata());
    transaction.abort().await.unwrap();
    assert!(consumer.committed(&partitions).await.unwrap().is_empty());

    let mut transaction = producer.begin().await.unwrap();
    drop(transaction.send(record(&sink, 0, "committed")).await.unwrap());
    transaction.send_offsets(consumer.positions(), &consumer.metadata());
    transaction.commit().await.unwrap();
    let committed = consumer.committed(&partitions).await.unwrap();
    assert_eq!(committed.iter().map(|found| found.offset).collect::<Vec<_>>(), [10, 10]);
    let read = crate::cluster::read_all(&client, &sink, IsolationLevel::ReadCommitted).await;
    assert_eq!(read[&0], ["committed"]);

    // A member that is not of the group any more cannot commit; the producer goes on.
    let stranger = GroupMetadata { member_id: "stranger".to_owned(), ..consumer.metadata() };
    let mut transaction = producer.begin().await.unwrap();
    transaction.send_offsets(consumer.positions(), &stranger);
    let error = transaction.commit().await.unwrap_err();
    assert_eq!(error.class(), TransactionErrorClass::Abortable, "{error}");
    assert_eq!(error.error_code(), Some(ErrorCode::UnknownMemberId));
    let mut transaction = producer.begin().await.unwrap();
    transaction.send_offsets(consumer.positions(), &GroupMetadata { generation_id: 99, ..consumer.metadata() });
    assert_eq!(transaction.commit().await.unwrap_err().error_code(), Some(ErrorCode::IllegalGeneration));
    let mut transaction = producer.begin().await.unwrap();
    transaction.send_offsets(consumer.positions(), &consumer.metadata());
    transaction.commit().await.unwrap();
    client.shutdown().await;
}
