//! Group commit: the threads that make appends durable.
//!
//! A partition with unsynced bytes is queued once. A thread takes it, syncs its files outside every lock, moves its
//! high watermark and sends the waiting answers itself, so one fdatasync serves every append that came before it
//! and a record is handed over between threads once. Threads are started when there is work and none is free, at
//! least none and at most [`THREADS_MAX`]: syncs of different files overlap, and a slow one holds up nobody else.

mod dirty;

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

pub(crate) use dirty::DirtyBytes;

/// Syncs that run at once. Six files synced in parallel took 1.6 times as long as one where measured; more gained nothing.
const THREADS_MAX: usize = 6;

/// Something with unsynced bytes.
pub(crate) trait SyncJob: Send + Sync {
    /// Syncs once; answers whether there is more to sync already.
    fn run(self: Arc<Self>) -> bool;
}

/// Runs sync jobs on threads of its own.
#[derive(Clone, Default)]
pub(crate) struct SyncScheduler {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Arc<dyn SyncJob>>,
    idle: usize,
    threads: Vec<JoinHandle<()>>,
    stopping: bool,
}

impl SyncScheduler {
    /// Queues a job, which its owner queues only once at a time: that bounds the queue by the number of partitions.
    pub(crate) fn schedule(&self, job: Arc<dyn SyncJob>) {
        let mut queue = self.shared.queue.lock();
        queue.jobs.push_back(job);
        if queue.jobs.len() > queue.idle && queue.threads.len() < THREADS_MAX && !queue.stopping {
            let shared = Arc::clone(&self.shared);
            match std::thread::Builder::new().name("log-sync".to_owned()).spawn(move || shared.work()) {
                Ok(thread) => queue.threads.push(thread),
                Err(error) => tracing::error!(%error, "cannot start a sync thread"),
            }
        }
        drop(queue);
        self.shared.wake.notify_one();
    }

    /// Finishes what is queued and ends the threads. Blocks.
    pub(crate) fn stop(&self) {
        let threads = {
            let mut queue = self.shared.queue.lock();
            queue.stopping = true;
            std::mem::take(&mut queue.threads)
        };
        self.shared.wake.notify_all();
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a sync thread panicked");
            }
        }
    }
}

impl Shared {
    fn work(&self) {
        while let Some(job) = self.next() {
            if Arc::clone(&job).run() {
                self.queue.lock().jobs.push_back(job);
            }
        }
    }

    /// Waits for a job; `None` once everything is done and the threads shall end.
    fn next(&self) -> Option<Arc<dyn SyncJob>> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.stopping {
                return None;
            }
            queue.idle += 1;
            self.wake.wait(&mut queue);
            queue.idle -= 1;
        }
    }
}
