//! Groups seen from outside: requests and time in, answers and records out.

mod commits;
mod deleting;
mod describing;
mod harness;
mod joining;
mod leaving;
mod memory;
mod offset_properties;
mod properties;
mod restart;
mod retention;
mod static_members;
mod static_retries;
mod syncing;
mod transactions;
