//! Why an event was not written, or an id not remembered.

/// What can go wrong. After [`Error::TokioPostgres`] or [`Error::Sqlx`] the transaction is aborted: roll it back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The payload cannot be written as JSON: a map whose keys are no strings, or its own `Serialize` refused.
    #[error("the payload cannot be written as JSON")]
    Json(#[source] serde_json::Error),
    /// The name is not `table` or `schema.table`.
    #[error("{0:?} is no table's name; write it as table or schema.table, without quotes")]
    TableName(String),
    /// The database refused, or the connection is gone.
    #[cfg(feature = "tokio-postgres")]
    #[error("the database did not take the row")]
    TokioPostgres(#[from] tokio_postgres::Error),
    /// The database refused, or the connection is gone.
    #[cfg(feature = "sqlx")]
    #[error("the database did not take the row")]
    Sqlx(#[from] ::sqlx::Error),
}
