//! What can be wrong with the catalogue.

use pillion_wire::records::RecordsError;
use pillion_wire::{DecodeError, EncodeError};
use thiserror::Error;

use crate::log::LogError;

/// A catalogue that cannot be read or written.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// Its log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Its log holds something that is no batch.
    #[error("the catalogue holds a batch that is not readable")]
    Records(#[from] RecordsError),
    /// A record is of a version this program does not know.
    #[error("the catalogue was written by a newer pillion; start that one, or restore a copy from before it")]
    Unknown(#[source] DecodeError),
    /// One failure that several topics share.
    #[error(transparent)]
    Shared(std::sync::Arc<CatalogueError>),
    /// A sync failed before; what the page cache holds is no evidence of what the disk does.
    #[error("the catalogue is offline after a failed sync; look at the disk, then restart the broker")]
    Offline,
    /// A record that cannot be written.
    #[error("a catalogue record cannot be encoded")]
    Encode(#[from] EncodeError),
}
