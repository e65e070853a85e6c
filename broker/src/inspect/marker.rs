//! Control records: what stands in a batch that holds no data.
//!
//! ```text
//! key    int16 version │ int16 type: 0 abort, 1 commit, others are KRaft's
//! value  of abort and commit: int16 version │ int32 coordinator epoch
//! ```

use pillion_wire::records::Record;
use serde::Serialize;

/// A control record (KIP-98, KIP-595).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ControlMarker {
    /// Ends a transaction whose records are not to be seen.
    Abort,
    /// Ends a transaction.
    Commit,
    /// KRaft: a new leader.
    LeaderChange,
    /// KRaft: begins a snapshot.
    SnapshotHeader,
    /// KRaft: ends a snapshot.
    SnapshotFooter,
    /// KRaft: its version.
    KraftVersion,
    /// KRaft: who votes.
    KraftVoters,
    /// Of no type known here.
    Unknown,
}

impl ControlMarker {
    /// What a record of a control batch says, and its coordinator's epoch where it ends a transaction.
    #[must_use]
    pub fn read(record: &Record) -> (Self, Option<i32>) {
        let Some([_, _, high, low]) = record.key.as_deref().and_then(|key| key.first_chunk()) else {
            return (Self::Unknown, None);
        };
        let marker = match i16::from_be_bytes([*high, *low]) {
            0 => Self::Abort,
            1 => Self::Commit,
            2 => Self::LeaderChange,
            3 => Self::SnapshotHeader,
            4 => Self::SnapshotFooter,
            5 => Self::KraftVersion,
            6 => Self::KraftVoters,
            _ => Self::Unknown,
        };
        let ends_transaction = matches!(marker, Self::Abort | Self::Commit);
        let value = record.value.as_deref().and_then(|value| value.get(2..6)?.first_chunk::<4>());
        (marker, value.filter(|_| ends_transaction).map(|epoch| i32::from_be_bytes(*epoch)))
    }
}
