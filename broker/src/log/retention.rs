//! Which old segments go: by age and by size, as Kafka decides it, but never the active one.

use super::Log;

impl Log {
    /// Where the log should start by `retention.ms` and `retention.bytes`; its start when nothing is to go. Only
    /// segments wholly below `high_watermark` go.
    pub(crate) fn retained_from(&self, high_watermark: i64, now_ms: i64) -> i64 {
        if !self.config.delete {
            return self.log_start_offset;
        }
        let Some((_, sealed)) = self.segments.split_last() else { return self.log_start_offset };
        let mut start = self.log_start_offset;
        let mut excess = match u64::try_from(self.config.retention_bytes) {
            Ok(kept) => self.size().saturating_sub(kept),
            Err(_) => 0,
        };
        for (place, segment) in sealed.iter().enumerate() {
            let next = self.segments[place + 1].base_offset;
            // Retention by age goes by the records' time; a segment without any is as old as its file, and stays.
            let expired = self.config.retention_ms >= 0
                && segment.max_timestamp >= 0
                && now_ms.saturating_sub(segment.max_timestamp) > self.config.retention_ms;
            let surplus = excess >= segment.size && self.config.retention_bytes >= 0;
            if next > high_watermark || !(expired || surplus) {
                break;
            }
            excess = excess.saturating_sub(segment.size);
            start = start.max(next);
        }
        start
    }
}
