//! A writer that is killed in the middle, again and again, and goes on from what it finds committed: what the outbox
//! connector does. The writer is this test's own program in a process of its own.

use std::process::Stdio;
use std::time::Duration;

use pillion_client::{Client, IsolationLevel, TransactionError, TransactionalConfig};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::cluster::{Cluster, PATIENCE, new_topic, numbers, read_all, record, unique};

const KILLS: usize = 8;
const PARTITIONS: i32 = 2;
/// The cluster, the topic and the transactional id, for the writer's process.
const ENVIRONMENT: [&str; 2] = ["KILLED_WRITER_TOPIC", "KILLED_WRITER_ID"];

/// Writes numbers in transactions of a few from where what is committed ends, several at a time, and says so.
async fn write(client: &Client, topic: &str, id: &str) -> Result<(), TransactionError> {
    let transaction_timeout = Duration::from_secs(10);
    let config =
        TransactionalConfig { transaction_timeout, max_in_flight_transactions: 3, ..TransactionalConfig::new(id) };
    let producer = client.transactional_producer(config).await?;
    // Behind the fence: what the writer before left open is ended now.
    let mut next = read_all(client, topic, IsolationLevel::ReadCommitted).await[&0].len() as u64;
    loop {
        let transaction = producer.begin().await?;
        for number in next..next + 7 {
            for partition in 0..PARTITIONS {
                // A failure comes back from a commit, too.
                let _ = transaction.send(record(topic, partition, number)).await;
            }
        }
        next += 7;
        let outcome = transaction.commit();
        tokio::spawn(async move {
            match outcome.await {
                Ok(()) => println!("committed"),
                Err(error) => eprintln!("{error}"),
            }
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the process that the next test kills"]
async fn writer() {
    let [topic, id] = ENVIRONMENT.map(|name| std::env::var(name).unwrap());
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    write(&client, &topic, &id).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_writers_leave_every_number_once_and_in_order() {
    let cluster = Cluster::start().await;
    let client = cluster.client().await;
    let topic = new_topic(&client, "tx-killed", PARTITIONS).await;
    let id = unique("id");
    for kill in 0..KILLS {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::writer", "--ignored", "--nocapture"])
            .env("CLIENT_TEST_BOOTSTRAP", cluster.config().bootstrap_servers.join(","))
            .envs([(ENVIRONMENT[0], &topic), (ENVIRONMENT[1], &id)])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let commits = async {
            // It dies behind another number of commits each time, wherever it is with the next ones.
            let mut commits = 0;
            while commits <= kill * 5 {
                let line = lines.next_line().await.unwrap().expect("the writer writes");
                commits += usize::from(line.contains("committed"));
            }
        };
        tokio::time::timeout(PATIENCE, commits).await.expect("the writer commits");
        writer.kill().await.unwrap();
    }
    // A last one ends what the killed left open.
    drop(client.transactional_producer(TransactionalConfig::new(&id)).await.unwrap());
    let committed = read_all(&client, &topic, IsolationLevel::ReadCommitted).await;
    let count = committed[&0].len() as u64;
    assert!(count > 7 * KILLS as u64, "{count}");
    for partition in 0..PARTITIONS {
        assert_eq!(committed[&partition], numbers(0..count));
    }
    client.shutdown().await;
}
