//! Kafka's broker keys that pillion does not have: which may be left out, and which must not.

/// What becomes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It tunes what is not here.
    LeftOut,
    /// Leaving it out would break a promise.
    Refused(&'static str),
}

const NO_SECURITY: &str = "listeners speak plain text without authentication; taking it would leave the broker open";
const NO_AUTHORIZER: &str = "there is no authorizer: every client may do everything";
const NO_POLICY: &str = "plug-ins in Java cannot be run";
const NO_TIERS: &str = "there is no tiered storage: records would be deleted that were to be moved";
const NO_ZOOKEEPER: &str =
    "data directories of ZooKeeper's time cannot be taken over; migrate to KRaft with Kafka 3.9 first";

/// Keys, or beginnings of keys (`*`), that are refused. The first that fits counts.
const REFUSED: &[(&str, &str)] = &[
    ("zookeeper.*", NO_ZOOKEEPER),
    ("ssl.*", NO_SECURITY),
    ("sasl.*", NO_SECURITY),
    ("listener.name.*", NO_SECURITY),
    ("security.providers", NO_SECURITY),
    ("connections.max.reauth.ms", NO_SECURITY),
    ("delegation.token.*", NO_SECURITY),
    ("principal.builder.class", NO_AUTHORIZER),
    ("authorizer.*", NO_AUTHORIZER),
    ("super.users", NO_AUTHORIZER),
    ("allow.everyone.if.no.acl.found", NO_AUTHORIZER),
    ("client.quota.callback.class", NO_POLICY),
    ("create.topic.policy.class.name", NO_POLICY),
    ("alter.config.policy.class.name", NO_POLICY),
];

/// Keys, or beginnings of keys, that are left out.
const LEFT_OUT: &[&str] = &[
    "auto.include.jmx.reporter",
    "auto.leader.rebalance.enable",
    "background.threads",
    "broker.heartbeat.interval.ms",
    "broker.rack",
    "broker.session.timeout.ms",
    "compression.*.level",
    "config.providers*",
    "control.plane.listener.name",
    "controlled.shutdown.*",
    "controller.*",
    "connection.failed.authentication.delay.ms",
    "default.replication.factor",
    "delete.records.purgatory.purge.interval.requests",
    "delete.topic.enable",
    "early.start.listeners",
    "fetch.purgatory.purge.interval.requests",
    "follower.*",
    "group.consumer.*",
    "group.coordinator.*",
    "group.share.*",
    "group.streams.*",
    "initial.broker.registration.timeout.ms",
    "inter.broker.listener.name",
    "inter.broker.protocol.version",
    "internal.*",
    "kafka.metrics.*",
    "leader.*",
    "log.cleaner.io.*",
    "log.cleaner.threads",
    "log.dir.failure.timeout.ms",
    "log.flush.scheduler.interval.ms",
    "log.flush.start.offset.checkpoint.interval.ms",
    "log.initial.task.delay.ms",
    "log.local.*",
    "log.message.downconversion.enable",
    "log.message.format.version",
    "max.connection.creation.rate",
    "max.connections.per.ip.overrides",
    "max.request.partition.size.limit",
    "metadata.*",
    "metric.reporters",
    "metrics.*",
    "num.io.threads",
    "num.network.threads",
    "num.quorum.*",
    "num.replica.*",
    "offsets.commit.*",
    "offsets.load.buffer.size",
    "offsets.retention.check.interval.ms",
    "offsets.topic.*",
    "producer.id.expiration.check.interval.ms",
    "producer.purgatory.purge.interval.requests",
    "queued.max.requests",
    "quota.window.*",
    "quotas.*",
    "remote.*",
    "replica.*",
    "replication.quota.window.*",
    "request.timeout.ms",
    "reserved.broker.max.id",
    "server.max.startup.time.ms",
    "share.coordinator.*",
    "socket.connection.setup.timeout.*",
    "socket.listen.backlog.size",
    "socket.receive.buffer.bytes",
    "telemetry.*",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    "transaction.partition.verification.enable",
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    "transaction.state.log.*",
    "transaction.two.phase.commit.enable",
    "unstable.*",
];

/// What becomes of a key that pillion does not have; `None` when Kafka does not have it either.
pub(super) fn verdict(key: &str, value: &str) -> Option<Verdict> {
    match key {
        "remote.log.storage.system.enable" if value.trim().eq_ignore_ascii_case("true") => {
            return Some(Verdict::Refused(NO_TIERS));
        }
        "security.inter.broker.protocol" => {
            let is_plain = value.trim().eq_ignore_ascii_case("PLAINTEXT");
            return Some(if is_plain { Verdict::LeftOut } else { Verdict::Refused(NO_SECURITY) });
        }
        "allow.everyone.if.no.acl.found" if value.trim().eq_ignore_ascii_case("true") => return Some(Verdict::LeftOut),
        _ => {}
    }
    if let Some((_, reason)) = REFUSED.iter().find(|(pattern, _)| fits(key, pattern)) {
        return Some(Verdict::Refused(reason));
    }
    LEFT_OUT.iter().any(|pattern| fits(key, pattern)).then_some(Verdict::LeftOut)
}

fn fits(key: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        Some((before, after)) => key.strip_prefix(before).is_some_and(|rest| rest.ends_with(after)),
        None => key == pattern,
    }
}
