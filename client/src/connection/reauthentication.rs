//! The task beside a connection whose authentication expires (KIP-368): authenticates anew before it does.
//!
//! A broker takes nothing but authentication meanwhile, so requests are held for those round trips; they keep their
//! order, and so do the batches of an idempotent producer.

use std::sync::Arc;
use std::time::Duration;

use super::Connection;
use super::authentication::authenticate;
use crate::security::Credentials;

/// Between these parts of the lifetime, in percent, as Kafka's clients: not all of them at once.
const PERCENT: std::ops::RangeInclusive<u32> = 85..=95;

/// Serves a connection until it ends.
pub(super) async fn run(connection: Arc<Connection>, credentials: Credentials, first_lifetime: Duration) {
    let mut lifetime = Some(first_lifetime);
    while let Some(holds) = lifetime {
        let pause = holds * rand::random_range(PERCENT) / 100;
        tokio::select! {
            () = connection.over.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        connection.hold();
        match authenticate(&connection, &credentials).await {
            Ok(next) => lifetime = next,
            Err(error) => return connection.end(error),
        }
        connection.release();
        tracing::debug!(broker = &*connection.address, "authenticated anew");
    }
}
