//! Topics described in pages (KIP-966). What is answered is what Apache Kafka 4.4 answers.

use pillion_wire::messages::describe_topic_partitions::{Cursor, TopicRequest};
use pillion_wire::messages::{DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse};

use crate::support::{Client, TestBroker, create_topic};

/// A place as `(topic, partition)`.
type Place<'a> = (&'a str, i32);

fn ask(client: &mut Client, topics: &[&str], limit: i32, cursor: Option<Place<'_>>) -> DescribeTopicPartitionsResponse {
    let request = DescribeTopicPartitionsRequest {
        topics: topics.iter().map(|name| TopicRequest { name: (*name).to_owned() }).collect(),
        response_partition_limit: limit,
        cursor: cursor.map(|(name, partition_index)| Cursor { topic_name: name.to_owned(), partition_index }),
    };
    client.call(&request, 0)
}

/// The partitions of a page, and where the next one begins.
fn page(answer: &DescribeTopicPartitionsResponse) -> (Vec<Place<'_>>, Option<Place<'_>>) {
    let next = answer.next_cursor.as_ref().map(|cursor| (cursor.topic_name.as_str(), cursor.partition_index));
    let mut places = Vec::new();
    for topic in &answer.topics {
        let name = topic.name.as_deref().unwrap_or("");
        places.extend(topic.partitions.iter().map(|partition| (name, partition.partition_index)));
    }
    (places, next)
}

fn world() -> (TestBroker, Client) {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 3, &[]);
    create_topic(&mut client, "u", 2, &[]);
    (broker, client)
}

#[test]
fn a_page_ends_where_its_limit_is_reached_and_names_the_next() {
    let (_broker, mut client) = world();
    let t = [("t", 0), ("t", 1), ("t", 2)];
    let all = [&t[..], &[("u", 0), ("u", 1)]].concat();
    for (limit, shown, next) in [
        (0, 1, Some(("t", 1))),
        (-1, 1, Some(("t", 1))),
        (2, 2, Some(("t", 2))),
        (3, 3, Some(("u", 0))),
        (4, 4, Some(("u", 1))),
        (5, 5, None),
        (i32::MAX, 5, None),
    ] {
        for topics in [&["u", "t", "t"][..], &[]] {
            let answer = ask(&mut client, topics, limit, None);
            assert_eq!(page(&answer), (all[..shown].to_vec(), next), "limit {limit}");
        }
    }
}

#[test]
fn pages_put_together_are_every_partition_once() {
    let (_broker, mut client) = world();
    for limit in 1..6 {
        let mut shown: Vec<(String, i32)> = Vec::new();
        let mut cursor: Option<(String, i32)> = None;
        loop {
            let from = cursor.as_ref().map(|(name, partition)| (name.as_str(), *partition));
            let answer = ask(&mut client, &[], limit, from);
            let (places, next) = page(&answer);
            shown.extend(places.into_iter().map(|(name, partition)| (name.to_owned(), partition)));
            cursor = next.map(|(name, partition)| (name.to_owned(), partition));
            if cursor.is_none() {
                break;
            }
        }
        let all = [("t", 0), ("t", 1), ("t", 2), ("u", 0), ("u", 1)];
        assert_eq!(shown, all.map(|(name, partition)| (name.to_owned(), partition)), "limit {limit}");
    }
}

#[test]
fn a_cursor_that_makes_no_sense_is_an_invalid_request() {
    let (_broker, mut client) = world();
    for cursor in [("tt", 2), ("t", -2)] {
        let answer = ask(&mut client, &["u", "t"], 2, Some(cursor));
        assert!(answer.topics.iter().all(|topic| topic.error_code == 42), "{cursor:?}");
        assert_eq!(page(&answer), (Vec::new(), None));
    }
    let beyond = ask(&mut client, &["u", "t"], 2, Some(("t", 20)));
    assert_eq!(page(&beyond), (vec![("u", 0), ("u", 1)], None), "partitions that are gone are passed over");
    let gone = ask(&mut client, &[], 9, Some(("tt", 1)));
    assert_eq!(page(&gone), (vec![("u", 0), ("u", 1)], None), "a topic that is gone is passed over");
}

#[test]
fn each_topic_has_its_own_error_and_what_may_be_done_with_it() {
    let (_broker, mut client) = world();
    let answer = ask(&mut client, &["t", "nope", "a/b", ""], 9, None);
    let told: Vec<_> =
        answer.topics.iter().map(|topic| (topic.name.as_deref().unwrap_or("?"), topic.error_code)).collect();
    assert_eq!(told, [("", 17), ("a/b", 17), ("nope", 3), ("t", 0)]);
    assert!(answer.topics.iter().all(|topic| topic.topic_authorized_operations == 3576));
    let partition = &answer.topics[3].partitions[0];
    assert_eq!((partition.leader_id, &partition.isr_nodes, &partition.offline_replicas), (1, &vec![1], &Vec::new()));
}
