//! Transactions as clients meet them: requests in bytes over sockets, to a broker on a real disk.

mod bad_requests;
mod classic;
mod epoch_bump;
mod listing;
mod looking;
mod producer;
mod regressions;
#[path = "../over_sockets/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "shared with the other tests over sockets, which use the rest")]
mod support;
mod versions;
