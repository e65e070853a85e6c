//! The last warnings and errors of the process, for a page that shows them.
//!
//! Invariant: a bounded number, each of a bounded length; taking one down costs a lock that is held for a moment, and
//! only where a line of the log is written anyway.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Warnings kept.
const KEPT_MAX: usize = 50;
/// Bytes kept of one.
const TEXT_BYTES_MAX: usize = 1024;
/// A library whose lost connections the connector tells of itself.
const SILENT: &str = "pgwire_replication";

static RECENT: Mutex<VecDeque<RecentWarning>> = Mutex::new(VecDeque::new());

/// A warning, or an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentWarning {
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// Whether it is an error.
    pub is_error: bool,
    /// The module it came from.
    pub target: String,
    /// What it said, with its fields behind; cut where it is long.
    pub text: String,
}

/// The last warnings and errors, newest first, at most fifty; none where no logs were set up.
pub fn recent_warnings() -> Vec<RecentWarning> {
    RECENT.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().cloned().collect()
}

/// The layer that takes them down.
pub(super) fn layer<S>() -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    Recent.with_filter(filter_fn(is_wanted).with_max_level_hint(LevelFilter::WARN))
}

fn is_wanted(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= Level::WARN && metadata.is_event() && !metadata.target().starts_with(SILENT)
}

struct Recent;

impl<S: Subscriber> Layer<S> for Recent {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text::default();
        event.record(&mut text);
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let warning = RecentWarning {
            at_ms: i64::try_from(at_ms).unwrap_or(i64::MAX),
            is_error: *event.metadata().level() == Level::ERROR,
            target: event.metadata().target().to_owned(),
            text: text.finish(),
        };
        let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == KEPT_MAX {
            recent.pop_front();
        }
        recent.push_back(warning);
    }
}

/// The message, and the fields behind it.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Text {
    fn finish(self) -> String {
        let mut text = self.message + &self.fields;
        if text.len() > TEXT_BYTES_MAX {
            let end = (0..=TEXT_BYTES_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
        }
        text
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests;
