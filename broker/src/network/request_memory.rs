//! Memory of requests: a bound over all connections, `queued.max.request.bytes`.
//!
//! A large frame is given memory step by step, as its bytes arrive, and gives it back when its handler has dropped
//! the request. Until there is some its socket is not read, which slows its producer down. Half of the bound is for
//! all frames; the other half is a lane for one at a time, which has what it needs to its end.
//!
//! Invariants: the length a frame claims takes no memory from others before that many bytes came. Frames that wait
//! for each other's memory cannot block each other for good, for the one in the lane always ends. All together is at
//! most the bound, or half of it and one frame that is larger than the other half.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Frames up to this size need no share: a heartbeat, a fetch or a commit does not wait behind producers. What they
/// take is bounded by the number of connections.
pub(crate) const SMALL_FRAME_BYTES: usize = 4 * 1024;
/// The first step of a large frame; each further one doubles what it has.
const FIRST_STEP_BYTES: usize = 128 * 1024;
/// The part of the common memory that one frame may have; a larger one needs the lane.
const FRAMES_MIN: usize = 8;

/// The memory that requests may take.
pub(crate) struct RequestMemory {
    common: Arc<Semaphore>,
    common_bytes: usize,
    lane: Arc<Semaphore>,
    /// What the frame in the lane takes beyond the common memory.
    lane_bytes: Arc<AtomicUsize>,
}

/// Memory of one request, given back when dropped.
#[derive(Debug, Default)]
pub(crate) struct MemoryShare {
    bytes: usize,
    grants: Vec<Grant>,
}

/// A step of a share.
#[derive(Debug)]
pub(crate) struct Grant {
    bytes: usize,
    _permit: OwnedSemaphorePermit,
    /// Where a grant of the lane is counted.
    lane_bytes: Option<Arc<AtomicUsize>>,
}

/// A place among those who wait for a grant; dropped, it is given up.
pub(crate) type MemoryWait = Pin<Box<dyn Future<Output = Grant> + Send>>;

impl RequestMemory {
    /// At most `bytes_max`; `None` for no bound.
    pub(crate) fn new(bytes_max: Option<usize>) -> Self {
        let common_bytes = bytes_max.map_or(Semaphore::MAX_PERMITS, |bytes| bytes.div_ceil(2));
        Self {
            common: Arc::new(Semaphore::new(common_bytes)),
            common_bytes,
            lane: Arc::new(Semaphore::new(1)),
            lane_bytes: Arc::default(),
        }
    }

    /// More memory for a frame of `size` bytes that has `held`, unless others have it or wait for it.
    pub(crate) fn take(&self, held: usize, size: usize) -> Option<Grant> {
        let step = self.common_step(held, size).and_then(|step| {
            let permit = Arc::clone(&self.common).try_acquire_many_owned(step).ok()?;
            Some(Grant { bytes: step as usize, _permit: permit, lane_bytes: None })
        });
        step.or_else(|| {
            let permit = Arc::clone(&self.lane).try_acquire_owned().ok()?;
            Some(Grant::of_lane(&self.lane_bytes, permit, size - held))
        })
    }

    /// As [`RequestMemory::take`], behind those who asked before.
    pub(crate) fn wait(&self, held: usize, size: usize) -> MemoryWait {
        let (common, lane, lane_bytes) =
            (Arc::clone(&self.common), Arc::clone(&self.lane), Arc::clone(&self.lane_bytes));
        let step = self.common_step(held, size);
        Box::pin(async move {
            tokio::select! {
                biased;
                Ok(permit) = common.acquire_many_owned(step.unwrap_or(0)), if step.is_some() => {
                    Grant { bytes: step.unwrap_or(0) as usize, _permit: permit, lane_bytes: None }
                }
                Ok(permit) = lane.acquire_owned() => Grant::of_lane(&lane_bytes, permit, size - held),
                else => unreachable!("the semaphores are never closed"),
            }
        })
    }

    /// Bytes in use, or kept back for the one who waits in front.
    pub(crate) fn in_use(&self) -> usize {
        self.common_bytes - self.common.available_permits() + self.lane_bytes.load(Ordering::Relaxed)
    }

    /// The next step from the common memory; `None` when the frame has its part of it already.
    fn common_step(&self, held: usize, size: usize) -> Option<u32> {
        let step = held.max(FIRST_STEP_BYTES).min(size - held);
        let most = (self.common_bytes / FRAMES_MIN).max(FIRST_STEP_BYTES).min(self.common_bytes);
        u32::try_from(step).ok().filter(|_| held + step <= most)
    }
}

impl MemoryShare {
    /// Bytes that may be received.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn add(&mut self, grant: Grant) {
        self.bytes += grant.bytes;
        self.grants.push(grant);
    }
}

impl Grant {
    fn of_lane(lane_bytes: &Arc<AtomicUsize>, permit: OwnedSemaphorePermit, bytes: usize) -> Self {
        lane_bytes.fetch_add(bytes, Ordering::Relaxed);
        Self { bytes, _permit: permit, lane_bytes: Some(Arc::clone(lane_bytes)) }
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        if let Some(lane_bytes) = &self.lane_bytes {
            lane_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}
