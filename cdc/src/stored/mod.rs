//! Rows as they lie in their tables, read by SELECT and given the form that the stream of changes has: what
//! [`crate::polling`] and [`crate::snapshot`] are built of.
//!
//! Invariant: a value's text is what `pgoutput` sends for it, for both come from the type's output function under the
//! same settings ([`begin`]). Rows are taken as the server sends them, never more than one at a time.

mod rows;
mod table;
#[cfg(test)]
mod tests;
mod transaction_id;

pub(crate) use rows::{Rows, ask};
pub(crate) use table::{Table, TableError, describe};
pub(crate) use transaction_id::{TransactionIds, parse_snapshot};

/// The statements that open a transaction to read in: one snapshot for all of it, that of another session if its name
/// (`pg_export_snapshot`, CREATE_REPLICATION_SLOT) is given, and values printed as the stream's are, whatever the role
/// has been set to. Time limits of the role's do not hold: rows wait in the server while the broker is slow.
pub(crate) fn begin(exported: Option<&str>) -> String {
    let import = exported.map(|name| format!("SET TRANSACTION SNAPSHOT {};", crate::quoting::literal(name)));
    format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {import}
         SET LOCAL datestyle = 'ISO'; SET LOCAL intervalstyle = 'postgres'; SET LOCAL timezone = 'UTC';
         SET LOCAL bytea_output = 'hex'; SET LOCAL extra_float_digits = 1;
         SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;",
        import = import.unwrap_or_default()
    )
}
