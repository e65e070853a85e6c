//! Everything in this repository that reads bytes from outside, as targets for a fuzzer.
//!
//! A target is a function of bytes that panics where a promise is broken: whatever the bytes, decoding neither panics nor
//! takes memory beyond a bound by their length, and what decodes, encoded and decoded again, is the same.

mod batches;
#[path = "../../wire/tests/every_message/mod.rs"]
mod every_message;
mod formats;
mod frames;
mod messages;
mod target;
mod trace;

pub use target::Target;

/// All targets. A message becomes one with its line in the list of messages, a file format with its line in the broker's.
#[must_use]
pub fn targets() -> Vec<Target> {
    let mut targets = vec![batches::target(), trace::target()];
    targets.extend(frames::targets());
    targets.extend(formats::targets());
    targets.extend(messages::targets());
    targets
}
