//! Consuming.
mod config;

use std::sync::Arc;
use std::time::Duration;

pub use config::{Assignment, ConsumedRecord, ConsumerConfig, IsolationLevel};

use crate::client::ClientShared;
use crate::error::ClientError;
use crate::offsets::Offset;

/// Reads assigned partitions.
pub struct Consumer {}
impl Consumer {
    pub(crate) fn new(_client: Arc<ClientShared>, _config: ConsumerConfig) -> Self { Self {} }
    /// Replaces what is read.
    pub async fn assign(&mut self, _assignments: Vec<Assignment>) -> Result<(), ClientError> { Err(ClientError::Closed) }
    /// Moves a position.
    pub fn seek(&mut self, _topic: &str, _partition: i32, _offset: Offset) -> Result<(), ClientError> { Err(ClientError::Closed) }
    /// The next record's offset.
    pub fn position(&self, _topic: &str, _partition: i32) -> Option<i64> { None }
    /// The log's end as last seen (high watermark, exclusive).
    pub fn high_watermark(&self, _topic: &str, _partition: i32) -> Option<i64> { None }
    /// Records, as soon as there are some.
    pub async fn poll(&mut self, _max_wait: Duration) -> Result<Vec<ConsumedRecord>, ClientError> { Err(ClientError::Closed) }
}
