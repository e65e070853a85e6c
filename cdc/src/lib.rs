//! The outbox connector: rows committed to an outbox table in Postgres become records in Kafka topics.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod causes;
pub mod checks;
mod config;
mod connector;
mod control;
mod lsn;
pub mod outbox;
pub mod pgoutput;
mod postgres_url;
pub mod publish;
mod quoting;
mod replication;
pub mod router;
mod status;

pub use config::{ConfigError, ConnectorConfig, Delivery, OnError};
pub use connector::{Connector, ConnectorError, RowPosition};
pub use control::ControlError;
pub use lsn::{Lsn, ParseLsnError};
pub use postgres_url::{PostgresUrl, PostgresUrlError};
pub use quoting::{TableName, TableNameError};
pub use status::{Snapshot, State, Status};
