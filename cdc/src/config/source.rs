//! How rows are got out of the database: options beside those of Debezium's connector, which only replicates.

use std::time::Duration;

use super::{ConfigError, Delivery, number};
use crate::quoting::IDENTIFIER_LENGTH_MAX;

/// `source.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceMode {
    /// From the write-ahead log, through a replication slot.
    #[default]
    Replication,
    /// By SELECT, for databases without logical replication.
    Polling,
}

/// `snapshot`: what happens to rows that are in the tables already at the very first start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SnapshotMode {
    /// They count as published.
    #[default]
    Never,
    /// They are published first, once.
    Initial,
}

/// Options of the source. Fields say the option's name, its unit and its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceOptions {
    /// `source.mode`: `replication` (default) or `polling`.
    pub mode: SourceMode,
    /// `snapshot`: `never` (default) or `initial`.
    pub snapshot: SnapshotMode,
    /// `poll.interval.ms` (Debezium's name and default): time between two looks at the tables, 1 ms to an hour; 500 ms.
    /// An event waits half of it on average. A look costs a round trip while nothing is committed, else it reads each
    /// table from end to end unless `polling.transaction.column` is set.
    pub poll_interval: Duration,
    /// `polling.column`: orders rows that are found together, and so must be assigned when a row is inserted. Default:
    /// `table.field.event.timestamp` if that is set, else the event's id if it is an integer, else the order of the
    /// transactions' ids.
    pub polling_column: Option<String>,
    /// `polling.transaction.column`: a column of type `xid8` with the default `pg_current_xact_id()`. With an index on
    /// it, a look reads new rows only. Default: none.
    pub polling_transaction_column: Option<String>,
}

impl Default for SourceOptions {
    fn default() -> SourceOptions {
        SourceOptions {
            mode: SourceMode::default(),
            snapshot: SnapshotMode::default(),
            poll_interval: Duration::from_millis(500),
            polling_column: None,
            polling_transaction_column: None,
        }
    }
}

impl SourceOptions {
    /// Sets one option by its dotted name; `None` when it is not one of these.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Option<Result<(), ConfigError>> {
        let value = value.trim();
        Some(match name {
            "source.mode" => one_of(
                ("source.mode", value),
                [("replication", SourceMode::Replication), ("polling", SourceMode::Polling)],
                &mut self.mode,
            ),
            "snapshot" => one_of(
                ("snapshot", value),
                [("never", SnapshotMode::Never), ("initial", SnapshotMode::Initial)],
                &mut self.snapshot,
            ),
            "poll.interval.ms" => {
                number("poll.interval.ms", value).map(|ms| self.poll_interval = Duration::from_millis(ms))
            }
            "polling.column" => {
                self.polling_column = Some(value.to_owned());
                Ok(())
            }
            "polling.transaction.column" => {
                self.polling_transaction_column = Some(value.to_owned());
                Ok(())
            }
            _ => return None,
        })
    }

    /// Every problem there is.
    pub(super) fn problems(&self, delivery: Delivery) -> Vec<ConfigError> {
        let mut problems = Vec::new();
        let mut require = |holds: bool, name, value: &str, reason: &str| {
            if !holds {
                problems.push(ConfigError::Value { name, value: value.to_owned(), reason: reason.to_owned() });
            }
        };
        let interval = self.poll_interval;
        let is_sensible = (Duration::from_millis(1)..=Duration::from_secs(3600)).contains(&interval);
        require(is_sensible, "poll.interval.ms", &interval.as_millis().to_string(), "expected 1 to 3600000");
        let needs_progress = if self.mode == SourceMode::Polling {
            Some("source.mode=polling")
        } else {
            (self.snapshot == SnapshotMode::Initial).then_some("snapshot=initial")
        };
        if let Some(what) = needs_progress {
            let reason = format!("{what} needs the progress record, which only delivery=exactly-once writes");
            require(delivery == Delivery::ExactlyOnce, "delivery", "at-least-once", &reason);
        }
        let columns = [
            ("polling.column", &self.polling_column),
            ("polling.transaction.column", &self.polling_transaction_column),
        ];
        for (name, column) in columns {
            let Some(column) = column else { continue };
            let is_name = (1..=IDENTIFIER_LENGTH_MAX).contains(&column.len()) && !column.contains('\0');
            require(is_name, name, column, "expected a column's name, 1 to 63 bytes");
        }
        problems
    }
}

fn one_of<T: Copy>(
    (name, value): (&'static str, &str),
    known: [(&str, T); 2],
    place: &mut T,
) -> Result<(), ConfigError> {
    match known.iter().find(|(text, _)| *text == value) {
        Some((_, known)) => {
            *place = *known;
            Ok(())
        }
        None => {
            let reason = format!("expected {} or {}", known[0].0, known[1].0);
            Err(ConfigError::Value { name, value: value.to_owned(), reason })
        }
    }
}
