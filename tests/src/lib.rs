//! What end-to-end tests stand on: the built programs as child processes, a receiver of spans, a proxy that fails,
//! writers of outbox rows and a reader that keeps a ledger of them, and the example services as a whole.

pub mod http;
pub mod ledger;
pub mod otlp;
pub mod program;
pub mod proxy;
pub mod reader;
pub mod saga;
pub mod shop;
pub mod waiting;
pub mod writers;
