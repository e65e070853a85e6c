//! Kafka's `server.properties`, read as a configuration of pillion's.
//!
//! A key that pillion has is taken as it is. Of the others, those that tune what is not here (controllers, replication,
//! thread pools) are left out, and a warning names them; those that promise something that pillion would not keep
//! (TLS, authorisation, quotas, tiered storage) are refused with the reason: a broker that starts without them would be
//! open where its operator thinks it closed. A key that nobody knows is refused as in a TOML file.

mod known;

use std::collections::{BTreeMap, BTreeSet};

use super::keys::{self, ADVERTISED_LISTENERS, LISTENERS, LOG_DIRS};
use super::properties::properties;

use known::{Verdict, verdict};

/// What a file comes to.
#[derive(Debug, Default)]
pub(super) struct KafkaFile {
    /// Keys of pillion's with their values.
    pub(super) settings: Vec<(String, String)>,
    /// What cannot be kept.
    pub(super) problems: Vec<String>,
    /// What is left out.
    pub(super) warnings: Vec<String>,
}

/// Reads the text of a file.
pub(super) fn read(text: &str) -> KafkaFile {
    // As in Java, the last word on a key counts.
    let given: BTreeMap<&str, String> = properties(text).collect();
    let mut file = KafkaFile::default();
    check_roles(&given, &mut file);
    let controllers = names(&given, "controller.listener.names");
    let mut left_out = Vec::new();
    for (&key, value) in &given {
        match key {
            LISTENERS | ADVERTISED_LISTENERS => {
                file.settings.push((key.to_owned(), without(value, &controllers)));
            }
            "broker.id" if !given.contains_key("node.id") => file.settings.push(("node.id".to_owned(), value.clone())),
            "log.dir" if !given.contains_key(LOG_DIRS) => file.settings.push((LOG_DIRS.to_owned(), value.clone())),
            "broker.id" | "log.dir" | "process.roles" => {}
            "listener.security.protocol.map" => check_protocols(&given, value, &controllers, &mut file),
            _ if keys::find(key).is_some_and(|(_, part)| part == keys::Part::Broker) => {
                file.settings.push((key.to_owned(), value.clone()));
            }
            _ => match verdict(key, value) {
                Some(Verdict::LeftOut) => left_out.push(key),
                Some(Verdict::Refused(reason)) => file.problems.push(format!("{key}={value}: {reason}")),
                None => file.settings.push((key.to_owned(), value.clone())),
            },
        }
    }
    if !left_out.is_empty() {
        file.warnings.push(format!(
            "left out, for pillion has no controllers, no replicas and no thread pools to set: {}",
            left_out.join(", ")
        ));
    }
    file
}

/// A node that is a controller only has nothing to serve.
fn check_roles(given: &BTreeMap<&str, String>, file: &mut KafkaFile) {
    match given.get("process.roles") {
        Some(roles) if !roles.split(',').any(|role| role.trim() == "broker") => file.problems.push(format!(
            "process.roles={roles}: a controller alone has no topics to serve; start pillion from a broker's file"
        )),
        Some(_) => {}
        None if given.contains_key("zookeeper.connect") => {}
        None => file.warnings.push("process.roles is not there: read as a broker's file".to_owned()),
    }
}

/// The names in a list.
fn names(given: &BTreeMap<&str, String>, key: &str) -> BTreeSet<String> {
    given.get(key).into_iter().flat_map(|list| list.split(',')).map(|name| name.trim().to_owned()).collect()
}

/// A list of listeners without those of controllers.
fn without(list: &str, controllers: &BTreeSet<String>) -> String {
    let is_kept = |listener: &&str| !controllers.contains(listener.split("://").next().unwrap_or_default());
    list.split(',').map(str::trim).filter(is_kept).collect::<Vec<_>>().join(",")
}

/// Refuses listeners whose name stands for something else than plain text.
fn check_protocols(given: &BTreeMap<&str, String>, map: &str, controllers: &BTreeSet<String>, file: &mut KafkaFile) {
    let default = "PLAINTEXT://:9092".to_owned();
    let listeners = given.get(LISTENERS).unwrap_or(&default);
    let used: Vec<&str> = listeners.split(',').filter_map(|one| one.trim().split("://").next()).collect();
    for pair in map.split(',') {
        let Some((name, protocol)) = pair.trim().split_once(':') else { continue };
        let is_used = used.contains(&name) && !controllers.contains(name);
        if is_used && !protocol.eq_ignore_ascii_case("PLAINTEXT") {
            file.problems.push(format!(
                "listener.security.protocol.map: {name} is {protocol}, and listeners speak plain text: taking it would leave the listener open"
            ));
        }
    }
}

#[cfg(test)]
mod tests;
