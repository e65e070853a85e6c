//! The HTTP server: sockets in, requests to the router.
//!
//! Invariant: it takes a bounded number of connections, and one that says nothing is closed.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::Api;
use crate::config::ConsoleConfig;
use crate::guard::{Guard, guard};
use crate::history::History;
use crate::watched::Watched;
use crate::{assets, health, metrics};

/// Connections at once.
const CONNECTIONS_MAX: usize = 64;
/// How long a connection may be silent, or take to say what it wants.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// How long answers under way may take once it is stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause after a connection could not be accepted: as a rule descriptors are used up.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why the console did not start.
#[derive(Debug, Error)]
pub enum ConsoleError {
    /// Its address is not to be had.
    #[error("the console cannot listen on {bind}; choose another address with ui.listen, or none to do without")]
    Listen {
        /// The address.
        bind: String,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
}

/// A console that answers. Stop it: dropping it leaves answers under way unfinished.
pub struct Console {
    address: SocketAddr,
    watched: Watched,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Console {
    /// Starts to answer, before there is anything to look at; `None` when it is switched off.
    ///
    /// The default address gives way to a free port when somebody else has it: a second pillion on a machine must not
    /// fail for want of a page that nobody asked for.
    ///
    /// # Errors
    /// [`ConsoleError::Listen`] when a chosen address cannot be had.
    pub async fn start(config: &ConsoleConfig) -> Result<Option<Self>, ConsoleError> {
        let Some(bind) = &config.listen else { return Ok(None) };
        let failed = |source| ConsoleError::Listen { bind: bind.clone(), source };
        let bound = match TcpListener::bind(bind).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && !config.is_listen_given => {
                tracing::warn!("{bind} is taken: the console takes a free port; ui.listen chooses one");
                TcpListener::bind("127.0.0.1:0").await
            }
            bound => bound,
        };
        let listener = bound.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        if !address.ip().is_loopback() {
            let may = if config.allow_writes { "read and produce" } else { "read" };
            tracing::warn!(%address, "the console has no log-in: whoever reaches this address may {may} records");
        }
        let (watched, tasks, stop) = (Watched::default(), TaskTracker::new(), CancellationToken::new());
        let history = Arc::new(History::default());
        let router = router(&watched, Arc::clone(&history), address, config);
        let (kept, of, until) = (history, watched.clone(), stop.clone());
        tasks.spawn(async move { kept.keep(of, until).await });
        tasks.spawn(accept(listener, router, tasks.clone(), stop.clone()));
        tracing::info!("console on http://{address}");
        Ok(Some(Self { address, watched, tasks, stop }))
    }

    /// Where it is bound.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Tell of the parts as they come.
    #[must_use]
    pub fn watched(&self) -> &Watched {
        &self.watched
    }

    /// Finishes the answers under way and ends.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(STOP_TIMEOUT, self.tasks.wait()).await.is_err() {
            tracing::debug!("the console was ended with answers under way");
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn router(watched: &Watched, history: Arc<History>, address: SocketAddr, config: &ConsoleConfig) -> Router {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::serve))
        .with_state(watched.clone())
        .merge(Api::new(watched, history, config).routes())
        .merge(assets::routes())
        .layer(from_fn_with_state(Guard::new(address.ip().is_loopback(), config.allow_writes), guard))
}

async fn accept(listener: TcpListener, router: Router, connections: TaskTracker, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // It is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                let (router, stop) = (router.clone(), stop.clone());
                connections.spawn(async move {
                    serve(stream, router, stop).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "the console cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, router: Router, stop: CancellationToken) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection to the console ended");
    }
}
