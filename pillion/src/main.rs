//! `pillion`: a Kafka-protocol broker and a Postgres outbox connector in one small binary.
//!
//! ```text
//! cli ── config ──┬─ sidecar: broker + connector
//!                 ├─ embedded_postgres ── child_process
//!                 └─ demo: all of it, and the example services
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod child_process;
mod cli;
mod config;
mod demo;
mod embedded_postgres;
mod http_exchange;
mod reloading;
mod sidecar;
mod signals;

use std::io;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::CommandLine::parse().execute() {
        Ok(()) => ExitCode::SUCCESS,
        // `pillion consume … | head`: whoever read us has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pillion: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
