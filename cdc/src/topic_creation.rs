//! How topics are made that are missing: `topic.creation.*`, as Kafka Connect reads it (KIP-158). Pure.
//!
//! `topic.creation.groups` names groups; a topic is made by the rules of the first whose `include` matches its whole
//! name and whose `exclude` does not, else by those of `default`. Partitions and replication factor that a group does
//! not say are the default group's; topic configs are each group's own.

use std::collections::BTreeMap;

use regex_lite::Regex;
use thiserror::Error;

#[cfg(test)]
mod tests;

/// What all keys begin with.
const PREFIX: &str = "topic.creation.";
/// The group that always is there.
const DEFAULT: &str = "default";

/// A rule that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TopicCreationError {
    /// Not of the form `topic.creation.<group>.<setting>`.
    #[error("`{0}` is not an option; expected topic.creation.groups or topic.creation.<group>.<setting>")]
    Unknown(String),
    /// A number that cannot be one.
    #[error("{key} = `{value}`: expected 1 or more, or -1 for the broker's default")]
    Count {
        /// The key.
        key: String,
        /// What was given.
        value: String,
    },
    /// An expression that cannot be read.
    #[error("{key} = `{value}`: {reason}")]
    Expression {
        /// The key.
        key: String,
        /// What was given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Rules of a group that no topic would be made by.
    #[error("topic.creation.{group}.{setting} is set, but topic.creation.groups does not name {group}")]
    NoSuchGroup {
        /// The group.
        group: String,
        /// One of its settings.
        setting: String,
    },
    /// A group that no topic would be made by.
    #[error("topic.creation.groups names {0}, but topic.creation.{0}.include does not say which topics")]
    NoInclude(String),
    /// Names that would be taken for something else.
    #[error("topic.creation.groups: `{0}` cannot be a group's name; expected letters, digits, - and _, not `default`")]
    GroupName(String),
}

/// The rules of one group.
#[derive(Debug, Clone, Default)]
struct Group {
    include: Vec<Regex>,
    exclude: Vec<Regex>,
    partitions: Option<i32>,
    replication_factor: Option<i16>,
    configs: BTreeMap<String, String>,
}

/// All rules.
#[derive(Debug, Clone, Default)]
pub struct TopicCreation {
    order: Vec<String>,
    groups: BTreeMap<String, Group>,
}

/// What a topic is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicSettings {
    /// Partitions; −1 leaves it to the broker.
    pub partitions: i32,
    /// Replicas of each; −1 leaves it to the broker.
    pub replication_factor: i16,
    /// Topic configs, by name.
    pub configs: Vec<(String, String)>,
}

impl TopicCreation {
    /// Whether a key is one of these, by its form.
    #[must_use]
    pub fn is_key(key: &str) -> bool {
        key == "topic.creation.groups" || split(key).is_some()
    }

    /// Sets one rule by its dotted name.
    ///
    /// # Errors
    /// [`TopicCreationError`] when the name is unknown or the value impossible.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), TopicCreationError> {
        if key == "topic.creation.groups" {
            let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
            self.order = names.map(group_name).collect::<Result<_, _>>()?;
            return Ok(());
        }
        let (name, setting) = split(key).ok_or_else(|| TopicCreationError::Unknown(key.to_owned()))?;
        let group = self.groups.entry(name.to_owned()).or_default();
        match setting {
            "partitions" => group.partitions = Some(count(key, value)?),
            "replication.factor" => group.replication_factor = Some(count(key, value)?),
            "include" if name != DEFAULT => group.include = expressions(key, value)?,
            "exclude" if name != DEFAULT => group.exclude = expressions(key, value)?,
            "include" | "exclude" => return Err(TopicCreationError::Unknown(key.to_owned())),
            config => drop(group.configs.insert(config.to_owned(), value.trim().to_owned())),
        }
        Ok(())
    }

    /// Checks the rules against each other.
    ///
    /// # Errors
    /// Every problem at once.
    pub fn validate(&self) -> Result<(), Vec<TopicCreationError>> {
        let mut errors = Vec::new();
        for (name, group) in self.groups.iter().filter(|(name, _)| *name != DEFAULT && !self.order.contains(name)) {
            let setting = if group.include.is_empty() { "partitions" } else { "include" };
            let setting = group.configs.keys().next().map_or(setting, String::as_str).to_owned();
            errors.push(TopicCreationError::NoSuchGroup { group: name.clone(), setting });
        }
        let includes = |name: &&String| self.groups.get(*name).is_none_or(|group| group.include.is_empty());
        errors.extend(self.order.iter().filter(includes).map(|name| TopicCreationError::NoInclude(name.clone())));
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// What a topic is made with.
    #[must_use]
    pub fn of(&self, topic: &str) -> TopicSettings {
        let default = self.groups.get(DEFAULT);
        let matching = self.order.iter().filter_map(|name| self.groups.get(name)).find(|group| group.covers(topic));
        let group = matching.or(default);
        let partitions = group.and_then(|group| group.partitions).or(default.and_then(|group| group.partitions));
        let replication_factor =
            group.and_then(|group| group.replication_factor).or(default.and_then(|group| group.replication_factor));
        let configs = group.map(|group| group.configs.clone()).unwrap_or_default().into_iter().collect();
        TopicSettings {
            partitions: partitions.unwrap_or(-1),
            replication_factor: replication_factor.unwrap_or(-1),
            configs,
        }
    }
}

impl Group {
    fn covers(&self, topic: &str) -> bool {
        let any = |expressions: &[Regex]| expressions.iter().any(|expression| expression.is_match(topic));
        any(&self.include) && !any(&self.exclude)
    }
}

/// Group and setting of `topic.creation.<group>.<setting>`.
fn split(key: &str) -> Option<(&str, &str)> {
    let (group, setting) = key.strip_prefix(PREFIX)?.split_once('.')?;
    (!group.is_empty() && !setting.is_empty()).then_some((group, setting))
}

fn group_name(name: &str) -> Result<String, TopicCreationError> {
    let legal = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    if name == DEFAULT || !name.chars().all(legal) {
        return Err(TopicCreationError::GroupName(name.to_owned()));
    }
    Ok(name.to_owned())
}

fn count<N: std::str::FromStr + PartialOrd + From<i8>>(key: &str, value: &str) -> Result<N, TopicCreationError> {
    let wrong = || TopicCreationError::Count { key: key.to_owned(), value: value.to_owned() };
    let number: N = value.trim().parse().map_err(|_| wrong())?;
    if number == N::from(-1) || number >= N::from(1) { Ok(number) } else { Err(wrong()) }
}

/// Expressions that match whole names, separated by commas.
fn expressions(key: &str, value: &str) -> Result<Vec<Regex>, TopicCreationError> {
    let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
    let whole = |part: &str| Regex::new(&format!("^(?:{part})$"));
    parts
        .map(|part| {
            whole(part).map_err(|error| TopicCreationError::Expression {
                key: key.to_owned(),
                value: value.to_owned(),
                reason: error.to_string(),
            })
        })
        .collect()
}
