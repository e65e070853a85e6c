//! Kafka's protocol, without I/O: frames, messages and record batches.
//!
//! Everything here is a function from bytes to values or back. There are no sockets, clocks or tasks, and bytes
//! from outside neither panic nor choose an allocation's size: an array's length is checked against the bytes
//! left and against a memory budget before anything is reserved.

extern crate self as pillion_wire;

pub mod codec;
mod error_code;
pub mod frame;
pub mod messages;
pub mod records;

pub use codec::{
    ApiMessage, Chunk, Codec, DecodeError, EncodeError, Message, Nullable, Reader, Records, Request, Writer,
};
pub use error_code::ErrorCode;
pub use pillion_wire_derive::Message;
