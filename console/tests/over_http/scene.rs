//! A broker, a client of it, and a console that looks at it.

use std::sync::Arc;
use std::time::Duration;

use pillion_broker::{Broker, BrokerConfig, RunningBroker};
use pillion_cdc::{ConnectorConfig, Status};
use pillion_client::{Client, ClientConfig, Header, NewTopic, ProducerConfig, ProducerRecord, SecurityConfig};
use pillion_console::{Cluster, Console, ConsoleConfig, WatchedConnector};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest wait for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What is running.
pub(crate) struct Scene {
    pub(crate) console: Console,
    pub(crate) client: Client,
    broker: RunningBroker,
    _directory: TempDir,
}

/// An answer over HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

impl Scene {
    /// A broker with free ports, and a console with these settings beside.
    pub(crate) async fn new(settings: &[(&str, &str)]) -> Self {
        let console = console(settings).await;
        let directory = tempfile::tempdir().unwrap();
        let mut config = BrokerConfig::new(directory.path(), "127.0.0.1:0");
        config.set("log.min.free.bytes", "0").unwrap();
        config.set("offsets.topic.num.partitions", "2").unwrap();
        console.watched().broker_is_coming();
        let broker = Broker::start(config).await.unwrap();
        console.watched().broker_started(broker.observer());
        let bootstrap_servers = vec![broker.address().to_string()];
        let security = SecurityConfig::default();
        console.watched().show_cluster(Cluster { bootstrap_servers: bootstrap_servers.clone(), security });
        let client = Client::connect(ClientConfig { bootstrap_servers, ..ClientConfig::default() }).await.unwrap();
        Self { console, client, broker, _directory: directory }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        get(&self.console, path).await
    }

    /// Asks until the answer is the one waited for.
    pub(crate) async fn eventually(&self, path: &str, is_it: impl Fn(&Answer) -> bool) -> Answer {
        let asked = async {
            loop {
                let answer = self.get(path).await;
                if is_it(&answer) {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| panic!("{path} never answers as it should"))
    }

    pub(crate) async fn topic(&self, name: &str, partitions: i32, configs: &[(&str, &str)]) {
        let configs = configs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let topic = NewTopic { partitions, configs, ..NewTopic::new(name) };
        let made = self.client.admin().create_topics(vec![topic], PATIENCE).await.unwrap();
        made[0].result.as_ref().unwrap();
    }

    pub(crate) async fn produce(&self, topic: &str, key: &str, value: &[u8], headers: &[(&str, &str)]) {
        let producer = self.client.producer(ProducerConfig::default());
        let header = |(name, value): &(&str, &str)| Header {
            key: (*name).into(),
            value: Some(bytes::Bytes::from((*value).to_owned())),
        };
        let record = ProducerRecord {
            topic: topic.into(),
            key: Some(bytes::Bytes::from(key.to_owned())),
            value: Some(bytes::Bytes::from(value.to_vec())),
            headers: headers.iter().map(header).collect(),
            ..ProducerRecord::default()
        };
        producer.send(record).await.unwrap().await.unwrap();
    }

    /// Ends everything in order.
    pub(crate) async fn stop(self) {
        self.client.shutdown().await;
        self.broker.shutdown().await.unwrap();
        self.console.stop().await;
    }

    /// Ends the broker only.
    pub(crate) async fn stop_broker(self) -> Console {
        self.client.shutdown().await;
        self.broker.shutdown().await.unwrap();
        self.console
    }
}

/// A console on a free port that looks at nothing yet.
pub(crate) async fn console(settings: &[(&str, &str)]) -> Console {
    let mut config = ConsoleConfig::default();
    for (key, value) in [("ui.listen", "127.0.0.1:0")].iter().chain(settings) {
        config.set(key, value).unwrap();
    }
    Console::start(&config).await.unwrap().unwrap()
}

/// A connector that does nothing.
pub(crate) fn connector(name: &str) -> WatchedConnector {
    let config = ConnectorConfig::new("postgresql://shop:hunter2@127.0.0.1:1/shop".parse().unwrap(), Vec::new());
    WatchedConnector { name: name.to_owned(), status: Status::default(), config: Arc::new(config) }
}

pub(crate) async fn get(console: &Console, path: &str) -> Answer {
    request(console, &format!("GET {path} HTTP/1.1\r\nhost: {}\r\n", console.address()), "").await
}

pub(crate) async fn post(console: &Console, path: &str, headers: &str, body: &str) -> Answer {
    let host = console.address();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}"
    );
    request(console, &head, body).await
}

/// Sends a request whose head lacks only its end.
pub(crate) async fn request(console: &Console, head: &str, body: &str) -> Answer {
    let asked = async {
        let mut stream = TcpStream::connect(console.address()).await.unwrap();
        stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let text = tokio::time::timeout(PATIENCE, asked).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_lowercase(), body: body.to_owned() }
}
