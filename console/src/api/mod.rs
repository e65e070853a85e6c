//! The page's JSON API: what is asked of the broker and the connectors in this process, and of any cluster by Kafka's
//! protocol.
//!
//! Every list has a page, every payload a length, every wait an end. Numbers come as they are counted; the page makes
//! rates of them.

mod broker;
mod cluster;
mod connectors;
mod dead_letters;
mod error;
mod groups;
mod messages;
mod overview;
mod payload;
mod produce;
mod topics;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use crate::config::ConsoleConfig;
use crate::history::History;
use crate::watched::Watched;
use cluster::ClusterClient;

/// What every request reaches.
#[derive(Clone)]
pub(crate) struct Api {
    watched: Watched,
    cluster: Arc<ClusterClient>,
    history: Arc<History>,
    config: Arc<ConsoleConfig>,
}

impl Api {
    pub(crate) fn new(watched: &Watched, history: Arc<History>, config: &ConsoleConfig) -> Self {
        let cluster = Arc::new(ClusterClient::new(watched.clone()));
        Self { watched: watched.clone(), cluster, history, config: Arc::new(config.clone()) }
    }

    /// Its routes.
    pub(crate) fn routes(self) -> Router {
        Router::new()
            .route("/api/overview", get(overview::overview))
            .route("/api/history", get(overview::history))
            .route("/api/topics", get(topics::list))
            .route("/api/topic", get(topics::describe))
            .route("/api/messages", get(messages::browse).post(produce::produce))
            .route("/api/message", get(messages::one))
            .route("/api/groups", get(groups::list))
            .route("/api/group", get(groups::describe))
            .route("/api/connectors", get(connectors::list))
            .route("/api/connector", get(connectors::describe))
            .route("/api/dead-letters/replay", post(dead_letters::replay))
            .route("/api/broker", get(broker::describe))
            .with_state(self)
    }
}

/// A page of a list, as it is asked for.
#[derive(Debug, Clone, serde::Deserialize)]
struct Page {
    /// Only names that hold this, whatever their case.
    #[serde(default)]
    search: String,
    /// How many to leave out.
    #[serde(default)]
    skip: usize,
    /// How many to show.
    limit: Option<usize>,
}

impl Page {
    /// Shown unless asked otherwise.
    const LIMIT: usize = 100;
    /// Shown at most.
    const LIMIT_MAX: usize = 500;

    /// How many there are of those that match, and the page's own.
    fn of<T>(&self, all: Vec<T>, name: impl Fn(&T) -> &str) -> (usize, Vec<T>) {
        let wanted = self.search.to_lowercase();
        let matches: Vec<T> = all.into_iter().filter(|one| name(one).to_lowercase().contains(&wanted)).collect();
        let limit = self.limit.unwrap_or(Self::LIMIT).min(Self::LIMIT_MAX);
        (matches.len(), matches.into_iter().skip(self.skip).take(limit).collect())
    }
}

#[cfg(test)]
mod tests;
