//! The client against a scripted broker: what it does when things go wrong on the way.

#![allow(clippy::unwrap_used, reason = "a failed expectation of a test is its failure")]

mod authenticating;
mod consuming;
mod encrypting;
mod fake_broker;
mod guarded_broker;
mod producing;
mod transactions;
