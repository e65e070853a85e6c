//! Prometheus' text format, version 0.0.4: what every scraper reads, and `promtool check metrics` checks.
//!
//! Written here rather than by `prometheus-client`: that one keeps numbers of its own and writes OpenMetrics, in which
//! tools of the older format see counters without a type. Here are numbers of one moment, kept elsewhere.

use std::fmt::{Display, Write as _};

use pillion_broker::HistogramSnapshot;

/// What kind of metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only grows while the process runs; its name ends in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Durations by how long they were.
    Histogram,
}

/// The text so far.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    text: String,
}

/// One metric, whose series are written one after another.
pub(crate) struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

/// Names and values of labels.
pub(crate) type Labels<'a> = &'a [(&'static str, &'a str)];

impl Exposition {
    /// What `Content-Type` calls it.
    pub(crate) const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Begins a metric. A metric without series leaves only what is said of it here, which is legal.
    pub(crate) fn family(&mut self, kind: Kind, name: &'static str, help: &str) -> Family<'_> {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a String does not fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        Family { text: &mut self.text, name }
    }

    /// A counter of one series.
    pub(crate) fn counter(&mut self, name: &'static str, help: &str, value: impl Display) {
        self.family(Kind::Counter, name, help).series(&[], value);
    }

    /// A gauge of one series.
    pub(crate) fn gauge(&mut self, name: &'static str, help: &str, value: impl Display) {
        self.family(Kind::Gauge, name, help).series(&[], value);
    }

    /// The text.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

impl Family<'_> {
    /// One series.
    pub(crate) fn series(&mut self, labels: Labels<'_>, value: impl Display) {
        self.line("", labels, None, value);
    }

    /// One histogram, buckets cumulative as Prometheus wants them.
    pub(crate) fn histogram(&mut self, labels: Labels<'_>, histogram: &HistogramSnapshot) {
        let mut count = 0;
        for (bound, in_bucket) in &histogram.buckets {
            count += in_bucket;
            let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
            self.line("_bucket", labels, Some(&bound), count);
        }
        self.line("_sum", labels, None, histogram.sum_seconds);
        self.line("_count", labels, None, count);
    }

    fn line(&mut self, suffix: &str, labels: Labels<'_>, bound: Option<&str>, value: impl Display) {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        let labels = labels.iter().copied().chain(bound.map(|bound| ("le", bound)));
        let mut before = '{';
        for (name, value) in labels {
            self.text.push(before);
            before = ',';
            let _ = write!(self.text, "{name}=\"");
            escape(value, self.text);
            self.text.push('"');
        }
        if before == ',' {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

/// A label's value: group names may hold anything.
fn escape(value: &str, text: &mut String) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests;
