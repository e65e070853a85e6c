//! Changes to a topic's settings (KIP-339): each sets, deletes, appends to a list or subtracts from one.

use super::{ConfigKind, TopicConfig, TopicConfigError, TopicValues, find, text};

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConfigChange {
    /// The key gets this value.
    Set(String),
    /// The broker's own setting holds again.
    Delete,
    /// The list in force gets what it does not hold yet.
    Append(String),
    /// The list in force loses these.
    Subtract(String),
}

impl TopicConfig {
    /// The settings after changes, made one by one. A key that is deleted need not be known, as with Kafka.
    ///
    /// # Errors
    /// [`TopicConfigError`] for the first change that is not taken; nothing is changed then.
    pub(crate) fn changed<N: AsRef<str>>(
        &self,
        changes: impl IntoIterator<Item = (N, ConfigChange)>,
        defaults: &TopicValues,
    ) -> Result<Self, TopicConfigError> {
        let mut entries = self.entries.clone();
        for (name, change) in changes {
            let name = name.as_ref();
            let Some(key) = find(name) else {
                match change {
                    ConfigChange::Delete => continue,
                    _ => return Err(TopicConfigError::UnknownKey(name.to_owned())),
                }
            };
            let in_force = entries.get(key.name).cloned().unwrap_or_else(|| (key.show)(defaults));
            let changed = match change {
                ConfigChange::Delete => {
                    entries.remove(key.name);
                    continue;
                }
                ConfigChange::Set(value) => value,
                ConfigChange::Append(_) | ConfigChange::Subtract(_) if key.kind != ConfigKind::List => {
                    return Err(TopicConfigError::NoList(key.name));
                }
                ConfigChange::Append(value) if in_force.is_empty() => value,
                ConfigChange::Append(value) => format!("{in_force},{value}"),
                ConfigChange::Subtract(value) => {
                    let gone: Vec<_> = value.split(',').map(str::trim).collect();
                    let left = text::list(&in_force).unwrap_or_default();
                    left.into_iter().filter(|part| !gone.contains(part)).collect::<Vec<_>>().join(",")
                }
            };
            entries.insert(key.name, changed);
        }
        Self::new(entries, defaults)
    }
}
