//! A PostgreSQL of our own: found or fetched, initialised, started, stopped.
//!
//! `pillion dev` and `pillion demo` put it under the connector. Invariants: it listens on 127.0.0.1 only and asks for a
//! password; it never runs as root; it ends with us, however we end; a server that somebody else started is not touched.

mod account;
mod binaries;
mod cluster;
mod fetch;
mod server;

pub(crate) use binaries::BinarySource;
pub(crate) use server::{EmbeddedPostgres, EmbeddedPostgresOptions};
