//! Groups seen from outside: requests and time in, answers and records out.

mod commits;
mod harness;
mod joining;
mod leaving;
mod properties;
mod restart;
mod retention;
mod static_members;
mod syncing;
