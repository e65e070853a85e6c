//! `pillion demo`: the main job end to end, with nothing mocked, for a person to watch and for a script to judge.
//!
//! ```text
//! PostgreSQL → databases → broker, connectors → services → orders by HTTP → events as they pass → verdict
//! ```
//! Whatever was started is stopped in the opposite order, also when a step fails.

mod detour;
mod event;
mod fault;
mod faults;
mod http;
mod saga_check;
mod services;
mod setting_up;
mod show;
mod traces;

use std::path::PathBuf;

use anyhow::Result;

pub(crate) use fault::Fault;
pub(crate) use traces::{TraceAddress, TraceView};

use crate::embedded_postgres::EmbeddedPostgresOptions;
use crate::signals;

/// What to show.
#[derive(Debug)]
pub(crate) struct DemoOptions {
    /// End after the story instead of staying up.
    pub(crate) once: bool,
    /// What is to go wrong; `None`: the story of orders that go well and one that is compensated.
    pub(crate) fault: Option<Fault>,
    /// Where the example services' programs are; `None`: beside this one.
    pub(crate) services_directory: Option<PathBuf>,
    /// Where data is kept; `None`: in a temporary directory.
    pub(crate) data_directory: Option<PathBuf>,
    /// `host:port` of the broker.
    pub(crate) listen: String,
    /// Where traces are shown; `None` where they go elsewhere or nobody wants them.
    pub(crate) traces: Option<TraceAddress>,
    /// The PostgreSQL to start.
    pub(crate) postgres: EmbeddedPostgresOptions,
}

/// Runs the demo to its end: by itself with `once`, else when told by a signal.
///
/// # Errors
/// When something cannot be started, or an event is missing, repeated or out of order.
pub(crate) async fn run(options: DemoOptions) -> Result<()> {
    let stop = signals::stop_on_signal()?;
    let programs = services::Programs::find(options.services_directory.as_deref())?;
    let mut started = setting_up::Started::default();
    let outcome = tokio::select! {
        () = stop.cancelled() => Ok(()),
        shown = async {
            let stage = setting_up::set_up(&mut started, options, &programs).await?;
            show::show(&mut started, stage).await
        } => shown,
    };
    if stop.is_cancelled() {
        println!("\nStopping …");
    }
    outcome.and(started.stop().await)
}
