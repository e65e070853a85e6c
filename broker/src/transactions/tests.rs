//! The transaction coordinator's pure part, as its requests see it: what is answered, when, and what a start finds.

mod adding;
mod ending;
mod expiry;
mod fencing;
mod harness;
mod initializing;
mod kafka;
mod markers;
mod properties;
mod restart;
mod values;
