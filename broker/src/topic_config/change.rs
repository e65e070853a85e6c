//! Changes to settings (KIP-339): each sets, deletes, appends to a list or subtracts from one.

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

/// A change that only lists can have, to something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotAList;

impl ConfigChange {
    /// The value after the change to a setting of a kind; `None` when it is to have none of its own. `in_force` is what
    /// lists are changed from.
    ///
    /// # Errors
    /// [`NotAList`].
    pub(crate) fn applied(self, kind: ConfigKind, in_force: &str) -> Result<Option<String>, NotAList> {
        Ok(Some(match self {
            Self::Delete => return Ok(None),
            Self::Set(value) => value,
            Self::Append(_) | Self::Subtract(_) if kind != ConfigKind::List => return Err(NotAList),
            Self::Append(value) if in_force.is_empty() => value,
            Self::Append(value) => format!("{in_force},{value}"),
            Self::Subtract(value) => {
                let gone: Vec<_> = value.split(',').map(str::trim).collect();
                let left = text::list(in_force).unwrap_or_default();
                left.into_iter().filter(|part| !gone.contains(part)).collect::<Vec<_>>().join(",")
            }
        }))
    }
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
            match change.applied(key.kind, &in_force).map_err(|NotAList| TopicConfigError::NoList(key.name))? {
                Some(value) => entries.insert(key.name, value),
                None => entries.remove(key.name),
            };
        }
        Self::new(entries, defaults)
    }
}
