//! Who watches the topics: a kill at a step happens when the step's event passes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use pillion_tests::shop::{BROKER, Shop};
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::message::{Headers, Message};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tokio::time::{Instant, sleep};

/// Where everything passes.
const TOPICS: [&str; 9] =
    ["order", "payment", "stock", "mail", "payment-command", "stock-command", "mail-command", "customer", "loyalty"];
const PARTITIONS: i32 = 3;
const POLL: Duration = Duration::from_millis(2);

/// How often each type has passed.
#[derive(Clone)]
pub(crate) struct Events {
    counts: Arc<Mutex<HashMap<String, usize>>>,
}

impl Events {
    /// From now on, for as long as the test runs.
    pub(crate) fn watch(shop: &Shop) -> Result<Self> {
        let consumer: StreamConsumer = ClientConfig::new()
            .set("bootstrap.servers", shop.address(BROKER))
            .set("group.id", "watcher")
            .set("enable.auto.commit", "false")
            .set("isolation.level", "read_committed")
            .set("fetch.wait.max.ms", "20")
            .set("fetch.error.backoff.ms", "50")
            .set("reconnect.backoff.max.ms", "200")
            .set("topic.metadata.refresh.interval.ms", "500")
            .create()?;
        let mut assignment = TopicPartitionList::new();
        for topic in TOPICS {
            for partition in 0..PARTITIONS {
                assignment.add_partition_offset(&format!("outbox.event.{topic}"), partition, Offset::Beginning)?;
            }
        }
        consumer.assign(&assignment)?;
        let events = Self { counts: Arc::default() };
        let counts = Arc::clone(&events.counts);
        tokio::spawn(async move {
            loop {
                // Errors while the broker is away: the client goes on by itself.
                let Ok(message) = consumer.recv().await else {
                    sleep(POLL).await;
                    continue;
                };
                let header = message.headers().and_then(|headers| headers.iter().find(|header| header.key == "type"));
                let name = header.and_then(|header| std::str::from_utf8(header.value?).ok()).unwrap_or_default();
                *counts.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default() += 1;
            }
        });
        Ok(events)
    }

    /// How many of this type have passed.
    pub(crate) fn count(&self, event_type: &str) -> usize {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).get(event_type).copied().unwrap_or_default()
    }

    /// Waits for one more than so many; `false` when it does not come.
    pub(crate) async fn more_than(&self, before: usize, event_type: &str, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while self.count(event_type) <= before {
            if Instant::now() > deadline {
                return false;
            }
            sleep(POLL).await;
        }
        true
    }
}
