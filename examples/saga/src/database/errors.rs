//! Which errors of a database pass by themselves, and which come again however often the same is tried.

use std::time::Duration;

use deadpool_postgres::PoolError;
use tokio_postgres::error::DbError;

/// The database stands still or is out of reach.
#[derive(Debug)]
pub struct NoAnswer(
    /// How long was waited.
    pub Duration,
);

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "timeout: the database has not answered within {:?}", self.0)
    }
}

impl std::error::Error for NoAnswer {}

/// Classes of SQLSTATE that say nothing about the statement: connection exception, transaction rollback (deadlock,
/// serialization failure), insufficient resources, object in use, operator intervention, system error.
const PASSING_CLASSES: [&str; 6] = ["08", "40", "53", "55", "57", "58"];

/// Whether the same attempt may succeed later without anybody's help: the database was away, slow, busy or restarting.
pub fn is_passing(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        if let Some(error) = cause.downcast_ref::<tokio_postgres::Error>() {
            return match error.as_db_error() {
                Some(refusal) => is_passing_refusal(refusal),
                // Neither the server's word nor a value's that could not be converted: the connection's.
                None => error.is_closed() || is_io(error),
            };
        }
        cause.is::<rdkafka::error::KafkaError>()
            || cause.is::<NoAnswer>()
            || cause.is::<PoolError>()
            || cause.is::<Conflict>()
    })
}

fn is_passing_refusal(refusal: &DbError) -> bool {
    PASSING_CLASSES.iter().any(|class| refusal.code().code().starts_with(class))
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<std::io::Error>())
}

/// Somebody else changed the same row in between: what was decided upon is no longer so. Tried again, it is decided anew.
#[derive(Debug)]
pub struct Conflict(
    /// What was changed meanwhile.
    pub &'static str,
);

impl std::fmt::Display for Conflict {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "conflict: {} has been changed by somebody else meanwhile", self.0)
    }
}

impl std::error::Error for Conflict {}
