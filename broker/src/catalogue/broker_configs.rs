//! Settings of brokers that were changed while they ran: `broker-config/` and the broker's id, nothing for every broker.

use super::record::{self, BrokerConfigRecord, ConfigEntry};
use super::{Catalogue, CatalogueError};

const PREFIX: &str = "broker-config/";

/// The key of a broker's settings, or of every broker's.
fn key(node_id: Option<i32>) -> String {
    node_id.map_or_else(|| PREFIX.to_owned(), |node_id| format!("{PREFIX}{node_id}"))
}

impl Catalogue {
    /// What was set for a broker, or for every broker.
    ///
    /// # Errors
    /// [`CatalogueError`] when the record is not readable.
    pub(crate) fn broker_config(&self, node_id: Option<i32>) -> Result<Vec<(String, String)>, CatalogueError> {
        let state = self.state.lock();
        let record = record::read::<BrokerConfigRecord>(state.entries.get(&key(node_id)))?;
        let entries = record.map(|record| record.configs).unwrap_or_default();
        Ok(entries.into_iter().map(|entry| (entry.name, entry.value)).collect())
    }

    /// Makes all that is set for a broker, or for every broker, durable. Blocks.
    ///
    /// # Errors
    /// [`CatalogueError`] when it cannot be written.
    pub(crate) fn put_broker_config<'a>(
        &self,
        node_id: Option<i32>,
        entries: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), CatalogueError> {
        let entry = |(name, value): (&str, &str)| ConfigEntry { name: name.to_owned(), value: value.to_owned() };
        let configs: Vec<_> = entries.map(entry).collect();
        let record = BrokerConfigRecord { configs };
        let value = if record.configs.is_empty() { None } else { Some(record::write(&record)?) };
        self.state.lock().write([(key(node_id), value)])
    }

    /// Where the catalogue's log ends. May wait for a change that is being made durable.
    pub(crate) fn end_offset(&self) -> i64 {
        self.state.lock().log.next_offset()
    }
}
