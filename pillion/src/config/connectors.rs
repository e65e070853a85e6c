//! From texts to connectors: that of the plain keys, and one for each `connector.<name>`.

use std::collections::HashMap;

use pillion_cdc::{ConnectorConfig, PostgresUrl};

use super::keys::{self, Part};
use super::layers::{Origin, Settings};
use super::named::{self, Named};

/// Stands for the database where none is needed to say what is wrong.
pub(crate) const NO_DATABASE: &str = "postgresql://nobody@localhost/nowhere";

/// A further connector.
#[derive(Debug)]
pub(crate) struct NamedConnector {
    /// Its name, 1 to 40 of `a-z 0-9 _`.
    pub(crate) name: String,
    /// Its settings.
    pub(crate) config: ConnectorConfig,
    /// Whether `bootstrap.servers` was given, by it or by the plain keys.
    pub(crate) is_bootstrap_given: bool,
}

/// Reads the connector of the plain keys and the named ones, in the order of their names. Where there are named ones,
/// the plain keys make a connector only if they name a database (`postgres.url` or `database.dbname`); else they are
/// there to be inherited.
pub(super) fn read(
    plain: &Settings,
    named: &Named,
    problems: &mut Vec<String>,
) -> (Option<ConnectorConfig>, Vec<NamedConnector>) {
    let is_alone = named.is_empty();
    let is_inherited_only = !is_alone && !names_database(plain);
    let url = if is_inherited_only { NO_DATABASE.parse().ok() } else { postgres_url(plain, problems) };
    let (mut connector, mut inherited_problems) = (None, Vec::new());
    if let Some(url) = url {
        let (config, unset) = typed(url, plain);
        problems.extend(unset.into_iter().map(|(_, problem)| problem));
        inherited_problems = invalid(&config);
        problems.extend(inherited_problems.iter().cloned());
        connector = (!is_inherited_only).then_some(config);
    }
    let mut others = Vec::with_capacity(named.len());
    for (name, own) in named {
        let settings = named::inherited(plain, name, own);
        let mut found = Vec::new();
        if let Some(url) = postgres_url(&settings, &mut found) {
            // What is wrong with the plain keys has been said.
            let (config, unset) = typed(url, &settings);
            found.extend(unset.into_iter().filter(|(key, _)| own.contains_key(key)).map(|(_, problem)| problem));
            found.extend(invalid(&config).into_iter().filter(|problem| !inherited_problems.contains(problem)));
            let is_bootstrap_given = settings.contains_key(keys::BOOTSTRAP_SERVERS);
            others.push(NamedConnector { name: name.clone(), config, is_bootstrap_given });
        }
        problems.extend(found.into_iter().map(|problem| format!("connector {name}: {problem}")));
    }
    problems.extend(shared_slots(connector.as_ref(), &others));
    (connector, others)
}

fn names_database(plain: &Settings) -> bool {
    let is_given = |key: &str| plain.get(key).is_some_and(|setting| setting.origin != Origin::Default);
    let is_stand_in =
        plain.contains_key(keys::POSTGRES_URL) && !keys::DATABASE_KEYS.iter().any(|(key, _)| is_given(key));
    is_given(keys::POSTGRES_URL) || is_given(keys::DATABASE_NAME) || is_stand_in
}

/// The connector, and the keys whose values it does not take, with the reason.
fn typed(url: PostgresUrl, settings: &Settings) -> (ConnectorConfig, Vec<(&'static str, String)>) {
    let mut config = ConnectorConfig::new(url, vec![keys::DEFAULT_BOOTSTRAP.to_owned()]);
    let mut problems = Vec::new();
    for (&key, setting) in settings {
        let is_address = key == keys::POSTGRES_URL || keys::DATABASE_KEYS.iter().any(|(own, _)| *own == key);
        if is_address || keys::find(key).is_none_or(|(_, part)| part != Part::Connector) {
            continue;
        }
        let outcome = match key {
            keys::AUTO_INIT => switch(&setting.value).map(|on| config.auto_init = on),
            key => config.set(key, &setting.value).map_err(|error| error.to_string()),
        };
        if let Err(reason) = outcome {
            problems.push((key, format!("{key} ({}): {reason}", setting.origin)));
        }
    }
    (config, problems)
}

fn invalid(config: &ConnectorConfig) -> Vec<String> {
    let errors = config.validate().err().unwrap_or_default();
    errors.iter().map(ToString::to_string).collect()
}

/// Postgres has one set of slot names for all its databases, so two connectors may not have one slot of a server.
fn shared_slots(plain: Option<&ConnectorConfig>, others: &[NamedConnector]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut owners = HashMap::new();
    let plain = plain.map(|config| ("of the plain keys", config));
    for (name, config) in plain.into_iter().chain(others.iter().map(|other| (other.name.as_str(), &other.config))) {
        let (host, port, slot) = (config.postgres.host(), config.postgres.port(), config.slot.clone());
        if let Some(owner) = owners.insert((host.clone(), port, slot.clone()), name) {
            problems.push(format!(
                "connector {name}: slot {slot} of {host}:{port} is taken by the connector {owner}; give one of them another slot.name"
            ));
        }
    }
    problems
}

/// From `postgres.url`, or from Debezium's `database.*`.
fn postgres_url(settings: &Settings, problems: &mut Vec<String>) -> Option<PostgresUrl> {
    let given = keys::DATABASE_KEYS.iter().filter_map(|(key, name)| Some((*key, *name, settings.get(key)?)));
    let given: Vec<_> = given.collect();
    // A stand-in that a command put there gives way to whatever was said.
    let url = settings.get(keys::POSTGRES_URL);
    let url = url.filter(|url| url.origin != Origin::Default || given.is_empty());
    let (text, origin) = match (url, given.first()) {
        (Some(url), None) => (url.value.clone(), url.origin.clone()),
        (None, Some((_, _, first))) => {
            let pairs = given.iter().map(|(_, name, setting)| format!("{name}={}", quoted(&setting.value)));
            (pairs.collect::<Vec<_>>().join(" "), first.origin.clone())
        }
        (Some(url), Some((key, _, other))) => {
            problems.push(format!("postgres.url ({}) and {key} ({}): give one of them", url.origin, other.origin));
            return None;
        }
        (None, None) => {
            problems.push(
                "no database is given: --postgres postgresql://user:password@host:port/database, \
                 PILLION_POSTGRES_URL, or postgres.url in the file"
                    .to_owned(),
            );
            return None;
        }
    };
    match text.parse() {
        Ok(url) => Some(url),
        Err(error) => {
            // The text may hold a password and is not repeated.
            problems.push(format!("postgres.url ({origin}): {error}"));
            None
        }
    }
}

/// A value of libpq's `key=value` form.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn switch(value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| format!("`{value}`: expected true or false"))
}

#[cfg(test)]
mod tests;
