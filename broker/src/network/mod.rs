//! Connections: sockets in, requests to handlers, answers out in order.

mod connection;
mod frame_reader;
pub(crate) mod listener;
mod request_memory;
mod responder;
mod response_queue;
pub(crate) mod session;

pub(crate) use frame_reader::Frame;
#[cfg(feature = "fuzzing")]
pub(crate) use frame_reader::{FrameReader, Next};
pub(crate) use request_memory::{MemoryShare, RequestMemory};
pub(crate) use responder::Responder;
pub(crate) use response_queue::ResponseQueue;
