//! `/healthz`: the process answers. `/readyz`: everything that was started serves; if not, 503 and why not.
//!
//! `/readyz?part=broker` and `?part=connectors` ask for one of the two only. A connector on standby is ready: it is
//! there to take over, and a rolling update that waited for it would wait for ever.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use pillion_broker::Unready;
use pillion_cdc::State as ConnectorState;
use serde::{Deserialize, Serialize};

use crate::watched::{Watched, WatchedConnector};

/// A part that readiness can be asked of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Part {
    Broker,
    Connectors,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Asked {
    part: Option<Part>,
}

/// Whether everything serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Readiness {
    /// Whether there is no reason against it.
    pub(crate) ready: bool,
    /// Why not.
    pub(crate) reasons: Vec<Reason>,
}

/// A reason not to be ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Reason {
    /// `broker`, or `connector` and its name.
    pub(crate) part: String,
    /// A sentence.
    pub(crate) reason: String,
}

/// Answers `/healthz`.
pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

/// Answers `/readyz`.
pub(crate) async fn ready(State(watched): State<Watched>, Query(asked): Query<Asked>) -> Response {
    let readiness = readiness(&watched, asked.part);
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness)).into_response()
}

/// How everything stands, or one part of it.
pub(crate) fn readiness(watched: &Watched, part: Option<Part>) -> Readiness {
    let mut reasons = Vec::new();
    if watched.is_stopping() {
        reasons.push(Reason { part: "process".to_owned(), reason: "it is being stopped".to_owned() });
    }
    if part != Some(Part::Connectors) {
        reasons.extend(of_broker(watched).into_iter().map(|reason| Reason { part: "broker".to_owned(), reason }));
    }
    if part != Some(Part::Broker) {
        reasons.extend(watched.connectors().iter().filter_map(of_connector));
    }
    Readiness { ready: reasons.is_empty(), reasons }
}

fn of_broker(watched: &Watched) -> Vec<String> {
    match watched.broker() {
        Some(broker) => broker.unready().into_iter().map(sentence).collect(),
        None if watched.has_broker() => vec!["it is opening its logs".to_owned()],
        None => Vec::new(),
    }
}

fn sentence(reason: Unready) -> String {
    match reason {
        Unready::Stopped => "it has stopped".to_owned(),
        Unready::Loading(what) => format!("it is reading its {what}"),
        Unready::DiskFull { free_bytes, free_bytes_min } => format!(
            "producers are refused: the disk has {free_bytes} bytes free, {free_bytes_min} are needed \
             (log.min.free.bytes); make room"
        ),
    }
}

fn of_connector(connector: &WatchedConnector) -> Option<Reason> {
    let seen = connector.status.snapshot();
    let state = match seen.state {
        ConnectorState::Streaming | ConnectorState::Standby => return None,
        ConnectorState::Starting => "it is starting",
        ConnectorState::WaitingForPostgres => "it has no connection to Postgres",
        ConnectorState::WaitingForBroker => "it has no connection to its brokers",
        ConnectorState::Stopped => "it has stopped",
    };
    let reason = match seen.last_error {
        Some(error) => format!("{state}: {error}"),
        None => state.to_owned(),
    };
    Some(Reason { part: format!("connector {}", connector.name), reason })
}

#[cfg(test)]
mod tests;
