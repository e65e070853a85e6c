//! The one client of the page, connected when it is first needed.

use std::time::Duration;

use axum::http::StatusCode;
use pillion_client::{Client, ClientConfig};
use tokio::sync::Mutex;

use super::error::ApiError;
use crate::watched::Watched;

/// Longest wait for an answer of the cluster's.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to the cluster that is watched.
pub(super) struct ClusterClient {
    watched: Watched,
    client: Mutex<Option<Client>>,
}

impl ClusterClient {
    pub(super) fn new(watched: Watched) -> Self {
        Self { watched, client: Mutex::default() }
    }

    /// The client; it is kept, and finds brokers again by itself.
    ///
    /// # Errors
    /// When there is no cluster yet, or nobody answers.
    pub(super) async fn get(&self) -> Result<Client, ApiError> {
        let mut kept = self.client.lock().await;
        if let Some(client) = &*kept {
            return Ok(client.clone());
        }
        let Some(cluster) = self.watched.cluster() else {
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "the broker has not started yet"));
        };
        let config = ClientConfig {
            bootstrap_servers: cluster.bootstrap_servers,
            client_id: "pillion-console".to_owned(),
            security: cluster.security,
            request_timeout: REQUEST_TIMEOUT,
            ..ClientConfig::default()
        };
        let client = Client::connect(config).await.map_err(|error| ApiError::upstream(&error))?;
        *kept = Some(client.clone());
        Ok(client)
    }
}
