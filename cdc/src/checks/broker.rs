//! Whether the cluster can be published to.

use std::time::Duration;

use pillion_client::{Client, ErrorCode, NewTopic, TransactionalConfig};

use super::Check;
use super::examination::{Finding, Verdict};
use crate::causes;
use crate::config::{ConnectorConfig, Delivery};
use crate::publish::KafkaCluster;

/// Longest wait for an answer. A cluster that takes longer is as good as away.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Stands for the topics that rows are routed to.
const TOPIC: &str = "outbox.event.pillion-doctor";

/// Connects, and asks for what a connector would do, without leaving a topic behind.
pub(super) async fn check(config: &ConnectorConfig) -> Vec<Finding> {
    let servers = config.bootstrap_servers.join(",");
    let connecting = tokio::time::timeout(TIMEOUT, Client::connect(KafkaCluster::new(config).client_config())).await;
    let reason = match connecting {
        Ok(Ok(client)) => {
            let mut findings = vec![Finding::passed(Check::Broker, servers)];
            findings.push(topics(&client, config).await);
            findings.push(transactions(&client, config).await);
            client.shutdown().await;
            return findings;
        }
        Ok(Err(error)) => causes::text(&error),
        Err(_) => format!("no answer within {} s", TIMEOUT.as_secs()),
    };
    let message =
        format!("no broker at {servers} ({reason}): check bootstrap.servers, and that one runs (`pillion run`)");
    vec![Finding { check: Check::Broker, verdict: Verdict::Failed, message }]
}

async fn topics(client: &Client, config: &ConnectorConfig) -> Finding {
    let settings = config.topic_creation.of(TOPIC);
    let wanted = NewTopic {
        partitions: settings.partitions,
        replication_factor: settings.replication_factor,
        configs: settings.configs,
        ..NewTopic::new(TOPIC)
    };
    let outcome = match client.admin().validate_topics(vec![wanted], TIMEOUT).await {
        Ok(mut outcomes) => outcomes.pop().map_or(Ok(()), |outcome| outcome.result),
        Err(error) => Err(error),
    };
    let Err(error) = outcome else { return Finding::passed(Check::Topics, "missing topics are made".to_owned()) };
    match error.error_code() {
        Some(ErrorCode::TopicAlreadyExists) => Finding::passed(Check::Topics, "missing topics are made".to_owned()),
        Some(ErrorCode::TopicAuthorizationFailed | ErrorCode::ClusterAuthorizationFailed) => Finding {
            check: Check::Topics,
            verdict: Verdict::Warning,
            message: "topics may not be created: allow CREATE on the topics, or make each topic that rows are routed to, the progress topic and the dead-letter topic beforehand".to_owned(),
        },
        _ => Finding {
            check: Check::Topics,
            verdict: Verdict::Failed,
            message: format!(
                "topics cannot be created ({}): correct topic.creation.default.partitions and topic.creation.default.replication.factor",
                causes::text(&error)
            ),
        },
    }
}

async fn transactions(client: &Client, config: &ConnectorConfig) -> Finding {
    if config.delivery == Delivery::AtLeastOnce {
        return Finding::passed(Check::Transactions, "not needed: delivery is at-least-once".to_owned());
    }
    // A name of its own, for the connector's own would stop a connector that runs.
    let id = format!("pillion-doctor-{}", config.slot);
    let wanted = TransactionalConfig { max_block: TIMEOUT, ..TransactionalConfig::new(id) };
    match client.transactional_producer(wanted).await {
        Ok(_) => Finding::passed(Check::Transactions, "supported".to_owned()),
        Err(error) => Finding {
            check: Check::Transactions,
            verdict: Verdict::Failed,
            message: format!(
                "the cluster gives no transactions ({}): allow WRITE and DESCRIBE on transactional ids with the prefix pillion-, or set delivery=at-least-once",
                causes::text(&error)
            ),
        },
    }
}
