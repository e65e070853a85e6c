//! Rows written to see how long they take: events like any other, of an aggregate type of their own, removed behind it.

use crate::control::{Control, ControlError};
use crate::postgres_url::PostgresUrl;
use crate::quoting::TableName;

/// A connection that writes to an outbox table with the standard columns.
pub struct Probe {
    control: Control,
    insert: String,
    remove: String,
}

impl Probe {
    /// The aggregate type of its rows.
    pub const AGGREGATE_TYPE: &'static str = "pillion-bench";

    /// Connects.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn connect(url: &PostgresUrl, table: &TableName) -> Result<Probe, ControlError> {
        let (control, table) = (Control::connect(url).await?, table.quoted());
        let kind = Probe::AGGREGATE_TYPE;
        Ok(Probe {
            control,
            insert: format!(
                "insert into {table} (id, aggregatetype, aggregateid, type, payload) \
                 values (gen_random_uuid(), '{kind}', '1', 'Probed', '{{\"probe\": true}}') returning id::text"
            ),
            remove: format!("delete from {table} where aggregatetype = '{kind}'"),
        })
    }

    /// Writes a row in a transaction of its own; its id.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn insert(&self) -> Result<String, ControlError> {
        Ok(self.control.client().query_one(&self.insert, &[]).await?.try_get(0)?)
    }

    /// Removes all rows of its kind.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn remove(&self) -> Result<u64, ControlError> {
        Ok(self.control.client().execute(&self.remove, &[]).await?)
    }
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Probe").field("insert", &self.insert).finish_non_exhaustive()
    }
}
