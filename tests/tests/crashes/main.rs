//! The connector's crash table, row for row, with real processes and SIGKILL: events are counted by id at a consumer of
//! committed records, nothing lost, nothing twice, every key in order.

#![allow(clippy::unwrap_used)]

mod broker;
mod commits;
mod database;
mod disk_full;
mod production;
mod progress;
mod scene;
mod standby;
