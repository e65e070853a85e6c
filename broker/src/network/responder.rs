//! The right to answer one request, from any thread, once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use pillion_wire::{ApiMessage, Chunk, frame};

use super::response_queue::{Part, ResponseQueue};
use crate::log::LogSlice;

/// Answers one request. Dropped without an answer it closes the connection, so that the client does not wait.
pub(crate) struct Responder {
    queue: Arc<ResponseQueue>,
    slot: u64,
    correlation_id: i32,
    version: i16,
    answered: bool,
    /// The API's place in the table, and when the request was read.
    api: usize,
    began: Instant,
}

impl Responder {
    /// For a request to the API at `api` in the table of APIs, which was read just now.
    pub(crate) fn new(queue: Arc<ResponseQueue>, api: usize, correlation_id: i32, version: i16) -> Self {
        let slot = queue.reserve();
        Self { queue, slot, correlation_id, version, answered: false, api, began: Instant::now() }
    }

    /// The request's version.
    pub(crate) fn version(&self) -> i16 {
        self.version
    }

    /// Whether the connection is gone, so that no answer is worth any work.
    pub(crate) fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    /// Sends the answer in the request's version.
    pub(crate) fn answer<M: ApiMessage>(self, response: &M) {
        let version = self.version;
        self.send(response, version, &[]);
    }

    /// Sends the answer in another version than the request's: ApiVersions does.
    pub(crate) fn answer_in_version<M: ApiMessage>(self, response: &M, version: i16) {
        self.send(response, version, &[]);
    }

    /// Sends an answer whose external records are `slices`, by their numbers.
    pub(crate) fn answer_with_slices<M: ApiMessage>(self, response: &M, slices: &[LogSlice]) {
        let version = self.version;
        self.send(response, version, slices);
    }

    /// Ends a request that gets no answer (acks=0).
    pub(crate) fn silent(mut self) {
        self.note_answer();
        self.queue.complete(self.slot, VecDeque::new());
    }

    /// Closes the connection, which is the protocol's answer to what cannot be answered.
    pub(crate) fn close(mut self) {
        self.answered = true;
        self.queue.close();
    }

    fn note_answer(&mut self) {
        self.answered = true;
        self.queue.metrics().answered(self.api, self.began.elapsed());
    }

    fn send<M: ApiMessage>(mut self, response: &M, version: i16, slices: &[LogSlice]) {
        self.note_answer();
        match frame::encode_response(response, version, self.correlation_id) {
            Ok(chunks) => {
                let part = |chunk| match chunk {
                    Chunk::Bytes(bytes) => Some(Part::Bytes(bytes)),
                    Chunk::External { id, .. } => slices.get(id as usize).cloned().map(Part::File),
                };
                self.queue.complete(self.slot, chunks.into_iter().filter_map(part).collect());
            }
            Err(error) => {
                tracing::error!(api = M::API, version, %error, "cannot encode an answer; closing the connection");
                self.queue.close();
            }
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if !self.answered {
            self.queue.close();
        }
    }
}
