//! Transactions and groups against a cluster: the one `CLIENT_TEST_BOOTSTRAP` names, or else pillion's broker in this
//! process.

#![allow(clippy::unwrap_used, reason = "a failed expectation of a test is its failure")]

mod administration;
mod cluster;
mod groups;
mod killed;
mod transactions;
