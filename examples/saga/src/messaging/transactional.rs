//! Acting upon an event in one transaction of the service's database, together with the memory of having done so.

use anyhow::Result;
use deadpool_postgres::Transaction;
use tracing::info;

use super::spans::{batch_span, process_span};
use super::{Event, Parked, Process};
use crate::database::{Database, begin, commit, execute};
use crate::inbox;
use crate::traced::Traced as _;

/// What a service does about an event, in the transaction that notes the event in the inbox.
pub trait React: Send + Sync + 'static {
    /// Changes the service's state and writes to its outbox; an error undoes both.
    fn react(&self, transaction: &Transaction<'_>, event: &Event) -> impl Future<Output = Result<()>> + Send;
}

/// Events processed once each, by way of the inbox.
pub struct InTransaction<R> {
    /// The service's own.
    pub database: Database,
    /// What is done about them.
    pub reaction: R,
}

impl<R: React> Process for InTransaction<R> {
    async fn process(&self, event: &Event) -> Result<()> {
        let mut connection = self.database.connection().await?;
        let transaction = begin(&mut connection).await?;
        self.react_once(&transaction, event).await?;
        commit(transaction).await
    }

    /// One transaction, and one commit, for all. Each event has a span in its own trace as when it is processed alone;
    /// what serves all of them has one that is linked to them.
    async fn process_together(&self, group: &str, events: &[&Event]) -> Result<bool> {
        let together = async {
            let mut connection = self.database.connection().await?;
            let transaction = begin(&mut connection).await?;
            for event in events {
                self.react_once(&transaction, event).traced(process_span(group, event)).await?;
            }
            commit(transaction).await
        };
        together.traced(batch_span(group, group, events.iter().copied())).await?;
        Ok(true)
    }

    async fn park(&self, parked: &Parked) -> Result<()> {
        let connection = self.database.connection().await?;
        let insert = "INSERT INTO parked (topic, partition, \"offset\", event_id, type, key, payload, reason)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
        let Parked { topic, partition, offset, event_id, name, key, payload, reason } = parked;
        execute(&connection, insert, &[topic, partition, offset, event_id, name, key, payload, reason]).await?;
        Ok(())
    }
}

impl<R: React> InTransaction<R> {
    async fn react_once(&self, transaction: &Transaction<'_>, event: &Event) -> Result<()> {
        if !inbox::is_first_delivery(transaction, event.id).await? {
            info!("{} {} has been processed before", event.kind.name, event.id);
            return Ok(());
        }
        self.reaction.react(transaction, event).await?;
        info!("{} of {} processed", event.kind.name, event.key);
        Ok(())
    }
}
