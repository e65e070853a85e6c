//! A look as a person reads it.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use super::console::Overview;
use super::look::{Connector, Look, Topic};
use super::rates::Rates;
use crate::cli::duration;
use crate::cli::group::GroupLag;
use crate::cli::text::{Table, escaped, or_dash, size};

/// Topics and groups shown, unless all are asked for.
const ROWS_MAX: usize = 15;

/// Writes it.
pub(super) fn write(out: &mut impl Write, look: &Look, rates: &Rates, is_all: bool) -> io::Result<()> {
    write_cluster(out, look, rates)?;
    let limit = if is_all { usize::MAX } else { ROWS_MAX };
    write_topics(out, look, rates, limit)?;
    write_groups(out, look, rates, limit)?;
    write_connectors(out, look, rates)?;
    write_errors(out, look)
}

fn write_cluster(out: &mut impl Write, look: &Look, rates: &Rates) -> io::Result<()> {
    let cluster = &look.cluster;
    let addresses: Vec<String> =
        cluster.brokers.iter().map(|broker| format!("{} at {}:{}", broker.id, broker.host, broker.port)).collect();
    let controller = or_dash(cluster.controller);
    writeln!(
        out,
        "cluster {}  controller {controller}  brokers: {}",
        escaped(&cluster.cluster_id),
        escaped(&addresses.join(", "))
    )?;
    if let Some(console) = &look.console {
        writeln!(out, "{}", process_line(console, rates))?;
    }
    for (broker, directories) in &look.directories {
        match directories {
            Ok(directories) => {
                for directory in directories {
                    let logs: u64 = directory.partitions.iter().map(|(_, _, bytes)| bytes).sum();
                    let disk = match (directory.usable_bytes, directory.total_bytes) {
                        (Some(free), Some(total)) => format!(", {} free of {}", size(free), size(total)),
                        _ => String::new(),
                    };
                    writeln!(out, "disk of {broker}  {}: {} of logs{disk}", escaped(&directory.path), size(logs))?;
                }
            }
            Err(reason) => writeln!(out, "disk of {broker}  not known: {}", escaped(reason))?,
        }
    }
    Ok(())
}

fn process_line(console: &Overview, rates: &Rates) -> String {
    let mut parts = vec![format!("pillion {}", escaped(&console.version))];
    if let Some(process) = &console.process {
        let started = Duration::from_millis(u64::try_from(process.started_ms).unwrap_or(0));
        let up = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + started).unwrap_or_default();
        parts.push(format!("up {}", duration::text(up)));
        parts.push(size(process.resident_bytes));
    }
    parts.extend(rates.cpu.map(|cpu| format!("{:.0} % of a core", cpu * 100.0)));
    if let Some(broker) = &console.broker {
        parts.push(format!("{} connections", broker.connections));
    }
    if let Some((received, sent)) = rates.network {
        parts.push(format!("in {}/s, out {}/s", size(received as u64), size(sent as u64)));
    }
    if let Some(offline) = console.broker.as_ref().map(|broker| broker.offline_partitions).filter(|count| *count > 0) {
        parts.push(format!("{offline} PARTITIONS OFFLINE"));
    }
    parts.join("  ")
}

fn write_topics(out: &mut impl Write, look: &Look, rates: &Rates, limit: usize) -> io::Result<()> {
    let rate = |topic: &Topic| rates.appended.get(&topic.name).copied().unwrap_or(0.0);
    let mut topics: Vec<&Topic> = look.topics.iter().filter(|topic| !topic.is_internal).collect();
    let own: u64 = look.topics.iter().filter(|topic| topic.is_internal).map(|topic| topic.bytes).sum();
    let total: f64 = topics.iter().map(|topic| rate(topic)).sum();
    writeln!(out, "\n{} topics, {total:.0} records/s; the broker's own topics take {}", topics.len(), size(own))?;
    if topics.is_empty() {
        return Ok(());
    }
    let busiest = |one: &&Topic, other: &&Topic| {
        rate(other).total_cmp(&rate(one)).then(other.bytes.cmp(&one.bytes)).then(one.name.cmp(&other.name))
    };
    topics.sort_by(busiest);
    let mut table = Table::new(["TOPIC", ">PARTITIONS", ">RECORDS", ">RECORDS/S", ">SIZE"]);
    for topic in topics.iter().take(limit) {
        let (records, rate) = match &topic.problem {
            Some(_) => ("?".to_owned(), "?".to_owned()),
            None => (topic.records.to_string(), format!("{:.0}", rate(topic))),
        };
        table.push([topic.name.clone(), topic.partitions.to_string(), records, rate, size(topic.bytes)]);
    }
    table.write(out)?;
    write_rest(out, topics.len(), limit, 0)
}

fn write_groups(out: &mut impl Write, look: &Look, rates: &Rates, limit: usize) -> io::Result<()> {
    writeln!(out, "\n{} groups", look.groups.len() + look.groups_left_out)?;
    if look.groups.is_empty() {
        return Ok(());
    }
    let mut groups: Vec<&GroupLag> = look.groups.iter().collect();
    groups.sort_by_key(|lag| std::cmp::Reverse(lag.total()));
    let mut table = Table::new(["GROUP", "STATE", ">MEMBERS", ">LAG", ">READ/S"]);
    for lag in groups.iter().take(limit) {
        let group = &lag.group;
        let members = if lag.are_members_hidden { "?".to_owned() } else { group.members.len().to_string() };
        let read = rates.read.get(&group.group_id).map(|rate| format!("{rate:.0}"));
        table.push([group.group_id.clone(), group.state.clone(), members, lag.total().to_string(), or_dash(read)]);
    }
    table.write(out)?;
    write_rest(out, groups.len(), limit, look.groups_left_out)
}

fn write_rest(out: &mut impl Write, count: usize, limit: usize, left_out: usize) -> io::Result<()> {
    let hidden = count.saturating_sub(limit);
    if hidden > 0 {
        writeln!(out, "and {hidden} more; --all shows them")?;
    }
    if left_out > 0 {
        writeln!(out, "and {left_out} more that were not asked about")?;
    }
    Ok(())
}

fn write_connectors(out: &mut impl Write, look: &Look, rates: &Rates) -> io::Result<()> {
    if look.connectors.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut table =
        Table::new(["CONNECTOR", "STATE", "SLOT", ">LAG", ">LAG TIME", ">RETAINED", "WAL", ">ROWS/S", ">DEAD LETTERS"]);
    for connector in &look.connectors {
        table.push(connector_row(connector, look, rates));
    }
    table.write(out)
}

fn connector_row(connector: &Connector, look: &Look, rates: &Rates) -> [String; 9] {
    let console = look.console.iter().flat_map(|console| &console.connectors);
    let known = console.clone().find(|known| known.name == connector.name);
    let health = connector.health.as_ref().ok();
    let slot = health.and_then(|health| health.slot.as_ref());
    let state = match (known, health, slot) {
        (Some(known), ..) => known.state.clone(),
        (None, None, _) => "not known".to_owned(),
        (None, Some(_), None) => "no slot".to_owned(),
        (None, Some(_), Some(slot)) if slot.is_lost => "slot lost".to_owned(),
        (None, Some(_), Some(slot)) => if slot.holder.is_some() { "streaming" } else { "not running" }.to_owned(),
    };
    let letters = health.and_then(|health| health.cluster.as_ref().ok()).map(|cluster| cluster.dead_letters);
    let rate = rates.published.get(&connector.name).map(|rate| format!("{rate:.0}"));
    [
        connector.name.clone(),
        state,
        connector.config.slot.clone(),
        or_dash(slot.map(|slot| size(slot.lag_bytes))),
        or_dash(slot.and_then(|slot| slot.lag).map(duration::text)),
        or_dash(slot.and_then(|slot| slot.retained_bytes).map(size)),
        or_dash(slot.map(|slot| &slot.wal_status)),
        or_dash(rate),
        or_dash(letters),
    ]
}

fn write_errors(out: &mut impl Write, look: &Look) -> io::Result<()> {
    let mut errors: Vec<String> = Vec::new();
    let problem = |topic: &Topic| topic.problem.as_ref().map(|problem| format!("topic {}: {problem}", topic.name));
    errors.extend(look.topics.iter().filter_map(problem));
    for connector in &look.connectors {
        let name = &connector.name;
        match &connector.health {
            Err(error) => errors.push(format!("connector {name}: {error}")),
            Ok(health) => {
                errors.extend(health.cluster.as_ref().err().map(|error| format!("connector {name}: {error}")))
            }
        }
    }
    for connector in look.console.iter().flat_map(|console| &console.connectors) {
        let last = connector.last_error.as_ref();
        errors.extend(last.map(|error| format!("connector {}, last error: {error}", connector.name)));
    }
    if errors.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    errors.iter().try_for_each(|error| writeln!(out, "{}", escaped(error)))
}
