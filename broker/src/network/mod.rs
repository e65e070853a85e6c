//! Connections: sockets in, requests to handlers, answers out in order.

mod connection;
mod frame_reader;
pub(crate) mod listener;
mod responder;
mod response_queue;
pub(crate) mod session;

pub(crate) use responder::Responder;
pub(crate) use response_queue::ResponseQueue;
