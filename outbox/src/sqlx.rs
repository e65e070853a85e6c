//! The same for sqlx: its transactions are `&mut`, its pools and runtime are the service's own.

pub mod inbox;
pub mod outbox;
