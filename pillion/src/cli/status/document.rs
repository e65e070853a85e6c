//! A look as JSON.

use serde_json::{Value, json};

use super::look::{Connector, Look, Topic};
use super::rates::Rates;
use crate::cli::group::GroupLag;

/// The whole look.
pub(super) fn document(look: &Look, rates: &Rates) -> Value {
    let cluster = &look.cluster;
    let brokers = cluster.brokers.iter().map(|broker| {
        let directories = look.directories.get(&broker.id);
        let listed = directories.and_then(|directories| directories.as_ref().ok()).map(|directories| {
            let one = |directory: &pillion_client::LogDirectory| {
                json!({
                    "path": directory.path,
                    "logBytes": directory.partitions.iter().map(|(_, _, bytes)| bytes).sum::<u64>(),
                    "freeBytes": directory.usable_bytes,
                    "totalBytes": directory.total_bytes,
                })
            };
            directories.iter().map(one).collect::<Vec<_>>()
        });
        json!({ "id": broker.id, "host": broker.host, "port": broker.port, "logDirectories": listed })
    });
    let console = look.console.as_ref().map(|console| {
        json!({
            "version": console.version,
            "startedMs": console.process.as_ref().map(|process| process.started_ms),
            "residentBytes": console.process.as_ref().map(|process| process.resident_bytes),
            "connections": console.broker.as_ref().map(|broker| broker.connections),
            "receivedBytesPerSecond": rates.network.map(|(received, _)| received),
            "sentBytesPerSecond": rates.network.map(|(_, sent)| sent),
            "cores": rates.cpu,
        })
    });
    json!({
        "clusterId": cluster.cluster_id,
        "controller": cluster.controller,
        "brokers": brokers.collect::<Vec<_>>(),
        "process": console,
        "topics": look.topics.iter().map(|topic| self::topic(topic, rates)).collect::<Vec<_>>(),
        "groups": look.groups.iter().map(|lag| group(lag, rates)).collect::<Vec<_>>(),
        "groupsLeftOut": look.groups_left_out,
        "connectors": look.connectors.iter().map(|one| connector(one, look, rates)).collect::<Vec<_>>(),
    })
}

fn topic(topic: &Topic, rates: &Rates) -> Value {
    let known = topic.problem.is_none() && !topic.is_internal;
    json!({
        "name": topic.name,
        "internal": topic.is_internal,
        "partitions": topic.partitions,
        "records": known.then_some(topic.records),
        "recordsPerSecond": rates.appended.get(&topic.name).filter(|_| known),
        "bytes": topic.bytes,
        "error": topic.problem,
    })
}

fn group(lag: &GroupLag, rates: &Rates) -> Value {
    json!({
        "group": lag.group.group_id,
        "state": lag.group.state,
        "members": (!lag.are_members_hidden).then_some(lag.group.members.len()),
        "lag": lag.total(),
        "readPerSecond": rates.read.get(&lag.group.group_id),
    })
}

fn connector(connector: &Connector, look: &Look, rates: &Rates) -> Value {
    let known = look.console.iter().flat_map(|console| &console.connectors).find(|one| one.name == connector.name);
    let health = connector.health.as_ref().ok();
    let slot = health.and_then(|health| health.slot.as_ref());
    let cluster = health.map(|health| health.cluster.as_ref());
    json!({
        "name": connector.name,
        "database": connector.config.postgres.to_string(),
        "state": known.map(|known| &known.state),
        "lastError": known.and_then(|known| known.last_error.as_ref()),
        "rowsPerSecond": rates.published.get(&connector.name),
        "slot": connector.config.slot,
        "holder": slot.and_then(|slot| slot.holder.as_ref()),
        "confirmedLsn": slot.map(|slot| slot.confirmed.to_string()),
        "lagBytes": slot.map(|slot| slot.lag_bytes),
        "lagSeconds": slot.and_then(|slot| slot.lag).map(|lag| lag.as_secs_f64()),
        "retainedBytes": slot.and_then(|slot| slot.retained_bytes),
        "walStatus": slot.map(|slot| &slot.wal_status),
        "deadLetters": cluster.and_then(Result::ok).map(|cluster| cluster.dead_letters),
        "error": connector.health.as_ref().err().or(cluster.and_then(Result::err)),
    })
}
