//! Sends records in transactions as the outbox connector does, and prints what one costs this process in CPU time:
//! `cargo run --release -p pillion-client --example transactional_load -- HOST:PORT [RECORDS [BYTES [PER_SECOND]]]`.
//! Linux only, for it reads `/proc/self/stat`.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytes::Bytes;
use pillion_client::{Client, ClientConfig, Header, NewTopic, ProducerRecord, TransactionalConfig};

const TOPIC: &str = "outbox.event.load";
const PARTITIONS: i32 = 6;
/// A transaction is committed after this time.
const TRANSACTION: Duration = Duration::from_millis(10);

/// CPU time of this process so far.
fn cpu_time() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields.get(11).context("utime")?.parse::<u64>()? + fields.get(12).context("stime")?.parse::<u64>()?;
    // USER_HZ is 100 on every Linux.
    Ok(Duration::from_millis(ticks * 10))
}

fn record(number: u64, value: &Bytes, headers: &[Header]) -> ProducerRecord {
    ProducerRecord {
        topic: TOPIC.to_owned(),
        key: Some(Bytes::copy_from_slice(format!("{:036}", number % 1_000).as_bytes())),
        value: Some(value.clone()),
        headers: headers.to_vec(),
        timestamp_ms: Some(1_700_000_000_000),
        ..ProducerRecord::default()
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| arguments.get(at).map_or(Ok(default), |text| text.parse());
    let server = arguments.first().context("HOST:PORT of a broker")?.clone();
    let (records, bytes, rate) = (number(1, 1_000_000)?, number(2, 500)?, number(3, 0)?);
    let client = Client::connect(ClientConfig { bootstrap_servers: vec![server], ..ClientConfig::default() }).await?;
    let topic = NewTopic { partitions: PARTITIONS, ..NewTopic::new(TOPIC) };
    client.admin().create_topics(vec![topic], Duration::from_secs(10)).await?;
    let producer = client.transactional_producer(TransactionalConfig::new("load")).await?;
    let value = Bytes::from(vec![b'v'; bytes as usize]);
    let header = |key: &str, value: &'static str| Header { key: key.to_owned(), value: Some(value.into()) };
    let headers = [
        header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        header("id", "0191d3a4-0000-7000-8000-000000000000"),
        header("eventType", "OrderPlaced"),
    ];
    let sending = tokio::spawn(async move {
        let (started, cpu) = (Instant::now(), cpu_time()?);
        let mut outcome = None;
        let mut sent = 0;
        while sent < records {
            let transaction = producer.begin().await?;
            let begun = Instant::now();
            while sent < records && begun.elapsed() < TRANSACTION {
                for _ in 0..100.min(records - sent) {
                    drop(transaction.send(record(sent, &value, &headers)).await?);
                    sent += 1;
                }
                if rate > 0 {
                    let due = started + Duration::from_secs_f64(sent as f64 / rate as f64);
                    tokio::time::sleep_until(due.into()).await;
                }
            }
            if let Some(before) = outcome.replace(transaction.commit()) {
                before.await?;
            }
        }
        if let Some(last) = outcome {
            last.await?;
        }
        let (took, cpu) = (started.elapsed(), cpu_time()? - cpu);
        let each = cpu.as_secs_f64() * 1e6 / records as f64;
        println!("{records} records in {took:?}: {:.0}/s, {each:.3} µs CPU each", records as f64 / took.as_secs_f64());
        anyhow::Ok(())
    });
    sending.await??;
    client.shutdown().await;
    Ok(())
}
