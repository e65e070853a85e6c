//! Who waits for a partition's high watermark.

use std::collections::VecDeque;
use std::sync::Arc;

use super::AppendError;

/// Called once with the fate of an append.
pub(crate) type Completion = Box<dyn FnOnce(Result<(), AppendError>) + Send>;

/// Someone to tell of each move of a high watermark.
pub(crate) trait HighWatermarkWatcher: Send + Sync {
    /// Whether it needs no more telling.
    fn is_done(&self) -> bool;
    /// The high watermark moved, or the partition went offline.
    fn moved(&self);
}

/// Waiting answers and watchers. Answers are bounded by the requests that connections may have in flight, watchers
/// by one parked fetch a connection: finished ones leave with the next.
#[derive(Default)]
pub(super) struct Waiters {
    /// In order of their offsets, as far as appends are; a duplicate's may be lower.
    completions: VecDeque<(i64, Completion)>,
    watchers: Vec<Arc<dyn HighWatermarkWatcher>>,
}

impl Waiters {
    pub(super) fn await_offset(&mut self, offset: i64, completion: Completion) {
        let behind = self.completions.partition_point(|(waiting, _)| *waiting <= offset);
        self.completions.insert(behind, (offset, completion));
    }

    pub(super) fn watch(&mut self, watcher: Arc<dyn HighWatermarkWatcher>) {
        self.watchers.retain(|watcher| !watcher.is_done());
        self.watchers.push(watcher);
    }

    /// Those to tell once the high watermark is `offset`.
    pub(super) fn up_to(&mut self, offset: i64) -> Ready {
        let reached = self.completions.partition_point(|(waiting, _)| *waiting <= offset);
        let completions = self.completions.drain(..reached).map(|(_, completion)| completion).collect();
        self.watchers.retain(|watcher| !watcher.is_done());
        Ready { completions, watchers: self.watchers.clone(), failed: None }
    }

    /// Everyone, for the offsets they wait for will not come.
    pub(super) fn all_failed(&mut self, reason: AppendError) -> Ready {
        let completions = self.completions.drain(..).map(|(_, completion)| completion).collect();
        Ready { completions, watchers: std::mem::take(&mut self.watchers), failed: Some(reason) }
    }
}

/// Answers that can be given now; run without the partition's lock.
#[derive(Default)]
#[must_use]
pub(super) struct Ready {
    completions: Vec<Completion>,
    watchers: Vec<Arc<dyn HighWatermarkWatcher>>,
    failed: Option<AppendError>,
}

impl Ready {
    pub(super) fn run(self) {
        for completion in self.completions {
            completion(self.failed.clone().map_or(Ok(()), Err));
        }
        for watcher in self.watchers {
            watcher.moved();
        }
    }
}
