//! Which transaction wrote a row: as a number that never wraps around (`xid8`), and as SQL.
//!
//! A row says it in `xmin`, the lower 32 bits. The upper ones follow from what the next transaction's id is: a row that
//! is there was written by one of the last 2³² transactions before it. Rows older than 2³¹ transactions are frozen
//! (PostgreSQL documentation, 25.1.5) and keep their `xmin`, so a row that lies in its table for more than
//! 4,294,967,296 transactions looks young again: no column says that it is not. Prune the outbox before.

use crate::control::ControlError;
use crate::quoting::identifier;

/// Ids below are not transactions': rows with one of them are older than all others (`access/transam.h`).
const FIRST_NORMAL: u32 = 3;

/// How a table tells the transaction ids of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TransactionIds {
    /// By `xmin`, seen from this next transaction id. No index can help: the table is read from end to end.
    Xmin {
        /// `pg_snapshot_xmax` of the snapshot the rows are read in.
        next: u64,
    },
    /// By a column of type `xid8` with the default `pg_current_xact_id()`, which may have an index.
    Column(String),
}

impl TransactionIds {
    /// The id, as SQL of type text; "0" for one older than all others.
    pub(crate) fn value(&self) -> String {
        match self {
            TransactionIds::Xmin { next } => {
                format!("CASE WHEN {} THEN ({next} - {})::text ELSE '0' END", is_normal(), distance(*next))
            }
            TransactionIds::Column(column) => format!("{}::text", identifier(column)),
        }
    }

    /// The latest id of the rows, as SQL of type text; NULL where there are none.
    pub(crate) fn latest(&self) -> String {
        match self {
            TransactionIds::Xmin { next } => {
                format!("max(CASE WHEN {} THEN {next} - {} ELSE 0 END)::text", is_normal(), distance(*next))
            }
            // Servers before 16 have no max(xid8).
            TransactionIds::Column(column) => format!("max({}::text::int8)::text", identifier(column)),
        }
    }

    /// Whether the id is `bound` or later, as SQL.
    pub(crate) fn at_least(&self, bound: u64) -> String {
        match self {
            TransactionIds::Xmin { .. } if bound == 0 => "true".to_owned(),
            TransactionIds::Xmin { next } => {
                format!("({} AND {} <= {})", is_normal(), distance(*next), next.saturating_sub(bound))
            }
            TransactionIds::Column(column) => format!("{} >= '{bound}'::xid8", identifier(column)),
        }
    }

    /// Whether the id is earlier than `bound`, as SQL.
    pub(crate) fn below(&self, bound: u64) -> String {
        match self {
            TransactionIds::Xmin { next } => {
                format!("(NOT {} OR {} > {})", is_normal(), distance(*next), next.saturating_sub(bound))
            }
            TransactionIds::Column(column) => format!("{} < '{bound}'::xid8", identifier(column)),
        }
    }

    /// Whether the id is one of `ids`, as SQL.
    pub(crate) fn one_of(&self, ids: impl Iterator<Item = u64>) -> String {
        match self {
            TransactionIds::Xmin { next } => {
                let distances: Vec<String> = ids.map(|id| next.saturating_sub(id).to_string()).collect();
                format!("({} AND {} = ANY ('{{{}}}'::int8[]))", is_normal(), distance(*next), distances.join(","))
            }
            TransactionIds::Column(column) => {
                let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
                format!("{} = ANY ('{{{}}}'::xid8[])", identifier(column), ids.join(","))
            }
        }
    }

    /// An expression to order by id, the earliest first.
    pub(crate) fn order(&self) -> String {
        match self {
            TransactionIds::Xmin { next } => {
                format!("CASE WHEN {} THEN {} ELSE 4294967297 END DESC", is_normal(), distance(*next))
            }
            TransactionIds::Column(column) => identifier(column),
        }
    }
}

fn is_normal() -> String {
    format!("xmin::text::int8 >= {FIRST_NORMAL}")
}

/// How many transactions `xmin` lies behind `next`, 1 to 2³², as SQL; what [`full`] computes.
fn distance(next: u64) -> String {
    format!("((({} - xmin::text::int8 - 1) & 4294967295) + 1)", next & u64::from(u32::MAX))
}

/// The id whose lower 32 bits are `xmin`, of a row that is there when the next transaction will be `next`; 0 for one
/// older than all others.
#[cfg(test)]
pub(super) fn full(next: u64, xmin: u32) -> u64 {
    if xmin < FIRST_NORMAL {
        return 0;
    }
    let distance = u64::from((next as u32).wrapping_sub(xmin).wrapping_sub(1)) + 1;
    // Where the upper bits were lost (pg_resetwal) nothing is known but that it is old.
    next.saturating_sub(distance)
}

/// `xmin` and `xmax` of a snapshot's text, `xmin:xmax:list` (PostgreSQL documentation, 9.26.8).
///
/// # Errors
/// With the text, when it is none.
pub(crate) fn parse_snapshot(text: &str) -> Result<(u64, u64), ControlError> {
    let mut parts = text.split(':');
    let mut number = || parts.next()?.parse::<u64>().ok();
    match (number(), number()) {
        (Some(xmin), Some(xmax)) if xmin <= xmax => Ok((xmin, xmax)),
        _ => Err(ControlError::Answer(text.chars().take(100).collect())),
    }
}

#[cfg(test)]
mod tests;
