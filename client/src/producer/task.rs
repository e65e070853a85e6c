//! The producer's own task: what a request may have to wait for. Connects to brokers, has leaders looked up, gets
//! producer ids, and gives up what has waited too long.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pillion_wire::ErrorCode;
use pillion_wire::messages::InitProducerIdRequest;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::ProduceError;
use super::dispatch::Dispatch;
use super::partition::Identity;
use super::plan::Wants;
use crate::error::ClientError;

/// Longest sleep when nothing is to be done.
const IDLE: Duration = Duration::from_secs(3_600);

/// What a side task has come to.
enum Done {
    Connected { node: i32 },
    Identity(Result<Identity, ProduceError>),
}

/// Serves a producer until it is dropped or its client shut down.
pub(super) async fn run(dispatch: Arc<Dispatch>, dropped: CancellationToken, wants_identity: bool) {
    let shut_down = dispatch.client.connector.cancelled.clone();
    let serve = async {
        let mut side =
            Side { dispatch: dispatch.clone(), tasks: JoinSet::new(), connecting: HashSet::new(), identity: false };
        let mut changes = dispatch.client.metadata.changes();
        if wants_identity {
            // Before the first record asks for it: it saves that record a round trip.
            side.want_identity();
        }
        loop {
            dispatch.expire();
            let wake_at = side.start(dispatch.drive_for_task()).unwrap_or_else(|| Instant::now() + IDLE);
            tokio::select! {
                () = dispatch.wake.notified() => {}
                () = tokio::time::sleep_until(wake_at.into()) => {}
                () = changes.next() => dispatch.learn(),
                Some(done) = side.tasks.join_next() => side.finish(done.ok()),
            }
        }
    };
    tokio::select! {
        () = dropped.cancelled() => {}
        () = shut_down.cancelled() => {}
        () = serve => {}
    }
    dispatch.end(ProduceError::Closed);
    dispatch.pool.close();
}

/// What goes on beside the producing.
struct Side {
    dispatch: Arc<Dispatch>,
    tasks: JoinSet<Done>,
    connecting: HashSet<i32>,
    /// Whether a producer id is on its way.
    identity: bool,
}

impl Side {
    /// Starts what is wanted and not under way; gives back when to look again.
    fn start(&mut self, wants: Wants) -> Option<Instant> {
        if wants.metadata {
            self.dispatch.client.metadata.request();
        }
        if wants.identity && !self.dispatch.is_transactional() {
            self.want_identity();
        }
        for node in wants.connections {
            if self.connecting.insert(node) {
                let dispatch = self.dispatch.clone();
                self.tasks.spawn(async move {
                    connect(&dispatch, node).await;
                    Done::Connected { node }
                });
            }
        }
        wants.wake_at
    }

    fn want_identity(&mut self) {
        if !self.identity {
            self.identity = true;
            let dispatch = self.dispatch.clone();
            self.tasks.spawn(async move { Done::Identity(new_identity(&dispatch).await) });
        }
    }

    fn finish(&mut self, done: Option<Done>) {
        match done {
            Some(Done::Connected { node }) => drop(self.connecting.remove(&node)),
            Some(Done::Identity(Ok(identity))) => {
                self.identity = false;
                self.dispatch.set_identity(identity);
            }
            Some(Done::Identity(Err(error))) => self.dispatch.end(error),
            None => {}
        }
    }
}

/// Connects to a broker; a failure has leaders looked up anew, for it may have lost its partitions.
async fn connect(dispatch: &Dispatch, node: i32) {
    let cluster = dispatch.client.metadata.cluster();
    let Some(broker) = cluster.brokers.get(&node) else {
        dispatch.client.metadata.request();
        return;
    };
    if let Err(error) = dispatch.pool.connection(broker).await {
        tracing::debug!(broker = node, error = &error as &dyn std::error::Error, "producer cannot reach broker");
        dispatch.client.metadata.request();
    }
}

/// Asks for a producer id until a broker gives one or refuses for good.
async fn new_identity(dispatch: &Dispatch) -> Result<Identity, ProduceError> {
    let request = InitProducerIdRequest {
        transactional_id: None,
        transaction_timeout_ms: i32::MAX,
        producer_id: -1,
        producer_epoch: -1,
    };
    let mut failures = 0;
    loop {
        match dispatch.client.ask_any(&request).await {
            Ok(response) => match ErrorCode::from_code(response.error_code) {
                ErrorCode::None => {
                    return Ok(Identity { id: response.producer_id, epoch: response.producer_epoch });
                }
                code if !code.is_retriable() => return Err(ProduceError::NoProducerId { code }),
                code => tracing::debug!(%code, "no producer id yet"),
            },
            Err(ClientError::Closed) => return Err(ProduceError::Closed),
            Err(ClientError::Connection(error)) if !error.is_retriable() => return Err(error.into()),
            Err(error) => tracing::debug!(error = &error as &dyn std::error::Error, "no producer id yet"),
        }
        failures += 1;
        tokio::time::sleep(dispatch.client.connector.backoff.jittered(failures)).await;
    }
}
