//! What was measured, and how it is shown.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

/// One measurement.
pub(crate) struct Figures {
    /// What was measured.
    pub(crate) what: &'static str,
    pub(crate) records: u64,
    /// Bytes of the values.
    pub(crate) bytes: u64,
    pub(crate) elapsed: Duration,
    /// Of each record or of a sample of them, in any order; none where there is none to be had.
    pub(crate) latencies: Vec<Duration>,
}

impl Figures {
    /// Writes it to standard output.
    pub(crate) fn write(mut self, is_json: bool) -> Result<()> {
        self.latencies.sort_unstable();
        let seconds = self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        let (per_second, bytes) = (self.records as f64 / seconds, self.bytes as f64 / seconds);
        let shares = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)];
        let latency = |share: f64| percentile(&self.latencies, share).map(|latency| latency.as_secs_f64() * 1e3);
        let mut stdout = std::io::stdout().lock();
        if is_json {
            let latencies = shares.map(|(name, share)| (name.to_owned(), json!(latency(share))));
            let document = json!({
                "what": self.what,
                "records": self.records,
                "seconds": self.elapsed.as_secs_f64(),
                "recordsPerSecond": per_second,
                "bytesPerSecond": bytes,
                "latencyMs": serde_json::Map::from_iter(latencies),
            });
            writeln!(stdout, "{document}")?;
            return Ok(());
        }
        writeln!(
            stdout,
            "{}: {} records in {:.3} s, {per_second:.0} records/s, {:.1} MB/s",
            self.what,
            self.records,
            self.elapsed.as_secs_f64(),
            bytes / 1e6
        )?;
        let shown = shares.map(|(name, share)| latency(share).map(|ms| format!("{name} {ms:.2} ms")));
        let shown: Vec<String> = shown.into_iter().flatten().collect();
        if !shown.is_empty() {
            writeln!(stdout, "latency: {}", shown.join(", "))?;
        }
        Ok(())
    }
}

/// The value below which this share of sorted values lies.
fn percentile(sorted: &[Duration], share: f64) -> Option<Duration> {
    let place = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let sorted: Vec<Duration> = (1..=100).map(Duration::from_millis).collect();
        let of = |share| percentile(&sorted, share).unwrap().as_millis();
        assert_eq!([of(0.5), of(0.99), of(1.0), of(0.0)], [50, 99, 100, 1]);
        assert_eq!(percentile(&[], 0.5), None);
    }
}
