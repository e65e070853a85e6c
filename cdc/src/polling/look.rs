//! One look: a transaction, its snapshot, and what that sees beside what was seen before.

use std::time::Duration;

use tokio::time::Instant;

use super::poller::{Poller, Stopped, refused};
use super::window::{AHEAD_MAX, Seen};
use crate::control::ControlError;
use crate::quoting::literal;
use crate::replication::ReplicationError;
use crate::stored::{self, Table, TransactionIds, ask, parse_snapshot};

/// The server writes its log to disk by itself within three times `wal_writer_delay`, 0.6 s unless it is set higher.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(60);
const FLUSH_INTERVAL: Duration = Duration::from_millis(10);

/// What a look's snapshot sees.
pub(crate) enum Found {
    /// Rows that were not seen before, or none.
    Rows(bool, Seen),
    /// More transactions above the horizon than are kept.
    TooMany,
}

/// What a look found: one snapshot.
pub(crate) struct Look {
    pub(super) text: String,
    /// The oldest transaction that is still open, or the next one.
    pub(super) horizon: u64,
    /// The next transaction.
    pub(super) next: u64,
    pub(super) is_standby: bool,
    /// The server's clock, in microseconds since the Unix epoch.
    pub(crate) time_micros: i64,
    /// The tables, once they are asked for.
    pub(crate) tables: Vec<Table>,
}

/// More is seen than can be kept.
pub(crate) fn too_many(look: &Look) -> Stopped {
    refused(format!(
        "transaction {} has been open while more than {AHEAD_MAX} others committed; end it (pg_stat_activity.backend_xid)",
        look.horizon
    ))
}

impl Poller {
    /// Opens the transaction of one look, with the snapshot that another session has exported if its name is given, and
    /// describes the tables.
    pub(crate) async fn look_with(&self, exported: Option<&str>) -> Result<Look, Stopped> {
        let mut look = self.look(exported).await?;
        self.describe(&mut look).await?;
        Ok(look)
    }

    pub(super) async fn look(&self, exported: Option<&str>) -> Result<Look, Stopped> {
        let query = format!(
            "{} SELECT pg_current_snapshot()::text, pg_is_in_recovery(),
                (extract(epoch FROM clock_timestamp()) * 1000000)::int8",
            stored::begin(exported)
        );
        let rows = ask(self.control.client(), &query).await?;
        let row = rows.first().ok_or_else(|| refused("it answers nothing to a SELECT".to_owned()))?;
        let text = row.get(0).unwrap_or_default().to_owned();
        let (horizon, next) = parse_snapshot(&text)?;
        let is_standby = row.get(1) == Some("t");
        let time_micros = row.get(2).and_then(|text| text.parse().ok()).unwrap_or(0);
        Ok(Look { text, horizon, next, is_standby, time_micros, tables: Vec::new() })
    }

    pub(crate) async fn end_look(&self) -> Result<(), Stopped> {
        self.control.client().batch_execute("COMMIT").await.map_err(ControlError::from)?;
        Ok(())
    }

    pub(super) async fn describe(&self, look: &mut Look) -> Result<(), Stopped> {
        look.tables = stored::describe(self.control.client(), &self.options.tables).await?;
        let named = [
            ("polling.column", &self.options.column),
            ("polling.transaction.column", &self.options.transaction_column),
        ];
        for (option, column) in named {
            for table in look.tables.iter() {
                if let Some(column) = column.as_ref().filter(|column| table.column(column).is_none()) {
                    return Err(refused(format!(
                        "table {} has no column {column}, which {option} names",
                        table.quoted()
                    )));
                }
            }
        }
        Ok(())
    }

    /// How the look's rows tell their transactions.
    pub(crate) fn ids(&self, look: &Look) -> TransactionIds {
        match &self.options.transaction_column {
            Some(column) => TransactionIds::Column(column.clone()),
            None => TransactionIds::Xmin { next: look.next },
        }
    }

    /// What the look's snapshot sees beside what was seen before.
    pub(crate) async fn find(&self, seen: &Seen, look: &Look) -> Result<Found, Stopped> {
        let (client, ids) = (self.control.client(), self.ids(look));
        let (mut latest, mut is_any) = (None, false);
        for table in &look.tables {
            let known = ids.one_of(seen.ahead.iter().copied());
            let query = format!(
                "SELECT {}, coalesce(bool_or(NOT {known}), false) FROM {} WHERE {}",
                ids.latest(),
                table.quoted(),
                ids.at_least(seen.horizon)
            );
            for row in ask(client, &query).await? {
                latest = latest.max(row.get(0).and_then(|text| text.parse::<u64>().ok()));
                is_any |= row.get(1) == Some("t");
            }
        }
        let latest = latest.unwrap_or(0);
        let mut ahead = seen.ahead.clone();
        if is_any && latest >= look.horizon {
            for table in &look.tables {
                let query = format!(
                    "SELECT DISTINCT {} FROM {} WHERE {} LIMIT {}",
                    ids.value(),
                    table.quoted(),
                    ids.at_least(look.horizon.max(seen.horizon)),
                    AHEAD_MAX + 1
                );
                let rows = ask(client, &query).await?;
                ahead.extend(rows.iter().filter_map(|row| row.get(0)?.parse::<u64>().ok()));
            }
        }
        let after = seen.next(look.horizon, latest, ahead);
        Ok(if after.ahead.len() <= AHEAD_MAX { Found::Rows(is_any, after) } else { Found::TooMany })
    }

    /// Waits until no crash can take back what the snapshot sees: a transaction that does not wait for the disk
    /// (`synchronous_commit=off`) is seen before its commit is written there, and its id may then be given out again.
    pub(super) async fn until_flushed(&self) -> Result<(), Stopped> {
        if !self.knows_flush {
            return Ok(());
        }
        let client = self.control.client();
        let rows = ask(client, "SELECT pg_current_wal_insert_lsn()").await?;
        let inserted = rows.first().and_then(|row| row.get(0)).unwrap_or("0/0").to_owned();
        let query = format!("SELECT pg_current_wal_flush_lsn() >= {}", literal(&inserted));
        let deadline = Instant::now() + FLUSH_TIMEOUT;
        while ask(client, &query).await?.first().and_then(|row| row.get(0)) != Some("t") {
            if Instant::now() > deadline {
                let reason = format!("the server has not written its log up to {inserted} to disk");
                return Err(Stopped::Error(ReplicationError::Lost(reason.into())));
            }
            tokio::time::sleep(FLUSH_INTERVAL).await;
        }
        Ok(())
    }
}
