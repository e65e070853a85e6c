//! What one measurement found: named numbers, printed as one JSON line or as a line for people.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::latency::Latencies;
use crate::process::Used;

/// Named numbers in the order they were added. A name ends in its unit, as `ack_p50_us`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Figures(Vec<(String, f64)>);

impl Figures {
    /// Adds a number.
    pub(crate) fn add(&mut self, name: impl Into<String>, value: f64) {
        self.0.push((name.into(), value));
    }

    /// Adds median, 99th percentile and worst of `latencies`, in microseconds.
    pub(crate) fn add_latencies(&mut self, name: &str, latencies: Latencies) {
        let summary = latencies.summary();
        self.add(format!("{name}_p50_us"), summary.p50_us);
        self.add(format!("{name}_p99_us"), summary.p99_us);
        self.add(format!("{name}_max_us"), summary.max_us);
    }

    /// Adds median and worst of `latencies`, in milliseconds: for what is measured too seldom for a percentile.
    pub(crate) fn add_times(&mut self, name: &str, latencies: Latencies) {
        let summary = latencies.summary();
        self.add(format!("{name}_p50_ms"), summary.p50_us / 1e3);
        self.add(format!("{name}_max_ms"), summary.max_us / 1e3);
    }

    /// Adds what so many operations took.
    pub(crate) fn add_cost(&mut self, used: Used, operations: u64) {
        self.add("seconds", used.time.as_secs_f64());
        let each = |cpu: Duration| cpu.as_secs_f64() * 1e6 / operations as f64;
        if let Some(cpu) = used.server_cpu {
            self.add("cpu_us_each", each(cpu));
        }
        self.add("generator_cpu_us_each", each(used.own_cpu));
    }

    /// Adds what moving `bytes` in `operations` took: GB are 10⁹ bytes of record batches, headers included.
    pub(crate) fn add_used(&mut self, used: Used, bytes: u64, operations: u64) {
        let seconds = used.time.as_secs_f64();
        let gigabytes = bytes as f64 / 1e9;
        self.add("seconds", seconds);
        self.add("mb_per_s", bytes as f64 / 1e6 / seconds);
        if let Some(cpu) = used.server_cpu {
            self.add("cpu_s_per_gb", cpu.as_secs_f64() / gigabytes);
            self.add("cpu_us_each", cpu.as_secs_f64() * 1e6 / operations as f64);
        }
        self.add("generator_cpu_s_per_gb", used.own_cpu.as_secs_f64() / gigabytes);
    }

    /// A number by its name.
    #[cfg(test)]
    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Every name with its number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// As a JSON object.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        self.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in self.iter() {
            writeln!(formatter, "{name:width$}  {}", number(value))?;
        }
        Ok(())
    }
}

/// A number with about three significant digits, thousands set apart.
pub(crate) fn number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 100.0 {
        return thousands(value.round() as i64);
    }
    let decimals = if magnitude >= 10.0 {
        1
    } else if magnitude >= 1.0 || magnitude == 0.0 {
        2
    } else {
        3
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn thousands(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests;
