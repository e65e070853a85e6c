//! The threads that look after logs: one for checkpoints, retention and late syncs, one for compaction.
//!
//! Nothing waits for them; an error is logged, and the next round tries again.

mod compaction;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::broker::BrokerState;
use crate::clock::now_ms;

/// How often `flush.ms` is looked after, while any topic has it.
const FLUSH_CHECK: Duration = Duration::from_millis(250);
/// A wall clock that moved so much against the monotonic one is not believed for one round: nothing is deleted by it.
const JUMP_MS_MAX: i64 = 60 * 60 * 1000;

/// The threads, which end with this.
pub(crate) struct Maintenance {
    signal: Arc<Signal>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Signal {
    lock: Mutex<()>,
    changed: Condvar,
    stopping: AtomicBool,
}

impl Maintenance {
    /// Starts the threads.
    pub(crate) fn start(broker: &Arc<BrokerState>) -> Self {
        let signal = Arc::new(Signal::default());
        let mut threads = Vec::new();
        let mut spawn = |name: &str, run: Box<dyn FnOnce() + Send>| match std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)
        {
            Ok(thread) => threads.push(thread),
            Err(error) => tracing::error!(%error, thread = name, "cannot start a thread: logs only grow"),
        };
        let (rounds, for_rounds) = (Rounds::new(Arc::clone(broker)), Arc::clone(&signal));
        spawn("log-maintenance", Box::new(move || rounds.run(&for_rounds)));
        if broker.config.log.cleaner_enabled {
            let (broker, for_cleaner) = (Arc::clone(broker), Arc::clone(&signal));
            spawn("log-cleaner", Box::new(move || compaction::run(&broker, &for_cleaner)));
        }
        Self { signal, threads }
    }

    /// Ends the threads. Blocks.
    pub(crate) fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.signal.stopping.store(true, Ordering::Relaxed);
        drop(self.signal.lock.lock());
        self.signal.changed.notify_all();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("log maintenance panicked");
            }
        }
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        self.end();
    }
}

impl Signal {
    /// Waits until `at`; false when the thread is to end.
    fn wait_until(&self, at: Instant) -> bool {
        let mut guard = self.lock.lock();
        let is_stopping = || self.stopping.load(Ordering::Relaxed);
        self.changed.wait_while_until(&mut guard, |()| !is_stopping(), at);
        !is_stopping()
    }
}

/// When what is due next.
struct Rounds {
    broker: Arc<BrokerState>,
    checkpoint: Instant,
    retention: Instant,
    flush: Instant,
    /// Monotonic and wall time of the last retention.
    last: (Instant, i64),
}

impl Rounds {
    fn new(broker: Arc<BrokerState>) -> Self {
        let now = Instant::now();
        let log = &broker.config.log;
        let (checkpoint, retention) = (now + log.offset_checkpoint_interval, now + log.retention_check_interval);
        Self { checkpoint, retention, flush: now + FLUSH_CHECK, last: (now, now_ms()), broker }
    }

    fn run(mut self, signal: &Signal) {
        loop {
            let mut next = self.checkpoint.min(self.retention);
            if self.has_flush_times() {
                next = next.min(self.flush);
            }
            if !signal.wait_until(next) {
                return;
            }
            let now = Instant::now();
            if now >= self.flush {
                self.flush = now + FLUSH_CHECK;
                self.flush();
            }
            if now >= self.retention {
                self.retention = now + self.broker.config.log.retention_check_interval;
                self.retain(now);
            }
            if now >= self.checkpoint {
                self.checkpoint = now + self.broker.config.log.offset_checkpoint_interval;
                self.write_checkpoints();
            }
        }
    }

    fn has_flush_times(&self) -> bool {
        self.broker.topics.snapshot().all().any(|topic| topic.config.flush_ms() < i64::MAX)
    }

    fn flush(&self) {
        let now_ms = now_ms();
        for topic in self.broker.topics.snapshot().all().filter(|topic| topic.config.flush_ms() < i64::MAX) {
            topic.partitions.iter().for_each(|partition| partition.flush_when_due(now_ms));
        }
    }

    fn write_checkpoints(&self) {
        let expiration_ms = self.broker.settings.in_force().config().log.producer_id_expiration.as_millis() as i64;
        for topic in self.broker.topics.snapshot().all() {
            for partition in &topic.partitions {
                partition.expire(now_ms(), expiration_ms);
                if let Err(error) = partition.write_checkpoint() {
                    tracing::warn!(topic = %topic.name, partition = partition.index(), %error, "cannot write a checkpoint");
                }
            }
        }
        if let Err(error) = self.broker.write_checkpoints() {
            tracing::warn!(%error, "cannot write the checkpoint files");
        }
    }

    fn retain(&mut self, now: Instant) {
        let now_ms = now_ms();
        let elapsed_ms = now.duration_since(self.last.0).as_millis() as i64;
        let jumped = (now_ms - self.last.1 - elapsed_ms).abs() > JUMP_MS_MAX;
        self.last = (now, now_ms);
        if jumped {
            tracing::warn!("the clock was set: nothing is deleted by it in this round");
            return;
        }
        let topics = self.broker.topics.snapshot();
        let mut moved = false;
        for partition in topics.all().flat_map(|topic| &topic.partitions) {
            moved |= partition.apply_retention(now_ms);
        }
        // What is to go must not come back: the logs' new starts are on disk before a segment goes.
        if moved && let Err(error) = self.broker.write_checkpoints() {
            tracing::warn!(%error, "cannot write down where logs start: nothing is deleted");
            return;
        }
        for topic in topics.all() {
            for partition in &topic.partitions {
                match partition.remove_segments(now_ms) {
                    Ok(0) => {}
                    Ok(segments) => {
                        tracing::info!(topic = %topic.name, partition = partition.index(), segments, "deleted old segments");
                    }
                    Err(error) => {
                        tracing::warn!(topic = %topic.name, partition = partition.index(), %error, "cannot delete old segments");
                    }
                }
            }
        }
    }
}
