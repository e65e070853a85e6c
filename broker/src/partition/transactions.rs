//! A partition's part in transactions: batches are let in while their transaction is open, markers end it.
//!
//! Invariant: a batch that opens a transaction here is one of whose transaction the coordinator knows that it has this
//! partition in it, so that a marker will come.

use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::records::{BatchHeader, EndTransactionMarker, control_batch};

use super::appending::Hurry;
use super::{AppendError, Partition, State};
use crate::clock::now_ms;
use crate::log::{Appended, ProducerSnapshotEntry};

/// What stood in a partition when its transaction coordinator was asked about a producer: the answer is good as long as
/// no marker has been written since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MarkerGuard(u64);

impl Partition {
    /// Whether the coordinator must be asked before a producer writes here, and the guard to append with then; `None`
    /// while a transaction of that epoch is open.
    pub(crate) fn guard(&self, producer_id: i64, producer_epoch: i16) -> Option<MarkerGuard> {
        let state = self.state.lock();
        let is_open = state.log.producers().has_open_transaction(producer_id, producer_epoch);
        (!is_open).then_some(MarkerGuard(state.markers))
    }

    /// As [`Partition::append`], for a transactional batch. `guard` is from before the coordinator was asked; `None`
    /// where it need not be asked.
    ///
    /// # Errors
    /// [`AppendError::TransactionEnded`] when a marker came in between: ask again.
    pub(crate) fn append_in_transaction(
        self: &Arc<Self>,
        batch: &Bytes,
        header: BatchHeader,
        guard: Option<MarkerGuard>,
    ) -> Result<Appended, AppendError> {
        let (id, epoch) = (header.producer_id, header.producer_epoch);
        self.append_if(batch, header, Hurry::Now, move |state: &State| {
            let is_open = state.log.producers().has_open_transaction(id, epoch);
            let is_current = guard == Some(MarkerGuard(state.markers));
            if is_open || is_current { Ok(()) } else { Err(AppendError::TransactionEnded) }
        })
    }

    /// Writes the marker that ends a producer's transaction here; answers the offset behind it. `is_epoch_bumped` says
    /// that its epoch is one above that of the transaction's records. When it is written and cannot be noted in the
    /// transaction index, the partition goes offline: readers would be shown what was aborted.
    ///
    /// # Errors
    /// [`AppendError`]: [`AppendError::Marker`] when the producer or the coordinator was replaced, or the marker is
    /// there.
    pub(crate) fn end_transaction(
        self: &Arc<Self>,
        producer_id: i64,
        producer_epoch: i16,
        marker: EndTransactionMarker,
        is_epoch_bumped: bool,
    ) -> Result<i64, AppendError> {
        let now_ms = now_ms();
        let batch = control_batch(producer_id, producer_epoch, now_ms, marker);
        let header = BatchHeader::parse(&batch).map_err(|_| AppendError::Offline)?;
        let mut state = self.open_state()?;
        let producers = state.log.producers();
        producers.check_marker(producer_id, producer_epoch, is_epoch_bumped, marker.coordinator_epoch)?;
        let before = state.log.next_offset();
        match state.log.append_marker(&batch, header, &marker, self.shared.leader_epoch, now_ms) {
            Ok(appended) => {
                state.markers += 1;
                self.appended(state, batch.len() as u64, 1, now_ms, Hurry::Now);
                Ok(appended.next_offset)
            }
            // A full disk, say: nothing has happened.
            Err(error) if state.log.next_offset() == before => Err(error.into()),
            Err(error) => {
                let ready = state.end(AppendError::Offline);
                drop(state);
                ready.run();
                Err(error.into())
            }
        }
    }

    /// The producers remembered here, by id: for administrators.
    pub(crate) fn producers(&self) -> Vec<ProducerSnapshotEntry> {
        self.state.lock().log.producers().snapshot()
    }
}
