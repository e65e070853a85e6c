//! Settings that are changed while the broker runs.
//!
//! What was set for this broker comes before what was set for every broker, that before what file, environment and
//! flags said, and that before what is built in. All of it is one immutable value, replaced as a whole; whoever needs a
//! setting that can change asks for the value in force each time.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use thiserror::Error;

use super::{BrokerConfig, ConfigError, Setting, TakesEffect, setting};
use crate::topic_config::{ConfigChange, ConfigKind, NotAList, list};

/// For which brokers a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All there are or will be.
    EveryBroker,
    /// This one alone.
    ThisBroker,
}

/// Who said a value, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// A change for this broker.
    ThisBroker,
    /// A change for every broker.
    EveryBroker,
    /// File, environment or flags.
    Start,
    /// Nobody.
    BuiltIn,
}

impl Layer {
    /// All of them, nearest first.
    pub(crate) const ALL: [Self; 4] = [Self::ThisBroker, Self::EveryBroker, Self::Start, Self::BuiltIn];
}

/// A change that is not made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum DynamicConfigError {
    /// A key that is none, or one that is not changed while the broker runs.
    #[error("cannot be changed while the broker runs: {}; set it for the next start", .0.join(", "))]
    ReadOnly(Vec<String>),
    /// No such key, or no such value of it.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
    /// A change that only lists can have.
    #[error("{0} is no list: it is set or deleted, nothing is appended to it or subtracted from it")]
    NoList(&'static str),
}

/// Values by key.
pub(crate) type Entries = BTreeMap<&'static str, String>;

/// Every setting at one time.
#[derive(Debug, Clone)]
pub(crate) struct SettingsInForce {
    start: BrokerConfig,
    built_in: BrokerConfig,
    every_broker: Entries,
    this_broker: Entries,
    /// What all of it comes to.
    config: BrokerConfig,
}

impl SettingsInForce {
    /// What the broker started with, and what was changed before. A change that is not taken any more is left out, with
    /// a warning: a broker must start.
    pub(crate) fn new(
        start: BrokerConfig,
        every_broker: impl IntoIterator<Item = (String, String)>,
        this_broker: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let mut changed = start.clone();
        let mut take = |(key, value): (String, String)| {
            let setting = setting(&key).filter(|setting| setting.is_dynamic());
            let taken = setting.and_then(|setting| setting.take(&mut changed, &value).ok().map(|()| setting.key));
            if taken.is_none() {
                tracing::warn!(key, value, "a setting that was changed at run time is not taken any more");
            }
            Some((taken?, value))
        };
        let every_broker = every_broker.into_iter().filter_map(&mut take).collect();
        let this_broker = this_broker.into_iter().filter_map(&mut take).collect();
        let built_in = BrokerConfig::new("", "");
        Self { start, built_in, every_broker, this_broker, config: changed }
    }

    /// The settings as values.
    pub(crate) fn config(&self) -> &BrokerConfig {
        &self.config
    }

    /// What was set for these brokers while they ran.
    pub(crate) fn entries(&self, scope: Scope) -> &Entries {
        match scope {
            Scope::EveryBroker => &self.every_broker,
            Scope::ThisBroker => &self.this_broker,
        }
    }

    /// What a layer says of a setting. Whoever sets something to what is built in has said it all the same.
    pub(crate) fn said(&self, layer: Layer, setting: &Setting) -> Option<String> {
        let shown = |config: &BrokerConfig| Some((setting.show)(config)).filter(|value| !is_unset(setting, value));
        match layer {
            Layer::ThisBroker => self.this_broker.get(setting.key).cloned(),
            Layer::EveryBroker => self.every_broker.get(setting.key).cloned(),
            Layer::BuiltIn => shown(&self.built_in),
            Layer::Start => {
                let value = shown(&self.start);
                value.filter(|value| {
                    self.start.given.contains(setting.key) || shown(&self.built_in).as_ref() != Some(value)
                })
            }
        }
    }

    /// The settings after changes, made one by one. A key that is deleted need not be known, as with Kafka.
    ///
    /// # Errors
    /// [`DynamicConfigError`]; nothing is changed then.
    pub(crate) fn changed<'a>(
        &self,
        scope: Scope,
        changes: impl IntoIterator<Item = (&'a str, ConfigChange)>,
    ) -> Result<Self, DynamicConfigError> {
        let changes: Vec<_> = changes.into_iter().collect();
        let kept = |change: &&(&str, ConfigChange)| change.1 != ConfigChange::Delete;
        check_keys(changes.iter().filter(kept).map(|(key, _)| *key))?;
        let mut entries = self.entries(scope).clone();
        for (key, change) in changes {
            let Some(setting) = setting(key) else { continue };
            let in_force = entries.get(setting.key).cloned().unwrap_or_else(|| self.below(scope, setting));
            let not_a_list = |NotAList| DynamicConfigError::NoList(setting.key);
            match change.applied(setting.kind, &in_force).map_err(not_a_list)? {
                Some(value) => entries.insert(setting.key, value),
                None => entries.remove(setting.key),
            };
        }
        self.with(scope, entries)
    }

    /// The settings with all that was set for these brokers replaced.
    ///
    /// # Errors
    /// [`DynamicConfigError`]; nothing is changed then.
    pub(crate) fn replaced<'a>(
        &self,
        scope: Scope,
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, DynamicConfigError> {
        let entries: Vec<_> = entries.into_iter().collect();
        check_keys(entries.iter().map(|(key, _)| *key))?;
        let known = entries.into_iter().filter_map(|(key, value)| Some((setting(key)?.key, value.to_owned())));
        self.with(scope, known.collect())
    }

    /// The settings as if the broker had started with others, where those can be changed while it runs; and the keys
    /// that differ and cannot. What was set while it ran stays.
    pub(crate) fn restarted(&self, start: &BrokerConfig) -> (Self, Vec<&'static str>) {
        let (mut next, mut held_back) = (self.clone(), Vec::new());
        next.start = start.clone();
        next.start.data_directory.clone_from(&self.start.data_directory);
        next.start.listeners.clone_from(&self.start.listeners);
        for setting in super::table().filter(|setting| !setting.is_dynamic()) {
            let before = (setting.show)(&self.start);
            if (setting.show)(start) == before {
                continue;
            }
            held_back.push(setting.key);
            // A value cannot be taken back to none: then nothing changes until the next start.
            if setting.take(&mut next.start, &before).is_err() {
                return (self.clone(), held_back);
            }
        }
        if start.listeners != self.start.listeners {
            held_back.push("listeners");
        }
        if start.data_directory != self.start.data_directory {
            held_back.push("log.dirs");
        }
        next.config = next.start.clone();
        for (key, value) in self.every_broker.iter().chain(&self.this_broker) {
            // It was taken before, and whether it is does not depend on the others.
            let _ = setting(key).map(|setting| setting.take(&mut next.config, value));
        }
        (next, held_back)
    }

    /// What would hold if nothing were set for these brokers while they run.
    fn below(&self, scope: Scope, setting: &Setting) -> String {
        let every_broker = self.every_broker.get(setting.key).filter(|_| scope == Scope::ThisBroker);
        every_broker.cloned().unwrap_or_else(|| (setting.show)(&self.start))
    }

    fn with(&self, scope: Scope, entries: Entries) -> Result<Self, DynamicConfigError> {
        let mut written = Entries::new();
        for (key, value) in entries {
            let Some(setting) = setting(key) else { continue };
            let mut alone = self.start.clone();
            setting.take(&mut alone, &value)?;
            // As Kafka writes values back: numbers without a plus sign, lists in their order and without repetitions.
            let value = match (setting.kind, list(&value)) {
                (ConfigKind::List, Some(parts)) => parts.join(","),
                _ if setting.takes_effect == TakesEffect::Never => value.trim().to_owned(),
                _ => (setting.show)(&alone),
            };
            written.insert(setting.key, value);
        }
        let mut next = self.clone();
        match scope {
            Scope::EveryBroker => next.every_broker = written,
            Scope::ThisBroker => next.this_broker = written,
        }
        next.config = next.start.clone();
        for (key, value) in next.every_broker.iter().chain(&next.this_broker) {
            if let Some(setting) = setting(key) {
                setting.take(&mut next.config, value)?;
            }
        }
        Ok(next)
    }
}

/// Refuses keys that are not known, and, all at once, those that cannot be changed.
fn check_keys<'a>(keys: impl Iterator<Item = &'a str> + Clone) -> Result<(), DynamicConfigError> {
    let mut read_only = Vec::new();
    for key in keys {
        match setting(key) {
            Some(setting) if setting.is_dynamic() => {}
            Some(_) => read_only.push(key.to_owned()),
            None if super::FIXED_KEYS.contains(&key) => read_only.push(key.to_owned()),
            None => return Err(ConfigError::UnknownKey { key: key.to_owned(), nearest: super::nearest(key) }.into()),
        }
    }
    if read_only.is_empty() { Ok(()) } else { Err(DynamicConfigError::ReadOnly(read_only)) }
}

/// A number that is empty is one that nobody set.
fn is_unset(setting: &Setting, value: &str) -> bool {
    value.is_empty() && !matches!(setting.kind, ConfigKind::List | ConfigKind::Text)
}

/// The settings in force, as everyone sees them.
pub(crate) struct Settings {
    current: RwLock<Arc<SettingsInForce>>,
}

impl Settings {
    /// These settings, until others are put in force.
    pub(crate) fn new(settings: SettingsInForce) -> Self {
        Self { current: RwLock::new(Arc::new(settings)) }
    }

    /// Those in force.
    pub(crate) fn in_force(&self) -> Arc<SettingsInForce> {
        Arc::clone(&self.current.read())
    }

    /// Puts others in force.
    pub(crate) fn put(&self, settings: SettingsInForce) {
        *self.current.write() = Arc::new(settings);
    }
}
