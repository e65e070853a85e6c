//! A test's own broker, by what a client sees of it.

#![allow(clippy::unwrap_used, reason = "a failed expectation of a test is its failure")]

use std::net::TcpStream;
use std::time::Duration;

use pillion_client::{Assignment, Client, ClientConfig, Offset, ProducerRecord};
use pillion_test::{StartError, TestBroker, start, start_with};

async fn client(broker: &TestBroker) -> Client {
    Client::connect(ClientConfig { bootstrap_servers: vec![broker.bootstrap_servers()], ..ClientConfig::default() })
        .await
        .unwrap()
}

/// Writes a value to the topic `orders`, which is made by that.
async fn write(client: &Client, value: &'static str) {
    let record = ProducerRecord { topic: "orders".into(), value: Some(value.into()), ..ProducerRecord::default() };
    client.producer(Default::default()).send(record).await.unwrap().await.unwrap();
}

/// The first value of the topic `orders`.
async fn read(client: &Client) -> Vec<u8> {
    let mut consumer = client.consumer(Default::default());
    let start = Offset::Earliest;
    consumer.assign(vec![Assignment { topic: "orders".to_owned(), partition: 0, start }]).await.unwrap();
    let reading = async {
        loop {
            if let Some(record) = consumer.poll(Duration::from_millis(100)).await.unwrap().into_iter().next() {
                break record.value.unwrap().to_vec();
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), reading).await.expect("the record comes")
}

#[tokio::test]
async fn each_test_has_a_broker_of_its_own() {
    let (first, second) = (start().await.unwrap(), start().await.unwrap());
    assert_ne!(first.address(), second.address());
    let (to_first, to_second) = (client(&first).await, client(&second).await);
    write(&to_first, "one").await;
    write(&to_second, "two").await;
    assert_eq!(read(&to_first).await, b"one");
    assert_eq!(read(&to_second).await, b"two");
}

#[tokio::test]
async fn a_dropped_broker_is_gone() {
    let broker = start().await.unwrap();
    let address = broker.address();
    TcpStream::connect(address).unwrap();
    drop(broker);
    assert!(TcpStream::connect(address).is_err(), "somebody still listens");
}

#[tokio::test]
async fn settings_have_kafkas_names_and_an_unknown_one_is_refused() {
    let broker = start_with(&[("num.partitions", "3")]).await.unwrap();
    let client = client(&broker).await;
    write(&client, "made by being written to").await;
    let topics = client.admin().describe_topics(&["orders".to_owned()]).await.unwrap();
    assert_eq!(topics[0].partitions.len(), 3);
    let refused = start_with(&[("num.partition", "3")]).await.unwrap_err();
    assert!(matches!(&refused, StartError::Setting { key, .. } if key == "num.partition"), "{refused}");
}
