//! What end-to-end tests stand on: the built programs as child processes, and a receiver of spans.

pub mod otlp;
pub mod program;
pub mod waiting;
